"""What is read out of ADK's events: the final response, the output, the text of a content, the calls that wait, and the state that lasts."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.sessions.state import State
from google.genai import types

from simulator.base.adk_names import OF_APP, OF_USER, TEMPORARY, lasting
from simulator.base.json_values import JsonObject
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.facts import (
    ConnectionsAnalysed,
    EnvironmentChanged,
    EnvironmentDataGiven,
    RecordingGiven,
    StateCleared,
)
from simulator.session import UserQuery
from simulator.session.adk_event_fields import (
    content_text,
    final_event,
    final_output,
    function_calls,
    open_calls,
    parts_of,
    seals_a_stop,
)
from simulator.session.history import AttachedFile, check_sizes, file_of, file_part
from simulator.session.model import OpenCall, SessionEnvironment, words_of_change
from tests.simulator.runtime.speaking import desk
from tests.simulator.runtime.stage import PATIENCE, agent_of, resumed, say
from tests.simulator.session.making import event

TEXT, IMAGE = {"text": "a"}, {"inlineData": {"data": ""}}
CALL = {"functionCall": {"id": "w", "name": "ship", "args": {"to": "me"}}}
ANSWER = {"functionResponse": {"id": "w", "name": "ship", "response": {"ok": True}}}


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (None, []),
        ("text", []),
        ({"parts": None}, []),
        ({"parts": "text"}, []),
        ({"parts": [TEXT, 7, None]}, [TEXT]),
        ({"parts": (TEXT,)}, [TEXT]),
        ({"parts": [TEXT, IMAGE]}, [TEXT, IMAGE]),
    ],
)
def test_parts_are_those_that_are_objects(content: Any, parts: list[Any]) -> None:
    """Whatever a content is, what is no part is left out."""
    assert parts_of(content) == parts


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([], ""),
        ([TEXT, {"text": "b"}], "a\nb"),
        ([TEXT, {"text": "hm", "thought": True}], "a"),
        ([ANSWER], '{"ok": true}'),
        ([{"function_response": {"response": "ü"}}], '"ü"'),
        ([ANSWER, ANSWER], '{"ok": true}\n{"ok": true}'),
        ([ANSWER, TEXT], "a"),
        ([TEXT, IMAGE], '[{"text": "a"}, {"inlineData": {"data": ""}}]'),
    ],
)
def test_a_content_is_written_as_text(parts: list[Any], text: str) -> None:
    """Texts as they are, responses alone as their values, anything else as JSON of the parts; thoughts are left out."""
    assert content_text({"parts": parts}) == text


@pytest.mark.parametrize(
    ("events", "place"),
    [
        ([], None),
        ([event(TEXT)], 0),
        ([event(TEXT), event(TEXT)], 1),
        ([event(TEXT), event(IMAGE)], 0),
        ([event(IMAGE), event(IMAGE)], 1),
        ([event(TEXT, author="user")], None),
        ([event()], None),
        ([event(TEXT, partial=True)], None),
        ([event(TEXT, longRunningToolIds=["w"])], None),
        ([event(TEXT, CALL)], None),
        ([event(TEXT, ANSWER)], None),
        ([event(ANSWER, actions={"skipSummarization": True})], 0),
        ([event(TEXT, {"codeExecutionResult": {}})], None),
        ([event({"codeExecutionResult": {}}, TEXT)], 0),
    ],
)
def test_the_final_response_is_the_last_final_event_with_text(events: list[Any], place: int | None) -> None:
    """As ADK has it; one that waits, asks, answers or came in part is none."""
    assert final_event(events) == place


def test_the_output_of_a_graph_is_its_last_data() -> None:
    """Behind the user's last event, and only where it stands alone."""
    one: JsonObject = {"author": "g", "output": 1}
    two: JsonObject = {"author": "g", "output": 0}
    assert final_output([one, two]) == 0
    assert final_output([one, {"author": "g"}]) == 1
    assert final_output([one, {"author": "user"}]) is None
    assert final_output([one, event(TEXT, output=3)]) == 1
    assert final_output([]) is None


def test_only_the_calls_that_adk_names_wait() -> None:
    """A call is open until the user answers it, or a stop closes it; a first answer of the tool leaves it open."""
    other = {"functionCall": {"id": "x", "name": "look"}}
    asks = event(CALL, other, longRunningToolIds=["w"])
    (waiting,) = open_calls([asks])
    assert waiting == OpenCall(call_id="w", tool_name="ship", arguments={"to": "me"}, agent="clerk")
    assert open_calls([event(CALL)]) == ()
    assert [each.answered for each in open_calls([asks, event(ANSWER)])] == [True]
    assert open_calls([asks, event(ANSWER, author="user")]) == ()
    sealed = event(ANSWER, errorCode="INVOCATION_ABORTED")
    assert seals_a_stop(sealed)
    assert not seals_a_stop(event(ANSWER))
    assert open_calls([asks, sealed]) == ()
    assert open_calls([event({"functionResponse": {"id": "x"}})], [waiting]) == (waiting,)
    assert open_calls([event(ANSWER, author="user")], [waiting]) == ()
    assert function_calls(asks) == [CALL["functionCall"], other["functionCall"]]


