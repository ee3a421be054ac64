"""Reads evaluation datasets of Agent Platform, and the traces that `agents-cli` writes in the same form, as cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import dropwhile
from typing import Any, NamedTuple, TypeAlias, TypeVar

from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    SessionInput,
)
from google.adk.evaluation.eval_rubrics import Rubric, RubricContent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types
from pydantic import BaseModel, ValidationError

from evalset.errors import first_flaw
from evalset.files.datasets import (
    COMPARED,
    FIELDS,
    OWN,
    OWN_VERSION,
    compared,
    digests,
    group_and_id,
    is_of_agent,
    is_user_query,
    named_turn,
    turn_id,
)
from evalset.files.eval_names import usable_eval_id
from evalset.files.refusals import iso_seconds
from evalset.importing.adk_events import AdkSession, case_of_session
from evalset.importing.gathered import FoundCase, ImportProblemError
from evalset.recorded.recorded_turns import question_of
from evalset.recorded.recording import RecordedCase, without_end
from simulator.base.adk_names import snake
from simulator.base.json_values import JsonObject
from simulator.base.validation_words import is_long, validated
from simulator.session.adk_event_fields import USER_AUTHOR, content_text, parts_of
from simulator.session.model import CONFIRMATION, INTERRUPT_ID, REQUEST_INPUT

_USER = "user"
_AGENT = ""
"""The author where nobody knows it."""
_SYSTEM = "system"
"""The author of what a script notes of a run, where no agent is called so."""
_SESSION = ("session_input", "session_inputs")
_CONTEXT = "context"
"""The field with the source text that graders hold the responses against; no agent sees it."""
_READ = {"eval_case_id", "id", OWN, _CONTEXT, *FIELDS, *_SESSION}
_ASK_USER = frozenset({CONFIRMATION, REQUEST_INPUT})
_INTERRUPT_FIELD = "interrupt_id"
_OF_SCENARIO = {"user_scenario.starting_prompt", "user_scenario.conversation_plan"}
_OF_EVENT = {f"events[*].{name}" for name in ("author", "content", "event_time", "state_delta")}
_OF_RUBRIC = {f"rubric_groups[*].rubrics[*].{name}" for name in ("rubric_id", "content", "type")}
_OWN_GROUPS = {"turn", "case"}
"""The groups of rubrics that an export makes: those of one turn, and of the whole case."""
_MOST_NAMED = 3
Model = TypeVar("Model", bound=BaseModel)


class DatasetCase(NamedTuple):
    """A case that was read.

    Attributes:
        case: The case.
        environment: What is recorded of it, where it is a trace.
        is_golden: Whether it is one that was exported, and says of itself what tools answered.
        places: The places of its turns in `eval_cases`, from 0.
        context: The source text that graders hold the responses against: a text, or a `Content` in JSON; None where it has none.
        lacks: What its events lack to be a whole session; empty where they are one, or none of a run.
    """

    case: EvalCase
    environment: RecordedCase | None = None
    is_golden: bool = False
    places: tuple[int, ...] = ()
    context: str | JsonObject | None = None
    lacks: str = ""


class _Entry(NamedTuple):
    """A case of the file: its number, its id, what it says with all contents in ADK's form, and the digests of what stands there."""

    number: int
    case_id: str
    told: JsonObject
    digests: JsonObject

    @property
    def place(self) -> str:
        return f"eval_cases[{self.number}]"

    @property
    def own(self) -> JsonObject:
        """What an export of ours added; empty where nothing is there, or something that cannot be read."""
        own = self.told.get(OWN)
        return own if isinstance(own, dict) and own.get("version") == OWN_VERSION else {}

    @property
    def events(self) -> list[Any]:
        told = [event for event in self._all_events if not self._is_note(event)]
        return _without_empty_end(told, self.told.get("responses"))

    @property
    def notes(self) -> int:
        """How many events are the notes of a program, and no agent's."""
        return sum(map(self._is_note, self._all_events))

    @property
    def _all_events(self) -> list[Any]:
        agent_data: Any = self.told.get("agent_data") or {}
        return [event for turn in agent_data.get("turns") or () for event in turn.get("events") or ()]

    def _is_note(self, event: JsonObject) -> bool:
        agent_data: Any = self.told.get("agent_data") or {}
        agents = agent_data.get("agents") or ()
        return event.get("author") == _SYSTEM and _SYSTEM not in agents

    @property
    def session(self) -> SessionInput:
        """The session that the case itself names, with the state that stands before its first message."""
        named: Any = next((told for name in _SESSION if (told := self.told.get(name))), {})
        given = _valid(
            SessionInput, {"app_name": "", "user_id": _USER, **named}, f"{self.place}.session_input"
        )
        return given.model_copy(update={"state": {**given.state, **_state_of(self.events)}})

    @property
    def now_called(self) -> str:
        """The id of the golden: that of the export, or what somebody called it since."""
        eval_id, turn = str(self.own.get("eval_id")), self.own.get("turn")
        is_one_of_many = isinstance(turn, int) and self.own.get("turns") != 1
        expected = turn_id(eval_id, turn) if isinstance(turn, int) and is_one_of_many else eval_id
        if self.case_id == expected:
            return eval_id
        named = named_turn(self.case_id) if is_one_of_many else None
        return usable_eval_id(named[0] if named else self.case_id)

    @property
    def is_trace(self) -> bool:
        """Whether an agent has answered the last message, if only with something that the source did not keep."""
        last: Any = next(iter(self.events[-1:]), {})
        return is_of_agent(last) or self.is_cut or bool(self.told.get("responses"))

    @property
    def is_cut(self) -> bool:
        """Whether the last event is an agent's, or a node's, of which only its author was kept, a question, or the user's reply to one."""
        last: Any = next(iter(self.events[-1:]), {})
        if last.get("author") == USER_AUTHOR:
            return any(part.get("function_response") for part in parts_of(last.get("content")))
        return _question(last) is not None or (len(self.events) > 1 and _is_empty(last))

    @property
    def golden(self) -> tuple[str, int] | None:
        """The golden that it is a turn of, and which."""
        if self.is_trace:
            return None
        turn = self.own.get("turn")
        if isinstance(turn, int) and self.own.get("turns") != 1:
            return str(self.own.get("eval_id")), turn
        return None if self.own else named_turn(self.case_id)


