"""How a kernel's process comes behind the studio and the browser where the processors are all at work."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NICE = 10
"""An agent that computes gets a tenth of what the studio gets where both want a processor, and all of it where nobody else does."""


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
        with contextlib.suppress(
            OSError
        ):  # where sessions are grouped, niceness counts within the group only
            Path("/proc/self/autogroup").write_text(str(NICE))
    elif hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
