"""Tests of ADK's configuration as text: JSON, YAML, and Python code that is read without being run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from google.adk.tools.environment_simulation.environment_simulation_config import EnvironmentSimulationConfig
from hypothesis import given
from hypothesis import strategies as st

from simulator.base.json_values import JsonObject
from simulator.environment.injection.adk_config_text import TextForm, config_text, read_config_text
from simulator.environment.injection.adk_injection_config import (
    EnvironmentConfigError,
    ReadConfig,
    read_config,
)
from simulator.environment.injection.rule_effects import ErrorEffect, ResponseEffect
from simulator.environment.injection.rules import InjectionRule
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drawn_json import PLAIN, json_values

FORMS: tuple[TextForm, ...] = ("json", "yaml", "python")
IMPORTS = """
import json
from google.adk.tools.environment_simulation.environment_simulation_config import *
from google.genai import types
"""


def read_by_adk(text: str, form: TextForm) -> EnvironmentSimulationConfig:
    """Read a text as a user of ADK would."""
    if form == "json":
        return EnvironmentSimulationConfig.model_validate_json(text)
    if form == "yaml":
        return EnvironmentSimulationConfig.model_validate(yaml.safe_load(text))
    space: dict[str, Any] = {}
    exec(text, space)  # noqa: S102 - the code is what we have just written, and a person would run it
    config = space["config"]
    assert isinstance(config, EnvironmentSimulationConfig)
    return config


def read(**more: Any) -> ReadConfig:
    """Return a configuration that uses every field."""
    rules = (
        InjectionRule(
            rule_id="pay[0]",
            tool_name="pay",
            effect=ErrorEffect(error_code=503, error_message='a "quoted" \\ line\nand another'),
            probability=0.25,
            match_args={"order_id": "A-1", "deep": {"n": [1.5, None, "no"]}},
            latency_seconds=1.5,
            random_seed=7,
        ),
        InjectionRule(rule_id="pay[1]", tool_name="pay", effect=ResponseEffect(value={"status": "ok"})),
    )
    fields: dict[str, Any] = {
        "rules": rules,
        "mock_tools": ("search",),
        "listed_tools": ("search", "pay"),
        "simulation_model": "some-model",
        "simulation_model_configuration": {"temperature": 0.5, "thinking_config": {"thinking_budget": 16}},
        "environment_data": '{"orders": [{"id": "A-1"}]}',
        "tracing": "[]",
    }
    return ReadConfig(**{**fields, **more})


@for_each("form", FORMS)
def test_all_that_a_configuration_says_survives_as_text(form: TextForm) -> None:
    """Written and read back, nothing is lost; and ADK takes each form for the same configuration."""
    text, losses = config_text(read(), form)
    assert losses == []
    assert read_config_text(text) == read()
    by_adk = read_by_adk(text, form)
    assert by_adk == read_by_adk(config_text(read(), "json").text, "json")
    assert read_config(by_adk) == read()


_texts = st.text(max_size=8) | st.sampled_from(
    ["no", "1e3", "2024-01-01", "~", "0x1F", "a: b", "- x", "'", '"""']
)
_values = json_values(PLAIN | st.integers(-(2**70), 2**70) | _texts, _texts)


@given(
    arguments=st.dictionaries(_texts, _values, max_size=3),
    response=st.dictionaries(_texts, _values, min_size=1, max_size=3),
)
def test_every_value_survives_in_every_form(arguments: JsonObject, response: JsonObject) -> None:
    """No text is taken for a date, a number or a word such as `no`, by ADK's own reader neither."""
    rule = InjectionRule(
        rule_id="t[0]", tool_name="t", match_args=arguments, effect=ResponseEffect(value=response)
    )
    expected = ReadConfig(rules=(rule,), listed_tools=("t",))
    for form in FORMS:
        text = config_text(expected, form).text
        assert read_config_text(text) == expected
        (tool,) = read_by_adk(text, form).tool_simulation_configs
        (injection,) = tool.injection_configs
        assert repr(injection.match_args) == repr(arguments)
        assert repr(injection.injected_response) == repr(response)


