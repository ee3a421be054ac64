"""Reads code that would leave a mark wherever it ran, and code that cannot be read: nothing runs, and nothing breaks."""

from __future__ import annotations

import collections
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from simulator.environment.drafts.candidates import drafted
from simulator.environment.drafts.draft import DraftCall
from simulator.environment.evidence.sketch import FunctionSource, Module
from simulator.environment.evidence.tool_returns import read_returns
from tests.simulator.base.rows import for_each
from tests.simulator.environment.evidence.attacks import HEAD, Attack, growing, reaching
from tests.simulator.environment.evidence.running import function_of, reading, stands_for

MODULE = """
import contextlib, dataclasses, enum, functools, typing
import pydantic

def mark(*_, **__):
    open(MARK, "w").close()
    return 1

class Meta(type):
    def __call__(cls, *args):
        mark()
        return super().__call__(*args)
    def __getattr__(cls, name):
        return mark()
    def __contains__(cls, value):
        return mark()
    def __iter__(cls):
        mark()
        return iter([1])
    def __getitem__(cls, item):
        return mark()
    @classmethod
    def __prepare__(cls, *args, **kwargs):
        mark()
        return {}

class Trap:
    size = 1
    def __new__(cls, *args):
        mark()
        return object.__new__(cls)
    def __init__(self, *args):
        mark()
    def __init_subclass__(cls, **kwargs):
        mark()
    def __class_getitem__(cls, item):
        return mark()
    def __getattr__(self, name):
        return mark()
    def __getitem__(self, item):
        return mark()
    def __setattr__(self, name, value):
        mark()
    def __delattr__(self, name):
        mark()
    def __setitem__(self, name, value):
        mark()
    def __delitem__(self, name):
        mark()
    def __eq__(self, other):
        return bool(mark())
    def __lt__(self, other):
        return bool(mark())
    def __hash__(self):
        return mark()
    def __bool__(self):
        return bool(mark())
    def __contains__(self, value):
        return bool(mark())
    def __iter__(self):
        mark()
        return iter([1])
    def __next__(self):
        return mark()
    def __len__(self):
        return mark()
    def __str__(self):
        mark()
        return ""
    def __repr__(self):
        mark()
        return ""
    def __format__(self, spec):
        mark()
        return ""
    def __index__(self):
        return mark()
    def __add__(self, other):
        return mark()
    __radd__ = __iadd__ = __mul__ = __rmul__ = __neg__ = __int__ = __float__ = __round__ = __add__
    def __call__(self, *args, **kwargs):
        return mark()
    def __enter__(self):
        mark()
        return self
    def __exit__(self, *args):
        mark()
    def __get__(self, owner, kind=None):
        return mark()
    def __set__(self, owner, value):
        mark()
    def __set_name__(self, owner, name):
        mark()
    def __instancecheck__(self, other):
        return bool(mark())
    def __json__(self):
        return mark()
    def __reduce__(self):
        mark()
        return (mark, ())
    @property
    def value(self):
        return mark()
    def __del__(self):
        mark()

trap = Trap()
text = type("Text", (str,), {"__format__": mark, "__eq__": mark, "__hash__": mark})("a")

"""

