"""What random programs are put together from: `$kind` is an expression, `$V.kind` a variable, `$N.kind` a new one.

Kinds: `int`, `float`, `str`, `bool`, `li` (a list of whole numbers), `ls` (of texts), `t` (a tuple of two whole
numbers), `d` (a dict of whole numbers), `dl` (of lists), `n` (a whole number or None), `box` (an object), `pos` (a
positive literal), `key` (a literal text). `$B` is a block.
"""

HEAD = """
import enum
import functools
import hashlib
import itertools
import json
import math
import operator
import random
import re
from dataclasses import dataclass, field
from enum import Enum, IntEnum, StrEnum
from typing import NamedTuple

from pydantic import BaseModel, Field

LIMIT = 7
COUNT = 0
TITLE = "Open"
PAIR = (3, 4)
NAMES = ["ana", "bo"]
RATES = {"a": 2, "k": 5}
TABLE = {"x": 1, "y": [1, 2], "z": {"deep": [0]}}

def helper(a, b=2):
    if a > b:
        return a - b
    return a + b

def gather(*args, **more):
    return [*args, *more.values()]

def keep(value, into=[]):
    into.append(value)
    return into

def bump(by=1):
    global COUNT
    COUNT += by
    return COUNT

def change(values):
    values.append(99)
    return values

def maker(step):
    total = step

    def inner(value):
        nonlocal total
        total += value
        return total

    return inner

def fails(value):
    if value % 2:
        raise ValueError(f"odd: {value}")
    return value

def numbers(n):
    for one in range(n):
        yield one * one

def same(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner

def noted(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        try:
            return {"ok": True, "value": function(*args, **kwargs)}
        except Exception as error:
            return {"ok": False, "error": str(error)}

    return inner

def twice(times):
    def outer(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return [function(*args, **kwargs) for _ in range(times)]

        return inner

    return outer

class Box:
    size = 1

    def __init__(self, value):
        self.value = value
        self.seen = []

    def add(self, more):
        self.value += more
        self.seen.append(more)
        return self

    @property
    def double(self):
        return self.value * 2

    @classmethod
    def of(cls, value):
        return cls(value)

@dataclass
class Point:
    x: int
    y: int = 1
    tags: list = field(default_factory=list)

class Color(StrEnum):
    RED = "red"
    BLUE = enum.auto()

    def label(self):
        return self.value.title()

    @property
    def short(self):
        return TITLE + self[0]

    @classmethod
    def first(cls):
        return cls("red")

class Level(IntEnum):
    LOW = 1
    HIGH = enum.auto()

class State(str, Enum):
    OPEN = "open"
    DONE = "done"

class Size(Enum):
    S = 1
    M = 2
    L = 2

PRICES = {Color.RED: 3, Color.BLUE: 5}
STATES = {State.OPEN: [1], "done": [2]}

class Pair(NamedTuple):
    left: int
    right: int = 2

@dataclass(frozen=True)
class Spot:
    x: int

@dataclass
class Sum:
    a: int
    total: int = 0

    def __post_init__(self):
        self.total = self.a * 2

class Line(BaseModel):
    color: Color = Color.RED
    amount: float = Field(gt=0)
    tags: list[str] = []
    count: int | None = None

class Order(BaseModel):
    name: str
    lines: list[Line] = []

class Base:
    kind = "base"

    def __init__(self, value):
        self.value = value

    def name(self):
        return f"{self.kind}{self.value}"

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

WORD = re.compile(r"[a-z]+", re.IGNORECASE)

def stepping(values):
    global COUNT
    for one in values:
        if one == 3:
            continue
        COUNT += 1
        if one > 90:
            return
        yield one + COUNT

def ever(start):
    while True:
        yield start
        start += 1

def mixed(values):
    first = True
    yield from stepping(values)
    if first:
        got = yield -1
        yield 0 if got is None else got

step = maker(10)
half = lambda value: value // 2
"""

EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "int": (
        "$int + $int", "$int - $int", "$int * $pos", "$int // $pos", "$int % $pos", "-$int", "abs($int)", "len($li)",
        "len($str)", "len($d)", "sum($li)", "max($int, $int)", "min($li + [$int])", "$li[0]", "$li[-1]", "$li[1:2][0]",
        "$d.get($key, $int)", "$d[$key]", "($int if $bool else $int)", "int($bool)", "sum(x for x in $li if x > $int)",
        "((w := $int) + w)", "helper($int)", "helper(b=$int, a=$int)", "half($int)", "step($int)", "bump()", "bump(by=$pos)",
        "fails($int)", "TABLE['x']", "int('12')", "int($str)", "$str.count('a')", "($li or [$int])[-1]", "round($float)",
        "divmod($int, $pos)[1]", "($int & $pos)", "($n or $int)", "$t[0]", "Box($int).add($int).value", "Box.of($int).double",
        "Point($int).x", "Point($int, y=$int).y", "$V.box.value", "$V.box.double", "sorted($li)[0]", "next(iter($li), $int)",
        "sum(map(half, $li))", "math.floor($float)", "$li.index($int)", "(lambda x: x + $int)($int)", "$V.dl[$key][0]",
        "sum(numbers($pos))", "len(set($li))", "json.loads('3')", "~$int", "math.gcd($int, $pos)", "$int ** 2", "ord('a')",
        "random.randint(1, 6)", "functools.reduce(lambda x, y: x + y, $li, 0)", "len(json.dumps($d))", "max($d.values())",
        "int(math.sqrt($pos))", "max($li, key=lambda x: -x)",
        "PRICES[Color.RED]", "PRICES.get(Color($str), $int)", "PRICES['blue']", "Level.HIGH + $int", "Level(1).value", "len(Color)", "Size.L.value",
        "Pair($int).left", "Pair($int, $int)[1]", "sum(Pair($int))", "Spot($int).x", "Sum($int).total", "Derived($int, $int).both", "Base.plus($int, $int)",
        "Derived(1, 2).plus($int, $int)", "sum(stepping($li))", "next(stepping($li), $int)", "max(mixed($li))", "next(x for x in ever($int) if x > 2)",
        "eval('1 + ' + str($int))", "eval('x * 2', {'x': $int})", "eval('LIMIT + 1')", "functools.reduce(operator.mul, $li, 1)",
        "len(re.findall(r'[aeiou]', $str))", "int(re.sub(r'[^0-9]', '', $str) or 0)", "Order(name=$str, lines=[{'amount': $int}]).lines[0].amount",
        "len(Order(name=$str, lines=[Line(amount=$pos)]).lines)", "list(itertools.islice(ever($int), 2))[1]", "STATES[State.OPEN][0]", "int(Level.LOW)", "sum($li[i] for i in range(len($li)))", "Box.size", "len(range($pos))",
    ),
    "float": (
        "$int / $pos", "round($float, 1)", "$float * $pos", "float($int)", "math.sqrt($pos)", "$float + $int", "sum([$float, $float])",
        "random.random()", "max($float, $int)", "$int / $int",
    ),
    "str": (
        "$str + $str", "f'{$int}'", "f'<{$str}>'", "f'{$float:.2f}'", "f'{$int:04d}'", "f'{$str!r}'", "str($int)", "str($li)",
        "$str.upper()", "$str.title()", "$str.strip()", "$str.replace('a', 'b')", "$str[1:3]", "$str[::-1]", "$str * 2",
        "'-'.join($ls)", "','.join(str(x) for x in $li)", "('yes' if $bool else 'no')", "'%s and %d' % ($str, $int)",
        "'{} is {}'.format($str, $int)", "json.dumps($d)", "repr($t)", "$str.split('a')[0]", "$ls[0]", "str($bool)", "str($n)",
        "type($int).__name__", "sorted($d)[0]", "$str.partition('a')[2]", "str($float)", "f'{$li}'", "f'{$d}'", "$str.zfill(4)",
        "$str.lstrip('O')", "f'{$str:>6}'", "f'{$int:,}'", "chr(97)", "','.join($d)", "f'{$bool}'", "json.dumps($li, indent=1)",
        "str(Point($int))", "Color.RED", "Color($str).value", "f'{Color.BLUE}'", "str(Color.RED)", "str(Size.S)", "f'{State.OPEN}'", "State.DONE.value", "repr(Color.RED)",
        "Color.BLUE.label()", "Color.RED.short", "Color.first().name", "Size(2).name", "Color['RED'].value", "json.dumps({'c': Color.RED, 'l': Level.LOW})",
        "Derived($int, $int).name()", "re.sub(r'(a)(.)', r'\\2\\1', $str)", "re.sub(r'[a-z]', lambda m: m.group().upper() + '.', $str, count=2)", "'|'.join(re.split(r'[a-c]', $str))",
        "(m.group(0) if (m := re.search(r'[a-n]+', $str)) else $str)", "WORD.sub('w', $str)", "hashlib.md5($str.encode()).hexdigest()[:6]", "eval(repr($str))",
        "Line(amount=$int).color", "json.dumps(Line(amount=$pos, color=$str).model_dump(mode='json'))", "json.dumps(Order(name=$str).model_dump())", "Pair(1)._fields[0]",
        "(re.match(r'(?P<w>\\w)', $str) or {'w': $str})['w']", "random.choice(['red', 'blue'])", "$str.center(9, '*')", "max($ls)", "$str.casefold()",
    ),
    "bool": (
        "$int > $int", "$int == $int", "$int != $int", "0 < $int < $pos", "$str == $str", "$str in $ls", "$int in $li", "$key in $d",
        "not $bool", "$bool and $bool", "$bool or $bool", "$n is None", "$n is not None", "isinstance($int, int)", "bool($li)",
        "any(x > 2 for x in $li)", "all(x > 0 for x in $li)", "$str.startswith('O')", "$li == $li", "$V.li is $V.li", "$str.isdigit()",
        "random.random() < 0.5", "$int <= $float", "callable(helper)", "$d == $d", "len($li) > 1", "$bool == $int", "$str < $str",
        "$float == $int", "set($li) == {1, 2}", "hasattr($int, 'real')", "$int is True", "$bool is True", "$li > $li",
        "math.isclose($float, $float)", "$V.d is $V.d", "isinstance($bool, int)", "Color.RED == $str", "Color('red') is Color.RED", "Size.M is Size.L", "$str in [c.value for c in Color]", "isinstance(Color.RED, str)",
        "isinstance(Color.RED, Color)", "Color.RED in PRICES", "'red' in PRICES", "Size.S == 1", "Level.LOW < $int", "bool(re.match(r'\\d+', $str))", "re.fullmatch(r'O.*n', $str) is not None", "WORD.search($str)",
        "Spot(1) == Spot(1)", "State.OPEN == 'open'", "$n == $int",
    ),
    "li": (
        "[$int, $int]", "[x + 1 for x in $li]", "[x for x in $li if x > $int]", "$li + $li", "$li[:2]", "$li[::-1]", "sorted($li)",
        "list(range($pos))", "list($t)", "$li * 2", "list($li)", "gather($int, $int)", "gather($int, k=$int)", "gather(*$li)",
        "keep($int)", "[*$li, $int]", "list($d.values())", "change($V.li)", "[len(x) for x in $ls]", "list(map(half, $li))",
        "list(numbers($pos))", "[x * y for x in $li[:2] for y in $li[:2]]", "TABLE['y']", "TABLE['z']['deep']", "$V.box.seen",
        "sorted($li, reverse=True)", "sorted(set($li))", "list(reversed($li))", "list(filter(None, $li))", "($V.li if $bool else $V.li)",
        "[i for i, x in enumerate($li) if x]", "[x for x, y in zip($li, $li)]", "$V.li.copy()", "$V.dl.get($key, $li)", "json.loads('[1, 2]')",
        "sorted($li, key=lambda x: -x)", "[y for x in $li if (y := x + 1) > 2]", "$li and $li", "$li[$int:]", "[[x] for x in $li][0]",
        "[sum(pair) for pair in zip($li, $li[1:])]", "random.sample($li, 1)",
        "list(stepping($li))", "list(mixed($li))", "[x for x in stepping($li) if x > 1]", "[c + 1 for c in Level]", "list(Pair($int))", "[sum(x) for x in itertools.combinations($li, 2)]",
        "list(itertools.accumulate($li))", "list(itertools.chain($li, [1]))", "[a * b for a, b in itertools.product($li[:2], $li[:2])]", "sorted($li, key=lambda x: (x % 2, x))",
        "[int(x) for x in re.findall(r'\\d', $str)]",
    ),
    "ls": (
        "[$str, $str]", "$str.split('a')", "$str.split()", "list($str[:3])", "sorted($d)", "list($d)", "[f'{x}' for x in $li]", "$ls + [$str]",
        "list(set(['q']))", "[x.upper() for x in $ls]", "sorted($ls)", "re.findall(r'[a-z]n', $str)", "re.split(r'(n)', $str)", "WORD.findall($str)", "[c.name for c in Color]", "list(Color)", "[m.group() for m in re.finditer(r'an', $str)]", "$str.splitlines()",
    ),
    "t": ("($int, $int)", "divmod($int, $pos)", "tuple($li[:2])", "($int,) + ($int,)", "(*$li[:1], $int)"),
    "d": (
        "{$key: $int, $key: $int}", "{**$d, $key: $int}", "dict(k=$int, m=$int)", "{str(x): x for x in $li}", "dict($d)", "dict(zip('ab', $li))",
        "{k: v + 1 for k, v in $d.items()}", "{k: v for k, v in $d.items() if v > $int}", "$d | {$key: $int}", "$V.d.copy()",
        "json.loads('{\"a\": 1}')", "dict.fromkeys(['a', 'b'], $int)", "dict(sorted($d.items()))", "dict([($key, $int)])", "{c.value: p for c, p in PRICES.items()}", "{**PRICES, $key: $int}", "Line(amount=$pos, count=$int).model_dump(mode='json')",
    ),
    "dl": ("{'a': $V.li, 'b': $li}", "dict(a=$li)", "{'a': $V.li, 'b': $V.li}", "{k: [v] for k, v in $d.items()}", "dict.fromkeys(['a', 'b'], $V.li)"),
    "n": ("$d.get($key)", "None if $bool else $int", "next((x for x in $li if x > $int), None)", "{'a': 1}.get($key)", "TABLE.get($key)"),
    "box": ("Box($int)",),
}  # fmt: skip

