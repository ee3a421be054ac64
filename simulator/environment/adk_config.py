"""Reads injection rules from ADK's `EnvironmentSimulationConfig`, and writes them back as one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator
from pydantic_core import ErrorDetails

from simulator.environment.rules import (
    MAX_LATENCY_SECONDS,
    Effect,
    ErrorEffect,
    InjectionRule,
    ResponseEffect,
)
from simulator.jsonvalue import JsonObject, NotJsonError, copied

_TOOLS = "tool_simulation_configs"
_UNSPECIFIED = 0
"""ADK's `MockStrategy.MOCK_STRATEGY_UNSPECIFIED`."""


class EnvironmentConfigError(ValueError):
    """A configuration cannot be read; the text names each tool, injection and field that is wrong."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class _Error(_Strict):
    injected_http_error_code: int
    error_message: str


class _Injection(_Strict):
    injection_probability: float = Field(default=1.0, ge=0.0, le=1.0)
    match_args: JsonObject | None = None
    injected_latency_seconds: float = Field(default=0.0, ge=0.0, le=MAX_LATENCY_SECONDS)
    random_seed: int | None = None
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
    mock_strategy_type: Any = _UNSPECIFIED


class _Config(_Strict):
    tool_simulation_configs: tuple[_Tool, ...] = ()
    simulation_model: str = ""
    simulation_model_configuration: Any = None
    tracing: str | None = None
    environment_data: str | None = None


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
        EnvironmentConfigError: A field is unknown or holds a bad value, or two entries are for one tool.
    """
    return tuple(
        _rule(tool.tool_name, index, injection)
        for tool in _read(_injections_of(config)).tool_simulation_configs
        for index, injection in enumerate(tool.injection_configs)
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
    losses: list[str] = []
    injections: dict[str, list[JsonValue]] = {}
    for rule in rules:
        if reason := _unwritable(rule):
            losses.append(reason)
            continue
        written = injections.setdefault(rule.tool_name, [])
        losses += _differences(rule, _rule_id(rule.tool_name, len(written)))
        written.append(_injection(rule))
    tools: list[JsonValue] = [*_tools(injections, kept)]
    if not tools:
        losses.append("no injection is left, and ADK refuses a configuration without tools")
    return WrittenConfig({**kept, _TOOLS: tools}, losses)


def _read(document: JsonObject) -> _Config:
    try:
        read = _Config.model_validate(document)
    except ValidationError as error:
        raise EnvironmentConfigError("\n".join(_complaints(error, document))) from error
    names = [tool.tool_name for tool in read.tool_simulation_configs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise EnvironmentConfigError(f"{_TOOLS} has two entries for {', '.join(map(repr, twice))}")
    return read


def _injections_of(config: object) -> JsonObject:
    """Take out what rules are made of, as it is: JSON mode would turn NaN into null."""
    if isinstance(config, BaseModel) and _TOOLS in type(config).model_fields:
        each = {"__all__": {"tool_name", "injection_configs"}}
        return config.model_dump(exclude_unset=True, include={_TOOLS: each})
    return _mapping(config)


def _whole(config: object) -> JsonObject:
    if isinstance(config, BaseModel) and _TOOLS in type(config).model_fields:
        config = config.model_dump(mode="json", exclude_unset=True)
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
        f"this is no environment simulation config but of type {type(config).__name__}; "
        "give ADK's EnvironmentSimulationConfig or a mapping"
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


def _complaints(error: ValidationError, document: JsonObject) -> Iterator[str]:
    for detail in error.errors(include_url=False, include_context=False):
        yield f"{_place(detail['loc'], document)}: {_complaint(detail)}"


def _complaint(detail: ErrorDetails) -> str:
    got = f"got {detail['input']!r:.80}"
    match detail["type"]:
        case "extra_forbidden":
            return f"unknown field{_suggestion(str(detail['loc'][-1]))}"
        case "missing":
            return "this field is required"
        case "value_error":
            return detail["msg"].removeprefix("Value error, ")
        case "model_type":
            return f"Input should be an object, {got}"
        case "tuple_type":
            return f"Input should be a list, {got}"
        case _:
            return f"{detail['msg']}, {got}"


def _suggestion(field: str) -> str:
    known = [name for model in (_Config, _Tool, _Injection, _Error) for name in model.model_fields]
    near = difflib.get_close_matches(field, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _place(loc: tuple[int | str, ...], document: JsonObject) -> str:
    """Name a place for a person: `tool 'find_order', injection 2: match_args`."""
    match loc:
        case (str(field), int(index), *rest) if field == _TOOLS:
            tool = f"tool {_tool_name(document, index)}"
        case _:
            return ".".join(map(str, loc)) or "the config"
    match rest:
        case ["injection_configs", int(number), *inner]:
            return ": ".join([f"{tool}, injection {number}", *_joined(inner)])
        case inner:
            return ": ".join([tool, *_joined(inner)])


def _joined(field: Iterable[int | str]) -> list[str]:
    text = ".".join(map(str, field))
    return [text] if text else []


def _tool_name(document: JsonObject, index: int) -> str:
    tools = document.get(_TOOLS)
    tool = tools[index] if isinstance(tools, list) and index < len(tools) else None
    name = tool.get("tool_name") if isinstance(tool, dict) else None
    return repr(name) if isinstance(name, str) and name else f"at index {index}"


def _unwritable(rule: InjectionRule) -> str | None:
    if not rule.enabled:
        return f"rule {rule.rule_id!r} is switched off, which ADK cannot say; it is left out"
    if not isinstance(rule.effect, ErrorEffect | ResponseEffect):
        return f"rule {rule.rule_id!r} has an effect of the kind {rule.effect.kind!r}, which ADK cannot say; it is left out"
    if isinstance(rule.effect, ResponseEffect) and not rule.effect.value:
        return f"rule {rule.rule_id!r} answers {{}}, which ADK refuses; it is left out"
    return None


def _differences(rule: InjectionRule, reads_back_as: str) -> Iterator[str]:
    if rule.rule_id != reads_back_as:
        yield f"rule {rule.rule_id!r} loses its id; it reads back as {reads_back_as!r}"
    if rule.random_seed is None and 0.0 < rule.probability < 1.0:
        yield f"rule {rule.rule_id!r} has no random_seed, so in ADK each run draws differently"
    if any(map(_is_loose, (rule.match_args or {}).values())):
        yield f"rule {rule.rule_id!r} matches a boolean, 0 or 1 exactly; ADK takes true for 1 and false for 0"


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


def _injection(rule: InjectionRule) -> JsonObject:
    written: JsonObject = {"injection_probability": rule.probability}
    if rule.match_args is not None:
        written["match_args"] = copied(rule.match_args)
    if rule.latency_seconds:
        written["injected_latency_seconds"] = rule.latency_seconds
    if rule.random_seed is not None:
        written["random_seed"] = rule.random_seed
    if isinstance(rule.effect, ErrorEffect):
        effect = rule.effect
        error: JsonObject = {
            "injected_http_error_code": effect.error_code,
            "error_message": effect.error_message,
        }
        return {**written, "injected_error": error}
    if isinstance(rule.effect, ResponseEffect):
        return {**written, "injected_response": rule.effect.response()}
    raise TypeError(f"ADK has no word for {rule.effect.kind!r}")


def _tools(injections: Mapping[str, list[JsonValue]], base: JsonObject) -> Iterator[JsonObject]:
    """Give one entry for each tool: those of the base in its order, then the others."""
    left = dict(injections)
    tools = base.get(_TOOLS)
    for tool in tools if isinstance(tools, list) else []:
        if not isinstance(tool, dict):
            continue
        written = left.pop(str(tool.get("tool_name")), [])
        kept: JsonObject = {name: value for name, value in tool.items() if name != "injection_configs"}
        if written:
            yield {**kept, "injection_configs": written}
        elif tool.get("mock_strategy_type", _UNSPECIFIED) != _UNSPECIFIED:
            yield kept
    for tool_name, written in left.items():
        yield {"tool_name": tool_name, "injection_configs": written}
