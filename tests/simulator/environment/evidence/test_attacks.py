"""Reads tools that attack the process which reads them: nothing of it is reached, and each reading keeps to its budget."""

from __future__ import annotations

import collections
import tracemalloc
from collections.abc import Iterable

import pytest

from simulator.environment.drafts.draft_generator import DraftCall, drafted
from simulator.environment.evidence.sketch import FunctionSource, Module
from simulator.environment.evidence.tool_returns import read_returns
from tests.simulator.base.rows import for_each
from tests.simulator.environment.evidence.attacks import HEAD, Attack, growing, reaching
from tests.simulator.environment.evidence.running import stands_for

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
