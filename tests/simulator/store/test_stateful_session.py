"""Random legal and illegal moves in real sessions that are kept, killed and reopened: what is shown is what a plain model says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from simulator import ErrorEffect, InjectionRule, Seats, Simulation, SimulationError
from simulator.branches import branches
from simulator.facts import Deferred
from simulator.journal import Journal
from simulator.seats.answers import ToolAnswer, called, failed, returned, said
from simulator.seats.requests import ToolRequest
from simulator.store import HeadMovedError
from tests.simulator.store.databases import KEY, ME, Kept, NewUrl
from tests.simulator.store.plain_session import BROKEN, PLANS, TOOLS, PlainSession, State
from tests.simulator.store.planned_agent import planned_config
from tests.simulator.store.test_stateful import run_machine

pytestmark = pytest.mark.long
PATIENCE = 60.0
_HISTORY: dict[str, Callable[[Any], tuple[str, ...]]] = {
    "user_query": lambda entry: ("query", entry.content),
    "user_reply": lambda entry: ("reply", entry.tool_name),
    "tool_call": lambda entry: ("call", entry.tool_name),
    "agent_message": lambda _: ("message",),
    "session_note": lambda _: ("note",),
    "turn_failed": lambda _: ("stopped",),
    "final_response": lambda _: ("final",),
}
_ANSWERS: dict[str, Callable[[], ToolAnswer]] = {
    "output": lambda: returned({"is": "well"}),
    "error": lambda: failed("busy", "try later"),
    "later": lambda: ToolAnswer(outcome=Deferred()),
}


_any_number = st.integers(0, 10_000)
"""Which of several: what there is depends on what a kill has left, so it cannot be drawn from."""


class PlayedSession(RuleBasedStateMachine):
    """One session in a store, and beside it a plain model that is told the same; `heads` are the model's since the last `keep`."""

    new_url: NewUrl

    def __init__(self) -> None:
        super().__init__()
        self.kept = Kept(self.new_url())
        self.config = planned_config()
        self.store = self.kept.store()
        broken = InjectionRule(
            rule_id="r",
            tool_name=BROKEN,
            enabled=False,
            effect=ErrorEffect(error_code=503, error_message="busy"),
        )
        self.sim = Simulation.open(
            self.config,
            rules=[broken],
            seats=Seats(),
            session_id="session",
            seed="seed",
            keep=lambda journal: self.store.begin(journal, owner=ME, agent_key=KEY),
        )
        self.plain = PlainSession(self.sim.journal.head)
        self.heads = [(1, 0)]

    # ------------------------------------------------------------ steps

    def _step(self, told: Callable[[State], object], done: Callable[[Simulation], object]) -> None:
        """Take a step in both."""
        self._seen()
        state, parent, first = self.plain.next_state(), self.plain.head, len(self.sim.journal)
        told(state)
        done(self.sim)
        assert self.sim.wait(PATIENCE)
        self.plain.add(parent, first, self.sim.journal.head, state)
        self._seen()

    def _seen(self) -> None:
        self.heads.append((len(self.plain.nodes), self.plain.head))

    @rule(query=st.sampled_from(sorted(PLANS)))
    def ask(self, query: str) -> None:
        """Ask, also while something is open; while a turn runs that is refused."""
        if self.plain.state.running:
            self._refused(lambda: self.sim.query(query))
        else:
            self._step(lambda state: state.ask(query), lambda sim: sim.query(query))

    @rule(which=_any_number, way=st.sampled_from(sorted(_ANSWERS)))
    def answer(self, which: int, way: str) -> None:
        """Answer a call that waits, with a value, an error, or not yet; not yet is refused where the tool does not take long."""
        waiting = self.plain.state.waiting
        if waiting in ([], ["agent"]):
            return
        tool = waiting[which % len(waiting)]
        key = next(
            each.key for each in self.sim.pending if isinstance(each, ToolRequest) and each.tool_name == tool
        )
        if way == "later" and tool != "order":
            self._refused(lambda: self.sim.answer(key, _ANSWERS[way]()))
            return
        self._step(lambda state: state.answer(tool, way), lambda sim: sim.answer(key, _ANSWERS[way]()))
        self._refused(lambda: self.sim.answer(key, _ANSWERS["output"]()))

    @rule(calls=st.sampled_from([(), ("find",), ("ship",), ("order",), ("find", "ship")]))
    def play(self, calls: tuple[str, ...]) -> None:
        """Play the agent, where a person does."""
        if self.plain.state.waiting != ["agent"]:
            return
        turn = called(*((tool, {}) for tool in calls)) if calls else said("Done.")
        self._step(lambda state: state.play(calls), lambda sim: sim.answer(sim.pending[0], turn))

    @rule()
    def reply(self) -> None:
        """Answer the call that was left open first, where there is one."""
        if self.plain.state.running or not self.plain.state.late:
            return
        call = next(each for each in self.sim.session.open_calls if not each.answered)
        self._step(
            lambda state: state.reply(call.tool_name), lambda sim: sim.reply(call.call_id, {"ordered": True})
        )
        self._refused(lambda: self.sim.reply(call.call_id, {"ordered": True}))

    @rule()
    def stop(self) -> None:
        """Stop the turn."""
        if self.plain.state.running:
            self._step(State.stop, Simulation.stop)
        else:
            self._refused(self.sim.stop)

    @rule()
    def switch(self) -> None:
        """Switch the rule."""
        enabled = not self.plain.state.rule
        self._step(State.switch, lambda sim: sim.switch_rule("r", enabled))

    @rule(tool=st.sampled_from(TOOLS))
    def seat(self, tool: str) -> None:
        """Let nobody answer a tool, or a person again."""
        player: Any = "person" if tool in self.plain.state.refused else "refuse"
        self._step(lambda state: state.seat(tool), lambda sim: sim.set_player("tool", player, tool))

    @rule()
    def sit(self) -> None:
        """Let a person play the agent, or its own model again."""
        player: Any = "model" if self.plain.state.agent == "person" else "person"
        self._step(State.sit, lambda sim: sim.set_player("agent", player))

    @rule(name=st.sampled_from(["a", "b"]), value=st.integers(0, 9))
    def edit(self, name: str, value: int) -> None:
        """Change a thing of the world."""
        change = {"op": "put", "kind": "marker", "id": name, "fields": {"value": value}}
        self._step(lambda state: state.put(name, value), lambda sim: sim.environment.edit(change))

    # ------------------------------------------------------------ back, forth, and another way

    def _move(self, target: int | None, move: Callable[[], object]) -> None:
        if target is None:
            self._refused(move)
            return
        move()
        assert self.sim.wait(PATIENCE)
        self.plain.head = target
        assert self.sim.journal.head == self.plain.nodes[target].last
        self._seen()

    @rule(times=st.integers(1, 3))
    def undo(self, times: int) -> None:
        """Take back steps."""
        for _ in range(times):
            self._move(self.plain.undo(), self.sim.undo)

    @rule(times=st.integers(1, 3))
    def redo(self, times: int) -> None:
        """Bring back steps."""
        for _ in range(times):
            self._move(self.plain.redo(), self.sim.redo)

    @rule(which=_any_number)
    def go_to(self, which: int) -> None:
        """Go where a step has led."""
        number = which % len(self.plain.nodes)
        self._move(number, lambda: self.sim.move_head(self.plain.nodes[number].last))

    @rule(which=_any_number)
    def go_between(self, which: int) -> None:
        """Go to any fact inside of a step; what follows by itself follows again, beside what followed then."""
        begun = self.plain.nodes[0].last
        length = len(self.sim.journal)
        fact = begun + which % (length - begun)
        self.sim.move_head(fact)
        self._settled(fact, length)

    def _settled(self, head: int, first: int) -> None:
        """Let follow what follows a fact by itself, and find which step that is; `first` is the number of the first new fact."""
        number = self.plain.holding(head)
        node = self.plain.nodes[number]
        self.plain.head = number
        self._seen()
        assert self.sim.wait(PATIENCE)
        self.sim.go_on()
        assert self.sim.wait(PATIENCE)
        grown = len(self.sim.journal)
        if grown > first and head == first - 1 == max(each.last for each in self.plain.nodes):
            node.last = grown - 1
        elif grown > first:
            self.plain.add(node.parent, first, grown - 1, node.state)
        else:
            assert head == node.last
        self._seen()

    @rule()
    def out_of_range(self) -> None:
        """Nobody can go where nothing is, or do what is not there."""
        self._refused(lambda: self.sim.move_head(len(self.sim.journal)))
        self._refused(lambda: self.sim.move_head(-1))
        self._refused(lambda: self.sim.answer("no such key", _ANSWERS["output"]()))
        self._refused(lambda: self.sim.reply("no such call", {}))
        self._refused(lambda: self.sim.switch_rule("no such rule", enabled=True))
        self._refused(lambda: self.sim.query(" "))
        self._refused(self.sim.environment.edit)

    def _refused(self, work: Callable[[], object]) -> None:
        """Try what does not fit: it is refused, and leaves no trace."""
        before = (len(self.sim.journal), self.sim.journal.head)
        with pytest.raises(SimulationError):
            work()
        assert (len(self.sim.journal), self.sim.journal.head) == before

    # ------------------------------------------------------------ kept, killed, met by others

    @rule()
    def keep(self) -> None:
        """Wait until all is durable; what is stored is what is here."""
        self.sim.journal.keep()
        self.heads = [(len(self.plain.nodes), self.plain.head)]
        stored = self.kept.store().load("session")
        assert stored.to_json() == self.sim.journal.to_json()
        assert stored.session() == self.sim.journal.session()

    @rule()
    def close(self) -> None:
        """Close all orderly, and come back."""
        self.sim.close()
        self.kept.forget(self.store)
        self.store.close()
        self.store = self.kept.store()
        self._reopen()
        assert self.sim.journal.head == self.plain.nodes[self.plain.head].last
        self.heads = [(len(self.plain.nodes), self.plain.head)]

    @rule()
    def kill(self) -> None:
        """Lose all that is not durable: the session is at some moment since the last `keep`."""
        self.kept.kill(self.store)
        self.sim.close()
        self.store = self.kept.store()
        head, length = self.store.place("session")
        self._reopen()
        self.plain.nodes = [node for node in self.plain.nodes if node.first < length]
        newest = self.plain.nodes[-1]
        newest.last = min(newest.last, length - 1)
        assert (len(self.plain.nodes), self.plain.holding(head)) in self.heads
        self._settled(head, length)
        self.sim.journal.keep()
        self.heads = [(len(self.plain.nodes), self.plain.head)]

    @rule(theirs=st.integers(0, 9), mine=st.integers(0, 9))
    def meet_another(self, theirs: int, mine: int) -> None:
        """Another process goes on from the same head first: its head holds, and what is done here is a branch beside it."""
        self.sim.journal.keep()
        parent, state = self.plain.head, self.plain.next_state()
        other = self.kept.store()
        with Simulation.resume(other.load("session"), self.config) as there:
            there.environment.edit({"op": "put", "kind": "marker", "id": "a", "fields": {"value": theirs}})
            there.journal.keep()
            first = len(there.journal) - 1
        state.put("a", theirs)
        self.kept.kill(other)
        beside = self.plain.next_state()
        beside.put("b", mine)
        self.sim.environment.edit({"op": "put", "kind": "marker", "id": "b", "fields": {"value": mine}})
        with pytest.raises(HeadMovedError):
            self.sim.journal.keep()
        self.sim.close()
        self.plain.add(parent, first + 1, first + 1, beside)
        self.plain.add(parent, first, first, state)
        self._reopen()
        assert self.sim.journal.head == first
        self.heads = [(len(self.plain.nodes), self.plain.head)]

    def _reopen(self) -> None:
        self.sim = Simulation.resume(self.store.load("session"), self.config, wait=PATIENCE)

    # ------------------------------------------------------------ what has to be so

    @invariant()
    def is_as_the_model(self) -> None:
        """All that is shown is as the plain model has it."""
        view, state = self.sim.view(), self.plain.state
        assert (view.divergence, view.busy) == (None, False)
        assert _plain(view.session.history) == state.history
        waiting = [each.tool_name if isinstance(each, ToolRequest) else "agent" for each in view.pending]
        assert sorted(waiting) == sorted(state.waiting)
        assert view.session.is_running is state.running
        if not state.running:
            assert view.session.state.value == state.ended
            assert [call.tool_name for call in view.session.open_calls if not call.answered] == state.late
        assert [each.enabled for each in view.session.rules] == [state.rule]
        assert {tool for tool in TOOLS if view.session.seats.of_tool(tool) == "refuse"} == state.refused
        assert view.session.seats.of_agent("clerk") == state.agent
        assert self._things() == state.things

    @invariant()
    def its_tree_is_as_the_model(self) -> None:
        """So are the branches, and what can be taken back and brought back."""
        journal, plain = self.sim.journal, self.plain
        assert (self.sim.can_undo(), self.sim.can_redo()) == (
            plain.undo() is not None,
            plain.redo() is not None,
        )
        assert set(journal.tips()) == plain.tips()
        if len(plain.nodes) > 1:
            assert {branch.tip for branch in branches(journal)} - {journal.head} == plain.tips() - {
                journal.head
            }
        assert Journal.from_json(journal.to_json()).session() == journal.session()

    def _things(self) -> dict[str, int]:
        tables = [table for table in self.sim.environment.world().tables if table.kind == "marker"]
        return {
            name: int(str(row["value"]))
            for table in tables
            for name, row in zip(table.ids, table.rows, strict=True)
        }

    def teardown(self) -> None:
        """End all."""
        self.sim.close()
        self.kept.drop_all()


def _plain(history: Iterable[Any]) -> list[tuple[str, ...]]:
    tools = {entry.call_id: entry.tool_name for entry in history if entry.type == "tool_call"}
    return [
        (entry.type.removeprefix("tool_"), tools[entry.call_id])
        if entry.type in {"tool_output", "tool_error"}
        else _HISTORY[entry.type](entry)
        for entry in history
    ]


@pytest.mark.parametrize(("place", "examples", "steps"), [("new_file", 40, 25), ("new_database", 8, 15)])
def test_a_session_is_what_a_model_says(
    request: pytest.FixtureRequest, place: str, examples: int, steps: int
) -> None:
    """In SQLite and PostgreSQL, whatever is done in whatever order; each step asserts."""
    assert run_machine(PlayedSession, request.getfixturevalue(place), examples=examples, steps=steps)
