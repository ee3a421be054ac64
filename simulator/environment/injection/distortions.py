"""Distorts a tool's answer on purpose, seeded: cut, dropped, corrupted, emptied, blown up, or made hostile.

Each distortion finds the places of the answer that it could strike, draws its share of them, and puts something wrong there, which its kind makes
of what was right. Hostile texts come from a library, `hostile.yaml`.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any, Literal, Self, TypeAlias

from pydantic import Field, JsonValue, field_validator, model_validator

from simulator.base.documents import LibraryEntry, shipped_library
from simulator.base.frozen_value import FiniteValue, Number, Whole
from simulator.base.json_paths import field_place, item_place, parse
from simulator.base.json_values import Json, copied

HUGE_BYTES = 200_000
"""The size of a `huge` answer that names none."""

_MOST_COPIED_BYTES = 5_000_000
_NOTES_SHOWN = 50

DistortionKind: TypeAlias = Literal[
    "truncate",
    "drop",
    "corrupt",
    "wrong_type",
    "null",
    "empty_list",
    "duplicate",
    "stale",
    "huge",
    "malformed",
    "hostile",
]


class Distortion(FiniteValue):
    """One way to distort an answer.

    Attributes:
        kind: `truncate` cuts texts, `drop` takes fields out, `corrupt` replaces values by garbage of the same type, `wrong_type`
            by ones of another type, `null` by null, `empty_list` empties lists, `duplicate` repeats items of lists,
            `stale` gives an earlier answer of the same tool instead, `huge` blows the answer up, `malformed` turns
            it into broken JSON text, and `hostile` puts an attack on the agent into texts.
        at: Where, as a path like `orders[*].total`; everywhere, in lists and objects too, where it is empty.
        share: The share of the places that it could strike which it does strike; at least one where there is any.
        amount: How much, for the kinds that can say it: the length that is left of a text (`truncate`; half of it
            where it is not said), the number of times an item is repeated (`duplicate`, 1), how many answers ago (`stale`,
            1), the size in bytes (`huge`, 200,000).
        text: For `hostile`: which text of the library, by its name, one of a category (`category:role_markers`), or any
            other text as it is; a drawn one where empty.
    """

    kind: DistortionKind
    at: str = ""
    share: Number = Field(default=1.0, gt=0.0, le=1.0)
    amount: Whole | None = Field(default=None, ge=0, le=50_000_000)
    text: str = ""

    @field_validator("at")
    @classmethod
    def _is_a_path(cls, at: str) -> str:
        parse(at)
        return at

    @model_validator(mode="after")
    def _names_a_category(self) -> Self:
        if self.kind == "hostile":
            check_category(self.text)
        return self


class Distorted(FiniteValue):
    """An answer after its distortions; `notes` say what was done where (`orders[1].total: dropped`), or why nothing was."""

    value: Json
    notes: tuple[str, ...]


def distorted(
    value: JsonValue,
    distortions: Sequence[Distortion],
    rng: Random,
    earlier: Sequence[JsonValue] = (),
    *,
    words: Mapping[str, str] | None = None,
) -> Distorted:
    """Distort an answer step by step: each distortion works on what the one before it left.

    Args:
        value: The answer; it stays as it is.
        distortions: What is done, in this order.
        rng: Where places and garbage are drawn from: the same state gives the same result.
        earlier: The earlier answers of the same tool, oldest first.
        words: What hostile texts name: `tool`, `agent`, `argument`.

    Raises:
        NotJsonError: The value is no JSON.
    """
    box: list[Any] = [copied(value)]
    notes: list[str] = []
    for distortion in distortions:
        done = _STRIKES[distortion.kind](_Work(box, distortion, rng, earlier, words or {}))
        notes.extend(done[:_NOTES_SHOWN])
        if len(done) > _NOTES_SHOWN:
            notes.append(f"{distortion.kind}: {len(done) - _NOTES_SHOWN} more places")
    return Distorted(value=box[0], notes=tuple(notes))


@dataclass(frozen=True, slots=True, eq=False)
class _Spot:
    """One place of the answer: `holder[key]`."""

    place: str
    holder: Any
    key: Any
    parent: _Spot | None

    @property
    def value(self) -> Any:
        return self.holder[self.key]

    def note(self, what: str) -> str:
        return f"{self.place or 'the response'}: {what}"

    def inner(self) -> Iterator[_Spot]:
        """Yield what is directly inside."""
        value = self.value
        if isinstance(value, dict):
            for name in value:
                yield _Spot(field_place(self.place, name), value, name, self)
        elif isinstance(value, list):
            for index in range(len(value)):
                yield _Spot(item_place(self.place, index), value, index, self)

    def all(self) -> Iterator[_Spot]:
        """Yield this place and all inside of it, from the outside to the inside."""
        yield self
        for spot in self.inner():
            yield from spot.all()


@dataclass(frozen=True, slots=True)
class _Work:
    """One distortion of one answer, which stands in the box."""

    box: list[Any]
    distortion: Distortion
    rng: Random
    earlier: Sequence[JsonValue]
    words: Mapping[str, str]

    def named(self) -> list[_Spot]:
        """Return the places that the distortion's path names: the whole answer where it has none."""
        root = _Spot("", self.box, 0, None)
        if not self.distortion.at:
            return [root]
        places = {place for place, _ in parse(self.distortion.at).found(self.box[0])}
        return [spot for spot in root.all() if spot.place in places] if places else []

    def fitting(
        self, fits: Callable[[Any], bool], inside: Callable[[Any], bool] | None = None
    ) -> list[_Spot]:
        """Return the named places that fit, and those that do inside of named places that do not.

        `inside` says what fits there, where that is narrower than what fits when it is named.
        """
        found: list[_Spot] = []
        for spot in self.named():
            if self.distortion.at and fits(spot.value):
                found.append(spot)
            else:
                found.extend(inner for inner in spot.all() if (inside or fits)(inner.value))
        return found

    def drawn(self, spots: list[_Spot]) -> list[_Spot]:
        """Draw the distortion's share of the places, at least one; none is inside of another. In their order."""
        count = max(1, round(len(spots) * self.distortion.share)) if spots else 0
        chosen = spots
        if count < len(spots):
            chosen = [spots[index] for index in sorted(self.rng.sample(range(len(spots)), count))]
        keys = {(id(spot.holder), spot.key) for spot in chosen}
        return [spot for spot in chosen if not _is_inside(spot, keys)]

    def nothing(self, why: str) -> list[str]:
        where = f" at {self.distortion.at}" if self.distortion.at else ""
        return [f"{self.distortion.kind}: nothing changed{where}: {why}"]

    def replace(
        self,
        spots: list[_Spot],
        change: Callable[[Any], JsonValue],
        what: Callable[[Any, Any], str],
        lack: str,
    ) -> list[str]:
        """Replace drawn places by what `change` makes of them; `what` says it, `lack` why there was nothing to do."""
        notes = []
        for spot in self.drawn(spots):
            before = spot.value
            spot.holder[spot.key] = change(before)
            notes.append(spot.note(what(before, spot.value)))
        return notes or self.nothing(lack)


