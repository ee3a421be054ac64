"""Writes the lines that a script lacks, ready to be pasted: for a request that waits, or for a call that the user has to answer."""

from __future__ import annotations

from simulator.environment.documents import write_yaml
from simulator.facts import Value
from simulator.jsonvalue import JsonObject
from simulator.scripts.script import Place
from simulator.seats.requests import CodeRequest, ModelRequest, Request
from simulator.session import OpenCall


class Waits(Value):
    """What the script has no answer to: `words` say what waits, `snippet` is YAML to be pasted at `place`."""

    place: Place
    words: str
    snippet: str


def waits_for(request: Request, turn: int) -> Waits:
    """Say what waits in a turn, and write a line that would answer it: the draft where there is one."""
    match request:
        case ModelRequest():
            words = f"the turn of the agent {request.agent}"
            line: JsonObject = {"agent": request.agent, "text": "What the agent says."}
            hint = _tools_of(request)
        case CodeRequest():
            words, hint = (
                f"what the code of {request.agent} prints",
                f"# its code:\n{_commented(request.code)}",
            )
            line = {"prints": "What the code prints."}
        case _:
            words, hint = f"an answer to {request.tool_name}, which {request.agent} calls", ""
            line = {"tool": request.tool_name, "args": request.arguments, "returns": request.draft}
    return Waits(place=("turns", turn, "moves"), words=words, snippet=hint + write_yaml([line]))


def waits_for_user(call: OpenCall, turns: int) -> Waits:
    """Say that a call waits for the user after the last turn, and write a turn that answers it."""
    name = asked_about(call)
    if call.is_confirmation:
        return Waits(
            place=("turns", turns),
            words=f"the user's confirmation of {name}",
            snippet=write_yaml([{"confirm": True, "tool": name}]),
        )
    line: JsonObject = {"reply": {"result": "What came of it."}, "tool": name}
    return Waits(place=("turns", turns), words=f"the user's answer to {name}", snippet=write_yaml([line]))


def asked_about(call: OpenCall) -> str:
    """Give the name of the tool that an open call is about: for a confirmation, the one that is to be confirmed."""
    original = call.arguments.get("originalFunctionCall")
    name = original.get("name") if call.is_confirmation and isinstance(original, dict) else None
    return name if isinstance(name, str) and name else call.tool_name


def _tools_of(request: ModelRequest) -> str:
    names = ", ".join(tool.name for tool in request.tools)
    return f"# or calls: [{{name: ..., args: {{...}}}}] with one of {names}\n" if names else ""


def _commented(text: str) -> str:
    return "".join(f"#   {line}\n" for line in text.splitlines())
