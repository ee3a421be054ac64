"""Proves how a client's errors are read: what is tried again and when, and that no key stands in the words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from simulator.base.secret_masking import secrets_of
from simulator.runtime.models.model_requests import RequestFeatures, failure_of, with_less
from tests.simulator.runtime.stage import PATIENCE, StandIn, entries, opened, say

NOW = 1_700_000_000.0


class ProviderError(Exception):
    """An error as clients raise them."""

    def __init__(self, said: str = "bad", **more: Any) -> None:
        super().__init__(said)
        vars(self).update(more)


def answered_with(**headers: str) -> Any:
    """Return the response that an error carries along."""
    return SimpleNamespace(headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ProviderError(code=429), True),
        (ProviderError(status_code=408), True),
        (ProviderError(status_code=529), True),
        (ProviderError(code=503), True),
        (ProviderError(code=400), False),
        (ProviderError(status_code=404), False),
        (ProviderError(code="rate_limit"), False),
        (ConnectionResetError("gone"), True),
        (TimeoutError("slow"), True),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), True),
        (ValueError("no"), False),
    ],
)
def test_what_may_pass_is_tried_again(error: Exception, again: bool) -> None:
    """Errors of the provider and of the way to it pass; errors of the request do not."""
    assert failure_of(error, now=NOW).again is again


@pytest.mark.parametrize(
    ("said", "wait"),
    [
        ("7", 7.0),
        (" 1.5 ", 1.5),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30.0),
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("9" * 40, None),
    ],
)
def test_retry_after_is_read_in_seconds_and_as_a_date(said: str, wait: float | None) -> None:
    """What cannot be read counts as not said."""
    error = ProviderError(code=429, response=answered_with(retry_after=said))
    assert failure_of(error, now=NOW).wait == wait


@pytest.mark.parametrize(
    "details", [None, "text", {"error": None}, {"error": {"details": [1, {"retryDelay": "soon"}]}}]
)
def test_details_of_any_shape_are_no_reason_to_raise(details: Any) -> None:
    """Providers put there what they like."""
    assert failure_of(ProviderError(code=429, details=details), now=NOW).wait is None


def test_words_are_short_and_hold_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of the environment and of the settings are taken out, and what looks like a key; there is always a word."""
    monkeypatch.setenv("SOME_TOKEN", "abcdef-1")
    secrets = secrets_of({"api_key": "given-key", "model": "shown"}, None)
    text = f"keys given-key, abcdef-1, sk-{'x' * 20}, Bearer {'y' * 20} for shown {'long ' * 200}"
    words = failure_of(ProviderError(text, code=401), now=NOW, secrets=secrets).words
    assert words.startswith("401: keys [a key], [a key], [a key], Bearer [a key] for shown")
    assert len(words) < 420
    assert failure_of(KeyError(), now=NOW).words == "KeyError"


@pytest.mark.parametrize(
    ("status", "words", "less"),
    [
        (400, "thinking_budget is not supported", RequestFeatures(thoughts=False)),
        (400, "response_format: schema has too many states", RequestFeatures(schema=False)),
        (422, "additionalProperties is not allowed", RequestFeatures(schema=False)),
        (400, "response_format is not supported", RequestFeatures(json_mode=False, schema=False)),
        (None, "response_mime_type is unknown", RequestFeatures(json_mode=False, schema=False)),
        (400, "API key not valid", None),
        (404, "the thinking model was not found", None),
    ],
)
def test_less_is_asked_for_where_that_was_the_reason(
    status: int | None, words: str, less: RequestFeatures | None
) -> None:
    """Only what the provider complains of is left away."""
    assert with_less(RequestFeatures(), status, words) == less


def test_there_is_an_end_to_asking_for_less() -> None:
    """A provider that complains of everything is asked a few times only."""
    wish: RequestFeatures | None = RequestFeatures()
    steps = 0
    while wish is not None:
        wish = with_less(wish, 400, "json mode, schema, thinking")
        steps += 1
    assert steps <= 4


def _content(*parts: types.Part) -> types.Content:
    return types.Content(role="model", parts=list(parts))


@pytest.mark.parametrize(
    ("responses", "words"),
    [
        ([], "without yielding"),
        ([LlmResponse()], "is empty"),
        ([LlmResponse(content=_content(), finish_reason=types.FinishReason.MAX_TOKENS)], "MAX_TOKENS"),
        ([LlmResponse(content=_content(say("Hel")), partial=True)], "complete"),
        ([LlmResponse(content=_content(say("Hello.")))], None),
        ([LlmResponse(content=_content(types.Part(text="Hm.", thought=True)))], None),
        ([LlmResponse(content=_content(types.Part.from_bytes(data=b"x", mime_type="image/png")))], None),
        ([LlmResponse(error_code="SAFETY", error_message="blocked")], None),
    ],
)
def test_a_model_that_says_nothing_is_a_step_with_its_reason(
    responses: list[LlmResponse], words: str | None
) -> None:
    """Nothing, an empty response, or a beginning only, each time; a text, a thought, an image or an error is something."""
    with opened(LlmAgent(name="clerk", model=StandIn(does=lambda _: responses)), agents="model") as sim:
        assert sim.query("hello", wait=PATIENCE)
        assert sim.query("again", wait=PATIENCE)
        silent = [each for each in entries(sim, "model_error") if each.error_type == "NoResponse"]
        assert len(silent) == (2 if words else 0)
        assert all(each.agent == "clerk" and str(words) in each.error_message for each in silent)
