"""The sources of answers on the page of the environment: recordings, the model, what tools remember, schemas."""

from __future__ import annotations

import json

import pytest

from tests.app.environment.shaped import CANCEL, PATIENCE, Shaped
from tests.app.page_driver import HOSTILE

WARNED = "the state 'shop' has already been initialized; the first description is kept"


@pytest.fixture
def shaped(monkeypatch: pytest.MonkeyPatch) -> Shaped:
    """A session whose first call waits; no key is set, which is the process's own, and nobody's argument."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return Shaped(CANCEL)


def test_a_recording_is_read_listed_and_removed(shaped: Shaped) -> None:
    """What was pasted is shown with its tools and what was left out; given, it makes the draft; then it goes again."""
    (before,) = shaped.simulation.view().pending
    order = {**before.draft, "total": 77.77}  # type: ignore[union-attr, dict-item]  # a tool's request
    calls = [
        {"name": "find_order", "args": {"order_id": "A-1001"}, "response": order},
        {"name": "find_order", "args": {"order_id": HOSTILE}, "response": {"status": "open"}},
        {"args": {}},
    ]
    tab = shaped.open("Sources")
    shaped.write("recording_json", json.dumps(calls))
    assert "2 calls: find_order 2" in tab.literal
    assert "Skipped: 1" in tab.words
    shaped.write("recording_name", "traces")
    tab.click("recording_give")
    assert len(shaped.environment.now.recordings["traces"]) == 2
    assert "Skipped: 1" in tab.words
    (waiting,) = shaped.simulation.view().pending
    assert waiting.draft["total"] == 77.77  # type: ignore[union-attr, index, call-overload]  # a tool's request
    tab.app.toggle(key="recording_view_traces").set_value(True)
    assert HOSTILE in tab.run().literal
    assert tab.live_marks() == []
    tab.click("recording_drop_traces")
    assert shaped.environment.now.recordings == {}
    tab.click("recording_give")
    assert [call.arguments for call in shaped.environment.now.recordings["traces"]] == [
        {"order_id": "A-1001"},
        {"order_id": HOSTILE},
    ]


def test_a_recording_that_cannot_be_read_says_where(shaped: Shaped) -> None:
    """Text that is no JSON is named with its place, and cannot be given."""
    tab = shaped.open("Sources")
    shaped.write("recording_json", '{"x": ')
    assert "not JSON" in tab.literal
    assert tab.app.button(key="recording_give").disabled


def test_the_model_is_set_with_a_word_on_what_it_needs(shaped: Shaped) -> None:
    """While a name is typed the page says what is missing; a configuration that is no JSON is refused."""
    tab = shaped.open("Sources", sources_part="Model")
    assert "No model set" in tab.words
    shaped.write("model_name", "gemini-2.5-flash")
    assert "Cannot be used here" in tab.words
    assert "GOOGLE_API_KEY" in tab.literal
    shaped.write("model_json", '{"temperature": ')
    assert "Configuration: Line 1" in tab.click("model_save").literal
    shaped.write("model_json", '{"temperature": 0}')
    tab.click("model_save")
    settings = shaped.environment.settings
    tab.app.toggle(key="model_drafts").set_value(True)
    tab.run()
    assert shaped.environment.settings.drafts_by_model
    assert (settings.simulation_model, settings.simulation_model_configuration) == (
        "gemini-2.5-flash",
        {"temperature": 0},
    )


def test_a_person_decides_whether_the_model_looks_at_the_connections(shaped: Shaped) -> None:
    """It does once a model is set, until it is told not to; the switch follows the session."""
    tab = shaped.open("Sources", sources_part="Model")
    assert tab.app.toggle(key="model_connections").disabled
    shaped.environment.change(simulation_model="gemini-2.5-flash")
    assert tab.run().app.toggle(key="model_connections").value is True
    tab.app.toggle(key="model_connections").set_value(False)
    tab.run()
    assert not shaped.environment.settings.connections_by_model
    shaped.environment.change(connections_by_model=True)
    assert tab.run().app.toggle(key="model_connections").value is True


def test_the_source_of_a_tool_is_sent_only_after_a_switch_beside_which_it_stands(shaped: Shaped) -> None:
    """It is off, and cannot be switched on without a model; what would be sent is shown word for word before."""
    tab = shaped.open("Sources", sources_part="Model")
    assert tab.app.toggle(key="model_source").disabled
    shaped.environment.change(simulation_model="gemini-2.5-flash")
    assert tab.run().app.toggle(key="model_source").value is False
    tab.app.session_state["model_source_shown"] = True
    tab.run()
    tool = tab.app.selectbox(key="model_source_tool").value
    assert shaped.environment.sources_for_model()[tool] in [code.value for code in tab.app.code]
    tab.app.toggle(key="model_source").set_value(True)
    tab.run()
    assert shaped.environment.settings.source_to_model


def test_a_second_beginning_of_one_state_is_warned_of(shaped: Shaped) -> None:
    """Beside the table in which it was written: which tool's counts, letter for letter; it goes with its cause."""
    tab = shaped.open("Sources", sources_part="Memory")
    names = list(tab.app.data_editor[0].value["tool"])
    first, second = sorted((names.index("find_order"), names.index("cancel_order")))
    given = {"shared": "shop", "begins": f"A shop. {HOSTILE}"}
    shaped.edit("states_", edited_rows={first: given, second: {"shared": "shop", "begins": "Another."}})
    assert WARNED in tab.literal
    assert tab.live_marks() == []
    shaped.edit("states_", edited_rows={second: {"begins": ""}})
    assert WARNED not in tab.literal


def test_states_are_shared_and_cleared(shaped: Shaped) -> None:
    """Two tools share what they remember; its calls are listed, bounded, and forgotten on a click."""
    tab = shaped.open("Sources", sources_part="Memory")
    names = list(tab.app.data_editor[0].value["tool"])
    places = {name: names.index(name) for name in ("find_order", "cancel_order")}
    shaped.edit(
        "states_",
        edited_rows={
            places["find_order"]: {"shared": "shop", "begins": f"A shop. {HOSTILE}"},
            places["cancel_order"]: {"shared": "shop"},
        },
    )
    tools = shaped.environment.settings.tools
    assert {name: tool.share_state_id for name, tool in tools.items()} == dict.fromkeys(places, "shop")
    (waiting,) = shaped.simulation.view().pending
    shaped.simulation.answer(waiting, waiting.draft, wait=PATIENCE)  # type: ignore[union-attr]  # a tool's request
    tab.run()
    assert "1 of at most 20 calls" in tab.words
    assert HOSTILE in tab.literal
    assert tab.live_marks() == []
    tab.app.number_input(key="state_size").set_value(3)
    tab.run()
    assert shaped.environment.settings.max_tool_call_cache_size == 3
    tab.click("state_clear_shop")
    assert not any(state.calls for state in shaped.environment.world().states)


def test_a_schema_is_checked_as_it_is_typed(shaped: Shaped) -> None:
    """A broken schema says where; a sound one is saved, and the draft follows it; removing it puts things back."""
    tab = shaped.open("Sources", sources_part="Response schemas")
    tab.app.selectbox(key="schema_tool").set_value("find_order")
    tab.run()
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
