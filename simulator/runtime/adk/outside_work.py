"""Notes in the session which processes an agent's own code starts, and where it connects to: that is real, and no tool of ADK's.

A real tool, a model or an executor that someone chose to be real may do the same without a note, and so may a tool set that lists
its tools. Python tells nobody of processes that native code starts, as `multiprocessing` does unless it forks; what a forked process does
is told in that process alone, and a thread of `_thread` is nobody's. Plain functions cannot be noted.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from simulator.base.secret_masking import without_secrets
from simulator.base.validation_words import shortened
from simulator.runtime.adk.allowed_hosts import LISTING
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL, TOLD

_LONGEST = 120


@cache
def watch_outside_work() -> None:
    """Watch this process from now on. An audit hook cannot be taken away, so there is one for all sessions."""
    sys.addaudithook(_hear)


def _hear(event: str, details: tuple[Any, ...]) -> None:
    words = _WORDS.get(event)
    if words is None:
        return
    turn, told = CURRENT_TURN.get(), TOLD.get()
    if not (turn or told) or INSIDE_REAL_CALL.get() or LISTING.get():
        return
    with contextlib.suppress(Exception):  # what is raised here would be raised in the agent's code
        if not (done := words(*details)):
            return
        note = f"The agent's code {done}. This was real, not a tool call."
        if turn is not None:
            turn.loop.call_soon_threadsafe(turn.note_problem, note)
        elif told is not None:
            told.told(note)


def _started(program: object, arguments: object, *_: object) -> str:
    """Return what `subprocess.Popen` and `os.posix_spawn` started; the one may use the other, with the same words."""
    if isinstance(arguments, (str, bytes, os.PathLike)) or not isinstance(arguments, Sequence):
        return _ran(arguments or program)
    return _ran(shlex.join(os.fsdecode(each) for each in arguments))


def _ran(command: Any) -> str:
    return f"started a process: {shortened(without_secrets(os.fsdecode(command)), _LONGEST)}"


def _spawned(_mode: object, program: object, arguments: object, *_: object) -> str:
    return _started(program, arguments)


def _forked(*_: object) -> str:
    return "forked its process"


def _connected(_socket: object, address: Any) -> str:
    return f"connected to {_written(address)}"


def _sent(_socket: object, address: Any) -> str:
    """Return where a datagram was sent; nothing of a connection, which was told of when it was made."""
    return "" if address is None else f"sent data to {_written(address)}"


def _written(address: Any) -> str:
    if isinstance(address, tuple):
        host, port, *_ = address
        return f"{f'[{host}]' if ':' in str(host) else host}:{port}"
    return f"{os.fsdecode(address)!r}"


_WORDS: dict[str, Callable[..., str]] = {
    "subprocess.Popen": _started,
    "os.posix_spawn": _started,
    "os.spawn": _spawned,
    "os.fork": _forked,
    "os.forkpty": _forked,
    "os.system": _ran,
    "socket.connect": _connected,
    "socket.sendto": _sent,
    "socket.sendmsg": _sent,
}
"""What is said of each audit event of Python's, https://docs.python.org/3/library/audit_events.html."""
