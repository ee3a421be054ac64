"""What the doctor finds, and what was done about it: frozen values, for the page, for CI and for a person.

Checks note what they find in one file in its `Notes`, with the edits that fix it; those become `Finding`s with their places. A migration is read here as it is written on the
command line and on the page, `--rename-tool OLD=NEW` and its like; a change shows itself as a unified diff.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from pydantic import Field, ValidationError, field_validator, model_validator

from evalset.files.byte_edits import Edit
from evalset.files.eval_names import renames_from
from evalset.measured import Measured
from simulator.base.frozen_value import Value
from simulator.base.json_paths import path_place
from simulator.base.json_text import JsonPath, JsonPlaces, JsonTextError, read_json
from simulator.base.json_values import Json, write
from simulator.base.line_differences import hunks

_CONTEXT = 3
_LONGEST_LINE = 400
_MOST_LINES = 5_000


def unified(before: bytes, after: bytes, name: str) -> str:
    """Return a unified diff; empty where nothing differs.

    What is no text in UTF-8 shows its odd bytes escaped. A line of more than 400 characters is cut around what differs in
    it, and a diff of more than 5,000 lines behind them.
    """
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    lines = [f"--- {name}", f"+++ {name} (fixed)"]
    for line in _written(old, new):
        if len(lines) >= _MOST_LINES:
            lines.append("... (diff truncated)")
            break
        lines.append(line)
    return "\n".join(lines) + "\n"


def _lines(text: bytes) -> list[str]:
    return text.decode("utf-8", "backslashreplace").split("\n")


def _written(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for hunk in hunks(old, new, _CONTEXT):
        start, stop = hunk.start, hunk.stop
        yield f"@@ -{start + 1},{stop - start} +{hunk.new_start + 1},{hunk.new_stop - hunk.new_start} @@"
        place = start
        for block in hunk.blocks:
            yield from (f" {_cut(line)}" for line in old[place : block.a])
            gone, come = old[block.a : block.a_end], new[block.b : block.b_end]
            for index, line in enumerate(gone):
                yield f"-{_cut(line, come[index] if index < len(come) else '')}"
            for index, line in enumerate(come):
                yield f"+{_cut(line, gone[index] if index < len(gone) else '')}"
            place = block.a_end
        yield from (f" {_cut(line)}" for line in old[place:stop])


def _cut(line: str, other: str = "") -> str:
    """Cut a long line around the first place where it differs from another one."""
    if len(line) <= _LONGEST_LINE:
        return line
    shared = next((at for at, pair in enumerate(zip(line, other, strict=False)) if pair[0] != pair[1]), 0)
    start = max(0, shared - _LONGEST_LINE // 4)
    end = min(len(line), start + _LONGEST_LINE)
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


Severity: TypeAlias = Literal["error", "warning", "note"]
"""`error`: ADK refuses the file or the case, or cannot judge it. `warning`: it is judged, read or kept otherwise than is
meant. `note`: worth knowing."""

Kind: TypeAlias = Literal["eval set", "old eval data", "recorded environment", "dataset", "nothing known"]


class Finding(Value):
    """One thing that is wrong, or worth knowing.

    Attributes:
        code: What kind of thing it is; it keeps its meaning in later releases (`evalset.doctor.CODES` lists all).
        severity: How much it matters.
        file: The file.
        place: Where in the file, as a path of JSON (`eval_cases[0].conversation[1]`); empty for the whole file.
        line: The line of that place, from 1; None where the file has no such line.
        column: The column in bytes, from 1.
        eval_id: The id of the case that it is about; empty where it is about none.
        meaning: One sentence that says what it means when the eval set is run.
        mendable: Whether `mend` does something about it.
        remedy: What `mend` does; or what a person can do.
        loses: What the fix discards for good, apart from the copy; empty where that is nothing.
        count: How many places this finding stands for: a file shows the first hundred of a kind, and the last of these
            stands for the others too.
    """

    code: str
    severity: Severity
    file: Path
    place: str = ""
    line: int | None = None
    column: int | None = None
    eval_id: str = ""
    meaning: str
    mendable: bool = False
    remedy: str = ""
    loses: str = ""
    count: int = 1


class ExaminedFile(Value):
    """A file that was looked at, and what it is; `scenarios` counts the cases that a simulated user plays."""

    file: Path
    kind: Kind
    cases: int = 0
    scenarios: int = Field(default=0, exclude=True)
    findings: tuple[Finding, ...] = ()


class Examination(Value):
    """What was found in all files.

    Attributes:
        files: The files, in the order in which they were named.
        skipped: Sentences that name each check that could not be made, and why.
        unreadable: Sentences that name what could not be read at all.
        measured: The digests of what was examined, and of the agents that calls were checked against.
        renamed: The name that an agent of the recordings may have now, by its old one: no agent is called so, and exactly one
            declares the same tools.
    """

    files: tuple[ExaminedFile, ...] = ()
    skipped: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    measured: Measured | None = None
    renamed: Mapping[str, str] = Field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, file by file."""
        return tuple(finding for file in self.files for finding in file.findings)

    @property
    def mendable(self) -> tuple[Finding, ...]:
        """Those that `mend` does something about."""
        return tuple(finding for finding in self.findings if finding.mendable)

    def count(self, severity: Severity) -> int:
        """Return how many places there are of a severity."""
        return sum(finding.count for finding in self.findings if finding.severity == severity)


