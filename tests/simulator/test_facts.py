"""Facts that are made without validation are the facts that validation would have made."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from pydantic import TypeAdapter, ValidationError

from simulator.facts import Fact, SavedArtifact, ToolEffects, TurnEnded
from tests.simulator.session.making import opened, tool
from tests.simulator.test_journal import any_fact

_FACT: TypeAdapter[Fact] = TypeAdapter(Fact)


@given(any_fact)
def test_a_known_fact_is_the_validated_one(fact: Fact) -> None:
    """Equal, written the same, read back the same, and said to have the same fields set."""
    given_fields = {name: getattr(fact, name) for name in fact.model_fields_set}
    known = type(fact).known(**given_fields)
    assert known == fact
    assert known.model_fields_set == fact.model_fields_set
    assert known.model_dump_json() == fact.model_dump_json()
    assert _FACT.validate_json(known.model_dump_json()) == fact
    assert repr(known) == repr(fact)


def test_a_known_fact_is_as_frozen_as_others() -> None:
    """Nobody sets a field of it, and a copy with another field leaves it alone."""
    made = tool("c1")
    known = type(made).known(**dict(made))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(known, "key", "other")  # noqa: B010 - the type checker knows that it is read-only
    assert known.model_copy(update={"key": "other"}).key == "other"
    assert (known.key, hash(opened())) == (made.key, hash(opened()))


def test_no_two_known_values_share_a_default() -> None:
    """What was not given has its default, as with validation; a dict is each one's own."""
    ends = [TurnEnded.known(at=1.0, turn=0) for _ in range(2)]
    assert ends[0].state == {}
    assert ends[0].state is not ends[1].state
    first, second = ToolEffects.known(), ToolEffects.known()
    assert first == ToolEffects()
    assert first.state_delta is not second.state_delta
    saved: Any = {"filename": "a", "part": {"text": "a"}, "version": 0}
    assert SavedArtifact.known(**saved) == SavedArtifact(**saved)
