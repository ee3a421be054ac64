"""Reads random programs and runs them: what is called known is what running gives.

`EVIDENCE_PROGRAMS=10000` tries as many; `EVIDENCE_SEED` draws others.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import NamedTuple

import pytest

from simulator.environment.evidence.tool_returns import read_returns
from tests.simulator.environment.evidence.programs import Program, Writer, copied_arguments
from tests.simulator.environment.evidence.running import Ended, ends_of, ends_so, function_of, is_known, ran

FEW, PROGRAMS = 30, int(os.environ.get("EVIDENCE_PROGRAMS", "400"))
SEED = os.environ.get("EVIDENCE_SEED", "one")
CHANCES = (1, 2, 3)
LEAST_KNOWN = 0.4


class Judged(NamedTuple):
    """What is wrong with the reading of a program, and whether its outcome is known for certain."""

    wrong: str
    is_known: bool


def judged(program: Program, ends: list[Ended]) -> Judged:
    """Compare the reading of a program with how it ended each time."""
    arguments = copied_arguments(program)
    reading = read_returns(function_of(program.text, program.name), arguments)
    certain = [one for one in reading.outcomes if one.certain]
    wrong = "" if arguments == program.arguments else "the arguments are changed"
    if len(certain) > 1:
        wrong = "two outcomes are certain"
    for end in ends:
        if any(not ends_so(one, end) for one in certain):
            wrong = f"certain: {certain[0]}, and in truth {end}"
        elif (
            reading.complete
            and not end.raises
            and not any(ends_so(one, end) for one in reading.outcomes if one.possible)
        ):
            wrong = f"complete: {[one for one in reading.outcomes if one.possible]}, and in truth {end}"
    return Judged(wrong, any(is_known(one.value) and is_known(one.message) for one in certain))


@pytest.mark.parametrize("programs", [FEW, pytest.param(PROGRAMS, marks=pytest.mark.long)])
def test_what_is_called_known_is_what_running_gives(programs: int) -> None:
    """Each certain outcome is what CPython does, types and order of keys included; two of five outcomes are known."""
    counted: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(programs):
        program = Writer(f"{SEED}-{number}").program()
        every = ends_of(program, CHANCES)
        ends = [end for end in every if end is not None]
        if len(ends) < len(every):
            counted["not run"] += 1
            continue
        found = judged(program, ends)
        counted["run"] += 1
        counted["known"] += found.is_known
        if found.wrong:
            tool = program.text[program.text.index("half =") :]
            wrong.append(f"{SEED}-{number}: {found.wrong}\n{program.arguments}\n{tool}")
    assert not wrong, f"{len(wrong)} of {counted['run']}:\n" + "\n\n".join(wrong[:5])
    assert counted["known"] >= LEAST_KNOWN * counted["run"], counted
    assert counted["not run"] < 0.1 * programs, counted


def test_programs_are_the_same_for_a_seed() -> None:
    """A program that was found wrong comes again under its seed, and does the same again."""
    for number in range(3):
        first, second = (Writer(f"again-{number}").program() for _ in range(2))
        assert first == second
        assert ran(first, 1) == ran(second, 1)