def test_the_environment_is_what_was_said_last() -> None:
    """Each fact changes its own part; data that a person gives is no longer the agent's own."""
    calls = (ObservedCall(tool_name="find", arguments={}, response={"a": 1}, place="r[0]"),)
    state = SessionEnvironment(data="brought", is_data_brought=True)
    given = state.after(EnvironmentDataGiven(at=1, text="mine"))
    assert (given.data, given.is_data_brought) == ("mine", False)
    assert state.after(StateCleared(at=1, state_key="k")) == state
    told = state.after(ConnectionsAnalysed(at=1, model="m", reason="no key"))
    assert (told.analysed_by, told.not_analysed, told.by_model) == ("m", "no key", None)
    one = state.after(RecordingGiven(at=1, name="r", calls=calls))
    both = one.after(RecordingGiven(at=1, name="s", calls=calls))
    assert both.recordings == {"r": calls, "s": calls}
    assert both.after(RecordingGiven(at=1, name="r")).recordings == {"s": calls}


def test_changed_settings_are_named_by_what_differs() -> None:
    """Whichever way each was changed, and no others."""
    before = SessionEnvironment()
    for name, value in (("source_to_model", True), ("simulation_model", "b"), ("simulation_model", None)):
        was = (
            before.model_copy(update={"settings": EnvironmentSettings(simulation_model="a")})
            if value is None
            else before
        )
        settings = EnvironmentSettings.model_validate({name: value} if value is not None else {})
        words = words_of_change(EnvironmentChanged(at=1, settings=settings), was)
        assert words == f"settings: {name.replace('_', ' ')}"


def test_prefixes_are_those_of_adk() -> None:
    """What knows no ADK takes a key for what ADK takes it for."""
    assert (TEMPORARY, OF_APP, OF_USER) == (State.TEMP_PREFIX, State.APP_PREFIX, State.USER_PREFIX)


def test_what_lasts_one_invocation_is_left_out() -> None:
    """All else stays, in its order."""
    assert list(lasting({"b": 1, "temp:a": 2, "user:temp:": 3, "app:a": 4})) == ["b", "user:temp:", "app:a"]


BYTES = bytes([0xFB, 0xFF, 0xFE, 0x01])


def test_a_content_object_with_a_file_is_a_query() -> None:
    """`types.Part.from_bytes` makes it; the model gets the bytes, and a resumed session has them."""
    content = types.Content(
        parts=[types.Part(text="See"), types.Part.from_bytes(data=BYTES, mime_type="image/png")]
    )
    seen: list[bytes] = []

    def look(request: Any) -> list[types.Part]:
        blobs = [part.inline_data for each in request.contents for part in each.parts]
        seen.extend(blob.data for blob in blobs if blob)
        return [say("A picture.")]

    session = desk(look)
    assert session.query(content, wait=PATIENCE)
    assert seen == [BYTES]
    again = resumed(session.journal.to_json(), agent_of([say("A picture.")]))
    for each in (session, again):
        asked = each.session.history[0]
        assert isinstance(asked, UserQuery)
        assert asked.content == "See\n[file, image/png, 4 bytes]"
        assert [file.content for file in asked.files] == [BYTES]


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("names", [("inline_data", "mime_type"), ("inlineData", "mimeType")])
def test_a_file_is_read_in_both_spellings_and_alphabets(
    encode: Callable[[bytes], bytes], names: tuple[str, str]
) -> None:
    """google-genai writes one of them, and other programs the others."""
    blob, kind = names
    data = encode(BYTES).decode()
    file = file_of({blob: {kind: "image/png", "data": data}})
    assert file is not None
    assert (file.content, file.size, file.mime_type) == (BYTES, 4, "image/png")


def test_a_type_that_is_none_is_guessed_and_no_base64_is_no_content() -> None:
    """By the name of the file; else it is bytes of any kind."""
    types_ = [file_of(file_part(name, "<b>", b"x")) for name in ("a.pdf", "a")]
    assert [file and file.mime_type for file in types_] == ["application/pdf", "application/octet-stream"]
    assert AttachedFile(data="***").content == b""
    assert file_of({"text": "x"}) is None


def test_the_limit_is_that_of_all_files_of_a_message() -> None:
    """The error names the file that is one too many."""
    large = 3 << 20
    assert check_sizes([("a", large)]) == large
    with pytest.raises(ValueError, match="b: "):
        check_sizes([("a", large), ("b", large)])
