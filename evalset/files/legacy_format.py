"""Brings eval data in ADK's old form (lists of queries with their expected tool use) into today's, by ADK itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalset.errors import EvalSetError
from evalset.files.eval_names import base_name
from simulator.base import atomic_files
from simulator.base.json_text import read_json

if TYPE_CHECKING:
    from google.adk.evaluation.eval_set import EvalSet


def convert_old_form(path: Path, text: bytes) -> EvalSet | None:
    """Convert eval data in the old form; None where the text is something else.

    The old form is a list of `{"name", "data": [...], "initial_session"}`, one such object, or the `data` alone:
    a list of `{"query", "expected_tool_use", "reference"}`.

    Raises:
        EvalSetError: It is a list, but ADK's converter cannot read it.
    """
    try:
        value = read_json(text.decode(), constants=True)
    except ValueError:
        return None
    cases = _old_cases(path, value)
    if cases is None:
        return None
    return convert_old_cases(path, cases)


_NEEDED = frozenset({"name", "data"})
"""What each case of the old form has."""


def convert_old_cases(path: Path, cases: list[dict[str, Any]]) -> EvalSet:
    """Convert cases in the old form, as `convert_old_form` finds them in the file at a path.

    Raises:
        EvalSetError: ADK's converter cannot read them.
    """
    from google.adk.evaluation.local_eval_sets_manager import (  # noqa: PLC0415 - importing ADK's evaluation takes a second
        convert_eval_set_to_pydantic_schema,
    )

    try:
        return convert_eval_set_to_pydantic_schema(base_name(path), cases)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = "is a list, but neither an eval set nor in ADK's legacy format"
        if all(
            isinstance(each, dict) and each.keys() >= _NEEDED for each in cases
        ):  # else it is something else
            reason += f": {type(error).__name__}: {error}"
        raise EvalSetError(path, reason) from error


def _old_cases(path: Path, value: Any) -> list[dict[str, Any]] | None:
    if isinstance(value, dict):
        return [value] if isinstance(value.get("data"), list) and "name" in value else None
    if not isinstance(value, list):
        return None
    if value and all(isinstance(turn, dict) and "query" in turn for turn in value):
        return [{"name": base_name(path), "data": value}]
    return value


def keep_copy(path: Path, text: bytes) -> Path:
    """Write the old text beside its file, as `<name>.legacy-<n>.json` with the first n that is free.

    Raises:
        OSError: The disk or the folder refused; no copy is left.
    """
    return atomic_files.keep_copy(
        lambda number: path.with_name(f"{base_name(path)}.legacy-{number}.json"), text
    )
