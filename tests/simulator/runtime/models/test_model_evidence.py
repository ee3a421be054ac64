"""Proves what a model is told of a tool's code: the draft at once, its source only where a person allows that, and never a secret."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.base.secret_masking import MASK
from simulator.environment.drafts.candidates import Candidate
from simulator.environment.evidence.sketch import FunctionSource
from simulator.runtime import Simulation
from simulator.runtime.models.environment_model import model_evidence, shape_of
from tests.harness.processes import wait_until
from tests.simulator.runtime.answering.test_generating_players import Teller, told
from tests.simulator.runtime.desk import asked
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, resumed, tool_requests

ORDERS = {"A-1": "a constant of the tool"}
API_KEY = "sk-1234567890abcdef"


def find_order(order_id: str) -> dict[str, str]:
    """Find an order."""
    return {"order": order_id, "status": ORDERS[order_id], "by": API_KEY}


FIND = call("find_order", order_id="A-1")


def drafting(sim: Simulation) -> str:
    """Return what a model is at that drafts."""
    (request,) = tool_requests(sim)
    return request.drafting


def drafted(sim: Simulation) -> str:
    """Let a model draft an answer to the call that waits; return what it was told."""
    teller: Teller = told(sim, {"status": "drafted"})
    sim.environment.ask_for_draft(sim.pending[0].key)
    wait_until(lambda: bool(teller.heard), what="the question", seconds=PATIENCE)
    wait_until(lambda: not drafting(sim), what="the draft", seconds=PATIENCE)
    return teller.heard[-1]


def test_a_model_is_told_the_offline_draft_and_no_source_unless_a_person_allows_it() -> None:
    """The switch is a fact of the session; what is sent is what is shown, with secrets masked."""
    with opened(agent_of([FIND], tools=[find_order])) as sim:
        request = asked(sim)
        prompt = drafted(sim)
        assert "without a model" in prompt
        assert "return {" not in prompt
        shown = sim.environment.sources_for_model()["find_order"]
        assert "return {" in shown
        assert "constant" in shown
        assert f'API_KEY = "{MASK}"' in shown
        assert API_KEY not in shown
        sim.environment.change(source_to_model=True)
        prompt = drafted(sim)
        assert all(line in prompt for line in shown.splitlines() if '"""' not in line)
        assert API_KEY not in prompt
        assert sim.answer(request, {}, wait=PATIENCE)
        with resumed(sim.journal.to_json(), sim.config.agent) as again:
            assert again.environment.settings.source_to_model


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ({"a": [1, 2], "b": {"c": None, "d": True}}, {"a": ["integer"], "b": {"c": "null", "d": "boolean"}}),
        ([], []),
        ("x", "string"),
        (1.5, "number"),
        ({str(n): n for n in range(50)}, {**{str(n): "integer" for n in range(40)}, "...": "10 more"}),
        ([[[[[[[[[1]]]]]]]]], [[[[[[["array"]]]]]]]),
    ],
    ids=["mixed", "empty", "text", "number", "wide", "deep"],
)
def test_a_shape_has_no_values(value: Any, shape: Any) -> None:
    """Names of fields and types are left, and not too many of them."""
    assert shape_of(value) == shape


def test_only_what_the_code_shows_is_told_as_its_responses() -> None:
    """An expected response that comes from a schema is a draft, and no word of the code."""
    code: Any = object.__new__(FunctionSource)  # it is only there
    found = [
        Candidate(label="expected", title="Expected", kind="value", value={"a": 1}, why="the schema"),
        Candidate(label="outcome", title="Found", kind="value", value={"b": 1}, why="its code", by_code=True),
    ]
    told = model_evidence({"a": 1}, ("the schema",), found, code, with_source=False).outcomes
    assert [words.partition(":")[0] for words in told] == ["Found"]
