"""Creates eval-set files and appends cases to them: atomically, one writer at a time, touching nothing else.

A file that is there is opened first: in today's form with its outline, in ADK's old form converted. What was written by somebody who takes no lock since
then is noticed, and the work is done again on what stands there.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar, assert_never, cast

from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.eval_set import EvalSet

from evalset.errors import CaseTakenError, EvalSetError
from evalset.files.case_text import case_object, convert_old_form, keep_copy, new_eval_set, set_pieces
from evalset.files.eval_names import flaw_of_eval_id, set_id_for
from evalset.files.set_outline import (
    KNOWN_FILES,
    LARGE,
    EmptySetError,
    Identity,
    Insertion,
    KnownFiles,
    Outline,
    identity_of,
    outline_in_parts,
    outline_of,
)
from simulator.base.documents import open_file
from simulator.base.frozen_value import Value
from simulator.base.user_files import (
    Lock,
    LockTimeoutError,
    Replace,
    chunks,
    lock_path,
    made_folder,
    system_lock,
    write_whole,
)
from simulator.base.validation_words import check_kind


class ChangedMeanwhileError(Exception):
    """Somebody who takes no lock wrote the file while we worked on it."""


class Today(NamedTuple):
    """An eval set in the form of today."""

    file: FileIO
    identity: Identity
    outline: Outline


class Old(NamedTuple):
    """Eval data in ADK's old form: its text, and what ADK's converter makes of it."""

    identity: Identity
    text: bytes
    converted: EvalSet


@contextmanager
def opened(path: Path, target: Path, known: KnownFiles) -> Iterator[Today | Old | None]:
    """Open the file `target`, which people know as `path`; None where it is not there.

    Raises:
        EvalSetError: It is no file, is broken, or is no eval set.
        ChangedMeanwhileError: It was written while it was read.
        OSError: It cannot be read.
    """
    status = status_of(target)
    if status is None:
        yield None
        return
    if not stat.S_ISREG(status.st_mode):
        raise EvalSetError(
            path, "is a folder, not a file" if stat.S_ISDIR(status.st_mode) else "is not a file"
        )
    with cast("FileIO", open_file(target, "cases", buffering=0)) as file:
        identity = identity_of(os.fstat(file.fileno()))
        outline = known.outline(target, identity, file)
        if outline is not None:
            yield Today(file, identity, outline)
            return
        found = _read_set(path, file, identity)
        if isinstance(found, Today):
            known.remember(target, identity, found.outline)
        yield found


def _read_set(path: Path, file: FileIO, identity: Identity) -> Today | Old:
    outline = outline_in_parts(path, file) if identity.size > LARGE else None
    file.seek(0)
    text = file.readall() if outline is None else b""
    if identity_of(os.fstat(file.fileno())) != identity:
        raise ChangedMeanwhileError
    if outline is not None:
        return Today(file, identity, outline)
    try:
        return Today(file, identity, outline_of(path, text))
    except EvalSetError:
        converted = convert_old_form(path, text)
        if converted is None:
            raise
        return Old(identity, text, converted)


def status_of(target: Path) -> os.stat_result | None:
    """Return a file's status; None where nothing is there."""
    try:
        return target.stat()
    except FileNotFoundError:
        return None


Found: TypeAlias = Today | Old | None
Result = TypeVar("Result")

_ATTEMPTS = 5
_LOCK_TIMEOUT = 30.0
_MOMENT = 0.02
_EMPTY_MOMENTS = 50
"""So many moments, each of so many seconds, may a file be empty that another program writes anew."""


class WrittenCase(Value):
    """What a write did: `created` says that the file is new, `converted_copy` where its old form was kept."""

    path: Path
    eval_id: str
    created: bool = False
    converted_copy: Path | None = None


class _New(NamedTuple):
    """The cases to be written, by their ids and as objects."""

    eval_ids: Sequence[str]
    objects: Iterable[dict[str, Any]]


class _Plan(NamedTuple):
    """The file as it will be, and what is inserted into it where its outline will be known."""

    pieces: Iterable[bytes | memoryview]
    insertion: Insertion | None = None


