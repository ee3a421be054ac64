"""Turns what was typed about the user's seat into what sits down there. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from app.forms.typed_json import TypedJsonError, parse_json, parse_object, write_json
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.base.model_settings import server_settings
from simulator.facts import UserPlayer
from simulator.session.history import file_of
from simulator.session.model import UserSeat

USER_PLAYERS: dict[UserPlayer, str] = {
    "person": "You",
    "script": "Script",
    "recording": "Recording",
    "scenario": "Scenario",
}

OWN_PERSONA = "own"
"""Stands for a persona that is written in JSON."""

NO_PERSONA = ""


class FormError(ValueError):
    """What was typed cannot sit down yet; the text names the field."""


class ScenarioForm(Value):
    """What was typed about a scenario; `persona` is the id of one of ADK's, `OWN_PERSONA`, or `NO_PERSONA`."""

    starting_prompt: str = ""
    conversation_plan: str = ""
    persona: str = NO_PERSONA
    own_persona: str = ""
    model: str = ""
    model_configuration: str = ""
    limit: int = 20
    custom_instructions: str = ""
    include_function_calls: bool = False

    def scenario(self) -> JsonObject:
        """Return ADK's `ConversationScenario` in JSON.

        Raises:
            FormError: A field is missing, or the persona is no JSON object.
        """
        if not self.starting_prompt.strip():
            raise FormError("Starting prompt: enter the first user message.")
        if not self.conversation_plan.strip():
            raise FormError("Plan: enter what the user wants to achieve.")
        written: JsonObject = {
            "starting_prompt": self.starting_prompt,
            "conversation_plan": self.conversation_plan,
        }
        if self.persona == OWN_PERSONA:
            persona = written["user_persona"] = _object("Persona", self.own_persona)
            if not persona.get("id"):
                raise FormError("Persona: enter its id.")
        elif self.persona != NO_PERSONA:
            written["user_persona"] = self.persona
        return written

    def config(self) -> JsonObject:
        """Return ADK's configuration of its user simulator in JSON.

        Raises:
            FormError: The model's configuration is no JSON object, or has what only the server sets.
        """
        written: JsonObject = {"model": self.model.strip(), "max_allowed_invocations": self.limit}
        if self.model_configuration.strip():
            written["model_configuration"] = _object("Model configuration", self.model_configuration)
            if refused := server_settings(written["model_configuration"]):
                raise FormError("\n".join(f"Model configuration: {each}." for each in refused))
        if self.custom_instructions.strip():
            written["custom_instructions"] = self.custom_instructions
        if self.include_function_calls:
            written["include_function_calls"] = True
        return written


def form_of(scenario: Mapping[str, Any], config: Mapping[str, Any]) -> ScenarioForm:
    """Return the form that a scenario and a configuration fill in; both in snake case."""
    persona = scenario.get("user_persona")
    own = isinstance(persona, dict)
    configuration = config.get("model_configuration")
    return ScenarioForm(
        starting_prompt=str(scenario.get("starting_prompt") or ""),
        conversation_plan=str(scenario.get("conversation_plan") or ""),
        persona=OWN_PERSONA if own else str(persona or NO_PERSONA),
        own_persona=write_json(persona) if own else "",
        model=str(config.get("model") or ""),
        model_configuration=write_json(configuration) if configuration else "",
        limit=int(config.get("max_allowed_invocations", 20)),
        custom_instructions=str(config.get("custom_instructions") or ""),
        include_function_calls=bool(config.get("include_function_calls")),
    )


def script_of(text: str) -> tuple[str | JsonObject, ...]:
    """Read a script: a JSON list of texts and contents, or one message on each line.

    Raises:
        FormError: It holds no message, or the list holds something else.
    """
    if text.lstrip().startswith("["):
        listed = _list(text)
        if not all(isinstance(each, (str, dict)) for each in listed):
            raise FormError("Messages: each must be a text, or a Content in JSON.")
        said: tuple[Any, ...] = tuple(listed)
    else:
        said = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not said:
        raise FormError("Messages: enter at least one.")
    return said


def script_text(script: tuple[JsonObject, ...]) -> str:
    """Write a script as it can be read again: one message on each line where that is all there is to them."""
    texts = [text_of(message) for message in script]
    lines = [
        text for text in texts if text is not None and text.strip() == text and len(text.splitlines()) == 1
    ]
    if len(lines) == len(texts) and not any(line.startswith("[") for line in lines):
        return "\n".join(lines)
    return write_json([text if text is not None else dict(m) for text, m in zip(texts, script, strict=True)])


def text_of(message: Mapping[str, Any]) -> str | None:
    """Return a message's text where it is one text and nothing else."""
    parts = message.get("parts")
    only = parts[0] if isinstance(parts, list) and len(parts) == 1 else None
    if not isinstance(only, dict) or only.keys() != {"text"}:
        return None
    return only["text"] if isinstance(only["text"], str) else None


def text_and_files(message: Mapping[str, Any]) -> tuple[str, tuple[JsonObject, ...]] | None:
    """Return a message's text and its files as parts, where it is at most one text and files; None for anything else."""
    parts = message.get("parts")
    listed = parts if isinstance(parts, (list, tuple)) else ()
    files = tuple(dict(part) for part in listed if isinstance(part, Mapping) and file_of(part))
    texts = [text for part in listed if (text := text_of({"parts": [part]})) is not None]
    return ("".join(texts), files) if len(texts) <= 1 and len(texts) + len(files) == len(listed) else None


def seat_words(seat: UserSeat, held_for: str = "you") -> str:
    """Return who speaks for the user, how many messages are left, and for whom each is held."""
    if seat.player == "person":
        return "You play the user."
    left = "no limit" if seat.left is None else f"{seat.left} of {seat.limit} messages left"
    held = f"each held for {held_for}" if seat.hold else "sent automatically"
    held = "each written by a person" if seat.is_by_hand else held
    return f"{USER_PLAYERS[seat.player]}: {left}, {held}"


def _object(field: str, text: str) -> JsonObject:
    try:
        return parse_object(text)
    except TypedJsonError as error:
        raise FormError(f"{field}: {error}") from error


def _list(text: str) -> list[JsonValue]:
    try:
        found = parse_json(text)
    except TypedJsonError as error:
        raise FormError(f"Messages: {error}") from error
    return found if isinstance(found, list) else [found]
