"""Checks whether a process that holds something on this machine is still there: by a lock that the kernel drops when it dies.

Nobody waits for these locks; those that let in one writer at a time are in `simulator.base.atomic_files`.
"""

from __future__ import annotations

import os
import secrets
import socket
import stat
import tempfile
import threading
import time
from pathlib import Path
from typing import Literal, TypeAlias

from simulator.base.atomic_files import HAS_FLOCK

if HAS_FLOCK:  # where the system has none, a lease ends by its time alone
    import fcntl

Life: TypeAlias = Literal["alive", "dead", "unknown"]
"""What is known of another holder; on other machines nothing is."""

_STALE_SECONDS = 86_400.0


def lock_folder() -> Path | None:
    """Return the folder of this user's lock files, made where there is none; None where there can be none."""
    if not HAS_FLOCK:
        return None
    folder = Path(tempfile.gettempdir()) / f"golden-trace-studio-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    # Anybody may make files in the folder above: one that is not ours would let others feign our deaths.
    is_ours = found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return folder if is_ours else None


class Holder:
    """Who opened a store, as others see it.

    Args:
        holder_id: Letters and digits that no other holder has; of chance by default.
        folder: Where the lock files are; `lock_folder()` by default.
        where: The machine and the process, in words for people.
    """

    def __init__(
        self, holder_id: str | None = None, *, folder: Path | None = None, where: str | None = None
    ) -> None:
        self.holder_id = holder_id or secrets.token_hex(12)
        self.where = where or f"{socket.gethostname()}, process {os.getpid()}"
        self._folder = folder or lock_folder()
        self._lock = threading.Lock()
        self._descriptor: int | None = None

    def hold(self) -> None:
        """Show that this process is alive, until it ends or `drop`; where no file can be made, nobody is shown anything."""
        with self._lock:
            if self._folder is None or self._descriptor is not None:
                return
            self._tidy(self._folder)
            try:
                path = self._folder / self.holder_id
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except OSError:
                return
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
            else:
                self._descriptor = descriptor

    def drop(self) -> None:
        """Let go of the lock; others then find this holder dead."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
            self._descriptor = None

    def life(self, holder_id: str) -> Life:
        """Return whether another holder is alive, as far as it is of this machine and this user."""
        if self._folder is None or not holder_id.isalnum():
            return "unknown"
        return _life(self._folder / holder_id)

    def _tidy(self, folder: Path) -> None:
        """Remove what processes that died long ago have left."""
        for path in folder.iterdir():
            try:
                is_old = time.time() - path.stat().st_mtime > _STALE_SECONDS
                if is_old and _life(path) == "dead":
                    path.unlink()
            except OSError:  # another one was faster
                continue


def _life(path: Path) -> Life:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return "unknown"
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "alive"
    except OSError:
        return "unknown"
    else:
        return "dead"
    finally:
        os.close(descriptor)
