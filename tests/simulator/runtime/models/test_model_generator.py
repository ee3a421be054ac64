"""Proves the model generator with the real clients, google-genai and LiteLLM, over real HTTP to a loopback server."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

import pytest
from google.genai import types

from simulator.runtime.models.model_requests import Tokens
from tests.harness.loopback import HANGS, Reply
from tests.simulator.runtime.models.model_servers import (
    CALL,
    GOOD,
    KEY,
    PROVIDERS,
    Provider,
    Told,
    drafted,
    generated,
    unheard,
)

# google-genai's own client does so.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

TEXT = json.dumps(GOOD)
WRONG = json.dumps({"order_id": "A-1", "status": "lost"})


# ---------------------------------------------------------------- what is sent


def test_json_is_really_requested_with_the_schema(provider: Provider) -> None:
    """The request asks for JSON in the provider's own way, with the schema as far as it knows it, and tells the call."""
    done, asked = drafted(provider, provider.says(TEXT))
    body = asked[0].body
    assert done.value == GOOD
    assert done.reason == ""
    assert provider.json_mode(body)
    assert provider.schema(body)["properties"]["status"] == {"type": "string", "enum": ["open", "shipped"]}
    assert "minLength" not in str(provider.schema(body))
    assert "minLength" in done.attempts[0].sent
    assert "minLength" in provider.prompt(body)
    assert "find_order" in provider.prompt(body)
    assert "tools" not in body


def test_a_schema_that_the_provider_cannot_say_is_in_the_prompt(provider: Provider) -> None:
    """Fields of any name go to Gemini as they are; OpenAI's strict format has no word for them."""
    open_schema = {"type": "object", "properties": {"stock": {"type": "object"}}}
    call = CALL.model_copy(update={"output_schema": open_schema})
    done, asked = drafted(provider, provider.says('{"stock": {"P-1": 3}}'), call=call)
    body = asked[0].body
    assert done.value == {"stock": {"P-1": 3}}
    assert provider.json_mode(body)
    assert '"stock"' in provider.prompt(body)
    assert (provider.schema(body) is None) == ("$.stock" in done.attempts[0].sent)


@pytest.mark.parametrize("schema", [None, {"type": "nonsense"}])
def test_without_a_schema_json_mode_is_still_asked_for(
    provider: Provider, schema: dict[str, str] | None
) -> None:
    """Nothing is known about the answer, or nothing that makes sense: any JSON will do."""
    done, asked = drafted(
        provider, provider.says('{"anything": 1}'), call=CALL.model_copy(update={"output_schema": schema})
    )
    body = asked[0].body
    assert done.value == {"anything": 1}
    assert provider.json_mode(body)
    assert provider.schema(body) is None
    assert ("itself is invalid" in done.attempts[0].sent) == (schema is not None)


def test_a_tool_that_returns_a_list_is_asked_for_in_an_object(provider: Provider) -> None:
    """The answer comes out of its object."""
    call = CALL.model_copy(update={"output_schema": {"type": "array", "items": {"type": "string"}}})
    done, asked = drafted(provider, provider.says('{"result": ["A-1"]}'), call=call)
    assert done.value == ["A-1"]
    assert provider.schema(asked[0].body)["required"] == ["result"]


def test_the_configuration_counts_and_is_not_changed(provider: Provider) -> None:
    """Temperature, headers and system instruction are sent; tools and schemas of it are not; it stays as it was."""
    given = types.GenerateContentConfig(
        temperature=0.25,
        system_instruction="You are a warehouse.",
        tools=[types.Tool(google_search=types.GoogleSearch())],
        response_schema={"type": "string"},
        http_options=types.HttpOptions(headers={"x-team": "desk"}),
    )
    before = given.model_dump()
    done, (asked,) = drafted(provider, provider.says(TEXT), configuration=given)
    assert done.value == GOOD
    assert given.model_dump() == before
    assert "0.25" in str(asked.body)
    assert "You are a warehouse." in str(asked.body)
    assert asked.headers["x-team"] == "desk"
    assert "tools" not in asked.body
    assert provider.thinking(asked.body) is None