class _Missing:
    """Counts what is left out, so that a file of many cases is reported in few sentences."""

    def __init__(self) -> None:
        self._ids: dict[str, list[str]] = {}

    def of(self, case_id: str, words: str) -> None:
        ids = self._ids.setdefault(words, [])
        if case_id not in ids[-1:]:
            ids.append(case_id)

    def sentences(self) -> Iterator[str]:
        for words, ids in self._ids.items():
            named = ", ".join(map(repr, ids[:_MOST_NAMED]))
            more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
            yield f"{words}: {named}{more}"


Refuses: TypeAlias = Callable[[str, ImportProblemError], None]
"""Is told the id of a case that cannot be read, and why."""


def _refuse(_: str, error: ImportProblemError) -> None:
    raise error


def dataset_cases(
    values: Iterable[Any], tell: Callable[[str], None], refuse: Refuses = _refuse
) -> Iterator[DatasetCase]:
    """Read the cases of a dataset, one golden at a time.

    Cases that hold the turns of one golden (`<case>_turn0`, `<case>_turn1` ...) become that golden again, where they follow each other.

    Args:
        values: The entries of `eval_cases`, in JSON.
        tell: Is told what is missing or left out.
        refuse: Is told of each case that cannot be read; the others are read. By default the first one ends it.

    Raises:
        ImportProblemError: A case cannot be read, by default; the text says which and where.
    """
    missing = _Missing()
    waiting: list[_Entry] = []
    for number, value in enumerate(values):
        try:
            entry = _entry(number, value)
        except ImportProblemError as error:
            refuse(_id_of(number, value if isinstance(value, dict) else {}), error)
            continue
        if waiting and not _goes_on(waiting, entry):
            yield from _read(waiting, missing, refuse)
            waiting = []
        waiting.append(entry)
    if waiting:
        yield from _read(waiting, missing, refuse)
    for words in missing.sentences():
        tell(words)


def _entry(number: int, value: Any) -> _Entry:
    place = f"eval_cases[{number}]"
    if not isinstance(value, dict):
        raise ImportProblemError(f"{place} is not an object")
    told: JsonObject = {snake(name): held for name, held in value.items() if held is not None}
    for name in ("prompt", "agent_data", "reference", "rubric_groups", "user_scenario", *_SESSION):
        if not isinstance(told.get(name, {}), dict):
            raise ImportProblemError(f"{place}.{name} is not an object")
    data: Any = told.get("agent_data", {})
    data = {snake(name): held for name, held in data.items() if held is not None}
    if not isinstance(data.get("turns", []), list):
        raise ImportProblemError(f"{place}.agent_data.turns is not a list")
    turns = [
        _read_turn(turn, f"{place}.agent_data.turns[{number}]")
        for number, turn in enumerate(data.get("turns", []))
    ]
    data["turns"] = turns
    found = digests({**told, "agent_data": data})
    for turn in turns:
        for event in turn["events"]:
            if event.get("content") is not None:
                event["content"] = _dumped(
                    _content(event["content"], f"{place}.agent_data: the content of an event")
                )
    _refuse_newer(told.get(OWN), f"{place}.{OWN}")
    return _Entry(number, _id_of(number, value), {**told, "agent_data": data}, found)


