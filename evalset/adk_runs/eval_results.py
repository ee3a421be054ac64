"""The results of `adk eval` and `adk web`: read, listed where ADK keeps them, and written for a terminal, a program or continuous integration.

`read_results` gives per case and turn each metric's score, threshold, status and rubrics; `with_problems` adds what only the output of the process says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias
from xml.etree import ElementTree as ET

from pydantic import Field

from evalset.recorded.recording import unknown_words
from simulator.base.adk_names import snake
from simulator.base.frozen_value import Value
from simulator.base.json_text import read_json
from simulator.base.json_values import JsonObject
from simulator.base.validation_words import InputError
from simulator.runtime.adk.outside_work import unlisted_words

Status: TypeAlias = Literal["passed", "failed", "not evaluated", "informational"]

_STATUSES: dict[Any, Status] = {
    1: "passed",
    2: "failed",
    3: "not evaluated",
    4: "informational",
}
"""ADK's `EvalStatus`, whose import takes five seconds."""

_NOT_OURS = frozenset({"args", "response", "session_details"})
"""What is inside of these is the agent's, and keeps its names."""


class ResultsError(InputError):
    """A text holds no results of `adk eval`; it says what is wrong, and where."""


class RubricResult(Value):
    """What a judge said of one rubric; `text` is the rubric itself where the results hold it."""

    rubric_id: str
    text: str = ""
    score: float | None = None
    rationale: str = ""


class MetricResult(Value):
    """A metric's outcome, of a case or of one of its turns.

    Attributes:
        name: The metric.
        score: What it measured; None where it was not evaluated.
        threshold: From where on it passes; None for one that only informs.
        status: Its verdict.
        rubrics: What was said of each rubric.
        details: What it measured beside the score, as ADK names it: tokens, seconds.
        custom: The path of the function of a custom metric.
        problem: Why it was not evaluated, where the output tells.
    """

    name: str
    score: float | None = None
    threshold: float | None = None
    status: Status
    rubrics: tuple[RubricResult, ...] = ()
    details: dict[str, float] = Field(default_factory=dict)
    custom: str = ""
    problem: str = ""


class CallMade(Value):
    """A tool call of a turn."""

    tool: str
    arguments: JsonObject = Field(default_factory=dict)


class TurnResult(Value):
    """One turn: what was asked, and what the agent answered and called beside what was expected; None where nothing was."""

    asked: str = ""
    actual_text: str = ""
    actual_calls: tuple[CallMade, ...] = ()
    expected_text: str | None = None
    expected_calls: tuple[CallMade, ...] | None = None
    metrics: tuple[MetricResult, ...] = ()


class AdkCaseResult(Value):
    """One case: its verdict, its metrics, its turns. `problem` says why it has none, where the output tells."""

    eval_id: str
    status: Status
    metrics: tuple[MetricResult, ...] = ()
    turns: tuple[TurnResult, ...] = ()
    session_id: str = ""
    problem: str = ""

    def metric(self, name: str) -> MetricResult | None:
        """Return the metric of this name; None where the case has none."""
        return next((metric for metric in self.metrics if metric.name == name), None)


