"""Gives texts for fields of which Faker has a provider: the same seed gives the same text. Without Faker there are none."""

from __future__ import annotations

import datetime as dt
import importlib.util
import threading
from functools import lru_cache
from typing import TYPE_CHECKING

from simulator.environment.conventions.entity_kinds import spelled, words_of
from simulator.environment.conventions.seeded_choice import Chance

if TYPE_CHECKING:
    from faker import Generator

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
