"""Plays a script beside people who watch it, answer what it has no answer to, and stop it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from simulator.base.frozen_value import Value
from simulator.base.secret_masking import error_words
from simulator.runtime import Simulation
from simulator.scripts.script import Script
from simulator.scripts.script_player import Played, ScriptPlay, ScriptStep
from simulator.scripts.script_text import Waits

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
        """How far it is; one that came through is stopped where somebody has gone back since, as its lines may be needed again."""
        now = self._progress
        if now.played is None or not now.played.came_through or not (left := self._play.left()):
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
