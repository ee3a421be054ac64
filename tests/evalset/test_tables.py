"""Results are there as tables: a DataFrame, and CSV that every reader of CSV takes."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from evalset import result_table, table_csv
from evalset.__main__ import main
from evalset.adk_runs.eval_results import AdkCaseResult, MetricResult, RunResults
from evalset.doctor import examine
from evalset.editing.sidecars import CaseReview, reviews_text
from evalset.files.eval_names import reviews_path
from evalset.verify import verify
from tests.evalset.ending import Ends

FILES = Path(__file__).parents[1] / "conformance" / "files"
NAME = "order_desk"


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """A set in which a call was renamed by hand, and its recording."""
    path = tmp_path / f"{NAME}.evalset.json"
    text = (FILES / path.name).read_text()
    path.write_text(text.replace('"name": "refund_order"', '"name": "=find_order"'))
    shutil.copy(FILES / f"{NAME}.environment.json", tmp_path)
    return path


def lines(text: str) -> list[dict[str, str]]:
    """Read CSV."""
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_verification_has_a_row_for_each_run(edited: Path) -> None:
    """With score and status of each check, and where it first differs, counted from 1 as people do."""
    result = verify(edited, models="recorded", runs=2)
    frame = result_table(result)
    assert list(frame["run"]) == [1, 2]
    assert list(frame["passed"]) == [False, False]
    divergence = result.cases[0].divergence
    assert divergence is not None
    assert list(frame["step"]) == [divergence.step + 1] * 2
    assert list(frame["turn"]) == [divergence.turn + 1] * 2
    assert set(frame["tool_trajectory_avg_score_status"]) == {"failed"}
    assert frame["tool_trajectory_avg_score"].max() < 1
    assert [line["verdict"] for line in lines(table_csv(result))] == [divergence.verdict] * 2


def test_a_case_that_could_not_be_run_has_a_row(edited: Path) -> None:
    """It says why, in the columns that every verification has."""
    edited.with_name(f"{NAME}.environment.json").unlink()
    (row,) = result_table(verify(edited)).to_dict("records")
    assert (row["status"], row["eval_id"]) == ("error", f"{NAME}_case")
    assert row["error"]


def test_an_examination_has_a_row_for_each_finding(edited: Path) -> None:
    """Nothing found is a table without rows that still has its columns."""
    found = examine([edited])
    assert found.findings
    assert list(result_table(found)["code"]) == [finding.code for finding in found.findings]
    nothing = result_table(examine([]))
    assert (len(nothing), list(nothing.columns)[:2]) == (0, ["file", "line"])
    assert table_csv(examine([])).count("\n") == 1


def test_results_of_adk_eval_have_a_row_for_each_metric() -> None:
    """A case without any metric has one that says why."""
    metrics = (
        MetricResult(name="a", score=0.5, threshold=0.8, status="failed"),
        MetricResult(name="b", status="not evaluated"),
    )
    cases = (
        AdkCaseResult(eval_id="one", status="failed", metrics=metrics),
        AdkCaseResult(eval_id="two", status="not evaluated", problem="no key"),
    )
    frame = result_table(RunResults(cases=cases))
    assert list(frame["metric"].fillna("")) == ["a", "b", ""]
    assert list(frame["problem"])[-1] == "no key"


def test_the_cases_of_a_set_have_a_row_each(edited: Path) -> None:
    """Their calls by name; a text that a spreadsheet would calculate does not stand in CSV as it is."""
    (row,) = result_table(edited).to_dict("records")
    assert row["turns"] >= 1
    assert "=find_order" in row["tools"]
    text = table_csv(str(edited))
    assert [line["eval_id"] for line in lines(text)] == [row["eval_id"]]


def test_a_case_has_its_review_in_the_table(edited: Path) -> None:
    """The status and who reviewed it, of the file beside the set, or as they are given; none where there is none."""
    assert lines(table_csv(edited))[0]["review_status"] == ""
    review = CaseReview(status="approved", reviewer="=Ann")
    reviews_path(edited).write_bytes(reviews_text({f"{NAME}_case": review}))
    (row,) = lines(table_csv(edited))
    assert (row["review_status"], row["reviewer"]) == ("approved", "'=Ann")
    assert list(result_table(edited)["reviewer"]) == ["=Ann"]
    assert list(result_table(edited, reviews={})["reviewer"]) == [""]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1"])
def test_no_cell_is_calculated(text: str) -> None:
    """Names come from models and files; numbers stay numbers."""
    metric = MetricResult(name=text, score=-0.5, status="failed")
    written = table_csv(
        RunResults(cases=(AdkCaseResult(eval_id=f'a"b,{text}', status="failed", metrics=(metric,)),))
    )
    (line,) = lines(written)
    assert (line["metric"], line["score"], line["eval_id"]) == (f"'{text}", "-0.5", f'a"b,{text}')


def test_the_commands_write_csv(
    edited: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], ends: Ends
) -> None:
    """Beside what they print; a place that cannot be written is bad input, named."""
    results, findings = tmp_path / "verify.csv", tmp_path / "doctor.csv"
    assert (
        main(["verify", str(edited), "--models", "recorded", "--csv", str(results), "--json", "--quiet"]) == 1
    )
    assert json.loads(capsys.readouterr().out)["failed"] == 1
    assert len(lines(results.read_bytes().decode())) == 1
    main(["doctor", str(edited), "--csv", str(findings)])
    assert {line["severity"] for line in lines(findings.read_bytes().decode())} <= {
        "error",
        "warning",
        "note",
    }
    assert "none/x.csv: " in ends(2, "doctor", edited, "--csv", tmp_path / "none" / "x.csv", program=main).err


def test_tables_of_several_runs_go_together(edited: Path) -> None:
    """A set that passes and one that fails have the same columns."""
    passed = verify(FILES / f"{NAME}.evalset.json", models="recorded")
    assert passed.status == "passed"
    failed = verify(edited, models="recorded")
    assert list(result_table(passed).columns) == list(result_table(failed).columns)
