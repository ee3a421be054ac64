"""Opens a session for a script, and plays the script in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Self

from simulator.agent_config import SimulatedAgentConfig
from simulator.journal import Journal
from simulator.runtime import Simulation
from simulator.scripts.script import Script
from simulator.scripts.script_player import Asks, Played, ScriptPlay, ScriptStep
from simulator.scripts.script_seats import seats_of


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
    return opened(
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


def opened(
    config: SimulatedAgentConfig,
    *,
    clock: Callable[[], float] = time.time,
    at: float | None = None,
    **how: Any,
) -> Simulation:
    """Open a session where the agent's code runs; arguments as for `Simulation.open`.

    Args:
        config: The agent.
        clock: Gives the time in seconds since the epoch, where the agent's code runs in this process.
        at: The time that the session begins with where the agent's code runs elsewhere; `set_time` sets it from then on.
        how: What else `Simulation.open` takes.

    Raises:
        SimulationError: As `Simulation.open`.
    """
    if config.runs_elsewhere:
        # Only where it is needed: an agent's own process plays here.
        from simulator.kernel.remote_simulation import RemoteSimulation  # noqa: PLC0415 - as said above

        elsewhere: Any = config
        remote: Any = RemoteSimulation.open(elsewhere, at=at, **how)
        return remote  # type: ignore[no-any-return] # of the same shape, as `app.live` holds it to
    return Simulation.open(config, clock=clock, **how)


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
