"""Takes rules in from texts and gives them out: what a text holds, what this agent lacks for it, what a format loses. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, assert_never

from app.rules.rule_list import unused_name
from simulator.base.model_settings import server_settings, without_server_settings
from simulator.environment.injection.adk_config_text import TextForm, config_text
from simulator.environment.injection.adk_injection_config import ReadConfig
from simulator.environment.injection.rule_sets import RuleSet, RuleSetForm, write_rule_set
from simulator.environment.injection.rules import EVERY_TOOL, InjectionRule
from simulator.environment.recordings import ObservedCall, read_recording

if TYPE_CHECKING:
    from simulator.session import SimulationSession

Form: TypeAlias = Literal["own_json", "own_yaml", "adk_json", "adk_yaml", "adk_python"]

FORMS: dict[Form, str] = {
    "own_json": "Rule set (JSON)",
    "own_yaml": "Rule set (YAML)",
    "adk_json": "ADK simulation config (JSON)",
    "adk_yaml": "ADK simulation config (YAML)",
    "adk_python": "ADK simulation config (Python)",
}


class _Way(NamedTuple):
    form: TextForm
    file_name: str
    mime: str


_ADK: dict[str, _Way] = {
    "adk_json": _Way("json", "simulation.json", "application/json"),
    "adk_yaml": _Way("yaml", "simulation.yaml", "application/yaml"),
    "adk_python": _Way("python", "simulation.py", "text/x-python"),
}


class ExportedRules(NamedTuple):
    """Rules as a text; `losses` names what the format cannot hold."""

    text: str
    file_name: str
    mime: str
    language: str
    losses: tuple[str, ...] = ()


def exported(config: ReadConfig, form: Form, name: str) -> ExportedRules:
    """Write rules in one of the formats; what a configuration says beside them goes into ADK's formats only."""
    match form:
        case "own_json" | "own_yaml":
            kind: RuleSetForm = "json" if form == "own_json" else "yaml"
            text = write_rule_set(RuleSet(name=name, rules=config.rules), kind)
            return ExportedRules(text, f"rules.rules.{kind}", f"application/{kind}", kind)
        case "adk_json" | "adk_yaml" | "adk_python":
            way = _ADK[form]
            written = config_text(config, way.form)
            return ExportedRules(written.text, way.file_name, way.mime, way.form, tuple(written.losses))
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


class RestOfConfig(NamedTuple):
    """The parts of an ADK configuration other than its injections; `words` names each part, `unread` what cannot be used."""

    data: str = ""
    recorded: tuple[ObservedCall, ...] = ()
    settings: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it
    mock_tools: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def beside_rules(config: ReadConfig) -> RestOfConfig:
    """Sort out what an ADK configuration holds beside its injections."""
    recorded, unread = _recorded(config.tracing)
    configuration = config.simulation_model_configuration or {}
    refused = tuple(f"simulation_model_configuration.{each}" for each in server_settings(configuration))
    model = {
        "simulation_model": config.simulation_model,
        "simulation_model_configuration": without_server_settings(configuration),
    }
    said = {
        "environment data": bool(config.environment_data),
        f"{len(recorded)} recorded call{'' if len(recorded) == 1 else 's'}": bool(recorded),
        f"model {config.simulation_model}": bool(config.simulation_model),
        "model configuration": bool(model["simulation_model_configuration"]),
        f"{', '.join(config.mock_tools)} answered by the model": bool(config.mock_tools),
        config.deprecation: bool(config.deprecation),
    }
    return RestOfConfig(
        data=config.environment_data,
        recorded=recorded,
        settings={name: value for name, value in model.items() if value},
        mock_tools=config.mock_tools,
        words=tuple(words for words, there in said.items() if there),
        unread=(*unread, *refused),
    )


def _recorded(tracing: str) -> tuple[tuple[ObservedCall, ...], tuple[str, ...]]:
    if not tracing:
        return (), ()
    try:
        read = read_recording(tracing)
    except ValueError as error:
        return (), (f"tracing: {error}",)
    return read.calls, tuple(f"tracing: {problem}" for problem in read.problems)


def config_of(session: SimulationSession) -> ReadConfig:
    """Return what ADK has words for of a session's environment: its rules, model, data, and the tools that the model answers."""
    settings = session.environment.settings
    return ReadConfig(
        rules=session.rules,
        mock_tools=tuple(
            name for name, player in session.seats.tools.items() if player == "model" and name != EVERY_TOOL
        ),
        simulation_model=settings.simulation_model,
        simulation_model_configuration=settings.simulation_model_configuration or None,
        environment_data=session.environment.data,
    )
