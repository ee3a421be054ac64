"""Reads what a session needs out of ADK's events in JSON (`Event.model_dump(mode="json", by_alias=True)`).

Calls and responses, texts, state, and which event is the final response: ADK's own rules, asked of its JSON. Also which turns belong to one query: its own, and those that
answered what it left open.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from simulator.base.adk_names import lasting
from simulator.base.json_values import JsonObject
from simulator.session.history import file_of
from simulator.session.model import OpenCall, SimulationSession, Turn

USER_AUTHOR = "user"
_ONLY_DICTS = frozenset({dict})
_ABORTED = "INVOCATION_ABORTED"


def parts_of(content: Any) -> list[dict[str, Any]]:
    """Return the parts of a google-genai `Content` in JSON; none where there is no content."""
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, (list, tuple)):
        return []
    if isinstance(parts, list) and _ONLY_DICTS.issuperset(map(type, parts)):
        return parts  # as everything is that ADK wrote: quick, as this is asked very often
    return [part for part in parts if isinstance(part, dict)]


def function_calls(event: JsonObject) -> list[dict[str, Any]]:
    """Return the function calls of an event."""
    return [part["functionCall"] for part in parts_of(event.get("content")) if part.get("functionCall")]


def function_responses(event: JsonObject) -> list[dict[str, Any]]:
    """Return the function responses of an event."""
    return [
        part["functionResponse"] for part in parts_of(event.get("content")) if part.get("functionResponse")
    ]


def state_after(state: JsonObject, events: Iterable[JsonObject]) -> JsonObject:
    """Return a session's state after events that follow it; what is set for the invocation alone is not of it."""
    actions: list[Any] = [event.get("actions") or {} for event in events]
    deltas = [each.get("stateDelta") or {} for each in actions]
    written = {
        name: value for delta in deltas for name, value in delta.items() if not name.startswith("temp:")
    }
    return {**state, **written} if written else state


def seals_a_stop(event: JsonObject) -> bool:
    """Return whether ADK made up this event for a turn that was stopped: what it answers there, no tool has said."""
    return event.get("errorCode") == _ABORTED


def content_text(content: Any) -> str:
    """Write a content as text: its texts, or the responses of tools where it has nothing else, else JSON of its parts.

    Keys may be in either of google-genai's spellings.
    """
    parts = [part for part in parts_of(content) if not part.get("thought")]
    answers = [part.get("functionResponse") or part.get("function_response") for part in parts]
    others = [part for part, answer in zip(parts, answers, strict=True) if not answer]
    if not all(isinstance(part.get("text"), str) for part in others):
        return json.dumps(parts, ensure_ascii=False)
    # In the order of their names: a replay may give the fields of a response in another one.
    written = [
        json.dumps(each.get("response"), ensure_ascii=False, sort_keys=True) for each in answers if each
    ]
    return "\n".join([part["text"] for part in others] or written)


def message_text(message: Any) -> str:
    """Write a message for readers: as `content_text`, but for files, of which each is a line with its name, type and size."""
    parts = parts_of(message)
    files = [file_of(part) for part in parts]
    if not any(files):
        return content_text(message)
    others = ({"parts": [part]} for part in parts)
    lines = (
        f"[{file.words}]" if file else content_text(each) for file, each in zip(files, others, strict=True)
    )
    return "\n".join(filter(None, lines))


def final_event(events: Sequence[JsonObject]) -> int | None:
    """Find the event whose content is the final response: the last final one, one with text where there is any.

    The rule is that of ADK's `Event.is_final_response` and of its converter to eval invocations, but an event
    that waits for a long-running call is no response.
    """
    last: int | None = None
    for place in range(len(events) - 1, -1, -1):
        event = events[place]
        if event.get("author") == USER_AUTHOR or not parts_of(event.get("content")) or not _is_final(event):
            continue
        if _has_text(event):
            return place
        last = place if last is None else last
    return last


def final_output(events: Sequence[JsonObject]) -> object:
    """Return the last output that a node of a workflow yielded as data, without any content; None if there is none."""
    for event in reversed(events):
        if event.get("author") == USER_AUTHOR:
            return None
        if event.get("output") is not None and not parts_of(event.get("content")):
            return event["output"]
    return None