LEAVES: dict[str, tuple[str, ...]] = {
    "int": ("0", "1", "2", "3", "5", "12", "-4"),
    "pos": ("1", "2", "3", "4"),
    "float": ("0.5", "2.0", "1.25", "-3.75"),
    "str": ("'Open'", "'banana'", "'a b'", "''", "'7'"),
    "key": ("'a'", "'b'", "'k'", "'x'"),
    "bool": ("True", "False"),
    "li": ("[]", "[1]", "[3, 1, 2]", "[0, 5]"),
    "ls": ("['q']", "['b', 'a']"),
    "t": ("(1, 2)", "(0, 3)"),
    "d": ("{}", "{'a': 1}", "{'b': 2, 'a': 3}"),
    "dl": ("{'a': [1], 'b': []}",),
    "n": ("None", "4"),
    "box": ("Box(2)",),
}  # fmt: skip

STATEMENTS: tuple[str, ...] = (
    "$N.int = $int", "$N.int = $int", "$N.str = $str", "$N.str = $str", "$N.li = $li", "$N.d = $d", "$N.dl = $dl", "$N.float = $float",
    "$N.bool = $bool", "$N.n = $n", "$N.t = $t", "$N.ls = $ls", "$N.box = $box", "$N.li = $V.li", "$N.d = $V.d", "$N.box = $V.box",
    "$V.int += $int", "$V.int -= $int", "$V.int *= $pos", "$V.str += $str", "$V.li += [$int]", "$V.li.append($int)", "$V.li.extend($li[:3])",
    "$V.li.insert(0, $int)", "$V.li.pop()", "$V.li.remove($int)", "$V.li.sort()", "$V.li.reverse()", "$V.li.clear()", "$V.li[0] = $int",
    "$V.li[0:1] = [$int, $int]", "del $V.li[:1]", "del $V.li[0]", "$V.d[$key] = $int", "$V.d.update(k=$int)", "$V.d.update($d)",
    "$V.d.pop($key, None)", "$V.d.setdefault($key, $int)", "del $V.d[$key]", "$V.d[$key] = $V.d.get($key, 0) + 1", "$V.d |= {$key: $int}",
    "$V.dl['a'].append($int)", "$V.dl.setdefault($key, []).append($int)", "$V.dl[$key] = $V.li", "$V.ls.append($str)", "$V.ls.sort()",
    "$N.int, $N.int = $int, $int", "$N.int, *$N.li = $int, $int, $int", "$N.int, $N.int = $t", "($N.int, $N.int), $N.str = $t, $str",
    "$N.li = $N.li = $li", "TABLE[$key] = $int", "TABLE['y'].append($int)", "NAMES.append($str)", "RATES[$key] = $int", "bump()",
    "change($V.li)", "keep($int)", "$V.box.add($int)", "$V.box.value = $int", "$V.box.seen.append($int)", "Box.size += 1", "random.shuffle($V.li)",
    "$N.int = step($int)", "assert $bool, $str", "print($int)", "pass", "$V.li[-1] += $int", "$V.d[$key] += $int", "$N.int = (lambda a, b=$int: a + b)($int)",
    "TABLE['z']['deep'][0] += $int", "setattr($V.box, 'value', $int)", "$V.li[:] = $li", "$V.li *= 2", "$N.li = [$V.li for _ in range(2)][0]",
)  # fmt: skip

