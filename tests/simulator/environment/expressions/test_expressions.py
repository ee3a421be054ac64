"""Tests of expressions in one line."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from simulator.base.json_paths import PathError, field_place, item_place, parse
from simulator.environment.expressions.expression_values import ExpressionError
from simulator.environment.expressions.expressions import TemplateError, compiled, filled, variables_of
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drawn_json import json_values
from tests.simulator.environment.expressions.costly_expressions import VARIABLES as COSTLY_VARIABLES
from tests.simulator.environment.expressions.costly_expressions import costly_expressions

VARIABLES: dict[str, object] = {
    "stock": 0,
    "args": {"quantity": 3, "sku": "A", "items": [1, 2], "city": "Oslo"},
    "world": {"products": {"A": {"stock": 2, "tags": ["x"]}, "B": {"stock": 9}}},
    "order": {"customer_id": "c-1", "lines": [{"sku": "A", "n": 2}, {"sku": "B", "n": 5}]},
    "customers": {"c-1": {"name": "Ada"}},
    "calls": [{"response": {"total": 5}}, {"response": {"total": 7}}],
}


def value(text: str, variables: Mapping[str, object] = VARIABLES) -> Any:
    """Evaluate an expression."""
    return compiled(text).value(variables)


@for_each(
    ("text", "expected"),
    [
        ("stock >= 0", True),
        ("0 < stock < 5 or stock == 0", True),
        ("order.customer_id in customers", True),
        ("'c-2' not in customers", True),
        ("args.quantity > world.products[args.sku].stock", True),
        ("calls | length", 2),
        ("len(calls) + 1", 3),
        ("'many' if stock else 'none'", "none"),
        ("weather is defined", False),
        ("args.weather.wind is defined", False),
        ("args.weather | default('fine')", "fine"),
        ("args.items | sum", 3),
        ("args.items[-1] ** 3", 8),
        ("order.lines | map(attribute='n') | max", 5),
        ("order.lines | selectattr('n', 'gt', 2) | map(attribute='sku') | list", ["B"]),
        ("calls[0].response.total + calls[1].response.total", 12),
        ("sum(order.lines | map(attribute='n'))", 7),
        ("args.get('nothing', 4)", 4),
        ("args.city.lower().startswith('os')", True),
        ("'ORD-' ~ 7 ~ args.items", "ORD-7[1, 2]"),
        ("[args.sku, args.city] | join('/')", "A/Oslo"),
        ("{'id': args.sku, 'n': [1, stock]}", {"id": "A", "n": [1, 0]}),
        ("'O-' ~ str(7).zfill(4)", "O-0007"),
        ("args.city | upper | replace('S', '5')", "O5LO"),
        ("order.lines[1:] | length", 1),
        ("null == none and not false", True),
        ("world.products.values() | map(attribute='stock') | sort | list", [2, 9]),
        ("7 % 4 - 7 // 4", 2),
        ("2.5 | round | int", 2),
        ("range(3)", [0, 1, 2]),
        ("all([1, stock])", False),
        ("(1, 2) == [1, 2]", True),
        ("(1, 2) + [3]", [1, 2, 3]),
        ("{'b': 1, 'a': {'c': none}} | tojson", '{"b": 1, "a": {"c": null}}'),
    ],
)
def test_an_expression_reads_like_python(text: str, expected: object) -> None:
    """Arithmetic, comparison, membership, filters, tests, methods and literals give JSON values."""
    assert value(text) == expected


@for_each(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("stock >", "ends too early"),
        ("(stock", "')' is missing"),
        ("stock = 1", "write '=='"),
        ("stock stock", "unexpected 'stock'"),
        ("{% set x = 1 %}", "%"),
        ("stock | lenght", "mean length"),
        ("stock is numbr", "mean number"),
        ("args.__class__", "'__class__'"),
        ("x" * 2_001, "the maximum is 2,000"),
        ("(" * 400 + "1" + ")" * 400, "nested too deep"),
        ("not " * 400 + "1", "nested too deep"),
        ("args" + ".a" * 900, "nested too deep"),
        ("9" * 1_999 + "e", "unexpected"),
        ("1e999", "too large"),
        ("[1, -1e999] | sum", "too large"),
        ("'\\ud800'", "surrogate"),
        ("str(int=1, int=2)", "keyword argument repeated"),
        ("7[1:]", "only a text or a list"),
    ],
)
def test_what_is_no_expression_is_refused_when_it_is_read(text: str, reason: str) -> None:
    """The error names the expression and says what is wrong with it."""
    with pytest.raises(ExpressionError, match="expression ") as caught:
        compiled(text)
    assert reason in str(caught.value)


@for_each(
    ("text", "reason"),
    [
        ("wether > 1", "mean weather"),
        ("args.qantity > 1", "mean quantity"),
        ("args.nothing.at.all", "quantity, sku, items, city"),
        ("not args.nothing", " 'nothing'"),
        ("args.nothing == 1", " 'nothing'"),
        ("args[args.nothing]", " 'nothing'"),
        ("args.nothing ~ 'x'", " 'nothing'"),
        ("args.nothing | upper", " 'nothing'"),
        ("len(args.nothing)", " 'nothing'"),
        ("args.nothing()", " 'nothing'"),
        ("calls[7]", "item 7; "),
        ("args.sku.bit_length", " 'bit_length'"),
        ("1 / stock", "by zero"),
        ("'a' < 1", "'<' not supported"),
        ("'a' + 1", "with ~"),
        ("args.city.lower", "write lower()"),
        ("stock()", "not a function"),
        ("(0 - 8) ** 0.5", "no real number"),
        (
            "range(9999) | map('string') | map('upper') | map('lower') | map('string') | map('upper') | list",
            "longer than",
        ),
        ("[args] | sum", "numbers only"),
        ("1e308 * 10", "JSON cannot represent"),
        ("[1e308 * 10 - 1e308 * 10]", "JSON cannot represent"),
        ("{'a': float('nan')}", "JSON cannot represent"),
        ("float('inf') | tojson", "not JSON compliant"),
    ],
)
def test_an_expression_without_a_value_says_why(text: str, reason: str) -> None:
    """What is missing, or does not fit, is named, with what there is instead."""
    with pytest.raises(ExpressionError, match="expression ") as caught:
        value(text, {**VARIABLES, "weather": 1})
    assert reason in str(caught.value)


ESCAPES = [
    "''.__class__.__mro__[1].__subclasses__()", "''['__class__']", "args['__class__']",
    "args | attr('__class__')", "args | map(attribute='__class__') | list",
    "[args] | map(attribute='keys.__globals__') | list",
    "['x'] | map(attribute='__class__.__mro__') | list", "args.get.__globals__", "args.get.run",
    "args.get.run.__globals__", "len.run", "len['run']", "len.name", "self",
    "self._TemplateReference__context", "cycler.__init__.__globals__.os.popen('id').read()",
    "lipsum.__globals__['os'].system('id')", "joiner", "namespace(a=1)", "dict(a=1)", "config",
    "request.application.__globals__", "''.format(args)", "'{0.__class__}'.format(args)",
    "'{0.__class__}'.format_map(args)", "'%s' % args", "('{0.__class__}' | format(args))", "environment",
    "context", "budget", "[' budget']", "'a'.encode()", "args.update({'x': 1})", "args.pop('sku')",
    "args.setdefault('x', 1)", "args.clear()", "calls.append(1)", "calls.sort()",
    "calls | map('attr', '__class__') | list", "calls | map('nothing') | list",
    "calls | select('nothing') | list", "'x' | xmlattr", "'x' | safe", "fake", "__builtins__", "_",
    "open('x')", "eval('1')", "getattr(args, 'x')",
]  # fmt: skip


@for_each("text", ESCAPES)
def test_nothing_of_pythons_own_can_be_reached(text: str) -> None:
    """The known ways out of a template's sandbox, and every way to change a value, end in an error (or in plain JSON)."""
    before = json.dumps(VARIABLES)
    try:
        json.dumps(value(text))
    except ExpressionError:
        outcome = "refused"
    else:
        outcome = "json"
    assert outcome == ("json" if text == "[' budget']" else "refused")
    assert json.dumps(VARIABLES) == before


