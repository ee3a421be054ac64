"""A script is read from YAML and JSON, and written so that it is read as the same; whatever else is given is refused with the line and the place."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base import documents
from simulator.base.documents import line_of, write_yaml
from simulator.scripts import Script, ScriptError, read_script, write_script
from simulator.scripts.script import FORMAT
from tests.simulator.base.drawn_json import nested, places, put

HEAD = {"format": "golden-trace-studio/script", "version": 1}


@pytest.mark.parametrize(
    ("document", "line", "named"),
    [
        ({"turns": [{"say": "hi", "moves": [{"tool": "x"}]}]}, 8, "turns.0.moves.0: .*returns"),
        ({"turns": [{"say": "hi", "moves": [{"tool": "x", "return": 3}]}]}, 10, "turns.0.moves.0.return: .*'returns'"),
        ({"turns": [{"say": "hi", "moves": [3]}]}, 8, "turns.0.moves.0: .*3$"),
        ({"turns": [{"say": "hi", "moves": [{"text": "a", "transfer": "b"}]}]}, 8, "turns.0.moves.0: .*text .*transfer"),
        ({"turns": [{"say": "hi", "before": [{"text": "x"}]}]}, 8, "turns.0.before.0: "),
        ({"turns": [{"say": "hi", "confirm": True}]}, 5, "turns.0: .*say, confirm, reply.*say and confirm"),
        ({"turns": [{"confirm": True, "state_delta": {"a": 1}}]}, 5, "turns.0: .*state_delta.*confirm"),
        ({"turns": [{}]}, 5, "turns.0: .*say, confirm, reply.*none"),
        ({"turns": []}, 4, "turns: .*turn"),
        ({}, 1, "turns: .*required"),
        ({"turns": [{"say": "x"}], "agent": {"a": [{"txt": 1}]}}, 12, "agent.a.0.txt: .*'text'"),
        ({"turns": [{"say": "x"}], "agent": "robot"}, 9, "agent: .*'model' or 'person'.*'robot'"),
        ({"turns": [{"say": "x"}], "players": {"a": "me"}}, 10, "players.a: .*'person'"),
        ({"turns": [{"say": "x"}], "rules": [{"rule_id": "r"}]}, 9, r"rules: .*'r' \(number 1\): tool_name: .*required"),
        ({"turns": [{"say": "x"}], "environment": [{"text": "x"}]}, 10, "environment.0: "),
        ({"turns": [{"say": "x"}], "environment": [{"tool": "x", "raises": "too slow"}]}, 12, "environment.0.raises: .*TimeoutError"),
        ({"turns": [{"say": "x"}], "environment": [{"tool": "x", "draft": True, "times": 0}]}, 13, "environment.0.times: .*1, .*0$"),
        ({"turns": [{"say": "x", "moves": [{"seat": "agent", "player": "offline"}]}]}, 8, "turns.0.moves.0.*: .*model.*person"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(document: dict[str, Any], line: int, named: str) -> None:
    """One line of the error for each thing, with the line in the text, the place, and what was expected."""
    with pytest.raises(ScriptError) as caught:
        read_script(json.dumps({**HEAD, **document}, indent=1))
    said = str(caught.value).splitlines()
    assert re.match(f"line {line}: {named}", said[0]), said
    assert all(each.startswith("line ") for each in said)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("[]", "turns.* list"),
        ("a: b", "format .*None"),
        ("format: golden-trace-studio/script\nversion: 2", "version 2 .*version 1"),
        ("format: [", "invalid YAML: .* line 2"),
        ('{"a": 1, "a": 2}', "'a'.* twice"),
    ],
)
def test_what_is_no_script_is_refused(text: str, words: str) -> None:
    """Other documents, other versions and broken texts are told apart."""
    with pytest.raises(ScriptError, match=words):
        read_script(text)


def test_rules_may_be_adks_configuration() -> None:
    """What ADK's own environment simulation reads stands for its rules."""
    error = {"injected_http_error_code": 503, "error_message": "down"}
    tool = {"tool_name": "find_order", "injection_configs": [{"injected_error": error}]}
    document = {**HEAD, "rules": {"tool_simulation_configs": [tool]}, "turns": [{"say": "x"}]}
    (rule,) = read_script(json.dumps(document)).script.rules
    assert rule.tool_name == "find_order"


