"""A large eval set is read once, says how far its examination is, can be stopped, and leaves Python's collector as it was."""

from __future__ import annotations

import gc
from pathlib import Path
from threading import Event
from unittest import mock

from app.evalsets.checks.doctor_jobs import Ward, examined
from evalset.doctor import ExamineProgress, examine
from evalset.doctor.file_writing import read_content
from tests.evalset.doctor.examples import (
    a_case,
    a_recorded_call,
    a_recorded_case,
    a_set,
    a_turn,
    an_environment,
    in_bytes,
    put,
)
from tests.evalset.doctor.pitfalls import ENVIRONMENT, SET

CASES = 250


def large(folder: Path) -> Path:
    """Write a set of many cases, with what is recorded of them, which all agree."""
    names = [f"case_{number}" for number in range(CASES)]
    cases = [
        a_case(name, a_turn(final_response={"role": "model", "parts": [{"text": "größer"}]}))
        for name in names
    ]
    recorded = {name: a_recorded_case(a_recorded_call()) for name in names}
    put(folder, {SET: in_bytes(a_set(*cases)), ENVIRONMENT: in_bytes(an_environment(**recorded))})
    return folder / SET


def test_it_says_how_far_it_is_and_reads_each_file_once(tmp_path: Path) -> None:
    """Each hundred cases of each file are told; no model is made of a case that agrees with its recording."""
    path, told = large(tmp_path), list[ExamineProgress]()
    with (
        mock.patch("evalset.doctor.examination.read_content", wraps=read_content) as read,
        mock.patch("evalset.doctor.environment_checks.without_confirmations") as compared,
    ):
        found = examine([path], on_progress=told.append)
    assert found.findings == ()
    assert read.call_count == 2
    assert compared.call_count == 0
    for name in (SET, ENVIRONMENT):
        steps = [(each.done, each.total) for each in told if each.file.name == name]
        assert steps == [(0, 0), (0, CASES), (100, CASES), (200, CASES)]
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_it_ends_when_it_is_stopped(tmp_path: Path) -> None:
    """The file at which it was stopped has no findings yet, and that is said; the collector works again."""
    path, stop = large(tmp_path), Event()

    def until(now: ExamineProgress) -> None:
        assert now.done <= 100
        if now.done:
            stop.set()

    found = examine([path], on_progress=until, stop=stop)
    assert found.files == ()
    assert "stopped" in found.skipped[-1]
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_an_answer_that_was_changed_is_found_among_many(tmp_path: Path) -> None:
    """The quick comparison finds the one case that differs, and only that."""
    path = large(tmp_path)
    text = path.read_text()
    place = text.index("shipped", text.index('"case_123"'))
    path.write_text(f"{text[:place]}stolen{text[place + len('shipped') :]}")
    (finding,) = examine([path]).findings
    assert (finding.code, finding.eval_id) == ("environment-answers-differ", "case_123")
    assert finding.line == (tmp_path / ENVIRONMENT).read_text().split('"case_123"')[0].count("\n") + 5


def test_the_page_is_told_how_far_it_is(tmp_path: Path) -> None:
    """The work of the tab holds the last word of the examination."""
    job = examined(Ward(paths=(large(tmp_path),)))
    assert job.wait(60)
    assert job.progress.words == f"{ENVIRONMENT}: 200 of {CASES} cases"
    assert job.progress.share == 200 / CASES
    assert job.result is not None
