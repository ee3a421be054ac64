"""The agents' processes of this studio: what each one is and takes, and which are ended as nobody uses them. Not for kernels themselves: it needs psutil."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from simulator.kernel.pool import AgentKernels, in_use
from simulator.kernel.process import Kernel

IDLE_SECONDS = 15 * 60.0
"""After so long without a step a kernel ends; its sessions go on in a fresh one."""
MOST_OF_MEMORY = 0.5
"""The share of the machine's memory that all kernels may take together before those that wait longest end."""
LEAST_AVAILABLE = 0.1
"""The share of it that has to be available, whoever takes the rest."""
_LATELY_SECONDS = 10.0


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
        simulator.kernel.process.KernelError: The agent cannot be loaded any more; the text says why.
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
    try:
        process = psutil.Process(process_id)
        family = [process, *process.children(recursive=True)]
    except psutil.Error:
        return 0
    return sum(map(_own_memory, family))


def _own_memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
