"""How the flight agent decides: search every day and city at once, name the cheapest, book when asked to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.agents.demo_model import (
    DemoModel,
    Steps,
    Talk,
    asked,
    call,
    listed,
    money,
    pick_number,
    pick_text,
    together,
)
from simulator.agents.demos.travel_planner.handover import (
    COORDINATOR,
    FLIGHT_AGENT,
    booked,
    cheapest,
    found_before,
    hand_over,
    next_agent,
    sorry,
)
from simulator.agents.demos.travel_planner.trips import FLIGHTS, Trip, read_trip

_WRAPPERS = ("flights", "results", "data", "options", "items")
_PRICES = ("price", "total", "amount", "fare")
_MOST_SEARCHES = 6


class FlightModel(DemoModel):
    """Decides as the flight agent's instruction says."""

    def think(self, talk: Talk) -> Steps[str]:
        """Search or book, and hand the rest over."""
        trip = read_trip(talk)
        flights_wanted = FLIGHTS in trip.wants or (trip.book and not trip.wants)
        if trip.wants and (not flights_wanted or next_agent(talk, trip, FLIGHT_AGENT) == COORDINATOR):
            words = yield from hand_over(talk, trip, FLIGHT_AGENT, "")
            if not flights_wanted:
                return words
        if not flights_wanted:
            return "I search and book flights. Tell me from where to where, and the day, as in 2026-05-03."
        before = found_before(talk, "search_flights", *_WRAPPERS)
        known = [trip.flight_id] if trip.flight_id else _to_book(trip, before)
        if trip.book and known:
            return (yield from hand_over(talk, trip, FLIGHT_AGENT, (yield from _booked(known, trip))))
        question = _question(trip)
        if question:
            return question
        found = yield from together(_search(*search) for search in _searches(trip))
        flights = [flight for _, flight in found if flight]
        words = " ".join(text for text, _ in found) + _best_of(trip, flights)
        known = _to_book(trip, [[flight] for flight in flights])
        if trip.book and known:
            words = f"{words} {yield from _booked(known, trip)}"
        return (yield from hand_over(talk, trip, FLIGHT_AGENT, words))


def _searches(trip: Trip) -> list[tuple[str, str, str]]:
    """List what to search: origin, destination and day. A second day that is no choice is the day of the return."""
    if trip.days_to_compare or len(trip.days) == 1:
        searches = [(trip.origin, city, day) for city in trip.cities for day in trip.days]
    else:
        there, back = trip.days[0], trip.days[-1]
        searches = [
            leg for city in trip.cities for leg in ((trip.origin, city, there), (city, trip.origin, back))
        ]
    return searches[:_MOST_SEARCHES]


def _search(origin: str, destination: str, day: str) -> Steps[tuple[str, Mapping[str, Any]]]:
    """Search one day; gives the words for it and the cheapest flight."""
    answer = yield from asked(call("search_flights", origin=origin, destination=destination, date=day))
    leg = f"from {origin} to {destination} on {day}"
    if answer.failure:
        return f"I could not search flights {leg}: {sorry(answer.failure)}", {}
    flight = cheapest(answer.records(*_WRAPPERS), *_PRICES)
    if not flight:
        return f"I found no flights {leg}.", {}
    price = pick_number(flight, *_PRICES)
    cost = "" if price is None else f" for {money(price, pick_text(flight, 'currency', default='EUR'))}"
    departs = pick_text(flight, "departs", "departure", "departure_time")
    at = f" at {departs}" if departs else ""
    return f"The cheapest flight {leg} is {_id(flight) or 'one without an id'}{at}{cost}.", flight


def _best_of(trip: Trip, flights: Sequence[Mapping[str, Any]]) -> str:
    """Name the winner where days were to be compared, and there is more than one."""
    best = _id(cheapest(flights, *_PRICES)) if trip.days_to_compare and len(flights) > 1 else ""
    return f" The cheapest of all is {best}." if best else ""


def _to_book(trip: Trip, found: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """Choose the cheapest flight of all, or of each leg where it is one trip there and back."""
    best = [cheapest(flights, *_PRICES) for flights in found]
    if trip.days_to_compare or len(trip.cities) > 1:
        best = [cheapest(best, *_PRICES)]
    return list(dict.fromkeys(filter(None, map(_id, best))))


def _booked(flight_ids: Sequence[str], trip: Trip) -> Steps[str]:
    if not trip.name:
        return f"On which name shall I book {listed(f'flight {one}' for one in flight_ids)}?"
    return " ".join((yield from together(_book(one, trip.name) for one in flight_ids)))


def _book(flight_id: str, name: str) -> Steps[str]:
    answer = yield from asked(call("book_flight", flight_id=flight_id, passenger_name=name))
    return booked(answer, f"flight {flight_id} for {name}")


def _question(trip: Trip) -> str:
    if not trip.cities:
        return "Where do you want to fly to?"
    if not trip.origin:
        return "From which city do you want to fly?"
    if not trip.days:
        return "On which day do you want to fly? Please give it with the year, as in 2026-05-03."
    return ""


def _id(flight: Mapping[str, Any]) -> str:
    return pick_text(flight, "flight_id", "id", "flight_number", "number")
