"""Tells what a person put into an input from what a browser still held there when the page had set it already.

A browser sends what all of its inputs hold with each click. Where a click follows the one before so fast that the
page's answer to that has not arrived, the inputs that the page has set meanwhile come back with what they held
before: a text, say, that a form has changed. So the page counts what it sets, and an input that nobody sees, drawn
last, brings the count back with each click: what was set after that count, the browser has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from simulator.base.place_names import ABSENT

SEEN_KEY = "acknowledged"
_SET = "set_inputs"
_COUNT = "set_count"
_WHOLE = "drawn_whole"


@dataclass
class _Set:
    """What the page has set an input to, and what was there before, with the count after which it is not any more."""

    now: Any
    before: list[tuple[int, Any]] = field(default_factory=list)


def set_input(key: str, value: Any) -> None:
    """Set what the input with this key holds; only before it is drawn, or in a callback."""
    if key in st.session_state:
        held, known = st.session_state[key], _known()
        was_set = known.get(key) or _Set(held)
        gone = [other for other in (held, was_set.now) if other != value]
        if gone:
            count = st.session_state[_COUNT] = _count() + 1
            was_set.before += [(count, other) for other in gone]
            was_set.now = value
            known[key] = was_set
        elif key in known:
            known[key].now = value
    elif value:
        # Two runs may follow each other so fast that the browser puts in place what the second one sent alone: that
        # would be an empty input, were it not set there as well.
        count = st.session_state[_COUNT] = _count() + 1
        _known()[key] = _Set(value, [(count, "" if isinstance(value, str) else None)])
    st.session_state[key] = value


def held(key: str) -> Any:
    """Return what an input holds: what it was set to where the browser has not seen that, else what the browser says; `ABSENT` where it is nowhere."""
    said = st.session_state.get(key, ABSENT)
    was_set = None if said is ABSENT else _known().get(key)
    if was_set is not None and any(said == other and count > _seen() for count, other in was_set.before):
        return was_set.now
    return said


def hold(key: str) -> None:
    """Let the input with this key show what it holds; call it before the input is drawn, each time.

    What a person put there before they could see what the page had set is theirs, and is shown again, because the
    browser has put the page's value in its place.
    """
    was_set = _known().get(key)
    if was_set is not None and key in st.session_state and was_set.before[-1][0] > _seen():
        set_input(key, held(key))


def begin_run() -> bool:
    """Return whether the run before drew all of its inputs; call it once, before any input is drawn."""
    return bool(st.session_state.pop(_WHOLE, False))


def acknowledge() -> None:
    """Draw the input that brings the count back; call it once, after all other inputs."""
    seen, known = _seen(), _known()
    for key in list(known):
        known[key].before = [(count, other) for count, other in known[key].before if count > seen]
        if not known[key].before:
            del known[key]
    st.session_state[SEEN_KEY] = str(_count())
    st.session_state[_WHOLE] = True
    with st.container(key="unseen"):
        st.text_input("Page changes received", key=SEEN_KEY, label_visibility="collapsed")


def _count() -> int:
    return int(st.session_state.get(_COUNT, 0))


def _seen() -> int:
    """Return the count that the browser knows of; where the page does not ask, or something else was put there, it knows all."""
    said = str(st.session_state.get(SEEN_KEY, ""))
    return int(said) if said.isdecimal() else _count()


def _known() -> dict[str, _Set]:
    known: dict[str, _Set] = st.session_state.setdefault(_SET, {})
    return known