BODIES = {
    "a default": "def tool(x: int, y=mark()):\n    return y",
    "a default that is a lambda": "def tool(x: int, y=(lambda: mark())()):\n    return y",
    "a decorator": "@mark\ndef tool(x: int):\n    return x",
    "a decorator with arguments": "@functools.lru_cache(mark())\ndef tool(x: int):\n    return x",
    "a decorator of an object": "@trap\ndef tool(x: int):\n    return x",
    "an annotation": "def tool(x: mark()) -> Trap[mark()]:\n    y: mark() = 1\n    return y",
    "a class body": "class Here:\n    value = mark()\ndef tool(x: int):\n    return Here.value",
    "a class body inside": "def tool(x: int):\n    class Here:\n        mark()\n        value = 1\n    return Here().value",
    "a base class": "class Below(Trap, mark=mark()):\n    pass\ndef tool(x: int):\n    return Below().value",
    "a metaclass": "class Below(metaclass=Meta):\n    pass\ndef tool(x: int):\n    return [Below.x, 1 in Below, list(Below), Below[1], Below()]",
    "an f-string": "def tool(x: int):\n    return f'{trap} {trap!r} {trap:>{mark()}} {mark()}'",
    "formats": "def tool(x: int):\n    return '{0} {0.value} {0[1]}'.format(trap) + '%s' % trap + str(trap) + format(trap, 'x')",
    "a text of another class": "def tool(x: int):\n    return [f'{text:>3}', text == 'a', text in ['a'], {text: 1}, text.upper()]",
    "comparisons": "def tool(x: int):\n    return [trap == 1, 1 == trap, trap < 1, trap != trap, 0 < trap < 2, trap is None, not trap, trap in [1]]",
    "an attribute": "def tool(x: int):\n    trap.other = 1\n    del trap.other\n    return [trap.value, trap.nothing, getattr(trap, 'x', 1), hasattr(trap, 'y')]",
    "a membership": "def tool(x: int):\n    return [1 in trap, trap in {1: 2}, trap in [1, 2], trap in (1,)]",
    "an iteration": "def tool(x: int):\n    for one in trap:\n        return one\n    return [*trap, *map(str, trap), sum(trap), list(trap), len(trap), next(trap)]",
    "unpacking": "def tool(x: int):\n    first, *rest = trap\n    return {**trap, 'a': first}",
    "a hash": "def tool(x: int):\n    return [{trap: 1}, {trap}, hash(trap), dict.fromkeys([trap]), {1: 2}.get(trap)]",
    "a subscript": "def tool(x: int):\n    trap[1] = 2\n    del trap[1]\n    return [trap[0], [1, 2][trap], Trap[int], 'ab'[trap:]]",
    "an operator": "def tool(x: int):\n    y = trap\n    y += 1\n    return [trap + 1, 1 + trap, -trap, trap * 2, [1] * trap, int(trap), round(trap), 'a' * trap]",
    "a call": "def tool(x: int):\n    return [trap(), trap(x=1), (lambda: mark())(), functools.partial(mark)(), Trap(1)]",
    "a condition": "def tool(x: int):\n    if trap:\n        return 1\n    return 2 if trap else trap or trap and 3",
    "a comprehension": "def tool(x: int):\n    return [[mark() for _ in [1]], {mark() for _ in [1]}, {mark(): mark() for _ in [1]}, list(mark() for _ in trap if mark())]",
    "a context manager": "def tool(x: int):\n    with trap as it, contextlib.ExitStack() as stack, open('x') as f:\n        stack.callback(mark)\n    return 1",
    "a descriptor": "class Holder:\n    field = Trap()\ndef tool(x: int):\n    one = Holder()\n    one.field = 2\n    return [Holder.field, one.field]",
    "a property": "class Holder:\n    @property\n    def field(self):\n        return mark()\n    @functools.cached_property\n    def kept(self):\n        return mark()\ndef tool(x: int):\n    return [Holder().field, Holder().kept]",
    "a validator": "class Model(pydantic.BaseModel):\n    field: int = pydantic.Field(default_factory=mark)\n    @pydantic.field_validator('field')\n    def check(cls, value):\n        return mark()\n    @pydantic.model_validator(mode='after')\n    def all(self):\n        mark()\n        return self\n    def model_post_init(self, context):\n        mark()\ndef tool(x: int):\n    return Model(field=x).model_dump()",
    "a data class": "@dataclasses.dataclass\nclass Point:\n    x: int = dataclasses.field(default_factory=mark)\n    def __post_init__(self):\n        mark()\ndef tool(x: int):\n    return Point()",
    "an enum": "class Color(enum.Enum):\n    RED = mark()\n    @classmethod\n    def _missing_(cls, value):\n        mark()\ndef tool(x: int):\n    return Color('none')",
    "the top level": "mark()\nVALUES = [mark() for _ in range(2)]\nif mark():\n    mark()\ndef tool(x: int):\n    return VALUES",
    "code in a text": "def tool(x: int):\n    exec(\"mark()\")\n    return [eval(\"mark()\"), compile(\"mark()\", '', 'eval'), __import__('os').system('true')]",
    "files and processes": "def tool(x: int):\n    import os, subprocess, pathlib\n    pathlib.Path(MARK).write_text('x')\n    subprocess.run(['touch', MARK])\n    return os.getcwd()",
    "a sort": "def tool(x: int):\n    return [sorted([trap, trap]), max([trap, trap]), sorted([1, 2], key=mark), min(trap), [trap].index(1), [trap].count(1), [trap].remove(1)]",
    "a match": "def tool(x: int):\n    match trap:\n        case {'a': 1}:\n            return 1\n        case [1]:\n            return 2\n        case Trap(value=1):\n            return 3\n        case 'x' if mark():\n            return 4",
    "an exception": "class Own(Exception):\n    def __str__(self):\n        mark()\n        return ''\ndef tool(x: int):\n    try:\n        raise Own(mark())\n    except Own as error:\n        return str(error)\n    finally:\n        mark()",
    "a generator": "def each():\n    yield mark()\ndef tool(x: int):\n    return [list(each()), next(each()), *each()]",
    "json": "import json\ndef tool(x: int):\n    return json.dumps(trap, default=mark) + json.dumps({'a': 1}, cls=Trap)",
    "an asynchronous tool": "async def other():\n    return mark()\nasync def tool(x: int):\n    async with trap as it:\n        async for one in trap:\n            return one\n    return await other()",
}  # fmt: skip


