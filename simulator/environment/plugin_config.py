"""Says how an environment stands in for an agent's tools without the page: the rules, what it knows, who answers which tool."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, Field, JsonValue, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from simulator.base.documents import DocumentError, read_document, write_json, write_yaml
from simulator.base.frozen_value import FiniteValue, Number, Whole
from simulator.base.json_values import JsonObject
from simulator.base.model_settings import server_settings_in
from simulator.base.validation_words import complaint, flaws, validated
from simulator.environment.injection import rule_sets
from simulator.environment.injection.adk_config_text import config_in_snippet, is_code
from simulator.environment.injection.adk_injection_config import (
    EnvironmentConfigError,
    ReadConfig,
    read_config,
)
from simulator.environment.injection.rule_sets import (
    RuleSet,
    RuleSetError,
    RuleSetForm,
    read_rule_set,
    write_rule_set,
)
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.entities import read_tables
from simulator.environment.world.invariants import InvariantError, check_invariant
from simulator.environment.world.tool_settings import EnvironmentSettings

FORMAT = "golden-trace-studio/environment"
VERSION = 1
ADKS_MODEL = "gemini-2.5-flash"
"""The model that ADK's environment simulation asks where its configuration names none."""
ADKS_MODEL_CONFIGURATION: JsonObject = {
    "thinking_config": {"include_thoughts": False, "thinking_budget": 10240}
}
"""What ADK's environment simulation asks its model with, where its configuration does not set it."""

_ADK = "tool_simulation_configs"
_HEAD = ("format", "version")

StandInPlayer: TypeAlias = Literal["offline", "model", "recorded", "auto", "refuse", "real"]
"""Who answers a tool where no rule does: the offline generator; a model, or else the offline generator; the recorded call
that is the same, or else the offline generator; any of them that can (`auto`); nobody, with an error that says so
(`refuse`); or the real tool."""


