"""Proves that drafted lines of orders name what is sold and add up to the total that a table tells."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.environment.drafting.generator import DraftCall, Sources, drafted
from simulator.environment.things.connections import Connections
from simulator.environment.things.tables import read_tables
from simulator.environment.things.world import World
from simulator.jsonvalue import JsonObject

TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}
MUG = {"sku": "mug", "name": "Mug", "price": 12.45}
LAMP = {"sku": "lamp", "name": "Lamp", "price": 25.0}
PRODUCTS = [MUG, LAMP, {"sku": "notebook", "name": "Notebook", "price": 6.0}]


def thing(**fields: Any) -> JsonObject:
    """Give the schema of an object with these fields, all required."""
    return {"type": "object", "properties": fields, "required": [*fields]}


def listed(item: JsonObject) -> JsonObject:
    """Give the schema of a list."""
    return {"type": "array", "items": item}


LINE = thing(sku=TEXT, quantity=WHOLE, unit_price=NUMBER)
ORDER = thing(order_id=TEXT, items=listed(LINE), total=NUMBER)
ORDERS = thing(customer_id=TEXT, orders=listed(ORDER))


def answer(tool: str, schema: JsonObject, arguments: JsonObject, seed: str = "s", **tables: Any) -> Any:
    """Draft an answer with tables."""
    world = World(Connections(), read_tables(json.dumps(tables)))
    call = DraftCall(tool_name=tool, response_schema=schema, arguments=arguments, seed=seed)
    made = drafted(call, Sources(world=world))
    assert not made.problems
    return made.value


def cents(lines: list[Any], price: str = "unit_price") -> int:
    """Give what lines come to."""
    return sum(round(line[price] * 100) * line["quantity"] for line in lines)


@pytest.mark.parametrize(
    ("total", "skus"), [(49.9, {"mug", "lamp"}), (43.45, {"mug", "lamp", "notebook"}), (62.25, {"mug"})]
)
def test_the_lines_of_an_order_are_what_is_sold_for_its_total(total: float, skus: set[str]) -> None:
    """Articles and prices are those of the table, and the sum is the total that the order has."""
    orders = [{"order_id": "A-1", "total": total}]
    made = answer("find_order", ORDER, {"order_id": "A-1"}, orders=orders, products=PRODUCTS)
    assert made["total"] == total
    assert {line["sku"] for line in made["items"]} == skus
    prices = {row["sku"]: row["price"] for row in PRODUCTS}
    assert all(line["unit_price"] == prices[line["sku"]] for line in made["items"])
    assert cents(made["items"]) == round(total * 100)


@given(st.integers(1, 900_000), st.booleans(), st.text(max_size=5))
def test_lines_add_up_to_any_total_that_is_told(told: int, sells: bool, seed: str) -> None:
    """Also where no table says what is sold, or nothing that is sold comes to the total; what is told stays."""
    tables: Any = {"orders": [{"order_id": "A-1", "customer_id": "C-1", "total": told / 100}]}
    tables |= {"products": PRODUCTS} if sells else {}
    one = answer("find_order", ORDER, {"order_id": "A-1"}, seed, **tables)
    (row,) = answer("list_orders", ORDERS, {"customer_id": "C-1"}, seed, **tables)["orders"]
    for made in (one, row):
        assert made["total"] == told / 100
        assert cents(made["items"]) == told
        assert not sells or {line["sku"] for line in made["items"]} <= {"mug", "lamp", "notebook"}


def test_what_is_told_of_lines_stays() -> None:
    """Lines that a table has are given as they are, even where they do not add up."""
    lines = [{"sku": "mug", "quantity": 3, "unit_price": 1.0}]
    orders = [{"order_id": "A-1", "total": 50.0, "items": lines}]
    made = answer("find_order", ORDER, {"order_id": "A-1"}, orders=orders, products=PRODUCTS)
    assert made == {"order_id": "A-1", "items": lines, "total": 50.0}


@pytest.mark.parametrize("table", ["order_items", "order_lines", "lines"])
@pytest.mark.parametrize("total", [None, 9.9])
def test_lines_that_are_rows_of_a_table_stay(table: str, total: float | None) -> None:
    """They are what the table says, though no table of products knows them and another total is told."""
    lines = [{"order_id": "A-1", "sku": sku, "quantity": 2, "unit_price": 3.5} for sku in ("x", "y")]
    orders = [{"order_id": "A-1", "status": "open"} | ({"total": total} if total else {})]
    schema = thing(lines=listed(LINE), total=NUMBER)
    tables: Any = {"orders": orders, table: lines, "products": PRODUCTS}
    made = answer(f"get_{table}", schema, {"order_id": "A-1"}, **tables)
    assert [(line["sku"], line["quantity"], line["unit_price"]) for line in made["lines"]] == [
        ("x", 2, 3.5),
        ("y", 2, 3.5),
    ]
    assert made["total"] == (total or 14.0)


@pytest.mark.parametrize("total", [0.0, 0.001, -5.0, 1e14, 1e300])
def test_a_total_that_no_lines_come_to_changes_none(total: float) -> None:
    """The answer is drafted all the same, with its total as it is told."""
    orders = [{"order_id": "A-1", "total": total}]
    made = answer("find_order", ORDER, {"order_id": "A-1"}, orders=orders, products=PRODUCTS)
    assert made["total"] == total
    assert made["items"]


def test_lines_are_sought_in_many_products_too() -> None:
    """Where nothing of a long table comes to the total, one article of it does with a price of its own, the same each time."""
    products = [{"sku": f"P-{number}", "price": 2.0 * number} for number in range(1, 2_000)]
    orders = [{"order_id": "A-1", "total": 33.33}]
    ask: Any = ("find_order", ORDER, {"order_id": "A-1"})
    made = answer(*ask, orders=orders, products=products)
    assert made["items"] == [{"sku": "P-17", "quantity": 1, "unit_price": 33.33}]
    assert made == answer(*ask, orders=orders, products=products)


def test_lines_may_name_their_article_in_any_usual_way() -> None:
    """By its name alone in a list of items, and by its id beside the name; a field that is no article's stays."""
    products = [{"product_id": "P-1", "name": "Mug", "price": 12.45}]
    orders = [{"order_id": "A-1", "total": 24.9}]
    fields: Any = {
        "id": WHOLE,
        "name": TEXT,
        "product_id": TEXT,
        "qty": WHOLE,
        "price": NUMBER,
        "total": NUMBER,
    }
    for names in (("name",), ("product_id",), ("id", "name", "product_id")):
        line = thing(**{name: fields[name] for name in (*names, "qty", "price", "total")})
        schema = thing(order_id=TEXT, items=listed(line), total=NUMBER)
        made = answer("find_order", schema, {"order_id": "A-1"}, orders=orders, products=products)
        (row,) = made["items"]
        known = {"name": "Mug", "product_id": "P-1", "qty": 2, "price": 12.45, "total": 24.9}
        assert {name: row[name] for name in row if name != "id"} == {
            name: known[name] for name in row if name != "id"
        }


