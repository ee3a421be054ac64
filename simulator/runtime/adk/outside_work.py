"""Notes in the session which processes an agent's own code starts, and where it connects to: that is real, and no tool of ADK's.

A real tool, a model or an executor that someone chose to be real may do the same without a note, and so may a tool set that lists
its tools. What code does in a thread that it started by itself is not noted, and plain functions cannot be.
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
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL

_LONGEST = 120


@cache
def watch_outside_work() -> None:
    """Watch this process from now on. An audit hook cannot be taken away, so there is one for all sessions."""
    sys.addaudithook(_hear)


def _hear(event: str, details: tuple[Any, ...]) -> None:
    words = _WORDS.get(event)
    if words is None:
        return
    turn = CURRENT_TURN.get()
    if turn is None or INSIDE_REAL_CALL.get() or LISTING.get():
        return
    with contextlib.suppress(Exception):  # what is raised here would be raised in the agent's code
        note = f"The agent's code {words(*details)}. This was real, not a tool call."
        turn.loop.call_soon_threadsafe(turn.note_problem, note)


def _started(program: object, arguments: object, *_: object) -> str:
    """Return what `subprocess.Popen` and `os.posix_spawn` started; the one may use the other, with the same words."""
    if isinstance(arguments, (str, bytes, os.PathLike)) or not isinstance(arguments, Sequence):
        return _ran(arguments or program)
    return _ran(shlex.join(os.fsdecode(each) for each in arguments))


def _ran(command: Any) -> str:
    return f"started a process: {shortened(without_secrets(os.fsdecode(command)), _LONGEST)}"


def _connected(_socket: object, address: Any) -> str:
    if isinstance(address, tuple):
        host, port, *_ = address
        return f"connected to {f'[{host}]' if ':' in str(host) else host}:{port}"
    return f"connected to {os.fsdecode(address)!r}"


_WORDS: dict[str, Callable[..., str]] = {
    "subprocess.Popen": _started,
    "os.posix_spawn": _started,
    "os.system": _ran,
    "socket.connect": _connected,
}
"""What is said of each audit event of Python's, https://docs.python.org/3/library/audit_events.html."""
