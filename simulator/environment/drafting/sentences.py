"""Writes a sentence about a call, for tools that answer with a text: "Ticket HD-7 was closed."."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from simulator.environment.conventions.chance import Chance
from simulator.environment.conventions.names import is_identifier, words_of
from simulator.environment.conventions.roles import role_of

_FOUND = (
    "The {what} of {thing} looks as usual; nothing stands out.",
    "The {what} of {thing} is complete and up to date.",
    "The {what} of {thing} shows no open points.",
)
_IRREGULAR = {
    "send": "sent", "buy": "bought", "pay": "paid", "sell": "sold", "make": "made", "take": "taken", "set": "set",
    "put": "put", "write": "written", "give": "given", "read": "read", "run": "run", "reset": "reset", "stop": "stopped",
    "submit": "submitted", "get": "fetched", "begin": "begun", "withdraw": "withdrawn", "ban": "banned", "tag": "tagged",
    "log": "logged", "cancel": "cancelled", "ship": "shipped", "transfer": "transferred", "drop": "dropped",
    "swap": "swapped", "unsubscribe": "unsubscribed", "undo": "undone", "rebook": "rebooked", "refer": "referred",
    "split": "split", "shut": "shut", "cut": "cut", "find": "found", "build": "built", "draw": "drawn", "hide": "hidden",
}  # fmt: skip
_LONGEST = 60


def sentence_about(
    tool_name: str, arguments: Mapping[str, JsonValue], what: str, key: JsonValue, chance: Chance
) -> str:
    """Say what a call has done, or found.

    Args:
        tool_name: The tool.
        arguments: What it was asked.
        what: What it tells of, in plain words: `medical history`.
        key: The id of what it made; None where it made nothing.
        chance: Decides between sentences.
    """
    role = role_of(tool_name)
    thing = _thing(arguments)
    if role.use == "reads":
        form = chance.choice("sentence", _FOUND)
        if not what or what in thing or what in words_of(tool_name)[:1]:
            return _capital(form.removeprefix("The {what} of ").format(thing=thing or "the result"))
        return (
            form.format(what=what, thing=thing)
            if thing
            else form.replace(" of {thing}", "").format(what=what)
        )
    noun = role.kind.replace("_", " ") if role.verb else ""
    done = f"was {participle(role.verb or 'handle')}"
    if role.use == "creates" and noun:
        named = f" {key}" if isinstance(key, (str, int)) else f" for {thing}" if thing else ""
        return f"{noun.capitalize()}{named} {done}."
    if noun and noun in thing:
        return f"{_capital(thing)} {done}."
    return f"{_capital(noun or 'Request')}{f' for {thing}' if thing else ''} {done}."


def participle(verb: str) -> str:
    """Give the past participle of a verb in its plain form: `close` gives `closed`."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in ("", *"aeiou"):
        return f"{verb[:-1]}ied"
    return f"{verb}ed"


def _thing(arguments: Mapping[str, JsonValue]) -> str:
    """Name what a call is about: `ticket HD-7` by an id, or the first short text that it was given."""
    plain = {
        name: value for name, value in arguments.items()
        if isinstance(value, (str, int)) and not isinstance(value, bool) and 0 < len(str(value)) <= _LONGEST
    }  # fmt: skip
    for name, value in plain.items():
        if is_identifier(name):
            words = [
                word for word in words_of(name) if word not in {"id", "uuid", "number", "identifier", "key"}
            ]
            return f"{' '.join(words)} {value}".strip()
    return next((str(value) for value in plain.values() if isinstance(value, str)), "")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
