"""The command `golden-trace export`: writes an eval set, or some of its cases, in the forms that others read."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalset.cli.command_frame import (
    ENVIRONMENT,
    RESULT,
    ShellCommand,
    UsageError,
    check_readable,
    file_option,
    flag,
    option,
    repeated,
)
from evalset.cli.terminal_output import DONE, ProgressLine, output
from simulator.base.documents import read_file
from simulator.base.user_files import write_whole

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
LOSSES = 1
CODES = (
    "Exit codes: 0 done; 1 with --strict, the format cannot represent everything, and nothing was written; 2 bad input, or a "
    "file that cannot be written."
)


def _default_out(given: argparse.Namespace) -> Path:
    from evalset.files.datasets import project_of  # noqa: PLC0415 - as above

    project = project_of(given.set.absolute().parent) if given.form == "dataset" else None
    return project.datasets if project is not None else Path()


def _carried_out(given: argparse.Namespace, _: ProgressLine) -> int:
    given.out = _default_out(given) if given.out is None else given.out
    to_stdout = str(given.out) == "-"
    if to_stdout and given.json:
        raise UsageError("--json and --out - both write to standard output; use only one of them")
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
            raise UsageError(
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
        raise UsageError("--metrics is only for --form dataset")
    check_readable(given.set)
    from evalset.exporting.export_forms import export_cases  # noqa: PLC0415 - `--help` waits for no ADK
    from evalset.files.eval_names import base_name, no_case  # noqa: PLC0415 - as above
    from evalset.recorded.recording import unsure_in  # noqa: PLC0415 - as above
    from evalset.recorded.recording_files import recording_of  # noqa: PLC0415 - as above
    from evalset.verify.cases_to_verify import read_recorded_set  # noqa: PLC0415 - as above
    from simulator.agents import UnknownAgentError, absolute_agent  # noqa: PLC0415 - as above
    from simulator.agents.named_agent import require_agent  # noqa: PLC0415 - as above

    environment = given.environment or recording_of(given.set)
    cases, recorded = read_recorded_set(given.set, environment)
    names = [case.eval_id for case in cases]
    if unknown := sorted(set(given.case) - {*names}):
        raise UsageError(f"--case: {no_case(given.set, unknown[0], names)}")
    if given.environment is not None and not given.environment.is_file():
        raise UsageError(f"--environment: no such file: {given.environment}")
    if given.agent:
        try:
            require_agent(given.agent)
        except UnknownAgentError as error:
            raise UsageError(f"--agent: {error}") from error
    chosen = [case for case in cases if not given.case or case.eval_id in given.case]
    exported = export_cases(
        chosen,
        given.form,
        environments=recorded,
        name=given.name or base_name(given.set),
        agents_dir=_agents_dir(given),
        agent=absolute_agent(given.agent) if given.agent else "",
        reviews=_reviews(given, chosen),
        root_agent=_root_agent(given.agent) if given.form == "dataset" else None,
        metrics=given.metrics,
    )
    held = [(case.eval_id, recorded.cases[case.eval_id]) for case in chosen if case.eval_id in recorded.cases]
    unsure = [f"{eval_id}: {line}" for eval_id, each in held for lines in unsure_in(each) for line in lines]
    return exported._replace(losses=(*exported.losses, *unsure))


def _reviews(given: argparse.Namespace, cases: Sequence[EvalCase]) -> str:
    """Return the file of reviews for cases; empty where they have none."""
    from evalset.editing.opened_set import open_set  # noqa: PLC0415 - as above
    from evalset.editing.sidecars import NO_REVIEW, open_reviews, review_of_copy, reviews_text  # noqa: PLC0415 - `--help` waits for no ADK  # noqa: PLC0415 - as above
    from evalset.files.case_text import case_json  # noqa: PLC0415 - as above

    beside = open_reviews(given.set)
    if beside.text is None:
        return ""
    if beside.trouble:
        raise UsageError(beside.trouble)
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
        raise UsageError(f"--agents-dir: no such folder: {folder}")
    return str(folder) if _is_archive(given.out) else os.path.relpath(folder, given.out.absolute())


def _root_agent(words: str) -> BaseNode | None:
    """Load the agent that was named; None for none."""
    from simulator.agents import agent_named  # noqa: PLC0415 - as above
    from simulator.kernel.kernel_agent import KernelLoader  # noqa: PLC0415 - as above

    return agent_named(words, KernelLoader()).root_agent if words else None


def _is_archive(out: Path) -> bool:
    return out.suffix == ".zip" and not out.is_dir()


def _is_taken(path: Path, content: bytes) -> bool:
    """Return whether another file stands there; a test file that an export wrote before is ours to write anew."""
    from evalset.exporting.export_forms import OPENING  # noqa: PLC0415 - `--help` waits for no ADK

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
        raise UsageError(f"{taken[0]} already exists; overwrite it with --force. Nothing was written")
    for path, content in reversed(contents.items()):  # a set is never there without its recording
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path.resolve(), [content])
    return list(contents)


main = ShellCommand(
    prog="golden-trace export",
    about="Write an eval set, or some of its cases, in another format.",
    codes=f"Formats: {'; '.join(f'{name}: {about}' for name, about in FORMS.items())}. {CODES}",
    options={
        "set": file_option("the eval set", "SET"),
        "--form": option("one of the formats below", "FORM", required=True, choices=tuple(FORMS)),
        "--out": file_option(
            "a folder, a .zip file, or - for standard output (default: the current folder; for a dataset of an agents-cli project, the "
            "project's folder of datasets)",
            "PLACE",
        ),
        "--case": repeated("export only this case", "ID"),
        "--name": option("the base name of the written files (default: that of the eval set)", default=""),
        **ENVIRONMENT,
        "--agent": option(
            "the agent of all cases: a folder, a file of configs (with #name if there are several), or a demo agent. For pytest if the "
            "test file does not find it in its own folder; for dataset to add instructions and tool declarations",
            "AGENT",
            default="",
        ),
        "--agents-dir": file_option("for pytest: a folder of one or more agents", "DIR"),
        "--metrics": flag("for a dataset: add an eval_config.yaml with metrics for `agents-cli eval grade`"),
        "--force": flag("overwrite existing files"),
        "--strict": flag("write nothing if the format cannot represent everything"),
        **RESULT,
    },
    work=_carried_out,
)
