"""Every touch of ADK's user simulator, in one place; what it does not promise fails in `tests/runtime/test_adk_user.py`.

google-adk 2.13: it counts its messages in a private attribute, makes its own model from a name, writes long retries into
the configuration, and drops what was said beside its stop signal. Importing this module imports ADK's evaluation, which
takes more than a second.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from google.adk.errors.not_found_error import NotFoundError
from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.simulation.llm_backed_user_simulator import (
    LlmBackedUserSimulator,
    LlmBackedUserSimulatorConfig,
)
from google.adk.evaluation.simulation.pre_built_personas import get_default_persona_registry
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.genai import types
from pydantic import ValidationError

from simulator.facts import UserStatus
from simulator.jsonvalue import JsonObject, copied
from simulator.runtime.errors import SimulationError

_STOP_SIGNAL = "</finished>"
"""What ADK tells its model to say at the end."""

_ANY_MODEL = "gemini-2.5-flash"
"""A name that ADK knows; the model that is made of it is never asked."""

_EMPTY = "Failed to generate a user message: LLM returned"


class Said(NamedTuple):
    """What the simulator said: ADK's status, and the text without the stop signal."""

    status: UserStatus
    beside: str


class _Simulator(LlmBackedUserSimulator):
    """ADK's user simulator with a model that is given, in the midst of a conversation, which remembers what was said."""

    def __init__(
        self, config: LlmBackedUserSimulatorConfig, scenario: ConversationScenario, model: BaseLlm, said: int
    ) -> None:
        super().__init__(
            config=config.model_copy(update={"model": _ANY_MODEL}), conversation_scenario=scenario
        )
        self._llm_config.model = model.model
        self._llm = model
        self._invocation_count = said
        self.heard = ""

    async def _get_llm_response(self, rewritten_dialogue: str) -> tuple[str, str | None]:
        self.heard, reason = await super()._get_llm_response(rewritten_dialogue)
        return self.heard, reason


async def ask(
    scenario: JsonObject, config: JsonObject, model: BaseLlm, said: int, events: list[Event]
) -> Said:
    """Ask ADK's simulator for the next message, once.

    Args:
        scenario: ADK's `ConversationScenario` in JSON.
        config: Its configuration in JSON.
        model: Who is asked.
        said: How many messages were said.
        events: What ADK recorded so far.

    Raises:
        Exception: Whatever the model's client raises; a RuntimeError where it says nothing.
    """
    simulator = _Simulator(_impatient(read_config(config)), read_scenario(scenario), model, said)
    next_ = await simulator.get_next_user_message(events)
    beside = re.sub(re.escape(_STOP_SIGNAL), "", simulator.heard, flags=re.IGNORECASE).strip()
    message = next_.user_message
    if message is not None:
        return Said(next_.status.value, "".join(part.text or "" for part in message.parts or ()))
    return Said(next_.status.value, beside)


def _impatient(config: LlmBackedUserSimulatorConfig) -> LlmBackedUserSimulatorConfig:
    """Let the client ask once: ADK would have it try for minutes, unseen."""
    asked = config.model_configuration.model_copy()
    options = asked.http_options.model_copy() if asked.http_options else types.HttpOptions()
    options.retry_options = types.HttpRetryOptions(attempts=1)
    asked.http_options = options
    return config.model_copy(update={"model_configuration": asked})


def is_empty(error: BaseException) -> bool:
    """Tell ADK's error for an answer without any words, which may well be another one the next time."""
    return isinstance(error, RuntimeError) and str(error).startswith(_EMPTY)


def personas() -> dict[str, str]:
    """Give the personas that ADK brings along: their ids, each with its description."""
    return {each.id: each.description for each in get_default_persona_registry().get_registered_personas()}


def read_scenario(written: JsonObject) -> ConversationScenario:
    """Read a scenario.

    Raises:
        SimulationError: It is no `ConversationScenario`, or ADK has no such persona; the text says where.
    """
    try:
        scenario = ConversationScenario.model_validate(copied(written))
    except ValidationError as error:
        raise SimulationError(f"the scenario: {_first(error)}") from error
    except NotFoundError:
        known = ", ".join(personas())
        raise SimulationError(
            f"the scenario: ADK has no persona {_persona(written)!r}, only {known}"
        ) from None
    if not scenario.starting_prompt.strip():
        raise SimulationError("the scenario: its starting prompt is empty")
    return scenario


def written_scenario(written: JsonObject) -> JsonObject:
    """Check a scenario, and give it in snake case; a persona that was named stays a name.

    Raises:
        SimulationError: As `read_scenario`.
    """
    scenario = read_scenario(written)
    plain: JsonObject = {
        "starting_prompt": scenario.starting_prompt,
        "conversation_plan": scenario.conversation_plan,
    }
    if scenario.user_persona is not None:
        named = _persona(written)
        plain["user_persona"] = (
            named if isinstance(named, str) else scenario.user_persona.model_dump(mode="json")
        )
    return plain


def _persona(written: JsonObject) -> Any:
    return written.get("user_persona", written.get("userPersona"))


def read_config(written: JsonObject) -> LlmBackedUserSimulatorConfig:
    """Read a configuration of the user simulator.

    Raises:
        SimulationError: It is none, or holds what ADK does not know; the text says where.
    """
    try:
        config = LlmBackedUserSimulatorConfig.model_validate({**copied(written), "type": "llm_backed"})
    except ValidationError as error:
        raise SimulationError(f"the user simulator's configuration: {_first(error)}") from error
    if unknown := sorted(config.model_extra or ()):
        raise SimulationError(
            f"the user simulator's configuration holds {', '.join(unknown)}, unknown to ADK"
        )
    return config


def written_config(written: JsonObject) -> JsonObject:
    """Check a configuration, and give what it sets, in snake case.

    Raises:
        SimulationError: As `read_config`; or it is for another simulator.
    """
    kind = written.get("type", "llm_backed")
    if kind != "llm_backed":
        raise SimulationError(f"the user simulator's configuration is for {kind!r}, not for 'llm_backed'")
    plain: JsonObject = read_config(written).model_dump(
        mode="json", exclude_unset=True, by_alias=False, exclude={"type"}
    )
    return plain


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
