"""The kernels of the agents: one process for each agent's code as it was loaded, started anew where it has ended; what each one takes, and which are ended as nobody uses them.

Beside those that play sessions there are workers: `AgentKernels.run` has one function run in a kernel that ends with it, and a
`KernelExecutor` shares functions out among several, as `concurrent.futures` has it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import psutil

from simulator.agents.agent_folder import AgentFolder
from simulator.agents.agent_source import are_tests
from simulator.base.json_values import JsonObject
from simulator.kernel.kernel import Kernel, KernelBusyError, KernelError, RefusedError
from simulator.kernel.process_setup import LAST, NICE, set_group_niceness

_LOOKS_EVERY = 0.1
LOAD_SECONDS = 60.0
"""How long the import of an agent may take."""
MOST_FILES = 2_000
"""So many files of an agent are looked at to know whether its code has changed."""
MOST_FOLDERS = 500
_NOT_ITS_OWN = frozenset({"__pycache__", "venv", "env", "node_modules", "site-packages"})
_CODE = (".py", ".yaml", ".yml", ".toml")
_STOPPED = "loading the agent was stopped"
_ENDED = "the process was stopped"
_ALL: weakref.WeakSet[AgentKernels] = weakref.WeakSet()


def in_use() -> tuple[tuple[AgentKernels, Kernel], ...]:
    """Return the kernels of this process's agents that are alive; those beside the sessions, such as workers, stay out."""
    return tuple((each, kernel) for each in [*_ALL] for kernel in each.alive)


@dataclass(eq=False)
class AgentKernels:
    """The kernels of one agent: one plays its sessions, but for those that hold up one that played before.

    Attributes:
        python: The interpreter.
        folder: Where the process works.
        asked: What it loads, as `simulator.kernel.kernel_server` reads it.
    """

    python: Path
    folder: Path
    asked: JsonObject

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._loading: Kernel | None = None
        self._is_stopped = False
        self._kernel: Kernel | None = None
        self._stuck: list[Kernel] = []
        self._outline: JsonObject | None = None
        self._files: frozenset[tuple[Path, int, int]] = frozenset()
        _ALL.add(self)

    @property
    def name(self) -> str:
        """The agent's name, as far as it is known."""
        known = (self._outline or {}).get("name") or self.asked.get("name") or self.asked.get("demo")
        return str(known or self.asked.get("file") or "")

    def kernel(self) -> Kernel:
        """Return the kernel that is alive, or start one that has loaded the agent; also where code of a session holds that one up.

        Raises:
            KernelError: It cannot be started, or the agent cannot be loaded there; the text says why.
        """
        with self._lock:
            kernel = self._kernel
            if kernel is not None and kernel.alive and kernel.busy and not kernel.has_pulse():
                self._set_aside(kernel)
            if self._kernel is None or not self._kernel.alive:
                self._kernel = self._started()
            return self._kernel

    def set_aside(self, kernel: Kernel) -> None:
        """Let a kernel play no more sessions, as one holds it up: those that are asked for something leave it, and the last one ends it."""
        with self._lock:
            self._set_aside(kernel)

    def _set_aside(self, kernel: Kernel) -> None:
        if self._kernel is kernel:
            self._kernel, self._stuck = None, [*(each for each in self._stuck if each.alive), kernel]
        kernel.end_when_left()

    def outline(self) -> JsonObject:
        """Return the outline of the agent as it was loaded last, an `AgentOutline` in JSON.

        Raises:
            KernelError: As `kernel`.
        """
        self.kernel()
        if self._outline is None:
            raise KernelError("the agent is not loaded")
        return self._outline

    @property
    def last_outline(self) -> JsonObject | None:
        """The outline of the agent as it was loaded last; None before. Starts nothing."""
        return self._outline

    @property
    def running(self) -> Kernel | None:
        """The kernel that is alive, if one is."""
        kernel = self._kernel
        return kernel if kernel is not None and kernel.alive else None

    @property
    def alive(self) -> tuple[Kernel, ...]:
        """All that are alive: the one for new sessions first, and those that a session of theirs holds up."""
        return tuple(each for each in (self._kernel, *self._stuck) if each is not None and each.alive)

    @property
    def has_new_code(self) -> bool:
        """Whether the agent's files are others than when they were loaded, but for tests; not before a kernel has loaded them."""
        place = _place_of(self.asked)
        if self._outline is None or place is None:
            return False
        changed = {path for path, *_ in self._files ^ _files_of(place)}
        return bool(changed) and not are_tests(changed, place)

    def run(
        self, function: str, arguments: JsonObject, *, stopped: Callable[[], bool] = lambda: False
    ) -> Any:
        """Have a function of `FOR_KERNELS` run in a kernel of its own, beside the sessions, and return what it gives.

        Args:
            function: Its name.
            arguments: What it takes beside the agent, in JSON.
            stopped: Asked again and again; where it is true the kernel is ended.

        Raises:
            KernelError: The kernel cannot be started, has ended, or was stopped.
            RefusedError: The function raised; the text says what.
        """
        kernel = self._started()
        try:
            with ThreadPoolExecutor(1) as asking:
                answer = asking.submit(kernel.ask, "run", {"function": function, "arguments": arguments})
                while not wait({answer}, timeout=_LOOKS_EVERY).done:
                    if stopped():
                        kernel.kill("the agent's process was stopped")
                return answer.result()
        finally:
            kernel.kill()

    def fresh(self, *, is_private: bool = False) -> Kernel:
        """Start a kernel beside the one of the sessions, that has loaded the agent; who asks for it ends it.

        Args:
            is_private: Whether it gets a network of its own, where the system permits that.

        Raises:
            KernelError: As `kernel`.
        """
        return self._started(is_private=is_private)

    def stop_loading(self) -> None:
        """Give up the import of the agent that is under way, if one is."""
        self._is_stopped = True
        if (kernel := self._loading) is not None:
            kernel.kill(_STOPPED)

    def rest(self) -> None:
        """End the kernel that is alive, unless a session is played in it; the next session starts another one."""
        if (kernel := self.running) is not None:
            kernel.rest()

    def restart(self) -> None:
        """End the kernel that is alive, whatever is at work, and start another one: its sessions go on there.

        Raises:
            KernelError: As `kernel`.
        """
        for kernel in self.alive:
            if not kernel.rest(with_sessions=True):
                kernel.kill("the agent's process was stopped for a restart")
        self.kernel()

    def end(self) -> None:
        """End the kernels that are alive."""
        for kernel in self.alive:
            kernel.end()

    def _started(self, *, is_private: bool = False) -> Kernel:
        self._is_stopped = False
        kernel = self._loading = Kernel(self.python, self.folder, is_private=is_private)
        files = _files_of(_place_of(self.asked))
        try:
            if self._is_stopped:
                kernel.kill(_STOPPED)
            found = kernel.ask("load", self.asked, patience=LOAD_SECONDS)
        except KernelBusyError as error:
            kernel.kill()
            raise KernelError(
                f"importing the agent took longer than {LOAD_SECONDS:.0f} s and was stopped"
            ) from error
        except RefusedError as error:
            kernel.end()
            raise KernelError(str(error)) from error
        finally:
            self._loading = None
        self._outline, self._files = found, files
        return kernel


