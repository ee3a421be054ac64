"""Repairs goldens: takes what the agent does now as the golden, or restores the golden from what was recorded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any, TypeAlias

from google.adk.evaluation.eval_case import EvalCase, Invocation, SessionInput, get_all_tool_calls
from google.genai import types
from pydantic import ValidationError

from evalset.editing.case_edits import ReplaceCase
from evalset.editing.case_parts import Case, EditError, field, put
from evalset.editing.opened_set import open_set
from evalset.editing.set_saving import ChangedOnDiskError, Saved, save
from evalset.editing.set_work import EditedCase, SetWork
from evalset.editing.sidecars import open_beside
from evalset.errors import EvalSetError
from evalset.exporting.dataset_file import AgentCards, dataset_file
from evalset.files.case_text import case_json
from evalset.files.datasets import FIELDS, OWN
from evalset.files.eval_names import no_case
from evalset.files.set_outline import Style, find_layout
from evalset.golden_trace.golden_steps import arguments_of
from evalset.importing.dataset_cases import DatasetCase
from evalset.importing.known_answers import DatasetGoldens, dataset_goldens, read_dataset, recorded_in
from evalset.recorded.golden_digests import state_digest, with_golden
from evalset.recorded.recording import (
    RecordedCase,
    RecordedModelTurn,
    RecordedTurn,
    without_edits,
    without_golden,
)
from evalset.recorded.recording_files import RecordedEnvironmentError, put_cases, sidecar_of
from evalset.recorded.tolerances import tolerated
from evalset.verify.case_replay import ReplayOptions, replayed, run_to_end
from evalset.verify.cases_to_verify import agent_of, read_recorded
from evalset.verify.divergence import aligned, matched
from evalset.verify.proposed_tolerances import done_in_kernel
from evalset.verify.results import ActualTurn, RunResult, VerifyError
from evalset.verify.verdict_evidence import gone_tools
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.adk_names import snake
from simulator.base.documents import read_file
from simulator.base.json_text import JsonPlaces
from simulator.base.json_values import JsonObject, canonical, copied, same
from simulator.base.user_files import LockTimeoutError, lock_path, system_lock, write_whole
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.session.adk_event_fields import parts_of

_EVENTS, _DATA, _FINAL = "invocation_events", "intermediate_data", "final_response"
_LOCK_SECONDS = 60.0
_Change: TypeAlias = Callable[[EvalCase, RecordedCase | None], tuple[EvalCase, RecordedCase | None]]
"""Returns what a golden of a dataset and its recording become."""
_ATTEMPTS = 20
"""How often a case is accepted again where the set was written at the same time, by others that accept its cases for one."""


def accept(path: Path | str, eval_id: str, result: RunResult) -> Saved:
    """Let what the agent did in a run be the golden of its case: in the eval set, and where the recording has to follow, there too.

    The case keeps its queries, rubrics, notes and whatever else it holds. In a dataset all cases that hold turns of the golden change together.

    Args:
        path: The eval set, or the dataset.
        eval_id: The case.
        result: The run, which came to its end.

    Raises:
        VerifyError: The run did not come to its end, or a file cannot be used or written; nothing was changed.
    """
    if (dataset := _accepted_in_dataset(Path(path), eval_id, result)) is not None:
        return dataset
    for _ in range(_ATTEMPTS):
        work = _opened(path)
        _apply(work, accepting(_held(work, eval_id), eval_id, result))
        try:
            return _saved(work)
        except ChangedOnDiskError:  # another case of the set was accepted meanwhile
            continue
    raise VerifyError(f"{path}: another program keeps changing this file")


def _accepted_in_dataset(path: Path, eval_id: str, result: RunResult) -> Saved | None:
    """Accept a run in a dataset; return None where the file is none."""

    def change(case: EvalCase, recorded: RecordedCase | None) -> tuple[EvalCase, RecordedCase | None]:
        edit = accepting(EditedCase(json.loads(case_json(case)), recorded), eval_id, result)
        return EvalCase.model_validate(edit.value), edit.recorded

    if path.name.endswith(".evalset.json") or not path.is_file() or read_dataset(path) is None:
        return None
    _change_golden(path, eval_id, change)
    return Saved(path=path, cases=1, beside=sidecar_of(path))


def accepting(held: EditedCase, key: str, result: RunResult) -> ReplaceCase:
    """Return the edit that accepts a run, for a page that shows what it changes before it is saved.

    Args:
        held: The case as it is, and what is recorded of it.
        key: Its key among the cases that are edited.
        result: The run.

    Raises:
        VerifyError: The run did not come to its end, or the case has another number of turns.
    """
    if not result.came_to_its_end:
        why = result.error or (result.unrecorded[-1] if result.unrecorded else "")
        raise VerifyError(f"the run stopped early, so it cannot become the golden: {why}")
    turns = field(held.case, "conversation") or []
    if len(turns) != len(result.turns):
        raise VerifyError(f"the case {key!r} has {len(turns)} turns, but the run has {len(result.turns)}")
    case = _with_turns(held.case, result.turns)
    if held.case.get("final_session_state") or result.final_state:
        state = _in_order_of(field(case, "final_session_state"), copied(result.final_state))
        case = put(case, ("final_session_state",), state)
    recorded = held.recorded and _with_golden(_recorded_after(held.recorded, result), case)
    return ReplaceCase(case=key, value=case, recorded=recorded, words="Accept the agent's new behavior")


def repair(
    path: Path | str,
    eval_id: str,
    *,
    agent: SimulatedAgentConfig | str | None = None,
    agents_dir: Path | str | None = None,
) -> Saved:
    """Put the golden of a case right from what was recorded: queries, calls, answers, texts and state are as they were then.

    The agent is replayed with the recorded models, so what it, its callbacks and ADK make of the recorded answers is right, too.
    It needs no event loop, and may be called in any thread.

    Args:
        path: The eval set.
        eval_id: The case.
        agent: As for `verify`.
        agents_dir: As for `verify`.

    Raises:
        VerifyError: Nothing is recorded of the case, or no turns of models, or the agent cannot be replayed with them any more; or
            a file cannot be used or written. Nothing was changed.
    """
    work = _opened(path)
    config = agent_of(path, _held(work, eval_id).recorded, agent, agents_dir)
    _apply(work, repairing(_held(work, eval_id), eval_id, config))
    try:
        return _saved(work)
    except ChangedOnDiskError as error:
        raise VerifyError(str(error)) from error


def repairing(held: EditedCase, key: str, config: SimulatedAgentConfig) -> ReplaceCase:
    """Return the edit that repairs a case, for a page that shows what it changes before it is saved.

    Args:
        held: The case as it is, and what is recorded of it.
        key: Its key among the cases that are edited.
        config: Its agent.

    Raises:
        VerifyError: As for `repair`.
    """
    if held.recorded is None:
        raise VerifyError(f"no recording of the case {key!r}")
    if isinstance(config, KernelAgentConfig):
        # This process has only a likeness of the agent: its callbacks and its own code run in its kernel alone.
        asked: JsonObject = {
            "case": held.case,
            "recorded": held.recorded.model_dump(mode="json"),
            "key": key,
        }
        return ReplaceCase.model_validate(done_in_kernel(config, "repairing_here", asked))
    return _repairing(held.case, held.recorded, key, config)


def repairing_here(config: SimulatedAgentConfig, *, case: Any, recorded: Any, key: str) -> Any:
    """Return the edit of `repairing`, with the agent that this process, a kernel, has loaded; in and out in JSON."""
    return _repairing(case, RecordedCase.model_validate(recorded), key, config).model_dump(mode="json")


def _repairing(held: Case, before: RecordedCase, key: str, config: SimulatedAgentConfig) -> ReplaceCase:
    recorded = without_edits(before)
    if not all(turn.models for turn in recorded.turns):
        raise VerifyError(
            f"no model turns are recorded for the case {key!r}, so its golden cannot be repaired from the recording. Edit it, or "
            "open the session and re-record it"
        )
    if gone := gone_tools(recorded, config.root_agent):
        raise VerifyError(f"the recording cannot be replayed: the agent no longer has {', '.join(gone)}")
    replay = run_to_end(
        replayed(_as_recorded(key, recorded), recorded, config, ReplayOptions(models="recorded"))
    )
    if replay.error or replay.unrecorded:
        why = replay.error or replay.unrecorded[-1]
        raise VerifyError(f"the recording cannot be replayed: {why}")
    turns = [ActualTurn(invocation=each.model_dump(mode="json", exclude_none=True)) for each in replay.turns]
    case = _with_queries(held, recorded)
    case = _with_turns(case, turns)
    if recorded.golden_state == state_digest(
        replay.final_state
    ):  # else an edit of the state is in the recording too
        recorded = recorded.model_copy(update={"final_state": copied(replay.final_state)})
    if recorded.final_state is not None:
        state = _in_order_of(field(case, "final_session_state"), copied(recorded.final_state))
        case = put(case, ("final_session_state",), state)
    return ReplaceCase(
        case=key, value=case, recorded=_with_golden(recorded, case), words="Repair from the recording"
    )


def _opened(path: Path | str) -> SetWork:
    try:
        opened = open_set(path)
    except EvalSetError as error:
        raise VerifyError(str(error)) from error
    beside = open_beside(opened.path)
    if beside.trouble:
        raise VerifyError(beside.trouble)
    return SetWork(opened, beside)


def _held(work: SetWork, eval_id: str) -> EditedCase:
    try:
        return work.held(eval_id)
    except EditError as error:
        raise VerifyError(f"{work.opened.path}: {error}") from error
    except ValidationError as error:
        raise VerifyError(
            f"{work.beside.path}: the recording of {eval_id!r} cannot be read: {error}"
        ) from error


def _apply(work: SetWork, edit: ReplaceCase) -> None:
    try:
        work.apply(edit)
    except EditError as error:
        raise VerifyError(f"{work.opened.path}: {error}") from error


def _saved(work: SetWork) -> Saved:
    """Save; a `ChangedOnDiskError` is the caller's.

    Raises:
        ChangedOnDiskError: The file was written since it was opened.
        VerifyError: It cannot be written, or the recording beside it was not.
    """
    try:
        saved = save(work)
    except ChangedOnDiskError:
        raise
    except EvalSetError as error:
        raise VerifyError(str(error)) from error
    if saved.trouble:
        raise VerifyError(f"the eval set was written, but its recorded environment was not: {saved.trouble}")
    return saved


def _with_queries(case: Case, recorded: RecordedCase) -> Case:
    """Let a case have the recorded turns: what the user says in each, and as many."""
    turns = list(field(case, "conversation") or [])[: len(recorded.turns)]
    while len(turns) < len(recorded.turns):
        number = len(turns)
        turns.append({"invocation_id": f"{field(case, 'eval_id')}_inv_{number}", "user_content": {}})
    made = put(case, ("conversation",), turns)
    for number, turn in enumerate(recorded.turns):
        query = _in_order_of(field(turns[number], "user_content"), copied(turn.query))
        made = put(made, ("conversation", number, "user_content"), query)
    return made


def _with_turns(case: Case, turns: Sequence[ActualTurn]) -> Case:
    """Let what happened stand in the place of what a case holds: in the form that it has, with the ids of calls that it knows."""
    made = case
    for number, turn in enumerate(turns):
        where = ("conversation", number)
        golden: JsonObject = (field(case, "conversation") or [])[number]
        happened = turn.invocation
        if not parts_of(happened.get(_FINAL)):
            raise VerifyError(f"turn {number + 1} has no final response")
        ids = _known_ids(golden, happened)
        events = [_portable(event, ids) for event in _events(happened)]
        is_listed = field(field(golden, _DATA), _EVENTS) is None
        data = _as_lists(events) if is_listed else {_EVENTS: events}
        made = put(made, (*where, _DATA), _in_order_of(field(golden, _DATA), data))
        said: Any = happened[_FINAL]
        final = {**said, "parts": _without_thoughts(parts_of(said))}
        made = put(made, (*where, _FINAL), _in_order_of(field(golden, _FINAL), final))
    return made


def _in_order_of(before: Any, now: Any) -> Any:
    """Return a value with its fields in the order that they had: what is the same stays as it was written."""
    if same(before, now):
        return before
    match before, now:
        case dict(), dict():
            names = [*(name for name in before if name in now), *(name for name in now if name not in before)]
            return {name: _in_order_of(before.get(name), now[name]) for name in names}
        case list(), list():
            known = {name: each for each in before if (name := _identity(each))}
            placed = (None if _identity(each) else each for each in chain(before, repeat(None)))
            return [
                _in_order_of(known.get(_identity(each), held), each)
                for held, each in zip(placed, now, strict=False)
            ]
        case _:
            return now


def _identity(value: Any) -> tuple[object, ...]:
    """Return by what a call, a response, a part with one, or an event with such parts is known wherever it moves; nothing for anything else."""
    match value:
        case {"id": str(call_id), "name": str(), **more}:
            return "response" if "response" in more else "call", call_id
        case (
            {"function_call": dict(inside)}
            | {"functionCall": dict(inside)}
            | {"function_response": dict(inside)}
            | {"functionResponse": dict(inside)}
        ):
            return _identity(inside)
        case {"content": dict(content)}:
            named = [name for part in parts_of(content) if (name := _identity(part))]
            return ("event", *named) if named else ()
        case _:
            return ()


def _events(invocation: JsonObject) -> list[JsonObject]:
    data: Any = invocation.get(_DATA) or {}
    return [event for event in data.get(_EVENTS) or () if parts_of(event.get("content"))]


def _known_ids(golden: JsonObject, happened: JsonObject) -> Mapping[str, str]:
    """Return the golden's id for each call of the run that stands for one of its own."""
    theirs = get_all_tool_calls(Invocation.model_validate(golden).intermediate_data)
    ours = get_all_tool_calls(Invocation.model_validate(happened).intermediate_data)

    def alike(one: int, other: int) -> bool:
        a, b = theirs[one], ours[other]
        return a.name == b.name and same(arguments_of(a), arguments_of(b))

    partners = matched(len(theirs), len(ours), alike)
    left = [place for place in range(len(theirs)) if place not in partners]
    made = [place for place in range(len(ours)) if place not in partners.values()]
    named = aligned(
        len(left), len(made), lambda one, other: theirs[left[one]].name == ours[made[other]].name, "exact"
    )
    partners |= {
        left[row.golden]: made[row.actual]
        for row in named
        if row.alike and row.golden is not None and row.actual is not None
    }
    pairs = [(theirs[golden].id, ours[actual].id) for golden, actual in partners.items()]
    return {run: own for own, run in pairs if own and run}


