"""Writes the results of `adk eval` for a terminal, for a program as JSON, and for continuous integration as JUnit XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from evalset.adk_runs.eval_results import AdkCaseResult, MetricResult, RunResults, TurnResult

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
    lines.append(f"{results.passed} of {len(results.cases)} passed")
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
        yield from _turn(number, turn)


def _turn(number: int, turn: TurnResult) -> Iterator[str]:
    if all(metric.status != "failed" for metric in turn.metrics):
        return
    expected, actual = turn.expected_calls, turn.actual_calls
    if expected is not None and expected != actual:
        yield f"turn {number}, expected calls: {_calls(expected)}"
        yield f"turn {number}, actual calls:   {_calls(actual)}"
    if turn.expected_text is not None and turn.expected_text != turn.actual_text:
        yield f"turn {number}, expected response: {_short(turn.expected_text)}"
        yield f"turn {number}, actual response:   {_short(turn.actual_text)}"


def _calls(calls: Sequence[Any]) -> str:
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
