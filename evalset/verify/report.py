"""Writes a verification for a person on a terminal, and as JSON for a program."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from evalset.golden_trace.steps import Step
from evalset.recorded.recording import lean, unknown_words
from evalset.recorded.tolerances import Tolerance
from evalset.verify.divergence import out_of_order
from evalset.verify.results import (
    VERDICTS,
    CaseResult,
    CaseStatus,
    Divergence,
    RunResult,
    Verification,
    rename_words,
)
from evalset.verify.verify_request import STATE
from simulator.base.json_values import canonical

_SHOWN, _AROUND = 160, 60
_NONE: Mapping[str, Sequence[Tolerance]] = MappingProxyType({})
_MARKS: dict[CaseStatus, str] = {
    "passed": "PASS",
    "failed": "FAIL",
    "error": "ERROR",
    "stopped": "STOPPED",
    "skipped": "SKIP",
}
_COUNTED: dict[CaseStatus, str] = {
    "passed": "passed",
    "failed": "failed",
    "error": "could not be run",
    "stopped": "stopped",
    "skipped": "skipped",
}


def report(verification: Verification, proposed: Mapping[str, Sequence[Tolerance]] = _NONE) -> str:
    """Write what became of each case, and why, with the sum below, and the tolerances that were proposed, by the case."""
    lines = [line for case in verification.cases for line in _case_lines(case, verification.runs)]
    tolerances = [
        line
        for eval_id, found in proposed.items()
        for line in (f"tolerances of {eval_id}:", *(f"    {json.dumps(lean(each))}" for each in found))
    ]
    renamed = [rename_words(old, new) for old, new in verification.renamed.items()]
    inside = verification.environment == verification.eval_set
    used = [f"recording: inside {verification.eval_set.name} (there is no separate file)"] if inside else []
    network = network_words(verification)
    told = (*lines, *tolerances, *renamed, *used, *verification.models, *network, *_sum(verification))
    return "\n".join(told) + "\n"


def network_words(verification: Verification) -> tuple[str, ...]:
    """Return what is told of the network, in a sentence; nothing where all was refused and nothing tried."""
    sentence = verification.network.sentence if verification.network is not None else ""
    return (sentence,) if sentence else ()


def _case_lines(case: CaseResult, runs: int) -> Iterator[str]:
    passed = sum(run.passed for run in case.runs)
    times = f" ({passed} of {len(case.runs)} runs)" if runs > 1 else ""
    yield f"{_MARKS[case.status]} {case.eval_id}{times}"
    edited = case.runs[0].edited if case.status == "passed" and case.runs else ()
    for line in (*unknown_words(case.unknown), *case.blanks, *edited, *reasons(case), *_unchecked(case)):
        yield f"    {line}"


def _unchecked(case: CaseResult) -> list[str]:
    """Name the criteria that were not evaluated; that of the state is among what is unknown."""
    checks = case.runs[0].checks if case.runs else ()
    return [
        f"not evaluated: {check.name}: {check.detail}"
        for check in checks
        if check.status == "skipped" and check.name != STATE
    ]


def reasons(case: CaseResult) -> list[str]:
    """Return why a case did not pass: its error, or the first run that failed."""
    if case.error:
        return [case.error]
    failed = next((run for run in case.runs if not run.passed), None)
    return [] if failed is None else list(_run_lines(failed))


def _run_lines(run: RunResult) -> Iterator[str]:
    """Write the verdict first, then where it shows, then what else went wrong, each once."""
    if run.divergence is not None:
        yield from _divergence_lines(run.divergence)
    else:
        yield from run.edited
    if run.error and (run.divergence is None or run.error not in run.divergence.evidence):
        yield run.error
    for check in run.checks:
        if check.status in {"failed", "error"}:
            score = "" if check.score is None else f" {check.score:.2f}, minimum {check.threshold or 0:.2f}"
            yield f"{check.name}{score}{f': {check.detail}' if check.detail else ''}"


def _divergence_lines(divergence: Divergence) -> Iterator[str]:
    verdicts = ", ".join(VERDICTS[each] for each in (divergence.verdict, *divergence.also))
    yield f"{verdicts}: {divergence.sentence}"
    for sentence in divergence.evidence:
        yield f"  {sentence}"
    golden, actual = steps_beside(divergence)
    yield f"first divergence: turn {divergence.turn + 1}, step {divergence.step + 1}"
    if golden == actual and not divergence.pairs[0].differs:
        yield f"  not accepted: {golden}"
    else:
        yield f"  golden: {golden}"
        yield f"  actual: {actual}"
    for each in divergence.differences:
        golden, actual = _beside(
            _Words(body=canonical(each.golden) if each.in_golden else "nothing"),
            _Words(body=canonical(each.actual) if each.in_actual else "nothing"),
        )
        yield f"  {each.path or 'whole value'}: {golden} became {actual}"


def steps_beside(divergence: Divergence) -> tuple[str, str]:
    """Write the first steps that differ, the golden's and the run's, each in a short line."""
    first = out_of_order(divergence) or divergence.pairs[0]
    return _beside(_told(first.golden), _told(first.actual))


class _Words(NamedTuple):
    """What is told of a step or a value: what may be long, and what stands around it."""

    head: str = ""
    body: str = ""
    tail: str = ""


def _told(step: Step | None) -> _Words:
    if step is None:
        return _Words(body="nothing")
    match step.kind:
        case "call":
            inside = "".join(f" inside {name}" for name in reversed(step.within))
            return _Words(f"{step.tool}(", canonical(step.value), f"){inside}")
        case "response":
            return _Words(f"{step.tool} responded ", canonical(step.value))
        case "state":
            return _Words("state ", canonical(step.value))
        case "query" | "text":
            return _Words(body=repr(step.text))


def _beside(golden: _Words, actual: _Words) -> tuple[str, str]:
    """Write both, cut around the first place at which they differ, so that it is seen in both."""
    pairs = zip(golden.body, actual.body, strict=False)
    apart = next((place for place, (one, other) in enumerate(pairs) if one != other), None)
    alike = min(len(golden.body), len(actual.body)) if apart is None else apart
    left, right = (f"{each.head}{_cut(each.body, alike)}{each.tail}" for each in (golden, actual))
    return left, right


def _cut(text: str, place: int) -> str:
    """Cut a long text, at its beginning too where this place would not be seen otherwise."""
    if len(text) <= _SHOWN:
        return text
    start = 0 if place + _AROUND < _SHOWN else place - _AROUND
    shown = text[start : start + _SHOWN]
    return f"{'…' if start else ''}{shown}{'…' if start + _SHOWN < len(text) else ''}"


def _sum(verification: Verification) -> Iterator[str]:
    counts = ", ".join(
        f"{count} {words}"
        for status, words in _COUNTED.items()
        if (count := verification.count(status)) or status == "passed"
    )
    yield f"{counts}, in {verification.seconds:.1f} s"
    if verification.runs > 1:
        for k in dict.fromkeys((1, verification.runs)):
            if (share := verification.pass_power(k)) is not None:
                yield f"pass^{k}: {share:.2f}"


def as_json(verification: Verification, proposed: Mapping[str, Sequence[Tolerance]] = _NONE) -> str:
    """Write a verification as one JSON object. What runs that passed did is left out."""
    document: dict[str, Any] = verification.model_dump(mode="json")
    for case in document["cases"]:
        for run in case["runs"]:
            if run["passed"]:
                del run["turns"]
    sums: dict[str, Any] = {
        "status": verification.status,
        "exit_code": verification.exit_code,
        "passed": verification.count("passed"),
        "failed": verification.count("failed"),
        "errors": verification.count("error"),
        "stopped": verification.count("stopped"),
        "skipped": verification.count("skipped"),
        "pass_power": [verification.pass_power(k) for k in range(1, verification.runs + 1)],
    }
    if proposed:
        sums["tolerances"] = {eval_id: lean(list(found)) for eval_id, found in proposed.items()}
    return json.dumps({**sums, **document}, ensure_ascii=False) + "\n"


# Writes a verification as JUnit XML, which continuous integration reads: a test suite, and a test case for each eval case.


_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no form for."""


