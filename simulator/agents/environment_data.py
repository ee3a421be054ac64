"""Reads the environment data that an agent brings along: what the sessions of the agent begin with."""

from __future__ import annotations

import json
from pathlib import Path

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.documents import DocumentError, read_document, read_file
from simulator.base.validation_words import InputError
from simulator.environment.world.entities import TablesError, read_tables

DATA_FILES = ("environment_data.json", "environment_data.yaml", "environment_data.yml")
"""The names under which the file lies in an agent's folder; the first one that is there counts."""


class EnvironmentDataError(InputError):
    """The environment data of an agent cannot be used; the text names the file, and what is wrong where."""


def environment_data_of(config: SimulatedAgentConfig) -> str:
    """Return the environment data of an agent as it is now: JSON of tables, or words; empty where it brings none.

    Raises:
        EnvironmentDataError: The file cannot be read, or holds no such data.
    """
    return environment_data_in(
        config.environment_data, f"SimulatedAgentConfig {config.name!r}: environment_data"
    )


def environment_data_in(given: str | Path, named: str = "") -> str:
    """Return environment data: as `environment_data_of`, of a text, which errors call as it is named, or of a file or folder.

    Raises:
        EnvironmentDataError: As `environment_data_of`.
    """
    if not isinstance(given, Path):
        return _checked(given, named)
    place = given.expanduser()
    file = _in_folder(place) if place.is_dir() or not place.suffix else place
    return "" if file is None else _checked(_read(file), str(file))


def _in_folder(folder: Path) -> Path | None:
    return next((folder / name for name in DATA_FILES if (folder / name).is_file()), None)


def _read(file: Path) -> str:
    try:
        text = read_file(file, "data").decode("utf-8-sig")
        if file.suffix not in {".yaml", ".yml"} or not text.strip():
            return text
        document = read_document(text)
    except OSError as error:
        raise EnvironmentDataError(f"{file} cannot be read: {error.strerror}") from error
    except (DocumentError, UnicodeDecodeError) as error:
        raise EnvironmentDataError(f"{file} cannot be read: {error}") from error
    return document if isinstance(document, str) else json.dumps(document, indent=2, ensure_ascii=False)


def _checked(text: str, where: str) -> str:
    try:
        read_tables(text)
    except TablesError as error:
        raise EnvironmentDataError(f"{where} cannot be used: {error}") from error
    return text.strip()
