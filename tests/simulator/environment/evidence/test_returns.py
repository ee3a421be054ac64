"""What a tool's code returns is read from its source: values that it decides, holes where it does not, and each other way out."""

from __future__ import annotations

import textwrap
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.evidence import tool_returns
from simulator.environment.evidence.sketch import EarlierCall, Hole, Module, Outcome
from simulator.environment.evidence.tool_returns import read_returns
from simulator.runtime.adk.codec import jsonable
from tests.simulator.base.rows import for_each
from tests.simulator.environment.evidence.running import certain, function_of, reading

ORDERS = """
    ORDERS = {"A1": {"status": "shipped", "total": 12.5}, "A2": {"status": "open", "total": 3}}

    def find_order(order_id: str) -> dict:
        order = ORDERS.get(order_id)
        if order is None:
            return {"status": "error", "error_message": f"Order {order_id} not found"}
        return {"status": "success", "order": order}
"""


def test_an_entry_of_a_constant_is_found_and_a_missing_one_is_the_tools_own_error() -> None:
    """The other way out is a candidate, with what has to hold for it."""
    found = reading(ORDERS, "find_order", order_id="A1")
    assert found.complete
    assert found.outcomes[0] == Outcome(
        {"status": "success", "order": {"status": "shipped", "total": 12.5}}, certain=True, line=8
    )
    other = found.outcomes[1]
    assert other.value == {"status": "error", "error_message": "Order A1 not found"}
    assert (other.when, other.possible, other.line) == (("order is None",), False, 7)
    missing = certain(ORDERS, "find_order", order_id="ZZ")
    assert missing == {"status": "error", "error_message": "Order ZZ not found"}


def test_ways_that_leave_the_constants_differently_leave_them_open() -> None:
    """Each way is followed on constants of its own."""
    source = textwrap.dedent(ORDERS) + textwrap.dedent("""
        def touch(order_id: str) -> dict:
            if chance(order_id):
                ORDERS[order_id]["status"] = "lost"
            return {"done": True}
    """)
    find = function_of(source, "find_order")
    earlier = [EarlierCall(function_of(source, "touch"), {"order_id": "A2"}, {"done": True})]
    states: list[JsonObject | None] = [None, {}]
    for state in states:
        read = read_returns(find, {"order_id": "A2"}, state=state, earlier=earlier)
        assert not any(one.certain for one in read.outcomes)


def test_ways_that_leave_the_constants_differently_leave_the_modules_known() -> None:
    """A module that each of them uses is the same one after it."""
    source = """
        import re
        from shop import is_new
        SEEN = []

        def kind(code: str) -> str:
            if is_new(code):
                SEEN.append(code)
            return "A" if re.match("^A", code) else "other"
    """
    code = function_of(source, "kind")
    earlier = [EarlierCall(code, {"code": "A1"}, "A")]
    found = read_returns(code, {"code": "B"}, state={}, earlier=earlier).outcomes
    assert [one.value for one in found if one.possible] == ["other"]


def test_what_chance_decides_is_a_hole() -> None:
    """With its range; a question to it is a truth value. No function of Python sees it, and what is stored beside it does not matter."""
    source = """
        import math, random

        def roll_die(sides: int, tool_context: ToolContext) -> int:
            result = random.randint(1, sides)
            if "rolls" not in tool_context.state:
                tool_context.state["rolls"] = []
            tool_context.state["rolls"] = tool_context.state["rolls"] + [result]
            return [result, math.isclose(random.random(), 0.5), divmod(result, 2)[1]]
    """
    first = reading(source, "roll_die", state={}, sides=6).outcomes[0]
    assert (first.raises, first.certain) == ("", False)
    rolled, is_close, _ = cast(list[Any], first.value)
    assert rolled == Hole("integer", "random.randint(1, sides)", low=1, high=6)
    assert is_close.kind == "boolean"


