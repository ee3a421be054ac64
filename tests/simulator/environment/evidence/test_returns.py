"""What a tool's code returns is read from its source: values that it decides, holes where it does not, and each other way out."""

from __future__ import annotations

import textwrap
from typing import Any

from simulator.base.json_values import JsonObject
from simulator.environment.evidence.sketch import (
    CodeReading,
    EarlierCall,
    FunctionSource,
    Hole,
    Module,
    Outcome,
)
from simulator.environment.evidence.tool_returns import read_returns
from tests.simulator.base.rows import for_each

ORDERS = """
    ORDERS = {"A1": {"status": "shipped", "total": 12.5}, "A2": {"status": "open", "total": 3}}

    def find_order(order_id: str) -> dict:
        order = ORDERS.get(order_id)
        if order is None:
            return {"status": "error", "error_message": f"Order {order_id} not found"}
        return {"status": "success", "order": order}

    def cancel_order(order_id: str) -> dict:
        if order_id not in ORDERS:
            raise KeyError(order_id)
        if ORDERS[order_id]["status"] == "shipped":
            return {"status": "error", "error_message": "too late"}
        ORDERS[order_id]["status"] = "cancelled"
        return {"status": "success", "cancelled": order_id}
"""


def code_of(source: str, name: str, **more: Any) -> FunctionSource:
    """Return a function of a source."""
    text = textwrap.dedent(source)
    lines = text.splitlines()
    line = next(place for place, one in enumerate(lines, 1) if f"def {name}(" in one)
    while line > 1 and lines[line - 2].strip().startswith("@"):
        line -= 1
    return FunctionSource(Module("shop/tools.py", text, "shop.tools"), name, line, **more)


def reading(source: str, call: str, /, state: Any = None, **arguments: Any) -> CodeReading:
    """Read a call of a function."""
    return read_returns(code_of(source, call), arguments, state=state)


def certain(source: str, call: str, /, **arguments: Any) -> Any:
    """Return what a call gives for certain."""
    (first, *others) = reading(source, call, **arguments).outcomes
    assert first.certain
    assert not any(one.possible for one in others)
    return first.value


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
    find, touch = code_of(source, "find_order"), code_of(source, "touch")
    earlier = [EarlierCall(touch, {"order_id": "A2"}, {"done": True})]
    states: list[JsonObject | None] = [None, {}]
    for state in states:
        assert not any(
            one.certain
            for one in read_returns(find, {"order_id": "A2"}, state=state, earlier=earlier).outcomes
        )


def test_constants_stand_as_the_calls_of_the_session_left_them() -> None:
    """A cancelled order is cancelled; a cancellation that was answered with an error changed nothing; an answer that fits no way leaves it open."""
    find, cancel = code_of(ORDERS, "find_order"), code_of(ORDERS, "cancel_order")

    def status(*earlier: EarlierCall) -> Any:
        value: Any = read_returns(find, {"order_id": "A2"}, earlier=earlier).outcomes[0].value
        return value["order"]["status"]

    done = EarlierCall(cancel, {"order_id": "A2"}, {"status": "success", "cancelled": "A2"})
    refused = EarlierCall(cancel, {"order_id": "A2"}, {"status": "error", "error_message": "no"})
    assert status() == "open"
    assert status(done) == "cancelled"
    assert status(refused) == "open"
    assert status(refused, done) == "cancelled"
    assert (
        status(
            done, EarlierCall(cancel, {"order_id": "A1"}, {"status": "error", "error_message": "too late"})
        )
        == "cancelled"
    )
    assert status() == "open"


def test_chance_leaves_a_hole_with_its_range() -> None:
    """What is stored in the session's state beside it does not matter for the value."""
    source = """
        import random

        def roll_die(sides: int, tool_context: ToolContext) -> int:
            result = random.randint(1, sides)
            if "rolls" not in tool_context.state:
                tool_context.state["rolls"] = []
            tool_context.state["rolls"] = tool_context.state["rolls"] + [result]
            return result
    """
    first = reading(source, "roll_die", state={}, sides=6).outcomes[0]
    assert first.value == Hole("integer", "random.randint(1, sides)", low=1, high=6)


def test_loops_that_the_arguments_decide_are_followed() -> None:
    """An asynchronous tool that only computes is read to its end."""
    source = """
        async def check_prime(nums: list[int]) -> str:
            primes = []
            for number in nums:
                for i in range(2, int(number**0.5) + 1):
                    if number % i == 0:
                        break
                else:
                    primes.append(number)
            return "None." if not primes else f"{', '.join(str(one) for one in primes)} are prime numbers."
    """
    assert certain(source, "check_prime", nums=[7, 8, 11]) == "7, 11 are prime numbers."


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


def test_classes_of_the_program_are_filled() -> None:
    """Models and dataclasses are the dicts that they become."""
    source = """
        from dataclasses import dataclass, field, asdict
        from pydantic import BaseModel

        class Line(BaseModel):
            sku: str
            count: int = 1

        @dataclass
        class Order:
            key: str
            lines: list = field(default_factory=list)

        def order(key: str):
            made = Order(key)
            made.lines.append(Line(sku="a").model_dump())
            return asdict(made)
    """
    assert certain(source, "order", key="k") == {"key": "k", "lines": [{"sku": "a", "count": 1}]}


