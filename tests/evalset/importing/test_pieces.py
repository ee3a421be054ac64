"""Eval sets and recorded environments are written case by case: many cases are never held as text at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from google.adk.evaluation.eval_set import EvalSet
from hypothesis import given
from hypothesis import strategies as st

from evalset.files import case_text
from evalset.files.set_outline import Style
from evalset.recorded import recording_files
from evalset.recorded.recording import CaseNote, RecordedCase, RecordedEnvironment, RecordedTurn, lean
from tests.evalset.files.examples import a_case

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.just('"eval_cases": []')
numbers = (
    st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e-05, 1e16, -0.0])
)
states = st.dictionaries(
    texts, texts | st.lists(texts | numbers) | st.dictionaries(texts, texts | numbers), max_size=3
)


def a_recording(state: Any) -> RecordedCase:
    """Make a recording."""
    return RecordedCase(agent="desk", app_name="desk", state=state, turns=(RecordedTurn(query={}),))


@given(st.dictionaries(texts, states, max_size=3), st.dictionaries(texts, texts, max_size=2))
def test_a_recorded_environment_in_pieces_is_the_whole_text(cases: Any, notes: Any) -> None:
    """Byte by byte, whatever the names and texts of its cases and notes are."""
    environment = RecordedEnvironment(
        cases={name: a_recording(state) for name, state in cases.items()},
        notes={name: CaseNote(text=text) for name, text in notes.items()},
    )
    document = {"format": environment.format, "version": environment.version}
    for kind in ("cases", "notes"):
        held = getattr(environment, kind)
        if held or kind == "cases":
            document[kind] = {name: lean(held[name]) for name in sorted(held)}
    expected = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    assert recording_files.environment_text(environment) == expected


@given(st.lists(states, max_size=3), texts)
def test_an_eval_set_in_pieces_is_the_whole_text(cases: list[Any], words: str) -> None:
    """Byte by byte, whatever stands in its cases and its description."""
    found = [
        a_case(f"case {number}").model_copy(update={"final_session_state": state})
        for number, state in enumerate(cases)
    ]
    whole = EvalSet(
        eval_set_id=words, name=words, description=words, eval_cases=found, creation_timestamp=1.5
    )
    expected = Style(unit="  ").write(whole.model_dump(exclude_none=True)) + b"\n"
    assert b"".join(case_text.set_pieces(whole)) == expected


def test_no_case_is_written_before_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many cases have become text as pieces were taken, and no more."""
    written: list[Any] = []

    def counted(value: Any) -> Any:
        written.append(value)
        return value.model_dump(exclude_none=True, mode="json")

    monkeypatch.setattr(recording_files, "lean", counted)
    monkeypatch.setattr(case_text, "case_object", counted)
    names = [f"case {number}" for number in range(50)]
    environment = RecordedEnvironment(cases={name: a_recording({}) for name in names})
    whole = EvalSet(eval_set_id="s", eval_cases=[a_case(name) for name in names])
    streams: list[Iterator[Any]] = [
        recording_files.environment_pieces(environment),
        case_text.set_pieces(whole),
    ]
    for pieces in streams:
        written.clear()
        for number, _ in enumerate(pieces):
            assert len(written) == min(number, len(names))
        assert len(written) == len(names)