def test_what_a_service_answers_is_a_hole_of_the_shape_that_the_code_makes_of_it() -> None:
    """Its failing is an outcome of its own, and what a loop collects is a list of unknown length with the shape of a row."""
    source = """
        import requests

        def weather(city: str, unit: str = "celsius") -> dict:
            try:
                data = requests.get(f"https://example.com/{city}").json()
                rows = []
                for day in data["days"]:
                    rows.append({"day": day["name"], "number": len(rows)})
                return {"city": city, "temperature": data["temp"], "days": rows, "unit": unit}
            except Exception as error:
                return {"error": f"No weather: {error}", "city": city}
    """
    found = reading(source, "weather", city="Bonn")
    value: Any = found.outcomes[0].value
    assert (value["city"], value["unit"], value["temperature"].name) == ("Bonn", "celsius", "data['temp']")
    assert value["days"].kind == "array"
    assert set(value["days"].like.like) == {"day", "number"}
    failed = found.outcomes[-1]
    assert not found.outcomes[0].certain
    error: Any = failed.value
    assert error["error"].parts[0] == "No weather: "
    assert "fails" in failed.when[0]


@for_each(
    "body",
    [
        "found = []\n    for row in rows():\n        found.append(row)\n    return found",
        "found = [1]\n    other = found\n    change(other)\n    return found",
        "found = {'a': [1]}\n    inner = found['a']\n    for row in rows():\n        inner.append(row)\n    return found['a']",
        "total = 0\n    for row in rows():\n        total += 1\n    return total",
        "found = 1\n    if rows():\n        found = 2\n    return found",
        "found = 1\n    while rows():\n        found = found + 1\n    return found",
        "found = [1]\n    try:\n        rows()\n        found.append(2)\n    except ValueError:\n        pass\n    return found",
        "found = [1]\n    [found.append(row) for row in rows()]\n    return found",
        "found = {}\n    found[rows()] = 1\n    return found",
        "found = [3, 1]\n    found.sort(key=rows())\n    return found",
    ],
)
def test_what_unread_code_decides_is_never_called_certain(body: str) -> None:
    """Loops of unknown length, values that were given away under any name, conditions and failures."""
    source = f"from shop import rows, change\n\n\ndef tool():\n    {body}\n"
    assert not any(one.certain for one in reading(source, "tool").outcomes)


@for_each(
    ("raised", "kind", "caught"),
    [
        ("ValueError", "requests.exceptions.RequestException", False),
        ("OSError", "requests.RequestException", False),
        ("Problem", "requests.RequestException", False),
        ("Problem", "(requests.Timeout, KeyError)", False),
        ("Worse", "Problem", True),
        ("Problem", "Worse", False),
        ("Worse", "(requests.Timeout, LookupError)", True),
        ("Mixed", "requests.RequestException", None),
        ("Mixed", "Problem", True),
        ("Problem", "asyncio.TimeoutError", False),
        ("TimeoutError", "asyncio.TimeoutError", None),
        ("OSError", "socket.error", None),
        ("ValueError", "requests.ERRORS", None),
        ("ValueError", "requests", None),
    ],
)
def test_a_library_catches_of_what_a_program_raises_what_is_derived_from_its_classes(
    raised: str, kind: str, caught: bool | None
) -> None:
    """An exception of Python's own is not, nor a class of the program whose bases do not say so; another name for one may be."""
    source = f"""
        import asyncio, requests, socket
        class Problem(Exception): pass
        class Worse(Problem, LookupError): pass
        class Mixed(Problem, requests.Mixin): pass
        def tool(q: str) -> str:
            try:
                raise {raised}(q)
            except {kind} as error:
                return "caught"
            except Exception:
                return "passed on"
    """
    ends = {one.value for one in reading(source, "tool", q="a").outcomes if one.possible}
    assert ends == {None: {"caught", "passed on"}, True: {"caught"}, False: {"passed on"}}[caught]