class SimulatedEnvironmentConfig(FiniteValue):
    """An environment that stands in for an agent's tools.

    A tool is listed where a rule, a player or a setting names it. Where no rule answers a call and no player is set for its tool,
    the call is refused with an error that names the way to allow it: nothing real runs, and nothing is generated, unless that is said.
    What is read from ADK's configuration says `real` for every tool that it does not mock, as ADK does.

    Attributes:
        rules: The injection rules, in their order; they speak first, for every tool.
        settings: Output schemas, shared states, invariants, connections, and the model.
        environment_data: JSON of tables, or words.
        tracing: Earlier runs: a trace in JSON, an eval set, a session; what cannot be read so is shown to the model.
        recordings: Recorded calls, by a name.
        players: Who answers a tool, by its name.
        listed: Who answers a listed tool that has no player of its own, and each tool that has no body.
        unlisted: Who answers a tool that is not listed.
        stubs: Who answers a tool that has no body, where `listed` or its player would refuse it or run it.
        seed: Where chance comes from: the same in every session, so that each run repeats the others. None draws anew in every session.
        seeded_chance: Whether a rule with a `random_seed` begins its sequence anew in each session, or goes on in the one sequence of
            all sessions, as in ADK.
        model_timeout_seconds: How long one request to the model may take.
        model_retries: How often in all the model is asked again after a passing error, for one answer.
    """

    rules: tuple[InjectionRule, ...] = ()
    settings: EnvironmentSettings = EnvironmentSettings()
    environment_data: str = ""
    tracing: str = ""
    recordings: dict[str, tuple[ObservedCall, ...]] = Field(default_factory=dict)
    players: dict[str, StandInPlayer] = Field(default_factory=dict)
    listed: StandInPlayer = "refuse"
    unlisted: StandInPlayer = "refuse"
    stubs: StandInPlayer = "offline"
    seed: str | None = ""
    seeded_chance: Literal["by_session", "shared"] = "by_session"
    model_timeout_seconds: Number = Field(default=60.0, gt=0.0, le=3_600.0)
    model_retries: Whole = Field(default=2, ge=0, le=10)

    @field_validator("environment_data")
    @classmethod
    def _can_be_used(cls, text: str) -> str:
        read_tables(text)
        return text

    @model_validator(mode="after")
    def _has_invariants(self) -> Self:
        for place, line in enumerate(self.settings.invariants):
            try:
                check_invariant(line)
            except InvariantError as error:
                raise ValueError(f"settings.invariants.{place}: {error}") from error
        return self

    @model_validator(mode="after")
    def _has_each_rule_once(self) -> Self:
        names = [rule.rule_id for rule in self.rules]
        if twice := sorted(name for name, number in Counter(names).items() if number > 1):
            raise ValueError(f"two rules have the rule_id {', '.join(map(repr, twice))}")
        return self

    def lists(self, tool_name: str) -> bool:
        """Return whether a tool is named anywhere in here."""
        return (
            tool_name in self.players
            or tool_name in self.settings.tools
            or any(rule.tool_name == tool_name for rule in self.rules)
        )

    def strangers(self, tool_names: Iterable[str]) -> Iterator[str]:
        """Return which players, settings and connections are for tools that are not among these."""
        known = frozenset(tool_names)
        connected = self.settings.connections.strangers(known)
        named: dict[str, Iterable[str]] = {
            "players": self.players,
            "settings.tools": self.settings.tools,
            "settings.connections": connected,
        }
        for place, tools in named.items():
            for name in tools:
                if name not in known:
                    yield f"{place}: no agent so far has a tool {name!r}"

    def player_of(self, tool_name: str, *, has_body: bool = True) -> StandInPlayer:
        """Return who answers a tool where no rule does; a tool without a body has nothing real to run."""
        if (player := self.players.get(tool_name)) is not None:
            return player if has_body or player != "real" else self.stubs
        if has_body:
            return self.listed if self.lists(tool_name) else self.unlisted
        return self.stubs if self.listed in {"real", "refuse"} else self.listed

    def refusal_of(self, tool_name: str) -> str:
        """Return why nobody answers a call of a tool, and how to change that."""
        not_run = "and the real tool was not run"
        if tool_name in self.players:
            return f"players is set to refuse {tool_name}, {not_run}."
        if self.lists(tool_name):
            return (
                f"No rule answers this call of {tool_name}, no player is set for it, {not_run}. "
                f'Set players to {{"{tool_name}": "offline"}} for a draft, or to "model", "recorded" or "real". '
                "Set listed to change all named tools."
            )
        return (
            f"{tool_name} is not part of this simulation, {not_run}. List it under players, "
            f'give it a rule, or set unlisted (to "offline", "model" or "real").'
        )

    def has_rule_for(self, tool_name: str) -> bool:
        """Return whether there is a rule that could speak about a tool."""
        return any(rule.tool_name in {tool_name, EVERY_TOOL} for rule in self.rules)


def read_environment_config(config: object) -> SimulatedEnvironmentConfig:
    """Read a configuration in any form.

    Args:
        config: A `SimulatedEnvironmentConfig`, ADK's `EnvironmentSimulationConfig`, either as a mapping, or the text of
            either as JSON or YAML (of ADK's as Python code, too), or of a set of rules. A text has no word in the address, the
            headers and the keys of its model's client, which an object and a mapping have: they are code of this process.

    Raises:
        EnvironmentConfigError: It cannot be read; the text names each rule, tool and field that is wrong.
    """
    if isinstance(config, SimulatedEnvironmentConfig):
        return config
    if isinstance(config, str):
        return _of_text(config)
    if isinstance(config, Mapping) and _ADK not in config:
        return _of_mapping(dict(config))
    return _of_adk(read_config(config))


def _of_text(text: str) -> SimulatedEnvironmentConfig:
    try:
        document = config_in_snippet(text) if is_code(text) else read_document(text)
    except DocumentError as error:
        raise EnvironmentConfigError(str(error)) from error
    if not isinstance(document, dict):
        raise EnvironmentConfigError(
            f"an environment must be an object, not {type(document).__name__}: {text!r:.80}; to read a file, pass a Path"
        )
    if refused := server_settings_in(document):
        raise EnvironmentConfigError("\n".join(map(str, refused)))
    return _of_adk(read_config(document)) if is_code(text) else read_environment_config(document)


