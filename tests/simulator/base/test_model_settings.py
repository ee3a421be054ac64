"""What a text may set of a model: every option of a client that is not a limit of time or tries is the server's."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

import pytest
from google.genai import types
from pydantic import BaseModel

from simulator.base.adk_names import camel
from simulator.base.model_settings import (
    GivenSettings,
    names_address,
    server_settings,
    server_settings_in,
    without_server_settings,
)

_TAKEN = {"timeout", "retry_options"}
_SOUNDS_LIKE_A_WAY_OUT = ("url", "endpoint", "header", "proxy", "credential", "api_key", "auth_config")


@pytest.mark.parametrize("spelt", [str, camel])
def test_each_option_of_the_client_but_time_and_tries_is_the_servers(spelt: Any) -> None:
    """Whichever options google-genai has: one that is new is refused until somebody decides otherwise."""
    for name in types.HttpOptions.model_fields:
        configuration: Any = {spelt("http_options"): {spelt(name): {"a": "b"}}, "temperature": 0.5}
        places = [each.place for each in server_settings(configuration)]
        assert places == ([] if name in _TAKEN else [f"{spelt('http_options')}.{spelt(name)}"])
        if places:
            assert without_server_settings(configuration) == {spelt("http_options"): {}, "temperature": 0.5}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from _models(inner)


def _fields(model: type[BaseModel], place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the place of each field that sounds like an address or a key, as deep as google-genai's classes go."""
    for name, field in model.model_fields.items():
        if any(sound in name for sound in _SOUNDS_LIKE_A_WAY_OUT):
            yield (*place, name)
        for inner in _models(field.annotation):
            if len(place) < 4 and inner.__module__ == types.__name__:
                yield from _fields(inner, (*place, name))


def test_no_address_and_no_key_is_taken_wherever_it_is() -> None:
    """As deep as a configuration and its tools go, whichever fields google-genai has for them."""
    places = [*_fields(types.GenerateContentConfig), *_fields(types.Tool, ("tools",))]
    assert len(places) > 10
    for place in places:
        configuration: Any = "https://elsewhere.example"
        for name in reversed(place):
            configuration = {name: configuration}
        # A tool of the provider that reads public pages has "url" in its name alone.
        assert bool(server_settings(configuration)) != (place == ("tools", "url_context")), place


def test_what_somebody_named_is_no_option() -> None:
    """Fields of schemas and the arguments of tools have the names that somebody gave them; none is refused, or lost."""
    configuration: Any = {
        "temperature": 0.2,
        "stop_sequences": ["base_url"],
        "http_options": {"timeout": 9_000, "retry_options": {"attempts": 3}, "headers": None},
        "response_json_schema": {"properties": {"headers": {"type": "object"}, "api_key": {}}},
        "labels": {"url": "x"},
        "thinking_config": {"thinking_budget": 0},
    }
    assert server_settings(configuration) == ()
    assert without_server_settings(configuration) == configuration


def test_a_document_is_read_wherever_it_configures_a_model() -> None:
    """The judges and the simulated user of an `EvalConfig`, in either spelling; what tools answer is left alone."""
    document = {
        "criteria": {
            "headers": 0.5,
            "final_response_match_v2": {
                "judge_model_options": {
                    "judge_model": "huggingface/https://elsewhere.example",
                    "judgeModelConfig": {"httpOptions": {"baseUrl": "x"}},
                }
            },
        },
        "userSimulatorConfig": {"api_base": "x", "modelConfiguration": {"tools": [{"mcp_servers": [{}]}]}},
        "rules": [{"effect": {"value": {"base_url": "mine", "api_key": "mine"}}}],
    }
    assert {each.place for each in server_settings_in(document)} == {
        "criteria.final_response_match_v2.judge_model_options.judge_model",
        "criteria.final_response_match_v2.judge_model_options.judgeModelConfig.httpOptions.baseUrl",
        "userSimulatorConfig.api_base",
        "userSimulatorConfig.modelConfiguration.tools.0.mcp_servers",
    }


def test_a_document_that_is_nested_deeper_than_python_calls_is_read() -> None:
    """A text of brackets is no way to end the program."""
    document: Any = {"model_configuration": {"http_options": {"base_url": "x"}}}
    for _ in range(5_000):
        document = [document]
    assert len(server_settings_in(document)) == 1


def test_the_name_of_a_model_is_no_address() -> None:
    """Some clients send their key to the name, where it is one; versions and resources have signs of their own."""
    for name in (
        "huggingface/https://elsewhere.example/v1",
        "Claude:projects/p/locations/elsewhere.example#/publishers/anthropic/models/claude-x",
        "projects/p/locations/elsewhere.example:443",
        "bedrock/arn:aws:bedrock:elsewhere.example/x:1:inference-profile/x",
        *("gemini?x", "gemini%2fx", "gemini\\x", "//elsewhere.example/x", "gemini\n"),
    ):
        assert names_address(name), name
    for name in (
        "gemini-2.5-flash",
        "openrouter/anthropic/claude-3.5-sonnet:beta",
        "vertex_ai/claude-3-5@20240620",
        "bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/x",
        "Claude:projects/p/locations/us-east5/publishers/anthropic/models/claude-x",
    ):
        assert not names_address(name)


def test_what_code_gave_is_known_by_what_a_journal_keeps_of_it() -> None:
    """In this process alone; another process takes of the same journal what a text may set."""
    given = GivenSettings()
    whole: Any = {"temperature": 0.5, "http_options": {"base_url": "x", "timeout": 5}}
    kept = given.kept(whole)
    assert kept == {"temperature": 0.5, "http_options": {"timeout": 5}}
    assert given.whole(kept) == whole
    assert GivenSettings().whole(kept) == kept
    assert GivenSettings().whole(whole) == kept
    given.forget(whole)
    assert given.whole(kept) == kept
