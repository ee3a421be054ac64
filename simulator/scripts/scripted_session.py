"""Opens a session for a script and plays it there, also beside people who watch it, answer what it has no answer to, and stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Self

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.frozen_value import Value
from simulator.base.secret_masking import error_words
from simulator.journal import Journal
from simulator.kernel.remote_simulation import opened
from simulator.runtime import Simulation
from simulator.scripts.script import Script
from simulator.scripts.script_player import Asks, Played, ScriptPlay, ScriptStep, seats_of
from simulator.scripts.script_text import Waits


def open_for_script(
    config: SimulatedAgentConfig,
    script: Script,
    *,
    clock: Callable[[], float] = time.time,
    at: float | None = None,
    keep: Callable[[Journal], Journal] | None = None,
) -> Simulation:
    """Open a session as a script wants it: its seats, rules, state, seed and ids; nothing is said yet.

    Args:
        config: The agent.
        script: The script.
        clock: Gives the time in seconds since the epoch.
        at: What it gives at first, for an agent whose code runs elsewhere; None for the present time.
        keep: As for `Simulation.open`.

    Raises:
        SimulationError: The session cannot be opened.
    """
    found: Simulation = opened(
        config,
        clock=clock,
        at=at,
        rules=script.rules,
        seats=seats_of(script, config),
        initial_state=script.initial_state,
        earlier=script.earlier,
        seed=script.seed or None,
        user_id=script.user_id,
        session_id=script.session_id or None,
        keep=keep,
    )
    return found


def of_now(script: Script) -> Script:
    """Return a script without the session's id and without times: played, it makes another session, in the present."""
    turns = tuple(turn.model_copy(update={"at": None}) for turn in script.turns)
    return script.model_copy(update={"session_id": "", "began": None, "turns": turns})


class ScriptedSession:
    """A session that a script drives; a context manager.

    Where the script has come to its end, or has no answer, `simulation` is still open: somebody else can go on.

    Args:
        config: The agent.
        script: The script.
        clock: Gives the time in seconds since the epoch, where the script names none.
        asks: Makes who is asked where the script has no answer and says so; by default nobody is.

    Raises:
        SimulationError: The session cannot be opened.
    """

    def __init__(
        self,
        config: SimulatedAgentConfig,
        script: Script,
        *,
        clock: Callable[[], float] = time.time,
        asks: Callable[[Simulation], Asks] | None = None,
    ) -> None:
        self._clock, self._at = clock, script.began
        self.simulation = open_for_script(config, script, clock=self._now, at=script.began)
        self._play = ScriptPlay(self.simulation, script, asks=asks(self.simulation) if asks else None)
        self._play.timed = self._set

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.simulation.close()

    def _now(self) -> float:
        return self._clock() if self._at is None else self._at

    def _set(self, at: float | None) -> None:
        self._at = at
        if self.simulation.config.runs_elsewhere:
            remote: Any = self.simulation
            remote.set_time(at)

    def play(self, watch: Callable[[ScriptStep], None] | None = None) -> Played:
        """Play the script from its first turn to its last, or to where it cannot go on; `watch` is told of each step."""
        return self._play.play(watch)


def play_script(
    config: SimulatedAgentConfig,
    script: Script,
    watch: Callable[[ScriptStep], None] | None = None,
) -> Played:
    """Play a script with an agent, from beginning to end.

    Raises:
        SimulationError: The session cannot be opened.
    """
    with ScriptedSession(config, script) as scripted:
        return scripted.play(watch)


_LOOK = 0.1
"""How many seconds pass before a change that a person made is seen."""

_LAST = 10.0


class ScriptProgress(Value):
    """How far a script is.

    `step` is what it does or did last, `asks` what it waits for a person to answer. `played` says how it ended; None
    while it plays. `failure` is what went wrong in a way that nobody has foreseen.
    """

    step: ScriptStep
    asks: tuple[Waits, ...] = ()
    played: Played | None = None
    failure: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it plays no more."""
        return self.played is not None or bool(self.failure)


class ScriptAtWork:
    """A script that plays in a thread of its own, in a session that people see and act in.

    Args:
        simulation: The session; the seats are as the script wants them.
        script: The script.
        resumes: Go on where the script was, as for `ScriptPlay`.
        first: As for `ScriptPlay`.
    """

    def __init__(
        self, simulation: Simulation, script: Script, *, resumes: bool = False, first: int = 0
    ) -> None:
        self._simulation = simulation
        self._play = ScriptPlay(simulation, script, asks=self._asks, resumes=resumes, first=first)
        begins = ScriptStep(turn=1, turns=len(script.turns), words="the script starts")
        self._progress = ScriptProgress(step=begins)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="script", daemon=True)
        self._thread.start()

    @property
    def progress(self) -> ScriptProgress:
        """How far it is; one that came through is stopped where somebody has gone back since and a turn is left, as its lines may be needed again."""
        now, play = self._progress, self._play
        if (
            now.played is None
            or not now.played.came_through
            or not (left := play.left())
            or play.has_all_turns
        ):
            return now
        return now.model_copy(update={"played": now.played.model_copy(update={"stopped": left})})

    def stop(self) -> None:
        """End it before its next step, and wait until it has; the session stays as it is."""
        self._ended.set()
        self._play.stop()
        self._thread.join(_LAST)

    def wait(self, until: Callable[[ScriptProgress], bool], timeout: float) -> bool:
        """Wait until its progress is so, or it is over; False if `timeout` seconds were not enough."""
        passed = 0.0
        while not (until(self._progress) or self._progress.is_over):
            if passed >= timeout:
                return False
            self._thread.join(_LOOK / 10)
            passed += _LOOK / 10
        return True

    def _run(self) -> None:
        try:
            played = self._play.play(self._told)
        except Exception as error:  # noqa: BLE001 - the thread's edge: what went wrong is shown
            words = error_words(error)
            self._progress = self._progress.model_copy(update={"failure": words, "asks": ()})
        else:
            self._progress = self._progress.model_copy(update={"played": played, "asks": ()})

    def _told(self, step: ScriptStep) -> None:
        self._progress = ScriptProgress(step=step)

    def _asks(self, waits: tuple[Waits, ...]) -> bool:
        """Wait until the session is another one than the one in which this was asked."""
        before = self._simulation.version
        self._progress = self._progress.model_copy(update={"asks": waits})
        while self._simulation.version == before:
            if self._ended.wait(_LOOK):
                return False
        return True
