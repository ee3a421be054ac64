"""The decision pane as a whole: what is at work, what comes first, who answers from now on, what contradicts the world, and what is handed to the simulation."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from app.decision.queue_panel import MOST_PILLS, QueueEntry, numbers
from app.forms.safe_labels import safe_label
from app.live.player_names import NO_MODEL
from app.session.page_commands import AnswerTools, Asked, OvertakenError, PartlyAnsweredError, hand
from simulator.environment.injection.rule_effects import AskEffect, DelayEffect, ResponseEffect
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Returned
from simulator.runtime import SimulationError
from simulator.seats.answers import returned
from simulator.session import SessionState
from simulator.session.commands import (
    AnswerRequest,
    Command,
    MoveHead,
    Query,
    StopTurn,
)
from tests.app.decision.deciding import Deciding, answers, asked_for
from tests.app.fakes import FakeSimulation
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened


def test_a_call_that_was_answered_once_does_not_stand_in_the_way_of_the_next_query() -> None:
    """A late result may be given again; what comes first is the answer of the agent and the next query."""
    with asked_for(call("ship", order_id="A")) as simulation:
        simulation.answer(simulation.pending[0], {"status": "pending"}, wait=PATIENCE)
        assert simulation.session.state is SessionState.COMPLETED
        page = Deciding(simulation)
        assert "done" in page.shown()
        late = f"open {simulation.session.open_calls[0].call_id}"
        page.choose("waiting_", late).press("accept_")
        assert simulation.session.turns[-1].purpose == "reply"


@pytest.mark.long
def test_after_an_undo_the_text_is_still_there() -> None:
    """A call that is asked again after an undo shows what was typed for it, also where a candidate was sent in its place."""
    with asked_for(call("echo", word="a")) as simulation:
        page = Deciding(simulation).type("response_", '{"typed": 1}').press("accept_")
        simulation.undo()
        assert page.run().text("response_") == '{"typed": 1}'
        page.press("give_empty")
        simulation.undo()
        assert page.run().press("bring_back").text("response_") == '{"typed": 1}'


_TOOL = AnswerRequest(key="k", answer=returned({"a": 1}))

_CASES: list[tuple[Asked, list[Command]]] = [
    (_TOOL, [_TOOL]),
    (AnswerTools(answers=(_TOOL, _TOOL)), [_TOOL, _TOOL]),
    ((StopTurn(), Query(message="hi")), [StopTurn(), Query(message="hi")]),
]


def test_each_decision_is_handed_to_the_simulation() -> None:
    """Each is one command, or one for each answer, with nothing added; what the simulation refuses is raised as it said it."""
    for decision, noted in _CASES:
        simulation = FakeSimulation()
        hand(simulation, decision)
        assert simulation.asked == noted, decision
    simulation = FakeSimulation()
    simulation.fails_with = "k: no"
    with pytest.raises(SimulationError, match="k: no"):
        hand(simulation, _TOOL)


def _interrupted(simulation: "Any", asked_for: "list[Any]") -> None:  # noqa: UP037 - the script has no imports
    from app.decision.query_panel import query  # noqa: PLC0415 - the function's text is the page's script
    from app.live.live_sessions import UnsentTexts  # noqa: PLC0415 - as above

    ended = {"problems": ("the agent's process ended",), "pending": (), "busy": False}
    asked_for.append(query(simulation.view().model_copy(update=ended), UnsentTexts(), None))


def test_a_turn_that_cannot_go_on_is_tried_again_from_where_it_stands() -> None:
    """As where the agent's process ended twice."""
    with asked_for(call("echo", word="a")) as simulation:
        given: list[Any] = []
        tab = AppTest.from_function(
            _interrupted, kwargs={"simulation": simulation, "asked_for": given}, default_timeout=PATIENCE
        ).run()
        tab.button(key="play_again").click().run()
        assert given == [None, MoveHead(fact=simulation.view().head)]
        hand(simulation, given[1])
        simulation.wait(PATIENCE)
        assert [each.kind for each in simulation.pending] == ["tool"]


def test_an_answer_that_another_tab_overtook_is_kept_as_text() -> None:
    """Alone and among several; where the request still waits the page has it, so that the error alone is told."""
    with asked_for(call("echo", word="a"), call("echo", word="b")) as simulation:
        first, second = (request.key for request in simulation.pending)
        typed = returned({"word": "typed för long"})
        simulation.answer(first, returned({"word": "other"}), wait=0)
        with pytest.raises(OvertakenError, match='"typed för long"'):
            hand(simulation, AnswerRequest(key=first, answer=typed))
        with pytest.raises(PartlyAnsweredError, match='"typed för long"'):
            hand(
                simulation,
                AnswerTools(
                    answers=(
                        AnswerRequest(key=first, answer=typed),
                        AnswerRequest(key=second, answer=returned({})),
                    )
                ),
            )


