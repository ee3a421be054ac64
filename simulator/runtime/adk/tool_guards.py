"""Lets no tool run for real, while a turn is active, unless someone chose it: at the tools' classes, for any caller. Knows those that have nothing real to run.

Seats are objects in place (`boundaries`), and code of the agent can pass them by: with tools and runners that it makes itself, in
callbacks, in tasks that outlive a turn, in threads of its own. So each class of tools has a guard around its `run_async`: under
a turn it lets through what a seat lets run, and what someone chose to be real; all else is refused by name, and fails the turn.

The guards stand as long as anything is left that could still call a tool: a session, a run, or a task or thread that one began.
Where no turn is active, calls of everybody else pass them unchanged.
"""

from __future__ import annotations

import contextlib
import copy
import dis
import functools
import logging
import socket
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import google.adk
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from simulator.base.json_values import JsonObject, copied
from simulator.environment.world.tool_settings import DeclaredTool, ToolSettings
from simulator.facts import ToolAnswered
from simulator.runtime.adk.adk_private import Run, has_own_code, is_steering, runs_agents
from simulator.runtime.adk.outside_work import LISTING, AllowedHosts, listed, watched_connect, watched_lookup
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL, TOLD, WATCH
from simulator.runtime.errors import SimulationError


class AnswersItself:
    """A tool that has an environment of its own, in place of anything real."""

    def own_settings(self) -> ToolSettings:
        """Return its output schema, its beginning and the state that it shares."""
        raise NotImplementedError

    async def answer_after(
        self, earlier: Sequence[ToolAnswered], arguments: JsonObject, context: ToolContext
    ) -> Any:
        """Answer a call in a session that is played, after the calls that were answered in it before; raise where a rule says so."""
        raise NotImplementedError