def _portable(event: JsonObject, ids: Mapping[str, str]) -> JsonObject:
    """Return an event as every release of ADK reads it: who, and the parts, without what a model keeps for itself."""
    content: Any = event["content"]
    parts = [_with_id(part, ids) for part in _without_thoughts(parts_of(content))]
    return {"author": event.get("author"), "content": {**content, "parts": parts}}


def _without_thoughts(parts: Sequence[JsonObject]) -> list[JsonObject]:
    return [
        {key: value for key, value in part.items() if key != "thought_signature"}
        for part in parts
        if not part.get("thought")
    ]


def _with_id(part: JsonObject, ids: Mapping[str, str]) -> JsonObject:
    made = dict(part)
    for kind in ("function_call", "function_response"):
        held: Any = part.get(kind)
        if isinstance(held, dict):
            own = {"id": ids.get(str(held.get("id")), held.get("id"))} if held.get("id") else {}
            made[kind] = {**held, **own}
    return made


_OF_CALL, _OF_RESPONSE = ("id", "name", "args"), ("id", "name", "response", "parts")
"""What a list of calls or of responses holds of each."""


def _as_lists(events: Sequence[JsonObject]) -> JsonObject:
    """Return what happened as ADK's `IntermediateData`."""
    parts = [part for event in events for part in parts_of(event["content"])]
    said: list[Any] = []
    for event in events:
        spoken = [
            part
            for part in parts_of(event["content"])
            if not (part.get("function_call") or part.get("function_response")) and part
        ]
        if spoken:
            said.append([event["author"], spoken])
    return {
        "tool_uses": [_only(part["function_call"], _OF_CALL) for part in parts if part.get("function_call")],
        "tool_responses": [
            _only(part["function_response"], _OF_RESPONSE) for part in parts if part.get("function_response")
        ],
        "intermediate_responses": said,
    }