class Stock(TypedDict):
    """What is in stock."""

    product_id: str
    stock: int


def count_stock(product_id: str) -> Stock:
    """Count the stock of a product."""
    return {"product_id": product_id, "stock": 3}


class Reserved(TypedDict):
    """How much of it is reserved."""

    product_id: str
    reserved: int


def count_reserved(product_id: str) -> Reserved:
    """Count what is reserved of a product."""
    return {"product_id": product_id, "reserved": 1}


def asked_about(*turns: Any, **more: Any) -> Any:
    """Open a session whose agent takes these turns of calls, with an invariant on the stock, and ask it."""
    players = more.pop("players", {})
    simulation = opened(agent_of(*turns, tools=[count_stock, count_reserved]), **more)
    simulation.environment.change(invariants=("stock >= 0",))
    for name, player in players.items():
        simulation.set_player("tool", player, name)
    simulation.query("go", wait=PATIENCE)
    return simulation


BAD = {"product_id": "P-1", "stock": -4}


def test_an_answer_that_contradicts_is_held_and_given_in_a_second_step() -> None:
    """It is said as soon as it is typed; the first click gives nothing and loses nothing, the second gives it, and it alone."""
    with asked_about([call("count_stock", product_id=each) for each in ("P-1", "P-2")]) as simulation:
        page = Deciding(simulation).type("response_", json.dumps(BAD)).run()
        assert "'stock >= 0'" in page.shown()
        assert not any(name.startswith("insist") for name in page.names())
        page.press("accept_0")
        assert answers(simulation) == []
        assert page.problems == []
        assert json.loads(page.text("response_")) == BAD
        page.press("insist")
        assert answers(simulation)[0].outcome == Returned(value=BAD)
        worse = {"product_id": "P-2", "stock": -5}
        page.type("response_", json.dumps(BAD | {"product_id": "P-2"})).press("accept_0")
        page.type("response_", json.dumps(worse)).run()
        assert not any(name.startswith("insist") for name in page.names())
        page.type("response_", json.dumps({**worse, "stock": 5})).press("accept_0")
        assert answers(simulation)[1].outcome == Returned(value={**worse, "stock": 5})


def test_what_is_contradicted_is_shown_with_its_turn() -> None:
    """The earlier answer itself stands beside the line that names it."""
    turns = ([call("count_stock", product_id="P-1")], [call("count_reserved", product_id="P-1")])
    with asked_about(*turns) as simulation:
        simulation.environment.change(invariants=("reserved <= stock",))
        page = Deciding(simulation)
        page.type("response_", json.dumps({"product_id": "P-1", "stock": 7})).press("accept_")
        page.type("response_", json.dumps({"product_id": "P-1", "reserved": 9})).run()
        assert "'reserved <= stock'" in page.shown()
        seen = [one.code[0].value for one in page.tab.expander if "count" in str(one.label) and one.code]
        assert any('"stock": 7' in code for code in seen)


def test_from_now_on_another_player_answers_this_call_too() -> None:
    """One click lets the drafts answer: the call that waited, and those after it; who lacks something cannot be chosen."""
    turns = ([call("count_stock", product_id="P-1")], [call("count_stock", product_id="P-2")])
    with asked_about(*turns) as simulation:
        page = Deciding(simulation).open_players()
        off = {str(one.key).partition("_") for one in page.tab.button if one.disabled}
        assert {each[:6] for start, _, each in off if start == "play"} == {"person", "model_", "record"}
        assert NO_MODEL in page.shown()
        page.press("play_offline")
        assert simulation.wait(PATIENCE)
        assert [fact.provenance.by for fact in answers(simulation)] == ["offline", "offline"]


def test_auto_says_why_it_stopped_and_goes_on_after_the_answer() -> None:
    """A rule asks for a person at the first call; its words are shown, and the second call is answered by itself.

    Of many rules that did not answer the nearest are kept.
    """
    effect, first = AskEffect(note="Look here"), {"product_id": "P-1"}
    asks = InjectionRule(rule_id="look", tool_name="count_stock", match_args=first, effect=effect)
    turns = ([call("count_stock", product_id="P-1")], [call("count_stock", product_id="P-2")])
    many = [asks.model_copy(update={"rule_id": f"r{n}", "match_args": {"product_id": n}}) for n in range(25)]
    with asked_about(*turns, rules=[asks, *many], players={"*": "auto"}) as simulation:
        page = Deciding(simulation)
        assert "Look here" in page.shown()
        page.press("accept_")
        assert simulation.wait(PATIENCE)
        assert len(answers(simulation)) == 2
        assert simulation.pending == ()
        assert len(answers(simulation)[1].provenance.misses) == 20


