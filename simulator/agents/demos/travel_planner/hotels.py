"""How the hotel agent decides: search every city at once, name the cheapest, book when asked to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.agents.demo_model import (
    DemoModel,
    Steps,
    Talk,
    asked,
    call,
    money,
    pick_number,
    pick_text,
    together,
)
from simulator.agents.demos.travel_planner.handover import (
    HOTEL_AGENT,
    booked,
    cheapest,
    found_before,
    hand_over,
    sorry,
)
from simulator.agents.demos.travel_planner.trips import HOTELS, Trip, read_trip

_WRAPPERS = ("hotels", "results", "data", "options", "items")
_PRICES = ("total", "price_per_night", "price", "amount")


class HotelModel(DemoModel):
    """Decides as the hotel agent's instruction says."""

    def think(self, talk: Talk) -> Steps[str]:
        """Search or book, and hand the rest over."""
        trip = read_trip(talk)
        hotels_wanted = HOTELS in trip.wants or (trip.book and not trip.wants)
        if trip.wants and not hotels_wanted:
            return (yield from hand_over(talk, trip, HOTEL_AGENT, ""))
        if not hotels_wanted:
            return "I search and book hotels. Tell me the city, the first night, as in 2026-05-03, and how many nights."
        before = [hotel for hotels in found_before(talk, "search_hotels", *_WRAPPERS) for hotel in hotels]
        if trip.book and (known := trip.hotel_id or _id(cheapest(before, *_PRICES))):
            return (yield from hand_over(talk, trip, HOTEL_AGENT, (yield from _booked(known, trip))))
        if not trip.cities:
            return "In which city do you need a hotel?"
        if not trip.days:
            return "From which day on? Please give it with the year, as in 2026-05-03."
        found = yield from together(_search(city, trip) for city in trip.cities)
        words = " ".join(text for text, _ in found)
        if trip.book and (known := _id(cheapest((hotel for _, hotel in found if hotel), *_PRICES))):
            words = f"{words} {yield from _booked(known, trip)}"
        return (yield from hand_over(talk, trip, HOTEL_AGENT, words))


def _search(city: str, trip: Trip) -> Steps[tuple[str, Mapping[str, Any]]]:
    """Search one city; gives the words for it and the cheapest hotel."""
    guests = trip.guests or 1
    wanted = call("search_hotels", city=city, check_in=trip.days[0], nights=trip.stay, guests=guests)
    answer = yield from asked(wanted)
    nights = f"{trip.stay} night{'s' * (trip.stay != 1)}"
    if answer.failure:
        return f"I could not search hotels in {city}: {sorry(answer.failure)}", {}
    hotel = cheapest(answer.records(*_WRAPPERS), *_PRICES)
    if not hotel:
        return f"I found no hotel in {city} from {trip.days[0]} on.", {}
    price = pick_number(hotel, *_PRICES)
    cost = "" if price is None else f" for {money(price, pick_text(hotel, 'currency', default='EUR'))}"
    name = pick_text(hotel, "name", "title", default="a hotel without a name")
    return f"The cheapest hotel in {city} for {nights} is {name} ({_id(hotel) or 'no id'}){cost}.", hotel


def _booked(hotel_id: str, trip: Trip) -> Steps[str]:
    if not trip.name:
        return f"On which name shall I book hotel {hotel_id}?"
    if not trip.days:
        return "From which day on? Please give it with the year, as in 2026-05-03."
    stay = {"check_in": trip.days[0], "nights": trip.stay}
    answer = yield from asked(call("book_hotel", hotel_id=hotel_id, guest_name=trip.name, **stay))
    return booked(answer, f"hotel {hotel_id} for {trip.name}")


def _id(hotel: Mapping[str, Any]) -> str:
    return pick_text(hotel, "hotel_id", "id", "code")
