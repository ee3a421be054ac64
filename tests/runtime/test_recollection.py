"""What drafts remember is the same whether it was learned at once or bit by bit, and after each undo."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simulator.environment.recall import Memory
from simulator.facts import (
    Deferred,
    Fact,
    Failed,
    Outcome,
    Provenance,
    RequestDigests,
    Returned,
    SeatChanged,
    ToolAnswered,
)
from simulator.runtime.recollection import Recollection

_IDS = st.sampled_from(["A-1", "A-2"])
_OUTCOMES: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(lambda key, total: Returned(value={"order_id": key, "total": total}), _IDS, st.integers(1, 9)),
    st.just(Failed(error_code=404, error_message="not found")),
    st.just(Deferred()),
)
_FACTS: st.SearchStrategy[Fact] = st.one_of(
    st.builds(
        lambda tool, key, outcome: ToolAnswered(
            at=0.0,
            turn=0,
            key="0/x",
            call_id="call",
            agent="desk",
            digests=RequestDigests(parts={}, chain=""),
            tool_name=tool,
            arguments={"order_id": key},
            outcome=outcome,
            provenance=Provenance(source="written"),
        ),
        st.sampled_from(["find_order", "update_order", "delete_order"]),
        _IDS,
        _OUTCOMES,
    ),
    st.just(SeatChanged(at=0.0, seat="tool", target="*", player="person")),
)
_STEPS = st.lists(st.tuples(st.integers(0, 3), st.lists(_FACTS, max_size=4)), max_size=8)


@given(_STEPS)
def test_learning_bit_by_bit_is_learning_at_once(steps: list[tuple[int, list[Fact]]]) -> None:
    """After every undo and every new branch the answers and the memory are those of the whole path, read afresh."""
    kept, path, number = Recollection(), list[tuple[int, Fact]](), 0
    for back, facts in steps:
        del path[max(0, len(path) - back) :]
        for fact in facts:
            path.append((number, fact))
            number += 1
        earlier, memory = kept.along(path)
        afresh, memory_afresh = Recollection().along(path)
        assert earlier == afresh
        assert vars(memory) == vars(memory_afresh) == vars(Memory(earlier))
        assert len(earlier) == sum(fact.kind == "tool_answered" and not _later(fact) for _, fact in path)


def _later(fact: Fact) -> bool:
    return isinstance(fact, ToolAnswered) and isinstance(fact.outcome, Deferred)
