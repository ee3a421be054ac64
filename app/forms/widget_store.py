"""Keeps what people typed into inputs that come and go: an input that is hidden for one run loses its text.

Values are kept in the session's drafts, one JSON text for each thing to decide, so that a refresh of the page
loses nothing either. They say nothing of the session they belong to, so a copy of it under another id has them too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, MutableMapping
from datetime import date
from typing import Any, TypeAlias

import streamlit as st
from pydantic import JsonValue
from typing_extensions import override

from app.forms.widget_sync import begin_run, held, hold, set_input
from simulator.base.json_values import digest
from simulator.base.place_names import ABSENT

DraftStore: TypeAlias = MutableMapping[str, str]
"""The unsent texts of one session, by the owner of the inputs; shared by all its tabs."""

_SHOWN = "kept_inputs"
_BEFORE = "kept_before"
_PLACE = "kept_place"
_SESSION = "kept_session"
_CHANGES = "kept_changes"
_MAX_SLUG = 48
_SEVERAL = 2


def slug(text: str) -> str:
    """Make a text fit to stand in a widget's key; different texts stay different."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", text)
    return plain if plain == text and len(text) <= _MAX_SLUG else f"{plain[:_MAX_SLUG]}-{digest(text)[:6]}"


def gather(drafts: DraftStore, session_id: str = "") -> None:
    """Move what was typed since the last run into the drafts; call it once, before any input is drawn.

    Args:
        drafts: Those of the session that the run before has drawn.
        session_id: The session that this run draws; empty where it draws none.
    """
    known: dict[str, list[Any]] | None = st.session_state.get(_SHOWN)
    if (
        not begin_run() and known is not None
    ):  # it ended early: the inputs of the run before it are on the screen, too
        known = {**st.session_state.get(_BEFORE, {}), **known}
    _write_typed(drafts, known or {})
    if session_id and session_id != st.session_state.get(_SESSION, session_id):
        st.session_state[_CHANGES] = st.session_state.get(_CHANGES, 0) + 1
    if session_id:
        st.session_state[_SESSION] = session_id
    if known is not None:
        st.session_state[_BEFORE] = known if session_id == st.session_state.get(_PLACE) else {}
    st.session_state[_PLACE] = session_id
    st.session_state[_SHOWN] = {}


def keep_typed(drafts: DraftStore) -> None:
    """Write what was typed so far into the drafts, while the inputs stay on the screen.

    Only what changed in this tab is written, so that two tabs of one session do not undo each other.
    """
    _write_typed(drafts, st.session_state.get(_SHOWN, {}))


def _write_typed(drafts: DraftStore, shown: dict[str, list[Any]]) -> None:
    for key, line in shown.items():
        owner, signature, name, last = line
        if key in st.session_state and (now := _plain(held(key))) != last:
            kept = _load(drafts, owner, signature)
            kept[name] = line[-1] = now
            _save(drafts, owner, signature, kept)


def forget_drawn() -> None:
    """Drop what stands in the inputs of this run, so that each begins with what is kept of it."""
    shown: dict[str, list[Any]] = st.session_state.get(_SHOWN, {})
    for key in shown:
        st.session_state.pop(key, None)
    st.session_state[_SHOWN] = {}


def values_of(drafts: DraftStore, owner: str) -> dict[str, Any]:
    """Return what is kept of the inputs of an owner, whatever it is about."""
    return _read(drafts.get(slug(owner), ""))[1]


def carry_over(drafts: DraftStore, owner: str, about: str) -> None:
    """Let what is kept of an owner's inputs be about something else from now on; call it before they are drawn."""
    if values := values_of(drafts, owner):
        _save(drafts, slug(owner), about, values)


def owners_before() -> dict[str, str]:
    """Return whose inputs the run before drew, as they stand in widgets' keys, with their signatures."""
    return {owner: signature for owner, signature, *_ in st.session_state.get(_BEFORE, {}).values()}


