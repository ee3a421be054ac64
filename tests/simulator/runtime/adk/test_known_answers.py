"""What a model was shown is put together again only where somebody looks, and nobody can tell the difference."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.apps import App
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from hypothesis import given
from hypothesis import strategies as st

from simulator import Simulation
from simulator.facts import ModelAnswered, TurnStarted
from simulator.runtime.adk.adk_private import Later, made
from simulator.runtime.adk.codec import jsonable
from tests.simulator.runtime.stage import ASKED, PATIENCE, agent_of, call, going, opened, resumed, say

WAYS: list[Callable[[list[int]], Any]] = [
    lambda held: [*held],
    lambda held: (len(held), bool(held), held == [1, 2], held != [1, 2], held < [2], repr(held)),
    lambda held: held[1:],
    lambda held: held + [3],  # noqa: RUF005 - the very operator
    lambda held: [3] + held,  # noqa: RUF005 - as above
    lambda held: held * 2,
    lambda held: 2 * held,
    lambda held: 2 in held,
    lambda held: held.append(4),
    lambda held: held.insert(0, 5),
    lambda held: held.extend([7]),
    lambda held: held.reverse(),
    lambda held: held.sort(),
    lambda held: held.remove(2),
    lambda held: (held.copy(), held.count(1), list(reversed(held)), held.pop(), held.index(1)),
    lambda held: (copy.copy(held), copy.deepcopy(held), json.dumps(held), sorted(held), tuple(held)),
    lambda held: held.__setitem__(slice(0, 1), [9]),
    lambda held: held.clear(),
]


def find(order_id: str) -> str:
    """Find an order."""
    return order_id


def _agent(**more: Any) -> Any:
    return agent_of(*([call("find", order_id=str(n))] for n in range(4)), [say("done")], tools=[find], **more)


def _answered(simulation: Simulation, count: int) -> None:
    for _ in range(count):
        assert simulation.answer(simulation.pending[0], "found", wait=PATIENCE)


@given(st.lists(st.integers(0, 3), max_size=4), st.lists(st.sampled_from(WAYS), min_size=1, max_size=4))
def test_a_list_that_is_made_later_is_a_list(
    values: list[int], ways: list[Callable[[list[int]], Any]]
) -> None:
    """Whatever is done first, it is made once, and does all that a plain list does."""
    makes: list[int] = []

    def make() -> list[int]:
        makes.append(1)
        return values

    later, plain = Later(make), [*values]
    assert later.is_unread
    for way in ways:
        try:
            wanted = way(plain)
        except (ValueError, IndexError) as error:
            with pytest.raises(type(error)):
                way(later)
        else:
            assert way(later) == wanted
    assert made(later) == plain
    assert (makes, later.is_unread, type(made(later))) == ([1], False, list)


@pytest.mark.long
def test_callbacks_and_plugins_find_all_that_they_found_before() -> None:
    """Where an agent's callback or a plugin looks at what a model is shown, it is a plain list, the same in each execution."""
    seen: list[Any] = []

    class Looks(BasePlugin):
        async def before_model_callback(self, *, callback_context: Any, llm_request: LlmRequest) -> None:
            look(callback_context, llm_request)

    def look(callback_context: Any, llm_request: LlmRequest) -> None:
        assert type(llm_request.contents) is list
        seen.append(jsonable(llm_request))

    app = App(name="stage", root_agent=_agent(), plugins=[Looks("looks")])
    for looked_at in (_agent(before_model_callback=look), app):
        seen.clear()
        with going(looked_at) as sim:
            _answered(sim, 3)
            live = [*seen]
            sim.undo(wait=PATIENCE)
        assert len(live) == 4
        assert seen[4:] == live[:3]


def test_nothing_is_asked_again_and_what_was_shown_is_still_seen() -> None:
    """At each step that is taken back, the last model's request is whole for who looks, and none is asked."""
    with going(_agent()) as sim:
        shown = [sim.model_view()]
        for _ in range(3):
            _answered(sim, 1)
            shown.append(sim.model_view())
        asked = len(ASKED)
        for before in reversed(shown[:-1]):
            sim.undo(wait=PATIENCE)
            assert sim.model_view() == before
        assert len(ASKED) == asked
        for after in shown[1:]:
            _answered(sim, 1)
            assert sim.model_view() == after


def test_another_view_of_the_conversation_is_found_at_its_first_step() -> None:
    """An agent that is shown less than it was diverges where that begins, though only the last step was looked at."""
    turns = ([say("hello")], *([call("find", order_id=str(number))] for number in range(3)))
    with opened(agent_of(*turns, tools=[find])) as sim:
        assert sim.query("hi", wait=PATIENCE)
        assert sim.query("find", wait=PATIENCE)
        _answered(sim, 2)
        text = sim.journal.to_json()
        path = sim.journal.path()
    began = max(number for number, fact in path if isinstance(fact, TurnStarted))
    models = [number for number, fact in path if isinstance(fact, ModelAnswered) and number > began]
    less = agent_of(*turns, tools=[find], include_contents="none")
    with resumed(text, less, wait=PATIENCE) as sim:
        found = sim.view().divergence
    assert len(models) == 3
    assert found is not None
    assert (found.fact, found.what) == (models[0], ("contents",))
