"""The tools on the page of the environment: declared, edited and removed, and with the agent from the next turn on."""

from __future__ import annotations

import pytest

from tests.app.environment.shaped import Shaped
from tests.app.page_driver import HOSTILE


@pytest.fixture
def shaped() -> Shaped:
    """A session without a turn."""
    shaped = Shaped()
    shaped.open("Tools")
    return shaped


def _choose(shaped: Shaped, start: str, value: str) -> None:
    shaped.tab.choose(shaped.tab.key(start), value)


@pytest.mark.long
def test_a_tool_is_declared_with_rows(shaped: Shaped) -> None:
    """Name, words and rows become a tool of the session; one of the agent's own name is refused, and what was typed stays."""
    shaped.write("tool_name", "find_order")
    shaped.write("tool_words", HOSTILE)
    assert "Name: " in shaped.tab.click("declared_save").literal
    assert shaped.environment.now.declared == ()
    shaped.write("tool_name", "track_parcel")
    shaped.edit("parameters_rows", added_rows=[{"name": "parcel_id", "type": "text", "required": True}])
    shaped.tab.click("declared_save")
    (tool,) = shaped.environment.now.declared
    assert (tool.name, tool.description) == ("track_parcel", HOSTILE)
    assert tool.parameters == {
        "type": "object",
        "properties": {"parcel_id": {"type": "string"}},
        "required": ["parcel_id"],
    }
    assert HOSTILE in shaped.tab.literal
    assert shaped.tab.live_marks() == []
    assert "track_parcel" in {shape.name for shape in shaped.environment.world().tools}


def test_a_tool_is_edited_and_removed(shaped: Shaped) -> None:
    """A broken schema is named; a declared tool opens in the form as it is, is saved in its place, and goes with a click."""
    shaped.write("tool_name", "track_parcel")
    _choose(shaped, "parameters_style", "JSON schema")
    shaped.write("parameters_json", '{"type": ')
    assert "Parameters: Line 1" in shaped.tab.click("declared_save").literal
    shaped.write("parameters_json", '{"type": "object", "properties": {"n": {"minimum": 1}}}')
    shaped.edit("output_rows", added_rows=[{"name": "place", "type": "text", "required": True}])
    shaped.tab.click("declared_save").click("declared_edit_track_parcel")
    (name,) = [each for each in shaped.tab.app.text_input if str(each.key).startswith("tool_name")]
    assert name.value == "track_parcel"
    shaped.write("tool_words", "It is tracked.")
    shaped.tab.click("declared_save")
    (tool,) = shaped.environment.now.declared
    assert tool.description == "It is tracked."
    assert tool.parameters["properties"] == {"n": {"minimum": 1}}
    assert tool.output_schema is not None
    assert list(tool.output_schema["properties"]) == ["place"]
    shaped.tab.click("declared_drop_track_parcel")
    assert shaped.environment.now.declared == ()
    shaped.tab.click("declared_save")
    assert shaped.environment.now.declared == (tool,)
