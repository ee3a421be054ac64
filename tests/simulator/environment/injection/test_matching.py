"""Tests of what a rule can ask of a call, and of how it says that it was not so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from simulator.environment.injection.conditions import Condition
from simulator.environment.injection.rule_call import CallContext, Seen, Tally, Why
from simulator.environment.injection.rules import InjectionRule, Miss, evaluate
from tests.simulator.base.rows import for_each

ARGUMENTS: dict[str, Any] = {
    "city": "Oslo",
    "n": 3,
    "flag": True,
    "none": None,
    "a.b": "dotted",
    "order": {"id": "A-1", "items": [{"sku": "X-1", "n": 2}, {"sku": "Y-2", "n": 5}]},
    "ids": ["A-1", "A-9"],
}
WORLD: dict[str, Any] = {
    "orders": {"A-1": {"status": "open", "lines": [{"n": 4}]}, "A-2": {"status": "paid"}},
}


def call(**more: Any) -> CallContext:
    """Make a call of `find` as the fourth of its tool and the tenth of the session."""
    fields: dict[str, Any] = {
        "agent": "helper_2",
        "branch": "root.helper_2",
        "tally": Tally(tool_calls=3, session_calls=9),
        "world": lambda: WORLD,
        "state": lambda: {"user": {"tier": "gold"}},
        "calls": lambda: [{"arguments": {"n": 1}, "response": {"ok": True}}],
    }
    return CallContext("find", ARGUMENTS, **{**fields, **more})


def rule(when: object, rule_id: str = "r", **fields: Any) -> InjectionRule:
    """Make a rule that waits for a condition."""
    return InjectionRule.model_validate(
        {"rule_id": rule_id, "tool_name": "find", "effect": {"kind": "delay"}, "when": when, **fields}
    )


def miss(when: object, of: CallContext | None = None) -> Miss | None:
    """Return the miss of a rule, or None where it fires; the opposite condition has to do the opposite."""
    verdict = evaluate([rule(when)], of or call(), lambda _: 0.0)
    opposite = evaluate([rule({"kind": "not", "condition": when})], of or call(), lambda _: 0.0)
    assert bool(verdict.modifiers) is not bool(opposite.modifiers)
    for each in (*verdict.misses, *opposite.misses):
        assert 0.0 <= each.nearness < 1.0
        assert each.reason
    return verdict.misses[0] if verdict.misses else None


def argument(path: str, test: str, **fields: object) -> dict[str, object]:
    """Write a condition on an argument."""
    return {"kind": "argument", "path": path, "test": {"test": test, **fields}}


def world(test: str, entity: str = "order", **fields: object) -> dict[str, object]:
    """Write a condition on the world."""
    where: dict[str, object] = {
        name: fields.pop(name) for name in ("entity_id", "id_from", "field") if name in fields
    }
    return {"kind": "world", "entity": entity, **where, "test": {"test": test, **fields}}


def number(which: str, n: int, counted: str) -> dict[str, object]:
    """Write a condition on the call's number."""
    return {"kind": "call_number", "which": which, "n": n, "counted": counted}


HOLDING = [
    argument("city", "equals", value="Oslo"),
    argument("n", "equals", value=3.0),
    argument("order.items[0].sku", "equals", value="X-1"),
    argument("order.items[-1].sku", "equals", value="Y-2"),
    argument("order.items[*].sku", "equals", value="Y-2"),
    argument('["a.b"]', "equals", value="dotted"),
    argument("order", "holds", value={"items": [{"sku": "Y-2"}, {"n": 2}]}),
    argument("city", "matches", pattern="^osl", ignore_case=True),
    argument("order.id", "matches", pattern=r"[A-Z]-\d", whole=True),
    argument("n", "between", low=3, high=3),
    argument("n", "between", high=3.5, exclusive=True),
    argument("order.items[*].n", "between", low=5),
    argument("city", "one_of", values=["Rome", "Oslo"]),
    argument("none", "present"),
    argument("order.nothing", "absent"),
    argument("order.items[2]", "absent"),
    world("equals", id_from="order.id", field="status", value="open"),
    world("equals", id_from="ids", field="status", value="open"),
    world("between", id_from="ids[*]", field="lines[*].n", low=4),
    world("present", entity_id="A-1"),
    world("absent", entity_id="A-9"),
    world("absent", entity_id="A-1", field="nothing"),
    world("absent", entity="nothing", entity_id="A-1"),
    {"kind": "expression", "text": "args.n > 2 and state.user.tier == 'gold'"},
    {"kind": "expression", "text": "world.orders[args.order.id].status == 'open' and calls | length == 1"},
]


