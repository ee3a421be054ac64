"""Keeps named sets of injection rules as files in a folder, for every agent."""

from __future__ import annotations

import contextlib
import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from simulator.base.atomic_files import lock_path, sync_folder, system_lock, write_whole
from simulator.base.documents import read_file
from simulator.environment.injection.rule_sets import (
    RuleSet,
    RuleSetError,
    RuleSetForm,
    read_rule_set,
    write_rule_set,
)

_SUFFIX = ".rules.json"
_OTHERS = (".rules.yaml", ".rules.yml")
_LONGEST_NAME = 100
_LONGEST_STEM = 60
_PATIENCE_SECONDS = 10.0
_UNSAFE = re.compile(r"[^a-z0-9]+")


class StoredSet(NamedTuple):
    """A file of the folder: the set's name, how many rules it holds, and what is wrong with it, if anything is."""

    name: str
    path: Path
    rules: int = 0
    description: str = ""
    error: str = ""


class RuleSetFolder:
    """Sets of rules in a folder, one file for each. The folder is made when the first is saved.

    A name may be any text of one line with at most 100 characters; its file's name is made from it. A file that
    somebody put there is listed too, by the name that it gives, or else by the file's.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def list(self) -> tuple[StoredSet, ...]:
        """Return the sets by name; those that are damaged too, with what is wrong with them."""
        files = [path for path in self._files() if path.is_file()]
        return tuple(sorted(map(_stored, files), key=lambda each: (each.name.casefold(), each.path.name)))

    def load(self, name: str) -> RuleSet:
        """Return the set called `name`.

        Raises:
            RuleSetError: There is none, or its file is damaged.
        """
        path = self._path_of(name)
        try:
            return _read(path)
        except RuleSetError as error:
            raise RuleSetError(f"{path.name}: {error}") from error

    def save(self, rule_set: RuleSet, *, overwrite: bool = True) -> Path:
        """Write a set under its name, as a whole or not at all; another one of that name is replaced.

        Raises:
            RuleSetError: Its name cannot be one, or is taken and `overwrite` is not set.
            OSError: The file cannot be written; what was there before is still there.
        """
        name = _checked(rule_set.name)
        known = self._find(name)
        if known is not None and not overwrite:
            raise RuleSetError(f"a rule set named {name!r} already exists")
        path = known or self.path / _file_name(name)
        self.path.mkdir(parents=True, exist_ok=True)
        form: RuleSetForm = "json" if path.name.endswith(_SUFFIX) else "yaml"
        _write(path, write_rule_set(rule_set.model_copy(update={"name": name}), form))
        return path

    def rename(self, name: str, new_name: str) -> Path:
        """Return a set another name.

        Raises:
            RuleSetError: There is no such set, it is damaged, or the new name cannot be one or is taken.
            OSError: The file cannot be written.
        """
        new_name = _checked(new_name)
        old = self._path_of(name)
        if self._find(new_name) not in {None, old}:
            raise RuleSetError(f"a rule set named {new_name!r} already exists")
        renamed = self.load(name).model_copy(update={"name": new_name})
        new = self.path / _file_name(new_name)
        _write(new, write_rule_set(renamed))
        if new != old:
            old.unlink()
        return new

    def delete(self, name: str) -> None:
        """Take a set away, a damaged one too.

        Raises:
            RuleSetError: There is no such set.
        """
        self._path_of(name).unlink(missing_ok=True)

    def _files(self) -> tuple[Path, ...]:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return tuple(path for path in self.path.iterdir() if path.name.endswith((_SUFFIX, *_OTHERS)))
        return ()

    def _find(self, name: str) -> Path | None:
        expected = self.path / _file_name(name)
        if expected.is_file() and _stored(expected).name == name:
            return expected
        return next((each.path for each in self.list() if each.name == name), None)

    def _path_of(self, name: str) -> Path:
        path = self._find(name)
        if path is None:
            raise RuleSetError(f"there is no rule set named {name!r}")
        return path


def _checked(name: str) -> str:
    name = name.strip()
    if not name:
        raise RuleSetError("a rule set needs a name")
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise RuleSetError(
            f"the name {name!r:.80} is longer than {_LONGEST_NAME} characters, or has several lines"
        )
    return name


def _file_name(name: str) -> str:
    """Make a file's name that is safe on every system; names that would become the same get a mark of their own."""
    stem = _UNSAFE.sub("-", name.lower()).strip("-")[:_LONGEST_STEM].strip("-")
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{stem}-{mark}{_SUFFIX}" if stem != name or _is_reserved(stem) else f"{stem}{_SUFFIX}"


def _is_reserved(stem: str) -> bool:
    return re.fullmatch(r"con|prn|aux|nul|com\d|lpt\d", stem) is not None


def _stored(path: Path) -> StoredSet:
    bare = next(path.name.removesuffix(end) for end in (_SUFFIX, *_OTHERS) if path.name.endswith(end))
    try:
        rule_set = _read(path)
    except RuleSetError as error:
        return StoredSet(bare, path, error=str(error))
    return StoredSet(rule_set.name or bare, path, len(rule_set.rules), rule_set.description)


def _read(path: Path) -> RuleSet:
    try:
        text = read_file(path, "rules").decode("utf-8")
    except UnicodeDecodeError as error:
        raise RuleSetError(f"the file is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise RuleSetError(f"the file cannot be read: {error.strerror}") from error
    return read_rule_set(text).rule_set


def _write(path: Path, text: str) -> None:
    """Put a new file in the place of the old one in one step, once it is on the disk."""
    with system_lock(lock_path(path), _PATIENCE_SECONDS):
        write_whole(path, [text.encode()])
    # Some systems let no folder be written out; the set is saved all the same.
    with contextlib.suppress(OSError):
        sync_folder(path.parent)