def _id_of(number: int, value: Mapping[str, Any]) -> str:
    """Return the id of an entry, or one by its place where it has none."""
    told = {snake(name): held for name, held in value.items()}
    named = (told.get(name) for name in ("eval_case_id", "id"))
    return next((each for each in named if isinstance(each, str)), f"case_{number + 1}")


def _question(event: JsonObject) -> types.FunctionCall | None:
    """Return the question to the user that an event asks; None where it asks none."""
    calls = (part.get("function_call") or {} for part in parts_of(event.get("content")))
    call = next((call for call in calls if call.get("name") == REQUEST_INPUT), None)
    if call is None:
        return None
    asked = _as_asked(call.get("args"))
    own = str(call.get("id") or asked.get(INTERRUPT_ID) or "")
    return types.FunctionCall(id=own or None, name=REQUEST_INPUT, args=asked)


def _is_empty(event: JsonObject) -> bool:
    """Return whether only its author was kept of an event of an agent, or of a node."""
    author = event.get("author")
    is_own = isinstance(author, str) and author not in {"", USER_AUTHOR, "model"}
    parts = parts_of(event.get("content"))
    return is_own and all(part.keys() == {"text"} and not part["text"] for part in parts)


def _without_empty_end(events: list[Any], responses: Any) -> list[Any]:
    """Leave out the last events of which nothing was kept, where the text before them is what the case says that the agent ended with."""
    kept = [*dropwhile(_is_empty, reversed(events))][::-1]
    match responses:
        case [{"response": said}, *_] if kept and (words := content_text(said)):
            return kept if words == content_text(kept[-1].get("content")) else events
    return events


def _refuse_newer(own: Any, place: str) -> None:
    """Refuse what a newer version of the studio added: without it a golden would lose its calls.

    Raises:
        ImportProblemError: It is newer.
    """
    version = own.get("version") if isinstance(own, dict) else None
    if isinstance(version, int) and version > OWN_VERSION:
        raise ImportProblemError(
            f"{place} has version {version}; this version of the studio reads versions up to {OWN_VERSION}. Update the studio"
        )


def _read_turn(turn: Any, place: str) -> dict[str, Any]:
    events = turn.get("events") or [] if isinstance(turn, dict) else None
    if not isinstance(events, list):
        raise ImportProblemError(f"{place} is not an object with a list of events")
    return {**turn, "events": [_read_event(event, f"{place}.events[{n}]") for n, event in enumerate(events)]}


def _read_event(event: Any, place: str) -> dict[str, Any]:
    if not isinstance(event, dict):
        raise ImportProblemError(f"{place} is not an object")
    told = {snake(name): held for name, held in event.items() if held is not None}
    for name in ("content", "state_delta"):
        if not isinstance(told.get(name, {}), dict):
            raise ImportProblemError(f"{place}.{name} is not an object")
    return told


def _goes_on(waiting: Sequence[_Entry], entry: _Entry) -> bool:
    """Return whether an entry is the next turn of the golden whose entries wait."""
    before, now = waiting[-1].golden, entry.golden
    if before is None or now is None or waiting[0].golden != (now[0], 0):
        return False
    if bool(entry.own) != bool(waiting[0].own) or now != (before[0], before[1] + 1):
        return False
    return bool(entry.own) or len(list(_queries(entry.events))) == len(waiting) + 1


def _queries(events: Iterable[Any]) -> Iterator[Any]:
    return (event for event in events if is_user_query(event))


def _read(entries: Sequence[_Entry], missing: _Missing, refuse: Refuses) -> Iterator[DatasetCase]:
    for group, read in _ways(entries, missing):
        try:
            case = read()._replace(context=_context(group, missing))
        except ImportProblemError as error:
            refuse(entries[0].now_called if entries[0].own else entries[-1].case_id, error)
        else:
            yield case


def _context(entries: Sequence[_Entry], missing: _Missing) -> str | JsonObject | None:
    """Return the context of a case: that of its last turn which has one, as a case keeps one only."""
    told = [given for entry in entries if (given := entry.told.get(_CONTEXT))]
    read = [given for given in told if isinstance(given, (str, dict))]
    if any(given != read[-1] for given in told if read) or len(read) < len(told):
        missing.of(entries[-1].case_id, f"the field `{_CONTEXT}` of other turns is left out")
    return read[-1] if read else None


def _ways(
    entries: Sequence[_Entry], missing: _Missing
) -> Iterator[tuple[Sequence[_Entry], Callable[[], DatasetCase]]]:
    """Yield what reads each of the cases that entries make, with the entries of it."""
    own = entries[0].own
    wanted = own.get("turns", 1)
    is_whole = not entries[0].is_trace and isinstance(own.get("case"), dict) and own.get("turn", 0) == 0
    if is_whole and len(entries) == wanted:
        places = tuple(entry.number for entry in entries)
        yield entries, lambda: DatasetCase(_restored(entries, missing), is_golden=True, places=places)
        return
    groups = [entries] if not own else [[entry] for entry in entries]
    for group in groups:
        if group[-1].own and not group[-1].is_trace:
            missing.of(
                group[-1].case_id,
                "other turns of the golden are not in the file, so each turn is read as a case by itself",
            )
        yield group, partial(_foreign, group, missing)


