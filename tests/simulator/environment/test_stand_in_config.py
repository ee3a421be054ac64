"""Proves how a configuration without the page is read, whichever form it has, and what is said of one that cannot be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.tools.environment_simulation.environment_simulation_config import (
    EnvironmentSimulationConfig,
    MockStrategy,
)
from google.adk.tools.function_tool import FunctionTool
from hypothesis import given
from hypothesis import strategies as st

from simulator.environment.injection.adk_injection_config import EnvironmentConfigError
from simulator.environment.injection.rule_sets import RuleSet, write_rule_set
from simulator.environment.injection.rules import ErrorEffect, InjectionRule
from simulator.environment.plugin_config import (
    SimulatedEnvironmentConfig,
    read_environment_config,
    write_environment_config,
)
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.tool_settings import EnvironmentSettings, ToolSettings
from simulator.runtime.adk.tool_guards import has_body
from simulator.runtime.plugin import create_plugin
from tests.simulator.base.rows import for_each

BUSY = InjectionRule(
    rule_id="busy", tool_name="find_order", effect=ErrorEffect(error_code=503, error_message="busy")
)
BUSY_503 = {"injected_error": {"injected_http_error_code": 503, "error_message": "busy"}}
ADK = EnvironmentSimulationConfig.model_validate(
    {
        "tool_simulation_configs": [
            {"tool_name": "find_order", "injection_configs": [BUSY_503]},
            {"tool_name": "create_order", "mock_strategy_type": MockStrategy.MOCK_STRATEGY_TOOL_SPEC},
        ],
        "environment_data": '{"orders": [{"id": "A-1"}]}',
        "tracing": "[]",
    }
)
FULL = SimulatedEnvironmentConfig(
    rules=(BUSY,),
    settings=EnvironmentSettings(
        tools={"find_order": ToolSettings(name="find_order", output_schema={"type": "object"})},
        invariants=("stock >= 0",),
        simulation_model="gemini-x",
    ),
    environment_data="words",
    tracing="more words",
    recordings={"a": (ObservedCall(tool_name="t", arguments={"x": 1}, response=[1, None], place="p"),)},
    players={"create_order": "model", "pay": "real"},
    listed="auto",
    unlisted="offline",
    seed="7",
    model_timeout_seconds=5.0,
    model_retries=0,
)


def test_adks_configuration_says_who_answers() -> None:
    """A mock is the model's; what has none, and what is not listed, runs for real, and chance is new in every session: as in ADK."""
    for given_config in (ADK, ADK.model_dump(mode="json"), ADK.model_dump_json()):
        read = read_environment_config(given_config)
        assert read.players == {"create_order": "model"}
        assert [read.player_of(name) for name in ("find_order", "other")] == ["real", "real"]
        assert read.player_of("no_body", has_body=False) == "real"
        assert read.seed is None
        assert [rule.rule_id for rule in read.rules] == ["find_order[0]"]
        assert read.environment_data == ADK.environment_data
        assert read.settings.simulation_model == "gemini-2.5-flash"


def test_adks_default_model_is_asked_for_mocks_only() -> None:
    """A configuration without mocks has no model; the name of ADK's default is still the one that we know."""
    assert EnvironmentSimulationConfig.model_fields["simulation_model"].default == "gemini-2.5-flash"
    without = {"tool_simulation_configs": [{"tool_name": "t", "injection_configs": [BUSY_503]}]}
    assert read_environment_config(without).settings.simulation_model == ""


@given(
    st.sampled_from(["offline", "model", "recorded", "auto", "refuse", "real"]),
    st.text(max_size=20),
    st.sampled_from([FULL, SimulatedEnvironmentConfig()]),
)
def test_what_is_written_reads_back_equal(player: Any, seed: str, base: SimulatedEnvironmentConfig) -> None:
    """Our own format loses nothing, as JSON, as YAML and as a mapping; texts of any kind come back as they were."""
    made = base.model_copy(update={"unlisted": player, "players": {"t": player}, "seed": seed})
    as_json = write_environment_config(made, "json")
    for text in (as_json, write_environment_config(made, "yaml"), json.loads(as_json)):
        assert read_environment_config(text) == made


def test_a_set_of_rules_is_an_environment_with_those_rules() -> None:
    """What the page saves as a set can be used as it is."""
    text = write_rule_set(RuleSet(name="mine", rules=(BUSY,)))
    assert read_environment_config(text) == SimulatedEnvironmentConfig(rules=(BUSY,))


