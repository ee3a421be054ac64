"""Expressions in one line, such as `args.quantity > world.products[args.sku].stock`, and templates, which fill in `{{ ... }}` in the texts of a JSON value.

jinja2 reads and evaluates them. Where it is not installed, as in an agent's own environment, an expression is kept as
it is, and asking for its value says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from pydantic import JsonValue

from simulator.base.json_paths import field_place, item_place
from simulator.base.json_values import NotJsonError, taken
from simulator.base.work_limit import TooMuchWorkError, WorkLimit
from simulator.environment.expressions.expression_values import CompiledExpression, ExpressionError, Fake
from simulator.environment.expressions.expression_values import text as text_of

LONGEST_EXPRESSION: Final = 2_000
"""Characters that an expression may have."""

_NO_JINJA2 = "it cannot be evaluated, because the package jinja2 is not installed"


@lru_cache(maxsize=4_096)
def compiled(text: str) -> CompiledExpression:
    """Read an expression.

    It is Python-like: `stock >= 0`, `order.customer_id in customers`, `calls | length`, `a if b else c`,
    `x is defined`. There are no statements, and nothing of Python's own can be reached.

    Raises:
        ExpressionError: It is no expression; says what is wrong.
    """
    if len(text) > LONGEST_EXPRESSION:
        reason = f"it has {len(text):,} characters; the maximum is {LONGEST_EXPRESSION:,}"
        raise ExpressionError(text, reason)
    if not text.strip():
        raise ExpressionError(text, "it is empty")
    # A library that takes a while to import, and may not be there.
    try:
        from simulator.environment.expressions.jinja_expressions import read  # noqa: PLC0415 - see above
    except ModuleNotFoundError as error:
        if error.name != "jinja2":
            raise
        return CompiledExpression(text, unread=_NO_JINJA2)
    return read(text)


MOST_EXPRESSIONS = 1_000
"""Expressions that one text may hold."""

VARIABLES = ("args", "state", "world", "calls", "answers", "agent", "call_number", "fake")
"""What an expression in a template can name."""


class TemplateError(ValueError):
    """A template cannot be read or filled. Names the place, and what is wrong."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.place = place
        self.reason = reason


def variables_of(
    *,
    args: Mapping[str, object],
    seed: str,
    state: Mapping[str, object] | None = None,
    world: Mapping[str, object] | None = None,
    calls: Sequence[object] = (),
    answers: Mapping[str, object] | None = None,
    agent: str = "",
    call_number: int = 1,
) -> dict[str, object]:
    """Gather what the expressions of a template can name.

    Args:
        args: The call's arguments.
        seed: Where what `fake` says comes from: another one for each call, the same when the call is repeated.
        state: ADK's session state.
        world: The entities, by kind and id.
        calls: The earlier calls of this tool, oldest first, each with `arguments` and `response`.
        answers: The last answer of each tool, by the tool's name.
        agent: The name of the agent that calls.
        call_number: The number of this call among those of its tool, from 1.
    """
    return {
        "args": args, "state": state or {}, "world": world or {}, "calls": list(calls), "answers": answers or {},
        "agent": agent, "call_number": call_number, "fake": Fake(seed),
    }  # fmt: skip


def filled(value: JsonValue, variables: Mapping[str, object]) -> JsonValue:
    """Fill in every `{{ expression }}` in the texts of a value, keys too.

    A text that is one `{{ expression }}` and nothing else becomes the expression's value with its type; in any other
    text, values that are no texts are written as JSON. A literal `{{` is written `{{ '{{' }}`.

    Raises:
        TemplateError: An expression has no value, two keys become the same, or the result is too large or no JSON.
    """
    try:
        with WorkLimit():
            result = _filled(value, "", variables)
        checked: JsonValue = taken(result)
    except TooMuchWorkError as error:
        raise TemplateError("", str(error)) from None
    except NotJsonError as error:
        raise TemplateError("", f"the result is {error}") from error
    return checked


def check_template(value: JsonValue) -> None:
    """Read every `{{ expression }}` in the texts of a value, without filling it in.

    Raises:
        TemplateError: One cannot be read, or names something that no template knows.
    """
    for place, text in _texts(value, ""):
        for part in _read(text, place):
            if isinstance(part, CompiledExpression) and (unknown := sorted(part.names - set(VARIABLES))):
                there = ", ".join(VARIABLES)
                raise TemplateError(
                    place, f"expression {part.text!r}: {unknown[0]!r} is not known; available: {there}"
                )


def _texts(value: JsonValue, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield field_place(place, key), key
            yield from _texts(inner, field_place(place, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, item_place(place, index))


def _filled(value: JsonValue, place: str, variables: Mapping[str, object]) -> Any:
    if isinstance(value, str):
        return _filled_text(value, place, variables)
    if isinstance(value, list):
        return [_filled(inner, item_place(place, n), variables) for n, inner in enumerate(value)]
    if not isinstance(value, dict):
        return value
    result: dict[str, Any] = {}
    for key, inner in value.items():
        inside = field_place(place, key)
        new = text_of(_filled_text(key, inside, variables))
        if new in result:
            raise TemplateError(inside, f"two keys are {new!r}")
        result[new] = _filled(inner, inside, variables)
    return result


def _filled_text(text: str, place: str, variables: Mapping[str, object]) -> Any:
    if "{{" not in text:
        return text
    parts = _read(text, place)
    try:
        values = [part if isinstance(part, str) else part.value(variables) for part in parts]
        if len(values) == 1:
            return values[0]
        return text_of("".join(map(text_of, values)))
    except (ExpressionError, TooMuchWorkError) as error:
        raise TemplateError(place, str(error)) from error


def _read(text: str, place: str) -> tuple[str | CompiledExpression, ...]:
    try:
        return _parts(text)
    except ValueError as error:
        raise TemplateError(place, str(error)) from error


@lru_cache(maxsize=2_048)
def _parts(text: str) -> tuple[str | CompiledExpression, ...]:
    parts: list[str | CompiledExpression] = []
    at = 0
    while (opening := text.find("{{", at)) >= 0:
        if opening > at:
            parts.append(text[at:opening])
        closing = _closing(text, opening + 2)
        parts.append(compiled(text[opening + 2 : closing].strip()))
        if len(parts) > 2 * MOST_EXPRESSIONS:
            raise ValueError(f"it contains more than {MOST_EXPRESSIONS:,} expressions")
        at = closing + 2
    if at < len(text):
        parts.append(text[at:])
    return tuple(parts)


def _closing(text: str, at: int) -> int:
    """Find the `}}` that ends an expression: not one inside of a text or of an object in it."""
    opening, depth, quote = at - 2, 0, ""
    while at < len(text):
        character = text[at]
        if quote:
            at += character == "\\"
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "{":
            depth += 1
        elif character == "}" and depth:
            depth -= 1
        elif text.startswith("}}", at):
            return at
        at += 1
    raise ValueError(f"'{{{{' at character {opening + 1} is not closed by '}}}}'")
