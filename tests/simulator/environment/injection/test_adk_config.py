"""Tests of reading and writing ADK's `EnvironmentSimulationConfig`."""

from __future__ import annotations

import re
from typing import Any

import pytest
from google.adk.tools.environment_simulation.environment_simulation_config import (
    EnvironmentSimulationConfig,
    MockStrategy,
)

from simulator.environment.injection.adk_injection_config import (
    EnvironmentConfigError,
    config_from_rules,
    rules_from_config,
)
from simulator.environment.injection.rules import ErrorEffect, InjectionRule, ResponseEffect
from tests.simulator.base.rows import for_each

DOWN = ErrorEffect(error_code=503, error_message="down")


def one_tool(*injections: object, tool_name: str = "pay") -> dict[str, object]:
    """Write a configuration for one tool."""
    return {"tool_simulation_configs": [{"tool_name": tool_name, "injection_configs": list(injections)}]}


def test_an_empty_response_is_read() -> None:
    """ADK's own class refuses `{}`; a mapping may say it, and beside an error the error counts."""
    (rule,) = rules_from_config(one_tool({"injected_response": {}}))
    assert rule.effect == ResponseEffect(value={})
    error = {"injected_http_error_code": 503, "error_message": "down"}
    (rule,) = rules_from_config(one_tool({"injected_response": {}, "injected_error": error}))
    assert rule.effect == DOWN


@for_each(
    ("injection", "complaint"),
    [
        ({"injection_probability": 7}, "tool 'pay', injection 1: injection_probability: .*, got 7$"),
        ({"injection_probability": -1}, "tool 'pay', injection 1: injection_probability: .*, got -1$"),
        ({"injection_probability": float("nan")}, "injection 1: injection_probability: .*finite.*, got nan$"),
        ({"injected_latency_seconds": -2}, "tool 'pay', injection 1: injected_latency_seconds: .*, got -2$"),
        ({"injected_latency_seconds": 121}, "injection 1: injected_latency_seconds: .*120, got 121$"),
        ({"injection_probabilty": 1}, "injection 1: injection_probabilty: .*'injection_probability'?$"),
        ({"match_args": {"a": float("nan")}}, "tool 'pay', injection 1: match_args: .*JSON"),
        ({"match_args": {"a": {1, 2}}}, "tool 'pay', injection 1: match_args"),
        ({"random_seed": "x"}, "tool 'pay', injection 1: random_seed: .* got 'x'$"),
        ({"injection_probability": True}, "tool 'pay', injection 1: injection_probability: "),
        ({"injection_probability": "0.5"}, "tool 'pay', injection 1: injection_probability: "),
        ({"injected_latency_seconds": True}, "tool 'pay', injection 1: injected_latency_seconds: "),
        ({"random_seed": True}, "tool 'pay', injection 1: random_seed: "),
        (
            {"injected_error": {"injected_http_error_code": True, "error_message": "no"}},
            "tool 'pay', injection 1: injected_error.*: ",
        ),
        ({"injected_response": None}, "injection 1: neither"),
        (
            {"injected_error": {"injected_http_error_code": 1, "error_message": "x"}},
            "injection 1: .* both",
        ),
        ({"injected_error": {"error_message": "x"}}, "injected_http_error_code: .*required"),
    ],
)
def test_a_bad_value_is_named_with_its_tool_and_place(injection: dict[str, object], complaint: str) -> None:
    """The text says which tool, which injection, which field, and what it was given; `true` and texts are no numbers."""
    good = {"injected_response": {"a": 1}}
    with pytest.raises(EnvironmentConfigError, match=complaint.replace("?$", r"\?$")):
        rules_from_config(one_tool(good, {**good, **injection}))


def test_bad_values_in_adks_own_object_are_found_too() -> None:
    """ADK takes these without a word; every one of them is named."""
    bad = {"injection_probability": float("nan"), "injected_latency_seconds": -3}
    config = EnvironmentSimulationConfig.model_validate(one_tool({"injected_response": {"a": 1}, **bad}))
    with pytest.raises(EnvironmentConfigError) as caught:
        rules_from_config(config)
    assert re.findall(r"injection 0: (\w+)", str(caught.value)) == [
        "injection_probability",
        "injected_latency_seconds",
    ]


