"""Files in user messages on the page: attached, shown, held, refused."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from app.live.upload_quota import UPLOAD_MB, check_attached
from app.screens.start_panel import QUERY_KEY
from app.session.page_commands import check
from simulator.runtime import Simulation
from simulator.session.commands import Query
from simulator.session.history import file_part, files_in
from tests.app.desk_sessions import live_of
from tests.app.page_driver import Tab

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PICTURE = ("../../pixel.png", PIXEL, "image/png")
PAGE = ("**strong**.html", b"<script>alert(1)</script>", "text/html")


def sent(session: Simulation) -> list[list[Any]]:
    """Return what was sent: of each message its text, and the names and bytes of its files."""
    messages: list[Any] = [turn.message for turn in session.session.turns]
    return [
        [
            *(part["text"] for part in message["parts"] if "text" in part),
            *((file.name, file.content) for file in files_in(message)),
        ]
        for message in messages
    ]


def images(tab: Tab) -> list[str]:
    """Return the addresses of the pictures on the page."""
    return [image.url for each in tab.app.get("image") for image in each.proto.imgs]


def test_files_are_sent_with_the_text_and_shown_in_the_timeline(session: Simulation) -> None:
    """A picture as a picture, anything else as text with a download; a name is no path, and the next message has none of them.

    A file alone is a message, too; undo brings its files back into the message, which can be sent without them.
    """
    tab = Tab(session.session.session_id)
    tab.fill("attached_query_0", [PICTURE, PAGE]).fill("query_text_", "What is this?")
    tab.click("query_send")
    assert sent(session) == [["What is this?", ("pixel.png", PIXEL), PAGE[:2]]]
    tab.unfold(tab.keys("step_")[0])
    (shown,) = images(tab)
    assert shown == f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    assert f"text/html, {len(PAGE[1])} bytes" in tab.literal
    assert "<script>" not in tab.words + tab.literal
    assert len(tab.keys("file_")) == 2
    assert tab.live_marks() == []
    tab.fill("query_text_", "And now?").click("query_send")
    assert sent(session)[1:] == [["And now?"]]
    assert len(images(tab.choose("timeline_view", "Conversation"))) == 1
    tab.fill("attached_query_", [PICTURE]).click("query_send")
    assert sent(session)[2:] == [[("pixel.png", PIXEL)]]
    tab.click("undo_step")
    assert "pixel.png, image/png" in tab.literal
    tab.fill("query_text_", "Again").click("query_send")
    assert sent(session)[2:] == [["Again", ("pixel.png", PIXEL)]]
    tab.click("undo_step").fill("with_files_", False)
    tab.fill("query_text_", "Without").click("query_send")
    assert sent(session)[2:] == [["Without"]]


def test_a_held_message_keeps_its_files_and_gets_more(session: Simulation) -> None:
    """Accepted as it is held it is not called edited; with another text or file it is."""
    tab = Tab(session.session.session_id)
    message: Any = {"parts": [file_part("a.txt", "text/plain", b"one"), {"text": "Look"}]}
    session.set_user("script", script=[message, message], wait=60)
    tab.run()
    assert tab.typed("query_text_") == "Look"
    assert "a.txt, text/plain, 3 bytes" in tab.literal
    tab.click("query_send")
    session.wait(60)
    tab.run().fill("attached_held_1", [PICTURE]).click("query_send")
    first: Any = session.session.turns[0].message
    assert first["parts"][1:] == [{"text": "Look"}]
    assert sent(session)[1] == ["Look", ("a.txt", b"one"), ("pixel.png", PIXEL)]
    facts = [fact for _, fact in session.journal.path() if fact.kind == "turn_started"]
    assert [fact.provenance and fact.provenance.source for fact in facts] == ["written", "edited"]


def test_what_is_too_large_is_named_and_not_sent(
    session: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of one message have a limit, those of a person on the server another one."""
    large = ("large.bin", bytes(5 << 20), "application/octet-stream")
    tab = Tab(session.session.session_id)
    tab.fill("attached_query_0", [PICTURE, large]).click("query_send")
    assert "large.bin: 5.0 MB" in tab.literal
    assert "4 MB" in tab.literal
    assert sent(session) == []
    whole: Any = {"parts": [file_part("large.bin", "", large[1])]}
    with pytest.raises(ValueError, match=r"large\.bin"):
        check(live_of(session.session.session_id), Query(message=whole))
    monkeypatch.setenv(UPLOAD_MB, "1")
    half: Any = {"parts": [file_part("half.bin", "", bytes(600 << 10))]}
    check_attached(live_of(session.session.session_id).owner, half)
    session.query(half, wait=60)
    with pytest.raises(ValueError, match=UPLOAD_MB):
        check_attached(live_of(session.session.session_id).owner, half)


@pytest.mark.long
def test_the_first_message_of_a_session_has_files(start: Tab) -> None:
    """They are attached on the start page, and the list of sessions has no bytes in it."""
    start.fill("start_files", [PICTURE]).fill(QUERY_KEY, "Where is A-1002?").click("start_session")
    live = live_of(start.session_id)
    assert [file.name for file in files_in(live.simulation.session.turns[0].message)] == ["pixel.png"]
    assert live.title == f"Where is A-1002? [pixel.png, image/png, {len(PIXEL)} bytes]"
