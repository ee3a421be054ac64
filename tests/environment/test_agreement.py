"""Tests of drafts that agree with themselves and with what the tool was asked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.environment.conventions.chance import Chance
from simulator.environment.drafting.choices import best_choice
from simulator.environment.drafting.coherence import coherent
from simulator.environment.drafting.generator import DraftCall, EarlierAnswer, draft
from simulator.environment.drafting.plausible import by_name, text
from simulator.environment.schema.schemas import check
from simulator.jsonvalue import JsonObject

TEXT: JsonObject = {"type": "string"}
NUMBER: JsonObject = {"type": "number"}
WHOLE: JsonObject = {"type": "integer"}


def thing(**fields: Any) -> dict[str, Any]:
    """Give the schema of an object with these fields."""
    return {"type": "object", "properties": fields, "required": list(fields)}


def many(**fields: Any) -> dict[str, Any]:
    """Give the schema of a list of objects with these fields."""
    return {"type": "array", "items": thing(**fields)}


def drafted(tool_name: str, schema: JsonObject, arguments: JsonObject, *, seed: str = "") -> Any:
    """Draft an answer that fits a schema."""
    answer = draft(DraftCall(tool_name=tool_name, arguments=arguments, response_schema=schema, seed=seed))
    assert check(answer, schema) == ()
    return answer


def test_what_was_searched_for_stands_in_each_result() -> None:
    """Items of a list take the arguments of their fields' names, and keep ids of their own."""
    schema = thing(trips=many(trip_id=TEXT, origin=TEXT, destination=TEXT, date=TEXT))
    asked: JsonObject = {"origin": "Oslo", "destination": "Rome", "date": "2026-05-03", "trip_id": "T-1"}
    trips = drafted("search_trips", schema, asked)["trips"]
    assert [trip | {"trip_id": ""} for trip in trips] == [asked | {"trip_id": ""}] * 2
    assert trips[0]["trip_id"] != trips[1]["trip_id"]


def test_objects_inside_the_answer_and_inside_the_arguments_are_matched() -> None:
    """A field of an inner object takes an argument, and an outer field what stands inside an argument."""
    schema = thing(order=thing(customer_id=TEXT), amount=NUMBER)
    answer = drafted("pay", schema, {"customer_id": "C-1", "payment": {"amount": 7.5}})
    assert answer == {"order": {"customer_id": "C-1"}, "amount": 7.5}


def test_the_answer_has_a_line_for_each_line_that_was_asked_about() -> None:
    """A list of objects is answered by as many, with what they said, and counted from 1."""
    schema = thing(lines=many(line=WHOLE, sku=TEXT, unit_price=NUMBER, allowed_amount=NUMBER))
    lines: list[Any] = [{"sku": sku, "amount": 90.0 + place} for place, sku in enumerate("abc")]
    answer = drafted("check_lines", schema, {"lines": lines})["lines"]
    assert [(line["line"], line["sku"], line["allowed_amount"]) for line in answer] == [
        (1, "a", 90.0),
        (2, "b", 91.0),
        (3, "c", 92.0),
    ]


def test_a_list_of_another_name_is_answered_where_its_items_share_a_field() -> None:
    """`items` asked for come back as `positions` of the same articles; plain values count as such items too."""
    schema = thing(positions=many(sku=TEXT, price=NUMBER))
    asked: tuple[JsonObject, ...] = (
        {"items": [{"sku": "mug", "quantity": 1}]},
        {"skus": ["mug"]},
        {"basket": {"items": [{"sku": "mug"}]}},
    )
    for arguments in asked:
        assert [one["sku"] for one in drafted("get_prices", schema, arguments)["positions"]] == ["mug"]


def test_a_docstrings_example_item_is_repeated_for_each_that_was_asked_about() -> None:
    """Without a schema the shape of the docstring is filled in the same way."""
    told = "Returns:\n  {'status': 'success', 'items': [{'sku': '<sku>', 'stock': 4}]}"
    arguments: JsonObject = {"items": [{"sku": "mug"}, {"sku": "lamp"}]}
    answer: Any = draft(DraftCall(tool_name="get_stock", description=told, arguments=arguments))
    assert answer["items"] == [{"sku": "mug", "stock": 4}, {"sku": "lamp", "stock": 4}]


