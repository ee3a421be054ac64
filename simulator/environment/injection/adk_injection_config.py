"""Reads injection rules from ADK's `EnvironmentSimulationConfig`, and writes them back as one.

Our rules say more than ADK's injections: what is written comes with what got lost in it, in words (`WrittenConfig.losses`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Self, assert_never

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticSerializationError

from simulator.base import json_paths
from simulator.base.frozen_value import Number, Whole
from simulator.base.json_values import JsonObject, NotJsonError, copied, place_words, same
from simulator.base.validation_words import InputError, complaint, doubled, flaws, validated
from simulator.environment.injection.conditions import (
    AgentIs,
    AllOf,
    AnyOf,
    ArgumentIs,
    CallNumber,
    Condition,
    Equals,
    Expression,
    Not,
    WorldIs,
)
from simulator.environment.injection.rule_effects import (
    MAX_LATENCY_SECONDS,
    Effect,
    ErrorEffect,
    LatencySpread,
    LogNormalLatency,
    ResponseEffect,
    UniformLatency,
)
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule

_TOOLS = "tool_simulation_configs"
MOCK_STRATEGIES = {"MOCK_STRATEGY_UNSPECIFIED": 0, "MOCK_STRATEGY_TOOL_SPEC": 1, "MOCK_STRATEGY_TRACING": 2}
"""ADK's `MockStrategy`, by name. The last is deprecated, for the second with `tracing`."""
_READ_AS = "and is read as MOCK_STRATEGY_TOOL_SPEC with the configuration's tracing"


class EnvironmentConfigError(InputError):
    """A configuration cannot be read; the text names each tool, injection and field that is wrong."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class _Error(_Strict):
    injected_http_error_code: Whole
    error_message: str


class _Injection(_Strict):
    injection_probability: Number = Field(default=1.0, ge=0.0, le=1.0)
    match_args: JsonObject | None = None
    injected_latency_seconds: Number = Field(default=0.0, ge=0.0, le=MAX_LATENCY_SECONDS)
    random_seed: Whole | None = None
    injected_error: _Error | None = None
    injected_response: JsonObject | None = None

    @model_validator(mode="after")
    def _has_one_effect(self) -> Self:
        # ADK lets an empty response stand beside an error, and the error answers.
        if self.injected_error is not None and self.injected_response:
            raise ValueError("injected_error and injected_response are both set; set one")
        if self.injected_error is None and self.injected_response is None:
            raise ValueError("neither injected_error nor injected_response is set; set one")
        return self

    def effect(self) -> Effect:
        if self.injected_error is not None:
            error = self.injected_error
            return ErrorEffect(error_code=error.injected_http_error_code, error_message=error.error_message)
        return ResponseEffect(value=self.injected_response or {})


class _Tool(_Strict):
    tool_name: str = Field(min_length=1)
    injection_configs: tuple[_Injection, ...] = ()
    mock_strategy_type: int = 0

    @field_validator("mock_strategy_type", mode="before")
    @classmethod
    def _number_of(cls, strategy: object) -> int:
        value = getattr(strategy, "value", strategy)
        number = MOCK_STRATEGIES.get(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int) or number not in MOCK_STRATEGIES.values():
            raise ValueError(
                f"{strategy!r} is not a mock strategy; choose one of {', '.join(MOCK_STRATEGIES)}"
            )
        return number


class _Config(_Strict):
    tool_simulation_configs: tuple[_Tool, ...] = ()
    simulation_model: str = ""
    simulation_model_configuration: JsonObject | None = None
    tracing: str | None = None
    environment_data: str | None = None


class ReadConfig(NamedTuple):
    """What a configuration says.

    Attributes:
        rules: Its injections.
        mock_tools: The tools for which a model makes the answer where no injection does.
        listed_tools: All tools that it names; in ADK, any other tool runs for real.
        simulation_model: The model that makes those answers; empty where it is ADK's default.
        simulation_model_configuration: ADK's `GenerateContentConfig` in JSON, as far as it was set; None is ADK's default.
        environment_data: What the model is told of the environment, mostly a small database in JSON.
        tracing: Runs of the agent that the model is told of.
        deprecated_mocks: The mocked tools that it names ADK's deprecated strategy for.
    """

    rules: tuple[InjectionRule, ...] = ()
    mock_tools: tuple[str, ...] = ()
    listed_tools: tuple[str, ...] = ()
    simulation_model: str = ""
    simulation_model_configuration: JsonObject | None = None
    environment_data: str = ""
    tracing: str = ""
    deprecated_mocks: tuple[str, ...] = ()

    @property
    def deprecation(self) -> str:
        """What is to be said of the deprecated strategy; empty where it is not used."""
        names = ", ".join(self.deprecated_mocks)
        return f"{names}: MOCK_STRATEGY_TRACING is deprecated, {_READ_AS}" if names else ""


class WrittenConfig(NamedTuple):
    """A configuration in JSON for `EnvironmentSimulationConfig.model_validate`, and what it could not express."""

    config: JsonObject
    losses: list[str]


def rules_from_config(config: object) -> tuple[InjectionRule, ...]:
    """Read the injections of a configuration as rules, tool by tool, in order.

    The rule for the injection at index 2 of the tool `find_order` gets the id `find_order[2]`. What the
    configuration says beside injections (mock strategies, environment data) makes no rule.

    Args:
        config: ADK's `EnvironmentSimulationConfig`, or the same as a mapping.

    Raises:
        EnvironmentConfigError: A field is unknown or holds a bad value, two entries are for one tool, there are none, or one
            has neither an injection nor a mock strategy.
    """
    tools = _read(_tools_of(config)).tool_simulation_configs
    _check_tools(tools)
    return tuple(
        _rule(tool.tool_name, index, injection)
        for tool in tools
        for index, injection in enumerate(tool.injection_configs)
    )


def _check_tools(tools: Iterable[_Tool]) -> None:
    """Refuse what ADK's own class refuses: no tools at all, and a tool with neither an injection nor a mock."""
    if not tools:
        raise EnvironmentConfigError(f"{_TOOLS} is empty; list at least one tool")
    for tool in tools:
        if not tool.injection_configs and not tool.mock_strategy_type:
            raise EnvironmentConfigError(
                f"tool {tool.tool_name!r}: has neither injection_configs nor a mock_strategy_type; "
                "give it an injection, or MOCK_STRATEGY_TOOL_SPEC"
            )


