"""Reads dates and numbers as people type them in their browser's language. What could mean two things is not read: it is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from app.forms.typed_json import parse_number

Order: TypeAlias = Literal["year", "day", "month", ""]
"""What a date in figures begins with in a language; empty where nobody knows."""

LARGEST_WHOLE = 2**53 - 1
"""A browser's numbers are exact up to here."""
_DATE = re.compile(r"(\d{1,4})\s?([-./])\s?(\d{1,2})\s?\2\s?(\d{1,4})\.?")
_TIME = re.compile(
    r"(.+?)(?:\s*,\s*|\s+|(?<=\d)T)(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(Z|UTC|[+-]\d{2}:\d{2})?", re.IGNORECASE
)
_YEAR_DIGITS = 4
_THOUSANDS = re.compile(r"([+-]?)([1-9]\d{0,2})([.,])(\d{3})")

_YEAR_FIRST = re.compile(
    "(zh|ja|ko|hu|lt|sv|fa|mn|ne|dz|eu|si|af)(?!-(hk|mo|sg))(-.*)?|en-ca|fr-ca|en-za|en-se"
)
_MONTH_FIRST = re.compile("en(-us|-ph|-pr)?|es-(us|pr|pa)")
_DOTTED = re.compile(
    "(de|ru|pl|cs|da|fi|nb|nn|no|tr|uk|be|ro|bg|sk|hr|sl|sr|bs|mk|et|lv|is|kk|az|hy|ka|he)(-.*)?|(fr|it|en)-ch|en-(de|at)"
)
"""How dates are written in languages and regions, as Unicode's CLDR says; all others write the day first, with slashes."""

_COMMA = re.compile(
    "(af|az|be|bg|bs|ca|cs|da|el|et|eu|fi|fr|gl|hr|hu|hy|id|is|ka|kk|lt|lv|mk|nb|nl|nn|no|pl|pt|ro|ru|sk|sl|sq|sr|sv|tr|uk|uz|vi)(-.*)?"
    "|(de|it)(?!-(ch|li))(-.*)?|es(?!-(419|do|gt|hn|mx|ni|pa|pe|pr|sv|us))(-.*)?|en-(at|be|de|dk|fi|nl|se|si)"
)
"""Which languages write a comma before decimals, as Unicode's CLDR says."""
_SPACED = re.compile(
    "(af|be|bg|cs|et|fi|fr|hu|hy|ka|kk|lt|lv|nb|nn|no|pl|ru|sk|sq|sv|uk|uz)(-.*)?|pt-pt|de-at|en-(fi|se)"
)
_SWISS = re.compile("(de|it|en)-(ch|li)")
"""Which part thousands with a space, and which with an apostrophe, as Unicode's CLDR says."""
_WITH_COMMA = re.compile(r"([+-]?(?:\d+|[1-9]\d{0,2}(?:([. \u00a0\u202f])\d{3})(?:\2\d{3})*))(?:,(\d+))?")
_WITH_POINT = re.compile(r"([+-]?(?:\d+|[1-9]\d{0,2}(?:([,'\u2019])\d{3})(?:\2\d{3})*))(?:\.(\d+))?")
"""A number as these languages write it, and as all others do."""
_MONEY = "[$£¥€₹₩₺₽₴]|Euro|EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|RON|TRY|UAH|AUD|CAD|NZD|SGD|HKD|BRL|MXN|ZAR|KRW"
_PRICE = re.compile(rf"([+-]?)\s*(?:{_MONEY})\s*(\d.*)|(.*\d)\s*(?:{_MONEY})")
"""A number with its currency, which is in front of it or behind it."""


_YES_NO: Mapping[str, str] = MappingProxyType(
    {
        "cs": "ano ne",
        "da": "ja nej",
        "de": "ja nein",
        "en": "yes no",
        "es": "sí no",
        "fi": "kyllä ei",
        "fr": "oui non",
        "hu": "igen nem",
        "it": "sì no",
        "nb": "ja nei",
        "nl": "ja nee",
        "pl": "tak nie",
        "pt": "sim não",
        "ro": "da nu",
        "ru": "да нет",
        "sk": "áno nie",
        "sv": "ja nej",
        "uk": "так ні",
    }
)


