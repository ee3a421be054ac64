"""Gives texts for fields: ids in the style of those that are known, and what Faker has a provider for; the same seed gives the same text."""

from __future__ import annotations

import datetime as dt
import importlib.util
import re
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from simulator.environment.conventions import id_kind, is_own_key, spelled, words_of
from simulator.environment.schema.scalar_instances import Chance

if TYPE_CHECKING:
    from faker import Generator


_FEWEST, _MANY = 1_000, 9_000
_NUMBERED = re.compile(r"(.*?)(\d{1,18})", re.DOTALL)
_DRAWN = re.compile(r"\d[0-9A-Za-z]*")
"""What differs between ids such as `ord_8f3k` and `9b2e-4f1c`."""


def next_id(known: Sequence[str | int]) -> str | int | None:
    """Return the id that follows some, the latest last: the next number where they are counted; None where they are not."""
    last = known[-1] if known else None
    if isinstance(last, int):
        return max(one for one in known if isinstance(one, int)) + 1
    numbered = _NUMBERED.fullmatch(last) if last is not None else None
    if numbered is None:
        return None
    stem = numbered.group(1)
    alike = [
        match.group(2) for one in known if (match := _NUMBERED.fullmatch(str(one))) and match.group(1) == stem
    ]
    width = len(alike[-1]) if alike[-1].startswith("0") or len(set(map(len, alike))) == 1 else 0
    return f"{stem}{max(map(int, alike)) + 1:0{width}d}"


def is_new_id(name: str, path: str, kind: str) -> bool:
    """Return whether a field of an answer is the id of the one thing of a kind that the call makes: the tool may choose it."""
    if not kind or "[" in path or not is_own_key(name, kind):
        return False
    return id_kind(name) == kind or path in {f"$.{one}id" for one in ("", f"{kind}.", "data.", "result.")}


def drawn_number(kind: str, chance: Chance) -> int:
    """Draw the number of a thing of which no other is known."""
    return _FEWEST + chance.number(f"new {kind}", _MANY)


def drawn_id(kind: str, chance: Chance, like: str = "") -> str:
    """Draw the id of a thing: in the shape of another one that is not counted on, else `ORD-4821`."""
    made = _DRAWN.sub(
        lambda part: "".join(_alike(one, part.start(), chance) for one in enumerate(part[0])), like
    )
    return made if made != like else f"{kind[:3].upper()}-{drawn_number(kind, chance)}"


def _alike(sign: tuple[int, str], start: int, chance: Chance) -> str:
    number = chance.number(f"sign {start + sign[0]}", 30)
    drawn = str(number % 10) if sign[1].isdigit() else "abcdef"[number % 6]
    return drawn.upper() if sign[1].isupper() else drawn


_SAME_NAME = [
    "first_name",
    "last_name",
    "user_name",
    "company",
    "job",
    "street_address",
    "street_name",
    "postcode",
    "city",
    "country",
    "country_code",
    "building_number",
    "iban",
    "swift",
    "isbn13",
    "isbn10",
    "license_plate",
    "mac_address",
    "ipv4",
    "ipv6",
    "catch_phrase",
    "color_name",
    "currency_code",
    "currency_name",
    "email",
    "phone_number",
    "timezone",
    "language_name",
    "file_name",
    "mime_type",
    "user_agent",
    "uuid4",
]
PROVIDERS = {name: name for name in _SAME_NAME} | {
    "full_name": "name", "customer_name": "name", "username": "user_name", "address": "street_address", "street": "street_address",
    "zip": "postcode", "zip_code": "postcode", "zipcode": "postcode", "postal_code": "postcode", "phone": "phone_number",
    "email_address": "email", "company_name": "company", "job_title": "job", "isbn": "isbn13",
    "filename": "file_name", "uuid": "uuid4", "mac": "mac_address", "ip_address": "ipv4", "time_zone": "timezone",
}  # fmt: skip
"""By the name of a text field: the method of Faker that makes such texts. A bare `name` may be that of anything."""

_ENDS = frozenset({"until", "expires", "expire", "expiry", "expiration", "due", "deadline"})
"""Words in the names of fields for a day that is still to come."""

_DIFFERENT = 509
"""How many texts of a kind there are: each is made once, as making one takes a tenth of a millisecond."""
_lock = threading.Lock()
_HAS_FAKER = importlib.util.find_spec("faker") is not None


@lru_cache(maxsize=1)
def _faker() -> Generator:
    """Make the one faker of this module: making it takes tens of milliseconds, seeding it anew hardly any."""
    from faker.factory import Factory  # noqa: PLC0415 - it takes a tenth of a second, and most sessions open without

    faker = Factory.create("en_US")
    faker.seed_instance(0)  # from here on it has a generator of its own
    return faker


def warm_up() -> None:
    """Load what makes texts, where it is installed: a draft on a busy machine would wait for it."""
    if _HAS_FAKER:
        _faker()


def fake(name: str, chance: Chance) -> str | None:
    """Return a text for a field of this name; None where Faker has none, or is not installed. Any thread may ask."""
    method = PROVIDERS.get(spelled(name)) if _HAS_FAKER else None
    return None if method is None else _made(method, chance.number(f"fake:{name}", _DIFFERENT))


@lru_cache(maxsize=16_384)
def _made(method: str, seed: int) -> str:
    with _lock:
        faker = _faker()
        faker.random.seed(seed)
        return " ".join(str(getattr(faker, method)()).split())


def formatted(kind: object, name: str, chance: Chance, now: float = 0.0) -> str | None:
    """Return a text of a format that schemas know, such as `date`; None where it is none of them. What is to end does so after `now`."""
    if not isinstance(kind, str):
        return None
    number = chance.number
    day = f"2026-{number(f'month:{name}', 12) + 1:02d}-{number(f'day:{name}', 28) + 1:02d}"
    if now and _ENDS.intersection(words_of(name)):
        end = dt.datetime.fromtimestamp(now, dt.UTC) + dt.timedelta(days=number(f"end:{name}", 28) + 1)
        day = f"{end:%Y-%m-%d}"
    clock = f"{number(f'hour:{name}', 10) + 8:02d}:{number(f'minute:{name}', 12) * 5:02d}:00Z"
    digits = f"{number(f'uuid:{name}', 2**62):016x}{number(f'uuid-:{name}', 2**62):016x}"
    made = {
        "date": day,
        "time": clock,
        "date-time": f"{day}T{clock}",
        "uri": f"https://example.com/{number(name, 9_000) + 1_000}",
        "url": f"https://example.com/{number(name, 9_000) + 1_000}",
        "uuid": f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-9{digits[17:20]}-{digits[20:]}",
        "ipv4": f"192.0.2.{number(name, 254) + 1}",
        "ipv6": f"2001:db8::{number(name, 65_000) + 1:x}",
    }
    return fake("email", chance) if kind == "email" else made.get(kind)
