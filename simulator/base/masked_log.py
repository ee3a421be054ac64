"""Keeps secrets out of logs, of a server, a command and an agent's process: a real tool's exception, which ADK logs, can quote a key."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from simulator.base.secret_masking import without_secrets

_FORMATTER = logging.Formatter()


@contextmanager
def masked_log() -> Iterator[None]:
    """Mask every record that is logged inside the block, by whichever library and for whichever handler."""
    before = logging.getLogRecordFactory()
    logging.setLogRecordFactory(_masking(before))
    try:
        yield
    finally:
        logging.setLogRecordFactory(before)


def _masking(make: Callable[..., logging.LogRecord]) -> Callable[..., logging.LogRecord]:
    def made(*args: Any, **more: Any) -> logging.LogRecord:
        record = make(*args, **more)
        with suppress(
            TypeError, ValueError, KeyError
        ):  # its handler says what is wrong with a message and its values
            _mask(record)
        if record.exc_info and record.exc_info[0] is not None:
            # A formatter takes this text in place of making one.
            record.exc_text = without_secrets(_FORMATTER.formatException(record.exc_info))
        return record

    return made


def _mask(record: logging.LogRecord) -> None:
    if isinstance(record.args, tuple):
        record.args = tuple(without_secrets(each) if isinstance(each, str) else each for each in record.args)
    said = record.getMessage()
    masked = without_secrets(said)
    if masked != said:
        record.msg, record.args = masked, ()
