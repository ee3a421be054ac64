"""Recorded calls to answer from: uploaded or pasted, listed with what they hold, taken away again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import streamlit as st

from app.kept import Kept, slug
from app.labels import literal
from app.panels.editing import look_at
from app.panels.parts import problem
from app.panels.uploads import upload
from app.scene import Scene
from app.shaping import GiveRecording, Shape
from app.sources import as_text, call_rows, counted, read_problems, tools_line
from simulator.environment.recording.recordings import RecordedCall, Recording, RecordingError, read_recording

if TYPE_CHECKING:
    from simulator.runtime.world_view import WorldView

_HELP = (
    "Calls that were answered before: a trace of ADK, an eval set, an ADK session, a journal of this studio, or a plain "
    'list of {"name", "args", "response"}. A waiting call of the same tool gets the answer of the nearest one as its draft.'
)
_SHOWN_PROBLEMS = 8
_SHOWN_CALLS = 300


def recordings(scene: Scene, _: WorldView) -> Shape | None:
    """Draw the recordings; give what was asked for."""
    given = scene.live.simulation.environment.now.recordings
    left, right = st.columns(2, gap="medium")
    with left:
        asked = _form(scene, set(given))
    with right:
        if not given:
            st.caption(
                "No recording yet. Each one is listed here, with its tools and how often they are called."
            )
        for name, calls in given.items():
            asked = _recording(scene, name, calls) or asked
    return asked


def _form(scene: Scene, taken: set[str]) -> Shape | None:
    kept = _inputs(scene, len(taken))
    st.caption(_HELP)
    upload(kept, "recording_json", "Upload a recording", ["json", "jsonl", "txt"], name_into="recording_name")
    name = st.text_input(
        "Name", key=kept.widget("recording_name", ""), placeholder="production-traces", on_change="ignore"
    )
    text = st.text_area("Or paste it (JSON or JSON Lines)", key=kept.widget("recording_json", ""), height=220)
    read = _read(text or "")
    give = st.button(
        "Give this recording",
        key="recording_give",
        type="primary",
        icon=":material/check:",
        disabled=read is None or not read.calls,
    )
    if read is not None:
        if read.calls:
            st.text(literal(f"{counted(read.calls)}: {tools_line(read.calls)}"))
            look_at(call_rows(read.calls[:_SHOWN_CALLS]), "recording_preview", "The calls of the recording")
        _problems(list(read.problems))
    if not give or read is None:
        return None
    called = (name or "").strip() or _unused(taken)
    if called in taken:
        problem("The recording was not taken.", f"there is one called {called!r} already")
        return None
    scene.drafts[_problems_key(called)] = json.dumps(read.problems)
    return GiveRecording(name=called, calls=read.calls)


def _inputs(scene: Scene, count: int) -> Kept:
    """Give the inputs for one more recording; others for each number of them, so that what was given leaves them."""
    return Kept(scene.drafts, f"recording-{count}")


def _put_back(scene: Scene, name: str, calls: tuple[RecordedCall, ...]) -> None:
    kept = _inputs(scene, len(scene.live.simulation.environment.now.recordings) - 1)
    kept.put("recording_name", name)
    kept.put("recording_json", as_text(calls))


def _read(text: str) -> Recording | None:
    if not text.strip():
        return None
    try:
        return read_recording(text)
    except RecordingError as error:
        problem("This cannot be read yet.", str(error))
        return None


def _unused(taken: set[str]) -> str:
    number = 1
    while f"recording {number}" in taken:
        number += 1
    return f"recording {number}"


def _problems(said: list[str]) -> None:
    if said:
        st.warning(f"Left out: {len(said)}", icon=":material/warning:")
        more = [f"and {len(said) - _SHOWN_PROBLEMS} more"] if len(said) > _SHOWN_PROBLEMS else []
        st.code(literal("\n".join([*said[:_SHOWN_PROBLEMS], *more])), language=None, wrap_lines=True)


def _recording(scene: Scene, name: str, calls: tuple[RecordedCall, ...]) -> Shape | None:
    with st.container(border=True, gap="xsmall", key=f"recording_{slug(name)}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.text(literal(name))
            st.space("stretch")
            view = st.toggle("Calls", key=f"recording_view_{slug(name)}")
            drop = st.button(
                "Remove",
                key=f"recording_drop_{slug(name)}",
                type="tertiary",
                icon=":material/delete:",
                help="Its calls go into the input, from where they can be given again",
                on_click=lambda: _put_back(scene, name, calls),
            )
        st.text(literal(f"{counted(calls)}: {tools_line(calls)}"))
        _problems(read_problems(scene.drafts.get(_problems_key(name))))
        if view:
            look_at(call_rows(calls[:_SHOWN_CALLS]), f"recording_calls_{slug(name)}", f"The calls of {name}")
    return GiveRecording(name=name, calls=()) if drop else None


def _problems_key(name: str) -> str:
    return f"problems of recording {name}"
