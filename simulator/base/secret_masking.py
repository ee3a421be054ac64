"""Takes secrets out of texts that others read: keys, passwords in addresses, and what the process's environment keeps."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

MASK = "[a key]"
"""Stands where a secret was."""

_NAMES = r"key|token|secret|passw(?:or)?d|passphrase|passfile|credential|authorization"
_SECRET_NAME = re.compile(_NAMES, re.IGNORECASE)
_LOOKS_SECRET = re.compile(r"\b(sk-[\w-]{8,}|AIza[\w-]{20,}|Bearer\s+[\w.~+/=-]{8,})")
_SHORTEST_SECRET = 5
# All up to the last @: a password may hold one that nobody has encoded.
_IN_ADDRESS = re.compile(r"(\b[A-Za-z][\w+.-]*://)[^\s/?#'\"<>]*:[^\s'\"<>]*@")
_ASSIGNED = re.compile(
    r"((?<![A-Za-z0-9])[\w-]*(?:api_?key|access_?key|private_?key|token|secret|passw(?:or)?d|pwd|passphrase|passfile|credentials?|"
    r"authorization)[\w-]*[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s&,;)}\]\"']+)",
    re.IGNORECASE,
)


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Take secrets out of a text, and what looks like one."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return _LOOKS_SECRET.sub(MASK, text)


def without_secrets(text: str) -> str:
    """Take out of a text for the log of a server, which more people read, what may be a secret: rather too much than too little."""
    text = _IN_ADDRESS.sub(rf"\g<1>{MASK}@", redacted(text, secrets_of()))
    return _ASSIGNED.sub(rf"\g<1>{MASK}", text)


def secrets_of(*settings: object) -> tuple[str, ...]:
    """Return the keys that the process's environment and some settings hold, the longest first."""
    found = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    for setting in settings:
        if isinstance(setting, Mapping):
            found.update(
                value
                for name, value in setting.items()
                if isinstance(value, str) and _SECRET_NAME.search(str(name))
            )
    return tuple(sorted((one for one in found if len(one) >= _SHORTEST_SECRET), key=len, reverse=True))
