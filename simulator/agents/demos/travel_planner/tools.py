"""The travel planner's tools, and the cities, countries and peoples that it knows: a small timetable, hotels, the weather, and entry rules, all generated."""

# ruff: noqa: D417 - the model reads these docstrings, and ADK fills in `tool_context` behind its back
# No `from __future__ import annotations` here: ADK reads the annotations of tools to tell the model about them.

from typing import Literal

from google.adk.tools.tool_context import ToolContext
from typing_extensions import TypedDict

AIRPORTS = {
    "Athens": "ATH",
    "Bergen": "BGO",
    "Berlin": "BER",
    "Copenhagen": "CPH",
    "Lisbon": "LIS",
    "London": "LON",
    "Madrid": "MAD",
    "New York": "NYC",
    "Oslo": "OSL",
    "Paris": "PAR",
    "Rome": "ROM",
    "Tokyo": "TYO",
    "Vienna": "VIE",
}

COUNTRIES = {
    "Athens": "Greece",
    "Bergen": "Norway",
    "Berlin": "Germany",
    "Copenhagen": "Denmark",
    "Lisbon": "Portugal",
    "London": "United Kingdom",
    "Madrid": "Spain",
    "New York": "United States",
    "Oslo": "Norway",
    "Paris": "France",
    "Rome": "Italy",
    "Tokyo": "Japan",
    "Vienna": "Austria",
}

PEOPLES = {
    "american": "United States",
    "austrian": "Austria",
    "british": "United Kingdom",
    "danish": "Denmark",
    "french": "France",
    "german": "Germany",
    "greek": "Greece",
    "indian": "India",
    "italian": "Italy",
    "japanese": "Japan",
    "norwegian": "Norway",
    "portuguese": "Portugal",
    "spanish": "Spain",
    "swedish": "Sweden",
}


CURRENCY = "EUR"

_NOT_FOUND, _UNPROCESSABLE = 404, 422
_FIRST_BOOKING = 7001
_VISA_FREE_BLOC = frozenset(
    ("Norway", "Italy", "Portugal", "Germany", "France", "Spain", "Austria", "Denmark", "Greece", "Sweden")
)


class Flight(TypedDict):
    """One flight with a free seat."""

    flight_id: str
    origin: str
    destination: str
    date: str
    departs: str
    arrives: str
    price: float
    currency: str


class FlightList(TypedDict):
    """What a search for flights found, cheapest first."""

    flights: list[Flight]


class Hotel(TypedDict):
    """One hotel with a free room; `total` is for all nights."""

    hotel_id: str
    name: str
    city: str
    stars: int
    price_per_night: float
    total: float
    currency: str


class HotelList(TypedDict):
    """What a search for hotels found, cheapest first."""

    hotels: list[Hotel]


class Booking(TypedDict):
    """A seat or a room that is booked."""

    booking_id: str
    status: Literal["confirmed"]
    name: str


class Weather(TypedDict):
    """The usual weather of a place; temperatures in degrees Celsius."""

    city: str
    outlook: Literal["sunny", "cloudy", "rainy", "windy"]
    high: int
    low: int


class EntryRule(TypedDict):
    """Whether a passport is enough."""

    passport_country: str
    destination_country: str
    visa_required: bool
    max_days: int


class ToolError(TypedDict):
    """Why a tool found or did nothing."""

    error_code: int
    error_message: str


BOOKINGS: list[Booking] = []
"""Everything that was really booked in this process. No undo brings one back: a side effect."""


def search_flights(origin: str, destination: str, date: str) -> FlightList | ToolError:
    """Searches the flights of one day.

    Args:
        origin: The city to leave from, for instance "Oslo".
        destination: The city to fly to, for instance "Rome".
        date: The day of departure, as "YYYY-MM-DD".

    Returns:
        The flights of that day, cheapest first; or an error with code 404 for a city without an airport.
    """
    for city in (origin, destination):
        if city not in AIRPORTS:
            return ToolError(error_code=_NOT_FOUND, error_message=f"No airport is known in {city}.")
    base = 60 + _spread(origin + destination + date, 140)
    flights = [
        Flight(
            flight_id=f"{AIRPORTS[origin][0]}{AIRPORTS[destination][0]}{number}-{date[5:7]}{date[8:10]}",
            origin=origin,
            destination=destination,
            date=date,
            departs=f"{hour:02}:10",
            arrives=f"{hour + 3:02}:05",
            price=float(base + extra),
            currency=CURRENCY,
        )
        for number, hour, extra in ((410, 8, 0), (412, 14, 35))
    ]
    return FlightList(flights=flights)


