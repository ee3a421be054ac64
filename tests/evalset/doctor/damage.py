"""Damages eval data in any way: bytes that are cut, doubled, or changed, and values that stand where they do not belong."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from pydantic_core import from_json

from tests.evalset.doctor.pitfalls import ALL, ENVIRONMENT, SET
from tests.evalset.files.formatting import VALUES, formatted

_SMALL = 20_000
_GARBAGE = st.one_of(
    st.binary(max_size=8),
    st.sampled_from(
        [b"{", b"[", b"}", b"]", b",", b'"', b":", b"\\", b"null", b"NaN", b"1e999", b"\xef\xbb\xbf", b"\x00", b"\xff",
         b"\\ud800", b"\xf0\x9f", b"//", b"\r", b"-", b"0" * 400, b"[" * 300, b'{"a":' * 300]
    ),
)  # fmt: skip
_ODD: st.SearchStrategy[Any] = st.one_of(
    VALUES,
    st.sampled_from([[], {}, "", 0, -1, 1e308, 10**40, True, None, [[]], [None], {"": None}, "a:b", "\x00", "adk_request_confirmation"]),
)  # fmt: skip


def _examples(name: str) -> list[bytes]:
    return [content for each in ALL if (content := each.files().get(name)) and len(content) < _SMALL]


SETS, ENVIRONMENTS = _examples(SET), _examples(ENVIRONMENT)


@st.composite
def damaged_bytes(draw: st.DrawFn, examples: list[bytes]) -> bytes:
    """Draw a file whose bytes are damaged in up to four places."""
    text = draw(st.sampled_from(examples))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 40)))
        piece = draw(st.one_of(_GARBAGE, st.just(text[start:stop] * 2), st.just(b"")))
        text = text[:start] + piece + text[stop:]
    return text


@st.composite
def damaged_values(draw: st.DrawFn, examples: list[bytes]) -> bytes:
    """Draw a file of valid JSON in which up to four values, or names, are others."""
    readable = [text for text in examples if _is_json(text)]
    value = json.loads(draw(st.sampled_from(readable)))
    for _ in range(draw(st.integers(1, 4))):
        value = _swapped(draw, value)
    return draw(formatted(value))


def _is_json(text: bytes) -> bool:
    try:
        from_json(text)
    except ValueError:
        return False
    return True


def _swapped(draw: st.DrawFn, value: Any) -> Any:
    """Go down to some place, and put something else there."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        name = draw(st.sampled_from(sorted(value)))
        if not draw(st.integers(0, 4)):
            other = draw(st.sampled_from([*sorted(value), "more", name.title(), ""]))
            return {other if each == name else each: held for each, held in value.items()}
        return {**value, name: _swapped(draw, value[name])}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], _swapped(draw, value[place]), *value[place + 1 :]]
    return draw(_ODD)


def damaged(examples: list[bytes]) -> st.SearchStrategy[bytes]:
    """Draw damaged files of either kind, and bytes of no kind at all."""
    return st.one_of(damaged_bytes(examples), damaged_values(examples), st.binary(max_size=60))