def test_decorators_helpers_and_closures_are_followed() -> None:
    """A wrapper changes what its function returns; what a closure holds is what it is given to hold."""
    source = """
        import functools

        def doubled(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return {"result": function(*args, **kwargs) * 2}
            return wrapper

        def _add(a, b):
            return a + b

        @doubled
        def add(a: int, b: int) -> int:
            return _add(a, b)

        def make(factor):
            def scale(value: float) -> float:
                return value * factor
            return scale
    """
    assert certain(source, "add", a=3, b=4) == {"result": 14}
    held = read_returns(code_of(source, "scale", held={"factor": 3}), {"value": 2})
    assert held.outcomes[0] == Outcome(6, certain=True, line=19)
    assert isinstance(read_returns(code_of(source, "scale"), {"value": 2}).outcomes[0].value, Hole)


def test_helpers_of_other_modules_of_the_project_are_read() -> None:
    """By their texts, and a module that is not given is not known."""
    text = "from .data import PRICES, price\n\ndef quote(sku: str):\n    return {'price': price(sku), 'known': len(PRICES)}\n"
    data = Module(
        "shop/data.py", "PRICES = {'a': 2}\n\ndef price(sku):\n    return PRICES[sku]\n", "shop.data"
    )
    code = FunctionSource(
        Module("shop/tools.py", text, "shop.tools"), "quote", 3, project={"shop.data": data}
    )
    assert read_returns(code, {"sku": "a"}).outcomes[0].value == {"price": 2, "known": 1}
    alone = FunctionSource(Module("shop/tools.py", text, "shop.tools"), "quote", 3)
    value: Any = read_returns(alone, {"sku": "a"}).outcomes[0].value
    assert isinstance(value["price"], Hole)


@for_each(
    ("text", "line", "problem"),
    [
        ("def tool(:\n", 1, "cannot be read"),
        ("def other():\n    pass\n", 1, "no function"),
        ("#" * 2_000_000, 1, "too long"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, line: int, problem: str) -> None:
    """And gives no outcome."""
    found = read_returns(FunctionSource(Module("t.py", text, "t"), "tool", line), {})
    assert found.outcomes == ()
    assert problem in found.problem


def test_what_a_run_has_bound_before_it_needs_a_copy_is_bound_once() -> None:
    """The constants of a module are shared between runs until one changes them; a name that is bound anew counts as well."""
    source = """
        COUNT = 0
        ITEMS = [1]

        def bump():
            global COUNT
            COUNT += 1
            return COUNT

        def tool():
            ITEMS.append(bump())
            return {"items": ITEMS, "count": COUNT}
    """
    for _ in range(2):
        assert certain(source, "tool") == {"items": [1, 1], "count": 1}


def test_no_function_of_python_sees_what_is_not_known() -> None:
    """It would raise an error that the program does not."""
    source = """
        import random

        def tool():
            return {"rest": divmod(random.randint(1, 6), 2)[1]}
    """
    (first, *_) = reading(source, "tool").outcomes
    assert first.raises == ""
    assert not first.certain


@for_each(
    "body",
    [
        "return tool()",
        "while True:\n        pass",
        "return 10 ** 10 ** 10",
        "return 'a' * 10**12",
        "return list(range(10**12))",
    ],
)
def test_what_does_too_much_is_left_with_a_reason(body: str) -> None:
    """Endless recursion and loops, and values without measure."""
    found = reading(f"def tool():\n    {body}\n", "tool")
    assert found.outcomes == ()
    assert "too complex" in found.problem


def test_a_question_to_numbers_leaves_a_truth_value_open() -> None:
    """Not a number, as most functions of `math` give."""
    source = "import math, random\n\n\ndef tool():\n    return math.isclose(random.random(), 0.5)\n"
    value: Any = reading(source, "tool").outcomes[0].value
    assert value.kind == "boolean"


def test_enumerations_are_compared_and_written_as_python_does() -> None:
    """Members of texts equal their texts; those of a plain enumeration equal themselves alone."""
    source = """
        from enum import Enum, StrEnum

        class Status(StrEnum):
            OPEN = "open"
            DONE = "done"

        class Color(Enum):
            RED = 1

        def tool(status: str):
            return {
                "is": Status.OPEN == status, "in": status in [one.value for one in Status], "said": f"{Status.DONE}!", "raw": Status.DONE,
                "red": Color.RED.value, "same": Color.RED is Color["RED"] or Color.RED == Color.RED, "not": Color.RED == 1,
            }
    """
    value: Any = reading(source, "tool", status="open").outcomes[0].value
    assert {name: one for name, one in value.items() if name not in {"same", "not"}} == {
        "is": True, "in": True, "said": "done!", "raw": "done", "red": 1,
    }  # fmt: skip


def test_lists_of_models_are_made_of_the_arguments() -> None:
    """As ADK makes them before it calls the tool."""
    source = """
        from pydantic import BaseModel

        class Line(BaseModel):
            sku: str
            count: int = 1

        def order(lines: list[Line]):
            return {"total": sum(line.count for line in lines), "first": lines[0].sku}
    """
    assert certain(source, "order", lines=[{"sku": "a"}, {"sku": "b", "count": 4}]) == {
        "total": 5,
        "first": "a",
    }


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
