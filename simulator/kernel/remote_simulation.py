"""A simulation that a kernel plays: commands are sent to it; views are made of the facts that have come and what was shown last."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from functools import cache
from typing import Any

from pydantic import JsonValue, TypeAdapter
from pydantic_core import PydanticSerializationError

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import JsonObject
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.world.entities import Contradiction
from simulator.facts import NOTHING_EARLIER, Answered, EarlierData, Fact, TurnEnded, TurnStarted
from simulator.journal import Journal
from simulator.kernel.kernel import Kernel, KernelBusyError, KernelError, KernelRestsError, RefusedError
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.kernel.messages import Appended, HeadMoved, SessionDisplay
from simulator.runtime.commanding import Commanding, SimulationView, UserView
from simulator.runtime.errors import ContradictionError, ReplayDivergence, SimulationError
from simulator.runtime.performing import (
    check_command,
    check_question,
    check_reachable,
    gives,
    step_to,
)
from simulator.runtime.session_engine import AgentBehind
from simulator.runtime.simulation import Simulation
from simulator.runtime.turns.undo_targets import redone, undone
from simulator.seats.requests import Request, RunningCall, ToolRequest
from simulator.session import Seats, SimulationSession
from simulator.session.commands import (
    Command,
    DraftLateResult,
    FindContradictions,
    MoveHead,
    Query,
    Question,
    Redo,
    SeenByModel,
    StopTurn,
    Undo,
    written,
)

_FACT: TypeAdapter[Fact] = TypeAdapter(Fact)
_REQUEST: TypeAdapter[Request] = TypeAdapter(Request)
_FOUND: TypeAdapter[tuple[Contradiction, ...]] = TypeAdapter(tuple[Contradiction, ...])
_SEATS: TypeAdapter[Seats | None] = TypeAdapter(Seats | None)

GRACE_SECONDS = 0.5
"""How much longer than asked a command may take, before it goes on in the background."""
STOP_SECONDS = 0.8
"""How long a kernel may take to stop a turn, before its process is ended."""
_LOOK_SECONDS = 10.0
_TRIES = 5
_BEGIN_SECONDS = 30.0
_TWICE_SECONDS = 15.0
"""A kernel that ends so soon after another one is not started again by itself."""
_GOES_ON = "It is restarting. The session continues from the last saved step."
_RESTS = "It was restarted and ended again. Try again, stop the turn, or go back a step."
_BESIDE = "Another session with this agent blocks its process. This session continues in a separate process."
_AGAIN_AND_AGAIN = "the agent's process keeps ending"
_LOG = logging.getLogger(__name__)


class _UnansweredError(KernelBusyError):
    """A kernel did not answer in time; the session had so many facts when it was asked."""

    def __init__(self, kernel: Kernel, facts: int) -> None:
        super().__init__("the agent's process is not responding: its code is still running")
        self.kernel, self.facts = kernel, facts
        self.answer: Future[Any] = Future()


class RemoteSimulation(Commanding):
    """A session that a kernel plays.

    Where the kernel ends, the session goes on in a fresh one from its journal, and no model and no tool is asked again. Where it ends
    again soon, the session rests until the next command: stopping the turn or going back a step needs no kernel.
    """

    def __init__(self, config: KernelAgentConfig, journal: Journal | None = None) -> None:
        """Use `open` or `resume`."""
        self.config = config
        self._id = uuid.uuid4().hex
        self._lock = threading.RLock()
        self._coming_back = threading.Lock()
        self._opening: list[Fact] = []
        self._journal_or_none = journal
        self._kernel: Kernel | None = None
        self._shown = SessionDisplay(session=self._id, version=0)
        self._unanswered = set[Future[Any]]()
        """The commands that the kernel has not taken yet: until then nothing that it shows says that it is at work."""
        self._requests: dict[str, Request] = {}
        self._answered = set[str]()
        """The keys of requests whose answers have come in this turn: what was shown last may not know it yet."""
        self._events: list[JsonObject] = []
        self._version = 0
        self._words: tuple[str, ...] = ()
        self._came_back = -_TWICE_SECONDS
        self._at: float | None = None
        self._stopped_hard = self._closed = self._is_resting = False

    @classmethod
    def open(
        cls,
        config: KernelAgentConfig,
        *,
        seats: Seats | None = None,
        rules: Iterable[InjectionRule] = (),
        initial_state: JsonObject | None = None,
        earlier: EarlierData = NOTHING_EARLIER,
        seed: str | None = None,
        user_id: str = "user",
        session_id: str | None = None,
        at: float | None = None,
        keep: Callable[[Journal], Journal] | None = None,
    ) -> RemoteSimulation:
        """Begin a session; arguments as for `Simulation.open`, and `at` as for `set_time`.

        Raises:
            SimulationError: The agent cannot be simulated, or its kernel cannot be started.
        """
        made = cls(config)
        made._at = at
        given: JsonObject = {
            "seats": _SEATS.dump_python(seats, mode="json"),
            "initial_state": initial_state,
            "earlier": earlier.model_dump(mode="json"),
            "seed": seed,
            "user_id": user_id,
            "session_id": session_id,
        }
        made._begin("open", given)
        with made._lock:
            journal = Journal(made._opening)
            made._journal_or_none = keep(journal) if keep else journal
        if tuple(rules):
            made.set_rules(rules)
        return made

    @classmethod
    def resume(
        cls, journal: Journal, config: KernelAgentConfig, *, wait: float | None = None
    ) -> RemoteSimulation:
        """Go on with the session of a journal, as `Simulation.resume` does.

        Raises:
            SimulationError: The journal's session has another agent, or its kernel cannot be started.
        """
        session = journal.session()
        if session.agent_name != config.name:
            raise SimulationError(
                f"the session belongs to the agent {session.agent_name!r}, not to {config.name!r}"
            )
        made = cls(config, journal)
        made._begin("resume", {"journal": journal.to_json()})
        made.wait(wait)
        return made

    def read(self, work: Callable[[RemoteSimulation], Any]) -> Any:
        """Return what some work reads from the journal, between two of its changes."""
        with self._lock:
            return work(self)

    def _begin(self, name: str, given: JsonObject) -> None:
        """Let a kernel play the session from now on."""
        try:
            kernel = self._listened()
            # Its name in the list may be another one, and that in an earlier journal too.
            called: JsonObject = {
                "name": self.config.name,
                "app_name": self.config.app_name,
                "root": str(self.config.root_agent.name),
            }
            given = {**given, "called": called, "at": self._at}
            kernel.ask(name, given, session=self._id, patience=_BEGIN_SECONDS)
        except RefusedError as error:
            raise _refusal(error) from error
        except KernelError as error:
            raise SimulationError(str(error)) from error

    def _listened(self) -> Kernel:
        """Return a kernel that tells this session what happens in it."""
        for _ in range(_TRIES):
            kernel = self.config.kernels.kernel()
            with self._lock:
                self._kernel, self._is_resting = kernel, False
                self._requests, self._answered, self._events = {}, set(), []
            with contextlib.suppress(KernelError):  # it is just being ended, as nobody played in it
                kernel.listen(self._id, self)
                return kernel
        raise KernelError(_AGAIN_AND_AGAIN)

    # ------------------------------------------------------------ what there is to see

    @property
    def journal(self) -> Journal:
        """The session's journal; to be read, not to be appended to."""
        if self._journal_or_none is None:
            raise SimulationError("the session has not started")
        return self._journal_or_none

    @property
    def session(self) -> SimulationSession:
        """The session as it stands."""
        with self._lock:
            events = tuple(self._events)
            return self.journal.session(events).given_by(AgentBehind(self.config, events))

    @property
    def version(self) -> int:
        """A number that grows with every change; cheap to read."""
        return self._version

    @property
    def pending(self) -> tuple[Request, ...]:
        """The requests that wait for a person, oldest first."""
        with self._lock:
            order = (key for key in self._shown.order if key not in self._answered)
            return tuple(self._requests[key] for key in order if key in self._requests)

    def view(self) -> SimulationView:
        """Return one consistent snapshot; it needs no answer of the kernel."""
        with self._lock:
            shown = self._shown
            return SimulationView(
                session=self.session,
                pending=self.pending,
                running=tuple(RunningCall.model_validate(call) for call in shown.running),
                busy=self.busy,
                version=self._version,
                problems=(*self._words, *shown.problems),
                divergence=ReplayDivergence.model_validate(shown.divergence) if shown.divergence else None,
                head=self.journal.head,
                user=UserView.model_validate(shown.user),
                undoes=undone(self.journal),
                redoes=redone(self.journal),
            )

    # ------------------------------------------------------------ what the kernel says

    def heard(self, kernel: Kernel, message: Appended | HeadMoved | SessionDisplay) -> None:
        """Take in what happened in the session, from the kernel that plays it: what an earlier one still says counts no more. It does not wait."""
        with self._lock:
            if self._kernel is not kernel:
                return
            match message:
                case Appended():
                    self._append(_FACT.validate_python(message.fact), message.parent)
                case HeadMoved():
                    self.journal.move_head(message.head)
                    self._events, self._answered = [], set()
                case SessionDisplay():
                    self._show(message)

    def _append(self, fact: Fact, parent: int) -> None:
        if isinstance(fact, (TurnStarted, TurnEnded)):
            self._events = []
        if isinstance(fact, TurnStarted):  # at the end of a turn the word of what waits now is still to come
            self._answered = set()
        if self._journal_or_none is None:
            self._opening.append(fact)
            return
        if self.journal.head != parent:
            self.journal.move_head(parent)
            self._answered = set()
        self.journal.append(fact)
        if isinstance(fact, Answered):
            self._answered.add(fact.key)

    def _show(self, shown: SessionDisplay) -> None:
        for fields in shown.requests:
            request = self._request(fields, shown.later.get(str(fields["key"]), ()))
            self._requests[request.key] = request
        self._requests = {key: self._requests[key] for key in shown.order if key in self._requests}
        self._events = [*self._events[: shown.first_event], *shown.events] if shown.turn >= 0 else []
        self._shown = shown
        self._version += 1

    def _request(self, fields: JsonObject, later: Iterable[str]) -> Request:
        names = tuple(later)
        if not names:
            return _REQUEST.validate_python(fields)
        drafts = tuple(name for name in names if name.startswith("draft"))
        key = str(fields["key"])
        # What is made with the draft at hand comes with the draft.
        makers = {
            name: lambda group=drafts if name in drafts else (name, *drafts): _made(
                self, self._id, key, group
            )
            for name in names
        }
        return ToolRequest.later(makers, **fields)

    # ------------------------------------------------------------ kernels that end

    def ended(self, kernel: Kernel, why: str) -> None:
        """Go on in a fresh kernel; where the last one was fresh too, rest until somebody acts."""
        with self._lock:
            if self._kernel is not kernel:  # another one plays already
                return
            self._kernel = None
            self._unanswered.clear()
            again = time.monotonic() - self._came_back < _TWICE_SECONDS and not self._stopped_hard
            self._shown = SessionDisplay(session=self._id, version=0, busy=not (again or self._closed))
            self._requests = {}
            self._words = (f"{why[:1].upper()}{why[1:]}. {_RESTS if again else _GOES_ON}",)
            self._version += 1
            if self._closed or self._journal_or_none is None:
                return
        if not again:
            threading.Thread(target=self._go_on_elsewhere, name="kernel-anew", daemon=True).start()

    def rested(self, kernel: Kernel) -> None:
        """Wait without a kernel; what is shown stays, and the next command begins another one."""
        with self._lock:
            if self._kernel is not kernel:
                return
            self._kernel, self._is_resting = None, True
            self._came_back = -_TWICE_SECONDS

    @property
    def busy(self) -> bool:
        """Whether something is at work, as it was shown last."""
        return self._shown.busy or bool(self._unanswered) or not self._answered.isdisjoint(self._shown.order)

    def _go_on_elsewhere(self) -> None:
        try:
            self._playing()
        except SimulationError as error:
            _LOG.warning("Session %r cannot continue: %s", self.journal.session().session_id, error)
            with self._lock:
                self._words = (str(error),)
                self._shown = self._shown.model_copy(update={"busy": False})
                self._version += 1

    def _playing(self) -> Kernel:
        """Return the kernel that plays the session, in a fresh one where it has ended."""
        with self._coming_back:
            kernel = self._kernel
            if kernel is not None and kernel.alive:
                return kernel
            if self._closed:
                raise SimulationError("the simulation is closed")
            with self._lock:
                if self._stopped_hard:
                    self._end_turn()
                if not self._is_resting:
                    self._came_back = time.monotonic()
                given: JsonObject = {"journal": self.journal.to_json()}
                self._shown = self._shown.model_copy(update={"busy": True})
            waits = self._is_resting
            try:
                self._begin("resume", given)
            except SimulationError:
                with self._lock:
                    self._shown = self._shown.model_copy(update={"busy": False})
                raise
            with self._lock:
                found = self._kernel
                if any(_RESTS in said for said in self._words):  # somebody has acted
                    self._words = ()
            if found is None:
                raise SimulationError(" ".join(self._words))
            if waits:
                self._until_at_rest(found)
            return found

    def _until_at_rest(self, kernel: Kernel) -> None:
        """Wait until a kernel has come to where the session stood: what is asked of it next is about that."""
        with contextlib.suppress(RefusedError, KernelError):  # what is asked next says so
            kernel.ask("wait", {"timeout": _LOOK_SECONDS}, session=self._id, patience=_LOOK_SECONDS)

    def _end_turn(self) -> None:
        """Write down that the turn was stopped, as the kernel that played it cannot."""
        self._stopped_hard = False
        session = self.session
        if not session.is_running:
            return
        state: JsonObject = dict(session.adk_session.state)
        events, self._events = tuple(self._events), []
        number = self.journal.fold.turns_so_far - 1
        self.journal.append(
            TurnEnded(at=round(time.time(), 3), turn=number, events=events, state=state, stopped=True)
        )

    # ------------------------------------------------------------ commands

    def look(self, question: Question) -> Any:
        """Return the answer to a question; nothing where the agent's process does not answer, and the page can do without it."""
        check_question(question)
        try:
            found = self._asked("look", {"question": written(question)}, _LOOK_SECONDS)
        except SimulationError:
            if isinstance(question, FindContradictions):
                return ()  # they are looked for once more when the answer is sent
            if isinstance(question, (DraftLateResult, SeenByModel)):
                return None
            raise
        return gives(type(question)).validate_python(found)

    def _asked(self, name: str, given: JsonObject, patience: float | None) -> Any:
        """Ask the kernel, and return what it gives.

        Raises:
            SimulationError: It does not fit, or the kernel has ended, or it does not answer in time.
        """
        try:
            return self._told(name, given, patience)
        except RefusedError as error:
            raise _refusal(error) from error
        except KernelError as error:
            raise SimulationError(str(error)) from error

    def _told(self, name: str, given: JsonObject, patience: float | None) -> Any:
        """Ask the kernel that plays the session, or another one where a session beside this one holds that one up."""
        for _ in range(_TRIES):
            try:
                return self._told_once(name, given, patience)
            except _UnansweredError as error:
                if not self._is_held_up(error):
                    raise
                self._leave(error.kernel)
        raise KernelError(_AGAIN_AND_AGAIN)

    def _told_once(self, name: str, given: JsonObject, patience: float | None) -> Any:
        """Ask the kernel that plays the session; another one, where that one was just being ended as nobody used it."""
        for _ in range(_TRIES):
            kernel = self._playing()
            unanswered = _UnansweredError(kernel, len(self.journal))
            with contextlib.suppress(KernelRestsError):
                answer = unanswered.answer = kernel.begin_asking(name, given, session=self._id)
                while not wait_for({answer}, timeout=_LOOK_SECONDS if patience is None else patience).done:
                    if patience is not None or self._is_held_up(unanswered):
                        raise unanswered
                return answer.result()
        raise KernelError(_AGAIN_AND_AGAIN)

    def _is_held_up(self, unanswered: _UnansweredError) -> bool:
        """Return whether a session beside this one keeps a kernel from taking what it was asked; a kernel of this session alone is slow, no more."""
        kernel = unanswered.kernel
        waits = kernel.sessions > 1 and (bool(self.pending) or not self.session.is_running)
        return waits and kernel.alive and not kernel.has_pulse() and len(self.journal) == unanswered.facts

    def _leave(self, kernel: Kernel) -> None:
        """Let the session go on in another kernel with what is asked of it next: another session holds this one up."""
        with self._lock:
            if self._kernel is kernel:
                self._kernel, self._is_resting = None, True
            self._unanswered.clear()
        self.config.kernels.set_aside(kernel)
        kernel.let_go(self._id)

    def drafting(self) -> Kernel | None:
        """Return the kernel that makes drafts for what is pending; it is begun anew where nobody used the last one."""
        return self._playing() if self._is_resting else self._kernel

    def send(self, command: Command, wait: float | None = None) -> bool:
        """Have the kernel carry a command out, and wait as long as asked; what takes longer goes on there."""
        check_command(command)
        match command:
            case StopTurn():
                self._stop(_sent(command, None))
                return True
            case Undo() | Redo():
                return self.send(step_to(self.journal, command), wait)
            case MoveHead() if self._rests():
                return self._moved(command.fact, wait)
            case Query():
                self._words = ()
        if command.settles:
            return self._commanded(_sent(command, wait), wait)
        self._asked("send", _sent(command, None), _LOOK_SECONDS)
        return True

    def _commanded(self, given: JsonObject, wait: float | None) -> bool:
        if wait is None:
            return bool(self._asked("send", given, None))
        try:
            return bool(self._told_once("send", given, wait + GRACE_SECONDS))
        except _UnansweredError as error:
            self._await(error.answer)
            threading.Thread(
                target=self._go_on_beside, args=(error, given), name="kernel-beside", daemon=True
            ).start()
            return False
        except RefusedError as error:
            raise _refusal(error) from error
        except KernelError as error:
            raise SimulationError(str(error)) from error

    def _await(self, answer: Future[Any]) -> None:
        """Count as at work until a command is taken; if it is refused by then, say why."""

        def taken(_: object) -> None:
            with self._lock:
                if answer not in self._unanswered:
                    return
                self._unanswered.discard(answer)
                if isinstance(error := answer.exception(), RefusedError):
                    self._words = (str(_refusal(error)),)
                self._version += 1

        with self._lock:
            self._unanswered.add(answer)
            self._version += 1
        answer.add_done_callback(taken)

    def _go_on_beside(self, unanswered: _UnansweredError, given: JsonObject) -> None:
        """Command once more in another kernel, where a session beside this one holds its own one up; else it is at work on it."""
        if not self._is_held_up(unanswered):
            return
        with self._lock:
            self._shown = self._shown.model_copy(update={"busy": True})
            self._words, self._version = (_BESIDE,), self._version + 1
        self._leave(unanswered.kernel)
        try:
            self._told("send", given, _LOOK_SECONDS)
        except (RefusedError, KernelError, SimulationError) as error:
            with self._lock:
                self._words, self._version = (str(error),), self._version + 1

    def set_time(self, at: float | None) -> None:
        """Let what is played from now on happen at one time, in seconds since the epoch; None for the present time."""
        self._at = at
        self._asked("set_time", {"at": at}, _LOOK_SECONDS)

    def _stop(self, given: JsonObject) -> None:
        """End the turn in progress; where the agent's code does not let go, end its process."""
        kernel = self._kernel
        if kernel is None or not kernel.alive:
            with self._lock:
                self._stopped_hard = True
            self._playing()
            return
        try:
            self._asked("send", given, STOP_SECONDS)
        except SimulationError as error:
            if not isinstance(error.__cause__, KernelBusyError):
                raise
            with self._lock:
                self._stopped_hard = True
            kernel.kill("the agent's process was ended because its code did not stop")

    def _rests(self) -> bool:
        return self._kernel is None or not self._kernel.alive

    def _moved(self, fact: int, wait: float | None) -> bool:
        """Move the head where no kernel plays the session, and go on from there in a fresh one."""
        with self._lock:
            check_reachable(self.journal, fact)
            self.journal.move_head(fact)
            self._words = ()
        self._playing()
        return self.wait(wait)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the agent needs a person or the turn has ended; False if `timeout` seconds were not enough."""
        if self._rests() and not self._shown.busy:
            return True
        patience = None if timeout is None else timeout + GRACE_SECONDS
        try:
            return bool(
                self._playing().ask("wait", {"timeout": timeout}, session=self._id, patience=patience)
            )
        except KernelBusyError:
            return False
        except (RefusedError, KernelError) as error:
            raise SimulationError(str(error)) from error

    def close(self) -> None:
        """Let go of everything that runs; the journal stays. Closing again does nothing."""
        kernel = self._kernel
        with self._lock:
            was_closed, self._closed = self._closed, True
        if was_closed or kernel is None or not kernel.alive:
            return
        try:
            kernel.ask("close", {}, session=self._id, patience=STOP_SECONDS)
        except (RefusedError, KernelError):
            _LOG.debug("A kernel did not close a session", exc_info=True)
        kernel.forget(self._id)


def opened(
    config: SimulatedAgentConfig,
    *,
    clock: Callable[[], float] = time.time,
    at: float | None = None,
    **how: Any,
) -> Any:
    """Begin a session where the agent's code runs: a `RemoteSimulation` or a `Simulation`.

    Args:
        config: The agent.
        clock: Gives the time in seconds since the epoch, where the agent's code runs in this process.
        at: The time that the session begins with where it runs elsewhere; `set_time` sets it from then on.
        how: What else `Simulation.open` takes.

    Raises:
        SimulationError: As `Simulation.open`.
    """
    if isinstance(config, KernelAgentConfig):
        return RemoteSimulation.open(config, at=at, **how)
    return Simulation.open(config, clock=clock, **how)


def resumed(journal: Journal, config: SimulatedAgentConfig, *, wait: float) -> Commanding:
    """Go on with the session of a journal where the agent's code runs, as `Simulation.resume` does.

    Raises:
        SimulationError: The session has another agent, or its kernel cannot be started.
    """
    if isinstance(config, KernelAgentConfig):
        return RemoteSimulation.resume(journal, config, wait=wait)
    return Simulation.resume(journal, config, wait=wait)


def _refusal(error: RefusedError) -> SimulationError:
    """Return what a kernel raised when it refused a command."""
    if error.error.get("kind") == "contradiction":
        return ContradictionError(str(error.error["tool"]), _FOUND.validate_python(error.error["found"]))
    return SimulationError(str(error))


def _sent(command: Command, wait: float | None) -> JsonObject:
    try:
        return {"command": written(command), "wait": wait}
    except PydanticSerializationError as error:
        raise SimulationError(f"what is asked of the session is not JSON: {error}") from error


def _made(simulation: RemoteSimulation, session: str, key: str, names: tuple[str, ...]) -> Mapping[str, Any]:
    """Fetch fields of a request; their defaults where the kernel does not give them any more."""
    given: Any = {}
    try:
        if (kernel := simulation.drafting()) is not None:
            wanted: list[JsonValue] = list(names)
            answer = kernel.begin_asking("fields", {"key": key, "names": wanted}, session=session)
            # A machine that is busy makes it late; a kernel that is stuck would never give it.
            while not wait_for({answer}, timeout=_LOOK_SECONDS).done and kernel.has_pulse():
                _LOG.debug("A draft takes long")
            given = answer.result(timeout=0)
    except (RefusedError, KernelError, SimulationError, TimeoutError):
        _LOG.debug("A draft could not be read", exc_info=True)
    fields = ToolRequest.model_fields
    return {
        name: _adapter(name).validate_python(given[name])
        if name in given
        else fields[name].get_default(call_default_factory=True)
        for name in names
    }


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    kind: Any = ToolRequest.model_fields[name].annotation
    return TypeAdapter(kind)
