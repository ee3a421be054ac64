"""Draws expressions that try to do much work with few characters."""

from __future__ import annotations

from hypothesis import strategies as st

_LARGE = (
    "'b' * 999999", "'%s' * 99999", "('ab' * 20000)", "' ' * 999999", "('a' * 9999 ~ 'b' ~ 'a' * 9999)", "big", "'ß' * 900000",
    "['ab'] * 99999", "[big] * 99999", "[[1] * 9999] * 9999", "((1,) * 9999,) * 9999", "(('a' * 999) ~ 'b',) * 9999",
    "[{'k': 1}] * 99999", "[{big: [1] * 999}] * 999", "{'k': [big] * 999}", "range(99999)", "range(0, -99999, -1)", "many",
    "rows", "9 ** 2500", "[9 ** 2500] * 99999", "-(7 ** 2900)", "1e308", "'9' * 999999", "['9' * 4000] * 9999", "'a,' * 400000",
    "'a.' * 400000", "'%999999999d'", "'x' * 9 ** 5", "many.keys()", "many.items()", "nothing", "{}", "[]", "''", "0", "none",
)  # fmt: skip
_SMALL = (
    "1", "-1", "0", "2", "16", "1e300", "'a'", "'k'", "'b' * 99999", "big", "[1]", "true", "none", "'%'", "range(999)",
    "9 ** 999", "rows", "many", "-99999", "99999",
)  # fmt: skip
_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "join", "last", "length",
    "list", "lower", "max", "min", "replace", "reverse", "round", "sort", "string", "sum", "title", "tojson", "trim",
    "truncate", "unique", "upper", "urlencode", "wordcount",
)  # fmt: skip
_TESTS = (
    "in", "eq", "ne", "lt", "le", "gt", "ge", "boolean", "defined", "divisibleby", "even", "false", "float", "integer",
    "iterable", "mapping", "none", "number", "odd", "sequence", "string", "true", "undefined",
)  # fmt: skip
_FUNCTIONS = (
    "abs", "all", "any", "bool", "float", "int", "len", "list", "max", "min", "range", "round", "sorted", "str", "sum",
)  # fmt: skip
_METHODS = (
    "capitalize", "count", "endswith", "find", "get", "isalnum", "items", "join", "keys", "lower", "lstrip",
    "removeprefix", "replace", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper",
    "values", "zfill",
)  # fmt: skip
_OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "~", "in", "not in", "==", "!=", "<", ">=", "and", "or")
_NAMED = (
    "",
    "attribute='k', ",
    "attribute='a,' * 99999, ",
    "attribute=big, ",
    "reverse=true, ",
    "case_sensitive=true, ",
)

_simple = st.sampled_from((*_LARGE, *_SMALL))
_arguments = st.lists(st.sampled_from((*_SMALL, *_LARGE)), max_size=3).map(", ".join)
_named = st.sampled_from(_NAMED)


def _filtered(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    by_name = st.builds(
        "({}) | {}('{}', {})".format,
        inner,
        st.sampled_from(("select", "reject")),
        st.sampled_from(_TESTS),
        _arguments,
    )
    by_field = st.builds(
        "({}) | {}({}, '{}', {})".format,
        inner,
        st.sampled_from(("selectattr", "rejectattr")),
        st.sampled_from(("'k'", "big", "0", "'a.' * 99999")),
        st.sampled_from(_TESTS),
        _arguments,
    )
    mapped = st.builds("({}) | map('{}', {})".format, inner, st.sampled_from(_FILTERS), _arguments)
    fields = st.builds("({}) | map({}default=1)".format, inner, _named)
    plain = st.builds("({}) | {}({}{})".format, inner, st.sampled_from(_FILTERS), _named, _arguments)
    return by_name | by_field | mapped | fields | plain


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        _filtered(inner)
        | _filtered(inner)
        | st.builds("({}) {} ({})".format, inner, st.sampled_from(_OPERATORS), inner)
        | st.builds("{}({})".format, st.sampled_from(_FUNCTIONS), inner)
        | st.builds("({}).{}({})".format, inner, st.sampled_from(_METHODS), _arguments)
        | st.builds("({}) is {}({})".format, inner, st.sampled_from(_TESTS), _arguments)
        | st.builds("({})[{}]".format, inner, inner)
        | st.builds("({})[{}:{}]".format, inner, _simple, _simple)
        | st.builds("[{}, {}]".format, inner, inner)
        | st.builds("{{{}: {}}}".format, inner, inner)
        | st.builds("{} if {} else {}".format, inner, inner, inner)
    )


costly_expressions = st.recursive(_simple, _larger, max_leaves=6)
"""Expressions over `big`, a long text, `many`, an object of thousands of long keys, and `rows`, a list of objects."""

VARIABLES: dict[str, object] = {
    "big": "x" * 600_000,
    "many": {f"{'key' * 20}{number}": number for number in range(3_000)},
    "rows": [{"k": "v" * 300, "n": [number] * 30} for number in range(3_000)],
}
