"""Keeps what people typed into inputs that come and go, and tells what they put in from what a browser still held there.

Values are kept in the session's drafts, one JSON text for each thing to decide, so that a refresh of the page
loses nothing either. They say nothing of the session they belong to, so a copy of it under another id has them too.

A browser sends what all of its inputs hold with each click. Where a click follows the one before so fast that the
page's answer to that has not arrived, the inputs that the page has set meanwhile come back with what they held
before: a text, say, that a form has changed. So the page counts what it sets, and an input that nobody sees, drawn
last, brings the count back with each click: what was set after that count, the browser has not seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeAlias

import streamlit as st
from pydantic import JsonValue
from typing_extensions import override

from simulator.base.json_paths import ABSENT
from simulator.base.json_values import digest

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
            count = count_change()
            was_set.before += [(count, other) for other in gone]
            was_set.now = value
            known[key] = was_set
        elif key in known:
            known[key].now = value
    elif value:
        # Two runs may follow each other so fast that the browser puts in place what the second one sent alone: that
        # would be an empty input, were it not set there as well.
        count = count_change()
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


def count_change() -> int:
    """Count something that the page sets; return the count that the browser brings back once it has seen it."""
    count = st.session_state[_COUNT] = _count() + 1
    return count


def has_seen(count: int) -> bool:
    """Return whether the browser has seen what was set with this count."""
    return count <= _seen()


def _count() -> int:
    return int(st.session_state.get(_COUNT, 0))


def _seen() -> int:
    """Return the count that the browser knows of; where the page does not ask, or something else was put there, it knows all."""
    said = str(st.session_state.get(SEEN_KEY, ""))
    return int(said) if said.isdecimal() else _count()


def _known() -> dict[str, _Set]:
    known: dict[str, _Set] = st.session_state.setdefault(_SET, {})
    return known
