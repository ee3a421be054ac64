"""Records a session as a case that a replay can follow.

`recorded_case` makes it of the session's facts, query by query as the golden has them. `record` writes it beside the eval set that holds the golden, and
`replay_lines` say how to replay it there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from evalset.errors import GoldenTraceError
from evalset.golden_trace.builder import GoldenTraceBuilder, put_off_data
from evalset.golden_trace.steps import Step
from evalset.recorded.golden_digests import with_golden
from evalset.recorded.recorded_turns import question_of
from evalset.recorded.recording import (
    Author,
    RecordedAgentRun,
    RecordedCall,
    RecordedCase,
    RecordedCode,
    RecordedInput,
    RecordedModelTurn,
    RecordedTool,
    RecordedTurn,
    RejectedCall,
)
from evalset.recorded.recording_files import put_cases, sidecar_of
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.adk_names import lasting
from simulator.base.json_values import JsonObject, copied
from simulator.environment.world.connections import ToolShape
from simulator.facts import (
    AgentRan,
    CodeAnswered,
    Fact,
    ModelAnswered,
    SessionOpened,
    ToolAnswered,
)
from simulator.runtime.knowledge.knowledge import shapes_of_all
from simulator.runtime.models.reachability import model_reachability
from simulator.session import SimulationSession
from simulator.session.adk_event_fields import (
    USER_AUTHOR,
    calls_in,
    came_to_nothing,
    first_state,
    function_calls,
    function_responses,
    message_responses,
    parts_of,
    turns_by_query,
)
from simulator.session.model import CONFIRMATION, REQUEST_INPUT, Turn
from simulator.session.timeline_fold import scope_of


def recorded_case(
    session: SimulationSession,
    facts: Iterable[Fact],
    tools: Mapping[str, ToolShape] | None = None,
    *,
    so_far: bool = False,
) -> RecordedCase:
    """Record what the world answered in a session.

    Queries that came to nothing are left out, as `GoldenTraceBuilder` leaves them out.

    Args:
        session: The session.
        facts: Its facts, from the first to the head.
        tools: The tools as they are declared, by name, so that a later change of one is noticed.
        so_far: Record every query, the one that is being answered and those that came to nothing, too.
    """
    known = list(facts)
    opened = next((fact for fact in known if isinstance(fact, SessionOpened)), None)
    groups = [turns for turns in turns_by_query(session.turns) if so_far or not came_to_nothing(turns)]
    recorded = RecordedCase(
        agent=session.agent_name,
        app_name=session.app_name,
        user_id=session.user_id,
        seed=opened.seed if opened else "",
        recorded_at=session.start_timestamp,
        state=dict(copied(first_state(session, groups))),
        earlier=session.earlier,
        final_state=copied(lasting(groups[-1][-1].state)) if groups else {},
        rules=session.rules,
        tools={name: RecordedTool(schema_digest=tool.schema_digest) for name, tool in (tools or {}).items()},
        turns=tuple(
            _Recorder(turns, known, f"{session.agent_name}@1").turn(is_first=turns is groups[0])
            for turns in groups
        ),
    )
    return recorded if so_far else _with_golden(recorded, session)


def _with_golden(recorded: RecordedCase, session: SimulationSession) -> RecordedCase:
    """Note what the golden of a session says, where it has one."""
    try:
        return with_golden(recorded, GoldenTraceBuilder(session, confirmations="beside").build())
    except GoldenTraceError:
        return recorded


class _Recorder:
    """Records the turns of one query."""

    def __init__(self, turns: Sequence[Turn], facts: Sequence[Fact], home: str) -> None:
        numbers = {turn.number for turn in turns}
        self._home = home
        self._turns = turns
        self._answered = [fact for fact in facts if getattr(fact, "turn", None) in numbers]
        self._asked = dict(self._all_asked())
        self._about = dict(self._all_questions())
        self._confirmed = dict(self._all_confirmed())
        self._long_running = {call_id for event in self._events() for call_id in long_running_ids(event)}
        self._spoken = spoken_events(self._events())
        self._later = {
            str(said.get("id")): copied(said.get("response") or {}) for said in self._said_by_user()
        }

    def turn(self, *, is_first: bool) -> RecordedTurn:
        query, *replies = self._turns
        in_start = lasting(query.state_delta) if is_first else {}
        calls = [self._call(fact) for fact in self._answered if isinstance(fact, ToolAnswered)]
        ran = {call.id for call in calls}
        return RecordedTurn(
            query=copied(query.message),
            state_delta={
                key: copied(value) for key, value in query.state_delta.items() if key not in in_start
            },
            replies=tuple(copied(turn.message) for turn in replies),
            calls=tuple(calls),
            rejected=tuple(
                RejectedCall(
                    id=call_id,
                    tool=asked.tool,
                    agent=asked.author,
                    arguments=copied(asked.arguments),
                    confirmed=said,
                )
                for call_id, said in self._confirmed.items()
                if call_id not in ran and (asked := self._asked.get(call_id)) is not None
            ),
            inputs=tuple(recorded_inputs(self._events(), map(self._reply, replies))),
            models=tuple(self._model(fact) for fact in self._answered if isinstance(fact, ModelAnswered)),
            code=tuple(self._code(fact) for fact in self._answered if isinstance(fact, CodeAnswered)),
            agents=tuple(self._agents()),
        )

    def _reply(self, turn: Turn) -> FollowUpMessage:
        """Return what the user said in a later turn, and how far the query's turn was by then."""
        before = [fact for fact in self._answered if getattr(fact, "turn", turn.number) < turn.number]
        kinds = (ModelAnswered, ToolAnswered)
        models, calls = (sum(isinstance(fact, kind) for fact in before) for kind in kinds)
        return FollowUpMessage(turn.message, models, calls)

    def _agents(self) -> Iterable[RecordedAgentRun]:
        """Yield the calls of agent tools whose agents ran, each with how many calls were answered by then."""
        calls = 0
        for fact in self._answered:
            calls += isinstance(fact, ToolAnswered)
            if isinstance(fact, AgentRan):
                yield RecordedAgentRun(
                    id=fact.call_id,
                    tool=fact.tool_name,
                    within=self._within(fact.scope),
                    arguments=copied(fact.arguments),
                    calls_before=calls,
                )

    def _call(self, fact: ToolAnswered) -> RecordedCall:
        return RecordedCall(
            id=fact.call_id,
            tool=fact.tool_name,
            agent=fact.agent,
            within=self._within(fact.scope),
            arguments=copied(fact.arguments),
            outcome=fact.outcome,
            later=self._later.get(fact.call_id),
            long_running=fact.call_id in self._long_running,
            beneath=fact.beneath,
            effects=fact.effects,
            confirmed=self._confirmed.get(fact.call_id),
            author=Author.of(fact.provenance),
            latency_ms=round(fact.elapsed_ms, 3),
            declared=fact.declared,
        )

    def _model(self, fact: ModelAnswered) -> RecordedModelTurn:
        return RecordedModelTurn(
            agent=fact.agent,
            within=self._within(scope_of(fact.key)),
            put_off=self._is_put_off(fact),
            path=self._path(fact),
            responses=tuple(copied(response) for response in fact.responses),
            error=fact.error,
            author=Author.of(fact.provenance),
        )

    def _path(self, fact: ModelAnswered) -> str:
        """Find where an agent spoke: the event that its model's answer became says it, or the call of the agent tool that ran it."""
        if scope := scope_of(fact.key):
            return scope.rpartition(">")[2]
        whole = [response for response in fact.responses if not response.get("partial")]
        paths = [taken_path(self._spoken, fact.agent, response) for response in whole]
        path = next(filter(None, reversed(paths)), "") or self._only_path(fact.agent)
        return "" if path == self._home else path

    def _only_path(self, agent: str) -> str:
        """Return the one node at which an agent spoke: what its event says may be another text, such as the code in its answer."""
        paths = {_node_path(event) for event in self._events() if event.get("author") == agent}
        return paths.pop() if len(paths) == 1 else ""

    def _is_put_off(self, fact: ModelAnswered) -> bool:
        """Return whether a model only said what ended its turn, and the user then brought a late answer, or a confirmation."""
        numbers = [turn.number for turn in self._turns]
        calls = {str(call.get("id")) for call in calls_in(fact.responses)}
        if fact.turn == numbers[-1] or scope_of(fact.key) or calls - put_off_data(self._turns):
            return False
        following = self._turns[numbers.index(fact.turn) + 1]
        ids = {str(said.get("id")) for said in message_responses(following.message)}
        brought = {self._about.get(call_id, call_id) for call_id in ids}
        return bool(brought & {each.call_id for each in self._answered if isinstance(each, ToolAnswered)})

    def _code(self, fact: CodeAnswered) -> RecordedCode:
        return RecordedCode(
            agent=fact.agent,
            within=self._within(scope_of(fact.key)),
            code=fact.code,
            result=copied(fact.result),
            error=fact.error,
            author=Author.of(fact.provenance),
        )

    def _within(self, scope: str) -> tuple[str, ...]:
        """Name the agent tools whose calls a scope is made of."""
        ids = [call_id for call_id in scope.split(">") if call_id]
        return tuple(self._asked[call_id].tool if call_id in self._asked else call_id for call_id in ids)

    def _all_asked(self) -> Iterable[tuple[str, Step]]:
        """Yield the calls that were made, by their ids: in the events, and in what models inside of agent tools said."""
        for fact in self._answered:
            if isinstance(fact, ModelAnswered):
                for call in calls_in(fact.responses):
                    if call.get("id"):
                        yield str(call["id"]), _asked(call, fact.agent)
        for event in self._events():
            for call in function_calls(event):
                if call.get("id"):
                    yield str(call["id"]), _asked(call, str(event.get("author") or ""))

    def _all_questions(self) -> Iterable[tuple[str, str]]:
        """Yield the ids of the questions whether a tool may run, each with that of the call that it is about."""
        for event in self._events():
            for call in function_calls(event):
                original = (call.get("args") or {}).get("originalFunctionCall")
                if call.get("name") == CONFIRMATION and isinstance(original, dict) and original.get("id"):
                    yield str(call.get("id")), str(original["id"])

    def _all_confirmed(self) -> Iterable[tuple[str, JsonObject]]:
        """Yield what a person answered to each confirmation, by the id of the call that it was about."""
        for said in self._said_by_user():
            if (call_id := self._about.get(str(said.get("id")))) is not None:
                yield call_id, copied(said.get("response") or {})

    def _said_by_user(self) -> Iterable[dict[str, Any]]:
        for turn in self._turns[1:]:
            yield from message_responses(turn.message)

    def _events(self) -> Iterable[JsonObject]:
        for turn in self._turns:
            yield from turn.events