# ---------------------------------------------------------------- what we exported ourselves


def _restored(entries: Sequence[_Entry], missing: _Missing) -> EvalCase:
    """Return a golden as it was exported, with what was edited in the dataset since."""
    own = entries[0].own
    frame: Any = own["case"]
    eval_id = entries[0].now_called
    is_talk = frame.get("conversation_scenario") is None
    for entry in entries if is_talk else ():
        if not isinstance(entry.own.get("invocation"), dict):
            raise ImportProblemError(f"{entry.place}.{OWN}.invocation is missing or no object")
    turns = [entry.own["invocation"] for entry in entries] if is_talk else []
    case = _valid(
        EvalCase, frame | ({"conversation": turns} if turns else {}), f"{entries[0].place}.{OWN}.case"
    )
    edited = _edited(entries[0])
    update: dict[str, Any] = {"eval_id": eval_id}
    of_case = {"case", *(group_and_id(each.rubric_id)[0] for each in case.rubrics or ())}
    if case.conversation is not None:
        update["conversation"] = [
            _restored_turn(entry, turn, eval_id, missing, of_case)
            for entry, turn in zip(entries, case.conversation, strict=True)
        ]
    if "state" in edited:
        missing.of(eval_id, "the initial state was edited in the dataset, and is taken from there")
        given = case.session_input or SessionInput(app_name="", user_id=_USER)
        update["session_input"] = given.model_copy(update={"state": compared(entries[0].told)["state"]})
    if "user_scenario" in edited and case.conversation_scenario is not None:
        missing.of(eval_id, "the scenario was edited in the dataset, and is taken from there")
        update["conversation_scenario"] = _scenario(entries[0], case.conversation_scenario)
    if "rubric_groups" in _edited(entries[-1]):
        rubrics = list(_rubrics(entries[-1], lambda name: (name in of_case) or not turns))
        update["rubrics"] = rubrics or None
    return case.model_copy(update=update)


def _edited(entry: _Entry) -> set[str]:
    """Return which parts of a case are not as they were exported."""
    before: Any = entry.own.get("digests")
    before = before if isinstance(before, dict) else {}
    return {name for name in COMPARED if before.get(name) != entry.digests.get(name)}


def _restored_turn(
    entry: _Entry, turn: Invocation, eval_id: str, missing: _Missing, of_case: set[str]
) -> Invocation:
    edited = _edited(entry)
    update: dict[str, Any] = {}
    number = entry.own.get("turn", 0)
    number = number + 1 if isinstance(number, int) else 1
    parts: dict[str, tuple[str, str, Callable[[], Any]]] = {
        "query": (
            "user_content",
            "the user message was edited in the dataset, and is",
            lambda: _query_of(entry),
        ),
        "reference": (
            "final_response",
            "the reference was edited in the dataset, and is",
            lambda: _reference(entry),
        ),
        "rubric_groups": (
            "rubrics",
            "the rubrics were edited in the dataset, and are",
            lambda: list(_rubrics(entry, lambda name: name not in of_case)) or None,
        ),
    }
    for part, (field, words, read) in parts.items():
        if part in edited:
            missing.of(eval_id, f"turn {number}: {words} taken from there")
            update[field] = read()
    if "history" in edited:
        missing.of(
            eval_id,
            f"turn {number}: the turns before it were edited in the dataset; they are taken from their own cases",
        )
    return turn.model_copy(update=update)


def _query_of(entry: _Entry) -> types.Content:
    value: Any = compared(entry.told)["query"]
    if not value:
        raise ImportProblemError(f"{entry.place} has neither a prompt nor turns that end with a user message")
    return _content(value, f"{entry.place}: the user message")


# ---------------------------------------------------------------- what others wrote


def _foreign(entries: Sequence[_Entry], missing: _Missing) -> DatasetCase:
    last = entries[-1]
    golden = last.golden if len(entries) > 1 else None
    case_id = usable_eval_id(golden[0] if golden else last.case_id)
    for name in _left_out(last):
        missing.of(case_id, f"the field `{name}` is left out")
    if OWN in last.told and not last.own:
        missing.of(
            case_id,
            f"the field `{OWN}` cannot be read by this version of the studio, so what only it knows is left out",
        )
    if last.notes:
        missing.of(case_id, "the events of the author `system` are left out, as no agent is named so")
    events = _with_prompt(last, missing)
    if not any(is_user_query(event) for event in events):
        if "user_scenario" in last.told:
            return DatasetCase(_of_scenario(last, case_id))
        raise ImportProblemError(
            f"{last.place} has neither a prompt nor a user message in its turns, nor a scenario"
        )
    if "user_scenario" in last.told:
        missing.of(
            case_id, "the conversation is taken and the scenario is left out, as a case has one of them only"
        )
    if not last.is_trace:
        return DatasetCase(_asked(entries, case_id, events, missing))
    try:
        return _traced(last, case_id, events, missing)
    except ImportProblemError as error:
        missing.of(
            case_id, f"the events do not form a complete session, so only the texts are taken: {error}"
        )
        asked = _asked(entries, case_id, _with_answer(last, _texts(events)), missing)
        return DatasetCase(asked, lacks=str(error))