BOMBS = [
    "9 ** (9 ** 9)", "2 ** 100000 * 2 ** 100000", "1 ** 10 ** 10000000", "'a' * 10 ** 9", "10 ** 9 * 'a'",
    "[0] * 10 ** 9", "range(10 ** 12)", "range(0, 10 ** 12, 1) | sum", "'%0999999999d' % 1",
    "'{:>999999999}'.format(1)", "'a'.ljust(10 ** 9)", "'a'.center(10 ** 9)", "'1'.zfill(10 ** 9)",
    "'a'.expandtabs(10 ** 9)", "'a' | center(10 ** 9)", "'a' | indent(10 ** 9)",
    "range(9) | batch(10 ** 9, 'x') | list", "range(9) | slice(10 ** 9) | list", "1.5 | round(10 ** 9)",
    "1.5 | round(10 ** 9, 'ceil')", "args | tojson(indent=10 ** 9)",
    "('a' * 99999).replace('a', 'b' * 99999)", "('a' * 99999) | replace('', 'b' * 99999)",
    "('a' * 99999).join(range(99999))", "range(99999) | join('a' * 99999)",
    "(big ~ big ~ big ~ big) ~ (big ~ big ~ big ~ big)",
    "range(99999) | map('replace', '', 'b' * 99999) | list",
    "(' ' * 99999) | list | map('trim') | map('default', range(99999), true) | list",
    "[[range(99999)] * 9999] * 9999 == [[range(99999)] * 9999, 1] * 9999",
    "([[[1] * 9999] * 9999] * 9999) | string", "([[[1] * 9999] * 9999] * 9999) | tojson",
    "([[[1] * 9999] * 9999] * 9999) | upper", "[[[1] * 9999] * 9999] * 9999",
    "[[[1] * 999] * 999] * 999 | sort", "([[[1] * 999] * 999] * 999) in [[[[1] * 999] * 999] * 999]",
    "([[[1] * 999] * 999] * 999) | unique | list",
    "max([[[[1] * 999] * 999] * 999, [[[1] * 999] * 999] * 999])",
    "[range(9999)] * 9999 | map('sum') | list", "[range(9999)] * 9999 | map('list') | map('sort') | list",
    "('f' * 999999) | int(0, 16) ** 2", "lipsum(n=10 ** 6)", "big * 100",
    "(' ' * 99999) | list | map('truncate', 0, true, 'b' * 99999) | list",
    "(' ' * 99999) | list | map('urlencode') | map('replace', '%', 'b' * 99999) | join",
    "big | list | sort | map('upper') | sort | map('lower') | sort | join",
]  # fmt: skip


