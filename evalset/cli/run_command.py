"""Carries out `run`: plays a script without the page, and writes the golden trace of the session. Its options are in `run_options`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from google.adk.evaluation.eval_case import EvalCase

from evalset.cli.command_frame import UsageError, write_output
from evalset.cli.terminal_output import (
    BAD_INPUT,
    DONE,
    FAILED,
    INTERRUPTED,
    NO_ANSWER,
    NOT_RECORDED,
    Ends,
    ProgressLine,
    output,
    plain,
)
from evalset.cli.terminal_play import (
    TerminalAsks,
    play_scenario,
    said_in,
    says_the_same,
    unrecorded_cases,
    waiting_case,
)
from evalset.editing.case_play import script_with_recording
from evalset.editing.golden_writing import replace_case, replacing
from evalset.errors import CaseTakenError, EvalSetError, GoldenTraceError, ScenarioError
from evalset.files.case_text import convert_old_form
from evalset.files.eval_names import (
    ARCHIVE_STARTS,
    flaw_of_eval_id,
    holds_cases,
    importable_kind,
    no_case,
    unique_eval_id,
)
from evalset.files.set_writer import EvalSetWriter
from evalset.golden_trace.builder import GoldenTraceBuilder
from evalset.golden_trace.case_script import read_cases, without_names
from evalset.importing.import_files import import_advice
from evalset.recorded.recorder import record, recorded_case, recorded_for
from evalset.recorded.recording import RecordedCase, unsure_in
from evalset.recorded.recording_files import (
    ArchiveError,
    RecordedEnvironmentError,
    parted,
    read_environment,
    sidecar_of,
    text_of_archive,
)
from evalset.verify.results import UnreadableSetError
from simulator.agent_config import AgentConfigError, SimulatedAgentConfig
from simulator.agents import AgentLoadError, AgentSettingsError, UnknownAgentError, agent_named
from simulator.agents.agent_settings import interpreter_named
from simulator.agents.load_failure import placeholder_words
from simulator.base.documents import read_file
from simulator.base.json_values import JsonObject
from simulator.base.secret_masking import error_words
from simulator.environment.drafts.draft import SURE, Unsure
from simulator.facts import Fact
from simulator.kernel.kernel_agent import KernelLoader
from simulator.runtime import Simulation, SimulationError
from simulator.runtime.knowledge.knowledge import agents_as_tools
from simulator.scripts import (
    Asks,
    Played,
    ScriptedSession,
    ScriptError,
    ScriptText,
    read_script,
    script_of,
    write_script,
)
from simulator.session import SimulationSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalset.verify import WrittenCase

_UNRECORDED = (
    "the case was written, but its recorded environment was not: {}. {} to write it; this adds no second case"
)
_AGAIN = "Run the same command again"


def run_script(given: argparse.Namespace, progress: ProgressLine) -> int:
    """Carry the command out.

    Raises:
        Ends: It ends otherwise than well.
    """
    if given.scenario is not None:
        return _run_scenario(given, progress)
    config = _load(given, progress)
    script, losses = _read(given.script, given.case, config)
    if given.otherwise:
        script = script._replace(script=script.script.model_copy(update={"otherwise": given.otherwise}))
    writer = EvalSetWriter(given.out, config.name)
    _check(writer, given, may_wait=True)
    turns = script.script.turns
    unrecorded = () if given.replace else unrecorded_cases(writer.path)
    waiting = waiting_case(unrecorded, said_in(turns), given.eval_id)
    if waiting is not None and all(turn.say is not None for turn in turns):
        script, losses = _to_complete(writer.path, waiting.eval_id, config, progress)
    asks = (
        partial(TerminalAsks, typed=given.typed, progress=progress, where=script.where)
        if given.typed.isatty()
        else None
    )
    played = _played(config, script, asks, given.record, progress)
    progress.clear()
    for problem in (*losses, *played.problems):
        progress.say(f"warning: {problem}")
    _check_played(played, script, given.script, has_terminal=asks is not None)
    _check_leftovers(played, script, given, progress)
    leftovers = [f"{script.where(left.place)}: {left.words}" for left in played.leftovers]
    more: JsonObject = {"problems": [*losses, *played.problems], "leftovers": [*leftovers]}
    return _write(given, config, played.session, played.facts, more, progress, waiting)


def _write(  # noqa: PLR0917 - what was played, and where it goes
    given: argparse.Namespace,
    config: SimulatedAgentConfig,
    session: SimulationSession,
    facts: Sequence[Fact],
    more: JsonObject,
    progress: ProgressLine,
    waiting: EvalCase | None = None,
) -> int:
    """Write the case and its environment, replay it, and print the result; `more` stands in it as JSON. `waiting` is the case where it was written before."""
    unsure = _unsure(session, facts, given, progress)
    if given.replace:
        path, eval_id, environment = _in_its_place(session, facts, config, given, progress)
    else:
        path, eval_id = _written(session, EvalSetWriter(given.out, config.name), given.eval_id, waiting)
        again = _AGAIN
        if given.scenario is not None:  # a simulator may say something else the next time
            again = (
                f"Run {given.agent} with --script {path} --case {eval_id} --eval-id {eval_id} --out {path}"
            )
        environment = _recorded(session, facts, path, eval_id, config, again)
    checked = None if given.no_replay else _replayed_back(path, eval_id, config, progress)
    if given.json:
        result = {
            "path": str(path),
            "environment": str(environment),
            "eval_id": eval_id,
            "session_id": session.session_id,
            "turns": len(session.turns),
            "verified": checked.passed if checked else None,
            "tolerances": list(checked.lines) if checked else [],
            **unsure._asdict(),
            **more,
        }
        output().write(json.dumps(result) + "\n")
    else:
        output().write(plain(f"{path}: {eval_id}") + "\n")
        added = checked.lines if checked else ()
        output().writelines(plain(f"tolerance added: {line}") + "\n" for line in added)
    return DONE


def _unsure(
    session: SimulationSession, facts: Sequence[Fact], given: argparse.Namespace, progress: ProgressLine
) -> Unsure:
    """Tell and return what nobody said of the responses."""
    unsure = unsure_in(recorded_case(session, facts))
    for line in (*unsure.blanks, *unsure.uncertain):
        progress.say(f"{'error' if given.strict else 'warning'}: {line}")
    if given.strict and unsure != SURE:
        kind = "a blank" if unsure.blanks else "an uncertain value"
        raise Ends(NO_ANSWER, f"a response has {kind} (--strict); nothing was written")
    return unsure


def _replayed_back(
    path: Path, eval_id: str, config: SimulatedAgentConfig, progress: ProgressLine
) -> WrittenCase | None:
    """Replay the case that was written, keep a tolerance for what differs by itself, and say where it does not pass."""
    from evalset.verify import VerifyError, replay_written  # noqa: PLC0415 - ADK's evaluation takes a second to import

    try:
        checked = replay_written(path, eval_id, agent=config, keep=True)
    except VerifyError as error:
        progress.say(f"warning: the case was written, but could not be replayed: {error}")
        return None
    except KeyboardInterrupt as error:
        raise Ends(INTERRUPTED, f"interrupted; {path}: {eval_id} was written, but not replayed") from error
    if not checked.passed:
        divergence = checked.run.divergence
        why = checked.run.error or (divergence.sentence if divergence else "")
        progress.say(f"warning: the case was written, but fails its own replay: {why}")
    return checked


def _run_scenario(given: argparse.Namespace, progress: ProgressLine) -> int:
    """Play a scenario, and write its golden trace: a conversation whose user needs no simulator any more."""
    config = _load(given, progress)
    _check(EvalSetWriter(given.out, config.name), given)
    played = play_scenario(given, config, progress)
    progress.clear()
    for problem in played.problems:
        progress.say(f"warning: {problem}")
    more: JsonObject = {"problems": [*played.problems]}
    return _write(given, config, played.session, played.facts, more, progress)


def _to_complete(
    path: Path, eval_id: str, config: SimulatedAgentConfig, progress: ProgressLine
) -> tuple[ScriptText, tuple[str, ...]]:
    """Read the script of a case that was written without its environment."""
    progress.say(f"{path}: {eval_id} has no recorded environment; it is played again to record one")
    try:
        return _read(path, eval_id, config)
    except Ends as error:  # what stands beside the set is still no environment
        raise Ends(NOT_RECORDED, _UNRECORDED.format(error, _AGAIN)) from error


def _read(path: Path, case: str, config: SimulatedAgentConfig) -> tuple[ScriptText, tuple[str, ...]]:
    """Read the script, or that of an eval set's case; and what the case does not tell."""
    try:
        content = read_file(path)
        text = text_of_archive(content) if content.startswith(ARCHIVE_STARTS) else content.decode()
        if what := importable_kind(text.encode()):
            raise Ends(BAD_INPUT, f"{path}: this is {what}, not a script. {import_advice(path)}")
        if not holds_cases(text):
            if (converted := convert_old_form(path, text.encode())) is None:
                return read_script(text), ()
            text = converted.model_dump_json()
        chosen = _chosen(path, _cases(path, text), case)
        made = script_with_recording(
            chosen, _recorded_of(path, text, chosen), agents_as_tools(config.root_agent)
        )
        return read_script(write_script(without_names(made.script))), made.losses
    except OSError as error:
        raise Ends(BAD_INPUT, f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Ends(BAD_INPUT, f"{path}: not UTF-8 text: byte {error.start} cannot be read") from error
    except RecordedEnvironmentError as error:
        raise Ends(BAD_INPUT, str(error)) from error
    except ArchiveError as error:
        raise Ends(BAD_INPUT, f"{path}: {error}") from error
    except (ScriptError, ScenarioError) as error:
        raise Ends(BAD_INPUT, "\n".join(f"{path}: {line}" for line in str(error).splitlines())) from error
    except EvalSetError as error:
        raise Ends(BAD_INPUT, str(error)) from error


def _cases(path: Path, text: str) -> dict[str, EvalCase]:
    try:
        return read_cases(text)
    except ScenarioError as error:
        raise UnreadableSetError(path, f"{path}: {error}") from error


def _recorded_of(path: Path, text: str, case: EvalCase) -> RecordedCase | None:
    """Return what is recorded of a case, beside its set or inside of it; None where nothing is."""
    sidecar = sidecar_of(path)
    if sidecar != path and sidecar.is_file():
        return read_environment(sidecar).cases.get(case.eval_id)
    inside = parted(path, text).environment
    return inside.cases.get(case.eval_id) if inside else None


def _chosen(path: Path, cases: dict[str, EvalCase], case: str) -> EvalCase:
    names = ", ".join(cases) or "none"
    if case and case not in cases:
        raise Ends(BAD_INPUT, no_case(path, case, cases))
    if not case and len(cases) != 1:
        raise Ends(BAD_INPUT, f"{path}: choose the case to play with --case; it has {names}")
    return cases[case] if case else next(iter(cases.values()))


def _load(given: argparse.Namespace, progress: ProgressLine) -> SimulatedAgentConfig:
    try:
        config = agent_named(given.agent, KernelLoader(interpreter_named(given.python)))
    except AgentSettingsError as error:
        raise Ends(BAD_INPUT, str(error)) from error
    except (UnknownAgentError, AgentLoadError, AgentConfigError) as error:
        raise Ends(BAD_INPUT, f"AGENT: {error}") from error
    if words := placeholder_words(config.placeholders):
        progress.say(f"note: {words}")
    return config


def _check(writer: EvalSetWriter, given: argparse.Namespace, *, may_wait: bool = False) -> None:
    """Check that the case can be written, before anything is played; `may_wait` where one without its environment is completed."""
    eval_id = given.eval_id
    if given.replace and eval_id is None:
        raise Ends(BAD_INPUT, "--replace needs --eval-id")
    try:
        taken = writer.eval_ids()
    except EvalSetError as error:
        raise Ends(BAD_INPUT, f"--out: {error}") from error
    if eval_id is not None and (flaw := flaw_of_eval_id(eval_id)):
        raise Ends(BAD_INPUT, f"--eval-id: {flaw}")
    if given.replace and not writer.path.exists():
        given.replace = False  # there is nothing in the way
    if given.replace and eval_id not in taken:
        raise Ends(BAD_INPUT, f"--replace: {no_case(writer.path, eval_id, sorted(taken))}")
    waiting = {case.eval_id for case in unrecorded_cases(writer.path)} if may_wait else set()
    if not given.replace and eval_id in taken - waiting:
        taken_error = CaseTakenError(writer.path, eval_id, "Replace that case with --replace")
        raise Ends(BAD_INPUT, f"--eval-id: {taken_error}")


def _played(
    config: SimulatedAgentConfig,
    script: ScriptText,
    asks: Callable[[Simulation], Asks] | None,
    record: Path | None,
    progress: ProgressLine,
) -> Played:
    try:
        with ScriptedSession(config, script.script, asks=asks) as scripted:
            played = scripted.play(progress.step)
            if record is not None:
                write_output(
                    "--record", record, write_script(script_of(scripted.simulation)).encode(), "script"
                )
    except UsageError:
        raise
    except ScriptError as error:
        raise Ends(FAILED, f"--record: {error}") from error
    except SimulationError as error:
        raise Ends(BAD_INPUT, f"the session could not be started: {error}") from error
    except Exception as error:
        raise Ends(FAILED, f"the agent failed: {error_words(error)}") from error
    return played


def _check_played(played: Played, script: ScriptText, path: Path, *, has_terminal: bool) -> None:
    if played.failure:
        raise Ends(FAILED, f"{played.failure}; nothing was written")
    if played.refused:
        where = script.where(played.refused.place)
        raise Ends(NO_ANSWER, f"{path}: {where}: {played.refused.words}; nothing was written")
    if not played.waits:
        return
    told = [
        f"{path}: {script.where(wait.place)}: the script has no answer here. Needed: {wait.words}"
        for wait in played.waits
    ]
    if script.script.otherwise == "ask":
        first = played.waits[0]
        nobody = "" if has_terminal else "Standard input is not a terminal, so you cannot be asked. "
        where, lines = first.to_paste(script.script)
        told.append(f"{nobody}{where}:\n{lines}")
    raise Ends(NO_ANSWER, "\n".join([*told, "nothing was written"]))


def _check_leftovers(
    played: Played, script: ScriptText, given: argparse.Namespace, progress: ProgressLine
) -> None:
    kind = "error" if given.strict else "warning"
    for left in played.leftovers:
        progress.say(f"{kind}: {given.script}: {script.where(left.place)}: {left.words}")
    if played.leftovers and given.strict:
        raise Ends(NO_ANSWER, "the script does not fit the session (--strict); nothing was written")


def _written(
    session: SimulationSession, writer: EvalSetWriter, eval_id: str | None, waiting: EvalCase | None
) -> tuple[Path, str]:
    try:
        case = GoldenTraceBuilder(session, eval_id=eval_id, confirmations="beside").build()
        if waiting is not None:
            return writer.path, _completed(case, waiting)
        if eval_id is None:
            free = unique_eval_id(case.eval_id, writer.eval_ids())
            case = case.model_copy(update={"eval_id": free})
        written = writer.write_eval_case(case)
    except GoldenTraceError as error:
        raise Ends(FAILED, f"{error}; nothing was written") from error
    except EvalSetError as error:
        raise Ends(BAD_INPUT, f"--out: {error}") from error
    return written.path, written.eval_id


def _in_its_place(
    session: SimulationSession,
    facts: Sequence[Fact],
    config: SimulatedAgentConfig,
    given: argparse.Namespace,
    progress: ProgressLine,
) -> tuple[Path, str, Path]:
    """Write the case in the place of the one with its id, and its environment with it; return both files and the id."""
    try:
        case = GoldenTraceBuilder(session, eval_id=given.eval_id, confirmations="beside").build()
        recorded, keeps = recorded_for(session, facts, config.root_agent), not given.drop_edits
        found = replacing(given.out, case, recorded, keep_edits=keeps)
        for dropped in found.dropped(keep_edits=keeps) if found is not None else ():
            progress.say(f"warning: {dropped}")
        for edit in found.edits if found is not None and keeps else ():
            if edit.again is not None:
                progress.say(f"kept: {edit.words} after the case was written (--drop-edits removes it)")
        saved = replace_case(given.out, case, recorded, keep_edits=keeps)
    except GoldenTraceError as error:
        raise Ends(FAILED, f"{error}; nothing was written") from error
    except EvalSetError as error:
        raise Ends(BAD_INPUT, f"--replace: {error}") from error
    return saved.path, case.eval_id, sidecar_of(saved.path)


def _completed(case: EvalCase, waiting: EvalCase) -> str:
    """Check that the case that was played is still the one in its set, and return its id."""
    if not says_the_same(case, waiting):
        words = f"{waiting.eval_id}: the case now plays differently than when it was written, so its environment cannot be recorded"
        raise Ends(FAILED, f"{words}. Delete the case and run again. Nothing was written")
    return waiting.eval_id


def _recorded(  # noqa: PLR0917 - what was played, where it goes, and what to do where it cannot
    session: SimulationSession,
    facts: Sequence[Fact],
    eval_set: Path,
    eval_id: str,
    config: SimulatedAgentConfig,
    again: str,
) -> Path:
    try:
        return record(eval_set, eval_id, session, facts, config.root_agent)
    except (RecordedEnvironmentError, OSError, KeyboardInterrupt) as error:
        raise Ends(NOT_RECORDED, _UNRECORDED.format(str(error) or "interrupted", again)) from error
