"""Shares cases out among processes: a replay is ADK's own work on one core, and a machine has several."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Protocol, TypeAlias, TypeVar

Item = TypeVar("Item")
Told = TypeVar("Told")
Result = TypeVar("Result")

_WORTH_A_PROCESS = 20
"""Cases for which another process pays: making it takes as long as a few replays."""

_LOOKS_EVERY = 0.05
_FORK: Any = multiprocessing.get_context("fork" if sys.platform != "win32" else None)


class ProcessEndedError(RuntimeError):
    """A process ended before it had done its part."""


class Stop(Protocol):
    """Tells whether to stop; `threading.Event` does."""

    def is_set(self) -> bool:
        """Tell whether to stop."""


Work: TypeAlias = Callable[[Sequence[Item], Callable[[Told], None], Stop], Sequence[Result]]
"""Gives a result for each item, in their order; tells how far it is, until it is stopped."""


def how_many(wanted: int | None, items: int) -> int:
    """Give how many processes to use: as many as are wanted, or as cores and items make sense of; 1 where they cannot be made.

    A process is made by forking, so that an agent that was loaded is there at once. That is not safe beside other threads.
    """
    can_fork = sys.platform == "linux" and threading.active_count() == 1
    if not can_fork:
        return 1
    cores = len(os.sched_getaffinity(0))
    sensible = min(cores, items // _WORTH_A_PROCESS)
    return max(1, min(items, sensible if wanted is None else wanted))


def shared_out(
    work: Work[Item, Told, Result],
    items: Sequence[Item],
    processes: int,
    tell: Callable[[Told], None],
    stop: Stop,
) -> list[Result]:
    """Work off items in several processes, each with every so manieth of them.

    Args:
        work: What each process does; its results have to be picklable.
        items: The items.
        processes: How many processes; see `how_many`.
        tell: Told what the work tells, in this thread.
        stop: Passed on to the processes.

    Returns:
        The results, in the order of the items.

    Raises:
        ProcessEndedError: A process ended before it had done its part; the others are ended, too.
    """
    stopped = _FORK.Event()
    children, receivers = _started(work, [items[place::processes] for place in range(processes)], stopped)
    try:
        found: list[Sequence[Result]] = _gathered(receivers, tell, stop, stopped)
    except EOFError as error:
        for child in children:
            child.join(_LOOKS_EVERY)
        codes = ", ".join(str(child.exitcode) for child in children if child.exitcode)
        raise ProcessEndedError(
            f"a process that replays cases ended before its time (exit code {codes or 'unknown'})"
        ) from error
    finally:
        for child in children:
            child.terminate()
            child.join()
        gc.unfreeze()
    return [found[place % processes][place // processes] for place in range(len(items))]


def _started(
    work: Work[Item, Told, Result], parts: Sequence[Sequence[Item]], stopped: Stop
) -> tuple[list[BaseProcess], list[Connection]]:
    """Start a process for each part; give what hears each."""
    gc.freeze()  # what is there now, no process has to look through, nor copy for that
    children: list[BaseProcess] = []
    receivers: list[Connection] = []
    for part in parts:
        receiver, sender = _FORK.Pipe(duplex=False)
        child = _FORK.Process(target=_child, args=(work, part, sender, stopped), daemon=True)
        child.start()
        sender.close()
        children.append(child)
        receivers.append(receiver)
    return children, receivers


class _Settable(Stop, Protocol):
    def set(self) -> None: ...


def _gathered(
    receivers: Sequence[Connection], tell: Callable[[Any], None], stop: Stop, stopped: _Settable
) -> list[Sequence[Any]]:
    """Hear all processes out, and give the results of each.

    Raises:
        EOFError: One ended.
    """
    found: dict[Connection, Sequence[Any]] = {}
    while len(found) < len(receivers):
        if stop.is_set():
            stopped.set()
        for receiver in wait([each for each in receivers if each not in found], timeout=_LOOKS_EVERY):
            assert isinstance(receiver, Connection)  # noqa: S101 - as only such were given
            is_done, told = receiver.recv()
            if is_done:
                found[receiver] = told
            else:
                tell(told)
    return [found[receiver] for receiver in receivers]


def _child(work: Work[Item, Told, Result], items: Sequence[Item], sender: Connection, stopped: Stop) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and passes it on
    threading.Thread(target=_end_with_parent, daemon=True).start()
    results = work(items, lambda told: sender.send((False, told)), stopped)
    sender.send((True, list(results)))


def _end_with_parent() -> None:
    """End this process when its parent is gone: killed, it can end nobody itself."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
