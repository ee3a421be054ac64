"""Writes a verification as JUnit XML, which continuous integration reads: a test suite, and a test case for each eval case."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

from evalset.verify.report import reasons
from evalset.verify.results import CaseResult, Verification

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no form for."""


def junit(verification: Verification) -> bytes:
    """Write a verification as JUnit XML in UTF-8. What was stopped counts as skipped, what could not be run as an error."""
    name = _plain(verification.eval_set.name)
    counts: dict[str, Any] = {
        "tests": str(len(verification.cases)),
        "failures": str(verification.count("failed")),
        "errors": str(verification.count("error")),
        "skipped": str(verification.count("stopped")),
        "time": f"{verification.seconds:.3f}",
    }
    suites = ET.Element("testsuites", name="evalset verify", **counts)
    suite = ET.SubElement(suites, "testsuite", name=name, **counts)
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
            failure = ET.SubElement(element, "failure", message=told[0] if told else "it did not pass")
            failure.text = "\n".join(told)
        case "error":
            ET.SubElement(element, "error", message=_plain(case.error)).text = _plain(case.error)
        case "stopped":
            ET.SubElement(element, "skipped", message="stopped before all its runs were made")
        case "passed":
            pass


def _plain(text: str) -> str:
    return _NO_XML.sub("?", text)