def test_another_decision_opens_at_its_top() -> None:
    """The browser is told which one is shown, and scrolls where it is another one; what is typed and drawn again scrolls nothing."""
    with asked_for(call("echo", word="x"), call("echo", word="y")) as simulation:
        page, (first, second) = Deciding(simulation), simulation.pending
        shown = [_decision_told(page)]
        shown.append(_decision_told(page.type("response_", "{}").run()))
        shown.append(_decision_told(page.press("accept_0")))
        assert shown == [first.key, first.key, second.key]


def _decision_told(page: Deciding) -> str:
    (told,) = (one for one in page.tab.get("bidi_component") if "decision_top" in str(one.proto))
    data: dict[str, str] = json.loads(told.proto.json)
    return data["decision"]


def test_rules_are_named_beside_the_calls_of_a_turn() -> None:
    """A delay beside the call that it will delay, for how long, and the rule that has answered the other one: it is no fault."""
    slow = InjectionRule(
        rule_id="slow",
        tool_name="count_stock",
        label="A slow day",
        effect=DelayEffect(),
        latency_seconds=0.01,
    )
    effect = ResponseEffect(value={"product_id": "i"})
    rainy = InjectionRule(rule_id="rainy", tool_name="count_reserved", effect=effect)
    calls = [call(name, product_id="P-1") for name in ("count_stock", "count_reserved")]
    with asked_about(calls, rules=[slow, rainy]) as simulation:
        page = Deciding(simulation)
        badges = str([badge.value for badge in page.tab.markdown])
        assert "A slow day" in badges
        assert "delays the response, after 0.01 s" in page.shown()
        assert ":violet-badge[injected by rainy]" in badges.replace("\\u2060", "")


WORDS = st.sampled_from(
    ["find", "find ", "fi\u200bnd", "find \u00b7 A-1", "Turn of clerk", "x" * 40, "x" * 50]
)


def line_of(words: list[str]) -> list[QueueEntry]:
    """A line of things with these words."""
    return [QueueEntry(key=f"key {place}", words=each) for place, each in enumerate(words)]


@given(st.lists(WORDS, max_size=30))
def test_no_two_things_look_alike(words: list[str]) -> None:
    """Label and number together are different for each thing; what is alone with its label has no number."""
    line = line_of(words)
    found = numbers(line)
    shown = {each.key: safe_label(each.words, 40) for each in line}
    assert len({(shown[each.key], found.get(each.key)) for each in line}) == len(line)
    often = Counter(shown.values())
    assert set(found) == {key for key, label in shown.items() if often[label] > 1}


def test_the_numbers_count_from_one_in_the_order_of_the_line() -> None:
    """Each kind is counted for itself, the oldest first."""
    found = numbers(line_of(["a", "b", "a", "c", "b", "a"]))
    assert found == {"key 0": 1, "key 2": 2, "key 5": 3, "key 1": 1, "key 4": 2}


def options(page: Deciding) -> list[str]:
    """Return the words of the line as they reach the browser."""
    lines = (*page.tab.selectbox, *page.tab.button_group)
    (shown,) = [one for one in lines if str(one.key).startswith("waiting_")]
    return [option if isinstance(option, str) else option.content for option in shown.options]


@pytest.mark.parametrize(
    ("most", "place"), [(3, ""), (MOST_PILLS + 3, "{}. ")], ids=["side by side", "a list"]
)
def test_like_calls_have_numbers(most: int, place: str) -> None:
    """No two of them read alike; another call has no number, nor the last one left of its kind.

    They are answered in any order: each keeps what was typed for it meanwhile. All are accepted at once.
    """
    calls = [call("echo", word="x", times=number) for number in range(1, most)]
    with asked_for(*calls, call("echo", word="y")) as simulation:
        page = Deciding(simulation)
        like = [f"{place.format(number)}echo \u00b7 x #{number}" for number in range(1, most)]
        assert [each.replace("\\", "") for each in options(page)] == [
            *like,
            f"{place.format(most)}echo \u00b7 y",
        ]
        first, second = (request.key for request in simulation.pending[:2])
        page.type("response_", '{"first": 1}').choose("waiting_", second)
        assert '"times": 2' in page.shown()
        page.type("response_", '{"second": 2}').choose("waiting_", first)
        assert page.text("response_") == '{"first": 1}'
        page.choose("waiting_", second).press("accept_0")
        assert answers(simulation)[0].arguments == {"word": "x", "times": 2}
        assert answers(simulation)[0].outcome == Returned(value={"second": 2})
        if most == 3:
            assert options(page) == ["echo \u00b7 x", "echo \u00b7 y"]
        page.press("accept_all")
        assert len(answers(simulation)) == most
