"""What the tabs of an eval set's page are given and give back: its cases, the agent that it belongs to, and what lies beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema

from app.evalsets.open_sets import Restored
from app.live.live_sessions import UnsentTexts
from evalset.adk_runs.eval_results import HISTORY
from evalset.adk_runs.run_spec import AgentPlace, agent_folder, python_of
from evalset.editing.case_edits import Edit
from evalset.editing.case_parts import CaseStep, field
from evalset.editing.set_work import SetWork
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import AgentEntry, AgentSettings
from simulator.base.documents import read_file
from simulator.base.frozen_value import Value

_OTHER = (2, 0)
"""How little an agent fits that has nothing to do with a set."""


def fitting_agents(
    entries: Sequence[AgentEntry], eval_set: Path, app_names: Sequence[str]
) -> tuple[tuple[str, ...], bool]:
    """Order the names of the agents: first those in whose folder the set lies, the nearest before others, then those that its cases name, then the others.

    Returns:
        The names, and whether the first one is the set's own agent and not just the first of all.
    """
    ranks = {entry.name: _rank(entry, eval_set, app_names) for entry in entries}
    names = tuple(sorted(ranks, key=lambda name: ranks[name]))
    return names, bool(names) and ranks[names[0]] < _OTHER


def _rank(entry: AgentEntry, eval_set: Path, app_names: Sequence[str]) -> tuple[int, int]:
    config = entry.config
    home = config.resolve_eval_set_path().parent if config is not None else Path(entry.location)
    if home in eval_set.parents:
        return 0, -len(home.parts)
    is_named = entry.name in app_names or (config is not None and config.app_name in app_names)
    return (1, 0) if is_named else _OTHER


def place_of(entry: AgentEntry, config: SimulatedAgentConfig, settings: AgentSettings) -> AgentPlace:
    """Say where a process finds an agent."""
    return AgentPlace(
        name=entry.name,
        app_name=config.app_name,
        folder=agent_folder(config),
        agents_dir=settings.agents_dir.absolute() if settings.agents_dir else None,
        agents_file=settings.agents_file,
        demos=settings.demos,
        python=python_of(config),
    )


def history_of(config: SimulatedAgentConfig) -> Path:
    """Return the folder in which ADK keeps the results of an agent."""
    return config.resolve_eval_set_path().parent / HISTORY


class SetFacts(Value):
    """What is known of an eval set without ADK.

    Attributes:
        eval_ids: The ids of its cases, in their order.
        app_names: The apps that its cases name.
        scenarios: The ids of the cases that a simulated user plays.
        problem: Why it could not be read; empty where it could.
    """

    eval_ids: tuple[str, ...] = ()
    app_names: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    problem: str = ""


def facts_of(path: Path) -> SetFacts:
    """Read an eval set, once as long as it stays as it is."""
    try:
        status = path.stat()
    except OSError as error:
        return SetFacts(problem=f"{path}: {error.strerror or error}")
    return _facts(path, status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=16)
def _facts(path: Path, *_: int) -> SetFacts:
    try:
        text = read_file(path).removeprefix(b"\xef\xbb\xbf")
        found = _SET.validate_json(text)
    except OSError as error:
        return SetFacts(problem=f"{path}: {error.strerror or error}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return SetFacts(
            problem=f"{path}: {'.'.join(map(str, first['loc']))} {first['msg']}".replace(":  ", ": ")
        )
    cases = [case for case in found["cases"] if case is not None]
    inputs = [case["input"] for case in cases if case["input"] is not None]
    return SetFacts(
        eval_ids=tuple(dict.fromkeys(case["eval_id"] for case in cases if case["eval_id"])),
        app_names=tuple(dict.fromkeys(each["app_name"] for each in inputs if each["app_name"])),
        scenarios=tuple(
            case["eval_id"] for case in cases if case["scenario"] is not None and case["eval_id"]
        ),
    )


def called_tools(path: Path) -> frozenset[str]:
    """Return the tools that the cases of a set call, read once as long as it stays as it is: they take longer than its facts."""
    return _called(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _called(path: Path, _: int) -> frozenset[str]:
    from evalset.editing.case_parts import calls_of, turns_of  # noqa: PLC0415 - they are asked for rarely
    from evalset.editing.opened_set import open_set  # noqa: PLC0415 - as above

    opened = open_set(path)
    cases = (opened.case(row.key) for row in opened.rows)
    turns = ((case, turn) for case in cases for turn in range(len(turns_of(case))))
    return frozenset(seen.call.name for case, turn in turns for seen in calls_of(case, turn))


def _lenient(schema: CoreSchema) -> CoreSchema:
    return core_schema.with_default_schema(schema, default=None, on_error="default")


def _field(schema: CoreSchema, *names: str) -> core_schema.TypedDictField:
    """Read a field in either of its spellings; None where it is not there or is something else."""
    return core_schema.typed_dict_field(_lenient(schema), validation_alias=_spelt(*names))


def _spelt(*names: str) -> list[list[str | int]]:
    return [[name] for name in names]


def _schema() -> CoreSchema:
    """Read what is needed alone: of a set of 40 MB all else would take a second to make into objects."""
    text = core_schema.str_schema(strict=True)
    given = core_schema.typed_dict_schema(
        {"app_name": _field(text, "app_name", "appName")}, extra_behavior="ignore"
    )
    anything = core_schema.typed_dict_schema({}, extra_behavior="ignore")
    case = core_schema.typed_dict_schema(
        {
            "eval_id": _field(text, "eval_id", "evalId"),
            "input": _field(given, "session_input", "sessionInput"),
            "scenario": _field(anything, "conversation_scenario", "conversationScenario"),
        },
        extra_behavior="ignore",
    )
    cases = core_schema.typed_dict_field(
        core_schema.with_default_schema(
            core_schema.list_schema(_lenient(case)), default=[], on_error="default"
        ),
        validation_alias=_spelt("eval_cases", "evalCases"),
    )
    return core_schema.typed_dict_schema({"cases": cases}, extra_behavior="ignore")


_SET = SchemaValidator(_schema())


def environment_of(eval_set: Path) -> Path | None:
    """Return the recorded environment beside an eval set, or the set itself where it holds one; None where there is none."""
    from evalset.recorded.recording_files import recording_of  # noqa: PLC0415 - it stands behind a second of imports

    sidecar = recording_of(eval_set)
    return sidecar if os.access(sidecar, os.R_OK) and sidecar.is_file() else None


def environment_trouble(eval_set: Path) -> str:
    """Return why the recorded environment beside an eval set cannot be used; nothing where it can, or is not there."""
    environment = environment_of(eval_set)
    if environment is None:
        return ""
    try:
        status = environment.stat()
    except OSError:  # it went away meanwhile
        return ""
    return _trouble(eval_set, status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=16)
def _trouble(eval_set: Path, *_: int) -> str:
    from evalset.editing.sidecars import open_beside  # noqa: PLC0415 - as above

    return open_beside(eval_set).trouble


@dataclass(frozen=True)
class SetContext:
    """An eval set that is open.

    Attributes:
        path: Its file.
        work: Somebody's work on it: the set as it was opened, the edits, what lies beside it.
        drafts: What they typed and have not taken over.
        owner: Who they are.
        agents: The agents that can play it, the one in whose folder it lies first.
        restored: What an earlier server has left of the work.
        person: What who edits it is called; empty where that is not known.
        forgot: Edits that were saved can no longer be undone, as the files have changed since.
    """

    path: Path
    work: SetWork
    drafts: UnsentTexts
    owner: str
    agents: tuple[str, ...] = ()
    restored: Restored | None = None
    person: str = ""
    forgot: bool = False


class StepMark(NamedTuple):
    """What was found about a step of a case: a word for its line, and a sentence, which may come from outside."""

    word: str
    sentence: str


class CloseSet(Value):
    """Go back to the list of sets."""

    kind: Literal["close_set"] = "close_set"


class OpenSet(Value):
    """Open an eval set by its path; `told` says in sentences what an import wrote there."""

    kind: Literal["open_set"] = "open_set"
    path: str
    told: tuple[str, ...] = ()


class RemoveUpload(Value):
    """Delete an upload from the server."""

    kind: Literal["remove_upload"] = "remove_upload"
    path: str


class OpenCase(Value):
    """Show a case, compared with `other` where that is given, or with the open form of this token; None shows the cases of the set."""

    kind: Literal["open_case"] = "open_case"
    key: str | None = None
    other: str | None = None
    form: str | None = None


class ApplyEdits(Value):
    """Carry out edits, one after the other.

    `then` says what is shown after them: the case that is shown now, the new one behind it, or all cases. `part` is the
    name of the part in whose editor they were made.
    """

    kind: Literal["apply_edits"] = "apply_edits"
    edits: tuple[Edit, ...]
    then: Literal["same", "new", "all"] = "same"
    part: str = ""


class EditPart(Value):
    """Open the editor of a part of the case; None closes it. `failed` says why what was typed there was not taken over."""

    kind: Literal["edit_part"] = "edit_part"
    name: str | None = None
    failed: str = ""


class AskToSave(Value):
    """Show what a save would change, or no longer."""

    kind: Literal["ask_to_save"] = "ask_to_save"
    shown: bool = True


class UndoEdit(Value):
    """Take back the last edit."""

    kind: Literal["undo_edit"] = "undo_edit"


class RedoEdit(Value):
    """Bring back the edit that was taken back last."""

    kind: Literal["redo_edit"] = "redo_edit"


class SaveSet(Value):
    """Write the set."""

    kind: Literal["save_set"] = "save_set"


class ReloadSet(Value):
    """Drop the edits, and open the file as it is now."""

    kind: Literal["reload_set"] = "reload_set"


class MergeSet(Value):
    """Bring the edits onto the file as it is now; of cases that both changed those stay mine that are named, of those decided twice their status."""

    kind: Literal["merge_set"] = "merge_set"
    keep_mine: tuple[str, ...] = ()
    keep_their_status: tuple[str, ...] = ()


class PlayCase(Value):
    """Play a case in a session of an agent up to a step, and go on from there by hand."""

    kind: Literal["play_case"] = "play_case"
    agent: str
    key: str
    turn: int
    steps: int


SetCommand: TypeAlias = (
    CloseSet
    | OpenSet
    | RemoveUpload
    | OpenCase
    | ApplyEdits
    | EditPart
    | AskToSave
    | UndoEdit
    | RedoEdit
    | SaveSet
    | ReloadSet
    | MergeSet
    | PlayCase
)
"""What is asked for on the page of an eval set."""

Tab: TypeAlias = Callable[[SetContext], SetCommand | None]
"""Draws one tab below the head of a set; gives what was asked for in it."""

STEP_ICONS: dict[str, str] = {
    "query": ":material/person:",
    "text": ":material/smart_toy:",
    "call": ":material/build:",
    "response": ":material/check_circle:",
    "final": ":material/smart_toy:",
}


def step_value(step: CaseStep) -> Any:
    """Return what of a step is shown and edited: the arguments of a call, the response of an answer, else all of it."""
    if not isinstance(step.value, dict):
        return step.value
    match step.kind:
        case "call":
            return field(step.value, "args", {})
        case "response":
            return field(step.value, "response", {})
        case _:
            return step.value
