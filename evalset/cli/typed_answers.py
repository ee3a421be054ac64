"""Reads what a person types where a script has no answer: a value, a text, or a short command that begins with a colon."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import ValidationError

from simulator.base.documents import DocumentError, read_document
from simulator.base.validation_words import complaint
from simulator.scripts.script_lines import AgentMove, CodeMove, ToolMove

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
