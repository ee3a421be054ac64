"""The sources of answers on the page of the environment: recordings, the model, what tools remember, schemas; and declared tools."""

from __future__ import annotations

import json
import re

import pytest

from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.facts import EnvironmentChanged
from tests.app.environment.shaped import CANCEL, PATIENCE, Shaped
from tests.app.page_driver import HOSTILE


@pytest.fixture
def shaped(no_key: None) -> Shaped:
    """A session whose first call waits."""
    return Shaped(CANCEL)


def test_a_recording_is_read_listed_and_removed(shaped: Shaped) -> None:
    """Text that is none cannot be given; what was pasted is shown with its tools and what was left out; then it makes the draft."""
    (before,) = shaped.simulation.view().pending
    order = {**before.draft, "total": 77.77}  # type: ignore[union-attr, dict-item]  # a tool's request
    calls = [
        {"name": "find_order", "args": {"order_id": "A-1001"}, "response": order},
        {"name": "find_order", "args": {"order_id": HOSTILE}, "response": {"status": "open"}},
        {"args": {}},
    ]
    tab = shaped.open("Sources")
    shaped.write("recording_json", '{"x": ')
    assert "not JSON" in tab.literal
    assert tab.app.button(key="recording_give").disabled
    shaped.write("recording_json", json.dumps(calls))
    assert "2 calls: find_order 2" in tab.literal
    assert "Skipped: 1" in tab.words
    shaped.write("recording_name", "traces")
    tab.click("recording_give")
    assert len(shaped.environment.now.recordings["traces"]) == 2
    assert "Skipped: 1" in tab.words
    (waiting,) = shaped.simulation.view().pending
    assert waiting.draft["total"] == 77.77  # type: ignore[union-attr, index, call-overload]  # a tool's request
    tab.fill("recording_view_traces", True)
    assert HOSTILE in tab.run().literal
    assert tab.live_marks() == []
    tab.click("recording_drop_traces")
    assert shaped.environment.now.recordings == {}
    tab.click("recording_give")
    assert [call.arguments for call in shaped.environment.now.recordings["traces"]] == [
        {"order_id": "A-1001"},
        {"order_id": HOSTILE},
    ]


def test_the_model_is_set_with_a_word_on_what_it_needs(shaped: Shaped) -> None:
    """While a name is typed the page says what is missing; a configuration that is no JSON is refused.

    It looks at the connections until it is told not to; at a tool's source only after a switch, which shows what would be sent before.
    """
    tab = shaped.open("Sources", sources_part="Model")
    assert all(tab.app.toggle(key=key).disabled for key in ("model_connections", "model_source"))
    shaped.write("model_name", "gemini-2.5-flash")
    assert "GOOGLE_API_KEY" in tab.literal
    shaped.write("model_json", '{"temperature": ')
    assert "Configuration: Line 1" in tab.click("model_save").literal
    shaped.write("model_json", '{"temperature": 0}')
    tab.click("model_save")
    settings = shaped.environment.settings
    tab.fill("model_drafts", True).run()
    assert shaped.environment.settings.drafts_by_model
    assert settings.simulation_model == "gemini-2.5-flash"
    assert settings.simulation_model_configuration == {"temperature": 0}
    assert tab.app.toggle(key="model_connections").value is True
    tab.fill("model_connections", False).run()
    assert not shaped.environment.settings.connections_by_model
    shaped.environment.change(connections_by_model=True)
    assert tab.run().app.toggle(key="model_connections").value is True
    assert tab.app.toggle(key="model_source").value is False
    tab.app.session_state["model_source_shown"] = True
    tab.run()
    tool = tab.app.selectbox(key="model_source_tool").value
    assert shaped.environment.sources_for_model()[tool] in [code.value for code in tab.app.code]
    tab.fill("model_source", True).run()
    assert shaped.environment.settings.source_to_model


