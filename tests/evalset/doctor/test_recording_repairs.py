"""A damaged recording is repaired from its eval set where the set holds the response."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalset.doctor import examine, known_agent, mend
from evalset.recorded.recording_files import read_environment
from tests.evalset.doctor.examples import (
    a_case,
    a_recorded_call,
    a_recorded_case,
    a_set,
    a_turn,
    an_environment,
    in_bytes,
    put,
    the_agent,
    without,
)
from tests.evalset.doctor.pitfalls import ENVIRONMENT, SET

DAMAGED: dict[str, Any] = {
    "no outcome": without(a_recorded_call(), "outcome"),
    "an outcome of no kind": a_recorded_call(outcome={"value": {"status": "shipped"}}),
    "an outcome that is null": a_recorded_call(outcome=None),
    "no author": without(a_recorded_call(latency_ms=7.5), "author"),
    "no arguments that can be read": a_recorded_call(arguments="A-1", outcome=[]),
    "a name that nobody knows": a_recorded_call(outcom={}),
}


def written(folder: Path, *calls: Any, eval_set: Any = None) -> Path:
    """Write a set, and a recording with these calls."""
    environment = an_environment(one=a_recorded_case(*calls))
    put(folder, {SET: in_bytes(eval_set or a_set()), ENVIRONMENT: in_bytes(environment)})
    return folder / ENVIRONMENT


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_call_takes_its_response_from_the_set(tmp_path: Path, name: str) -> None:
    """What can be read of it stays, the old text is kept, and then nothing is wrong any more."""
    path = written(tmp_path, DAMAGED[name])
    before = path.read_bytes()
    (finding,) = [each for each in examine([tmp_path]).findings if each.code == "broken-environment"]
    assert finding.mendable
    assert "find_order" in finding.loses
    (change,) = mend([tmp_path]).files
    assert change.copy_kept is not None
    assert change.copy_kept.read_bytes() == before
    (call,) = read_environment(path).cases["one"].turns[0].calls
    assert call.outcome.model_dump() == {"kind": "returned", "value": {"status": "shipped"}}
    assert (call.id, call.agent, call.arguments) == ("call-1", "desk", {"order_id": "A-1"})
    assert call.latency_ms == DAMAGED[name].get("latency_ms", 0.0)
    assert examine([tmp_path]).findings == ()
    assert mend([tmp_path]).files == ()


@pytest.mark.parametrize(
    ("calls", "eval_set"),
    [
        ([DAMAGED["no outcome"]], a_set(a_case("one", a_turn(intermediate_data={"tool_uses": []})))),
        ([DAMAGED["no outcome"]], a_set(a_case("two"))),
        ([DAMAGED["no outcome"], without(a_recorded_call(2), "outcome")], a_set()),
        ([a_recorded_call(tool="other", outcome=None)], a_set()),
        ([None], a_set()),
    ],
)
def test_what_the_set_does_not_hold_is_left_as_it_is(tmp_path: Path, calls: list[Any], eval_set: Any) -> None:
    """No response, another case, another tool, no call at all: nothing is invented, and nothing is written."""
    path = written(tmp_path, *calls, eval_set=eval_set)
    before = path.read_bytes()
    (finding,) = [each for each in examine([tmp_path]).findings if each.code == "broken-environment"]
    assert not finding.mendable
    mend([tmp_path])
    assert path.read_bytes() == before
    assert json.loads(before)


def test_an_agent_whose_callbacks_change_responses_is_not_repaired_from_them(tmp_path: Path) -> None:
    """The set holds what the callback made of the response, which the tool never gave."""
    path = written(tmp_path, DAMAGED["no outcome"])
    agent = known_agent(the_agent())._replace(rewrites=True)
    before = path.read_bytes()
    assert mend([tmp_path], agents={agent.name: agent}).files == ()
    assert path.read_bytes() == before
    assert mend([tmp_path], agents={agent.name: agent._replace(rewrites=False)}).files
