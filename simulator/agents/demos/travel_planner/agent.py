"""The travel planner: the coordinator, the two agents that it hands over to, the one that it asks as a tool, and how each of them decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool

from simulator.agents.demo_model import (
    Answer,
    DemoCall,
    DemoModel,
    Steps,
    Talk,
    ToolFailure,
    asked,
    listed,
    money,
    pick_number,
    pick_text,
    quoted,
    together,
)
from simulator.agents.demos.travel_planner.tools import (
    COUNTRIES,
    PEOPLES,
    book_flight,
    book_hotel,
    get_weather,
    look_up_entry_rules,
    search_flights,
    search_hotels,
)
from simulator.agents.demos.travel_planner.trips import (
    DONE_BY,
    ENTRY,
    FLIGHTS,
    HOTELS,
    WEATHER,
    Trip,
    country_of,
    read_trip,
)

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


_HELP = (
    "I plan trips: the weather, the papers, flights and hotels. For instance: plan a trip from Oslo to Rome from "
    "3 to 6 May 2026 for 2 people with a Norwegian passport."
)


class CoordinatorModel(DemoModel):
    """Decides as the travel planner's instruction says."""

    def think(self, talk: Talk) -> Steps[str]:
        """Answer what is the coordinator's own, and hand the rest over."""
        trip = read_trip(talk)
        if not trip.wants:
            return "What shall I book: a flight or a hotel?" if trip.book else _HELP
        if not trip.cities:
            return "Where do you want to go?"
        if ENTRY in trip.wants and not trip.passport:
            return "Which country's passport do you hold?"
        lookups = [_weather(city) for city in trip.cities if WEATHER in trip.wants]
        if ENTRY in trip.wants:
            countries = dict.fromkeys(map(country_of, trip.cities))
            lookups += [_papers(trip, country) for country in countries]
        words = yield from together(lookups)
        return (yield from hand_over(talk, trip, COORDINATOR, " ".join(words)))


def _weather(city: str) -> Steps[str]:
    answer = yield from asked("get_weather", city=city)
    if answer.failure:
        return f"I do not know the weather in {city}: {sorry(answer.failure)}"
    record = answer.record("weather", "data", "forecast")
    outlook = pick_text(record, "outlook", "forecast", "condition", "weather")
    high, low = pick_number(record, "high", "temperature", "temp"), pick_number(record, "low")
    if not outlook and high is None:
        return f"About the weather in {city} I was told: {answer}."
    degrees = "" if high is None else f", {'' if low is None else f'{low:.0f} to '}{high:.0f} °C"
    return f"The weather in {city} is usually {outlook or 'this'}{degrees}."


def _papers(trip: Trip, country: str) -> Steps[str]:
    request = f"Does a traveller with a passport of {trip.passport} need a visa for {country}?"
    answer = yield from asked("entry_advisor", request=request)
    if answer.failure:
        return f"I do not know the papers for {country}: {sorry(answer.failure)}"
    if answer.is_empty:
        return f"Nobody could tell me the papers for {country}; please ask the embassy."
    return (
        answer.value.strip() if isinstance(answer.value, str) else f"About {country}: {quoted(answer.value)}."
    )


_FLIGHT_WRAPPERS = ("flights", "results", "data", "options", "items")
_FARES = ("price", "total", "amount", "fare")
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
        before = found_before(talk, "search_flights", *_FLIGHT_WRAPPERS)
        known = [trip.flight_id] if trip.flight_id else _to_book(trip, before)
        if trip.book and known:
            return (yield from hand_over(talk, trip, FLIGHT_AGENT, (yield from _flight_booked(known, trip))))
        question = _question(trip)
        if question:
            return question
        found = yield from together(_flight_search(*search) for search in _searches(trip))
        flights = [flight for _, flight in found if flight]
        words = " ".join(text for text, _ in found) + _best_of(trip, flights)
        known = _to_book(trip, [[flight] for flight in flights])
        if trip.book and known:
            words = f"{words} {yield from _flight_booked(known, trip)}"
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


