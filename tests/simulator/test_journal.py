"""A journal takes any fact that can follow and refuses any other whole; it survives JSON; its head moves freely. Facts that are known are valid."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from simulator.environment.injection.rules import ErrorEffect, InjectionRule
from simulator.facts import (
    AgentSelected,
    CallStarted,
    CodeAnswered,
    Deferred,
    Fact,
    Failed,
    ModelAnswered,
    ModelProposed,
    Raised,
    RaisedError,
    Returned,
    RulesChanged,
    SavedArtifact,
    SeatChanged,
    SessionOpened,
    ToolAnswered,
    ToolEffects,
    TurnEnded,
    TurnStarted,
)
from simulator.journal import ROOT, VERSION, Journal, JournalError
from simulator.session import IllegalFactError, SessionFold, SimulationSession
from tests.simulator.base.drawn_json import nested
from tests.simulator.session.making import (
    DIGESTS,
    WRITTEN,
    answered_turn,
    asked,
    ended,
    journal_of,
    opened,
    selected,
    tool,
)

_numbers = st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False, width=16)
_leaves = st.none() | st.booleans() | _numbers | st.text(max_size=4)
_json = nested(_leaves, st.text(max_size=3), size=2, most=4)
_objects = st.dictionaries(st.text(max_size=3), _json, max_size=2)
_turns = st.integers(0, 2)
_ids = st.sampled_from(["a", "b", "c"])
_keys = st.sampled_from(["0//k#0", "0/>a/k#0", "1//k#1", "k"])
_names = st.sampled_from(["find", "adk_request_confirmation", "x"])
_errors = st.builds(
    RaisedError, type=st.sampled_from(["builtins:KeyError", "m:A.B"]), message=st.text(max_size=3)
)


def _either(snake: str, camel: str, inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(lambda name, value: {name: value}, st.sampled_from([snake, camel]), inner)


_calls = st.fixed_dictionaries({"id": _ids | st.none(), "name": _names}, optional={"args": _objects})
_responses = st.fixed_dictionaries({"id": _ids, "name": _names, "response": _objects})
_parts = (
    st.fixed_dictionaries({"text": st.text(max_size=3)}, optional={"thought": st.booleans()})
    | _either("function_call", "functionCall", _calls)
    | _either("function_response", "functionResponse", _responses)
    | _objects
)
_contents = (
    st.none()
    | st.text(max_size=2)
    | st.fixed_dictionaries(
        {"parts": st.lists(_parts, max_size=3) | _json}, optional={"role": st.sampled_from(["user", "model"])}
    )
)
_llm_responses = st.fixed_dictionaries(
    {},
    optional={"content": _contents, "partial": st.booleans(), "error_code": st.text(min_size=1, max_size=3)},
)
_events = st.fixed_dictionaries(
    {"author": st.sampled_from(["user", "clerk"])},
    optional={
        "content": _contents,
        "longRunningToolIds": st.lists(_ids, max_size=2),
        "timestamp": st.floats(0, 9),
        "output": _json,
        "partial": st.booleans(),
        "actions": st.fixed_dictionaries({}, optional={"skipSummarization": st.booleans()}),
    },
)
_outcomes = (
    st.builds(Returned, value=_json)
    | st.builds(Failed, error_code=st.integers(0, 9) | st.text(max_size=3), error_message=st.text(max_size=3))
    | st.builds(Raised, error=_errors)
    | st.just(Deferred())
)
_at = st.floats(0, 2_000_000_000)
_rules = st.builds(
    InjectionRule,
    rule_id=_ids,
    tool_name=_names,
    enabled=st.booleans(),
    effect=st.just(ErrorEffect(error_code=1, error_message="no")),
)
_step: dict[str, Any] = {"at": _at, "turn": _turns, "key": _keys}
_common: dict[str, Any] = {
    **_step,
    "agent": st.sampled_from(["clerk", "helper"]),
    "digests": st.just(DIGESTS),
    "provenance": st.just(WRITTEN),
    "elapsed_ms": st.floats(0, 9),
}
any_fact: st.SearchStrategy[Fact] = st.one_of(
    st.builds(SessionOpened, at=_at, session_id=_ids, seed=_ids),
    st.builds(AgentSelected, at=_at, agent_name=_names, app_name=_names, initial_state=_objects),
    st.builds(
        TurnStarted,
        at=_at,
        turn=_turns,
        purpose=st.sampled_from(["query", "reply"]),
        message=st.builds(lambda parts: {"role": "user", "parts": parts}, st.lists(_parts, max_size=2))
        | _objects,
    ),
    st.builds(ModelAnswered, **_common, responses=st.lists(_llm_responses, max_size=2).map(tuple)),
    st.builds(ModelAnswered, **_common, error=_errors),
    st.builds(
        ToolAnswered,
        **_common,
        call_id=_ids,
        tool_name=_names,
        arguments=_objects,
        outcome=_outcomes,
        effects=st.builds(ToolEffects, state_delta=_objects, end_invocation=st.booleans()),
    ),
    st.builds(CodeAnswered, **_common, code=st.text(max_size=3), result=st.none() | _objects),
    st.builds(CallStarted, **_step, name=_names),
    st.builds(ModelProposed, **_step, responses=st.lists(_llm_responses, max_size=1).map(tuple)),
    st.builds(
        SeatChanged,
        at=_at,
        seat=st.sampled_from(["agent", "tool"]),
        target=_names,
        player=st.sampled_from(["model", "held", "person", "real", "refuse"]),
    ),
    st.builds(RulesChanged, at=_at, rules=st.lists(_rules, max_size=2).map(tuple)),
    st.builds(
        TurnEnded,
        at=_at,
        turn=_turns,
        events=st.lists(_events, max_size=3).map(tuple),
        state=_objects,
        error=st.none() | _errors,
        stopped=st.booleans(),
    ),
)
_some = st.lists(any_fact, max_size=14)


def append_legal(journal: Journal, facts: list[Fact]) -> None:
    """Append those of the facts that can follow."""
    for fact in facts:
        with suppress(IllegalFactError):
            journal.append(fact)


def _taken(facts: list[Fact]) -> Journal:
    """Return a journal that took what it could of these facts, behind an opening."""
    journal = journal_of()
    append_legal(journal, facts)
    return journal


@given(st.booleans(), _some)
def test_a_fact_is_taken_or_refused_whole(begun: bool, facts: list[Fact]) -> None:
    """Any fact either follows, and the session is valid, or raises a clear error, and nothing has changed."""
    journal = journal_of() if begun else Journal()
    for fact in facts:
        text, session, head = journal.to_json(), journal.session(), journal.head
        try:
            assert journal.append(fact) == journal.head == head + 1
        except IllegalFactError as error:
            said = str(error)
            assert fact.kind in said
            assert session.state.value in said
            assert (journal.to_json(), journal.session(), journal.head) == (text, session, head)
        assert SimulationSession.model_validate(journal.session().model_dump()) == journal.session()


@given(_some, st.data())
def test_the_head_moves_to_each_fact_and_branches_there(facts: list[Fact], data: st.DataObject) -> None:
    """At each fact the session is what it was when the fact was new; appending there leaves the other branch whole."""
    journal, sessions = Journal(), {}
    for _, fact in _taken(facts).path():
        number = journal.append(fact)
        sessions[number] = journal.session()
    end = journal.head
    before = journal.path(end)
    number = data.draw(st.integers(1, end))
    journal.move_head(number)
    assert journal.session() == sessions[number]
    assert journal.branched(number).session() == sessions[number]
    change = SeatChanged(at=0.0, seat="tool", player="refuse")
    branch = journal.append(change)
    assert journal.path(branch) == [*before[: number + 1], (branch, change)]
    assert journal.path(end) == before
    read = Journal.from_json(journal.to_json())
    assert read.head == branch
    read.move_head(end)
    assert read.session() == sessions[end]


@given(_json, st.text(max_size=20))
def test_what_is_no_journal_is_a_clear_error(value: Any, text: str) -> None:
    """Any other JSON, and any other text, raises a JournalError and nothing else."""
    for broken in (
        text,
        json.dumps(value),
        json.dumps({"format": "golden-trace-studio/journal", "version": value}),
    ):
        with pytest.raises(JournalError):
            Journal.from_json(broken)


@given(_some, st.data())
def test_a_damaged_journal_is_a_clear_error_or_another_journal(
    facts: list[Fact], data: st.DataObject
) -> None:
    """A journal with one value replaced by another either still is a journal, or raises a JournalError."""
    document = json.loads(_taken(facts).to_json())
    node: Any = document
    place: Any = "nodes"
    while isinstance(node[place], (dict, list)) and node[place] and data.draw(st.integers(0, 4)):
        node = node[place]
        place = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
    node[place] = data.draw(_json)
    try:
        read = Journal.from_json(json.dumps(document))
    except JournalError:
        return
    assert read.session() == Journal.from_json(read.to_json()).session()


def _document(**changed: Any) -> str:
    return json.dumps({**json.loads(journal_of(asked()).to_json()), **changed})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "JSON: .*line 1, column 1"),
        ('{"format": ', "JSON: .*line 1, column 12"),
        ("[]", "format"),
        (_document(format="other", version=VERSION + 1), "format"),  # another format has its own versions
        (_document(version=VERSION + 1), f"version {VERSION + 1} .*version {VERSION}"),
        (_document(version=None), "version None "),
        (_document(head=7), r"fact 7\b"),
        (_document(head="x"), ": head"),
        (_document(more=1), ": more"),
        (_document(nodes=[{"parent": 0, "fact": opened().model_dump()}]), "fact 0 .*fact 0"),
        (_document(nodes=[{"parent": -1, "fact": selected().model_dump()}]), "fact 0: agent_selected"),
        (_document(nodes=[{"parent": -1, "fact": {"kind": "guessed"}}]), r": nodes\.0\.fact"),
    ],
)
def test_broken_json_and_unknown_versions_are_named(text: str, reason: str) -> None:
    """The error says what is wrong and where."""
    with pytest.raises(JournalError, match=reason):
        Journal.from_json(text)


def test_the_json_says_its_format_and_version() -> None:
    """A written journal tells what it is, so that a later version can read it."""
    document = json.loads(journal_of(*answered_turn()).to_json())
    assert (document["format"], document["version"]) == ("golden-trace-studio/journal", VERSION)
    assert [node["parent"] for node in document["nodes"]] == [-1, 0, 1, 2, 3, 4, 5]
    assert document["head"] == 6


def test_an_empty_journal_has_its_head_at_the_root() -> None:
    """Before the first fact the head is -1; it can go back there, and a new root can follow."""
    journal = Journal()
    assert (journal.head, len(journal), journal.path()) == (ROOT, 0, [])
    journal.append(opened())
    journal.move_head(ROOT)
    assert journal.session().session_id == ""
    assert journal.append(opened()) == 1


@pytest.mark.parametrize("number", [-2, 7, 100])
def test_a_fact_that_is_not_there_cannot_be_the_head(number: int) -> None:
    """An unknown number raises, and the head stays where it was."""
    journal = journal_of(*answered_turn())
    with pytest.raises(JournalError, match=f"has no fact {number}"):
        journal.move_head(number)
    assert journal.head == 6


def test_a_journal_is_written_while_it_grows() -> None:
    """Each writing in another thread can be read, and is a journal that there was."""
    journal, written = journal_of(), list[str]()
    stop = threading.Event()

    def write() -> None:
        """Write until the journal is done."""
        while not stop.is_set() or not written:
            written.append(journal.to_json())

    thread = threading.Thread(target=write)
    thread.start()
    for turn in range(60):
        journal.append(asked(turn=turn))
        journal.append(ended(turn=turn))
    stop.set()
    thread.join()
    lengths = [len(Journal.from_json(text)) for text in written]
    assert lengths == sorted(lengths)
    assert Journal.from_json(written[-1]).to_json() == written[-1]


@given(_some, st.data())
def test_a_fork_of_a_fold_goes_its_own_way(facts: list[Fact], data: st.DataObject) -> None:
    """What one of two forks takes in, the other does not see, whether or not the timeline was read before."""
    journal = _taken(facts)
    if data.draw(st.booleans()):
        journal.session()
    fork, before = journal.fold.forked(), journal.branched(journal.head).session()
    fork_counts = (fork.call_ids(), fork.may_have_run(), dict(fork.counts.calls), fork.turns_so_far)
    append_legal(journal, data.draw(_some))
    assert fork.session() == before
    assert fork_counts == (fork.call_ids(), fork.may_have_run(), dict(fork.counts.calls), fork.turns_so_far)
    assert journal.session() == Journal.from_json(journal.to_json()).session()


@given(_some, st.data())
def test_a_tree_of_many_branches_is_read_as_it_grew(facts: list[Fact], data: st.DataObject) -> None:
    """Wherever branches begin, in whatever order they grow, what is read is what was written: each fact, and its session when it was new."""
    journal = _taken(facts)
    for _ in range(data.draw(st.integers(0, 12))):
        journal.move_head(data.draw(st.integers(1, len(journal) - 1)))
        append_legal(journal, data.draw(st.lists(any_fact, max_size=3)))
    read = Journal.from_json(journal.to_json())
    assert (read.head, read.to_json(), read.session()) == (journal.head, journal.to_json(), journal.session())
    assert read.path() == journal.path()
    for number in range(len(journal)):
        assert read.branched(number).session() == journal.branched(number).session()


def test_many_branches_are_read_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fact is folded once, however many branches there are. Patched to count what nothing else shows."""
    journal = journal_of(*(fact for turn in range(10) for fact in answered_turn(turn)))
    end = journal.head
    for number in range(1, end):
        journal.move_head(number)
        journal.append(SeatChanged(at=0.0, seat="tool", player="refuse"))
    text, taken, take = journal.to_json(), list[int](), SessionFold.take

    def counted(fold: SessionFold, number: int, fact: Fact) -> None:
        taken.append(number)
        take(fold, number, fact)

    monkeypatch.setattr(SessionFold, "take", counted)
    Journal.from_json(text)
    assert taken == list(range(len(journal)))