def junit(verification: Verification) -> bytes:
    """Write a verification as JUnit XML in UTF-8. What was stopped counts as skipped, too; what could not be run as an error."""
    name = _plain(verification.eval_set.name)
    counts: dict[str, Any] = {
        "tests": str(len(verification.cases)),
        "failures": str(verification.count("failed")),
        "errors": str(verification.count("error")),
        "skipped": str(verification.count("stopped") + verification.count("skipped")),
        "time": f"{verification.seconds:.3f}",
    }
    suites = ET.Element("testsuites", name="evalset verify", **counts)
    suite = ET.SubElement(suites, "testsuite", name=name, **counts)
    for sentence in network_words(verification):
        properties = ET.SubElement(suite, "properties")
        ET.SubElement(properties, "property", name="network", value=_plain(sentence))
    for case in verification.cases:
        _add(suite, name, case)
    written: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return written


def _add(suite: ET.Element, set_name: str, case: CaseResult) -> None:
    seconds = sum(run.seconds for run in case.runs)
    element = ET.SubElement(
        suite,
        "testcase",
        classname=f"{set_name}.{_plain(case.agent)}".rstrip("."),
        name=_plain(case.eval_id),
        time=f"{seconds:.3f}",
    )
    match case.status:
        case "failed":
            told = [_plain(line) for line in reasons(case)]
            failure = ET.SubElement(element, "failure", message=told[0] if told else "not passed")
            failure.text = "\n".join(told)
        case "error":
            ET.SubElement(element, "error", message=_plain(case.error)).text = _plain(case.error)
        case "stopped":
            ET.SubElement(element, "skipped", message="stopped before all runs were done")
        case "skipped":
            ET.SubElement(element, "skipped", message=_plain(case.error))
        case "passed":
            pass
    for words in (*unknown_words(case.unknown), *case.blanks, *_unchecked(case)):
        ET.SubElement(element, "system-out").text = _plain(words)


def _plain(text: str) -> str:
    return _NO_XML.sub("?", text)