@for_each(
    "test",
    [
        "not cart.items",
        "not cart.items or q == 'z'",
        "cart.total == 0",
        "cart.is_empty()",
        "not LINES",
        "LIMIT == 0",
    ],
)
def test_what_a_module_holds_is_as_the_test_says_that_comes_out_otherwise(test: str) -> None:
    """What depends on it is a hole, what does not is known, and the same test comes out the same."""
    source = f"""
        class Cart:
            def __init__(self):
                self.items = []
            @property
            def total(self):
                return sum(self.items)
            def is_empty(self):
                return not self.items
        cart, LINES, LIMIT, OTHERS = Cart(), [], 0, [1]
        def tool(q: str) -> dict:
            if {test}:
                return {{"status": "empty"}}
            return {{"n": len(cart.items), "total": cart.total, "lines": len(LINES), "limit": LIMIT,
                "again": "full" if cart.items else "empty", "others": OTHERS, "q": q}}
    """
    first, other = reading(source, "tool", q="a").outcomes
    value: Any = other.value
    assert (first.value, first.certain, other.possible) == ({"status": "empty"}, True, False)
    holes = {"lines"} if "LINES" in test else {"limit"} if "LIMIT" in test else {"n", "total"}
    assert {name for name, one in value.items() if isinstance(one, Hole)} == holes
    assert (value["others"], value["q"]) == ([1], "a")
    assert value["again"] == ("full" if "cart" in test else "empty")


def test_what_an_operand_decides_is_not_decided_again() -> None:
    """A person who is not there is not active either, so that no response is made of one."""
    source = """
        from shop import person, is_active

        def tool(name: str) -> str:
            found = person(name)
            if found is None or not is_active(found):
                return "nobody"
            return found.name

        def either(name: str) -> str:
            found = person(name)
            return "somebody" if found and is_active(found) and found.name else "nobody"
    """
    told = [(one.when, one.possible) for one in reading(source, "tool", name="A").outcomes]
    whole = "found is None or not is_active(found)"
    assert told == [(("found is None",), True), (("found is not None", f"not ({whole})"), True)]
    whens = {one.value: one.when[0] for one in reading(source, "either", name="A").outcomes if one.possible}
    assert whens == {"somebody": "found", "nobody": "not found"}


def test_a_success_of_which_nothing_is_known_comes_before_the_failure_that_is_handled() -> None:
    """Whatever the failure returns."""
    source = """
        from shop import ask

        def tool(name: str) -> str:
            try:
                return ask(name).text
            except Exception:
                return "Error"
    """
    first, second, *_ = [one for one in reading(source, "tool", name="A").outcomes if one.possible]
    assert isinstance(first.value, Hole)
    assert second.value == "Error"


def test_of_ways_with_one_response_the_one_on_which_nothing_fails_is_told() -> None:
    """Also where the other one is followed first."""
    source = """
        from shop import rows, add

        def is_there(name: str) -> bool:
            try:
                for row in rows():
                    if row.name == name:
                        return True
            except Exception:
                pass
            return False

        def tool(name: str) -> str:
            return "there" if is_there(name) else "added"
    """
    whens = {one.value: one.when for one in reading(source, "tool", name="A").outcomes if one.possible}
    assert whens["added"] == ()


def test_what_a_closure_holds_is_what_it_is_given_to_hold() -> None:
    """Without that it is not known."""
    source = """
        def make(factor):
            def scale(value: float) -> float:
                return value * factor
            return scale
    """
    held = read_returns(function_of(source, "scale", held={"factor": 3}), {"value": 2})
    assert held.outcomes[0] == Outcome(6, certain=True, line=4)
    assert isinstance(reading(source, "scale", value=2).outcomes[0].value, Hole)


def test_helpers_of_other_modules_of_the_project_are_read() -> None:
    """By their texts, and a module that is not given is not known."""
    text = """
        from .data import PRICES, price

        def quote(sku: str):
            return {"price": price(sku), "known": len(PRICES)}
    """
    data = Module(
        "shop/data.py", "PRICES = {'a': 2}\n\ndef price(sku):\n    return PRICES[sku]\n", "shop.data"
    )
    code = function_of(text, "quote", project={"shop.data": data})
    assert read_returns(code, {"sku": "a"}).outcomes[0].value == {"price": 2, "known": 1}
    value: Any = reading(text, "quote", sku="a").outcomes[0].value
    assert isinstance(value["price"], Hole)