BEGINS = f"format: {FORMAT}\nversion: 1\n"
GOOD: dict[str, Any] = {
    "format": FORMAT,
    "version": 1,
    "seed": "s",
    "initial_state": {"a": 1},
    "otherwise": "fail",
    "agent": {"desk": [{"text": "hi"}], "*": "model"},
    "players": {"*": "offline"},
    "rules": [{"rule_id": "r", "tool_name": "t", "effect": {"kind": "hang"}}],
    "environment": [
        {"tool": "t", "args": {"a": {"b": 1}}, "times": "any", "returns": [1, None]},
        {"tool": "*", "agent": "desk", "times": 3, "fails": {"error_code": 7, "error_message": "no", "details": {"é": 2.5}}},
    ],
    "began": 0.5,
    "turns": [
        {"say": "no", "moves": [{"tool": "2024-01-01", "later": True}, {"tool": "t", "real": True}, {"tool": "t", "draft": True}, {"model": True}]},
        {"say": "hi", "before": [{"environment": {"kind": "environment_data_given", "text": '{"orders": []}'}}], "moves": [{"prints": "x", "errors": "y"}, {"rules": []}]},
        {"say": "hi", "moves": [{"agent": "desk", "calls": [{"name": "t", "args": {}, "id": "c"}]}, {"tool": "t", "raises": "ValueError: no"}]},
        {"confirm": True, "tool": "t", "before": [{"seat": "tool", "target": "t", "player": "real"}], "at": 1.5},
        {"reply": {"a": 1}, "ends": "failed", "moves": [{"prints": "x"}, {"transfer": "other"}]},
    ],
}  # fmt: skip

ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = nested(ANY, st.text(max_size=8))


def tried(text: str) -> str:
    """Read a text; return what is said of it, or nothing where it is a script."""
    try:
        read_script(text)
    except ScriptError as error:
        return str(error) or "nothing is said"
    return ""


def check_written(script: Script) -> None:
    """Check that a script is read as it is written, in both forms, without a field from nowhere, and that its lines go down the page."""
    for form in ("yaml", "json"):
        text = write_script(script, form)
        again = read_script(text).script
        assert again == script
        assert write_script(again, form) == text
        lines = []
        for turn, each in enumerate(script.turns):
            lines.append(line_of(text, ("turns", turn)))
            lines += [line_of(text, ("turns", turn, "moves", number)) for number in range(len(each.moves))]
        assert None not in lines
        assert lines == sorted(lines, key=lambda line: line or 0)


def test_the_good_one_is_read_and_written() -> None:
    """What the others are made from has nothing wrong with it, as JSON and as YAML; in both forms it is the same once it is written."""
    assert tried(json.dumps(GOOD)) == tried(write_yaml(GOOD)) == ""
    check_written(Script.model_validate(GOOD))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but a `ScriptError` leaves the reader."""
    assert tried(text) not in {"", "nothing is said"}
    tried(BEGINS + text)
    tried(BEGINS + "turns:\n- say: " + text)


@given(st.sampled_from(places(GOOD)[1:]), JSON)
def test_a_wrong_value_anywhere_is_named_with_its_line_and_place(place: tuple[Any, ...], new: Any) -> None:
    """Any value at any place: it is read, and then written and read as the same, or each line of the error says a line and where."""
    document = put(GOOD, place, new)
    try:
        text = json.dumps(document, indent=1, allow_nan=False)
    except ValueError:
        text = json.dumps(document, indent=1)
    said = tried(text)
    for line in said.splitlines():
        assert line.startswith(("line ", "the text is ")) or " at line " in line, said
    if not said:
        check_written(read_script(text).script)


@given(st.data())
def test_a_damaged_file_is_read_or_refused(data: st.DataObject) -> None:
    """A file that was cut, or in which something was typed."""
    text = write_yaml(GOOD) if data.draw(st.booleans()) else json.dumps(GOOD, indent=1)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    said = tried(
        text[:start]
        + data.draw(st.text(alphabet="{}[]:,-&*!|>'\"#%@`\t\n\\ aé\x00\ud800", max_size=6))
        + text[end:]
    )
    assert said != "nothing is said"


def test_a_file_that_is_too_large_is_refused_before_it_is_looked_into(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its length is told, and the limit. Patched, as nothing else shows that nobody reads it."""

    def looks(text: str) -> None:
        raise AssertionError(len(text))

    monkeypatch.setattr(documents, "_read", looks)
    text = BEGINS + "turns:\n" + "- say: hi\n" * 2_500_000
    said = tried(text)
    assert f"{len(text):,}" in said
    assert f"{documents.LIMITS['script']:,}" in said


def test_many_mistakes_are_told_in_few_lines() -> None:
    """A file with thousands of mistakes gives an error that a person can read: with a place, a field that is near, and a count."""
    said = tried(BEGINS + "turns:\n" + "- sya: hi\n" * 1_000).splitlines()
    assert re.fullmatch(r"line 4: turns\.0\.sya: .*'say'.*", said[0])
    assert len(said) == 11
    assert re.search(r"990 more", said[-1])