def _is_inside(spot: _Spot, keys: set[tuple[int, Any]]) -> bool:
    parent = spot.parent
    while parent is not None:
        if (id(parent.holder), parent.key) in keys:
            return True
        parent = parent.parent
    return False


def _is_leaf(value: Any) -> bool:
    return not isinstance(value, (dict, list)) or not value


def _truncate(work: _Work) -> list[str]:
    amount = work.distortion.amount

    def left(text: str) -> int:
        return len(text) // 2 if amount is None else amount

    return work.replace(
        work.fitting(lambda value: isinstance(value, str) and len(value) > left(value)),
        lambda text: text[: left(text)],
        lambda before, after: f"cut from {len(before)} to {len(after)} characters",
        "no text is longer",
    )


def _corrupt(work: _Work) -> list[str]:
    return work.replace(
        work.fitting(lambda value: isinstance(value, (str, bool, int, float))),
        lambda value: corrupted(value, work.rng),
        lambda before, _: f"corrupted ({_type(before)})",
        "there is no text, number or boolean",
    )


def _wrong_type(work: _Work) -> list[str]:
    return work.replace(
        work.fitting(lambda _: True, _is_leaf),
        lambda value: of_another_type(value, work.rng),
        lambda before, after: f"{_type(before)} became {_type(after)}",
        "the path does not exist",
    )


