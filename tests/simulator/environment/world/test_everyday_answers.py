"""Proves that what real tools say every day is not taken for a contradiction of what was said before."""

from __future__ import annotations

import json
import re
from typing import Any

from simulator.base.json_values import JsonObject
from simulator.environment.conventions import EarlierAnswer
from simulator.environment.world.connections import ToolShape, found_offline
from simulator.environment.world.entities import NO_TABLES, read_tables
from simulator.environment.world.invariants import contradictions
from simulator.environment.world.world import World
from tests.simulator.base.rows import for_each

Asked = tuple[str, JsonObject, Any]


def told(calls: list[Asked], *others: str, data: str = "") -> list[str]:
    """Return what each answer of a session is said to contradict; the tools are known by their names and arguments."""
    asked: dict[str, JsonObject] = {name: {} for name in others}
    for name, arguments, _ in calls:
        asked.setdefault(name, {}).update({key: {"type": "string"} for key in arguments})
    shapes = [
        ToolShape(name=name, parameters={"type": "object", "properties": fields})
        for name, fields in asked.items()
    ]
    world = World(found_offline(shapes), read_tables(data) if data else NO_TABLES)
    found: list[str] = []
    for number, (name, arguments, response) in enumerate(calls, start=1):
        call = EarlierAnswer(name, arguments, response, fact=number, turn=number)
        found += [one.what for one in contradictions(world, world.preview(call), [], call=call)]
        world.take(call)
    return found


def ask(tool: str, response: Any, **arguments: Any) -> Asked:
    """Write one call."""
    return tool, arguments, response


EVERYDAY: dict[str, list[Asked]] = {
    "the hits of each search are numbered anew": [
        ask("search_pages", {"pages": [{"id": 1, "title": "Rome"}]}, query="cities"),
        ask("search_pages", {"pages": [{"id": 1, "title": "Milk"}]}, query="food"),
    ],
    "weather passes": [
        ask(
            "get_weather", {"city_id": "R", "name": "Rome", "description": "sunny", "wind": "NW"}, city_id="R"
        ),
        ask("get_weather", {"city_id": "R", "name": "Rome", "description": "rain", "wind": "S"}, city_id="R"),
    ],
    "a short name and a long one": [
        ask("list_users", {"users": [{"user_id": "U-1", "name": "A. Lee", "email": "a***@lee.example"}]}),
        ask("get_user", {"user_id": "U-1", "name": "Ann Lee", "email": "ann@lee.example"}, user_id="U-1"),
        ask("get_user", {"user_id": "U-1", "name": "LEE, Ann"}, user_id="U-1"),
    ],
    "a driver comes to a ride": [
        ask("get_ride", {"ride_id": "T-1", "driver_name": "Ann"}, ride_id="T-1"),
        ask("get_ride", {"ride_id": "T-1", "driver_name": "Bob"}, ride_id="T-1"),
    ],
    "books in another language": [
        ask("list_books", {"books": [{"book_id": "B-1", "title": "The Trial"}]}, language="en"),
        ask("list_books", {"books": [{"book_id": "B-1", "title": "Der Prozess"}]}, language="de"),
    ],
    "a part of a thing that a number names": [
        ask("get_order", {"order_id": "A-1", "item": "tea"}, order_id="A-1", line=1),
        ask("get_order", {"order_id": "A-1", "item": "milk"}, order_id="A-1", line=2),
    ],
    "what a review says of a thing": [
        ask("get_order", {"order_id": "A-1", "item": "tea"}, order_id="A-1"),
        ask("get_review", {"order_id": "A-1", "item": "stars"}, order_id="A-1"),
    ],
    "a tool gave it another name": [
        ask("get_user", {"user_id": "U-1", "name": "Ann Lee"}, user_id="U-1"),
        ask("update_profile", {"ok": True}, user_id="U-1", data={"surname": "Ray"}),
        ask("get_user", {"user_id": "U-1", "name": "Ann Ray"}, user_id="U-1"),
    ],
    "a tool that names it by no id": [
        ask("get_ticket", {"ticket_id": "T-1", "title": "Printer"}, ticket_id="T-1"),
        ask("set_title", {"ok": True}, ticket="T-1", text="Lamp"),
        ask("get_ticket", {"ticket_id": "T-1", "title": "Lamp"}, ticket_id="T-1"),
    ],
    "a change that took effect, whose answer was lost": [
        ask("get_user", {"user_id": "U-1", "name": "Ann"}, user_id="U-1"),
        ask("rename_user", {"status": "error", "error": "timed out"}, user_id="U-1"),
        ask("get_user", {"user_id": "U-1", "name": "Bea"}, user_id="U-1"),
    ],
    "a tool of which nothing is known": [
        ask("get_user", {"user_id": "U-1", "name": "Ann"}, user_id="U-1"),
        ask("sql", {"rows": 1}, statement="update users set name = 'Bea'"),
        ask("get_user", {"user_id": "U-1", "name": "Bea"}, user_id="U-1"),
    ],
    "an error in between": [
        ask("get_user", {"user_id": "U-1", "name": "Ann"}, user_id="U-1"),
        ask("get_user", {"error_code": 503, "error_message": "busy"}, user_id="U-1"),
        ask("get_user", {"user_id": "U-1", "name": "Ann"}, user_id="U-1"),
    ],
}


