"""How the coordinator decides: the weather and the papers at once, then hand over for flights and hotels."""

from __future__ import annotations

from simulator.agents.demo_model import (
    DemoModel,
    Steps,
    Talk,
    asked,
    call,
    pick_number,
    pick_text,
    quoted,
    together,
)
from simulator.agents.demos.travel_planner.handover import COORDINATOR, hand_over, sorry
from simulator.agents.demos.travel_planner.trips import ENTRY, WEATHER, Trip, country_of, read_trip

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
    answer = yield from asked(call("get_weather", city=city))
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
    answer = yield from asked(call("entry_advisor", request=request))
    if answer.failure:
        return f"I do not know the papers for {country}: {sorry(answer.failure)}"
    if answer.is_empty:
        return f"Nobody could tell me the papers for {country}; please ask the embassy."
    return (
        answer.value.strip() if isinstance(answer.value, str) else f"About {country}: {quoted(answer.value)}."
    )
