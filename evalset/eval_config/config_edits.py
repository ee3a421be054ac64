"""All criteria of google-adk 2.13 in words, and edits of the document of an `EvalConfig`, which leave alone what they are not asked to change.

A `Criterion` says what it measures, from where on it usually passes, what it can be told, what it needs. Each edit takes a document and gives another one: values by their path
in either of ADK's spellings, criteria, their rubrics, and metrics of one's own. `load` and `save` read and write it beside an eval set, where `adk eval` finds it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import JsonValue

from simulator.base.adk_names import camel
from simulator.base.documents import LIMITS, read_file
from simulator.base.frozen_value import Value
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.json_values import JsonObject, copied
from simulator.base.user_files import LockTimeoutError, lock_path, sync_folder, system_lock, write_whole
from simulator.base.validation_words import InputError

Kind: TypeAlias = Literal["plain", "trajectory", "judge", "rubrics", "hallucinations", "user_simulator"]
"""Which of ADK's criterion classes a metric reads."""

Needs: TypeAlias = Literal["nothing", "judge", "vertex"]

NEEDS: Mapping[Needs, str] = {
    "nothing": "Runs locally.",
    "judge": "Calls a model several times for each turn. Needs its key (`GOOGLE_API_KEY` for Gemini).",
    "vertex": (
        "Calls Vertex AI. Needs `GOOGLE_API_KEY`, or `GOOGLE_CLOUD_PROJECT` and `GOOGLE_CLOUD_LOCATION` with a login."
    ),
}
"""What a metric needs, in a sentence each."""


class Criterion(Value):
    """A metric that can pass or fail a case.

    Attributes:
        name: Its name in an `EvalConfig`.
        title: Its name for a person.
        sentence: What it measures.
        kind: What it can be told beside the threshold.
        needs: What has to be there for it.
        usual: The threshold that it begins with.
        lowest: The least score.
        highest: The best score.
        rubric_type: The `type` of the rubrics of a case that it takes in.
        needs_golden: Whether it compares with what a golden expects, so that a case that a simulated user plays gets no score.
    """

    name: str
    title: str
    sentence: str
    kind: Kind = "plain"
    needs: Needs = "nothing"
    usual: float = 0.8
    lowest: float = 0.0
    highest: float = 1.0
    rubric_type: str = ""
    needs_golden: bool = False


CRITERIA: tuple[Criterion, ...] = (
    Criterion(
        name="tool_trajectory_avg_score",
        title="Tool calls",
        sentence="The tool calls match the golden trace.",
        kind="trajectory",
        usual=1.0,
        needs_golden=True,
    ),
    Criterion(
        name="response_match_score",
        title="Response wording",
        sentence="The final response shares its words with the golden one (ROUGE-1).",
        needs_golden=True,
    ),
    Criterion(
        name="final_response_match_v2",
        title="Response meaning",
        sentence="A judge model checks that the final response means the same as the golden one.",
        kind="judge",
        needs="judge",
        needs_golden=True,
    ),
    Criterion(
        name="rubric_based_final_response_quality_v1",
        title="Response rubrics",
        sentence="A judge model checks the final response against your rubrics.",
        kind="rubrics",
        needs="judge",
        rubric_type="FINAL_RESPONSE_QUALITY",
    ),
    Criterion(
        name="rubric_based_tool_use_quality_v1",
        title="Tool use rubrics",
        sentence="A judge model checks the tool use against your rubrics.",
        kind="rubrics",
        needs="judge",
        rubric_type="TOOL_USE_QUALITY",
    ),
    Criterion(
        name="rubric_based_multi_turn_trajectory_quality_v1",
        title="Conversation rubrics",
        sentence="A judge model checks the whole conversation against your rubrics.",
        kind="rubrics",
        needs="judge",
        rubric_type="TRAJECTORY_QUALITY",
    ),
    Criterion(
        name="hallucinations_v1",
        title="Hallucinations",
        sentence="A judge model checks that tool responses support each claim of the response.",
        kind="hallucinations",
        needs="judge",
    ),
    Criterion(
        name="per_turn_user_simulator_quality_v1",
        title="Simulated user",
        sentence="A judge model checks each message of the simulated user against its scenario.",
        kind="user_simulator",
        needs="judge",
    ),
    Criterion(name="safety_v1", title="Safety", sentence="The final response is harmless.", needs="vertex"),
    Criterion(
        name="response_evaluation_score",
        title="Response coherence",
        sentence="The final response is coherent, from 1 to 5.",
        needs="vertex",
        usual=3.5,
        lowest=1.0,
        highest=5.0,
        needs_golden=True,
    ),
    Criterion(
        name="multi_turn_task_success_v1",
        title="Task success",
        sentence="The goals of the conversation were reached. Needs no golden trace.",
        needs="vertex",
    ),
    Criterion(
        name="multi_turn_trajectory_quality_v1",
        title="Conversation trajectory",
        sentence="The steps toward the goals of the conversation were good. Needs no golden trace.",
        needs="vertex",
    ),
    Criterion(
        name="multi_turn_tool_use_quality_v1",
        title="Conversation tool use",
        sentence="The tool calls of the whole conversation were good. Needs no golden trace.",
        needs="vertex",
    ),
)
"""Every metric of ADK that passes or fails, the ones that need nothing first."""

