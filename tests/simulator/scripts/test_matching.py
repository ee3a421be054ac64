"""The first line that fits a request answers it, and what is not used is named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.facts import Fact
from simulator.scripts.script import Script
from simulator.scripts.script_lines import Lines, NextLines, holds
from simulator.seats.requests import CodeRequest, ModelRequest, ToolRequest
from simulator.session.model import CONFIRMATION, OpenCall
from tests.simulator.base.drawn_json import nested
from tests.simulator.session.making import asked
from tests.simulator.session.making import call as made_call
from tests.simulator.session.making import model as moved
from tests.simulator.session.making import tool as answered

LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a"])
VALUES = nested(LEAVES, st.sampled_from("abc"), most=6)


@given(VALUES, VALUES)
def test_a_value_holds_itself_and_less_of_itself(value: Any, other: Any) -> None:
    """More fields, at any depth, are no hindrance; where both hold each other they are equal."""
    assert holds(value, value)
    if isinstance(value, dict):
        assert holds({**value, "more": other}, value)
        assert not holds(value, {**value, "more": other})
        assert holds({"x": {**value, "more": 1}}, {"x": value})
    if holds(value, other) and holds(other, value):
        assert value == other


def tool(name: str, number: int = 0, **args: Any) -> ToolRequest:
    """Make a request for a tool's answer."""
    return ToolRequest(
        key=f"{name}{number}", turn=0, call_id=f"c{number}", agent="desk", tool_name=name, arguments=args
    )


def model(agent: str = "desk") -> ModelRequest:
    """Make a request for an agent's turn."""
    return ModelRequest(key=agent, turn=0, agent=agent, model_name="m")


def lines(*moves: Any, **more: Any) -> Lines:
    """Begin the one turn of a script with these lines."""
    begun = Lines(Script.model_validate({"turns": [{"say": "x", "moves": list(moves)}], **more}))
    begun.begin(0)
    return begun


GOLDEN = Script.model_validate(
    {
        "turns": [
            {
                "say": "x",
                "moves": [
                    {"agent": "clerk", "calls": [{"name": "find", "args": {"id": "A"}}, {"name": "check"}]},
                    {"tool": "find", "args": {"id": "A"}, "returns": 1, "state_delta": {"seen": "A"}},
                    {"tool": "check", "returns": 2},
                    {"agent": "clerk", "calls": [{"name": "find", "args": {"id": "B"}}]},
                    {"tool": "find", "args": {"id": "B"}, "returns": 3},
                    {"agent": "clerk", "text": "Done."},
                ],
            },
            {"confirm": True, "tool": "pay", "moves": [{"agent": "other", "text": "Paid."}]},
            {"say": "y", "moves": [{"tool": "find", "args": {"id": "C"}, "returns": 4}]},
        ]
    }
)


def gone(*steps: Any) -> NextLines:
    """Return where a session is in that script: an agent's calls at once by their names, answers as `(tool, id)`, and messages as `y`."""
    made: list[Fact] = [asked()]
    for place, step in enumerate(steps):
        if step == "y":
            made.append(asked(turn=place + 1))
        elif isinstance(step, tuple):
            told = answered(f"c{place}")
            made.append(told.model_copy(update={"tool_name": step[0], "arguments": {"id": step[1]}}))
        else:
            parts = [{"text": name} if name == "Done." else made_call(f"c{place}", name) for name in step]
            made.append(moved(*parts))
    return NextLines(GOLDEN, made)


@pytest.mark.parametrize(
    ("steps", "calls", "is_here"),
    [
        ([], ["find", "check"], True),
        ([["find"]], ["check"], True),
        ([["check", "find"]], ["find"], True),
        ([["check"]], ["find"], True),
        ([["find", "check"]], ["find"], True),
        ([["find", "check"], ["pay"]], ["find"], False),
        ([["find", "check"], ["pay"], ["find"]], ["Done."], True),
        ([["find", "check", "find"], ["Done."]], [], False),
        ([["find", "check"], "y"], [], False),
    ],
)
def test_an_agent_keeps_its_place_in_a_script_that_it_leaves(
    steps: list[Any], calls: list[str], is_here: bool
) -> None:
    """What it does in addition is another way until it does again what the script does; a call of several that is made is made."""
    found = gone(*steps).move("clerk")
    parts: Any = found.parts if found else ()
    names = [part["text"] if "text" in part else part["function_call"]["name"] for part in parts]
    assert (names, found.is_here if found else False) == (calls, is_here)
    assert gone().move("other") is not None