class FileChange(Value):
    """What was, or would be, changed in one file.

    Attributes:
        file: The file.
        before: Its text as it is.
        after: Its text as it will be.
        mended: What it fixes.
        written: Whether it was written.
        copy_kept: Where the old text is kept; None where nothing was written.
        problem: Why it was not written; empty where it was, or was only shown.
    """

    file: Path
    before: bytes = Field(repr=False)
    after: bytes = Field(repr=False)
    mended: tuple[Finding, ...] = ()
    written: bool = False
    copy_kept: Path | None = None
    problem: str = ""

    @cached_property
    def diff(self) -> str:
        """The change as a unified diff of text; long lines and very long diffs are cut, and say so."""
        return unified(self.before, self.after, self.file.name)


class Changes(Value):
    """What was, or would be, changed in all files; a file that stays as it is is left out, save with a problem."""

    files: tuple[FileChange, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """What was not changed, and why: `<file>: <reason>`."""
        return tuple(f"{each.file}: {each.problem}" for each in self.files if each.problem)

    @property
    def copies(self) -> tuple[Path, ...]:
        """Where the old texts are kept."""
        return tuple(each.copy_kept for each in self.files if each.copy_kept)


class RenamedArgument(Value):
    """An argument that a tool now calls otherwise; `tool` is the tool's name in the files."""

    tool: str = Field(min_length=1)
    old: str = Field(min_length=1)
    new: str = Field(min_length=1)


class DroppedArgument(Value):
    """An argument that a tool no longer takes; `tool` is the tool's name in the files."""

    tool: str = Field(min_length=1)
    name: str = Field(min_length=1)


class SetArgument(Value):
    """An argument that each call of a tool shall have with this value; `tool` is the tool's name in the files."""

    tool: str = Field(min_length=1)
    name: str = Field(min_length=1)
    value: Json

    @field_validator("value")
    @classmethod
    def _can_be_written(cls, value: Any) -> Any:
        write(value)
        return value


class Migration(Value):
    """How tools and their arguments changed. All of it is done at once: two tools may swap their names.

    Attributes:
        tools: The new name of each renamed tool, by its old one.
        agents: The new name of each renamed agent, by its old one; that of its app, too.
        renamed: Arguments that have another name now.
        dropped: Arguments that are taken out of each call.
        given: Arguments that each call gets, in place of what it has.
    """

    tools: Mapping[str, str] = Field(default_factory=dict)
    renamed: tuple[RenamedArgument, ...] = ()
    dropped: tuple[DroppedArgument, ...] = ()
    given: tuple[SetArgument, ...] = ()
    agents: Mapping[str, str] = Field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing."""
        return not (self.tools or self.renamed or self.dropped or self.given or self.agents)

    @property
    def touched(self) -> frozenset[str]:
        """The tools whose arguments change."""
        return frozenset(
            [each.tool for each in self.renamed]
            + [each.tool for each in self.dropped]
            + [each.tool for each in self.given]
        )

    @model_validator(mode="after")
    def _says_one_thing_of_each(self) -> Self:
        if any(not old or not new for old, new in self.tools.items()):
            raise ValueError("a tool's name is empty")
        if any(not old or not new for old, new in self.agents.items()):
            raise ValueError("an agent's name is empty")
        if both := sorted(self.tools.keys() & self.agents.keys()):
            raise ValueError(f"{both[0]} is renamed both as a tool and as an agent")
        touched = [(each.tool, each.old) for each in self.renamed]
        touched += [(each.tool, each.name) for each in self.dropped]
        touched += [(each.tool, each.name) for each in self.given]
        if twice := sorted({f"{tool}.{name}" for tool, name in touched if touched.count((tool, name)) > 1}):
            raise ValueError(f"more than one change is given for {', '.join(twice)}")
        made = [(each.tool, each.new) for each in self.renamed]
        made += [(each.tool, each.name) for each in self.given]
        if twice := sorted({f"{tool}.{name}" for tool, name in made if made.count((tool, name)) > 1}):
            raise ValueError(f"{', '.join(twice)} would exist twice")
        return self


# Lists what the doctor can find: each code with its severity and what it is about.


class Code(NamedTuple):
    """A kind of finding; `about` says in a few words what it is."""

    severity: Severity
    about: str


CODES: dict[str, Code] = {
    # the file as a text
    "empty-file": Code("error", "an empty file"),
    "not-utf8": Code("error", "a file that is not UTF-8"),
    "byte-order-mark": Code("error", "a byte order mark at the start of a file"),
    "damaged-json": Code("error", "invalid JSON"),
    "trailing-comma": Code("error", "commas before a closing bracket"),
    "too-deep": Code("error", "brackets nested deeper than ADK's parser allows"),
    "duplicate-key": Code("warning", "a name that occurs twice in an object"),
    "no-json-number": Code("warning", "NaN or Infinity, which JSON cannot represent"),
    "too-heavy": Code("error", "a file that takes too much memory to examine"),
    "oversized": Code("note", "a file so large that ADK's tools become slow"),
    # the set
    "not-an-eval-set": Code("error", "JSON that is not an eval set"),
    "legacy-format": Code("warning", "eval data in ADK's legacy format"),
    "legacy-unreadable": Code("error", "eval data in the legacy format that ADK's converter cannot read"),
    "camel-case-top": Code("error", "top-level names in camel case, where ADK accepts only snake case"),
    "missing-set-id": Code("error", "an eval set without an id"),
    "unfit-set-id": Code("warning", "a set id, or a file name, that `adk web` cannot use"),
    "name-differs": Code("note", "a file name that differs from the id of its set"),
    "empty-set": Code("warning", "an eval set without cases"),
    "unknown-key": Code("warning", "a field that ADK does not know"),
    "refused-key": Code("error", "an unknown field, for which ADK refuses the whole file"),
    "refused-value": Code("error", "an invalid value, for which ADK refuses the whole file"),
    # the cases
    "missing-eval-id": Code("error", "a case without an id"),
    "duplicate-eval-id": Code("error", "two cases with the same id"),
    "unfit-eval-id": Code("warning", "a case id that `adk eval` or `adk web` cannot use"),
    "no-conversation": Code("error", "a case with neither a conversation nor a scenario"),
    "two-conversations": Code("error", "a case with both a conversation and a scenario"),
    "empty-conversation": Code("warning", "a conversation without turns"),
    "unfit-app-name": Code("warning", "an app name that ADK cannot use"),
    "other-app-name": Code("note", "a case that names another app than its agent"),
    "not-portable": Code("note", "something that some ADK releases from 1.24 to 2.13 refuse"),
    # the turns
    "missing-user-content": Code("error", "a turn without a user message"),
    "empty-user-content": Code("warning", "a turn with an empty user message"),
    "missing-role": Code("warning", "a message without a role"),
    "wrong-role": Code("warning", "a message whose role does not match its author"),
    "missing-final-response": Code("warning", "a turn without a final response, or with an empty one"),
    "duplicate-invocation-id": Code("note", "two turns of a case with the same id"),
    "old-tool-use": Code("error", "the legacy `expected_tool_use` in a turn of the current format"),
    # the calls
    "call-without-name": Code("error", "a call without a tool name"),
    "call-without-response": Code("note", "calls whose responses are not stored"),
    "response-without-call": Code("warning", "a response without its call"),
    "duplicate-call-id": Code("warning", "two calls of a turn with the same id"),
    "confirmation-round": Code("warning", "a question to a person in the middle of a turn"),
    "parallel-calls": Code("note", "parallel calls, whose order matters"),
    # with the agent
    "unknown-tool": Code("error", "a call of a tool that the agent does not have"),
    "refused-arguments": Code("error", "arguments that the tool's schema refuses"),
    "missing-state": Code(
        "error", "a key that an instruction needs, and that the state of a case does not have"
    ),
    "unknown-agent": Code("warning", "an author that is not one of the agents"),
    # the recorded environment
    "broken-environment": Code("error", "a recorded environment that cannot be used"),
    "newer-environment": Code("error", "a recorded environment of a newer release"),
    "environment-alone": Code("warning", "a recorded environment without its eval set"),
    "environment-lacks-case": Code("warning", "a case that was not recorded"),
    "environment-extra-case": Code("warning", "a recorded case that is not in the eval set"),
    "environment-turns-differ": Code("warning", "recorded turns that differ from the case"),
    "environment-calls-differ": Code("warning", "recorded calls that differ from the case"),
    "environment-answers-differ": Code("warning", "recorded responses that differ from the case"),
    "blank-response": Code("warning", "a response with a blank: a place of a draft that was not filled in"),
    "uncertain-response": Code(
        "note", "a response with a value that no source gave: a draft was accepted with it"
    ),
    "environment-state-differs": Code("note", "a recorded final state that differs from the case"),
    "environment-schema-changed": Code("warning", "a tool whose schema changed after it was recorded"),
    "environment-tool-gone": Code("error", "a recorded tool that the agent does not have"),
    # an evaluation dataset of Agent Platform
    "dataset-refused": Code("error", "a case of a dataset that cannot be read"),
    "dataset-role": Code("error", "a role other than `user` and `model` in a dataset"),
    "dataset-two-messages": Code("error", "a dataset case with a prompt beside turns that end with the user"),
    "dataset-no-message": Code("error", "a dataset case without a message that the agent can answer"),
    "dataset-turn-index": Code("warning", "a turn of a dataset without its index"),
    "dataset-reference": Code("error", "a reference that is not wrapped in `response`"),
    # what a migration tells
    "migrated": Code("note", "a change made by a migration"),
    "migration-conflict": Code("error", "a change that a migration cannot make"),
    "migration-left": Code(
        "warning", "something that a migration did not change, but that may need a change"
    ),
}
"""All kinds of findings by their codes, which keep their meaning in later releases."""


MIGRATION_OPTIONS: Mapping[str, tuple[str, str]] = {
    "--rename-agent": ("OLD=NEW", "rename an agent and its app"),
    "--rename-tool": ("OLD=NEW", "rename a tool"),
    "--rename-argument": ("TOOL.OLD=NEW", "rename an argument of a tool"),
    "--drop-argument": ("TOOL.NAME", "remove an argument from each call of a tool"),
    "--set-argument": ("TOOL.NAME=JSON", "set an argument in each call of a tool"),
}
"""What follows each option, and what it does."""


def migration_of(words: Mapping[str, Sequence[str]]) -> Migration:
    """Read a migration from what follows each option, once for each time that it was given.

    Raises:
        ValueError: Something is written in another way, or contradicts something else; the text names it.
    """
    renamed = [_argument("--rename-argument", each) for each in words.get("--rename-argument", ())]
    dropped = [_argument("--drop-argument", each) for each in words.get("--drop-argument", ())]
    given = [_argument("--set-argument", each) for each in words.get("--set-argument", ())]
    tools: dict[str, str] = {}
    for each in words.get("--rename-tool", ()):
        old, equals, new = each.partition("=")
        if not (equals and old and new) or old in tools:
            raise ValueError(f"--rename-tool {each}: expected OLD=NEW, with each OLD only once")
        tools[old] = new
    renamed, dropped, given = (
        [(name, old, new) for tool, old, new in each for name in _then(tool, tools)]
        for each in (renamed, dropped, given)
    )
    try:
        return Migration(
            tools=tools,
            agents=renames_from(list(words.get("--rename-agent", ()))),
            renamed=tuple(RenamedArgument(tool=tool, old=name, new=new) for tool, name, new in renamed),
            dropped=tuple(DroppedArgument(tool=tool, name=name) for tool, name, _ in dropped),
            given=tuple(
                SetArgument(tool=tool, name=name, value=_value(tool, name, text))
                for tool, name, text in given
            ),
        )
    except ValidationError as error:
        told = (each["msg"].removeprefix("Value error, ") for each in error.errors(include_url=False))
        raise ValueError("; ".join(told)) from error


def _then(tool: str, renamed: Mapping[str, str]) -> list[str]:
    """Return the names that a tool may have had, which is named as before its renaming or after it."""
    return [tool, *(old for old, new in renamed.items() if new == tool and tool not in renamed)]


def _argument(flag: str, words: str) -> tuple[str, str, str]:
    wanted, _ = MIGRATION_OPTIONS[flag]
    place, equals, text = words.partition("=")
    tool, dot, name = place.partition(".")
    has_value = "=" in wanted
    if not (tool and dot and name) or bool(equals) != has_value or (has_value and not text):
        raise ValueError(f"{flag} {words}: expected {wanted}")
    return tool, name, text


def _value(tool: str, name: str, text: str) -> Any:
    try:
        return read_json(text)
    except JsonTextError as error:
        raise ValueError(
            f"--set-argument {tool}.{name}: {text!r} is not valid JSON ({error}); put a string in double quotes"
        ) from error


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
            code, path, _bounded(meaning), _bounded(fix if mendable else remedy), severity or CODES[code].severity, eval_id,
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


def _bounded(words: str) -> str:
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
