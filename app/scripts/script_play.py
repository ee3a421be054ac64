"""Lets a script or a recorded case play in a session of the page: opens one for it, stops it and lets it go on; what was not recorded is asked of its author."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from app.live.destinations import agent_path, check_place
from app.live.live_sessions import LiveSession
from app.live.session_opening import taken_in
from app.server.owners import LOCAL
from evalset.files.eval_names import ARCHIVE_STARTS
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.frozen_value import Value
from simulator.base.json_text import read_json
from simulator.environment.recordings import nearest
from simulator.seats.requests import ToolRequest

if TYPE_CHECKING:
    from evalset.recorded.recording import RecordedCase, RecordedEnvironment
    from simulator.journal import Journal
    from simulator.runtime import Simulation
    from simulator.scripts import Script, ScriptText
    from simulator.scripts.script_lines import NextLines


Otherwise: TypeAlias = Literal["", "ask", "generate", "fail"]
"""What to do where the script has no answer; empty for what the script says itself."""

_DRAFT = "script that plays"
_GOLDEN = "script of the golden"
"""The name among a session's texts of the whole case that it began with: what happens next there is a candidate at each step."""
_SOON = 0.4
"""How many seconds a click waits for the script to come to its end, or to something that it asks."""


class ScriptForm(Value):
    """A script that is to be played; `text` is YAML or JSON, and may be anything. Of an eval set, `case` is what is played.

    `rest` is a script that begins as this one and has later turns, for when this one is done. Where it replays a recorded case, `recorded_in` is the recorded environment and `recorded_case` the case in it.
    """

    agent: str
    text: str
    otherwise: Otherwise = ""
    case: str = ""
    rest: str = ""
    recorded_in: str = ""
    recorded_case: str = ""


@lru_cache(maxsize=4)
def case_losses(text: str) -> dict[str, tuple[str, ...]]:
    """Return the golden traces of an eval set that can be played, each with what it does not tell, in sentences.

    Raises:
        evalset.ScenarioError: ADK's loader cannot read it, or it holds no conversation.
    """
    import evalset  # noqa: PLC0415 - importing ADK's evaluation takes a second: not before somebody has an eval set
    from evalset.editing.case_play import script_with_recording  # noqa: PLC0415 - as above

    played = {name: case for name, case in evalset.read_cases(text).items() if case.conversation}
    if not played:
        raise evalset.ScenarioError("the eval set contains no case with a conversation")
    recorded = _recorded(text)
    return {name: script_with_recording(case, recorded.get(name)).losses for name, case in played.items()}


def _recorded(text: str) -> dict[str, RecordedCase]:
    """Return what is recorded inside of an eval set, by the ids of its cases.

    Raises:
        evalset.recorded.recording_files.RecordedEnvironmentError: What stands there is no recording.
    """
    from evalset.recorded.recording_files import parted  # noqa: PLC0415 - as above

    environment = parted("the eval set", text).environment
    return environment.cases if environment else {}


def text_of_upload(content: bytes) -> str:
    """Read an uploaded script or eval set; of an archive, the eval set with its recording inside.

    Raises:
        ValueError: It is no text and no archive of an eval set; says why.
    """
    if content.startswith(ARCHIVE_STARTS):
        from evalset.recorded.recording_files import text_of_archive  # noqa: PLC0415 - as above

        return text_of_archive(content)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("The file is not UTF-8 text.") from error


def read(form: ScriptForm) -> ScriptText:
    """Read what was typed.

    Raises:
        simulator.scripts.ScriptError: It is no script; each line says what is wrong, and in which line.
    """
    # Importing ADK takes a second: not before somebody has a script.
    from simulator.scripts import read_script  # noqa: PLC0415 - as above

    script = read_script(form.text)
    if not form.otherwise:
        return script
    return script._replace(script=script.script.model_copy(update={"otherwise": form.otherwise}))


def open_script(form: ScriptForm, config: SimulatedAgentConfig, owner: str = LOCAL) -> LiveSession:
    """Open a session for a script, and let it play there, in the present.

    Raises:
        simulator.scripts.ScriptError: As `read`.
        ValueError: As for `app.live.session_opening.open_session`.
    """
    from simulator.scripts import of_now, open_for_script  # noqa: PLC0415 - as above

    golden = _script_of_case(form, config) if form.case else None
    form = form if golden is None else _without_case(form, golden)
    script = of_now(read(form).script)
    live = taken_in(lambda keep: open_for_script(config, script, keep=keep), config, owner)
    live.drafts[_DRAFT] = form.model_dump_json()
    if golden is not None:
        keep_golden(live, golden)
    _begin(live, form, resumes=False)
    return live


