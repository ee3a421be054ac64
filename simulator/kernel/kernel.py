"""The studio's side of one kernel: starts the process, asks it, hears it, and ends it.

A kernel is a process of the agent's own Python in which sessions are played; `kernel_server` is its side. Messages go
over its standard input and output (`messages`). What it writes to the standard error is logged, and its last line says
why it ended.

Asking: each call has a number. `begin_asking` returns a future, and the reply with the same number fulfils it. `ask`
waits for that, no longer than its patience.

Hearing: one thread reads all messages. Facts, moves of the head and what there is to see go to the listener of their
session, which must not wait. Before something real runs, the kernel asks that the session is kept; threads of their own
see to that, and say when it is durable. Where nobody listens to the session any more, the answer is no, and nothing runs.

Ending: another thread waits for the process itself, as one that the agent has started may hold the pipe open. Whichever
thread hears of the end first tells it once: to all who wait for a reply, and to all listeners. A pipe that only the
studio holds (`_life`) ends the kernel's group with the studio. `rest` ends a kernel that nobody uses, and `has_pulse`
says whether code of a session holds up the loop of all.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from io import BufferedIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.base.json_values import JsonObject
from simulator.base.secret_masking import without_secrets
from simulator.kernel.kernel_program import command_line
from simulator.kernel.kernel_templates import TEMPLATES, ForkedKernel
from simulator.kernel.messages import (
    VERSION,
    Appended,
    Channel,
    HeadMoved,
    Keep,
    KeepReply,
    KernelCall,
    KernelReady,
    KernelReply,
    Message,
    ProtocolError,
    SessionDisplay,
)
from simulator.runtime.adk.private_network import ASKED_FOR, NetworkNeededError

if TYPE_CHECKING:
    from simulator.kernel.remote_simulation import RemoteSimulation

START_SECONDS = 60.0
"""How long a kernel may take until it is ready, without its agent."""
PULSE_SECONDS = 2.0
"""How long the loop on which a kernel's sessions run may take to answer before its code counts as stuck."""
_GRACE_SECONDS = 2.0
_LAST_LINES = 40
_LEFT = "the agent's process was stopped: its code blocked other sessions, and its last session has left"
LONGEST_LINE = 4096
"""Of how many bytes of a line is told; the rest of it is passed over."""
_CHUNK = 1 << 16
_PAUSE_SECONDS = 0.01
"""How long what is printed is gathered at least: a line at a time, each would wake its reader."""
_PAUSES = 9
_END = re.compile(rb"\r\n|\r|\n")  # a progress bar returns to the start of its line
_LOG = logging.getLogger(__name__)


class KernelError(ValueError):
    """A kernel could not be started, has ended, or does not answer; the text says which."""


class KernelBusyError(KernelError):
    """A kernel did not answer in time; it may still do what it was asked for."""


class KernelRestsError(KernelError):
    """A kernel was ended as nobody used it; it was not asked. Another one goes on with its sessions."""


