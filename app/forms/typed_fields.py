"""Reads the inputs of a form as they were typed, by name, and notes for each what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn, Protocol

from pydantic import JsonValue, ValidationError

from app.forms.typed_json import TypedJsonError, parse_json, parse_object
from simulator.base.json_values import place_words

_NUMBERED = re.compile(r"(?<=[a-z])\d+(?=\.)")


class Values(Protocol):
    """Where inputs are kept: `app.forms.widget_store.KeptInputs`, or a small one in a test."""

    def value(self, name: str, initial: JsonValue = None) -> Any:
        """Return what an input holds; `initial` if nobody touched it."""
        ...


class UnreadableInputError(ValueError):
    """An input holds nothing usable; why is among the problems."""


class Fields:
    """The inputs of one form.

    Args:
        values: What was typed.
        seeds: What the inputs hold at first, by name.
        defaults: What those without a seed hold at first; the numbers in a name such as `c12.path` are left out.

    Attributes:
        problems: By the name of an input, what is wrong with it; filled by reading.
        missing: Those of them where nothing was typed yet.
    """

    def __init__(
        self, values: Values, seeds: Mapping[str, JsonValue], defaults: Mapping[str, JsonValue]
    ) -> None:
        self._values = values
        self._seeds = dict(seeds)
        self._defaults = defaults
        self.problems: dict[str, str] = {}
        self.missing: set[str] = set()

    def initial(self, name: str) -> Any:
        """Return what an input holds at first."""
        if name in self._seeds:
            return self._seeds[name]
        return self._defaults.get(_NUMBERED.sub("", name))

    def suggest(self, name: str, value: JsonValue) -> None:
        """Set what an input holds at first, where the form says nothing of it."""
        self._seeds.setdefault(name, value)

    def get(self, name: str) -> Any:
        """Return what an input holds."""
        return self._values.value(name, self.initial(name))

    def line(self, name: str) -> str:
        """Return a text, without the space around it."""
        return str(self.get(name) or "").strip()

    def written(self, name: str) -> str:
        """Return a text as it was typed."""
        return str(self.get(name) or "")

    def flag(self, name: str) -> bool:
        """Return a switch."""
        return bool(self.get(name))

    def rows(self, name: str) -> list[int]:
        """Return the numbers of a list's rows, in order."""
        return list(self.get(f"{name}:rows") or [])

    def needed(self, name: str, words: str) -> str:
        """Return a text that must not be empty."""
        return self.line(name) or self.lack(name, words)

    def number(self, name: str, words: str) -> float:
        """Return a number that must be there."""
        value = self.get(name)
        return float(value) if value is not None else self.lack(name, words)

    def whole(self, name: str, words: str) -> int:
        """Return a whole number that must be there."""
        return int(self.number(name, words))

    def json(self, name: str) -> Any:
        """Return a JSON value."""
        try:
            return parse_json(self.written(name))
        except TypedJsonError as error:
            return self.refuse(name, str(error))

    def object(self, name: str) -> dict[str, JsonValue]:
        """Return a JSON object; nothing typed is an empty one."""
        try:
            return parse_object(self.written(name))
        except TypedJsonError as error:
            return self.refuse(name, str(error))

    def exact(self, name: str, percent: float) -> float:
        """Return a share for a percentage; what it was read from, to the last digit, where that was not changed."""
        seed = self._seeds.get(f"{name}:exact")
        unchanged = isinstance(seed, (int, float)) and as_percent(float(seed)) == percent
        return float(seed) if unchanged and isinstance(seed, (int, float)) else percent / 100

    def refuse(self, name: str, words: str) -> NoReturn:
        """Note what is wrong with an input, and go no further with what it is part of."""
        self.problems.setdefault(name, words)
        raise UnreadableInputError(words)

    def lack(self, name: str, words: str) -> NoReturn:
        """Note that nothing was typed yet where something is needed."""
        self.missing.add(name)
        self.refuse(name, words)

    def clear(self) -> None:
        """Forget what was wrong, before the inputs are read anew."""
        self.problems.clear()
        self.missing.clear()

    def refuse_all(self, prefix: str, error: ValidationError, names: Mapping[str, str]) -> NoReturn:
        """Note what a model says of its fields at the inputs that they come from.

        Args:
            prefix: What the inputs' names begin with.
            error: What the model said.
            names: By the name of a field, the rest of its input's name.
        """
        for found in error.errors(include_url=False):
            place = next((names[str(part)] for part in reversed(found["loc"]) if str(part) in names), None)
            name = f"{prefix}.{place or next(iter(names.values()))}"
            self.problems.setdefault(name, found["msg"].removeprefix("Value error, "))
        raise UnreadableInputError(str(error))


def as_percent(share: float) -> float:
    """Return a share in percent, as it stands in an input."""
    return round(share * 100, 10)


def complaints(error: ValidationError) -> str:
    """Say in a line what a model says of a value, with the place of each mistake."""
    found = error.errors(include_url=False)
    return "; ".join(
        ": ".join(filter(None, (place_words(each["loc"]), each["msg"].removeprefix("Value error, "))))
        for each in found
    )
