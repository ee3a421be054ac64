"""Tools whose code, or whose arguments, try to reach the process that reads them, or to make more than it has room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

HEAD = """
import base64, bisect, calendar, collections, copy, datetime, decimal, enum, functools, html, itertools, json, math
import operator, re, statistics, string, textwrap, unicodedata, urllib.parse
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal

class Color(enum.Enum):
    RED = "red"
    def shout(self):
        return self.value.upper()

class Word(str, enum.Enum):
    A = "a"

class Whole(enum.IntEnum):
    TWO = 2
    MANY = 10_000_000_000

"""


class Attack(NamedTuple):
    """The body of a tool that takes `text` and `n`, and their values."""

    body: str
    text: JsonValue = ""
    n: JsonValue = 0

    @property
    def source(self) -> str:
        """The module of the tool."""
        return f"{HEAD}\ndef tool(text, n):\n" + "".join(f"    {line}\n" for line in self.body.split("\n"))


_GLOBALS = "__init__.__globals__[_sys].modules[os].environ"
_OF_ENUM = "__class__.__init__.__globals__[sys].modules[os].environ"

NATIVE_VALUES = {
    "a counter": "Counter()",
    "an ordered dict": "OrderedDict(a=1)",
    "a default dict": "defaultdict(list)",
    "a deque": "deque([1])",
    "a member": "Color.RED",
    "a member of texts": "Word.A",
    "a member of numbers": "Whole.TWO",
    "an enumeration": "Color",
    "a flag": "re.I",
    "a date": "datetime.date(2024, 1, 2)",
    "a time with a zone": "datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)",
    "a decimal": "Decimal('1.5')",
    "a match": "re.match('a', 'a')",
    "a pattern": "re.compile('a')",
    "a hash": "__import__('hashlib').sha256(b'')",
    "an iterator": "iter([1])",
    "a view": "{}.items()",
    "a generator": "(one for one in [1])",
    "a function": "tool",
    "a lambda": "lambda: 1",
    "a method": "'a'.upper",
    "a method of a counter": "Counter().most_common",
    "a partial": "functools.partial(tool, 1)",
    "a module": "collections",
    "a class": "ValueError",
    "an exception": "ValueError('a')",
    "a range": "range(3)",
    "a complex number": "1j",
    "bytes": "b'a'",
    "a context": "decimal.getcontext()",
    "a namedtuple": "collections.namedtuple('P', 'x')(1)",
}
"""Values that the interpreter holds as Python's own, or stands in for."""

_WALKS = (
    _GLOBALS,
    _OF_ENUM,
    "__init__.__globals__",
    "__class__.__mro__",
    "__reduce_ex__.__self__",
    "__dict__",
    "gi_frame.f_globals",
    "__func__.__globals__",
)

