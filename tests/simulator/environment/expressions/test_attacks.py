"""Expressions that look for the process which evaluates them, or would make more than it has room for: each is an error that names it."""

from __future__ import annotations

import tracemalloc

import pytest

from simulator.environment.expressions.templates import TemplateError, filled, variables_of
from tests.simulator.base.rows import for_each

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
