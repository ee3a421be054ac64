"""Takes rules in from texts and gives them out: what a text holds, what this agent lacks for it, what a format loses. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias, assert_never

from app.rules import unused_name
from simulator.environment.adk_config import ReadConfig
from simulator.environment.adk_text import config_text
from simulator.environment.rule_sets import RuleSet, write_rule_set
from simulator.environment.rules import EVERY_TOOL, InjectionRule

Form: TypeAlias = Literal["own_json", "own_yaml", "adk_json", "adk_yaml", "adk_python"]

FORMS: dict[Form, str] = {
    "own_json": "Rule set (JSON)",
    "own_yaml": "Rule set (YAML)",
    "adk_json": "ADK simulation config (JSON)",
    "adk_yaml": "ADK simulation config (YAML)",
    "adk_python": "ADK simulation config (Python)",
}


class Exported(NamedTuple):
    """Rules as a text; `losses` says what the format has no word for."""

    text: str
    file_name: str
    mime: str
    language: str
    losses: tuple[str, ...] = ()


def exported(rules: Sequence[InjectionRule], form: Form, name: str) -> Exported:
    """Write rules in one of the formats."""
    match form:
        case "own_json":
            text = write_rule_set(RuleSet(name=name, rules=tuple(rules)))
            return Exported(text, "rules.rules.json", "application/json", "json")
        case "own_yaml":
            text = write_rule_set(RuleSet(name=name, rules=tuple(rules)), "yaml")
            return Exported(text, "rules.rules.yaml", "application/yaml", "yaml")
        case "adk_json":
            written = config_text(ReadConfig(rules=tuple(rules)), "json")
            return Exported(
                written.text, "simulation.json", "application/json", "json", tuple(written.losses)
            )
        case "adk_yaml":
            written = config_text(ReadConfig(rules=tuple(rules)), "yaml")
            return Exported(
                written.text, "simulation.yaml", "application/yaml", "yaml", tuple(written.losses)
            )
        case "adk_python":
            written = config_text(ReadConfig(rules=tuple(rules)), "python")
            return Exported(written.text, "simulation.py", "text/x-python", "python", tuple(written.losses))
        case never:
            assert_never(never)


def appended(rules: Sequence[InjectionRule], more: Iterable[InjectionRule]) -> tuple[InjectionRule, ...]:
    """Put rules behind those that are there; one whose id is taken gets the next free one."""
    all_of_them = list(rules)
    for rule in more:
        taken = {each.rule_id for each in all_of_them}
        free = rule.rule_id if rule.rule_id not in taken else unused_name(rule.rule_id, taken)
        all_of_them.append(rule.model_copy(update={"rule_id": free}))
    return tuple(all_of_them)


def missing_tools(rules: Iterable[InjectionRule], known: Iterable[str]) -> tuple[str, ...]:
    """Name the tools of rules that are not among the known ones."""
    there = {*known, EVERY_TOOL}
    return tuple(dict.fromkeys(rule.tool_name for rule in rules if rule.tool_name not in there))


def beside_rules(config: ReadConfig) -> tuple[str, ...]:
    """Say what an ADK configuration holds beside its injections, which no rule can take over."""
    said = {
        f"a model answers {', '.join(config.mock_tools)}": bool(config.mock_tools),
        "environment_data": bool(config.environment_data),
        "tracing": bool(config.tracing),
        f"the model {config.simulation_model}": bool(config.simulation_model),
        "the configuration of its model": bool(config.simulation_model_configuration),
    }
    return tuple(words for words, there in said.items() if there)
