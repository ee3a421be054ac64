"""Proves that the server's key goes to the server's own address: whatever a journal, a file or a text says, with the real clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.adk.tools.environment_simulation.environment_simulation_config import EnvironmentSimulationConfig

from app.rules.rule_exchange import beside_rules
from simulator.base.json_values import JsonObject
from simulator.environment.injection.adk_injection_config import EnvironmentConfigError
from simulator.environment.injection.rule_sets import read_rule_set
from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.facts import EnvironmentChanged, UserSeated
from simulator.runtime import Simulation
from simulator.runtime.plugin.adk_plugin import create_plugin
from tests.harness.loopback import Loopback, loopback
from tests.simulator.runtime.models.model_servers import GOOD, PROVIDERS, generated
from tests.simulator.runtime.speaking import SCENARIO, said
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, say, tool_facts

# google-genai's own client does so.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

KEY = "kept-secret-9876543210"
MODELS = {"google-genai": "gemini-2.5-flash", "litellm": "openai/m"}
MARK = "of-the-visitor"


class Servers(NamedTuple):
    """The server that the environment of the process names, and another one that somebody names."""

    own: Loopback
    visitors: Loopback
    provider: str

    @property
    def model(self) -> str:
        """The name of the model, which has no address."""
        return MODELS[self.provider]

    def configuration(self) -> JsonObject:
        """Return a configuration that names the other server in each way that a client takes."""
        url = self.visitors.url
        options: JsonObject = {
            "base_url": f"{url}/v1",
            "headers": {"x-visitor": MARK},
            "extra_body": {"visitor": MARK, "api_base": f"{url}/v1", "base_url": url},
            "client_args": {"proxy": url},
            "async_client_args": {"proxy": url},
            "timeout": 30_000,
        }
        return {"temperature": 0.25, "http_options": options}

    def check(self, asked: int) -> None:
        """Check that the own server was asked so often with the key, and the visitor's never; that no word of theirs came along."""
        assert self.visitors.asked == []
        assert len(self.own.asked) == asked
        for each in self.own.asked:
            assert KEY in json.dumps(each.headers)
            assert MARK not in json.dumps([each.headers, each.body])
            assert self.visitors.url not in json.dumps([each.headers, each.body])


@pytest.fixture(params=list(MODELS))
def servers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    """Start both, with replies of the provider; the process's environment holds the address and the key of the first."""
    provider = PROVIDERS[request.param]
    replies = [provider.says(json.dumps(GOOD))] * 6
    for name in (
        "GOOGLE_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "HTTPS_PROXY",
        "HTTP_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    with loopback(*replies) as own, loopback(*replies) as visitors:
        monkeypatch.setenv("GOOGLE_API_KEY", KEY)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", own.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_API_BASE", f"{own.url}/v1")
        yield Servers(own, visitors, request.param)


def find_order(order_id: str) -> dict[str, str]:
    """Find an order."""
    raise AssertionError("the real tool ran")


def desk() -> Simulation:
    """Open a session whose one tool the environment's model plays."""
    return opened(agent_of([call("find_order", order_id="A-1")], tools=[find_order]), tools="model")


