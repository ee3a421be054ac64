"""Damaged, deep and huge files: nothing that reads, mends or writes eval data crashes on them, no byte is lost, and an examination can be stopped."""

from __future__ import annotations

import gc
import json
import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.evalsets.checks.doctor_jobs import Ward, examined
from evalset import EvalSetError, EvalSetWriter, ScenarioError, read_cases
from evalset.doctor import ExamineProgress, Migration, RenamedArgument, SetArgument, examine, mend, migrate
from evalset.doctor.files import read_content
from evalset.files.case_text import loaded
from evalset.files.eval_names import holds_cases
from evalset.files.set_outline import KnownFiles
from evalset.recorded.recording_files import RecordedEnvironmentError, read_environment
from simulator.environment.recordings import RecordingError, read_recording
from tests.evalset.doctor.examples import (
    a_case,
    a_message,
    a_recorded_call,
    a_recorded_case,
    a_set,
    a_turn,
    an_environment,
    in_bytes,
    put,
)
from tests.evalset.doctor.pitfalls import ALL, ENVIRONMENT, SET
from tests.evalset.doctor.test_pitfalls import agents
from tests.evalset.files.examples import a_case as an_eval_case
from tests.harness.file_readers import mutants

MOST = 20_000
often = settings(suppress_health_check=list(HealthCheck))
MIGRATION = Migration(
    tools={"find_order": "look_up"},
    renamed=(RenamedArgument(tool="find_order", old="order_id", new="order"),),
    given=(SetArgument(tool="find_order", name="deep", value={}),),
)


def damaged(*names: str) -> st.SearchStrategy[bytes]:
    """Draw files with a pitfall that are damaged besides, or not, and bytes of no kind at all."""
    held = (each.files().get(name, b"") for each in ALL for name in names)
    written = st.sampled_from([text for text in held if 0 < len(text) < MOST])
    made = st.builds(lambda text, seed: next(mutants(text, random.Random(seed)))[1], written, st.integers())  # noqa: S311 - hypothesis draws the seed
    return made | written | st.binary(max_size=60)