class Typed(NamedTuple):
    """What a typed text is read as, as JSON writes it; or, where it cannot be read, what to do."""

    text: str = ""
    problem: str = ""


def read_date(text: str, locale: str | None) -> Typed:
    """Read a date: year first, day first with dots, or with slashes in the order of a browser's language, such as `en-US`."""
    if not (found := _DATE.fullmatch(text.strip())):
        return Typed(problem=f"enter a date, for example {example_date(locale)}")
    first, mark, second, third = found.groups()
    if _YEAR_DIGITS not in (len(first), len(third)) or len(first) + len(third) > _YEAR_DIGITS + 2:
        return Typed(problem=f"write the year with four digits, for example {example_date(locale)}")
    if len(first) == _YEAR_DIGITS:
        return _known([(first, second, third)])
    day_first, month_first = (third, second, first), (third, first, second)
    if mark == ".":
        return _known([day_first])
    order = _order(locale)
    return _known(
        [day_first, month_first] if order == "day" else [month_first, day_first],
        is_sure=order in {"day", "month"},
    )


def as_day(text: str, locale: str | None) -> str:
    """Return as `YYYY-MM-DD` a date that was typed in another way; empty where it is that already, is none, or may be two."""
    read = read_date(text, locale).text
    return "" if read == text else read


def _known(ways: Sequence[tuple[str, str, str]], *, is_sure: bool = True) -> Typed:
    """Return the first of some dates that exists; where the order is not sure, the only one."""
    found = list(dict.fromkeys(day for way in ways if (day := _day(way))))
    if not found:
        return Typed(problem="this date does not exist. Enter another one")
    if len(found) > 1 and not is_sure:
        return Typed(problem=f"this date is ambiguous. Write {found[0]} or {found[1]}")
    return Typed(found[0])


def _day(way: tuple[str, str, str]) -> str:
    try:
        return date(*map(int, way)).isoformat()
    except ValueError:
        return ""


def read_time(text: str, locale: str | None) -> Typed:
    """Read a date with a time, which is in UTC where no zone is given."""
    words, known = text.strip(), _time(text.strip())
    if known is not None and "T" in words.upper():  # in JSON's own way, also with parts of a second
        return Typed(
            f"{known.replace(tzinfo=None).isoformat()}Z" if known.tzinfo in {None, UTC} else known.isoformat()
        )
    if not (found := _TIME.fullmatch(words)):
        return Typed(problem=f"enter a date and a time, for example {example_date(locale)} 09:30")
    day = read_date(found[1], locale)
    zone = "Z" if (found[5] or "Z").upper() in {"Z", "UTC"} else found[5]
    made = f"{day.text}T{found[2]:0>2}:{found[3]}:{found[4] or '00'}{zone}"
    if day.problem or _time(made) is not None:
        return Typed("" if day.problem else made, day.problem)
    return Typed(problem="this time does not exist. Enter another one")


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def in_words(text: str) -> str:
    """Write a date or a time of JSON in words that no one can misread; empty where it is none."""
    found = _time(text)
    if found is None:
        return ""
    day = f"{found:%A}, {found.day} {found:%B} {found.year}"
    if "T" not in text.upper():
        return day
    zone = " UTC" if found.tzinfo in {None, UTC} else f" {found:%Z}"
    return f"{day}, {f'{found:%H:%M:%S}' if found.second else f'{found:%H:%M}'}{zone}"


def example_date(locale: str | None) -> str:
    """Return a date as a language writes it; year first where none is known."""
    if _DOTTED.fullmatch((locale or "").lower()):
        return "31.12.2026"
    return {"day": "31/12/2026", "month": "12/31/2026"}.get(_order(locale), "2026-12-31")


def _order(locale: str | None) -> Order:
    tag = (locale or "").lower()
    if _MONTH_FIRST.fullmatch(tag):
        return "month"
    if _YEAR_FIRST.fullmatch(tag):
        return "year"
    return "day" if tag else ""