def _asked(call: Mapping[str, Any], agent: str) -> Step:
    arguments = call.get("args")
    given = arguments if isinstance(arguments, dict) else {}
    return Step(kind="call", author=agent, tool=str(call.get("name") or ""), value=given)


# Reads out of a session's events where its agents spoke, and which of their calls run long. Pure.


Spoken: TypeAlias = Mapping[str, list[JsonObject]]
"""The events in which something was said, by who said it, those that no model's answer is known of."""


def long_running_ids(event: JsonObject) -> Iterable[str]:
    """Return the ids of an event's calls whose tools may be answered later."""
    ids: Any = event.get("longRunningToolIds") or ()
    return [str(each) for each in ids]


def spoken_events(events: Iterable[JsonObject]) -> Spoken:
    """Return the events in which an agent said something, by the agent's name, in their order."""
    found: defaultdict[str, list[JsonObject]] = defaultdict(list)
    for event in events:
        author = str(event.get("author") or "")
        if author != USER_AUTHOR and not event.get("partial") and not function_responses(event):
            found[author].append(event)
    return found


def taken_path(spoken: Spoken, agent: str, response: JsonObject) -> str:
    """Take the first event that says what a model answered, and return the path of its node; empty where there is none.

    Args:
        spoken: The events; the one that is found is taken out.
        agent: Whose model it was.
        response: ADK's `LlmResponse` in JSON.
    """
    names = [str(call.get("name")) for call in calls_in([response])]
    texts = _texts(response)
    left = spoken.get(agent) or []
    for place, event in enumerate(left):
        if [str(call.get("name")) for call in function_calls(event)] == names and _texts(event) == texts:
            del left[place]
            return _node_path(event)
    return ""


