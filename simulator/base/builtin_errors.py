"""Makes builtin exceptions from a name and a message, with what else they need to be made."""

from __future__ import annotations

import builtins

_PREFIX = "builtins:"


def builtin_name(error_type: str) -> str:
    """Return the name of a builtin, written with its module or without; empty for one of another module."""
    name = error_type.removeprefix(_PREFIX)
    return "" if ":" in name else name


def builtin_error(name: str, message: str) -> Exception | None:
    """Make a builtin exception; None where there is none of that name that an agent could handle."""
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return None
    if issubclass(kind, UnicodeDecodeError):
        return kind("utf-8", b"\x80", 0, 1, message)
    if issubclass(kind, UnicodeEncodeError):
        return kind("ascii", "\x80", 0, 1, message)
    if issubclass(kind, UnicodeTranslateError):
        return kind("\x80", 0, 1, message)
    if issubclass(kind, ExceptionGroup):
        return kind(message, [RuntimeError(message)])
    return kind(message)