def _left_out(entry: _Entry) -> list[str]:
    """Return the fields of a case that an eval case has no place for."""
    told: Any = entry.told
    found = set(told.keys() - _READ)
    found |= {f"agent_data.{name}" for name in told["agent_data"].keys() - {"turns"}}
    found |= {f"user_scenario.{snake(name)}" for name in told.get("user_scenario", {})} - _OF_SCENARIO
    found |= {f"events[*].{name}" for event in entry.events for name in event} - _OF_EVENT
    responses = told.get("responses")
    if isinstance(responses, list) and len(responses) > 1:
        found.add("responses[1:]")
    for group in told.get("rubric_groups", {}).values():
        rubrics: Any = group.get("rubrics") if isinstance(group, dict) else None
        for rubric in rubrics if isinstance(rubrics, list) else ():
            named = map(snake, rubric) if isinstance(rubric, dict) else ()
            found |= {f"rubric_groups[*].rubrics[*].{key}" for key in named} - _OF_RUBRIC
    return sorted(found)


def _texts(events: Iterable[JsonObject]) -> list[JsonObject]:
    """Return the events in which there are only texts."""
    contents: list[tuple[JsonObject, Any]] = [(event, event.get("content") or {}) for event in events]
    return [
        event
        for event, content in contents
        if content.get("parts") and all(part.get("text") for part in content["parts"])
    ]


def _with_prompt(entry: _Entry, missing: _Missing) -> list[JsonObject]:
    """Return the events of a case, with its prompt before what agents said; `eval generate` leaves it out of the turns."""
    events = entry.events
    prompt: Any = entry.told.get("prompt")
    if not prompt:
        return events
    content = _dumped(_content(prompt, f"{entry.place}.prompt"))
    if any(is_user_query(event) for event in events):
        if all(event.get("content") != content for event in _queries(events)):
            missing.of(entry.case_id, "a prompt beside turns with user messages is left out")
        return events
    first = next((n for n, event in enumerate(events) if event.get("content")), len(events))
    asked: JsonObject = {"author": USER_AUTHOR, "content": content}
    return [*events[:first], asked, *events[first:]]


def _state_of(events: Iterable[JsonObject]) -> JsonObject:
    """Return the state that a session begins with: what stands before the first message, or beside it."""
    state: JsonObject = {}
    for event in events:
        if is_of_agent(event):
            break
        delta: Any = event.get("state_delta") or {}
        state |= delta
        if is_user_query(event):
            break
    return state


def _session_input(entry: _Entry) -> SessionInput | None:
    session = entry.session
    return None if session == SessionInput(app_name="", user_id=_USER) else session


def _traced(entry: _Entry, case_id: str, events: Sequence[JsonObject], missing: _Missing) -> DatasetCase:
    """Return a case of what an agent did, as of a session."""
    if entry.own:
        missing.of(case_id, "a trace: what the agent did is taken, and not the golden that it was run for")
    is_told = any(map(is_of_agent, events))
    whole = _with_answer(entry, _without_chunks(case_id, events, missing))
    whole = _with_own_end(entry, case_id, whole, missing)
    events = _with_replies(case_id, whole, missing)
    is_cut = entry.is_cut and is_told
    question = _question(events[-1]) if is_cut else None
    if is_cut:
        missing.of(case_id, _OPEN_END if question else _NO_END)
        events = _with_end(events)
    begin = entry.session
    state, end = dict(begin.state), dict(begin.state)
    for event in events:
        delta: Any = event.get("state_delta") or {}
        end |= delta
    made = [
        _event(event, number, entry)
        for number, event in enumerate(events)
        if event.get("content") or event.get("state_delta")
    ]
    session = AdkSession(case_id, begin.app_name, begin.user_id, end, made, first=state)
    found = case_of_session(session, lambda words: missing.of(case_id, words))
    if not is_told:
        missing.of(case_id, "there are only responses: the tool calls are not known, and nothing is recorded")
        found = _without_calls(found)
    elif not any(event.get("state_delta") for event in events if event.get("author") != USER_AUTHOR):
        missing.of(case_id, "the final state is not known")
        found = _without_end(found)
    found = _partial(found, is_cut=is_cut, question=question)
    case = found.case.model_copy(update={"eval_id": case_id, **_judged(entry)})
    turns = [] if is_cut else case.conversation or []
    reference = _reference(entry)
    if turns and reference is not None and not _same_text(reference, turns[-1].final_response):
        missing.of(case_id, "the reference differs from what the agent said in the trace, and is left out")
    return DatasetCase(case, found.environment)


