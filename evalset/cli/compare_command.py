"""The command `golden-trace compare`: says which cases got better, worse or flaky from one kept run to another."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalset.cli.terminal_output import output

if TYPE_CHECKING:
    from evalset.kept_runs.kept_run import KeptRun
    from evalset.kept_runs.run_comparison import ComparedCase, RunComparison

DONE, WORSE, BAD_INPUT = 0, 1, 2
CODES = (
    "Exit codes: 0 no case got worse; 1 a case got worse, is flaky, or is new and does not pass; 2 bad usage, or a file that cannot "
    "be read."
)


def main(argv: Sequence[str], *, prog: str = "golden-trace compare") -> int:
    """Run the command, and return its exit code.

    Args:
        argv: The arguments behind `compare`.
        prog: What started it, for the help.
    """
    given = _parser(prog).parse_args(argv)
    from evalset.cli.progress_line import plain  # noqa: PLC0415 - `--help` waits for nothing
    from evalset.kept_runs.run_comparison import compare_runs  # noqa: PLC0415 - as above
    from evalset.kept_runs.run_files import KeptRunError, last_two, read_run  # noqa: PLC0415 - as above

    try:
        files = (given.before, given.after) if given.after is not None else last_two(given.before)
        before, after = map(read_run, files)
    except KeptRunError as error:
        sys.stderr.write(plain(f"error: {error}") + "\n")
        return BAD_INPUT
    found = compare_runs(before, after)
    if given.json:
        counts = {"is_worse": found.is_worse, "exit_code": WORSE if found.is_worse else DONE}
        output().write(json.dumps({**counts, **found.model_dump(mode="json")}, ensure_ascii=False) + "\n")
    else:
        output().write(plain("\n".join([*_lines(before, after, found), ""])))
    return WORSE if found.is_worse else DONE


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Compare two runs that `golden-trace verify --save` has kept: which cases got better, worse or flaky, and which "
        "are new or gone. A case is flaky if only some of its runs passed, or if its result changed although the set, the recording, "
        "the agent, google-adk and golden-trace-studio are the same. A case that was stopped in one of them is left out.",
        epilog=CODES,
        allow_abbrev=False,
    )
    parser.add_argument(
        "before",
        type=Path,
        metavar="A",
        help="the earlier run: a file in .golden-trace/runs. Without B, an eval set: its last two runs are compared",
    )
    parser.add_argument("after", type=Path, metavar="B", nargs="?", help="the later run")
    parser.add_argument("--json", action="store_true", help="write the result as one JSON object")
    return parser


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