def written(where: str, mark: Path) -> str:
    """Return a module that writes a file wherever it runs."""
    return (MODULE + BODIES[where]).replace("MARK", repr(str(mark)))


@pytest.mark.parametrize("where", BODIES)
def test_reading_runs_nothing(where: str, tmp_path: Path) -> None:
    """Whatever stands in a module, reading a tool of it leaves no mark, and says something."""
    mark = tmp_path / "mark"
    text = written(where, mark)
    for _ in range(2):
        found = reading(text, "tool", x=1)
        assert found.outcomes or found.problem
    assert not mark.exists()


def test_the_traps_would_leave_marks(tmp_path: Path) -> None:
    """Running one of the modules does what reading has to leave undone."""
    mark = tmp_path / "mark"
    text = written("a default", mark)
    exec(compile(text, "traps.py", "exec"), {"__name__": "traps"})  # noqa: S102 - to prove that the traps work
    assert mark.exists()


UNREADABLE = {
    "no Python": ("def tool(x:\n", "cannot be read"),
    "another function": ("def other(x):\n    return 1\ndef tool(x):\n    return 1\n", "no function"),
    "a lambda alone": ("tool = lambda x: 1\n", "no function"),
    "zeros": ("def tool(x):\n    return 1\0\n", "cannot be read"),
    "deeper brackets": (f"def tool(x):\n    return {'(' * 5000}1{')' * 5000}\n", "cannot be read"),
    "a long sum": (f"def tool(x):\n    return {'x + ' * 3000}1\n", "cannot be read"),
    "a longer sum": (f"def tool(x):\n    return {'x + ' * 60000}1\n", "cannot be read"),
    "a large module": ("#" * 2_000_000, "too long"),
}  # fmt: skip
ODD = {
    "deep brackets": f"def tool(x):\n    return {'[' * 150}1{']' * 150}\n",
    "deep blocks": "def tool(x):\n" + "".join(f"{' ' * level}if x:\n" for level in range(1, 95)) + " " * 96 + "return 1\n",
    "a list in itself": "def tool(x):\n    y = []\n    y.append(y)\n    return y\n",
    "an object in itself": "def tool(x):\n    y = {}\n    y['y'] = y\n    return y\n",
    "a slow pattern": "import re\ndef tool(x):\n    return bool(re.match('(a+)+$', 'a' * 40 + 'b'))\n",
    "many ways": "import random\ndef tool(x):\n" + "    if random.random() < 0.5:\n        x += 1\n" * 60 + "    return x\n",
    "long digits": "def tool(x):\n    return str(10 ** 5000) + str(int('9' * 4000))\n",
}  # fmt: skip
ENDLESS = {
    "calls itself": "def tool(x):\n    return tool(x + 1)\n",
    "calls one another": "def a(x):\n    return tool(x)\ndef tool(x):\n    return [a(x)]\n",
    "an empty loop": "def tool(x):\n    while True:\n        pass\n",
    "an endless loop": "def tool(x):\n    while True:\n        x += 1\n    return x\n",
    "a long loop": "def tool(x):\n    total = 0\n    for one in range(10 ** 9):\n        total += one\n    return total\n",
    "a large number": "def tool(x):\n    return 10 ** 10 ** 10\n",
    "a large shift": "def tool(x):\n    return 1 << 10 ** 12\n",
    "a large text": "def tool(x):\n    return 'a' * 10 ** 12\n",
    "a large list": "def tool(x):\n    return [0] * 10 ** 12\n",
    "a large range": "def tool(x):\n    return list(range(10 ** 12))\n",
    "a wide format": "def tool(x):\n    return f'{x:>1000000000000}' + '%1000000000000d' % x\n",
    "a text that doubles": "def tool(x):\n    y = 'a'\n    for _ in range(200):\n        y += y\n    return y\n",
    "many combinations": "def tool(x):\n    return [(a, b, c, d) for a in range(99) for b in range(99) for c in range(99) for d in range(99)]\n",
    "large factorials": "import math\ndef tool(x):\n    return [math.factorial(10 ** 7), math.comb(10 ** 7, 10 ** 6), pow(7, 10 ** 8)]\n",
    "huge products": "import itertools\ndef tool(x):\n    return list(itertools.product(range(99), repeat=9))\n",
    "a list that grows as it is read": "def tool(x):\n    y = [1]\n    for one in y:\n        y.append(one)\n    return y\n",
}  # fmt: skip