BLOCKS: tuple[str, ...] = (
    "if $bool:\n    $B", "if $bool:\n    $B\nelse:\n    $B",
    "if $bool:\n    $B\nelif $bool:\n    $B\nelse:\n    $B",
    "if $bool:\n    return {'status': 'early', 'value': $any}", "if $bool:\n    return {'error': $str}",
    "if $bool:\n    raise ValueError(f'bad {$int}')", "if not $n:\n    return $any",
    "for $N.int in list($li)[:5]:\n    $B",
    "for $N.int in $V.li[:4]:\n    $B\n    if $bool:\n        break\nelse:\n    $B",
    "for $N.int in range($pos):\n    if $bool:\n        continue\n    $B",
    "for $N.int, $N.int in enumerate(list($li)[:4]):\n    $B",
    "for $N.str, $N.int in list($d.items()):\n    $B", "for $N.str in $ls[:3]:\n    $B",
    "for $N.str in 'abc':\n    $B", "for $N.int, $N.int in zip($li[:3], $li[:3]):\n    $B",
    "COUNTER = 0\nwhile COUNTER < $pos:\n    COUNTER += 1\n    $B",
    "COUNTER = 0\nwhile True:\n    COUNTER += 1\n    if COUNTER > 3 or $bool:\n        break\n    $B",
    "COUNTER = 3\nwhile COUNTER:\n    COUNTER -= 1\n    if $bool:\n        continue\n    $B\nelse:\n    $B",
    "while (COUNTER := len($V.li)) > 2:\n    $B\n    if COUNTER > 0:\n        break",
    "try:\n    $B\nexcept Exception as error:\n    $N.str = str(error)",
    "try:\n    $N.int = $int\n    $B\nexcept (KeyError, IndexError):\n    $B\nexcept ValueError as error:\n    return {'error': str(error)}",
    "try:\n    $B\nfinally:\n    $B",
    "try:\n    $N.int = $d[$key]\nexcept KeyError:\n    $B\nelse:\n    $B\nfinally:\n    $B",
    "try:\n    $B\nexcept ZeroDivisionError:\n    raise RuntimeError('none') from None\nexcept Exception:\n    return $any",
    "try:\n    return {'value': $any}\nfinally:\n    $B",
    "try:\n    $N.int = fails($int)\nexcept ValueError as error:\n    return {'error': type(error).__name__, 'message': str(error)}",
    "out = []\nfor $N.int in stepping($V.li):\n    out.append(1)\n    if $bool:\n        break\n    $B",
    "try:\n    $N.str = Color($str).value\nexcept ValueError as error:\n    $N.str = str(error)",
    "if found := re.search(r'(n)(.?)', $str):\n    $N.str = found.group(2)\n    $B",
    "try:\n    $N.float = Line(amount=$int).amount\nexcept Exception:\n    $B",
    "made = Line(amount=$pos, tags=$ls)\nmade.tags.append($str)\n$N.ls = made.tags\n$B",
    "match $int:\n    case 0:\n        $B\n    case 1 | 2:\n        $B\n    case _:\n        $B",
    "match $li:\n    case []:\n        $B\n    case [$N.int]:\n        $B\n    case [$N.int, *$N.li]:\n        $B",
    "match $d:\n    case {'a': $N.int}:\n        $B\n    case _:\n        $B",
    "match $str:\n    case 'Open' | 'a b':\n        $B\n    case $N.str if $bool:\n        $B",
    "def local(value, more=$int):\n    return value + more\n$N.int = local($int)",
    "def local(values):\n    values.append($int)\nlocal($V.li)\n$B",
    "def local():\n    return $V.li\nlocal().append($int)",
)  # fmt: skip
RETURNS: tuple[str, ...] = (
    "return {'a': $int, 'b': $str, 'c': $any}", "return {'status': 'success', 'data': $any, 'more': [$any, $any]}", "return $any", "return $str",
    "return {'items': $V.li, 'count': len($li)}", "return {'all': [$V.int, $V.li, $V.d], 'found': $bool}", "return {**$d, 'extra': $any}",
    "return [{'id': x, 'name': f'n{x}'} for x in $li]", "return {'t': $t, 'n': $n, 'f': $float}", "return ($any, $any)", "pass",
    "return json.dumps({'a': $any})", "return {'box': $V.box.value, 'seen': $V.box.seen}", "return {'x': $V.li, 'y': $V.li, 'd': $V.d, 'e': $V.d}",
    "return None", "return {str($int): $any}", "return {'table': TABLE, 'count': COUNT, 'names': NAMES}",
)  # fmt: skip
