"""Tells which environment variables an agent lacks that did not load: its error names them, the code that raised it reads them, or its settings are made of them."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from simulator.agents.agent_source import read_at, read_without_default
from simulator.agents.load_failure import NOT_SET, failure_words, own_error, place_in
from simulator.agents.placeholder_credentials import ACCOUNT
from simulator.agents.project_folders import project_folders

_NO_CREDENTIALS = re.compile(r"DefaultCredentialsError|default credentials were not found")
_NO_KEY = re.compile(r"No API key was provided|Missing key inputs argument")
_READ = re.compile(rf"\bThe code reads ([\w, ]+), which (?:is|are) {NOT_SET}\b")
_UNSET = re.compile(
    r"^KeyError: '?([A-Z][A-Z0-9]*_[A-Z0-9_]+)'?(?= |$)|\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b.*\b(?:not set|unset|missing|required|not found|not defined|must be set|is empty|set it)\b"
    r"|\b(?:[Ss]et|[Mm]issing|[Rr]equire[sd]?)\b.*?\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b"
)


def lacks_account(words: str) -> bool:
    """Return whether an error says that Google Cloud was asked without an account."""
    return bool(_NO_CREDENTIALS.search(words))


def lacks_credentials(words: str) -> bool:
    """Return whether an error says that a service of Google's was asked without a key or an account."""
    return lacks_account(words) or bool(_NO_KEY.search(words))


def named_unset(words: str) -> tuple[str, ...]:
    """Return the variables that an error, as `failure_words` gives it, names as not set."""
    if read := _READ.search(words):
        return tuple(read[1].split(", "))
    unset = _UNSET.search(words)
    return (next(filter(None, unset.groups())),) if unset else ()


def lacking_variables(error: BaseException, folder: Path) -> tuple[str, ...]:
    """Return the variables without which an agent did not load, and that are not set.

    Args:
        error: What loading it raised.
        folder: Its folder; of a file its path without the ending.
    """
    words = failure_words(error, folder)
    if lacks_account(words):
        file = os.environ.get(ACCOUNT, "")
        return () if file and Path(file).exists() else (ACCOUNT,)
    named = ("GOOGLE_API_KEY",) if _NO_KEY.search(words) else named_unset(words)
    place = place_in(error, project_folders(folder)[-1])
    read = tuple(_unfilled(own_error(error))) or (read_at(*place) if place is not None else ())
    found = read if set(named) <= set(read) else named
    return tuple(name for name in found if not os.environ.get(name))


def noting_unset(error: BaseException, names: Sequence[str], folder: Path) -> BaseException:
    """Add to an error which variables its agent reads that are not set, where it does not say so itself; return it."""
    lacking = [name for name in names if name != ACCOUNT]
    if not lacking or set(lacking) == set(named_unset(failure_words(error, folder))):
        return error
    error.add_note(f"The code reads {_which(lacking)}")
    place = folder if folder.is_dir() else folder.with_name(f"{folder.name}.py")
    if also := [name for name in read_without_default(place) if name not in {*names, *os.environ}]:
        error.add_note(f"It also reads {_which(also)}")
    return error


def _which(names: Sequence[str]) -> str:
    return f"{', '.join(names)}, which {'is' if len(names) == 1 else 'are'} {NOT_SET}"


def _unfilled(error: BaseException) -> Iterator[str]:
    """Yield the variables of which settings of pydantic-settings are made, and that an error says are missing."""
    errors = getattr(error, "errors", None)
    owners = (_settings_in(frame.f_locals) for frame, _ in traceback.walk_tb(error.__traceback__))
    settings = next(filter(None, owners), None) if type(error).__name__ == "ValidationError" else None
    if settings is None or errors is None:
        return
    config = settings.model_config
    for each in errors():
        if each["type"] == "missing" and len(each["loc"]) == 1:
            (field,) = each["loc"]  # of a field with another name its alias, which has no prefix
            name = (
                f"{config.get('env_prefix') or ''}{field}" if field in settings.model_fields else str(field)
            )
            yield name if config.get("case_sensitive") else name.upper()


def _settings_in(variables: dict[str, Any]) -> Any:
    """Return the class of the settings that a frame makes; None where it makes none."""
    kind = type(variables.get("__pydantic_self__", variables.get("self")))
    known = (
        each.__name__ == "BaseSettings" and "pydantic_settings" in each.__module__ for each in kind.__mro__
    )
    return kind if any(known) else None
