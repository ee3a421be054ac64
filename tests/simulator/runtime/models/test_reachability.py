"""It is known before a session which agents have no model to ask, what each needs, and who sits there instead."""

from __future__ import annotations

import socket
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.google_llm import Gemini
from google.adk.models.lite_llm import LiteLlm
from google.adk.tools.agent_tool import AgentTool

from simulator.agent_config import SimulatedAgentConfig
from simulator.runtime import default_seats, model_reachability
from simulator.runtime.adk.boundaries import install
from simulator.runtime.models import reachability
from simulator.runtime.models.reachability import model_problem, unreachable_models
from tests.simulator.runtime.models.model_servers import unheard
from tests.simulator.runtime.stage import StandIn


class OwnGemini(StandIn, Gemini):
    """A model of one's own that calls itself Gemini."""


def team() -> LlmAgent:
    """Agents with a model of their own, with Gemini, and with a model that nobody knows, one of them in a tool."""
    inner = LlmAgent(name="inner", model="no-such-model-1")
    second = LlmAgent(name="second", model="gemini-2.5-flash")
    return LlmAgent(name="first", model=StandIn(), tools=[AgentTool(inner)], sub_agents=[second])


def config_of(agent: Any) -> SimulatedAgentConfig:
    """Configure an agent."""
    return SimulatedAgentConfig("Team", agent, "team.evalset.json")


@pytest.mark.parametrize(
    ("environ", "missing"),
    [
        ({}, {"inner", "second"}),
        ({"GOOGLE_API_KEY": "placeholder"}, {"inner", "second"}),
        ({"GOOGLE_API_KEY": "k"}, {"inner"}),
        ({"GEMINI_API_KEY": "k"}, {"inner"}),
        (
            {"GOOGLE_GENAI_USE_VERTEXAI": "TRUE", "GOOGLE_APPLICATION_CREDENTIALS": "/key.json"},
            {"inner"},
        ),
        ({"GOOGLE_GENAI_USE_ENTERPRISE": "1", "K_SERVICE": "desk"}, {"inner"}),
    ],
)
def test_each_agent_without_a_model_is_named_with_the_reason(
    environ: dict[str, str], missing: set[str]
) -> None:
    """Also in a session after the first. A model of one's own can be asked, Gemini with a key or the cloud's credentials; a placeholder only lets an agent load."""
    agent = team()
    for _ in range(2):
        found = unreachable_models(agent, environ)
        assert set(found) == missing
        assert "no-such-model-1" in found["inner"]
        assert "GOOGLE_API_KEY" in found.get("second", "GOOGLE_API_KEY")
        install(agent)


def test_the_cloud_needs_credentials_that_can_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project that was just made names a cloud project and nothing more: a person plays, and reads what to run."""
    monkeypatch.setattr(reachability, "_PRODUCT_NAME", tmp_path / "product_name")
    environ = {"GOOGLE_GENAI_USE_ENTERPRISE": "true", "GOOGLE_CLOUD_PROJECT": "p", "HOME": str(tmp_path)}
    for key in ({}, {"GOOGLE_API_KEY": "k"}):  # which google-genai leaves out where a project is named
        assert "gcloud auth" in unreachable_models(team(), {**environ, **key})["second"]
    express = {"GOOGLE_GENAI_USE_VERTEXAI": "1", "GOOGLE_API_KEY": "k", "HOME": str(tmp_path)}
    assert set(unreachable_models(team(), express)) == {"inner"}
    named = Gemini(model="gemini-2.5-flash", client_kwargs={"location": "global"})
    assert "gcloud auth" in str(model_problem(named, express))
    settings = tmp_path / ".config" / "gcloud"
    settings.mkdir(parents=True)
    endpoint = config_of(LlmAgent(name="clerk", model="projects/p/locations/l/endpoints/e"))
    assert model_reachability(endpoint, environ) is not None
    (settings / "application_default_credentials.json").write_text("{}")
    assert model_reachability(endpoint, environ) is None
    assert set(unreachable_models(team(), environ)) == {"inner"}
    nowhere = {**environ, "CLOUDSDK_CONFIG": str(tmp_path / "other")}
    assert set(unreachable_models(team(), nowhere)) == {"inner", "second"}
    (tmp_path / "product_name").write_text("Google Compute Engine")
    assert set(unreachable_models(team(), nowhere)) == {"inner"}


def of_litellm(name: str) -> LiteLlm:
    """Return a model that LiteLLM asks; of Google's, ADK advises against that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LiteLlm(model=name)