class RunResults(Value):
    """A results file: the set, when it was evaluated in seconds since the epoch, and the cases. `unlisted` says which tool sets could not be listed, where the output tells."""

    eval_set_id: str = ""
    created: float = 0.0
    cases: tuple[AdkCaseResult, ...] = ()
    unlisted: tuple[str, ...] = ()

    @property
    def passed(self) -> int:
        """How many cases passed."""
        return sum(case.status == "passed" for case in self.cases)

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of all metrics, in their order."""
        return tuple(dict.fromkeys(metric.name for case in self.cases for metric in case.metrics))


_END_OF_TIME = 1e11
"""In seconds since the epoch, some three thousand years from now."""


def read_results(text: str | bytes) -> RunResults:
    """Read a results file, also one that is encoded twice, as older releases of ADK wrote it.

    Raises:
        ResultsError: It is none; the text says where.
    """
    try:
        found = read_json(text.decode() if isinstance(text, bytes) else text, constants=True)
        found = read_json(found, constants=True) if isinstance(found, str) else found
    except ValueError as error:  # also bytes that are no UTF-8
        raise ResultsError(f"not valid JSON: {error}") from error
    document = _snake(found)
    if not isinstance(document, dict) or not isinstance(document.get("eval_case_results"), list):
        raise ResultsError("not results of `adk eval`: `eval_case_results` is not a list")
    cases = []
    for place, case in enumerate(document["eval_case_results"]):
        try:
            cases.append(_case(case))
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
            raise ResultsError(f"eval_case_results[{place}] cannot be read: {error}") from error
    created = document.get("creation_timestamp") or 0.0
    if not isinstance(created, (int, float)) or not 0 <= created < _END_OF_TIME:
        raise ResultsError(f"creation_timestamp: {created!r:.40} is not a time in seconds")
    return RunResults(
        eval_set_id=str(document.get("eval_set_id") or ""),
        created=float(created),
        cases=tuple(sorted(cases, key=lambda case: case.eval_id)),
    )


def _snake(value: Any) -> Any:
    """Return a document with the names of its fields in snake case, as files have them; `adk web` answers in camel case."""
    if isinstance(value, dict):
        return {
            (spelled := snake(name)): held if spelled in _NOT_OURS else _snake(held)
            for name, held in value.items()
        }
    return [_snake(each) for each in value] if isinstance(value, list) else value


def _case(case: Mapping[str, Any]) -> AdkCaseResult:
    return AdkCaseResult(
        eval_id=str(case["eval_id"]),
        status=_status(case["final_eval_status"]),
        metrics=tuple(map(_metric, case.get("overall_eval_metric_results") or ())),
        turns=tuple(map(_turn, case.get("eval_metric_result_per_invocation") or ())),
        session_id=str(case.get("session_id") or ""),
    )


def _status(said: Any) -> Status:
    if (found := _STATUSES.get(said)) is None:
        raise ValueError(f"{said!r} is not a status")
    return found


def _metric(metric: Mapping[str, Any]) -> MetricResult:
    details = metric.get("details") or {}
    texts = {
        rubric["rubric_id"]: (rubric.get("rubric_content") or {}).get("text_property") or ""
        for rubric in (metric.get("criterion") or {}).get("rubrics") or ()
    }
    measured = [details.get(name) or {} for name in ("token_usage_details", "duration_details")]
    return MetricResult(
        name=str(metric["metric_name"]),
        score=metric.get("score"),
        threshold=metric.get("threshold"),
        status=_status(metric["eval_status"]),
        rubrics=tuple(_rubric(rubric, texts) for rubric in details.get("rubric_scores") or ()),
        details={name: value for each in measured for name, value in each.items() if value is not None},
        custom=str(metric.get("custom_function_path") or ""),
    )


def _rubric(rubric: Mapping[str, Any], texts: Mapping[str, str]) -> RubricResult:
    rubric_id = str(rubric["rubric_id"])
    return RubricResult(
        rubric_id=rubric_id,
        text=texts.get(rubric_id, ""),
        score=rubric.get("score"),
        rationale=str(rubric.get("rationale") or ""),
    )


def _turn(turn: Mapping[str, Any]) -> TurnResult:
    actual, expected = turn["actual_invocation"], turn.get("expected_invocation")
    return TurnResult(
        asked=_text(actual.get("user_content")),
        actual_text=_text(actual.get("final_response")),
        actual_calls=_calls(actual.get("intermediate_data")),
        expected_text=None if expected is None else _text(expected.get("final_response")),
        expected_calls=None if expected is None else _calls(expected.get("intermediate_data")),
        metrics=tuple(map(_metric, turn.get("eval_metric_results") or ())),
    )


def _text(content: Mapping[str, Any] | None) -> str:
    parts = (content or {}).get("parts") or ()
    return "\n".join(part["text"] for part in parts if part.get("text") and not part.get("thought"))


def _calls(between: Mapping[str, Any] | None) -> tuple[CallMade, ...]:
    """Return the calls of a turn, whichever of ADK's two forms it has."""
    held = between or {}
    uses: Iterable[Mapping[str, Any]] = held.get("tool_uses") or (
        part["function_call"]
        for event in held.get("invocation_events") or ()
        for part in (event.get("content") or {}).get("parts") or ()
        if part.get("function_call")
    )
    return tuple(CallMade(tool=str(use.get("name") or ""), arguments=use.get("args") or {}) for use in uses)


_CASE_FAILED = re.compile(r"Inference failed for eval case `(.*?)` with error (.*?)\.?$", re.MULTILINE)
_METRIC_FAILED = re.compile(
    r"Metric evaluation failed for metric `(.*?)` for eval case id '(.*?)' with following error `(.*?)`$",
    re.MULTILINE | re.DOTALL,
)


_UNLISTED = re.compile(unlisted_words("(?:.*?)", "(?:.*)"))


def with_problems(results: RunResults, output: str) -> RunResults:
    """Add why a case or a metric has no outcome: ADK writes that to its output alone, and not into the results."""
    failed = dict(_CASE_FAILED.findall(output))
    metrics = {(name, eval_id): why for name, eval_id, why in _METRIC_FAILED.findall(output)}

    def told(case: AdkCaseResult) -> AdkCaseResult:
        measured = tuple(
            metric.model_copy(update={"problem": metrics.get((metric.name, case.eval_id), "")})
            if metric.status == "not evaluated"
            else metric
            for metric in case.metrics
        )
        why = "" if case.turns else failed.get(case.eval_id, "")
        return case.model_copy(update={"metrics": measured, "problem": why})

    unlisted = tuple(dict.fromkeys(_UNLISTED.findall(output)))
    return results.model_copy(update={"cases": tuple(map(told, results.cases)), "unlisted": unlisted})


