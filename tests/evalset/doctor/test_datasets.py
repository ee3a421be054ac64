"""The usual mistakes of evaluation datasets are found with their places, and fixed where there is only one way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalset import export_cases, read_cases
from evalset.cli.main import main
from evalset.doctor import CODES, examine, mend
from evalset.recorded.recording_files import read_environment

KEPT = Path(__file__).parents[2] / "conformance" / "files"
HI: dict[str, Any] = {"role": "user", "parts": [{"text": "Hi."}]}
HELLO: dict[str, Any] = {"role": "model", "parts": [{"text": "Hello."}]}


def turns(*said: tuple[str, Any], **more: Any) -> dict[str, Any]:
    """Write turns of one event each."""
    listed = [
        {"turn_index": number, "events": [{"author": author, "content": content}]}
        for number, (author, content) in enumerate(said)
    ]
    return {"agent_data": {"turns": listed}, **more}


SETS = [{"turn_index": 0, "events": [{"author": "user", "state_delta": {"a": 1}}]}]
LISTED = turns(("user", HI))["agent_data"]["turns"]
UNNUMBERED = {"agent_data": {"turns": [{"events": LISTED[0]["events"]}]}}
ODD = turns(("user", HI), ("desk", {**HELLO, "role": "assistant"}), ("user", HI))
SECOND = ".agent_data.turns[1].events[0]"
_MISTAKES: list[tuple[dict[str, Any], str, str, bool]] = [
    ({"prompt": HI, **turns(("user", HI))}, "two-messages", ".prompt", False),
    ({"prompt": HI, "agent_data": {"turns": SETS}}, "two-messages", ".prompt", False),
    ({"user_scenario": {}}, "no-message", "", False),
    (turns(("user", HI), ("desk", HELLO)), "no-message", SECOND, False),
    ({"prompt": HI, "reference": HELLO}, "reference", ".reference", True),
    ({"prompt": HI, "reference": "Hello."}, "reference", ".reference", True),
    (ODD, "role", f"{SECOND}.content.role", True),
    ({"prompt": {**HI, "role": "system"}}, "role", ".prompt.role", False),
    ({"prompt": {"part": []}}, "refused", ".prompt", False),
    (UNNUMBERED, "turn-index", ".agent_data.turns[0]", True),
]


@pytest.mark.parametrize(("case", "code", "place", "mended"), _MISTAKES)
def test_a_mistake_is_found_and_fixed_where_it_can_be(
    tmp_path: Path, case: dict[str, Any], code: str, place: str, *, mended: bool
) -> None:
    """Each alone, with its place; after a fix nothing is found any more."""
    path = tmp_path / "basic-dataset.json"
    path.write_text(json.dumps({"eval_cases": [{"eval_case_id": "one", **case}]}))
    (finding,) = examine([path]).findings
    assert (finding.code, finding.place) == (f"dataset-{code}", f"eval_cases[0]{place}")
    assert (finding.eval_id, finding.mendable) == ("one", mended)
    mend([path])
    assert [each.code for each in examine([path]).findings] == ([] if mended else [finding.code])


def test_every_code_of_datasets_is_shown() -> None:
    """No kind of finding in a dataset is without a mistake that shows it."""
    shown = {f"dataset-{code}" for _, code, _, _ in _MISTAKES}
    assert shown == {code for code in CODES if code.startswith("dataset-")}


def test_an_export_of_ours_and_a_trace_have_no_mistakes(tmp_path: Path) -> None:
    """With the recorded environment beside it, whose cases are those of the goldens; the command says so."""
    cases = read_cases((KEPT / "order_desk.evalset.json").read_text()).values()
    known = read_environment(KEPT / "order_desk.environment.json")
    for file in export_cases(cases, "dataset", environments=known, name="orders").files:
        (tmp_path / file.path).write_text(file.text)
    trace = {"eval_case_id": "t", "prompt": HI, **turns(("desk", HELLO)), "responses": [{"response": HELLO}]}
    graded = {**trace, "eval_case_id": "u", **turns(("user", HI), ("desk", HELLO))}
    (tmp_path / "traces.json").write_text(json.dumps({"eval_cases": [trace, graded]}))
    assert [each for each in examine([tmp_path]).findings if each.severity != "note"] == []
    assert main(["doctor", str(tmp_path), "--strict"]) == 0
