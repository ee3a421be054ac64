"""The agents' processes of this studio: what each one is and takes, and which are ended as nobody uses them. Not for kernels themselves: it needs psutil."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import psutil

from simulator.kernel.agent_kernels import AgentKernels, in_use
from simulator.kernel.kernel import Kernel
from simulator.kernel.process_setup import LAST, NICE, set_group_niceness

IDLE_SECONDS = 15 * 60.0
"""After so long without a step a kernel ends; its sessions go on in a fresh one."""
MOST_OF_MEMORY = 0.5
"""The share of the machine's memory that all kernels may take together before those that wait longest end."""
LEAST_AVAILABLE = 0.1
"""The share of it that has to be available."""
_LATELY_SECONDS = 10.0
_ONLY_COMPUTES = 0.2
"""The share of the time that a process which only computes takes a processor, or waits for one."""
_LOOKS = 2


@dataclass(frozen=True)
class AgentProcess:
    """One of them.

    Attributes:
        key: What `restart` knows it by: it stays the same when another process takes its place.
        agent: The agent's name.
        python: The interpreter's path.
        python_version: Its version.
        adk: The version of google-adk there.
        process_id: The process's id.
        sessions: How many sessions are played in it.
        busy: Whether it is at work.
        idle: For how many seconds nothing was asked of it or heard from it.
        new_code: Whether the agent's files have changed since it loaded them.
        memory: The memory that it takes with all that it has started, in bytes.
    """

    key: str
    agent: str
    python: str
    python_version: str
    adk: str
    process_id: int
    sessions: int
    busy: bool
    idle: float
    new_code: bool
    memory: int


def agent_processes() -> tuple[AgentProcess, ...]:
    """Return those that run, by the agent's name."""
    now = time.monotonic()
    found = [_described(kernels, kernel, now) for kernels, kernel in in_use()]
    return tuple(sorted(found, key=lambda one: (one.agent, one.process_id)))


def restart(key: str) -> None:
    """Start the process of an agent anew, with its code as it is now; its sessions go on there from their journals.

    Raises:
        simulator.kernel.kernel.KernelError: The agent cannot be loaded any more; the text says why.
    """
    for kernels, _ in in_use():
        if _key(kernels) == key:
            kernels.restart()


def end_idle(
    *,
    idle_seconds: float = IDLE_SECONDS,
    most: float = MOST_OF_MEMORY,
    available: Callable[[], float] | None = None,
) -> list[str]:
    """End the processes that nobody has used for long, and where memory is short those that wait longest, but none at work.

    Args:
        idle_seconds: How long a process may wait.
        most: The share of the machine's memory that they may take together, from 0 to 1.
        available: Gives the share of it that is available; None for the machine's own word.

    Returns:
        The names of the agents whose process was ended.
    """
    now, ended = time.monotonic(), list[str]()
    left = sorted(in_use(), key=lambda one: one[1].last_used)
    for kernels, kernel in left:
        waits = now - kernel.last_used
        if waits < idle_seconds and not (waits >= _LATELY_SECONDS and _is_short(most, available)):
            continue
        if kernel.rest(with_sessions=True):
            ended.append(kernels.name)
    return ended


def let_endless_come_last() -> list[str]:
    """Return the processors to all others first where an agent computes without end; to be called again and again, every second or so.

    A process counts as such that has only computed since some calls, with what it has started, and has said nothing. As only a superuser
    may take that back, it ends where it cannot be once it is at rest: its sessions go on in a fresh one.

    Returns:
        The names of the agents whose process was put behind the others.
    """
    put_back = list[str]()
    for kernels, kernel in in_use():
        known = _endless.setdefault(kernel, _Endless())
        if known.is_last:
            known.is_last = kernel.busy
            if not _come(kernel.process_id, last=known.is_last) and not known.is_last:
                kernel.rest(with_sessions=True)
        elif known.computes(kernel):
            known.is_last = _come(kernel.process_id, last=True)
            put_back.append(kernels.name)
    return put_back


@dataclass
class _Endless:
    """What was seen of a process: how often in a row it only computed, and how long it had wanted processors then, in seconds."""

    looks: int = 0
    wanted: float = 0.0
    when: float = 0.0
    is_last: bool = False

    def computes(self, kernel: Kernel) -> bool:
        if not kernel.busy:
            self.looks, self.when = 0, 0.0
            return False
        is_quiet = kernel.last_heard < self.when
        now, wanted = time.monotonic(), sum(map(_wanted_seconds, _family(kernel.process_id)))
        only_computes = is_quiet and wanted - self.wanted > _ONLY_COMPUTES * (now - self.when)
        self.looks, self.wanted, self.when = self.looks + 1 if only_computes else 0, wanted, now
        return self.looks >= _LOOKS


_endless: WeakKeyDictionary[Kernel, _Endless] = WeakKeyDictionary()


def _family(process_id: int) -> list[psutil.Process]:
    """Return a process and its descendants; none where it has ended."""
    try:
        process = psutil.Process(process_id)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def _wanted_seconds(process: psutil.Process) -> float:
    """Return how long a process was on a processor, and on Linux how long its threads waited for one: one that computes beside many is on it seldom."""
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    waited = 0
    for thread in Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # it has ended
            waited += int(thread.read_text().split()[1])
    return float(times.user + times.system) + waited / 1e9


def _come(process_id: int, *, last: bool) -> bool:
    """Let a process and its descendants have the processors only while nobody else wants them, or as before; False where that is not allowed."""
    try:
        for process in _family(process_id):
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                set_group_niceness(process.pid, LAST if last else NICE)
                _come_alone(process, last=last)
    except (psutil.Error, OSError):
        return False
    return True


def _come_alone(process: psutil.Process, *, last: bool) -> None:
    if not hasattr(os, "SCHED_IDLE"):
        process.nice(LAST if last else NICE)
        return
    done = set[int]()
    while begun := {thread.id for thread in process.threads()} - done:  # they may start others meanwhile
        for thread in begun:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(thread, os.SCHED_IDLE if last else os.SCHED_OTHER, os.sched_param(0))
        done |= begun


def _is_short(most: float, available: Callable[[], float] | None) -> bool:
    machine = psutil.virtual_memory()
    taken = sum(_memory(kernel.process_id) for _, kernel in in_use())
    share = machine.available / machine.total if available is None else available()
    return taken > most * machine.total or share < LEAST_AVAILABLE


def _described(kernels: AgentKernels, kernel: Kernel, now: float) -> AgentProcess:
    return AgentProcess(
        key=_key(kernels),
        agent=kernels.name,
        python=str(kernels.python),
        python_version=kernel.ready.python,
        adk=kernel.ready.adk,
        process_id=kernel.process_id,
        sessions=kernel.sessions,
        busy=kernel.busy,
        idle=max(0.0, now - kernel.last_used),
        new_code=kernels.has_new_code,
        memory=_memory(kernel.process_id),
    )


def _key(kernels: AgentKernels) -> str:
    return f"{id(kernels):x}"


def _memory(process_id: int) -> int:
    """Return what a process takes with its descendants, in bytes; 0 where it has ended."""
    return sum(map(_own_memory, _family(process_id)))


def _own_memory(process: psutil.Process) -> int:
    """Return the memory of a process alone, in bytes; of what kernels of one template share, each has its part."""
    try:
        return int(process.memory_full_info().pss if psutil.LINUX else process.memory_info().rss)
    except psutil.Error:
        return 0