def test_code_as_the_documentation_has_it_is_read() -> None:
    """Names for literals and for parts, `json.dumps`, genai's classes and the members of the enumeration."""
    code = f"""{IMPORTS}
db = {{"products": [{{"id": "P-1", "price": -1.5}}]}}
failing: object = InjectionConfig(
    match_args={{"sku": "OOS-001"}},
    injected_error=InjectedError(injected_http_error_code=503, error_message="a" "b"),
    random_seed=7, injection_probability=0.2,
)
config = EnvironmentSimulationConfig(
    tool_simulation_configs=[
        ToolSimulationConfig(tool_name="stock", injection_configs=[failing]),
        ToolSimulationConfig(tool_name="search", mock_strategy_type=MockStrategy.MOCK_STRATEGY_TOOL_SPEC),
    ],
    simulation_model="m",
    simulation_model_configuration=types.GenerateContentConfig(
        temperature=0.5, thinking_config=types.ThinkingConfig(thinking_budget=16)
    ),
    environment_data=json.dumps(db),
)
"""
    found = read_config_text(code)
    assert found == read_config(read_by_adk(code, "python"))
    assert found.mock_tools == ("search",)
    assert found.environment_data == '{"products": [{"id": "P-1", "price": -1.5}]}'
    (rule,) = found.rules
    assert (rule.rule_id, rule.match_args) == ("stock[0]", {"sku": "OOS-001"})


TOOLS = 'tool_simulation_configs=[ToolSimulationConfig(tool_name="t", mock_strategy_type=MockStrategy.MOCK_STRATEGY_TOOL_SPEC)]'


@for_each(
    ("code", "complaint"),
    [
        ("config = EnvironmentSimulationConfig(", "not Python code"),
        ("a = 1\nc = m.InjectionConfig()", "line 2: this InjectionConfig is for no tool.*tool_name"),
        (f"a = EnvironmentSimulationConfig({TOOLS})\nb = EnvironmentSimulationConfig({TOOLS})", "creates 2, on lines 1, 2"),
        ("x = EnvironmentSimulationConfig(tool_simulation_configs=load())", "line 1: .*'load\\(\\)'"),
        ("x = EnvironmentSimulationConfig(\n  environment_data=open('f').read())", "line 2: .*open"),
        ("x = EnvironmentSimulationConfig(tracing=f'{1}')", "code runs"),
        ("x = EnvironmentSimulationConfig([])", "by name"),
        ("x = EnvironmentSimulationConfig(**fields)", "by name"),
        ("a = []\na.append(1)\nx = EnvironmentSimulationConfig(tool_simulation_configs=a)", "changes it"),
        ("a = 'x'\na = 'y'\nx = EnvironmentSimulationConfig(tracing=a)", "changes it"),
        ("a = [a]\nx = EnvironmentSimulationConfig(tool_simulation_configs=a)", "refers to itself"),
        (f"x = EnvironmentSimulationConfig({TOOLS}, tracking='x')", "'tracing'"),
        ("x = EnvironmentSimulationConfig(tracing=" + "(" * 90 + "1" + ")" * 90 + ")", "tracing"),
    ],
)  # fmt: skip
def test_code_that_only_running_would_explain_is_refused(code: str, complaint: str) -> None:
    """The complaint names the line and what stands there."""
    with pytest.raises(EnvironmentConfigError, match=complaint):
        read_config_text(code)