@pytest.mark.parametrize(
    "texts", [BOMBS[::4], pytest.param(BOMBS, marks=pytest.mark.long)], ids=["some", "all"]
)
def test_no_expression_eats_memory_or_time(texts: list[str]) -> None:
    """What would make gigabytes, or take minutes, is refused: without bounds this test would not come to its end."""
    for text in texts:
        with pytest.raises(ExpressionError):
            pytest.fail(f"{text} has the value {value(text, {'big': 'x' * 600_000, 'args': {}})!r:.80}")


@given(st.text(alphabet="abs[](){}.,'\"|~+-*/%<>=! 019_inotrdlfe", max_size=60))
def test_any_text_is_an_expression_or_an_expression_error(text: str) -> None:
    """Nothing but a JSON value or an `ExpressionError` comes out of a text."""
    try:
        result = value(text, {"a": [1, {"b": "x"}], "d": {"e": None}})
    except ExpressionError as error:
        assert str(error).startswith("expression ")  # noqa: PT017 - a JSON value is as good an end
    else:
        json.dumps(result)


@for_each(
    ("text", "names", "paths"),
    [
        ("stock >= 0", {"stock"}, ("stock",)),
        ("order.customer_id in customers", {"order", "customers"}, ("order.customer_id", "customers")),
        (
            "args.quantity > world.products[args.sku].stock",
            {"args", "world"},
            ("args.quantity", "world.products", "args.sku"),
        ),
        (
            "len(calls) > 1 and calls[0].response['total'] == 5",
            {"calls"},
            ("calls", "calls[0].response.total"),
        ),
        ("args.city.lower() == state['user:city']", {"args", "state"}, ("args.city", 'state["user:city"]')),
        ("a[b[c.d].e].f", {"a", "b", "c"}, ("a", "b", "c.d")),
        ("x.y[1:n]", {"x", "n"}, ("x.y", "n")),
        ("1 + 1", set(), ()),
    ],
)
def test_an_expression_tells_what_it_reads(text: str, names: set[str], paths: tuple[str, ...]) -> None:
    """Variables and dotted paths are known before anything is evaluated."""
    assert compiled(text).names == names
    assert compiled(text).paths == paths


