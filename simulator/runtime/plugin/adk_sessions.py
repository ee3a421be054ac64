"""Keeps something for each ADK session, as long as the session's service is there and the session is in use."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from google.adk.agents.invocation_context import InvocationContext
from google.adk.sessions import Session

from simulator.runtime.adk.adk_private import invocation_of

T = TypeVar("T")


class SessionName(NamedTuple):
    """What names a session in its service."""

    app_name: str
    user_id: str
    session_id: str


BY_HAND = SessionName("", "", "")
"""Of calls that no session makes, as those of a test."""


class Sessions(Generic[T]):
    """Something of its own for each session. Of one service, those used longest ago make room beyond `most`.

    What was used last stays in any case. Two services may know sessions of the same name; what was kept for a service goes with it. Threads may use it at once.
    """

    def __init__(self, make: Callable[[], T], most: int) -> None:
        self._make, self._most = make, most
        self._lock = threading.Lock()
        self._shelves: dict[int, tuple[Any, OrderedDict[SessionName, T]]] = {}
        self._last: tuple[SessionName, T] | None = None

    def of(self, context: Any) -> T:
        """Return what is kept for the session of a context; what is no context of ADK's shares one."""
        return self.kept(*_place(context))

    def kept(self, service: Any, name: SessionName) -> T:
        """Return what is kept for a session of a service, by its name."""
        with self._lock:
            kept = self._shelf(service)
            if name not in kept:
                kept[name] = self._make()
                if len(kept) > self._most:
                    kept.popitem(last=False)
            kept.move_to_end(name)
            found = kept[name]
            self._last = name, found
            return found

    def put(self, context: Any, value: T) -> None:
        """Keep something else for the session of a context."""
        self.of(context)
        service, name = _place(context)
        with self._lock:
            self._shelf(service)[name] = value
            self._last = name, value

    def _shelf(self, service: Any) -> OrderedDict[SessionName, T]:
        number = id(service)
        if number not in self._shelves:
            kept: OrderedDict[SessionName, T] = OrderedDict()
            self._shelves[number] = (self._held(service, number), kept)
        return self._shelves[number][1]

    def _held(self, service: Any, number: int) -> Any:
        """Hold a service so that its place is not another's; weakly, where it lets itself be held so."""
        shelves = self._shelves
        try:
            return weakref.ref(service, lambda _: shelves.pop(number, None))
        except TypeError:
            return service

    def find(self, session: Session | str | None) -> T | None:
        """Return what is kept for a session, by itself or by its id; for None, that of the session used last."""
        last = self._last
        if session is None:
            return last[1] if last else None
        if last and _is(last[0], session):
            return last[1]
        found = [kept for name, kept in self._all() if _is(name, session)]
        return found[-1] if found else None

    def forget(self, session: Session | str) -> None:
        """Let go of what is kept for a session."""
        with self._lock:
            if self._last and _is(self._last[0], session):
                self._last = None
            for _, kept in list(self._shelves.values()):
                for name in [name for name in kept if _is(name, session)]:
                    del kept[name]

    def all(self) -> tuple[T, ...]:
        """Return all that is kept."""
        return tuple(kept for _, kept in self._all())

    def _all(self) -> Iterator[tuple[SessionName, T]]:
        with self._lock:
            return iter([pair for _, kept in list(self._shelves.values()) for pair in kept.items()])


def real_invocation_of(context: Any) -> InvocationContext | None:
    """Return ADK's invocation behind a context; None for what stands for one in a test."""
    try:
        invocation = invocation_of(context)
    except AttributeError:
        return None
    return invocation if isinstance(invocation, InvocationContext) else None


def _place(context: Any) -> tuple[Any, SessionName]:
    invocation = real_invocation_of(context)
    session = getattr(invocation, "session", None)
    if invocation is None or not isinstance(session, Session):
        return None, BY_HAND
    return invocation.session_service, SessionName(session.app_name, session.user_id, session.id)


def _is(name: SessionName, session: Session | str) -> bool:
    if isinstance(session, str):
        return name.session_id == session
    return name == (session.app_name, session.user_id, session.id)
