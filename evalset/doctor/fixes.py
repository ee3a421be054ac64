"""Fixes files of eval data: shows what would change, or writes it and keeps the old text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from pathlib import Path

from evalset.doctor.examination import (
    Patient,
    Settings,
    as_partner,
    environment_in,
    eval_set_beside,
    examined,
)
from evalset.doctor.file_reading import Document, read
from evalset.doctor.file_writing import changes_of, is_environment, read_content
from evalset.doctor.findings import Note, Notes
from evalset.doctor.model import Changes, FileChange, Finding
from evalset.files.byte_edits import Edit, JsonNode, RenameMember, apply
from evalset.files.set_writer import ChangedMeanwhileError
from evalset.recorded.known_agents import KnownAgent, KnownAgents
from simulator.base.json_text import JsonPlaces

_ROUNDS = 50


def preview(
    paths: Iterable[Path | str],
    *,
    agents_dir: Path | str | None = None,
    agents: Mapping[str, KnownAgent] | None = None,
    agent: str = "",
    portable: bool = False,
    codes: Collection[str] | None = None,
) -> Changes:
    """Show what `mend` would change; nothing is written. Arguments and errors are those of `mend`."""
    settings = Settings(KnownAgents(Path(agents_dir) if agents_dir else None, agents, agent), portable)
    return changes_of(paths, partial(_planned, settings=settings, codes=codes), write=False)


def mend(
    paths: Iterable[Path | str],
    *,
    agents_dir: Path | str | None = None,
    agents: Mapping[str, KnownAgent] | None = None,
    agent: str = "",
    portable: bool = False,
    codes: Collection[str] | None = None,
) -> Changes:
    """Fix what can be fixed: under the lock, each file at once, its old text kept beside it as `<name>.<n>.bak`.

    Done again, it changes nothing. An eval set and its recorded environment are changed together or not at all.

    Args:
        paths: As for `examine`.
        agents_dir: As for `examine`.
        agents: As for `examine`.
        agent: As for `examine`.
        portable: As for `examine`.
        codes: The codes of what is fixed; everything by default.

    Raises:
        simulator.agents.AgentLoadError: The folder of agents is none.
    """
    settings = Settings(KnownAgents(Path(agents_dir) if agents_dir else None, agents, agent), portable)
    return changes_of(paths, partial(_planned, settings=settings, codes=codes), write=True)


def content_of(file: Path) -> bytes | FileChange:
    """Read a file, or say as a change why it cannot be."""
    try:
        return read_content(file).text
    except ChangedMeanwhileError:
        reason = "another program keeps changing this file"
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
    return FileChange(file=file, before=b"", after=b"", problem=reason)


def _planned(
    group: tuple[Path, ...], settings: Settings, codes: Collection[str] | None
) -> tuple[FileChange, ...]:
    changes: list[FileChange] = []
    partner: JsonNode | None = None
    wanted: list[Note] = []
    for file in group:
        before = content_of(file)
        if isinstance(before, FileChange):
            changes.append(before)
            continue
        course = _Course(file, before, settings, codes)
        if is_environment(file):
            course.take_over(wanted)
            course.run(partner if len(group) > 1 else eval_set_beside(file))
        else:
            course.run(_environment(group))
            partner, wanted = as_partner(course.document), course.for_partner
        if course.text != before:
            changes.append(
                FileChange(file=file, before=before, after=course.text, mended=tuple(course.mended))
            )
    return tuple(changes)


def _environment(group: tuple[Path, ...]) -> JsonNode | None:
    try:
        found = environment_in(group)
    except (OSError, ChangedMeanwhileError):  # said when its own turn comes
        return None
    return found.root if found else None


class _Course:
    """Fixes one file, round by round, until nothing is left that can be fixed."""

    def __init__(self, file: Path, text: bytes, settings: Settings, codes: Collection[str] | None) -> None:
        self._file, self._settings, self._codes = file, settings, codes
        self.text = text
        self.document: Document | None = None
        self.mended: list[Finding] = []
        self.for_partner: list[Note] = []

    def take_over(self, wanted: Iterable[Note]) -> None:
        """Make the changes that the eval set needs here too; a name that is taken is left alone."""
        document = read(self.text, Notes(self._file))
        if document is None or document.places.text != self.text:
            return
        root = JsonNode(document.value)
        notes = [note for note in wanted if any(_is_free(edit, root) for edit in note.partner)]
        self._change(
            document.places, notes, [edit for note in notes for edit in note.partner if _is_free(edit, root)]
        )

    def run(self, partner: JsonNode | None) -> None:
        """Fix what can be fixed; `partner` is what `examined` takes."""
        for _ in range(_ROUNDS):
            patient = examined(self._file, self.text, self._settings, partner=partner)
            self.document = patient.document
            if not self._round(patient):
                return

    def _round(self, patient: Patient) -> bool:
        """Fix what can be fixed at once; False where nothing changed."""
        notes = patient.notes
        chosen = [
            note for note in notes.all if note.mendable and (self._codes is None or note.code in self._codes)
        ]
        whole = [note for note in notes.all if note.whole and note.code != "legacy-format"]
        if not chosen or any(note not in chosen for note in whole):
            return False
        before = self.text
        if notes.converted is not None and any(note.code == "legacy-format" for note in chosen):
            self.text = notes.converted
            self._tell(chosen, JsonPlaces(notes.text))
        else:
            self._change(JsonPlaces(notes.text), chosen, [edit for note in chosen for edit in note.edits])
        self.for_partner += [note for note in chosen if note.partner]
        return self.text != before

    def _change(self, places: JsonPlaces[bytes], notes: list[Note], edits: list[Edit]) -> None:
        edited = apply(places, edits)
        waiting = {id(edit) for edit in edited.waiting}
        self._tell([note for note in notes if not any(id(edit) in waiting for edit in note.edits)], places)
        self.text = edited.text

    def _tell(self, notes: Iterable[Note], places: JsonPlaces[bytes]) -> None:
        told = Notes(self._file)
        told.all.extend(notes)
        self.mended.extend(told.findings(places if places.text else None))


def _is_free(edit: Edit, document: JsonNode) -> bool:
    """Return whether a member can be renamed: it is there, and no other one has its new name."""
    node = document.value
    for step in edit.path[:-1]:
        node = node.get(step) if isinstance(node, dict) else None
    return (
        isinstance(edit, RenameMember)
        and isinstance(node, dict)
        and edit.path[-1] in node
        and edit.name not in node
    )