@for_each("when", HOLDING)
def test_a_condition_that_holds_lets_the_rule_fire(when: dict[str, object]) -> None:
    """And its opposite does not."""
    assert miss(when) is None


FAILING = [
    (argument("city", "equals", value="Rome"), 'args.city was "Oslo", wanted "Rome"'),
    (argument("n", "equals", value=True), "args.n was 3, wanted true"),
    (argument("flag", "equals", value=1), "args.flag was true, wanted 1"),
    (argument("nothing", "equals", value=None), "args.nothing is absent, wanted null"),
    (argument("order.items[*].sku", "equals", value="Z"), 'args.order.items[0].sku was "X-1", wanted "Z" (closest of 2)'),
    (argument("order.items[*].n", "equals", value=6), "args.order.items[1].n was 5, wanted 6 (closest of 2)"),
    (argument('["a.b"]', "one_of", values=[1]), 'args["a.b"] was "dotted", wanted one of [1]'),
    (argument("order.items", "holds", value=[{"sku": "X-1", "n": 5}]), 'wanted something that contains [{"n":5,"sku":"X-1"}]'),
    (argument("n", "matches", pattern="3"), 'args.n was 3, wanted a text that matches "3"'),
    (argument("city", "matches", pattern="sl", whole=True), 'args.city was "Oslo", wanted a text that fully matches "sl"'),
    (argument("n", "between", low=3, exclusive=True), "args.n was 3, wanted a number above 3"),
    (argument("n", "between", high=2), "args.n was 3, wanted a number of at most 2"),
    (argument("n", "between", low=4, high=5, exclusive=True), "wanted a number from 4 to 5, exclusive"),
    (argument("flag", "between", low=0), "args.flag was true, wanted a number of at least 0"),
    (argument("order.nothing", "present"), "args.order.nothing is absent"),
    (argument("none", "absent"), "args.none was null, wanted none"),
]  # fmt: skip


@for_each(("when", "reason"), FAILING)
def test_a_condition_that_does_not_hold_says_why(when: dict[str, object], reason: str) -> None:
    """What was there, where, and what was wanted; and its opposite holds."""
    found = miss(when)
    assert found is not None
    assert reason in found.reason


SLOW = argument("text", "matches", pattern="^(a|aa)+$")


def slow_call() -> CallContext:
    """Make a call with a text that some patterns never come to an end with."""
    return CallContext("find", {"text": "a" * 80 + "b", "n": 1})


def test_a_catastrophic_pattern_is_a_miss_that_says_so() -> None:
    """Negated too; another way may hold; and a hundred such rules do not add up."""
    reason = 'args.text: the pattern "^(a|aa)+$" took too long'
    for when in (SLOW, {"kind": "not", "condition": SLOW}):
        verdict = evaluate([rule(when)], slow_call(), lambda _: 0.0)
        assert verdict.modifiers == ()
        assert verdict.misses[0].reason == reason
    other = {"kind": "any_of", "conditions": [SLOW, argument("n", "equals", value=1)]}
    assert evaluate([rule(other)], slow_call(), lambda _: 0.0).modifiers
    many = evaluate([rule(SLOW, f"r{number}") for number in range(100)], slow_call(), lambda _: 0.0)
    assert many.modifiers == ()
    assert "not tried" in many.misses[-1].reason


