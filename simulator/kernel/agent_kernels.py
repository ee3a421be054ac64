"""The kernels of the agents: one process for each agent's code as it was loaded, started anew where it has ended.

Beside those that play sessions there are workers: `AgentKernels.run` has one function run in a kernel that ends with it, and a
`KernelExecutor` shares functions out among several, as `concurrent.futures` has it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from simulator.agents.agent_folder import AgentFolder
from simulator.agents.agent_source import are_tests
from simulator.base.json_values import JsonObject
from simulator.kernel.kernel import Kernel, KernelBusyError, KernelError, RefusedError

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
