"""Reads out of a traveller's words what is wanted, for which cities and days."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from simulator.agents.demo_model import Talk
from simulator.agents.demos.travel_planner.tools import AIRPORTS, COUNTRIES, PEOPLES

WEATHER, ENTRY, FLIGHTS, HOTELS = "weather", "entry", "flights", "hotels"

WHOLE_TRIP = frozenset((WEATHER, ENTRY, FLIGHTS, HOTELS))
"""What somebody wants who plans a trip; the papers only where the passport is known."""

DONE_BY = {
    WEATHER: ("get_weather",),
    ENTRY: ("entry_advisor",),
    FLIGHTS: ("search_flights", "book_flight"),
    HOTELS: ("search_hotels", "book_hotel"),
}
"""The tools that answer a wish."""

_WANTED = {
    WEATHER: re.compile(r"\bweather\b|\bforecast\b|\bhow (?:warm|cold)\b", re.IGNORECASE),
    ENTRY: re.compile(r"\bvisa\b|\bentry\b|\bpassport\b", re.IGNORECASE),
    FLIGHTS: re.compile(r"\bflights?\b|\bfly(?:ing)?\b|\bplane\b", re.IGNORECASE),
    HOTELS: re.compile(r"\bhotels?\b|\brooms?\b|\baccommodation\b|\bstay\b", re.IGNORECASE),
}
_PLANS_A_TRIP = re.compile(r"\b(?:plan|trip|holiday|vacation|travel(?:ling)? to|weekend in)\b", re.IGNORECASE)
_BOOK = re.compile(r"\bbook\b|\breserve\b", re.IGNORECASE)
_COMPARE = re.compile(r"\bor\b|\bcompare\b|\bwhich day\b|\bcheapest day\b", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*"
_ISO_DAY = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)", re.ASCII)
_DAYS_OF_MONTH = re.compile(
    rf"((?:\d{{1,2}}(?:\s*,\s*|\s+and\s+|\s+or\s+|\s+to\s+|\s*-\s*)){{0,4}}\d{{1,2}})\.?\s+({_MONTH})\s+(\d{{4}})",
    re.IGNORECASE | re.ASCII,
)
_NIGHTS = re.compile(r"\b(\d{1,2})\s+nights?\b", re.IGNORECASE | re.ASCII)
_GUESTS = re.compile(
    r"\b(\d{1,2})\s+(?:people|persons?|guests?|adults?|travellers?)\b", re.IGNORECASE | re.ASCII
)
_CITY = r"([A-Z][a-z]+(?: [A-Z][a-z]+)?)"
_FROM = re.compile(rf"\bfrom {_CITY}")
_TO = re.compile(rf"\b(?:to|in|via) ({_CITY}(?:(?:,| and| or) {_CITY})*)")
_NAMED = re.compile(_CITY)
_KNOWN_CITY = re.compile(rf"\b({'|'.join(AIRPORTS)})\b", re.IGNORECASE)
_ASKED_FOR_A_NAME = re.compile(r"on which name", re.IGNORECASE)
_ONLY_A_NAME = re.compile(r"\W*((?:[^\W\d_][\w'.-]*\s?){1,4})\W*")
_NAME = re.compile(r"\b(?:for|name is|passenger|guest|I am) ([A-Z][a-z]+ [A-Z][a-z]+)\b")
_PASSPORT_OF = re.compile(r"\bpassport (?:of|from) ([A-Z][a-z]+(?: [A-Z][a-z]+)?)")
_FLIGHT_ID = re.compile(r"\b[A-Z]{2}\d{2,4}-\d{4}\b", re.ASCII)
_HOTEL_ID = re.compile(r"\bH-[A-Z]{3}-\d{1,3}\b", re.ASCII)
_NO_CITY = re.compile(
    "January|February|March|April|May|June|July|August|September|October|November|December|I"
)
_MOST_CITIES = 3
_MOST_DAYS = 4


@dataclass(frozen=True)
class Trip:
    """What the traveller wants. Days are "YYYY-MM-DD"; an empty text or tuple stands for what was not said.

    `days_to_compare` says that the days are choices; otherwise a second day is the day of the return.
    """

    wants: frozenset[str] = frozenset()
    book: bool = False
    origin: str = ""
    cities: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    days_to_compare: bool = False
    nights: int = 0
    guests: int = 0
    name: str = ""
    passport: str = ""
    flight_id: str = ""
    hotel_id: str = ""

    @property
    def stay(self) -> int:
        """How many nights: as it was said, else until the day of the return, else one."""
        if not self.nights and len(self.days) == 2 and not self.days_to_compare:  # noqa: PLR2004 - there and back
            there, back = map(date.fromisoformat, self.days)
            return max(1, (back - there).days)
        return self.nights or 1


def read_trip(talk: Talk) -> Trip:
    """Read the latest words; what they leave out is taken from the words before them."""
    trips = [_answering(talk, _read(talk.said)), *map(_read, talk.said_before)]
    asking = next((trip for trip in trips if trip.days), Trip())
    passport = next((trip.passport for trip in trips if trip.passport), "")
    wants = _wants(talk, trips)
    return Trip(
        wants=wants if passport or wants != WHOLE_TRIP else wants - {ENTRY},
        book=trips[0].book,
        origin=next((trip.origin for trip in trips if trip.origin), ""),
        cities=next((trip.cities for trip in trips if trip.cities), ()),
        days=asking.days,
        days_to_compare=asking.days_to_compare,
        nights=next((trip.nights for trip in trips if trip.nights), 0),
        guests=next((trip.guests for trip in trips if trip.guests), 0),
        name=next((trip.name for trip in trips if trip.name), ""),
        passport=passport,
        flight_id=trips[0].flight_id,
        hotel_id=trips[0].hotel_id,
    )


def country_of(city: str) -> str:
    """Give the country of a city, or the city where it is not known."""
    return COUNTRIES.get(city, city)


def _wants(talk: Talk, trips: list[Trip]) -> frozenset[str]:
    """Give what is wanted now: words that only fill a gap go on with what was wanted and not yet looked up."""
    latest = trips[0]
    if latest.wants or latest.book or latest == Trip():
        return latest.wants
    for back, trip in enumerate(trips[1:], start=1):
        if trip.wants:
            since = talk.turns[len(talk.turns) - 1 - back : -1]
            tools = {name for turn in since for name in turn.others_called}
            tools |= {done.tool for turn in since for done in turn.answered}
            return frozenset(want for want in trip.wants if not tools.intersection(DONE_BY[want]))
    return frozenset()


def _answering(talk: Talk, trip: Trip) -> Trip:
    """Take the words as a name where the agent asked for one; then the booking goes on."""
    if trip.wants or not _ASKED_FOR_A_NAME.search(talk.last_reply):
        return trip
    match = _ONLY_A_NAME.fullmatch(talk.said)
    return replace(trip, book=True, name=trip.name or (match.group(1).strip() if match else ""))


def _read(said: str) -> Trip:
    wants = {want for want, words in _WANTED.items() if words.search(said)}
    if wants <= {ENTRY} and _PLANS_A_TRIP.search(said):
        wants = set(WHOLE_TRIP)
    origin, cities = _cities(said)
    return Trip(
        wants=frozenset(wants),
        book=bool(_BOOK.search(said)),
        origin=origin,
        cities=cities,
        days=tuple(dict.fromkeys(sorted(_days(said))))[:_MOST_DAYS],
        days_to_compare=bool(_COMPARE.search(said)) or len(set(_days(said))) > 2,  # noqa: PLR2004 - there and back
        nights=_count(_NIGHTS, said),
        guests=_count(_GUESTS, said),
        name=_name(said),
        passport=_passport(said),
        flight_id=_first(_FLIGHT_ID, said),
        hotel_id=_first(_HOTEL_ID, said),
    )


def _cities(said: str) -> tuple[str, tuple[str, ...]]:
    known = [match.title() for match in _KNOWN_CITY.findall(said)]
    named = [name for group in _TO.finditer(said) for name in _NAMED.findall(group.group(1))]
    origin = _origin(said)
    found = dict.fromkeys(known)
    for name in (*named, *_countries_in(said)):
        cities = [city for city, country in COUNTRIES.items() if country == name]
        if not _NO_CITY.fullmatch(name) and not found.keys() & {name, *cities}:
            found[(cities or [name])[0]] = None
    return origin, tuple(city for city in found if city != origin)[:_MOST_CITIES]


def _origin(said: str) -> str:
    known = re.search(rf"\bfrom {_KNOWN_CITY.pattern}|{_KNOWN_CITY.pattern} to\b", said, re.IGNORECASE)
    if known:
        return (known.group(1) or known.group(2)).title()
    named = _FROM.search(said)
    return named.group(1) if named and not _NO_CITY.fullmatch(named.group(1)) else ""


def _countries_in(said: str) -> list[str]:
    return [
        country
        for country in dict.fromkeys(COUNTRIES.values())
        if re.search(rf"\b(?:for|to|in) {country}\b", said)
    ]


def _days(said: str) -> Iterator[str]:
    found: list[tuple[str, str, str]] = list(_ISO_DAY.findall(said))
    for days, month, year in _DAYS_OF_MONTH.findall(said):
        number = _MONTHS.index(month[:3].lower()) + 1
        found.extend((year, f"{number:02}", f"{int(day):02}") for day in re.findall(r"\d+", days))
    for year, month, day in found:
        try:
            yield date(int(year), int(month), int(day)).isoformat()
        except ValueError:
            continue


def _passport(said: str) -> str:
    for word in re.findall(r"[a-z]+", said.lower()):
        if word in PEOPLES:
            return PEOPLES[word]
    match = _PASSPORT_OF.search(said)
    return match.group(1) if match else ""


def _name(said: str) -> str:
    return next((name for name in _NAME.findall(said) if name not in AIRPORTS), "")


def _count(pattern: re.Pattern[str], said: str) -> int:
    match = pattern.search(said)
    return int(match.group(1)) if match else 0


def _first(pattern: re.Pattern[str], said: str) -> str:
    match = pattern.search(said)
    return match.group() if match else ""
