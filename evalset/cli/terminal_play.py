"""Plays a session on the terminal, without the page.

`TerminalAsks` asks a person for what a script has no answer to, and reads what they type: a value, a text, or a command that begins with a colon. `play_scenario` plays a
scenario: ADK's user simulator, or one of your own, speaks for the user.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeVar

from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.eval_set import EvalSet
from pydantic import ValidationError

from evalset.cli.command_frame import write_output
from evalset.cli.terminal_output import BAD_INPUT, FAILED, NO_ANSWER, Ends, ProgressLine
from evalset.errors import ScenarioError
from evalset.files.eval_names import holds_cases, no_case
from evalset.golden_trace.case_script import read_cases
from evalset.golden_trace.scenarios import read_scenarios, scenario_case
from evalset.recorded.recording_files import RecordedEnvironmentError, read_environment, recording_of
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.documents import DocumentError, read_document, read_file
from simulator.base.json_text import read_json
from simulator.base.json_values import JsonObject
from simulator.base.model_settings import server_settings
from simulator.base.validation_words import complaint, validated
from simulator.facts import Fact, ToolPlayer
from simulator.kernel.remote_simulation import opened
from simulator.runtime import Simulation, SimulationError
from simulator.runtime.errors import ContradictionError
from simulator.runtime.models.reachability import default_seats
from simulator.scripts import ScriptError, ScriptStep, Waits, script_of, write_script
from simulator.scripts.script import AgentMove, CodeMove, Place, ScriptTurn, ToolMove
from simulator.scripts.script_text import asked_about, waits_for, waits_for_user
from simulator.seats.answers import CodeAnswer
from simulator.seats.requests import CodeRequest, ModelRequest, Request, ToolRequest
from simulator.session import OpenCall, Seats, SessionState, SimulationSession
from simulator.session.model import ADKS_SIMULATOR, ADKS_SPEAKER, NO_AUDIO

_Move = TypeVar("_Move", ToolMove, AgentMove)

TOOL_HELP = """\
Enter       use the draft
VALUE       the tool's return value, as JSON or YAML on one line
:fail 503 The service is down.
            return an error in ADK's format
:raise TimeoutError: too slow
            raise an exception
:later      respond later (long-running tools)
:real       run the real tool
:quit       stop and write nothing"""

AGENT_HELP = """\
TEXT        the agent's reply
:call TOOL {"name": "value"}
            call a tool; the arguments are JSON or YAML
:transfer AGENT
            transfer to another agent
