"""Reads a migration of tools and arguments from lines that a person writes. Pure."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from evalset.doctor.model import DroppedArgument, Migration, RenamedArgument, SetArgument
from simulator.base.json_text import JsonTextError, read_json

EXAMPLE = """agent clerk -> order_desk
tool get_order -> find_order
argument find_refund.id -> refund_id
drop find_refund.verbose
set find_refund.currency = "EUR\""""
"""One line of each kind; a tool is called as the files call it, before it is renamed."""

_NAME = r"[^\s.=>]+"
_NEW_NAME = re.compile(rf"(agent|tool)\s+({_NAME})\s*->\s*({_NAME})")
_ARGUMENT = re.compile(rf"argument\s+({_NAME})\.(\S+?)\s*->\s*(\S+)")
_DROP = re.compile(rf"drop\s+({_NAME})\.(\S+)")
_SET = re.compile(rf"set\s+({_NAME})\.(\S+?)\s*=\s*(.+)")


class MigrationLineError(ValueError):
    """A line says nothing that can be done; the text names it."""


def migration_from(text: str) -> Migration:
    """Read a migration; empty lines and lines that begin with # say nothing.

    Raises:
        MigrationLineError: A line cannot be read, or contradicts another one.
    """
    tools: dict[str, str] = {}
    agents: dict[str, str] = {}
    renamed, dropped, given = list[RenamedArgument](), list[DroppedArgument](), list[SetArgument]()
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith("#"):
            continue
        if found := _NEW_NAME.fullmatch(line):
            kind, old, new = found.groups()
            names = agents if kind == "agent" else tools
            if old in names:
                _refuse(number, f"the {kind} {old} is already renamed above")
            names[old] = new
        elif found := _ARGUMENT.fullmatch(line):
            renamed.append(RenamedArgument(tool=found[1], old=found[2], new=found[3]))
        elif found := _DROP.fullmatch(line):
            dropped.append(DroppedArgument(tool=found[1], name=found[2]))
        elif found := _SET.fullmatch(line):
            given.append(SetArgument(tool=found[1], name=found[2], value=_value(number, found[3])))
        else:
            _refuse(number, f"unknown change; write one of: {'; '.join(EXAMPLE.splitlines())}")
    try:
        return Migration(
            tools=tools, agents=agents, renamed=tuple(renamed), dropped=tuple(dropped), given=tuple(given)
        )
    except ValueError as error:
        raise MigrationLineError(_plain(error)) from error


def _value(number: int, text: str) -> Any:
    try:
        return read_json(text)
    except JsonTextError as error:
        _refuse(number, f"the value after = is not valid JSON: {error}")


def _refuse(number: int, why: str) -> NoReturn:
    raise MigrationLineError(f"line {number}: {why}")


def _plain(error: ValueError) -> str:
    """Return the words of a validation alone."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    return "; ".join(str(each["msg"]).removeprefix("Value error, ") for each in errors())