def test_a_result_shares_nothing_with_the_variables() -> None:
    """Whoever changes a result changes no variable."""
    variables = {"world": {"rows": [{"n": 1}]}}
    result = value("world", variables)
    result["rows"][0]["n"] = 2
    assert variables == {"world": {"rows": [{"n": 1}]}}


AT_MOST_SECONDS = 1.0
"""Of this thread's processor time, ten times the limit; what is not limited takes minutes, or all memory."""

CHEAP_TO_WRITE = [
    "(['ab']*99999)|select('in','b'*999999)|list|length", "('b'*999999) in (['a'*999999]*99999)",
    "'a'*999999 ~ '' in ['a'*999999]*9999 + ['b']", "((1,)*99999,)*99999 in {}", "{((1,)*99999,)*99999: 1}",
    "[][[[1]*99999]*99999]", "'%999999999d' is even", "'%999999999d' is divisibleby(3)",
    "['%99999999d']*99 | select('odd') | list", "[{'k'*999999: 1}]*99999 | tojson",
    "[{'k'*999999: 1}]*99999", "[9**2500]*99999 | tojson", "[9**2500]*99999",
    "[[[1]*99999]*9999] | replace([[1]*99999]*9999, '')", "('a'*999999).strip('b'*999999 ~ 'a')",
    "('a'*999999) | trim('b'*999999 ~ 'a')", "('a'*999999).rsplit('a'*9999 ~ 'b' ~ 'a'*9999)",
    "('9'*999999)|float", "[{}]*99999 | selectattr('a.'*99999, 'defined') | list",
    "[{}]*9999 | sort(attribute='a,'*99999)", "[{}]*99999 | sum('a.'*99999)",
    "[many]*99999 | selectattr('no_such_key_of_many_alike', 'defined') | list | length",
]  # fmt: skip  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("text", CHEAP_TO_WRITE)
def test_what_is_looked_at_is_paid_for(text: str) -> None:
    """What is cheap to write and dear to do ends at once, or is done at once: no operation does more than it pays for."""
    began = time.thread_time()
    with suppress(ExpressionError):
        value(text, COSTLY_VARIABLES)
    assert time.thread_time() - began < AT_MOST_SECONDS


@pytest.mark.long
@settings(max_examples=150)
@given(costly_expressions)
def test_no_drawn_expression_holds_the_thread(text: str) -> None:
    """Whatever operators, filters, tests and methods are put together over large values, an end comes soon."""
    with suppress(ExpressionError):
        ready = compiled(text)
        began = time.thread_time()
        try:
            json.dumps(ready.value(COSTLY_VARIABLES), allow_nan=False)
        finally:
            assert time.thread_time() - began < AT_MOST_SECONDS


MARKER = "m4rk3r-of-the-process"
MOST_BYTES = 30_000_000
ATTACKS = [
    "''.format", "'{0.__class__}'.format(1)", "args.t.format(fake)", "args.t.format(args)", "args.t|format(fake)", "args.__class__",
    "args['__class__']", "fake.__class__", "fake.__init__.__globals__", "fake['__init__']", "args|attr('__class__')",
    "[args]|map(attribute='__class__')|list", "[fake]|map(attribute='__init__.__globals__')|list", "[fake]|sort(attribute='__init__.__globals__')",
    "[fake]|sum(attribute='__init__')", "args.items.__globals__", "range.__globals__", "len.run", "self.__init__", "cycler", "lipsum(9)",
    "namespace(a=1)", "args.t.format_map(args)", "'a'.encode('idna')", "'a'.__mod__(1)", "fake.__getattr__('x')", "fake.random", "fake.add_provider",
    "range(10**12)", "10**(8**8)", "2**(10**9)", "'a'*10**9", "[1]*10**9", "args.s*args.n", "'%*d' % (10**8,5)", "'%1000000000d' % 1",
    "args.s.zfill(10**9)", "args.s.center(10**9)", "args.s.replace('', args.s)", "args.s|replace('x', args.s)", "args.l|join(args.s)",
    "1.5|round(10**9)", "args.s|indent(10**9)", "args.s.expandtabs(10**9)", "args.s.join(args.s)", "1e308*10",
    "fake.text(10**9)", "fake.pystr(10**9)", "fake.binary(10**9)", "fake.words(10**9)", "fake.json(num_rows=10**9)",
]  # fmt: skip


