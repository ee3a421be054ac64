"""A new case is set into the text of an eval set: nothing else moves, whatever the text looks like."""

from __future__ import annotations

import io
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalset.errors import EvalSetError
from evalset.files import set_outline
from evalset.files.set_outline import Insertion, Outline, Style, outline_of
from tests.evalset.files.formatting import VALUES, cases, eval_sets, formatted

PATH = Path("orders.evalset.json")


def spliced(text: bytes, outline: Outline, *added: dict[str, Any]) -> tuple[bytes, Outline]:
    """Return the text with the cases, and its outline."""
    insertion, place = (
        Insertion(outline, [(case["eval_id"], case) for case in added]),
        outline.layout.insert_at,
    )
    return text[:place] + b"".join(insertion.pieces()) + text[place:], insertion.outline


@settings(max_examples=settings().max_examples // 2)
@given(st.data())
def test_any_text_takes_cases_and_keeps_the_rest(data: st.DataObject) -> None:
    """The new text reads as the old cases and the new ones, set in one after another or at once; every other byte is the old.

    The outline that is remembered is what reading the text anew would find.
    """
    whole = data.draw(eval_sets())
    text = before = data.draw(formatted(whole))
    remembered = outline = outline_of(PATH, before)
    assert outline.ids == {held["eval_id"] for held in whole["eval_cases"]}
    added = [data.draw(cases(f"new {number}")) for number in range(3)]
    for number, case in enumerate(added, 1):
        text, remembered = spliced(text, remembered, case)
        after = json.loads(text)
        assert after == whole | {"eval_cases": [*whole["eval_cases"], *added[:number]]}
        assert list(after) == list(whole)
        read = outline_of(PATH, text)
        assert (remembered.ids, remembered.tail) == (read.ids, read.tail)
        assert remembered.layout.insert_at == read.layout.insert_at
        assert read.before.endswith(remembered.before)
    at_once, found = spliced(before, outline, *added)
    assert at_once == text
    assert (found.ids, found.layout, found.tail) == (remembered.ids, remembered.layout, remembered.tail)
    assert read.before.endswith(found.before)


_NUMBER = re.compile(rb"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@example(
    indent=2,
    spaced=True,
    newline="\n",
    held=1,
    case={"eval_id": "new", "conversation": [], "small": 6.103515625e-05},
)
@given(
    indent=st.sampled_from([None, 1, 2, 3, 4, "\t"]),
    spaced=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n"]),
    held=st.integers(0, 3),
    case=cases("new"),
)
def test_a_case_is_written_as_its_neighbours_are(
    *, indent: int | str | None, spaced: bool, newline: str, held: int, case: dict[str, Any]
) -> None:
    """A file that `json.dump` wrote looks after an append as if `json.dump` had written all of it, but for the spelling of a number: 6.1e-05 is 0.000061."""
    space = " " if spaced else ""
    separators = ("," if indent is not None else f",{space}", f":{space}")

    def dumped(whole: dict[str, Any]) -> bytes:
        text = json.dumps(whole, indent=indent, separators=separators, ensure_ascii=False)
        return text.replace("\n", newline).encode()

    neighbours = [{"eval_id": f"case {number}", "conversation": [{"a": 1}]} for number in range(held)]
    whole = {"eval_set_id": "orders", "eval_cases": neighbours, "unknown": [1]}
    text = dumped(whole)
    after, _ = spliced(text, outline_of(PATH, text), case)
    at_once = dumped(whole | {"eval_cases": [*neighbours, case]})
    assert json.loads(after) == json.loads(at_once)
    assert _NUMBER.sub(b"0", after) == _NUMBER.sub(b"0", at_once)


@pytest.mark.parametrize(
    "size", [(1 << 14) - 3, 1 << 14, (1 << 14) + 1, 1 << 17, pytest.param(1 << 20, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("filler", ["x", '"', "\\", "]", "{", "é"])
def test_long_values_at_the_end_are_passed_over(size: int, filler: str) -> None:
    """However long the last case and the members behind it are, the place is found."""
    whole = {
        "eval_set_id": "orders",
        "eval_cases": [{"eval_id": "one", "text": filler * size, "more": [[filler] * 9] * 9}],
        "note": filler * size,
        "list": [filler * 7] * (size // 16),
    }
    text = json.dumps(whole, ensure_ascii=False).encode()
    after, _ = spliced(text, outline_of(PATH, text), {"eval_id": "two"})
    assert json.loads(after)["eval_cases"] == [*whole["eval_cases"], {"eval_id": "two"}]


@given(st.binary(max_size=60))
def test_no_text_breaks_the_reader(text: bytes) -> None:
    """Bytes that are no eval set raise an error that names the file, and nothing else is ever raised."""
    with pytest.raises(EvalSetError, match=r"orders\.evalset\.json: "):
        outline_of(PATH, text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ('\ufeff{"eval_set_id": "a", "eval_cases": []}', "byte order mark"),
        ('{"eval_set_id": "a",\n  "eval_cases": [}', "not valid JSON: .* at line 2 column 18"),
        ('{"eval_set_id": "a", "eval_cases": []', "not valid JSON: .* line 1"),
        ("[1]", "not an object"),
        ('{"eval_cases": []}', "has no 'eval_set_id'"),
        ('{"eval_set_id": "a"}', "has no 'eval_cases'"),
        ('{"evalSetId": "a", "evalCases": []}', "'evalSetId'"),
        ('{"eval_set_id": "a", "eval_cases": [], "eval_cases": []}', "has 'eval_cases' twice"),
        ('{"eval_set_id": 7, "eval_cases": []}', "eval_set_id .*string"),
        ('{"eval_set_id": "a", "eval_cases": {}}', "eval_cases"),
        ('{"eval_set_id": "a", "eval_cases": [{"eval_id": "x"}, {"id": "y"}]}', r"eval_cases\[1\]"),
        ('{"eval_set_id": "a", "eval_cases": [{"eval_id": 7}]}', r"eval_cases\[0\].*string"),
    ],
)
def test_a_flaw_is_named_with_its_place(text: str, says: str) -> None:
    """The error says what is wrong, and where."""
    with pytest.raises(EvalSetError, match=says):
        outline_of(PATH, text.encode())


@given(VALUES)
def test_a_value_is_written_as_it_is(value: Any) -> None:
    """Every style writes text that reads back as the value, types included."""
    for style in (
        Style(),
        Style(spaced=False),
        Style(unit="  "),
        Style(unit="\t", newline="\r\n", indent="\t\t"),
    ):
        read = json.loads(style.write({"value": value}))
        assert (repr(read["value"]), read["value"]) == (repr(value), value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    """Numbers and characters that JSON in UTF-8 has no form for raise, whatever the style."""
    for style in (Style(), Style(unit="  "), Style(unit="\t")):
        with pytest.raises(ValueError, match=r"JSON|surrogates"):
            style.write({"value": value})


@given(st.data())
def test_an_outline_in_parts_is_that_of_the_whole_text(data: st.DataObject) -> None:
    """Whatever parts the text is read in; where it cannot tell, it says nothing.

    With a piece cut out, the text is refused, unless what is left is still an eval set for `json`.
    """
    whole = data.draw(eval_sets())
    text = data.draw(formatted(whole))
    must_tell = len(whole["eval_cases"]) > 1
    expected: Outline | None = None
    if data.draw(st.booleans()):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + text[start + data.draw(st.integers(1, 20)) :]
        must_tell = False
    with suppress(EvalSetError):
        expected = outline_of(PATH, text)
        left = json.loads(text)["eval_cases"]
        assert expected.ids == {case["eval_id"] if "eval_id" in case else case["evalId"] for case in left}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_outline, "_BATCH", data.draw(st.sampled_from([0, 20, 1000])))
        found = set_outline.outline_in_parts(PATH, io.BytesIO(text))
    if must_tell or found is not None:
        assert found == expected