@for_each(
    ("config", "complaint"),
    [
        ({"tool_simulation_config": []}, "'tool_simulation_configs'"),
        ({"tool_simulation_configs": {}}, "tool_simulation_configs: "),
        ({"tool_simulation_configs": [3]}, "index 0: .*got 3"),
        ({"tool_simulation_configs": [{}]}, "index 0: tool_name: "),
        ({"tool_simulation_configs": [{"tool_name": "a"}] * 2}, "entries for 'a'"),
        ([], "EnvironmentSimulationConfig .*not list"),
        (DOWN, "EnvironmentSimulationConfig .*not ErrorEffect"),
    ],
)
def test_what_is_no_configuration_is_refused(config: object, complaint: str) -> None:
    """Neither another shape nor another object is read as a configuration without rules."""
    with pytest.raises(EnvironmentConfigError, match=complaint):
        rules_from_config(config)


def rule(rule_id: str, **fields: Any) -> InjectionRule:
    """Make a rule for `pay`."""
    return InjectionRule.model_validate({"rule_id": rule_id, "tool_name": "pay", "effect": DOWN, **fields})


def test_what_adk_cannot_say_is_named() -> None:
    """Rules that ADK has no word for are left out, differences are told, each with the rule's id."""
    rules = [
        rule("off", enabled=False),
        rule("empty", effect=ResponseEffect(value={})),
        rule("lucky", probability=0.5),
        rule("pay[1]", match_args={"x": {"deep": [True]}}),
    ]
    written, losses = config_from_rules(rules)
    named = (
        ("'off'", "switched off"),
        ("'empty'", "{}"),
        ("'lucky'", "'pay[0]'"),
        ("'lucky'", "random_seed"),
        ("'pay[1]'", "boolean"),
    )
    assert len(losses) == len(named)
    for loss, words in zip(losses, named, strict=True):
        assert all(word in loss for word in words), loss
    assert [each.rule_id for each in rules_from_config(written)] == ["pay[0]", "pay[1]"]


BUSY_NOW = {"kind": "call_number", "which": "nth", "n": 2}
IS_ROME = {"kind": "argument", "path": "city", "test": {"test": "equals", "value": "Rome"}}


@for_each(
    ("fields", "reason"),
    [
        ({"tool_name": "*"}, "every tool"),
        ({"effect": {"kind": "response", "value": {"a": "{{ args.b }}"}, "templated": True}}, "response with placeholders"),
        *(
            ({"effect": effect}, f"effect '{effect['kind']}'")
            for effect in (
                {"kind": "sequence", "values": [1]},
                {"kind": "raise"},
                {"kind": "hang"},
                {"kind": "delay"},
                {"kind": "distort", "distortions": [{"kind": "null"}]},
                {"kind": "lose"},
                {"kind": "ask"},
            )
        ),
        ({"when": BUSY_NOW}, "call number"),
        ({"when": {"kind": "agent", "agent": "a"}}, "the agent or"),
        ({"when": {"kind": "expression", "text": "args.a"}}, "an expression"),
        ({"when": {"kind": "world", "entity": "order", "entity_id": "1", "test": {"test": "present"}}}, "the world"),
        ({"when": {"kind": "not", "condition": IS_ROME}}, "negated"),
        ({"when": {"kind": "any_of", "conditions": [IS_ROME, IS_ROME]}}, "any of several"),
        ({"when": {"kind": "all_of", "conditions": [IS_ROME, BUSY_NOW]}}, "argument city, the call"),
        ({"when": {**IS_ROME, "path": "a.b"}}, "a.b (equals)"),
        ({"when": {**IS_ROME, "test": {"test": "present"}}}, "city (present)"),
        ({"when": IS_ROME, "match_args": {"city": "Oslo"}}, "argument city"),
    ],
)  # fmt: skip
def test_each_thing_that_adk_has_no_word_for_is_named_and_left_out(fields: Any, reason: str) -> None:
    """A rule is never written without a condition that it has, as it would fire for other calls too."""
    written, losses = config_from_rules([rule("pay[0]"), rule("r", **fields)])
    assert len(losses) == 1
    assert losses[0].startswith("rule 'r' ")
    assert reason in losses[0]
    assert [each.rule_id for each in rules_from_config(written)] == ["pay[0]"]


