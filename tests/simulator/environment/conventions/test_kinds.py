"""Names tell which kind of thing is meant, and what a tool does to it; of a docstring only what it says of single fields is read."""

from __future__ import annotations

from collections.abc import Callable

from simulator.environment.conventions import (
    collection_of,
    id_kind,
    id_of,
    is_own_key,
    kind_named,
    role_of,
)
from simulator.environment.drafts.docstrings import (
    choices_in,
    default_in,
    examples_in,
    field_texts,
    shape_of_id,
)
from tests.simulator.base.rows import for_each


@for_each(
    ("kind", "collection"),
    [
        ("order", "orders"),
        ("category", "categories"),
        ("address", "addresses"),
        ("status", "statuses"),
        ("person", "people"),
        ("child", "children"),
        ("box", "boxes"),
        ("batch", "batches"),
        ("sales_order", "sales_orders"),
        ("analysis", "analyses"),
        ("invoice", "invoices"),
        ("warehouse", "warehouses"),
        ("movie", "movies"),
        ("day", "days"),
        ("bus", "buses"),
        ("equipment", "equipment"),
        ("series", "series"),
        ("visa", "visas"),
    ],
)
def test_a_plural_leads_back_to_its_singular(kind: str, collection: str) -> None:
    """Things stand together under the plural, and the plural names their kind; a singular stays one."""
    assert collection_of(kind) == collection
    assert kind_named(collection) == kind
    assert kind_named(kind) == kind


@for_each("spelling", ["salesOrders", "sales_orders", "SalesOrder", "sales-order", "Sales Orders"])
def test_any_spelling_gives_one_kind(spelling: str) -> None:
    """However a name is written, the kind is in the singular and in snake case."""
    assert kind_named(spelling) == "sales_order"


@for_each(
    ("name", "kind"),
    [
        ("order_id", "order"),
        ("orderId", "order"),
        ("orderIDs", "order"),
        ("order_ids", "order"),
        ("customerID", "customer"),
        ("order_number", "order"),
        ("booking_reference", "booking"),
        ("sku", "product"),
        ("product_sku", "product"),
        ("new_order_id", "order"),
        ("from_account_id", "account"),
        ("user_uuid", "user"),
        ("id", ""),
        ("_id", ""),
        ("uuid", ""),
        ("reference", ""),
        ("tracking_number", ""),
        ("currency_code", None),
        ("phone_number", None),
        ("zipCode", None),
        ("error_code", None),
        ("line_number", None),
        ("api_key", None),
        ("request_id", None),
        ("trace_id", None),
        ("number", None),
        ("items", None),
        ("name", None),
        ("", None),
    ],
)
def test_the_name_of_an_id_says_whose_it_is(name: str, kind: str | None) -> None:
    """An id names a kind, or leaves it open (empty); codes and numbers that only describe are none."""
    assert id_kind(name) == kind


def test_an_id_of_another_thing_of_the_same_kind_is_not_the_things_own() -> None:
    """`parent_id` and `original_order_id` do not find the order that has them."""
    assert is_own_key("order_number", "order")
    assert is_own_key("reference", "order")
    assert not is_own_key("parent_id", "order")
    assert not is_own_key("original_order_id", "order")
    assert not is_own_key("customer_id", "order")


def test_only_plain_words_and_whole_numbers_are_ids() -> None:
    """7 and "7" are one id; truth values, fractions, lists, empty and endless texts are none."""
    assert id_of(7) == id_of("7") == "7"
    others: list[object] = [True, 1.5, None, "", [], {}, "a\nb", "x" * 500, 10**50]
    assert [id_of(value) for value in others] == [None] * len(others)


@for_each(
    ("tool", "use", "kind"),
    [
        ("find_order", "reads", "order"),
        ("getOrderDetails", "reads", "order"),
        ("list_all_orders", "reads", "order"),
        ("order_lookup", "reads", "order"),
        ("order_status", "reads", "order"),
        ("count_orders", "reads", "order"),
        ("look_up_entry_rules", "reads", "entry_rule"),
        ("create_order", "creates", "order"),
        ("shop_create_order", "creates", "order"),
        ("github.create_issue", "creates", "issue"),
        ("get_issue", "reads", "issue"),
        ("issue_refund", "creates", "refund"),
        ("get_file", "reads", "file"),
        ("file_claim", "creates", "claim"),
        ("cancel_order", "changes", "order"),
        ("refund_order", "changes", "order"),
        ("update_order_status", "changes", "order"),
        ("return_item", "changes", "item"),
        ("delete_order", "deletes", "order"),
        ("users_delete", "deletes", "user"),
        ("remove_user", "deletes", "user"),
        ("remove_item_from_cart", "changes", "cart"),
        ("add_to_cart", "changes", "cart"),
        ("buy_stock", "creates", ""),
        ("send_status", "creates", ""),
    ],
)
def test_a_tools_name_says_what_it_does(tool: str, use: str, kind: str) -> None:
    """The verb says what happens and the noun to what; cancelling changes, and only deleting deletes."""
    role = role_of(tool)
    assert (role.use, role.kind) == (use, kind)