def _script_of_case(form: ScriptForm, config: SimulatedAgentConfig) -> Script:
    import evalset  # noqa: PLC0415 - as above
    from evalset.editing.case_play import script_with_recording  # noqa: PLC0415 - as above
    from simulator.runtime.knowledge.knowledge import agents_as_tools  # noqa: PLC0415 - as above

    case = evalset.read_cases(form.text)[form.case]
    recorded = _recorded(form.text).get(form.case)
    return script_with_recording(case, recorded, agents_as_tools(config.root_agent)).script


def _without_case(form: ScriptForm, golden: Script) -> ScriptForm:
    """Write the golden trace that is to be played as a script."""
    from evalset.golden_trace.case_script import without_names  # noqa: PLC0415 - as above
    from simulator.scripts import write_script  # noqa: PLC0415 - as above

    return form.model_copy(update={"text": write_script(without_names(golden)), "case": ""})


def play_on(live: LiveSession) -> None:
    """Let the script of a session go on where it was, as the journal tells.

    Raises:
        ValueError: There is none, or it cannot be read.
    """
    form = form_of(live)
    if form is None:
        raise ValueError("no script has run in this session")
    stop(live)
    _begin(live, form, resumes=True)


def play_rest(live: LiveSession) -> None:
    """Let the later turns be played, behind what has been done.

    Raises:
        ValueError: There are none, or they cannot be read.
    """
    form = form_of(live)
    if form is None or not form.rest:
        raise ValueError("the script has no later turns")
    stop(live)
    form = form.model_copy(update={"text": form.rest, "rest": ""})
    live.drafts[_DRAFT] = form.model_dump_json()
    golden = golden_of(live)
    _begin(live, form, resumes=True, first=golden.next_turn if golden is not None else 0)


def stop(live: LiveSession) -> None:
    """End the script where it is; the session stays as it is."""
    if live.script is not None:
        live.script.stop()


def forget(live: LiveSession) -> None:
    """Say no more of the script: it is over, or nobody wants it to go on."""
    stop(live)
    live.script = None
    live.drafts.pop(_DRAFT, None)


def form_of(live: LiveSession) -> ScriptForm | None:
    """Return the script that plays or has played in a session; None where there is none."""
    text = live.drafts.get(_DRAFT)
    if not text:
        return None
    try:
        return ScriptForm.model_validate(read_json(text))
    except ValueError:  # a session of a file has what its file says
        return None


def without_places(drafts: Mapping[str, str]) -> dict[str, str]:
    """Return the drafts of a session that comes from a file, without the files of this machine that they name."""
    try:
        written = read_json(drafts.get(_DRAFT, ""))
    except ValueError:
        return {key: text for key, text in drafts.items() if key != _DRAFT}
    if isinstance(written, dict):
        written.pop("recorded_in", None)
    return {**drafts, _DRAFT: json.dumps(written)}


def keep_golden(live: LiveSession, script: Script) -> None:
    """Keep the script of the whole case that a session begins with."""
    from simulator.scripts import write_script  # noqa: PLC0415 - as above

    turns = tuple(turn.model_copy(update={"before": ()}) for turn in script.turns)
    live.drafts[_GOLDEN] = write_script(script.model_copy(update={"turns": turns}), "json")


def golden_of(live: LiveSession) -> NextLines | None:
    """Return what the golden does next that a session began with; None where it began with none."""
    text = live.drafts.get(_GOLDEN)
    script = _golden_script(text) if text else None
    if script is None or live.read_only:
        return None
    from simulator.scripts.script_lines import NextLines  # noqa: PLC0415 - as above

    facts = (fact for _, fact in live.simulation.journal.path())
    return NextLines(script, facts, root=live.config.root_agent.name)


@lru_cache(maxsize=16)
def _golden_script(text: str) -> Script | None:
    from simulator.scripts import ScriptError, read_script  # noqa: PLC0415 - as above

    try:
        return read_script(text).script
    except ScriptError:  # a session of a file has what its file says
        return None


def script_text(journal: Journal, agent: Literal["moves", "model"]) -> str:
    """Write a session as a script.

    Raises:
        simulator.scripts.ScriptError: It has no turn, or holds what no script can say.
    """
    from simulator.scripts import script_of, write_script  # noqa: PLC0415 - as above

    return write_script(script_of(journal, agent=agent))


def _begin(live: LiveSession, form: ScriptForm, *, resumes: bool, first: int = 0) -> None:
    from simulator.scripts import ScriptAtWork, of_now  # noqa: PLC0415 - as above

    simulation = cast("Simulation", live.simulation)
    live.script = ScriptAtWork(simulation, of_now(read(form).script), resumes=resumes, first=first)
    live.script.wait(lambda progress: bool(progress.asks), _SOON)


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
