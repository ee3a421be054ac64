"""Examines files of eval data: reads each, makes all checks, and keeps beside each finding what mends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalset.doctor import agent_checks, environment_checks, set_checks
from evalset.doctor.agents import Agents, KnownAgent
from evalset.doctor.calls import in_old_turn, in_recorded_turn, in_turn
from evalset.doctor.case_checks import Case, note_case
from evalset.doctor.confirmation_rounds import confirmed_calls
from evalset.doctor.files import eval_set_of, files_in, groups, is_environment, read_content
from evalset.doctor.model import Examination, ExaminedFile, Kind
from evalset.doctor.nodes import Node
from evalset.doctor.notes import Notes
from evalset.doctor.old_checks import note_old_form
from evalset.doctor.reading import Document, read
from evalset.doctor.refusals import note_refusals
from evalset.existing import ChangedMeanwhileError

WITHOUT_AGENT = (
    "Calls were not checked against the agent's tools and their schemas: no agents were given (--agents-dir)."
)


class Settings(NamedTuple):
    """How files are examined: against which agents, and whether every ADK from 1.24 on shall read them."""

    agents: Agents
    portable: bool = False


class Patient(NamedTuple):
    """A file's notes, and what was read of it."""

    notes: Notes
    document: Document | None
    kind: Kind
    cases: int = 0

    def examined(self) -> ExaminedFile:
        """Give what was found."""
        places = self.document.places if self.document else None
        findings = self.notes.findings(places)
        return ExaminedFile(file=self.notes.file, kind=self.kind, cases=self.cases, findings=findings)


def examine(
    paths: Iterable[Path | str],
    *,
    agents_dir: Path | str | None = None,
    agents: Mapping[str, KnownAgent] | None = None,
    portable: bool = False,
) -> Examination:
    """Examine files and folders of eval data; nothing is changed, and no file that is damaged raises.

    Args:
        paths: Files and folders: eval sets old and new, `*.test.json`, recorded environments. Of an eval set, the
            recorded environment beside it is examined too.
        agents_dir: A folder of agents in ADK's convention, or the folder of one; ADK's loader loads those that cases name.
        agents: Agents that are loaded already (`known_agent`), by the names of their apps.
        portable: Whether to warn of what not every ADK from 1.24 on reads.

    Raises:
        simulator.agents.AgentLoadError: The folder of agents is none.
    """
    settings = Settings(Agents(Path(agents_dir) if agents_dir else None, agents), portable)
    unreadable: list[str] = []
    files: list[ExaminedFile] = []
    for group in groups(files_in(paths, unreadable)):
        files.extend(_group(group, settings, unreadable))
    skipped = list(dict.fromkeys(settings.agents.skipped))
    if not settings.agents.any and any(file.cases for file in files):
        skipped.append(WITHOUT_AGENT)
    return Examination(files=tuple(files), skipped=tuple(skipped), unreadable=tuple(unreadable))


def _group(group: tuple[Path, ...], settings: Settings, unreadable: list[str]) -> Iterator[ExaminedFile]:
    """Examine an eval set and its recorded environment, which is checked against it."""
    partner: Node | None = None
    for file in group:
        try:
            text = read_content(file).text
            if not is_environment(file):
                partner = environment_in(group)
            if is_environment(file) and len(group) == 1:
                partner = eval_set_beside(file)
        except ChangedMeanwhileError:
            unreadable.append(f"{file}: keeps changing; another program is writing it")
            continue
        except OSError as error:
            unreadable.append(f"{file}: cannot be read: {error.strerror or error}")
            continue
        patient = examined(file, text, settings, partner=partner)
        partner = as_partner(patient.document)
        yield patient.examined()


def as_partner(document: Document | None) -> Node:
    """Give an eval set for its recorded environment to be checked against; one without a value where it cannot be read."""
    is_set = document is not None and set_checks.kind_of(document.value) == "eval set"
    return Node(document.value) if document is not None and is_set else Node(None)


def environment_in(group: tuple[Path, ...]) -> Node | None:
    """Read the recorded environment among files that belong together; None where there is none, or none that can be read.

    Raises:
        OSError: It cannot be read.
        ChangedMeanwhileError: It was written each time that it was read.
    """
    file = next((each for each in group if is_environment(each)), None)
    document = read(read_content(file).text, Notes(file)) if file else None
    return Node(document.value) if document else None