def _only(held: Any, names: Sequence[str]) -> JsonObject:
    return {name: held[name] for name in names if name in held}


def _as_recorded(eval_id: str, recorded: RecordedCase) -> EvalCase:
    """Make a case in which the user says what was recorded."""
    return EvalCase(
        eval_id=eval_id,
        conversation=[
            Invocation(user_content=types.Content.model_validate_json(canonical(turn.query)))
            for turn in recorded.turns
        ],
        session_input=SessionInput(
            app_name=recorded.app_name, user_id=recorded.user_id, state=copied(recorded.state)
        ),
    )


def _with_golden(recorded: RecordedCase, case: Case) -> RecordedCase:
    """Let a golden that is accepted be what later edits are edits of."""
    try:
        return with_golden(recorded, EvalCase.model_validate(case))
    except ValidationError:  # the case holds more than ADK reads
        return without_golden(recorded)


def _recorded_after(recorded: RecordedCase, result: RunResult) -> RecordedCase:
    """Let a recording follow a run that is accepted: its models, what its calls were asked, what it did not ask, and its state."""
    turns = [
        _recorded_turn(before, happened, result, number, recorded)
        for number, (before, happened) in enumerate(zip(recorded.turns, result.turns, strict=False))
    ]
    state = _in_order_of(recorded.final_state, copied(result.final_state))
    return recorded.model_copy(update={"turns": tuple(turns), "final_state": state})


