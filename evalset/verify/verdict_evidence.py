"""Gathers what a verdict stands on: where the eval set and its recorded environment disagree, and which tools were declared otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

from evalset.golden_trace.steps import Step
from evalset.recorded.golden_digests import RecordingEdit
from evalset.recorded.known_agents import KnownAgent, gone_agent, gone_tool, known_agent, migration_of, misfit
from evalset.recorded.recorded_turns import recorded_questions, recorded_steps
from evalset.recorded.recording import RecordedCall, RecordedCase, is_imported
from evalset.recorded.tolerances import Tolerance, tolerated
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_source import unset_variables
from simulator.base.json_values import JsonObject
from simulator.facts import Returned
from simulator.runtime.knowledge.knowledge import shapes_of_all
from simulator.session.adk_event_fields import calls_in


class Evidence(NamedTuple):
    """What is known beside the golden and the run.

    Attributes:
        turns: What was recorded, turn by turn, as steps.
        questions: What the user was asked for, turn by turn.
        tools: The tools of which the recording holds calls or declarations.
        state: The recorded final state; None where it is not known.
        changed_tools: For each tool that is declared otherwise than when it was recorded, in what way.
        tolerances: Which arguments may differ.
        gone: The tools that are not declared any more.
        maybe_edited: The recorded responses that a person edited, in sentences: in the session, or in the eval set later.
        refused_calls: The recorded calls that the agent's tools do not accept, in sentences.
        untold: Of the refused calls whose tool's declaration was not recorded, that nobody knows whether it changed.
        called: The tools that were called, and the agents that are gone.
        declared: Whether it is known that the agent had these tools when it was recorded.
        same_tools: Whether it is known that no tool is declared otherwise.
        raised: The error that the run ended with; empty where it came to its end.
        is_imported: Whether the recording is a trace that was imported: it does not tell with which code, versions and variables it was made.
        written: The turns in which a person or a script, and no model, wrote the agent's moves, where the run asked the agent's own models.
        migration: The option of the doctor's that migrates what does not fit any more; empty where none is known.
        doctor: The command that takes it.
        recording: What was edited in the recording's file after it was written, and the run was answered from.
        otherwise: What the agent does otherwise than recorded, where the golden does not tell it, as `no longer asks for confirmation of note`.
        renamed: The name that an agent of the recording may have now, by its old one.
        unset: The environment variables that the agent's code asks for and that are not set, where the recording does not tell how they were.
    """

    turns: tuple[tuple[Step, ...], ...]
    questions: tuple[tuple[JsonObject, ...], ...]
    tools: frozenset[str]
    state: JsonObject | None
    changed_tools: Mapping[str, str]
    tolerances: tuple[Tolerance, ...] = ()
    gone: frozenset[str] = frozenset()
    maybe_edited: tuple[str, ...] = ()
    refused_calls: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    called: frozenset[str] = frozenset()
    declared: bool = True
    same_tools: bool = True
    raised: str = ""
    is_imported: bool = False
    written: frozenset[int] = frozenset()
    unset: tuple[str, ...] = ()
    migration: str = ""
    doctor: str = ""
    recording: tuple[RecordingEdit, ...] = ()
    otherwise: str = ""
    renamed: Mapping[str, str] = MappingProxyType({})

    @property
    def changes(self) -> tuple[str, ...]:
        """What changed of the tools that were called, and which agents are gone; of all tools where none was called."""
        found = sorted(self.changed_tools.items())
        return tuple(words for name, words in found if not self.called or name in self.called)

    @property
    def gone_agents(self) -> tuple[str, ...]:
        """The agents that took turns and are not there any more, in sentences."""
        return tuple(words for name, words in self.changed_tools.items() if words == gone_agent(name))


def evidence_of(
    recorded: RecordedCase, config: SimulatedAgentConfig, refused_calls: tuple[str, ...] = ()
) -> Evidence:
    """Gather what a recorded case and the agent as it is now tell, and what a replay found its tools to refuse."""
    called = {call.tool for turn in recorded.turns for call in turn.calls}
    rejected = {call.tool for turn in recorded.turns for call in turn.rejected}
    agent = known_agent(config)
    lacks = agent.lacks(recorded)
    gone = [name for name, words in lacks.items() if words in refused_calls or words == gone_agent(name)]
    changed = {**changed_tools(recorded, config.root_agent), **lacks}
    return Evidence(
        turns=tuple(map(recorded_steps, recorded.turns)),
        questions=tuple(map(recorded_questions, recorded.turns)),
        tools=frozenset({*called, *rejected, *(recorded.tools.keys() - agent.agent_tools.keys())}),
        state=recorded.final_state,
        changed_tools=changed,
        tolerances=recorded.tolerances,
        gone=frozenset(name for name, words in changed.items() if name in lacks or words == gone_tool(name)),
        maybe_edited=tuple(_maybe_edited(recorded)),
        refused_calls=refused_calls or _undeclared_calls(recorded, config),
        untold=tuple(_untold(recorded, refused_calls)),
        called=frozenset({*called, *rejected, *lacks}),
        declared=bool(recorded.tools) or not is_imported(recorded),
        same_tools=bool(recorded.tools) and not changed and not agent.brings_more,
        is_imported=is_imported(recorded),
        migration=_migration(recorded, agent, gone),
        unset=unset_variables(config) if is_imported(recorded) else (),
    )


def changed_tools(recorded: RecordedCase, agent: Any) -> dict[str, str]:
    """Return which tools are declared otherwise than when a case was recorded."""
    if not recorded.tools:
        return {}
    now = shapes_of_all(agent)
    changed: dict[str, str] = {}
    for name, tool in recorded.tools.items():
        if name not in now:
            changed[name] = gone_tool(name)
        elif now[name].schema_digest != tool.schema_digest:
            changed[name] = (
                f"the tool {name} is declared with other parameters, or another response schema, than when it was recorded"
            )
    return changed


def _migration(recorded: RecordedCase, agent: KnownAgent, gone: Sequence[str]) -> str:
    """Propose how the first call is migrated that does not fit the tools any more, or the name of an agent that is not there any more."""
    if gone:
        return f"--rename-agent {gone[0]}=NEW"
    now = {**agent.agent_tools, **agent.tools}
    new = [name for name in agent.tools if name not in recorded.tools]
    answered = ((call.tool, call.arguments) for turn in recorded.turns for call in turn.calls)
    made = (call for turn in recorded.turns for model in turn.models for call in calls_in(model.responses))
    asked = chain(answered, ((str(call.get("name")), call.get("args") or {}) for call in made))
    for name, arguments in ((name, arguments) for name, arguments in asked if name in recorded.tools):
        then, shape = recorded.tools[name].schema_digest, now.get(name)
        if misfit(name, arguments, then, shape):
            return migration_of(name, arguments, shape, new)
    return ""


def _undeclared_calls(recorded: RecordedCase, config: SimulatedAgentConfig) -> tuple[str, ...]:
    """Name the tools that answered and that the agent cannot have, where nobody recorded what was declared.

    None are named where it is only known when the agent runs what it can call. What a model made up was no tool then either.
    """
    if recorded.tools:
        return ()
    agent = known_agent(config)
    calls = [call for turn in recorded.turns for call in turn.calls if not _was_made_up(call)]
    gone = dict.fromkeys(call.tool for call in calls if not agent.can_call(call.tool))
    return () if agent.brings_more else tuple(f"the tool {name!r} is not declared" for name in gone)


def _was_made_up(call: RecordedCall) -> bool:
    """Recognise the error that ADK gives for a tool that no agent has."""
    value = call.outcome.value if isinstance(call.outcome, Returned) else None
    told = value.get("error") if isinstance(value, dict) else None
    return isinstance(told, str) and told.startswith(f"Invoking `{call.tool}()` failed as no tool")


def _untold(recorded: RecordedCase, refused_calls: Sequence[str]) -> Iterator[str]:
    calls = (call for turn in recorded.turns for call in turn.calls if not call.declared)
    for name in sorted({call.tool for call in calls} - recorded.tools.keys()):
        if any(f"{name!r} does not accept" in words for words in refused_calls):
            yield f"the recording does not contain how {name} was declared, so it is not known whether it changed"


def _maybe_edited(recorded: RecordedCase) -> Iterator[str]:
    for number, turn in enumerate(recorded.turns, start=1):
        for call in turn.calls:
            if call.author.source == "edited":
                yield (
                    f"the response of {call.tool} in turn {number} was edited by a person, in the session or later (this older recording "
                    "does not say when)"
                )


def gone_tools(recorded: RecordedCase, agent: Any) -> tuple[str, ...]:
    """Name the tools that were declared when a case was recorded, answered in it, and are not declared any more."""
    now = shapes_of_all(agent)
    called = {call.tool for turn in recorded.turns for call in turn.calls}
    return tuple(name for name in recorded.tools if name in called and name not in now)


def disagreements(golden: Sequence[Step], recorded: Sequence[Step], evidence: Evidence) -> tuple[str, ...]:
    """Return where a golden's turn and what was recorded of it disagree: calls and arguments, in sentences."""
    wanted = [
        (step.tool, step.value) for step in golden if step.kind == "call" and step.tool in evidence.tools
    ]
    there = [(step.tool, step.value) for step in recorded if step.kind == "call"]
    only_golden = _without(wanted, there, evidence.tolerances)
    only_recorded = _without(there, wanted, evidence.tolerances)
    return (
        *(
            f"the eval set has a call of {tool} that is not in the recording"
            for tool in dict.fromkeys(only_golden)
        ),
        *(
            f"the recording has a call of {tool} that is not in the eval set"
            for tool in dict.fromkeys(only_recorded)
        ),
    )


def _without(
    these: Sequence[tuple[str, Any]], those: Sequence[tuple[str, Any]], tolerances: Sequence[Tolerance]
) -> list[str]:
    """Return the tools of the calls that are only in the first."""
    left = list(those)
    only: list[str] = []
    for tool, arguments in these:
        place = next(
            (
                number
                for number, (other, others) in enumerate(left)
                if tool == other and tolerated(tool, arguments, others, tolerances)
            ),
            None,
        )
        if place is None:
            only.append(tool)
        else:
            del left[place]
    return only