class RefusedError(ValueError):
    """A kernel answered that something cannot be done; `error` says why, as data."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(str(error.get("text", "")))
        self.error = error

    @property
    def needs_network(self) -> bool:
        """Whether it can be done in a kernel that has no network of its own."""
        return self.error.get("kind") == NetworkNeededError.__name__


class Kernel:
    """A process that plays the sessions of one agent."""

    def __init__(self, python: Path, cwd: Path, *, is_private: bool = False) -> None:
        """Start it.

        Args:
            python: The interpreter.
            cwd: Where the process works: the agent's project.
            is_private: Whether it gets a network of its own, where the system permits that.

        Raises:
            KernelError: It cannot be started, or does not speak in time.
        """
        self.python = python
        self._listeners: dict[str, RemoteSimulation] = {}
        self._waiting: dict[int, Future[Any]] = {}
        self._numbers = iter(range(1, 1 << 62))
        self._lock = threading.Lock()
        self._last: deque[str] = deque(maxlen=_LAST_LINES)
        self._ready: Future[KernelReady] = Future()
        self._ending = threading.Lock()
        self._is_over = self._rests = self._ends_when_left = False
        self.last_used = time.monotonic()
        """When it was asked or heard last, by the clock of `time.monotonic`."""
        self.last_heard = self.last_used
        """When it was heard last, by the same clock."""
        self.why_ended = ""
        self._process = self._started(cwd, is_private=is_private)
        if self._process.stdin is None or self._process.stdout is None:
            raise KernelError(f"{python} was started without pipes")
        self._channel = Channel(self._process.stdout, self._process.stdin)  # type: ignore[arg-type] # they are buffered
        self._keepers = ThreadPoolExecutor(2, thread_name_prefix="kernel-keep")
        self._logging = threading.Thread(target=self._log, name="kernel-log", daemon=True)
        self._logging.start()
        self._hearing = threading.Thread(target=self._hear, name="kernel-heard", daemon=True)
        self._hearing.start()
        threading.Thread(target=self._watch, name="kernel-watch", daemon=True).start()
        self.ready = self._begun()

    def _started(self, cwd: Path, *, is_private: bool) -> subprocess.Popen[bytes] | ForkedKernel:
        life, self._life = os.pipe()
        environment = {**os.environ, **({ASKED_FOR: "1"} if is_private else {})}
        try:
            if cwd.is_dir() and (forked := TEMPLATES.fork(self.python, cwd, life, environment)) is not None:
                return forked
            return subprocess.Popen(  # noqa: S603 - the interpreter that a person has chosen for the agent
                command_line(self.python, life),
                cwd=cwd,
                env={**environment, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=(life,),
            )
        except OSError as error:
            os.close(self._life)
            raise KernelError(f"{self.python} cannot be run: {error.strerror or error}") from error
        finally:
            os.close(life)

    def _begun(self) -> KernelReady:
        try:
            ready = self._ready.result(START_SECONDS)
        except FutureTimeoutError as error:
            self.kill()
            raise KernelError(f"{self.python} did not start within {START_SECONDS:.0f} s") from error
        if ready.version != VERSION:
            self.kill()
            raise KernelError(
                f"the agent's process uses protocol version {ready.version}, this studio {VERSION}"
            )
        return ready

    # ------------------------------------------------------------ asking

    def ask(
        self, name: str, arguments: JsonObject, *, session: str = "", patience: float | None = None
    ) -> Any:
        """Ask for something and return the answer.

        Args:
            name: What for.
            arguments: Its arguments by name.
            session: The session that it is about.
            patience: How many seconds to wait; None for as long as it takes.

        Raises:
            RefusedError: The kernel says that it cannot be done.
            KernelBusyError: There was no answer in time.
            KernelError: The kernel has ended.
        """
        try:
            return self.begin_asking(name, arguments, session=session).result(patience)
        except FutureTimeoutError as error:
            raise KernelBusyError(
                "the agent's process is not responding: its code is still running"
            ) from error

    def begin_asking(self, name: str, arguments: JsonObject, *, session: str = "") -> Future[Any]:
        """Ask for something and return the answer that is to come; it may fail as `ask` does.

        Raises:
            KernelError: The kernel has ended.
        """
        number, answer = next(self._numbers), Future[Any]()
        with self._lock:
            if self.why_ended:
                raise (KernelRestsError if self._rests else KernelError)(self.why_ended)
            self.last_used = time.monotonic()
            self._waiting[number] = answer
        try:
            self._channel.send(KernelCall(number=number, session=session, name=name, arguments=arguments))
        except OSError:  # it is about to be heard that it has ended
            _LOG.debug("A request could not be sent to a kernel", exc_info=True)
        return answer

    def has_pulse(self) -> bool:
        """Return whether its sessions can go on: False where code of one of them holds up the loop of all, or it has ended."""
        try:
            self.ask("pulse", {}, patience=PULSE_SECONDS)
        except (KernelError, RefusedError):
            return False
        return True

    def let_go(self, session: str) -> None:
        """Hear no more of a session, which goes on in another kernel. From now on this one appends nothing to it, so runs nothing for it."""
        self.forget(session)
        with contextlib.suppress(KernelError):  # it has ended: then it does nothing anyway
            self.begin_asking("leave", {}, session=session)

    def listen(self, session: str, listener: RemoteSimulation) -> None:
        """Let somebody hear what happens in a session.

        Raises:
            KernelError: The kernel has ended, or is about to.
        """
        with self._lock:
            if self.why_ended:
                raise KernelError(self.why_ended)
            self._listeners[session] = listener

    def forget(self, session: str) -> None:
        """Let nobody hear of a session any more."""
        with self._lock:
            self._listeners.pop(session, None)
            is_left = self._ends_when_left and not self._listeners
        if is_left:
            self.kill(_LEFT)

    def end_when_left(self) -> None:
        """End it once no session is played in it any more."""
        with self._lock:
            self._ends_when_left = True
            is_left = not self._listeners
        if is_left:
            self.kill(_LEFT)

    # ------------------------------------------------------------ hearing

    def _hear(self) -> None:
        why = ""
        try:
            while (message := self._channel.receive()) is not None:
                self._take(message)
        except (ProtocolError, OSError) as error:
            why = str(error)
        except Exception:  # noqa: BLE001 - else nobody would hear that it has ended
            _LOG.exception("A message from a kernel could not be read")
            why = "its message could not be read"
        self._over(why)

    def _watch(self) -> None:
        """Hear of the end also where a process that the agent has started holds the pipe open."""
        self._process.wait()
        kill_group(self._process)
        self._hearing.join(_GRACE_SECONDS)
        self._over("")

    def _take(self, message: Message) -> None:
        self.last_used = self.last_heard = time.monotonic()
        match message:
            case KernelReady():
                self._ready.set_result(message)
            case KernelReply():
                answer = self._waiting.pop(message.number, None)
                if answer is None:
                    return
                if message.error is None:
                    answer.set_result(message.value)
                else:
                    answer.set_exception(RefusedError(message.error))
            case Appended() | HeadMoved() | SessionDisplay():
                listener = self._listeners.get(message.session)
                if listener is not None:
                    listener.heard(self, message)
            case Keep():
                self._keepers.submit(self._kept, message)
            case _:
                raise ProtocolError(f"unexpected message from a kernel: {message.kind!r}")

    def _kept(self, message: Keep) -> None:
        listener, problem = self._listeners.get(message.session), ""
        try:
            if listener is None:  # nothing real may run for a session that goes on elsewhere
                problem = "the session is running in another process"
            else:
                listener.journal.keep()
        except ValueError as error:
            problem = str(error) or type(error).__name__
        self._channel.send(KeepReply(number=message.number, problem=problem))

    def _over(self, why: str) -> None:
        self._end_process()
        code = self._process.wait()
        with self._ending:
            if not self._is_over:
                self._is_over = True
                self._tell_end(code, why)

    def _tell_end(self, code: int, why: str) -> None:
        os.close(self._life)  # what is left of its group ends with that
        if not self._hearing.is_alive() or threading.current_thread() is self._hearing:
            self._channel.close()
        self._logging.join(_GRACE_SECONDS)  # its last words say why
        with self._lock:
            self.why_ended = self.why_ended or self._words(code, why)
            waiting, self._waiting = dict(self._waiting), {}
            listeners, self._listeners = dict(self._listeners), {}
        if not self._ready.done():
            self._ready.set_exception(KernelError(self.why_ended))
        for answer in waiting.values():
            answer.set_exception(KernelError(self.why_ended))
        for listener in listeners.values():
            listener.ended(self, self.why_ended)
        self._keepers.shutdown(wait=False)

    def _words(self, code: int, why: str) -> str:
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        said = next((line for line in reversed(self._last) if line.strip()), "")
        reason = why or without_secrets(said.strip())
        return f"the agent's process ended ({ended}){f': {reason}' if reason else ''}"

    def _log(self) -> None:
        errors = self._process.stderr
        if errors is None:
            return
        with errors:
            for text in printed_lines(errors):  # type: ignore[arg-type] # it is buffered
                self._last.append(text)
                _LOG.debug("kernel %s: %s", self._process.pid, text)

    # ------------------------------------------------------------ ending

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return not self.why_ended

    @property
    def process_id(self) -> int:
        """The process's id."""
        return self._process.pid

    def end(self, why: str = "the agent's process was stopped") -> None:
        """End it: first its input ends, then it is killed; the sessions are told why."""
        with self._lock:
            self.why_ended = self.why_ended or why
        self._end_process()

    @property
    def busy(self) -> bool:
        """Whether it is at work for somebody."""
        return bool(self._waiting) or any(one.busy for one in [*self._listeners.values()])

    @property
    def sessions(self) -> int:
        """How many sessions are played in it."""
        return len(self._listeners)

    def rest(self, *, with_sessions: bool = False) -> bool:
        """End it, unless a session is played in it; from then on none can be.

        Args:
            with_sessions: Whether sessions may be played in it that only wait: they go on in another one, once something is asked of them.

        Returns:
            False where it is still needed.
        """
        with self._lock:
            if self.busy or (self._listeners and not with_sessions):
                return False
            self.why_ended, self._rests = (
                self.why_ended or "the agent's process was stopped because it was idle",
                True,
            )
            resting, self._listeners = self._listeners, {}
        for one in resting.values():
            one.rested(self)
        self._end_process()
        return True

    def kill(self, why: str = "the agent's process was stopped") -> None:
        """End it at once, whatever is at work."""
        with self._lock:
            self.why_ended = self.why_ended or why
        kill_group(self._process)

    def _end_process(self) -> None:
        self._channel.close_outgoing()
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            kill_group(self._process)