def _recorded_turn(
    before: RecordedTurn, happened: ActualTurn, result: RunResult, number: int, recorded: RecordedCase
) -> RecordedTurn:
    made = [answer.call for answer in result.made if answer.turn == number]
    asked = get_all_tool_calls(Invocation.model_validate(happened.invocation).intermediate_data)
    own = [call for call in before.calls if not call.within]

    def alike(one: int, other: int) -> bool:
        name = asked[other].name or ""
        return own[one].tool == name and tolerated(
            name, own[one].arguments, arguments_of(asked[other]), recorded.tolerances
        )

    partners = matched(len(own), len(asked), alike)
    kept = {
        id(own[place]): _in_order_of(own[place].arguments, arguments_of(asked[other]))
        for place, other in partners.items()
    }
    names = {call.name for call in asked}
    calls = [
        call if call.within else call.model_copy(update={"arguments": kept[id(call)]})
        for call in before.calls
        if (call.within and call.within[0] in names) or id(call) in kept
    ]
    models = before.models
    recorded_words, words = (
        [_said_by(model) for model in spoken if not model.put_off]
        for spoken in (before.models, happened.models)
    )
    if result.models == "real" and recorded_words != words:
        # Agents run by tools that keep plugins out were not heard.
        heard = {(model.agent, model.within) for model in happened.models}
        unheard = [
            model for model in before.models if model.within and (model.agent, model.within) not in heard
        ]
        models = (*_as_recorded_before(before.models, happened.models), *unheard)
    return before.model_copy(update={"calls": (*calls, *made), "models": models})