def read_yes_no(text: str, locale: str | None) -> bool | None:
    """Read yes or no in a browser's language, or in English; None where a text is neither."""
    said = text.strip().lower()
    for language in ((locale or "").lower().partition("-")[0], "en"):
        yes, _, no = _YES_NO.get(language, "").partition(" ")
        if said and said in {yes, no}:
            return said == yes
    return None


def number_problem(text: str, locale: str | None) -> str:
    """Say what to write in place of a number with one mark and three digits behind it, which may part thousands; empty where it is clear."""
    words = _without_currency(text)
    found, is_price = _THOUSANDS.fullmatch(words), words != text.strip()
    if found is None or (found[3] == "." and not is_price and not _has_comma(locale)):
        return ""
    sign, whole, _, rest = found.groups()
    short = rest.rstrip("0")
    decimal = f"{sign}{whole}.{short}{'0' * (len(short) == len(rest))}" if short else f"{sign}{whole}"
    return f"this number is ambiguous. Write {sign}{whole}{rest} or {decimal}"


def _has_comma(locale: str | None) -> bool:
    return _COMMA.fullmatch((locale or "").lower()) is not None


def _without_currency(text: str) -> str:
    found = _PRICE.fullmatch(text.strip())
    return "".join(part or "" for part in found.groups()) if found else text.strip()


def read_amount(text: str, locale: str | None) -> Typed:
    """Read a number as a browser's language writes it: `1.250,50` in `de`, `1,250.50` in `en`, also with a currency. Other texts stay as they are."""
    if problem := number_problem(text, locale):
        return Typed(problem=problem)
    words = _without_currency(text)
    if parse_number(words) is not None:
        return Typed(text if words == text.strip() else words)
    found = locale and (_WITH_COMMA if _has_comma(locale) else _WITH_POINT).fullmatch(words)
    if not found:
        return Typed(text)
    whole = re.sub(r"[^\d+-]", "", found[1])
    return Typed(f"{whole}.{found[3]}" if found[3] else whole)


def is_amount(text: str) -> bool:
    """Return whether a text is a number in some language, and none in JSON: `300,00`, `1.250,50`, `1,250.50`."""
    words = _without_currency(text)
    ways = (_WITH_COMMA, _WITH_POINT) if re.search("[,.']", words) and parse_number(text) is None else ()
    return any(way.fullmatch(words) for way in ways)


def number_in_words(text: str, locale: str | None) -> str:
    """Write a number of JSON as a browser's language does, with its thousands parted and all its digits: `1.250,50` in `de`, `1,250.50` in `en`."""
    tag = (locale or "").lower()
    if parse_number(text) is None:
        return text
    has_comma = _has_comma(locale)
    mark = (
        "\u202f"
        if _SPACED.fullmatch(tag)
        else "."
        if has_comma
        else "\u2019"
        if _SWISS.fullmatch(tag)
        else ","
    )
    return f"{Decimal(text.strip()):,}".translate({ord(","): mark, ord("."): "," if has_comma else "."})


def number_form(locale: str | None) -> str:
    """Say how a browser's language writes a number with decimals."""
    return "with a comma, for example 1250,50" if _has_comma(locale) else "with a point, for example 1250.50"


def number_read(text: str, locale: str | None) -> str:
    """Return what a text is read as where that is a number that JSON writes in another way, in the browser's language; else nothing."""
    read = read_amount(text, locale)
    is_other = parse_number(read.text) is not None and not read.problem and read.text != text
    return number_in_words(read.text, locale) if is_other else ""


def read_number(text: str, locale: str | None = None, *, is_whole: bool) -> int | float:
    """Read a number, which has a point before its decimals, or is written in the browser's language.

    Raises:
        ValueError: It is none, or could mean two; the text says what to enter.
    """
    read = read_amount(text, locale)
    if read.problem:
        raise ValueError(read.problem)
    number = parse_number(read.text)
    if number is None or (is_whole and number != int(number)):
        wanted = "enter a whole number" if is_whole else "enter a number"
        more = ", for example 1250" if is_whole else f" {number_form(locale)}"
        raise ValueError(wanted + more * bool(text.strip()))
    return int(number) if is_whole else number
