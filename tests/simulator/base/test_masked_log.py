"""The log of a server holds no secret that a real tool, a driver or a library has put into its words."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from simulator.base.masked_log import masked_log


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
