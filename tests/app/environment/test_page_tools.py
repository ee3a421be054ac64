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


def test_a_tool_is_declared_edited_and_removed(shaped: Shaped) -> None:
    """Name, words and rows become a tool of the session; one of the agent's own name is refused, and so is a broken schema.

    A declared tool opens in the form as it is, is saved in its place, and goes with a click.
    """
    tab = shaped.tab
    shaped.write("tool_name", "find_order")
    shaped.write("tool_words", HOSTILE)
    assert "Name: " in tab.click("declared_save").literal
    assert shaped.environment.now.declared == ()
    shaped.write("tool_name", "track_parcel")
    shaped.edit("parameters_rows", added_rows=[{"name": "parcel_id", "type": "text", "required": True}])
    shaped.edit("output_rows", added_rows=[{"name": "place", "type": "text", "required": True}])
    tab.click("declared_save")
    (tool,) = shaped.environment.now.declared
    assert (tool.name, tool.description) == ("track_parcel", HOSTILE)
    assert tool.parameters["properties"] == {"parcel_id": {"type": "string"}}
    assert tool.parameters["required"] == ["parcel_id"]
    assert HOSTILE in tab.literal
    assert tab.live_marks() == []
    assert "track_parcel" in {shape.name for shape in shaped.environment.world().tools}
    tab.click("declared_edit_track_parcel")
    assert tab.app.text_input(key=tab.key("tool_name")).value == "track_parcel"
    shaped.write("tool_words", "It is tracked.")
    tab.choose(tab.key("parameters_style"), "JSON schema")
    shaped.write("parameters_json", '{"type": ')
    assert "Parameters: Line 1" in tab.click("declared_save").literal
    shaped.write("parameters_json", '{"type": "object", "properties": {"n": {"minimum": 1}}}')
    tab.click("declared_save")
    (tool,) = shaped.environment.now.declared
    assert (tool.description, tool.parameters["properties"]) == ("It is tracked.", {"n": {"minimum": 1}})
    assert list((tool.output_schema or {})["properties"]) == ["place"]
    tab.click("declared_drop_track_parcel")
    assert shaped.environment.now.declared == ()
    tab.click("declared_save")
    assert shaped.environment.now.declared == (tool,)