@for_each("what", UNREADABLE)
def test_what_cannot_be_read_says_why(what: str) -> None:
    """And gives no outcome."""
    text, problem = UNREADABLE[what]
    found = read_returns(FunctionSource(Module("tools.py", text, "tools"), "tool", 1), {"x": 1})
    assert found.outcomes == ()
    assert problem in found.problem


@for_each("what", ODD)
def test_what_is_odd_is_read(what: str) -> None:
    """However deep, long or ambiguous it is: without bounds a reading would never come back."""
    assert reading(ODD[what], "tool", x=1).outcomes


@for_each("what", ENDLESS)
def test_what_does_too_much_is_left_with_a_reason(what: str) -> None:
    """Endless recursion and loops, and values without measure."""
    found = reading(ENDLESS[what], "tool", x=1)
    assert found.outcomes == ()
    assert "too complex" in found.problem


def test_a_project_that_cannot_be_read_leaves_the_rest() -> None:
    """Modules that are no Python, or import one another, leave what does not rest on them."""
    text = "from broken import a\nfrom other import b\n\ndef tool(x):\n    return {'x': x, 'b': b}\n"
    project = {
        "broken": Module("broken.py", "def a(:\n", "broken"),
        "other": Module("other.py", "from shop.tools import tool\nb = 2\n", "other"),
    }
    found = read_returns(function_of(text, project=project), {"x": 1})
    assert [one.value for one in found.outcomes if one.possible] in ([{"x": 1, "b": 2}], [])
    assert found.outcomes or found.problem