def test_conditions_that_match_args_can_say_are_written_so() -> None:
    """Equality of arguments at the top level means the same in `when`."""
    written, losses = config_from_rules(
        [rule("pay[0]", match_args={"n": 5}, when={"kind": "all_of", "conditions": [IS_ROME]})]
    )
    assert losses == []
    assert rules_from_config(written)[0].match_args == {"n": 5, "city": "Rome"}


def test_what_is_written_in_another_way_is_named() -> None:
    """Latency that is drawn, details of an error and labels have the nearest thing that ADK can say."""
    detailed = {
        "kind": "error",
        "error_code": 429,
        "error_message": "slow down",
        "details": {"retry_after": 5},
    }
    written, losses = config_from_rules(
        [
            rule("pay[0]", latency={"kind": "uniform", "low": 1, "high": 3}),
            rule("pay[1]", latency={"kind": "log_normal", "median": 0.5}, label="slow"),
            rule("pay[2]", effect=detailed),
        ]
    )
    named = (
        r"'pay\[0\]' .*1 to 3 s",
        r"'pay\[1\]' .*label",
        r"'pay\[1\]' .*log-normal",
        r"'pay\[2\]' .*fields",
    )
    assert len(losses) == len(named)
    assert all(re.search(words, loss) for words, loss in zip(named, losses, strict=True)), losses
    first, second, third = rules_from_config(EnvironmentSimulationConfig.model_validate(written))
    assert (first.latency_seconds, second.latency_seconds) == (2.0, 0.5)
    assert third.effect == ResponseEffect(
        value={"error_code": 429, "error_message": "slow down", "retry_after": 5}
    )


def test_a_configuration_without_tools_is_a_loss() -> None:
    """ADK refuses a configuration without tools, so it is said that nothing is left."""
    written, losses = config_from_rules([])
    assert written == {"tool_simulation_configs": []}
    assert len(losses) == 1


def test_settings_beside_the_injections_are_kept() -> None:
    """Mock strategies, the model and the environment's data of a base survive; its injections are replaced."""
    old = {"injection_configs": [{"injected_response": {"old": True}}]}
    mocked = {"mock_strategy_type": MockStrategy.MOCK_STRATEGY_TOOL_SPEC}
    base = EnvironmentSimulationConfig.model_validate(
        {
            "tool_simulation_configs": [
                {"tool_name": "search", **mocked},
                {"tool_name": "pay", **mocked, **old},
                {"tool_name": "gone", **old},
            ],
            "environment_data": '{"orders": []}',
            "simulation_model": "some-model",
        }
    )
    written, losses = config_from_rules([rule("pay[0]")], base)
    read = EnvironmentSimulationConfig.model_validate(written)
    assert losses == []
    assert [tool.tool_name for tool in read.tool_simulation_configs] == ["search", "pay"]
    assert {tool.mock_strategy_type for tool in read.tool_simulation_configs} == {
        MockStrategy.MOCK_STRATEGY_TOOL_SPEC
    }
    assert (read.environment_data, read.simulation_model) == ('{"orders": []}', "some-model")
    assert [each.effect for each in rules_from_config(read)] == [DOWN]


def test_a_base_that_is_no_configuration_is_refused() -> None:
    """A misspelt field of the base is not carried on."""
    with pytest.raises(EnvironmentConfigError, match="unknown field"):
        config_from_rules([rule("a")], {"tracking": "x"})


def test_the_written_configuration_shares_nothing_with_the_rules() -> None:
    """Changing what was written changes no rule."""
    kept = rule("pay[0]", match_args={"a": [1]})
    written, _ = config_from_rules([kept])
    tool: Any = written["tool_simulation_configs"]
    tool[0]["injection_configs"][0]["match_args"]["a"].append(2)
    assert kept.match_args == {"a": [1]}
