"""Reads a migration of tools and arguments from lines that a person writes as on the command line. Pure."""

from __future__ import annotations

import shlex

from evalset.doctor.model import MIGRATION_OPTIONS, Migration, migration_of

EXAMPLE = """--rename-agent clerk=order_desk
--rename-tool get_order=find_order
--rename-argument find_refund.id=refund_id
--drop-argument find_refund.verbose
--set-argument 'find_refund.currency="EUR"'"""
"""One line of each kind, as `golden-trace doctor` takes it; a tool is called as the files call it, before it is renamed."""


class MigrationLineError(ValueError):
    """A line says nothing that can be done; the text names it."""


def migration_from(text: str) -> Migration:
    """Read a migration: options of `golden-trace doctor`, quoted as in a shell. Empty lines and lines that begin with # say nothing.

    Raises:
        MigrationLineError: A line cannot be read, or contradicts another one.
    """
    found: dict[str, list[str]] = {flag: [] for flag in MIGRATION_OPTIONS}
    migration = Migration()
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith("#"):
            continue
        try:
            for flag, words in _options(line):
                found[flag].append(words)
            migration = migration_of(found)
        except ValueError as error:
            raise MigrationLineError(f"line {number}: {error}") from error
    return migration


def _options(line: str) -> list[tuple[str, str]]:
    """Return the options of a line, each with what follows it."""
    words = [
        each
        for word in shlex.split(line)
        for each in (word.split("=", 1) if word.partition("=")[0] in MIGRATION_OPTIONS else [word])
    ]
    flags, values = words[::2], words[1::2]
    if len(flags) != len(values) or not set(flags) <= set(MIGRATION_OPTIONS):
        raise ValueError(f"unknown change; write one of: {'; '.join(EXAMPLE.splitlines())}")
    return list(zip(flags, values, strict=True))
