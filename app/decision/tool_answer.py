"""Reads what the inputs of a tool call say as the answer to it, whether they are on the screen or not."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, assert_never

from pydantic import JsonValue

from app.decision.decision_context import NOTHING_AROUND, Surroundings
from app.decision.golden_candidate import golden_candidate
from app.decision.set_candidate import set_candidate
from app.forms.described_fields import described, without_null
from app.forms.form_reading import Path, incomplete
from app.forms.schema_form_widgets import UNREAD_FIELD, SchemaForm, path_of
from app.forms.typed_json import TypedJsonError, parse_json, parse_object, write_json
from app.forms.value_shapes import Way, filled, objects_in, with_field, without_field
from app.forms.widget_store import DraftStore, KeptInputs, inputs_of_request, slug
from app.server.browser_choices import keep_choice, kept_choice
from app.session.provenance_labels import CANDIDATE
from simulator.base.json_values import JsonObject, canonical, digest, same
from simulator.environment.conventions import is_error
from simulator.environment.drafts.candidates import Candidate
from simulator.environment.drafts.draft import Blank, is_guess, still_blank, unsure_of
from simulator.environment.drafts.schema_instances import error_places
from simulator.environment.injection.rule_effects import builtin_error
from simulator.environment.recordings import NO_EFFECTS, ToolEffects
from simulator.environment.schema.schema_checks import Problem, check
from simulator.environment.schema.schema_fields import inferred_schema
from simulator.facts import Deferred, Failed, Outcome, Raised, Returned
from simulator.scripts.script_lines import BY_SCRIPT
from simulator.seats.answers import AnswerSource, ToolAnswer, raised
from simulator.seats.requests import ToolRequest

Mode: TypeAlias = Literal["Response", "Error", "Exception", "Later"]
Style: TypeAlias = Literal["Both", "JSON", "Form", "Text"]

ARE_RIGHT = "are_right"
"""The name of the input with which a person vouches for the values that a draft has no source for."""

CHOSEN = "chosen"
"""The name of the input that has the label of the candidate that was chosen last."""

FIRST_CODE = "500"
FIRST_MESSAGE = "Internal error"
FIRST_EXCEPTION = "RuntimeError"
_RAISED = re.compile(r"^[ \t]+(\w*(?:Error|Exception)):", re.MULTILINE)
_ADK_ERROR = ("error_code", "error_message")


class NotReadyError(ValueError):
    """The inputs give no answer yet; the text says why; names in it may come from outside."""


class ToolInputs:
    """The inputs in which a tool call is answered; what was typed is kept for each mode and style.

    The response is one text, which a form beside it shows and changes. Until somebody changes it, it is the draft.

    Args:
        kept: Keeps the inputs.
        request: The call.
        usual: Keeps how a response was written last, for the next call.
        golden: What the golden responds that the session began with; None where it has no response of this tool.
        case: What a case of the session's eval set has recorded for such a call; None where none has.
        first: How a response was written last in this browser, for a session in which none was written yet.
    """

    def __init__(
        self,
        kept: KeptInputs,
        request: ToolRequest,
        usual: KeptInputs,
        golden: Candidate | None = None,
        *,
        case: Candidate | None = None,
        first: str = "",
    ) -> None:
        self.kept = kept
        self.golden = golden
        self._case = case
        self._usual, self._first = usual, first
        self.request = request
        self._make_form()

    def _make_form(self) -> None:
        draft, shaped_by = self.request.draft, self.kept.value("shaped_by")
        text = None if draft is None and self.request.response_schema else write_json(draft)
        self._shape = _shape_of(self.request, draft if shaped_by is None else shaped_by)
        self.form = SchemaForm(self.kept, "response", self._shape or {}, draft, text)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The candidates; what the golden responds comes first, or what a case has recorded second, and no other is the same."""
        golden, others = self.golden, self.request.candidates
        if golden is None:
            is_new = self._case and not any(same(one.value, self._case.value) for one in others)
            return (*others[:1], self._case, *others[1:]) if self._case and is_new else others
        return (golden, *(one for one in others if golden.value is None or not same(one.value, golden.value)))

    @property
    def modes(self) -> tuple[Mode, ...]:
        """How this call can be answered."""
        all_tools: tuple[Mode, ...] = ("Response", "Error", "Exception")
        return (*all_tools, "Later") if self.request.is_long_running else all_tools

    @property
    def has_form(self) -> bool:
        """Whether enough is known of the answer's shape to make a form of it."""
        return self._shape is not None

    @property
    def objects(self) -> dict[Way, tuple[str, ...]]:
        """The objects of the response whose fields can be added and removed, as `objects_in` returns them; none where a schema decides."""
        if self.request.response_schema or not (self.has_form and self.form.shows_text):
            return {}
        return objects_in(self._fields())

    def _fields(self) -> JsonValue:
        """Return what the text says; nothing at all is an object without fields."""
        value = parse_json(self.text)
        return {} if value is None else value

    def add_field(self, way: Way, name: str, first: JsonValue) -> bool:
        """Add a field to an object of the response, in a callback; return False where an input says nothing usable, which is marked first."""
        if can := self._can_reshape(None):
            self._reshape(with_field(self._fields(), way, name, first))
        return can

    def remove_field(self, way: Way) -> None:
        """Remove a field from the response, in a callback; an input elsewhere that says nothing usable is marked first."""
        if self._can_reshape(way):
            self._reshape(without_field(parse_json(self.text), way))

    def _can_reshape(self, but: Way | None) -> bool:
        """Carry what was typed last; return whether text and form can be read, what is at the way `but` aside."""
        try:
            parse_json(self.text)
        except TypedJsonError:  # said above the editor
            return False
        self.form.sync()
        is_filled = self.form.is_filled(but)
        self.kept.put("fields_tried", not is_filled)
        return is_filled

    def _reshape(self, value: JsonValue) -> None:
        """Show a value with other fields, in the text and in a form that is made for it."""
        self.kept.put("shaped_by", value)
        self.kept.put("response", write_json(value))
        self.form.begin(write_json(value))

    @property
    def styles(self) -> tuple[Style, ...]:
        """In which ways a response can be written."""
        return ("Both", "JSON", "Form", "Text") if self.has_form else ("JSON", "Text")

    @property
    def mode(self) -> Mode:
        """How the call is answered."""
        chosen = self.kept.value("mode") or ("Exception" if self.expected_exception else None)
        return next((mode for mode in self.modes if mode == chosen), self.modes[0])

    @property
    def expected_exception(self) -> Candidate | None:
        """The exception that the tool's code raises for these arguments, and that the draft tells of; None where it is none."""
        first = next(iter(self.request.candidates), None)
        is_draft = first is not None and first.kind == "exception" and same(first.value, self.request.draft)
        return first if is_draft else None

    @property
    def exception(self) -> tuple[str, str]:
        """The type and the message of the exception in the inputs: until somebody changes them those that the code raises."""
        expected, value = self.expected_exception, self.kept.value
        kind, words = (
            (str(expected.error_code), expected.error_message) if expected else (FIRST_EXCEPTION, "")
        )
        return str(value("exception_type", kind) or ""), str(value("exception_message", words) or "")

    @property
    def own_exceptions(self) -> tuple[str, ...]:
        """The types of the exceptions that the tool's code raises, and then the builtin ones that its description names."""
        by_code = (str(one.error_code) for one in self.candidates if one.kind == "exception")
        _, _, told = self.request.description.partition("Raises:")
        named = (one for one in _RAISED.findall(told) if builtin_error(one, ""))
        return tuple(dict.fromkeys((*by_code, *named)))

    @property
    def style(self) -> Style:
        """How the response is written."""
        chosen = self.kept.value("style") or self._usual.value("style") or self._first
        return next((style for style in self.styles if style == chosen), self.styles[0])

    # ------------------------------------------------------------ the draft and the text

    @property
    def draft_text(self) -> str:
        """The draft as it is offered now."""
        return self.form.initial_text()

    @property
    def text(self) -> str:
        """The response as text: the draft as it is now, where nobody changed it."""
        held = self.kept.value("response")
        is_untouched = held is None or held == self.kept.value("offered")
        return self.draft_text if is_untouched else str(held)

    @property
    def newer_draft(self) -> bool:
        """Whether the draft has become another one since somebody began to change it."""
        return bool(self.kept.value("offered", self.draft_text) != self.draft_text)

    def begin(self) -> str | None:
        """Bring the inputs up to date; call it once, before they are drawn.

        An untouched editor follows the draft; text and form say the same then.

        Returns:
            A text that was no JSON and that the form took the place of; None where there was none.
        """
        chosen = self.kept.value("style")
        usual = self._usual.value("style") or self._first or self.styles[0]
        if chosen in self.styles and chosen not in {"Text", usual}:
            self._usual.put("style", chosen)
            keep_choice("response_styles", chosen)
        now, held, offered = self.draft_text, self.kept.value("response"), self.kept.value("offered")
        if held in {None, now, offered}:
            if offered != now:
                self.kept.put("offered", now)
            if held not in {None, now}:
                self.kept.put("response", now)
        self._grow()
        return self.form.sync() if self.has_form and self.mode == "Response" else None

    def _grow(self) -> None:
        """Make a form for the first value that is typed where there was none, or no field."""
        known = self.kept.value("shaped_by", self.request.draft)
        if known or self.request.response_schema or not (self.has_form and _is_object(self.text)):
            return
        self.kept.put("shaped_by", parse_json(self.text))
        self._make_form()
        self.form.begin(self.text)

    # ------------------------------------------------------------ the answer

    def answer(self, *, despite_contradictions: bool = False) -> ToolAnswer:
        """Return the answer.

        Raises:
            NotReadyError: An input says nothing usable.
        """
        outcome = self.outcome()
        offer = self._offer(outcome)
        proposed = self._proposed(outcome, offer)
        effects = self._effects(proposed)
        source, notes, by = self._source(outcome, offer, is_changed=effects != proposed)
        return ToolAnswer(
            outcome=outcome,
            state_delta=effects.state_delta,
            actions=effects.actions,
            source=source,
            notes=notes,
            by=by,
            **(unsure_of(offer.blanks, offer.value, offer.value).written if offer is not None and by else {}),
            despite_contradictions=despite_contradictions,
            is_sure=bool(self.kept.value(ARE_RIGHT, initial=False))
            or (source == "generated" and self._is_of_case),
        )

    def outcome(self) -> Outcome:
        """Return the answer's outcome.

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

    def proposed(self) -> ToolEffects:
        """Return what the tool's code does besides, where it gives what the inputs hold: the draft, also as somebody changed it, or a candidate."""
        try:
            outcome = self.outcome()
        except NotReadyError:
            return self.request.draft_effects if self.mode == "Response" else NO_EFFECTS
        return self._proposed(outcome, self._offer(outcome))

    @property
    def proposed_from(self) -> str:
        """In words where it comes from what is proposed besides the response."""
        offer = self.offer()
        if offer is self.golden and offer is not None and self.proposed() is offer.effects:
            return "From the golden" + (f": {offer.title.lower()}" if offer.label != "golden" else "")
        first = next(iter(self.request.candidates), None) if offer is None else offer
        is_of_draft = first is not None and not first.by_code and self.request.draft_by == "offline"
        return "From the draft" if is_of_draft else "From the tool's code"

    def _proposed(self, outcome: Outcome, offer: Candidate | None) -> ToolEffects:
        if offer is not None and (self._is_golden(offer) if self._is_draft(outcome) else self._does(offer)):
            return offer.effects
        is_like_draft = _reports_error(seen_of(outcome)) is _reports_error(self.request.draft)
        return self.request.draft_effects if is_like_draft and self.mode == "Response" else NO_EFFECTS

    def _does(self, offer: Candidate) -> bool:
        """Return whether a candidate tells what is done besides: a golden without a recording does not."""
        return offer is not self.golden or bool(offer.effects.written)

    def _is_golden(self, offer: Candidate) -> bool:
        """Return whether an answer as the draft does what the golden did: it was recorded for this call, and the code does nothing else, or it was chosen."""
        if offer is not self.golden or offer.label != "golden" or not offer.effects.written:
            return False
        then, now = offer.effects, self.request.draft_effects
        is_as_now = same({**then.state_delta, **now.state_delta}, then.state_delta) and same(
            {**then.actions, **now.actions}, then.actions
        )
        return is_as_now or self.kept.value(CHOSEN) == offer.label

    def effects(self) -> ToolEffects:
        """Return what the call does besides: what is proposed and not left out, and what was typed.

        Raises:
            NotReadyError: A text is not valid JSON.
        """
        return self._effects(self.proposed())

    def _effects(self, proposed: ToolEffects) -> ToolEffects:
        state: JsonObject = {
            name: self._state_value(name, value)
            for name, value in proposed.state_delta.items()
            if self.keeps(name)
        }
        actions = {
            name: value for name, value in proposed.actions.items() if self.keeps(name, is_action=True)
        }
        return ToolEffects(state_delta={**state, **self.state_delta()}, actions=actions)

    def keeps(self, name: str, *, is_action: bool = False) -> bool:
        """Return whether an effect that is proposed is not left out."""
        return bool(self.kept.value(kept_name(name, is_action=is_action), initial=True))

    def _state_value(self, name: str, proposed: JsonValue) -> JsonValue:
        text = self.kept.value(value_name(name, proposed))
        try:
            return proposed if text is None else parse_json(str(text))
        except TypedJsonError as error:
            raise NotReadyError(f"The value of {name!r} in the state is not valid JSON. {error}") from error

    def state_delta(self) -> JsonObject:
        """Return what was typed of the session's state that the call changes.

        Raises:
            NotReadyError: The text is no JSON object.
        """
        try:
            return parse_object(self.kept.value("state_delta", "") or "")
        except TypedJsonError as error:
            raise NotReadyError(f"The state changes are not valid JSON. {error}") from error

    def misfits(self) -> tuple[Problem, ...]:
        """Say where the response breaks the tool's schema; nothing where there is no response or no schema."""
        if self.mode != "Response" or self.request.response_schema is None:
            return ()
        try:
            return check(self._value(), self.request.response_schema)
        except NotReadyError:
            return ()

    @property
    def doubtful(self) -> tuple[Blank, ...]:
        """The values that are uncertain; none once a person vouches for them."""
        return () if self.kept.value(ARE_RIGHT, initial=False) else self.uncertain

    @property
    def uncertain(self) -> tuple[Blank, ...]:
        """The blanks and uncertain values of the draft that the answer still has as they were."""
        blanks = self.request.draft_blanks
        if not blanks:
            return ()
        missing: set[Path] = set()
        try:
            given = seen_of(self.outcome())
        except NotReadyError:  # what the form's other fields say is known
            reading = self.form.reading()
            given = reading.value
            missing = {problem.path for problem in reading.problems if problem.is_missing}
        left = still_blank([blank.path for blank in blanks], self.request.draft, given)
        return tuple(blank for blank in blanks if blank.path in left or path_of(blank.path) in missing)

    @property
    def _is_of_case(self) -> bool:
        """Whether the draft is what a case has recorded for this very call: the blanks of another draft are not its."""
        return self._case is not None and self.request.candidates[:1] == (self._case,)

    def is_draft(self) -> bool:
        """Return whether the answer is the draft as it was offered."""
        try:
            outcome = self.outcome()
            proposed = self._proposed(outcome, self._offer(outcome))
            return self._is_draft(outcome) and self._effects(proposed) == proposed
        except NotReadyError:
            return False

    def offer(self) -> Candidate | None:
        """Return the candidate that the inputs hold as it was offered; None where they hold another one."""
        try:
            return self._offer(self.outcome())
        except NotReadyError:
            return None

    def _offer(self, outcome: Outcome) -> Candidate | None:
        return next((one for one in self.candidates if _is_as_offered(one, outcome)), None)

    def _value(self) -> JsonValue:
        style = self.style
        if style == "Text":
            return str(self.kept.value("response_text", "") or "")
        is_form = self.has_form and (style == "Form" or self.form.is_last)
        if is_form and self.form.shows_text and (problems := self.form.result().problems):
            raise NotReadyError(UNREAD_FIELD if style == "JSON" else incomplete("The form", problems))
        try:
            return parse_json(self.text)
        except TypedJsonError as error:
            raise NotReadyError(f"The response is not valid JSON. {error}") from error

    def _failed(self) -> Outcome:
        code = str(self.kept.value("error_code", FIRST_CODE) or "").strip()
        if not code:
            raise NotReadyError("An error needs a code: a number such as 503, or a word.")
        message = str(self.kept.value("error_message", FIRST_MESSAGE) or "")
        is_number = re.fullmatch(r"-?[0-9]{1,9}", code) is not None
        said: int | str = int(code) if is_number else code
        shape = self.error_shape
        if shape is None or not self.kept.value("error_own", initial=True):
            return Failed(error_code=said, error_message=message)
        if set(_ADK_ERROR) <= shape.keys():
            details = {name: value for name, value in shape.items() if name not in _ADK_ERROR}
            return Failed(error_code=said, error_message=message, details=details)
        places = zip(error_places(shape), (said, message), strict=True)
        return Returned(value={**shape, **{name: value for name, value in places if name}})

    @property
    def error_shape(self) -> JsonObject | None:
        """The error of the tool's own that was chosen among the candidates, or None."""
        shape = self.kept.value("error_shape")
        return shape if isinstance(shape, dict) and shape.keys() != set(_ADK_ERROR) else None

    def _raised(self) -> Outcome:
        name, message = self.exception
        name = name.strip()
        if not re.fullmatch(r"([A-Za-z_][\w.]*:)?[A-Za-z_][\w.]*", name):
            raise NotReadyError("An exception needs a type: a name such as TimeoutError, or module:Name.")
        return raised(name, message).outcome

    # ------------------------------------------------------------ where it comes from

    def _is_draft(self, outcome: Outcome) -> bool:
        if (expected := self.expected_exception) and isinstance(outcome, Raised):
            return _is_as_offered(expected, outcome)
        if not isinstance(outcome, Returned) or self.mode != "Response" or self.style == "Text":
            return False
        return self.request.draft is not None and same(outcome.value, self.request.draft)

    def _source(
        self, outcome: Outcome, offer: Candidate | None, *, is_changed: bool
    ) -> tuple[AnswerSource, tuple[str, ...], str | None]:
        """Return how the answer was authored, what it was made of where it was generated, and who gives it where that is the golden."""
        is_draft = self._is_draft(outcome)
        if is_changed and (is_draft or offer is not None):
            return "edited", (), None
        is_golden = offer is not None and offer.label == "golden"
        if (
            offer is not None
            and is_golden
            and (not is_draft or self._is_golden(offer) or not self._does(offer))
        ):
            return "written", (), BY_SCRIPT  # as if its script had played this line
        if is_draft:
            return "generated", self.request.draft_from, None
        if offer is not None:
            return "generated", (f"{CANDIDATE}{offer.title}: {offer.why}",), None
        is_edited = self.mode == "Response" and self.style != "Text" and self.request.draft is not None
        return ("edited" if is_edited else "written"), (), None


