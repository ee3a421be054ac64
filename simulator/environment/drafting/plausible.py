"""Gives plausible values for named fields: the same seed and the same name give the same value."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pydantic import JsonValue

from simulator.environment.conventions.chance import Chance
from simulator.environment.conventions.names import is_identifier, words_of
from simulator.environment.drafting.people import address_of, fake
from simulator.environment.drafting.words_of_fields import (
    AIRLINES,
    CITIES,
    COMPANIES,
    COUNTRIES,
    FAKED,
    HOTELS,
    NAMES,
    NUMBERS,
    PRODUCTS,
    RESTAURANTS,
    SENTENCES,
    TEXTS,
)
from simulator.environment.drafting.words_of_things import KEYS, MORE_TEXTS, OF_THINGS, STATES

_NAMED = (NAMES, PRODUCTS, COMPANIES, HOTELS, AIRLINES, RESTAURANTS, COUNTRIES)
"""The texts that are names of things."""

_LONGEST_KEY = 40

_CLOCKS = frozenset(
    {"departs", "arrives", "opens", "closes", "starts", "ends", "departure", "arrival", "slot", "slots"}
)
"""Names of times of a day."""

_BIRTHS = frozenset({"birth", "birthday", "birthdate", "born", "dob"})
_SECRETS = frozenset({"password", "passcode", "passphrase", "otp", "pin"})
_SECRET_WORDS = ("harbour", "linden", "copper", "meadow", "granite")
_NUMBERED = frozenset({"room", "table", "seat", "gate", "platform", "locker", "desk", "apartment"})
"""What has plain numbers for keys."""
_SOONEST = frozenset({"next", "earliest", "first", "last", "latest", "soonest", "previous"})
_OPENINGS = frozenset(
    {
        "available",
        "availability",
        "slot",
        "appointment",
        "opening",
        "visit",
        "delivery",
        "payment",
        "service",
        "login",
    }
)
_ALL_TEXTS = (*TEXTS, *MORE_TEXTS)

_FALSE_FIRST = frozenset(
    {
        "required",
        "needed",
        "error",
        "failed",
        "cancelled",
        "canceled",
        "deleted",
        "blocked",
        "expired",
        "overdue",
    }
)


def identifier(name: str, chance: Chance) -> str:
    """Give a key that tells what it names: `order_id` gives the like of `ORD-48213`."""
    words = [
        word for word in words_of(name) if word not in {"id", "uuid", "identifier", "number", "no", "code"}
    ]
    if words_of(name)[-1:] in (("number",), ("no",)) and words and words[-1] in _NUMBERED:
        return str(101 + chance.number(f"id:{name}", 4) * 100 + chance.number(f"id-:{name}", 24))
    stem = (
        "".join(letter for letter in (words[-1] if words else "rec") if letter.isalpha())[:3].upper() or "REC"
    )
    return f"{stem}-{10_000 + chance.number(f'id:{name}', 89_999)}"


def text(name: str, chance: Chance, about: Sequence[str] = ()) -> str:  # noqa: PLR0911, PLR0912, C901 - one per kind of field
    """Give a plausible text for a field of this name.

    `about` is what the field's object may be, the nearest first: it tells the name of a hotel from that of a person.
    """
    among_things = of_thing(name, tuple(about)) if about else ()
    if among_things:
        return chance.choice(name, among_things)
    match _kind_of(name):
        case "birth":
            return f"{1948 + chance.number(f'year:{name}', 57)}{date(name, chance)[4:]}"
        case "name":
            return _name_of(name, chance, about)
        case "id":
            return identifier(name, chance)
        case "email":
            return address_of(person("name", chance))
        case "url":
            return url(name, chance)
        case "date":
            return date(name, chance)
        case "clock":
            return clock(name, chance)[:5]
        case "moment":
            return f"{date(name, chance)}T{clock(name, chance)}Z"
        case "secret":
            return f"{chance.choice(name, _SECRET_WORDS)}-{1_000 + chance.number(f'{name}-', 9_000)}"
        case "phone":
            return f"+1 {chance.number(name, 700) + 210} 555 01{chance.number(f'{name}-', 100):02d}"
        case ("fake", "name"):
            return person(name, chance)
        case ("fake", str() as kind):
            return fake(kind, chance.number(f"{kind}:{name}", 2**32))
        case ("among", tuple() as among):
            return str(chance.choice(name, among))
    words = words_of(name)
    return f"{' '.join(words)} {chance.number(name, 9) + 1}" if words else "example"


@lru_cache(maxsize=8192)
def of_thing(name: str, about: tuple[str, ...]) -> tuple[str, ...]:
    """Give what the field of a thing may say: the title of a ticket a problem; nothing where that is not known."""
    words = set(words_of(name))
    for what in about:
        for things, fields, among in OF_THINGS:
            if {what, what.removesuffix("s"), f"{what.removesuffix('ies')}y"} & things:
                return among if words & fields else ()
    return ()


@lru_cache(maxsize=8192)
def states_of(about: tuple[str, ...]) -> tuple[str, ...]:
    """Give the states of the nearest of some things that is known to have any, the first one first."""
    for what in about:
        for things, states in STATES:
            if {what, what.removesuffix("s"), f"{what.removesuffix('ies')}y"} & things:
                return states
    return ()


def is_telling(name: str) -> bool:
    """Tell whether the name of a field tells what its values look like."""
    words = words_of(name)
    return bool(words) and bool(
        _kind_of(name) or _range_of(name) or words[0] in {"is", "has", "can"} or set(words) & _FALSE_FIRST
    )


def is_sentence(name: str) -> bool:
    """Tell whether a field of this name holds a text in whole sentences."""
    return _kind_of(name) == ("among", SENTENCES)


def person(name: str, chance: Chance) -> str:
    """Give the name of a person."""
    return (
        fake("name", chance.number(f"person:{name}", 2**32))
        .removeprefix("Dr. ")
        .removeprefix("Mr. ")
        .removeprefix("Mrs. ")
    )


@lru_cache(maxsize=8192)
def _kind_of(name: str) -> str | tuple[str, object]:  # noqa: PLR0911, PLR0912, C901 - one per kind of field
    """Tell what kind of text a field of this name holds; an empty text where the name does not tell."""
    words = words_of(name)
    known = set(words)
    if words in {("name",), ("title",), ("label",)}:
        return "name"
    if is_identifier(name):
        return "id"
    if known & {"email", "mail"}:
        return "email"
    if known & _BIRTHS and not known & {"place", "city", "country"}:
        return "birth"
    if known & {"url", "uri", "link", "website"}:
        return "url"
    if (
        (known & {"date", "day", "deadline", "eta", "checkin", "checkout"} and "time" not in known)
        or words[-1:] == ("on",)
        or words[-2:] in (("check", "in"), ("check", "out"))
    ):
        return "date"
    if known & _CLOCKS and not known & {"at", "date", "datetime"}:
        return "clock"
    if known & {"time", "timestamp", "datetime", "at", "created", "updated"}:
        return "moment"
    if known & _SECRETS:
        return "secret"
    if known & {"phone", "mobile", "telephone"}:
        return "phone"
    if words[:1] and words[0] in _SOONEST and known & _OPENINGS:
        return "moment"
    for names, kind in FAKED:
        if names <= known or (len(names) == 1 and f"{next(iter(names))}s" in known):
            return ("fake", kind)
    for names, among in _ALL_TEXTS:
        if known & names or known & {f"{one}s" for one in names}:
            return ("fake", "name") if among is NAMES else ("among", among)
    return ""


def _name_of(name: str, chance: Chance, about: Sequence[str]) -> str:
    """Give a name of the first thing that is known to have names of its own, or a person's (a title: a product's)."""
    things = [(names, among) for names, among in TEXTS if among in _NAMED or among is CITIES]
    for what in (*about, "product" if name.lower() == "title" else "person"):
        for names, among in things:
            if {what, what.removesuffix("s")} & names:
                return person(name, chance) if among is NAMES else chance.choice(name, among)
    return person(name, chance)


def date(name: str, chance: Chance) -> str:
    """Give an ISO date in 2026."""
    return f"2026-{chance.number(f'month:{name}', 12) + 1:02d}-{chance.number(f'day:{name}', 28) + 1:02d}"


def clock(name: str, chance: Chance) -> str:
    """Give an ISO time of a working day."""
    return f"{chance.number(f'hour:{name}', 10) + 8:02d}:{chance.number(f'minute:{name}', 12) * 5:02d}:00"


def url(name: str, chance: Chance) -> str:
    """Give an address of a page that nobody owns."""
    return f"https://example.com/{(words_of(name) or ('page',))[0]}/{chance.number(name, 9_000) + 1_000}"


def uuid(name: str, chance: Chance) -> str:
    """Give a UUID as random ones are written."""
    digits = f"{chance.number(f'uuid:{name}', 2**62):016x}{chance.number(f'uuid-:{name}', 2**62):016x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-9{digits[17:20]}-{digits[20:]}"


def sentence(name: str, chance: Chance) -> str:
    """Give a sentence that suits any report."""
    return chance.choice(name, SENTENCES)


def key(name: str, place: int, chance: Chance) -> str:
    """Give the name of a field in an object whose fields are data: of prices by city a city, else a numbered one."""
    words = set(words_of(name))
    for names, among in KEYS:
        if words & names or {f"{one}s" for one in names} & words:
            return among[place % len(among)]
    drawn = text(name, chance) if is_telling(name) else ""
    return drawn if 0 < len(drawn) <= _LONGEST_KEY else f"{name or 'key'}_{place + 1}"


def number(name: str, chance: Chance, *, whole: bool) -> float | int:
    """Give a plausible number for a field of this name."""
    low, high, digits = _range_of(name) or (1, 40, 1)
    return chance.within(name, low, high, 0 if whole else digits)


@lru_cache(maxsize=8192)
def _range_of(name: str) -> tuple[float, float, int] | None:
    words = words_of(name)
    known = set(words)
    found = next(((low, high, digits) for names, low, high, digits in NUMBERS if known & names), None)
    if found is not None and len(words) > 1 and words[0] in {"max", "maximum"}:
        low, high, digits = found
        return (
            low + (high - low) * 0.6,
            high * 2,
            digits,
        )  # what is allowed at most is more than what is usual
    return found


def truth(name: str) -> bool:
    """Give the answer that means that all went well."""
    return not set(words_of(name)) & _FALSE_FIRST


def by_name(name: str, chance: Chance) -> JsonValue:
    """Give a value for a field of which only the name is known."""
    words = words_of(name)
    known = set(words)
    if words and words[0] in {"is", "has", "can", "was", "should"}:
        return truth(name)
    if _kind_of(name) != "moment" and known & {
        "success",
        "ok",
        "available",
        "valid",
        "found",
        "confirmed",
        "approved",
        "enabled",
    } | (known & _FALSE_FIRST if words and words[-1] in _FALSE_FIRST and words[-1] != "error" else set()):
        return truth(name)
    if is_identifier(name):
        return identifier(name, chance)
    if _range_of(name) is not None:
        return number(name, chance, whole=False)
    if len(words) == 1 and words[0] in _PLURALS:
        return [by_name(_PLURALS[words[0]], chance)]
    return text(name, chance)


_PLURALS = {
    "tags": "tag",
    "labels": "label",
    "names": "name",
    "cities": "city",
    "products": "product",
    "results": "title",
    "orders": "order_id",
    "users": "name",
    "customers": "name",
    "flights": "flight_id",
    "hotels": "hotel",
    "messages": "message",
    "errors": "message",
}
"""Fields that hold a list, and a field of the kind of each item."""
