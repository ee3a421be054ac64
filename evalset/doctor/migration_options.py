"""Reads a migration as it is written on the command line and on the page: `--rename-tool OLD=NEW` and its like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from evalset.doctor.model import DroppedArgument, Migration, RenamedArgument, SetArgument
from evalset.recorded.agent_renaming import renames_from
from simulator.base.json_text import JsonTextError, read_json

MIGRATION_OPTIONS: Mapping[str, tuple[str, str]] = {
    "--rename-agent": ("OLD=NEW", "rename an agent and its app"),
    "--rename-tool": ("OLD=NEW", "rename a tool"),
    "--rename-argument": ("TOOL.OLD=NEW", "rename an argument of a tool"),
    "--drop-argument": ("TOOL.NAME", "remove an argument from each call of a tool"),
    "--set-argument": ("TOOL.NAME=JSON", "set an argument in each call of a tool"),
}
"""What follows each option, and what it does."""


def migration_of(words: Mapping[str, Sequence[str]]) -> Migration:
    """Read a migration from what follows each option, once for each time that it was given.

    Raises:
        ValueError: Something is written in another way, or contradicts something else; the text names it.
    """
    renamed = [_argument("--rename-argument", each) for each in words.get("--rename-argument", ())]
    dropped = [_argument("--drop-argument", each) for each in words.get("--drop-argument", ())]
    given = [_argument("--set-argument", each) for each in words.get("--set-argument", ())]
    tools: dict[str, str] = {}
    for each in words.get("--rename-tool", ()):
        old, equals, new = each.partition("=")
        if not (equals and old and new) or old in tools:
            raise ValueError(f"--rename-tool {each}: expected OLD=NEW, with each OLD only once")
        tools[old] = new
    renamed, dropped, given = (
        [(name, old, new) for tool, old, new in each for name in _then(tool, tools)]
        for each in (renamed, dropped, given)
    )
    try:
        return Migration(
            tools=tools,
            agents=renames_from(list(words.get("--rename-agent", ()))),
            renamed=tuple(RenamedArgument(tool=tool, old=name, new=new) for tool, name, new in renamed),
            dropped=tuple(DroppedArgument(tool=tool, name=name) for tool, name, _ in dropped),
            given=tuple(
                SetArgument(tool=tool, name=name, value=_value(tool, name, text))
                for tool, name, text in given
            ),
        )
    except ValidationError as error:
        told = (each["msg"].removeprefix("Value error, ") for each in error.errors(include_url=False))
        raise ValueError("; ".join(told)) from error


def _then(tool: str, renamed: Mapping[str, str]) -> list[str]:
    """Return the names that a tool may have had, which is named as before its renaming or after it."""
    return [tool, *(old for old, new in renamed.items() if new == tool and tool not in renamed)]


def _argument(flag: str, words: str) -> tuple[str, str, str]:
    wanted, _ = MIGRATION_OPTIONS[flag]
    place, equals, text = words.partition("=")
    tool, dot, name = place.partition(".")
    has_value = "=" in wanted
    if not (tool and dot and name) or bool(equals) != has_value or (has_value and not text):
        raise ValueError(f"{flag} {words}: expected {wanted}")
    return tool, name, text


def _value(tool: str, name: str, text: str) -> Any:
    try:
        return read_json(text)
    except JsonTextError as error:
        raise ValueError(
            f"--set-argument {tool}.{name}: {text!r} is not valid JSON ({error}); put a string in double quotes"
        ) from error
