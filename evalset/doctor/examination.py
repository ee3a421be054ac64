"""Examines files of eval data: reads each, makes all checks, and keeps beside each finding what fixes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from evalset.doctor import environment_checks, set_checks
from evalset.doctor.case_checks import (
    Case,
    RecordedEvidence,
    calls_in_recorded_turn,
    in_old_turn,
    in_turn,
    note_case,
)
from evalset.doctor.files import Document, eval_set_of, files_in, groups, is_environment, read, read_content
from evalset.doctor.model import MOST, Examination, ExaminedFile, Kind, Notes
from evalset.doctor.set_checks import note_dataset, note_old_form
from evalset.files.byte_edits import JsonNode
from evalset.files.eval_names import importable_kind, is_dataset
from evalset.files.refusals import refused_in
from evalset.files.set_writer import ChangedMeanwhileError
from evalset.measured import Measured, MeasuredFile, measured_file
from evalset.recorded.known_agents import KnownAgent, KnownAgents, fitting_agent
from evalset.recorded.recording import RecordedCase
from evalset.recorded.recording_files import (
    KEY,
    RecordedEnvironmentError,
    holds_recording,
    read_environment,
    recording_of,
)
from simulator.base.json_text import holding_large

_EACH = 100
"""After so many cases it is said how far an examination is, and looked whether it is stopped."""

WITHOUT_AGENT = (
    "Calls were not checked against the agent's tools and schemas: no agents were given (--agents-dir)."
)


class ExamineProgress(NamedTuple):
    """How far an examination is: so many of so many cases of a file; 0 of 0 while it is read."""

    file: Path
    done: int = 0
    total: int = 0


class StoppedExaminationError(Exception):
    """Nobody wants the examination any more."""


class Course(NamedTuple):
    """Tells how far an examination is, and ends it when it is stopped."""

    report: Callable[[ExamineProgress], None] = lambda _: None
    stop: Event | None = None

    def at(self, file: Path, done: int = 0, total: int = 0) -> None:
        """Say which case is next.

        Raises:
            StoppedExaminationError: It is stopped.
        """
        if done % _EACH:
            return
        if self.stop is not None and self.stop.is_set():
            raise StoppedExaminationError
        self.report(ExamineProgress(file, done, total))


class Settings(NamedTuple):
    """How files are examined: against which agents, whether every ADK from 1.24 on shall read them, and who hears how far it is."""

    agents: KnownAgents
    portable: bool = False
    course: Course = Course()


class Patient(NamedTuple):
    """A file's notes, and what was read of it."""

    notes: Notes
    document: Document | None
    kind: Kind
    cases: int = 0
    scenarios: int = 0

    def examined(self) -> ExaminedFile:
        """Return what was found."""
        places = self.document.places if self.document else None
        findings = self.notes.findings(places)
        return ExaminedFile(
            file=self.notes.file,
            kind=self.kind,
            cases=self.cases,
            scenarios=self.scenarios,
            findings=findings,
        )


def examine(  # long: what it takes is most of it
    paths: Iterable[Path | str],
    *,
    agents_dir: Path | str | None = None,
    agents: Mapping[str, KnownAgent] | None = None,
    agent: str = "",
    portable: bool = False,
    on_progress: Callable[[ExamineProgress], None] | None = None,
    stop: Event | None = None,
) -> Examination:
    """Examine files and folders of eval data; nothing is changed, and no file that is damaged raises.

    Args:
        paths: Files and folders: eval sets old and new, `*.test.json`, recorded environments. Of an eval set, the
            recorded environment beside it is examined too.
        agents_dir: A folder of agents in ADK's convention, or the folder of one; ADK's loader loads those that cases name.
        agents: Agents that are loaded already (`known_agent`), by the names of their apps.
        agent: The one that all files are checked against, whatever app they name; without `agents_dir`, a demo agent or the folder
            of one.
        portable: Whether to warn of what not every ADK from 1.24 on reads.
        on_progress: Is told how far it is, in the thread that examines.
        stop: When it is set, the examination ends with what was found in the files before.

    Raises:
        simulator.agents.AgentLoadError: The folder of agents is none, or the one agent cannot be loaded.
    """
    course = Course(on_progress or (lambda _: None), stop)
    settings = Settings(
        KnownAgents(Path(agents_dir) if agents_dir else None, agents, agent), portable, course
    )
    unreadable: list[str] = []
    files: list[ExaminedFile] = []
    measured: list[MeasuredFile] = []
    stopped: list[str] = []
    try:
        with holding_large():
            for group in groups(files_in(paths, unreadable)):
                measured += [
                    measured_file("recording" if is_environment(file) else "set", file) for file in group
                ]
                files.extend(_group(group, settings, unreadable))
    except StoppedExaminationError:
        stopped.append("The check was stopped. Files after these were not checked.")
    skipped = [*dict.fromkeys(settings.agents.skipped), *stopped]
    if not settings.agents.any and any(file.cases for file in files):
        skipped.append(WITHOUT_AGENT)
    skipped += [f"{file.file}: {_unplayed(file.scenarios)}" for file in files if file.scenarios]
    return Examination(
        files=tuple(files),
        skipped=tuple(skipped),
        unreadable=tuple(unreadable),
        measured=Measured(files=tuple(measured), agents=settings.agents.measured),
        renamed=_renamed(_recordings(measured), settings.agents),
    )


