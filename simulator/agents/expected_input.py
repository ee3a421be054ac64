"""Says what an agent expects: of a query, and of the session's state. Importing this imports no ADK."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field, JsonValue, ValidationError
from pydantic.errors import PydanticUserError

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.base.secret_masking import error_words


class UnfitMessageError(ValueError):
    """A message does not fit the agent's input schema; the text may come from outside."""


def input_schema(agent: Any) -> JsonObject | None:
    """Return the JSON schema of what the agent takes; None where it takes any text."""
    model = _model_of(agent)
    if model is None:
        return None
    try:
        return model.model_json_schema()
    except PydanticUserError:  # it has a field that JSON Schema has no words for
        return None


def check_message(agent: Any, message: str | JsonObject) -> None:
    """Hold a message to the agent's input schema, as ADK does when the turn begins.

    ADK reads the message's text as JSON where it is JSON, and as a text else; a model may take either.

    Raises:
        UnfitMessageError: It does not fit; the text says where.
    """
    model = _model_of(agent)
    if model is None:
        return
    try:
        model.model_validate(_payload(message if isinstance(message, str) else _text_of(message)))
    except ValidationError as error:
        raise UnfitMessageError("\n".join(_line(each) for each in error.errors())) from error
    except Exception as error:  # the model's own validators may raise anything, and would in the turn too
        raise UnfitMessageError(error_words(error)) from error


def check_here(config: SimulatedAgentConfig, message: str | JsonObject) -> None:
    """As `check_message`, of the agent that was loaded in this process; the studio has an agent's process do it."""
    check_message(config.root_agent, message)


def _model_of(agent: Any) -> type[BaseModel] | None:
    """Return the model that ADK checks messages with; a schema of any other kind it does not check."""
    schema = getattr(agent, "input_schema", None)
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return None
    takes_any_message = schema.__name__ == "Content" and schema.__module__.startswith("google.genai")
    return None if takes_any_message else schema


def _text_of(message: JsonObject) -> str:
    parts = message.get("parts")
    texts = [
        part.get("text")
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and not part.get("thought")
    ]
    return "".join(text for text in texts if isinstance(text, str))


def _payload(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or a number of more digits than Python reads
        return text
    return value


def _line(error: Any) -> str:
    where = ".".join(str(step) for step in error["loc"])
    return f"{where}: {error['msg']}" if where else str(error["msg"])


class StateNeeds(Value):
    """What the instructions of an agent need of the state.

    Attributes:
        keys: The keys without which an agent's model cannot be asked, by the agent's name; those that code may set are left out.
        first: The agents whose models are asked before anything else of the agent runs.
        then: The keys that agents need whose models are certainly asked after those, with nothing between that may set a key but replies that are kept: without
            the keys of these.
        kept: The keys under which agents keep their replies.
    """

    keys: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    first: tuple[str, ...] = ()
    then: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    kept: tuple[str, ...] = ()

    @property
    def certain(self) -> tuple[str, ...]:
        """The keys without which the first message of a session certainly fails."""
        needed = (*(self.keys.get(name, ()) for name in self.first), *self.then.values())
        return tuple(dict.fromkeys(key for keys in needed for key in keys))
