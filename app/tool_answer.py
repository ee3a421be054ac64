"""Reads what the inputs of a tool call say as the answer to it, whether they are on the screen or not."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, assert_never

from pydantic import JsonValue

from app.forms import SchemaForm
from app.jsontext import JsonTextError, parse_json, parse_object, write_json
from app.kept import DraftStore, Kept
from simulator.environment.schemas import Problem, check
from simulator.facts import Deferred, Failed, Outcome, Returned
from simulator.jsonvalue import JsonObject, canonical, digest, same
from simulator.seats.answers import AnswerSource, ToolAnswer, raised
from simulator.seats.requests import ToolRequest

Mode: TypeAlias = Literal["Response", "Error", "Exception", "Later"]
Style: TypeAlias = Literal["JSON", "Form", "Text"]

FIRST_CODE = "500"
FIRST_MESSAGE = "Internal error"
FIRST_EXCEPTION = "RuntimeError"


class NotReadyError(ValueError):
    """The inputs give no answer yet; the text says why, in words of ours only."""


class ToolInputs:
    """The inputs in which a tool call is answered; what was typed is kept for each mode and style.

    Args:
        kept: Keeps the inputs.
        request: The call.
    """

    def __init__(self, kept: Kept, request: ToolRequest) -> None:
        self.kept = kept
        self.request = request
        self.form = SchemaForm(
            kept,
            "response",
            request.response_schema or {},
            request.draft,
            None if request.draft is None else write_json(request.draft),
        )

    @property
    def modes(self) -> tuple[Mode, ...]:
        """How this call can be answered."""
        all_tools: tuple[Mode, ...] = ("Response", "Error", "Exception")
        return (*all_tools, "Later") if self.request.is_long_running else all_tools

    @property
    def styles(self) -> tuple[Style, ...]:
        """In which ways a response can be written."""
        return ("JSON", "Form", "Text") if self.request.response_schema else ("JSON", "Text")

    @property
    def mode(self) -> Mode:
        """How the call is answered."""
        chosen = self.kept.value("mode")
        return next((mode for mode in self.modes if mode == chosen), self.modes[0])

    @property
    def style(self) -> Style:
        """How the response is written."""
        chosen = self.kept.value("style")
        return next((style for style in self.styles if style == chosen), self.styles[0])

    def answer(self) -> ToolAnswer:
        """Give the answer.

        Raises:
            NotReadyError: An input says nothing usable.
        """
        outcome = self.outcome()
        return ToolAnswer(outcome=outcome, state_delta=self.state_delta(), source=self._source(outcome))

    def outcome(self) -> Outcome:
        """Give the answer's outcome.

        Raises:
            NotReadyError: As `answer`.
        """
        mode = self.mode
        match mode:
            case "Response":
                return Returned(value=self._value())
            case "Error":
                return self._failed()
            case "Exception":
                return self._raised()
            case "Later":
                return Deferred()
            case _:
                assert_never(mode)

    def state_delta(self) -> JsonObject:
        """Give what the call changes in the session's state.

        Raises:
            NotReadyError: The text is no JSON object.
        """
        try:
            return parse_object(self.kept.value("state_delta", "") or "")
        except JsonTextError as error:
            raise NotReadyError(f"The state changes are not JSON yet. {error}") from error

    def misfits(self) -> tuple[Problem, ...]:
        """Say where the response breaks the tool's schema; nothing where there is no response or no schema."""
        if self.mode != "Response" or self.request.response_schema is None:
            return ()
        try:
            return check(self._value(), self.request.response_schema)
        except NotReadyError:
            return ()

    def is_draft(self) -> bool:
        """Tell whether the answer is the draft as it was offered."""
        try:
            return self.answer().source == "generated"
        except NotReadyError:
            return False

    def switch_style(self) -> None:
        """Carry the response along when another style was chosen; back to JSON where it can't be shown in a form."""
        before, now = self.kept.value("style_before", "JSON"), self.style
        if before == "Form":
            self.form.to_text()
        if now == "Form" and not self.form.to_form():
            self.kept.put("style", "JSON")
            now = "JSON"
        self.kept.put("style_before", now)

    def _value(self) -> JsonValue:
        style = self.style
        if style == "Text":
            return str(self.kept.value("response_text", "") or "")
        if style == "Form":
            result = self.form.result()
            if result.problems:
                raise NotReadyError("The form is not complete. Each field that needs something says what.")
            return result.value
        try:
            return parse_json(self.kept.value("response", self.form.initial_text()) or "")
        except JsonTextError as error:
            raise NotReadyError(f"The response is not JSON yet. {error}") from error

    def _failed(self) -> Failed:
        code = str(self.kept.value("error_code", FIRST_CODE) or "").strip()
        if not code:
            raise NotReadyError("An error needs a code: a number such as 503, or a word.")
        message = str(self.kept.value("error_message", FIRST_MESSAGE) or "")
        is_number = re.fullmatch(r"-?[0-9]{1,9}", code) is not None
        return Failed(error_code=int(code) if is_number else code, error_message=message)

    def _raised(self) -> Outcome:
        name = str(self.kept.value("exception_type", FIRST_EXCEPTION) or "").strip()
        if not re.fullmatch(r"([A-Za-z_][\w.]*:)?[A-Za-z_][\w.]*", name):
            raise NotReadyError("An exception needs its type: a name such as TimeoutError, or module:Name.")
        return raised(name, str(self.kept.value("exception_message", "") or "")).outcome

    def _source(self, outcome: Outcome) -> AnswerSource:
        if not isinstance(outcome, Returned) or self.request.draft is None or self.style == "Text":
            return "written"
        unchanged = same(outcome.value, self.request.draft) and not self.state_delta()
        return "generated" if unchanged else "edited"


def signature_of(session_id: str, request: ToolRequest) -> str:
    """Tell calls apart that come under one key, in another session or after an undo."""
    return digest(session_id, request.tool_name, canonical(request.arguments), canonical(request.draft))


def tool_inputs(drafts: DraftStore, session_id: str, request: ToolRequest) -> ToolInputs:
    """Give the inputs of one call out of the session's drafts."""
    return ToolInputs(Kept(drafts, request.key, signature_of(session_id, request)), request)