@for_each(
    ("when", "complaint"),
    [
        (argument("a", "matches", pattern="("), "'(' cannot"),
        (argument("a", "matches", pattern="((a{1000}){1000}){1000}"), "repeats too much"),
        (argument("a", "matches", pattern="(?x)(a{1000}) {1000}"), "repeats too much"),
        (argument("a", "matches", pattern="(" * 499 + ")" * 499), "nested too deeply"),
        (argument("a", "matches", pattern="a" * 8001), "at most 8000 characters"),
        (argument("a[", "present"), "path 'a['"),
        (argument("", "present"), "at least 1 character"),
        (argument("a", "between"), "low and high"),
        (argument("a", "between", low=2, high=1), "low is 2"),
        (argument("a", "one_of", values=[]), "at least 1 item"),
        (world("present"), "entity_id or id_from"),
        (world("present", id_from="a..b"), "path 'a..b'"),
        (world("present", entity_id="a", field="["), "path '['"),
        ({"kind": "agent"}, "agent and branch"),
        ({"kind": "expression", "text": "1 +"}, "expression '1 +'"),
        ({"kind": "expression", "text": "arguments.n > 1"}, "unknown name arguments"),
        ({"kind": "any_of", "conditions": []}, "at least 1 item"),
        (number("nth", 0, "rule"), "equal to 1"),
    ],
)
def test_a_condition_that_cannot_be_meant_is_refused_when_it_is_made(
    when: dict[str, object], complaint: str
) -> None:
    """Never only at the call that it was made for."""
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        TypeAdapter(Condition).validate_python(when)


def test_what_no_condition_asks_for_is_not_fetched() -> None:
    """And what several ask for is fetched once."""
    fetched: list[str] = []

    def noting(name: str, value: Any) -> Callable[[], Any]:
        def fetch() -> Any:
            fetched.append(name)
            return value

        return fetch

    watched = call(world=noting("world", WORLD), state=noting("state", {}), calls=noting("calls", []))
    asks = world("present", entity_id="A-9")
    for when in (
        argument("n", "present"),
        {"kind": "expression", "text": "args.n == 3 and agent"},
        {"kind": "all_of", "conditions": [argument("x", "present"), asks]},
    ):
        evaluate([rule(when)], watched, lambda _: 0.0)
    assert fetched == []
    text = {"kind": "expression", "text": "world and state == {} and calls | length == 1"}
    verdict = evaluate([rule(asks, "a"), rule(asks, "b"), rule(text, "c")], watched, lambda _: 0.0)
    assert len(verdict.misses) == 3
    assert sorted(fetched) == ["calls", "state", "world"]


_CONDITIONS: TypeAdapter[Any] = TypeAdapter(Condition)
YES, NO = argument("city", "equals", value="Oslo"), argument("city", "equals", value="Rome")
FAR = argument("nothing", "present")
UNKNOWN = number("nth", 2, "rule")


def holds(when: dict[str, object], of: CallContext | None = None, at: int | None = 1) -> Any:
    """Return whether a condition holds, for the call of this number among those that its rule counts."""
    return _CONDITIONS.validate_python(when).holds(Seen(of or call()), at)


def why(when: dict[str, object], of: CallContext | None = None, at: int | None = 1) -> Why:
    """Return why it does not."""
    found: Why = _CONDITIONS.validate_python(when).why(Seen(of or call()), at)
    return found


def turned(when: Mapping[str, object]) -> dict[str, object]:
    """The opposite."""
    return {"kind": "not", "condition": when}


def all_of(*parts: object) -> dict[str, object]:
    """All of these."""
    return {"kind": "all_of", "conditions": list(parts)}


def any_of(*parts: object) -> dict[str, object]:
    """Any of these."""
    return {"kind": "any_of", "conditions": list(parts)}