def _node_path(event: JsonObject) -> str:
    node: Any = event.get("nodeInfo") or {}
    return str(node.get("path") or "")


def _texts(said: JsonObject) -> list[Any]:
    return [part["text"] for part in parts_of(said.get("content")) if part.get("text")]


# Reads the questions that graphs and agents ask the user (`RequestInput`), and what was answered to them, out of events and recordings. Pure.


class FollowUpMessage(NamedTuple):
    """A message of the user after the query, and how many models and calls had been answered by then."""

    message: JsonObject
    models_before: int = 0
    calls_before: int = 0


def recorded_inputs(
    events: Iterable[JsonObject], replies: Iterable[FollowUpMessage]
) -> Iterator[RecordedInput]:
    """Record the questions of a turn that the user answered, in the order of the answers.

    Args:
        events: The events of the turn, in JSON.
        replies: The user's messages after the query.
    """
    asked: dict[str, list[tuple[Any, Any]]] = {}
    for event in events:
        for call in function_calls(event):
            if call.get("name") == REQUEST_INPUT and call.get("id"):
                asked.setdefault(str(call["id"]), []).append((event, call.get("args") or {}))
    places = {id_: place for place, id_ in enumerate(asked, start=1)} if len(asked) > 1 else {}
    for reply in replies:
        for said in message_responses(reply.message):
            if questions := asked.get(str(said.get("id"))):
                event, arguments = questions.pop(0) if len(questions) > 1 else questions[0]
                yield RecordedInput(
                    id=str(said.get("id")),
                    agent=str(event.get("author") or ""),
                    path=_node_path(event),
                    arguments=question_of(arguments),
                    response=copied(said.get("response") or {}),
                    models_before=reply.models_before,
                    calls_before=reply.calls_before,
                    asked=places.get(str(said.get("id")), 0),
                )