def output_text(output: object) -> str:
    """Write a workflow's output as its final response: a text as it is, anything else as JSON."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def _is_final(event: JsonObject) -> bool:
    actions: Any = event.get("actions") or {}
    if actions.get("skipSummarization"):
        return True
    if event.get("longRunningToolIds") or event.get("partial"):
        return False
    parts = parts_of(event.get("content"))
    if parts and parts[-1].get("codeExecutionResult") is not None:
        return False
    return not function_calls(event) and not function_responses(event)


def _has_text(event: JsonObject) -> bool:
    return any(part.get("text") for part in parts_of(event.get("content")))


def open_calls(events: Iterable[JsonObject], before: Iterable[OpenCall] = ()) -> tuple[OpenCall, ...]:
    """Find the long-running calls that the user can still answer, in order; `before` were open before the events.

    A confirmation is closed by the user's answer. A long-running tool that gave a first answer stays open for a
    later one, once. A call that was cut off by a stop is closed.
    """
    waiting: dict[str, OpenCall] = {call.call_id: call for call in before}
    for event in events:
        long_running: Any = event.get("longRunningToolIds") or ()
        node: Any = event.get("nodeInfo") or {}
        for call in function_calls(event) if long_running else ():
            if call.get("id") in long_running:
                waiting[call["id"]] = OpenCall(
                    call_id=call["id"],
                    tool_name=call.get("name") or "",
                    arguments=call.get("args") or {},
                    agent=str(event.get("author") or ""),
                    node=str(node.get("path") or ""),
                )
        for call_id in _answered_ids(event) if waiting else ():
            if call_id not in waiting:
                continue
            if event.get("author") == USER_AUTHOR or seals_a_stop(event):
                del waiting[call_id]
            else:
                waiting[call_id] = waiting[call_id].model_copy(update={"answered": True})
    return tuple(waiting.values())


def _answered_ids(event: JsonObject) -> Iterator[str]:
    for response in function_responses(event):
        if response.get("id"):
            yield response["id"]


_OTHERS_OPENING = "For context:"
_OTHERS_PREAMBLE = f"{_OTHERS_OPENING} below is a transcript of what another agent did"
_OTHERS_DID = re.compile(
    r"\[[^\]]+\] (?:called tool `(?P<called>[^`]+)` with parameters|`(?P<answered>[^`]+)` tool returned result):(?P<quoted>.*)",
    re.DOTALL,
)
_LONGEST_QUOTE = 100_000


class QuotedStep(NamedTuple):
    """A call of another agent, or a response to one, as ADK quotes it: `value` is the arguments or the response."""

    tool: str
    is_call: bool
    value: JsonObject


def is_of_other_agent(texts: Sequence[str]) -> bool:
    """Return whether the texts of a message under the user's name tell what another agent did, which is how ADK shows it."""
    if not texts or not texts[0].startswith(_OTHERS_OPENING):
        return False
    return texts[0].startswith(_OTHERS_PREAMBLE) or any(text.startswith("[") for text in texts[1:2])


def quoted_step(text: str) -> QuotedStep | None:
    """Read what ADK quotes of another agent's call or its response, as Python writes it; None where it is something else."""
    found = _OTHERS_DID.match(text) if len(text) <= _LONGEST_QUOTE else None
    if found is None:
        return None
    quoted = found["quoted"]
    try:
        value = ast.literal_eval(
            quoted[quoted.index("{") : quoted.rindex("}") + 1] if "{" in quoted else "{}"
        )
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    tool = found["called"] or found["answered"]
    return QuotedStep(tool, bool(found["called"]), value) if isinstance(value, dict) else None


def message_responses(message: JsonObject) -> list[dict[str, Any]]:
    """Return the function responses of a message, in either of google-genai's spellings."""
    found = (part.get("function_response") or part.get("functionResponse") for part in parts_of(message))
    return [response for response in found if response]


def calls_in(responses: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield the function calls in a model's complete responses, in either of google-genai's spellings."""
    for response in responses:
        if response.get("partial"):
            continue
        for part in parts_of(response.get("content")):
            if call := part.get("function_call") or part.get("functionCall"):
                yield call


def turns_by_query(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Put each turn that answers an open call behind the turns of the query that made the call."""
    groups: list[list[Turn]] = []
    makers: dict[str, list[Turn]] = {}
    for turn in turns:
        if turn.purpose == "query":
            group: list[Turn] = []
            groups.append(group)
        else:
            answered = [response.get("id") for response in message_responses(turn.message)]
            group = next((makers[call_id] for call_id in answered if call_id in makers), groups[-1])
        group.append(turn)
        for event in turn.events:
            makers.update({call["id"]: group for call in function_calls(event) if call.get("id")})
    return groups


def first_state(session: SimulationSession, groups: Sequence[Sequence[Turn]]) -> JsonObject:
    """Return the state with which the agent begins the first of some queries: the session's, and what its message set."""
    given = groups[0][0].state_delta if groups else {}
    return {**session.initial_state, **lasting(given)}


def came_to_nothing(turns: Sequence[Turn]) -> bool:
    """Return whether the turns of one query ended without a final response: a trace has nothing to compare there."""
    last = turns[-1]
    answered = last.final_event is not None or final_output(last.events) is not None
    return not answered or any(turn.stopped or turn.error is not None for turn in turns)
