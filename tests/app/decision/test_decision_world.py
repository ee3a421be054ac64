"""The decision pane while the world looks on: answers that contradict it, who answers from now on, and why a call came."""

from __future__ import annotations

import json
from typing import Any, TypedDict

import pytest

from app.live.player_names import NO_MODEL
from simulator.environment.injection.rule_effects import AskEffect, DelayEffect, ErrorEffect, ResponseEffect
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Returned
from tests.app.decision.deciding import Deciding, answers
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened


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


def asked_for(*turns: Any, **more: Any) -> Any:
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
    with asked_for([call("count_stock", product_id=each) for each in ("P-1", "P-2")]) as simulation:
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
    with asked_for(*turns) as simulation:
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
    with asked_for(*turns) as simulation:
        page = Deciding(simulation).open_players()
        off = {str(one.key).partition("_") for one in page.tab.button if one.disabled}
        assert {each[:6] for start, _, each in off if start == "play"} == {"person", "model_", "record"}
        assert NO_MODEL in page.shown()
        page.press("play_offline")
        assert simulation.wait(PATIENCE)
        assert [fact.provenance.by for fact in answers(simulation)] == ["offline", "offline"]


def test_auto_says_why_it_stopped_and_goes_on_after_the_answer() -> None:
    """A rule asks for a person at the first call; its words are shown, and the second call is answered by itself."""
    effect, first = AskEffect(note="Look here"), {"product_id": "P-1"}
    asks = InjectionRule(rule_id="look", tool_name="count_stock", match_args=first, effect=effect)
    turns = ([call("count_stock", product_id="P-1")], [call("count_stock", product_id="P-2")])
    with asked_for(*turns, rules=[asks], players={"*": "auto"}) as simulation:
        page = Deciding(simulation)
        assert "Look here" in page.shown()
        page.press("accept_")
        assert simulation.wait(PATIENCE)
        assert len(answers(simulation)) == 2
        assert simulation.pending == ()


def test_rules_are_named_beside_the_calls_of_a_turn() -> None:
    """A delay beside the call that it will delay, and the rule that has answered the other one."""
    slow = InjectionRule(rule_id="slow", tool_name="count_stock", label="A slow day", effect=DelayEffect())
    effect = ResponseEffect(value={"product_id": "i"})
    rainy = InjectionRule(rule_id="rainy", tool_name="count_reserved", effect=effect)
    calls = [call(name, product_id="P-1") for name in ("count_stock", "count_reserved")]
    with asked_for(calls, rules=[slow, rainy]) as simulation:
        badges = str([badge.value for badge in Deciding(simulation).tab.markdown])
        assert "A slow day" in badges
        assert "injected by rainy" in badges


@pytest.mark.long
def test_each_rule_that_did_not_answer_is_listed_nearest_first() -> None:
    """However many they are; then those for other tools, and those that were changed while the call waits."""
    busy = {"effect": ErrorEffect(error_code=503, error_message="busy")}
    many = [
        InjectionRule(rule_id=f"r{n:02}", tool_name="count_stock", match_args={"product_id": str(n)}, **busy)
        for n in range(30)
    ]
    many[0] = many[0].model_copy(update={"enabled": False})
    wanted = {"product_id": "P-1"}
    near = InjectionRule(rule_id="near", tool_name="*", match_args=wanted, probability=1e-9, **busy)
    other = InjectionRule(rule_id="other", tool_name="count_reserved", **busy)
    late = InjectionRule(rule_id="late", tool_name="count_stock", **busy)
    with asked_for([call("count_stock", product_id="P-1")], rules=[other, *many, near]) as simulation:
        simulation.set_rules([late, near, *reversed(many), other])
        reasons = dict(
            line.split(": ", 1) for line in Deciding(simulation).shown().splitlines() if ": " in line
        )
        listed = [name for name in reasons if name in _ids(simulation)]
        assert len(listed) == 33
        assert listed[0] == "near"
        assert "0." in reasons["near"]
        assert listed[-2:] == ["late", "other"]
        assert "count_reserved" in reasons["other"]
        assert len({reasons[name] for name in ("r00", "r01", "late", "near")}) == 4
        simulation.answer(simulation.pending[0], {"product_id": "P-1", "stock": 1}, wait=PATIENCE)
        assert len(answers(simulation)[-1].provenance.misses) == 20


def _ids(simulation: Any) -> set[str]:
    return {rule.rule_id for rule in simulation.session.rules}
