"""Unpacks a ZIP archive into a folder: the files that an import may take, whatever their names say and however large they claim to be."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from evalset.importing.found import ImportProblemError

MOST_FILES = 10_000
MOST_BYTES = 1 << 30
_PIECE = 1 << 20
_LONGEST_NAME = 200


class Unpacked(NamedTuple):
    """What was unpacked, and in sentences what was left out."""

    files: int
    problems: tuple[str, ...]


def unpack(archive: Path, folder: Path, suffixes: frozenset[str]) -> Unpacked:
    """Unpack the files with these suffixes, each into its own place below a folder.

    Raises:
        ImportProblemError: It is no ZIP archive that can be read, is encrypted, or holds too much.
    """
    problems: list[str] = []
    try:
        with zipfile.ZipFile(archive) as packed:
            wanted = [each for each in packed.infolist() if not each.is_dir()]
            wanted = [each for each in wanted if PurePosixPath(each.filename).suffix in suffixes]
            if len(wanted) > MOST_FILES:
                raise ImportProblemError(
                    f"the archive holds {len(wanted):,} files, and at most {MOST_FILES:,} are unpacked"
                )
            left, files = MOST_BYTES, 0
            for entry in wanted:
                target = _place(entry.filename, folder)
                if target is None:
                    problems.append(
                        f"{entry.filename[:_LONGEST_NAME]!r} leads out of the archive, and is left out"
                    )
                    continue
                left -= _written(packed, entry, target, left)
                files += 1
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ImportProblemError(f"it is no ZIP archive that can be read: {error}") from error
    except RuntimeError as error:  # zipfile raises it for a file that needs a password
        raise ImportProblemError(f"the archive cannot be unpacked: {error}") from error
    return Unpacked(files, tuple(problems))


def _place(name: str, folder: Path) -> Path | None:
    """Give the place of a file; None where its name leads out of the folder, or can be no file's."""
    path = PurePosixPath(name.replace("\\", "/"))
    parts = path.parts
    if (
        path.is_absolute()
        or ".." in parts
        or "\x00" in name
        or any(len(part) > _LONGEST_NAME for part in parts)
    ):
        return None
    return folder.joinpath(*parts)


def _written(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, left: int) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with packed.open(entry) as source, target.open("wb") as file:
        for piece in _pieces(source):
            size += len(piece)
            if size > left:
                raise ImportProblemError(
                    f"the archive holds more than {MOST_BYTES >> 20:,} MB, which is too much to unpack"
                )
            file.write(piece)
    return size


def _pieces(source: IO[bytes]) -> Iterator[bytes]:
    while piece := source.read(_PIECE):
        yield piece