@pytest.mark.parametrize(
    ("model", "needs"),
    [
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        ("groq/llama", "GROQ_API_KEY"),
        ("gemini/gemini-2.5-flash", "GEMINI_API_KEY"),
        ("claude-opus-4", "anthropic"),
        (Gemini(model="gemini-2.5-flash", base_url="http://127.0.0.1:1"), "GOOGLE_API_KEY"),
        (of_litellm("gemini-2.5-flash"), "gcloud auth"),
        (of_litellm("vertex_ai/gemini-2.5-flash"), "gcloud auth"),
        (of_litellm("gpt-4o"), "OPENAI_API_KEY"),
        (LiteLlm(model="gpt-4o", api_base="https://api.openai.com/v1", api_key=""), "OPENAI_API_KEY"),
    ],
)
def test_what_a_model_needs_is_said_in_one_line(model: Any, needs: str) -> None:
    """The sentence names all agents that share the model, and what is missing; without an agent the model is enough."""
    agent = LlmAgent(name="clerk", model=model, sub_agents=[LlmAgent(name="heir")])
    said = model_reachability(config_of(agent), {})
    assert said is not None
    assert said.startswith("clerk, heir: the model ")
    assert said.count("the model ") == 1
    assert needs in said
    assert needs in (model_problem(model, {}) or "")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("model", "environ"),
    [
        (StandIn(), {}),
        (OwnGemini(), {}),
        (Gemini(client_kwargs={"api_key": "k"}), {}),
        (LiteLlm(model="openai/m", api_base="http://model.example:9/v1"), {}),
        ("openai/gpt-4o", {"OPENAI_API_KEY": "k"}),
    ],
    ids=["own", "own Gemini", "key in the settings", "server elsewhere", "key of a provider"],
)
def test_what_has_all_that_it_needs_can_be_reached(model: Any, environ: dict[str, str]) -> None:
    """Somebody's own model, a key, or the address of another machine, which is not tried; also when the agent is seated."""
    config = config_of(LlmAgent(name="clerk", model=model))
    for _ in range(2):
        assert model_reachability(config, environ) is None
        assert default_seats(config, environ).agents == {}
        assert bool(model_reachability(config, {})) is bool(environ)
        install(config.agent)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider's model without LiteLLM says which package is missing."""
    # The package is installed where the tests run, so that its absence can only be played.
    monkeypatch.setitem(sys.modules, "litellm", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    said = model_reachability(
        config_of(LlmAgent(name="clerk", model="openai/gpt-4o")), {"OPENAI_API_KEY": "k"}
    )
    assert said is not None
    assert all(named in said for named in ("clerk", "openai/gpt-4o", "litellm"))


def test_a_person_sits_where_no_model_can_be_asked() -> None:
    """By default a person plays the agents without a model by name, every agent if none has one, and the tools."""
    assert default_seats(config_of(team()), {}).agents == {"inner": "person", "second": "person"}
    seats = default_seats(config_of(LlmAgent(name="clerk", model="gemini-2.5-flash")), {})
    assert seats.of_agent("anyone") == "person"
    assert seats.of_tool("anything") == "person"


@pytest.mark.long
def test_looking_imports_no_model_client() -> None:
    """Neither importing nor looking at a provider's model imports LiteLLM, which would fetch something."""
    program = (
        "import sys; from google.adk.agents import LlmAgent; from simulator.runtime import model_reachability;"
        "from simulator.agent_config import SimulatedAgentConfig as C;"
        "print(model_reachability(C('A', LlmAgent(name='a', model='openai/m'), 'x'), {}));"
        "print([name for name in ('litellm', 'anthropic', 'openai') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    said, imported = done.stdout.splitlines()
    assert "OPENAI_API_KEY" in said
    assert imported == "[]"


@pytest.mark.parametrize("by", ["setting", "environment"])
def test_a_model_server_that_does_not_run_is_named(by: str) -> None:
    """A model of this machine needs no key; it needs its server, and where that runs it can be asked."""
    with socket.create_server(("127.0.0.1", 0)) as server, unheard() as stopped:
        running = f"http://127.0.0.1:{server.getsockname()[1]}"
        for address, expected in ((running, None), (stopped, stopped.removeprefix("http://"))):
            environ = {"OLLAMA_API_BASE": address} if by == "environment" else {}
            model = LiteLlm(model="ollama_chat/llama3", **({} if environ else {"api_base": address}))
            problem = model_problem(model, environ)
            assert (problem is None) == (expected is None), problem
            assert expected is None or (problem or "").endswith(f" {expected}")


def test_an_address_that_is_none_is_named() -> None:
    """As what it is."""
    broken = LiteLlm(model="openai/m", api_base="http://localhost:port/v1")
    assert "an invalid URL" in (model_problem(broken, {}) or "")
