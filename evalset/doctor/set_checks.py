"""Checks a file as a whole: an eval set with its form, its top and the ids of its cases, or an evaluation dataset of Agent Platform.

Of a dataset it is told what `agents-cli eval generate` refuses, and what its graders misread.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.eval_set import EvalSet
from google.genai import types
from pydantic import ValidationError

from evalset.doctor.model import Kind, Notes, listed
from evalset.errors import EvalSetError, first_flaw
from evalset.files.byte_edits import Insert, JsonNode, RenameMember, Replace
from evalset.files.case_text import convert_old_form, loaded, set_json
from evalset.files.datasets import is_of_agent, is_reply, is_user_query
from evalset.files.eval_names import (
    NAMELESS,
    base_name,
    flaw_of_eval_id,
    flaw_of_set_id,
    import_command,
    importable_document,
    is_dataset,
    unique_eval_id,
    usable_set_id,
)
from evalset.files.refusals import refused_value
from evalset.importing.import_files import trial_import
from evalset.recorded.recording import FORMAT
from evalset.recorded.recording_files import KEY as RECORDING
from simulator.base.adk_names import camel

_TOP = tuple(EvalSet.model_fields)
_UNFIT_IN_EVAL_ID = re.compile(r"[:,/\\\x00-\x1f\x7f\s]+")
_MOST_KEYS = 6


def kind_of(value: Any) -> Kind:
    """Return what a document is meant to be, whatever is wrong with it."""
    if isinstance(value, dict):
        if value.get("format") == FORMAT:
            return "recorded environment"
        if not value.keys().isdisjoint({"eval_cases", "evalCases"}):
            return "dataset" if is_dataset(value) else "eval set"
        return "old eval data" if isinstance(value.get("data"), list) and "name" in value else "nothing known"
    if isinstance(value, list) and value:
        old = all(isinstance(each, dict) and ("query" in each or "data" in each) for each in value)
        return "old eval data" if old else "nothing known"
    return "nothing known"


def note_unknown(value: Any, notes: Notes) -> None:
    """Note a document that is no eval set, with what it is instead, as far as that can be told."""
    if what := importable_document(value):
        note_importable(what, notes)
        return
    if not isinstance(value, dict):
        what = f"a list of {len(value)}" if isinstance(value, list) else f"a {type(value).__name__}"
        words = f"The file is not an eval set: it contains {what}, but ADK expects an object with 'eval_set_id' and 'eval_cases'."
    elif "eval_set_id" in value:
        words = "The file is not an eval set: it has no 'eval_cases'."
    elif "criteria" in value:
        words = "The file is a configuration of `adk eval` (it has 'criteria'), not an eval set."
    elif "scenarios" in value:
        words = "The file is a scenario file for `adk eval_set add_eval_case`, not an eval set."
    else:
        names = list(map(str, value))
        more = f" and {len(names) - _MOST_KEYS} more" if len(names) > _MOST_KEYS else ""
        held = f"it has {listed(map(repr, names[:_MOST_KEYS]))}{more}" if names else "it is an empty object"
        words = f"The file is not an eval set: {held}, but neither 'eval_set_id' nor 'eval_cases'."
    notes.add("not-an-eval-set", (), words, "Leave it out, or write its cases as an eval set.")


def note_importable(what: str, notes: Notes) -> None:
    """Note a file of another kind: with the command that imports its cases, where an import finds one."""
    trial = trial_import(notes.file)
    if trial.eval_ids:
        words = f"The file is {what}, not an eval set. Its cases can be imported into one."
        remedy = f"Import it: {import_command(notes.file)}"
    else:
        why = "".join(trial.problems[:1]).removeprefix(f"{notes.file.name}: ").rstrip(".")
        words = f"The file is {what}, not an eval set, and an import finds no case in it{why and f': {why}'}."
        remedy = "Leave it out, or write its cases as an eval set."
    notes.add("not-an-eval-set", (), words, remedy)


def note_top(document: JsonNode, file: Path, notes: Notes) -> None:
    """Check the members at the top of an eval set."""
    held = document.members
    for name in held:
        snake = next((known for known in _TOP if name == camel(known) != known), None)
        if snake is not None and snake not in held:
            notes.add(
                "camel-case-top", (name,), f"At the top level ADK accepts only the spelling {snake!r}, not {name!r}.",
                fix=f"renames it to {snake!r}", edits=[RenameMember((name,), snake)],
                severity="error" if snake in {"eval_set_id", "eval_cases"} else "warning",
            )  # fmt: skip
        elif name not in _TOP and name != RECORDING:
            notes.add(
                "unknown-key", (name,), f"ADK does not know {name!r} at the top level of an eval set and discards it when it writes the file.",
                "Keep it in a separate file, or in the description.",
            )  # fmt: skip
    if held.get("eval_set_id", held.get("evalSetId")) is None:
        _note_missing_id(held, file, notes)
    _note_values(held, notes)
    _note_names(document, file, notes)
    if isinstance(cases := held.get("eval_cases", held.get("evalCases")), list) and not cases:
        notes.add(
            "empty-set",
            (),
            "The set has no cases, so it evaluates nothing.",
            "Export a case into it.",
        )


def _note_values(held: dict[str, Any], notes: Notes) -> None:
    """Note values at the top that ADK refuses; the cases are looked at one by one."""
    spelled = {name: name if name in held else camel(name) for name in _TOP}
    given = {name: held[spelling] for name, spelling in spelled.items() if spelling in held}
    if isinstance(given.get("eval_cases"), list):
        given["eval_cases"] = []
    if given.get("eval_set_id") is None:
        given["eval_set_id"] = ""
    try:
        EvalSet.model_validate(given)
    except ValidationError as error:
        for flaw in error.errors(include_url=False, include_input=False):
            name = spelled[str(flaw["loc"][0])]
            reason = f"{name!r}: {flaw['msg'].rstrip('.').lower()}"
            notes.add(**refused_value((name,), held.get(name), reason, _TOP)._asdict())


def _note_missing_id(held: dict[str, Any], file: Path, notes: Notes) -> None:
    made = usable_set_id(base_name(file))
    edit = Replace(("eval_set_id",), made) if "eval_set_id" in held else Insert((), "eval_set_id", made)
    notes.add(
        "missing-set-id", (), "The set has no 'eval_set_id', so ADK refuses the file.",
        fix=f"sets it to {made!r}, from the file name", edits=[edit],
    )  # fmt: skip


def _note_names(document: JsonNode, file: Path, notes: Notes) -> None:
    node = document.field("eval_set_id")
    if node is None or not isinstance(node.value, str):
        return
    set_id, named = node.value, base_name(file)
    if flaw_of_set_id(set_id):
        made = usable_set_id(set_id, named)
        notes.add(
            "unfit-set-id", node.path, f"`adk web` cannot open a set with the id {set_id!r}: it contains characters that file names cannot have.",
            fix=f"changes it to {made!r}", edits=[Replace(node.path, made)],
        )  # fmt: skip
    elif set_id != named:
        notes.add(
            "name-differs", node.path,
            f"The file is named {named!r}, but its set {set_id!r}. `adk web` lists it by the file name, and results by the set id.",
            "Use the same name for both, unless something else refers to one of them.",
        )  # fmt: skip


def note_ids(document: JsonNode, file: Path, notes: Notes) -> None:
    """Check the ids of the cases."""
    taken: set[str] = {case.text("eval_id") for case in document.items("eval_cases")}
    seen: set[str] = set()
    for number, case in enumerate(document.items("eval_cases"), 1):
        node = case.field("eval_id")
        if node is None:
            if isinstance(case.value, dict):
                _note_no_id(case, number, file, taken, notes)
            continue
        eval_id = node.value
        if not isinstance(eval_id, str):
            continue  # ADK's own refusal tells it
        if eval_id in seen:
            made = unique_eval_id(_fit(eval_id), taken)
            taken.add(made)
            notes.add(
                "duplicate-eval-id", node.path, f"Two cases have the id {eval_id!r}, so `adk eval` and `adk web` find only one of them.",
                fix=f"changes this one to {made!r}", edits=[Replace(node.path, made)], eval_id=eval_id,
            )  # fmt: skip
        elif flaw := flaw_of_eval_id(eval_id):
            made = unique_eval_id(_fit(eval_id), taken)
            taken.add(made)
            notes.add(
                "unfit-eval-id", node.path, f"The case cannot be selected by its id: {flaw}.",
                fix=f"changes it to {made!r}", edits=[Replace(node.path, made)], eval_id=eval_id,
                partner=[RenameMember(("cases", eval_id), made), RenameMember(("notes", eval_id), made)],
            )  # fmt: skip
        seen.add(eval_id)


def _note_no_id(case: JsonNode, number: int, file: Path, taken: set[str], notes: Notes) -> None:
    made = unique_eval_id(f"{_fit(base_name(file))}_{number}", taken)
    taken.add(made)
    spelled = next((name for name in ("eval_id", "evalId") if name in case.members), None)
    edit = Replace((*case.path, spelled), made) if spelled else Insert(case.path, "eval_id", made)
    notes.add(
        "missing-eval-id", case.path, "The case has no 'eval_id', so ADK refuses the whole file.",
        fix=f"sets it to {made!r}", edits=[edit],
    )  # fmt: skip


def _fit(eval_id: str) -> str:
    return _UNFIT_IN_EVAL_ID.sub("_", eval_id).strip("_") or NAMELESS


# Checks eval data in ADK's old form, and says what today's form will not hold of it.


_TURN = frozenset({"query", "reference", "expected_tool_use", "expected_intermediate_agent_responses"})
_USE = frozenset({"tool_name", "tool_input"})
_SAID = frozenset({"author", "text"})
_CASE = frozenset({"name", "data", "initial_session"})
_SESSION = frozenset({"app_name", "user_id", "state"})


def note_old_form(file: Path, value: Any, text: bytes, notes: Notes) -> int:
    """Note that a file is in the old form, and bring it into today's; return how many cases it holds."""
    try:
        converted = convert_old_form(file, text)
    except (EvalSetError, RecursionError) as error:
        reason = str(error).removeprefix(f"{file}: ")
        notes.add(
            "legacy-unreadable",
            (),
            f"ADK cannot read the file: it {reason}.",
            "Fix the entry named here.",
        )
        return 0
    if converted is None:
        return 0
    notes.converted = set_json(_settled(converted, text)).encode()
    refused = _refused(text)
    lost = listed(_lost(value))
    notes.add(
        "legacy-format", (),
        f"The file is in ADK's legacy format. `adk eval` and `adk web` fail on it ({refused}); only AgentEvaluator reads it."
        if refused else "The file is in ADK's legacy format. ADK converts it on every read, each time with other invocation ids.",
        fix="converts it to the current format, as ADK does", whole=True,
        loses=f"fields that ADK's converter ignores: {lost}" if lost else "",
        severity="error" if refused else None,
    )  # fmt: skip
    return len(converted.eval_cases)


