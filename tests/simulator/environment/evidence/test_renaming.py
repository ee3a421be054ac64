"""Renames everything in tools to nonsense: what the code says stays the same but for the names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from pydantic import JsonValue

from simulator.environment.evidence.sketch import Hole, Outcome, Sketch
from simulator.environment.evidence.tool_returns import read_returns
from tests.simulator.base.rows import for_each
from tests.simulator.environment.evidence.running import function_of

TOOLS: dict[str, tuple[str, dict[str, JsonValue]]] = {
    "get_order_status": (
        '''
ORDERS = {"A1": {"status": "shipped", "total": 12.5}, "B2": {"status": "open", "total": 3.0}}

def get_order_status(order_id: str) -> dict:
    """Return the status of an order."""
    order = ORDERS.get(order_id)
    if order is None:
        return {"error": f"Order {order_id} not found"}
    return {"order_id": order_id, **order}
''',
        {"order_id": "A1"},
    ),
    "roll_die": (
        '''
import random

def roll_die(sides: int, tool_context) -> dict:
    """Roll a die."""
    result = random.randint(1, sides)
    tool_context.state["rolls"] = tool_context.state.get("rolls", []) + [result]
    return {"result": result, "sides": sides, "count": len(tool_context.state["rolls"])}
''',
        {"sides": 6},
    ),
    "book_table": (
        '''
from pydantic import BaseModel

class Booking(BaseModel):
    name: str
    guests: int
    confirmed: bool = False

def book_table(name: str, guests: int, vip: bool = False) -> dict:
    """Book a table at the restaurant."""
    if guests > 8:
        raise ValueError("too many guests")
    try:
        table = 40 // guests
    except ZeroDivisionError:
        return {"status": "error", "message": "guests"}
    booking = Booking(name=name, guests=guests, confirmed=vip or guests < 3)
    return {"status": "success", "table": table, "booking": booking.model_dump()}
''',
        {"name": "Ana", "guests": 2},
    ),
    "get_weather": (
        '''
import requests

def get_weather(city: str) -> dict:
    """Get the weather of a city."""
    response = requests.get("https://example.com", params={"city": city})
    if response.status_code != 200:
        return {"status": "error", "message": f"HTTP {response.status_code}"}
    data = response.json()
    return {"city": city, "temperature": data["temp"], "humidity": int(data["humidity"])}
''',
        {"city": "Paris"},
    ),
}
KEPT = frozenset([
    "def", "async", "return", "if", "is", "None", "else", "for", "in", "not", "all", "range", "int", "str",
    "set", "len", "continue", "raise", "try", "except", "True", "False", "or", "from", "import", "class",
    "await", "random", "randint", "state", "get", "append", "add", "join", "sorted", "requests", "json",
    "params", "status_code", "pydantic", "BaseModel", "model_dump", "bool", "list", "dict", "float",
    "tool_context", "ValueError", "ZeroDivisionError", "and", "f", "s", "HTTP", "https", "com",
])  # fmt: skip


def nonsense(word: str) -> str:
    """Return another word in its place, always the same."""
    return "".join(chr(ord("a") + (ord(letter) * 7 + place) % 26) for place, letter in enumerate(word)) + "q"


def renamed(text: str) -> str:
    """Return a text with each word in it replaced, besides those of Python and of its libraries."""
    return re.sub(r"[A-Za-z_]\w*", lambda match: match[0] if match[0] in KEPT else nonsense(match[0]), text)


@for_each("name", TOOLS)
def test_names_decide_nothing(name: str) -> None:
    """A tool whose every word is nonsense has the same outcomes, in nonsense."""
    text, arguments = TOOLS[name]
    plain = read_returns(function_of(text, name), arguments, state={})
    given: dict[str, JsonValue] = json.loads(renamed(json.dumps(arguments)))
    odd = read_returns(function_of(renamed(text), nonsense(name)), given, state={})
    assert plain.outcomes
    assert plain.complete == odd.complete
    # Errors stand last, and what an error looks like is told by its words: so the order is left aside.
    assert sorted(map(as_json, odd.outcomes)) == sorted(as_json(one, renamed) for one in plain.outcomes)


def as_json(outcome: Outcome, word: Callable[[str], str] = str) -> str:
    """Return an outcome as JSON, with each word of its values replaced; conditions count by their number alone."""
    return json.dumps(
        {
            "value": _changed(outcome.value, word),
            "message": _changed(outcome.message, word),
            "rest": [outcome.line, outcome.raises, outcome.certain, outcome.possible, len(outcome.when)],
        }
    )


def _changed(sketch: Sketch, word: Callable[[str], str]) -> Any:
    if isinstance(sketch, dict):
        return {word(key): _changed(one, word) for key, one in sketch.items()}
    if isinstance(sketch, list):
        return [_changed(one, word) for one in sketch]
    if isinstance(sketch, Hole):
        parts = [_changed(one, word) for one in sketch.parts]
        rest = [sketch.kind, sketch.low, sketch.high, list(sketch.choices)]
        return {"hole": word(sketch.name), "parts": parts, "rest": rest, "like": _changed(sketch.like, word)}
    return word(sketch) if isinstance(sketch, str) else sketch
