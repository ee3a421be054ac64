"""Places and changes in JSON texts of any formatting: what is found is what parsers find, and no other byte is touched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalset.doctor.model import unified
from evalset.files.byte_edits import Edit, Insert, Remove, RemoveEarlier, RenameMember, Replace, apply
from simulator.base.json_text import JsonPath, JsonPlaces
from tests.evalset.files.formatting import VALUES, eval_sets, formatted


def paths(value: Any, path: JsonPath = ()) -> Iterator[tuple[JsonPath, Any]]:
    """Yield all places of a value."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, held in inner:
        yield from paths(held, (*path, step))


def changed(value: Any, edit: Edit) -> Any:
    """Make a change in a value, in the plainest way."""
    copy = json.loads(json.dumps(value))
    node = copy
    at = edit.path if isinstance(edit, Insert) else edit.path[:-1]
    for step in at:
        node = node[step]
    match edit:
        case Insert():
            node.setdefault(edit.name, edit.value)
        case Replace():
            node[edit.path[-1]] = edit.value
        case Remove():
            del node[edit.path[-1]]
        case RenameMember():
            renamed = {edit.name if name == edit.path[-1] else name: held for name, held in node.items()}
            node.clear()
            node.update(renamed)
        case RemoveEarlier():
            pass
    return copy


@st.composite
def edits(draw: st.DrawFn, value: Any) -> Edit:
    """Draw a change that can be made in a value."""
    places = list(paths(value))
    path, held = draw(st.sampled_from(places))
    if isinstance(held, dict) and (not path or draw(st.booleans())):
        return Insert(path, draw(st.sampled_from(["new", "größe", '"quoted"'])), draw(VALUES))
    if not path:
        path = places[1][0]
    if isinstance(path[-1], str) and draw(st.booleans()):
        return RenameMember(path, "renamed to something new")
    ways: list[Edit] = [Replace(path, draw(VALUES)), Remove(path)]
    return draw(st.sampled_from(ways))


@given(st.data())
def test_every_place_of_a_text_is_found(data: st.DataObject) -> None:
    """The bytes of each place are the JSON of its value, whatever blanks stand around it; so are the characters of the same text."""
    value = data.draw(eval_sets())
    text = data.draw(formatted(value))
    lines = text.split(b"\n")
    places, characters = JsonPlaces(text), JsonPlaces(text.decode())
    for path, held in paths(value):
        start, stop = places.value(path)
        assert json.loads(text[start:stop]) == held
        line, column = places.where(path)
        assert lines[line - 1][column - 1 :][:1] == text[places.member(path).start if path else start :][:1]
        assert places.line(path) == characters.line(path) == line
        first, last = characters.value(path)
        assert characters.text[first:last].encode() == text[start:stop]


@given(st.data())
def test_an_edit_changes_one_place_and_no_other_byte(data: st.DataObject) -> None:
    """The changed text reads as the changed value; what stands before and behind the change is as it was."""
    value = data.draw(eval_sets())
    text = data.draw(formatted(value))
    edit = data.draw(edits(value))
    edited = apply(JsonPlaces(text), [edit])
    assert edited.waiting == ()
    wanted = changed(value, edit)
    assert json.dumps(json.loads(edited.text)) == json.dumps(wanted)
    start, stop = JsonPlaces(text).value(edit.path if isinstance(edit, Insert) else edit.path[:-1])
    assert edited.text.startswith(text[:start])
    assert edited.text.endswith(text[stop:])


@settings(max_examples=settings().max_examples // 3)
@given(st.data())
def test_many_edits_are_made_in_rounds(data: st.DataObject) -> None:
    """Items and members taken out at once leave what the others are, with all their commas right."""
    value: dict[str, Any] = {
        "a": data.draw(st.lists(VALUES, max_size=6)),
        "b": {str(number): number for number in range(5)},
    }
    text = data.draw(formatted(value))
    doomed: list[JsonPath] = [path for path, _ in paths(value) if len(path) == 2 and data.draw(st.booleans())]
    wanted = {
        "a": [held for place, held in enumerate(value["a"]) if ("a", place) not in doomed],
        "b": {name: held for name, held in value["b"].items() if ("b", name) not in doomed}
        | {"new": 1, "more": 2},
    }
    changes: list[Edit] = [*map(Remove, doomed), Insert(("b",), "new", 1), Insert(("b",), "more", 2)]
    while changes:
        edited = apply(JsonPlaces(text), changes)
        text, changes = edited.text, list(edited.waiting)
    assert json.loads(text) == wanted


def test_of_a_name_that_stands_twice_the_last_counts() -> None:
    """As every parser takes it; the earlier ones can be taken out, all of them can, and both take their commas along."""
    text = b'{"a": 1, "b": 2, "a": 3}'
    assert JsonPlaces(text).value(("a",)) == (22, 23)
    assert apply(JsonPlaces(text), [RemoveEarlier(("a",))]).text == b'{"b": 2, "a": 3}'
    assert apply(JsonPlaces(text), [Remove(("a",))]).text == b'{"b": 2}'
    with pytest.raises(KeyError):
        JsonPlaces(text).value(("a", "c"))


@given(
    st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30),
    st.lists(st.sampled_from(["a", "b", "d"]), max_size=30),
)
def test_a_diff_tells_all_that_changed(old: list[str], new: list[str]) -> None:
    """The lines that are kept and added make the new text around each change, and those kept and removed the old one."""
    before, after = "\n".join(old).encode(), "\n".join(new).encode()
    lines = unified(before, after, "x").splitlines()[2:]
    assert bool(lines) == (before != after)
    removed = [line for line in lines if line.startswith("-")]
    added = [line for line in lines if line.startswith("+")]
    assert len(added) - len(removed) == after.count(b"\n") - before.count(b"\n")
    for text, sign in ((before, "-"), (after, "+")):
        whole = text.decode().split("\n")
        shown = [line[1:] for line in lines if line[:1] in {" ", sign}]
        left = iter(whole)
        assert all(line in left for line in shown)


def test_long_diffs_and_lines_are_cut() -> None:
    """A line of a megabyte is cut around what differs in it, and of a million lines not all are shown."""
    before = b"x" * 500_000 + b"old" + b"x" * 500_000
    diff = unified(before, before.replace(b"old", b"new"), "x")
    assert len(diff) < 3_000
    assert "old" in diff
    assert "new" in diff
    many = b"\n".join(str(number).encode() for number in range(20_000))
    diff = unified(many, many.replace(b"1", b"x"), "x")
    assert "truncated" in diff.splitlines()[-1]
