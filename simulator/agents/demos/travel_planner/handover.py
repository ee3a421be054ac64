"""Who of the travel planner's agents does what, and how one hands over to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simulator.agents.demo_model import Answer, DemoCall, Steps, Talk, ToolFailure, pick_number, pick_text
from simulator.agents.demos.travel_planner.trips import DONE_BY, ENTRY, FLIGHTS, HOTELS, WEATHER, Trip

COORDINATOR, FLIGHT_AGENT, HOTEL_AGENT = "travel_planner", "flight_agent", "hotel_agent"

_OWNERS = {WEATHER: COORDINATOR, ENTRY: COORDINATOR, FLIGHTS: FLIGHT_AGENT, HOTELS: HOTEL_AGENT}


def next_agent(talk: Talk, trip: Trip, me: str) -> str:
    """Give the agent that shall go on after `me`, or an empty text: each wish is looked after once in a turn."""
    for want, owner in _OWNERS.items():
        open_wish = want in trip.wants and not any(tool in talk.turn.others_called for tool in DONE_BY[want])
        if open_wish and owner != me and owner not in _handed_over_to(talk):
            return owner
    return ""


def hand_over(talk: Talk, trip: Trip, me: str, words: str) -> Steps[str]:
    """Say `words`, and let the next agent go on where something is left; gives the words for a final answer."""
    target = next_agent(talk, trip, me)
    if target and "transfer_to_agent" in talk.tools:
        yield [DemoCall("transfer_to_agent", {"agent_name": target}, spoken=words)]
    return words or "I could not hand this over to the agent that does it. What else can I do for you?"


def cheapest(records: Iterable[Mapping[str, Any]], *prices: str) -> Mapping[str, Any]:
    """Give the record with the lowest price; one without a price comes last; an empty dict where there is none."""
    found = list(records)
    free = float("inf")
    return min(found, key=lambda one: _or(pick_number(one, *prices), free)) if found else {}


def found_before(talk: Talk, tool: str, *wrappers: str) -> list[list[dict[str, Any]]]:
    """Give what the searches of the latest turn that had any have found, search by search."""
    for turn in reversed(talk.turns[:-1]):
        answers = [done.answer for done in turn.answered if done.tool == tool]
        found = [answer.records(*wrappers) for answer in answers if not answer.failure]
        if any(found):
            return [records for records in found if records]
    return []


def booked(answer: Answer, thing: str) -> str:
    """Word the answer to a booking."""
    if answer.failure:
        return f"I could not book {thing}: {sorry(answer.failure)}"
    booking = answer.record("booking", "data")
    booking_id = pick_text(booking, "booking_id", "id", "reference", "confirmation")
    if not booking_id:
        return f"I asked to book {thing}, but got no booking id; the answer was: {answer}."
    status = pick_text(booking, "status", default="confirmed")
    return f"The booking of {thing} is {status}; its id is {booking_id}."


def sorry(failure: ToolFailure) -> str:
    """Word a failure for the traveller."""
    if failure.is_busy:
        return f"the service is not available at the moment ({failure}). Please try again later."
    return f"{failure}.".replace("..", ".")


def _handed_over_to(talk: Talk) -> set[str]:
    calls = (done for done in talk.turn.answered if done.tool == "transfer_to_agent")
    return {str(call.arguments.get("agent_name")) for call in calls}


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
