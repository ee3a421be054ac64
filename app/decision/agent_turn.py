"""What a person at the agent's seat is composing: the kinds of turn there are, and the calls in the making."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import JsonValue

from app.decision.call_prefills import Prefills, prefills, with_arguments_of
from app.forms.form_reading import place_in_words
from app.forms.typed_json import TypedJsonError, parse_json, write_json
from app.forms.widget_store import DraftStore, KeptInputs, inputs_of_request, slug
from simulator.base.json_values import JsonObject, canonical
from simulator.environment.schema.schema_checks import misfit_calls
from simulator.facts import ModelAnswered
from simulator.seats.requests import ModelRequest, ToolDeclaration

if TYPE_CHECKING:
    from simulator.scripts.script_lines import NextLines

Kind: TypeAlias = Literal["Reply", "Final", "Call tools", "Transfer", "JSON"]

TRANSFER = "transfer_to_agent"
FINAL_TOOL = "set_model_response"


class TurnInputs:
    """The inputs in which a person makes the agent's next turn.

    A proposal that is edited begins new inputs, so that what was written before stays where it was.

    Args:
        kept: Keeps the inputs.
        request: The turn that is asked for.
        usual: Keeps which kind of turn was sent last, by the agent and what came before.
        golden: The parts of the turn that the golden has here; none where it has none.
    """

    def __init__(
        self, kept: KeptInputs, request: ModelRequest, usual: KeptInputs, golden: Sequence[JsonObject] = ()
    ) -> None:
        self.kept = kept
        self.request = request
        self._usual, self._golden = usual, golden

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Which kinds of turn this agent can make."""
        # Where the agent has an output schema, ADK refuses a plain text: the form for the data comes first.
        kinds: list[Kind] = [] if self.final_schema is None else ["Final"]
        if self.request.response_schema is None:
            kinds.append("Reply")
        if self.tools:
            kinds.append("Call tools")
        if self.request.transfer_targets:
            kinds.append("Transfer")
        return (*kinds, "JSON")

    @property
    def kind(self) -> Kind:
        """Which kind of turn is being made."""
        is_next = self._golden and self._kind_of(self._golden)
        likely = "Reply" if self._follows_response else "Call tools"
        chosen = self.kept.value("kind") or is_next or self._usual.value(self._situation) or likely
        return next((kind for kind in self.kinds if kind == chosen), self.kinds[0])

    @property
    def _follows_response(self) -> bool:
        """Whether a tool has just responded."""
        parts = self.request.contents[-1].get("parts") if self.request.contents else None
        return isinstance(parts, list) and any(
            isinstance(one, dict) and "function_response" in one for one in parts
        )

    @property
    def _situation(self) -> str:
        return f"{slug(self.request.agent)} {self._follows_response}"

    def keep_kind(self) -> None:
        """Keep which kind of turn is sent: the next one like this opens with it."""
        self._usual.put(self._situation, self.kind)

    @property
    def tools(self) -> dict[str, ToolDeclaration]:
        """The tools to call, by name; those with a kind of turn of their own are left out."""
        apart = {FINAL_TOOL} | ({TRANSFER} if self.request.transfer_targets else set())
        return {tool.name: tool for tool in self.request.tools if tool.name not in apart}

    @property
    def final_tool(self) -> ToolDeclaration | None:
        """The tool by which an agent with tools and an output schema gives its final answer."""
        return next((tool for tool in self.request.tools if tool.name == FINAL_TOOL), None)

    @property
    def final_schema(self) -> JsonObject | None:
        """What the final answer must look like, where the agent has an output schema."""
        if self.final_tool is not None:
            return dict(self.final_tool.parameters)
        return self.request.response_schema

    def final_parts(self, value: JsonValue) -> tuple[JsonObject, ...]:
        """Return the final answer as the model would give it: by a tool where there is one, else as text."""
        if self.final_tool is not None:
            return ({"function_call": {"name": FINAL_TOOL, "args": value}},)
        return ({"text": json.dumps(value, ensure_ascii=False)},)

    # ------------------------------------------------------------ calls in the making

    @property
    def rows(self) -> list[int]:
        """The numbers of the calls, in order; a call keeps its number when others are removed."""
        return list(self.kept.value("rows", [0] if len(self.tools) == 1 else []))

    def seed(self, row: int) -> JsonObject:
        """Return what a call began with: its `name` and `args`, where it comes from a proposal."""
        found = self.kept.value(f"seed{row}", {})
        return found if isinstance(found, dict) else {}

    def add_row(self, tool: str | None = None) -> None:
        """Begin another call, of a tool if one is named."""
        row = int(self.kept.value("next", 1))
        self.kept.put("rows", [*self.rows, row])
        self.kept.put("next", row + 1)
        if tool is not None:
            self.kept.put(f"tool{row}", tool)

    def prefills(self, tool: ToolDeclaration, row: int) -> Prefills:
        """Return the values that were found for a call of a tool; one that began as a call of another keeps what both take."""
        return with_arguments_of(self.seed(row), tool, prefills(tool, self.request.contents))

    def misfits(self, parts: Sequence[JsonObject]) -> tuple[str, ...]:
        """Say which calls do not fit the declarations of their tools, or leave a text empty that is required, each with its place."""
        found = misfit_calls(parts, self.request.tools, partial(place_in_words, whole=""))
        return tuple(f"Call {misfit.number}: {misfit.words}" for misfit in found)

    def is_sent_again(self, parts: Sequence[JsonObject]) -> bool:
        """Return whether just these parts were to be sent before, and keep that they are."""
        written = canonical([*parts])
        again = bool(self.kept.value("sent_once") == written)
        self.kept.put("sent_once", written)
        return again

    def remove_row(self, row: int) -> None:
        """Drop a call."""
        self.kept.put("rows", [other for other in self.rows if other != row])

    # ------------------------------------------------------------ proposals

    @property
    def proposed(self) -> tuple[JsonObject, ...]:
        """The parts that the agent's own model proposed; of a stream, those that are whole."""
        return whole_parts(self.request.proposal or ())

    @property
    def begun_with(self) -> tuple[JsonObject, ...]:
        """The parts that the turn began with: those of the proposal or of the golden; none where it began empty."""
        held: Any = self.kept.value("begun_with")
        if isinstance(held, list):
            return tuple(part for part in held if isinstance(part, dict))
        return self.proposed if self.is_editing else ()

    def holds(self, parts: Sequence[JsonObject]) -> bool:
        """Return whether the turn began with these parts, or is the text that they are."""
        text = _text_of(parts)
        return [*self.begun_with] == [*parts] or bool(text and self.kept.value("say") == text)

    @property
    def is_editing(self) -> bool:
        """Whether the turn began with something."""
        return bool(self.kept.value("editing", initial=False))

    def edit(self, parts: Sequence[JsonObject]) -> None:
        """Put the parts of a turn into the inputs that suit them."""
        self.kept.put("begun_with", [dict(part) for part in parts])
        kind = self._kind_of(parts)
        self.kept.put("editing", value=True)
        self.kept.put("writing", value=True)
        self.kept.put("kind", kind)
        if kind == "Call tools":
            self._seed_calls(parts)
        elif kind in {"Reply", "Final"}:
            self.kept.put("say", _text_of(parts))
        elif kind == "Transfer":
            self.kept.put("target", _target_of(parts))
        self.kept.put("response_parts", write_json([dict(part) for part in parts]))

    def write_another(self) -> None:
        """Leave the proposal as it is and begin a turn of one's own."""
        self.kept.put("writing", value=True)
        self.kept.put("editing", value=False)

    def show_proposal(self) -> None:
        """Go back to the proposal; what was written stays."""
        self.kept.put("writing", value=False)

    def final_seed(self) -> JsonValue:
        """Return the final answer that a proposal holds, where it is edited; else None."""
        if not self.is_editing:
            return None
        for part in self.begun_with:
            call = part.get("function_call")
            if isinstance(call, dict) and call.get("name") == FINAL_TOOL:
                return call.get("args")
        try:
            return parse_json(_text_of(self.begun_with))
        except TypedJsonError:
            return None

    def _kind_of(self, parts: Sequence[JsonObject]) -> Kind:
        names = [_name_of(part) for part in parts]
        if "Final" in self.kinds and (
            names == [FINAL_TOOL] or (not any(names) and "Reply" not in self.kinds)
        ):
            return "Final"
        if names == [TRANSFER] and _target_of(parts) in self.request.transfer_targets:
            return "Transfer"
        plain = all(set(part) <= {"text", "function_call"} for part in parts)
        if plain and any(names) and "Call tools" in self.kinds and not {TRANSFER, FINAL_TOOL} & set(names):
            return "Call tools"
        return "Reply" if plain and not any(names) and "Reply" in self.kinds else "JSON"

    def _seed_calls(self, parts: Sequence[JsonObject]) -> None:
        calls = [call for part in parts if isinstance(call := part.get("function_call"), dict)]
        first = int(self.kept.value("next", 1))
        rows = list(range(first, first + len(calls)))
        for row, call in zip(rows, calls, strict=True):
            self.kept.put(f"seed{row}", {"name": call.get("name"), "args": call.get("args") or {}})
        self.kept.put("rows", list(rows))
        self.kept.put("next", first + len(calls))
        self.kept.put("before", _text_of(parts))