def _flight_search(origin: str, destination: str, day: str) -> Steps[tuple[str, Mapping[str, Any]]]:
    """Search one day; gives the words for it and the cheapest flight."""
    answer = yield from asked("search_flights", origin=origin, destination=destination, date=day)
    leg = f"from {origin} to {destination} on {day}"
    if answer.failure:
        return f"I could not search flights {leg}: {sorry(answer.failure)}", {}
    flight = cheapest(answer.records(*_FLIGHT_WRAPPERS), *_FARES)
    if not flight:
        return f"I found no flights {leg}.", {}
    price = pick_number(flight, *_FARES)
    cost = "" if price is None else f" for {money(price, pick_text(flight, 'currency', default='EUR'))}"
    departs = pick_text(flight, "departs", "departure", "departure_time")
    at = f" at {departs}" if departs else ""
    return f"The cheapest flight {leg} is {_flight_id(flight) or 'one without an id'}{at}{cost}.", flight


def _best_of(trip: Trip, flights: Sequence[Mapping[str, Any]]) -> str:
    """Name the winner where days were to be compared, and there is more than one."""
    best = _flight_id(cheapest(flights, *_FARES)) if trip.days_to_compare and len(flights) > 1 else ""
    return f" The cheapest of all is {best}." if best else ""


