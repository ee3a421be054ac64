"""Every touch of ADK's user simulator, in one place; what it does not promise fails in `tests/simulator/runtime/adk/test_adk_user.py`.

google-adk 2.13: it counts its messages in a private attribute, makes its own model from a name, writes long retries into
the configuration, and drops what was said beside its stop signal. Importing this module imports ADK's evaluation, which
takes more than a second.
"""

from __future__ import annotations

import importlib
import re
from typing import Any, NamedTuple

from google.adk.errors.not_found_error import NotFoundError
from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.simulation.llm_backed_user_simulator import (
    LlmBackedUserSimulator,
    LlmBackedUserSimulatorConfig,
)
from google.adk.evaluation.simulation.pre_built_personas import get_default_persona_registry
from google.adk.evaluation.simulation.user_simulator import (
    BaseUserSimulatorConfig,
    NextUserMessage,
    UserSimulator,
)
from google.adk.evaluation.simulation.user_simulator_personas import UserPersona
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.genai import types
from pydantic import ValidationError

from simulator.base.adk_names import snake
from simulator.base.json_values import JsonObject, NotJsonError, copied
from simulator.base.secret_masking import error_words
from simulator.base.validation_words import first_of, shortened, validated
from simulator.facts import UserStatus
from simulator.runtime.adk.adk_private import simulator_config_type
from simulator.runtime.errors import SimulationError
from simulator.session.model import ADKS_SIMULATOR, ADKS_SPEAKER, NO_AUDIO

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
    """Return the personas that ADK brings along: their ids, each with its description."""
    return {each.id: each.description for each in get_default_persona_registry().get_registered_personas()}


def persona_schema() -> JsonObject:
    """Return the JSON schema of a persona of one's own."""
    return UserPersona.model_json_schema()


def read_scenario(written: JsonObject) -> ConversationScenario:
    """Read a scenario.

    Raises:
        SimulationError: It is no `ConversationScenario`, or ADK has no such persona; the text says where.
    """
    try:
        scenario = validated(ConversationScenario, copied(written))
    except ValidationError as error:
        raise SimulationError(f"the scenario: {_first(error)}") from error
    except NotJsonError as error:
        raise SimulationError(f"the scenario: {error}") from error
    except NotFoundError:
        known = ", ".join(personas())
        raise SimulationError(
            f"the scenario: ADK has no persona {_persona(written)!r}; available: {known}"
        ) from None
    if not scenario.starting_prompt.strip():
        raise SimulationError("the scenario: the starting prompt is empty")
    return scenario


def written_scenario(written: JsonObject) -> JsonObject:
    """Check a scenario, and return it in snake case; a persona that was named stays a name.

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
        config: LlmBackedUserSimulatorConfig = validated(
            LlmBackedUserSimulatorConfig, {**copied(written), "type": ADKS_SIMULATOR}
        )
    except ValidationError as error:
        raise SimulationError(f"the user simulator's configuration: {_first(error)}") from error
    if unknown := sorted(config.model_extra or ()):
        raise SimulationError(
            f"the user simulator's configuration has fields that ADK does not support: {shortened(', '.join(unknown))}"
        )
    return config


def written_config(written: JsonObject) -> JsonObject:
    """Check a configuration, and return what it sets, in snake case.

    Raises:
        SimulationError: As `read_config`; or the simulator that it names by its path is none.
    """
    kind = written.get("type", ADKS_SIMULATOR)
    if kind != ADKS_SIMULATOR:
        load_simulator(kind)
        _own_config(str(kind), written)
        own: JsonObject = copied(written)
        return own
    plain: JsonObject = read_config(written).model_dump(
        mode="json", exclude_unset=True, by_alias=False, exclude={"type"}
    )
    return plain


def _first(error: ValidationError) -> str:
    first = first_of(error)
    place = ".".join(
        snake(str(part)) for part in first["loc"]
    )  # pydantic names the alias, a file mostly the field
    return f"{place}: {first['msg']}"


# ---------------------------------------------------------------- simulators of one's own

_LOADED: dict[str, type[UserSimulator]] = {}
"""The simulators that somebody has named in this process: a journal cannot import what it likes."""


def load_simulator(path: object) -> type[UserSimulator]:
    """Import a user simulator by its dotted path, `package.module.Class` or `package.module:Class`.

    Raises:
        SimulationError: There is none, or it is ADK's own that sends audio; the text says why.
    """
    if path == ADKS_SPEAKER:
        raise SimulationError(NO_AUDIO)
    words = f"the user simulator {path!r}"
    if not isinstance(path, str) or not re.fullmatch(r"[\w.]+[.:]\w+", path):
        raise SimulationError(
            f"{words} is neither a dotted path such as package.module.Class nor {ADKS_SIMULATOR!r}"
        )
    module, _, name = path.replace(":", ".").rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as error:
        raise SimulationError(f"{words} cannot be imported: {error_words(error)}") from error
    if not (isinstance(found, type) and issubclass(found, UserSimulator)):
        raise SimulationError(f"{words} is not a subclass of ADK's UserSimulator")
    _LOADED[path] = found
    return found


def _own_config(path: str, written: JsonObject) -> BaseUserSimulatorConfig:
    """Read the configuration of a simulator of one's own: with the class that it is registered for, if any."""
    simulator = _LOADED[path]
    kind: type[BaseUserSimulatorConfig] = simulator_config_type(simulator) or BaseUserSimulatorConfig
    given = {name: value for name, value in copied(written).items() if name != "type"}
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise SimulationError(f"the user simulator's configuration: {_first(error)}") from error


class OwnSimulator:
    """A user simulator of one's own in one conversation, which remembers what it has said.

    Where the conversation is elsewhere (an undo, another process), a new one is made and asked for each message before, so that it
    has seen the same conversation.
    """

    def __init__(self) -> None:
        self._made: UserSimulator | None = None
        self._for: tuple[str, str] = ("", "")
        self._said = 0

    async def ask(
        self, scenario: JsonObject, config: JsonObject, said: int, events: list[Event]
    ) -> NextUserMessage:
        """Ask for the next message.

        Raises:
            SimulationError: The simulator was not named in this process, or cannot be made.
            Exception: Whatever it raises.
        """
        key = (str(scenario), str(config))
        if self._made is None or key != self._for or said != self._said:
            self._made, self._for = self._new(scenario, config), key
            for number, before in enumerate(_beginnings(events)):
                if number < said:
                    await self._made.get_next_user_message(before)
        next_ = await self._made.get_next_user_message(events)
        self._said = said + 1
        return next_

    @staticmethod
    def _new(scenario: JsonObject, config: JsonObject) -> UserSimulator:
        path = str(config.get("type"))
        if path not in _LOADED:
            raise SimulationError(
                f"the user simulator {path!r} is not loaded in this process; select it again to continue"
            )
        make: Any = _LOADED[path]
        try:
            made: UserSimulator = make(
                config=_own_config(path, config), conversation_scenario=read_scenario(scenario)
            )
        except TypeError as error:
            raise SimulationError(f"the user simulator {path!r} cannot be created: {error}") from error
        return made


def _beginnings(events: list[Event]) -> list[list[Event]]:
    """Return the events before each message of the user."""
    places = [
        place
        for place, event in enumerate(events)
        if event.author == "user" and not event.get_function_responses()
    ]
    return [events[:place] for place in places]