ALWAYS_REPORTED: tuple[str, ...] = (
    "tool_call_count_v1",
    "inference_call_count_v1",
    "token_usage_v1",
    "invocation_duration_v1",
)
"""What ADK reports of every run by itself. Naming one as a criterion makes `adk eval` fail."""

_BY_NAME = {criterion.name: criterion for criterion in CRITERIA}


def criterion_named(name: str) -> Criterion | None:
    """Return ADK's own metric of this name; None for any other."""
    return _BY_NAME.get(name)


_THRESHOLD = "threshold"
_CRITERIA, _CUSTOM = "criteria", "custom_metrics"


class ConfigError(InputError):
    """A text is no document of an `EvalConfig`; it says what is wrong, and where."""


def read_document(text: str) -> JsonObject:
    """Read the text of a document; an empty one is a document without criteria.

    Raises:
        ConfigError: It is no JSON object; line and column are named.
    """
    if not text.strip():
        return {}
    try:
        found = read_json(text, most=LIMITS["settings"])
    except JsonTextError as error:
        raise ConfigError(f"line {error.line}, column {error.column}: {error.reason}") from error
    if not isinstance(found, dict):
        raise ConfigError("the criteria must be a JSON object: { ... }")
    return found


def written(document: JsonObject) -> str:
    """Write a document, indented."""
    return f"{json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)}\n"


def starting_document() -> JsonObject:
    """Return the criteria that ADK takes where there is no file."""
    return {_CRITERIA: {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}}