RULES = """
    ROLES = {"clerk": {"read"}, "chief": {"read", "write"}}
    LIMIT = 3

    def allows(role, action):
        return action in ROLES.get(role, set())

    def limit():
        return LIMIT
"""


@for_each(
    "load",
    [
        "from shop import rules",
        "from . import rules",
        "from shop import rules as checks\nrules = checks",
        "import shop.rules as rules",
        "import shop.rules\nrules = shop.rules",
    ],
)
def test_what_a_module_of_the_project_holds_is_read_however_it_is_imported(load: str) -> None:
    """By the module's name as by the function's own: functions, constants, and what is set from outside."""
    text = (
        f"{load}\n\ndef check(role: str):\n    rules.LIMIT = rules.LIMIT + 1\n"
        "    return [rules.allows(role, 'write'), rules.limit(), rules.LIMIT]\n"
    )
    rules = Module("shop/rules.py", textwrap.dedent(RULES), "shop.rules")
    code = function_of(text, "check", project={"shop.rules": rules, "shop": Module("shop/__init__.py", "")})
    for role, may in (("clerk", False), ("chief", True)):
        assert read_returns(code, {"role": role}).outcomes[0] == Outcome(
            [may, 4, 4], certain=True, line=5 + load.count("\n")
        )


@for_each(
    "body",
    [
        "for row in rows():\n        rules.LIMIT += 1\n    return rules.limit()",
        "try:\n        rows()\n        rules.LIMIT = 9\n    except ValueError:\n        pass\n    return rules.limit()",
        "return rules.MISSING",
        "return rules.LIMIT if rows() else 0",
    ],
)
def test_what_is_not_known_of_a_module_of_the_project_is_never_called_certain(body: str) -> None:
    """It was changed an unknown number of times, or is not in the module's text."""
    text = f"from elsewhere import rows\nfrom shop import rules\n\n\ndef tool():\n    {body}\n"
    rules = Module("shop/rules.py", textwrap.dedent(RULES), "shop.rules")
    found = read_returns(function_of(text, project={"shop.rules": rules}), {}).outcomes
    assert not any(one.certain for one in found)


def test_a_model_is_made_of_an_argument_and_an_alias_stands_for_its_type() -> None:
    """As the code does it by itself, and whatever name an annotation has."""
    source = """
        from typing import Literal
        from pydantic import BaseModel

        Zone = Literal["north", "south"]
        RATES = {"north": 3, "south": 2}

        class Parcel(BaseModel):
            weight: int

        def rate(zone: Zone, parcel: dict):
            return {"cost": RATES[zone] * Parcel.model_validate(parcel).weight}
    """
    assert certain(source, "rate", zone="north", parcel={"weight": 4}) == {"cost": 12}


STAYS = """
    import datetime
    import enum
    from datetime import date, time, timedelta, timezone
    from decimal import Decimal
    from typing import Optional
    from uuid import UUID
    from pydantic import BaseModel

    class Board(enum.Enum):
        HALF = "half"

    class Night(BaseModel):
        day: date
        price: Decimal

    class Stay(BaseModel):
        id: UUID
        board: Board
        until: Optional[datetime.datetime] = None
        late: time = time(22, 30)
        length: timedelta
        nights: list[Night]

    def stay(check_in: str, price: float, day: date):
        nights = [Night(day=check_in, price=price), Night(day=date.fromisoformat(day), price="70.00")]
        made = Stay(id="8f14e45f-ceea-467f-a0e6-5f2d0a7b2c11", board="half", until=check_in, length=86400, nights=nights)
        zoned = datetime.datetime(2026, 3, 4, 9, tzinfo=timezone.utc)
        return {"stay": made, "zoned": zoned, "dump": made.model_dump(), "year": made.model_dump(mode="json")["until"][:4]}

    def wrong(check_in: str):
        return Night(day=check_in, price=1)
"""


