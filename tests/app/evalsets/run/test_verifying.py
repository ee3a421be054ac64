"""What the tab of the verification shows and asks for, as plain text and numbers."""

from __future__ import annotations

import pytest

from app.evalsets.run.verify_jobs import marked_text, step_text, steps_before
from evalset.golden_trace.steps import Step
from evalset.verify.results import TextPiece

QUERY, FIRST, ANSWER, SECOND, ANSWERED, TEXT = (
    Step(kind="query", text="Where?"),
    Step(kind="call", tool="find", value={"id": "A"}),
    Step(kind="response", tool="find", value={"at": "sea"}),
    Step(kind="call", tool="find", value={"id": "B"}),
    Step(kind="response", tool="find", value=None),
    Step(kind="text", text="There."),
)
GOLDEN = (QUERY, FIRST, ANSWER, SECOND, ANSWERED, TEXT)
IN_TURN = ("query", "call", "response", "call", "response", "final")
AT_ONCE = ("query", "text", "call", "call", "response", "response", "final")


@pytest.mark.parametrize(
    ("step", "kinds", "played"),
    [
        (0, IN_TURN, 1),
        (1, IN_TURN, 1),
        (2, IN_TURN, 2),
        (3, IN_TURN, 3),
        (5, IN_TURN, 5),
        (6, IN_TURN, 5),
        (1, AT_ONCE, 2),
        (2, AT_ONCE, 3),
        (3, AT_ONCE, 3),
        (4, AT_ONCE, 4),
        (5, AT_ONCE, 6),
        (3, ("query", "call", "final"), 2),
        (4, (), 1),
    ],
)
def test_a_session_stops_before_the_step(step: int, kinds: tuple[str, ...], played: int) -> None:
    """Also where the eval set has calls before all of their answers, or fewer of them than the golden had."""
    assert steps_before(GOLDEN, step, kinds) == played


def test_steps_and_texts_are_plain() -> None:
    """A call as it would be written, a text with what differs in brackets, and long ones cut."""
    assert step_text(FIRST) == 'find({\n  "id": "A"\n})'
    assert step_text(ANSWERED) == "find responds\nnull"
    assert step_text(QUERY) == "user: Where?"
    assert step_text(None) == "(nothing)"
    long = step_text(Step(kind="text", text="x" * 5_000))
    assert long.endswith("... 5,007 characters")
    pieces = (("same", "It is "), ("golden", "here"), ("actual", "there"), ("same", "."))
    text = marked_text([TextPiece.model_validate({"kind": kind, "text": said}) for kind, said in pieces])
    assert text == "It is [-here-]{+there+}."
