"""The pages of the eval sets: gathers what their panels show, and carries out what they give back."""

from __future__ import annotations

import logging
from pathlib import Path

import streamlit as st

from app import state
from app.agents import catalogue
from app.panels.evalsets.broken_set import broken_set
from app.panels.evalsets.scene import (
    ApplyEdits,
    CloseSet,
    OpenCase,
    OpenSet,
    RedoEdit,
    SetCommand,
    SetScene,
    UndoEdit,
    UploadSet,
)
from app.panels.evalsets.set_list import set_list
from app.panels.evalsets.set_page import set_page
from app.panels.parts import problem
from app.set_desk import desks
from app.set_places import check_set, folders, found_sets, take_upload
from app.visiting import visitor
from simulator.agents import AgentEntry, AgentSettingsError

_LOG = logging.getLogger(__name__)


def sets_page() -> None:
    """Draw the list of sets, or the set that the address names."""
    entries, owner = _entries(), visitor().owner
    homes = folders(entries)
    path = state.set_path()
    if path is None:
        failed = state.get("problem")
        _carry_out(set_list(found_sets(homes, owner), str(failed) if failed else None), None)
        return
    try:
        known = check_set(path, owner, homes)
    except ValueError as error:  # it is no file, or not theirs
        state.put("problem", str(error))
        _carry_out(set_list(found_sets(homes, owner), str(error)), None)
        return
    try:
        desk = desks().of(owner, known)
    except ValueError as error:  # an EvalSetError
        _carry_out(broken_set(known, owner, str(error)), None)
        return
    scene = SetScene(known, desk.work, desk.drafts, owner, _agents(entries, known))
    failed = state.get("problem")
    if failed:
        problem("That did not work; nothing was changed.", str(failed))
    _carry_out(set_page(scene, state.case_key()), scene)


def _entries() -> tuple[AgentEntry, ...]:
    try:
        return catalogue().entries()
    except AgentSettingsError:  # said on the start page
        return ()


def _agents(entries: tuple[AgentEntry, ...], path: Path) -> tuple[str, ...]:
    """Give the names of the agents, those first in whose folder the set lies."""
    usable = [entry.name for entry in entries if entry.state != "failed"]
    homes = folders(entries)
    near = [name for folder, name in homes.items() if path.is_relative_to(folder) and name in usable]
    return tuple(dict.fromkeys((*near, *usable)))


def _carry_out(asked: SetCommand | None, scene: SetScene | None) -> None:
    """Do what was asked for, keep what went wrong for the next run, and draw the page anew."""
    if asked is None:
        return
    state.put("problem", None)
    try:
        _done(asked, scene)
    except ValueError as error:  # an EditError or an EvalSetError: nothing was changed
        state.put("problem", str(error))
    except Exception as error:  # noqa: BLE001 - the page's edge: shown and kept
        _LOG.exception("A command on an eval set failed")
        state.put("problem", f"{type(error).__name__}: {error}")
    st.rerun()


def _done(asked: SetCommand, scene: SetScene | None) -> None:
    match asked:
        case CloseSet():
            state.show_sets()
        case OpenSet(path=path):
            state.show_sets(path)
        case UploadSet(name=name, content=content):
            state.show_sets(str(take_upload(visitor().owner, name, content)))
        case OpenCase(key=key):
            state.put("cases_drawn", int(state.get("cases_drawn") or 0) + 1)
            state.show_case(key)
        case _ if scene is not None:
            _in_set(asked, scene)
        case _:
            pass


def _in_set(asked: SetCommand, scene: SetScene) -> None:
    work = scene.work
    match asked:
        case ApplyEdits(edits=edits, then=then):
            for edit in edits:
                work.apply(edit)
            if then is not None:
                state.show_case(then)
        case UndoEdit():
            work.undo()
        case RedoEdit():
            work.redo()
        case _:
            pass