def test_dates_decimals_and_uuids_are_written_as_the_tool_itself_would_have_them_written() -> None:
    """In a model, which makes them of texts and numbers, and as they are; what pydantic refuses is the tool's error."""
    arguments: JsonObject = {"check_in": "2026-03-04", "price": 80.5, "day": "2026-03-05"}
    names: dict[str, Any] = {"__name__": "stays"}
    exec(compile(textwrap.dedent(STAYS), "stays.py", "exec", dont_inherit=True), names)  # noqa: S102 - a program of ours
    assert certain(STAYS, "stay", **arguments) == jsonable(names["stay"](**arguments))
    (refused,) = reading(STAYS, "wrong", check_in="tomorrow").outcomes
    assert (refused.raises, refused.certain) == ("ValidationError", True)


DESK = """
ORDERS = {"A-1": {"status": "open"}, "A-2": {"status": "open"}}
SENT = []

def no_order(order_id):
    return {"error": f"No order {order_id}"}

def find(order_id: str, tool_context) -> dict:
    changed = tool_context.state.get("orders") or {}
    return (ORDERS | changed).get(order_id) or no_order(order_id)

def cancel(order_id: str, tool_context) -> dict:
    changed = tool_context.state.get("orders") or {}
    if order_id not in ORDERS:
        return no_order(order_id)
    tool_context.state["orders"] = changed | {order_id: {"status": "cancelled"}}
    return {"order_id": order_id, "cancelled": True}

def refund(order_id: str, tool_context) -> dict:
    refunds = tool_context.state.setdefault("refunds", [])
    refunds.append(order_id)
    SENT.append(order_id)
    return {"refund_id": f"R-{len(refunds)}", "sent": len(SENT)}

def guess(order_id: str, tool_context) -> dict:
    if order_id.startswith(unknown()):
        tool_context.state["orders"] = {order_id: {"status": "lost"}}
    return {"done": True}

def mark(order_id: str) -> dict:
    SENT.append(order_id)
    return {"sent": len(SENT)}
"""
TOOLS = {name: function_of(DESK, name) for name in ("find", "cancel", "refund", "guess", "mark")}


def was(tool: str, order_id: str, response: JsonValue) -> EarlierCall:
    """Return a call that was answered."""
    return EarlierCall(TOOLS[tool], {"order_id": order_id}, response)


def first(tool: str, order_id: str, *earlier: EarlierCall, state: JsonObject | None = None) -> Outcome:
    """Return what the code gives first."""
    read = read_returns(
        TOOLS[tool], {"order_id": order_id}, state={} if state is None else state, earlier=earlier
    )
    return read.outcomes[0]


CANCELLED: JsonValue = {"order_id": "A-1", "cancelled": True}


def test_what_a_call_wrote_into_the_state_stands_for_the_next_one() -> None:
    """It is certain, as if the tools had run."""
    assert first("find", "A-1") == Outcome({"status": "open"}, certain=True, line=10)
    cancelled = was("cancel", "A-1", CANCELLED)
    assert first("find", "A-1", cancelled) == Outcome({"status": "cancelled"}, certain=True, line=10)
    assert first("find", "A-2", cancelled).value == {"status": "open"}


def test_what_stands_in_the_state_and_in_the_module_is_counted_on() -> None:
    """Through several calls."""
    earlier = [was("refund", "A-1", {"refund_id": f"R-{number}", "sent": number}) for number in (1, 2)]
    assert first("refund", "A-2", *earlier[:1]) == Outcome(
        {"refund_id": "R-2", "sent": 2}, certain=True, line=23, state={"refunds": ["A-1", "A-2"]}
    )
    assert first("refund", "A-2", *earlier).value == {"refund_id": "R-3", "sent": 3}


