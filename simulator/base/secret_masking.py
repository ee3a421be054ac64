"""Takes secrets out of errors, logs and the output of commands: keys, passwords in addresses, and what the process's environment keeps.

What a person wrote, and what a tool returned, is nobody's error and is left as it is. A secret is known by its own form (a token of a
provider, a JWT, a private key), by its place (a URL, a header, an option), by the name before it (`password=`, `"apiKey": `), or as a value of
the environment. Each pattern takes a time that grows with the text alone: errors can be long, and come from anywhere.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

MASK = "[a key]"
"""Stands where a secret was."""

_NAMES = r"key|token|secret|passw(?:or)?d|passphrase|passfile|credential|authorization|_pat$|_dsn$|connection_?string|cookie"
_SECRET_NAME = re.compile(_NAMES, re.IGNORECASE)
_SHORTEST_SECRET, _SHORTEST_LINE = 5, 8
_NO_SECRETS = frozenset({"false", "true", "none", "null", "placeholder"})
"""Values of switches whose names sound like keys, as `TOKENIZERS_PARALLELISM`; and of what stands where a key would."""

# ------------------------------------------------------------ by its own form

_TOKENS = re.compile(
    r"""\b(?:
      sk-[\w-]{8,} | AIza[\w-]{20,} | ya29\.[\w.-]{8,} | GOCSPX-[\w-]{8,} | 1//0[\w-]{20,}           # OpenAI, Anthropic, Google
    | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}                                                              # Amazon
    | gh[oprsu]_[A-Za-z0-9]{16,} | github_pat_\w{16,} | glpat-[\w-]{16,}                              # GitHub, GitLab
    | xox[abeoprs]-[\w-]{8,} | xapp-[\w-]{8,} | (?<=hooks\.slack\.com/services/)[\w/]{8,}              # Slack
    | (?:sk|rk|pk)_(?:live|test)_\w{8,} | whsec_[\w+/=]{8,} | shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{16,}      # Stripe, Shopify
    | hf_[A-Za-z0-9]{16,} | gsk_[A-Za-z0-9]{16,} | xai-[\w-]{16,} | npm_[A-Za-z0-9]{16,} | pypi-[\w-]{16,}
    | dop_v1_[a-f0-9]{16,} | SG\.[\w-]{8,}\.[\w-]{8,} | eyJ[\w-]{6,}\.[\w-]{4,}(?:\.[\w-]*)?           # SendGrid, JWT
    )""",
    re.VERBOSE,
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[\w+/=\s\\:,-]*)",
    re.DOTALL,
)

# ------------------------------------------------------------ by its place

_SCHEMES = re.compile(r"\b(Bearer|Basic|Digest|Token)(\s+)([\w.~+/=-]{8,})", re.IGNORECASE)
# All up to the last @: a password may hold one that nobody has encoded.
_IN_ADDRESS = re.compile(r"(\b[A-Za-z][\w+.-]{0,40}://)[^\s/?#'\"<>]{0,256}:[^\s'\"<>]{0,1024}@")
_TOKEN_IN_ADDRESS = re.compile(r"(\b[A-Za-z][\w+.-]{0,40}://)[\w.~%+-]{16,1024}@")
_IN_QUERY = re.compile(
    r"([?&;](?:[\w.-]{0,40}(?:key|sig|signature|auth|token|secret|password|pwd|code|credential)))=(?!\[a key\])[^\s&#'\"<>]+",
    re.IGNORECASE,
)
_COOKIE = re.compile(r"(\b(?:set-)?cookie[\"']?\s*[:=]\s*[\"']?)[^\s\"',][^\"'\n\r]*", re.IGNORECASE)

# ------------------------------------------------------------ by the name before it

_NAMED = (
    r"(?:(?:api|access|private|secret|account|shared|signing|encryption|subscription|master|client|auth)[_ -]?key|token|secret|passw(?:or)?d|"
    r"\bpwd|passphrase|passfile|credentials?|authorization|connection[_-]?string)"
)
_CORE = rf"(?![\w-]{{0,80}}(?:page|continuation)[_-]?token)[\w-]{{0,80}}{_NAMED}[\w-]{{0,80}}"
_NAME = rf"(?<![\w-]){_CORE}"
# A literal may stand in another one: it ends where the quotes have as many backslashes as where it began, or where the text was cut.
_QUOTED = (
    r"[brBR]{0,2}(?P<start>(?P<escape>\\*)(?P<quote>[\"']))(?:.{0,4096}?(?<!\\)(?P<end>(?P=start))|.{0,4096})"
)
_PLAIN = r"[^\s&,;(){}\[\]\"'<>\\]+"
_ASSIGNED = re.compile(
    rf"({_NAME}(?:\\*[\"'])?\]?\s*(?:=>|:=|[=:]|(?<=[\"'])\s*,(?=\s*[brBR]{{0,2}}[\"']))\s*)"
    rf"(?!(?:None|null|true|false|True|False|placeholder|\.\.\.)\b)((?:(?:Bearer|Basic|Digest|Token)\s+)?(?:{_QUOTED}|{_PLAIN}))",
    re.IGNORECASE | re.DOTALL,
)
_VERSION = re.compile(r"=[0-9]+(?:\.[0-9]+){1,3}(?:\.?(?:a|b|rc|dev|post)[0-9]+)?")
_OF_ERROR = re.compile(r"(?:Error|Exception|Warning)\s*:\s*$")
"""The class of an error before its words."""
_LISTED = re.compile(rf"{_NAMED}s?[\"'\\]*\s*,\s*$", re.IGNORECASE)
"""A name in a list or tuple before its value: only one that ends as a secret's name, as others are values themselves."""
_LONGEST_COUNT = 2
_COUNTED = re.compile(r"[\w-]*tokens?(?:[_-]\w+)?(?:\\*[\"'])?\s*[=:]\s*", re.IGNORECASE)
_OPTION = re.compile(rf"(?<![\w-])(--{_CORE}\s+)(?!-)(?:{_QUOTED}|{_PLAIN})", re.IGNORECASE | re.DOTALL)
_ELEMENT = re.compile(rf"(<(?:\w{{1,40}}:)?{_CORE}(?:\s[^<>]{{0,200}})?>)[^<]+(?=</)", re.IGNORECASE)
_PAIR = re.compile(r"(\bauth\s*=\s*)\([^()]{0,400}\)", re.IGNORECASE)
_IS_NAMED = re.compile(rf"(?:{_CORE}|(?:set-)?cookie)$", re.IGNORECASE)


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Take secrets out of a text, and what looks like one: rather too much than too little."""
    for secret in secrets:
        for written in _spellings(secret):
            text = text.replace(written, MASK)
    text = _TOKENS.sub(MASK, _PRIVATE_KEY.sub(MASK, text))
    text = _TOKEN_IN_ADDRESS.sub(rf"\g<1>{MASK}@", _IN_ADDRESS.sub(rf"\g<1>{MASK}@", text))
    text = _IN_QUERY.sub(rf"\g<1>={MASK}", text)
    for pattern in (_COOKIE, _OPTION, _ELEMENT, _PAIR):
        text = pattern.sub(rf"\g<1>{MASK}", text)
    return _SCHEMES.sub(_without_scheme, _ASSIGNED.sub(_without_value, text))


def without_secrets(text: str) -> str:
    """Take out of a text that others read, as a log, an error and the output of a command, what may be a secret."""
    return redacted(text, secrets_of())


def error_words(error: BaseException) -> str:
    """Return the class and the words of an exception for people to read, without secrets: it can be anybody's."""
    return without_secrets(f"{type(error).__name__}: {error}")