@for_each(
    ("when", "held"),
    [
        (all_of(YES, YES), True),
        (all_of(YES, NO), False),
        (all_of(NO, YES), False),
        (all_of(YES, UNKNOWN), None),
        (all_of(UNKNOWN, YES), None),
        (all_of(UNKNOWN, NO), False),
        (any_of(NO, YES), True),
        (any_of(YES, NO), True),
        (any_of(NO, NO), False),
        (any_of(NO, UNKNOWN), None),
        (any_of(UNKNOWN, NO), None),
        (any_of(UNKNOWN, YES), True),
        (turned(all_of(YES, NO)), True),
        (turned(all_of(YES, YES)), False),
        (turned(any_of(NO, NO)), True),
        (turned(any_of(YES, NO)), False),
        (turned(turned(YES)), True),
        (turned(all_of(YES, UNKNOWN)), None),
        (turned(UNKNOWN), None),
    ],
)
def test_what_is_not_known_yet_decides_nothing(when: dict[str, object], held: bool | None) -> None:
    """Where the number of the call is not known, others decide; else nobody does."""
    assert holds(when, at=None) is held


@for_each(
    ("which", "n", "fitting"),
    [("nth", 3, {3}), ("first", 3, {1, 2, 3}), ("every", 3, {3, 6}), ("after", 3, {4, 5, 6, 7})],
)
@for_each("counted", ["rule", "tool", "session"])
def test_a_number_is_counted_as_it_says(which: str, n: int, fitting: set[int], counted: str) -> None:
    """By the rule, by the tool, or in the session, each from 1; turned round it is all the others."""
    for this in range(1, 8):
        tally = Tally(
            tool_calls=this - 1 if counted == "tool" else 90,
            session_calls=this - 1 if counted == "session" else 90,
        )
        at = this if counted == "rule" else 90
        of = call(tally=tally)
        assert holds(number(which, n, counted), of, at) is (this in fitting)
        assert holds(turned(number(which, n, counted)), of, at) is (this not in fitting)


@for_each(
    ("when", "at", "reason", "nearness"),
    [
        (number("nth", 5, "tool"), 1, "call 4 of find, .* call 5", 1 / 2),
        (number("nth", 1, "tool"), 1, "call 4 of find, .* call 1", 1 / 4),
        (number("nth", 7, "rule"), 1, "call 1 .*, wanted call 7", 1 / 7),
        (number("first", 1, "session"), 1, "call 10 .*session, .* the first", 1 / 10),
        (number("first", 2, "tool"), 1, "call 4 of find, .* the first 2", 1 / 3),
        (number("after", 4, "tool"), 1, "call 4 of find, .* after call 4", 1.0),
        (turned(number("nth", 4, "tool")), 1, "call 4 of find, .* any but call 4", 1.0),
        (UNKNOWN, None, "call 0 .*, wanted call 2", 1 / 3),
    ],
)
def test_a_number_says_how_far_it_was(
    when: dict[str, object], at: int | None, reason: str, nearness: float
) -> None:
    """The nearer, the fewer calls lie between; a number that is not known is told as 0."""
    assert re.search(f"{reason}$", why(when, at=at).reason)
    assert why(when, at=at).nearness == nearness