@for_each("case", EVERYDAY)
def test_an_everyday_answer_contradicts_nothing(case: str) -> None:
    """What passes, is counted anew, said otherwise, or may have been changed, is no contradiction."""
    assert told(EVERYDAY[case]) == []


def test_what_was_set_passes_too() -> None:
    """Also of the environment's data: what is worth another sum in another currency, what grew, what is prose."""
    customer = {
        "customer_id": "C-1",
        "total_spent": 10,
        "bio": "long " * 60,
        "tier_price": 3,
        "status": "new",
    }
    data = json.dumps({"customers": [customer]})
    answer = {**customer, "total_spent": 90, "bio": "other " * 60, "status": "known"}
    assert told([ask("get_customer", answer, customer_id="C-1")], data=data) == []
    data = json.dumps({"products": [{"product_id": "P-1", "price": 10}]})
    dollars = ask("get_product", {"product_id": "P-1", "price": 12}, product_id="P-1", currency="USD")
    plain = ask("get_product", {"product_id": "P-1", "price": 12}, product_id="P-1")
    assert told([dollars], data=data) == []
    assert told([plain], "update_product", "restock_product", data=data) == []
    (one,) = told([plain], data=data)
    assert re.match(r"price .*'P-1' .* 12, .* 10 \(", one)


def test_another_name_is_told_where_nothing_but_questions_were_asked() -> None:
    """The plain case beside the everyday ones; a number counts where it names the thing in the data."""
    ann = ask("get_user", {"user_id": "U-1", "name": "Ann Lee"}, user_id="U-1")
    bob = ask("list_users", {"users": [{"user_id": "U-1", "full_name": "Ann Lee", "name": "Bob Ray"}]})
    (one,) = told([ann, bob], "update_user")
    assert told([ann, bob]) == [one]
    assert re.match('name .*\'U-1\' .* "Bob Ray", .* "Ann Lee"', one)
    data = json.dumps({"users": [{"user_id": 1, "name": "Ann Lee"}]})
    (one,) = told([ask("get_user", {"user_id": 1, "name": "Bob Ray"}, user_id=1)], data=data)
    assert one.startswith("name of user ")


def test_no_more_is_told_than_a_person_reads() -> None:
    """A list in which everything is another thing is told of twenty times."""
    data = json.dumps({"orders": [{"order_id": f"A-{n}", "item": "tea"} for n in range(50)]})
    other = [{"order_id": f"A-{n}", "item": "milk"} for n in range(50)]
    assert len(told([ask("list_orders", {"orders": other})], data=data)) == 20
