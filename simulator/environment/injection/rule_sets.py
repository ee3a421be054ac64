"""Reads and writes named sets of injection rules in the studio's own format, a superset of what ADK can say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias, get_args

from pydantic import BaseModel, JsonValue, ValidationError

from simulator.base.documents import DocumentError, read_document, write_json, write_yaml
from simulator.base.json_values import JsonObject, place_words
from simulator.base.validation_words import InputError, complaint, doubled, flaws, shortened, validated
from simulator.environment.environment_value import FiniteValue
from simulator.environment.injection import conditions, distortions, rule_effects
from simulator.environment.injection.adk_config_text import is_code, read_config_text
from simulator.environment.injection.adk_injection_config import (
    EnvironmentConfigError,
    ReadConfig,
    read_config,
)
from simulator.environment.injection.rules import InjectionRule

FORMAT = "golden-trace-studio/rules"
VERSION = 1

_ADK = "tool_simulation_configs"
_FIELDS = ("format", "version", "name", "description", "rules")

RuleSetForm: TypeAlias = Literal["json", "yaml"]


class RuleSetError(InputError):
    """A set of rules cannot be read; the text names each rule and field that is wrong."""


class RuleSet(FiniteValue):
    """Rules under a name."""

    name: str = ""
    description: str = ""
    rules: tuple[InjectionRule, ...] = ()


class ReadRules(NamedTuple):
    """A set that was read; `adk` holds all that an ADK configuration said, where the text was one."""

    rule_set: RuleSet
    adk: ReadConfig | None = None


def write_rule_set(rule_set: RuleSet, form: RuleSetForm = "json") -> str:
    """Write a set as text. What a rule leaves as it is by default is left out."""
    document: JsonObject = {"format": FORMAT, "version": VERSION, "name": rule_set.name}
    if rule_set.description:
        document["description"] = rule_set.description
    document["rules"] = [_written(rule) for rule in rule_set.rules]
    return write_yaml(document) if form == "yaml" else write_json(document)


def read_rule_set(text: str, tool_name: str = "") -> ReadRules:
    """Read a set from JSON or YAML; ADK's configuration, as JSON, YAML or Python code, is recognised and read too.

    Args:
        text: The text.
        tool_name: The tool of injections in code that names none.

    Raises:
        RuleSetError: It cannot be read; the text says which rule and which field, or at which line.
    """
    try:
        if is_code(text):
            return _of_adk(read_config_text(text, tool_name))
        document = read_document(text, "rules")
        if isinstance(document, dict) and _ADK in document:
            return _of_adk(read_config(document))
    except (DocumentError, EnvironmentConfigError) as error:
        raise RuleSetError(str(error)) from error
    if not isinstance(document, dict):
        raise RuleSetError(f"a rule set must be an object, not {type(document).__name__}")
    _check_head(document)
    rules = _read_rules(document["rules"])
    head = {name: document.get(name, "") for name in ("name", "description")}
    for name, value in head.items():
        if not isinstance(value, str):
            raise RuleSetError(f"{name}: Input should be a text, got {value!r:.80}")
    return ReadRules(RuleSet(name=str(head["name"]), description=str(head["description"]), rules=rules))


def _of_adk(config: ReadConfig) -> ReadRules:
    return ReadRules(RuleSet(rules=config.rules), config)


def _written(rule: InjectionRule) -> JsonValue:
    written: JsonObject = rule.model_dump(mode="json", exclude_defaults=True)
    return _with_kinds(rule, written)


def _with_kinds(value: object, written: JsonValue) -> JsonValue:
    """Put the kinds of values back, which are their defaults and yet have to be said."""
    if isinstance(value, BaseModel) and isinstance(written, dict):
        kinds = {name: str(getattr(value, name)) for name in ("kind", "test") if _is_kind(value, name)}
        inner = {name: _with_kinds(getattr(value, name), item) for name, item in written.items()}
        return {**kinds, **inner}
    if isinstance(value, tuple) and isinstance(written, list):
        return [_with_kinds(one, item) for one, item in zip(value, written, strict=True)]
    return written


def _is_kind(value: BaseModel, name: str) -> bool:
    return name in type(value).model_fields and isinstance(getattr(value, name), str)


def _check_head(document: JsonObject) -> None:
    if document.get("format") != FORMAT:
        raise RuleSetError(
            f"this is neither a rule set (format {FORMAT!r}) nor ADK's EnvironmentSimulationConfig: "
            f"format is {document.get('format')!r:.80}"
        )
    version = document.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise RuleSetError(f"version {version!r:.40} is unknown; this studio reads version {VERSION}")
    if unknown := [name for name in document if name not in _FIELDS]:
        raise RuleSetError(
            f"{shortened(', '.join(unknown))}: unknown field; the fields are {', '.join(_FIELDS)}"
        )
    if "rules" not in document:
        raise RuleSetError("rules: this field is required")


def _read_rules(value: JsonValue) -> tuple[InjectionRule, ...]:
    try:
        rules: tuple[InjectionRule, ...] = validated(tuple[InjectionRule, ...], value)
    except ValidationError as error:
        raise RuleSetError(
            "\n".join(flaws(error, lambda flaw: f"{_place(flaw['loc'], value)}: {complaint(flaw, _NAMES)}"))
        ) from error
    if twice := doubled(rule.rule_id for rule in rules):
        raise RuleSetError(f"rules: two rules have the rule_id {twice}")
    return rules


# ---------------------------------------------------------------- what is wrong, and where


def _place(loc: tuple[int | str, ...], rules: JsonValue) -> str:
    """Name a place for a person: `rule 'slow' (number 2): when.conditions.0.path`."""
    if not loc or not isinstance(loc[0], int) or not isinstance(rules, list):
        return "rules"
    rule = rules[loc[0]]
    name = rule.get("rule_id") if isinstance(rule, dict) else None
    named = (
        f"rule {name!r:.80} (number {loc[0] + 1})" if isinstance(name, str) else f"rule number {loc[0] + 1}"
    )
    field = place_words(_without_kinds(loc[1:]))
    return f"{named}: {field}" if field else named


def _without_kinds(loc: tuple[int | str, ...]) -> Iterator[int | str]:
    """Leave out the kinds that pydantic puts behind the name of each field that has one of several kinds."""
    before: tuple[int | str, ...] = ()
    for part in loc:
        has_kinds = before[-1:] and (before[-1] in _HAVE_KINDS or before[-2:-1] == ("conditions",))
        if part not in _KINDS or not has_kinds:
            yield part
        before = (*before, part)


_HAVE_KINDS = frozenset({"effect", "when", "latency", "condition", "test"})
_MODELS: list[type[BaseModel]] = [
    model
    for module in (conditions, rule_effects, distortions)
    for model in vars(module).values()
    if isinstance(model, type) and issubclass(model, FiniteValue)
]
_KINDS = frozenset(
    kind
    for model in _MODELS
    for name in ("kind", "test")
    if name in model.model_fields
    for kind in get_args(model.model_fields[name].annotation)
)
_NAMES = sorted({*InjectionRule.model_fields, *(name for model in _MODELS for name in model.model_fields)})