def _null(work: _Work) -> list[str]:
    return work.replace(
        work.fitting(lambda value: value is not None, lambda value: value is not None and _is_leaf(value)),
        lambda _: None,
        lambda before, _: f"{_type(before)} became null",
        "every value is null",
    )


def _empty_list(work: _Work) -> list[str]:
    return work.replace(
        work.fitting(lambda value: isinstance(value, list) and bool(value)),
        lambda _: [],
        lambda before, _: f"emptied ({len(before)} items)",
        "there is no list with items",
    )


def _drop(work: _Work) -> list[str]:
    spots = work.named()
    if not work.distortion.at:
        spots = [spot for spot in spots[0].all() if isinstance(spot.key, str)]
    spots = [spot for spot in spots if spot.parent is not None]
    chosen = work.drawn(spots)
    for spot in reversed(chosen):  # from the end, so that no item of a list moves before it is its turn
        del spot.holder[spot.key]
    return [spot.note("removed") for spot in chosen] or work.nothing("the field does not exist")


def _duplicate(work: _Work) -> list[str]:
    spots: list[_Spot] = []
    for named in work.named():
        if isinstance(named.parent and named.holder, list):
            spots.append(named)
        else:
            around = named.inner() if isinstance(named.value, list) and work.distortion.at else named.all()
            spots.extend(spot for spot in around if spot.parent is not None and isinstance(spot.holder, list))
    times = 1 if work.distortion.amount is None else work.distortion.amount
    room, notes = _MOST_COPIED_BYTES, []
    for spot in reversed(work.drawn(spots)):
        bytes_each = size(spot.value)
        fitting = min(times, room // bytes_each)
        room -= fitting * bytes_each
        spot.holder[spot.key + 1 : spot.key + 1] = [copied(spot.value) for _ in range(fitting)]
        notes.append(
            spot.note(
                f"repeated {fitting} times"
                + (", because more would make the response too large" if fitting < times else "")
            )
        )
    return notes[::-1] or work.nothing("there is no list with items")


def _stale(work: _Work) -> list[str]:
    ago = max(work.distortion.amount or 1, 1)
    if ago > len(work.earlier):
        return work.nothing(f"this tool has {len(work.earlier)} earlier responses, not {ago}")
    old: JsonValue = work.earlier[-ago]
    notes = []
    for spot in work.drawn(work.named()):
        for _, then in parse(spot.place).found(old):
            spot.holder[spot.key] = copied(then)
            notes.append(
                spot.note(
                    f"as it was {ago} responses ago" if ago > 1 else "as it was in the previous response"
                )
            )
    return notes or work.nothing("the earlier response has no such path")


def _huge(work: _Work) -> list[str]:
    spots = work.drawn(work.named())
    wanted = HUGE_BYTES if work.distortion.amount is None else work.distortion.amount
    notes = []
    for spot in spots:
        before = size(spot.value)
        if before < wanted // len(spots):
            spot.holder[spot.key] = blown_up(spot.value, wanted // len(spots), work.rng)
            notes.append(spot.note(f"inflated from {before:,} to {size(spot.value):,} bytes"))
    lack = "it is already that large" if spots else "the path does not exist"
    return notes or work.nothing(lack)


def _malformed(work: _Work) -> list[str]:
    return work.replace(
        work.named(),
        lambda value: broken_json(value, work.rng),
        lambda _, after: f"broken JSON of {len(after):,} characters",
        "the path does not exist",
    )


def _hostile(work: _Work) -> list[str]:
    attack = hostile_text(work.distortion.text, work.rng, work.words)

    def infect(value: Any) -> JsonValue:
        if isinstance(value, dict):
            return {**value, "note": attack.text}
        if isinstance(value, list):
            return [*value, attack.text]
        return f"{value}\n\n{attack.text}" if isinstance(value, str) and value else attack.text

    spots = work.drawn(work.fitting(lambda value: isinstance(value, str)) or work.named())
    fitting = max(1, _MOST_COPIED_BYTES // len(attack.text.encode()))
    name = attack.name or "as written"
    notes = []
    for spot in spots[:fitting]:
        spot.holder[spot.key] = infect(spot.value)
        notes.append(spot.note(f"hostile text added ({name})"))
    if len(spots) > fitting:
        notes.append(
            f"hostile: skipped at {len(spots) - fitting} places, because the response would be too large"
        )
    return notes or work.nothing("the path does not exist")


_STRIKES: dict[DistortionKind, Callable[[_Work], list[str]]] = {
    "truncate": _truncate,
    "drop": _drop,
    "corrupt": _corrupt,
    "wrong_type": _wrong_type,
    "null": _null,
    "empty_list": _empty_list,
    "duplicate": _duplicate,
    "stale": _stale,
    "huge": _huge,
    "malformed": _malformed,
    "hostile": _hostile,
}


def _type(value: Any) -> str:
    names = {"NoneType": "null", "str": "text", "bool": "boolean", "list": "list", "dict": "object"}
    return names.get(type(value).__name__, "number")


_LONGEST_GARBAGE = 10_000
_MOST_ITEMS = 100_000
_LETTERS = string.ascii_letters + string.digits + "#?%~^\ufffd"
_LARGEST_WHOLE = 2**31


def size(value: JsonValue) -> int:
    """Return the bytes of a value's JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def corrupted(value: str | bool | float, rng: Random) -> str | bool | float:
    """Return garbage of the value's own type, and never the value itself."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return _corrupted_text(value, rng)
    if isinstance(value, int):
        choices = [-value - 1, value + rng.randint(1, _LARGEST_WHOLE), rng.randint(-_LARGEST_WHOLE, -1)]
        return next(choice for choice in rng.sample(choices, 3) if choice != value)
    made = rng.uniform(-1e6, 1e6)
    return made if made != value else made + 1.0


def _corrupted_text(text: str, rng: Random) -> str:
    head, rest = text[:_LONGEST_GARBAGE], text[_LONGEST_GARBAGE:]
    garbage = "".join(rng.choices(_LETTERS, k=max(len(head), 1)))
    return ("\ufffd" + garbage[1:] if garbage == head else garbage) + rest


def of_another_type(value: JsonValue, rng: Random) -> JsonValue:
    """Return something like the value, as a service might by mistake, of another JSON type."""
    choices: list[JsonValue]
    if isinstance(value, str):
        choices = [len(value), [value], {"value": value}, bool(value)]
    elif isinstance(value, bool):
        choices = ["true" if value else "false", int(value), [value]]
    elif isinstance(value, (int, float)):
        choices = [str(value), "N/A", [value], {"value": value}]
    elif value is None:
        choices = ["", 0, False, []]
    elif isinstance(value, list):
        choices = [f"{len(value)} items", len(value), {str(index): item for index, item in enumerate(value)}]
    else:
        choices = ["[object Object]", list(value.values()), len(value)]
    return rng.choice(choices)


def _cut(text: str, rng: Random) -> str:
    return text[: rng.randint(len(text) // 3, max(len(text) - 1, 0))]


def _commas_doubled(text: str, _rng: Random) -> str:
    return text.replace(", ", ",, ", 1)


def _comma_at_the_end(text: str, _rng: Random) -> str:
    return f"{text[:-1]},{text[-1:]}"


def _single_quotes(text: str, _rng: Random) -> str:
    return text.replace('"', "'")


def _names_unquoted(text: str, _rng: Random) -> str:
    opening = text.find('"')
    closing = text.find('"', opening + 1)
    return text[:opening] + text[opening + 1 : closing] + text[closing + 1 :]


def _prose_around(text: str, _rng: Random) -> str:
    return f"Here is the result:\n```json\n{text}\n"


def _page_instead(_text: str, _rng: Random) -> str:
    return "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


_WAYS: tuple[Callable[[str, Random], str], ...] = (
    _cut, _commas_doubled, _comma_at_the_end, _single_quotes, _names_unquoted, _prose_around, _page_instead,
)  # fmt: skip


def broken_json(value: JsonValue, rng: Random) -> str:
    """Write the value as a text that is nearly JSON and that no JSON reader takes."""
    text = json.dumps(value, ensure_ascii=False)
    for way in rng.sample(_WAYS, len(_WAYS)):
        broken = way(text, rng)
        if broken != value and not _is_json(broken):
            return broken
    return text + "}"  # pragma: no cover - the page is no JSON whatever the value is


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def blown_up(value: JsonValue, wanted: int, rng: Random) -> JsonValue:
    """Return a copy that is blown up to about `wanted` bytes of JSON; one that is larger already stays as it is."""
    missing = wanted - size(value)
    if missing <= 0:
        whole: JsonValue = copied(value)
        return whole
    if isinstance(value, str):
        return _longer(value, missing)
    if isinstance(value, list):
        return _repeated(value, missing) if value else [_longer("", missing)]
    if not isinstance(value, dict):
        return _longer("" if value is None else json.dumps(value), missing + 2)
    large = [key for key, inner in value.items() if inner and isinstance(inner, (str, list))]
    result: dict[str, Any] = copied(value)
    key = rng.choice(large) if large else "padding"
    result[key] = blown_up(result.get(key, ""), missing + size(result.get(key, "")), rng)
    return result


def _longer(text: str, missing: int) -> str:
    unit = text or "x"
    return text + unit * (missing // max(size(unit) - 2, 1) + 1)


def _repeated(items: list[JsonValue], missing: int) -> list[JsonValue]:
    rounds = missing // max(size(items), 1) + 1
    times = min(rounds, max(_MOST_ITEMS // len(items), 1))
    return [copied(item) for _ in range(times + 1) for item in items]


CATEGORY = "category:"
"""Before the name of a category, where the name of a text could stand."""

WORDS = {"tool": "this tool", "agent": "the assistant", "argument": "the request"}
"""What a text can name, as `{{ tool }}`, and what it says where the call does not tell."""

_WORD = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class HostileText(LibraryEntry):
    """A text that attacks an agent.

    Attributes:
        name: Its name in rules.
        category: What it tries to do, or how; one of `categories()`.
        title: What a person reads in a list.
        text: The text; `{{ tool }}`, `{{ agent }}` and `{{ argument }}` stand for what the call says.
        good: What an agent does that is not taken in.
        repeat: How often the text is repeated.
    """

    name: str = Field(pattern=r"^[a-z0-9_]+$")
    category: str = Field(pattern=r"^[a-z0-9_]+$")
    title: str = Field(min_length=1)
    text: str = Field(min_length=1)
    good: str = Field(min_length=1)
    repeat: int = Field(default=1, ge=1, le=20_000)

    @model_validator(mode="after")
    def _names_known_words(self) -> Self:
        for word in _WORD.findall(self.text):
            if word not in WORDS:
                raise ValueError(f"{{{{ {word} }}}} is not known; available: {', '.join(WORDS)}")
        return self

    def said(self, words: Mapping[str, str]) -> str:
        """Return the text as it is said in a call."""
        return (
            _WORD.sub(lambda match: words.get(match.group(1)) or WORDS[match.group(1)], self.text)
            * self.repeat
        )


class Attack(FiniteValue):
    """A text as it is put into an answer; `name` is its name in the library, if it is from there."""

    name: str = ""
    text: str


@lru_cache(maxsize=1)
def hostile_texts() -> tuple[HostileText, ...]:
    """Return the library's texts, in their order."""
    return shipped_library(HostileText, "hostile texts", __package__, "hostile.yaml")


def categories() -> tuple[str, ...]:
    """Return the categories of the library, in their order."""
    return tuple(dict.fromkeys(text.category for text in hostile_texts()))


def check_category(which: str) -> None:
    """Check that a category is one of the library, where a category is meant.

    Raises:
        ValueError: It is none; the text names those that there are.
    """
    category = which.removeprefix(CATEGORY).strip()
    if which.startswith(CATEGORY) and category not in categories():
        raise ValueError(
            f"unknown category {category!r} of hostile texts; choose one of {', '.join(categories())}"
        )


def hostile_text(which: str, rng: Random, words: Mapping[str, str]) -> Attack:
    """Return the text that is meant.

    Args:
        which: A text's name, `category:` and a category's name for any text of it, any other text for itself, or empty
            for any text of the library.
        rng: Where a text is drawn from, if one is to be drawn.
        words: What the texts name: `tool`, `agent`, `argument`.
    """
    library = hostile_texts()
    category = which.removeprefix(CATEGORY).strip() if which.startswith(CATEGORY) else ""
    meant = [text for text in library if which in {"", text.name} or text.category == category]
    if not meant:
        return Attack(text=which)
    chosen = meant[0] if len(meant) == 1 else rng.choice(meant)
    return Attack(name=chosen.name, text=chosen.said(words))
