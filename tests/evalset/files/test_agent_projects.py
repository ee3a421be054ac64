"""Projects of agents-cli are recognised by their manifest or their pyproject.toml, and a dataset goes where agents-cli looks for it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from evalset.cli.main import main
from evalset.cli.terminal_output import BAD_INPUT
from evalset.exporting.dataset_file import metric_files
from evalset.files.datasets import project_of

KEPT = Path(__file__).parents[2] / "conformance" / "files"


@pytest.mark.parametrize(
    ("name", "text", "agent"),
    [
        ("agents-cli-manifest.yaml", "agent_directory: desk\n", "desk"),
        ("agents-cli-manifest.yaml", "name: p\n", "app"),
        ("agents-cli-manifest.yaml", "{broken", "app"),
        ("pyproject.toml", '[tool.agents-cli]\nagent_directory = "desk"\n', "desk"),
        ("pyproject.toml", "[tool.other]\n", None),
        ("pyproject.toml", "[broken", None),
    ],
)
def test_a_project_is_known_by_its_manifest(tmp_path: Path, name: str, text: str, agent: str | None) -> None:
    """From any folder inside of it; a manifest that cannot be read has agents-cli's defaults."""
    (tmp_path / name).write_text(text)
    inside = tmp_path / "desk" / "deep"
    inside.mkdir(parents=True)
    found = project_of(inside)
    assert (found.root, found.agent.name) == (tmp_path, agent) if found else agent is None
    if found:
        assert found.datasets == tmp_path / "tests" / "eval" / "datasets"
        (tmp_path / "eval" / "datasets").mkdir(parents=True)
        assert found.datasets == tmp_path / "eval" / "datasets"


def test_a_dataset_is_written_into_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without `--out`; another form goes into the current folder, as ever."""
    (tmp_path / "agents-cli-manifest.yaml").write_text("agent_directory: app\n")
    (tmp_path / "app").mkdir()
    (tmp_path / "here").mkdir()
    eval_set = Path(shutil.copy(KEPT / "order_desk.evalset.json", tmp_path / "app" / "orders.evalset.json"))
    monkeypatch.chdir(tmp_path / "here")
    assert main(["export", str(eval_set), "--form", "dataset", "--agent", "order_desk"]) == 0
    assert main(["export", str(eval_set), "--form", "evalset"]) == 0
    dataset = tmp_path / "tests" / "eval" / "datasets" / "orders-dataset.json"
    assert capsys.readouterr().out.splitlines() == [str(dataset), "orders.evalset.json"]
    assert "cancel_order" in dataset.read_text()
    assert main(["export", str(eval_set), "--form", "dataset", "--agent", "order_desk", "--metrics"]) == 0
    assert {path.name for path in dataset.parent.iterdir()} == {dataset.name, *metric_files()}
    assert main(["export", str(eval_set), "--form", "evalset", "--metrics"]) == BAD_INPUT
    assert re.search("--metrics .*--form dataset", capsys.readouterr().err)