_FACT: TypeAdapter[Fact] = TypeAdapter(Fact)


@given(any_fact)
def test_a_known_fact_is_the_validated_one(fact: Fact) -> None:
    """Equal, written the same, read back the same, and said to have the same fields set."""
    given_fields = {name: getattr(fact, name) for name in fact.model_fields_set}
    known = type(fact).known(**given_fields)
    assert known == fact
    assert known.model_fields_set == fact.model_fields_set
    assert known.model_dump_json() == fact.model_dump_json()
    assert _FACT.validate_json(known.model_dump_json()) == fact
    assert repr(known) == repr(fact)


def test_a_known_fact_is_as_frozen_as_others() -> None:
    """Nobody sets a field of it, and a copy with another field leaves it alone."""
    made = tool("c1")
    known = type(made).known(**dict(made))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(known, "key", "other")  # noqa: B010 - the type checker knows that it is read-only
    assert known.model_copy(update={"key": "other"}).key == "other"
    assert (known.key, hash(opened())) == (made.key, hash(opened()))


def test_no_two_known_values_share_a_default() -> None:
    """What was not given has its default, as with validation; a dict is each one's own."""
    ends = [TurnEnded.known(at=1.0, turn=0) for _ in range(2)]
    assert ends[0].state == {}
    assert ends[0].state is not ends[1].state
    first, second = ToolEffects.known(), ToolEffects.known()
    assert first == ToolEffects()
    assert first.state_delta is not second.state_delta
    saved: Any = {"filename": "a", "part": {"text": "a"}, "version": 0}
    assert SavedArtifact.known(**saved) == SavedArtifact(**saved)