@pytest.mark.parametrize(
    ("argument", "field", "value"),
    [
        ("from", "origin", "Oslo"),
        ("to", "destination", "Rome"),
        ("city", "location", "Rome"),
        ("depart_date", "departs_on", "2026-05-03"),
        ("depart_date", "date", "2026-05-03"),
        ("date", "departs_on", "2026-05-03"),
        ("guest_name", "name", "Ada Lovelace"),
    ],
)
def test_a_field_of_other_words_and_the_same_meaning_takes_the_argument(
    argument: str, field: str, value: str
) -> None:
    """Origin and from, city and location, and a date by its several names are one."""
    assert drafted("book_trip", thing(**{field: TEXT}), {argument: value})[field] == value


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("date", {"depart_date": "2031-05-03", "return_date": "2031-05-06"}),
        ("origin", {"from": "2031-05-01"}),
        ("date", {"day": "Rome"}),
        ("price", {"max_price": "1234"}),
        ("date", {"birthday": "2031-05-03"}),
    ],
)
def test_an_argument_that_may_mean_something_else_is_not_taken(field: str, arguments: dict[str, str]) -> None:
    """Two candidates, a date for a place, a place for a date, and a bound are left alone."""
    assert drafted("search", thing(**{field: TEXT}), dict(arguments))[field] not in arguments.values()


def test_an_argument_that_another_field_names_is_not_taken_twice() -> None:
    """The guest's name is not that of the hotel beside it."""
    answer = drafted("book_hotel", thing(name=TEXT, guest_name=TEXT), {"guest_name": "Ada Lovelace"})
    assert answer["guest_name"] == "Ada Lovelace" != answer["name"]


def test_inner_records_belong_to_the_outer() -> None:
    """The customer of a list of orders is the customer of each, and one currency is used."""
    schema = thing(customer_id=TEXT, orders=many(order_id=TEXT, customer_id=TEXT, currency=TEXT))
    answer = drafted("list_orders", schema, {"email": "ada@example.com"})
    assert {order["customer_id"] for order in answer["orders"]} == {answer["customer_id"]}
    assert len({order["currency"] for order in answer["orders"]}) == 1
    assert len({order["order_id"] for order in answer["orders"]}) == 2


def test_a_sessions_currency_is_kept() -> None:
    """What was named last is what later amounts are in."""
    before = EarlierAnswer(tool_name="pay", arguments={"payment": {"currency": "CHF"}}, response={})
    schema = thing(currency=TEXT)
    answer = draft(DraftCall(tool_name="get_fee", response_schema=schema, earlier=(before,)))
    assert answer == {"currency": "CHF"}


def test_a_list_that_was_told_before_is_told_again() -> None:
    """A later read of a new order gives its items and their sum."""
    items: list[Any] = [{"sku": "mug", "quantity": 2, "unit_price": 3.5}]
    created = EarlierAnswer(
        tool_name="create_order",
        arguments={"customer_id": "C-1"},
        response={"order_id": "O-1", "items": items},
    )
    schema = thing(order_id=TEXT, items=many(sku=TEXT, quantity=WHOLE, unit_price=NUMBER), total=NUMBER)
    call = DraftCall(
        tool_name="find_order", arguments={"order_id": "O-1"}, response_schema=schema, earlier=(created,)
    )
    assert draft(call) == {"order_id": "O-1", "items": items, "total": 7.0}


@given(st.text(max_size=8))
def test_pairs_are_in_order(seed: str) -> None:
    """Low is not above high, nor the least above the most, and what starts or leaves ends or arrives later."""
    schema = thing(
        high=WHOLE, low=WHOLE, max_days=WHOLE, min_days=WHOLE, departs=TEXT, arrives=TEXT,
        start_date={"type": "string", "format": "date"}, end_date={"type": "string", "format": "date"},
        departed_at=TEXT, starts_at={"type": "string", "format": "date-time"}, ends_at={"type": "string", "format": "date-time"},
    )  # fmt: skip
    made = drafted("get_it", schema, {}, seed=seed)
    assert made["low"] <= made["high"]
    assert made["min_days"] <= made["max_days"]
    assert made["departs"] < made["arrives"]
    assert made["start_date"] < made["end_date"]
    assert made["starts_at"] < made["ends_at"]


def test_a_pair_moves_around_what_was_asked() -> None:
    """The field that echoes an argument stays; the other one is before or after it."""
    schema = thing(check_in=TEXT, check_out=TEXT, min_price=NUMBER, max_price=NUMBER)
    made = drafted("find", schema | {"required": []}, {"check_in": "2026-12-31", "max_price": 2})
    assert made["check_in"] == "2026-12-31"
    assert made["max_price"] == 2 >= made["min_price"]
    text_dates = coherent(
        {"start_date": "2026-05-09", "end_date": "2026-05-01"}, {"end_date": "2026-05-01"}, Chance("s")
    )
    assert isinstance(text_dates, dict)
    assert str(text_dates["start_date"]) < "2026-05-01" == text_dates["end_date"]


def test_totals_are_sums() -> None:
    """A total adds up its lines and what comes on top; a line's total is its own product."""
    row: JsonObject = {"quantity": 2, "unit_price": 10.25, "total": 1.0}
    answer = coherent(
        {"items": [row], "subtotal": 3, "tax": 2.0, "discount": 0.5, "total": 9.0}, {}, Chance("s")
    )
    assert answer == {
        "items": [row | {"total": 20.5}], "subtotal": 20.5, "tax": 2.0, "discount": 0.5, "total": 22.0,
    }  # fmt: skip
    assert row["total"] == 1.0


