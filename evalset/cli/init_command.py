"""The command `golden-trace init ci`: writes what a project needs so that its goldens are tested with each change. Overwrites nothing."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple, get_args
from urllib.parse import urlsplit
from urllib.request import url2pathname

from evalset.adk_runs.eval_results import HISTORY
from evalset.cli.command_frame import ShellCommand, UsageError, file_option, flag, option
from evalset.cli.terminal_output import DONE, ProgressLine, output
from evalset.files.datasets import ENDING, project_of
from evalset.files.eval_names import files_below
from evalset.replay.model_choice import IN_TESTS, Models
from simulator.agents.agent_folder import agent_above

LEFT_ALONE = 1
CODES = (
    "Exit codes: 0 all files are as they should be; 1 a file exists with other content and was left alone, the output shows what to "
    "add; 2 bad input, or a file that cannot be written."
)
_WORKFLOW = Path(".github", "workflows", "goldens.yml")
_HOOKS = Path(".pre-commit-config.yaml")
_ATTRIBUTES = Path(".gitattributes")
_ATTRIBUTE_LINES = (
    "*.evalset.json text eol=lf diff=golden-trace",
    f"*{ENDING} text eol=lf diff=golden-trace",
    "*.environment.json text eol=lf diff=golden-trace linguist-generated",
    "*.review.json text eol=lf",
)
_IGNORE = Path(".gitignore")
_IGNORE_LINES = (
    ".golden-trace/",
    f"**/{HISTORY.as_posix()}/",
    "*.json.[0-9]*.bak",
    "*.legacy-[0-9]*.json",
    ".*.json.lock",
    ".*.json.tmp",
)
"""What is written next to a set and is of one machine: kept runs, results of `adk eval`, copies of before a fix or a conversion, files of a write."""

NAMED_HUNKS = """git config diff.golden-trace.xfuncname '^( *"eval_(case_)?id": .*|    "[^"]*": [{])$'"""
"""Lets a diff name the case above each change; git takes no such setting from a file of the repository."""

_WORKFLOW_TEXT = """\
# Replays the golden traces with their recorded responses: no tool runs{models}.
name: goldens

on:
  pull_request:
  push:

permissions:
  contents: read

jobs:
  goldens:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v5
        with:
          persist-credentials: false
      - uses: actions/setup-python@v6
        with:
          python-version: "3.12"
{comment}      - run: {install}
      - run: {doctor} --strict {goldens}
      - run: {pytest} {goldens}
"""
_HOOKS_TEXT = """\
# `pre-commit install` sets both hooks.
default_install_hook_types: [pre-commit, pre-push]

repos:
"""
_HOOK_TEXT = """\
  - repo: local
    hooks:
      - id: goldens-doctor
        name: examine changed goldens
        entry: {doctor}
        language: system
        files: (\\.(evalset|environment)|-dataset)\\.json$
{exclude}        stages: [pre-commit]
      - id: goldens
        name: replay the goldens
        entry: {pytest} {goldens}
        language: system
        always_run: true
        pass_filenames: false
        stages: [pre-push]