:model      let the agent's model respond
:quit       stop and write nothing"""

CODE_HELP = """\
TEXT        what the code prints
:quit       stop and write nothing"""

CONFIRM_HELP = """\
yes, no     whether the tool may run
:quit       stop and write nothing"""

REPLY_HELP = """\
VALUE       the result, as JSON or YAML on one line
:quit       stop and write nothing"""


class NotReadError(ValueError):
    """What was typed says nothing that fits; the text says why."""


def tool_move(text: str, tool: str) -> ToolMove:
    """Read the answer to a call of a tool.

    Raises:
        NotReadError: It is none.
    """
    word, rest = _parted(text)
    match word:
        case "":
            line: dict[str, Any] = {"returns": _value(text)} if text else {"draft": True}
        case ":fail":
            code, _, words = rest.partition(" ")
            line = {"fails": {"error_code": int(code) if code.isdecimal() else code, "error_message": words}}
        case ":raise":
            line = {"raises": rest}
        case ":later" | ":real" | ":draft" if not rest:
            line = {word[1:]: True}
        case _:
            raise NotReadError(
                f"{word} is not a command here, or takes no text after it; :help lists the commands"
            )
    return _made(ToolMove, {"tool": tool, **line})


def agent_move(text: str, agent: str) -> AgentMove:
    """Read a turn of an agent.

    Raises:
        NotReadError: It is none.
    """
    word, rest = _parted(text)
    match word:
        case "":
            line: dict[str, Any] = {"text": text}
        case ":call":
            name, _, arguments = rest.partition(" ")
            line = {"calls": [{"name": name, "args": _value(arguments) if arguments.strip() else {}}]}
        case ":transfer":
            line = {"transfer": rest}
        case ":model" if not rest:
            line = {"model": True}
        case _:
            raise NotReadError(
                f"{word} is not a command here, or takes no text after it; :help lists the commands"
            )
    return _made(AgentMove, {"agent": agent, **line})


def code_move(text: str) -> CodeMove:
    r"""Read what code prints; `\n` stands for a line break.

    Raises:
        NotReadError: It is a command.
    """
    if _parted(text)[0]:
        raise NotReadError(f"{_parted(text)[0]} is not a command here; :help lists the commands")
    return CodeMove(prints=text.replace("\\n", "\n"))


def confirmed(text: str) -> bool:
    """Read whether a tool may run.

    Raises:
        NotReadError: It is neither yes nor no.
    """
    known = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
    if text.casefold() not in known:
        raise NotReadError("type yes or no")
    return known[text.casefold()]


def reply(text: str) -> Any:
    """Read the answer to a call that was left open.

    Raises:
        NotReadError: It is none.
    """
    if not text or _parted(text)[0]:
        raise NotReadError("type the result, as JSON or YAML")
    return _value(text)


def _parted(text: str) -> tuple[str, str]:
    if not text.startswith(":"):
        return "", text
    word, _, rest = text.partition(" ")
    return word, rest.strip()


def _value(text: str) -> Any:
    try:
        return read_document(text)
    except DocumentError as error:
        raise NotReadError(str(error)) from error


def _made(kind: type[_Move], line: dict[str, Any]) -> _Move:
    try:
        return kind.model_validate(line)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        told = (f"{'.'.join(map(str, each['loc']))}: {complaint(each, ())}" for each in details)
        raise NotReadError("; ".join(text.removeprefix(": ") for text in told)) from error


_LONGEST = 4_000


class TerminalAsks:
    """Asks for one thing after the other; what does not fit is said, and asked again.

    Args:
        simulation: The session that the script plays in.
        typed: Where a person types.
        progress: Where it is shown.
        where: Names a place in the script for a person.
    """

    def __init__(
        self, simulation: Simulation, typed: TextIO, progress: ProgressLine, where: Callable[[Place], str]
    ) -> None:
        self._simulation, self._typed, self._progress, self._where = simulation, typed, progress, where
        self._refused: str | None = None

    def __call__(self, waits: tuple[Waits, ...]) -> bool:
        """Ask for the first thing that waits; False where the person does not want to go on."""
        say, simulation = self._progress.say, self._simulation
        say(f"\nThe script has no answer here ({self._where(waits[0].place)}).")
        if pending := simulation.pending:
            return self._asked(pending[0])
        call = next(call for call in simulation.session.open_calls if not call.answered)
        return self._asked_user(call)

    def _asked(self, request: Request) -> bool:
        match request:
            case ToolRequest():
                self._show(f"{request.agent} calls {request.tool_name}:", request.arguments)
                if request.failure:
                    self._progress.say(request.failure)
                self._show("Draft:", request.draft)
                if also := request.draft_effects.written:
                    self._show("With the draft, the call also sets:", also)
                return self._until_it_fits(
                    "Press Enter to use the draft, or type the return value (:help)",
                    TOOL_HELP,
                    lambda text: self._give(request, tool_move(text, request.tool_name), text),
                )
            case ModelRequest():
                names = ", ".join(tool.name for tool in request.tools) or "none"
                self._progress.say(f"{request.agent} responds next. Its tools: {names}")
                return self._until_it_fits(
                    "Type the agent's reply (:help)",
                    AGENT_HELP,
                    lambda text: self._give(request, agent_move(text, request.agent), text),
                )
            case CodeRequest():
                self._progress.say(f"{request.agent} runs code:\n{_indented(request.code)}")
                return self._until_it_fits(
                    "Type what the code prints (:help)",
                    CODE_HELP,
                    lambda text: self._give(request, code_move(text), text),
                )

    def _asked_user(self, call: OpenCall) -> bool:
        self._show(f"The user is asked about {asked_about(call)}:", call.arguments)
        simulation = self._simulation
        if call.is_confirmation:
            return self._until_it_fits(
                "Allow this call? yes or no (:help)",
                CONFIRM_HELP,
                lambda text: simulation.confirm(call.call_id, confirmed(text), wait=0.0),
            )
        return self._until_it_fits(
            "Type the result (:help)",
            REPLY_HELP,
            lambda text: simulation.reply(call.call_id, reply(text), wait=0.0),
        )

    def _until_it_fits(self, words: str, help_: str, work: Callable[[str], Any]) -> bool:
        while True:
            self._progress.ask(f"{words} > ")
            line = self._typed.readline()
            text = line.strip()
            if not line or text == ":quit":
                return False
            if text == ":help":
                self._progress.say(help_)
                continue
            try:
                work(text)
            except ContradictionError as error:
                self._progress.say(f"{error}\nType the same again to send it anyway.")
                self._refused = text
            except (NotReadError, SimulationError) as error:
                self._progress.say(str(error))
            else:
                self._refused = None
                return True

    def _give(self, request: Request, move: ToolMove | AgentMove | CodeMove, text: str) -> None:
        give = partial(self._simulation.answer, request, wait=0.0)
        match move:
            case CodeMove():
                give(CodeAnswer(stdout=move.prints))
            case ToolMove(draft=True) if isinstance(request, ToolRequest):
                give(request.draft)
            case ToolMove(real=True) | AgentMove(model=True):
                self._simulation.run_real(request, wait=0.0)
            case ToolMove():
                insists = text == self._refused
                answer = move.answer()
                if answer is not None:
                    give(answer.model_copy(update={"despite_contradictions": insists}))
            case AgentMove():
                give(move.answer())

    def _show(self, words: str, value: Any) -> None:
        written = json.dumps(value, indent=2, ensure_ascii=False)
        shown = (
            written if len(written) <= _LONGEST else f"{written[:_LONGEST]}\n... {len(written):,} characters"
        )
        self._progress.say(f"{words}\n{_indented(shown)}")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


_OVER = frozenset({"stop_signal_detected", "turn_limit_reached", "no_message_generated"})
_SIMULATOR = "user_simulator_config"
_WHERE = "the scenario"


class PlayedScenario(NamedTuple):
    """A scenario that was played to its end."""

    session: SimulationSession
    facts: tuple[Fact, ...]
    problems: tuple[str, ...]


class _Chosen(NamedTuple):
    """A scenario, and what the session's state holds at first."""

    scenario: JsonObject
    state: JsonObject