MOVE, PART = {"calls": [{"name": "find"}]}, {"text": "Done."}


@pytest.mark.parametrize(
    ("moves", "offered", "tells"),
    [
        ([MOVE, PART], {"clerk"}, True),
        ([{**MOVE, "agent": "desk"}, {**PART, "agent": "desk"}], {"clerk", "desk"}, True),
        ([{**MOVE, "agent": "clerk"}, {**PART, "agent": "desk"}], {"clerk", "desk"}, True),
        ([MOVE, {**PART, "agent": "desk"}], {"desk"}, False),
        ([MOVE, {"transfer": "desk"}, PART], set(), False),
    ],
)
def test_a_move_that_names_no_agent_is_offered_to_the_only_one(
    moves: Any, offered: set[str], *, tells: bool
) -> None:
    """Where another agent is in the script, nobody knows whose it is; the only agent can have another name by now."""
    script = Script.model_validate({"turns": [{"say": "x", "moves": moves}]})
    found = NextLines(script, [asked()], root="clerk")
    agents = ("clerk", "desk", "expert")
    assert {agent for agent in agents if found.move(agent) is not None} == offered
    assert found.tells_agents is tells


def test_the_nearest_answer_of_a_script_tells_how_it_differs() -> None:
    """Equal arguments come first, those of this turn before others; the same call twice gets both; no other tool's answer fits."""
    nearest = gone(["find"]).answer("find", {"id": "A"})
    assert nearest is not None
    assert (nearest.is_here, nearest.place, nearest.move.state_delta) == (
        True,
        "turn 1, call 1",
        {"seen": "A"},
    )
    other = gone(["find"], ("find", "A")).answer("find", {"id": "AB"})
    assert other is not None
    assert not other.is_here
    assert other.differs == (f"args.id was {other.move.args['id']!r} and is now 'AB'",)
    twice = gone(["find"], ("find", "Z")).answer("find", {"id": "Z"})
    assert twice is not None
    assert twice.place == "turn 1, call 3"
    later = gone(["find"]).answer("find", {"id": "C"})
    assert later is not None
    assert (later.is_here, later.differs, later.place) == (False, (), "turn 2, call 1")
    assert gone().answer("pay", {}) is None


def test_the_user_of_a_script_speaks_next() -> None:
    """A message is the next one by its number; an open call gets the reply of its round, once."""
    about = {"originalFunctionCall": {"id": "c", "name": "pay"}}
    call = OpenCall(call_id="q", tool_name=CONFIRMATION, arguments=about, agent="clerk")
    first, second = gone(), gone("y")
    message, reply = first.message(), first.reply(call)
    assert message is not None
    assert reply is not None
    assert (message.say, reply.confirm) == ("y", True)
    assert (second.message(), second.reply(call)) == (None, None)


TIMES = st.integers(1, 3) | st.just("any")
ANSWERS = st.lists(
    st.fixed_dictionaries(
        {"tool": st.sampled_from(["a", "b", "*"]), "n": st.none() | st.integers(0, 1), "times": TIMES}
    ),
    max_size=5,
)
CALLS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1)), max_size=8)


@given(ANSWERS, CALLS)
def test_answers_are_taken_as_a_plain_model_takes_them(
    answers: list[dict[str, Any]], calls: list[tuple[str, int]]
) -> None:
    """The first that fits and is left, each as often as it says; what was used less often is left over."""
    args = [{} if each["n"] is None else {"n": each["n"]} for each in answers]
    written = [
        {"tool": each["tool"], "args": args[place], "times": each["times"], "returns": place}
        for place, each in enumerate(answers)
    ]
    begun = lines(environment=written)
    used = [0] * len(answers)
    for name, number in calls:
        expected = next(
            (
                place
                for place, each in enumerate(answers)
                if each["tool"] in {name, "*"}
                and each["n"] in {None, number}
                and (each["times"] == "any" or used[place] < each["times"])
            ),
            None,
        )
        taken = begun.take([tool(name, n=number)])
        assert (taken and taken.place) == (None if expected is None else ("environment", expected))
        if expected is not None:
            used[expected] += 1
    left = {
        place
        for place, each in enumerate(answers)
        if used[place] < (1 if each["times"] == "any" else each["times"])
    }
    assert {each.place for each in begun.leftovers()} == {("environment", place) for place in left}


