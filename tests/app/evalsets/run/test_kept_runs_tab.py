"""The tab of the kept runs: over time, two of them compared, those of `adk eval` beside them, and files that cannot be used."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from app.evalsets.run.kept_runs_tab import MOST_CASES, MOST_RUNS, plotted
from evalset.kept_runs import KeptAgent, KeptCase, KeptDivergence, KeptRun, keep_run, runs_folder
from tests.app.evalsets.set_tabs import SetTab
from tests.app.page_driver import HOSTILE

TAB = "run.kept_runs_tab"
WRONG = KeptDivergence(
    turn=1, step=2, what="call", verdict="agent_changed", sentence=HOSTILE, golden="add()", actual="nothing"
)


def run_of(minute: int, digest: str = "5e7", **passed: bool) -> KeptRun:
    """Make a run of one minute."""
    cases = (
        KeptCase(
            eval_id=name,
            status="passed" if each else "failed",
            passed=int(each),
            runs=1,
            divergence=None if each else WRONG,
        )
        for name, each in passed.items()
    )
    return KeptRun(
        eval_set="sums.evalset.json",
        at=f"2026-11-25T18:{minute:02}:00.000Z",
        set_sha256=digest,
        agents=(KeptAgent(app_name="adder", fingerprint="f", models=("tiny",)),),
        adk="2.13.0",
        cases=tuple(cases),
    )


def test_one_run_is_not_compared_with_itself(eval_set: Path) -> None:
    """An empty tab says how runs get there; of one alone the table has a line, and there is nothing to choose."""
    assert "`golden-trace verify --save`" in SetTab(TAB, eval_set).words
    keep_run(eval_set, run_of(1, adds=True))
    tab = SetTab(TAB, eval_set)
    assert [len(each.value) for each in tab.app.dataframe] == [1]
    assert not tab.app.selectbox


def test_runs_over_time_and_two_of_them(eval_set: Path) -> None:
    """The newest is compared with the one before it; others can be chosen; another run that is kept comes to the front."""
    for run in (
        run_of(1, adds=True, b=False),
        run_of(2, "5e8", adds=False, b=True),
        run_of(3, "5e8", adds=True, b=True),
    ):
        keep_run(eval_set, run)
    broken = runs_folder(eval_set) / "newer.json"
    broken.write_text('{"format": "golden-trace-studio/run", "version": 7}')
    tab = SetTab(TAB, eval_set)
    assert re.search(f"{re.escape(str(broken))}: .* 7", tab.literal)
    rows = tab.app.dataframe[0].value
    assert list(rows["results"]) == ["2 passed", "1 passed, 1 failed", "1 passed, 1 failed"]
    assert list(rows["flaky"]) == ["1", "", ""]
    assert (list(rows["worse"])[1], list(rows["better"])[1], list(rows["changed since"])[1]) == (
        "1",
        "1",
        "the set",
    )
    assert list(tab.app.dataframe[1].value["change"]) == ["~ flaky"]
    (plot,) = (node for node in tab.nodes() if "vega" in node.type)
    spec = json.loads(plot.proto.spec)
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["passed", "failed"]
    before = tab.app.selectbox(key=tab.key("runs_before"))
    first = min(runs_folder(eval_set).glob("2026*"))
    before.set_value(str(first))
    tab.run()
    assert list(tab.app.dataframe[1].value["change"]) == ["▲ better"]
    assert ": the set" in tab.literal
    keep_run(eval_set, run_of(4, "5e9", adds=False, b=True))
    tab.run()
    assert list(tab.app.dataframe[1].value["case"]) == ["adds", "b"]
    assert "turn 1, step 2: " in tab.literal
    drawn = [
        mark for mark in tab.live_marks() if "vega" not in mark
    ]  # a picture, in which nothing is read as anything
    assert drawn == []


def test_what_adk_has_kept_is_there_too(eval_set: Path) -> None:
    """Only runs of this set's cases, with ADK's own results below; for others on the server there are none."""
    history = eval_set.parent / ".adk" / "eval_history"
    history.mkdir(parents=True)
    for number, (name, status) in enumerate((("adds", 1), ("adds", 2), ("other", 1))):
        case: Any = {"eval_id": name, "final_eval_status": status}
        result = {"eval_set_id": "sums", "creation_timestamp": 1.0 + number, "eval_case_results": [case]}
        (history / f"r{number}.evalset_result.json").write_text(json.dumps(result))
    keep_run(eval_set, run_of(1, adds=True))
    tab = SetTab(TAB, eval_set)
    assert list(tab.app.dataframe[0].value["engine"]) == ["verify", "adk eval", "adk eval"]
    assert tab.app.selectbox(key=tab.key("runs_before")).value is None
    assert len(tab.app.dataframe) == 1
    later = tab.app.selectbox(key=tab.key("runs_after"))
    later.set_value(str(history / "r1.evalset_result.json"))
    tab.fill("runs_before", str(history / "r0.evalset_result.json")).run()
    assert list(tab.app.dataframe[1].value["change"]) == ["▼ worse"]
    assert list(tab.app.dataframe[2].value["verdict"]) == ["✗ failed"]
    assert list(SetTab(TAB, eval_set, "browser-1").app.dataframe[0].value["engine"]) == ["verify"]


def test_of_many_runs_and_cases_the_plot_shows_what_changed() -> None:
    """The newest runs, the cases that changed last on top, and how many are left out."""
    names = [f"c{number}" for number in range(MOST_CASES + 5)]
    runs = [
        run_of(minute, "5e7", **{name: not (name == "c33" and minute == MOST_RUNS + 3) for name in names})
        for minute in range(MOST_RUNS + 5)
    ]
    found = plotted(runs)
    assert found.left_out == 5
    assert len(found.rows) == MOST_RUNS * MOST_CASES
    assert found.cases[0] == "c33"
    assert {row["change"] for row in found.rows if row["case"] == "c33"} == {"same", "~ flaky"}
