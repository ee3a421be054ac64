"""Lets a command write any text to any terminal: what its encoding cannot hold is escaped as in JSON, so that JSON stays JSON."""

from __future__ import annotations

import codecs
import io
import json
import sys

_ESCAPES = "golden-trace-escapes"


def escape_output() -> None:
    """Escape from now on what the encoding of the standard output cannot hold; the standard error does so by itself."""
    codecs.register_error(_ESCAPES, _escaped)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_ESCAPES)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
