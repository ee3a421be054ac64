"""Writes eval cases and new eval sets as JSON text, and checks that ADK's own loader reads them back.

Eval data in ADK's old form, lists of queries with their expected tool use, is brought into today's by ADK itself.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalset.errors import EvalSetError, ReadBackError
from evalset.files.eval_names import base_name, snake_case
from evalset.files.set_outline import Style
from simulator.base import user_files
from simulator.base.documents import LIMITS, read_file
from simulator.base.json_text import read_json
from simulator.base.validation_words import check_kind, is_long, validated

if TYPE_CHECKING:
    from google.adk.evaluation.eval_case import EvalCase
    from google.adk.evaluation.eval_set import EvalSet
    from pydantic import BaseModel


_NO_CASES = '"eval_cases": []'


def case_object(case: EvalCase) -> dict[str, Any]:
    """Return a case as an object for `Style.write`, in snake case as ADK writes it; fields that are None are left out."""
    check_kind(case, "conversation", "an EvalCase")
    return _object(case)


def case_json(case: EvalCase) -> str:
    """Write a case as JSON text.

    Raises:
        ValueError: It holds a number that JSON has no word for.
    """
    return _text(case_object(case))


def new_eval_set(agent_name: str, *cases: EvalCase, at: float, eval_set_id: str = "") -> EvalSet:
    """Return the eval set that an agent's first golden trace founds.

    Args:
        agent_name: The agent; the set is called after it.
        cases: The cases.
        at: When, in seconds since the epoch.
        eval_set_id: Its id, which is best its file's name; by default after the agent.
    """
    from google.adk.evaluation.eval_set import EvalSet  # noqa: PLC0415 - importing ADK's evaluation takes a second

    return EvalSet(
        eval_set_id=eval_set_id or f"{snake_case(agent_name)}_evals",
        name=f"{agent_name} Evaluation Set",
        description=f"Golden traces captured with Golden Trace Studio for {agent_name}",
        eval_cases=list(cases),
        creation_timestamp=at,
    )


def case_document(agent_name: str, case: EvalCase, *, at: float, eval_set_id: str = "") -> str:
    """Write a new eval set that holds this one case: for download, for the clipboard, for a new file.

    Raises:
        ValueError: As `case_json`.
    """
    return set_json(new_eval_set(agent_name, case, at=at, eval_set_id=eval_set_id))


def set_json(eval_set: EvalSet) -> str:
    """Write an eval set as JSON text.

    Raises:
        ValueError: As `case_json`.
    """
    return b"".join(set_pieces(eval_set)).decode()


def set_pieces(eval_set: EvalSet, more: Iterable[dict[str, Any]] = ()) -> Iterator[bytes]:
    """Write the text of an eval set in pieces, a case in each, so that no two are held as text at once.

    Args:
        eval_set: The set.
        more: Cases behind those of the set, as `case_object` gives them.

    Raises:
        ValueError: As `case_json`.
    """
    frame = _text(_object(eval_set.model_copy(update={"eval_cases": []})))
    before, member, after = frame.partition(_NO_CASES)
    yield (before + member[:-1]).encode()
    style, first = Style(unit="  ", indent="    "), b"\n    "
    start = first
    for case in itertools.chain((case_object(case) for case in eval_set.eval_cases), more):
        yield start + style.write(case)
        start = b",\n    "
    end = "" if start is first else "\n  "
    yield f"{end}]{after}\n".encode()


def _object(value: BaseModel) -> dict[str, Any]:
    # Not in pydantic's JSON mode: a model writes NaN and the infinities as null, which would change a trace silently.
    return value.model_dump(exclude_none=True)


def _text(value: dict[str, Any]) -> str:
    return Style(unit="  ").write(value).decode()


def read_back(source: Path | str, case: EvalCase) -> None:
    """Check that ADK's own loader reads a case back as it is.

    Args:
        source: An eval-set file, or the text of one.
        case: The case that it shall hold.

    Raises:
        ReadBackError: The loader fails, the case is not there, or a field of it differs (named in the text).
    """
    check_kind(case, "conversation", "an EvalCase")
    try:
        found_set = loaded(source)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ReadBackError(f"ADK's loader cannot read the eval set: {error!r}") from error
    found = [read for read in found_set.eval_cases if read.eval_id == case.eval_id]
    if len(found) != 1:
        raise ReadBackError(
            f"ADK's loader finds {len(found)} cases with the eval id {case.eval_id!r} instead of one"
        )
    if place := _difference(case.model_dump(), found[0].model_dump(), ""):
        raise ReadBackError(f"ADK's loader reads the case {case.eval_id!r} with a different {place}")


def loaded(source: Path | str) -> EvalSet:
    """Read an eval-set file, or the text of one, with ADK's own loader; raises whatever that raises.

    ADK opens whatever it is given, and lists everything that is wrong with it: what is no file, too large or wrong in many places
    is refused before.
    """
    from google.adk.evaluation.eval_set import EvalSet  # noqa: PLC0415 - as above
    from google.adk.evaluation.local_eval_sets_manager import (  # noqa: PLC0415 - as above
        load_eval_set_from_file,
    )

    text = read_file(source).decode() if isinstance(source, Path) else source
    document = read_json(text, constants=True, most=LIMITS["set"])
    is_set = isinstance(document, dict) and "eval_cases" in document
    if is_set and is_long(document):
        validated(EvalSet, document)
    try:
        if isinstance(source, Path):
            return load_eval_set_from_file(str(source), source.stem)
        with tempfile.TemporaryDirectory(prefix="evalset-") as folder:
            path = Path(folder, "preview.evalset.json")
            path.write_bytes(source.encode())
            return load_eval_set_from_file(str(path), path.stem)
    except (ValueError, TypeError, KeyError, AttributeError):
        if is_set:  # ADK takes what it refuses for its older form, and raises what it meets there
            validated(EvalSet, document)
        raise


def _difference(wanted: Any, found: Any, place: str) -> str | None:
    """Name the first place where two dumps differ, types included; None where they are the same."""
    if type(wanted) is not type(found):
        return place
    if isinstance(wanted, dict):
        if wanted.keys() != found.keys():
            odd = sorted(map(str, wanted.keys() ^ found.keys()))
            return f"{place}.{odd[0]}".lstrip(".")
        steps = [(f"{place}.{key}".lstrip("."), wanted[key], found[key]) for key in wanted]
    elif isinstance(wanted, (list, tuple)):
        if len(wanted) != len(found):
            return f"{place} ({len(found)} entries instead of {len(wanted)})"
        steps = [(f"{place}[{index}]", *pair) for index, pair in enumerate(zip(wanted, found, strict=True))]
    else:
        return None if wanted == found else place
    return next((where for step in steps if (where := _difference(step[1], step[2], step[0]))), None)


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
    return user_files.keep_copy(
        lambda number: path.with_name(f"{base_name(path)}.legacy-{number}.json"), text
    )
