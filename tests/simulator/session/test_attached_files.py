"""Files in messages from Python: which forms are taken, and what a session knows of them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from google.genai import types

from simulator.session import UserQuery
from simulator.session.attached_files import AttachedFile, check_sizes, file_of, file_part
from tests.simulator.runtime.speaking import desk
from tests.simulator.runtime.stage import PATIENCE, agent_of, resumed, say

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
