"""Keeps what an import finds on the disk, until it is added to an eval set: an import of many cases takes little memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

from google.adk.evaluation.eval_case import EvalCase, SessionInput
from pydantic_core import from_json, to_json

from evalset.errors import EvalSetError
from evalset.files.case_text import case_json, case_object
from evalset.files.eval_names import FreeIds, case_digest, flaw_of_eval_id, usable_eval_id
from evalset.files.json_streams import Span, Spool, SpoolError
from evalset.files.set_writer import EvalSetWriter
from evalset.golden_trace.scenarios import is_named_by_scenario
from evalset.recorded.golden_digests import with_golden
from evalset.recorded.known_agents import renamed_case, renamed_recording
from evalset.recorded.recorded_turns import untold_words
from evalset.recorded.recording import CaseNote, RecordedCase, version_of
from evalset.recorded.recording_files import RecordedEnvironmentError, put_texts, sidecar_of, value_text
from simulator.base.documents import LIMITS
from simulator.base.frozen_value import Value
from simulator.base.validation_words import MOST_TEXT, InputError, shortened


class GatheredCase(NamedTuple):
    """What is known of a kept case without reading it: its id, how many turns it has, where its recording stands, and how many responses that does not tell."""

    eval_id: str
    turns: int
    recorded: Span | None
    note: CaseNote | None = None
    untold: int = 0


class _Kept(NamedTuple):
    """A case that is kept: which of the given ones it is, where its text stands, and where the recordings of it and those before it end."""

    number: int
    known: GatheredCase
    text: Span
    recordings_end: int
    version: int


class Gathered:
    """The cases of an import, each with an id of its own, with what is recorded of them.

    Args:
        chosen: The ids of the cases to keep; all where none is named.
        new_names: The new names of renamed agents, by their old ones.

    Attributes:
        recordings: The texts of the recordings, as `value_text` writes them.
    """

    def __init__(self, chosen: Collection[str] = (), new_names: Mapping[str, str] | None = None) -> None:
        self._chosen, self._new_names = frozenset(chosen), new_names or {}
        self._cases, self.recordings = Spool(), Spool()
        self._given = 0
        self._kept: list[_Kept] = []

    def __enter__(self) -> Self:
        """Return what is gathered; behind the block it is gone."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the texts."""
        self._cases.__exit__(kind, error, trace)
        self.recordings.__exit__(kind, error, trace)

    def __len__(self) -> int:
        """Return how many cases are kept."""
        return len(self._kept)

    def keep(self, found: FoundCase) -> None:
        """Keep one more case, if it is one of those that were chosen."""
        self._given += 1
        if self._chosen and found.case.eval_id not in self._chosen:
            return
        case, recorded = self._renamed(found)[:2] if self._new_names else found[:2]
        text = self._cases.add(_text(case))
        known = GatheredCase(case.eval_id, len(case.conversation or ()), None, found.note)
        if recorded is not None:
            span, untold = self.recordings.add(value_text(recorded)), len(untold_words(recorded))
            known = known._replace(recorded=span, untold=untold)
        version = version_of(recorded) if recorded is not None else 0
        self._kept.append(_Kept(self._given, known, text, self.recordings.size, version))

    def keep_first(self, count: int) -> None:
        """Forget all cases but the first of those that were given."""
        self._given = count
        while self._kept and self._kept[-1].number > count:
            self._kept.pop()
        self._cases.cut(self._kept[-1].text.stop if self._kept else 0)
        self.recordings.cut(self._kept[-1].recordings_end if self._kept else 0)

    @property
    def version(self) -> int:
        """The version of a recorded environment that can hold the recordings."""
        return max((each.version for each in self._kept), default=0)

    def cases(self) -> Sequence[GatheredCase]:
        """Return what is known of the cases, in the order of the import."""
        return [each.known for each in self._kept]

    def objects(self, eval_ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Read the cases one by one, as `case_object` gives them, under other ids.

        Raises:
            ValueError: JSON or UTF-8 has no form for something in a case.
        """
        for eval_id, found in zip(eval_ids, self._read(), strict=True):
            if isinstance(found, str):
                raise ValueError(f"the case {eval_id!r}: {found}")  # noqa: TRY004 - it is the error that `_text` met
            yield found | {"eval_id": eval_id}

    def app_name(self) -> str:
        """Return the first app that a case names; empty where none does."""
        given = (found.get("session_input") for found in self._read() if isinstance(found, dict))
        return next((str(each["app_name"]) for each in given if each and each.get("app_name")), "")

    def _read(self) -> Iterator[Any]:
        for each in self._kept:
            yield from_json(self._cases.read(each.text))

    def _renamed(self, found: FoundCase) -> FoundCase:
        case, recorded = renamed_case(found.case, self._new_names), found.environment
        if recorded is not None:
            recorded = with_golden(renamed_recording(recorded, self._new_names), case)
        return FoundCase(case, recorded)


def _text(case: EvalCase) -> bytes:
    """Write a case for `Gathered.objects`. One that cannot be written is no problem until somebody wants to write it."""
    try:
        return to_json(case_object(case), inf_nan_mode="constants", bytes_mode="base64")
    except ValueError as error:
        return to_json(str(error))


# Adds imported cases to an eval set in one step, with what is recorded of them beside it.


class Added(Value):
    """What was added to an eval set.

    Attributes:
        path: The eval set.
        eval_ids: The ids of the cases in it, in the order of the import.
        environment: The recorded environment, where something is recorded of the cases.
        trouble: Why that was not written; the eval set was.
    """

    path: Path
    eval_ids: tuple[str, ...]
    environment: Path | None = None
    trouble: str = ""


def add_to_set(path: Path, gathered: Gathered, *, dry_run: bool = False) -> Added:
    """Add cases to an eval set, which is created if need be. An id that is taken there becomes another.

    Args:
        path: The eval set.
        gathered: The cases, at least one, with what is recorded of them.
        dry_run: Say what would be added, and write nothing.

    Raises:
        EvalSetError: The file is broken or no eval set, the disk refused, or what is recorded is too large; it is as it was.
        SpoolError: What is gathered cannot be read any more; the eval set is as it was.
    """
    writer = EvalSetWriter(path, gathered.app_name() or path.name.partition(".")[0] or "imported")
    free = FreeIds(writer.eval_ids())
    eval_ids = tuple(free.take(case.eval_id) for case in gathered.cases())
    recorded = {
        eval_id: case.recorded
        for eval_id, case in zip(eval_ids, gathered.cases(), strict=True)
        if case.recorded
    }
    notes = {
        eval_id: case.note for eval_id, case in zip(eval_ids, gathered.cases(), strict=True) if case.note
    }
    environment = sidecar_of(writer.path) if recorded or notes else None
    if (size := gathered.recordings.size) > LIMITS["recording"]:
        reason = f"the recorded responses of the cases have {size >> 20:,} MB; the limit is {LIMITS['recording'] >> 20} MB"
        raise EvalSetError(writer.path, f"{reason}. Nothing was added. Import fewer cases at once")
    added = Added(path=writer.path, eval_ids=eval_ids, environment=environment)
    if dry_run:
        return added
    writer.write_objects(eval_ids, lambda: gathered.objects(eval_ids))
    try:
        if environment:
            put_texts(environment, recorded, gathered.version, gathered.recordings, notes)
    except (RecordedEnvironmentError, OSError, SpoolError) as error:
        return added.model_copy(update={"trouble": str(error)})
    return added


# What an import finds: cases, their recorded environments, and what could not be taken.


class FoundCase(NamedTuple):
    """A case, and what its environment answered, as far as that is known.

    `digest` is that of the case as it stands in its file, where reviews lie beside it. `note` is what its file, or the recording beside that, notes of it.
    """

    case: EvalCase
    environment: RecordedCase | None = None
    digest: str = ""
    note: CaseNote | None = None


class Imported(NamedTuple):
    """What was imported.

    Attributes:
        cases: The cases, each with an id of its own.
        environments: What their environments answered, by the ids; of a case of which nothing is known, there is none.
        problems: In sentences with the place: what was left out or changed, and which answers nobody knows.
        origins: Where each case was found, by the ids: the place, and its id there.
        rewritten: The digests of reviewed cases as an import writes them, by those that they had.
        notes: The notes of cases that have one, by the ids.
    """

    cases: tuple[EvalCase, ...] = ()
    environments: dict[str, RecordedCase] = {}  # noqa: RUF012 - nobody changes it
    problems: tuple[str, ...] = ()
    origins: dict[str, tuple[str, str]] = {}  # noqa: RUF012 - as above
    rewritten: dict[str, str] = {}  # noqa: RUF012 - as above
    notes: dict[str, CaseNote] = {}  # noqa: RUF012 - as above


def _digest(case: EvalCase) -> str:
    try:
        return case_digest(json.loads(case_json(case)))
    except ValueError:  # it cannot be written, which is said where it is
        return ""


MOST_MEMORY = 600 << 20
"""How much memory the cases of an import may take where all are held."""
_BYTES_A_VALUE, _BEFORE_VALUES, _PIECE = 320, (b",", b"[", b"{"), 1 << 20
MOST_PROBLEMS = 1_000
"""How many problems of an import are listed."""


_OF_ONE_CASE = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\(.*\)|\d+""", re.DOTALL)
"""What differs between the same problem of two cases: names, arguments and numbers."""


