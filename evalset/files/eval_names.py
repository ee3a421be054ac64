"""Makes names that ADK's commands can take: snake case for agents, ids for eval cases; and tells a case by what it holds."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simulator.base.adk_names import snake
from simulator.base.json_values import digest
from simulator.base.validation_words import near

NAMELESS = "agent"
"""Stands for a name in which no letter or digit can be written in ASCII."""

_WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"[^A-Za-z0-9]+")
_UNFIT_IN_SET_ID = re.compile(r"[/\\:\x00-\x1f]+")
REVIEWS_ENDING = ".review.json"
EVAL_SET_ENDINGS = (".evalset.json", ".test.json")
"""What the names of eval sets end with, as ADK writes and finds them."""
_ENDINGS = (*EVAL_SET_ENDINGS, ".json")
_UNFIT = re.compile(r"[:,/\\\x00-\x1f\x7f]")


def snake_case(name: str) -> str:
    """Write a name in lower-case ASCII words: `HTTPAgent` is `http_agent`, `Käse Fuß` is `kase_fuss`.

    Names of fields are spelled by `simulator.base.adk_names`.
    """
    ascii_name = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    words = _NO_WORD.sub("_", _WORD_STARTS.sub("_", ascii_name)).strip("_").lower()
    return words or NAMELESS


def base_name(path: Path) -> str:
    """Return a file's name without the endings of eval-set files."""
    ending = next((ending for ending in _ENDINGS if path.name.endswith(ending)), "")
    return path.name.removesuffix(ending)


def flaw_of_set_id(set_id: str) -> bool:
    """Return whether `adk web` cannot open a set of this id, as no file can have that name."""
    return not set_id or bool(_UNFIT_IN_SET_ID.search(set_id)) or set_id in {".", ".."}


def usable_set_id(name: str, otherwise: str = NAMELESS) -> str:
    """Make an id that a set can have of any name; `otherwise` where nothing is left of it."""
    return _UNFIT_IN_SET_ID.sub("_", name).strip(".") or _UNFIT_IN_SET_ID.sub("_", otherwise) or NAMELESS


def set_id_for(path: Path) -> str:
    """Return the id of a new set in a file: `adk web` lists a set by its file's name, and its results by the id."""
    return usable_set_id(base_name(path))


def eval_id_for(agent_name: str, at: float) -> str:
    """Name a case by its agent and its time (seconds since the epoch): `order_desk_2026-11-22T08-03-07.250Z`.

    There are no colons in it: `adk eval FILE:ID` splits there.
    """
    moment = datetime.fromtimestamp(round(at, 3), UTC)
    return f"{snake_case(agent_name)}_{moment:%Y-%m-%dT%H-%M-%S}.{moment.microsecond // 1000:03d}Z"


def unique_eval_id(wanted: str, taken: Container[str]) -> str:
    """Return `wanted`, or where it is taken the first free one of `wanted_2`, `wanted_3` and so on."""
    number, free = 1, wanted
    while free in taken:
        number += 1
        free = f"{wanted}_{number}"
    return free


class FreeIds:
    """Gives eval ids as `unique_eval_id` does, each once; many cases of one name take no longer than others.

    Args:
        taken: The ids that are taken from the beginning.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """Return the first free id, and take it."""
        number, free = self._last.get(wanted, 1), wanted
        while free in self._taken:
            number += 1
            self._last[wanted] = number
            free = f"{wanted}_{number}"
        self._taken.add(free)
        return free

    def give_back(self, eval_ids: Iterable[str]) -> None:
        """Let ids be taken again."""
        self._taken.difference_update(eval_ids)
        self._last.clear()


def usable_eval_id(name: str) -> str:
    """Make an eval id that ADK's commands can take of any name: what they cannot take becomes `_`."""
    return name if name and flaw_of_eval_id(name) is None else _UNFIT.sub("_", name).strip() or "case"


def flaw_of_eval_id(eval_id: str) -> str | None:
    """Return why an eval id cannot be used by `adk eval FILE:ID,ID` and `adk web`; None where it can."""
    if not eval_id.strip():
        return "an eval id cannot be empty"
    if eval_id != eval_id.strip():
        return f"the eval id {eval_id!r} starts or ends with a space"
    if found := _UNFIT.search(eval_id):
        return f"the eval id {eval_id!r} contains {found.group()!r}, which `adk eval` or `adk web` cannot use"
    return None


def case_digest(case: Mapping[str, Any]) -> str:
    """Return the digest of what a case holds, whatever its eval id."""
    held = {name: value for name, value in case.items() if snake(name) != "eval_id"}
    return digest(json.dumps(held, sort_keys=True))


def reviews_path(eval_set: Path | str) -> Path:
    """Return the path of the reviews that belong to an eval set."""
    path = Path(eval_set)
    stem = path.name.removesuffix(_ENDINGS[0])
    return path.with_name(
        f"{stem if stem != path.name else path.name.removesuffix(path.suffix)}{REVIEWS_ENDING}"
    )


def no_case(eval_set: object, eval_id: str, eval_ids: Iterable[str]) -> str:
    """Say that a file has no case of an id, and which it has that are like it."""
    return f"{eval_set} has no case {eval_id!r}; {near(eval_id, eval_ids)}"


def renames_from(words: list[str]) -> dict[str, str]:
    """Read `OLD=NEW`, each OLD once.

    Raises:
        ValueError: One of them is something else; the text says which.
    """
    names: dict[str, str] = {}
    for each in words:
        old, equals, new = each.partition("=")
        if not (equals and old and new) or old in names:
            raise ValueError(f"--rename-agent {each}: expected OLD=NEW, with each OLD only once")
        names[old] = new
    return names
