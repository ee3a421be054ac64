"""Writes what passes ADK's boundaries as JSON for the journal, and reads it back."""

from __future__ import annotations

import builtins
import contextlib
import re
import sys
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import BaseModel
from pydantic_core import to_json, to_jsonable_python

from simulator.base.json_values import (
    JsonObject,
    NotJsonError,
    canonical,
    copied,
    digest,
    fingerprint,
    is_flat,
    read,
    write,
)
from simulator.base.secret_masking import without_secrets, without_secrets_in
from simulator.environment.injection.rule_effects import builtin_error, builtin_name
from simulator.facts import RaisedError
from simulator.runtime.adk.adk_private import MADE_CALL_ID, Later
from simulator.session.adk_event_fields import calls_in

LONGEST_TRACEBACK = 8_000
"""How many characters of a traceback are kept."""

_LONGEST_LINE = 1_000
"""How many of one of its lines, so that a long message leaves room for the calls that led to it."""

_TRACEBACK_HEAD = "Traceback (most recent call last):\n"
_PART = "$part"
_PART_KEY = _PART.encode()

# Where a request went and how it is billed says nothing about what was asked.
_NOT_ASKED = frozenset({"system_instruction", "tools", "http_options", "labels"})


class SimulatedToolError(Exception):
    """Stands for an exception whose class cannot be made again from its journal entry: what is raised is below it, with that class's name."""


def jsonable(value: Any) -> Any:
    """Write any value as JSON, the same way every time.

    Sets are sorted, bytes are base64, a class is its JSON schema, and what has no JSON form is its type's name
    (an address would differ from run to run), and half of a surrogate pair is a question mark.
    """
    try:
        return copied(value)
    except NotJsonError:
        return _jsonable(value)


def _jsonable(value: Any) -> Any:  # noqa: PLR0911 - one per kind of value
    if isinstance(value, dict):
        return {whole_text(str(key)): jsonable(item) for key, item in value.items()}
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((jsonable(item) for item in value), key=canonical)
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        present = {name: getattr(value, name) for name in fields if not fields[name].exclude}
        return jsonable({name: item for name, item in present.items() if item is not None})
    if isinstance(value, type) and issubclass(value, BaseModel):
        return value.model_json_schema()
    if isinstance(value, (int, float)):
        return _number(value)
    made = to_jsonable_python(
        value, bytes_mode="base64", fallback=lambda item: f"<{type(item).__qualname__}>"
    )
    return made if made is None else jsonable(made)


def _number(value: float) -> Any:
    """Write the numbers that JSON has no word for: as words, and one that is pages long in hexadecimal."""
    if isinstance(value, int):
        return f"{value:#x}"
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(float(value)), float(value))


def whole_text(value: str) -> str:
    """Put a question mark where half of a surrogate pair stands alone."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def whole(written: Any) -> Any:
    """Return what ADK or pydantic has written as JSON with whole texts only; itself where it has no others.

    To Python half of a surrogate pair is a text. A model, a callback or a file's name may hold it, and no journal could be
    written with it, nor with a number that is as long as a page.
    """
    try:
        write(written)
    except ValueError:
        # What is nested too deeply is not JSON in any case: its receiver says so.
        with suppress(RecursionError):
            return _made_whole(written)
    return written


def _made_whole(written: Any) -> Any:
    if isinstance(written, str):
        return whole_text(written)
    if isinstance(written, dict):
        return {whole_text(str(key)): _made_whole(item) for key, item in written.items()}
    if isinstance(written, list):
        return [_made_whole(item) for item in written]
    return jsonable(written) if isinstance(written, int) else written


def response_json(response: LlmResponse) -> tuple[JsonObject, bool]:
    """Write a model's response as ADK does, with whole texts only; return whether it is read again as it was."""
    try:
        written: JsonObject = response.model_dump(mode="json", exclude_none=True)
    except ValueError:  # half of a surrogate pair in a name, which pydantic does not write
        return jsonable(response.model_dump(exclude_none=True)), False
    of_whole_texts: JsonObject = whole(written)
    return of_whole_texts, of_whole_texts is written


