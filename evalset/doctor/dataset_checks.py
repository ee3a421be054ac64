"""Checks evaluation datasets of Agent Platform: what `agents-cli eval generate` refuses, and what its graders misread."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from google.genai import types
from pydantic import ValidationError

from evalset.datasets.dataset_fields import is_of_agent, is_reply, is_user_query
from evalset.doctor.byte_edits import Insert, Replace
from evalset.doctor.findings import Notes
from evalset.doctor.json_nodes import JsonNode
from evalset.errors import first_flaw

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
                _note_role(content, case_id, notes)
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
        _note_end(case, case_id, notes, severity_is_note=True)


def _ends_with_user(event: dict[str, Any]) -> bool:
    return event.get("author") == "user" and bool(event.get("content"))


def _note_end(case: JsonNode, case_id: str, notes: Notes, *, severity_is_note: bool = False) -> None:
    path = _events(case)[-1].path
    words = (
        "The last turn ends with an agent, not with the user. It is a finished trace: `agents-cli eval generate` cannot run it."
        if severity_is_note
        else "The last event is no user message, so `agents-cli eval generate` has nothing to send."
    )
    notes.add(
        "dataset-no-message",
        path,
        words,
        "End the last turn with the user message that the agent is to answer.",
        eval_id=case_id,
        severity="warning" if severity_is_note else None,
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
    if wrapped is None:
        notes.add(
            "dataset-reference",
            reference.path,
            words,
            'Write it as {"response": {"role": "model", "parts": [...]}}.',
            eval_id=case_id,
        )
    else:
        edit = Replace(reference.path, wrapped)
        notes.add("dataset-reference", reference.path, words, fix="wraps it", edits=[edit], eval_id=case_id)


def _contents(case: JsonNode) -> Iterator[JsonNode]:
    found = [case.field("prompt"), *(event.field("content") for event in _events(case))]
    reference = case.field("reference")
    found.append(reference.field("response") if reference is not None else None)
    found += [response.field("response") for response in case.items("responses")]
    yield from (content for content in found if content is not None)


def _note_role(content: JsonNode, case_id: str, notes: Notes) -> None:
    role = content.field("role")
    if role is None or role.value in _ROLES:
        return
    words = f"The role {role.value!r} is not one of Agent Platform: contents are by `user` or `model`."
    if isinstance(role.value, str) and role.value.lower() in _OF_AGENT:
        edit = Replace(role.path, "model")
        notes.add(
            "dataset-role", role.path, words, fix="changes it to 'model'", edits=[edit], eval_id=case_id
        )
    else:
        notes.add("dataset-role", role.path, words, "Use `user` or `model`.", eval_id=case_id)


def _note_refusal(content: JsonNode, case_id: str, notes: Notes) -> bool:
    """Note a content that Agent Platform's classes refuse."""
    try:
        types.Content.model_validate_json(json.dumps(content.value))
    except ValidationError as error:
        words = f"The content cannot be read: {first_flaw(error)}. `agents-cli` refuses the whole file."
        notes.add("dataset-refused", content.path, words, "Correct it.", eval_id=case_id)
        return True
    return False
