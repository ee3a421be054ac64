"""Runs that are kept: what `verify --save` writes, what `compare` tells of two, and files that are something else."""

from __future__ import annotations

import hashlib
import json
import re
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from evalset.adk_runs.eval_results import AdkCaseResult, RunResults
from evalset.cli.main import main
from evalset.kept_runs import (
    KeptAgent,
    KeptCase,
    KeptRun,
    KeptRunError,
    changes_over_time,
    compare_runs,
    keep_run,
    kept_run_of_adk,
    read_run,
    run_files,
    runs_folder,
)
from evalset.recorded.recording_files import sidecar_of
from tests.evalset.ending import Ends
from tests.evalset.verify.desks import agents, copied_set, recorded_set


def run_of(number: int = 0, **verdicts: str) -> KeptRun:
    """Make a run; a verdict is a status, or how many of 3 runs passed."""
    cases = [
        KeptCase(eval_id=name, status=said, passed=int(said == "passed"), runs=1)
        if not said.isdigit()
        else KeptCase(eval_id=name, status="passed" if said == "3" else "failed", passed=int(said), runs=3)
        for name, said in verdicts.items()
    ]
    return KeptRun(
        eval_set="desk.evalset.json",
        at=f"2026-11-25T18:0{number}:00.000Z",
        set_sha256="5e7",
        agents=(KeptAgent(app_name="desk", fingerprint="f"),),
        adk="2.13.0",
        cases=tuple(cases),
    )


