"""Writes random Python programs with a tool in each: the same program for the same seed, and each of them ends."""

from __future__ import annotations

import random
import re
import textwrap
import warnings
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from tests.simulator.environment.evidence.program_parts import (
    BLOCKS,
    EXPRESSIONS,
    HEAD,
    LEAVES,
    RETURNS,
    STATEMENTS,
)

Scope = dict[str, list[str]]
_PLACE = re.compile(r"\$(N\.|V\.)?([a-z]+)")
KINDS = ("int", "str", "li", "d", "bool", "float", "n")
ANNOTATIONS = {
    "int": "int", "str": "str", "li": "list[int]", "d": "dict[str, int]", "bool": "bool", "float": "float",
    "n": "int | None",
}  # fmt: skip


class CannotError(Exception):
    """A template asks for a variable of a kind that there is none of."""


@dataclass(frozen=True)
class Program:
    """A program, the tool's name in it, and the arguments of a call."""

    text: str
    arguments: dict[str, JsonValue]
    name: str = "tool"


@dataclass
class Writer:
    """Writes one program.

    Args:
        seed: Where its chance comes from.
    """

    seed: str
    made: int = 0
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)  # noqa: S311 - a program that comes again under its seed

    def program(self) -> Program:
        """Return a program and the arguments of a call of its tool."""
        while True:
            program = self._program()
            try:
                with warnings.catch_warnings(action="ignore"):
                    compile(program.text, "program.py", "exec")
            except SyntaxError:
                continue
            return program

    def _program(self) -> Program:
        rng = self.rng
        scope: Scope = {
            "int": ["LIMIT"],
            "li": ["TABLE['y']"],
            "d": ["RATES"],
            "dl": [],
            "ls": ["NAMES"],
            "t": ["PAIR"],
        }
        scope |= {"str": ["TITLE"], "bool": [], "float": [], "n": [], "box": []}
        parameters: list[str] = []
        arguments: dict[str, JsonValue] = {}
        for number in range(rng.randint(1, 3)):
            kind = rng.choice(KINDS)
            default = f" = {self._leaf(kind, {})}" if number and rng.random() < 0.3 else ""
            if number and parameters[-1].find("=") > 0 and not default:
                default = f" = {self._leaf(kind, {})}"
            name = f"p{number}"
            parameters.append(f"{name}: {ANNOTATIONS[kind]}{default}")
            scope[kind] = [*scope[kind], name]
            if not default or rng.random() < 0.5:
                arguments[name] = eval(self._leaf(kind, {}))  # noqa: S307 - a literal of ours
        body = self._block(scope, rng.choice((1, 2, 3, 4, 5)), 2)
        ended = f"{body}\n{self._ending(scope)}"
        decorator = rng.choice(["", "", "", "", "", "", "", "", "@same\n", "@noted\n", "@twice(2)\n"])
        is_async = rng.random() < 0.1 and not decorator
        line = f"{'async ' if is_async else ''}def tool({', '.join(parameters)}):"
        if "bump(" in ended and rng.random() < 0.5:
            ended = f"global COUNT\nCOUNT += 1\n{ended}"
        text = f"{HEAD}\n\n{decorator}{line}\n{textwrap.indent(ended, '    ')}\n"
        return Program(text, arguments)

    def _ending(self, scope: Scope) -> str:
        while True:
            try:
                return self._filled(self.rng.choice(RETURNS), scope, 2)
            except CannotError:
                continue

    def _block(self, scope: Scope, size: int, depth: int) -> str:
        return "\n".join(self._statement(scope, depth) for _ in range(size))

    def _statement(self, scope: Scope, depth: int) -> str:
        while True:
            compound = depth > 0 and self.rng.random() < 0.4
            template = self.rng.choice(BLOCKS if compound else STATEMENTS)
            try:
                return (
                    self._compound(template, scope, depth) if compound else self._filled(template, scope, 2)
                )
            except CannotError:
                continue

    def _compound(self, template: str, scope: Scope, depth: int) -> str:
        inner: Scope = {kind: list(names) for kind, names in scope.items()}
        lines = []
        self.made += 1
        for line in template.replace("COUNTER", f"i{self.made}").split("\n"):
            if line.strip() != "$B":
                lines.append(self._filled(line, inner, 1))
                continue
            own: Scope = {kind: list(names) for kind, names in inner.items()}
            block = self._block(own, self.rng.choice((1, 1, 2)), depth - 1)
            lines.append(textwrap.indent(block, line[: len(line) - len(line.lstrip())]))
            if self.rng.random() < 0.1:  # what a block binds is sometimes used after it
                inner = own
        if self.rng.random() < 0.1:
            for kind, names in inner.items():
                scope[kind] = list(names)
        return "\n".join(lines)

    def _filled(self, template: str, scope: Scope, depth: int) -> str:
        """Fill the places of a template: values before the names that it binds."""
        bound: list[tuple[str, str]] = []

        def put(match: re.Match[str]) -> str:
            mark, kind = match[1], match[2]
            if mark == "N.":
                name = self._new(kind, scope)
                bound.append((kind, name))
                return name
            if mark == "V.":
                if not scope.get(kind):
                    raise CannotError(kind)
                return self.rng.choice(scope[kind])
            return self._expression(kind, scope, depth)

        text = _PLACE.sub(put, template)
        for kind, name in bound:
            if name not in scope[kind]:
                scope[kind].append(name)
        return text

    def _new(self, kind: str, scope: Scope) -> str:
        old = [name for name in scope[kind] if name.isidentifier() and not name.isupper()]
        if old and self.rng.random() < 0.3:
            return self.rng.choice(old)
        self.made += 1
        return f"{kind}{self.made}"

    def _expression(self, kind: str, scope: Scope, depth: int) -> str:
        rng = self.rng
        if kind == "any":
            kind = rng.choice(("int", "str", "li", "d", "bool", "float", "n", "ls", "t", "dl"))
        if kind in EXPRESSIONS:
            if scope.get(kind) and rng.random() < 0.5:
                return rng.choice(scope[kind])
            if depth > 0:
                for _ in range(3):
                    try:
                        return self._filled(rng.choice(EXPRESSIONS[kind]), scope, depth - 1)
                    except CannotError:
                        continue
        return self._leaf(kind, scope)

    def _leaf(self, kind: str, scope: Scope) -> str:
        return self._filled(self.rng.choice(LEAVES[kind]), scope, 0)


def copied_arguments(program: Program) -> dict[str, Any]:
    """Return the arguments anew, so that a call may change them."""
    found: dict[str, Any] = eval(repr(program.arguments))  # noqa: S307 - literals of ours
    return found
