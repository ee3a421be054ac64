"""Turns the names of files that people type or upload into paths, or says what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

_LONGEST_NAME = 240
"""Bytes of a file's name: file systems take 255, and a lock or a copy beside the file has a longer name."""
_LONGEST_PATH = 4_000
_SHOWN = 60


def typed_path(text: str) -> Path:
    """Return the path that was typed, from the root, with `~` replaced by the home folder.

    Raises:
        ValueError: It can be no path of a file; says why.
    """
    _check(text, "path")
    try:
        return Path(text.strip()).expanduser().absolute()
    except (RuntimeError, OSError) as error:  # there is no such user, or no folder where this process stands
        raise ValueError(f"{_short(text)} is not a valid file path: {error}") from error


def path_in(homes: Iterable[Path], text: str, otherwise: Path) -> Path:
    """Return the file that a relative path names in one of these folders, or next to it; `otherwise` where there is none.

    Raises:
        ValueError: There are several; the text names them.
    """
    if Path(text.strip()).expanduser().is_absolute():
        return otherwise
    places = [place / text.strip() for folder in homes for place in (folder, folder.parent)]
    found = {place.resolve(): place for place in places if place.is_file()}
    if len(found) > 1:
        raise ValueError(
            f"{text!r} is in several folders. Enter one of: {', '.join(sorted(map(str, found)))}"
        )
    return next(iter(found.values()), otherwise)


def upload_name(name: str, otherwise: str) -> str:
    """Return the name of an uploaded file without folders, or `otherwise` where it has none.

    Raises:
        ValueError: No file can have that name; says why.
    """
    _check(name, "file name")
    return PurePosixPath(name.replace("\\", "/")).name.lstrip(".").strip() or otherwise


def _check(text: str, what: str) -> None:
    if "\x00" in text:
        raise ValueError(f"The {what} {_short(text)} contains a null character. Rename the file.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        reason = "contains half of a surrogate pair, which is not a character"
        raise ValueError(f"The {what} {_short(text)} {reason}. Rename the file.") from None
    longest = max((len(part.encode()) for part in text.replace("\\", "/").split("/")), default=0)
    if longest > _LONGEST_NAME:
        raise ValueError(
            f"The {what} {_short(text)} has a name of {longest} bytes. The limit is {_LONGEST_NAME} bytes. Rename the file."
        )
    if size > _LONGEST_PATH:
        raise ValueError(f"The {what} {_short(text)} has {size} bytes. The limit is {_LONGEST_PATH} bytes.")


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