def test_by_default_gemini_thinks_as_in_adks_own_simulation() -> None:
    """The budget is ADK's, and the thoughts stay away."""
    gemini = PROVIDERS["google-genai"]
    _, (asked,) = drafted(gemini, gemini.says(TEXT))
    assert gemini.thinking(asked.body) == {"include_thoughts": False, "thinking_budget": 10240}


@pytest.mark.parametrize(
    ("message", "gone"),
    [
        ("Thinking is not supported by this model.", "thoughts"),
        ('Invalid JSON payload received. Unknown name "responseJsonSchema"', "schema"),
        ("JSON mode is not enabled for this model", "json mode"),
    ],
)
def test_what_a_model_does_not_know_is_left_away(message: str, gone: str) -> None:
    """A request that is refused for it goes again without, and the person is told."""
    gemini, told = PROVIDERS["google-genai"], Told()
    done, asked = drafted(gemini, gemini.fails(400, message), gemini.says(TEXT), told=told)
    body = asked[1].body
    assert done.value == GOOD
    assert [attempt.what for attempt in done.attempts] == ["asked", "retry"]
    assert f"asking without {gone}" in told.words
    assert told.slept == []
    assert (gemini.thinking(body) is None) == (gone == "thoughts")
    assert (gemini.schema(body) is None) == (gone != "thoughts")
    assert gemini.json_mode(body) == (gone != "json mode") == ("JSON mode" in done.attempts[1].sent)


# ---------------------------------------------------------------- what comes back


@pytest.mark.parametrize("text", [f"\n\n```json\n{TEXT}\n```\n", f"Here it is: {TEXT} Good luck!"])
def test_fences_prose_and_the_limit_right_after_it_do_no_harm(provider: Provider, text: str) -> None:
    """One request is enough, whatever the provider says of its end."""
    for reply in (provider.says(text), provider.says(text, provider.cut_off)):
        done, asked = drafted(provider, reply)
        assert len(asked) == 1
        assert done.value == GOOD


def test_thoughts_are_dropped_and_counted(provider: Provider) -> None:
    """JSON in a thought is no answer; tokens and time are given."""
    done, _ = drafted(provider, provider.thought)
    assert done.value == GOOD
    assert done.tokens == Tokens(asked=5, answered=3, thought=2)
    assert done.seconds > done.attempts[0].seconds > 0


def test_a_wrong_shape_is_mended_once(provider: Provider) -> None:
    """The model is shown its answer and what is wrong with it; the second answer stands."""
    told = Told()
    done, asked = drafted(provider, provider.says(WRONG), provider.says(TEXT), told=told)
    first, second = (provider.prompt(asked.body) for asked in asked)
    assert provider.schema(asked[1].body) is not None
    assert done.value == GOOD
    assert done.problems == ()
    assert second.startswith(first)
    assert WRONG in second
    assert "$.status" in second.removeprefix(first)
    assert [attempt.what for attempt in done.attempts] == ["asked", "repair"]
    assert done.attempts[0].outcome.startswith("cannot be used: $.status")
    assert done.tokens.asked == 10
    assert "asking once more" in told.words


@pytest.mark.parametrize("text", [WRONG, "I would rather not."])
def test_two_wrong_answers_leave_the_offline_draft(provider: Provider, text: str) -> None:
    """There is no third request; the reason is in words."""
    done, asked = drafted(provider, provider.says(text), provider.says(text))
    assert len(asked) == 2
    assert done.value is None
    assert "second response" in done.reason
    assert done.problems


@pytest.mark.parametrize("limited", [False, True])
def test_an_empty_answer_or_one_without_room_is_asked_for_once_more(
    provider: Provider, limited: bool
) -> None:
    """Nothing is no answer; the model's limit of tokens is named, to the person and to the model."""
    bad = provider.says(TEXT[:20], provider.cut_off) if limited else provider.says(" \n")
    done, asked = drafted(provider, bad, provider.says(TEXT))
    assert len(asked) == 2
    assert ("limit of tokens" in provider.prompt(asked[1].body)) is limited
    assert done.value == GOOD
    assert ("limit of tokens" if limited else "empty") in done.attempts[0].outcome


