"""The file of a recorded environment: what goes in comes out, what is no such file is named, and answers that join a case lose nothing."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalset.recorded import recording_files
from evalset.recorded.recorded_script import add_played, new_answers
from evalset.recorded.recording import (
    VERSION,
    Author,
    RecordedCall,
    RecordedCase,
    RecordedEnvironment,
    RecordedModelTurn,
    RecordedTurn,
    RejectedCall,
)
from evalset.recorded.recording_files import (
    RecordedEnvironmentError,
    change_environment,
    environment_text,
    parsed,
    put_cases,
    read_environment,
    sidecar_of,
)
from simulator.base import json_text
from simulator.base.documents import LIMITS
from simulator.facts import Deferred, Failed, Raised, RaisedError, Returned, ToolEffects

NOWHERE = Path("x.environment.json")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = texts.filter(bool)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, json_values, max_size=3)
outcomes = st.one_of(
    st.builds(Returned, value=json_values),
    st.builds(Failed, error_code=st.integers(0, 600) | names, error_message=texts, details=objects),
    st.builds(Raised, error=st.builds(RaisedError, type=names, message=texts)),
    st.builds(Deferred),
)
authors = st.builds(Author, source=names, by=texts, rules=st.lists(texts, max_size=2).map(tuple))
calls = st.builds(
    RecordedCall,
    id=texts,
    tool=names,
    agent=texts,
    within=st.lists(names, max_size=2).map(tuple),
    arguments=objects,
    outcome=outcomes,
    beneath=st.none() | outcomes,
    effects=st.builds(ToolEffects, state_delta=objects),
    confirmed=st.none() | objects,
    author=authors,
    latency_ms=st.floats(0, 1e6),
)
models = st.builds(
    RecordedModelTurn, agent=names, responses=st.lists(objects, max_size=2).map(tuple), author=authors
)
turns = st.builds(
    RecordedTurn,
    query=objects,
    replies=st.lists(objects, max_size=1).map(tuple),
    calls=st.lists(calls, max_size=2).map(tuple),
    models=st.lists(models, max_size=2).map(tuple),
)
cases = st.builds(
    RecordedCase, agent=names, app_name=names, state=objects, turns=st.lists(turns, max_size=2).map(tuple)
)
environments = st.builds(RecordedEnvironment, cases=st.dictionaries(names, cases, max_size=2))


@pytest.mark.long
@given(environments)
def test_what_is_written_is_read_back_equal(environment: RecordedEnvironment) -> None:
    """And written again, it is the same text."""
    text = environment_text(environment)
    read = parsed(NOWHERE, text.encode())
    assert read == environment
    assert environment_text(read) == text


def _a_case(**more: Any) -> RecordedCase:
    call = RecordedCall(
        tool="find", outcome=Returned(value=1), author=Author(source="written"), arguments={"a": 1}
    )
    return RecordedCase(
        agent="desk", app_name="desk", turns=(RecordedTurn(query={"role": "user"}, calls=(call,)),), **more
    )


def _call_in(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["cases"]["one"]["turns"][0]["calls"][0]
    return found


def _damaged(damage: Callable[[dict[str, Any]], object]) -> bytes:
    document = json.loads(environment_text(RecordedEnvironment(cases={"one": _a_case()})))
    damage(document)
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "line 1, column 1"),
        (b"[]", "JSON object"),
        (b"\xff{}", "not UTF-8 text: byte 0"),
        (b'{"a": NaN}', "NaN"),
        (b"[" * 100_000, "not valid JSON"),
        (_damaged(lambda it: it.pop("format")), "`format`"),
        (_damaged(lambda it: it.update(version=VERSION + 1)), f"version is {VERSION + 1},"),
        (_damaged(lambda it: it.update(version="1")), "its `version` is '1'"),
        (_damaged(lambda it: it.update(more=1)), "more: "),
        (_damaged(lambda it: _call_in(it).pop("outcome")), "cases.one.turns.0.calls.0.outcome: "),
        (
            _damaged(lambda it: _call_in(it)["outcome"].update(kind="told")),
            "cases.one.turns.0.calls.0.outcome: ",
        ),
    ],
)
def test_what_is_no_recorded_environment_is_named_and_not_written_over(
    tmp_path: Path, content: bytes, words: str
) -> None:
    """The file, the field, and what is wrong, to who reads it and to who writes it; the file is as it was."""
    path = tmp_path / "shop.environment.json"
    path.write_bytes(content)
    for use in (read_environment, lambda path: put_cases(path, {"one": _a_case()})):
        with pytest.raises(RecordedEnvironmentError) as caught:
            use(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert words in str(caught.value)
    assert path.read_bytes() == content


def test_cases_are_added_replaced_and_taken_away(tmp_path: Path) -> None:
    """Beside the eval set, whose name it has; the others stay as they are. A byte order mark is passed over."""
    path = sidecar_of(tmp_path / "shop.evalset.json")
    assert path == tmp_path / "shop.environment.json"
    put_cases(path, {"one": _a_case(), "two": _a_case(seed="a")})
    put_cases(path, {"two": _a_case(seed="b"), "three": _a_case()})
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert put_cases(path, {"one": None}) == read_environment(path)
    found = read_environment(path).cases
    assert list(found) == ["three", "two"]
    assert found["two"].seed == "b"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["shop.environment.json"]


@pytest.mark.parametrize(
    ("eval_set", "name"),
    [
        ("a.evalset.json", "a.environment.json"),
        ("b.json", "b.environment.json"),
        ("c.test.json", "c.test.environment.json"),
    ],
)
def test_the_name_follows_that_of_the_eval_set(eval_set: str, name: str) -> None:
    """Whichever ending it has."""
    assert sidecar_of(Path("folder") / eval_set) == Path("folder") / name


def test_nothing_is_written_that_could_not_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many bytes, or too many values: the file stays as it is, and the error says what to do."""
    path = tmp_path / "orders.environment.json"
    put_cases(path, {"first": RecordedCase(agent="desk", app_name="desk", turns=())})
    before = path.read_bytes()
    turn = RecordedTurn(query={"rows": [[]] * 1_000})
    large = RecordedCase(agent="desk", app_name="desk", turns=(turn,))
    monkeypatch.setitem(LIMITS, "recording", len(before) + 1_000)
    with pytest.raises(RecordedEnvironmentError, match=r"would be larger than .* Add fewer cases"):
        put_cases(path, {"second": large})
    monkeypatch.setitem(LIMITS, "recording", 1 << 20)
    monkeypatch.setattr(recording_files, "MOST_VALUES", 900)
    monkeypatch.setattr(json_text.check_values, "__defaults__", (0, 900))
    with pytest.raises(RecordedEnvironmentError, match="values; the limit is 900"):
        put_cases(path, {"second": large})
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".tmp")] == []