def test_what_the_earlier_calls_leave_open_is_not_known() -> None:
    """An answer that the code does not give, several ways that fit one and leave different things, and no state at all."""
    found = first("refund", "A-2", was("refund", "A-1", {"refund_id": "R-77", "sent": 1}))
    assert not found.certain
    assert isinstance(found.value, dict)
    assert isinstance(found.value["refund_id"], Hole)
    assert not first("find", "A-1", was("guess", "A-1", {"done": True})).certain
    read = read_returns(TOOLS["find"], {"order_id": "A-1"}, earlier=[was("cancel", "A-1", CANCELLED)])
    assert not read.outcomes[0].certain


def test_an_error_leaves_the_state_as_it_was() -> None:
    """A call that failed has changed nothing."""
    failed = was("cancel", "A-9", {"error": "No order A-9"})
    assert first("find", "A-1", failed) == Outcome({"status": "open"}, certain=True, line=10)
    by_person = was("cancel", "A-1", {"error": "The shop is closed."})
    assert first("find", "A-1", by_person).value == {"status": "open"}


def test_what_the_state_holds_already_is_not_counted_twice() -> None:
    """Whether it holds what the calls wrote is not told: nothing is known of it."""
    answered = was("refund", "A-1", {"refund_id": "R-2", "sent": 1})
    state: JsonObject = {"refunds": ["A-1"], "orders": {"A-2": {"status": "cancelled"}}}
    found = first("refund", "A-2", answered, state=state)
    assert isinstance(found.value, dict)
    assert isinstance(found.value["refund_id"], Hole)
    kept = first("find", "A-2", answered, state=state)
    assert kept == Outcome({"status": "cancelled"}, certain=True, line=10)


def test_a_draft_without_a_state_leaves_no_trace_either() -> None:
    """What earlier calls left is kept for the next draft, and the draft itself is no call."""
    for _ in range(2):
        read = read_returns(TOOLS["mark"], {"order_id": "A-3"}, earlier=[was("mark", "A-3", {"sent": 1})])
        assert read.outcomes[0].value == {"sent": 2}


def test_each_earlier_call_is_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft follows what was answered since the one before it; and what it gives is the same as when all was followed anew."""
    followed: list[str] = []
    ends = tool_returns._Reader.ends

    def counted(reader: Any, heap: Any, most: int) -> Any:
        followed.append(reader._code.name)
        return ends(reader, heap, most)

    monkeypatch.setattr(tool_returns._Reader, "ends", counted)
    earlier: list[EarlierCall] = []
    for number in range(1, 11):
        followed.clear()
        given = first("refund", "A-1", *earlier, state={"at": "once"}).value
        assert given == {"refund_id": f"R-{number}", "sent": number}
        assert len(followed) == (1 if number == 1 else 2)
        earlier.append(was("refund", "A-1", {"refund_id": f"R-{number}", "sent": number}))
    followed.clear()
    other = [*earlier[:4], was("refund", "A-2", {"refund_id": "R-5", "sent": 5})]
    assert first("refund", "A-1", *other, state={"at": "once"}).value == {"refund_id": "R-6", "sent": 6}
    assert len(followed) == 2
    again = first("refund", "A-1", *earlier[:2], state={"at": "once"}).value
    assert again == {"refund_id": "R-3", "sent": 3}


def test_drafts_at_the_same_time_leave_each_other_alone() -> None:
    """What was followed before is shared, and no draft changes it."""
    earlier = [was("refund", "A-1", {"refund_id": f"R-{n}", "sent": n}) for n in range(1, 6)]

    def drafted(known: int) -> JsonValue:
        return first("refund", "A-1", *earlier[:known], state={"with": "threads"}).value  # type: ignore[return-value] # no blanks

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(drafted, [5, 3, 1, 5, 2, 4, 0, 5] * 4))
    assert found == [{"refund_id": f"R-{n + 1}", "sent": n + 1} for n in [5, 3, 1, 5, 2, 4, 0, 5] * 4]