class KeptInputs:
    """The inputs of one thing to decide.

    Args:
        drafts: Where values are kept.
        owner: Whose inputs these are; becomes the end of each widget's key.
        about: What the owner is about. When another thing comes under the same name (after an undo), the values of
            the one before are dropped.
    """

    def __init__(self, drafts: DraftStore, owner: str, *about: str) -> None:
        self._drafts = drafts
        self._owner = slug(owner)
        self._signature = signature = _signature_of(about)
        # A tab that goes from one session to another draws other inputs there: else the browser would hold on to
        # what stands in those of the same name.
        changes = st.session_state.get(_CHANGES, 0)
        self._end = f"{self._owner}__{changes}" if changes else self._owner
        self._is_another = owners_before().get(self._owner, signature) != signature
        _adopt(drafts, self._owner, signature, about)
        self._begun: set[str] = set()
        self._before: dict[str, list[Any]] | None = st.session_state.get(_BEFORE)

    @property
    def owner(self) -> str:
        """The owner as it stands in widgets' keys, and the name of what is kept among the drafts."""
        return self._owner

    @property
    def language(self) -> str | None:
        """The language of the browser in which they are filled in, such as `en-US`; None where it has not said."""
        return st.context.locale

    def key(self, name: str) -> str:
        """Return the key of the widget with this name."""
        return f"{name}_{self._end}"

    def value(self, name: str, initial: JsonValue = None) -> Any:
        """Return what an input holds, whether it is on the screen or not; `initial` if nobody touched it."""
        key = self.key(name)
        if (said := held(key)) is not ABSENT and self._is_mine(key):
            return _plain(said)
        return _load(self._drafts, self._owner, self._signature).get(name, initial)

    def widget(self, name: str, initial: JsonValue = None, decode: Callable[[Any], Any] | None = None) -> str:
        """Make the widget that is drawn next hold its value; return its key.

        Args:
            name: The widget's name among this owner's.
            initial: Its value if nobody touched it; None leaves the widget empty.
            decode: Turns the JSON value into what the widget holds, where that is not JSON.
        """
        key, value = self.key(name), self.value(name, initial)
        if key not in st.session_state or not self._is_mine(key):
            if value is None:
                st.session_state.pop(key, None)
            else:  # what stood there stays known: a browser that has not heard of the change says it once more
                set_input(key, decode(value) if decode else value)
        hold(key)
        self._begun.add(key)
        st.session_state.setdefault(_SHOWN, {})[key] = [self._owner, self._signature, name, value]
        return key

    def put(self, name: str, value: JsonValue) -> None:
        """Set what an input holds, drawn or not; only before it is drawn, or in a callback.

        A name without an input keeps a value that the panel itself needs, such as the rows of a list.
        """
        if self.key(name) in st.session_state:
            set_input(self.key(name), value)
        kept = _load(self._drafts, self._owner, self._signature)
        kept[name] = value
        _save(self._drafts, self._owner, self._signature, kept)

    def renew(self, *names: str) -> None:
        """Let the inputs of some names, and those inside of them, begin anew; only before they are drawn, or in a callback.

        What the browser still holds there stays known, so that it is told from what a person puts there next.
        """
        inside, end = tuple(f"{name}{mark}" for name in names for mark in ".:"), f"_{self._end}"

        def is_gone(name: str) -> bool:
            return name in names or name.startswith(inside)

        kept = _load(self._drafts, self._owner, self._signature)
        left = {name: value for name, value in kept.items() if not is_gone(name)}
        _save(self._drafts, self._owner, self._signature, left)
        shown: dict[str, list[Any]] = st.session_state.get(_SHOWN, {})
        self._before = st.session_state.setdefault(_BEFORE, {})
        gone = {
            key for key in (*shown, *self._before) if key.endswith(end) and is_gone(key.removesuffix(end))
        }
        for key in gone:
            shown.pop(key, None)
            self._before.pop(key, None)
        self._begun -= gone

    def forget(self) -> None:
        """Drop everything that was typed, so that each input begins anew; only in a callback."""
        self._drafts.pop(self._owner, None)
        shown: dict[str, list[Any]] = st.session_state.get(_SHOWN, {})
        for key in [key for key, (owner, *_) in shown.items() if owner == self._owner]:
            st.session_state.pop(key, None)

    def _is_mine(self, key: str) -> bool:
        """Return whether a widget holds what belongs to this owner, not to the one before it of the same name.

        An input that the run before did not draw is not on the screen, whatever a look that came late has said of it.
        """
        if key in self._begun:
            return True
        was_drawn = self._before is None or key in self._before
        # drawn in this run, or in the one to which a part belongs that looks again
        return not self._is_another and (was_drawn or key in st.session_state.get(_SHOWN, {}))


def inputs_of_request(drafts: DraftStore, key: str, *asked: str) -> KeptInputs:
    """Return the inputs of a request: after an undo another one may have its key, and what was typed for each is there whenever it waits.

    Args:
        drafts: Where values are kept.
        key: The request's key.
        asked: What is asked for.
    """
    name, earlier = f"{key} {digest(*asked)}", slug(key)
    if earlier in drafts:  # as an earlier version kept what was typed for the request that had the key last
        _adopt(drafts, earlier, _signature_of(asked), asked)
        if values := _load(drafts, earlier, _signature_of(asked)):
            _save(drafts, slug(name), "", values)
            del drafts[earlier]
    return KeptInputs(drafts, name)


class UntouchedInputs(KeptInputs):
    """Inputs that nobody has touched."""

    def __init__(self) -> None:
        pass

    @override
    def value(self, name: str, initial: JsonValue = None) -> Any:
        return initial


def _signature_of(about: tuple[str, ...]) -> str:
    return "".join(about) if len(about) < _SEVERAL else digest(*about)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _load(drafts: DraftStore, owner: str, signature: str) -> dict[str, Any]:
    text = drafts.get(owner)
    of, values = _read(text) if text else ("", {})
    return values if of == signature else {}


def _read(text: str) -> tuple[str, dict[str, Any]]:
    """Return what values are about, and the values; none where the text, which may come from a file, says something else."""
    try:
        kept = json.loads(text)
    except (ValueError, RecursionError):  # also a number of more digits than Python reads
        return "", {}
    values = kept.get("values") if isinstance(kept, dict) else None
    return (str(kept.get("of", "")), values) if isinstance(values, dict) else ("", {})


def _adopt(drafts: DraftStore, owner: str, signature: str, about: tuple[str, ...]) -> None:
    """Take over what was kept when signatures still named the session."""
    session_id, text = st.session_state.get(_SESSION), drafts.get(owner)
    if not session_id or not text:
        return
    of, values = _read(text)
    if of in {" ".join((session_id, *about)), digest(session_id, *about)}:
        _save(drafts, owner, signature, values)


def _save(drafts: DraftStore, owner: str, signature: str, values: dict[str, Any]) -> None:
    drafts[owner] = json.dumps({"of": signature, "values": values})
