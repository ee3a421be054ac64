"""Remembers what the tools of a session have said about things with an id, so that drafts agree with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, JsonValue

from simulator.environment.plausible import is_identifier, words_of
from simulator.jsonvalue import JsonObject

_CREATES = frozenset(
    {
        "create",
        "add",
        "book",
        "new",
        "insert",
        "register",
        "open",
        "place",
        "submit",
        "make",
        "start",
        "order",
        "reserve",
    }
    | {"schedule", "issue", "post", "generate", "upload", "file"}
)
_READS = frozenset(
    {
        "get",
        "find",
        "search",
        "list",
        "look",
        "lookup",
        "fetch",
        "read",
        "check",
        "show",
        "query",
        "describe",
        "retrieve",
    }
    | {
        "is",
        "has",
        "can",
        "count",
        "view",
        "load",
        "track",
        "calculate",
        "compute",
        "convert",
        "estimate",
        "validate",
    }
)
_REMOVES = frozenset({"delete", "remove", "drop", "erase", "purge", "destroy"})
_GOOD = frozenset({"success", "ok", "succeeded"})
_ERRORS = frozenset({"error", "error_code", "error_message", "errorMessage", "error_type", "exception"})
_WELL = ("ok", "success")
_BAD = frozenset({"error", "failed", "failure", "not_found", "not found"})
_MOST_DEPTH = 6


class EarlierAnswer(BaseModel):
    """A tool call of this session that was answered, and what the agent saw.

    `injected` says that a rule answered: what it says holds, but does not tell what the tool's answers usually are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool_name: str
    arguments: JsonObject
    response: JsonValue
    injected: bool = False


class Memory:
    """What is known about each id after some calls: its fields, that it is gone, or the error that it gave."""

    def __init__(self, earlier: Sequence[EarlierAnswer]) -> None:
        self._fields: dict[str, dict[str, JsonValue]] = {}
        self._gone: set[str] = set()
        self._errors: dict[str, JsonObject] = {}
        self.currency = "EUR"
        """The currency that was named last."""
        for answer in earlier:
            self.take(answer)

    def fields(self, arguments: JsonObject) -> dict[str, JsonValue]:
        """Give what is known about the things that a call names by their ids."""
        known: dict[str, JsonValue] = {}
        for _, key in ids_in(arguments):
            known.update(self._fields.get(key, {}))
        return known

    def missing(self, arguments: JsonObject) -> JsonObject | None:
        """Give the answer for a call about a thing that is gone, or was not there before; None if there is none."""
        for name, key in ids_in(arguments):
            if key in self._gone:
                what = " ".join(word for word in words_of(name) if word != "id") or "record"
                return {
                    "status": "error",
                    "error_code": 404,
                    "error": f"No {what} with {name} {key!r} was found.",
                }
            if key in self._errors:
                return self._errors[key]
        return None

    def take(self, answer: EarlierAnswer) -> None:
        """Learn what one more answer, the latest, says."""
        named = list(ids_in(answer.arguments))
        response = answer.response
        if is_error(response):
            if isinstance(response, dict) and len(named) == 1 and _says_missing(response):
                self._errors.setdefault(named[0][1], response)
            return
        given = {
            name: value for name, value in answer.arguments.items() if not isinstance(value, (dict, list))
        }
        for record in (*_records(answer.arguments, 0), *_records(response, 0)):
            self._take_currency(record)
        for record in _records(response, 0):
            own = {name: value for name, value in record.items() if not is_envelope(name, value)}
            about = list(ids_in(record)) or named
            if record is response and not is_read(answer.tool_name):
                own = {**given, **own}
            for _, key in about[:1]:
                self._learn(key, own)
        for _, key in named:
            if is_read(answer.tool_name):
                continue
            if is_removal(answer.tool_name):
                self._gone.add(key)
            else:
                self._learn(key, given)

    def _take_currency(self, record: JsonObject) -> None:
        currency = record.get("currency")
        if isinstance(currency, str) and currency:
            self.currency = currency

    def _learn(self, key: str, fields: Mapping[str, JsonValue]) -> None:
        self._fields.setdefault(key, {}).update(fields)
        self._gone.discard(key)
        self._errors.pop(key, None)


def ids_in(values: JsonObject) -> Iterator[tuple[str, str]]:
    """Give the names and values of the fields of an object that are ids, in order."""
    for name, value in values.items():
        if (
            isinstance(value, (str, int))
            and not isinstance(value, bool)
            and str(value)
            and is_identifier(name)
        ):
            yield name, str(value)


def is_read(tool_name: str) -> bool:
    """Tell whether a tool, by its name, changes nothing."""
    return bool(set(words_of(tool_name)[:2]) & _READS) and not is_removal(tool_name)


def is_creation(tool_name: str) -> bool:
    """Tell whether a tool, by its name, makes a new thing."""
    return bool(set(words_of(tool_name)[:1]) & _CREATES)


def is_removal(tool_name: str) -> bool:
    """Tell whether a tool, by its name, takes a thing away for good."""
    return bool(set(words_of(tool_name)[:1]) & _REMOVES)


def is_error(response: JsonValue) -> bool:
    """Tell whether a response reports an error, as tools commonly do."""
    if not isinstance(response, dict):
        return False
    status = response.get("status")
    if isinstance(status, str) and status.lower() in _BAD:
        return True
    return any(response.get(key) for key in _ERRORS) or any(response.get(key) is False for key in _WELL)


def _says_missing(response: JsonObject) -> bool:
    words = str(response).lower()
    return any(
        word in words
        for word in ("not found", "not_found", "404", "no such", "does not exist", "unknown", "was found")
    )


def is_envelope(name: str, value: JsonValue) -> bool:
    """Tell whether a field only says that the call went well, and nothing about the thing that it was about."""
    return name in {"status", "result", "success", "ok"} and (
        isinstance(value, bool) or (isinstance(value, str) and value.lower() in _GOOD)
    )


def _records(value: JsonValue, depth: int) -> Iterator[JsonObject]:
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _records(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _records(inner, depth + 1)