def read_config(config: object) -> ReadConfig:
    """Read all that a configuration says.

    Args:
        config: ADK's `EnvironmentSimulationConfig`, or the same as a mapping.

    Raises:
        EnvironmentConfigError: As `rules_from_config`.
    """
    rules = rules_from_config(config)
    read = _read(_whole(config))
    tools = read.tool_simulation_configs
    return ReadConfig(
        rules=rules,
        mock_tools=tuple(tool.tool_name for tool in tools if tool.mock_strategy_type),
        listed_tools=tuple(tool.tool_name for tool in tools),
        simulation_model=read.simulation_model,
        simulation_model_configuration=read.simulation_model_configuration,
        environment_data=read.environment_data or "",
        tracing=read.tracing or "",
        deprecated_mocks=tuple(
            tool.tool_name
            for tool in tools
            if tool.mock_strategy_type == MOCK_STRATEGIES["MOCK_STRATEGY_TRACING"]
        ),
    )


def written_config(read: ReadConfig) -> WrittenConfig:
    """Write what `read_config` reads, and say in words what ADK has no word for."""
    names = dict.fromkeys((*read.listed_tools, *read.mock_tools))
    base: JsonObject = {
        _TOOLS: [{"tool_name": name, "mock_strategy_type": int(name in read.mock_tools)} for name in names]
    }
    for name in ("simulation_model", "environment_data", "tracing"):
        if value := getattr(read, name):
            base[name] = value
    if read.simulation_model_configuration is not None:
        base["simulation_model_configuration"] = copied(read.simulation_model_configuration)
    written = config_from_rules(read.rules, base)
    kept = _read(written.config).tool_simulation_configs
    lost = [name for name in names if name not in {tool.tool_name for tool in kept}]
    return WrittenConfig(
        written.config,
        [
            *written.losses,
            *filter(None, [read.deprecation]),
            *(
                f"tool {name!r} has neither an injection nor a mock, so it is left out: ADK refuses such an entry"
                for name in lost
            ),
        ],
    )


def config_from_rules(rules: Iterable[InjectionRule], base: object = None) -> WrittenConfig:
    """Write rules as a configuration that ADK reads, and say in words what ADK has no word for.

    Args:
        rules: The rules, in their order.
        base: A configuration whose settings beside its injections are kept (mock strategies, environment data).

    Raises:
        EnvironmentConfigError: `base` is no configuration that `rules_from_config` reads.
    """
    kept = _whole(base) if base is not None else {}
    lost: list[str] = []
    injections: dict[str, list[JsonValue]] = {}
    for rule in rules:
        if reason := unwritable(rule):
            lost.append(reason)
            continue
        written = injections.setdefault(rule.tool_name, [])
        lost += losses(rule, _rule_id(rule.tool_name, len(written)))
        written.append(injection(rule))
    tools: list[JsonValue] = [*_tools(injections, kept)]
    if not tools:
        lost.append("no injections are left, and ADK refuses a configuration without tools")
    return WrittenConfig({**kept, _TOOLS: tools}, lost)