def grouped(problems: Iterable[str]) -> Iterator[str]:
    """Yield each problem once, with how many cases or places have the same one."""
    kinds: dict[str, list[str]] = {}
    for problem in problems:
        words = problem.partition(": ")[2] or problem
        kind = _OF_ONE_CASE.sub("", words) if words.startswith("the case ") else words
        kinds.setdefault(kind, []).append(problem)
    for same in kinds.values():
        yield f"{same[0]} (and {len(same) - 1:,} more like this)" if len(same) > 1 else same[0]


class ImportProblemError(InputError):
    """Something cannot be imported; the text says why, without the place."""


class StoppedImportError(Exception):
    """Nobody wants any more of it; what was found by then is there."""


class FoundCases:
    """The found cases, kept in memory."""

    def __init__(self) -> None:
        self.found: list[FoundCase] = []

    def keep(self, found: FoundCase) -> None:
        """Keep one more case."""
        self.found.append(found)

    def keep_first(self, count: int) -> None:
        """Forget all cases but the first."""
        del self.found[count:]

    def imported(self, problems: Iterable[str]) -> Imported:
        """Return all that was found."""
        known = {each.case.eval_id: each.environment for each in self.found if each.environment}
        notes = {each.case.eval_id: each.note for each in self.found if each.note}
        return Imported(tuple(each.case for each in self.found), known, tuple(problems), notes=notes)


