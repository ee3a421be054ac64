"""An answer that breaks an invariant, or what was said before, is told with the earlier turn."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.conventions import EarlierAnswer
from simulator.environment.world.connections import ToolShape, found_offline
from simulator.environment.world.entities import NO_TABLES, EntityChange, Origin, read_tables
from simulator.environment.world.invariants import (
    Contradiction,
    InvariantError,
    check_invariant,
    contradictions,
    standing,
)
from simulator.environment.world.world import World
from tests.simulator.base.rows import for_each

DATA = """{
  "customers": [{"id": "C-17", "limit": 100}, {"id": 7, "limit": 5}],
  "orders": [{"order_id": "A-1", "customer_id": "C-17", "total": 3, "currency": "EUR", "created_at": "2026-01-01",
              "status": "open", "items": [{"price": 1}, {"price": 2}]}],
  "products": [{"id": "P-1", "sku": "mug", "stock": 3}]
}"""
SEED = Origin(fact=0, turn=0, source="seed")


def world_of(data: str = DATA) -> World:
    """Make a world of tables."""
    return World(tables=read_tables(data))


def found(
    world: World, invariant: str, tool: str, response: JsonValue, **arguments: JsonValue
) -> tuple[Contradiction, ...]:
    """Return what an answer would contradict; with no invariant, only what was said before."""
    call = EarlierAnswer(tool, arguments, response, fact=50, turn=5)
    if invariant:
        return contradictions(world, world.preview(call), [invariant])
    return contradictions(world, world.preview(call), [], call=call)


IN_CUSTOMERS = "order.customer_id in customers"
IN_PRODUCTS = "order.skus in products"
TOTAL = "order.total == order.items | sum(attribute='price')"
LIMIT = "order.total <= customer.limit"
OF_P1: JsonObject = {"product_id": "P-1"}
OF_A1: JsonObject = {"order_id": "A-1"}


@for_each(
    ("invariant", "tool", "response", "holds"),
    [
        # Each thing of the kind, each that has the field, and the collection as a whole are judged.
        ("stock >= 0", "find_product", {**OF_P1, "stock": 0}, True),
        ("stock >= 0", "find_product", {**OF_P1, "stock": -1}, False),
        ("product.stock >= 0", "find_product", {**OF_P1, "stock": -1}, False),
        ("product.stock in [1, 2]", "find_product", {**OF_P1, "stock": None}, True),
        ("product.stock in [1, 2]", "find_product", {**OF_P1, "stock": 3.5}, False),
        ("products | length <= 2", "search_products", {"id": "P-2"}, True),
        ("products | length <= 2", "search_products", [{"id": "P-2"}, {"id": "P-3"}], False),
        ("'P-9' not in products", "search_products", {"id": "P-8"}, True),
        ("'P-9' not in products", "search_products", {"id": "P-9"}, False),
        # Ids are compared as such, text or number; a null names nobody, and an absent field breaks nothing.
        *((IN_CUSTOMERS, "create_order", {"order_id": "A-2", "customer_id": one}, True) for one in ("C-17", 7, "7", None)),
        *((IN_CUSTOMERS, "create_order", {"order_id": "A-2", "customer_id": one}, False) for one in ("C-99", 8)),
        (IN_CUSTOMERS, "create_order", {"order_id": "A-2"}, True),
        ("order.total > 5", "create_order", {"order_id": "A-2"}, True),
        # Every id of a list must be there; a product is there by its sku too.
        (IN_PRODUCTS, "create_order", {"order_id": "A-2", "skus": ["mug", "P-1"]}, True),
        (IN_PRODUCTS, "create_order", {"order_id": "A-2", "skus": ["mug", "cup"]}, False),
        (TOTAL, "find_order", {**OF_A1, "status": "shipped"}, True),
        ("order.status in ['open']", "find_order", {**OF_A1, "status": "lost"}, False),
        # A thing is held against the one that it refers to.
        (LIMIT, "update_order", {**OF_A1, "total": 100}, True),
        (LIMIT, "update_order", {**OF_A1, "total": 101}, False),
    ],
)  # fmt: skip
def test_an_answer_that_breaks_an_invariant_is_told(
    invariant: str, tool: str, response: JsonValue, holds: bool
) -> None:
    """Once, with the invariant."""
    told = found(world_of(), invariant, tool, response)
    assert [one.invariant for one in told] == ([] if holds else [invariant])


def test_what_was_said_before_breaks_it_together_with_the_answer() -> None:
    """The total of an order is that of its items; a change of a customer can break what its order must keep."""
    (told,) = found(world_of(), TOTAL, "update_order", {"order_id": "A-1", "total": 4}, order_id="A-1")
    assert told.earlier == SEED
    assert "order.total is 4" in told.what
    (told,) = found(world_of(), LIMIT, "update_customer", None, customer_id="C-17", limit=2)
    assert (told.kind, told.id) == ("order", "A-1")


def test_the_earlier_turn_is_named() -> None:
    """A person sees which call of which turn, counted from 1, the answer stands against."""
    world = world_of()
    world.take(EarlierAnswer("restock", OF_P1, {**OF_P1, "stock": 9}, fact=20, turn=2))
    (told,) = found(world, "stock >= 0", "sell", {"product_id": "P-1", "stock": -1}, product_id="P-1")
    assert told.earlier == Origin(fact=20, turn=2, source="restock")
    assert "restock in turn 3" in told.what  # people count turns from 1


def test_deleting_breaks_what_refers_to_it() -> None:
    """The order that loses its customer is told, and afterwards the deletion is what it stands against."""
    world = world_of()
    (told,) = found(world, IN_CUSTOMERS, "delete_customer", None, customer_id="C-17")
    assert (told.kind, told.id) == ("order", "A-1")
    world.take(EarlierAnswer("delete_customer", {"customer_id": "C-17"}, None, fact=30, turn=3))
    (told,) = found(world, IN_CUSTOMERS, "create_order", {"order_id": "A-2", "customer_id": "C-17"})
    assert told.earlier == Origin(fact=30, turn=3, source="delete_customer")


def test_what_was_broken_before_is_not_told_again() -> None:
    """Only the answer that breaks it, or says the broken value anew, is held up."""
    world = world_of('{"products": [{"id": "P-1", "stock": -1}, {"id": "P-2", "stock": 1}]}')
    assert found(world, "stock >= 0", "update_product", None, product_id="P-2", stock=0) == ()
    assert found(world, "stock >= 0", "update_product", None, product_id="P-1", name="x") == ()
    assert len(found(world, "stock >= 0", "update_product", None, product_id="P-1", stock=-2)) == 1
    assert found(world, "products | length < 2", "update_product", None, product_id="P-2", stock=0) == ()
    assert len(found(world, "products | length < 2", "create_product", {"product_id": "P-3"})) == 1


@for_each(
    ("text", "told"),
    [
        ("stock >", "ends too early"),
        ("1 == 1", "the world"),
        ("stock = 3", "write '=='"),
        ("", "empty"),
        ("stock\n>= 3", "several lines"),
        ("order.__class__ == 1", "__class__"),
        # Unknown functions, and all things taken for one: the error says how it is written.
        ("count(orders) < 1", r"'count'; write orders \| length"),
        ("avg(orders.total) < 5", r"'avg'; write orders\.values\(\) \| sum\(attribute='total'\)"),
        ("check(order)", "len, sum"),
        ("orders.quantity >= 5", r"Write order\.quantity"),
        ("sum(orders.total) < 1", r"orders\.values\(\) \| sum\(attribute='total'\)"),
    ],
)
def test_a_line_that_is_no_invariant_is_refused(text: str, told: str) -> None:
    """The error names the line and says what is wrong, or what to write."""
    with pytest.raises(InvariantError, match=told):
        check_invariant(text)


@for_each("text", ["stock >", "1 == 1", "", "stock\n>= 3", "order.__class__ == 1"])
def test_judging_with_a_line_that_is_no_invariant_is_refused_too(text: str) -> None:
    """Nothing is passed over."""
    with pytest.raises(InvariantError):
        contradictions(world_of(), [EntityChange(op="delete", kind="order", id="A-1")], [text])


@for_each(
    "text",
    [
        "orders | length < 3",
        "orders.values() | sum(attribute='total') <= 20",
        "'A-1' in orders",
        "orders['A-1'].total >= 0",
        "order.lines.total >= 0",
        "address.city == 'Berne'",
    ],
)
def test_what_can_be_judged_is_taken(text: str) -> None:
    """What the errors tell to write is an invariant, and so is what names one thing among all."""
    check_invariant(text)
    assert [stood.invariant for stood in standing(world_of(), [text])] == [text]


def test_the_sum_of_all_things_is_judged_as_the_error_says() -> None:
    """The way that is told for a sum acts."""
    world = world_of()
    world.take(EarlierAnswer("create_order", {}, {"order_id": "B-1", "total": 7_000}, fact=1, turn=1))
    (sum_,) = standing(world, ["orders.values() | selectattr('total') | sum(attribute='total') < 100"])
    assert sum_.broken


def test_how_invariants_stand_is_told_for_the_world_as_it_is() -> None:
    """For how many things a line holds, what breaks it, and why it could not be judged."""
    world = world_of()
    world.take(EarlierAnswer("create_product", {}, {"product_id": "P-2", "stock": -1}, fact=1, turn=1))
    stock, typo, none = standing(world, ["stock >= 0", "order.totl > 0", "boat.length > 3"])
    assert (stock.holds, [one.id for one in stock.broken]) == (1, ["P-2"])
    assert (typo.holds, typo.unjudged) == (0, 1)
    assert "totl" in typo.why
    assert (none.holds, none.broken, bool(none.why)) == (0, (), True)


@for_each(
    ("tool", "response", "arguments", "told"),
    [
        ("find_order", {**OF_A1, "customer_id": "C-18"}, OF_A1, "customer_id of order"),
        ("find_order", {**OF_A1, "created_at": "2026-02-02"}, OF_A1, '"2026-02-02", but was "2026-01-01"'),
        ("find_order", {**OF_A1, "currency": "USD"}, OF_A1, "currency"),
        ("find_order", {"error": "Order not found"}, OF_A1, "not found"),
        ("create_order", {"order_id": "A-1", "total": 8}, {}, "already existed"),
        ("find_order", {**OF_A1, "total": 5, "items": [{"price": 2, "quantity": 2}]}, {}, "4.00"),
    ],
)
def test_an_answer_against_what_was_said_is_told_without_any_rule(
    tool: str, response: JsonObject, arguments: JsonObject, told: str
) -> None:
    """What identifies a thing does not change by asking; what is there is there; sums are sums."""
    (one,) = found(world_of(), "", tool, response, **arguments)
    assert told in one.what
    assert one.invariant == ""


@for_each(
    ("tool", "response", "arguments"),
    [
        ("find_order", {**OF_A1, "status": "shipped", "tracking_number": "TRK-1"}, OF_A1),
        ("update_order", {**OF_A1, "customer_id": "C-18"}, {**OF_A1, "customer_id": "C-18"}),
        ("find_order", {**OF_A1, "total": 5, "tax": 1, "items": [{"price": 2, "quantity": 2}]}, {}),
        ("find_order", {**OF_A1, "total": 5, "items": [{"price": 2}]}, {}),
        ("find_order", {"error": "not found"}, {"order_id": "A-9"}),
        ("create_order", {"order_id": "A-9"}, {"customer_id": "C-17"}),
    ],
)
def test_what_may_well_be_is_no_contradiction(tool: str, response: JsonObject, arguments: JsonObject) -> None:
    """A status moves on, a change changes, and a total with taxes is no sum of its lines."""
    assert found(world_of(), "", tool, response, **arguments) == ()


def test_a_deleted_thing_that_lives_again_is_told() -> None:
    """Being answered about is told, with the deletion; being made anew is fine."""
    world = world_of()
    world.take(EarlierAnswer("delete_order", {"order_id": "A-1"}, None, fact=30, turn=3))
    for tool in ("find_order", "cancel_order"):
        (told,) = found(world, "", tool, {"order_id": "A-1", "total": 3}, order_id="A-1")
        assert told.earlier == Origin(fact=30, turn=3, source="delete_order")
    assert found(world, "", "create_order", {"order_id": "A-1"}) == ()
    assert found(world, "", "create_order", {"order_id": "A-1"}, order_id="A-1") == ()


TEA = """{"orders": [{"order_id": "A-1", "item": "tea", "total": 4.5, "carrier": "UPS"}]}"""


def shop(*tools: str, data: str = TEA) -> World:
    """Make a world of tables whose tools are known."""
    asks = {"type": "object", "properties": {"order_id": {"type": "string"}, "item": {"type": "string"}}}
    shapes = [ToolShape(name=name, parameters=asks) for name in tools]
    return World(found_offline(shapes), read_tables(data) if data else NO_TABLES)


@for_each(
    ("name", "value", "told"),
    [("item", "coffee", '"tea"'), ("carrier", "DHL", '"UPS"'), ("total", 9, "4.5")],
)
def test_a_question_does_not_change_what_a_thing_is(name: str, value: JsonValue, told: str) -> None:
    """What a table said is told again, where no tool changes things of that kind."""
    world = shop("get_order", "list_orders")
    (one,) = found(world, "", "get_order", {"order_id": "A-1", name: value}, order_id="A-1")
    assert one.what.startswith(f"{name} of order 'A-1' would be ")
    assert f", but was {told} (the environment's data)" in one.what
    (other,) = found(world, "", "list_orders", [{"order_id": "A-1", name: value}])
    assert other.earlier == SEED


def test_what_a_person_or_an_earlier_answer_said_of_a_thing_stays() -> None:
    """An edit and an answer count as the data do; the turn is named."""
    world = shop("get_order", data="")
    world.take(EarlierAnswer("get_order", OF_A1, {**OF_A1, "item": "tea"}, fact=9, turn=2))
    (one,) = found(world, "", "get_order", {"order_id": "A-1", "item": "coffee"}, order_id="A-1")
    assert one.earlier == Origin(fact=9, turn=2, source="get_order")
    world.edit([EntityChange(op="put", kind="order", id="A-1", fields={"item": "milk"})], fact=12, turn=3)
    assert found(world, "", "get_order", {"order_id": "A-1", "item": "milk"}, order_id="A-1") == ()
    (one,) = found(world, "", "get_order", {"order_id": "A-1", "item": "tea"}, order_id="A-1")
    assert one.earlier == Origin(fact=12, turn=3, source="person")


VALUES: st.SearchStrategy[Any] = st.sampled_from([None, True, False, -2, 0, 1, 2, "C-17", "x", "", [], {}])


@given(st.dictionaries(st.sampled_from(["order_id", "customer_id", "total", "items", "stock", "id"]), VALUES))
def test_any_answer_can_be_judged(response: JsonObject) -> None:
    """No value crashes a judgement, and what is told can be stored."""
    world = world_of()
    rules = ["stock >= 0", IN_CUSTOMERS, TOTAL]
    for tool in ("find_order", "create_order", "update_product", "delete_order"):
        call = EarlierAnswer(tool, {"order_id": "A-1"}, response)
        for one in contradictions(world, world.preview(call), rules, call=call):
            assert Contradiction.model_validate_json(one.model_dump_json()) == one


@pytest.mark.long
def test_a_costly_invariant_is_given_up_for_all_things_together() -> None:
    """Hundreds of things share the work of one invariant: those that are not judged say why."""
    rows = ", ".join(f'{{"id": "P-{number}", "stock": 1}}' for number in range(300))
    world = world_of(f'{{"products": [{rows}]}}')
    (said,) = standing(world, ["product.stock > 0 and (range(20000) | map('string') | list | length) > 0"])
    assert said.unjudged > 0
    assert said.holds + said.unjudged == 300
    assert "it takes" in said.why


def test_other_keys_of_many_things_are_looked_up_at_once() -> None:
    """`in` finds a thing by another of its keys, however many there are, without going through all of them each time."""
    rows = ", ".join(f'{{"id": "P-{number}", "sku": "S-{number}"}}' for number in range(3_000))
    orders = ", ".join(f'{{"order_id": "A-{number}", "sku": "S-{number}"}}' for number in range(3_000))
    world = world_of(f'{{"products": [{rows}], "orders": [{orders}]}}')
    (said,) = standing(world, ["order.sku in products"])
    assert (said.holds, said.unjudged) == (3_000, 0)