def eval_set_beside(environment: Path) -> Node | None:
    """Read the eval set of a recorded environment; None where there is none.

    Raises:
        OSError: It cannot be read.
        ChangedMeanwhileError: It was written each time that it was read.
    """
    beside = eval_set_of(environment)
    return None if beside is None else as_partner(read(read_content(beside).text, Notes(beside)))


def examined(file: Path, text: bytes, settings: Settings, *, partner: Node | None = None) -> Patient:
    """Examine one file.

    Args:
        file: Its path.
        text: What it holds.
        settings: How.
        partner: For a recorded environment, the eval set beside it, without a value where that cannot be read; None where
            there is none. For an eval set, the recorded environment beside it, where that can be read.
    """
    notes = Notes(file)
    document = read(text, notes)
    if document is None:
        return Patient(notes, None, "nothing known")
    kind = set_checks.kind_of(document.value)
    if is_environment(file):
        kind = "recorded environment"
    match kind:
        case "recorded environment":
            cases = _environment(document, notes, settings, partner)
        case "eval set":
            cases = _eval_set(document, notes, settings, partner)
        case "old eval data":
            cases = note_old_form(file, document.value, notes.text, notes)
            _old_calls(document.value, notes, settings)
        case _:
            set_checks.note_unknown(document.value, notes)
            cases = 0
    return Patient(notes, document, kind, cases)


def _eval_set(document: Document, notes: Notes, settings: Settings, environment: Node | None) -> int:
    root = Node(document.value)
    set_checks.note_top(root, notes.file, notes)
    set_checks.note_ids(root, notes.file, notes)
    cases = list(root.items("eval_cases"))
    recorded = environment_checks.cases_of(environment) if environment else {}
    for node in cases:
        eval_id = node.text("eval_id")
        confirmed = confirmed_calls(recorded[eval_id]) if eval_id in recorded else frozenset()
        app_name = (node.field("session_input") or Node(None)).text("app_name")
        agent = settings.agents.of(notes.file, app_name)
        case = Case(node, eval_id, settings.portable, confirmed, agent.name if agent else "")
        note_case(case, notes)
        start, stop = document.places.value(node.path)
        note_refusals(node, document.places.text[start:stop], eval_id, notes)
        if agent is not None:
            agent_checks.note_app(node, agent, case.eval_id, notes)
            for turn in node.items("conversation"):
                agent_checks.note_calls(in_turn(turn), agent, case.eval_id, notes)
                agent_checks.note_authors(turn, agent, case.eval_id, notes)
    return len(cases)


def _old_calls(value: Any, notes: Notes, settings: Settings) -> None:
    agent = settings.agents.of(notes.file, "")
    if agent is None:
        return
    for turn in old_turns(Node(value)):
        agent_checks.note_calls(in_old_turn(turn), agent, "", notes)


def old_turns(root: Node) -> Iterable[Node]:
    """Give the turns of eval data in the old form."""
    for entry in root.items() if isinstance(root.value, list) else (root,):
        if entry.field("data") is not None:
            yield from entry.items("data")
        else:
            yield entry


def _environment(document: Document, notes: Notes, settings: Settings, partner: Node | None) -> int:
    root = Node(document.value)
    if not environment_checks.note_form(notes.file, root, notes.text, notes):
        return 0
    recorded = environment_checks.cases_of(root)
    if partner is None:
        words = "There is no eval set beside the recorded environment, so nothing is replayed with it."
        notes.add(
            "environment-alone",
            (),
            words,
            "Put it beside its eval set, with the same name before the ending.",
        )
    elif partner.value is not None:
        environment_checks.note_fit(partner, root, settings.agents, notes)
    for eval_id, case in recorded.items():
        if (agent := settings.agents.of(notes.file, case.text("app_name"))) is not None:
            environment_checks.note_tools(eval_id, case, agent, notes)
            for turn in case.items("turns"):
                places = (
                    place for place in in_recorded_turn(turn) if place.at.path[-2] in {"calls", "rejected"}
                )
                agent_checks.note_calls(
                    (each for each in places if agent.can_call(each.name)), agent, eval_id, notes
                )
    return len(recorded)