def _refused(text: bytes) -> str:
    """Return what ADK's own loader raises, which `adk eval` and `adk web` use; nothing where it reads the text."""
    try:
        loaded(text.decode())
    except Exception as error:  # noqa: BLE001 - the loader raises what it likes
        return f"ADK's loader raises {type(error).__name__}: {error}"
    return ""


def _settled(converted: EvalSet, text: bytes) -> EvalSet:
    """Take ADK's fresh ids and clock out: the same text becomes the same file each time."""
    seed = hashlib.sha256(text).hexdigest()[:8]
    cases: list[EvalCase] = []
    for number, case in enumerate(converted.eval_cases, 1):
        turns = [
            turn.model_copy(update={"invocation_id": f"{seed}-{number}-{place}", "creation_timestamp": 0.0})
            for place, turn in enumerate(case.conversation or (), 1)
        ]
        cases.append(case.model_copy(update={"conversation": turns, "creation_timestamp": 0.0}))
    return converted.model_copy(update={"eval_cases": cases, "creation_timestamp": 0.0})


def _lost(value: Any) -> Iterator[str]:
    """Name what the converter drops."""
    for case in value if isinstance(value, list) else [value]:
        if not isinstance(case, dict):
            continue
        if "query" in case:
            yield from _lost_of_turn(case)
            continue
        yield from _others(case, _CASE, "")
        session = case.get("initial_session")
        yield from _others(session, _SESSION, "initial_session.")
        data = case.get("data")
        for turn in data if isinstance(data, list) else ():
            yield from _lost_of_turn(turn)