def test_the_parts_of_a_configuration_are_read_alone() -> None:
    """Tools are a configuration of them, in order; injections are for the tool that is named."""
    fails = 'InjectionConfig(match_args={"n": 1}, injected_response={"ok": False})'
    tools = f'ToolSimulationConfig(tool_name="a", injection_configs=[{fails}])\nToolSimulationConfig(tool_name="b", mock_strategy_type=MockStrategy.MOCK_STRATEGY_TOOL_SPEC)'
    found = read_config_text(tools)
    assert (found.listed_tools, found.mock_tools) == (("a", "b"), ("b",))
    assert [rule.rule_id for rule in found.rules] == ["a[0]"]
    alone = read_config_text(f"{fails}\n{fails}", "pay")
    assert [(rule.rule_id, rule.match_args) for rule in alone.rules] == [
        ("pay[0]", {"n": 1}),
        ("pay[1]", {"n": 1}),
    ]


def test_the_deprecated_strategy_is_read_as_the_other_one_and_told() -> None:
    """`MOCK_STRATEGY_TRACING` is a mock like `MOCK_STRATEGY_TOOL_SPEC`; what is written in its place is a loss."""
    found = read_config(
        {"tool_simulation_configs": [{"tool_name": "a", "mock_strategy_type": 2}], "tracing": "x"}
    )
    assert (found.mock_tools, found.tracing, found.deprecated_mocks) == (("a",), "x", ("a",))
    written = config_text(found, "json")
    assert written.losses == [found.deprecation]
    assert read_config_text(written.text) == found._replace(deprecated_mocks=())


def test_reading_code_runs_nothing(tmp_path: Path) -> None:
    """Code beside the configuration is not run, and what grows without bounds is refused at once."""
    proof = tmp_path / "ran"
    code = f"open({str(proof)!r}, 'w').write('x')\nconfig = EnvironmentSimulationConfig({TOOLS})\n"
    assert read_config_text(code).mock_tools == ("t",)
    assert not proof.exists()
    laughs = "a0 = ['x']\n" + "".join(f"a{n} = [{', '.join([f'a{n - 1}'] * 10)}]\n" for n in range(1, 30))
    with pytest.raises(EnvironmentConfigError, match="grows without bounds"):
        read_config_text(f"{laughs}config = EnvironmentSimulationConfig(tool_simulation_configs=a29)")


@for_each(
    ("text", "complaint"),
    [
        ("", "is empty"),
        ('{"tool_simulation_configs": [', "invalid JSON: "),
        ("tool_simulation_configs:\n  - tool_name: a\n   x: 1\n", "invalid YAML: .* at line 3"),
        ("tool_simulation_configs: &a []\ntracing: *a\n", "aliases .*line 2"),
        ("tracing: a\ntracing: b\n", "'tracing' .*line 2"),
        ('{"tracing": "a", "tracing": "b"}', "'tracing' appears twice"),
        ('{"tracing": NaN}', "NaN .*line 1"),
        ("- 1\n", "mapping, not list"),
        ("tool_simulation_configs: [{tool_name: t, mock_strategy_type: 3}]", "tool 't': mock_strategy_type: 3 "),
    ],
)  # fmt: skip
def test_a_text_that_cannot_be_read_is_refused_with_the_place(text: str, complaint: str) -> None:
    """Neither JSON nor YAML is guessed at."""
    with pytest.raises(EnvironmentConfigError, match=complaint):
        read_config_text(text)


def test_a_mock_strategy_may_be_given_by_name() -> None:
    """YAML written by hand says `MOCK_STRATEGY_TOOL_SPEC`; what is written has ADK's number."""
    text = "tool_simulation_configs: [{tool_name: t, mock_strategy_type: MOCK_STRATEGY_TOOL_SPEC}]"
    found = read_config_text(text)
    assert found.mock_tools == ("t",)
    assert read_by_adk(config_text(found, "yaml").text, "yaml").tool_simulation_configs[0].tool_name == "t"


def test_a_tool_that_is_only_listed_is_a_loss() -> None:
    """ADK refuses a tool with neither injections nor a mock, so it is named."""
    text, losses = config_text(read(listed_tools=("search", "pay", "bare")), "json")
    (loss,) = losses
    assert "'bare'" in loss
    assert read_config_text(text).listed_tools == ("search", "pay")