def kept_name(name: str, *, is_action: bool = False) -> str:
    """Return the name of the input that leaves out an effect."""
    return f"effect_{'action' if is_action else 'state'}_{slug(name)}"


def value_name(name: str, proposed: JsonValue) -> str:
    """Return the name of the input for a value of the state: another proposal begins anew."""
    return f"effect_value_{slug(name)}_{digest(canonical(proposed))[:6]}"


def _reports_error(value: JsonValue) -> bool:
    return isinstance(value, dict) and is_error(value)


def seen_of(outcome: Outcome) -> JsonValue:
    """Return what the agent sees of an answer that is data."""
    match outcome:
        case Returned(value=value):
            return value
        case Failed():
            return outcome.response()
        case _:
            return None


def _is_as_offered(candidate: Candidate, outcome: Outcome) -> bool:
    match candidate.kind:
        case "exception":
            return outcome == raised(str(candidate.error_code), candidate.error_message).outcome
        case "later":
            return isinstance(outcome, Deferred)
        case _:
            return same(candidate.value, seen_of(outcome)) and not isinstance(outcome, (Raised, Deferred))


def _shape_of(request: ToolRequest, value: JsonValue) -> JsonObject | None:
    """Return the schema for a form: the tool's own, else that of a value; None where neither has a field."""
    if request.response_schema:
        return described(filled(request.response_schema, value), request.description, "response")
    if value in (None, {}):
        return {"type": "object", "properties": {}}
    if not isinstance(value, (dict, list)) or not value:
        return None
    found = without_null(inferred_schema([value], request.tool_name, closed=False))
    if is_guess(request.draft_blanks) and found.get("type") == "object":
        found["additionalProperties"] = True  # a guess may lack fields
    return described(found, request.description, "response")


def _is_object(text: str) -> bool:
    """Return whether a text is a JSON object that has a field."""
    try:
        value = parse_json(text)
    except TypedJsonError:
        return False
    return isinstance(value, dict) and bool(value)


def tool_inputs(
    drafts: DraftStore, request: ToolRequest, around: Surroundings = NOTHING_AROUND
) -> ToolInputs:
    """Return the inputs of one call out of the session's drafts; after an undo another call may come under its key."""
    kept = inputs_of_request(drafts, request.key, request.tool_name, canonical(request.arguments))
    usual = KeptInputs(drafts, "usual response")
    first = "" if usual.value("style") else kept_choice("response_styles")
    golden = golden_candidate(around.golden, request, around.tools)
    case = set_candidate(around.eval_set, request) if golden is None else None
    drafted = case.as_draft(request, around) if case else None
    return ToolInputs(
        kept,
        drafted or request,
        usual,
        golden,
        case=case.candidate if case else None,
        first=first,
    )