def _place_of(asked: JsonObject) -> Path | None:
    """Return the folder or file of an agent; None of one that ships, which does not change."""
    match asked:
        case {"folder": str(folder), "name": str(name)}:
            return AgentFolder(Path(folder)).where(name)
        case {"file": str(file)}:
            return Path(file)
    return None


def _files_of(place: Path | None) -> frozenset[tuple[Path, int, int]]:
    """Return the files of an agent's code and settings, each with its time in nanoseconds and its size in bytes."""
    stamps = set()
    for path in islice(_code_in(place) if place else (), MOST_FILES):
        with suppress(OSError):  # it is just being written anew
            stat = path.stat()
            stamps.add((path, stat.st_mtime_ns, stat.st_size))
    return frozenset(stamps)


def _code_in(home: Path) -> Iterator[Path]:
    if home.is_file():
        yield home
    for folder, below, names in islice(os.walk(home), MOST_FOLDERS):
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in _NOT_ITS_OWN)
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(_CODE) or name == ".env")


class KernelEndedError(BrokenExecutor):
    """A kernel ended at work; the text says how. What is submitted next runs in a fresh one."""


class KernelExecutor(Executor):
    """Runs functions of `FOR_KERNELS` in kernels: each of its workers holds one, started when it is needed first."""

    def __init__(self, start: Callable[[bool], Kernel], workers: int, *, is_private: bool = False) -> None:
        """Make it.

        Args:
            start: Starts a kernel, with a network of its own or without; where its functions take an agent, one that has loaded it.
            workers: How many kernels there are at most; at least 1.
            is_private: Whether they have a network of their own, until a function needs that of the machine.
        """
        self._start, self._kernels, self._is_over = start, set[Kernel](), False
        self._is_private = is_private
        self._lock, self._worker = threading.Lock(), threading.local()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="kernel-worker")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function run in a kernel.

        Args:
            fn: One of `FOR_KERNELS`. It is given the kernel's agent (None where it has loaded none) before its arguments.
            args: None: arguments go by name.
            kwargs: Its arguments, in JSON.

        Returns:
            What it gives, in JSON. It may fail with a `KernelEndedError`; a `KernelError`, where no kernel can be started; or a
            `RefusedError`, where the function raised.

        Raises:
            TypeError: There are arguments by position.
        """
        if args:
            raise TypeError("a kernel takes keyword arguments only")
        return self._threads.submit(self._run, fn.__name__, kwargs)

    def _run(self, function: str, arguments: JsonObject) -> Any:
        kernel = self._kernel()
        try:
            return kernel.ask("run", {"function": function, "arguments": arguments})
        except KernelError as error:
            raise KernelEndedError(str(error)) from error
        except RefusedError as error:
            if not error.needs_network:
                raise
        self._is_private = False
        kernel.kill(_ENDED)
        return self._run(function, arguments)

    def _kernel(self) -> Kernel:
        """Return this thread's kernel."""
        held: Kernel | None = getattr(self._worker, "kernel", None)
        if held is not None and held.alive:
            return held
        with self._lock:
            if held is not None:
                self._kernels.discard(held)
            if self._is_over:
                raise KernelEndedError(_ENDED)
        kernel = self._start(self._is_private)
        self._worker.kernel = kernel
        with self._lock:
            self._kernels.add(kernel)
        self._end_late(kernel)
        return kernel

    def _end_late(self, kernel: Kernel) -> None:
        """End a kernel that was started while all was ended."""
        if self._is_over:
            kernel.kill(_ENDED)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take nothing more, and end the kernels: once all is done, or at once where nobody waits."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures or not wait)
        with self._lock:
            self._is_over = True
            kernels = tuple(self._kernels)
        for kernel in kernels:
            kernel.kill(_ENDED)


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