@pytest.fixture(scope="module")
def eval_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of two cases with two kept runs: all passed, then one of its goldens was edited."""
    folder = tmp_path_factory.mktemp("kept")
    made = recorded_set(folder / "made", {"one": ["check A"], "two": ["check B"]})
    eval_set = copied_set(made, folder / "sets")
    words = ["verify", str(eval_set), "--agents-dir", str(agents(folder)), "--models", "recorded", "--save"]
    assert main(words) == 0
    eval_set.write_text(eval_set.read_text().replace('"order": "A"', '"order": "Z"', 1))
    assert main(words) == 1
    return eval_set


def test_what_is_kept_of_a_run(eval_set: Path) -> None:
    """Digests of set, recording and agent, versions, models, times, and each verdict with its first divergence."""
    first, second = sorted(runs_folder(eval_set).iterdir())
    assert first.parent == eval_set.parent / ".golden-trace" / "runs" / "desk"
    before, after = read_run(first), read_run(second)
    assert before.set_sha256 != after.set_sha256
    assert (after.set_sha256, after.recording_sha256) == tuple(
        hashlib.sha256(file.read_bytes()).hexdigest() for file in (eval_set, sidecar_of(eval_set))
    )
    assert after.adk == version("google-adk")
    (agent,) = before.agents
    assert (agent.app_name, agent.models) == ("desk", ("clerk", "once"))
    assert agent.fingerprint
    assert agent.source_sha256
    assert before.seconds > 0
    assert [(case.verdict, case.models) for case in before.cases] == [("passed", "recorded")] * 2
    one, two = after.cases
    assert two.divergence is None
    assert one.divergence is not None
    assert (one.divergence.turn, one.divergence.step, one.divergence.verdict) == (1, 2, "golden_stale")
    assert (one.divergence.golden, one.divergence.actual) == ('check({"order":"Z"})', 'check({"order":"A"})')


def test_two_kept_runs_are_compared(eval_set: Path, ends: Ends) -> None:
    """By their files, or as the last two of their set; the exit code says whether a case got worse."""
    first, second = map(str, sorted(runs_folder(eval_set).iterdir()))
    told = ends(1, "compare", first, second).out
    assert re.search("changed: .*set\nWORSE one: .*\n    turn 1, step 2: .*check", told)
    assert '      golden: check({"order":"Z"})' in told
    assert "two" not in told
    assert ends(1, "compare", eval_set).out == told
    just_before = read_run(Path(second)).at.replace("Z", "A")
    between = keep_run(eval_set, KeptRun(engine="adk eval", eval_set=eval_set.name, at=just_before))
    assert ends(1, "compare", eval_set).out == told
    between.unlink()
    document: Any = json.loads(ends(0, "compare", second, first, "--json").out)
    assert not document["is_worse"]
    assert [case["change"] for case in document["cases"]] == ["better", "same"]


def test_each_way_in_which_a_case_changes() -> None:
    """Only some runs passed, or the verdict changed and nothing else: flaky. A case that was not chosen is neither new nor gone."""
    before = run_of(a="passed", b="failed", c="passed", d="3", e="passed", f="failed")
    after = run_of(1, a="failed", b="passed", d="2", e="passed", g="failed", f="error")
    changed = after.model_copy(update={"set_sha256": "other"})
    found = {case.eval_id: case.change for case in compare_runs(before, changed).cases}
    expected = {"a": "worse", "b": "better", "c": "gone", "d": "flaky", "e": "same", "f": "same", "g": "new"}
    assert found == expected
    assert compare_runs(before, changed).changed == ("the set",)
    newer = compare_runs(
        before.model_copy(update={"studio": "1.0"}), after.model_copy(update={"studio": "1.1"})
    )
    assert newer.changed == ("golden-trace-studio 1.0 to 1.1",)
    assert {case.eval_id: case.change for case in newer.cases} == expected
    by_itself = {case.eval_id: case.change for case in compare_runs(before, after).cases}
    assert by_itself == {**expected, "a": "flaky", "b": "flaky"}
    some = compare_runs(before, changed.model_copy(update={"is_partial": True}))
    assert some.count("gone") == 0
    assert [case.words.rpartition(" now ")[2] for case in some.cases][:2] == ["failed", "2 of 3 runs passed"]
    assert not compare_runs(after, run_of(2, a="failed", b="passed", new="passed")).is_worse
    assert compare_runs(run_of(a="passed"), run_of(1, a="passed", g="failed")).is_worse
    assert compare_runs(run_of(d="3"), run_of(1, d="2")).is_worse


def test_a_case_that_was_stopped_is_compared_with_nothing() -> None:
    """Some of its runs passed, or it had none: it is neither flaky nor worse nor gone, before or after, and tells nothing of the models."""
    whole = run_of(a="3", b="passed", c="3", d="passed")
    players = {"a": "real", "b": "recorded", "c": "recorded", "d": "recorded"}
    whole = whole.model_copy(
        update={"cases": tuple(c.model_copy(update={"models": players[c.eval_id]}) for c in whole.cases)}
    )
    a, b, c, d = whole.cases
    after = (
        a.model_copy(update={"status": "stopped", "passed": 1, "runs": 1, "models": "recorded"}),
        b.model_copy(update={"status": "stopped", "passed": 0, "runs": 0, "models": ""}),
        c,
        d.model_copy(update={"status": "failed", "passed": 0}),
    )
    stopped = whole.model_copy(update={"cases": after})
    for before, later in ((whole, stopped), (stopped, whole)):
        found = compare_runs(before, later)
        assert {case.eval_id: case.change for case in found.cases} == {"c": "same", "d": "flaky"}
        assert found.changed == ()
    others = tuple(each.model_copy(update={"models": "real"}) for each in whole.cases)
    (changed,) = compare_runs(whole, whole.model_copy(update={"cases": others})).changed
    assert "models" in changed


def test_adk_results_come_beside_and_are_never_called_flaky() -> None:
    """Nobody knows on what they were measured; each run is compared with the last one of its own engine."""
    kept = [
        kept_run_of_adk(
            RunResults(created=at, cases=(AdkCaseResult(eval_id="a", status=status),)), "desk.evalset.json"
        )
        for at, status in ((1.0, "passed"), (2.0, "failed"))
    ]
    runs = [kept[0], run_of(a="passed"), kept[1]]
    first, verified, second = changes_over_time(runs)
    assert (first, verified) == (None, None)
    assert second is not None
    assert [case.change for case in second.cases] == ["worse"]


def test_other_files_are_named_and_left_alone(tmp_path: Path, ends: Ends) -> None:
    """Damaged ones, newer ones, and what is something else; runs of one moment get a file each."""
    eval_set = tmp_path / "desk.evalset.json"
    kept = [keep_run(eval_set, run_of(a="passed")) for _ in range(2)]
    assert kept[0] != kept[1]
    assert read_run(kept[1]) == run_of(a="passed")
    wrong = {
        "damaged.json": ("{", "not valid JSON"),
        "newer.json": ('{"format": "golden-trace-studio/run", "version": 9}', "version is 9"),
        "other.json": ('{"cases": []}', "kept run"),
        "lacking.json": ('{"format": "golden-trace-studio/run", "version": 1, "cases": [{}]}', "eval_set: "),
    }
    for name, (text, words) in wrong.items():
        path = runs_folder(eval_set) / name
        path.write_text(text)
        with pytest.raises(KeptRunError, match=words) as refused:
            read_run(path)
        assert str(path) in str(refused.value)
        assert words in ends(2, "compare", kept[0], path).err
    found = run_files(eval_set)
    assert [file.path.name for file in found if file.run is None] == sorted(wrong)
    assert all(file.problem for file in found if file.run is None)
    assert all(one.path.name < other.path.name for one, other in pairwise(found))
    assert {name: (runs_folder(eval_set) / name).read_text() for name in wrong} == {
        name: text for name, (text, _) in wrong.items()
    }
    assert "0 kept runs" in ends(2, "compare", tmp_path / "none.evalset.json").err
    runs_folder(tmp_path / "full.evalset.json").write_text("")
    with pytest.raises(KeptRunError, match=str(runs_folder(tmp_path / "full.evalset.json"))):
        keep_run(tmp_path / "full.evalset.json", run_of(a="passed"))