def test_odd_arguments_break_nothing() -> None:
    """A model may give too few arguments, too many, and of other types."""
    text = "def tool(x: int, *, y: str = 'a') -> dict:\n    return {'x': x + 1, 'y': y.upper()}\n"
    deep: list[object] = []
    for _ in range(150):
        deep = [deep]
    given: list[Any] = [
        {},
        {"x": "1"},
        {"x": None, "y": 3},
        {"z": 1},
        {"x": [1], "y": {"a": [None]}},
        {"x": deep},
    ]
    for arguments in given:
        found = read_returns(function_of(text), arguments)
        assert found.outcomes or found.problem


def test_each_read_gives_the_same() -> None:
    """What one reading finds does not change the next: the module stands as its source leaves it."""
    text = "SEEN = []\nCOUNT = 0\n\ndef tool(x):\n    global COUNT\n    COUNT += 1\n    SEEN.append(x)\n    return {'seen': SEEN, 'count': COUNT}\n"
    readings = [reading(text, "tool", x=number) for number in (1, 1, 2, 1)]
    assert readings[0] == readings[1] == readings[3]
    assert stands_for(readings[2].outcomes[0].value, {"seen": [2], "count": 1})


MARKER = "m4rk3r-of-the-process"
MOST_BYTES = 100_000_000
MOST_LETTERS = 2_000_000


BY_PROCESS = (MARKER, "<module ", "environ(", "<function ", " at 0x")


def code_of(source: str) -> FunctionSource:
    """Return where the tool of a module is written that is its last function."""
    line = source[: source.rindex("def tool(")].count("\n") + 1
    return FunctionSource(Module("tools.py", source, "tools"), "tool", line)


def draft_of(attack: Attack) -> str:
    """Draft a response, and return all that is said of it."""
    arguments = {"text": attack.text, "n": attack.n}
    return repr(drafted(DraftCall(tool_name="tool", arguments=arguments, code=code_of(attack.source))))


def reached(attacks: Iterable[tuple[str, Attack]]) -> list[str]:
    """Return the attacks of whose drafts one holds something of the process."""
    return [name for name, attack in attacks if any(one in draft_of(attack) for one in BY_PROCESS)]


@pytest.mark.long
def test_nothing_of_the_process_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text of an argument and no attribute leads from a value to the process: neither to its environment nor to its modules."""
    monkeypatch.setenv("PLANTED", MARKER)
    monkeypatch.setattr(collections, "planted", MARKER, raising=False)
    assert not reached(reaching().items())
    assert not hasattr(collections.Counter, "planted")


def test_the_attacks_reach_the_process_where_they_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own `format` gives the environment away: what reading leaves undone is not impossible anyway."""
    monkeypatch.setenv("PLANTED", MARKER)
    attack = reaching(("a counter",))[
        "str.format of a counter, __init__.__globals__[_sys].modules[os].environ"
    ]
    names: dict[str, object] = {}
    exec(attack.source, names)  # noqa: S102 - to prove that the attack works
    tool = names["tool"]
    assert callable(tool)
    assert MARKER in tool(attack.text, 0)


@pytest.mark.long
@for_each("what", growing())
def test_each_reading_keeps_to_its_budget(what: str) -> None:
    """However much a tool would make, its reading takes little memory and comes back with an outcome or the reason for none."""
    attack = growing()[what]
    tracemalloc.start()
    try:
        reading = read_returns(code_of(attack.source), {"text": attack.text, "n": attack.n})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reading.outcomes or reading.problem
    assert peak < MOST_BYTES
    assert len(repr(reading)) < MOST_LETTERS