def book_flight(flight_id: str, passenger_name: str, tool_context: ToolContext) -> Booking | ToolError:
    """Books a seat. It is paid at once.

    Args:
        flight_id: The flight's id, out of a search.
        passenger_name: Who flies, as in the passport.

    Returns:
        The booking with its id; or an error with code 422 where the name is missing.
    """
    return _book(tool_context, flight_id, passenger_name)


def search_hotels(city: str, check_in: str, nights: int, guests: int = 1) -> HotelList | ToolError:
    """Searches hotels with a free room.

    Args:
        city: The city, for instance "Rome".
        check_in: The first night, as "YYYY-MM-DD".
        nights: How many nights.
        guests: How many people share the room.

    Returns:
        The hotels, cheapest first; or an error with code 404 for a city without hotels.
    """
    if city not in AIRPORTS:
        return ToolError(error_code=_NOT_FOUND, error_message=f"No hotel is known in {city}.")
    hotels = []
    for place, (name, stars, extra) in enumerate((("Station Inn", 3, 0), ("Garden Palace", 4, 65)), start=1):
        price = float(55 + _spread(city + check_in[:7], 60) + extra + 20 * (guests - 1))
        hotels.append(
            Hotel(
                hotel_id=f"H-{AIRPORTS[city]}-{place}",
                name=f"{city} {name}",
                city=city,
                stars=stars,
                price_per_night=price,
                total=price * nights,
                currency=CURRENCY,
            )
        )
    return HotelList(hotels=hotels)


def book_hotel(
    hotel_id: str, check_in: str, nights: int, guest_name: str, tool_context: ToolContext
) -> Booking | ToolError:
    """Books a room. It is paid at once.

    Args:
        hotel_id: The hotel's id, out of a search.
        check_in: The first night, as "YYYY-MM-DD".
        nights: How many nights.
        guest_name: On whose name the room is booked.

    Returns:
        The booking with its id; or an error with code 422 where the name is missing.
    """
    if nights < 1 or not check_in:
        return ToolError(
            error_code=_UNPROCESSABLE, error_message="Give a check-in day and at least one night."
        )
    return _book(tool_context, hotel_id, guest_name)


def get_weather(city: str) -> Weather | ToolError:
    """Tells the usual weather of a city at this time of the year.

    Args:
        city: The city, for instance "Rome".

    Returns:
        The outlook, and the usual high and low in degrees Celsius; or an error with code 404.
    """
    if city not in AIRPORTS:
        return ToolError(error_code=_NOT_FOUND, error_message=f"No weather is known for {city}.")
    outlooks: tuple[Literal["sunny", "cloudy", "rainy", "windy"], ...] = ("sunny", "cloudy", "rainy", "windy")
    high = 12 + _spread(city, 16)
    return Weather(city=city, outlook=outlooks[_spread(city, len(outlooks))], high=high, low=high - 8)


def look_up_entry_rules(passport_country: str, destination_country: str) -> EntryRule | ToolError:
    """Looks up whether a traveller needs a visa.

    Args:
        passport_country: The country that issued the passport, for instance "Norway".
        destination_country: The country to enter, for instance "Japan".

    Returns:
        Whether a visa is needed and how many days the stay may last; or an error with code 404 where no rule is
        known.
    """
    known = frozenset(COUNTRIES.values()) | _VISA_FREE_BLOC
    if passport_country not in known or destination_country not in known:
        missing = passport_country if passport_country not in known else destination_country
        return ToolError(error_code=_NOT_FOUND, error_message=f"No entry rules are known for {missing}.")
    inside = {passport_country, destination_country} <= _VISA_FREE_BLOC
    return EntryRule(
        passport_country=passport_country,
        destination_country=destination_country,
        visa_required=not inside and passport_country not in _VISA_FREE_BLOC,
        max_days=365 if inside else 90,
    )


def _book(tool_context: ToolContext, thing: str, name: str) -> Booking | ToolError:
    if not name.strip():
        return ToolError(error_code=_UNPROCESSABLE, error_message=f"On whose name shall {thing} be booked?")
    booked = list(tool_context.state.get("bookings") or [])
    booking = Booking(booking_id=f"B-{_FIRST_BOOKING + len(booked)}", status="confirmed", name=name)
    tool_context.state["bookings"] = [*booked, booking | {"of": thing}]
    BOOKINGS.append(booking)
    return booking


def _spread(text: str, size: int) -> int:
    """Give a number below `size` that looks arbitrary and is the same in every run."""
    return sum(place * ord(letter) for place, letter in enumerate(text, start=3)) % size
