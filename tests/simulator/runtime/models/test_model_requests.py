"""Proves how each of ADK's classes of models is asked for JSON, as far as it passes that on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.genai import types

from simulator.environment.prompts.json_answers import AnswerSchema, answer_schema
from simulator.runtime.adk.boundaries import seat_agent
from simulator.runtime.models.model_requests import RequestFeatures, asking
from tests.harness.loopback import loopback
from tests.simulator.runtime.models.model_servers import GOOD, KEY, PROVIDERS, SCHEMA, generated
from tests.simulator.runtime.stage import StandIn, agent_of

ORDER = answer_schema(SCHEMA)


def config_for(model: BaseLlm, schema: AnswerSchema = ORDER) -> tuple[types.GenerateContentConfig, str]:
    """Return what a model is asked with, and how that is told."""
    request, sent = asking(model, "the prompt", schema, None, RequestFeatures())
    assert request.model == model.model
    return request.config, sent


def test_a_model_of_ones_own_is_given_the_whole_schema() -> None:
    """It finds the schema where ADK's own agents put theirs; nobody knows how it thinks."""
    config, sent = config_for(StandIn())
    assert config.response_mime_type == "application/json"
    assert config.response_schema == ORDER.asked
    assert config.response_json_schema is None
    assert config.thinking_config is None
    assert "JSON mode" in sent
    assert "prompt" not in sent


def test_geminis_interactions_have_no_json_mode() -> None:
    """What ADK does not pass on is not said to have been asked for."""
    config, sent = config_for(Gemini(model="gemini-2.5-flash", use_interactions_api=True))
    assert config.response_mime_type is None
    assert sent == "prompt only"


def test_a_seated_model_is_asked_as_what_it_is() -> None:
    """A seat does not hide the client's class."""
    agent = agent_of([], name="clerk")
    agent.model = Gemini(model="gemini-2.5-flash")
    seat_agent(agent)
    assert isinstance(agent.model, Gemini)
    config, _ = config_for(agent.model)
    assert config.response_json_schema is not None
    options: Any = config.http_options
    assert options.retry_options.attempts == 0, "tries that nobody sees would keep a person waiting"


@pytest.mark.parametrize("name", ["gemini/gemini-2.5-flash", "vertex_ai/gemini-2.5-pro"])
@pytest.mark.usefixtures("_local_prices")
def test_gemini_behind_litellm_is_sent_geminis_schema(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows fields of any name, which OpenAI's format does not."""
    monkeypatch.setenv("ADK_SUPPRESS_GEMINI_LITELLM_WARNINGS", "true")
    from google.adk.models.lite_llm import LiteLlm  # noqa: PLC0415 - takes seconds, and few tests need it

    open_schema = answer_schema({"type": "object", "additionalProperties": {"type": "integer"}})
    config, sent = config_for(LiteLlm(model=name), open_schema)
    assert config.response_schema == open_schema.asked
    assert "JSON mode" in sent
    assert "prompt" not in sent
    config, sent = config_for(LiteLlm(model="openai/m"), open_schema)
    assert config.response_schema == {"type": "json_object"}
    assert "prompt" in sent


@pytest.mark.parametrize(
    ("name", "address"),
    [("gpt-4o", "OPENAI_BASE_URL"), pytest.param("openai/m", "OPENAI_API_BASE", marks=pytest.mark.long)],
)
@pytest.mark.usefixtures("_local_prices")
def test_openai_is_reached_by_a_models_name(name: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare name goes to ADK's own client, one with a provider to LiteLLM, with the strict form of the schema."""
    openai = PROVIDERS["litellm"]
    with loopback(openai.says(json.dumps(GOOD))) as server:
        monkeypatch.setenv(address, f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        assert generated(name).value == GOOD
        (asked,) = server.asked
    assert openai.schema(asked.body)["additionalProperties"] is False
    assert "minLength" not in str(openai.schema(asked.body))
