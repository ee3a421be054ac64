"""The decision pane while the world looks on: answers that contradict it, who answers from now on, and why a call came."""

from __future__ import annotations

import json
from typing import Any, TypedDict

from simulator.environment.injection.rule_effects import AskEffect, DelayEffect, ErrorEffect
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
    """It is said as soon as it is typed; the first click gives nothing and loses nothing, the second gives it."""
    with asked_for([call("count_stock", product_id="P-1")]) as simulation:
        page = Deciding(simulation).type("response_", json.dumps(BAD)).run()
        assert "breaks 'stock >= 0'" in page.shown()
        assert not any(name.startswith("insist") for name in page.names())
        page.press("accept_")
        assert answers(simulation) == []
        assert page.problems == []
        assert json.loads(page.text("response_")) == BAD
        page.press("insist")
        assert answers(simulation)[0].outcome == Returned(value=BAD)


def test_another_answer_has_to_be_sent_anew() -> None:
    """Who changes a held answer has not insisted on the new one; one that is right is sent with one click."""
    with asked_for([call("count_stock", product_id="P-1")]) as simulation:
        page = Deciding(simulation).type("response_", json.dumps(BAD)).press("accept_")
        page.type("response_", json.dumps({**BAD, "stock": -5})).run()
        assert not any(name.startswith("insist") for name in page.names())
        page.type("response_", json.dumps({**BAD, "stock": 5})).press("accept_")
        assert answers(simulation)[0].outcome == Returned(value={**BAD, "stock": 5})


def test_what_is_contradicted_is_shown_with_its_turn() -> None:
    """The earlier answer itself stands beside the sentence that names it."""
    turns = ([call("count_stock", product_id="P-1")], [call("count_reserved", product_id="P-1")])
    with asked_for(*turns) as simulation:
        simulation.environment.change(invariants=("reserved <= stock",))
        page = (
            Deciding(simulation)
            .type("response_", json.dumps({"product_id": "P-1", "stock": 7}))
            .press("accept_")
        )
        page.type("response_", json.dumps({"product_id": "P-1", "reserved": 9})).run()
        assert "breaks 'reserved <= stock'" in page.shown()
        (seen,) = [one for one in page.tab.expander if "See count" in str(one.label)]
        assert '"stock": 7' in seen.code[0].value


def test_from_now_on_another_player_answers_this_call_too() -> None:
    """One click lets the drafts answer: the call that waited, and those after it."""
    turns = ([call("count_stock", product_id="P-1")], [call("count_stock", product_id="P-2")])
    with asked_for(*turns) as simulation:
        Deciding(simulation).open_players().press("play_offline")
        assert simulation.wait(PATIENCE)
        assert [fact.provenance.by for fact in answers(simulation)] == ["offline", "offline"]


def test_players_that_lack_something_say_what_and_where_to_set_it() -> None:
    """Without a model and without a recording neither can be chosen."""
    with asked_for([call("count_stock", product_id="P-1")]) as simulation:
        page = Deciding(simulation).open_players()
        off = {
            str(one.key).split("_")[1]
            for one in page.tab.button
            if str(one.key).startswith("play_") and one.disabled
        }
        assert off == {"person", "model", "recorded"}
        assert "under Environment > Sources" in page.shown()


def test_auto_says_why_it_stopped_and_goes_on_after_the_answer() -> None:
    """A rule asks for a person at the first call; its words are shown, and the second call is answered by itself."""
    asks = InjectionRule(
        rule_id="look",
        tool_name="count_stock",
        match_args={"product_id": "P-1"},
        effect=AskEffect(note="Look at this one"),
    )
    turns = ([call("count_stock", product_id="P-1")], [call("count_stock", product_id="P-2")])
    with asked_for(*turns, rules=[asks], players={"*": "auto"}) as simulation:
        page = Deciding(simulation)
        assert "Look at this one" in page.shown()
        assert "Auto stopped here" in str([badge.value for badge in page.tab.markdown])
        page.press("accept_")
        assert simulation.wait(PATIENCE)
        assert len(answers(simulation)) == 2
        assert simulation.pending == ()


def test_rules_that_will_change_the_answer_are_named() -> None:
    """A delay stands beside the call that it will delay."""
    slow = InjectionRule(rule_id="slow", tool_name="count_stock", label="A slow day", effect=DelayEffect())
    with asked_for([call("count_stock", product_id="P-1")], rules=[slow]) as simulation:
        page = Deciding(simulation)
        assert "A slow day" in str([badge.value for badge in page.tab.markdown])
        assert "will delay, change or lose" in page.shown()


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
        listed = Deciding(simulation).shown()
        lines = [
            line for line in listed.splitlines() if ": " in line and line.split(": ")[0] in _ids(simulation)
        ]
        assert len(lines) == 33
        assert lines[0].startswith("near: drew 0.")
        assert "r00: switched off" in lines
        assert lines[-2:] == [
            "late: it was added while this call was waiting, and applies from the next call on",
            "other: it applies to count_reserved, and this call is to count_stock",
        ]
        simulation.answer(simulation.pending[0], {"product_id": "P-1", "stock": 1}, wait=PATIENCE)
        assert len(answers(simulation)[-1].provenance.misses) == 20


def _ids(simulation: Any) -> set[str]:
    return {rule.rule_id for rule in simulation.session.rules}