FORMATTED = {
    "places": ("return '{} {1} {0}'.replace('{} ', '').format(1, 'a')", "a 1"),
    "names": ("return '{a}-{b!r:>5}'.format(a=1, b='x')", "1-  'x'"),
    "in order": ("return '{}{:>4}{!s}'.format(1, 2.5, None)", "1 2.5None"),
    "items": ("return '{0[a]} {0[b][1]}'.format({'a': 1, 'b': [2, 3]})", "1 3"),
    "a member": ("return '{0.value} {0.name}'.format(Color.RED)", "red RED"),
    "an object": ("class P:\n    def __init__(self):\n        self.x = 5\nreturn '{p.x:03d}'.format(p=P())", "005"),
    "a width from a value": ("return '{:>{w}.{p}f}'.format(1.25, w=7, p=1)", "    1.2"),
    "brackets": ("return '{{{}}}'.format(1)", "{1}"),
    "a date": ("return '{:%d.%m.%Y}'.format(datetime.date(2024, 1, 2))", "02.01.2024"),
    "percent": ("return '%s %5.1f %(a)s' .replace(' %(a)s', '') % ('x', 2.25) + '%(a)s%%' % {'a': 1} + '%*d' % (4, 7)", "x   2.21%   7"),
    "format": ("return format(1234.5, ',.2f') + format('a', '>3')", "1,234.50  a"),
    "operators": ("return operator.mod('%s', 1) + operator.add('a', 'b')", "1ab"),
    "getters": ("return [operator.itemgetter('a')({'a': 1}), sorted([{'n': 2}, {'n': 1}], key=operator.itemgetter('n'))[0]['n']]", [1, 1]),
    "codings": ("return 'a'.encode('UTF-8').decode('latin_1') + bytes('b', 'utf8').hex()", "a62"),
    "views": (
        "d = {'a': 1} | {'b': 2}\nreturn [list(d.values()), list(d.keys()), [[k, v] for k, v in d.items()], Counter('aab').most_common(1)]",
        [[1, 2], ["a", "b"], [["a", 1], ["b", 2]], [["a", 2]]],
    ),
    "gcd": ("return math.gcd(1920, 1080)", 120),
    "flags": ("return re.match('A', 'a', re.IGNORECASE | re.M).group()", "a"),
    "found": ("return [re.findall('(.)(.)', 'abcd'), re.findall('a(b)?', 'aab'), re.split('(,)', 'a,b'), re.sub('(a)', '<\\\\1>', 'aba')]",
              [[["a", "b"], ["c", "d"]], ["", "b"], ["a", ",", "b"], "<a>b<a>"]),
    "decimals": ("return str(round(Decimal('2.675') * 3, 2)) + f\"{Decimal('1234.5'):,.2f}\"", "8.021,234.50"),
}  # fmt: skip


@for_each("what", FORMATTED)
def test_harmless_texts_are_known(what: str) -> None:
    """What is formatted here is what Python formats."""
    body, wanted = FORMATTED[what]
    attack = Attack(body)
    names: dict[str, object] = {}
    exec(attack.source, names)  # noqa: S102 - what is wanted is what Python gives
    tool = names["tool"]
    assert callable(tool)
    (first, *_) = read_returns(code_of(attack.source), {"text": "", "n": 0}).outcomes
    assert first.certain
    assert stands_for(first.value, wanted)  # type: ignore[arg-type] # JSON, which mypy does not see
    assert str(tool("", 0)).replace("(", "[").replace(")", "]") == str(wanted)


def test_a_draft_leaves_the_decimal_context_alone() -> None:
    """What a person's own code has set for decimal numbers in this thread changes no draft, and no draft changes it."""
    import decimal  # noqa: PLC0415 - the tools import it, too

    source = (
        f"{HEAD}\ndef tool(n):\n    decimal.getcontext().prec = 3\n    return str(Decimal(1) / Decimal(7))\n"
    )
    plain = f"{HEAD}\ndef tool(n):\n    return str(Decimal(1) / Decimal(7))\n"
    with decimal.localcontext(prec=5) as context:
        context.clear_flags()
        (outcome, *_) = read_returns(code_of(plain), {"n": 1}).outcomes
        read_returns(code_of(source), {"n": 1})
        assert context.prec == 5
        assert not any(context.flags.values())
    assert outcome.value == "0.1428571428571428571428571429"