class EvalSetWriter:
    """Writes eval cases into one eval-set file, creating the file and its folders where they are not there.

    Several processes and threads may write into one file at once. A symbolic link is followed; the file behind it
    keeps its mode, its owner and every byte outside of the new case. A file in ADK's old form is converted, and the
    old text kept beside it.

    Args:
        path: The eval-set file.
        agent_name: The agent's name, from which a new set gets its id, name and description.
        clock: Gives the time in seconds since the epoch, for a new set.
        replace: Puts the finished file in its place.
        lock: Keeps other writers out.
        lock_timeout: How many seconds to wait for them.
        known: Remembers the files that were written before.
        eval_set_path: The eval-set file, under its other name.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        agent_name: str = "",
        *,
        eval_set_path: Path | str | None = None,
        clock: Callable[[], float] = time.time,
        replace: Replace = os.replace,
        lock: Lock = system_lock,
        lock_timeout: float = _LOCK_TIMEOUT,
        known: KnownFiles = KNOWN_FILES,
    ) -> None:
        given = path if eval_set_path is None else eval_set_path
        if given is None or (path is not None and eval_set_path is not None):
            raise TypeError("EvalSetWriter needs the eval-set file exactly once: as path or as eval_set_path")
        check_kind(agent_name, "encode", "`agent_name` as a text")
        self.path = Path(given).expanduser().absolute()
        self.agent_name = agent_name
        self._clock = clock
        self._replace = replace
        self._lock = lock
        self._lock_timeout = lock_timeout
        self._known = known

    @property
    def eval_set_path(self) -> Path:
        """The eval-set file, as an absolute path."""
        return self.path

    def write_eval_case(
        self, case: EvalCase | None = None, *, eval_case: EvalCase | None = None
    ) -> WrittenCase:
        """Append a case to the file, or create the file with it.

        Args:
            case: The case.
            eval_case: The case, under its other name.

        Raises:
            TypeError: No case is given, or two.
            EvalSetError: The case's id cannot be used or is taken, the file is broken or no eval set, or the disk
                refused. The text names the file and the place; the file is as it was.
        """
        given = [each for each in (case, eval_case) if each is not None]
        if len(given) != 1:
            raise TypeError("write_eval_case needs the case exactly once: as case or as eval_case")
        (written,) = self.write_eval_cases(given)
        return written

    def write_eval_cases(self, cases: Sequence[EvalCase]) -> tuple[WrittenCase, ...]:
        """Append several cases in one step, or create the file with them; all of them are written, or none.

        Raises:
            EvalSetError: As `write_eval_case`.
        """
        for case in cases:
            check_kind(case, "conversation", "an EvalCase")
        if not cases:
            return ()
        first = self.write_objects([case.eval_id for case in cases], lambda: map(case_object, cases))
        return tuple(first.model_copy(update={"eval_id": case.eval_id}) for case in cases)

    def write_objects(
        self, eval_ids: Sequence[str], objects: Callable[[], Iterable[dict[str, Any]]]
    ) -> WrittenCase:
        """Append cases as `write_eval_cases` does, of which one at a time is in memory.

        Args:
            eval_ids: Their ids, at least one.
            objects: Gives the cases, as `case_object` gives them. It is asked again if another program disturbs the write.

        Returns:
            What was done for the first of them.

        Raises:
            EvalSetError: As `write_eval_case`.
        """
        for eval_id in eval_ids:
            self._check(eval_id)
        with self._told() as target:
            if not target.parent.is_dir():
                made_folder(target.parent)
            with self._lock(lock_path(target), self._lock_timeout):
                return self._unless_disturbed(
                    target, lambda found: self._write(target, found, _New(eval_ids, objects()))
                )

    def eval_ids(self) -> frozenset[str]:
        """Return the ids that are taken; none where the file is not there yet.

        Raises:
            EvalSetError: The file is broken or no eval set, or cannot be read.
        """
        with self._told() as target:
            return self._unless_disturbed(target, _ids)

    def preview(self, case: EvalCase) -> str:
        """Return the whole text that the file would have with this case; nothing is written.

        Raises:
            EvalSetError: As `write_eval_case`.
        """
        check_kind(case, "conversation", "an EvalCase")
        self._check(case.eval_id)
        new = _New([case.eval_id], [case_object(case)])
        with self._told() as target:
            return self._unless_disturbed(
                target, lambda found: b"".join(map(bytes, self._plan(found, new).pieces)).decode()
            )

    def _check(self, eval_id: str) -> None:
        if flaw := flaw_of_eval_id(eval_id):
            raise EvalSetError(self.path, flaw)

    @contextlib.contextmanager
    def _told(self) -> Iterator[Path]:
        """Return the real file behind the path, and tell what goes wrong there as an error about the path."""
        try:
            yield Path(os.path.realpath(self.path)) if self.path.is_symlink() else self.path
        except EvalSetError:
            raise
        except LockTimeoutError as error:
            reason = f"another program has been writing this file for {self._lock_timeout:g} s; nothing was written"
            raise EvalSetError(self.path, reason) from error
        except OSError as error:
            where = f" ({error.filename})" if error.filename not in {None, str(self.path)} else ""
            reason = f"the system refused: {error.strerror or error}{where}"
            raise EvalSetError(self.path, reason) from error
        except ValueError as error:
            raise EvalSetError(self.path, f"cannot be written: {error}") from error

    def _unless_disturbed(self, target: Path, work: Callable[[Found], Result]) -> Result:
        """Open the file and work on it, again where a program that takes no lock wrote it meanwhile, or has emptied it to write it."""
        moments = 0
        for _ in range(_ATTEMPTS):
            try:
                with (
                    contextlib.suppress(ChangedMeanwhileError),
                    opened(self.path, target, self._known) as found,
                ):
                    return work(found)
            except EmptySetError:
                if moments >= _EMPTY_MOMENTS:
                    raise
                moments += _until_filled(target, _EMPTY_MOMENTS - moments)
        raise EvalSetError(self.path, "another program keeps changing this file. Try again when it is done")

    def _plan(self, found: Found, new: _New) -> _Plan:
        """Lay out the file as it will be.

        Raises:
            EvalSetError: The id of a case is taken.
        """
        taken = set(_ids(found))
        for eval_id in new.eval_ids:
            if eval_id in taken:
                raise CaseTakenError(self.path, eval_id)
            taken.add(eval_id)
        if found is None:
            named = set_id_for(self.path)
            made = new_eval_set(self.agent_name, at=self._clock(), eval_set_id=named)
            return _Plan(set_pieces(made, new.objects))
        if isinstance(found, Old):
            return _Plan(set_pieces(found.converted, new.objects))
        insertion = Insertion(found.outline, zip(new.eval_ids, new.objects, strict=True))
        return _Plan(_with_insertion(found, insertion.pieces()), insertion)

    def _write(self, target: Path, found: Found, new: _New) -> WrittenCase:
        plan = self._plan(found, new)
        if found is not None and not os.access(target, os.W_OK):
            raise EvalSetError(self.path, "is read-only")
        copy = keep_copy(target, found.text) if isinstance(found, Old) else None
        try:
            written = write_whole(
                target,
                plan.pieces,
                before_replace=lambda: _check_unchanged(target, found),
                replace=self._replace,
            )
        except BaseException:
            if copy:
                copy.unlink(missing_ok=True)
            raise
        if plan.insertion:
            self._remember(target, written, plan.insertion.outline)
        return WrittenCase(
            path=self.path, eval_id=new.eval_ids[0], created=found is None, converted_copy=copy
        )

    def _remember(self, target: Path, written: os.stat_result, outline: Outline) -> None:
        """Know the file as we wrote it, unless somebody wrote it since. Renaming alone changed `changed_ns`."""
        now = identity_of(target.stat())
        if now == identity_of(written)._replace(changed_ns=now.changed_ns):
            self._known.remember(target, now, outline)


def preview(path: Path | str, agent_name: str, case: EvalCase) -> str:
    """Return the text that an eval-set file would have with this case; nothing is written.

    Raises:
        EvalSetError: As `EvalSetWriter.write_eval_case`.
    """
    return EvalSetWriter(path, agent_name).preview(case)


def _ids(found: Found) -> frozenset[str]:
    match found:
        case None:
            return frozenset()
        case Old():
            return frozenset(case.eval_id for case in found.converted.eval_cases)
        case Today():
            return found.outline.ids
        case never:
            assert_never(never)


def _with_insertion(found: Today, inserted: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    place = found.outline.layout.insert_at
    found.file.seek(0)
    yield from chunks(found.file, place)
    yield from inserted
    yield from chunks(found.file, found.identity.size - place)


def _until_filled(target: Path, most: int) -> int:
    """Wait until a file that is empty has changed and grows no more, for so many moments at most; return how many it took."""
    first = before = _size(target)
    for number in range(1, most + 1):
        time.sleep(_MOMENT)
        size = _size(target)
        if first != size == before:
            return number
        before = size
    return most


def _size(target: Path) -> int | None:
    status = status_of(target)
    return None if status is None else status.st_size


def _check_unchanged(target: Path, found: Found) -> None:
    status = status_of(target)
    if (status and identity_of(status)) != (found and found.identity):
        raise ChangedMeanwhileError
