"""What all checks are made with: the notes of what is found in one file, with the changes that fix it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from evalset.doctor.model import CODES, Finding, Severity
from evalset.files.byte_edits import Edit
from simulator.base.json_paths import path_place
from simulator.base.json_text import JsonPath, JsonPlaces


def listed(names: Iterable[str]) -> str:
    """List names once each, in the order in which they came."""
    return ", ".join(dict.fromkeys(names))


_LONGEST_SENTENCE = 800
MOST = 100
"""How many findings of one kind a file shows."""


@dataclass(frozen=True)
class Note:
    """A finding that has not been placed yet, and what fixes it.

    Attributes:
        code: One of `CODES`.
        path: Where it is.
        meaning: What it means, in a sentence.
        remedy: What the doctor does, or what a person can do.
        severity: How much it matters.
        eval_id: The case.
        loses: What the fix discards.
        mendable: Whether the doctor can fix it.
        edits: Changes of the text that fix it.
        partner: Changes of the recorded environment beside it that go with them.
        whole: Whether it is fixed by what `Notes.text` or `Notes.converted` is.
        at: The line and the column, where the path has none.
        count: For how many places it stands.
    """

    code: str
    path: JsonPath
    meaning: str
    remedy: str = ""
    severity: Severity = "error"
    eval_id: str = ""
    loses: str = ""
    mendable: bool = False
    edits: tuple[Edit, ...] = ()
    partner: tuple[Edit, ...] = ()
    whole: bool = False
    at: tuple[int, int] | None = None
    count: int = 1


@dataclass
class Notes:
    """What is found in one file.

    Attributes:
        file: The file.
        text: Its text in UTF-8, once it was read: places and edits count in it.
        converted: What the whole text becomes, where it is in the old form.
    """

    file: Path
    text: bytes = b""
    converted: bytes | None = None
    all: list[Note] = field(default_factory=list)

    def add(
        self,
        code: str,
        path: JsonPath,
        meaning: str,
        remedy: str = "",
        *,
        fix: str = "",
        edits: Iterable[Edit] = (),
        partner: Iterable[Edit] = (),
        loses: str = "",
        eval_id: str = "",
        severity: Severity | None = None,
        whole: bool = False,
        at: tuple[int, int] | None = None,
        count: int = 1,
    ) -> None:
        """Note a finding, with the attributes of `Note`.

        Where there are edits, or the whole text is put right, the doctor does what `fix` says, and `loses` what that says; elsewhere the
        remedy is a person's. The severity is that of the code, where no other one is given.
        """
        edits = tuple(edits)
        mendable = bool(fix) and (bool(edits) or whole)
        note = Note(
            code, path, _cut(meaning), _cut(fix if mendable else remedy), severity or CODES[code].severity, eval_id,
            loses=loses if mendable else "", mendable=mendable, edits=edits, partner=tuple(partner), whole=whole, at=at, count=count,
        )  # fmt: skip
        self.all.append(note)

    def findings(self, places: JsonPlaces[bytes] | None) -> tuple[Finding, ...]:
        """Place what was found: the first hundred of each kind, the last of which stands for the others too."""
        total: Counter[str] = Counter()
        for note in self.all:
            total[note.code] += note.count
        shown: Counter[str] = Counter()
        found: list[Finding] = []
        for note in self.all:
            shown[note.code] += 1
            if shown[note.code] > MOST:
                continue
            left = total[note.code] - note.count
            total[note.code] = left
            found.append(
                _finding(self.file, note, places, note.count + (left if shown[note.code] == MOST else 0))
            )
        return tuple(found)


def _cut(words: str) -> str:
    """Cut a sentence that quotes a file at length."""
    return words if len(words) <= _LONGEST_SENTENCE else f"{words[:_LONGEST_SENTENCE]}…"


def _finding(file: Path, note: Note, places: JsonPlaces[bytes] | None, count: int) -> Finding:
    at = note.at or (places.where(note.path) if places is not None and note.path else None)
    return Finding(
        code=note.code,
        severity=note.severity,
        file=file,
        place=path_place(note.path),
        line=at[0] if at else None,
        column=at[1] if at else None,
        eval_id=note.eval_id,
        meaning=note.meaning,
        mendable=note.mendable,
        remedy=note.remedy,
        loses=note.loses,
        count=count,
    )
