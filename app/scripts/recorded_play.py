"""Replays a recorded case in a session of the page: what was not recorded is asked of its author, whose answer can join the case."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from app.live.destinations import agent_path, check_place
from app.live.live_sessions import LiveSession
from app.scripts.script_play import ScriptForm, form_of, keep_golden, open_script
from app.server.owners import LOCAL
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.frozen_value import Value
from simulator.environment.recordings.nearest_calls import nearest
from simulator.seats.requests import ToolRequest

if TYPE_CHECKING:
    from evalset.recorded.recording import RecordedCase, RecordedEnvironment

Agents: TypeAlias = Literal["moves", "model"]
_MOST_DIFFERENCES = 3


class RecordedForm(Value):
    """A recorded case that is to be replayed: the agent, the recorded environment or its eval set, the case, and who plays the agents."""

    agent: str
    path: str
    case: str
    agents: Agents = "moves"


class RecordedView(Value):
    """How the session of a recorded case stands, for the page to show.

    Attributes:
        case: The case.
        path: The recorded environment.
        missing: How many answers of the session are not in it yet.
        nearest: Of each call that waits, what was recorded that is nearest, and what differs.
        problem: Why the recorded environment cannot be read any more; empty where it can.
    """

    case: str
    path: str
    missing: int = 0
    nearest: tuple[str, ...] = ()
    problem: str = ""


def environment_of(path: str, owner: str, config: SimulatedAgentConfig) -> Path:
    """Return the recorded environment that a path means: that file, or the one beside an eval set.

    Raises:
        ValueError: It is no path, or not for this person to read.
    """
    from evalset.recorded.recording_files import recording_of  # noqa: PLC0415 - importing ADK takes a second: not before somebody asks

    given = agent_path(path, owner, config)
    check_place(str(given), owner, config)
    return given if given.name.endswith(".environment.json") else recording_of(given)


def recorded_cases(path: str, owner: str, config: SimulatedAgentConfig) -> dict[str, str]:
    """Return the recorded cases at a path: what the user says first, by the case's id.

    Raises:
        ValueError: It is not for this person to read, is no recorded environment, or holds no case; the text says so.
    """
    from simulator.session.adk_event_fields import message_text  # noqa: PLC0415 - as above

    place = environment_of(path, owner, config)
    found = _read(place).cases
    if not found:
        raise ValueError(f"{place} contains no recorded case.")
    return {name: message_text(case.turns[0].query) if case.turns else "" for name, case in found.items()}


def open_recorded(form: RecordedForm, config: SimulatedAgentConfig, owner: str = LOCAL) -> LiveSession:
    """Open a session for a recorded case, and let it play there.

    Raises:
        ValueError: As `recorded_cases`; or there is no such case, or the session cannot be opened.
    """
    from evalset.recorded.recorded_script import script_of_recorded  # noqa: PLC0415 - as above
    from simulator.scripts import write_script  # noqa: PLC0415 - as above

    path = environment_of(form.path, owner, config)
    case = _case(path, form.case)
    if not case.turns:
        raise ValueError(f"The recorded case {form.case!r} has no turns.")
    script = script_of_recorded(form.case, case, agent=form.agents).script
    text = write_script(script)
    played = ScriptForm(agent=form.agent, text=text, recorded_in=str(path), recorded_case=form.case)
    live = open_script(played, config, owner)
    keep_golden(live, script_of_recorded(form.case, case, agent="moves").script)
    return live


def view_of(live: LiveSession) -> RecordedView | None:
    """Return how the session of a recorded case stands; None where it replays none."""
    form = form_of(live)
    if form is None or not form.recorded_in:
        return None
    about = {"case": form.recorded_case, "path": form.recorded_in}
    try:
        check_place(form.recorded_in, live.owner, live.config)
        recorded = _case(Path(form.recorded_in), form.recorded_case)
    except (ValueError, OSError) as error:
        return RecordedView(**about, problem=str(error))
    from evalset.recorded.recorded_script import new_answers  # noqa: PLC0415 - as above

    missing = new_answers(recorded, _played(live)).total
    return RecordedView(**about, missing=missing, nearest=tuple(_nearest(live)))


def add_answers(live: LiveSession) -> int:
    """Add the answers of a session that its case lacks to the recorded environment; return how many they are.

    Raises:
        ValueError: The session replays no recorded case, or the file cannot take them; nothing was changed.
        OSError: The disk refused.
    """
    from evalset.recorded.recorded_script import add_played  # noqa: PLC0415 - as above

    form = form_of(live)
    if form is None or not form.recorded_in:
        raise ValueError("This session does not replay a recorded case.")
    check_place(form.recorded_in, live.owner, live.config)
    return add_played(Path(form.recorded_in), form.recorded_case, _played(live)).total


def _played(live: LiveSession) -> RecordedCase:
    from evalset.recorded.recorder import recorded_case  # noqa: PLC0415 - as above

    journal = live.simulation.journal
    facts = [fact for _, fact in journal.path()]
    return recorded_case(journal.session(), facts, so_far=True)


def _nearest(live: LiveSession) -> list[str]:
    """Say of each tool call that waits what was recorded that is nearest."""
    view = live.simulation.view()
    known = [call for calls in view.session.environment.recordings.values() for call in calls]
    told: list[str] = []
    for request in view.pending:
        if not isinstance(request, ToolRequest):
            continue
        found = nearest(known, request.tool_name, request.arguments, n=1)
        if not found:
            told.append(f"The case has no recorded call of {request.tool_name}")
        elif found[0].differs:
            differs = "; ".join(found[0].differs[:_MOST_DIFFERENCES])
            told.append(
                f"The closest recorded call of {request.tool_name} is {found[0].call.place}, where {differs}"
            )
        else:
            told.append(f"{request.tool_name} was recorded with the same arguments in {found[0].call.place}")
    return told


def _case(path: Path, eval_id: str) -> RecordedCase:
    found = _read(path).cases.get(eval_id)
    if found is None:
        raise ValueError(f"{path} does not contain the recorded case {eval_id!r}.")
    return found


def _read(path: Path) -> RecordedEnvironment:
    try:
        status = path.stat()
    except OSError as error:
        raise ValueError(f"Cannot read {path}: {error.strerror or error}") from error
    return _read_once(path, status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=4)
def _read_once(path: Path, *identity: int) -> RecordedEnvironment:
    """Read a file that has not changed since only once: the page asks in each run."""
    from evalset.recorded.recording_files import read_environment  # noqa: PLC0415 - as above

    del identity
    return read_environment(path)
