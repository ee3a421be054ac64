"""The command `golden-trace export`: writes an eval set, or some of its cases, in the forms that others read."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalset.cli.agent_and_file import check_readable
from evalset.cli.terminal_output import output
from evalset.exporting.pytest_file import OPENING
from simulator.base.atomic_files import write_whole
from simulator.base.documents import read_file

if TYPE_CHECKING:
    from google.adk.evaluation.eval_case import EvalCase
    from google.adk.workflow import BaseNode

    from evalset.exporting.export_forms import Exported

FORMS = {
    "evalset": "an eval set with its recorded tool responses and reviews",
    "dataset": "an evaluation dataset for `agents-cli eval`, a case for each turn, with its recorded tool responses",
    "pytest": "a pytest file that replays the set without an API key",
    "adk_test": "tests for `adk test`",
    "scenarios": "ADK's scenario file",
    "simulation_json": "ADK's EnvironmentSimulationConfig as JSON",
    "simulation_yaml": "the same in YAML",
    "simulation_python": "the same in Python",
}
DONE, LOSSES, BAD_INPUT = 0, 1, 2
CODES = (
    "Exit codes: 0 done; 1 with --strict, the format cannot represent everything, and nothing was written; 2 bad input, or a "
    "file that cannot be written."
)


class _RefusedError(ValueError):
    """The export cannot be made as asked; the text says why."""


def main(argv: Sequence[str], *, prog: str = "golden-trace export") -> int:
    """Run the command, and return its exit code.

    Args:
        argv: The arguments behind `export`.
        prog: What started it, for the help.
    """
    given = _parser(prog).parse_args(argv)
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    from evalset.cli.progress_line import plain  # noqa: PLC0415 - `--help` waits for no ADK

    try:
        return _carried_out(given)
    except BrokenPipeError:
        raise
    except OSError as error:
        told = f"{error.filename or given.out}: {error.strerror or error}"
    except ValueError as error:  # an ExportError, a VerifyError, or one of ours
        told = str(error)
    sys.stderr.write(plain(f"error: {told}") + "\n")
    return BAD_INPUT


def _parser(prog: str) -> argparse.ArgumentParser:
    forms = "; ".join(f"{name}: {about}" for name, about in FORMS.items())
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Write an eval set, or some of its cases, in another format.",
        epilog=f"Formats: {forms}. {CODES}",
        allow_abbrev=False,
    )
    parser.add_argument("set", type=Path, metavar="SET", help="the eval set")
    parser.add_argument(
        "--form", required=True, choices=tuple(FORMS), metavar="FORM", help="one of the formats below"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="PLACE",
        help="a folder, a .zip file, or - for standard output (default: the current folder; for a dataset of an agents-cli project, the "
        "project's folder of datasets)",
    )
    parser.add_argument(
        "--case", action="append", default=[], metavar="ID", help="export only this case; repeatable"
    )
    parser.add_argument(
        "--name", default="", help="the base name of the written files (default: that of the eval set)"
    )
    parser.add_argument(
        "--environment",
        type=Path,
        metavar="FILE",
        help="the recorded environment (default: the file next to the set)",
    )
    _add_of_forms(parser)
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.add_argument(
        "--strict", action="store_true", help="write nothing if the format cannot represent everything"
    )
    parser.add_argument("--json", action="store_true", help="write the result as one JSON object")
    return parser


def _add_of_forms(parser: argparse.ArgumentParser) -> None:
    """Add what is only for some of the formats."""
    parser.add_argument(
        "--agent",
        default="",
        metavar="AGENT",
        help="the agent of all cases: a folder, a file of configs (with #name if there are several), or a demo agent. For pytest if the "
        "test file does not find it in its own folder; for dataset to add instructions and tool declarations",
    )
    parser.add_argument(
        "--agents-dir", type=Path, metavar="DIR", help="for pytest: a folder of one or more agents"
    )
    parser.add_argument(
        "--metrics",
        action="store_true",
        help="for a dataset: add an eval_config.yaml with metrics for `agents-cli eval grade`",
    )


def _default_out(given: argparse.Namespace) -> Path:
    from evalset.datasets.agent_projects import project_of  # noqa: PLC0415 - as above

    project = project_of(given.set.absolute().parent) if given.form == "dataset" else None
    return project.datasets if project is not None else Path()


def _carried_out(given: argparse.Namespace) -> int:
    given.out = _default_out(given) if given.out is None else given.out
    to_stdout = str(given.out) == "-"
    if to_stdout and given.json:
        raise _RefusedError("--json and --out - both write to standard output; use only one of them")
    exported = _exported(given)
    if to_stdout:
        exported = _without_reviews(exported)
    for loss in exported.losses:
        sys.stderr.write(f"{'error' if given.strict else 'warning'}: {loss}\n")
    if given.strict and exported.losses:
        sys.stderr.write("nothing was written (--strict)\n")
        return LOSSES
    if to_stdout:
        if len(exported.files) > 1:
            raise _RefusedError(
                f"the format {given.form} has {len(exported.files)} files; name a folder with --out"
            )
        output().write(exported.files[0].text)
        return DONE
    written = _write(_in_place(exported, given), given.out, force=given.force)
    if given.json:
        result = {"files": [str(path) for path in written], "losses": list(exported.losses)}
        output().write(json.dumps(result, ensure_ascii=False) + "\n")
    else:
        output().writelines(f"{path}\n" for path in written)
    return DONE


def _exported(given: argparse.Namespace) -> Exported:
    if given.metrics and given.form != "dataset":
        raise _RefusedError("--metrics is only for --form dataset")
    check_readable(given.set)
    from evalset.exporting.export_forms import export_cases  # noqa: PLC0415 - `--help` waits for no ADK
    from evalset.files.eval_names import base_name, no_case  # noqa: PLC0415 - as above
    from evalset.recorded.recording import unsure_in  # noqa: PLC0415 - as above
    from evalset.recorded.recording_files import recording_of  # noqa: PLC0415 - as above
    from evalset.verify.cases_to_verify import read_recorded_set  # noqa: PLC0415 - as above

    environment = given.environment or recording_of(given.set)
    cases, recorded = read_recorded_set(given.set, environment)
    names = [case.eval_id for case in cases]
    if unknown := sorted(set(given.case) - {*names}):
        raise _RefusedError(f"--case: {no_case(given.set, unknown[0], names)}")
    if given.environment is not None and not given.environment.is_file():
        raise _RefusedError(f"--environment: no such file: {given.environment}")
    chosen = [case for case in cases if not given.case or case.eval_id in given.case]
    exported = export_cases(
        chosen,
        given.form,
        environments=recorded,
        name=given.name or base_name(given.set),
        agents_dir=_agents_dir(given),
        agent=_agent(given.agent),
        reviews=_reviews(given, chosen),
        root_agent=_root_agent(given.agent) if given.form == "dataset" else None,
        metrics=given.metrics,
    )
    held = [(case.eval_id, recorded.cases[case.eval_id]) for case in chosen if case.eval_id in recorded.cases]
    unsure = [f"{eval_id}: {line}" for eval_id, each in held for lines in unsure_in(each) for line in lines]
    return exported._replace(losses=(*exported.losses, *unsure))


def _reviews(given: argparse.Namespace, cases: Sequence[EvalCase]) -> str:
    """Return the file of reviews for cases; empty where they have none."""
    from evalset.editing.case_reviews import NO_REVIEW, review_of_copy  # noqa: PLC0415 - `--help` waits for no ADK
    from evalset.editing.opened_set import open_set  # noqa: PLC0415 - as above
    from evalset.editing.reviews_beside import open_reviews, reviews_text  # noqa: PLC0415 - as above
    from evalset.files.case_text import case_json  # noqa: PLC0415 - as above

    beside = open_reviews(given.set)
    if beside.text is None:
        return ""
    if beside.trouble:
        raise _RefusedError(beside.trouble)
    opened = open_set(given.set)
    before = {row.eval_id: opened.case(row.key) for row in opened.rows}
    found = {
        case.eval_id: review_of_copy(review, before[case.eval_id], json.loads(case_json(case)))
        for case in cases
        if (review := beside.reviews.get(case.eval_id, NO_REVIEW)) != NO_REVIEW
    }
    return reviews_text(found).decode() if found else ""


def _without_reviews(exported: Exported) -> Exported:
    """Leave the reviews out of what goes to standard output, and say so."""
    files = tuple(file for file in exported.files if not file.path.endswith(".review.json"))
    if len(files) == len(exported.files):
        return exported
    words = "standard output takes one file, so the reviews are left out; name a folder with --out"
    return exported._replace(files=files, losses=(*exported.losses, words))


def _in_place(exported: Exported, given: argparse.Namespace) -> Exported:
    """Leave the eval set out where a pytest file is written beside it: the file then replays the set itself."""
    beside = not _is_archive(given.out) and given.out.expanduser().resolve() == given.set.resolve().parent
    if given.form != "pytest" or not beside:
        return exported
    test, eval_set, *_ = exported.files
    text = test.text.replace(f"with_name({eval_set.path!r})", f"with_name({given.set.name!r})", 1)
    return exported._replace(files=(test._replace(text=text),))


def _agents_dir(given: argparse.Namespace) -> str:
    """Return the folder of the agents from the folder of the test file; whole where they are written into an archive."""
    if given.agents_dir is None:
        return ""
    folder = given.agents_dir.expanduser().absolute()
    if not folder.is_dir():
        raise _RefusedError(f"--agents-dir: no such folder: {folder}")
    return str(folder) if _is_archive(given.out) else os.path.relpath(folder, given.out.absolute())


def _agent(words: str) -> str:
    """Return the words for an agent as they hold in any folder."""
    from simulator.agents import absolute_agent  # noqa: PLC0415 - as above

    return absolute_agent(words) if words else ""


def _root_agent(words: str) -> BaseNode | None:
    """Load the agent that was named; None for none."""
    from simulator.agents import agent_named  # noqa: PLC0415 - as above
    from simulator.kernel.kernel_loader import KernelLoader  # noqa: PLC0415 - as above

    return agent_named(words, KernelLoader()).root_agent if words else None


def _is_archive(out: Path) -> bool:
    return out.suffix == ".zip" and not out.is_dir()


def _is_taken(path: Path, content: bytes) -> bool:
    """Return whether another file stands there; a test file that an export wrote before is ours to write anew."""
    if not path.exists():
        return False
    before = read_file(path)
    return before != content and not (path.suffix == ".py" and before.startswith(OPENING.encode()))


def _write(exported: Exported, out: Path, *, force: bool) -> list[Path]:
    if _is_archive(out):
        contents = {out: exported.content}
    else:
        contents = {out / file.path: file.text.encode() for file in exported.files}
    taken = [path for path, content in contents.items() if _is_taken(path, content)]
    if taken and not force:
        raise _RefusedError(f"{taken[0]} already exists; overwrite it with --force. Nothing was written")
    for path, content in reversed(contents.items()):  # a set is never there without its recording
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path.resolve(), [content])
    return list(contents)