@for_each("expression", ATTACKS)
def test_an_attack_has_no_value(expression: str) -> None:
    """Nothing of Python's own is reached, and what is too large is refused before it is made."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PLANTED", MARKER)
        args = {"t": "{0.__init__.__globals__}", "s": "x" * 99_999, "n": 10**12, "l": list(range(1000))}
        tracemalloc.start()
        try:
            with pytest.raises(TemplateError) as raised:
                filled(f"{{{{ {expression} }}}}", variables_of(args=args, seed="s"))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert MARKER not in str(raised.value)
    assert peak < MOST_BYTES


ORDER: JsonValue = {
    "order": {"id": "o-1", "items": [{"sku": "A", "n": 1}, {"sku": "B", "n": 2}], "first name": "Ada"},
    "tags": ["x", "y", "z"],
}

JSON = json_values(names=st.text(max_size=4) | st.sampled_from(["$", "$a", "*", "a.b", "[0]"]), max_leaves=12)


def places(value: JsonValue, place: str = "") -> list[tuple[str, JsonValue]]:
    """Return every place of a value."""
    inner: list[tuple[str, JsonValue]] = []
    if isinstance(value, dict):
        inner = [(field_place(place, name), item) for name, item in value.items()]
    elif isinstance(value, list):
        inner = [(item_place(place, index), item) for index, item in enumerate(value)]
    return [(place, value)] + [found for name, item in inner for found in places(item, name)]


@for_each(
    ("path", "expected"),
    [
        ("order.id", [("order.id", "o-1")]),
        ("$.order.id", [("order.id", "o-1")]),
        (" order.items[*].sku ", [("order.items[0].sku", "A"), ("order.items[1].sku", "B")]),
        ("order.items[0].n", [("order.items[0].n", 1)]),
        ("order.items[-1].n", [("order.items[1].n", 2)]),
        ("order.items.*", []),
        ('order["first name"]', [('order["first name"]', "Ada")]),
        ("order['first name']", [('order["first name"]', "Ada")]),
        ("order.items[0].*", [("order.items[0].sku", "A"), ("order.items[0].n", 1)]),
        ("*[2]", [("tags[2]", "z")]),
        ("tags[3]", []),
        ("order.nothing.at.all", []),
        ("order[0]", []),
        ("", [("", ORDER)]),
        ("$", [("", ORDER)]),
    ],
)
def test_a_path_finds_every_place_it_names(path: str, expected: list[tuple[str, JsonValue]]) -> None:
    """Fields, items, counted from either end, `[*]` and `.*` are followed; what is not there is not found."""
    assert parse(path).found(ORDER) == expected


@for_each(
    ("path", "reason"),
    [
        ("a..b", "at character 3"),
        (".a", "at character 1"),
        ("a.", "at character 3"),
        ("a[", "is not [0], [*] or"),
        ("a[x]", "is not [0], [*] or"),
        ("a[1.5]", "is not [0], [*] or"),
        ('a["x]', "is not [0], [*] or"),
        ("a b", "'.' or '['"),
        ("a[0]b", "at character 5"),
        ("a]", "at character 2"),
        ("a" * 1001, "the maximum is 1000"),
    ],
)
def test_what_is_no_path_is_refused_with_its_place(path: str, reason: str) -> None:
    """The error names the path and the character where it goes wrong."""
    with pytest.raises(PathError, match="path '") as caught:
        parse(path)
    assert reason in str(caught.value)


@given(value=JSON)
def test_each_place_that_is_named_can_be_read_again(value: JsonValue) -> None:
    """The name of any place, whatever its fields are called, is a path to just that place."""
    for place, inner in places(value):
        found = parse(place).found(value) if len(place) <= 1_000 else [(place, inner)]
        assert found == [(place, inner)]