"""


_ANSWERING: Mapping[Models, str] = {
    "recorded": ", no model is called, and no key is needed",
    "real": ". The agents' own models answer: give the job their keys",
    "auto": ". The agents' own models answer if the job has their keys, otherwise the recorded models",
}
_PACKAGE = "golden-trace-studio"
BLANK_ADDRESS = "ADDRESS"
"""Stands in a command that is shown where it is not known from which address CI can install this package."""
_UNKNOWN = f"{_PACKAGE} @ {BLANK_ADDRESS}"
"""Stands in the workflow then: pip refuses it, and installs no package of another that has the name."""
_HERE = Path(__file__).parents[2]
_NOT_THERE = f"{_PACKAGE} is not on PyPI yet: replace {BLANK_ADDRESS} with one that pip installs it from, or use --package"
_BLANK = f"{_PACKAGE} is not on PyPI yet, so the workflow cannot install it. Run this with an address that pip installs it from in place of {BLANK_ADDRESS}:"


class CiFile(NamedTuple):
    """What became of a file: its path, what was done, and what is left to add by hand."""

    path: Path
    done: str
    to_add: str = ""


def _installed_from(root: Path) -> str:
    """Return the address that pip installed this package from, as PEP 610 notes it; empty where it is none that CI reaches."""
    try:
        noted = json.loads(distribution(_PACKAGE).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        noted = {"url": _HERE.as_uri(), "dir_info": {}}  # the code runs from where it is
    url, source = str(noted.get("url", "")), noted.get("vcs_info", {})
    if not url.startswith("file:"):
        return f"{source['vcs']}+{url}@{source['commit_id']}" if source else url
    path = Path(url2pathname(urlsplit(url).path))
    if "dir_info" in noted:
        return _of_checkout(path)
    return f"./{path.relative_to(root).as_posix()}" if path.is_relative_to(root) else ""


@cache  # the page asks each time it is drawn
def _of_checkout(folder: Path) -> str:
    """Return the address of the commit of a checkout at the server that has it; empty where none does."""

    def git(*words: str) -> str:
        asked = ["git", "-C", str(folder), *words]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - git, of our own folder

    if not (folder / ".git").exists():
        return ""  # a repository around it is another one
    with suppress(OSError, subprocess.CalledProcessError):
        if branches := git("for-each-ref", "--contains=HEAD", "--format=%(refname)", "refs/remotes"):
            url = git("remote", "get-url", branches.split("/")[2])
            url = re.sub(r"^([^/:]+@[^/:]+):(?!//)", r"ssh://\1/", url)
            url = re.sub(r"^(https?://)[^/]*@", r"\1", url)  # nobody else gets the credentials
            return f"git+{url}@{git('rev-parse', 'HEAD')}" if "://" in url else ""
    return ""


def package_option(root: Path) -> list[str]:
    """Return the option that `init ci` needs in a command that is shown: with a blank where CI cannot install this package by itself."""
    return [] if _installed_from(root) else ["--package", BLANK_ADDRESS]


def _written(given: argparse.Namespace) -> list[CiFile]:
    root: Path = given.folder
    if given.package == BLANK_ADDRESS:
        raise UsageError(
            f"--package: replace {BLANK_ADDRESS} with an address that pip installs {_PACKAGE} from"
        )
    if not root.is_dir():
        raise UsageError(f"--folder: no such folder: {root}")
    for name in ("goldens", "agents_dir"):
        named = getattr(given, name)
        if named is not None and not (root / named).exists():
            raise UsageError(f"--{name.replace('_', '-')}: nothing at {root / named}")
    where = shlex.quote(given.goldens or _goldens(root))
    agents = f"--agents-dir {shlex.quote(given.agents_dir)}" if given.agents_dir else ""
    models = f"--models {given.models}" if given.models != IN_TESTS else ""
    words = " ".join(filter(None, (agents, models)))
    options = f" --goldens-options={shlex.quote(words)}" if words else ""
    around = agents or _agents_around(root, root / (given.goldens or ""))
    commands = {
        "install": f"python -m pip install {shlex.quote(given.package)} pytest{_needed(root)}",
        "doctor": f"golden-trace doctor {around}".rstrip(),
        "pytest": f"python -m pytest --goldens{options} -m golden",
        "goldens": where,
        "comment": f"      # {_NOT_THERE}.\n" if given.package == _UNKNOWN else "",
        "exclude": _exclude(root),
        "models": _ANSWERING[given.models],
    }
    hook = _HOOK_TEXT.format(**commands)
    return [
        _new(root / _WORKFLOW, _WORKFLOW_TEXT.format(**commands), force=given.force),
        _new(root / _HOOKS, f"{_HOOKS_TEXT}{hook}", to_add=hook),
        _with_attributes(root / _ATTRIBUTES),
        _with_lines(root / _IGNORE, _ignore_lines(root / _IGNORE)),
    ]


def _goldens(root: Path) -> str:
    """Return the folder that contains all eval sets, from the root folder.

    Raises:
        UsageError: There are none.
    """
    folders = {str(path.parent.relative_to(root)) for path in files_below(root) if _holds_goldens(path)}
    if not folders:
        raise UsageError(
            f"no *.evalset.json and no dataset in {root.absolute()}. Export a case first, or name a path with --goldens"
        )
    return os.path.commonpath(folders) or "."


def _agents_around(root: Path, goldens: Path) -> str:
    """Return the option of the doctor that names the agents in whose folders the goldens lie; empty unless that is one folder for all of them."""
    top, found = root.resolve(), set[Path]()
    for path in filter(_holds_goldens, files_below(goldens) if goldens.is_dir() else [goldens]):
        project, above = project_of(path.parent), agent_above(path, root)
        if above is not None:
            found.add(above if above == top else above.parent)
        elif project is not None and project.agent.is_dir():
            found.add(project.agent.resolve())
        else:
            return ""  # it may be another agent's
    places = [folder.relative_to(top) for folder in found if folder.is_relative_to(top)]
    return f"--agents-dir {shlex.quote(str(places[0]))}" if len(found) == len(places) == 1 else ""


def _exclude(root: Path) -> str:
    """Return the line of the hook that leaves out what is named like a dataset and is none; empty where all are."""
    others = sorted(
        path.relative_to(root).as_posix()
        for path in files_below(root)
        if path.name.endswith(ENDING) and not _holds_goldens(path)
    )
    pattern = f"^({'|'.join(map(re.escape, others))})$"
    return f"        exclude: {json.dumps(pattern)}\n" if others else ""


def _holds_goldens(path: Path) -> bool:
    if not path.name.endswith(ENDING):
        return path.name.endswith(".evalset.json")
    content = path.read_bytes()
    return b'"eval_cases"' in content or b'"evalCases"' in content


def _needed(root: Path) -> str:
    """Return what pip installs of the project, behind a space; nothing where no file says what it needs."""
    if (root / "requirements.txt").is_file():
        return " -r requirements.txt"
    return " ." if (root / "pyproject.toml").is_file() else ""


def _new(path: Path, text: str, *, to_add: str = "", force: bool = False) -> CiFile:
    """Write a file that is not there; of another one say what to add."""
    if path.exists():
        if (to_add and to_add in path.read_text()) or path.read_text() == text:
            return CiFile(path, "unchanged")
        if not force:
            return CiFile(path, "left alone", to_add or text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return CiFile(path, "written")


def _with_attributes(path: Path) -> CiFile:
    """Add the lines that are missing; of a pattern that has other attributes already, say which line to use."""
    known = {line.split()[0]: line for line in _text(path).splitlines() if line.strip()}
    missing = [line for line in _ATTRIBUTE_LINES if line.split()[0] not in known]
    others = [line for line in _ATTRIBUTE_LINES if known.get(line.split()[0], line) != line]
    return _with_lines(path, missing)._replace(to_add="".join(f"{line}\n" for line in others))


def _ignore_lines(path: Path) -> list[str]:
    """Return the lines that are missing; one that the project has turned round, to commit such files, is not."""
    known = {line.strip().lstrip("!/").rstrip("/") for line in _text(path).splitlines()}
    return [line for line in _IGNORE_LINES if line.rstrip("/") not in known]


def _with_lines(path: Path, missing: Sequence[str]) -> CiFile:
    """Add lines to a file, which is made where there is none."""
    before = _text(path)
    if missing:
        start = f"{before.rstrip()}\n" if before.strip() else ""
        path.write_text("\n".join((f"{start}{missing[0]}", *missing[1:], "")))
    done = "written" if missing and not before else "lines added" if missing else "unchanged"
    return CiFile(path, done)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _tell(files: Sequence[CiFile]) -> None:
    for file in files:
        output().write(f"{file.path}: {file.done}\n")
        if file.to_add:
            lines = "".join(f"    {line}\n" for line in file.to_add.splitlines())
            output().write(f"  it exists. Add to it:\n{lines}")
    output().write(
        f"Diffs name the case above each change after this, once in each clone:\n    {NAMED_HUNKS}\n"
    )


def _with_address(given: argparse.Namespace, *, is_ours: bool) -> str:
    """Return the command that does the same with a blank for the address; a workflow of ours is overwritten."""
    usual = {"folder": Path(), "goldens": None, "agents_dir": None, "models": IN_TESTS}
    said = ((name, getattr(given, name)) for name in usual)
    options = [
        word
        for name, value in said
        if value != usual[name]
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    again = ["--force"] if is_ours else []
    return shlex.join(["golden-trace", "init", "ci", *options, "--package", BLANK_ADDRESS, *again])


def _set_up(given: argparse.Namespace, _: ProgressLine) -> int:
    given.package = given.package or _installed_from(given.folder.absolute()) or _UNKNOWN
    files = _written(given)
    _tell(files)
    if given.package == _UNKNOWN:
        output().write(f"{_BLANK}\n    {_with_address(given, is_ours=files[0].done != 'left alone')}\n")
    return LEFT_ALONE if any(each.to_add for each in files) else DONE


main = ShellCommand(
    prog="golden-trace init",
    about="Write a GitHub workflow, pre-commit hooks, a .gitattributes and a .gitignore file that test the goldens of a "
    "project, keep their diffs readable, and leave out copies, kept runs and results of adk eval. An existing file is left alone, and the output "
    "shows what to add to it. Lines that .gitattributes and .gitignore lack are added.",
    codes=CODES,
    options={
        "what": option("what is set up: ci", choices=("ci",)),
        "--folder": file_option(
            "the project's root folder (default: the current folder)", "DIR", default=Path()
        ),
        "--goldens": option(
            "the folder or file of the eval sets, from the root folder (default: the folder that contains them all)",
            "PATH",
        ),
        "--agents-dir": option(
            "the folder of agents, from the root folder, if the eval sets are not in their agents' folders",
            "DIR",
        ),
        "--package": option(
            f"what pip installs in the workflow: a name with a version, or an address (default: the address that this {_PACKAGE} was "
            "installed from; it is not on PyPI yet)",
            "NAME",
        ),
        "--models": option(
            f"what answers model calls in the tests, as of `golden-trace verify` (default: {IN_TESTS}); with others the jobs need "
            "the models' keys",
            choices=get_args(Models),
            default=IN_TESTS,
        ),
        "--force": flag(f"overwrite {_WORKFLOW}, and no other file"),
    },
    work=_set_up,
)
