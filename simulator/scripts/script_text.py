"""Scripts as YAML or JSON: read, with what is wrong said by its line and place, and written, with the lines that one still lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from simulator.agents.agent_directory import ELSEWHERE
from simulator.base.documents import DocumentError, Located, line_of, read_document, write_json, write_yaml
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject, place_words
from simulator.base.validation_words import InputError, complaint, flaws, validated
from simulator.scripts import script
from simulator.scripts.script import FORMAT, VERSION, Place, Script, ScriptTurn
from simulator.seats.requests import CodeRequest, ModelRequest, Request, ToolDeclaration
from simulator.session import OpenCall
from simulator.session.adk_event_fields import parts_of


class ScriptError(InputError):
    """A script cannot be read or made; each line of the text names the line, the place and what was expected there."""


class ScriptText(NamedTuple):
    """A script that was read, and the text that it stands in."""

    script: Script
    text: str

    def where(self, place: Place) -> str:
        """Name a place for a person: `line 12: turns.0.moves.2`."""
        line = line_of(self.text, place)
        return f"line {line}: {words_of(place)}" if line else words_of(place)


def words_of(place: Place) -> str:
    """Name a place in a script: `turns.0.moves.2`."""
    return place_words(place) or "the script"


def read_script(text: str) -> ScriptText:
    """Read a script from YAML or JSON.

    Raises:
        ScriptError: It cannot be read; each line of the error says one thing that is wrong, and in which line.
    """
    try:
        document = read_document(text)
    except DocumentError as error:
        raise ScriptError(str(error)) from error
    _check_head(document)
    try:
        return ScriptText(validated(Script, document), text)
    except ValidationError as error:
        located = Located(text)
        told = flaws(error, lambda flaw: _complaint(flaw, document, located))
        raise ScriptError(
            "\n".join(dict.fromkeys(line for each in told for line in each.splitlines()))
        ) from error


def _check_head(document: JsonValue) -> None:
    if not isinstance(document, dict):
        raise ScriptError(f"line 1: a script must be an object with turns, not {type(document).__name__}")
    if document.get("format") != FORMAT:
        raise ScriptError(
            f"line 1: not a script: its format is {document.get('format')!r:.80}, not {FORMAT!r}"
        )
    version = document.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise ScriptError(
            f"line 1: version {version!r:.40} is not supported; this studio reads version {VERSION}"
        )


def _complaint(flaw: ErrorDetails, document: JsonValue, located: Located) -> str:
    place = tuple(_steps(flaw["loc"], document))
    if flaw["type"] == "missing":
        place = (*place, flaw["loc"][-1])
    line = located.line(place)
    where = f"{f'line {line}: ' if line else ''}{words_of(place)}"
    return "\n".join(f"{where}: {said}" for said in complaint(flaw, _NAMES).splitlines())


def _steps(loc: Place, document: JsonValue) -> Iterator[str | int]:
    """Leave out what pydantic puts into a place to name the kinds of values."""
    inside: Any = document
    for step in loc:
        by_name = isinstance(inside, dict) and isinstance(step, str) and step in inside
        if not by_name and not (isinstance(inside, list) and isinstance(step, int) and step < len(inside)):
            continue
        inside = inside[step]
        yield step


_NAMES = sorted(
    {
        name
        for module in (script,)
        for model in vars(module).values()
        if isinstance(model, type) and issubclass(model, BaseModel)
        for name in model.model_fields
    }
)


_HEAD = """\
# A session as a script. Play it with: golden-trace run AGENT --script THIS_FILE --out SET.evalset.json
# You can change and remove lines. Where the script has no answer, `otherwise` decides what happens.
"""
_ABOUT = {
    "seed": "The source of ids and random values. Runs with the same seed get the same ids and values.",
    "session_id": "The session's id. Remove it for a new one.",
    "began": "When the session started, in seconds since the epoch. Remove it for the current time.",
    "initial_state": "The session's initial state.",
    "earlier": "The artifacts and the memory that the session begins with.",
    "otherwise": "What to do where the script has no answer: ask, generate or fail.",
    "agent": "Who plays the agent: model (its own), person (this script), a list of moves, or one of these for each agent.",
    "players": "Who answers a tool where the script has no answer: offline, model, recorded, auto, real, refuse, person.",
    "rules": "Injection rules. They run before a tool is answered.",
    "environment": "Tool responses for any turn. The call's arguments must contain `args`.",
    "turns": (
        "User messages, and what follows each. A line with `tool` answers a call of that tool (returns, fails, raises, later,\n"
        "# draft or real). A line with `prints` is the output of code. All other lines are the agent's moves (text, calls, transfer)."
    ),
}


def write_script(script_: Script, form: Literal["yaml", "json"] = "yaml") -> str:
    """Write a script as text that `read_script` reads; the YAML says in comments what is what."""
    document = _document(script_)
    if form == "json":
        return write_json(document)
    pieces = [_HEAD]
    for name, value in document.items():
        about = _ABOUT.get(name)
        pieces.append(f"\n# {about}\n" if about else "")
        pieces.append(_turns(value) if name == "turns" else write_yaml({name: value}))
    return "".join(pieces)


def _document(script_: Script) -> JsonObject:
    document: JsonObject = script_.model_dump(mode="json", exclude_unset=True)
    return {"format": FORMAT, "version": VERSION, **document}


def _turns(turns: Any) -> str:
    written = "".join(f"\n# Turn {number}\n{write_yaml([turn])}" for number, turn in enumerate(turns, 1))
    return f"turns:{written.removesuffix(chr(10))}\n"


# Writes the lines that a script lacks, ready to be pasted: for a request that waits, or for a call that the user has to answer.


_MOST_TOOLS = 12
"""So many tools of an agent are shown with their arguments; the others by their names."""


class Waits(Value):
    """What the script has no answer to: `words` say what waits, `snippet` is YAML to be pasted at `place`."""

    place: Place
    words: str
    snippet: str

    def to_paste(self, script: Script) -> tuple[str, str]:
        """Return where in a script to paste what, so that the script is valid after it."""
        if self.place[-1] != "moves":
            return "Add a turn like this under turns", self.snippet
        path, turn = ".".join(map(str, self.place)), self.place[1]
        has_moves = isinstance(turn, int) and turn < len(script.turns) and script.turns[turn].moves
        if has_moves:
            return f"Add a line like this under {path}", self.snippet
        return (
            f"Add lines like these to turns.{turn}, with the indent of its other keys",
            f"moves:\n{self.snippet}",
        )


def waits_for(request: Request, turn: int) -> Waits:
    """Say what waits in a turn, and write a line that would answer it: the draft where there is one."""
    match request:
        case ModelRequest():
            words = f"a response of the agent {request.agent}"
            if is_left_unasked(request):
                words += f", which another program runs. Ask that with agent: {{{request.agent}: model}}"
            elif tool := _answered(request):
                words += f" to the response of {tool}. If {tool} ends the turn, write `actions: {{skip_summarization: true}}` next to its `returns`"
            line: JsonObject = {"agent": request.agent, "text": "The agent's response."}
            hint = _tools_of(request)
        case CodeRequest():
            words, hint = (
                f"the output of the code of {request.agent}",
                f"# its code:\n{_commented(request.code)}",
            )
            line = {"prints": "The output of the code."}
        case _:
            words, hint = f"a response of {request.tool_name}, called by {request.agent}", ""
            line = {"tool": request.tool_name, "args": request.arguments, "returns": request.draft}
            line |= request.draft_effects.written
    return Waits(place=("turns", turn, "moves"), words=words, snippet=hint + write_yaml([line]))


def _answered(request: ModelRequest) -> str:
    """Return the tool to whose response a model says something; empty where it is asked otherwise."""
    parts = parts_of(request.contents[-1]) if request.contents else []
    return next(
        (str(each["function_response"]["name"]) for each in parts if each.get("function_response")), ""
    )


def is_left_unasked(request: ModelRequest) -> bool:
    """Return whether another program would have to be asked for a turn, and nobody chose that it is."""
    return request.model_name == ELSEWHERE and request.would_answer not in {"model", "held"}


def waits_for_user(call: OpenCall, turns: int) -> Waits:
    """Say that a call waits for the user after the last turn, and write a turn that answers it."""
    name = asked_about(call)
    if call.is_confirmation:
        return Waits(
            place=("turns", turns),
            words=f"the user's confirmation of {name}",
            snippet=write_yaml([{"confirm": True, "tool": name}]),
        )
    line: JsonObject = {"reply": {"result": "The result."}, "tool": name}
    return Waits(place=("turns", turns), words=f"the user's answer to {name}", snippet=write_yaml([line]))


def asked_about(call: OpenCall) -> str:
    """Return the name of the tool that an open call is about: for a confirmation, the one that is to be confirmed."""
    original = call.arguments.get("originalFunctionCall")
    name = original.get("name") if call.is_confirmation and isinstance(original, dict) else None
    return name if isinstance(name, str) and name else call.tool_name


def _tools_of(request: ModelRequest) -> str:
    shown, others = request.tools[:_MOST_TOOLS], request.tools[_MOST_TOOLS:]
    names = ", ".join(tool.name for tool in others)
    lines = [*map(_call_of, shown), *([f"with one of {names} as name"] if names else [])]
    return f"# or, instead of the text, a call:\n{_commented(chr(10).join(lines))}" if lines else ""


def _call_of(tool: ToolDeclaration) -> str:
    """Return a call of a tool with the arguments that it requires."""
    required = tool.parameters.get("required")
    arguments = ", ".join(f"{name}: ..." for name in (required if isinstance(required, list) else []))
    return " ".join(f"calls: [{{name: {tool.name}, args: {{{arguments}}}}}]".split())


def _commented(text: str) -> str:
    return "".join(f"#   {line}\n" for line in text.splitlines())


class MisplacedError(ValueError):
    """Nothing waits for what the user says; the text names what does."""


def open_call(turn: ScriptTurn, calls: Iterable[OpenCall]) -> OpenCall:
    """Return the call that a turn confirms or replies to: the first that fits, those first that have no answer yet.

    Raises:
        MisplacedError: None fits.
    """
    waiting = sorted(calls, key=lambda call: call.answered)
    found = [call for call in waiting if _fits(turn, call)]
    if not found:
        there = ", ".join(f"{asked_about(call)} ({_called(call)})" for call in waiting) or "none"
        asks = f"with the question {turn.question!r}" if turn.question else ""
        named = (turn.tool, turn.call_id, asks, f"of the node {turn.node}" if turn.node else "")
        wanted = " of ".join(filter(None, (turn.speaks, " ".join(filter(None, named)))))
        raise MisplacedError(f"no open call matches {wanted}; open calls: {there}")
    return found[0]


def _called(call: OpenCall) -> str:
    """Name an open call: by its id, and by its question where it asks one."""
    message = call.arguments.get("message")
    asks = f": {message!r} of the node {call.node}" if isinstance(message, str) and message else ""
    return f"{call.call_id}{asks}"


def _fits(turn: ScriptTurn, call: OpenCall) -> bool:
    """Return whether a call is what a turn says of it; what it does not say may be anything."""
    said = (
        (turn.call_id, call.call_id),
        (turn.node, call.node),
        (turn.question, call.arguments.get("message")),
        (turn.tool, call.tool_name if turn.tool == call.tool_name else asked_about(call)),
    )
    may_be = turn.speaks != "confirm" or call.is_confirmation
    return may_be and all(not wanted or wanted == there for wanted, there in said)
