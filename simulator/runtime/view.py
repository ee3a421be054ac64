"""What there is to see of a simulation."""

from __future__ import annotations

from simulator.facts import Fact, Value
from simulator.runtime.errors import Divergence
from simulator.runtime.user_commands import UserView
from simulator.seats.requests import Request, RunningCall
from simulator.session import SimulationSession


class SimulationView(Value):
    """Everything there is to see of a simulation at one moment.

    `pending` are the requests that wait for a person, oldest first; `running` what is at work right now. `busy`
    says that something will happen by itself. `version` grows with every change. `head` is the journal's.
    `user` is the user's seat. `undoes` is what an undo would take back, and `redoes` what a redo would bring back; None where there is nothing.
    """

    session: SimulationSession
    pending: tuple[Request, ...] = ()
    running: tuple[RunningCall, ...] = ()
    busy: bool = False
    version: int = 0
    problems: tuple[str, ...] = ()
    divergence: Divergence | None = None
    head: int = -1
    user: UserView = UserView()
    undoes: Fact | None = None
    redoes: Fact | None = None
