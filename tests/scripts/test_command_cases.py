"""`python -m simulator run` plays a golden trace from its eval set, with what is recorded beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalset.command import main
from simulator.scripts import script_of, write_script
from tests.scripts.recording import record_demo


def run(*words: str | Path) -> int:
    """Run the command in this process."""
    return main(["run", "--verbose", *map(str, words)])


def told(path: Path) -> list[Any]:
    """Give what the cases of an eval set tell."""
    return [said_and_done(case) for case in json.loads(path.read_text())["eval_cases"]]


def said_and_done(value: Any) -> Any:
    """Give what a case tells, without the ids and times that each session has of its own."""
    if isinstance(value, list):
        return [said_and_done(each) for each in value]
    if not isinstance(value, dict):
        return value
    own = {"id", "invocation_id", "creation_timestamp"}
    return {name: said_and_done(each) for name, each in value.items() if name not in own}


def test_a_golden_trace_is_played_again_with_what_a_person_had_confirmed(tmp_path: Path) -> None:
    """The case holds no question whether a tool may run; what was said to it is recorded beside the set."""
    first, again = (tmp_path / f"{which}.evalset.json" for which in ("one", "two"))
    file = tmp_path / "script.yaml"
    name = "expense_approver"
    with record_demo(name) as simulation:
        file.write_text(write_script(script_of(simulation)))
    words = ("--eval-id", "case", "--otherwise", "fail")
    assert run(name, "--script", file, "--out", first, *words) == 0
    assert run(name, "--script", first, "--out", again, *words) == 0
    assert told(again) == told(first)