def without_secrets_in(value: Any) -> Any:
    """Return a JSON value without secrets: in its texts, and in fields whose names say that they hold one."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        return {name: _of_field(name, each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(without_secrets_in, value))
    return value


def _of_field(name: str, value: Any) -> Any:
    is_plain = isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != ""
    is_counted = isinstance(value, (int, float)) and "token" in name.lower()
    return MASK if is_plain and not is_counted and _IS_NAMED.match(name) else without_secrets_in(value)


def _without_value(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    number = value.strip("\\\"'")
    is_count = number.isdigit() and (len(number) <= _LONGEST_COUNT or _COUNTED.fullmatch(name))
    is_version = _VERSION.fullmatch(value)  # of a package, as in `name==1.2.3`
    is_word = value.isalpha() and _OF_ERROR.search(name)  # an error may say a secret and nothing else
    if is_count or is_version or is_word or (name.rstrip().endswith(",") and not _LISTED.search(name)):
        return f"{name}{_ASSIGNED.sub(_without_value, value)}"
    return f"{name}{found['start'] or ''}{MASK}{found['end'] or ''}"


def _without_scheme(found: re.Match[str]) -> str:
    """Mask what is sent with a scheme of HTTP; words that only begin alike stay, as in "basic understanding"."""
    scheme, blank, sent = found[1], found[2], found[3]
    is_sent = any(map(str.isdigit, sent)) or "=" in sent or not sent.isalpha()
    if scheme.lower() == "basic":
        is_sent = _holds_pair(sent)
    return f"{scheme}{blank}{MASK}" if is_sent or scheme == "Bearer" else found[0]


def _holds_pair(sent: str) -> bool:
    """Return whether a text is a user and a password as HTTP sends them."""
    try:
        return b":" in base64.b64decode(sent + "=" * (-len(sent) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False


def _spellings(secret: str) -> tuple[str, ...]:
    """Return a secret as it is, and as it is written in a literal of Python, in JSON, in an address, and line by line."""
    lines = [line for line in secret.splitlines() if len(line) >= _SHORTEST_LINE]
    return tuple(
        dict.fromkeys((secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret, safe=""), *lines))
    )


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
    kept = (one for one in found if len(one) >= _SHORTEST_SECRET and one.lower() not in _NO_SECRETS)
    return tuple(sorted(kept, key=len, reverse=True))