def test_of_several_requests_the_one_with_the_first_line_is_answered() -> None:
    """So what goes on side by side goes on in the order of the script."""
    begun = lines({"tool": "b", "returns": 1}, {"tool": "a", "returns": 2})
    taken = begun.take([tool("a"), tool("b")])
    assert taken is not None
    assert taken.request.key == "b0"


def test_the_lines_of_the_turn_come_before_those_for_all_turns() -> None:
    """And an agent's own list serves it alone."""
    begun = lines(
        {"tool": "a", "returns": 1},
        agent={"desk": [{"text": "mine"}], "*": [{"text": "anybody's"}]},
        environment=[{"tool": "*", "returns": 0, "times": "any"}],
    )
    places = [
        begun.take([tool("a")]),
        begun.take([tool("a")]),
        begun.take([model("other")]),
        begun.take([model()]),
    ]
    assert [taken and taken.place for taken in places] == [
        ("turns", 0, "moves", 0), ("environment", 0), ("agent", "*", 0), ("agent", "desk", 0)
    ]  # fmt: skip


def test_a_change_parts_the_lines_of_a_turn() -> None:
    """It is due when those before it are used; those behind it wait for it."""
    begun = lines({"text": "one"}, {"rules": []}, {"text": "two"}, agent="person")
    assert begun.due() is None
    assert begun.take([tool("a")]) is None
    first = begun.take([model()])
    assert first is not None
    assert first.place[-1] == 0
    assert begun.take([model()]) is None
    assert begun.due() is not None
    second = begun.take([model()])
    assert second is not None
    assert second.place[-1] == 2
    assert begun.all_used


def test_lines_are_told_apart_by_agent_call_and_kind() -> None:
    """A line for another agent, another call or another kind of request does not fit."""
    begun = lines(
        {"agent": "helper", "text": "x"},
        {"tool": "a", "call_id": "c1", "returns": 1},
        {"prints": "x", "agent": "coder"},
    )
    code = CodeRequest(key="code", turn=0, agent="desk", code="1")
    assert begun.take([model(), tool("a"), code]) is None
    assert begun.take([tool("a", 1)]) is not None
    assert begun.take([code.model_copy(update={"agent": "coder"})]) is not None
    assert begun.take([model("helper")]) is not None


def test_what_is_left_over_is_named() -> None:
    """Never used, not often enough, or after a line that stands behind it: of one for any number of calls its first use counts."""
    often = lines({"tool": "a", "times": "any", "returns": 1}, {"text": "Done."})
    for request in (tool("a"), model(), tool("a")):
        assert often.take([request]) is not None
    assert often.leftovers() == ()
    begun = lines(
        {"tool": "a", "args": {"n": 1}, "returns": 1},
        {"text": "Done."},
        {"tool": "b", "times": 3, "draft": True},
        {"calls": [{"name": "a"}]},
        {"rules": []},
        {"transfer": "helper"},
        {"prints": "1"},
        {"seat": "tool", "target": "a", "player": "real"},
        {"environment": {"kind": "state_cleared", "state_key": "k"}},
        {"parts": [{"text": "x"}]},
        {"model": True},
    )
    for request in (model(), tool("b"), tool("a", n=1)):
        assert begun.take([request]) is not None
    left = {each.place[-1]: each.words for each in begun.leftovers()}
    named = {
        0: ("a(n=1)", "turns.0.moves.1"), 2: ("b()", "1 of 3"), 3: (" a)",), 4: ("rules",), 5: ("helper",), 6: ("'1'",),
        7: (" a ",), 8: ("state_cleared",), 9: ("1 part",), 10: ("model",),
    }  # fmt: skip
    assert left.keys() == named.keys()
    assert [word for place, words in named.items() for word in words if word not in left[place]] == []