class PlayedTool(BaseTool):
    """A declared tool as ADK knows tools. There is nothing real behind it."""

    def __init__(self, declared: DeclaredTool) -> None:
        super().__init__(name=declared.name, description=declared.description or declared.name)
        self._declared = declared

    def _get_declaration(self) -> types.FunctionDeclaration:
        declared = self._declared
        return types.FunctionDeclaration(
            name=declared.name,
            description=self.description,
            parameters_json_schema=copied(declared.parameters),
            response_json_schema=copied(declared.output_schema) if declared.output_schema else None,
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Say that nothing real is there.

        Raises:
            SimulationError: Always.
        """
        del args, tool_context
        raise SimulationError(f"the tool {self.name} is only declared; it has no code to run")


_KNOWN = "_simulation_is_only_declared"
_NOT_COUNTED = frozenset({"NOP", "RESUME", "COPY_FREE_VARS", "MAKE_CELL", "CACHE"})


def has_body(tool: BaseTool) -> bool:
    """Return whether a tool has anything real to run: all have, but for functions whose body is `...`, `pass` or a docstring."""
    function = getattr(tool, "func", None)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    # Hardly any function that does something names nothing: the others are looked at step by step.
    return not isinstance(code, CodeType) or bool(code.co_names) or _does_something(code)


def is_only_declared(tool: BaseTool) -> bool:
    """Return whether a tool has nothing real to run, in a session that is played.

    A long-running tool without a body is none of those: to say nothing is its answer, and the answer comes later.
    """
    own = tool.__dict__
    known: bool | None = own.get(_KNOWN)
    if known is None:  # kept with the tool, as it is asked on the way of every real call
        has_something = has_body(tool) or tool.is_long_running or isinstance(tool, AnswersItself)
        known = own[_KNOWN] = isinstance(tool, PlayedTool) or not has_something
    return known


@functools.lru_cache(maxsize=1024)
def _does_something(code: CodeType) -> bool:
    return _steps(code) not in _EMPTY


def _steps(code: CodeType) -> tuple[tuple[str, Any], ...]:
    """Return what a function does, step by step; without its docstring and the places in its source."""
    return tuple(
        (step.opname, step.argval if step.opname in {"LOAD_CONST", "RETURN_CONST"} else None)
        for step in dis.get_instructions(code)
        if step.opname not in _NOT_COUNTED
    )


def _declared() -> None:
    """Stand for a function that only is declared."""


async def _declared_async() -> None:
    """Stand for one that is awaited."""


_EMPTY = frozenset({_steps(_declared.__code__), _steps(_declared_async.__code__)})


Result = TypeVar("Result")
_LOG = logging.getLogger(__name__)
_RUN = "run_async"
_MADE, _OWN = "_simulation_guard", "_simulation_guarded"
_IN_BETWEEN = tuple(
    str(Path(folder))
    for folder in (
        Path(__file__).parents[2],
        Path(google.adk.__file__).parent,
        Path(contextlib.__file__).parent / "asyncio",
        Path(contextlib.__file__).parent / "concurrent",
        threading.__file__,
        contextlib.__file__,
    )
)
"""Where code lies that is between the one who calls a tool and the tool."""


class UnchosenToolError(RuntimeError):
    """A tool was called past its seat, and nobody chose it to be real; it did not run.

    Attributes:
        tool_name: The tool.
        place: Where it was called.
    """

    def __init__(self, tool_name: str, place: str, why: str = "") -> None:
        self.tool_name, self.place = tool_name, place
        super().__init__(
            f"the tool {tool_name} did not run: it was called outside its seat, {place}, "
            f"{why or 'and it is not set to run for real'}"
        )


def all_refused(errors: Sequence[UnchosenToolError]) -> UnchosenToolError:
    """Return one error that names every tool that was refused, at least one."""
    first = errors[0]
    texts = dict.fromkeys(map(str, errors))
    if len(texts) > 1:
        first = copy.copy(first)
        first.args = ("; ".join(texts),)
    return first


class Watch(ABC):
    """A run whose tools are real only where someone chose so. While it is `active`, tools are also refused in threads that nobody knows.

    Where `connections` is set, its code connects to nothing else.
    """

    connections: AllowedHosts | None = None

    def __init__(self) -> None:
        _GUARDS.stand_for(self)

    @abstractmethod
    def chose(self, tool: BaseTool) -> bool:
        """Return whether someone chose that a tool runs for real; from any thread."""

    @abstractmethod
    def refused(self, error: UnchosenToolError) -> None:
        """Take down that a tool was refused, which fails the run; from any thread."""

    @abstractmethod
    def told(self, text: str) -> None:
        """Take down something that the person should know; from any thread."""

    @abstractmethod
    def within(self, runner: Runner, run_async: Run, given: dict[str, Any]) -> AsyncGenerator[Event, None]:
        """Return the events of `run_async(runner, **given)`, which code of the run began, with its tools seated."""

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Be active."""
        global _active  # noqa: PLW0603 - read on the way of every call of a tool, so it is a plain name
        with _GUARDS.lock:
            _active = (*_active, self)
        try:
            yield
        finally:
            with _GUARDS.lock:
                _active = tuple(each for each in _active if each is not self)


_active: tuple[Watch, ...] = ()


async def with_set(
    values: Mapping[ContextVar[Any], Any], begin: Callable[[], AsyncGenerator[Event, None]]
) -> AsyncGenerator[Event, None]:
    """Yield events; context variables have these values while each is made, and their own for the one who takes it."""

    @contextlib.contextmanager
    def values_set() -> Iterator[None]:
        tokens = [(variable, variable.set(value)) for variable, value in values.items()]
        try:
            yield
        finally:
            for variable, token in tokens:
                variable.reset(token)

    with values_set():
        events = begin()
    try:
        while True:
            with values_set():
                event = await anext(events, None)
            if event is None:
                return
            yield event
    finally:
        with values_set():
            await events.aclose()


_LET: ContextVar[BaseTool | None] = ContextVar("simulation_let_run", default=None)
"""The tool that its seat lets run right now."""


async def let_run(tool: BaseTool, run: Callable[..., Awaitable[Any]], /, **given: Any) -> Any:
    """Run a tool that its seat lets run: it may call what its class inherits, and nothing else that was not chosen."""
    token = _LET.set(tool)
    try:
        return await run(**given)
    finally:
        _LET.reset(token)


def _check(tool: BaseTool) -> None:
    """Let a call of a tool's class pass.

    Raises:
        UnchosenToolError: The tool is not to run.
    """
    watch = WATCH.get()
    if watch is None and not _active and _lives_for_sessions is None:
        return
    let = _LET.get()
    if let is not None and (let is tool or let.name == tool.name):  # one may send another one of its name
        return
    if _is_nothing_real(tool):
        return
    if watch is None:
        _check_strange(tool)
    elif not watch.chose(tool):
        error = UnchosenToolError(tool.name, _place_of_call())
        watch.refused(error)
        raise error


def _check_strange(tool: BaseTool) -> None:
    """Let a call pass of which nobody knows under which turn it is, if the tool is real in all of them.

    Raises:
        UnchosenToolError: It is not.
    """
    watches = _active or tuple(_GUARDS.living)
    if watches and all(watch.chose(tool) for watch in watches):
        return
    why = "while a simulation that does not run it for real is active in this process"
    if not _active:
        why = "after its turn was over, and it is not set to run for real"
    error = UnchosenToolError(tool.name, _place_of_call(), why)
    _LOG.error("%s", error)
    raise error


def _is_nothing_real(tool: BaseTool) -> bool:
    """Return what is harmless: ADK's own tools that steer its flow or run agents with seats of their own, and what answers itself."""
    if isinstance(tool, AnswersItself) or is_steering(tool):
        return True
    return runs_agents(tool) and not has_own_code(tool)


def _place_of_call() -> str:
    """Name the line of code that calls, or else the thread."""
    frame = sys._getframe(1)  # noqa: SLF001 - as `logging` finds its caller
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((*_IN_BETWEEN, "<frozen")):
            return f"in {code.co_name} ({code.co_filename}:{frame.f_lineno})"
        if frame.f_back is None:
            break
        frame = frame.f_back
    if threading.current_thread() is threading.main_thread():
        return "in a separate task"
    return f"in a separate task, in the thread {threading.current_thread().name!r}"


# ------------------------------------------------------------ guards


def _guarded(kind: type[BaseTool], own: Any) -> Callable[..., Awaitable[Any]]:
    """Return a guard around what a class runs: `own` as the class has it, or None for what it has from a class that is no tool."""
    run: Callable[..., Awaitable[Any]] = getattr(kind, _RUN) if own is None else own
    if own is None:

        def run_it(self: BaseTool) -> Callable[..., Awaitable[Any]]:
            beneath: Any = super(kind, self)
            found: Callable[..., Awaitable[Any]] = beneath.run_async
            return found

    else:

        def run_it(self: BaseTool) -> Callable[..., Awaitable[Any]]:
            bound: Callable[..., Awaitable[Any]] = own.__get__(self, type(self))
            return bound

    async def run_async(self: BaseTool, *args: Any, **given: Any) -> Any:
        _check(self)
        return await run_it(self)(*args, **given)

    functools.update_wrapper(run_async, run)
    setattr(run_async, _MADE, run_async)
    setattr(run_async, _OWN, own)
    return run_async


def _is_guard(run: Any) -> bool:
    """Recognise a guard of ours; a wrapper that somebody put around one has its attributes, and is none."""
    return run is not None and getattr(run, _MADE, None) is run


def beneath_guard(run: Any) -> Any:
    """Return what a class has as `run_async` itself: what a guard stands around, None where that is inherited, else `run`."""
    return getattr(run, _OWN) if _is_guard(run) else run


class _Guards:
    """Puts guards around the `run_async` of all classes of tools, also of those that are defined meanwhile, and takes them away again."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._watches = 0
        self.living: weakref.WeakSet[Watch] = weakref.WeakSet()
        self._kinds: weakref.WeakSet[type[BaseTool]] = weakref.WeakSet()
        self._undo: list[Callable[[], None]] = []

    def stand_for(self, watch: Watch | _Process) -> None:
        """Stand as long as a watch is there, and every task and thread that is under it; or the process."""
        with self.lock:
            self._watches += 1
            if isinstance(watch, Watch):
                self.living.add(watch)
            weakref.finalize(watch, self._gone).atexit = False
            if self._watches == 1:
                self._put(BaseTool, "__init_subclass__", classmethod(self._defined()))
                self._put(threading.Thread, "start", _watched_start(threading.Thread.start))
                self._put(ThreadPoolExecutor, "submit", _watched_submit(ThreadPoolExecutor.submit))
                self._put(socket, "getaddrinfo", watched_lookup(socket.getaddrinfo))
                for name in ("connect", "connect_ex"):
                    self._put(socket.socket, name, watched_connect(getattr(socket.socket, name)))
                list_tools = BaseToolset.get_tools_with_prefix
                self._put(BaseToolset, list_tools.__name__, listed(list_tools))
            waiting: list[type[BaseTool]] = [BaseTool]
            while waiting:
                kind = waiting.pop()
                self._guard(kind)
                waiting.extend(kind.__subclasses__())

    def _gone(self) -> None:
        with self.lock:
            self._watches -= 1
            if self._watches:
                return
            while self._undo:
                self._undo.pop()()
            for kind in [*self._kinds]:
                self._release(kind)
            self._kinds.clear()

    def _put(self, owner: Any, name: str, value: Any) -> None:
        own = vars(owner).get(name)
        setattr(owner, name, value)

        def undo() -> None:
            if vars(owner).get(name) is not value:
                return  # somebody has put something upon it since; what we put passes everything on
            if own is None:
                delattr(owner, name)
            else:
                setattr(owner, name, own)

        self._undo.append(undo)

    def _defined(self) -> Callable[..., None]:
        """Guard each class that is defined from now on."""

        def __init_subclass__(kind: type[BaseTool], **given: Any) -> None:  # noqa: N807 - it is that one
            super(BaseTool, kind).__init_subclass__(**given)
            with self.lock:
                self._guard(kind)

        return __init_subclass__

    def _guard(self, kind: type[BaseTool]) -> None:
        own = vars(kind).get(_RUN)
        if _is_guard(getattr(kind, _RUN) if own is None else own):
            return
        setattr(kind, _RUN, _guarded(kind, own))
        self._kinds.add(kind)

    @staticmethod
    def _release(kind: type[BaseTool]) -> None:
        guard = vars(kind).get(_RUN)
        if not _is_guard(guard):
            return
        if (own := beneath_guard(guard)) is None:
            delattr(kind, _RUN)
        else:
            setattr(kind, _RUN, own)


_GUARDS = _Guards()


class _Process:
    """This process, where it lives for sessions alone."""


_lives_for_sessions: _Process | None = None


def guard_process() -> None:
    """Let the guards stand until this process ends: it lives for sessions alone, so each call of a tool is one of an agent's code."""
    global _lives_for_sessions  # noqa: PLW0603 - as `_active`
    if _lives_for_sessions is None:
        _lives_for_sessions = _Process()
        _GUARDS.stand_for(_lives_for_sessions)


# ------------------------------------------------------------ threads


def _watched_start(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    """Let a thread know under which watch it was started; a context variable does not reach it."""

    @functools.wraps(start)
    def started(self: threading.Thread) -> None:
        if (watch := WATCH.get()) is not None:
            self.run = functools.partial(_in_thread, self, watch, _told_in_thread(watch), self.run)  # type: ignore[method-assign] # of this one thread
        start(self)

    return started


def _told_in_thread(watch: Watch) -> Watch | None:
    """Return who is told what a thread does that is started here."""
    if INSIDE_REAL_CALL.get() or LISTING.get():
        return None
    return TOLD.get() if CURRENT_TURN.get() is None else watch


def _in_thread(thread: threading.Thread, watch: Watch, told: Watch | None, run: Callable[[], None]) -> None:
    del thread.run
    WATCH.set(watch)
    TOLD.set(told)
    run()


def _watched_submit(submit: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    """Let work in a pool know the same; the pool's threads stay nobody's."""

    @functools.wraps(submit)
    def submitted(
        self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **given: Any
    ) -> Future[Any]:
        if (watch := WATCH.get()) is None:
            return submit(self, fn, *args, **given)
        token = WATCH.set(None)
        try:
            return submit(
                self, functools.partial(_at_work, watch, _told_in_thread(watch), fn), *args, **given
            )
        finally:
            WATCH.reset(token)

    return submitted


def _at_work(
    watch: Watch, told: Watch | None, fn: Callable[..., Result], /, *args: Any, **given: Any
) -> Result:
    token, of_told = WATCH.set(watch), TOLD.set(told)
    try:
        return fn(*args, **given)
    finally:
        WATCH.reset(token)
        TOLD.reset(of_told)
