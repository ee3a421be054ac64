"""The branches of a journal, and their tree, are those that a plain model of paths finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from simulator.branches import (
    BY_ITSELF,
    Branch,
    BranchTree,
    branches,
    first_step,
    history_at,
    tree,
)
from simulator.facts import ConnectionsAnalysed, Fact, RulesChanged, SeatChanged
from simulator.journal import ROOT, Journal
from tests.simulator.session.making import answered_turn, asked, call, ended, model, opened, selected, tool

Path = tuple[int, ...]

_set = st.builds(SeatChanged, at=st.floats(5, 9), seat=st.just("tool"), player=st.just("auto"))
_ruled = st.builds(RulesChanged, at=st.floats(5, 9), rules=st.just(()))
_by_itself = st.builds(ConnectionsAnalysed, at=st.floats(5, 9), model=st.just("m"))
_moves = st.lists(st.one_of(_set, _ruled, _by_itself, st.integers(0, 30)), max_size=25)


def _journal(moves: Sequence[Fact | int]) -> Journal:
    """Append facts, and move the head where a number stands."""
    journal = Journal([opened(), selected()])
    for move in moves:
        if isinstance(move, int):
            journal.move_head(1 + move % (len(journal) - 1))
        else:
            journal.append(move)
    return journal


def _ways(journal: Journal) -> set[Path]:
    """Find, the slow way, each path that somebody walked, without what grew at its end by itself."""
    paths = {_walked(journal, number) for number in range(len(journal))}
    return {
        path for path in paths if not any(other[: len(path)] == path and other != path for other in paths)
    }


def _walked(journal: Journal, number: int) -> Path:
    path = [each for each, _ in journal.path(number)]
    while path and isinstance(journal.fact(path[-1]), BY_ITSELF):
        path.pop()
    return tuple(path)


@given(_moves)
@example([9, ConnectionsAnalysed(at=5.0, model="m"), 1, ConnectionsAnalysed(at=5.0, model="m")])
def test_the_branches_are_the_ways_that_somebody_walked(moves: list[Any]) -> None:
    """Each way is listed once, the newest first, with its fork from the head's path and what follows it."""
    journal = _journal(moves)
    found = branches(journal)
    assert [branch.tip for branch in found] == sorted((branch.tip for branch in found), reverse=True)
    assert sorted(_walked(journal, branch.tip) for branch in found) == sorted(_ways(journal))
    here = [number for number, _ in journal.path()]
    for branch in found:
        there = [number for number, _ in journal.path(branch.tip)]
        shared = [number for number in there if number in here]
        after = [number for number in there if number not in here]
        begun = [number for number in after if not isinstance(journal.fact(number), BY_ITSELF)]
        assert branch.fork == (shared[-1] if shared else ROOT)
        assert branch.begins == (begun[0] if begun else None) == first_step(journal, branch, branch.tip)
        assert branch.steps == _seen(journal, branch.tip) - _seen(journal, branch.fork)
        assert branch.at == journal.fact(branch.tip).at
        assert branch.tip in journal.tips()


@given(_moves)
def test_one_branch_is_where_the_session_is(moves: list[Any]) -> None:
    """It is the way on from the head on which the newest step lies; the head's own steps are on it."""
    journal = _journal(moves)
    (current,) = [branch for branch in branches(journal) if branch.is_current]
    here = _walked(journal, journal.head)
    on = [way for way in _ways(journal) if way[: len(here)] == here]
    assert _walked(journal, current.tip) == max(on, key=lambda way: way[-1])


@given(_moves, _set)
def test_a_branch_keeps_its_number(moves: list[Any], more: Fact) -> None:
    """Whatever is appended or walked, the branches that were there keep their numbers, and a new one has the next."""
    journal = _journal(moves)
    before = branches(journal)
    for branch in before:
        journal.move_head(branch.tip)
        journal.append(more)
    after = {branch.number: branch for branch in branches(journal)}
    assert sorted(after) == list(range(1, len(before) + 1))
    for branch in before:
        grown = {number for number, _ in journal.path(after[branch.number].tip)}
        assert set(_walked(journal, branch.tip)) <= grown


@given(_moves)
def test_the_tree_shows_each_branch_and_where_it_forks(moves: list[Any]) -> None:
    """Every node but the start has one edge to it, from one listed before; along the edges each branch has all of its steps."""
    journal = _journal(moves)
    drawn = tree(journal)
    places = [node.fact for node in drawn.nodes]
    above = {edge.end: edge for edge in drawn.edges}
    assert len(set(places)) == len(places)
    assert sorted([ROOT, *above]) == sorted(places)
    assert sum(node.is_here for node in drawn.nodes) == 1
    ends = {node.branch: node.fact for node in drawn.nodes if node.branch is not None}
    assert ends == {branch.number: branch.tip for branch in branches(journal)}
    for tip in ends.values():
        assert sum(edge.steps for edge in _edges_to(above, tip)) == _seen(journal, tip)
    _check_kinds(drawn, _ways(journal))


