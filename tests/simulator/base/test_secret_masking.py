"""No kind of secret is left in an error or in the log of a server, and what is no secret can be read."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from simulator.base.secret_masking import error_words, masked_log, without_secrets, without_secrets_in
from tests.simulator.base.planted_secrets import ENVIRONMENT, LINES, SECRETS


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two keys of the process, one of several lines."""
    monkeypatch.setenv("DESK_API_KEY", ENVIRONMENT)
    monkeypatch.setenv("DESK_SIGNING_KEY", LINES)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


@pytest.mark.parametrize("kind", list(SECRETS))
def test_no_part_of_a_secret_is_left(kind: str) -> None:
    """As the text is, in the middle of another one, as a literal and as JSON, which stays JSON; masking again changes nothing."""
    text, parts = SECRETS[kind]
    for said in (text, f"the desk failed: {text}\nnext line", repr(text), json.dumps({"error": text})):
        masked = without_secrets(said)
        assert not [part for part in parts if part in masked], masked
        assert without_secrets(masked) == masked
    assert not [part for part in parts if part in error_words(RuntimeError(text))]
    assert kind != "JSON" or isinstance(json.loads(without_secrets(text)), dict)


ORDINARY = [
    "order A-1002 of anne@shop.example was shipped at 12:30",
    '{"order_id": "ORD-2024-000123", "sku": "sk-1", "key": "colour", "status": "open"}',
    '{"prompt_tokens": 12, "max_tokens": 800, "token_count": 3, "next_page_token": "CAUQAA"}',
    "KeyError: 'order_id'",
    "https://shop.example/orders/17?page=2&sort=asc#top",
    "git@github.com:acme/desk.git at 1f0e3dad99908345f7439f8ffabdffc4",
    "d3b07384-d9a0-4c9b-8f7e-2b1f0c5a6e77",
    "basic understanding of tokens and keys",
    "DefaultCredentialsError: Your default credentials were not found",
    "case_3_exposed_secrets_redaction: 1 turn, set GOLDEN_TRACE_PLACEHOLDER_CREDENTIALS=1",
    "no final response: 'case_3_exposed_secrets_redaction', 'case_4_prompt_injection_escalation' and 1 more",
    "password: None, api_key=null, has_token=False",
    "2 of 3 calls: http://localhost:8501/?session=abc answered",
    'File "/app/tokens.py", line 12, in keys',
    "the turn was stopped: no answer within 5 s",
    "see https://docs.example/a@b",
    "the password is wrong, the token is expired and the API key is not valid",
    "Incorrect API key provided: check the environment. The token was sent as base64-encoded text.",
    "Invalid token 'else' in line 3, unexpected token '<!DOCTYPE1'",
    "the number of tokens is 100000, the password is 8-16 characters long",
    "each key-value pair of bot:answer, key-0123 and r8_x",
    "3 passed: pass=3, pass: 123, bypass=off, compass=north",
    "docker run -u 1000:1000 image, mailto:anne@shop.example, email:anne@shop.example",
    "[a key] install: run it with --token [a key]",
    "credentials={'user': 'anne'}, keys=['colour', 'size']",
    "negotiate settlements at 12:30 with redis:7@sha256:0123456789abcdef",
    "2026-11-22T08:03:07.250Z eval_id=find_order_a1002_2 score=0.8",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_what_is_no_secret_can_be_read(text: str) -> None:
    """Ids, counts, addresses and the names of fields: a golden is compared by them."""
    assert without_secrets(text) == text


@pytest.mark.parametrize("text", ["InvalidTokenError: hunter2", '("password", "hunter2")'])
def test_what_may_be_a_secret_beside_such_words_is_masked(text: str) -> None:
    """An error may say nothing but the secret, and a pair holds it behind its name."""
    assert "hunter2" not in without_secrets(text)


def test_the_fields_of_a_value_are_masked_by_their_names() -> None:
    """Where no text names them; counts and other fields stay as they are."""
    value: Any = {
        "password": "x1", "pin": 4, "apiKey": 17, "max_tokens": 5, "has_token": True, "credentials": {"user": "anne"},
        "headers": [{"Authorization": "y"}, "token=z1"], "order_id": "A-1", "token": None, "tokens": ["a", 1], "pass": "z2",
    }  # fmt: skip
    assert without_secrets_in(value) == {
        "password": "[a key]", "pin": 4, "apiKey": "[a key]", "max_tokens": 5, "has_token": True,
        "credentials": {"user": "anne"}, "headers": [{"Authorization": "[a key]"}, "token=[a key]"], "order_id": "A-1",
        "token": None, "tokens": ["[a key]", 1], "pass": "[a key]",
    }  # fmt: skip


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A library's logger with a handler, inside of a running server."""
    written = io.StringIO()
    logger = logging.getLogger("some.library")
    handler = logging.StreamHandler(written)
    logger.addHandler(handler)
    with masked_log():
        yield logger, written
    logger.removeHandler(handler)


def _pay() -> None:
    cause = ConnectionError("postgresql://anne:hunter2@db.example/x?sslpassword=hunter3")
    raise RuntimeError("the payment failed: api_key='hunter4'") from cause


def test_an_exception_of_a_tool_is_logged_without_its_secrets(
    log: tuple[logging.Logger, io.StringIO],
) -> None:
    """Its type, its place and the rest of its words stay; that holds for what it was raised from too."""
    logger, written = log
    try:
        _pay()
    except RuntimeError:
        logger.exception("the tool %s failed with token=%s", "pay", "hunter5")
    text = written.getvalue()
    assert "hunter" not in text
    for kept in (
        "the tool pay failed",
        "RuntimeError: the payment failed",
        "ConnectionError: postgresql://",
        "@db.example/x",
    ):
        assert kept in text


def test_a_key_of_the_environment_is_masked(
    log: tuple[logging.Logger, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it stands, and in whichever form the message has its values."""
    monkeypatch.setenv("SOME_API_KEY", "correct-horse-battery")
    logger, written = log
    logger.warning("asked with %(it)s", {"it": "correct-horse-battery"})
    logger.warning("100% of correct-horse-battery")
    assert written.getvalue() == "asked with [a key]\n100% of [a key]\n"


def test_a_message_that_does_not_fit_its_values_is_left_to_its_handler(
    log: tuple[logging.Logger, io.StringIO],
) -> None:
    """A mistake in a library's logging ends nothing."""
    logger, _ = log
    record = logger.makeRecord("x", logging.INFO, "x.py", 1, "%d and %d", ("one",), None)
    assert record.msg == "%d and %d"