def _lost_of_turn(turn: Any) -> Iterator[str]:
    yield from _others(turn, _TURN, "")
    for name, known in (("expected_tool_use", _USE), ("expected_intermediate_agent_responses", _SAID)):
        held = turn.get(name) if isinstance(turn, dict) else None
        for each in held if isinstance(held, list) else ():
            yield from _others(each, known, f"{name}.")


def _others(value: Any, known: frozenset[str], where: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{where}{name}" for name in value if name not in known)


_ROLES = {"user", "model"}
_OF_AGENT = {"assistant", "agent", "ai", "bot"}


def note_dataset(root: JsonNode, notes: Notes) -> int:
    """Check the cases of a dataset; return how many there are."""
    cases = list(root.items("eval_cases"))
    for case in cases:
        case_id = case.text("eval_case_id")
        _note_messages(case, case_id, notes)
        _note_turns(case, case_id, notes)
        _note_reference(case, case_id, notes)
        for content in _contents(case):
            if not _note_refusal(content, case_id, notes):
                _note_dataset_role(content, case_id, notes)
    return len(cases)


def _turns(case: JsonNode) -> Iterator[JsonNode]:
    data = case.field("agent_data")
    yield from data.items("turns") if data is not None else ()


def _events(case: JsonNode) -> list[JsonNode]:
    return [event for turn in _turns(case) for event in turn.items("events")]


def _note_messages(case: JsonNode, case_id: str, notes: Notes) -> None:
    said = [event.members for event in _events(case)]
    prompt = case.field("prompt")
    is_answered = case.field("responses") is not None or any(
        is_of_agent(end) or is_reply(end) for end in said[-1:]
    )
    if (
        prompt is not None
        and any(True for _ in _turns(case))
        and not (is_answered and not any(map(is_user_query, said)))
    ):
        words = "The case has a `prompt` and turns. `agents-cli eval generate` refuses it as ambiguous."
        if is_answered:
            words = f"{words} It is a finished trace, and graders take both."
        # A finished trace is for grading, which takes both: nobody is to change it for that.
        notes.add(
            "dataset-two-messages",
            prompt.path,
            words,
            "" if is_answered else "Remove one of them.",
            eval_id=case_id,
            severity="note" if is_answered else None,
        )
    if prompt is None and not said:
        words = "The case has neither a `prompt` nor turns, and `agents-cli eval generate` refuses the whole file."
        remedy = "Add a `prompt`. The starting prompt of a scenario can be it."
        notes.add("dataset-no-message", case.path, words, remedy, eval_id=case_id)
    if prompt is None and said and not is_answered and not _ends_with_user(said[-1]):
        _note_end(case, case_id, notes)
    elif prompt is None and said and is_of_agent(said[-1]) and case.field("responses") is None:
        _note_end(case, case_id, notes, is_finished=True)


def _ends_with_user(event: dict[str, Any]) -> bool:
    return event.get("author") == "user" and bool(event.get("content"))


def _note_end(case: JsonNode, case_id: str, notes: Notes, *, is_finished: bool = False) -> None:
    path = _events(case)[-1].path
    words = (
        "The last turn ends with an agent, not with the user. It is a finished trace: `agents-cli eval generate` cannot run it."
        if is_finished
        else "The last event is no user message, so `agents-cli eval generate` has nothing to send."
    )
    notes.add(
        "dataset-no-message",
        path,
        words,
        "To run it again, end a copy of it with a user message."
        if is_finished
        else "End the last turn with the user message that the agent is to answer.",
        eval_id=case_id,
        severity="note" if is_finished else None,
    )


def _note_turns(case: JsonNode, case_id: str, notes: Notes) -> None:
    for number, turn in enumerate(_turns(case)):
        if turn.members and turn.field("turn_index") is None:
            notes.add(
                "dataset-turn-index",
                turn.path,
                "The turn has no `turn_index`, by which graders order the conversation.",
                fix=f"sets it to {number}",
                edits=[Insert(turn.path, "turn_index", number)] if "turn_index" not in turn.members
                else [Replace((*turn.path, "turn_index"), number)],
                eval_id=case_id,
            )  # fmt: skip


def _note_reference(case: JsonNode, case_id: str, notes: Notes) -> None:
    reference = case.field("reference")
    if reference is None or reference.field("response") is not None:
        return
    held = reference.value
    wrapped = (
        {"response": {"role": "model", "parts": [{"text": held}]}}
        if isinstance(held, str)
        else {"response": held}
        if isinstance(held, dict) and "parts" in held
        else None
    )
    words = "The reference is not wrapped in `response`, so no grader finds its text."
    notes.add(
        "dataset-reference",
        reference.path,
        words,
        'Write it as {"response": {"role": "model", "parts": [...]}}.',
        fix="wraps it",
        edits=[Replace(reference.path, wrapped)] if wrapped else (),
        eval_id=case_id,
    )


def _contents(case: JsonNode) -> Iterator[JsonNode]:
    found = [case.field("prompt"), *(event.field("content") for event in _events(case))]
    reference = case.field("reference")
    found.append(reference.field("response") if reference is not None else None)
    found += [response.field("response") for response in case.items("responses")]
    yield from (content for content in found if content is not None)


def _note_dataset_role(content: JsonNode, case_id: str, notes: Notes) -> None:
    role = content.field("role")
    if role is None or role.value in _ROLES:
        return
    words = f"The role {role.value!r} is not one of Agent Platform: contents are by `user` or `model`."
    is_of_agent = isinstance(role.value, str) and role.value.lower() in _OF_AGENT
    notes.add(
        "dataset-role",
        role.path,
        words,
        "Use `user` or `model`.",
        fix="changes it to 'model'",
        edits=[Replace(role.path, "model")] if is_of_agent else (),
        eval_id=case_id,
    )


def _note_refusal(content: JsonNode, case_id: str, notes: Notes) -> bool:
    """Note a content that Agent Platform's classes refuse."""
    try:
        types.Content.model_validate_json(json.dumps(content.value))
    except ValidationError as error:
        words = f"The content cannot be read: {first_flaw(error)}. `agents-cli` refuses the whole file."
        notes.add("dataset-refused", content.path, words, "Correct it.", eval_id=case_id)
        return True
    return False