_NO_END = "the trace does not contain how the last turn ended, so the end is not compared"
_OPEN_END = "the trace ends with a question to the user, so what follows it is not known"
_NOT_TOLD = types.Content(role="model", parts=[types.Part(text="\N{REPLACEMENT CHARACTER}")])
"""Stands for how a turn ended until its case is made: a session without an end would be none."""


def _with_end(events: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the events with an end that is not told: in the place of the last one, or by who asked."""
    *_, asker = filter(is_of_agent, events)
    last = events[-1]
    is_in_place = _is_empty(last) or _question(last) is not None
    kept, end = (events[:-1], last) if is_in_place else (events, {"author": asker.get("author")})
    return [*kept, {**end, "content": _dumped(_NOT_TOLD)}]


def _without_chunks(case_id: str, events: Sequence[JsonObject], missing: _Missing) -> list[JsonObject]:
    """Return the events without the pieces of a text that follows them whole, as a model streams it: each would be a turn of its own."""
    kept: list[JsonObject] = []
    for event in events:
        whole, pieces, joined = _said_alone(event), list[str](), ""
        for before in reversed(kept):
            piece = _said_alone(before)
            if not whole or piece is None or before.get("author") != event.get("author"):
                break
            pieces.append(piece)
            joined = piece + joined
            if joined == whole or not whole.endswith(joined):
                break
        if joined == whole and sum(map(bool, pieces)) > 1:
            missing.of(case_id, "the pieces of a streamed text are left out, as the whole text follows")
            del kept[-len(pieces) :]
        kept.append(event)
    return kept


def _said_alone(event: JsonObject) -> str | None:
    """Return the text of an event that holds nothing else; None where it does."""
    content: Any = event.get("content") or {}
    parts: Any = content.get("parts") or ()
    is_text = all(part.keys() <= {"text", "thought_signature"} for part in parts) and not event.get(
        "state_delta"
    )
    return "".join(part.get("text") or "" for part in parts) if is_text else None


def _with_replies(case_id: str, events: Sequence[JsonObject], missing: _Missing) -> list[JsonObject]:
    """Return the events with a text that follows a question of the agent as the reply to it: makers of traces write it so."""
    asked: dict[str, None] = {}
    told: list[JsonObject] = []
    for event in events:
        content: Any = event.get("content") or {}
        parts: Any = content.get("parts") or ()
        is_reply = False
        for part in parts:
            call, response = part.get("function_call") or {}, part.get("function_response") or {}
            if call.get("name") == REQUEST_INPUT:
                asked[str(call.get("id") or _as_asked(call.get("args")).get(INTERRUPT_ID) or "")] = None
            named = (str(response.get(name) or "") for name in ("id", "name"))
            if (replied := next((each for each in named if each in asked), None)) is not None:
                del asked[replied]
                response["name"], is_reply = REQUEST_INPUT, True
                response["id"] = replied or None
        if asked and is_user_query(event) and all(part.keys() == {"text"} for part in parts):
            missing.of(case_id, "a text is taken as the reply to the question before it")
            own, words = asked.popitem()[0], "".join(part["text"] for part in parts)
            reply = types.FunctionResponse(id=own or None, name=REQUEST_INPUT, response={"result": words})
            said = types.Content(role=_USER, parts=[types.Part(function_response=reply)])
            told.append({**event, "content": _dumped(said)})
        else:  # some call the reply's author, and its tool, by names of their own
            told.append({**event, "author": USER_AUTHOR} if is_reply else event)
    return told


def _partial(found: FoundCase, *, is_cut: bool, question: types.FunctionCall | None) -> FoundCase:
    """Return a case of what somebody kept of a run, without the end that stands for one that is not told, and with the question that it is."""
    case, environment = found.case, found.environment
    if environment is None:
        return found
    if is_cut:
        last = environment.turns[-1]
        models = tuple(
            turn
            for turn in last.models
            if _NOT_TOLD.model_dump(exclude_none=True)
            not in [response.get("content") for response in turn.responses]
        )
        turns = (
            *environment.turns[:-1],
            last.model_copy(
                update={
                    "models": models,
                    "is_cut": True,
                    "golden": None,
                    "open_question": question_of(question.args or {}) if question else None,
                }
            ),
        )
        environment = environment.model_copy(update={"turns": turns})
        conversation = case.conversation or []
        cut = conversation[-1].model_copy(
            update={
                "final_response": None,
                "intermediate_data": _with_question(conversation[-1].intermediate_data, question),
            }
        )
        case = case.model_copy(update={"conversation": [*conversation[:-1], cut]})
    return FoundCase(case, environment.model_copy(update={"is_partial": True}))


def _with_question(steps: Any, question: types.FunctionCall | None) -> Any:
    """Return the steps of a turn with the question that they end with."""
    if question is None:
        return steps
    if isinstance(steps, InvocationEvents):
        content = types.Content(role="model", parts=[types.Part(function_call=question)])
        last = InvocationEvent(author=_AGENT, content=content)
        return InvocationEvents(invocation_events=[*steps.invocation_events, last])
    steps = steps or IntermediateData()
    return steps.model_copy(update={"tool_uses": [*steps.tool_uses, question]})


def _with_answer(entry: _Entry, events: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the events of a case, with its first response where there are none of agents."""
    if any(is_of_agent(event) for event in events):
        return list(events)
    return [*events, *_answered(entry)]


def _with_own_end(
    entry: _Entry, case_id: str, events: Sequence[JsonObject], missing: _Missing
) -> list[JsonObject]:
    """Return the events with the case's first response in place of a last text that begins with it: the maker wrote more behind the agent's words."""
    *before, last = events
    own = next((content_text(event["content"]) for event in _answered(entry)), "")
    said = (_said_alone(last) or "") if is_of_agent(last) else ""
    if not own or not said.startswith(own) or said[len(own) :][:1].isalnum() or said.strip() == own.strip():
        return list(events)
    missing.of(
        case_id,
        "words behind the response are left out of the last event, as `responses` has it without them",
    )
    content = types.Content(role="model", parts=[types.Part(text=own)])
    return [*before, {**last, "content": _dumped(content)}]


def _without_calls(found: FoundCase) -> FoundCase:
    """Return a case of which only final responses are known."""
    turns = [turn.model_copy(update={"intermediate_data": None}) for turn in found.case.conversation or ()]
    return FoundCase(found.case.model_copy(update={"conversation": turns, "final_session_state": None}))


def _without_end(found: FoundCase) -> FoundCase:
    """Return a case whose events tell no state, which need not mean that there was none."""
    case = found.case.model_copy(update={"final_session_state": None})
    return FoundCase(case, without_end(found.environment) if found.environment else None)


def _answered(entry: _Entry) -> Iterator[JsonObject]:
    responses: Any = entry.told.get("responses") or []
    if isinstance(responses, list) and responses and isinstance(responses[0], dict):
        content = _dumped(
            _content(responses[0].get("response") or {}, f"{entry.place}.responses[0].response")
        )
        yield {"author": _AGENT, "content": content}


def _as_asked(arguments: Any) -> JsonObject:
    """Return what a question asks with its id where ADK writes it; traces also have the name of ADK's field."""
    asked = dict(arguments or {})
    return {INTERRUPT_ID: asked.pop(_INTERRUPT_FIELD), **asked} if _INTERRUPT_FIELD in asked else asked


def _event(event: JsonObject, number: int, entry: _Entry) -> Event:
    author = str(event.get("author") or _AGENT)
    content = _content(event.get("content") or {}, f"{entry.place}: an event")
    calls = [part.function_call for part in content.parts or () if part.function_call]
    for call in calls:
        if call.name == REQUEST_INPUT:
            call.args = _as_asked(call.args)
            call.id = call.id or str(call.args.get(INTERRUPT_ID) or "") or None  # ADK gives a question both
    asked = {call.id for call in calls if call.id and call.name in _ASK_USER}
    return Event(
        author=_root(entry) if author == "model" else author,
        content=content,
        long_running_tool_ids=asked or None,  # a trace does not keep them
        timestamp=_time(event.get("event_time"), number),
        actions=EventActions(state_delta=event.get("state_delta") or {}),
        invocation_id=entry.case_id,
    )


def _root(entry: _Entry) -> str:
    agent_data: Any = entry.told["agent_data"]
    agents = agent_data.get("agents")
    return next(iter(agents), _AGENT) if isinstance(agents, dict) else _AGENT


def _time(written: Any, number: int) -> float:
    """Return when an event was, in seconds; by its number where that is not known, so that each import gives the same."""
    if (at := iso_seconds(written)) is not None:
        return at
    return float(written) if isinstance(written, (int, float)) else float(number)


def _asked(
    entries: Sequence[_Entry], case_id: str, events: Sequence[JsonObject], missing: _Missing
) -> EvalCase:
    """Return a case whose last message no agent has answered yet: the reference is its final response."""
    last = entries[-1]
    turns: list[list[JsonObject]] = []
    for event in events:
        if is_user_query(event):
            turns.append([])
        if turns and event.get("content"):
            turns[-1].append(event)
        if turns and event.get("state_delta") and not is_user_query(event):
            missing.of(case_id, "state changes of the turns before the last are left out")
    of_history = [None] * (len(turns) - len(entries))  # a history alone has no references
    references = [*of_history, *map(_reference, entries)]
    conversation = [
        _invocation(turn, reference, number, last)
        for number, (turn, reference) in enumerate(zip(turns, references, strict=True))
    ]
    if conversation[-1].final_response is None:
        missing.of(case_id, "there is no reference, so the last turn has no final response")
    missing.of(case_id, "the tool calls of the last turn are not known")
    session = _session_input(last)
    if session is None:
        missing.of(case_id, "there is no `session_input`: the app, the user and the state are not known")
    case = EvalCase(eval_id=case_id, conversation=conversation, session_input=session)
    return case.model_copy(update=_judged(last))


def _invocation(
    events: Sequence[JsonObject], reference: types.Content | None, number: int, entry: _Entry
) -> Invocation:
    author_of = [(str(event.get("author")), _content(event["content"], entry.place)) for event in events]
    said = [(_root(entry) if author == "model" else author, content) for author, content in author_of[1:]]
    final = None
    if said and said[-1][0] != USER_AUTHOR and all(part.text is not None for part in said[-1][1].parts or ()):
        final = said.pop()[1]
    made = [InvocationEvent(author=author, content=content) for author, content in said]
    return Invocation(
        invocation_id=f"{entry.case_id}-{number}",
        user_content=author_of[0][1],
        final_response=reference or final,
        intermediate_data=InvocationEvents(invocation_events=made) if made else None,
    )


def _of_scenario(entry: _Entry, case_id: str) -> EvalCase:
    return EvalCase(
        eval_id=case_id,
        conversation_scenario=_scenario(entry, None),
        session_input=_session_input(entry),
        rubrics=list(_rubrics(entry, lambda _: True)) or None,
    )


def _judged(entry: _Entry) -> dict[str, Any]:
    """Return the rubrics of a case: of its only turn, or of the whole conversation."""
    rubrics = list(_rubrics(entry, lambda _: True))
    return {"rubrics": rubrics} if rubrics else {}


# ---------------------------------------------------------------- values


def _same_text(one: types.Content, other: types.Content | None) -> bool:
    return [part.text for part in one.parts or ()] == [
        part.text for part in (other.parts if other else None) or ()
    ]


def _reference(entry: _Entry) -> types.Content | None:
    reference: Any = entry.told.get("reference")
    if not reference:
        return None
    if "response" not in reference and "parts" in reference:
        raise ImportProblemError(f'{entry.place}.reference must hold the content under "response"')
    return _content(reference.get("response") or {}, f"{entry.place}.reference.response")


def _rubrics(entry: _Entry, wanted: Callable[[str], bool]) -> Iterator[Rubric]:
    groups: Any = entry.told.get("rubric_groups") or {}
    taken: set[str] = set()
    for name, group in groups.items():
        listed = group.get("rubrics") or [] if isinstance(group, dict) else []
        for number, rubric in enumerate(listed if wanted(name) else []):
            place = f"{entry.place}.rubric_groups.{name}.rubrics[{number}]"
            made = _rubric(rubric, place, f"{name}_{number + 1}")
            if name not in _OWN_GROUPS:
                made = made.model_copy(update={"rubric_id": f"{name}/{made.rubric_id}"})
            free = made.rubric_id if made.rubric_id not in taken else f"{name}_{made.rubric_id}"
            taken.add(free)
            yield made.model_copy(update={"rubric_id": free})


def _rubric(rubric: Any, place: str, name: str) -> Rubric:
    content = rubric.get("content") if isinstance(rubric, dict) else None
    described = content.get("property") if isinstance(content, dict) else None
    if not isinstance(described, dict):
        raise ImportProblemError(f"{place} has no content.property.description")
    return Rubric(
        rubric_id=str(rubric.get("rubric_id") or rubric.get("rubricId") or name),
        rubric_content=RubricContent(text_property=str(described.get("description") or "")),
        type=rubric.get("type") if isinstance(rubric.get("type"), str) else None,
    )


def _scenario(entry: _Entry, before: ConversationScenario | None) -> ConversationScenario:
    told: Any = entry.told["user_scenario"]
    spelled = {snake(name): held for name, held in told.items()}
    given = {name: str(spelled.get(name) or "") for name in ("starting_prompt", "conversation_plan")}
    if before is not None:
        return before.model_copy(update=given)
    return _valid(ConversationScenario, given, f"{entry.place}.user_scenario")


def _content(value: Any, place: str) -> types.Content:
    return _valid(types.Content, value, place)


def _dumped(content: types.Content) -> JsonObject:
    return content.model_dump(mode="json", exclude_none=True)


def _valid(kind: type[Model], value: Any, place: str) -> Model:
    try:
        if is_long(value):
            validated(kind, value)  # ends where enough is wrong
        return kind.model_validate_json(
            json.dumps(value)
        )  # in JSON's mode, in which bytes are written as text
    except ValidationError as error:
        raise ImportProblemError(f"{place} cannot be read: {first_flaw(error)}") from error