@for_each(
    ("tool", "description", "use"),
    [
        ("reimburse", "Pays an employee back. The money leaves at once.", "changes"),
        ("room_sensor", "Read current room temperature and humidity.", "reads"),
        ("weather", "Returns the weather of a city.", "reads"),
        ("hvac_controller", "Control home heating/cooling system.", "changes"),
        ("orders_api", "This tool deletes an order.", "deletes"),
        ("frobnicate", "", "changes"),
        ("ticketing", "Creates a new ticket for a customer.", "creates"),
        ("ticketing", "Creating a ticket for a customer.", "creates"),
    ],
)
def test_where_the_name_has_no_verb_the_description_says_it(tool: str, description: str, use: str) -> None:
    """The first words of a docstring count, in any form of the verb."""
    assert role_of(tool, description).use == use


_GOOGLE = """Find orders.

    Args:
        order_id (str): The order's id,
            for instance "A-1001".
        status: one of 'open', 'closed'

    Returns:
        dict: What was found, with
        state: Either "ok" or "lost".

    Raises:
        status: never
"""


def test_each_field_has_the_lines_of_its_own_section() -> None:
    """A deeper line goes on with the one above; what another section says of the same name is not mixed in."""
    arguments = dict(field_texts(_GOOGLE))
    assert arguments == {
        "order_id": 'The order\'s id, for instance "A-1001".',
        "status": "one of 'open', 'closed'",
    }
    assert choices_in(field_texts(_GOOGLE, "response")["state"]) == ("ok", "lost")
    sphinx = dict(field_texts(":param str order_id: The id.\n:param n: How many.\n:returns: it"))
    assert sphinx == {"order_id": "The id.", "n": "How many."}


@for_each(
    ("read", "text", "found"),
    [
        (choices_in, "status: one of 'open', 'closed'", ("open", "closed")),
        (choices_in, "Either 'low' or 'high'.", ("low", "high")),
        (choices_in, 'Must be one of: "a", "b", or "c".', ("a", "b", "c")),
        (choices_in, "The allowed values are `x` and `y`.", ("x", "y")),
        (choices_in, "'json' | 'text'", ("json", "text")),
        (choices_in, "Options: ['s', 'm', 'l']", ("s", "m", "l")),
        (choices_in, "One of 'open'.", ()),
        (choices_in, "Not one of 'x', 'y'.", ()),
        (choices_in, "Either the user's name or the dog's name.", ()),
        (choices_in, "The city, for instance 'Rome' or 'Oslo'.", ()),
        (choices_in, "One of low, middle, high.", ()),
        (examples_in, 'The id, for instance "A-1001".', ("A-1001",)),
        (examples_in, "The day (e.g. 2026-01-02).", ("2026-01-02",)),
        (examples_in, "Cities such as 'Paris', 'Rome'.", ("Paris", "Rome")),
        (examples_in, "For example the last one.", ()),
        (examples_in, "Something like that.", ()),
        (examples_in, "The first day, as 2026-05-03.", ("2026-05-03",)),
        (examples_in, "As of 2026-05-03, in the same way as 2 others.", ()),
        (examples_in, "for example ada@example.com", ("ada@example.com",)),
        (default_in, "How many, defaults to 5.", 5),
        (default_in, 'The unit. Default: "km".', "km"),
        (default_in, "Default is true", True),
        (default_in, "The default one.", None),
    ],
)
def test_what_is_read_behind_a_fixed_word_is_a_literal(
    read: Callable[[str], object], text: str, found: object
) -> None:
    """Choices are at least two in quotes, examples have quotes, a digit or a sign of addresses; what has neither is English."""
    assert read(text) == found


@for_each(
    ("example", "text", "found"),
    [
        ("A-1001", "Cancel order B-7, not XA-1001.", ["B-7"]),
        ("ORD-123", "ORD-9 and INV-9", ["ORD-9"]),
        ("2026-01-02", "On 2026-03-04 at 10-11-12", ["2026-03-04"]),
        ("12345", "98765 and 1234567", ["98765"]),
        ("ada@x.org", "Write to grace@example.com.", ["grace@example.com"]),
    ],
)
def test_an_example_says_what_other_ids_look_like(example: str, text: str, found: list[str]) -> None:
    """Words of letters stay as they are; whole ids are found alone."""
    shape = shape_of_id(example)
    assert shape is not None
    assert shape.findall(text) == found


@for_each("word", ["Rome", "12", "the order 12345"])
def test_what_is_no_id_has_no_shape(word: str) -> None:
    """Plain words, short numbers and several words."""
    assert shape_of_id(word) is None
