"""What is said of recordings, and what is set for each tool, is read and worded without the page."""

from __future__ import annotations

import pytest

from app.environment.sources import (
    call_rows,
    read_output_schema,
    read_problems,
    tools_line,
    with_states,
)
from app.forms.upload_panel import decoded
from app.session.commands import with_tool
from simulator.environment.recordings.recorded_calls import ObservedCall
from simulator.environment.world.tool_settings import EnvironmentSettings, ToolSettings


def test_recorded_calls_are_counted_by_tool() -> None:
    """The tool that is called most comes first; each call is a row of texts."""
    calls = [
        ObservedCall(tool_name=name, arguments={"n": 1}, response={"x": "y" * 900}, place="[0]")
        for name in ("a", "b", "b")
    ]
    assert tools_line(calls) == "b 2, a 1"
    row = call_rows(calls)[0]
    assert (row["tool"], row["arguments"], row["place"]) == ("a", '{"n": 1}', "[0]")
    assert len(row["response"]) < 400


def test_a_tool_with_nothing_set_is_left_out() -> None:
    """Setting a field keeps the others; taking the last one away leaves no trace."""
    settings = EnvironmentSettings(tools={"a": ToolSettings(name="a", share_state_id="s")})
    tools = with_tool(settings, "b", output_schema={"type": "object"})
    assert set(tools) == {"a", "b"}
    again = settings.model_copy(update={"tools": tools})
    assert with_tool(again, "b", output_schema=None) == settings.tools
    assert with_tool(settings, "a", output_schema={"type": "string"})["a"].share_state_id == "s"


def test_the_table_of_states_sets_what_was_written() -> None:
    """Only edited cells count, without the spaces around them; a row that is not there is passed over."""
    tools = with_states(
        EnvironmentSettings(),
        ["a", "b"],
        {"0": {"shared": " room "}, 7: {"shared": "x"}, 1: {"shared": None, "begins": "Cold."}},
    )
    assert tools == {
        "a": ToolSettings(name="a", share_state_id="room"),
        "b": ToolSettings(name="b", initial_state_description="Cold."),
    }


def test_what_is_typed_kept_or_uploaded_is_read_or_named() -> None:
    """An empty text is no schema, and nothing kept no problem; a broken schema says where, and bytes that are no UTF-8 are no text."""
    assert read_output_schema(" ") is None
    assert read_output_schema('{"type": "string"}') == {"type": "string"}
    for text, place in (("{", "Line 1, column 2"), ('{"type": 3}', r"\$\.type")):
        with pytest.raises(ValueError, match=place):
            read_output_schema(text)
    assert read_problems(None) == []
    assert read_problems('["[1]: missing"]') == ["[1]: missing"]
    assert (decoded("\ufeff{}".encode()), decoded(b"\xff\xfe{")) == ("{}", None)