def memory_of(file: BinaryIO) -> int:
    """Return about how many bytes of memory the cases of a file in JSON take: what ADK makes of each value beside its text."""
    file.seek(0)
    needed = 0
    while piece := file.read(_PIECE):
        needed += len(piece) + _BYTES_A_VALUE * sum(map(piece.count, _BEFORE_VALUES))
    return needed


class Harvest:
    """Gives each case that is found an id of its own, and hands it to a keeper.

    Args:
        keeper: Keeps the cases.
        goes_on: Asked with each case, with how many were found before; False ends the import.
        most_bytes: How much memory the cases may take; None where the keeper holds none.

    Attributes:
        eval_ids: The ids of all cases, in the order of the import.
        origins: Where each of them was found: the place, and its id there.
        problems: What could not be taken, in sentences with the place.
        rewritten: The digests of reviewed cases as they are written now, by those that they had.
        session_input: The session that scenarios begin with, as their files name none.
        is_there: Whether the set that the cases are for has an id: a scenario that it has already is skipped, as by ADK's command.
        skipped: The ids of the scenarios that were.
    """

    def __init__(
        self,
        keeper: FoundCases | Gathered,
        goes_on: Callable[[int], bool] = lambda _: True,
        most_bytes: int | None = None,
    ) -> None:
        self._keeper, self._goes_on = keeper, goes_on
        self._most_bytes, self._bytes = most_bytes, 0
        self._free = FreeIds()
        self.eval_ids: list[str] = []
        self.origins: list[tuple[str, str]] = []
        self.problems: list[str] = []
        self.rewritten: dict[str, str] = {}
        self.session_input = SessionInput(app_name="", user_id="user")
        self.is_there: Callable[[str], bool] = lambda _: False
        self.skipped: list[str] = []

    def take(self, place: str, found: Iterable[FoundCase]) -> None:
        """Take in cases that were found at a place.

        Raises:
            StoppedImportError: The import is to end.
        """
        for each in found:
            if not self._goes_on(len(self.eval_ids)):
                raise StoppedImportError
            wanted, case = each.case.eval_id, each.case
            if is_named_by_scenario(case) and (self.is_there(wanted) or wanted in self.eval_ids):
                self.skipped.append(wanted)
                continue
            free = self._free.take(usable_eval_id(wanted))
            if free != wanted:
                why = flaw_of_eval_id(wanted) or "this id already exists"
                self.tell(place, f"the case {wanted!r} was renamed to {free!r}: {why}")
                case = case.model_copy(update={"eval_id": free})
            if each.digest:
                self.rewritten[each.digest] = _digest(case) or each.digest
            self.eval_ids.append(free)
            self.origins.append((place, wanted))
            self._keeper.keep(each._replace(case=case))

    def begin(self, file: BinaryIO) -> None:
        """Take in how much memory the cases of the next file will take.

        Raises:
            ImportProblemError: It is too much beside the others.
        """
        if self._most_bytes is None:
            return
        needed = memory_of(file)
        if self._bytes + needed > self._most_bytes:
            raise ImportProblemError(
                f"left out: the cases would take more than {self._most_bytes >> 20} MB of memory, the limit of an import that shows its "
                "cases. `golden-trace import` takes larger ones"
            )
        self._bytes += needed

    def tell(self, place: str, *problems: str) -> None:
        """Take in what could not be taken at a place."""
        room = MOST_PROBLEMS - len(self.problems)
        self.problems += [shortened(f"{place}: {problem}", MOST_TEXT) for problem in problems[: max(room, 0)]]
        if 0 <= room < len(problems):
            self.problems.append(
                f"{place}: more problems follow; only the first {MOST_PROBLEMS:,} are listed"
            )

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Forget what the block took and told where it raises, except where the import is to end."""
        cases, problems = len(self.eval_ids), len(self.problems)
        try:
            yield
        except StoppedImportError:
            raise
        except BaseException:
            self._keeper.keep_first(cases)
            self._free.give_back(self.eval_ids[cases:])
            del self.eval_ids[cases:], self.origins[cases:], self.problems[problems:]
            raise