def _read(document: JsonObject) -> _Config:
    try:
        read: _Config = validated(_Config, document)
    except ValidationError as error:
        words = flaws(error, lambda flaw: f"{_place(flaw['loc'], document)}: {complaint(flaw, _KNOWN)}")
        raise EnvironmentConfigError("\n".join(words)) from error
    if twice := doubled(tool.tool_name for tool in read.tool_simulation_configs):
        raise EnvironmentConfigError(f"{_TOOLS} has two entries for {twice}")
    return read


def _tools_of(config: object) -> JsonObject:
    """Take out the tools with their values as they are: JSON mode would turn NaN into null."""
    if isinstance(config, BaseModel) and _TOOLS in type(config).model_fields:
        return config.model_dump(exclude_unset=True, include={_TOOLS})
    return _mapping(config)


def _whole(config: object) -> JsonObject:
    if isinstance(config, BaseModel) and _TOOLS in type(config).model_fields:
        try:
            config = config.model_dump(mode="json", exclude_unset=True)
        except PydanticSerializationError as error:
            raise EnvironmentConfigError(f"the environment simulation config is not JSON: {error}") from error
    document = _mapping(config)
    _read(document)
    try:
        whole: JsonObject = copied(document)
    except NotJsonError as error:
        raise EnvironmentConfigError(f"the environment simulation config is {error}") from error
    return whole


def _mapping(config: object) -> JsonObject:
    if isinstance(config, Mapping):
        return dict(config)
    raise EnvironmentConfigError(
        f"an environment simulation config must be ADK's EnvironmentSimulationConfig or a mapping, "
        f"not {type(config).__name__}"
    )


def _rule_id(tool_name: str, index: int) -> str:
    return f"{tool_name}[{index}]"


def _rule(tool_name: str, index: int, injection: _Injection) -> InjectionRule:
    return InjectionRule(
        rule_id=_rule_id(tool_name, index),
        tool_name=tool_name,
        effect=injection.effect(),
        probability=injection.injection_probability,
        match_args=injection.match_args,
        latency_seconds=injection.injected_latency_seconds,
        random_seed=injection.random_seed,
    )


_KNOWN = [name for model in (_Config, _Tool, _Injection, _Error) for name in model.model_fields]


def _place(loc: tuple[int | str, ...], document: JsonObject) -> str:
    """Name a place for a person: `tool 'find_order', injection 2: match_args`."""
    match loc:
        case (str(field), int(index), *rest) if field == _TOOLS:
            tool = f"tool {_tool_name(document, index)}"
        case _:
            return place_words(loc) or "the config"
    match rest:
        case ["injection_configs", int(number), *inner]:
            return ": ".join([f"{tool}, injection {number}", *_joined(inner)])
        case inner:
            return ": ".join([tool, *_joined(inner)])


def _joined(field: Iterable[int | str]) -> list[str]:
    text = place_words(field)
    return [text] if text else []


def _tool_name(document: JsonObject, index: int) -> str:
    tools = document.get(_TOOLS)
    tool = tools[index] if isinstance(tools, list) and index < len(tools) else None
    name = tool.get("tool_name") if isinstance(tool, dict) else None
    return f"{name!r:.80}" if isinstance(name, str) and name else f"at index {index}"


def _tools(injections: Mapping[str, list[JsonValue]], base: JsonObject) -> Iterator[JsonObject]:
    """Yield one entry for each tool: those of the base in its order, then the others."""
    left = dict(injections)
    tools = base.get(_TOOLS)
    for tool in tools if isinstance(tools, list) else []:
        if not isinstance(tool, dict):
            continue
        written = left.pop(str(tool.get("tool_name")), [])
        kept: JsonObject = {name: value for name, value in tool.items() if name != "injection_configs"}
        if written:
            yield {**kept, "injection_configs": written}
        elif _Tool.model_validate(kept).mock_strategy_type:
            yield kept
    for tool_name, written in left.items():
        yield {"tool_name": tool_name, "injection_configs": written}


def unwritable(rule: InjectionRule) -> str | None:
    """Return why ADK cannot have a rule at all; None where it can."""
    reason = next(_obstacles(rule), None)
    return f"rule {rule.rule_id!r} {reason}; it is left out" if reason else None


def losses(rule: InjectionRule, reads_back_as: str) -> Iterator[str]:
    """Return what gets lost or changes in a rule that ADK can have."""
    name = f"rule {rule.rule_id!r}"
    if rule.rule_id != reads_back_as:
        yield f"{name} loses its id; it reads back as {reads_back_as!r}"
    if rule.label:
        yield f"{name} loses its label, {rule.label!r}"
    if rule.latency is not None:
        told, kept = _latency(rule.latency)
        yield f"{name} has a random latency ({told}), but ADK supports only fixed ones; it is written as {kept:g} s"
    if rule.random_seed is None and 0.0 < rule.probability < 1.0:
        yield f"{name} has no random_seed, so ADK draws differently in each run"
    if isinstance(rule.effect, ErrorEffect) and rule.effect.details:
        yield f"{name} returns more fields than ADK's error has; it is written as a fixed response with the same fields"
    if any(map(_is_loose, (_match_args(rule) or {}).values())):
        yield f"{name} matches a boolean, 0 or 1 exactly; ADK takes true for 1 and false for 0"