def play_scenario(
    given: argparse.Namespace, config: SimulatedAgentConfig, progress: ProgressLine
) -> PlayedScenario:
    """Play the scenario that the arguments name, to the end of its conversation.

    Raises:
        Ends: It cannot be read, somebody has to answer who is not there, or the agent or the simulator failed.
    """
    chosen = _chosen(given.scenario, given.case, config)
    user = _user_config(given)
    tools: ToolPlayer = "offline" if given.otherwise == "generate" else "person"
    seats = Seats(agents=default_seats(config).agents, tools={"*": tools})
    try:
        with opened(config, seats=seats, initial_state=chosen.state) as simulation:
            simulation.set_user("scenario", scenario=chosen.scenario, config=user, hold=False)
            asks = _asks(given, simulation, progress)
            _to_its_end(simulation, asks, progress)
            if given.record is not None:
                write_output("--record", given.record, write_script(script_of(simulation)).encode(), "script")
            view = simulation.view()
            facts = tuple(fact for _, fact in simulation.journal.path())
            return PlayedScenario(view.session, facts, view.problems)
    except ScriptError as error:
        raise Ends(FAILED, f"--record: {error}") from error
    except SimulationError as error:
        raise Ends(BAD_INPUT, f"{given.scenario}: {error}") from error


def _asks(given: argparse.Namespace, simulation: Simulation, progress: ProgressLine) -> TerminalAsks | None:
    if given.otherwise == "fail" or not given.typed.isatty():
        return None
    return TerminalAsks(simulation, given.typed, progress, lambda _: _WHERE)


