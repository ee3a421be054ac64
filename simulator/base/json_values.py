"""JSON values: what may stand in a journal, in one canonical written form."""

from __future__ import annotations

import hashlib
import json
import json.encoder
from collections.abc import Callable, Iterable
from json.scanner import make_scanner
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import AfterValidator, JsonValue
from pydantic_core import from_json

from simulator.base.validation_words import InputError

_DIGEST_LENGTH = 16
_LONG_TEXT = 4096
# pydantic writes 255 levels; what stands around an answer in the journal, in ADK's events and in views needs some.
_DEEPEST = 200
_LARGE = 1 << 63
_TOO_DEEP = f"not a JSON value: nested more than {_DEEPEST} levels deep"


def _encoder(
    *, separators: tuple[str, str] = (", ", ": "), sort_keys: bool = False
) -> Callable[[object], str]:
    """Make a function that writes JSON as the standard library does, without making its encoder for each value."""
    encoder = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, check_circular=False, separators=separators, sort_keys=sort_keys
    )
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # pragma: no cover - other Pythons have no encoder in C
        return encoder.encode
    item, key = separators
    in_pieces = make(
        None, encoder.default, json.encoder.encode_basestring, None, key, item, sort_keys, False, False
    )
    return lambda value: "".join(in_pieces(value, 0))


_canonical = _encoder(separators=(",", ":"), sort_keys=True)
_plain = _encoder()
_read: Any = make_scanner(json.JSONDecoder())  # type: ignore[arg-type] # it is typed as its own argument


class NotJsonError(InputError):
    """A value that JSON cannot hold stood where a journal needs JSON."""


def canonical(value: object) -> str:
    """Write a JSON value in the one form that equal values share.

    Keys are sorted, so the order in which a dict was filled does not matter.

    Raises:
        NotJsonError: The value holds something that JSON has no word for.
    """
    try:
        return _canonical(value)
    except RecursionError as error:
        raise NotJsonError(_TOO_DEEP) from error
    except (TypeError, ValueError) as error:
        raise NotJsonError(f"not a JSON value: {error}") from error


def fingerprint(text: bytes) -> str:
    """Fingerprint a text that is encoded: 16 hexadecimal characters of its BLAKE2b, which begins quicker than SHA-256.

    Long texts have their SHA-256, which goes on quicker.
    """
    if len(text) > _LONG_TEXT:
        return hashlib.sha256(text).hexdigest()[:_DIGEST_LENGTH]
    return hashlib.blake2b(text, digest_size=_DIGEST_LENGTH // 2).hexdigest()


def digest(*texts: str) -> str:
    """Fingerprint texts, in order: 16 hexadecimal characters of their SHA-256."""
    return hashlib.sha256("\x1f".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]


def copied(value: Any) -> Any:
    """Copy a JSON value deeply, so that no reader can change what the journal holds.

    Raises:
        NotJsonError: As `canonical`.
    """
    if is_flat(value):
        return value.copy()
    if type(value) is str and value.isascii():
        return value
    try:
        return from_json(_plain(value).encode())
    except (RecursionError, TypeError, ValueError):
        return read(write(value))  # says what is wrong


def taken(value: Any) -> Any:
    """Copy a JSON value that comes from outside, and can be as deep as it likes.

    Raises:
        NotJsonError: As `canonical`, or it is nested deeper than can be written around it and read again.
    """
    copy = copied(value)
    if is_deep(copy, _DEEPEST):
        raise NotJsonError(_TOO_DEEP)
    return copy


def write(value: object) -> bytes:
    """Write a JSON value, its keys in their own order.

    Raises:
        NotJsonError: As `canonical`, or a text holds half of a surrogate pair: to Python that is a `str`, but it is
            no text that could be stored or sent.
    """
    try:
        return _plain(value).encode()
    except RecursionError as error:
        raise NotJsonError(_TOO_DEEP) from error
    except (TypeError, ValueError) as error:
        raise NotJsonError(f"not a JSON value: {error}") from error


def read(text: bytes) -> Any:
    """Read what `write` wrote.

    Raises:
        NotJsonError: It is nested too deep.
    """
    try:
        return from_json(text)
    except ValueError:  # pydantic reads 200 levels, in a third of the time that the standard library takes
        return _read_deep(text.decode())


def _read_deep(text: str) -> Any:
    try:
        return _read(text, 0)[0]
    except RecursionError as error:
        raise NotJsonError(_TOO_DEEP) from error


def place_words(place: Iterable[str | int]) -> str:
    """Name a place in a document for a person, in one line: `turns.0.moves.2`; a name with a break or a control character is quoted."""
    return ".".join(part if (part := str(step)).isprintable() else repr(part) for step in place)


def is_flat(value: Any) -> bool:
    """Recognise a dict of plain words and numbers, as most arguments and answers are, in a tenth of the time of writing it."""
    if type(value) is not dict:
        return False
    for key, item in value.items():
        kind = type(item)
        if type(key) is not str or not key.isascii():
            return False
        if kind is str:
            if not item.isascii():  # it may hold half of a surrogate pair
                return False
        elif kind is int:
            if not -_LARGE < item < _LARGE:  # Python writes no number that is as long as a page
                return False
        elif kind is not bool and item is not None:
            return False
    return True


def _checked(value: Any) -> Any:
    if not is_flat(value):
        write(value)
    return value


if TYPE_CHECKING:
    Json: TypeAlias = JsonValue
    JsonObject: TypeAlias = dict[str, JsonValue]
    WrittenObject: TypeAlias = dict[str, JsonValue]
else:
    # pydantic walks a `JsonValue` step by step in Python, which took a tenth of a turn; json's encoder does not.
    Json = Annotated[Any, AfterValidator(_checked)]
    JsonObject = Annotated[dict[str, Any], AfterValidator(_checked)]
    # What a model's own JSON form has just given: checked when it was written.
    WrittenObject = dict[str, Any]


def same(left: object, right: object) -> bool:
    """Compare as JSON does: 1 equals 1.0, but neither equals true."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(map(same, left.values(), map(right.__getitem__, left)))
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def is_deep(value: Any, levels: int) -> bool:
    """Return whether lists and objects are nested more than `levels` deep."""
    level = [value]
    for _ in range(levels):
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return any(isinstance(each, (dict, list)) for each in level)
