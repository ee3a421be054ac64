"""What only computes is read to its end, and comes out as CPython has it."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from simulator.environment.evidence.sketch import Hole
from tests.simulator.base.rows import for_each
from tests.simulator.environment.evidence.program_parts import HEAD
from tests.simulator.environment.evidence.programs import Program
from tests.simulator.environment.evidence.running import certain, ran, reading

PROGRAMS = {
    "regular expressions": r"""
        AT = re.compile(r"(?P<name>\w+)@(\w+)", re.I)
        def tool(text):
            found = AT.search(text)
            return {"all": re.findall("[aeiou]", text), "name": found["name"], "groups": found.groups(), "at": found.span(2),
                "swapped": AT.sub(r"\2 at \g<name>", text), "more": re.sub(r"\d", lambda m: str(int(m[0]) + 1), text, count=1),
                "parts": re.split(r"\s+", text), "none": re.fullmatch("x", text), "pairs": re.subn("(a)|(b)", r"<\1>", text),
                "each": [one.group() for one in re.finditer("o.", text)], "escaped": re.escape("a.b"),
                "there": [bool(AT.search(text)), bool(re.search("x", text)), bool(), bool(""), [*map(bool, (0, 1, [], [0]))]]}
    """,
    "paths": """
        import os
        def tool(text):
            path = os.path.join("data", "in", f"{text[:4]}.tar.gz")
            return [path, os.path.basename(path), os.path.dirname(path), os.path.splitext(path), os.path.join("a", "/b")]
    """,
    "what is printed": """
        import logging
        def tool(text):
            words = text.split()
            print("the words", words)
            logging.getLogger("desk").info("%s", words)
            return words if words else "none"
    """,
    "a text that is no regular expression": """
        def tool(text):
            try:
                return re.findall("(", text)
            except re.error as error:
                return str(error)
    """,
    "enumerations as keys and values": """
        def tool(text):
            try:
                Color("green")
            except ValueError as error:
                problem = str(error)
            return {"n": PRICES[Color("red")], "s": PRICES["blue"], "t": Color.RED.label(), "f": Color.BLUE.short, "o": Color.first(),
                "all": [one.name for one in Color], "p": problem, "l": Level.HIGH + 1, "k": {State.OPEN: 1}, "size": Size.L.name,
                "r": repr(Size.S), "u": f"{Color.RED} {State.OPEN.value} {Level.LOW}", "i": Color["RED"] is Color.RED, "m": list(Color.__members__),
                "e": [Color.RED == "red", "red" in [one.value for one in Color], Size.S == 1, Size.S == Size.S]}
    """,
    "classes": """
        from dataclasses import asdict
        def tool(text):
            one, (x, y) = Derived(1, 2), Pair(5)
            return {"n": one.name(), "b": one.both, "p": one.plus(3, 4), "q": Base.plus(1, 1), "t": Sum(3).total,
                "x": [x, y, Pair(1)[1], Pair(3).right], "d": asdict(Point(1, tags=[Pair(2).left]))}
    """,
    "fields of data classes": """
        from dataclasses import KW_ONLY, InitVar, asdict
        @dataclass
        class Item:
            name: str
            total: float = field(init=False)
            price: float = 1.5
            count: int = 2
            notes: list = field(default_factory=list, init=False)
            def __post_init__(self):
                self.total = self.price * self.count
                self.notes.append(self.name)
                self.seen = True
        @dataclass(kw_only=True)
        class Named:
            first: int
            second: int = 2
        @dataclass
        class Mixed(Item):
            _: KW_ONLY
            unit: str
        @dataclass
        class Scaled:
            size: int
            factor: InitVar[int]
            more: InitVar[int] = 1
            def __post_init__(self, factor, more):
                self.size *= factor + more
        @dataclass
        class Lone:
            only: str = field(kw_only=True)
            other: int = 3
        def tool(text):
            one, kinds = Item(text, 2.5), []
            for refused in (lambda: Item(text, total=1), lambda: Item(text, 1, 2, 3), lambda: Named(1), lambda: Mixed(text), lambda: Lone("a")):
                try:
                    refused()
                except TypeError:
                    kinds.append("refused")
            return {"total": one.total, "all": asdict(one), "seen": one.seen, "kinds": kinds, "named": asdict(Named(first=1)),
                "unit": asdict(Mixed(text, 3, unit="kg")), "size": asdict(Scaled(2, 3)), "lone": [Lone(7, only=text).other, Scaled(1, factor=2, more=5).size]}
    """,
    "a loop that the arguments decide": """
        async def tool(text):
            primes = set()
            for number in range(2, len(text)):
                for i in range(2, int(number**0.5) + 1):
                    if number % i == 0:
                        break
                else:
                    primes.add(number)
            odd = all(number % 3 for number in sorted(primes))
            return "no primes" if not primes else f"{', '.join(str(one) for one in sorted(primes))} are prime, {odd}"
    """,
    "a decorator": """
        @twice(2)
        def tool(text):
            return helper(len(text))
    """,
    "expressions in texts": """
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
        import statistics, textwrap
        from decimal import Decimal, ROUND_HALF_UP
        def tool(text):
            rows = [{"n": 2}, {"n": 1}]
            return {"id": hashlib.md5(text.encode()).hexdigest()[:8], "product": functools.reduce(operator.mul, [2, 3, 4]), "sorted": sorted(rows, key=operator.itemgetter("n")),
                "round": str(Decimal("1.235").quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)), "pairs": list(itertools.combinations("abc", 2)),
                "first": list(itertools.islice(itertools.count(5), 2)), "plain": textwrap.dedent("  a"), "quarters": statistics.quantiles([1, 2, 3, 4]),
                "up": text.translate(str.maketrans("ab", "xy")), "sums": list(itertools.accumulate([1, 2, 3]))}
    """,
    "models": """
        def tool(text):
            order = Order.model_validate({"name": text, "lines": [{"color": "red", "amount": 2, "tags": []}, Line(amount=1.5, count=3, tags=["a"])]})
            again = Order.model_validate(order)
            return {"same": again is order, "sum": sum(line.amount for line in order.lines), "dump": order.model_dump(mode="json"), "kind": order.lines[0].color is Color.RED}
    """,
    "threads": """
        import asyncio, concurrent.futures
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(max_workers=2)
        async def fetched(text):
            await asyncio.sleep(0)
            return text.upper()
        def refused(number):
            raise ValueError(f"no {number}")
        async def tool(text):
            with concurrent.futures.ThreadPoolExecutor() as other:
                future = other.submit(asyncio.run, fetched(text))
                failed = [other.submit(refused, number) for number in (1, 2)]
                found = [future.result(), pool.submit(helper, 5, b=3).result(), future.result()]
            for each in failed:
                try:
                    each.result()
                except ValueError as error:
                    found.append(str(error))
            found.append(await asyncio.to_thread(helper, 1, b=3))
            loop = asyncio.get_running_loop()
            found.append(await loop.run_in_executor(None, helper, 3))
            return found
    """,
    "models that are refused": """
        from typing import Literal
        from pydantic import ValidationError
        class Stop(BaseModel):
            id: str
            kind: Literal["tram", "bus"] = "tram"
        def tool(text):
            found = []
            for given in ({"name": text}, {"id": text, "kind": "ship"}):
                try:
                    Stop(**given)
                except Exception as error:
                    found.append(type(error).__name__)
            try:
                Line(amount=-1)
            except KeyError:
                found.append("no key")
            except ValidationError:
                found.append("refused")
            try:
                Order.model_validate({})
            except ValueError as error:
                found.append(f"Failed with {type(error).__name__}")
            return found
    """,
    "models that are set up": """
        from pydantic import ConfigDict
        class Stop(BaseModel):
            model_config: ConfigDict = ConfigDict(from_attributes=True, frozen=True, title="A stop", protected_namespaces=())
            name: str = Field(description="its name")
        class Tram(BaseModel, arbitrary_types_allowed=True):
            model_config = {"extra": "forbid", "validate_assignment": True, "json_schema_extra": {"a": 1}}
            stops: list[Stop]
        class Line(BaseModel):
            class Config:
                populate_by_name = True
            number: int
        class Night(Line):
            until: str = "5:00"
        def tool(text):
            return [Tram(stops=[Stop(name=text)]).model_dump(), Night(number=3).model_dump()]
    """,
}  # fmt: skip


@for_each("name", PROGRAMS)
def test_a_program_that_only_computes_comes_out_as_it_does_in_python(name: str) -> None:
    """One outcome is certain, and it is what running gives."""
    program = Program(HEAD + textwrap.dedent(PROGRAMS[name]), {"text": "call bob@home or ann@work at 41 a b"})
    ended = ran(program, 1)
    assert ended is not None
    assert ended.raises == ""
    assert json.dumps(certain(program.text, "tool", **program.arguments)) == json.dumps(ended.value)


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


@for_each(
    "waits",
    ["asyncio.run(price(text))", "asyncio.get_event_loop().run_until_complete(price(text))", "POOL.submit(asyncio.run, price(text)).result(3)"],
)  # fmt: skip
def test_what_a_loop_that_is_started_gives_is_what_its_coroutine_gives(waits: str) -> None:
    """It may fail: none starts where another runs already, but in another thread."""
    source = f"""
        import asyncio, requests
        from concurrent.futures import ThreadPoolExecutor
        POOL = ThreadPoolExecutor()
        async def price(text):
            return {{"item": text, "price": requests.get(text).json()}}
        def tool(text):
            try:
                return {waits}
            except Exception as error:
                return {{"error": str(error)}}
    """
    first, *others = reading(source, "tool", text="A").outcomes
    value: Any = first.value
    assert (value["item"], type(value["price"]), first.certain) == ("A", Hole, False)
    assert [list(one.value) for one in others if isinstance(one.value, dict)] == [["error"]]


@for_each(
    "setting",
    ["ConfigDict(str_strip_whitespace=True)", "{'use_enum_values': True}", "{**COMMON}", "COMMON", "ConfigDict(extra='allow')"],
)  # fmt: skip
def test_a_model_that_changes_what_it_is_given_is_not_known(setting: str) -> None:
    """One that takes more than its fields is not where it is given more."""
    source = f"""
        from pydantic import BaseModel, ConfigDict
        COMMON = dict(str_to_lower=True)
        class Item(BaseModel):
            model_config = {setting}
            name: str
        def tool(text):
            return Item(name=text, price=2).model_dump()
    """
    first = reading(source, "tool", text=" A ").outcomes[0]
    assert not first.certain
    assert first.value != {"name": " A "}


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
    first: Any = reading(source, "tool", text="b").outcomes[0]
    assert not isinstance(first.value["id"], str)
