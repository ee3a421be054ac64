"""A condition that is ready says whether it holds, why not in full, and how near it came: alone, in others, and turned round."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from simulator.environment.injection.compiled_conditions import Seen, Why, ready_condition
from simulator.environment.injection.conditions import Condition
from simulator.environment.injection.rule_call import CallContext, Tally
from tests.simulator.base.rows import for_each
from tests.simulator.environment.injection.test_matching import argument, call, number, world

_CONDITIONS: TypeAdapter[Any] = TypeAdapter(Condition)
YES, NO = argument("city", "equals", value="Oslo"), argument("city", "equals", value="Rome")
FAR = argument("nothing", "present")
UNKNOWN = number("nth", 2, "rule")


def ready(when: dict[str, object], *, negated: bool = False) -> Any:
    """Make a condition ready."""
    return ready_condition(_CONDITIONS.validate_python(when), negated=negated)


def holds(when: dict[str, object], of: CallContext | None = None, at: int | None = 1) -> Any:
    """Return whether a condition holds, for the call of this number among those that its rule counts."""
    return ready(when).holds(Seen(of or call()), at)


def why(when: dict[str, object], of: CallContext | None = None, at: int | None = 1) -> Why:
    """Return why it does not."""
    found: Why = ready(when).why(Seen(of or call()), at)
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
        (number("nth", 7, "rule"), 1, "call 1, .* call 7", 1 / 7),
        (number("first", 1, "session"), 1, "call 10 .*session, .* the first", 1 / 10),
        (number("first", 2, "tool"), 1, "call 4 of find, .* the first 2", 1 / 3),
        (number("after", 4, "tool"), 1, "call 4 of find, .* after call 4", 1.0),
        (turned(number("nth", 4, "tool")), 1, "call 4 of find, .* any but call 4", 1.0),
        (UNKNOWN, None, "call 0, .*call 2", 1 / 3),
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