def injection(rule: InjectionRule) -> JsonObject:
    """Write a rule that is not `unwritable` as an `InjectionConfig`."""
    written: JsonObject = {"injection_probability": rule.probability}
    if (match_args := _match_args(rule)) is not None:
        written["match_args"] = copied(match_args)
    latency = _latency(rule.latency)[1] if rule.latency is not None else rule.latency_seconds
    if latency:
        written["injected_latency_seconds"] = latency
    if rule.random_seed is not None:
        written["random_seed"] = rule.random_seed
    effect = rule.effect
    if isinstance(effect, ErrorEffect) and not effect.details:
        return {
            **written,
            "injected_error": {
                "injected_http_error_code": effect.error_code,
                "error_message": effect.error_message,
            },
        }
    if isinstance(effect, ErrorEffect | ResponseEffect):
        return {**written, "injected_response": effect.response()}
    raise ValueError(unwritable(rule))


def _obstacles(rule: InjectionRule) -> Iterator[str]:
    effect = rule.effect
    if not rule.enabled:
        yield "is switched off, which ADK does not support"
    if rule.tool_name == EVERY_TOOL:
        yield "applies to every tool, but an injection of ADK applies to one"
    if not isinstance(effect, ErrorEffect | ResponseEffect):
        yield f"has the effect {effect.kind!r}, but ADK supports only errors and fixed responses"
    elif effect.templated and _has_template(effect.response()):
        yield "has a response with placeholders, which ADK would not fill in"
    elif not effect.response():
        yield "returns {}, which ADK refuses"
    if rule.when is not None and _match_args(rule) is None:
        yield f"depends on {', '.join(sorted(_asked(rule.when)))}, but ADK supports only match_args"


def _match_args(rule: InjectionRule) -> JsonObject | None:
    """Return `match_args`, with what `when` asks for where that is the same in other words; None where it is not."""
    if rule.when is None:
        return rule.match_args
    wanted = dict(rule.match_args or {})
    for name, value in _equal(rule.when):
        if name is None or (name in wanted and not same(wanted[name], value)):
            return None
        wanted[name] = value
    return wanted


def _equal(condition: Condition) -> Iterator[tuple[str | None, JsonValue]]:
    """Yield the arguments at the top level that have to equal a value; no name for a condition of another kind."""
    match condition:
        case AllOf(conditions=conditions):
            for each in conditions:
                yield from _equal(each)
        case ArgumentIs(path=path, test=Equals(value=value)):
            steps = json_paths.parse(path).steps
            yield (steps[0] if len(steps) == 1 and isinstance(steps[0], str) else None), value
        case _:
            yield None, None


def _asked(condition: Condition) -> set[str]:
    """Return what a condition asks for that ADK has no word for."""
    match condition:
        case AllOf(conditions=conditions):
            return set[str]().union(*map(_asked, conditions))
        case AnyOf():
            words = "any of several conditions"
        case Not():
            words = "a negated condition"
        case ArgumentIs(path=path, test=test):
            plain = [name for name, _ in _equal(condition) if name is not None]
            words = f"the argument {path} ({test.test})" if not plain else f"the argument {path}"
        case CallNumber():
            words = "the call number"
        case WorldIs():
            words = "the world"
        case Expression():
            words = "an expression"
        case AgentIs():
            words = "the agent or its branch"
        case _:
            assert_never(condition)
    return {words}


def _latency(spread: LatencySpread) -> tuple[str, float]:
    """Say a spread in words, and return the middle of it in seconds."""
    match spread:
        case UniformLatency(low=low, high=high):
            return f"{low:g} to {high:g} s", (low + high) / 2
        case LogNormalLatency(median=median, sigma=sigma):
            return f"log-normal, median {median:g} s, sigma {sigma:g}", median
    assert_never(spread)


def _has_template(value: JsonValue) -> bool:
    match value:
        case dict():
            return any("{{" in name or _has_template(inner) for name, inner in value.items())
        case list():
            return any(map(_has_template, value))
        case _:
            return isinstance(value, str) and "{{" in value


def _is_loose(value: JsonValue) -> bool:
    match value:
        case dict():
            return any(map(_is_loose, value.values()))
        case list():
            return any(map(_is_loose, value))
        case bool() | int() | float():
            return value in {0, 1}
        case _:
            return False
