"""Knows about how much one currency is worth in another, so that a drafted rate is of the right size."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

_PER_EURO = {
    "EUR": 1.0, "USD": 1.09, "GBP": 0.855, "CHF": 0.955, "JPY": 163.0, "NOK": 11.55, "SEK": 11.3, "DKK": 7.46, "PLN": 4.3,
    "CZK": 25.1, "HUF": 392.0, "CAD": 1.48, "AUD": 1.65, "NZD": 1.79, "CNY": 7.83, "INR": 90.8, "BRL": 5.6, "MXN": 18.9,
    "ZAR": 20.1, "TRY": 35.2, "KRW": 1475.0, "SGD": 1.46, "HKD": 8.5, "THB": 38.9, "AED": 4.0, "KES": 143.0, "EGP": 52.5,
    "ARS": 980.0, "ILS": 4.0, "RON": 4.97, "ISK": 150.0, "IDR": 17400.0, "PHP": 62.0, "MYR": 5.1, "VND": 27600.0,
}  # fmt: skip


def rate_of(arguments: Mapping[str, JsonValue]) -> float | None:
    """Give what one unit of the first currency that a call names is worth in the second; None where it names no two."""
    named = [
        value.upper() for value in arguments.values() if isinstance(value, str) and value.upper() in _PER_EURO
    ]
    if len(named) != 2:  # noqa: PLR2004 - from one to another
        return None
    rate = _PER_EURO[named[1]] / _PER_EURO[named[0]]
    return round(rate, 4 if rate < 100 else 2)  # noqa: PLR2004 - as rates are quoted