def whole_parts(responses: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
    """Return the parts of a model's responses; of a stream, those that are whole."""
    parts: list[JsonObject] = []
    for response in responses:
        content = response.get("content")
        held = content.get("parts") if isinstance(content, dict) and not response.get("partial") else None
        parts += [part for part in held or () if isinstance(part, dict)] if isinstance(held, list) else []
    return tuple(parts)


def parts_before(answered: ModelAnswered) -> tuple[JsonObject, ...]:
    """Return the parts of a turn that was made before; its calls get new ids."""
    return tuple(
        {**part, "function_call": {"name": call.get("name"), "args": call.get("args") or {}}}
        if isinstance(call := part.get("function_call"), dict)
        else part
        for part in whole_parts(answered.responses)
    )


def turn_inputs(drafts: DraftStore, request: ModelRequest, golden: NextLines | None = None) -> TurnInputs:
    """Return the inputs of one turn out of the session's drafts; `golden` is what the case does next that the session began with."""
    shown = canonical([dict(content) for content in request.contents])
    proposal = canonical([dict(response) for response in request.proposal or ()])
    kept = inputs_of_request(drafts, request.key, request.agent, shown, proposal)
    found = golden.move(request.agent) if golden is not None and golden.tells_moves else None
    parts = found.parts if found is not None and found.is_here else ()
    return TurnInputs(kept, request, KeptInputs(drafts, "usual turn"), parts)


def _name_of(part: JsonObject) -> str:
    call = part.get("function_call")
    return str(call.get("name") or "") if isinstance(call, dict) else ""


def _target_of(parts: Sequence[JsonObject]) -> str:
    call = parts[0].get("function_call")
    arguments = call.get("args") if isinstance(call, dict) else None
    return str(arguments.get("agent_name") or "") if isinstance(arguments, dict) else ""


def _text_of(parts: Sequence[JsonObject]) -> str:
    return "".join(str(part.get("text") or "") for part in parts if not part.get("thought"))
