"""An answer that breaks an invariant, or what was said before, is told with the earlier turn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.world.connections import ToolShape, found_offline
from simulator.environment.world.entities import EntityChange, Origin, WorldCall
from simulator.environment.world.invariants import (
    Contradiction,
    InvariantError,
    check_invariant,
    contradictions,
    standing,
)
from simulator.environment.world.seed_tables import NO_TABLES, read_tables
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
    call = WorldCall(tool, arguments, response, fact=50, turn=5)
    if invariant:
        return contradictions(world, world.preview(call), [invariant])
    return contradictions(world, world.preview(call), [], call=call)


@for_each(
    ("invariant", "good", "bad"),
    [
        ("stock >= 0", {"id": "P-1", "stock": 0}, {"id": "P-1", "stock": -1}),
        ("product.stock >= 0", {"id": "P-1", "stock": 0}, {"id": "P-1", "stock": -1}),
        ("product.stock in [1, 2]", {"id": "P-1", "stock": None}, {"id": "P-1", "stock": 3.5}),
        ("products | length <= 2", {"id": "P-2"}, [{"id": "P-2"}, {"id": "P-3"}]),
        ("'P-9' not in products", {"id": "P-8"}, {"id": "P-9"}),
    ],
)
def test_an_answer_that_breaks_an_invariant_is_told(invariant: str, good: JsonValue, bad: JsonValue) -> None:
    """Each thing of the kind, each that has the field, and the collection as a whole are judged."""
    assert found(world_of(), invariant, "search_products", good) == ()
    told = found(world_of(), invariant, "search_products", bad)
    assert [one.invariant for one in told] == [invariant]


@for_each(
    ("customer", "holds"), [("C-17", True), (7, True), ("7", True), (None, True), ("C-99", False), (8, False)]
)
def test_in_a_collection_asks_for_ids(customer: JsonValue, holds: bool) -> None:
    """Ids are compared as such, text or number; a null names nobody and breaks nothing."""
    told = found(
        world_of(),
        "order.customer_id in customers",
        "create_order",
        {"order_id": "A-2"},
        customer_id=customer,
    )
    assert (told == ()) == holds


def test_an_absent_field_breaks_nothing() -> None:
    """An answer that does not say it cannot be wrong about it."""
    world = world_of()
    assert found(world, "order.customer_id in customers", "create_order", {"order_id": "A-2"}) == ()
    assert found(world, "order.total > 5", "create_order", {"order_id": "A-2"}) == ()


def test_a_list_of_ids_and_another_key_are_in_a_collection() -> None:
    """Every id of a list must be there; a product is there by its sku too."""
    world = world_of()
    told = {
        skus: found(world, "order.skus in products", "create_order", {"order_id": "A-2", "skus": list(skus)})
        for skus in (("mug", "P-1"), ("mug", "cup"))
    }
    assert [len(one) for one in told.values()] == [0, 1]


def test_sums_and_choices_are_judged() -> None:
    """The total of an order is that of its items, and its status one of a few."""
    world = world_of()
    total = "order.total == order.items | sum(attribute='price')"
    assert found(world, total, "find_order", {"order_id": "A-1", "status": "shipped"}) == ()
    (told,) = found(world, total, "update_order", {"order_id": "A-1", "total": 4}, order_id="A-1")
    assert told.earlier == SEED
    assert "order.total is 4" in told.what
    assert (
        len(found(world, "order.status in ['open']", "find_order", {"order_id": "A-1", "status": "lost"}))
        == 1
    )


def test_a_thing_is_held_against_the_one_that_it_refers_to() -> None:
    """Two kinds in one line: each order, with its customer; a change of either can break it."""
    rule = "order.total <= customer.limit"
    assert found(world_of(), rule, "update_order", {"order_id": "A-1", "total": 100}, order_id="A-1") == ()
    assert (
        len(found(world_of(), rule, "update_order", {"order_id": "A-1", "total": 101}, order_id="A-1")) == 1
    )
    (told,) = found(world_of(), rule, "update_customer", None, customer_id="C-17", limit=2)
    assert (told.kind, told.id) == ("order", "A-1")


def test_the_earlier_turn_is_named() -> None:
    """A person sees which call of which turn, counted from 1, the answer stands against."""
    world = world_of()
    world.take(
        WorldCall("restock", {"product_id": "P-1"}, {"product_id": "P-1", "stock": 9}, fact=20, turn=2)
    )
    (told,) = found(world, "stock >= 0", "sell", {"product_id": "P-1", "stock": -1}, product_id="P-1")
    assert told.earlier == Origin(fact=20, turn=2, source="restock")
    assert "restock in turn 3" in told.what  # people count turns from 1


def test_deleting_breaks_what_refers_to_it() -> None:
    """The order that loses its customer is told, and afterwards the deletion is what it stands against."""
    world = world_of()
    rule = "order.customer_id in customers"
    (told,) = found(world, rule, "delete_customer", None, customer_id="C-17")
    assert (told.kind, told.id) == ("order", "A-1")
    world.take(WorldCall("delete_customer", {"customer_id": "C-17"}, None, fact=30, turn=3))
    (told,) = found(world, rule, "create_order", {"order_id": "A-2", "customer_id": "C-17"})
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
    ],
)
def test_a_line_that_is_no_invariant_is_refused(text: str, told: str) -> None:
    """The error names the line and says what is wrong; judging with it is refused too."""
    with pytest.raises(InvariantError, match=told):
        check_invariant(text)
    with pytest.raises(InvariantError):
        contradictions(world_of(), [EntityChange(op="delete", kind="order", id="A-1")], [text])


@for_each(
    ("text", "told"),
    [
        ("count(orders) < 1", r"'count'; write orders \| length"),
        (
            "avg(orders.total) < 5",
            r"'avg'; write orders\.values\(\) \| sum\(attribute='total'\)",
        ),
        ("check(order)", "len, sum"),
        ("orders.quantity >= 5", r"Write order\.quantity"),
        ("sum(orders.total) < 1", r"orders\.values\(\) \| sum\(attribute='total'\)"),
    ],
)
def test_what_could_never_be_judged_is_refused_with_what_to_write(text: str, told: str) -> None:
    """Unknown functions, and all things taken for one: the error says how it is written."""
    with pytest.raises(InvariantError, match=told):
        check_invariant(text)


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
    world.take(WorldCall("create_order", {}, {"order_id": "B-1", "total": 7_000}, fact=1, turn=1))
    (sum_,) = standing(world, ["orders.values() | selectattr('total') | sum(attribute='total') < 100"])
    assert sum_.broken


def test_how_invariants_stand_is_told_for_the_world_as_it_is() -> None:
    """For how many things a line holds, what breaks it, and why it could not be judged."""
    world = world_of()
    world.take(WorldCall("create_product", {}, {"product_id": "P-2", "stock": -1}, fact=1, turn=1))
    stock, typo, none = standing(world, ["stock >= 0", "order.totl > 0", "boat.length > 3"])
    assert (stock.holds, [one.id for one in stock.broken]) == (1, ["P-2"])
    assert (typo.holds, typo.unjudged) == (0, 1)
    assert "totl" in typo.why
    assert (none.holds, none.broken, bool(none.why)) == (0, (), True)


@for_each(
    ("tool", "response", "arguments", "told"),
    [
        (
            "find_order",
            {"order_id": "A-1", "customer_id": "C-18"},
            {"order_id": "A-1"},
            "customer_id of order",
        ),
        (
            "find_order",
            {"order_id": "A-1", "created_at": "2026-02-02"},
            {"order_id": "A-1"},
            '"2026-02-02", but was "2026-01-01"',
        ),
        ("find_order", {"order_id": "A-1", "currency": "USD"}, {"order_id": "A-1"}, "currency"),
        ("find_order", {"error": "Order not found"}, {"order_id": "A-1"}, "not found"),
        ("create_order", {"order_id": "A-1", "total": 8}, {}, "already existed"),
        (
            "find_order",
            {"order_id": "A-1", "total": 5, "items": [{"price": 2, "quantity": 2}]},
            {},
            "4.00",
        ),
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
        (
            "find_order",
            {"order_id": "A-1", "status": "shipped", "tracking_number": "TRK-1"},
            {"order_id": "A-1"},
        ),
        (
            "update_order",
            {"order_id": "A-1", "customer_id": "C-18"},
            {"order_id": "A-1", "customer_id": "C-18"},
        ),
        ("find_order", {"order_id": "A-1", "total": 5, "tax": 1, "items": [{"price": 2, "quantity": 2}]}, {}),
        ("find_order", {"order_id": "A-1", "total": 5, "items": [{"price": 2}]}, {}),
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
    world.take(WorldCall("delete_order", {"order_id": "A-1"}, None, fact=30, turn=3))
    for tool in ("find_order", "cancel_order"):
        (told,) = found(world, "", tool, {"order_id": "A-1", "total": 3}, order_id="A-1")
        assert told.earlier == Origin(fact=30, turn=3, source="delete_order")
    assert found(world, "", "create_order", {"order_id": "A-1"}) == ()


TEA = """{"orders": [{"order_id": "A-1", "item": "tea", "total": 4.5, "carrier": "UPS", "status": "open", "count": 2}]}"""


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
    world.take(
        WorldCall("get_order", {"order_id": "A-1"}, {"order_id": "A-1", "item": "tea"}, fact=9, turn=2)
    )
    (one,) = found(world, "", "get_order", {"order_id": "A-1", "item": "coffee"}, order_id="A-1")
    assert one.earlier == Origin(fact=9, turn=2, source="get_order")
    world.edit([EntityChange(op="put", kind="order", id="A-1", fields={"item": "milk"})], fact=12, turn=3)
    assert found(world, "", "get_order", {"order_id": "A-1", "item": "milk"}, order_id="A-1") == ()
    (one,) = found(world, "", "get_order", {"order_id": "A-1", "item": "tea"}, order_id="A-1")
    assert one.earlier == Origin(fact=12, turn=3, source="person")


@for_each(
    ("response", "arguments"),
    [
        ({"status": "shipped", "count": 5}, {}),
        ({"item": "Tea"}, {}),
        ({"item": "green tea"}, {}),
        ({"item": "Tee", "carrier": "Post"}, {"lang": "de"}),
        ({"item": "sugar"}, {"item": "second"}),
    ],
)
def test_a_question_may_be_answered_otherwise(response: JsonObject, arguments: JsonObject) -> None:
    """What passes, what is only written in another way, and what was asked for in another way, is no contradiction."""
    world = shop("get_order")
    assert found(world, "", "get_order", {"order_id": "A-1", **response}, order_id="A-1", **arguments) == ()


def test_what_a_tool_may_have_changed_is_no_contradiction() -> None:
    """A tool that changes things of the kind takes back what was set of all; what a thing is, once it was called."""
    world = shop("get_order", "update_order")
    other: JsonObject = {"order_id": "A-1", "item": "coffee", "carrier": "DHL"}
    (one,) = found(world, "", "get_order", other, order_id="A-1")
    assert one.what.startswith("item of order")
    world.take(WorldCall("update_order", {"order_id": "A-1"}, {"ok": True}, fact=8, turn=1))
    assert found(world, "", "get_order", other, order_id="A-1") == ()


def test_an_answer_about_something_else_is_no_contradiction() -> None:
    """A question for a thing's reviews has names and titles of its own."""
    world = shop("get_order", "get_review")
    assert found(world, "", "get_review", {"order_id": "A-1", "item": "stars"}, order_id="A-1") == ()


VALUES: st.SearchStrategy[JsonValue] = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from(["C-17", "x", ""])
    | st.just([])
    | st.just({})
)


@given(st.dictionaries(st.sampled_from(["order_id", "customer_id", "total", "items", "stock", "id"]), VALUES))
def test_any_answer_can_be_judged(response: JsonObject) -> None:
    """No value crashes a judgement, and what is told can be stored."""
    world = world_of()
    rules = [
        "stock >= 0",
        "order.customer_id in customers",
        "order.total == order.items | sum(attribute='price')",
    ]
    for tool in ("find_order", "create_order", "update_product", "delete_order"):
        call = WorldCall(tool, {"order_id": "A-1"}, response)
        for one in contradictions(world, world.preview(call), rules, call=call):
            assert Contradiction.model_validate_json(one.model_dump_json()) == one


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