WAYS = {
    "str.format": "return text.format(o=VALUE)",
    "str.format by place": "return text.replace('o', '0').format(VALUE)",
    "format_map": "return text.format_map({'o': VALUE})",
    "a method kept": "write = text.format\nreturn write(o=VALUE)",
    "format over map": "return list(map(text.format, [VALUE], [VALUE]))",
    "string.Template": "return string.Template(text).substitute(o=VALUE)",
    "string.Formatter": "return string.Formatter().format(text, o=VALUE)",
    "format": "return format(VALUE, text)",
    "an f-string": "value = VALUE\nreturn f'{value:{text}}'",
    "a nested width": "return '{0:{1}}'.format(VALUE, text)",
    "percent": "return text % VALUE",
    "getattr": "return [getattr(VALUE, '__init__'), getattr(getattr(VALUE, '__init__'), '__globals__', 0), getattr(VALUE, text, 0)]",
    "attributes": "return [VALUE.__class__, VALUE.__init__.__globals__, VALUE.__dict__, VALUE.__reduce__(), VALUE.__doc__]",
    "attrgetter": "return [operator.attrgetter(text.strip('{}'))(VALUE), operator.attrgetter('__init__.__globals__')(VALUE)]",
    "methodcaller": "return [operator.methodcaller('__reduce__')(VALUE), operator.methodcaller(text)(VALUE)]",
    "itemgetter": "return operator.itemgetter(text)(VALUE)",
    "a key": "return sorted([VALUE, VALUE], key=lambda one: one.__init__.__globals__)",
    "keys by getter": "return [max([VALUE], key=operator.attrgetter('__init__.__globals__')), sorted([VALUE], key=text.format)]",
    "vars and dir": "return [vars(VALUE), dir(VALUE), type(VALUE).__dict__, globals(), locals()]",
    "type": "return [type(VALUE), type(VALUE).__mro__, type(VALUE).__subclasses__(), type(VALUE).__name__]",
    "setattr": "setattr(VALUE, 'planted', 1)\nVALUE.planted = 2\nreturn VALUE.planted",
    "json": "return json.dumps(VALUE, default=lambda one: one.__init__.__globals__) + json.dumps({'a': VALUE}, default=vars)",
    "copies": "return [copy.copy(VALUE), copy.deepcopy(VALUE), copy.deepcopy(VALUE, text)]",
    "text of it": "value = VALUE\nreturn [str(value), repr(value), ascii(value), f'{value!r}', f'{value!s:>3}', '%s %r' % (value, value)]",
    "a traceback": "try:\n    VALUE['nothing'].nothing()\nexcept Exception as error:\n    return [error.__traceback__.tb_frame.f_globals, text.replace('o', '0').format(error), error.args, error.__context__, str(error)]",
    "a substitution": "return re.sub('a', lambda found: text.format(o=found), 'a') + re.sub('a', VALUE.__init__, 'a')",
    "a factory": "return [defaultdict(VALUE)['x'], defaultdict(VALUE.__init__)['x']]",
    "reduce": "return functools.reduce(lambda a, b: text.format(o=b), [VALUE, VALUE])",
    "eval": "return [eval('o.__init__.__globals__', {'o': VALUE}), eval('VALUE.__class__')]",
    "a match statement": "match VALUE:\n    case object(__init__=one):\n        return one.__globals__\n    case object(__class__=two):\n        return two",
    "strftime": "day = datetime.date(2024, 1, 2)\nreturn day.strftime(text) + f'{day:{text}}'",
    "coding": "return [text.encode('VALUE'), 'a'.encode(text), b'a'.decode(text), 'a'.encode('ascii', text)]",
    "slots": "return [VALUE.real, VALUE.value, VALUE.name, VALUE.obj, VALUE.string, VALUE.re, VALUE.func, VALUE.default_factory, VALUE.tzinfo]",
}  # fmt: skip


def reaching(values: Sequence[str] = tuple(NATIVE_VALUES)) -> dict[str, Attack]:
    """Return attacks that look for the process's environment and modules, by what they do with which value."""
    return {
        f"{way} of {name}, {walk}": Attack(body.replace("VALUE", NATIVE_VALUES[name]), f"{{o.{walk}}}")
        for way, body in WAYS.items()
        for name in values
        for walk in _WALKS[: None if "text" in body else 1]
    }