def _as_recorded_before(
    before: Sequence[RecordedModelTurn], now: Sequence[RecordedModelTurn]
) -> Iterator[RecordedModelTurn]:
    """Yield the model turns of a run: one that says what a recorded one says as it was recorded, wherever it moves."""
    left = [model for model in before if not model.put_off]
    known = matched(len(left), len(now), lambda one, other: _said_by(left[one]) == _said_by(now[other]))
    places = {other: place for place, other in known.items()}
    others = [model for place, model in enumerate(left) if place not in known]
    calls = [part for model in others for part in _parts_in(model) if _call_in(part)]
    for place, model in enumerate(now):
        yield left[places[place]] if place in places else _with_recorded_calls(model, calls)


def _with_recorded_calls(model: RecordedModelTurn, calls: list[JsonObject]) -> RecordedModelTurn:
    """Return a model turn whose calls are written as they were recorded; each of those is taken once."""

    def part_of(part: JsonObject) -> JsonObject:
        found = next((each for each in calls if _call_in(part) and _essence(each) == _essence(part)), None)
        if found is not None:
            calls.remove(found)
        return part if found is None else found

    def response_of(response: JsonObject) -> JsonObject:
        content: Any = response.get("content")
        if not parts_of(content):
            return response
        return {**response, "content": {**content, "parts": [part_of(part) for part in parts_of(content)]}}

    return model.model_copy(update={"responses": tuple(response_of(each) for each in model.responses)})