def value_at(document: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return what stands at a path of fields in snake case, also where it is spelt in camel case; None where nothing does."""
    found: Any = document
    for depth, name in enumerate(path):
        if not isinstance(found, dict):
            return None
        found = found.get(name if _is_metric(path, depth) else _spelt(found, name))
    return found


def with_value(document: JsonObject, path: Sequence[str], value: JsonValue) -> JsonObject:
    """Return the document with a value at a path of fields; None takes it away. What is no object on the way is replaced."""
    made: JsonObject = copied(document)
    here: dict[str, Any] = made
    for depth, name in enumerate(path[:-1]):
        key = name if _is_metric(path, depth) else _spelt(here, name)
        if not isinstance(here.get(key), dict):
            if value is None:
                return made
            here[key] = {}
        here = here[key]
    last = path[-1] if _is_metric(path, len(path) - 1) else _spelt(here, path[-1])
    if value is None:
        here.pop(last, None)
    else:
        here[last] = value
    return made


def without_values(held: JsonObject, paths: Sequence[Sequence[str]]) -> JsonObject:
    """Return an object without what stands at some paths; what is empty without it goes too."""
    for path in paths:
        if value_at(held, path) is not None:
            held = _without_empty(with_value(held, path, None), path)
    return held


def with_values(held: JsonObject, paths: Sequence[Sequence[str]], other: Mapping[str, Any]) -> JsonObject:
    """Return an object with what another one has at some paths, where it says nothing there itself."""
    for path in paths:
        said = value_at(other, path)
        if said is not None and value_at(held, path) is None:
            held = with_value(held, path, said)
    return held


def _is_metric(path: Sequence[str], depth: int) -> bool:
    """Return whether a name is that of a metric, which has one spelling, and not of a field."""
    return depth == 1 and path[0] in {_CRITERIA, _CUSTOM}


def _spelt(held: Mapping[str, Any], name: str) -> str:
    """Return the spelling of a field that an object has; ADK reads both."""
    if name in held:
        return name
    other = camel(name)
    return other if other in held else name


def criteria_in(document: JsonObject) -> tuple[str, ...]:
    """Return the names of the criteria of a document, in their order."""
    found = value_at(document, (_CRITERIA,))
    return tuple(found) if isinstance(found, dict) else ()


def with_criterion(document: JsonObject, name: str, value: JsonValue) -> JsonObject:
    """Return the document with a criterion, a threshold or an object; None takes it away."""
    return with_value(document, (_CRITERIA, name), value)


def usual_value(name: str) -> float:
    """Return the threshold that a criterion begins with."""
    found = criterion_named(name)
    return found.usual if found else 0.8


def threshold(document: JsonObject, name: str) -> float | None:
    """Return the threshold of a criterion; None where it has none that is a number."""
    found = value_at(document, (_CRITERIA, name))
    said = value_at(found, (_THRESHOLD,)) if isinstance(found, dict) else found
    if not isinstance(said, (int, float)) or isinstance(said, bool):
        return None
    try:
        return float(said)
    except OverflowError:  # a whole number of hundreds of digits
        return None


def criteria_words(document: JsonObject) -> str:
    """Name the criteria of a document, each with its threshold."""
    found = ((name, threshold(document, name)) for name in criteria_in(document))
    return ", ".join(name if least is None else f"{name} {least:g}" for name, least in found)


def with_threshold(document: JsonObject, name: str, value: float) -> JsonObject:
    """Return the document with another threshold, whatever form the criterion has."""
    found = value_at(document, (_CRITERIA, name))
    if isinstance(found, dict):
        return with_value(document, (_CRITERIA, name, _THRESHOLD), value)
    return with_criterion(document, name, value)


def option(document: JsonObject, name: str, path: Sequence[str]) -> Any:
    """Return an option of a criterion; None where it is not said."""
    found = value_at(document, (_CRITERIA, name))
    return value_at(found, path) if isinstance(found, dict) else None


def with_option(document: JsonObject, name: str, path: Sequence[str], value: JsonValue) -> JsonObject:
    """Return the document with an option of a criterion; None takes it away.

    A criterion that was a number becomes an object; one that has nothing left but its threshold becomes a number again.
    """
    found = value_at(document, (_CRITERIA, name))
    held: JsonObject = found if isinstance(found, dict) else {_THRESHOLD: found}
    made = _without_empty(with_value(held, path, value), path)
    return with_criterion(document, name, made[_THRESHOLD] if set(made) == {_THRESHOLD} else made)


def _without_empty(held: JsonObject, path: Sequence[str]) -> JsonObject:
    for depth in range(len(path) - 1, 0, -1):
        if value_at(held, path[:depth]) == {}:
            held = with_value(held, path[:depth], None)
    return held


def rubric_lines(rubrics: Any) -> str:
    """Write rubrics as lines: `id: what it wants`."""
    found = rubrics if isinstance(rubrics, list) else []
    return "\n".join(_rubric_line(rubric) for rubric in found if isinstance(rubric, dict))


def _rubric_line(rubric: Mapping[str, Any]) -> str:
    text = value_at(rubric, ("rubric_content", "text_property")) or ""
    return f"{value_at(rubric, ('rubric_id',)) or ''}: {' '.join(str(text).split())}"


def rubrics_from(lines: str, before: Any = None) -> list[JsonValue]:
    """Read rubrics from lines, `id: what it wants` or the wish alone. One whose line has not changed stays as it was, whole.

    What a line does not show, its description and its type, stays with its id.
    """
    known = [rubric for rubric in before if isinstance(rubric, dict)] if isinstance(before, list) else []
    by_line = {_rubric_line(rubric): rubric for rubric in known}
    by_id = {value_at(rubric, ("rubric_id",)): rubric for rubric in known}
    made: list[JsonValue] = []
    for line in filter(str.strip, lines.splitlines()):
        if line in by_line:
            made.append(copied(by_line[line]))
            continue
        name, wish = _parted(line, len(made) + 1)
        made.append(
            with_value(by_id.get(name, {"rubric_id": name}), ("rubric_content", "text_property"), wish)
        )
    return made


def _parted(line: str, number: int) -> tuple[str, str]:
    name, colon, wish = line.partition(":")
    if colon and re.fullmatch(r"[\w.-]+", name.strip()):
        return name.strip(), wish.strip()
    return f"rubric_{number}", line.strip()


def custom_metrics(document: JsonObject) -> dict[str, str]:
    """Return the functions of the custom metrics, by their names."""
    found = value_at(document, (_CUSTOM,))
    if not isinstance(found, dict):
        return {}
    return {
        name: str(value_at(held, ("code_config", "name")) or "")
        for name, held in found.items()
        if isinstance(held, dict)
    }


def flaw_of_function(path: str) -> str:
    """Return why a document may not name a function as a metric; empty where it may. Nothing is imported."""
    module, _, function = path.rpartition(".")
    if not (module and function):
        return f"{path!r} is not a function path like `package.module.function`"
    if module.partition(".")[0] in sys.stdlib_module_names:
        return f"{path!r} is a part of Python. Name a function of the agent's project"
    return ""


INTERVAL = ("metric_info", "metric_value_info", "interval")
"""Where a custom metric says which scores it gives."""
METRIC_OBJECTS = tuple(INTERVAL[:depth] for depth in range(1, len(INTERVAL) + 1))
"""What ADK wants to be objects on the way there."""
_ENDS = {"min_value": 0.0, "max_value": 1.0}
"""The range that ADK takes where none is given."""


def with_metric_field(document: JsonObject, name: str, path: Sequence[str], value: JsonValue) -> JsonObject:
    """Return the document with a field of a custom metric; None takes it away.

    ADK reads an interval with both ends alone, and information on a metric with a name and its own description. So an end is set with
    the other one, and taking away an end takes its usual value; what is needed beside it is added.
    """
    at = (_CUSTOM, name)
    if tuple(path[:-1]) != INTERVAL:
        return with_value(document, (*at, *path), value)
    if value is None and path[-1] in _ENDS:
        value = _ENDS[path[-1]]
    made = with_value(document, (*at, *path), value)
    about = {"metric_name": name, "description": value_at(document, (*at, "description"))}
    needed: dict[tuple[str, ...], Any] = {(*INTERVAL, end): usual for end, usual in _ENDS.items()}
    needed |= {("metric_info", field): said for field, said in about.items()}
    for where, said in needed.items():
        if said is not None and value_at(made, (*at, *where)) is None:
            made = with_value(made, (*at, *where), said)
    return made


def with_custom_metric(document: JsonObject, name: str, path: str | None) -> JsonObject:
    """Return the document with a custom metric and its threshold; None takes both away."""
    if path is None:
        made = with_criterion(with_value(document, (_CUSTOM, name), None), name, None)
        return with_value(made, (_CUSTOM,), None) if value_at(made, (_CUSTOM,)) == {} else made
    made = with_value(document, (_CUSTOM, name, "code_config", "name"), path)
    return made if name in criteria_in(made) else with_criterion(made, name, usual_value(name))


NAME = "test_config.json"
"""`adk eval` takes this file where it is given the path of a set in the same folder, and no other criteria."""

_PATIENCE_SECONDS = 10.0


def config_of(eval_set: Path | str) -> Path:
    """Return the path of the criteria that belong to an eval set."""
    return Path(eval_set).with_name(NAME)


def load(path: Path) -> str | None:
    """Return the text of a file of criteria, a byte order mark included, which ADK cannot read; None where there is no file.

    Raises:
        ConfigError: It cannot be read, or is no text.
    """
    try:
        return read_file(path, "settings").decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8 at byte {error.start}") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error


def save(path: Path, text: str, *, before: str | None) -> None:
    """Write a file of criteria whole, unless somebody else has changed it.

    Args:
        path: The file.
        text: What shall stand there.
        before: What stood there when it was loaded; None where nothing did.

    Raises:
        ConfigError: It holds something else by now, or cannot be written; it is as it was.
    """
    target = Path(os.path.realpath(path))
    try:
        with system_lock(lock_path(target), _PATIENCE_SECONDS):
            _check_unchanged(target, before)
            write_whole(target, [text.encode()], before_replace=lambda: _check_unchanged(target, before))
            sync_folder(target.parent)
    except LockTimeoutError as error:
        raise ConfigError(f"{path}: another program is writing it; nothing was written") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror or error}") from error


def _check_unchanged(target: Path, before: str | None) -> None:
    if load(target) != before:
        raise ConfigError(f"{target}: changed on disk since it was loaded; nothing was written. Reload it")
