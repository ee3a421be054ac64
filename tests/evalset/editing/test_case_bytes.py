"""Of an edited case only the bytes change that an edit names, however somebody has written the rest."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalset.editing.case_bytes import spliced
from evalset.files.json_splice import Style

RAW = b"""{ "eval_id":"a",  "n": 1.50e2,
  "text": "\\u00e4 \\/",
  "list": [ {"x": 1},{"x":2} ], "o": {}, "deep": {"a": [1,2], "b" : null} }"""


def test_only_the_value_that_differs_is_written() -> None:
    """Escapes, gaps and digits beside it stay."""
    before = json.loads(RAW)
    after = json.loads(RAW) | {"deep": {"a": [1, 2], "b": "new"}}
    assert spliced(RAW, before, after, Style()) == RAW.replace(b"null", b'"new"')
    after["list"][1]["x"] = {"y": "\u00e4"}
    wanted = RAW.replace(b"null", b'"new"').replace(b'"x":2', '"x":{"y": "\u00e4"}'.encode())
    assert spliced(RAW, before, after, Style()) == wanted


def test_what_comes_new_follows_the_last_member_with_its_gap() -> None:
    """A key of an object and an item of a list."""
    before, after = json.loads(RAW), json.loads(RAW)
    after["list"].append({"x": 3})
    after["deep"]["c"] = True
    wanted = RAW.replace(b'{"x":2}', b'{"x":2},{"x": 3}').replace(b'"b" : null', b'"b" : null, "c": true')
    assert spliced(RAW, before, after, Style()) == wanted


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([1.0, "", "\u00e4", "a\n,]}"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "\u00e4", "c,"]), inner, max_size=3),
    ),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.sampled_from(["eval_id", "b", "\u00e4"]), _JSON, min_size=1)


@given(_OBJECTS, _OBJECTS, st.sampled_from([None, 1, 2, "\t"]), st.booleans())
def test_the_bytes_say_what_the_case_says(
    before: dict[str, Any], after: dict[str, Any], indent: Any, is_ascii: bool
) -> None:
    """In any layout, from any case to any other."""
    raw = json.dumps(before, indent=indent, ensure_ascii=is_ascii).encode()
    unit = indent if isinstance(indent, str) else " " * indent if indent else None
    made = spliced(raw, before, after, Style(unit=unit))
    assert json.dumps(json.loads(made)) == json.dumps(after)
    assert spliced(raw, before, before, Style(unit=unit)) == raw