WRITTEN = Author(source="written")


def call(tool: str, argument: Any, answer: Any = None, **more: Any) -> RecordedCall:
    """Make a call with its answer."""
    return RecordedCall(
        tool=tool, arguments={"x": argument}, outcome=Returned(value=answer), author=WRITTEN, **more
    )


def case_of(*turns: tuple[RecordedCall, ...], **more: Any) -> RecordedCase:
    """Make a case of its calls, turn by turn."""
    made = tuple(RecordedTurn(query={"role": "user"}, calls=calls, **more) for calls in turns)
    return RecordedCase(agent="desk", app_name="desk", turns=made)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with two cases."""
    found = tmp_path / "desk.environment.json"
    put_cases(found, {"one": case_of((call("find", 1, "a"),), (call("find", 1, "b"),)), "two": case_of(())})
    return found


def test_what_a_session_answered_for_the_first_time_joins_its_turn(path: Path) -> None:
    """The same call once more, another tool, a call inside of an agent tool, a rejected one; twice adds nothing, and a link stays one."""
    inner = call("find", 1, "inside", within=("expert",))
    refused = RejectedCall(tool="pay", arguments={"x": 1}, confirmed={"confirmed": False})
    played = case_of((call("find", 1, "other"), call("find", 1, "again"), inner), (call("note", 2, "n"),), ())
    played = played.model_copy(
        update={"turns": (played.turns[0].model_copy(update={"rejected": (refused,)}), *played.turns[1:])}
    )
    found = new_answers(read_environment(path).cases["one"], played)
    assert found.total == 4
    link = path.with_name("link.environment.json")
    link.symlink_to(path)
    assert add_played(link, "one", played) == found
    assert link.is_symlink()
    first, second = read_environment(path).cases["one"].turns
    assert [each.outcome for each in first.calls] == [
        Returned(value="a"),
        Returned(value="again"),
        Returned(value="inside"),
    ]
    assert first.rejected == (refused,)
    assert [each.tool for each in second.calls] == ["find", "note"]
    before = path.read_bytes()
    assert add_played(path, "one", played).total == 0
    assert path.read_bytes() == before


def test_a_change_that_raises_leaves_the_file_as_it_is(path: Path) -> None:
    """A case that is not there is named; nothing is left beside the file."""
    before = path.read_bytes()

    def fail(_: Any) -> Any:
        raise LookupError

    with pytest.raises(LookupError):
        change_environment(path, fail)
    with pytest.raises(RecordedEnvironmentError, match="no case 'three'"):
        add_played(path, "three", case_of((call("find", 9, "new"),)))
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_program_that_takes_no_lock_is_not_written_over(path: Path) -> None:
    """What it wrote meanwhile is read, and changed in its turn; one that never stops is named."""
    written = 0

    def change(before: Any) -> Any:
        nonlocal written
        if written < 2:
            written += 1
            text = path.read_text()
            path.write_text(text.replace('"app_name": "desk"', f'"app_name": "desk_{written}"'))
        return before

    assert change_environment(path, change).cases["one"].app_name != "desk"
    written = -100
    with pytest.raises(RecordedEnvironmentError, match=r"desk\.environment\.json: .*chang"):
        change_environment(path, change)
