"""Gives names, addresses and numbers of people and companies, from the faker library; a seed repeats each of them."""

from __future__ import annotations

import threading
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faker import Generator

KINDS = frozenset(
    {"name", "first_name", "last_name", "user_name", "company", "street_address", "postcode", "job", "iban"}
    | {"license_plate", "isbn13", "mac_address", "file_name", "bs", "catch_phrase", "swift"}
)
_DIFFERENT = 509
"""How many texts of a kind there are: each is made once, as making one takes a tenth of a millisecond."""
_lock = threading.Lock()


@lru_cache(maxsize=1)
def _faker() -> Generator:
    """Make the one faker of this module: making it takes tens of milliseconds, seeding it anew hardly any."""
    from faker.factory import Factory  # noqa: PLC0415 - it takes a tenth of a second, and most sessions open without

    faker = Factory.create("en_US")
    faker.seed_instance(0)  # from here on it has a generator of its own
    return faker


def fake(kind: str, seed: int) -> str:
    """Give a text of one of `KINDS`; it depends on the kind and the seed alone. Any thread may ask."""
    return _made(kind, seed % _DIFFERENT)


@lru_cache(maxsize=16_384)
def _made(kind: str, seed: int) -> str:
    with _lock:
        faker = _faker()
        faker.random.seed(seed)
        return " ".join(str(getattr(faker, kind)()).split())


def address_of(name: str) -> str:
    """Give an e-mail address that agrees with a person's name; the domain is one that nobody can own."""
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    words = ["".join(letter for letter in word if letter.isalnum()) for word in plain.split()]
    return f"{'.'.join(word for word in words if word) or 'customer'}@example.com"
