"""Reads JSON files of cases in two passes: what kind of file it is, then the cases one at a time. Neither holds all of the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.eval_set import EvalSet
from pydantic import ValidationError

from evalset.errors import first_flaw
from evalset.importing.found import ImportProblemError
from evalset.legacy import convert_old_cases
from evalset.names import base_name
from evalset.streams import JsonStream

_CASES = "eval_cases"
_SET_NAMES = {
    "evalSetId": "eval_set_id",
    "evalCases": _CASES,
    "creationTimestamp": "creation_timestamp",
}

WrittenCase: TypeAlias = tuple[EvalCase, Any]
"""A case, and the JSON value that it was made of."""


class JsonOutline(NamedTuple):
    """What a JSON file holds.

    Attributes:
        document: The document, in which lists and objects are empty; of a list of objects the first one is there.
        cases_at: Which member of an eval set holds its cases, by its number; the last one where several do.
        has_old_cases: Whether it is in ADK's older form: a case, or a list of cases or of turns.
        has_old_turns: Whether it is a list of turns in that form, which is one case.
    """

    document: Any
    cases_at: int = -1
    has_old_cases: bool = False
    has_old_turns: bool = False


def outline_of_json(file: BinaryIO) -> JsonOutline:
    """Read a file once.

    Raises:
        JsonTextError: It is no JSON, in whatever place.
        NotUtf8Error: It is no text in UTF-8.
    """
    stream = JsonStream(file, constants=True)
    sign = stream.peek()
    outline = (
        _of_object(stream)
        if sign == "{"
        else _of_list(stream)
        if sign == "["
        else JsonOutline(stream.value())
    )
    stream.end()
    return outline


def _of_object(stream: JsonStream) -> JsonOutline:
    document: dict[str, Any] = {}
    cases_at = -1
    for number, name in enumerate(stream.members()):
        document[name] = stream.hollow()
        if _SET_NAMES.get(name, name) == _CASES:
            cases_at = number
    is_old = isinstance(document.get("data"), list) and "name" in document
    return JsonOutline(document, cases_at, is_old)


def _of_list(stream: JsonStream) -> JsonOutline:
    document: list[Any] = []
    are_turns = are_old = True
    for number in stream.entries():
        if not are_old:
            stream.skip()
            continue
        entry = stream.value()
        is_object = isinstance(entry, dict)
        are_turns = are_turns and is_object and "query" in entry
        are_old = is_object and ("query" in entry or isinstance(entry.get("data"), list))
        if number == 0:
            document = [_hollow(entry) if is_object else None]
    return JsonOutline(
        document, has_old_cases=bool(document) and are_old, has_old_turns=are_old and are_turns
    )


def _hollow(value: dict[str, Any]) -> dict[str, Any]:
    return {name: type(held)() if isinstance(held, (dict, list)) else held for name, held in value.items()}


def whole(file: BinaryIO) -> Any:
    """Read all of a file: for one that holds one case or one session."""
    return JsonStream(file, constants=True).value()


def entries(file: BinaryIO) -> Iterator[Any]:
    """Read the entries of a list."""
    stream = JsonStream(file, constants=True)
    for _ in stream.entries():
        yield stream.value()


def cases_of_set(file: BinaryIO, outline: JsonOutline) -> Iterator[WrittenCase]:
    """Read the cases of an eval set, whose top level may be in camel case: ADK's loader itself would refuse that.

    Raises:
        ImportProblemError: It is none that ADK can read.
    """
    frame = {_SET_NAMES.get(name, name): value for name, value in outline.document.items()}
    try:
        EvalSet.model_validate(frame)
    except ValidationError as error:
        raise _set_problem(error) from error
    stream = JsonStream(file, constants=True)
    for number, _ in enumerate(stream.members()):
        if number < outline.cases_at:
            stream.skip()
            continue
        for place in stream.entries():
            value = stream.value()
            try:
                case = EvalCase.model_validate(value)
            except ValidationError as error:
                raise _set_problem(error, _CASES, place) from error
            yield case, value
        return


def one_case(file: BinaryIO) -> Iterator[WrittenCase]:
    """Read a case that is a file.

    Raises:
        ImportProblemError: It is none that ADK can read.
    """
    value = whole(file)
    try:
        yield EvalCase.model_validate(value), value
    except ValidationError as error:
        raise ImportProblemError(f"it is an eval case that ADK cannot read: {first_flaw(error)}") from error


def old_cases(path: Path, file: BinaryIO, outline: JsonOutline) -> Iterator[WrittenCase]:
    """Read cases in ADK's older form, whose fields for answers its converter passes over.

    Raises:
        EvalSetError: ADK's converter cannot read them.
    """
    if outline.has_old_turns:
        values = iter([{"name": base_name(path), "data": whole(file)}])
    else:
        values = entries(file) if isinstance(outline.document, list) else iter([whole(file)])
    for value in values:
        yield from ((case, value) for case in convert_old_cases(path, [value]).eval_cases)


def _set_problem(error: ValidationError, *within: str | int) -> ImportProblemError:
    return ImportProblemError(f"it is an eval set that ADK cannot read: {first_flaw(error, *within)}")