def test_a_block_is_the_reason_and_nothing_is_asked_again(provider: Provider) -> None:
    """A provider that refuses the prompt would refuse it again."""
    done, asked = drafted(provider, provider.blocked)
    assert len(asked) == 1
    assert done.value is None
    assert "refused" in done.reason
    assert "SAFETY" in done.reason.upper()


# ---------------------------------------------------------------- what goes wrong on the way


@pytest.mark.parametrize(
    ("replies", "slept", "words"),
    [
        (lambda by: [by.fails(429, wait="2s"), by.says(TEXT)], [2.0], ("2 s (1 of 2)", "429")),
        (lambda by: [by.fails(429, wait="3600s")], [], ("3,600 s",)),
        (lambda by: [by.fails(503)] * 5, [1.0, 2.0], ("503", "(3 attempts)")),
        (lambda by: [Reply(by.says(TEXT).body, drops=True), by.says(TEXT)], [1.0], ("1 s (1 of 2)",)),
    ],
    ids=["as the provider asks", "an hour", "longer each time", "half of a body"],
)
def test_what_may_pass_is_waited_for_and_tried_again(
    provider: Provider, replies: Callable[[Provider], list[Reply]], slept: list[float], words: tuple[str, ...]
) -> None:
    """The person sees each wait; one beyond patience, or a third failure, is the reason. The client tries nothing unseen."""
    told = Told()
    done, asked = drafted(provider, *replies(provider), told=told)
    assert told.slept == slept
    assert [progress.waits for progress in told.progress if progress.waits] == slept
    assert len(asked) == len(slept) + 1
    assert [attempt.what for attempt in done.attempts] == ["asked", *["retry"] * len(slept)]
    assert done.value == (GOOD if len(slept) == 1 else None)
    assert [word for word in words if word not in f"{told.words} {done.reason}"] == []


def test_a_slow_provider_is_given_up_in_time(provider: Provider) -> None:
    """A request has its time, and a person is not kept waiting by more of them."""
    done, asked = drafted(provider, HANGS, timeout_seconds=0.5)
    assert len(asked) <= 1
    assert "0.5 s" in done.reason
    assert done.attempts[0].outcome == done.reason


def test_a_body_that_cannot_be_read_is_a_reason(provider: Provider) -> None:
    """Bytes that are no UTF-8 or no JSON crash nothing; of such ones inside an answer the client may make one that fits."""
    inside = json.dumps(provider.says(TEXT).body).encode().replace(b"A-1", b"A-\xff\xfe")
    for body in (b"\xff\xfe{\x80", b'{"candidates": [', b"", inside):
        done, asked = drafted(provider, *[Reply(body)] * 6)
        assert len(asked) <= 3
        assert bool(done.value) != bool(done.reason)
        assert done.value is None or body == inside


def test_nobody_at_the_address_is_a_reason(provider: Provider) -> None:
    """A connection that cannot be made is tried again, visibly, and then told; a server of this machine is known not to run."""
    told = Told()
    with unheard() as url:
        done = generated(provider.model(url), told)
    assert done.value is None
    assert told.slept in ([], [1.0, 2.0])
    assert done.reason.endswith("(3 attempts)" if told.slept else url.partition("//")[2])


def test_a_refusal_is_not_tried_again_and_no_key_is_logged_or_told(
    provider: Provider, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider that repeats the key in its error does not make it a part of the session."""
    monkeypatch.setenv("OTHER_API_KEY", "another-secret-1")
    told = Told()
    refusal = provider.fails(401, f"{KEY} and another-secret-1 are no good keys")
    with caplog.at_level(logging.DEBUG):
        done, (asked,) = drafted(provider, refusal, told=told)
    assert KEY in str(asked.headers)
    seen = f"{done.model_dump_json()} {told.words} {caplog.text}"
    assert done.value is None
    assert "401: " in done.reason
    assert "no good keys" in done.reason
    assert done.reason.count("[a key]") == 2
    assert KEY not in seen
    assert "another-secret-1" not in seen