GROWING = {
    "width": "return '{:>100000000}'.format(1) + f'{1:100000000}' + '%100000000d' % 1",
    "power by name": "return pow(base=7, exp=10 ** 9)",
    "power of members": "return Whole.TWO ** Whole.MANY",
    "pow of members": "return pow(Whole.TWO, Whole.MANY)",
    "shift by a member": "return 1 << Whole.MANY",
    "text times a member": "return 'a' * Whole.MANY",
    "list times a member": "return [0] * Whole.MANY",
    "bytes times": "return b'a' * n",
    "bytes of a length": "return bytes(10 ** 9)",
    "bytes of a member": "return bytes(Whole.MANY)",
    "bytearray": "return bytearray(10 ** 9)",
    "star width": "return '%*d' % (10 ** 8, 5)",
    "star precision": "return '%.*f' % (10 ** 8, 5)",
    "width from an argument": "return '{:{}}'.format(1, 10 ** 8) + f'{1:{10 ** 8}}' + format(1, str(10 ** 8))",
    "widths of many": "return '{0:9999}' * 3000 % () + ('{0:9999}' * 10000).format(1)",
    "percent of many": "return ('%9999d' * 10000) % ((1,) * 10000)",
    "percent of a large text": "return ('%(a)s' * 20000) % {'a': 'x' * 99999}",
    "format of a large text": "return ('{0}' * 30000).format('x' * 99999)",
    "texts in a list": "big = ['x' * 90000] * 9000\nreturn [str(big), repr(big), f'{big}', '%s' % big, json.dumps(big), '{}'.format(big)]",
    "indents": "return json.dumps([[1, 2]], indent=10 ** 8)",
    "separators": "return json.dumps([1] * 10000, separators=('x' * 90000, ':'))",
    "date width": "day = datetime.date(2024, 1, 2)\nreturn day.strftime('%999999999Y') + f'{day:%999999999Y}'",
    "date directives": "return datetime.date(2024, 1, 2).strftime('%A%B' * 40000)",
    "tabs": "return ('\\t' * 90000).expandtabs(90000)",
    "translation": "return ('a' * 90000).translate({97: 'x' * 90000})",
    "replacement": "return ('a' * 90000).replace('', 'x' * 90000)",
    "joined bytes": "return b''.join([b'x' * 90000] * 9000)",
    "joined texts": "return ('x' * 90000).join(['y'] * 9000)",
    "filled": "return [('a\\n' * 40000).ljust(10 ** 9), 'a'.center(10 ** 9), 'a'.zfill(10 ** 9)]",
    "indented lines": "return textwrap.indent('a\\n' * 40000, 'x' * 90000)",
    "filled lines": "return textwrap.fill('a ' * 40000, 3, subsequent_indent='x' * 90000)",
    "wrapped letters": "return textwrap.wrap('a' * 99000, 1)",
    "quoted": "return urllib.parse.urlencode({str(i): '\\u20ac' * 90000 for i in range(500)})",
    "slice of itself": "x = [1]\nfor _ in range(60):\n    x[0:0] = x\nreturn x",
    "extended by itself": "x = [1]\nfor _ in range(60):\n    x.extend(x)\nreturn x",
    "added to itself": "x = (1,)\nfor _ in range(60):\n    x = x + x\nreturn x",
    "starred of itself": "x = [1]\nfor _ in range(60):\n    x = [*x, *x]\nreturn x",
    "dicts of dicts": "x = {}\nfor i in range(60):\n    x = {**x, **{(i, k): 1 for k in x}, i: 1}\nreturn x",
    "nested lists": "x = [1] * 100\nfor _ in range(30):\n    x = [x] * 100\nreturn [x, str(x), json.dumps(x), x == [x], sorted([x, x])]",
    "nested for deepcopy": "x = [1] * 100\nfor _ in range(30):\n    x = [x] * 100\nreturn copy.deepcopy(x)",
    "large texts kept": "kept = []\nfor i in range(4000):\n    kept.append('x' * 99000 + str(i))\nreturn len(kept)",
    "large lists kept": "kept = []\nfor i in range(4000):\n    kept.append([i] * 90000)\nreturn len(kept)",
    "slices kept": "big = 'x' * 99000\nkept = [big[i:] for i in range(4000)]\nreturn len(kept)",
    "list slices kept": "big = [1] * 99000\nkept = [big[i:] for i in range(4000)]\nreturn len(kept)",
    "splits kept": "big = 'x ' * 49000\nkept = [big.split() for i in range(4000)]\nreturn len(kept)",
    "range searched": "return 5.5 in range(10 ** 12)",
    "range searched by method": "return range(10 ** 11).index(5.5)",
    "range counted": "return range(10 ** 11).count(5.5)",
    "range maximum": "return [max(range(10 ** 11)), min(range(10 ** 11))]",
    "range summed": "return sum(range(10 ** 11))",
    "range sorted": "return sorted(range(10 ** 11))",
    "range in a set": "return set(range(10 ** 11))",
    "range in a call": "return max(*range(10 ** 9))",
    "range unpacked": "a, *b = range(10 ** 9)\nreturn b",
    "range in a list's slice": "x = [1]\nx[0:1] = range(10 ** 9)\nreturn x",
    "range into a deque": "x = deque(range(10 ** 9))\nx.extend(range(10 ** 9))\nreturn len(x)",
    "range into a set": "x = set()\nx.update(range(10 ** 9))\nreturn len(x)",
    "range into a list": "x = []\nx.extend(range(10 ** 9))\nx += range(10 ** 9)\nreturn len(x)",
    "keys of a range": "return dict.fromkeys(range(10 ** 9))",
    "products": "return list(itertools.product([0, 1], repeat=10 ** 7))",
    "no products": "return list(itertools.product([], repeat=10 ** 8))",
    "combinations": "return list(itertools.combinations([1], 10 ** 8))",
    "permutations": "return list(itertools.permutations([1], 10 ** 8))",
    "large combinations": "return len(list(itertools.combinations(range(90000), 45000)))",
    "large products": "return len(list(itertools.product([0, 1], repeat=5000)))",
    "accumulated texts": "return list(itertools.accumulate(['x' * 90000] * 9000))",
    "accumulated numbers": "return list(itertools.accumulate([10 ** 9000] * 9000, operator.mul))",
    "repeated": "return list(itertools.repeat('x', 10 ** 9))",
    "counted": "return [sum(itertools.count()), list(itertools.islice(itertools.count(), 10 ** 9, None))]",
    "cycled": "return list(zip(itertools.cycle([1]), itertools.count()))",
    "elements": "return list(Counter({'a': 10 ** 9}).elements())",
    "factorial of a member": "return math.factorial(Whole.MANY)",
    "combinations counted": "return [math.comb(10 ** 7, 10 ** 6), math.perm(10 ** 7)]",
    "product of many": "return math.prod([10 ** 9000] * 5000)",
    "multiple of many": "return math.lcm(*[10 ** 4000 + i for i in range(3000)])",
    "sum of lists": "return sum([[1] * 1000] * 9000, [])",
    "quantiles": "return statistics.quantiles([1, 2], n=10 ** 8)",
    "mean of decimals": "return statistics.mean([Decimal('1e9999999'), Decimal('1e-9999999')])",
    "decimal as a number": "return [int(Decimal('1e99999999')), math.floor(Decimal('1e99999999'))]",
    "decimal in full": "return f\"{Decimal('1e99999999'):f}\"",
    "decimal with places": "return f\"{Decimal('1'):.99999999f}\"",
    "decimal in percent": "return '%d' % Decimal('1e99999999')",
    "decimal to a power": "return [Decimal(7) ** Decimal(10 ** 9), Decimal('1e99999') ** 99999]",
    "decimal quantized": "return Decimal(1).quantize(Decimal('1e-99999999'))",
    "decimal ratio": "return Decimal('1e99999999').as_integer_ratio()",
    "decimal from a number": "return [Decimal(10 ** 30000), Decimal('9' * 90000) * Decimal('9' * 90000)]",
    "decimal rounded": "return [round(Decimal('1e9999999')), round(Decimal('1e9999999'), 2)]",
    "rounded": "return [round(5, -10 ** 9), round(10 ** 30000, -30000)]",
    "from bytes": "return [int.from_bytes(b'x' * 99999, 'big'), (1).to_bytes(10 ** 9, 'big')]",
    "digits": "return [str(10 ** 5000), int('9' * 5000), f'{10 ** 5000}', '%d' % 10 ** 5000]",
    "base 36": "return int('z' * 99000, 36)",
    "json digits": "return json.loads('9' * 90000)",
    "deep json": "return json.loads('[' * 90000)",
    "deep literals": "import ast\nreturn ast.literal_eval('[' * 90000)",
    "negated literals": "import ast\nreturn ast.literal_eval('-' * 90000 + '1')",
    "deep eval": "return eval('(' * 1900) + eval('-' * 1900 + '1') + eval('9' * 1900 + '**' + '9' * 50)",
    "searched from the right": "return ('a' * 99000).rfind('b' + 'a' * 49000)",
    "stripped": "return ('a' * 99000).strip('b' * 90000 + 'a')",
    "normalized": "return unicodedata.normalize('NFD', 'a' + '\\u0300\\u0316' * 45000)",
    "grown by normalizing": "return unicodedata.normalize('NFKD', '\\ufdfa' * 99000)",
    "entities": "return html.unescape('&' * 99000) + html.escape('<' * 99000)",
    "slow patterns": "found = 0\nfor i in range(3000):\n    found += bool(re.match('(a+)+$', 'a' * 40 + 'b' + str(i)))\nreturn found",
    "lookahead": "return re.findall('(?=(.*))', 'x' * 20000)",
    "large groups": "return re.sub('.', '\\\\g<0>' * 40000, 'x' * 20000)",
    "large groups of a match": "return re.sub('(.*)', '\\\\1' * 40000, 'x' * 20000)",
    "split groups": "return re.split('(?=(.*))', 'x' * 20000)",
    "repetitions": "return re.match('(((a{900}){900}){900}){900}', 'a' * 20000)",
    "deep groups": "return re.match('(' * 900 + ')' * 900, 'a')",
    "date pattern": "return datetime.datetime.strptime('1' * 99000, '%d %m %Y %H %M %S %f %j %U %w ' * 9000)",
    "deque": "return deque([1]) * 10 ** 9",
    "rotations": "x = deque([1, 2])\nx.rotate(10 ** 15)\nreturn list(x)",
    "cache": "f = functools.lru_cache(maxsize=None)(lambda a: 'x' * 90000 + str(a))\nreturn len([f(i) for i in range(4000)])",
    "flags": "return [re.I | i for i in range(4000)]",
    "zipped": "return dict(zip(range(10 ** 9), range(10 ** 9)))",
    "enumerated": "return [*enumerate(range(10 ** 9))]",
    "joined of a range": "return ','.join(map(str, range(10 ** 9)))",
    "printed": "print('x' * 10 ** 9)\nreturn 1",
    "a name": "return " + "x" * 60000,
    "a comparison of many": "return [0] * 90000 == [0] * 89999 + [1]",
    "a comparison of large texts": "a = ['x' * 90000 + str(1) for _ in range(1000)]\nreturn sorted(a) == sorted(a)",
    "set operations": "a = set(range(50000))\nfor _ in range(3000):\n    a = a | a\nreturn len(a)",
    "keyword names": "return dict(**{'x' * 90000 + str(i): i for i in range(4000)})",
    "a generator in a generator": "def g(n):\n    yield from g(n + 1)\nreturn list(g(0))",
    "bits": "return [bin(1 << 90000), hex(1 << 90000), ~(1 << 90000), (1 << 90000) // 3, divmod(1 << 90000, 3)]",
    "complex power": "return (1 + 1j) ** 10 ** 9",
    "matrix": "return [[0] * 9000 for _ in range(9000)]",
    "escapes": "return [re.escape('.' * 99000), repr('\\x00' * 99000), ascii('\\U0001f600' * 99000)]",
    "bisected": "return bisect.bisect(range(10 ** 15), 5.5)",
    "length of a range": "return [len(range(10 ** 30)), reversed(range(10 ** 12)), range(10 ** 12)[::-1]]",
    "encoded": "return ['a' * 90000 for _ in range(3000) if 'x'.encode('utf-32')]",
    "idna": "return ('\\u00fc' * 9000).encode('punycode') + ('\\u00fc' * 9000).encode('idna')",
}  # fmt: skip
"""Bodies of tools that would make or do far too much."""


def growing() -> dict[str, Attack]:
    """Return attacks that take memory or work without end."""
    return {name: Attack(body, "x" * 100, 10**12) for name, body in GROWING.items()}