def test_a_price_per_night_is_multiplied_by_the_nights_asked_for() -> None:
    """Where the count stands in the arguments only, the total still follows."""
    stays = drafted("search_stays", thing(stays=many(price_per_night=NUMBER, total=NUMBER)), {"nights": 3})[
        "stays"
    ]
    assert all(stay["total"] == round(3 * stay["price_per_night"], 2) for stay in stays)


def test_a_total_that_was_asked_for_stays() -> None:
    """An argument is echoed even where it does not add up."""
    row: JsonObject = {"quantity": 2, "price": 10}
    fixed: JsonObject = {"total": 5}
    assert coherent({"items": [row], "total": 5}, fixed, Chance("s")) == {"items": [row], "total": 5}


@given(st.text(max_size=8), st.floats(0.5, 100_000))
def test_what_a_request_is_measured_against_is_enough(seed: str, amount: float) -> None:
    """What is allowed is what was asked for; what remains of a budget is clearly above it."""
    made = drafted("check", thing(allowed_amount=NUMBER, remaining=NUMBER), {"amount": amount}, seed=seed)
    assert made["allowed_amount"] == amount
    assert made["remaining"] >= amount + 1_000 or made["remaining"] >= 2 * amount
    assert 1_000 <= drafted("get_budget", thing(remaining=NUMBER), {}, seed=seed)["remaining"] <= 5_000


def test_a_bound_of_the_schema_is_stronger_than_what_was_asked() -> None:
    """A tool that never allows more than 50 allows 50 of 80."""
    schema = thing(allowed_amount={"type": "number", "maximum": 50})
    assert drafted("check", schema, {"amount": 80})["allowed_amount"] == 50


@pytest.mark.parametrize("name", ["departs", "arrives", "opens", "closes", "departure", "explanation"])
@pytest.mark.parametrize("read", [by_name, text])
def test_common_names_are_not_given_an_example(name: str, read: Any) -> None:
    """Times of a day look like times, and reasons like sentences."""
    assert not str(read(name, Chance("s"))).startswith("example")


@pytest.mark.parametrize("name", ["departs", "arrives", "opens", "closes"])
def test_times_of_a_day_look_like_times(name: str) -> None:
    """They are hours and minutes."""
    assert len(text(name, Chance("s")).split(":")) == 2


def test_a_name_is_that_of_the_thing_around_it() -> None:
    """A hotel, an airline and a person are named differently, by the object or else by the tool."""
    person = text("name", Chance("s"))
    assert text("name", Chance("s"), ("user",)) == person
    hotel = text("name", Chance("s"), ("hotel",))
    assert hotel != person
    assert hotel == text("name", Chance("s"), ("hotels", "search"))
    inner = drafted("search", thing(hotels=many(name=TEXT)), {})["hotels"]
    outer = drafted("get_hotel", thing(name=TEXT), {})
    hotels = {text("name", Chance(str(seed)), ("hotel",)) for seed in range(60)}
    assert {one["name"] for one in inner} | {outer["name"]} <= hotels


@pytest.mark.parametrize(
    ("tool", "choices", "best"),
    [
        ("create_order", ["delivered", "cancelled", "processing"], "processing"),
        ("book_room", ["cancelled", "confirmed"], "confirmed"),
        ("submit_claim", ["rejected", "approved", "pending"], "pending"),
        ("find_order", ["cancelled", "delivered", "shipped"], "shipped"),
        ("get_room", ["unavailable", "available"], "available"),
        ("get_claim", ["pending", "approved"], "approved"),
        ("cancel_order", ["processing", "cancelled"], "cancelled"),
        ("check_line", ["over_limit", "fine", "not_allowed"], "fine"),
        ("get_color", ["red", "blue"], None),
        ("", [], None),
    ],
)
def test_a_state_fits_what_the_tool_does(tool: str, choices: list[Any], best: str | None) -> None:
    """A new thing begins, a change is done, and what is read is well, whatever the order of the choices."""
    assert best_choice(choices, tool) == best
    assert best_choice(choices[::-1], tool) == best


@given(
    st.dictionaries(
        st.sampled_from(
            ["items", "total", "quantity", "price", "low", "high", "start", "end", "tax", "nights"]
        ),
        st.recursive(
            st.none()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(max_size=12),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(
                    st.sampled_from(["price", "quantity", "low", "high", "total"]), inner, max_size=4
                )
            ),
            max_leaves=8,
        ),
    )
)
def test_no_value_breaks_what_makes_it_agree(value: dict[str, Any]) -> None:
    """Any JSON gives a value of the same fields, and the same one each time."""
    once = coherent(value, {}, Chance("s"))
    assert isinstance(once, dict)
    assert once.keys() == value.keys()
    assert coherent(value, {}, Chance("s")) == once