def test_an_address_of_the_model_is_not_taken_and_an_earlier_one_is_named(shaped: Shaped) -> None:
    """A session of an earlier version opens and says which fields are not used; without them the form saves again."""
    earlier = {"temperature": 0, "http_options": {"base_url": "http://elsewhere.example", "timeout": 5_000}}
    settings = EnvironmentSettings(simulation_model_configuration=earlier)
    shaped.simulation.journal.append(EnvironmentChanged(at=1e10, settings=settings))
    tab = shaped.open("Sources", sources_part="Model")
    assert "http_options.base_url" in tab.literal
    assert "http_options.timeout" not in tab.literal
    tab.click("model_save")
    assert "Configuration: http_options.base_url" in tab.literal
    assert shaped.environment.settings.simulation_model_configuration == earlier
    shaped.write("model_json", '{"httpOptions": {"extraBody": {}, "retryOptions": {"attempts": 1}}}')
    assert "Configuration: httpOptions.extraBody" in tab.click("model_save").literal
    shaped.write("model_json", '{"http_options": {"timeout": 5000}}')
    tab.click("model_save")
    assert shaped.environment.settings.simulation_model_configuration == {"http_options": {"timeout": 5_000}}
    assert "base_url" not in tab.literal
    shaped.write("model_name", "huggingface/https://elsewhere.example")
    assert "huggingface/https://elsewhere.example" in tab.literal


@pytest.mark.long
def test_states_are_shared_and_cleared(shaped: Shaped) -> None:
    """Two tools share what they remember; a second beginning is warned of; the calls are listed, bounded, and forgotten on a click."""
    tab = shaped.open("Sources", sources_part="Memory")
    names = list(tab.app.data_editor[0].value["tool"])
    first, second = sorted((names.index("find_order"), names.index("cancel_order")))
    begins = {"shared": "shop", "begins": f"A shop. {HOSTILE}"}
    shaped.edit("states_", edited_rows={first: begins, second: {"shared": "shop", "begins": "Another."}})
    (warned,) = shaped.environment.world().problems
    assert "'shop'" in warned
    assert "'shop'" in tab.literal
    assert tab.live_marks() == []
    shaped.edit("states_", edited_rows={second: {"begins": ""}})
    assert "'shop'" not in tab.literal
    tools = shaped.environment.settings.tools
    assert {name: tool.share_state_id for name, tool in tools.items()} == dict.fromkeys(
        (names[first], names[second]), "shop"
    )
    (waiting,) = shaped.simulation.view().pending
    shaped.simulation.answer(waiting, waiting.draft, wait=PATIENCE)  # type: ignore[union-attr]  # a tool's request
    tab.run()
    assert re.search(r"\b1 of .*\b20\b", tab.words)
    assert HOSTILE in tab.literal
    assert tab.live_marks() == []
    tab.fill("state_size", 3).run()
    assert shaped.environment.settings.max_tool_call_cache_size == 3
    tab.click("state_clear_shop")
    assert not any(state.calls for state in shaped.environment.world().states)


def test_a_schema_is_checked_as_it_is_typed(shaped: Shaped) -> None:
    """A broken schema says where; a sound one is saved, and the draft follows it; removing it puts things back."""
    tab = shaped.open("Sources", sources_part="Response schemas")
    tab.fill("schema_tool", "find_order").run()
    shaped.write("schema_json", '{"type": "texts"}')
    assert "invalid at $.type" in tab.literal
    assert tab.app.button(key="schema_save").disabled
    wanted = {"type": "object", "properties": {"parcel": {"const": "X-1"}}, "required": ["parcel"]}
    shaped.write("schema_json", json.dumps(wanted))
    tab.click("schema_save")
    assert shaped.environment.settings.tool("find_order").output_schema == wanted
    (waiting,) = shaped.simulation.view().pending
    assert waiting.draft["parcel"] == "X-1"  # type: ignore[union-attr, index, call-overload]  # a tool's request
    tab.click("schema_drop")
    assert shaped.environment.settings.tools == {}


def test_a_tool_is_declared_edited_and_removed() -> None:
    """Name, words and rows become a tool of the session; one of the agent's own name is refused, and so is a broken schema.

    A declared tool opens in the form as it is, is saved in its place, and goes with a click.
    """
    shaped = Shaped()
    tab = shaped.open("Tools")
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
