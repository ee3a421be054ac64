"""A new case is set into the text of an eval set: nothing else moves, whatever the text looks like."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalset.errors import EvalSetError
from evalset.files import large_sets
from evalset.files.json_splice import Style
from evalset.files.set_outline import Insertion, Outline, outline_of
from tests.evalset.files.formatting import VALUES, cases, eval_sets, formatted

PATH = Path("orders.evalset.json")


def inserted(outline: Outline, *added: dict[str, Any]) -> tuple[bytes, Outline]:
    """Return what is inserted for cases, and the outline of the text with them."""
    insertion = Insertion(outline, [(case["eval_id"], case) for case in added])
    return b"".join(insertion.pieces()), insertion.outline


def spliced(text: bytes, outline: Outline, case: dict[str, Any]) -> tuple[bytes, bytes]:
    """Return the text with the case, and the addition alone."""
    place = outline.layout.insert_at
    addition, _ = inserted(outline, case)
    return text[:place] + addition + text[place:], addition


@pytest.mark.long
@given(st.data())
def test_any_text_takes_a_case_and_keeps_the_rest(data: st.DataObject) -> None:
    """The new text reads as the old cases and the new one; every byte before and behind the addition is the old."""
    whole = data.draw(eval_sets())
    text = data.draw(formatted(whole))
    case = data.draw(cases("new"))
    outline = outline_of(PATH, text)
    after, addition = spliced(text, outline, case)
    assert json.loads(after) == whole | {"eval_cases": [*whole["eval_cases"], case]}
    assert list(json.loads(after)) == list(whole)
    place = outline.layout.insert_at
    assert after[:place] == text[:place]
    assert after[place + len(addition) :] == text[place:]
    assert outline.ids == {held["eval_id"] for held in whole["eval_cases"]}


@settings(max_examples=settings().max_examples // 3)
@given(st.data())
def test_a_remembered_outline_is_what_reading_again_would_find(data: st.DataObject) -> None:
    """Appending from the outline of the text before gives the same bytes as reading the whole text anew each time."""
    text = data.draw(formatted(data.draw(eval_sets())))
    remembered = outline_of(PATH, text)
    for number in range(3):
        case = data.draw(cases(f"new {number}"))
        text, _ = spliced(text, remembered, case)
        _, remembered = inserted(remembered, case)
        read = outline_of(PATH, text)
        assert remembered.ids == read.ids
        assert remembered.layout.insert_at == read.layout.insert_at
        assert read.before.endswith(remembered.before)
        assert read.tail == remembered.tail
        assert len(json.loads(text)["eval_cases"]) == len(read.ids)


@settings(max_examples=settings().max_examples // 3)
@given(st.data())
def test_several_cases_at_once_are_those_one_after_another(data: st.DataObject) -> None:
    """One step with three cases gives the bytes and the outline of three steps with one."""
    text = data.draw(formatted(data.draw(eval_sets())))
    added = [data.draw(cases(f"new {number}")) for number in range(3)]
    outline = outline_of(PATH, text)
    addition, after = inserted(outline, *added)
    place = outline.layout.insert_at
    at_once = text[:place] + addition + text[place:]
    for case in added:
        text, _ = spliced(text, outline, case)
        _, outline = inserted(outline, case)
    assert at_once == text
    assert (after.ids, after.layout, after.tail) == (outline.ids, outline.layout, outline.tail)
    assert outline_of(PATH, text).before.endswith(after.before)


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
    """A file that `json.dump` wrote looks after an append as if `json.dump` had written all of it."""
    space = " " if spaced else ""
    separators = ("," if indent is not None else f",{space}", f":{space}")

    def dumped(whole: dict[str, Any]) -> bytes:
        text = json.dumps(whole, indent=indent, separators=separators, ensure_ascii=False)
        return text.replace("\n", newline).encode()

    neighbours = [{"eval_id": f"case {number}", "conversation": [{"a": 1}]} for number in range(held)]
    whole = {"eval_set_id": "orders", "eval_cases": neighbours, "unknown": [1]}
    text = dumped(whole)
    after, _ = spliced(text, outline_of(PATH, text), case)
    assert after == dumped(whole | {"eval_cases": [*neighbours, case]})


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


@given(st.data())
def test_a_damaged_eval_set_is_refused_or_still_one(data: st.DataObject) -> None:
    """A file with a piece cut out is refused, unless what is left is still an eval set for `json`."""
    text = data.draw(formatted(data.draw(eval_sets())))
    start = data.draw(st.integers(0, len(text)))
    damaged = text[:start] + text[start + data.draw(st.integers(1, 20)) :]
    try:
        outline = outline_of(PATH, damaged)
    except EvalSetError:
        return
    left = json.loads(damaged)
    assert outline.ids == {
        case["eval_id"] if "eval_id" in case else case["evalId"] for case in left["eval_cases"]
    }


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
    """Whatever parts the text is read in, and with a piece cut out of it, too; where it cannot tell, it says nothing."""
    whole = data.draw(eval_sets())
    text = data.draw(formatted(whole))
    must_tell = len(whole["eval_cases"]) > 1
    if data.draw(st.booleans()):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + text[start + data.draw(st.integers(1, 20)) :]
        must_tell = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_sets, "_BATCH", data.draw(st.sampled_from([0, 20, 1000])))
        found = large_sets.outline_in_parts(PATH, io.BytesIO(text))
    if must_tell or found is not None:
        assert found == outline_of(PATH, text)