@contextmanager
def folder_of(**files: bytes) -> Iterator[Path]:
    """Make a folder of files; `set` and `environment` are their names."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        for kind, content in files.items():
            Path(name, {"set": SET, "environment": ENVIRONMENT}[kind]).write_bytes(content)
        yield Path(name)


def check_kept(folder: Path, before: dict[str, bytes]) -> None:
    """Check that the old text of each file is still there: in the file, or in a copy beside it."""
    for name, text in before.items():
        held = [path.read_bytes() for path in folder.iterdir() if path.name.startswith(name)]
        assert text in held


@often
@given(damaged(SET), st.none() | damaged(ENVIRONMENT))
def test_the_doctor_examines_and_mends_whatever_is_there(text: bytes, environment: bytes | None) -> None:
    """It never raises; what it mends it can read; done again it does nothing; the old text is kept."""
    beside = {} if environment is None else {"environment": environment}
    with folder_of(set=text, **beside) as folder:
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        examination = examine([folder], agents=agents(), portable=True)
        assert examination.unreadable == ()
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        done = mend([folder], agents=agents(), portable=True)
        assert done.problems == ()
        assert bool(done.files) == bool(examination.mendable)
        check_kept(folder, before)
        again = examine([folder], agents=agents(), portable=True)
        assert again.mendable == ()
        assert mend([folder], agents=agents(), portable=True).files == ()
        for file in again.files:
            if file.kind == "eval set" and not [each for each in file.findings if each.severity == "error"]:
                loaded(file.file)


@often
@given(damaged(SET))
def test_a_migration_changes_a_file_whole_or_not_at_all(text: bytes) -> None:
    """It never raises; what it writes is JSON again, and the old text is kept."""
    with folder_of(set=text) as folder:
        done = migrate([folder], MIGRATION)
        check_kept(folder, {SET: text})
        if any(change.written for change in done.files):
            json.loads((folder / SET).read_bytes())
            assert migrate([folder], MIGRATION).files == ()


@often
@given(damaged(SET))
def test_the_writer_appends_or_says_why_not(text: bytes) -> None:
    """A file that cannot take a case stays as it is; one that can holds all that it held."""
    with folder_of(set=text) as folder:
        path = folder / SET
        try:
            written = EvalSetWriter(path, "desk", known=KnownFiles()).write_eval_case(an_eval_case("new one"))
        except EvalSetError:
            assert path.read_bytes() == text
            return
        check_kept(folder, {SET.removesuffix(".evalset.json"): text} if written.converted_copy else {})
        cases = json.loads(path.read_bytes())["eval_cases"]
        assert cases[-1]["eval_id"] == "new one"
        if not written.converted_copy:
            after = path.read_bytes()
            place = next(
                (at for at, pair in enumerate(zip(text, after, strict=False)) if pair[0] != pair[1]),
                len(text),
            )
            assert after.endswith(text[place:])


@often
@given(damaged(SET, ENVIRONMENT))
def test_readers_read_or_raise_their_own_error(content: bytes) -> None:
    """The loader of cases, the reader of recordings and that of environments know only their own errors."""
    text = content.decode(errors="replace")
    holds_cases(text)
    for read, error in ((read_cases, ScenarioError), (read_recording, RecordingError)):
        with suppress(error):
            read(text)
    with folder_of(environment=content) as folder:
        with suppress(RecordedEnvironmentError):
            read_environment(folder / ENVIRONMENT)
        assert (folder / ENVIRONMENT).read_bytes() == content


@pytest.mark.parametrize(
    "text",
    [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"eval_cases":' + b"[" * 900],
)
def test_a_hundred_thousand_brackets_crash_nothing(tmp_path: Path, text: bytes) -> None:
    """Each reader says that it cannot read that; nothing is changed."""
    path = tmp_path / SET
    path.write_bytes(text)
    assert [each.code for each in examine([path]).findings] == ["too-deep"]
    assert mend([path]).files == ()
    with pytest.raises(EvalSetError):
        EvalSetWriter(path, "desk", known=KnownFiles()).write_eval_case(an_eval_case("new"))
    with pytest.raises(ScenarioError):
        read_cases(text.decode())
    with pytest.raises(RecordingError):
        read_recording(text.decode())
    with pytest.raises(RecordedEnvironmentError):
        read_environment(path)
    assert not holds_cases(text.decode())
    assert path.read_bytes() == text


def a_large_set(folder: Path, count: int, words: int) -> bytes:
    """Write a set of so many cases, in which two things are wrong; return its text."""
    turn = a_turn(final_response=a_message("model", "It is on its way. " * words))
    written = json.dumps(a_case("ID", turn), indent=2)
    cases = [written.replace('"ID"', f'"case {number}"') for number in range(count)]
    cases[77] = re.sub(r'"role": "user",\s+', "", cases[77], count=1)
    cases[-2] = cases[-2].replace('"case ', '"case:')
    text = '{"eval_set_id": "orders", "eval_cases": [\n' + ",\n".join(cases) + "\n]}\n"
    (folder / SET).write_text(text)
    (folder / ENVIRONMENT).write_bytes(in_bytes(an_environment(**{f"case:{count - 2}": a_recorded_case()})))
    return text.encode()


@pytest.mark.long
@pytest.mark.parametrize(("count", "words", "size"), [(10_000, 3, 9_000_000), (400, 7_000, 50_000_000)])
def test_huge_files_are_examined_and_mended(tmp_path: Path, count: int, words: int, size: int) -> None:
    """Ten thousand cases, or 50 MB: the places are right, only two small mends differ, and a case goes in behind."""
    text = a_large_set(tmp_path, count, words)
    path, last = tmp_path / SET, count - 2
    assert len(text) > size
    done = {change.file.name: change for change in mend([path]).files}
    told = {each.code: each for each in done[SET].mended}
    assert told.keys() == {"missing-role", "unfit-eval-id"}
    assert told["missing-role"].line == text[: text.index(b'"case 77"')].count(b"\n") + 5
    assert told["unfit-eval-id"].line == text[: text.index(f'"case:{last}"'.encode())].count(b"\n") + 1
    added = [line for line in done[SET].diff.splitlines()[2:] if line.startswith("+")]
    assert len(added) == 3  # the member before the new one gets a comma
    assert f'"case_{last}"' in added[-1]
    mended = path.read_bytes()
    assert len(mended) == len(text) + len(',\n        "role": "user"')
    assert list(read_environment(tmp_path / ENVIRONMENT).cases) == [f"case_{last}"]
    EvalSetWriter(path, "desk").write_eval_case(an_eval_case("new"))
    ids = [case["eval_id"] for case in json.loads(path.read_bytes())["eval_cases"]]
    assert ids == [*(f"case {number}" for number in range(last)), f"case_{last}", f"case {last + 1}", "new"]


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


@pytest.mark.long
def test_it_says_how_far_it_is_and_reads_each_file_once(tmp_path: Path) -> None:
    """Each hundred cases of each file are told."""
    path, told = large(tmp_path), list[ExamineProgress]()
    with mock.patch("evalset.doctor.examination.read_content", wraps=read_content) as read:
        found = examine([path], on_progress=told.append)
    assert found.findings == ()
    assert read.call_count == 2
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


def test_the_page_is_told_how_far_it_is(tmp_path: Path) -> None:
    """The work of the tab holds the last word of the examination."""
    job = examined(Ward(paths=(large(tmp_path),)))
    assert job.wait(60)
    assert job.progress.words == f"{ENVIRONMENT}: 200 of {CASES} cases"
    assert job.progress.share == 200 / CASES
    assert job.result is not None
