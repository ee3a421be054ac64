"""What only computes is read to its end, and comes out as CPython has it."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from simulator.environment.evidence.sketch import FunctionSource, Module
from simulator.environment.evidence.tool_returns import read_returns
from tests.simulator.base.rows import for_each
from tests.simulator.environment.evidence.programs import Program
from tests.simulator.environment.evidence.running import ran
from tests.simulator.environment.evidence.test_returns import certain, code_of, reading

PROGRAMS = {
    "regular expressions": r"""
        import re
        WORD = re.compile(r"(?P<name>\w+)@(\w+)", re.I)
        def tool(text):
            found = WORD.search(text)
            return {"all": re.findall("[aeiou]", text), "name": found["name"], "groups": found.groups(), "at": found.span(2),
                "swapped": WORD.sub(r"\2 at \g<name>", text), "more": re.sub(r"\d", lambda m: str(int(m[0]) + 1), text, count=1),
                "parts": re.split(r"\s+", text), "none": re.fullmatch("x", text), "pairs": re.subn("(a)|(b)", r"<\1>", text),
                "each": [one.group() for one in re.finditer("o.", text)], "escaped": re.escape("a.b")}
    """,
    "a text that is no regular expression": """
        import re
        def tool(text):
            try:
                return re.findall("(", text)
            except re.error as error:
                return str(error)
    """,
    "enumerations as keys and values": """
        from enum import Enum, IntEnum, StrEnum, auto, unique
        class Color(StrEnum):
            RED = "red"
            BLUE = auto()
            def title_of(self):
                return NAMES[self]
            @property
            def first(self):
                return self[0]
            @classmethod
            def of(cls, text):
                return cls(text)
        class Level(IntEnum):
            LOW = 1
            HIGH = auto()
        class State(str, Enum):
            OPEN = "open"
        class Size(Enum):
            S = 1
            SMALL = 1
        NAMES = {Color.RED: "Rot", Color.BLUE: "Blau"}
        def tool(text):
            try:
                Color("green")
            except ValueError as error:
                problem = str(error)
            return {"n": NAMES[Color("red")], "s": NAMES["blue"], "t": Color.RED.title_of(), "f": Color.BLUE.first, "o": Color.of("red"),
                "all": [one.name for one in Color], "p": problem, "l": Level.HIGH + 1, "k": {State.OPEN: 1}, "size": Size.SMALL.name,
                "r": repr(Size.S), "u": f"{Color.RED} {State.OPEN.value} {Level.LOW}", "i": Color["RED"] is Color.RED, "m": list(Color.__members__)}
    """,
    "classes": """
        from dataclasses import dataclass, field
        from typing import NamedTuple
        class Base:
            kind = "base"
            def __init__(self, value):
                self.value = value
            def name(self):
                return f"{self.kind} {self.value}"
            @staticmethod
            def plus(a, b):
                return a + b
        class Derived(Base):
            kind = "derived"
            def __init__(self, value, more):
                super().__init__(value)
                self.more = more
            @property
            def both(self):
                return self.value + self.more
            def name(self):
                return super().name() + "!"
        @dataclass
        class Total:
            prices: list
            total: float = 0.0
            tags: list = field(default_factory=list)
            def __post_init__(self):
                self.total = sum(self.prices)
        class Place(NamedTuple):
            x: int
            y: int = 2
        def tool(text):
            one, (x, y) = Derived(1, 2), Place(5)
            return {"n": one.name(), "b": one.both, "p": one.plus(3, 4), "q": Base.plus(1, 1), "t": Total([1, 2.5]).total, "x": [x, y, Place(1)[1], Place(3).y]}
    """,
    "generators": """
        SEEN = []
        def odd(limit):
            for one in range(limit):
                if one % 2 == 0:
                    continue
                SEEN.append(one)
                yield one
        def ever():
            number = 0
            while True:
                yield number
                number += 1
        def both(limit):
            yield from odd(limit)
            yield "end"
        def tool(text):
            first = next(odd(9))
            taken = []
            for one in ever():
                if one > 3:
                    break
                taken.append(one)
            return {"first": first, "taken": taken, "sum": sum(odd(6)), "both": [one for one in both(4)], "seen": SEEN}
    """,
    "expressions in texts": """
        import math
        ALLOWED = {name: getattr(math, name) for name in ("sqrt", "pi")}
        def tool(text):
            problems = []
            for one in ("1 / 0", "unknown + 1"):
                try:
                    eval(one, {"__builtins__": {}}, ALLOWED)
                except Exception as error:
                    problems.append(str(error))
            return {"value": eval("sqrt(16) * 2 + pi", {"__builtins__": {}}, ALLOWED), "sum": eval(" 2 + 2 * 3"), "text": eval("text[0]"), "problems": problems}
    """,
    "the standard library": """
        import functools, hashlib, itertools, operator, statistics, textwrap
        from decimal import Decimal, ROUND_HALF_UP
        def tool(text):
            rows = [{"n": 2}, {"n": 1}]
            return {"id": hashlib.md5(text.encode()).hexdigest()[:8], "product": functools.reduce(operator.mul, [2, 3, 4]), "sorted": sorted(rows, key=operator.itemgetter("n")),
                "round": str(Decimal("1.235").quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)), "pairs": list(itertools.combinations("abc", 2)),
                "first": list(itertools.islice(itertools.count(5), 2)), "wrapped": textwrap.wrap(text, 8), "quarters": statistics.quantiles([1, 2, 3, 4]),
                "up": text.translate(str.maketrans("ab", "xy")), "sums": list(itertools.accumulate([1, 2, 3]))}
    """,
    "models": """
        from enum import StrEnum
        from pydantic import BaseModel, Field
        class Kind(StrEnum):
            A = "a"
        class Line(BaseModel):
            kind: Kind = Kind.A
            amount: float = Field(gt=0)
            count: int | None = None
        class Order(BaseModel):
            name: str
            lines: list[Line] = []
        def tool(text):
            order = Order.model_validate({"name": text, "lines": [{"kind": "a", "amount": 2}, Line(amount=1.5, count=3)]})
            again = Order.model_validate(order)
            return {"same": again is order, "sum": sum(line.amount for line in order.lines), "dump": order.model_dump(mode="json"), "kind": order.lines[0].kind is Kind.A}
    """,
}  # fmt: skip


@for_each("name", PROGRAMS)
def test_a_program_that_only_computes_comes_out_as_it_does_in_python(name: str) -> None:
    """One outcome is certain, and it is what running gives."""
    program = Program(textwrap.dedent(PROGRAMS[name]), {"text": "call bob@home or ann@work at 41 a b"})
    ended = ran(program, 1)
    assert ended is not None
    found = certain(program.text, "tool", **program.arguments)
    assert json.dumps(found) == json.dumps(ended.value)


def test_a_costly_regular_expression_is_not_known_and_holds_nothing_up() -> None:
    """What takes too long to tell is a hole; a search without end would hang this test."""
    source = """
        import re
        def tool(text):
            return {"found": bool(re.match("(a|aa|a?)+$", text))}
    """
    first = reading(source, "tool", text="a" * 60 + "!").outcomes[0]
    assert not first.certain


def test_a_list_of_models_is_read_as_adk_gives_it() -> None:
    """What does not fit a model stays as it is."""
    source = """
        from pydantic import BaseModel
        class Item(BaseModel):
            name: str
            price: float
        def total(items: list[Item]) -> dict:
            return {"kinds": [type(one).__name__ for one in items], "sum": sum(one.price for one in items if isinstance(one, Item))}
    """
    found = certain(source, "total", items=[{"name": "a", "price": 2}, {"name": "b", "price": 0.5}])
    assert found == {"kinds": ["Item", "Item"], "sum": 2.5}


@pytest.mark.parametrize(
    "made", ["Agent(name='shop', tools=[price])", "types.GenerateContentConfig(tools=[price])"]
)
def test_tables_stay_known_that_tools_read_which_an_agent_is_given(made: str) -> None:
    """ADK and its client keep the functions that they are given, and call none while a module is loaded."""
    source = """
        from google.adk.agents import Agent
        from google.genai import types
        class Prices:
            TABLE = {"a": 1}
            def of(self, name):
                return self.TABLE.get(name)
        def price(name: str) -> dict:
            prices = Prices()
            return {"price": prices.of(name)}
        root_agent = MADE
    """.replace("MADE", made)
    assert certain(source, "price", name="a") == {"price": 1}


def test_a_hash_that_goes_on_is_not_known() -> None:
    """Only what is read at once is taken over."""
    source = """
        import hashlib
        def tool(text):
            made = hashlib.md5(b"a")
            made.update(text.encode())
            return {"id": made.hexdigest()}
    """
    first: Any = read_returns(
        FunctionSource(Module("a.py", textwrap.dedent(source), "a"), "tool", 3), {"text": "b"}
    ).outcomes[0]
    assert not isinstance(first.value["id"], str)
    assert code_of(source, "tool").line == 3