def record(
    eval_set: Path | str, eval_id: str, session: SimulationSession, facts: Iterable[Fact], agent: Any
) -> Path:
    """Write what the world answered in a session; return the path of the recorded environment.

    Call it when the case is in its eval set: what is recorded under its id from before is replaced.

    Args:
        eval_set: The eval-set file.
        eval_id: The id of the case in it.
        session: The session of the case.
        facts: The session's facts, from the first to the head.
        agent: Its agent, for the schemas of the tools.

    Raises:
        RecordedEnvironmentError: What stands there is no recorded environment; nothing was changed.
        OSError: The disk or the folder refused.
    """
    path = sidecar_of(eval_set)
    put_cases(path, {eval_id: recorded_for(session, facts, agent)})
    return path


def recorded_for(session: SimulationSession, facts: Iterable[Fact], agent: Any) -> RecordedCase:
    """Record a session with the schemas of its agent's tools. Arguments as for `record`."""
    return recorded_case(session, facts, shapes_of_all(agent))


def replay_lines_of(
    config: SimulatedAgentConfig, app_name: str, environment: Path, agent_folder: Path | None
) -> str:
    """Return the lines of `replay_lines` for an agent that is loaded: models that cannot be asked are answered from the recording."""
    return replay_lines(
        app_name,
        environment,
        agent_folder,
        models="recorded" if model_reachability(config) else "real",
        has_app=getattr(config, "has_app", config.agent is not config.root_agent),
    )


def replay_lines(
    app_name: str,
    environment: Path | str,
    agent_folder: Path | None = None,
    *,
    models: Literal["real", "recorded"] = "real",
    has_app: bool = False,
) -> str:
    """Return the lines of Python that a person adds to the end of an agent's module, so that it is replayed.

    Args:
        app_name: ADK's name of the app.
        environment: The recorded environment.
        agent_folder: Where the agent's module lies, if it is known: a file beside it is named by its name alone.
        models: Who answers for the agent's models.
        has_app: The module has an `app` already, which keeps its plugins and gets one more.
    """
    path = Path(environment)
    named = path.name if agent_folder is not None and path.parent == agent_folder else str(path)
    given = repr(named) if models == "real" else f"{named!r}, models={models!r}"
    if has_app:
        return f"from evalset import HermeticEnvironment\n\napp.plugins.append(HermeticEnvironment({given}))"
    return (
        "from evalset import HermeticEnvironment\n"
        "from google.adk.apps import App\n"
        f"app = App(name={app_name!r}, root_agent=root_agent, plugins=[HermeticEnvironment({given})])"
    )
