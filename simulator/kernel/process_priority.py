"""How a kernel's process comes behind the studio and the browser where the processors are all at work."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

NICE = 10
"""An agent that computes gets a tenth of what the studio gets where both want a processor, and all of it where nobody else does."""

LAST = 19
"""The least of all niceness values: what is endless gets a seventieth of what the studio gets."""
_TRIES = 5
_BETWEEN_SECONDS = 0.11


def come_behind_the_page() -> None:
    """Let the studio and the browser come first where the processors are all at work: an agent that spins shall slow down no page.

    Not before the agent is loaded: a person waits for that, and a deadline.
    """
    threads = Path("/proc/self/task")
    if (
        threads.is_dir()
    ):  # Linux: there each thread has its own niceness, and a new one that of the thread that starts it
        for thread in threads.iterdir():
            with contextlib.suppress(OSError):  # it has ended
                os.setpriority(os.PRIO_PROCESS, int(thread.name), NICE)
        set_group_niceness("self", NICE)
    elif hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)


def set_group_niceness(process: int | str, niceness: int) -> None:
    """Set the niceness of a session of processes as a whole, where Linux groups processes by session: a process's own counts within its group only.

    Unlike a process's own, it can be lowered again. Forks that start a session of their own begin with 0.

    Args:
        process: A process of the session, by its id or as `self`.
        niceness: From 0 to 19.
    """
    for _ in range(_TRIES):
        try:
            Path(f"/proc/{process}/autogroup").write_text(str(niceness))
        except BlockingIOError:  # only a superuser may change two of them within a tenth of a second
            time.sleep(_BETWEEN_SECONDS)
        except OSError:  # no such process, or no such groups
            return
        else:
            return