HISTORY = Path(".adk", "eval_history")
"""Where ADK keeps them, in the agent's folder."""

_ENDING = ".evalset_result.json"


class KeptResults(Value):
    """A results file: its name without the ending, which ADK makes of app, set and time, and when it was written."""

    path: Path
    name: str
    written: float


def kept_results(folder: Path, most: int = 50) -> tuple[KeptResults, ...]:
    """List the results files in a folder, the newest first; none where it cannot be read."""
    try:
        found = [
            KeptResults(path=path, name=path.name.removesuffix(_ENDING), written=path.stat().st_mtime)
            for path in folder.glob(f"*{_ENDING}")
        ]
    except OSError:
        return ()
    return tuple(sorted(found, key=lambda kept: kept.written, reverse=True)[:most])


_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no form for."""

_MARKS = {"passed": "PASS", "failed": "FAIL", "not evaluated": "NOT EVALUATED", "informational": "INFO"}
_SHOWN = 200


def report(results: RunResults) -> str:
    """Write a table with a line for each case, why some did not pass, and the sum."""
    names = _compared(results)
    head = ("case", "result", *names)
    rows = [
        (case.eval_id, _MARKS[case.status], *(_score(case.metric(name)) for name in names))
        for case in results.cases
    ]
    lines = list(_table(head, rows))
    for case in results.cases:
        if told := list(reasons(case)):
            lines += [f"{case.eval_id}:", *(f"    {line}" for line in told)]
    lines += [*unknown_words(results.unlisted), f"{results.passed} of {len(results.cases)} passed"]
    return "\n".join(lines) + "\n"


def _compared(results: RunResults) -> Sequence[str]:
    """Return the names of the metrics that decide, without those that only inform; those are in the JSON."""
    found = [
        name for name in results.metric_names if any(_decides(case.metric(name)) for case in results.cases)
    ]
    return found or results.metric_names


def _decides(metric: MetricResult | None) -> bool:
    return metric is not None and metric.threshold is not None and metric.status != "informational"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _score(metric: MetricResult | None) -> str:
    if metric is None:
        return ""
    if metric.score is None:
        return metric.status
    least = "" if metric.threshold is None else f" of {metric.threshold:.2f}"
    return f"{metric.score:.2f}{least}"


def reasons(case: AdkCaseResult) -> Iterator[str]:
    """Return why a case did not pass, in lines; none where it did."""
    if case.status == "passed":
        return
    if case.problem:
        yield case.problem
    for metric in case.metrics:
        if metric.problem:
            yield f"{metric.name}: {metric.problem}"
    for number, turn in enumerate(case.turns, start=1):
        yield from _turn_words(number, turn)


def _turn_words(number: int, turn: TurnResult) -> Iterator[str]:
    if all(metric.status != "failed" for metric in turn.metrics):
        return
    expected, actual = turn.expected_calls, turn.actual_calls
    if expected is not None and expected != actual:
        yield f"turn {number}, expected calls: {_call_words(expected)}"
        yield f"turn {number}, actual calls:   {_call_words(actual)}"
    if turn.expected_text is not None and turn.expected_text != turn.actual_text:
        yield f"turn {number}, expected response: {_short(turn.expected_text)}"
        yield f"turn {number}, actual response:   {_short(turn.actual_text)}"


def _call_words(calls: Sequence[Any]) -> str:
    return _short(
        ", ".join(f"{call.tool}({json.dumps(call.arguments, ensure_ascii=False)})" for call in calls)
        or "none"
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def junit(results: RunResults, seconds: float, network: str = "") -> bytes:
    """Write results as JUnit XML in UTF-8: a test suite, and a test case for each eval case.

    Args:
        results: The results.
        seconds: How long the run took.
        network: What is told of the network, in a sentence; empty for nothing.
    """
    name = _plain(results.eval_set_id)
    counts: dict[str, Any] = {
        "tests": str(len(results.cases)),
        "failures": str(sum(case.status == "failed" for case in results.cases)),
        "errors": str(sum(case.status == "not evaluated" for case in results.cases)),
        "time": f"{seconds:.3f}",
    }
    suites = ET.Element("testsuites", name="adk eval", **counts)
    suite = ET.SubElement(suites, "testsuite", name=name, **counts)
    if network:
        properties = ET.SubElement(suite, "properties")
        ET.SubElement(properties, "property", name="network", value=_plain(network))
    for case in results.cases:
        element = ET.SubElement(suite, "testcase", classname=name, name=_plain(case.eval_id))
        if case.status in {"failed", "not evaluated"}:
            told = [_plain(line) for line in reasons(case)] or ["not passed"]
            kind = "failure" if case.status == "failed" else "error"
            ET.SubElement(element, kind, message=told[0]).text = "\n".join(told)
    written: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return written


def _plain(text: str) -> str:
    return _NO_XML.sub("?", text)