def _said_by(model: RecordedModelTurn) -> str:
    return canonical([model.agent, list(model.within), [_essence(part) for part in _parts_in(model)]])


def _parts_in(model: RecordedModelTurn) -> Iterator[JsonObject]:
    return (part for response in model.responses for part in parts_of(response.get("content")))


def _call_in(part: JsonObject) -> Any:
    return part.get("functionCall") or part.get("function_call")


def _essence(part: JsonObject) -> Any:
    if isinstance(call := _call_in(part), dict):
        return [call.get("name"), call.get("args") or {}]
    return {key: value for key, value in part.items() if key not in {"thoughtSignature", "thought_signature"}}


def _change_golden(path: Path, eval_id: str, change: _Change) -> None:
    """Change a golden of a dataset, in all cases that hold its turns, and its recording next to the file.

    What else the file and these cases hold is kept, byte for byte outside of them. One writer at a time.

    Raises:
        VerifyError: There is no such golden, or a file cannot be read or written; the text says why.
    """
    target = Path(os.path.realpath(path))
    try:
        with system_lock(lock_path(target), _LOCK_SECONDS):
            recorded = _change(path, target, eval_id, change)
        if recorded is not None:
            put_cases(sidecar_of(path), {eval_id: recorded})
    except LockTimeoutError as error:
        raise VerifyError(f"{path}: another program keeps writing this file") from error
    except RecordedEnvironmentError as error:
        raise VerifyError(
            f"the dataset was written, but its recorded environment was not: {error}"
        ) from error
    except OSError as error:
        raise VerifyError(
            f"{error.filename or path}: cannot be written: {error.strerror or error}"
        ) from error


def _change(path: Path, target: Path, eval_id: str, change: _Change) -> RecordedCase | None:
    content = read_file(target)
    found = dataset_goldens(content)
    golden = found.goldens.get(eval_id) if found is not None else None
    if found is None or golden is None:
        raise VerifyError(no_case(path, eval_id, found.goldens if found is not None else ()))
    if not golden.is_golden:
        raise VerifyError(
            f"{path}: the case {eval_id!r} is a trace of a run and not a golden of the studio, so it is not updated. Run `agents-cli eval generate` again, or "
            "import it into an eval set with `golden-trace import`"
        )
    before = read_recorded(sidecar_of(path)).cases.get(eval_id) or recorded_in(golden)
    case, recorded = change(golden.case, before)
    write_whole(target, _with_entries(content, found, golden.places, _entries(case, recorded, found, golden)))
    return recorded


def _entries(
    case: EvalCase, recorded: RecordedCase | None, found: DatasetGoldens, golden: DatasetCase
) -> Iterator[dict[str, Any]]:
    """Yield the cases of a golden as they are now, each with what else it held before."""
    before = [found.entries[place] for place in golden.places]
    told = [entry.get("agent_data") or entry.get("agentData") or {} for entry in before]
    cards: dict[str, Any] = next((each["agents"] for each in told if each.get("agents")), {})
    known = {case.eval_id: recorded} if recorded is not None else {}
    written = json.loads(dataset_file([case], known, AgentCards(cards)).text)["eval_cases"]
    for old, new in zip(before, written, strict=True):
        kept = {name: held for name, held in old.items() if snake(name) not in {*FIELDS, OWN}}
        yield {**kept, **{name: held for name, held in new.items() if name in {*FIELDS, OWN}}}


def _with_entries(
    content: bytes, found: DatasetGoldens, places: Sequence[int], entries: Iterator[dict[str, Any]]
) -> Iterator[bytes]:
    name = next(name for name in found.names if snake(name) == "eval_cases")
    spans, start = JsonPlaces(content), 0
    style: Style = find_layout(content, len(found.names) - 1 - found.names.index(name)).style
    for place, entry in zip(places, entries, strict=True):
        begin, end = spans.value((name, place))
        yield content[start:begin]
        yield style.write(entry)
        start = end
    yield content[start:]
