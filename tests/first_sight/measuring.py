"""Measures drafts on tools of others, as CONTRIBUTING says under "First sight".

    python -m tests.first_sight.measuring FOLDER [--list NAME] [--csv FILE] [--drafter PROGRAM] [--code FOLDER]

FOLDER holds the checkouts that the list names (`tools.json`, or `--list tools_second.json`); each that is missing is named, and its tools are left out. `--code` takes the drafts from another checkout of this repository,
`--drafter` from a program that reads and writes what `drafter.py` does.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from faker import Faker
from pydantic import JsonValue

from simulator.environment.evidence.tool_returns import read_returns
from tests.first_sight.calls import code_of, constants, declared
from tests.first_sight.checkouts import Checkout
from tests.first_sight.choosing import AT_LEAST, HOME, LIST, ROOT, Tool, folder_of
from tests.first_sight.comparing import Known, are_equal, have_same_shape, is_marked, leaves
from tests.first_sight.finding import Found
from tests.first_sight.running import ran
from tests.first_sight.slices import sliced

SEED = "first sight"


@dataclass
class Row:
    """What was measured of one tool."""

    tool: str
    computes: bool
    equal: bool = False
    same_shape: bool = False
    usable: bool = False
    unreadable: bool = False
    unsourced: int = 0
    drawn: int = 0
    blanks: int = 0
    is_guess: bool = False
    why: str = ""
    draft: str = ""
    real: str = ""
    what: str = ""


@dataclass
class Asked:
    """A tool with all that is known of it."""

    tool: Tool
    question: dict[str, Any]
    known: Known
    real: JsonValue
    computes: bool
    unreadable: bool


@cache
def _checkout(root: Path) -> Checkout:
    return Checkout(root)


def asked_of(folder: Path, tool: Tool) -> Asked:
    """Gather what a draft is asked with, and run the tool where it only computes."""
    root = folder_of(folder, tool.repository)
    checkout = _checkout(root)
    file = checkout.file(tool.path)
    function = file.function(tool.function) if file else None
    if function is None:
        raise LookupError(f"{tool.repository}: {tool.path} has no function {tool.function}")
    declaration, code = declared(function), code_of(root, tool.path, function)
    found = Found(tool.path, function)
    done = ran(found, sliced(checkout, found), tool.arguments) if tool.computes else None
    reading = read_returns(code, tool.arguments, state={})
    question = {
        "tool_name": declaration.name,
        "description": declaration.description,
        "parameters": declaration.parameters,
        "response_schema": declaration.response,
        "arguments": tool.arguments,
        "seed": SEED,
        "code": {
            "module": asdict(code.module), "name": code.name, "line": code.line,
            "project": {name: asdict(module) for name, module in code.project.items()},
        },
    }  # fmt: skip
    decided: list[Any] = [outcome.value for outcome in reading.outcomes] + ([done.value] if done else [])
    given = [value for _, value in leaves(tool.arguments)]
    told = "\n".join(
        [declaration.description, json.dumps(declaration.parameters), json.dumps(declaration.response)]
    )
    known = Known([*constants(code), *given], told, decided, declaration.response)
    computes = done is not None and not done.problem
    return Asked(tool, question, known, done.value if done else None, computes, not reading.outcomes)


def drafts_of(asked: Sequence[Asked], drafter: Path, code: Path) -> list[dict[str, Any]]:
    """Have the answers drafted, in a process of its own."""
    lines = "".join(json.dumps(one.question) + "\n" for one in asked)
    environment = {**os.environ, "PYTHONPATH": str(code)}
    done = subprocess.run(
        [sys.executable, drafter], input=lines, capture_output=True, text=True, check=True, env=environment, cwd=code
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def row_of(asked: Asked, draft: dict[str, Any]) -> Row:
    """Judge a draft."""
    tool, value = asked.tool, draft["value"]
    blanks = draft.get("blanks", [])
    row = Row(f"{tool.repository}:{tool.path}:{tool.function}", asked.computes, unreadable=asked.unreadable)
    row.blanks, row.is_guess, row.why = len(blanks), draft.get("is_guess", False), draft.get("why") or ""
    row.draft = json.dumps(value, ensure_ascii=False)
    open_ended = [
        (path, one)
        for path, one in leaves(value)
        if not is_marked(path, blanks) and not asked.known.holds(path, one)
    ]
    drawn = [
        path
        for path, one in open_ended
        if isinstance(one, str) and hasattr(Faker, "seed") and _is_drawn(path)
    ]
    row.drawn, row.unsourced = len(drawn), len(open_ended) - len(drawn)
    row.what = "; ".join(f"{path} = {json.dumps(one)}" for path, one in open_ended if path not in drawn)
    has_failed = bool(draft.get("problem"))
    row.what = draft["problem"] if has_failed else row.what
    if asked.computes:
        row.real = json.dumps(asked.real, ensure_ascii=False)
        row.equal = not has_failed and not blanks and are_equal(value, asked.real)
        row.same_shape = not has_failed and have_same_shape(value, asked.real)
    row.usable = row.equal if asked.computes else not (has_failed or blanks or open_ended or row.is_guess)
    return row


_FAKER = Faker()


def _is_drawn(path: str) -> bool:
    """Return whether Faker has a provider for the name of a field."""
    name = path.rpartition(".")[2].partition("[")[0]
    return name.isidentifier() and not name.startswith("_") and hasattr(_FAKER, name)


def table(rows: Sequence[Row]) -> str:
    """Return the figures of both groups."""
    lines = [
        f"{'':16}{'tools':>7}{'equal':>12}{'same shape':>12}{'usable':>12}{'unreadable':>12}{'unsourced':>12}{'drawn':>7}"
    ]
    for name, group in (("only compute", [row for row in rows if row.computes]), ("all", list(rows))):
        parts = [
            sum(getattr(row, field) for row in group)
            for field in ("equal", "same_shape", "usable", "unreadable")
        ]
        shares = [f"{count} ({100 * count / max(1, len(group)):.0f} %)" for count in parts]
        if name == "all":
            shares[:2] = ["", ""]
        unsourced = f"{sum(row.unsourced for row in group)} in {sum(bool(row.unsourced) for row in group)}"
        drawn = sum(row.drawn for row in group)
        lines.append(
            f"{name:16}{len(group):>7}"
            + "".join(f"{one:>12}" for one in (*shares, unsourced))
            + f"{drawn:>7}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--list", choices=[*AT_LEAST], default=LIST.name)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--drafter", type=Path, default=Path(__file__).with_name("drafter.py"))
    parser.add_argument("--code", type=Path, default=ROOT)
    options = parser.parse_args()
    listed = [Tool(**one) for one in json.loads((HOME / options.list).read_text())["tools"]]
    missing = [
        name
        for name in dict.fromkeys(tool.repository for tool in listed)
        if not folder_of(options.folder, name).is_dir()
    ]
    for name in missing:
        sys.stderr.write(f"not measured: {name} has no checkout at {folder_of(options.folder, name)}\n")
    tools = [tool for tool in listed if tool.repository not in missing]
    if not tools:
        raise SystemExit("no checkout is there, so nothing was measured")
    asked = [asked_of(options.folder, tool) for tool in tools]
    drafts = drafts_of(asked, options.drafter, options.code)
    rows = [row_of(one, draft) for one, draft in zip(asked, drafts, strict=True)]
    print(table(rows))  # noqa: T201 - a program
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(asdict(rows[0])))
            writer.writeheader()
            writer.writerows(map(asdict, rows))


if __name__ == "__main__":
    main()