def kill_group(process: subprocess.Popen[bytes] | ForkedKernel) -> None:
    """Kill a process that leads a session of its own, with all that it has started, also what leads a session of its own."""
    import psutil  # noqa: PLC0415 - only who starts processes has it: an agent's environment need not

    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.Error:
        family = []
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):  # it has ended already
        pass
    for one in family:
        with contextlib.suppress(psutil.Error):  # it has ended already
            one.kill()


def printed_lines(
    output: BufferedIOBase,
    *,
    pause: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.thread_time,
) -> Iterator[str]:
    """Yield each line without its end, soon after it has ended.

    What prints without end waits for its reader: reading and what is done with the lines take a tenth of a processor at most.

    Args:
        output: What is printed.
        pause: Waits for so many seconds.
        clock: Gives the processor's time that this thread has taken, in seconds.
    """
    line = bytearray()
    while chunk := output.read1(_CHUNK):
        began = clock()
        *ended, last = _END.split(chunk)
        for part in ended:
            line += part[: LONGEST_LINE + 1 - len(line)]
            yield _text(line)
            line.clear()
        line += last[: LONGEST_LINE + 1 - len(line)]
        pause(max(_PAUSE_SECONDS, _PAUSES * (clock() - began)))
    if line:
        yield _text(line)


def _text(line: bytearray) -> str:
    text = line[:LONGEST_LINE].decode(errors="replace").rstrip()
    return f"{text}..." if len(line) > LONGEST_LINE else text
