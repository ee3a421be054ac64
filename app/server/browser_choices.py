"""Remembers what was chosen or typed once in a browser, for its next sessions; a browser's id is a digest here."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Literal, TypeAlias

import streamlit as st
from pydantic import TypeAdapter, ValidationError

from app.server.owners import COOKIE, is_browser_id
from simulator.base.json_values import digest
from simulator.base.user_files import (
    LockTimeoutError,
    data_folder,
    lock_path,
    made_folder,
    system_lock,
    write_whole,
)

Choice: TypeAlias = Literal["reviewers", "response_styles"]
"""What is remembered, by the name of its file: who reviews, and how responses are written."""

_MOST_BROWSERS = 1_000
"""So many are remembered; the one in which something was chosen longest ago goes first."""
_PATIENCE_SECONDS = 2.0
_CHOICES = TypeAdapter(dict[str, str])
_LOG = logging.getLogger(__name__)


def this_browser() -> str:
    """Return the name of the browser that is at the page; empty where it has no id."""
    found = str(st.context.cookies.get(COOKIE, ""))
    return digest(found) if is_browser_id(found) else ""


def kept_choice(what: Choice) -> str:
    """Return what was chosen last in this browser; empty where nothing was, or where it cannot be read."""
    browser = this_browser()
    return _kept(_file(what)).get(browser, "") if browser else ""


def keep_choice(what: Choice, value: str) -> None:
    """Remember what was chosen in this browser. Where that cannot be written, the log says so."""
    file, browser = _file(what), this_browser()
    if not browser:
        return
    try:
        made_folder(file.parent)
        with system_lock(lock_path(file), _PATIENCE_SECONDS):
            others = {each: held for each, held in _kept(file).items() if each != browser}
            kept = dict([*others.items(), (browser, value)][-_MOST_BROWSERS:])
            write_whole(file, [json.dumps(kept, indent=2, ensure_ascii=False).encode()])
    except (OSError, LockTimeoutError, ValueError) as error:
        _LOG.warning("A choice was not kept in %s: %s", file.name, error)


def _kept(file: Path) -> dict[str, str]:
    try:
        return _CHOICES.validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return {}


def _file(what: Choice) -> Path:
    return data_folder(os.environ) / f"{what}.json"
