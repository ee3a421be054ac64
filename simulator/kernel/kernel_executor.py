"""Runs functions in kernels, as `concurrent.futures` has it: several processes that share out what is submitted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any

from simulator.base.json_values import JsonObject
from simulator.kernel.kernel import Kernel, KernelError, RefusedError

_STOPPED = "the process was stopped"


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
        kernel.kill(_STOPPED)
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
                raise KernelEndedError(_STOPPED)
        kernel = self._start(self._is_private)
        self._worker.kernel = kernel
        with self._lock:
            self._kernels.add(kernel)
        self._end_late(kernel)
        return kernel

    def _end_late(self, kernel: Kernel) -> None:
        """End a kernel that was started while all was ended."""
        if self._is_over:
            kernel.kill(_STOPPED)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take nothing more, and end the kernels: once all is done, or at once where nobody waits."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures or not wait)
        with self._lock:
            self._is_over = True
            kernels = tuple(self._kernels)
        for kernel in kernels:
            kernel.kill(_STOPPED)
