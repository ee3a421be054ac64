"""Asks a person on the terminal for what a script has no answer to."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, TextIO

from evalset.cli import typed_answers
from evalset.cli.terminal_output import ProgressLine
from evalset.cli.typed_answers import NotReadError
from simulator.runtime import Simulation, SimulationError
from simulator.runtime.errors import ContradictionError
from simulator.scripts import Waits
from simulator.scripts.script import Place
from simulator.scripts.script_lines import AgentMove, CodeMove, ToolMove
from simulator.scripts.script_text import asked_about
from simulator.seats.answers import CodeAnswer
from simulator.seats.requests import CodeRequest, ModelRequest, Request, ToolRequest
from simulator.session import OpenCall

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
                    typed_answers.TOOL_HELP,
                    lambda text: self._give(request, typed_answers.tool_move(text, request.tool_name), text),
                )
            case ModelRequest():
                names = ", ".join(tool.name for tool in request.tools) or "none"
                self._progress.say(f"{request.agent} responds next. Its tools: {names}")
                return self._until_it_fits(
                    "Type the agent's reply (:help)",
                    typed_answers.AGENT_HELP,
                    lambda text: self._give(request, typed_answers.agent_move(text, request.agent), text),
                )
            case CodeRequest():
                self._progress.say(f"{request.agent} runs code:\n{_indented(request.code)}")
                return self._until_it_fits(
                    "Type what the code prints (:help)",
                    typed_answers.CODE_HELP,
                    lambda text: self._give(request, typed_answers.code_move(text), text),
                )

    def _asked_user(self, call: OpenCall) -> bool:
        self._show(f"The user is asked about {asked_about(call)}:", call.arguments)
        simulation = self._simulation
        if call.is_confirmation:
            return self._until_it_fits(
                "Allow this call? yes or no (:help)",
                typed_answers.CONFIRM_HELP,
                lambda text: simulation.confirm(call.call_id, typed_answers.confirmed(text), wait=0.0),
            )
        return self._until_it_fits(
            "Type the result (:help)",
            typed_answers.REPLY_HELP,
            lambda text: simulation.reply(call.call_id, typed_answers.reply(text), wait=0.0),
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
