"""Takes secrets out of errors, logs and the output of commands: keys, passwords in addresses, and what the process's environment keeps.

What a person wrote, and what a tool returned, is nobody's error and is left as it is. A secret is known by its own form (a token of a
provider, a JWT, a private key), by its place (a URL, a header, an option), by the name before it (`password=`, `"apiKey": `, "the password is"),
or as a value of the environment. Each pattern takes a time that grows with the text alone: errors can be long, and come from anywhere. A log is masked as a whole (`masked_log`):
a real tool's exception, which ADK logs, can quote a key.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[a key]"
"""Stands where a secret was."""

_NAMES = r"key|token|secret|passw(?:or)?d|passphrase|passfile|credential|authorization|_(?:pat|dsn|pass|pwd|pw)$|connection_?string|cookie"
_SECRET_NAME = re.compile(_NAMES, re.IGNORECASE)
_SHORTEST_SECRET, _SHORTEST_LINE = 5, 8
_NO_SECRETS = frozenset({"false", "true", "none", "null", "placeholder"})
"""Values of switches whose names sound like keys, as `TOKENIZERS_PARALLELISM`; and of what stands where a key would."""


_TOKENS = re.compile(
    r"""\b(?:
      sk-[\w-]{8,} | AIza[\w-]{20,} | ya29\.[\w.-]{8,} | GOCSPX-[\w-]{8,} | 1//0[\w-]{20,}           # OpenAI, Anthropic, Google
    | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}                                                              # Amazon
    | gh[oprsu]_[A-Za-z0-9]{16,} | github_pat_\w{16,} | glpat-[\w-]{16,}                              # GitHub, GitLab
    | xox[abeoprs]-[\w-]{8,} | xapp-[\w-]{8,} | (?<=hooks\.slack\.com/services/)[\w/]{8,}              # Slack
    | (?:sk|rk|pk)_(?:live|test)_\w{8,} | whsec_[\w+/=]{8,} | shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{16,}      # Stripe, Shopify
    | hf_[A-Za-z0-9]{16,} | gsk_[A-Za-z0-9]{16,} | xai-[\w-]{16,} | npm_[A-Za-z0-9]{16,} | pypi-[\w-]{16,}
    | dop_v1_[a-f0-9]{16,} | SG\.[\w-]{8,}\.[\w-]{8,} | key-[a-f0-9]{32} | bot\d{5,20}:[\w-]{16,}        # SendGrid, Mailgun, Telegram
    | hv[bsr]\.[\w-]{16,} | dapi[a-f0-9]{32} | dckr_pat_[\w-]{16,}                                      # Vault, Databricks, Docker
    | pcsk_\w{16,} | r8_[A-Za-z0-9]{16,} | lsv2_\w{16,} | tvly-[\w-]{16,}                               # Pinecone, Replicate, LangSmith, Tavily
    | eyJ[\w-]{6,}(?:\.[\w-]*){1,4}                                                                    # JWT, JWE
    )""",
    re.VERBOSE,
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[\w+/=\s\\:,-]*)",
    re.DOTALL,
)


_SCHEME = r"(?:Bearer|Basic|Digest|Token|Negotiate|NTLM|Kerberos|Api-?Key)"
_SCHEMES = re.compile(rf"\b({_SCHEME})(\s+)([\w.~+/=-]{{8,}})", re.IGNORECASE)
# All up to the last @: a password may hold one that nobody has encoded.
_OF_OBJECT = re.compile(r" at 0x[0-9a-fA-F]{1,16}(?=[>;,])")
_IN_ADDRESS = re.compile(r"(\b[A-Za-z][\w+.-]{0,40}://)[^\s/?#'\"<>]{0,256}:[^\s'\"<>]{0,1024}@")
_TOKEN_IN_ADDRESS = re.compile(r"(\b[A-Za-z][\w+.-]{0,40}://)[\w.~%+-]{16,1024}@")
_WITHOUT_SCHEME = re.compile(r"((?<![\w./@:+-])[\w.+-]{1,64}:)[^\s'\"<>]{1,256}@(?=[\w.-]{1,253}:\d{2,5}\b)")
_IN_PATH = re.compile(r"(\bapi\.telegram\.org/(?:file/)?bot)(?!\[a key\])[^\s/?#'\"<>\\]{1,256}")
_OF_USER = re.compile(  # two numbers are ids of the system
    r"((?<![\w-])(?:-[uU]|--(?:proxy-)?user)(?:[\"'\\]{0,8}[\s,=]{1,8}[\"'\\]{0,8})?[\w.@+%-]{1,64}:)"
    r"(?!\d{1,9}(?:\D|$))(?!\[a key\])[^\s'\"\\]{1,256}"
)
_IN_QUERY = re.compile(
    r"([?&;](?:[\w.-]{0,40}(?:key|sig|signature|auth|token|secret|password|pwd|code|credential)))=(?!\[a key\])[^\s&#'\"<>]+",
    re.IGNORECASE,
)
_COOKIE = re.compile(r"(\b(?:set-)?cookie[\"']?\s*[:=]\s*[\"']?)[^\s\"',][^\"'\n\r]*", re.IGNORECASE)


_NAMED = (
    r"(?:(?:api|access|private|secret|account|shared|signing|encryption|subscription|master|client|auth)[_ -]?key|token|secret|passw(?:or)?d|"
    r"\bpwd|passphrase|passfile|credentials?|authorization|connection[_-]?string|"
    r"(?<![A-Za-z])(?:pass|pw)(?=\\{0,8}[\"']?\]?\s{0,4}(?:=|:\s{0,4}\\{0,8}[\"'])))"
)
"""Other words begin with the last two, and a test's "pass: 3" is a count."""
_NO_PAGE = r"(?![\w-]{0,80}(?:page|continuation)[_-]?token)"
_CORE = rf"{_NO_PAGE}[\w-]{{0,80}}{_NAMED}[\w-]{{0,80}}"
_SHORT = r"[\w-]{0,80}(?<![A-Za-z])(?:pass|pw)"
_NAME = rf"(?<![\w-]){_CORE}"
# A literal may stand in another one: it ends where the quotes have as many backslashes as where it began, or where the text was cut.
_QUOTED = r"[bfruBFRU]{0,2}(?P<start>(?P<escape>\\*)(?P<quote>[\"']))(?:.{0,4096}?(?<!\\)(?P<end>(?P=start))|.{0,4096})"
_PLAIN = r"[^\s&,;(){}\[\]\"'<>\\]+"
_ASSIGNED = re.compile(
    rf"({_NAME}(?:\\*[\"'])?\]?\s*(?:=>|:=|[=:]|(?<=[\"'])\s*,(?=\s*[bfruBFRU]{{0,2}}[\"']))\s*)"
    rf"(?!(?:None|null|true|false|True|False|placeholder|\.\.\.)\b)((?:{_SCHEME}\s+)?(?:{_QUOTED}|{_PLAIN}))",
    re.IGNORECASE | re.DOTALL,
)
_VERSION = re.compile(r"=[0-9]+(?:\.[0-9]+){1,3}(?:\.?(?:a|b|rc|dev|post)[0-9]+)?\.?")
_OF_ERROR = re.compile(r"(?:Error|Exception|Warning)\s*:\s*$")
"""The class of an error before its words."""
_LISTED = re.compile(rf"{_NAMED}s?[\"'\\]*\s*,\s*$", re.IGNORECASE)
"""A name in a list or tuple before its value: only one that ends as a secret's name, as others are values themselves."""
_LONGEST_COUNT = 2
_COUNTED = re.compile(r"[\w-]*tokens?(?:[_-]\w+)?(?:\\*[\"'])?\s*[=:]\s*", re.IGNORECASE)
_OPTION = re.compile(
    rf"(?<![\w-])(--(?:{_CORE}|{_SHORT})\s+)(?!-)(?:{_QUOTED}|{_PLAIN})", re.IGNORECASE | re.DOTALL
)
_ELEMENT = re.compile(rf"(<(?:\w{{1,40}}:)?{_CORE}(?:\s[^<>]{{0,200}})?>)[^<]+(?=</)", re.IGNORECASE)
_MANY = re.compile(
    rf"((?<![\w-]){_NO_PAGE}[\w-]{{0,80}}{_NAMED}s?(?:\\*[\"'])?\]?\s*[=:]\s*[\[(])((?:[^\[\](){{}}]|\[a key\]){{0,4096}})",
    re.IGNORECASE,
)
_ONE_OF_MANY = re.compile(r"(?P<start>\\*[\"'])[^\"'\\].*?(?P<end>(?P=start)|$)", re.DOTALL)
_SAID = re.compile(
    rf"((?<!expected\s){_NAMED}s?\s{{1,4}}(?:(?:(?:you\s)?(?:provided|given|supplied|received|sent|used|entered)(?:\s(?:is|was))?|is|was|are|were)"
    rf"(?:\s?:)?\s{{1,4}}|(?=\\*[\"'`])))(?:(?P<mark>\\*[\"'`])(?P<quoted>[^\"'`\n\\]{{6,256}})|(?P<plain>[^\s\"'`<>(){{}}\[\]\\,;]{{6,256}}))",
    re.IGNORECASE,
)
_TECHNICAL = re.compile(r"(?:sha|md|base|utf|oauth|[a-z]s|ipv|tls)-?\d{1,3}\b", re.IGNORECASE)
_UNLIKE_WORDS, _LONGEST_NUMBER = re.compile(r"(?=.*[A-Za-z])(?:.*\d|.*[!@#$%^&*+=~|])", re.DOTALL), 5
_PAIR = re.compile(r"(\bauth\s*=\s*)\([^()]{0,400}\)", re.IGNORECASE)
_IS_NAMED = re.compile(rf"(?:{_CORE}|{_SHORT}|(?:set-)?cookie)$", re.IGNORECASE)


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Take secrets out of a text, and what looks like one: rather too much than too little."""
    for secret in secrets:
        for written in _spellings(secret):
            text = text.replace(written, MASK)
    text = _TOKENS.sub(MASK, _PRIVATE_KEY.sub(MASK, text))
    text = _TOKEN_IN_ADDRESS.sub(rf"\g<1>{MASK}@", _IN_ADDRESS.sub(rf"\g<1>{MASK}@", text))
    text = _WITHOUT_SCHEME.sub(rf"\g<1>{MASK}@", text)
    text = _IN_QUERY.sub(rf"\g<1>={MASK}", text)
    for pattern in (_IN_PATH, _COOKIE, _OPTION, _OF_USER, _ELEMENT, _PAIR):
        text = pattern.sub(rf"\g<1>{MASK}", text)
    text = _SAID.sub(_without_said, _MANY.sub(_without_many, text))
    return _SCHEMES.sub(_without_scheme, _ASSIGNED.sub(_without_value, text))


def without_secrets(text: str) -> str:
    """Take out of a text that others read, as a log, an error and the output of a command, what may be a secret, and addresses of objects."""
    return redacted(without_addresses(text), secrets_of())


def without_addresses(text: str) -> str:
    """Take the addresses of memory out of what Python writes of objects: they differ from run to run."""
    return _OF_OBJECT.sub("", text)


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
    if not _IS_NAMED.match(name):
        return without_secrets_in(value)
    if isinstance(value, (list, tuple)):
        return type(value)(
            MASK if isinstance(each, str) and each else without_secrets_in(each) for each in value
        )
    return MASK if is_plain and not is_counted else without_secrets_in(value)


def _without_many(found: re.Match[str]) -> str:
    return found[1] + _ONE_OF_MANY.sub(lambda one: f"{one['start']}{MASK}{one['end']}", found[2])


def _without_said(found: re.Match[str]) -> str:
    """Mask what a sentence calls a secret, if it is unlike a word: a password can be "wrong"."""
    name, mark, said = found[1], found["mark"] or "", found["quoted"] or found["plain"].rstrip(".:!?")
    is_number = said.isdigit() and len(said) > _LONGEST_NUMBER and "token" not in name.lower()
    if is_number or (_UNLIKE_WORDS.match(said) and not _TECHNICAL.match(said)):
        return f"{name}{mark}{MASK}{found[0][len(name) + len(mark) + len(said) :]}"
    return found[0]


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


@lru_cache(maxsize=256)
def _spellings(secret: str) -> tuple[str, ...]:
    """Return a secret as it is, and as it is written in a literal of Python, in JSON, in an address, in base64, and line by line."""
    lines = [line for line in secret.splitlines() if len(line) >= _SHORTEST_LINE]
    content = secret.encode(errors="surrogateescape")
    encoded = [each(content).decode() for each in (base64.b64encode, base64.urlsafe_b64encode)]
    in_address = (quote(content, safe=""), quote(content), quote_plus(content))
    without_end = [each.rstrip("=") for each in encoded]
    literals = (repr(secret)[1:-1], json.dumps(secret)[1:-1])
    return tuple(dict.fromkeys((secret, *literals, *in_address, *encoded, *without_end, *lines)))


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
