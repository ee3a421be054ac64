"""The command `golden-trace compare`: says which cases got better, worse or flaky from one kept run to another."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalset.cli.command_frame import RESULT, ShellCommand, file_option
from evalset.cli.terminal_output import DONE, ProgressLine, output, plain

if TYPE_CHECKING:
    from evalset.kept_runs import ComparedCase, KeptRun, RunComparison

WORSE = 1
CODES = (
    "Exit codes: 0 no case got worse; 1 a case got worse, is flaky, or is new and does not pass; 2 bad usage, or a file that cannot "
    "be read."
)


def _compared(given: argparse.Namespace, _: ProgressLine) -> int:
    from evalset.kept_runs import (  # noqa: PLC0415 - as above
        compare_runs,
        last_two,
        read_run,
    )

    before, after = map(read_run, (given.before, given.after) if given.after else last_two(given.before))
    found = compare_runs(before, after)
    if given.json:
        counts = {"is_worse": found.is_worse, "exit_code": WORSE if found.is_worse else DONE}
        output().write(json.dumps({**counts, **found.model_dump(mode="json")}, ensure_ascii=False) + "\n")
    else:
        output().write(plain("\n".join([*_lines(before, after, found), ""])))
    return WORSE if found.is_worse else DONE


main = ShellCommand(
    prog="golden-trace compare",
    about="Compare two runs that `golden-trace verify --save` has kept: which cases got better, worse or flaky, and which "
    "are new or gone. A case is flaky if only some of its runs passed, or if its result changed although the set, the recording, "
    "the agent, google-adk and golden-trace-studio are the same. A case that was stopped in one of them is left out.",
    codes=CODES,
    options={
        "before": file_option(
            "the earlier run: a file in .golden-trace/runs. Without B, an eval set: its last two runs are compared",
            "A",
        ),
        "after": file_option("the later run", "B", nargs="?"),
        **RESULT,
    },
    work=_compared,
)


def _lines(before: KeptRun, after: KeptRun, found: RunComparison) -> Iterator[str]:
    for name, run in (("A", before), ("B", after)):
        about = ", ".join(filter(None, (run.counts, f"google-adk {run.adk}" if run.adk else "", *run.models)))
        yield f"{name}: {run.eval_set}, {run.at}: {about}"
        if run.network is not None and run.network.sentence:
            yield f"   {run.network.sentence}"
    yield f"changed: {', '.join(found.changed) or 'nothing'}"
    for case in found.cases:
        if case.change != "same":
            yield from _case_lines(case)
    yield found.counts


def _case_lines(case: ComparedCase) -> Iterator[str]:
    yield f"{case.change.upper()} {case.eval_id}: {case.words}"
    if case.after is None or not case.after.why:
        return
    yield f"    {case.after.why}"
    if case.after.divergence is not None:
        yield f"      golden: {case.after.divergence.golden}"
        yield f"      actual: {case.after.divergence.actual}"