@for_each(
    ("config", "told"),
    [
        ({"playerz": {}}, "'players'"),
        ({"unlisted": "maybe"}, "unlisted"),
        ({"rules": [{"rule_id": "x", "tool_name": "t"}]}, "rule 'x' (number 1): effect"),
        ({"rules": [BUSY, BUSY]}, "'busy'"),
        ({"format": "other"}, "'other'"),
        ({"version": 2}, "version 2"),
        ({"tool_simulation_configs": [{"tool_nam": "x"}]}, "tool_nam"),
        ("[]", "not list"),
        ("{", "line"),
        (7, "int"),
    ],
)
def test_what_cannot_be_read_is_named(config: Any, told: str) -> None:
    """The error says which field, rule or line is wrong."""
    with pytest.raises(EnvironmentConfigError) as raised:
        read_environment_config(config)
    assert told in str(raised.value)


def test_who_answers_follows_from_what_is_named() -> None:
    """A tool is listed by a rule, a player or a setting; a tool without a body is never left to run."""
    assert FULL.player_of("find_order") == "auto"
    assert FULL.player_of("create_order") == "model"
    assert FULL.player_of("other") == "offline"
    assert FULL.player_of("other", has_body=False) == "auto"
    assert FULL.player_of("pay") == "real"
    assert FULL.player_of("pay", has_body=False) == "offline"
    assert [FULL.has_rule_for(name) for name in ("find_order", "pay")] == [True, False]


# ---------------------------------------------------------------- bodies


def ellipsis(x: int) -> None: ...  # noqa: D103 - it is to have nothing


def passes(x: int) -> None:  # noqa: D103 - as above
    pass


def documented(x: int) -> None:
    """Say what it will do."""


async def awaited(x: int) -> None:
    """Say what it will do."""
    ...  # noqa: PIE790 - as such functions are written


class Holder:
    """Holds a method without a body."""

    def method(self, x: int) -> None:
        """Say what it will do."""


def answers(x: int) -> int:
    """Answer."""
    return x


def gives_empty(x: int) -> dict[str, Any]:
    """Answer nothing much."""
    return {}


def raises(x: int) -> None:
    """Raise."""
    raise NotImplementedError


def test_only_functions_that_say_nothing_have_no_body() -> None:
    """`...`, `pass` or a docstring is no body; anything that returns, raises or does something is one."""
    empty: list[Callable[..., Any]] = [ellipsis, passes, documented, awaited, Holder().method]
    full: list[Callable[..., Any]] = [answers, gives_empty, raises, print]
    assert [has_body(FunctionTool(each)) for each in empty] == [False] * len(empty)
    assert [has_body(FunctionTool(each)) for each in full] == [True] * len(full)


# ---------------------------------------------------------------- what would fail later


DOUBLED = '{"orders": [{"id": "A-1"}, {"id": "A-1"}]}'


@for_each(
    ("given", "told"),
    [
        (
            {"settings": {"invariants": ["stock >= 0", "stock >"]}},
            r"settings\.invariants\.1: .*too early",
        ),
        ({"environment_data": DOUBLED}, r"environment_data: .*'orders', row 2, field 'id'"),
        (ADK.model_copy(update={"environment_data": DOUBLED}), r"environment_data: .*'orders', row 2"),
        (
            {"settings": {"simulation_model_configuration": {"temperature": "hot"}}},
            r"settings: .*temperature",
        ),
    ],
)
def test_what_no_call_could_use_is_refused_at_once(given: object, told: str) -> None:
    """A broken invariant, or data with one id twice, is told with its place when the environment is made."""
    with pytest.raises(EnvironmentConfigError, match=told):
        create_plugin(given)


def test_a_file_is_read_by_its_path_or_the_text_of_it(tmp_path: Path) -> None:
    """A file that is not there is an error of the file."""
    file = tmp_path / "my env.yaml"
    file.write_text(write_environment_config(FULL, "yaml"), encoding="utf-8")
    assert create_plugin(file).environment.config == create_plugin(str(file)).environment.config == FULL
    with pytest.raises(FileNotFoundError):
        create_plugin(str(tmp_path / "none.yaml"))
    with pytest.raises(EnvironmentConfigError, match="pass a Path"):
        read_environment_config(str(file))