def _unplayed(scenarios: int) -> str:
    return (
        f"Calls and responses of {scenarios} scenario case{'' if scenarios == 1 else 's'} were not checked. A simulated user plays such a case, so they "
        "are known only after a run."
    )


def _recordings(measured: Iterable[MeasuredFile]) -> Iterator[Path]:
    for each in measured:
        if each.kind == "recording" or recording_of(each.file) == each.file:
            yield each.file


def _renamed(recordings: Iterable[Path], agents: KnownAgents) -> dict[str, str]:
    """Find agents of recordings that none of the agents given is, and the one that declares the same tools."""
    unknown: dict[str, list[RecordedCase]] = {}
    for file in recordings if agents.strangers else ():
        with suppress(RecordedEnvironmentError, OSError):
            for case in read_environment(file).cases.values():
                if case.app_name in agents.strangers:
                    unknown.setdefault(case.app_name, []).append(case)
    known = agents.all() if unknown else []
    found = {name: fitting_agent(cases, known) for name, cases in unknown.items()}
    return {old: new for old, new in found.items() if new}


def _group(group: tuple[Path, ...], settings: Settings, unreadable: list[str]) -> Iterator[ExaminedFile]:
    """Examine an eval set and its recorded environment, which is checked against it."""
    partner: JsonNode | None = None
    beside: ReadFile | None = None
    for file in group:
        settings.course.at(file)
        try:
            text = beside.text if beside and beside.notes.file == file else read_content(file).text
            if not is_environment(file):
                beside = environment_in(group)
                partner = beside.root if beside else recording_inside(file, text, unreadable)
            if is_environment(file) and len(group) == 1:
                partner = eval_set_beside(file)
        except ChangedMeanwhileError:
            unreadable.append(f"{file}: another program keeps changing this file")
            continue
        except OSError as error:
            unreadable.append(f"{file}: cannot be read: {error.strerror or error}")
            continue
        known = beside if beside and beside.notes.file == file else None
        patient = examined(file, text, settings, partner=partner, known=known)
        partner = as_partner(patient.document)
        yield patient.examined()


def as_partner(document: Document | None) -> JsonNode:
    """Return an eval set for its recorded environment to be checked against; one without a value where it cannot be read."""
    is_set = document is not None and set_checks.kind_of(document.value) == "eval set"
    return JsonNode(document.value) if document is not None and is_set else JsonNode(None)


class ReadFile(NamedTuple):
    """A file that was read: its bytes, what was noted on reading, and its document, where it holds one."""

    text: bytes
    notes: Notes
    document: Document | None

    @property
    def root(self) -> JsonNode | None:
        """The document; None where the file holds none."""
        return JsonNode(self.document.value) if self.document else None


def environment_in(group: tuple[Path, ...]) -> ReadFile | None:
    """Read the recorded environment among files that belong together; None where there is none.

    Raises:
        OSError: It cannot be read.
        ChangedMeanwhileError: It was written each time that it was read.
    """
    file = next((each for each in group if is_environment(each)), None)
    if file is None:
        return None
    notes, text = Notes(file), read_content(file).text
    return ReadFile(text, notes, read(text, notes))


def recording_inside(file: Path, text: bytes, unreadable: list[str]) -> JsonNode | None:
    """Return the recording that an eval set holds itself; None where it holds none, and where it cannot be used, which is told."""
    if f'"{KEY}"'.encode() not in text or not holds_recording(file):
        return None
    try:
        read_environment(file)
    except (RecordedEnvironmentError, OSError) as error:
        unreadable.append(str(error))
        return None
    document = read(text, Notes(file))
    return JsonNode(document.value).field(KEY) if document is not None else None


def eval_set_beside(environment: Path) -> JsonNode | None:
    """Read the eval set of a recorded environment; None where there is none.

    Raises:
        OSError: It cannot be read.
        ChangedMeanwhileError: It was written each time that it was read.
    """
    beside = eval_set_of(environment)
    return None if beside is None else as_partner(read(read_content(beside).text, Notes(beside)))


def examined(
    file: Path,
    text: bytes,
    settings: Settings,
    *,
    partner: JsonNode | None = None,
    known: ReadFile | None = None,
) -> Patient:
    """Examine one file.

    Args:
        file: Its path.
        text: What it holds.
        settings: How.
        partner: For a recorded environment, the eval set beside it, without a value where that cannot be read; None where
            there is none. For an eval set, the recorded environment beside it, where that can be read.
        known: The file as it was read before; None where it was not.
    """
    notes = known.notes if known else Notes(file)
    # A database or an archive is no text at all.
    if not text.startswith((b"{", b"[")) and (what := importable_kind(text)):
        set_checks.note_importable(what, notes)
        return Patient(notes, None, "nothing known")
    document = known.document if known else read(text, notes)
    if document is None:
        return Patient(notes, None, "nothing known")
    kind = "recorded environment" if is_environment(file) else set_checks.kind_of(document.value)
    scenarios = sum(each.field("conversation_scenario") is not None for each in _cases_in(document, kind))
    return Patient(notes, document, kind, _noted(kind, document, notes, settings, partner), scenarios)


