"""Eight processes write, edit, mend, migrate and read one set with its environment, and are killed at random: nothing is lost.

`EIGHT_PROCESSES_SECONDS=60 pytest tests/evalset/editing/test_eight_processes.py` lets them work for a minute.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset.doctor import examine, mend
from evalset.recorded.recording_files import read_environment, sidecar_of
from tests.evalset.editing.eight_processes import EDITED
from tests.harness.processes import REPOSITORY

SECONDS = float(os.environ.get("EIGHT_PROCESSES_SECONDS", "3"))


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are forks")
def test_nothing_that_was_done_is_lost_and_nothing_is_ever_unreadable(tmp_path: Path) -> None:
    """Each case that was written is in both files, each edit and each migration holds, and no reader met half a file."""
    path = tmp_path / "set.evalset.json"
    module = ("-W", "ignore", "-m", "tests.evalset.editing.eight_processes")
    command = [sys.executable, *module, str(path), str(SECONDS)]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=SECONDS + 240, check=False
    )
    assert done.returncode == 0, done.stderr
    said: list[list[Any]] = json.loads(done.stdout)
    assert [words for words in said if words[0] == "failed"] == []
    kinds = Counter(str(words[0]) for words in said)
    assert {"case", "text", "mended", "step", "read"} <= kinds.keys(), kinds
    assert said[-1][1] >= SECONDS

    cases = {case.eval_id: case for case in load_eval_set_from_file(str(path), "set").eval_cases}
    environment = read_environment(sidecar_of(path))
    reported = {str(words[1]) for words in said if words[0] == "case"}
    assert reported - cases.keys() == set()
    assert reported - environment.cases.keys() == set()
    for key in EDITED:
        latest = max((int(words[2]) for words in said if words[0] == "text" and words[1] == key), default=0)
        assert int(_final_text(cases[key])) >= latest
    step = max(int(words[1]) for words in said if words[0] == "step")
    assert cases["base 5"].conversation
    assert _step(cases["base 5"]) >= step
    assert int(environment.cases["base 5"].turns[0].calls[0].arguments["step"]) >= step  # type: ignore[arg-type] # JSON

    mend([path])
    left = [each for each in examine([path]).findings if each.severity == "error" or each.mendable]
    assert left == []
    names = {each.name for each in tmp_path.iterdir() if not each.name.endswith((".bak", ".tmp"))}
    assert names == {path.name, sidecar_of(path).name}


def _final_text(case: Any) -> str:
    text = case.conversation[0].final_response.parts[0].text
    return text if text.isdigit() else "0"


def _step(case: Any) -> int:
    return int(case.conversation[0].intermediate_data.tool_uses[0].args["step"])