def _to_its_end(simulation: Simulation, asks: TerminalAsks | None, progress: ProgressLine) -> None:
    """Answer what waits until the conversation is over.

    Raises:
        Ends: Nobody answers, or something failed.
    """
    told = 0
    while True:
        simulation.wait()
        session, user = simulation.session, simulation.view().user
        for turn in session.turns[told:]:
            progress.step(ScriptStep(turn=turn.number + 1, turns=len(session.turns), words="user message"))
        told = len(session.turns)
        if waits := _waits(simulation):
            if asks is None or not asks(waits):
                raise Ends(NO_ANSWER, _nobody(waits[0]))
            continue
        last = session.turns[-1] if session.turns else None
        if last is not None and last.error is not None:
            words = f"{last.error.short_type}: {last.error.message}"
            raise Ends(FAILED, f"turn {last.number + 1} failed: {words}; nothing was written")
        status = user.seat.proposed.status if user.seat.proposed else ""
        if status not in _OVER:
            raise Ends(
                FAILED,
                f"the user simulator gave no next message: {user.words or status}; nothing was written",
            )
        if session.state is not SessionState.COMPLETED:
            raise Ends(FAILED, "the agent gave no final response; nothing was written")
        return


def _waits(simulation: Simulation) -> tuple[Waits, ...]:
    turns = simulation.session.turns
    if pending := simulation.pending:
        return tuple(waits_for(request, len(turns) - 1) for request in pending)
    open_calls = [call for call in simulation.session.open_calls if not call.answered]
    return tuple(waits_for_user(call, len(turns)) for call in open_calls)


def _nobody(wait: Waits) -> str:
    return (
        f"no answer for: {wait.words}. Nothing was written. Use --otherwise generate to answer tools with drafts, or run it in "
        "a terminal to be asked."
    )


