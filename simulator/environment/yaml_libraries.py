"""Reads the libraries that come with the environment: YAML files of things that each have a name."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from typing import TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from simulator.environment.environment_value import FiniteValue


class LibraryEntry(FiniteValue):
    """An entry of a library; its `name` is unique there."""

    name: str


class LibraryError(ValueError):
    """A library's file cannot be read; says where."""


_Thing = TypeVar("_Thing", bound=LibraryEntry)


def read_library(kind: type[_Thing], what: str, text: str) -> tuple[_Thing, ...]:
    """Read a library from YAML: a list of objects with the fields of a kind of thing.

    Args:
        kind: The class of the things.
        what: What errors call them, in the plural.
        text: The YAML.

    Raises:
        LibraryError: It is no such list, or two have one name.
    """
    try:
        things: tuple[_Thing, ...] = TypeAdapter(tuple[kind, ...]).validate_python(yaml.safe_load(text))  # type: ignore[valid-type] # a class given at run time
    except (yaml.YAMLError, ValidationError) as error:
        raise LibraryError(f"the library of {what}: {error}") from error
    names = [thing.name for thing in things]
    if twice := sorted(name for name, number in Counter(names).items() if number > 1):
        raise LibraryError(f"the library of {what}: two {what} are called {twice[0]!r}")
    return things


def shipped_library(kind: type[_Thing], what: str, package: str, file: str) -> tuple[_Thing, ...]:
    """Read a library from a file of a package.

    Raises:
        LibraryError: As `read_library`.
    """
    return read_library(kind, what, (files(package) / file).read_text(encoding="utf-8"))