@for_each(
    ("n", "words"),
    [
        (1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (10, "10th"), (11, "11th"), (12, "12th"), (13, "13th"), (14, "14th"),
        (21, "21st"), (22, "22nd"), (23, "23rd"), (100, "100th"), (101, "101st"), (111, "111th"), (112, "112th"), (113, "113th"),
    ],
)  # fmt: skip
def test_a_number_is_an_english_ordinal(n: int, words: str) -> None:
    """Also behind a hundred."""
    assert f" every {words} " in why(number("every", n, "tool")).reason


AGENT = {"kind": "agent", "agent": "helper_2"}
OF_BRANCH = {**AGENT, "branch": "root.*"}


@for_each(
    ("when", "reason", "nearness"),
    [
        (AGENT, "", None),
        ({"kind": "agent", "agent": "helper_?"}, "", None),
        ({"kind": "agent", "branch": "root.*"}, "", None),
        (OF_BRANCH, "", None),
        ({"kind": "agent", "agent": "HELPER_2"}, "agent was 'helper_2', wanted 'HELPER_2'", 0.0),
        ({"kind": "agent", "agent": "x", "branch": "y"}, "agent was 'helper_2', wanted 'x'", 0.0),
        ({**AGENT, "branch": "y"}, "branch was 'root.helper_2', wanted 'y'", 0.5),
        ({"kind": "agent", "agent": "x", "branch": "root.*"}, "agent was 'helper_2', wanted 'x'", 0.5),
        (turned(AGENT), "agent was 'helper_2', .* any but 'helper_2'", 0.0),
        (turned(OF_BRANCH), "agent was 'helper_2', .* any but 'helper_2'", 0.0),
    ],
)
def test_an_agent_fits_with_all_that_is_asked(
    when: dict[str, object], reason: str, nearness: float | None
) -> None:
    """Its name, its branch, or both; else the first that did not fit is told, and half of two is half the way."""
    assert holds(when) is not bool(reason)
    assert holds(turned(when)) is bool(reason)
    if reason:
        assert re.fullmatch(reason, why(when).reason)
        assert why(when).nearness == nearness


def test_of_several_conditions_the_nearness_is_their_mean() -> None:
    """Those that hold, or cannot be told, are near; the reason is that of the first that fails."""
    half = {**AGENT, "branch": "y"}
    assert why(all_of(YES, FAR)) == why(FAR)._replace(nearness=1 / 2)
    assert why(all_of(YES, half, FAR, YES)) == Why("branch was 'root.helper_2', wanted 'y'", 2.5 / 4)
    assert why(all_of(UNKNOWN, FAR), at=None) == why(FAR)._replace(nearness=1 / 2)


def test_of_several_ways_the_nearest_gives_the_reason() -> None:
    """How many others there are is told, unless there is one way alone."""
    half = {**AGENT, "branch": "y"}
    words = "branch was 'root.helper_2', wanted 'y'"
    several = why(any_of(FAR, half, FAR))
    assert several.reason.startswith(f"{words}; ")
    assert (re.findall(r"\d+", several.reason.removeprefix(words)), several.nearness) == (["3"], 0.5)
    assert why(any_of(half)) == Why(words, 0.5)
    assert re.search(r"; .* 2 ", why(turned(all_of(YES, YES))).reason)


@for_each(
    ("when", "reason"),
    [
        (argument("order.id", "equals", value=1), 'args.order.id was "A-1", wanted 1'),
        (argument("order.items[0].n", "equals", value="x"), 'args.order.items[0].n was 2, wanted "x"'),
        (argument('["a.b"]', "absent"), 'args["a.b"] was "dotted", wanted none'),
        (argument('["x.y"]', "present"), 'args["x.y"] is absent, '),
        (argument("ids[*]", "equals", value=7), 'args.ids[0] was "A-1", wanted 7 (closest of 2)'),
        (turned(argument("ids[*]", "equals", value="A-9")), 'args.ids[1] was "A-9", wanted anything but "A-9"'),
        (turned(argument("city", "present")), 'args.city was "Oslo", wanted anything but'),
        (turned(argument("nothing", "absent")), "args.nothing is absent, "),
        (argument("flag", "absent"), "args.flag was true, "),
        (world("absent", entity_id="A-1"), "wanted none"),
        (world("equals", entity_id="A-1", field="lines[0].n", value=5), 'world.order["A-1"].lines[0].n was 4, wanted 5'),
        (world("present", entity_id="A-1", field="x"), 'world.order["A-1"] has no x'),
        (world("present", id_from="ids[*]", field="x"), 'world.order["A-1"] has no x'),
        (world("present", entity="shop", id_from="ids"), 'world.shop has no "A-1" or "A-9"'),
        (world("present", entity="shop", id_from="n"), 'world.shop has no "3"'),
        (world("present", entity="shop", id_from="flag"), "world.shop has no such id"),
        (world("present", id_from="nothing.at[0]"), "args.nothing.at[0] is absent"),
        (world("present", entity_id="A-9", field="status"), 'world.order has no "A-9"'),
        (turned(turned(NO)), 'args.city was "Oslo", wanted "Rome"'),
        (turned(any_of(FAR, YES)), 'args.city was "Oslo", wanted anything but "Oslo"'),
    ],
)  # fmt: skip
def test_a_place_is_named_in_full(when: dict[str, object], reason: str) -> None:
    """With what was there, or what is missing of it: the argument, the thing, or its field."""
    assert holds(when) is False
    assert reason in why(when).reason


def test_what_nothing_stands_at_is_far() -> None:
    """A value that is there can come near; turned round, and where none is, nothing does."""
    assert why(FAR).nearness == 0.0
    assert why(argument("n", "equals", value=4)).nearness > 0.0
    assert why(turned(argument("n", "equals", value=3))).nearness == 0.0


def test_the_world_is_looked_up_by_either_form_of_a_kind() -> None:
    """As it is named, or its plural; an empty table is none."""
    of = call(world=lambda: {"order": {}, "orders": {"A-1": {"status": "open"}}, "fish": {"1": {"a": 1}}})
    assert holds(world("present", entity_id="A-1"), of) is True
    assert holds(world("present", entity="orders", entity_id="A-1"), of) is True
    assert holds(world("equals", entity="fish", entity_id="1", field="a", value=1), of) is True
    assert holds(world("present", entity="bird", entity_id="1"), of) is False


def test_an_argument_may_name_several_things() -> None:
    """Texts and whole numbers, in lists of any depth; a truth value names none, and no thing counts twice."""
    of = CallContext(
        "find",
        {"ids": [["A-1"], 7, True, 2.5, None, "A-1"]},
        world=lambda: {"orders": {"7": {}, "A-1": {}, "True": {}}},
    )
    assert holds(world("present", id_from="ids"), of) is True
    assert why(world("equals", id_from="ids", value=1), of).reason == (
        'world.order["A-1"] was {}, wanted 1 (closest of 2)'
    )


def expression(text: str) -> dict[str, object]:
    """A condition in words."""
    return {"kind": "expression", "text": text}


@for_each(
    ("text", "reason"),
    [
        ("args.n > 3", "args.n > 3 was false (args.n was 3)"),
        ("agent == 'x'", "agent == 'x' was false (agent was \"helper_2\")"),
        ("state.user.tier == 'x'", "state.user.tier == 'x' was false (state.user.tier was \"gold\")"),
        ("calls | length == 2", "calls | length == 2 was false"),
        ("world.orders | length == 1", "world.orders | length == 1 was false"),
    ],
)
def test_an_expression_says_what_it_has_read(text: str, reason: str) -> None:
    """What is short, up to three values of it; how near it came nobody knows."""
    assert holds(expression(text)) is False
    assert why(expression(text)) == Why(reason, 0.5)


def test_at_most_three_values_are_told() -> None:
    """The first three that it reads."""
    text = "args.n == 0 and args.city == '' or args.flag == 0 and args.none == 0"
    words = why(expression(text)).reason
    assert words.count(" was ") == 4
    assert words.endswith(")")


def test_an_expression_without_a_value_holds_neither_way() -> None:
    """It says what is wrong, and is far."""
    broken = expression("args.city + 1 > 2")
    assert holds(broken) is False
    assert holds(turned(broken)) is False
    assert why(broken).nearness == 0.0
    assert "was false" not in why(broken).reason
    assert re.search(
        r"args\.n == 3 was true.*\(args\.n was 3\)$", why(turned(expression("args.n == 3"))).reason
    )