def _to_book(trip: Trip, found: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """Choose the cheapest flight of all, or of each leg where it is one trip there and back."""
    best = [cheapest(flights, *_FARES) for flights in found]
    if trip.days_to_compare or len(trip.cities) > 1:
        best = [cheapest(best, *_FARES)]
    return list(dict.fromkeys(filter(None, map(_flight_id, best))))


def _flight_booked(flight_ids: Sequence[str], trip: Trip) -> Steps[str]:
    if not trip.name:
        return f"On which name shall I book {listed(f'flight {one}' for one in flight_ids)}?"
    return " ".join((yield from together(_book(one, trip.name) for one in flight_ids)))


def _book(flight_id: str, name: str) -> Steps[str]:
    answer = yield from asked("book_flight", flight_id=flight_id, passenger_name=name)
    return booked(answer, f"flight {flight_id} for {name}")


def _question(trip: Trip) -> str:
    if not trip.cities:
        return "Where do you want to fly to?"
    if not trip.origin:
        return "From which city do you want to fly?"
    if not trip.days:
        return "On which day do you want to fly? Please give it with the year, as in 2026-05-03."
    return ""


def _flight_id(flight: Mapping[str, Any]) -> str:
    return pick_text(flight, "flight_id", "id", "flight_number", "number")


_HOTEL_WRAPPERS = ("hotels", "results", "data", "options", "items")
_RATES = ("total", "price_per_night", "price", "amount")


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
        before = [
            hotel for hotels in found_before(talk, "search_hotels", *_HOTEL_WRAPPERS) for hotel in hotels
        ]
        if trip.book and (known := trip.hotel_id or _hotel_id(cheapest(before, *_RATES))):
            return (yield from hand_over(talk, trip, HOTEL_AGENT, (yield from _hotel_booked(known, trip))))
        if not trip.cities:
            return "In which city do you need a hotel?"
        if not trip.days:
            return "From which day on? Please give it with the year, as in 2026-05-03."
        found = yield from together(_hotel_search(city, trip) for city in trip.cities)
        words = " ".join(text for text, _ in found)
        if trip.book and (known := _hotel_id(cheapest((hotel for _, hotel in found if hotel), *_RATES))):
            words = f"{words} {yield from _hotel_booked(known, trip)}"
        return (yield from hand_over(talk, trip, HOTEL_AGENT, words))


def _hotel_search(city: str, trip: Trip) -> Steps[tuple[str, Mapping[str, Any]]]:
    """Search one city; gives the words for it and the cheapest hotel."""
    guests = trip.guests or 1
    answer = yield from asked(
        "search_hotels", city=city, check_in=trip.days[0], nights=trip.stay, guests=guests
    )
    nights = f"{trip.stay} night{'s' * (trip.stay != 1)}"
    if answer.failure:
        return f"I could not search hotels in {city}: {sorry(answer.failure)}", {}
    hotel = cheapest(answer.records(*_HOTEL_WRAPPERS), *_RATES)
    if not hotel:
        return f"I found no hotel in {city} from {trip.days[0]} on.", {}
    price = pick_number(hotel, *_RATES)
    cost = "" if price is None else f" for {money(price, pick_text(hotel, 'currency', default='EUR'))}"
    name = pick_text(hotel, "name", "title", default="a hotel without a name")
    return (
        f"The cheapest hotel in {city} for {nights} is {name} ({_hotel_id(hotel) or 'no id'}){cost}.",
        hotel,
    )


def _hotel_booked(hotel_id: str, trip: Trip) -> Steps[str]:
    if not trip.name:
        return f"On which name shall I book hotel {hotel_id}?"
    if not trip.days:
        return "From which day on? Please give it with the year, as in 2026-05-03."
    stay = {"check_in": trip.days[0], "nights": trip.stay}
    answer = yield from asked("book_hotel", hotel_id=hotel_id, guest_name=trip.name, **stay)
    return booked(answer, f"hotel {hotel_id} for {trip.name}")


def _hotel_id(hotel: Mapping[str, Any]) -> str:
    return pick_text(hotel, "hotel_id", "id", "code")


_QUESTION = re.compile(
    r"passport (?:of|from) (?P<passport>.+?) need a visa for (?P<country>[^?]+)", re.IGNORECASE
)


class EntryAdvisorModel(DemoModel):
    """Decides as the entry advisor's instruction says."""

    def think(self, talk: Talk) -> Steps[str]:
        """Look up the rule for the passport and the country of the request."""
        passport, country = _countries(talk.said)
        if not (passport and country):
            return "Please name the country of the passport and the country to enter."
        answer = yield from asked(
            "look_up_entry_rules", passport_country=passport, destination_country=country
        )
        if answer.failure and answer.failure.is_missing:
            return f"I have no rule for a passport of {passport} in {country}; please ask the embassy."
        if answer.failure:
            return f"I could not look up the rules for {country}: {sorry(answer.failure)}"
        record = answer.record("rule", "data", passport_country=passport)
        needed = record.get("visa_required")
        if not isinstance(needed, bool):
            return f"The rules for {country} are not clear ({answer}); please ask the embassy."
        days = pick_number(record, "max_days", "days")
        length = "" if days is None else f" for up to {days:.0f} days"
        need = "needs a visa" if needed else "needs no visa"
        return f"A traveller with a passport of {passport} {need} to enter {country}{length}."


def _countries(said: str) -> tuple[str, str]:
    match = _QUESTION.search(said)
    if match:
        return match["passport"].strip(), match["country"].strip()
    named = [PEOPLES[word] for word in re.findall(r"[a-z]+", said.lower()) if word in PEOPLES]
    known = [
        country for country in dict.fromkeys((*COUNTRIES.values(), *PEOPLES.values())) if country in said
    ]
    found = list(dict.fromkeys((*named, *sorted(known, key=said.index))))
    return (found[0], found[1]) if len(found) > 1 else ("", "")


entry_advisor = LlmAgent(
    name="entry_advisor",
    description="Says which papers a traveller needs: give the passport's country and the destination.",
    model=EntryAdvisorModel(model="entry-advisor-demo"),
    instruction="""\
Answer with one sentence: whether a traveller with that passport needs a visa for that country, and for how long
it is good. Look it up with look_up_entry_rules; where it has no rule, say that the embassy must be asked.
""",
    tools=[look_up_entry_rules],
)

flight_agent = LlmAgent(
    name="flight_agent",
    description="Searches and books flights.",
    model=FlightModel(model="flight-demo"),
    instruction="""\
You search and book flights. Search all dates and cities that the traveller asks about at once. Name the cheapest
flight of each search with its id. Book only when you are asked to and know the passenger's name.
Hand over to hotel_agent where a hotel is wanted too, and to travel_planner for everything else.
""",
    tools=[search_flights, book_flight],
)

hotel_agent = LlmAgent(
    name="hotel_agent",
    description="Searches and books hotels.",
    model=HotelModel(model="hotel-demo"),
    instruction="""\
You search and book hotels. Search all cities that the traveller asks about at once. Name the cheapest hotel of
each search with its id. Book only when you are asked to and know the guest's name.
Hand over to flight_agent where a flight is wanted too, and to travel_planner for everything else.
""",
    tools=[search_hotels, book_hotel],
)

root_agent = LlmAgent(
    name="travel_planner",
    description="Plans a trip: the weather and the papers itself, flights and hotels through its sub-agents.",
    model=CoordinatorModel(model="coordinator-demo"),
    instruction="""\
You plan trips. Ask get_weather about the weather and entry_advisor about visas, all cities at once. Hand over to
flight_agent for flights and to hotel_agent for hotels, flights first. Ask for what is missing: the destination,
the date of departure, the city to leave from.
""",
    tools=[get_weather, AgentTool(entry_advisor)],
    sub_agents=[flight_agent, hotel_agent],
)