def _seen(journal: Journal, tip: int) -> int:
    """Count the steps of the timeline as it was at a fact."""
    return 0 if tip == ROOT else len(history_at(journal, tip))


def _edges_to(above: dict[int, Any], tip: int) -> list[Any]:
    edges = []
    while tip != ROOT:
        edges.append(above[tip])
        tip = above[tip].start
    return edges


def _check_kinds(drawn: BranchTree, ways: set[Path]) -> None:
    followed = {
        node.fact: {way[way.index(node.fact) + 1] for way in ways if node.fact in way[:-1]}
        for node in drawn.nodes
    }
    for node in drawn.nodes:
        if node.kind == "fork":
            assert len(followed[node.fact]) > 1
        elif node.kind == "place":
            assert node.is_here
            assert len(followed[node.fact]) == 1


def _story() -> tuple[Journal, int]:
    """A turn whose call is answered in two ways; gives the number of the fact at which they part."""
    journal = Journal([opened(), selected(), asked(), model(call("a"))])
    fork = journal.head
    for fact in (tool("a"), model({"text": "yes"}, key="m2"), ended()):
        journal.append(fact)
    journal.move_head(fork)
    journal.append(tool("a", key="again"))
    return journal, fork


def test_a_branch_counts_what_a_person_sees_as_steps() -> None:
    """As many as the timeline has: the end of a turn that ended by itself is no step, nor what the session was opened with."""
    journal, fork = _story()
    new, old = branches(journal)
    assert (new.number, new.steps, new.is_current, new.begins) == (2, 0, True, None)
    assert (old.number, old.fork, old.begins, old.steps) == (1, fork, fork + 1, 2)
    assert [edge.steps for edge in tree(journal).edges] == [2, 2, 1]
    assert [edge.is_taken for edge in tree(journal).edges] == [True, False, True]
    assert first_step(journal, old, journal.head) == new.tip
    both = Journal([opened(), selected(), asked(), model({"text": "Hm."}, call("a"), call("b"))])
    assert [edge.steps for edge in tree(both).edges] == [len(both.session().history)] == [4]


def test_an_empty_journal_has_no_branch() -> None:
    """There is nothing to list, and the picture is its start."""
    assert branches(Journal()) == ()
    assert [(node.fact, node.is_here) for node in tree(Journal()).nodes] == [(ROOT, True)]
    assert tree(Journal()).edges == ()


def test_the_history_at_a_tip_is_that_of_the_session_there() -> None:
    """It is folded along the branch's own path, with the journal's numbers, and the head stays."""
    journal, _ = _story()
    head = journal.head
    tips = [branch.tip for branch in branches(journal)]
    found = [history_at(journal, tip) for tip in tips]
    assert journal.head == head
    for tip, history in zip(tips, found, strict=True):
        journal.move_head(tip)
        assert history == journal.session().history


def test_the_work_grows_with_the_length_of_the_journal() -> None:
    """Each fact is looked at a fixed number of times, however many branches there are."""
    looks = []
    for count in (50, 100):
        journal = _Counting([opened(), selected(), *answered_turn()])
        for _ in range(count):
            journal.append(RulesChanged(at=6.0, rules=()))
            journal.move_head(journal.head - 1 if journal.head % 2 else 1)
        journal.looks = 0
        branches(journal)
        tree(journal)
        looks.append(journal.looks / len(journal))
    assert looks[0] == looks[1]


class _Counting(Journal):
    looks = 0

    def fact(self, number: int) -> Fact:
        self.looks += 1
        return super().fact(number)


def _numbers(found: Sequence[Branch]) -> list[int]:
    return [branch.number for branch in found]


def test_settings_of_a_person_make_a_branch_and_a_draft_of_a_model_none() -> None:
    """What somebody set is a way of its own; what came by itself after a step back is not."""
    journal = _journal([RulesChanged(at=6.0, rules=()), 0, ConnectionsAnalysed(at=6.0, model="m")])
    assert _numbers(branches(journal)) == [1]
    journal.append(RulesChanged(at=7.0, rules=()))
    assert _numbers(branches(journal)) == [2, 1]
    assert [branch.is_current for branch in branches(journal)] == [True, False]