def test_a_journal_does_not_say_where_the_environments_model_is(servers: Servers) -> None:
    """A session file of an earlier version, or of somebody else: it opens, and its model is asked at the server's address."""
    settings = EnvironmentSettings(
        simulation_model=servers.model, simulation_model_configuration=servers.configuration()
    )
    with desk() as before:
        before.journal.append(EnvironmentChanged(at=before.journal.fact(0).at, settings=settings))
        journal, config = before.journal.branched(before.journal.head), before.config
    with Simulation.resume(journal, config) as sim:
        assert sim.environment.settings == settings
        assert sim.query("go", wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert fact.provenance.by == servers.model
    servers.check(asked=1)


@pytest.mark.long
def test_a_journal_does_not_say_where_the_users_model_is(servers: Servers) -> None:
    """As for the environment: the scenario of such a session speaks on."""
    config = {"model": servers.model, "model_configuration": servers.configuration()}
    with opened(agent_of([say("yes?")], [say("no")])) as before:
        at = before.journal.fact(0).at
        before.journal.append(
            UserSeated(at=at, player="scenario", scenario=SCENARIO, config=config, hold=False)
        )
        journal, agent = before.journal.branched(before.journal.head), before.config
    with Simulation.resume(journal, agent) as sim:
        sim.go_on(wait=PATIENCE)
        sim.wait(PATIENCE)
        assert len(said(sim)) > 1
    servers.check(asked=len(servers.own.asked))
    assert servers.own.asked


@pytest.mark.parametrize("form", ["text", "path", "code", "ours"])
def test_a_text_does_not_say_where_the_model_of_a_plugin_is(
    form: str, servers: Servers, tmp_path: Path
) -> None:
    """A plugin's configuration in a file is refused, with the place; nothing is asked anywhere."""
    document: JsonObject = {
        "tool_simulation_configs": [{"tool_name": "find_order", "mock_strategy_type": 1}],
        "simulation_model": servers.model,
        "simulation_model_configuration": servers.configuration(),
    }
    given: Any = json.dumps(document)
    if form == "path":
        given = tmp_path / "simulation.json"
        given.write_text(json.dumps(document))
    elif form == "code":
        tools = "[ToolSimulationConfig(tool_name='find_order', mock_strategy_type=1)]"
        options = f"{{'http_options': {{'base_url': {servers.visitors.url!r}}}}}"
        given = f"EnvironmentSimulationConfig(tool_simulation_configs={tools}, simulation_model_configuration={options})"
    elif form == "ours":
        given = json.dumps({"settings": {"simulation_model_configuration": servers.configuration()}})
    with pytest.raises(
        EnvironmentConfigError, match=r"simulation_model_configuration\.http_options\.base_url"
    ):
        create_plugin(given)


def test_rules_with_a_model_of_somebody_elses_are_imported_without_its_address(servers: Servers) -> None:
    """On the page: what is not taken is named, and the rest comes along."""
    text = json.dumps(
        {
            "tool_simulation_configs": [{"tool_name": "find_order", "mock_strategy_type": 1}],
            "simulation_model_configuration": servers.configuration(),
        }
    )
    adk = read_rule_set(text).adk
    assert adk is not None
    beside = beside_rules(adk)
    assert beside.settings == {
        "simulation_model_configuration": {"temperature": 0.25, "http_options": {"timeout": 30_000}}
    }
    assert [line.partition(" ")[0] for line in beside.unread] == [
        f"simulation_model_configuration.http_options.{name}"
        for name in ("base_url", "headers", "extra_body", "client_args", "async_client_args")
    ]


def test_a_name_that_is_an_address_is_asked_nowhere(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LiteLLM sends the key of some providers to the model's name, where it is one."""
    monkeypatch.setenv("HUGGINGFACE_API_KEY", KEY)
    for name in (f"huggingface/{servers.visitors.url}", f"oobabooga/{servers.visitors.url}"):
        answer = generated(name)
        assert answer.reason
        assert name in answer.reason
    servers.check(asked=0)


def test_code_says_where_a_model_is_and_a_journal_does_not_keep_it(servers: Servers) -> None:
    """In one's own process an address is one's own: the model is asked there; another process does not find it in the session."""
    url = f"{servers.visitors.url}/v1" if servers.provider == "litellm" else servers.visitors.url
    configuration = {"temperature": 0.25, "http_options": {"base_url": url, "headers": {"x-mine": MARK}}}
    with desk() as sim:
        sim.environment.change(
            simulation_model=servers.model,
            simulation_model_configuration=configuration,
            connections_by_model=False,
        )
        sim.environment.change(implicit_contradictions=False)
        assert sim.query("go", wait=PATIENCE)
        written = sim.journal.to_json()
    reached = servers.visitors if servers.provider == "google-genai" else servers.own
    assert [each.headers.get("x-mine") for each in reached.asked] == [MARK]
    assert MARK not in written
    assert url not in written


def test_an_object_of_adk_says_where_its_model_is(servers: Servers) -> None:
    """It is made by code, and so is a mapping: a plugin of one's own asks there."""
    config = EnvironmentSimulationConfig.model_validate(
        {
            "tool_simulation_configs": [{"tool_name": "find_order", "mock_strategy_type": 1}],
            "simulation_model_configuration": {"http_options": {"base_url": servers.visitors.url}},
        }
    )
    settings = create_plugin(config).environment.config.settings
    assert settings.simulation_model_configuration["http_options"] == {"base_url": servers.visitors.url}
