"""A draft that cannot be made says why, and the call that it is for is answered all the same."""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from simulator.environment.drafts import candidates, draft_generator
from simulator.environment.evidence import tool_returns
from simulator.environment.evidence.sketch import FunctionSource, Module
from simulator.runtime import Simulation
from tests.simulator.runtime.answering.going import going
from tests.simulator.runtime.answering.test_anything_raised import look
from tests.simulator.runtime.stage import (
    PATIENCE,
    agent_of,
    call,
    tool_facts,
    tool_requests,
)

HUGE = 10**5000
HALF = "half \ud800"


def counts(n: int = 3) -> dict[str, Any]:
    """Count far."""
    return {"many": 10**5000 + n, "text": str(10**4000) + "x", "half": "a\ud800b", "\ud800": 1, "n": n}


def hexadecimal() -> dict[str, Any]:
    """Return a number that no one can write in decimal digits."""
    wide = 0x1 << 20_000
    return {"wide": wide, "of": [wide, {"in": wide}], "ok": 1}


def odd_getter() -> Any:
    """Get what is a keyword of Python."""
    import operator  # noqa: PLC0415 - the code is read

    return [operator.attrgetter("class")(1), operator.itemgetter(10**5000)([1])]


def answered(sim: Simulation) -> str:
    """Look at the draft and the candidates of the call that waits, answer it, and return what the draft says of itself."""
    (request,) = tool_requests(sim)
    assert request.candidates
    said = " ".join(request.draft_from)
    assert said
    assert isinstance(request.draft, (dict, list, str, type(None)))
    assert sim.answer(request.key, {"done": True}, wait=PATIENCE)
    (fact,) = tool_facts(sim)
    assert fact.outcome.kind == "returned"
    return said


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        *((look, {"what": what}) for what in (HUGE, HALF, {"deep": [HUGE, HALF]}, {HALF: 1})),
        *((tool, {}) for tool in (counts, hexadecimal, odd_getter)),
    ],
    ids=["huge", "half", "deep", "a key", "counts", "hexadecimal", "odd getter"],
)
def test_what_json_has_no_form_for(tool: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """A number as long as a page and half of a surrogate pair come from a model or from code; the person answers, and what a draft cannot hold is a blank of it."""
    with going(agent_of([call(tool.__name__, **arguments)], tools=[tool])) as sim:
        answered(sim)


class OddError(Exception):
    """Fails to say what it is."""

    def __str__(self) -> str:
        return HALF


@pytest.mark.parametrize("what", ["the reader", "the drafts"])
@pytest.mark.parametrize(
    "error",
    [ValueError("v"), RecursionError("r"), MemoryError("m"), SystemError("s"), OddError()],
    ids=lambda error: type(error).__name__,
)
def test_a_failure_leaves_the_other_evidence_or_says_why(
    what: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draft is made without the tool's code; where nothing can be made at all, it is a blank that names the error. The person answers."""

    def fail(*_: object) -> None:
        raise error

    if what == "the reader":
        monkeypatch.setattr(tool_returns, "load", fail)
    else:
        monkeypatch.setattr(draft_generator, "best", fail)
        monkeypatch.setattr(candidates, "best", fail)
    with going(agent_of([call("look", what="x")], tools=[look])) as sim:
        (request,) = tool_requests(sim)
        said = answered(sim)
        if what == "the drafts":
            assert [one.path for one in request.draft_blanks] == ["$"]
            assert type(error).__name__ in said


@pytest.fixture
def collecting() -> Iterator[None]:
    """Let the collector of garbage run all the time, and read source each time, as a traceback that it writes does."""

    def reads(phase: str, _: object) -> None:
        if phase == "stop":
            ast.parse("one + two")

    before = gc.get_threshold()
    gc.callbacks.append(reads)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(reads)


@pytest.mark.usefixtures("collecting")
def test_code_is_read_while_garbage_is_collected() -> None:
    """Another tree that is made meanwhile leaves the first one whole."""
    for number in range(20):
        source = (
            f"# {number}\ndef tool(x):\n    return {{'x': [x, {{'y': x}}], 'z': 'a' + 'b'}}\n"
            f"y = {list(range(500))}\n"
        )
        code = FunctionSource(Module("tools.py", source, "tools"), "tool", 2)
        (outcome, *_) = tool_returns.read_returns(code, {"x": number}).outcomes
        assert outcome.value == {"x": [number, {"y": number}], "z": "ab"}
