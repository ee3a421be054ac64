"""Tools share a state by its key: a beginning in words, and a bounded number of calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.environment.world.shared_state import SharedState, StateRegistry, registry_of
from simulator.environment.world.tool_settings import EnvironmentSettings, ToolSettings

ROOM = "Room environment: temperature 68F, humidity 45%, HVAC off"


def hvac() -> EnvironmentSettings:
    """Return the settings of two tools of one room."""
    tools = (
        ToolSettings(
            name="hvac_controller", share_state_id="room_environment", initial_state_description=ROOM
        ),
        ToolSettings(name="room_sensor", share_state_id="room_environment"),
        ToolSettings(name="lookup_user"),
    )
    return EnvironmentSettings(tools={tool.name: tool for tool in tools})


def test_two_tools_of_one_room_see_each_others_calls() -> None:
    """The controller's call is there when the sensor is asked, with its parameters, response and time.

    What was read before is a snapshot; tools without a shared state, registered or not, have one of their own name.
    """
    registry, warned = registry_of(hvac())
    assert warned == ()
    before = registry.get_state("room_environment")
    key = registry.state_key("hvac_controller")
    assert key == registry.state_key("room_sensor") == "room_environment"
    registry.cache_tool_call(
        "hvac_controller", key, {"status": "success"}, {"temperature": 72.0}, timestamp=5.0
    )
    assert registry.get_state(registry.state_key("room_sensor"))["previous_calls"] == [
        {
            "tool_name": "hvac_controller",
            "parameters": {"temperature": 72.0},
            "response": {"status": "success"},
            "timestamp": 5.0,
        }
    ]
    assert before == SharedState(initial_state=ROOM, previous_calls=[])
    for name in ("lookup_user", "stranger"):
        registry.cache_tool_call(name, registry.state_key(name), "x", timestamp=6.0)
    assert registry.list_states() == ["room_environment", "lookup_user", "stranger"]
    assert len(registry.get_state("room_environment")["previous_calls"]) == 1
    assert registry.get_state("nobody") == SharedState(initial_state=None, previous_calls=[])


def test_a_second_beginning_of_a_key_warns_and_the_first_stays() -> None:
    """Who describes one state twice hears of it; after clearing, it may begin anew."""
    registry = StateRegistry()
    registry.initialize_state_via_description("first", "env")
    with pytest.warns(UserWarning, match="'env' has already"):
        registry.initialize_state_via_description("second", "env")
    assert registry.get_state("env")["initial_state"] == "first"
    registry.clear_state("env")
    registry.initialize_state_via_description("third", "env")
    assert registry.get_state("env")["initial_state"] == "third"


def test_settings_with_two_beginnings_of_one_key_give_the_warning() -> None:
    """A page can show it, where nobody sees Python's warnings."""
    tools = [
        ToolSettings(name=name, share_state_id="env", initial_state_description=name)
        for name in ("one", "two")
    ]
    registry, warned = registry_of(EnvironmentSettings(tools={tool.name: tool for tool in tools}))
    assert len(warned) == 1
    assert "'env' has already" in warned[0]
    assert registry.get_state("env")["initial_state"] == "one"


@given(st.integers(1, 5), st.lists(st.sampled_from(["a", "b"]), max_size=20))
def test_each_key_keeps_its_latest_calls(most: int, keys: list[str]) -> None:
    """First in, first out, for each key by itself."""
    registry = StateRegistry(max_tool_call_cache_size=most)
    for number, key in enumerate(keys):
        registry.cache_tool_call("tool", key, number, timestamp=float(number))
    for key in ("a", "b"):
        numbers = [number for number, one in enumerate(keys) if one == key][-most:]
        assert [call["response"] for call in registry.get_state(key)["previous_calls"]] == numbers


def test_twenty_calls_are_kept_where_nothing_is_said_and_less_than_one_is_refused() -> None:
    """The bound is Strands' own."""
    registry = StateRegistry()
    for number in range(25):
        registry.cache_tool_call("t", "t", number, timestamp=0.0)
    assert [call["response"] for call in registry.get_state("t")["previous_calls"]] == list(range(5, 25))
    with pytest.raises(ValueError, match="at least 1"):
        StateRegistry(max_tool_call_cache_size=0)


def test_tools_are_listed_and_cleared_and_their_states_stay() -> None:
    """Of two tools of one name the second counts, and warns where it begins its state otherwise; after clearing there is none."""
    registry, _ = registry_of(hvac())
    assert registry.list_tools() == ["hvac_controller", "room_sensor", "lookup_user"]
    registry.register_tool(ToolSettings(name="lookup_user", share_state_id="users"))
    assert registry.state_key("lookup_user") == "users"
    again = hvac().tools["hvac_controller"]
    assert registry.register_tool(again) == ""
    assert registry.register_tool(again.model_copy(update={"initial_state_description": "another"}))
    assert registry.list_tools() == ["hvac_controller", "room_sensor", "lookup_user"]
    registry.clear_tools()
    assert registry.list_tools() == []
    assert registry.get_state("room_environment")["initial_state"] == ROOM
