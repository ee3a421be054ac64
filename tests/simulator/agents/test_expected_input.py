"""A message is held to an agent's input schema as ADK holds it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.utils._schema_utils import validate_node_data
from google.genai.types import Content
from pydantic import BaseModel, ConfigDict, Field, field_validator

from simulator.agents import demo_agent
from simulator.agents.agent_directory import UnfitMessageError, check_message, input_schema
from simulator.base.json_values import JsonObject
from tests.simulator.base.rows import for_each


class Order(BaseModel):
    """What the agent takes."""

    number: str = Field(min_length=1)
    amount: float = 1.0

    @field_validator("amount")
    @classmethod
    def _no_zero(cls, amount: float) -> float:
        return 1 / amount


class Odd(BaseModel):
    """A model that JSON Schema has no words for."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    thing: SimpleNamespace


def agent_of(schema: Any) -> SimpleNamespace:
    """Something with an input schema."""
    return SimpleNamespace(name="desk", input_schema=schema)


MESSAGES = [
    '{"number": "7"}',
    '{"number": 7}',
    '{"number": "7", "amount": 0}',
    "[]",
    "7",
    "hello",
    '{"a"',
    "null",
    "",
]


@for_each("text", MESSAGES)
def test_what_adk_refuses_is_refused(text: str) -> None:
    """The verdict is ADK's own on the same message, as text and as a message of several parts."""
    content = Content.model_validate({"role": "user", "parts": [{"text": text[:2]}, {"text": text[2:]}]})
    fits = _raises_nothing(lambda: validate_node_data(Order, content))
    messages: list[str | JsonObject] = [text, content.model_dump(mode="json", exclude_none=True)]
    for message in messages:
        if fits:
            check_message(agent_of(Order), message)
        else:
            with pytest.raises(UnfitMessageError):
                check_message(agent_of(Order), message)


def _raises_nothing(work: Callable[[], object]) -> bool:
    try:
        work()
    except Exception:  # noqa: BLE001 - a validator of the model may raise anything
        return False
    return True


def test_the_refusal_names_each_place() -> None:
    """Every field that does not fit stands in a line of its own; a failure of a validator is named too."""
    with pytest.raises(UnfitMessageError, match=r"number: .*\namount: "):
        check_message(agent_of(Order), '{"amount": "much"}')
    with pytest.raises(UnfitMessageError, match="ZeroDivisionError"):
        check_message(agent_of(Order), '{"number": "7", "amount": 0}')


@for_each("schema", [None, {"type": "object"}, str, Content])
def test_where_adk_checks_nothing_any_text_is_taken(schema: Any) -> None:
    """No schema, one that is no model, and a whole message: there is no form, and nothing is refused."""
    assert input_schema(agent_of(schema)) is None
    check_message(agent_of(schema), "anything")


def test_the_form_is_made_of_the_models_schema() -> None:
    """The schema is JSON; a model without one is checked all the same."""
    found = input_schema(demo_agent("expense_approver").root_agent)
    assert found is not None
    assert found["required"] == ["employee_id", "department", "lines"]
    assert input_schema(agent_of(Odd)) is None
    with pytest.raises(UnfitMessageError):
        check_message(agent_of(Odd), "{}")
