"""Carries a recorded environment inside of its eval set, so that a case and its recording travel as one file.

The recording stands at the top of the set, under a name that ADK's loader does not know and passes over. It is read from there; what
is written goes into a file of its own, side by side: every release of ADK writes an eval set anew without what it does not know.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from evalset.recorded.recording import RecordedEnvironment
from evalset.recorded.recording_files import KEY, RecordedEnvironmentError, environment_text, parsed
from simulator.base.documents import open_archive, unpacked
from simulator.base.json_text import JsonTextError, read_json
from simulator.base.validation_words import InputError

_EVAL_SET, _SIDECAR = ".evalset.json", ".environment.json"


class Parted(NamedTuple):
    """The text of an eval set without its recording, and the recording, where it holds one."""

    text: str
    environment: RecordedEnvironment | None


class ArchiveError(InputError):
    """An archive does not hold one eval set; the text says what it holds instead."""


def joined(document: str, environment: RecordedEnvironment) -> str:
    """Write an eval set with its recording inside of it; as it is, where nothing is recorded."""
    if not environment.cases and not environment.notes:
        return document
    value = read_json(document)
    value[KEY] = json.loads(environment_text(environment))
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def parted(source: Path | str, text: str) -> Parted:
    """Take the recording out of an eval set.

    Args:
        source: Where the text comes from, for errors.
        text: An eval set. One without a recording is given back as it is.

    Raises:
        RecordedEnvironmentError: What stands in the place of the recording is none.
    """
    if f'"{KEY}"' not in text:
        return Parted(text, None)
    try:
        value: Any = read_json(text.lstrip("\ufeff"), constants=True)
    except JsonTextError:
        return Parted(text, None)
    if not isinstance(value, dict) or KEY not in value:
        return Parted(text, None)
    held = value.pop(KEY)
    try:
        environment = parsed(Path(source), json.dumps(held).encode())
    except RecordedEnvironmentError as error:
        reason = str(error).removeprefix(f"{error.path}: ")
        raise RecordedEnvironmentError(Path(source), f"{KEY}: {reason}") from error
    return Parted(json.dumps(value, indent=2, ensure_ascii=False) + "\n", environment)


def text_of_archive(content: bytes) -> str:
    """Return the one eval set of a ZIP archive as text, with the recording beside it inside of it.

    Raises:
        ArchiveError: It is no archive that can be read, or holds no eval set, or several.
        RecordedEnvironmentError: The recording in it is none.
    """
    try:
        with open_archive(io.BytesIO(content)) as packed:
            names = [name for name in packed.namelist() if name.endswith(_EVAL_SET)]
            if len(names) != 1:
                raise ArchiveError(
                    f"the archive has {len(names) or 'no'} eval set{'' if len(names) == 1 else 's'} instead of one"
                )
            text = _read(packed, names[0])
            beside = f"{names[0].removesuffix(_EVAL_SET)}{_SIDECAR}"
            if beside not in packed.namelist():
                return text
            return joined(text, parsed(Path(beside), _read(packed, beside).encode()))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise ArchiveError(f"the archive cannot be read: {error}") from error
    except JsonTextError as error:
        raise ArchiveError(f"the eval set in the archive is not valid JSON: {error}") from error


def _read(packed: zipfile.ZipFile, name: str) -> str:
    try:
        return unpacked(packed, name, "set").decode("utf-8-sig")
    except OSError as error:
        raise ArchiveError(f"{name} in the archive: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ArchiveError(f"{name} in the archive is not UTF-8 text: byte {error.start}") from error
