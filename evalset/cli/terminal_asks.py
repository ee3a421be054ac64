"""Asks a person on the terminal for what a script has no answer to, and reads what they type: a value, a text, or a command that begins with a colon."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, TextIO, TypeVar

from pydantic import ValidationError

from evalset.cli.terminal_output import ProgressLine
from simulator.base.documents import DocumentError, read_document
from simulator.base.validation_words import complaint
from simulator.runtime import Simulation, SimulationError
from simulator.runtime.errors import ContradictionError
from simulator.scripts import Waits
from simulator.scripts.script import AgentMove, CodeMove, Place, ToolMove
from simulator.scripts.script_text import asked_about
from simulator.seats.answers import CodeAnswer
from simulator.seats.requests import CodeRequest, ModelRequest, Request, ToolRequest
from simulator.session import OpenCall

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
