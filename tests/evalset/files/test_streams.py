"""A JSON file is read through a window: the values, their places and the errors are those of the whole text."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalset.files import json_streams
from evalset.files.json_streams import JsonStream, contains
from simulator.base.json_text import JsonTextError, read_json
from tests.evalset.files.formatting import VALUES, formatted

WINDOWS = [1, 7, *(pytest.param(size, marks=pytest.mark.long) for size in (2, 3, 64))]


@pytest.fixture(params=WINDOWS, autouse=True, scope="module")
def _window(request: pytest.FixtureRequest) -> Iterator[None]:
    """Windows of a few bytes, in which nothing fits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_streams, "_CHUNK", request.param)
        yield


def read_whole(text: bytes, *, constants: bool = False) -> Any:
    """Read the next value, and check that nothing follows."""
    stream = JsonStream(io.BytesIO(text), constants=constants)
    found = stream.value()
    stream.end()
    return found


def skipped(text: bytes) -> None:
    """Pass over all."""
    stream = JsonStream(io.BytesIO(text))
    stream.skip()
    stream.end()


def stepped(stream: JsonStream) -> Any:
    """Read a value step by step."""
    match stream.peek():
        case "{":
            return {name: stepped(stream) for name in stream.members()}
        case "[":
            return [stepped(stream) for _ in stream.entries()]
        case _:
            return stream.value()


@given(st.data())
def test_a_value_and_its_place_are_those_of_the_whole_text(data: st.DataObject) -> None:
    """However it is formatted, with a byte order mark or without; of each member, whether it was read or passed over."""
    value = data.draw(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
    text = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + data.draw(formatted(value))
    assert read_whole(text) == value
    assert stepped(JsonStream(io.BytesIO(text))) == value
    skipped(text)
    stream = JsonStream(io.BytesIO(text))
    for name in stream.members():
        stream.peek()
        start = stream.place
        stream.skip() if data.draw(st.booleans()) else stream.value()
        assert json.loads(text[start : stream.place]) == value[name]


@given(
    st.binary(max_size=30)
    | st.text('{}[]",:tru-1.e5NaN\n \\ü', max_size=30).map(str.encode)
    | st.builds(
        bytes.__add__,
        st.text("aü\U0001f600", max_size=20).map(lambda text: f'"{text}'.encode()),
        st.binary(min_size=1, max_size=4),
    )
)
def test_what_is_no_json_is_told_as_of_the_whole_text(text: bytes) -> None:
    """With its line and column; so is what can be read. A byte that is no text is named by its place in the file."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        odd = error.start
    else:
        odd = -1
    found = outcome(lambda: read_whole(text))
    if odd >= 0:
        assert found[0] == "JsonSyntaxError" or found[1] == f"byte {odd} is not UTF-8"
        return
    expected = outcome(lambda: read_json(text.decode("utf-8-sig")))
    assert found == expected
    if expected[0] == "read":
        skipped(text)
    else:
        assert outcome(lambda: skipped(text)) == expected


def outcome(read: Callable[[], Any]) -> tuple[str, Any]:
    """Return what is read, or which error comes out of it and what that says."""
    try:
        return "read", read()
    except ValueError as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2,]}',
        '{"a": 1,}',
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        '{\n "a": 1\n}\n {',
        "[1\n, 2",
        "[NaN]",
        '{"a":\n [1, Infinity]}',
        f"[0, {'1' * 5000}]",
        '["\\ud83d\\ude00", -1.5e+7, tru]',
        '{"a": "b\n"}',
    ],
)
def test_errors_of_the_steps_are_those_of_the_whole_text(text: str) -> None:
    """One by one, where each value is stepped into."""
    with pytest.raises(JsonTextError) as expected:
        read_json(text)
    for read in (stepped, JsonStream.skip, JsonStream.value):
        stream = JsonStream(io.BytesIO(text.encode()))
        with pytest.raises(JsonTextError) as caught:  # noqa: PT012 - either of both may find it
            read(stream)
            stream.end()
        assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' * 100_000])
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    """Nothing else is raised. What would run out of Python's stack is refused where it is held, also where it ends."""
    for read in (JsonStream.skip, JsonStream.value):
        with pytest.raises(JsonTextError):
            read(JsonStream(io.BytesIO(text.encode())))
    with pytest.raises(JsonTextError, match="nested too deeply"):
        JsonStream(io.BytesIO(b"[" * 300 + b"]" * 300)).value()
    assert JsonStream(io.BytesIO(b"[" * 200 + b"]" * 200)).value()


@given(st.binary(max_size=20), st.binary(min_size=1, max_size=3))
def test_a_word_is_found_anywhere(text: bytes, word: bytes) -> None:
    """Across the ends of windows too."""
    assert contains(io.BytesIO(text), word) == (word in text)