def survives_json(value: Any) -> bool:
    """Return whether a value comes back from JSON as it was."""
    return bool(repr(jsonable(value)) == repr(value))


def with_ids(response: LlmResponse, written: JsonObject) -> LlmResponse:
    """Return a response's function calls the ids that its written form has."""
    content: Any = written.get("content") or {}
    parts = (response.content.parts if response.content else None) or ()
    for part, known in zip(parts, content.get("parts") or (), strict=True):
        if part.function_call is not None:
            part.function_call.id = known["function_call"]["id"]
    return response


def give_own_ids(responses: Iterable[JsonObject], used: set[str], seed: str, key: str) -> None:
    """Give each function call of responses an id that is unique in the session, and keep it there and in `used`."""
    own = ""
    for place, call in enumerate(calls_in(responses)):
        if not call.get("id") or call["id"] in used:
            own = own or digest(seed, key)
            call["id"] = f"{MADE_CALL_ID}{own}{place:04x}"
        used.add(call["id"])


def tool_value(value: Any) -> Any:
    """Write a tool's result: JSON, with google-genai parts (images, files) marked so that they come back."""
    try:
        return copied(value)
    except NotJsonError:
        return _tool_value(value)


def _tool_value(value: Any) -> Any:
    if isinstance(value, types.Part):
        return {_PART: whole(value.model_dump(mode="json", exclude_none=True))}
    if isinstance(value, dict):
        return {whole_text(str(key)): tool_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [tool_value(item) for item in value]
    return jsonable(value)


def tool_result(value: Any) -> Any:
    """Read what `tool_value` wrote, as a value of its own that ADK may change."""
    if is_flat(value):
        return value.copy()
    text = write(value)
    own = read(text)
    return _with_parts(own) if _PART_KEY in text else own


def _with_parts(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_PART}:
            return types.Part.model_validate(value[_PART])
        return {key: _with_parts(item) for key, item in value.items()}
    return [_with_parts(item) for item in value] if isinstance(value, list) else value


def written_state(context: Any) -> JsonObject | None:
    """Write the session's state as a call sees it; None of a context that has none."""
    to_dict = getattr(getattr(context, "state", None), "to_dict", None)
    written = jsonable(to_dict()) if callable(to_dict) else None
    return written if isinstance(written, dict) else None


def written_error(error: BaseException) -> RaisedError:
    """Write an exception without secrets, with those of its attributes that JSON can hold (an HTTP status, for instance)."""
    name = type(error)
    return RaisedError(
        type=f"{name.__module__}:{name.__qualname__}",
        message=without_secrets(whole_text(str(error))),
        arguments=tuple(without_secrets_in(jsonable(argument)) for argument in error.args),
        attributes=without_secrets_in(
            {
                key: jsonable(value)
                for key, value in getattr(error, "__dict__", {}).items()
                if not key.startswith("__") and survives_json(value)
            }
        ),
    )


def written_traceback(error: BaseException) -> str:
    """Write an exception's traceback as Python prints it; of a long one the end, where the cause stands."""
    try:
        text = "".join(traceback.format_exception(error))
    except Exception as broken:  # noqa: BLE001 - the exception is somebody's class, and may fail to say what it is
        text = f"{_TRACEBACK_HEAD}  (it cannot be written: {type(broken).__name__})\n"
    if len(text) > LONGEST_TRACEBACK:
        text = "\n".join(map(_shortened, text.split("\n")))
    if len(text) > LONGEST_TRACEBACK:
        text = f"{_TRACEBACK_HEAD}  ... (shortened)\n{text[-LONGEST_TRACEBACK:].partition(chr(10))[2]}"
    return without_secrets(text.encode("utf-8", "replace").decode())


def _shortened(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}... (shortened)"


def made_error(written: RaisedError) -> Exception:
    """Make the exception again where its class can be found and gives the same message.

    Only classes of modules that are loaded, or of the builtins, are looked up: a journal must not be able to
    import what it likes.
    """
    module_name, _, qualified = written.type.partition(":")
    found: Any = _loaded(module_name)
    for name in qualified.split("."):
        found = getattr(found, name, None)
    if isinstance(found, type) and issubclass(found, Exception):
        for make in (_by_arguments, _by_message, _without_arguments):
            error = make(found, written)
            if error is not None:
                return error
    name = re.sub(r"\W", "_", written.short_type) or "Exception"
    where = module_name if qualified else builtins.__name__
    stand_in: type[Exception] = type(name, (SimulatedToolError,), {"__module__": where})
    return stand_in(written.message)


def _by_arguments(kind: type[Exception], written: RaisedError) -> Exception | None:
    try:
        return _restored(kind(*written.arguments), written)
    except Exception:  # noqa: BLE001 - a class that refuses its own arguments is any error at all
        return None


def _by_message(_: type[Exception], written: RaisedError) -> Exception | None:
    """Make a builtin exception of which only the message was said, and which takes more than that."""
    match written.arguments:
        case (str(message),):
            with contextlib.suppress(Exception):  # as above
                error = builtin_error(builtin_name(written.type), message)
                return None if error is None else _restored(error, written)
            return None
        case _:
            return None


def _without_arguments(kind: type[Exception], written: RaisedError) -> Exception | None:
    """Make an exception whose class takes other arguments than it keeps, as those of HTTP clients do, or whose arguments are no JSON."""
    for arguments in (written.arguments, (written.message,)):
        with contextlib.suppress(Exception):  # as above
            error = kind.__new__(kind)
            error.args = arguments
            if (made := _restored(error, written)) is not None:
                return made
    return None


def _restored(error: Exception, written: RaisedError) -> Exception | None:
    vars(error).update(copied(written.attributes))
    return error if str(error) == written.message else None


def _loaded(module_name: str) -> Any:
    return builtins if module_name == builtins.__name__ else sys.modules.get(module_name)


def event_json(event: Event) -> JsonObject:
    """Write an event as ADK does, with its one set in order."""
    written: JsonObject = event.model_dump(mode="json", exclude_none=True, by_alias=True)
    ids: Any = written.get("longRunningToolIds")
    if ids:
        written["longRunningToolIds"] = sorted(ids)
    of_whole_texts: JsonObject = whole(written)
    return of_whole_texts


def chained(chain: str, event: JsonObject) -> str:
    """Extend the fingerprint of all events so far by one; its time does not count."""
    counts = {key: value for key, value in event.items() if key != "timestamp"}
    actions: Any = event.get("actions") or {}
    # What is left to the agent's own code may have its keys in another order each time.
    if not (actions.get("stateDelta") or event.get("customMetadata") or event.get("output")):
        with contextlib.suppress(ValueError):  # text that cannot be encoded, or nested too deep
            return fingerprint(chain.encode() + to_json(counts))
    return digest(chain, canonical(counts))


def request_parts(request: LlmRequest) -> dict[str, str]:
    """Fingerprint what a model is asked, by part: `system`, `tools`, `config`, and `contents` unless nobody has looked into them."""
    config = request.config
    asked = {
        name: value
        for name in sorted(config.model_fields_set - _NOT_ASKED)
        if (value := getattr(config, name)) is not None
    }
    instruction = config.system_instruction
    contents = request.contents
    parts = {
        "system": digest(instruction)
        if isinstance(instruction, str)
        else fingerprint(_written([instruction])),
        "tools": fingerprint(_written(config.tools or ())),
        "config": digest(canonical(jsonable(asked))) if asked else "",
    }
    if not isinstance(contents, Later) or not contents.is_unread:
        parts["contents"] = contents_part(contents)
    return parts


def contents_part(contents: list[types.Content]) -> str:
    """Fingerprint what a model is shown of the conversation, as `request_parts` does."""
    return fingerprint(_written([*contents]))


def _written(values: Sequence[Any]) -> bytes:
    """Write google-genai's values as they write themselves, which is quick; others by `jsonable`."""
    if all(isinstance(value, (types.Content, types.Tool)) for value in values):
        try:
            return to_json(values, exclude_none=True)
        except ValueError:  # half of a surrogate pair: as it is read again from the journal
            return to_json(whole(to_jsonable_python(values, exclude_none=True)))
    return canonical([jsonable(value) for value in values]).encode("utf-8", "surrogatepass")
