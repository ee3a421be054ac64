"""What the tabs that run an eval set need to know of it: its cases, the apps that they name, and what lies beside it."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema

from simulator.base.documents import read_file
from simulator.base.frozen_value import Value


class SetFacts(Value):
    """What is known of an eval set without ADK.

    Attributes:
        eval_ids: The ids of its cases, in their order.
        app_names: The apps that its cases name.
        scenarios: The ids of the cases that a simulated user plays.
        problem: Why it could not be read; empty where it could.
    """

    eval_ids: tuple[str, ...] = ()
    app_names: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    problem: str = ""


def facts_of(path: Path) -> SetFacts:
    """Read an eval set, once as long as it stays as it is."""
    try:
        status = path.stat()
    except OSError as error:
        return SetFacts(problem=f"{path}: {error.strerror or error}")
    return _facts(path, status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=16)
def _facts(path: Path, *_: int) -> SetFacts:
    try:
        text = read_file(path).removeprefix(b"\xef\xbb\xbf")
        found = _SET.validate_json(text)
    except OSError as error:
        return SetFacts(problem=f"{path}: {error.strerror or error}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return SetFacts(
            problem=f"{path}: {'.'.join(map(str, first['loc']))} {first['msg']}".replace(":  ", ": ")
        )
    cases = [case for case in found["cases"] if case is not None]
    inputs = [case["input"] for case in cases if case["input"] is not None]
    return SetFacts(
        eval_ids=tuple(dict.fromkeys(case["eval_id"] for case in cases if case["eval_id"])),
        app_names=tuple(dict.fromkeys(each["app_name"] for each in inputs if each["app_name"])),
        scenarios=tuple(
            case["eval_id"] for case in cases if case["scenario"] is not None and case["eval_id"]
        ),
    )


def called_tools(path: Path) -> frozenset[str]:
    """Return the tools that the cases of a set call, read once as long as it stays as it is: they take longer than its facts."""
    return _called(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _called(path: Path, _: int) -> frozenset[str]:
    from evalset.editing.case_parts import calls_of, turns_of  # noqa: PLC0415 - they are asked for rarely
    from evalset.editing.opened_set import open_set  # noqa: PLC0415 - as above

    opened = open_set(path)
    cases = (opened.case(row.key) for row in opened.rows)
    turns = ((case, turn) for case in cases for turn in range(len(turns_of(case))))
    return frozenset(seen.call.name for case, turn in turns for seen in calls_of(case, turn))


def _lenient(schema: CoreSchema) -> CoreSchema:
    return core_schema.with_default_schema(schema, default=None, on_error="default")


def _field(schema: CoreSchema, *names: str) -> core_schema.TypedDictField:
    """Read a field in either of its spellings; None where it is not there or is something else."""
    return core_schema.typed_dict_field(_lenient(schema), validation_alias=_spelt(*names))


def _spelt(*names: str) -> list[list[str | int]]:
    return [[name] for name in names]


def _schema() -> CoreSchema:
    """Read what is needed alone: of a set of 40 MB all else would take a second to make into objects."""
    text = core_schema.str_schema(strict=True)
    given = core_schema.typed_dict_schema(
        {"app_name": _field(text, "app_name", "appName")}, extra_behavior="ignore"
    )
    anything = core_schema.typed_dict_schema({}, extra_behavior="ignore")
    case = core_schema.typed_dict_schema(
        {
            "eval_id": _field(text, "eval_id", "evalId"),
            "input": _field(given, "session_input", "sessionInput"),
            "scenario": _field(anything, "conversation_scenario", "conversationScenario"),
        },
        extra_behavior="ignore",
    )
    cases = core_schema.typed_dict_field(
        core_schema.with_default_schema(
            core_schema.list_schema(_lenient(case)), default=[], on_error="default"
        ),
        validation_alias=_spelt("eval_cases", "evalCases"),
    )
    return core_schema.typed_dict_schema({"cases": cases}, extra_behavior="ignore")


_SET = SchemaValidator(_schema())


def environment_of(eval_set: Path) -> Path | None:
    """Return the recorded environment beside an eval set, or the set itself where it holds one; None where there is none."""
    from evalset.recorded.recording_files import recording_of  # noqa: PLC0415 - it stands behind a second of imports

    sidecar = recording_of(eval_set)
    return sidecar if os.access(sidecar, os.R_OK) and sidecar.is_file() else None


def environment_trouble(eval_set: Path) -> str:
    """Return why the recorded environment beside an eval set cannot be used; nothing where it can, or is not there."""
    environment = environment_of(eval_set)
    if environment is None:
        return ""
    try:
        status = environment.stat()
    except OSError:  # it went away meanwhile
        return ""
    return _trouble(eval_set, status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=16)
def _trouble(eval_set: Path, *_: int) -> str:
    from evalset.editing.sidecars import open_beside  # noqa: PLC0415 - as above

    return open_beside(eval_set).trouble
