"""Brings a number into the bounds and steps that a schema sets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from simulator.base.json_values import JsonObject

_LARGEST = 1_000_000_000
_NEARBY = 200


def fitted(wanted: float, schema: JsonObject, *, whole: bool, shift: int = 0) -> float | int | None:
    """Return the number nearest to the wanted one that a schema lets through; None where it lets none through.

    Args:
        wanted: What the number would be without bounds.
        schema: A plain schema of a number, with the bounds and `multipleOf`.
        whole: Whether it must be an integer.
        shift: Give the next number but so many instead, where the bounds leave room; it tells items apart.
    """
    if (
        not shift
        and "multipleOf" not in schema
        and (not whole or wanted == int(wanted))
        and _inside(wanted, schema)
    ):
        return int(wanted) if whole else wanted
    low, high = _limits(schema)
    step = _step(schema, whole=whole)
    if step is None:
        made = _between(wanted, low, high, schema)
        return made if not shift or made is None else _shifted(made, shift, low, high)
    first = None if low is None else math.ceil(low / step)
    last = None if high is None else math.floor(high / step)
    for count in _counts(round(Fraction(wanted) / step) + shift, first, last):
        number = count * step
        made = int(number) if number.denominator == 1 else float(number)
        if _passes(made, schema):
            return made
    return None


def highest(schema: JsonObject, *, whole: bool) -> float | int | None:
    """Return the greatest number that a schema lets through, at most 1,000,000,000 where it sets no bound itself."""
    _, high = _limits(schema)
    return fitted(_LARGEST if high is None else float(high), schema, whole=whole)


def _limits(schema: JsonObject) -> tuple[Fraction | None, Fraction | None]:
    lows = [value for key in ("minimum", "exclusiveMinimum") if (value := _bound(schema, key)) is not None]
    highs = [value for key in ("maximum", "exclusiveMaximum") if (value := _bound(schema, key)) is not None]
    return max(lows, default=None), min(highs, default=None)


def _bound(schema: JsonObject, key: str) -> Fraction | None:
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    # As it is written: the fraction of the float 0.1 is not a tenth.
    return Fraction(str(value))


def _step(schema: JsonObject, *, whole: bool) -> Fraction | None:
    value = schema.get("multipleOf")
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or value <= 0
        or not math.isfinite(value)
    ):
        return Fraction(1) if whole else None
    step = Fraction(str(value))
    return Fraction(math.lcm(step.numerator, step.denominator), step.denominator) if whole else step


def _counts(wanted: int, first: int | None, last: int | None) -> Iterator[int]:
    if first is not None and last is not None:
        if first > last:
            return
        if wanted > last and last - first < _NEARBY:
            wanted = first + (wanted - first) % (last - first + 1)
    start = wanted if first is None else max(wanted, first)
    start = start if last is None else min(start, last)
    yield start
    for distance in range(1, _NEARBY):
        for count in (start + distance, start - distance):
            if (first is None or count >= first) and (last is None or count <= last):
                yield count


def _passes(made: float, schema: JsonObject) -> bool:
    """Return whether a validator that reckons with floats agrees."""
    step = schema.get("multipleOf")
    if isinstance(step, float):
        quotient = made / step
        if not math.isfinite(quotient) or int(quotient) != quotient:
            return False
    elif isinstance(step, int) and not isinstance(step, bool) and step and made % step:
        return False
    return _inside(made, schema)


def _inside(made: float, schema: JsonObject) -> bool:
    low, above = _raw(schema, "minimum"), _raw(schema, "exclusiveMinimum")
    high, below = _raw(schema, "maximum"), _raw(schema, "exclusiveMaximum")
    return (
        low <= made <= high and (above < made or above == -math.inf) and (made < below or below == math.inf)
    )


def _raw(schema: JsonObject, key: str) -> float:
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.inf if "ax" in key else -math.inf
    return value


def _between(
    wanted: float, low: Fraction | None, high: Fraction | None, schema: JsonObject
) -> float | int | None:
    made = wanted if low is None else max(wanted, float(low))
    made = made if high is None else min(made, float(high))
    tries = [made, round(made, 2)]
    if low is not None:
        tries.append(math.nextafter(float(low), math.inf) if high is None else float(low + (high - low) / 2))
        tries.extend([float(low) + 1, float(low) + 0.5])
    if high is not None:
        tries.extend([float(high) - 1, float(high) - 0.5, math.nextafter(float(high), -math.inf)])
    return next((one for one in tries if _inside(one, schema)), None)


def _shifted(made: float, shift: int, low: Fraction | None, high: Fraction | None) -> float:
    """Return another number inside the bounds."""
    if high is None:
        return made + shift
    if low is None:
        return made - shift
    part = float(high - low) * shift / 64
    return made + part if made + part < high else max(made - part, float(low))