def _cases_in(document: Document, kind: Kind) -> Iterable[JsonNode]:
    """Return the cases of an eval set; nothing of another kind."""
    return JsonNode(document.value).items("eval_cases") if kind == "eval set" else ()


def _noted(kind: Kind, document: Document, notes: Notes, settings: Settings, partner: JsonNode | None) -> int:
    """Note what is wrong with a document of a kind; return how many cases it holds."""
    match kind:
        case "recorded environment":
            return _environment(document, notes, settings, partner)
        case "eval set":
            return _eval_set(document, notes, settings, partner)
        case "dataset":
            return note_dataset(JsonNode(document.value), notes)
        case "old eval data":
            cases = note_old_form(notes.file, document.value, notes.text, notes)
            _old_calls(document.value, notes, settings)
            return cases
        case _:
            set_checks.note_unknown(document.value, notes)
            return 0


def _eval_set(document: Document, notes: Notes, settings: Settings, environment: JsonNode | None) -> int:
    root = JsonNode(document.value)
    set_checks.note_top(root, notes.file, notes)
    set_checks.note_ids(root, notes.file, notes)
    cases = list(root.items("eval_cases"))
    recorded = environment_checks.cases_of(environment) if environment else {}
    shown, left = 0, sum(not isinstance(node.value, dict) for node in cases)
    for number, node in enumerate(cases):
        settings.course.at(notes.file, number, len(cases))
        if not isinstance(node.value, dict):
            shown += 1
            if shown <= MOST:  # the last one that is shown stands for the others
                for each in refused_in(node, b"0"):
                    notes.add(*each[:4], count=left if shown == MOST else 1)
            left -= 1
            continue
        eval_id = node.text("eval_id")
        known = RecordedEvidence(recorded.get(eval_id))
        app_name = (node.field("session_input") or JsonNode(None)).text("app_name")
        agent = settings.agents.of(notes.file, app_name)
        start, stop = document.places.value(node.path)
        refused = tuple(refused_in(node, document.places.text[start:stop]))
        note_case(Case(node, eval_id, settings.portable, known, agent, refused), notes)
        for each in refused:
            notes.add(**each._asdict(), eval_id=eval_id)
        if agent is not None:
            environment_checks.note_app(node, agent, eval_id, notes)
            environment_checks.note_state(node, agent, eval_id, notes, known)
            for turn in node.items("conversation"):
                environment_checks.note_calls(in_turn(turn), agent, eval_id, notes, known)
                environment_checks.note_authors(turn, agent, eval_id, notes, known)
    return len(cases)


def _old_calls(value: Any, notes: Notes, settings: Settings) -> None:
    agent = settings.agents.of(notes.file, "")
    if agent is None:
        return
    for turn in old_turns(JsonNode(value)):
        environment_checks.note_calls(in_old_turn(turn), agent, "", notes)


def old_turns(root: JsonNode) -> Iterable[JsonNode]:
    """Yield the turns of eval data in the old form."""
    for entry in root.items() if isinstance(root.value, list) else (root,):
        if entry.field("data") is not None:
            yield from entry.items("data")
        else:
            yield entry


def _environment(document: Document, notes: Notes, settings: Settings, partner: JsonNode | None) -> int:
    root = JsonNode(document.value)
    # Where a callback may change what a tool answered, the eval set does not hold what the tool gave.
    first = next(iter(environment_checks.cases_of(root).values()), JsonNode(None))
    agent = settings.agents.of(notes.file, first.text("app_name"))
    of_dataset = partner is not None and is_dataset(partner.value)  # its cases are turns
    beside = None if of_dataset or (agent is not None and agent.rewrites) else partner
    kept = environment_checks.note_form(notes.file, root, notes.text, beside, notes)
    if kept is None:
        return 0
    recorded = environment_checks.cases_of(root)
    if partner is None:
        words = "There is no eval set next to the recorded environment, so it is never used."
        notes.add(
            "environment-alone",
            (),
            words,
            "Put it next to its eval set, with the same base name.",
        )
    elif partner.value is not None and not of_dataset:
        environment_checks.note_fit(partner, root, kept, settings.agents, notes)
    for number, (eval_id, case) in enumerate(recorded.items()):
        settings.course.at(notes.file, number, len(recorded))
        if (agent := settings.agents.of(notes.file, case.text("app_name"))) is not None:
            environment_checks.note_tools(eval_id, case, agent, notes)
            environment_checks.note_agents(eval_id, case, kept.cases[eval_id], agent, notes)
            places = (place for turn in case.items("turns") for place in calls_in_recorded_turn(turn))
            there = (each for each in places if agent.can_call(each.name))
            environment_checks.note_calls(there, agent, eval_id, notes, RecordedEvidence(case))
    return len(recorded)
