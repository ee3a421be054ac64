"""A hotel as people write one, the sessions that its agent has, and what its people accept as answers.

It was written when the drafts had been made better with the other agents, and first drafted for after that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel

from tests.environment.domain_judges import Judge, is_date
from tests.environment.fresh_judging import is_clock, is_moment, is_person, records_in

DATA: dict[str, Any] = {
    "rooms": [
        {"room_number": "101", "type": "single", "price_per_night": 80.0, "floor": 1, "available": True},
        {"room_number": "102", "type": "double", "price_per_night": 120.0, "floor": 1, "available": True},
        {"room_number": "201", "type": "suite", "price_per_night": 240.0, "floor": 2, "available": False},
    ],
}


class Guest(BaseModel):
    """A guest of the house."""

    guest_id: str
    full_name: str
    email: str
    nationality: str
    loyalty_points: int
    preferences: dict[str, str]


def search_rooms(
    room_type: Literal["single", "double", "suite"], max_price: float | None = None
) -> list[dict]:  # type: ignore[type-arg] # as people write it
    """Search for rooms of a type.

    Returns:
        list[dict]: Rooms with their room_number, type, price_per_night and floor.
    """
    raise NotImplementedError


def get_guest(guest_id: str) -> Guest:
    """Look up a guest."""
    raise NotImplementedError


def make_reservation(guest_name: str, room_number: str, check_in: str, nights: int) -> dict:  # type: ignore[type-arg] # as people write it
    """Reserve a room.

    Returns:
        A dictionary containing:
            reservation_id (str): The id of the reservation.
            status (str): "confirmed" or "waitlisted".
            check_out (str): The day of departure.
            total_price (float): What the stay costs.
    """
    raise NotImplementedError


def cancel_reservation(reservation_id: str) -> bool:
    """Cancel a reservation. Returns True if it could be cancelled."""
    raise NotImplementedError


def get_reservation(reservation_id: str) -> dict:  # type: ignore[type-arg] # as people write it
    """Get a reservation."""
    raise NotImplementedError


def order_room_service(room_number: str, items: list[str]) -> dict:  # type: ignore[type-arg] # as people write it
    """Order food to a room. Returns the order id, the total and the estimated delivery time."""
    raise NotImplementedError


def get_wifi_password(room_number: str) -> str:
    """Return the wifi password for a room."""
    raise NotImplementedError


def list_amenities() -> list[str]:
    """List what the hotel offers."""
    raise NotImplementedError


def get_breakfast_hours(weekday: str) -> str:
    """Get the breakfast hours of a day, e.g. 07:00-10:30."""
    raise NotImplementedError


TOOLS = (
    search_rooms, get_guest, make_reservation, cancel_reservation, get_reservation, order_room_service,
    get_wifi_password, list_amenities, get_breakfast_hours,
)  # fmt: skip


def desk(ask: Any) -> None:
    """Take a guest in, and change the plan."""
    rooms = ask("search_rooms", room_type="double")
    room = next((one.get("room_number", "102") for one in records_in(rooms)), "102")
    ask("search_rooms", room_type="single", max_price=100.0)
    made = ask(
        "make_reservation", guest_name="Ada Lovelace", room_number=room, check_in="2026-07-01", nights=3
    )
    key = made.get("reservation_id", "none") if isinstance(made, dict) else "none"
    ask("get_reservation", reservation_id=key)
    ask("get_wifi_password", room_number=room)
    ask("list_amenities")
    ask("get_breakfast_hours", weekday="sunday")
    ask("order_room_service", room_number=room, items=["club sandwich", "tea"])
    ask("get_guest", guest_id="G-17")
    ask("cancel_reservation", reservation_id=key)
    ask("get_reservation", reservation_id=key)
    ask("make_reservation", guest_name="Grace Hopper", room_number=room, check_in="2026-07-04", nights=1)
    ask("get_guest", guest_id="G-18")


SCRIPTS = (desk,)


class HotelJudge(Judge):
    """Knows the rooms and reservations of one session."""

    def __init__(self, data: dict[str, Any] | None) -> None:
        super().__init__(data)
        self.rooms = {one["room_number"]: one for one in data["rooms"]} if data else {}
        self.stays: dict[str, dict[str, Any]] = {}

    def search_rooms(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `search_rooms` says."""
        if not isinstance(answer, list) or not answer:
            yield f"no rooms: {answer!r}"
            return
        for row in answer:
            if not {"room_number", "type", "price_per_night", "floor"} <= row.keys():
                yield f"not what is described: {row}"
                continue
            known = self.rooms.get(str(row["room_number"]))
            if self.data and (
                known is None or any(known[key] != row[key] for key in ("type", "price_per_night", "floor"))
            ):
                yield f"no such room: {row}"
            if row["type"] != args["room_type"]:
                yield f"not of the type: {row}"
            if not 30 <= float(row["price_per_night"]) <= args.get("max_price", 2_000):
                yield f"price {row['price_per_night']!r}"
            if not re.fullmatch(r"-?\d{1,2}", str(row["floor"])):
                yield f"floor {row['floor']!r}"
            if not re.fullmatch(r"[A-Z]{0,4}-?\d{1,5}", str(row["room_number"])):
                yield f"room {row['room_number']!r}"

    def get_guest(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `get_guest` says."""
        if (
            answer["guest_id"] != args["guest_id"]
            or not is_person(answer["full_name"])
            or "@" not in answer["email"]
        ):
            yield f"no guest: {answer}"
        if not re.fullmatch(r"[A-Z][a-z]+(?: [A-Z][a-z]+)?|[A-Z]{2}", answer["nationality"]):
            yield f"nationality {answer['nationality']!r}"
        if not 0 <= answer["loyalty_points"] <= 1_000_000:
            yield f"points {answer['loyalty_points']!r}"
        if any(re.search(r"key_\d|_\d$", one) for one in answer["preferences"]):
            yield f"preferences {answer['preferences']}"

    def make_reservation(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `make_reservation` says."""
        if (
            not isinstance(answer, dict)
            or not {"reservation_id", "status", "check_out", "total_price"} <= answer.keys()
        ):
            yield f"not what is described: {answer!r}"
            return
        yield from self._style(answer["reservation_id"], list(self.stays))
        if answer["status"] not in ("confirmed", "waitlisted"):
            yield f"status {answer['status']!r}"
        if not is_date(answer["check_out"]) or answer["check_out"] <= args["check_in"]:
            yield f"check-out {answer['check_out']!r}"
        room = self.rooms.get(args["room_number"])
        wanted = room["price_per_night"] * args["nights"] if room else None
        if not isinstance(answer["total_price"], (int, float)) or (
            wanted and answer["total_price"] != wanted
        ):
            yield f"total {answer['total_price']!r}, wanted {wanted}"
        self.stays[str(answer["reservation_id"])] = {**args, **answer}

    def cancel_reservation(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `cancel_reservation` says."""
        if answer is not True:
            yield f"{answer!r}"
        self.stays.get(args["reservation_id"], {})["status"] = "cancelled"

    def get_reservation(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `get_reservation` says."""
        known = self.stays.get(args["reservation_id"], {})
        if known.get("status") == "cancelled" and "was found" in str(answer):
            return
        yield from (
            f"{name} is {answer.get(name)!r}, was {value!r}"
            for name, value in known.items()
            if answer.get(name) != value
        )

    def order_room_service(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `order_room_service` says."""
        if not isinstance(answer, dict) or not any("id" in one for one in answer) or "total" not in answer:
            yield f"not what is described: {answer!r}"
            return
        when = next((value for name, value in answer.items() if "time" in name or "delivery" in name), None)
        if not (is_clock(when) or is_moment(when) or isinstance(when, int) or "min" in str(when)):
            yield f"delivered {when!r}"
        if not isinstance(answer["total"], (int, float)) or not 5 <= answer["total"] <= 300:
            yield f"total {answer['total']!r} for {args['items']}"

    def get_wifi_password(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `get_wifi_password` says."""
        if not isinstance(answer, str) or " " in answer or not 6 <= len(answer) <= 32:
            yield f"no password: {answer!r}"

    def list_amenities(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `list_amenities` says."""
        if (
            not answer
            or not all(isinstance(one, str) and re.search("[a-z]{3}", one) for one in answer)
            or args
        ):
            yield f"no amenities: {answer!r}"
        if any(re.search(r"\d$|amenit", one) or is_person(one) for one in answer):
            yield f"no amenities: {answer!r}"

    def get_breakfast_hours(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `get_breakfast_hours` says."""
        if not re.search(r"\d{1,2}[:.]\d\d\s*(?:-|\u2013|to)\s*\d{1,2}[:.]\d\d", str(answer)):
            yield f"no hours of {args['weekday']}: {answer!r}"
