"""The travel planner, played with answers that a person gives."""

from __future__ import annotations

from typing import Any

import pytest

from simulator import failed
from simulator.session.history import AgentMessage, FinalResponse, ToolCall
from tests.simulator.agents.playing import calls, last_words, play, play_real, scripted, tools
from tests.simulator.base.rows import for_each

NAME = "travel_planner"
TRIP = "Plan a trip from Oslo to Rome from 2026-05-03 to 2026-05-06 for 2 people with a Norwegian passport."
FINE: dict[str, Any] = {
    "get_weather": {"city": "Rome", "outlook": "sunny", "high": 25, "low": 15},
    "look_up_entry_rules": {"visa_required": False, "max_days": 90},
    "search_flights": {"flights": [{"flight_id": "X1", "price": 90}, {"flight_id": "X2", "price": 40}]},
    "search_hotels": {"hotels": [{"hotel_id": "H-1", "name": "Inn", "total": 200}]},
    "book_flight": {"booking_id": "B-1", "status": "confirmed"},
    "book_hotel": {"booking_id": "B-2", "status": "confirmed"},
}


def script(**changed: Any) -> Any:
    """Answer plausibly, save for what is changed."""
    return scripted(FINE | changed)


def test_a_whole_trip_goes_through_all_agents() -> None:
    """The root asks the weather and the advisor at once, then hands over to flights, and those to hotels."""
    session = play(NAME, TRIP, answer=script())
    found = [(one.agent, one.tool_name) for one in session.history if isinstance(one, ToolCall)]
    assert found == [
        ("travel_planner", "get_weather"),
        ("travel_planner", "entry_advisor"),
        ("entry_advisor", "look_up_entry_rules"),
        ("travel_planner", "transfer_to_agent"),
        ("flight_agent", "search_flights"),
        ("flight_agent", "search_flights"),
        ("flight_agent", "transfer_to_agent"),
        ("hotel_agent", "search_hotels"),
    ]
    final = session.history[-1]
    assert isinstance(final, FinalResponse)
    assert final.agent == "hotel_agent"


@pytest.mark.long
@for_each(
    ("changed", "words"),
    [
        ({"get_weather": {"outlook": "rainy", "high": 3}}, "rainy, 3 °C"),
        ({"get_weather": "bring a coat"}, "bring a coat"),
        ({"get_weather": failed(404, "No weather is known.")}, "not know"),
        ({"look_up_entry_rules": {"visa_required": True, "max_days": 30}}, "needs a visa"),
        ({"look_up_entry_rules": failed(404, "None.")}, "ask the embassy"),
        ({"look_up_entry_rules": {"visa_required": "maybe"}}, "not clear"),
        ({"search_flights": {"flights": []}}, "no flights"),
        ({"search_flights": {}}, "no flights"),
        ({"search_flights": [{"id": 7}]}, "is 7."),
        ({"search_flights": failed(503, "down")}, "not available"),
        ({"search_hotels": {"hotels": "none"}}, "no hotel"),
        ({"search_hotels": [{"name": "Cave", "price": "80.50 EUR"}]}, "Cave (no id) for 80.50 EUR"),
    ],
)
def test_a_changed_answer_changes_the_words(changed: dict[str, Any], words: str) -> None:
    """Each agent reports what the tools said, also where it is an error or no record at all."""
    session = play(NAME, TRIP, answer=script(**changed))
    said = [one.content for one in session.history if isinstance(one, (AgentMessage, FinalResponse))]
    assert any(words in text for text in said), said


def test_the_cheapest_flight_is_booked_as_the_answers_say_it() -> None:
    """Prices that a person changed decide which flight is booked; a missing name is asked for first."""
    asked = "Which is the cheapest day to fly from Oslo to Lisbon: 4, 5 or 6 May 2026? Book it."
    prices = tuple(
        {"flights": [{"flight_id": f"F{day}", "price": price}]} for day, price in ((4, 9), (5, 3), (6, 5))
    )
    session = play(NAME, asked, "Ada Lovelace", answer=script(search_flights=prices))
    assert calls(session)[-1] == ("book_flight", {"flight_id": "F5", "passenger_name": "Ada Lovelace"})
    assert "B-1" in last_words(session)


def test_several_cities_are_asked_for_at_once() -> None:
    """Three cities are three calls in one turn of the model, before any answer."""
    pending: list[str] = []
    session = play(NAME, "What is the weather in Rome, Oslo and Athens?", answer=script())
    for entry in session.history[1:4]:
        assert isinstance(entry, ToolCall)
        pending.append(str(entry.arguments["city"]))
    assert pending == ["Rome", "Oslo", "Athens"]


def test_a_hotel_is_booked_by_its_own_agent() -> None:
    """A booking in one sentence: transfer, search, book, with the real tools."""
    session = play_real(NAME, "Book a hotel in Vienna from 2026-06-12 for 3 nights. My name is Ada Lovelace.")
    assert tools(session) == ["transfer_to_agent", "search_hotels", "book_hotel"]
    booked = {"hotel_id": "H-VIE-1", "check_in": "2026-06-12", "nights": 3, "guest_name": "Ada Lovelace"}
    assert calls(session)[-1] == ("book_hotel", booked)


def test_a_later_turn_goes_on_where_the_last_one_ended() -> None:
    """The sub-agent that answered last takes the next message, and hands back what is not its own."""
    session = play(
        NAME,
        "I want to fly from Oslo to Rome on 2026-05-03",
        "And the weather?",
        "Which hotel for 2 nights?",
        answer=script(),
    )
    assert [name for name in tools(session) if name != "transfer_to_agent"] == [
        "search_flights",
        "get_weather",
        "search_hotels",
    ]
    assert "Inn" in last_words(session)


@for_each(
    ("said", "question"),
    [
        ("Hello", "I plan trips"),
        ("I need a flight", "Where "),
        ("A flight to Rome", "which city"),
        ("A flight from Oslo to Rome", "which day"),
        ("Do I need a visa for Japan?", "passport"),
    ],
)
def test_what_is_missing_is_asked_for(said: str, question: str) -> None:
    """Each gap in the request leads to one question."""
    assert question in last_words(play_real(NAME, said))