def test_an_answer_that_must_have_more_lines_keeps_those_that_were_made_up() -> None:
    """The tool's schema comes first; the rest of the answer still agrees with itself."""
    three = {**listed(LINE), "minItems": 3}
    schema = thing(order_id=TEXT, items=three, total=NUMBER)
    orders = [{"order_id": "A-1", "total": 12.45}]
    made = answer("find_order", schema, {"order_id": "A-1"}, orders=orders, products=[MUG])
    assert len(made["items"]) >= 3
    assert made["total"] == 12.45


def test_shipping_is_left_out_of_the_lines() -> None:
    """A total that is told holds what comes on top of the lines."""
    schema = thing(order_id=TEXT, items=listed(LINE), shipping=NUMBER, total=NUMBER)
    orders = [{"order_id": "A-1", "total": 54.9, "shipping": 5.0}]
    made = answer("find_order", schema, {"order_id": "A-1"}, orders=orders, products=PRODUCTS)
    assert (made["shipping"], made["total"], cents(made["items"])) == (5.0, 54.9, 4990)


def test_a_cart_of_which_nothing_is_told_holds_what_is_sold() -> None:
    """No article is invented beside a table of products, and the total is the sum."""
    line = thing(product_id=TEXT, product_name=TEXT, quantity=WHOLE, price=NUMBER)
    schema = thing(items=listed(line), total=NUMBER)
    products = [
        {"id": f"P-{number}", "name": f"Thing {number}", "price": 3.5 * number} for number in range(1, 5)
    ]
    made = answer("get_cart", schema, {"cart_id": "K-9"}, products=products)
    known = {row["id"]: row for row in products}
    assert made["items"]
    for row in made["items"]:
        assert row["product_name"] == known[row["product_id"]]["name"]
        assert row["price"] == known[row["product_id"]]["price"]
    assert made["total"] == pytest.approx(cents(made["items"], "price") / 100)