def _of_adk(read: ReadConfig) -> SimulatedEnvironmentConfig:
    """Answer as ADK's engine: injections, then mocks; every other call is the real tool's, and chance is new in every run."""
    if read.deprecation:
        warnings.warn(read.deprecation, FutureWarning, stacklevel=2)
    asked_with = read.simulation_model_configuration
    settings = EnvironmentSettings(
        simulation_model=(read.simulation_model or ADKS_MODEL) if read.mock_tools else "",
        simulation_model_configuration=ADKS_MODEL_CONFIGURATION if asked_with is None else asked_with,
    )
    return _checked(
        {
            "rules": read.rules,
            "settings": settings,
            "environment_data": read.environment_data,
            "tracing": read.tracing,
            "players": dict.fromkeys(read.mock_tools, "model"),
            "listed": "real",
            "unlisted": "real",
            "stubs": "real",
            "seed": None,
            "seeded_chance": "shared",
        }
    )


def _of_mapping(document: dict[str, Any]) -> SimulatedEnvironmentConfig:
    if document.get("format") == rule_sets.FORMAT:
        return SimulatedEnvironmentConfig(rules=_rules(document))
    _check_head(document)
    fields = {name: value for name, value in document.items() if name not in _HEAD}
    if "rules" in fields:
        head = {"format": rule_sets.FORMAT, "version": rule_sets.VERSION, "name": ""}
        fields["rules"] = _rules({**head, "rules": fields["rules"]})
    return _checked(fields)


def _checked(fields: Mapping[str, Any]) -> SimulatedEnvironmentConfig:
    try:
        return validated(SimulatedEnvironmentConfig, dict(fields))
    except ValidationError as error:
        raise EnvironmentConfigError("\n".join(flaws(error, _complaint))) from error


def _rules(document: dict[str, Any]) -> tuple[InjectionRule, ...]:
    """Read rules as a set of them, whose errors name the rule."""
    rules = document.get("rules")
    if isinstance(rules, (list, tuple)):
        document = {**document, "rules": [_plain(rule) for rule in rules]}
    try:
        return read_rule_set(json.dumps(document)).rule_set.rules
    except (TypeError, ValueError, RuleSetError) as error:
        raise EnvironmentConfigError(str(error)) from error


def _plain(rule: object) -> object:
    return rule.model_dump(mode="json") if isinstance(rule, BaseModel) else rule


def _check_head(document: Mapping[str, Any]) -> None:
    written = document.get("format", FORMAT)
    if written != FORMAT:
        raise EnvironmentConfigError(
            f"this is neither an environment (format {FORMAT!r}) nor ADK's EnvironmentSimulationConfig: "
            f"format is {written!r:.80}"
        )
    version = document.get("version", VERSION)
    if isinstance(version, bool) or version != VERSION:
        raise EnvironmentConfigError(
            f"version {version!r:.40} is unknown; this studio reads version {VERSION}"
        )


def _complaint(flaw: ErrorDetails) -> str:
    said = complaint(flaw, (*SimulatedEnvironmentConfig.model_fields, *EnvironmentSettings.model_fields))
    if flaw["loc"] or not said.startswith("settings."):
        said = f"{'.'.join(map(str, flaw['loc'])) or 'the environment'}: {said}"
    return said


def write_environment_config(config: SimulatedEnvironmentConfig, form: RuleSetForm = "json") -> str:
    """Write a configuration as text that `read_environment_config` reads; what is as by default is left out."""
    rules: JsonValue = json.loads(write_rule_set(RuleSet(rules=config.rules)))["rules"]
    fields: JsonObject = config.model_dump(mode="json", exclude_defaults=True, exclude={"rules", "settings"})
    settings: JsonObject = config.settings.model_dump(mode="json", exclude_defaults=True)
    document: JsonObject = {"format": FORMAT, "version": VERSION}
    if config.rules:
        document["rules"] = rules
    if settings:
        document["settings"] = settings
    document |= fields
    return write_yaml(document) if form == "yaml" else write_json(document)