def _chosen(path: Path, case: str, config: SimulatedAgentConfig) -> _Chosen:
    try:
        text = read_file(path).decode("utf-8-sig")
        found = _of_eval_set(text) if holds_cases(text) else _of_scenarios(text, config)
    except OSError as error:
        raise Ends(BAD_INPUT, f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Ends(BAD_INPUT, f"{path}: not UTF-8 text: byte {error.start} cannot be read") from error
    except ScenarioError as error:
        raise Ends(BAD_INPUT, f"{path}: {error}") from error
    if not found:
        raise Ends(
            BAD_INPUT,
            f"{path}: no case of this eval set has a conversation scenario; use --script to play it",
        )
    numbered = list(found.values())
    if case in found:
        return found[case]
    if case.isdecimal() and 1 <= int(case) <= len(numbered):
        return numbered[int(case) - 1]
    if case:
        raise Ends(BAD_INPUT, no_case(path, case, found))
    if len(found) != 1:
        raise Ends(BAD_INPUT, f"{path}: choose the case to play with --case; it has {', '.join(found)}")
    return numbered[0]


def _of_eval_set(text: str) -> dict[str, _Chosen]:
    """Return the scenario cases of an eval set, by their eval ids."""
    return {
        eval_id: _Chosen(
            case.conversation_scenario.model_dump(mode="json", exclude_none=True),
            dict(case.session_input.state) if case.session_input else {},
        )
        for eval_id, case in read_cases(text).items()
        if case.conversation_scenario is not None
    }


def _of_scenarios(text: str, config: SimulatedAgentConfig) -> dict[str, _Chosen]:
    """Return the scenarios of a file, by the ids that ADK's `add_eval_case` gives them."""
    return {
        scenario_case(each, app_name=config.app_name, user_id="user", at=0.0).eval_id: _Chosen(each, {})
        for each in read_scenarios(text)
    }


def _user_config(given: argparse.Namespace) -> JsonObject:
    """Return the simulator's configuration: that of an `EvalConfig`, or the file as a whole; a simulator of one's own by its path."""
    config: JsonObject = {}
    if given.config is not None:
        try:
            document: Any = read_json(read_file(given.config, "settings").decode("utf-8-sig"), constants=True)
        except OSError as error:
            raise Ends(BAD_INPUT, f"{given.config}: cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise Ends(BAD_INPUT, f"{given.config}: not valid JSON: {error}") from error
        if not isinstance(document, dict):
            raise Ends(BAD_INPUT, f"{given.config}: not a JSON object")
        inside = document.get(_SIMULATOR, document.get("userSimulatorConfig"))
        is_eval_config = inside is not None or "criteria" in document
        config = (inside or {}) if is_eval_config else document
        _check_config(given.config, config)
    if given.user_simulator:
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.append(here)
        config = {**config, "type": given.user_simulator}
    return config


def _check_config(path: Path, config: JsonObject) -> None:
    """Refuse what a file does not decide: where the model's key goes, and which code is imported."""
    refused = [str(each) for each in server_settings(config)]
    if config.get("type") == ADKS_SPEAKER:
        refused.append(f"type: {NO_AUDIO}")
    elif config.get("type", ADKS_SIMULATOR) not in {None, ADKS_SIMULATOR}:
        refused.append("type names a user simulator. Name it with --user-simulator")
    if refused:
        raise Ends(BAD_INPUT, "\n".join(f"{path}: {each}" for each in refused))


# Finds the case that an earlier run has written and whose environment it could not write, so that another run completes it.
#
# The same script may play otherwise each time, as what nobody wrote is drawn anew. So it is the case itself that is played then;
# but where the user confirmed something, or typed what was asked for, only the script holds it, and is played again.


_OF_ONE_RUN = frozenset({"invocation_id", "creation_timestamp"})
_OF_CALLS = ({"name", "args"}, {"name", "response"})


def unrecorded_cases(eval_set: Path) -> tuple[EvalCase, ...]:
    """Return the cases of an eval set beside which nothing is recorded that can be read."""
    try:
        cases = validated(EvalSet, read_json(read_file(eval_set).decode())).eval_cases
    except (OSError, ValueError):  # there is none yet; or the writer says what is wrong with it
        return ()
    try:
        recorded = read_environment(recording_of(eval_set)).cases
    except (OSError, RecordedEnvironmentError):
        recorded = {}
    return tuple(case for case in cases if case.eval_id not in recorded)


def said_in(turns: Sequence[ScriptTurn]) -> list[str]:
    """Return what the user says in a script, turn by turn; what a turn answers is a part of the turn before it."""
    return [_text(turn.say) for turn in turns if turn.say is not None]


def waiting_case(waiting: Sequence[EvalCase], said: Sequence[str], eval_id: str | None) -> EvalCase | None:
    """Return the case in which the user says this, the newest first; the one with this id alone, where one is given."""
    for case in reversed(waiting):
        if eval_id in {None, case.eval_id} and said and _said(case) == list(said):
            return case
    return None


def says_the_same(case: EvalCase, other: EvalCase) -> bool:
    """Return whether two cases hold the same but for their ids and times."""
    return bool(_lasting(case) == _lasting(other))


def _said(case: EvalCase) -> list[str]:
    """Return what the user says in a case, turn by turn."""
    parts = [invocation.user_content.parts or () for invocation in case.conversation or ()]
    return ["".join(part.text or "" for part in turn) for turn in parts]


def _text(said: str | JsonObject | None) -> str:
    """Return the text of what a script's user says: as it is, or that of a `Content` in JSON."""
    if not isinstance(said, dict):
        return said or ""
    parts: Any = said.get("parts") or ()
    return "".join(str(part.get("text") or "") for part in parts if isinstance(part, dict))


def _lasting(case: EvalCase) -> Any:
    """Return what two runs of one script have in common: all of a case but its id, times, and the ids of invocations and calls."""
    return _without_ids(case.model_dump(mode="json", exclude_none=True, exclude={"eval_id"}))


def _without_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    is_call = any(names <= value.keys() for names in _OF_CALLS)
    left_out = _OF_ONE_RUN | {"id"} if is_call else _OF_ONE_RUN
    return {name: _without_ids(each) for name, each in value.items() if name not in left_out}
