"""Gathers what a verdict stands on: where the eval set and its recorded environment disagree, and which tools were declared otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalset.recorded.recorder import inputs_of, is_of_graph, schema_digest
from evalset.recorded.recording import RecordedCall, RecordedCase, RecordedTurn
from evalset.recorded.tolerances import Tolerance, tolerated
from evalset.replay.case_following import only_asked
from evalset.verify.results import Step
from simulator.base.json_values import JsonObject, copied
from simulator.runtime.knowledge.tool_shapes import ToolShapes
from simulator.runtime.turns.outcomes import as_tools_give
from simulator.session.adk_event_fields import content_text, parts_of


class Asked(NamedTuple):
    """A call of the agent itself that the recording holds: what was asked, and what it was answered (None where nothing ran)."""

    tool: str
    arguments: JsonObject
    response: JsonObject | None


class RecordedSteps(NamedTuple):
    """What the recorded environment says of a turn, as far as a golden says it too; `text` is None where no model was recorded.

    `questions` is what the user was asked for, as `question_of` gives it.
    """

    query: str
    calls: tuple[Asked, ...]
    text: str | None
    questions: tuple[JsonObject, ...] = ()


class Evidence(NamedTuple):
    """What is known beside the golden and the run.

    Attributes:
        turns: What was recorded, turn by turn.
        tools: The tools of which the recording holds calls or declarations.
        state: The recorded final state.
        changed_tools: For each tool that is declared otherwise than when it was recorded, in what way.
        tolerances: Which arguments may differ.
        gone: The tools that are not declared any more.
        maybe_edited: The recorded responses that a person edited, in sentences: in the session, or in the eval set later.
    """

    turns: tuple[RecordedSteps, ...]
    tools: frozenset[str]
    state: JsonObject
    changed_tools: Mapping[str, str]
    tolerances: tuple[Tolerance, ...] = ()
    gone: frozenset[str] = frozenset()
    maybe_edited: tuple[str, ...] = ()


def evidence_of(recorded: RecordedCase, agent: Any) -> Evidence:
    """Gather what a recorded case and the agent as it is now tell."""
    turns = tuple(map(recorded_steps, recorded.turns))
    called = {call.tool for turn in recorded.turns for call in turn.calls}
    rejected = {call.tool for turn in recorded.turns for call in turn.rejected}
    changed = changed_tools(recorded, agent)
    return Evidence(
        turns=turns,
        tools=frozenset({*called, *rejected, *recorded.tools}),
        state=recorded.final_state,
        changed_tools=changed,
        tolerances=recorded.tolerances,
        gone=frozenset(name for name, words in changed.items() if words == _gone(name)),
        maybe_edited=tuple(_maybe_edited(recorded)),
    )


def changed_tools(recorded: RecordedCase, agent: Any) -> dict[str, str]:
    """Return which tools are declared otherwise than when a case was recorded."""
    if not recorded.tools:
        return {}
    now = ToolShapes(agent).known({}, ())
    changed: dict[str, str] = {}
    for name, tool in recorded.tools.items():
        if name not in now:
            changed[name] = _gone(name)
        elif schema_digest(now[name]) != tool.schema_digest:
            changed[name] = (
                f"the tool {name} is declared with other parameters, or another form of answers, than when it was recorded"
            )
    return changed


def _gone(name: str) -> str:
    return f"the tool {name} is not declared any more"


def _maybe_edited(recorded: RecordedCase) -> Iterator[str]:
    for number, turn in enumerate(recorded.turns, start=1):
        for call in turn.calls:
            if call.author.source == "edited":
                yield (
                    f"a person edited the response of {call.tool} in turn {number}, in the session or later: the recording is from "
                    "before that was noted"
                )


def gone_tools(recorded: RecordedCase, agent: Any) -> tuple[str, ...]:
    """Name the tools that were declared when a case was recorded, answered in it, and are not declared any more."""
    now = ToolShapes(agent).known({}, ())
    called = {call.tool for turn in recorded.turns for call in turn.calls}
    return tuple(name for name in recorded.tools if name in called and name not in now)


def recorded_steps(turn: RecordedTurn) -> RecordedSteps:
    """Return what was recorded of a turn, as far as a golden says it too."""
    made = [
        Asked(call.tool, call.arguments, _seen(call))
        for place, call in enumerate(turn.calls)
        if not (call.within or is_of_graph(call, turn) or only_asked(turn.calls, place))
    ]
    rejected = [Asked(call.tool, call.arguments, None) for call in turn.rejected if not call.within]
    questions = tuple(each.arguments for each in inputs_of(turn) if each.arguments is not None)
    return RecordedSteps(content_text(turn.query), (*made, *rejected), _last_text(turn), questions)


def _seen(call: RecordedCall) -> JsonObject | None:
    """Return a tool's answer as ADK writes it into a response; None for an exception, which callbacks may have answered."""
    if call.later is None and call.outcome.kind in {"raised", "deferred"}:
        return None
    given = as_tools_give(call.outcome) if call.later is None else call.later
    return copied(given) if isinstance(given, dict) else {"result": copied(given)}


def _last_text(turn: RecordedTurn) -> str | None:
    """Return what the last model of a turn said, where that was text."""
    said = [model for model in turn.models if not model.within and model.responses]
    if not said:
        return None
    content = said[-1].responses[-1].get("content")
    parts = parts_of(content)
    if not parts or not all(isinstance(part.get("text"), str) for part in parts):
        return None
    return "\n".join(part["text"] for part in parts if not part.get("thought"))


def disagreements(golden: Sequence[Step], recorded: RecordedSteps, evidence: Evidence) -> tuple[str, ...]:
    """Return where a golden's turn and what was recorded of it disagree: calls and arguments, in sentences."""
    wanted = [
        (step.tool, step.value) for step in golden if step.kind == "call" and step.tool in evidence.tools
    ]
    there = [(call.tool, call.arguments) for call in recorded.calls]
    only_golden = _without(wanted, there, evidence.tolerances)
    only_recorded = _without(there, wanted, evidence.tolerances)
    return (
        *(f"the eval set has a call of {tool} that was not recorded" for tool in dict.fromkeys(only_golden)),
        *(
            f"a call of {tool} was recorded that the eval set does not have"
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
