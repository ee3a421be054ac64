"""Tests of drafts out of a tool's code and description: which evidence wins, what the session overrides, and what is marked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simulator.base.json_paths import field_place, item_place
from simulator.base.json_values import JsonObject
from simulator.environment.conventions import EarlierAnswer, is_error
from simulator.environment.drafts.candidates import candidates, drafted
from simulator.environment.drafts.docstrings import shown_answer
from simulator.environment.drafts.draft import Draft, DraftCall, Sources, unsure_of
from simulator.environment.evidence.sketch import CodeReading, Hole, Outcome
from simulator.environment.world.connections import ToolShape, found_offline
from simulator.environment.world.entities import read_tables
from simulator.environment.world.world import World
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drafts.test_generator import answered
from tests.simulator.environment.evidence.running import function_of
from tests.simulator.environment.schema.witnessed_schemas import witnessed

SHOP = '''
ORDERS = {"A-1": {"order_id": "A-1", "status": "processing", "total": 24.9}}

def find_order(order_id: str) -> dict:
    """Find an order."""
    order = ORDERS.get(order_id)
    if order is None:
        return {"status": "error", "message": f"No order {order_id} is known."}
    return {"status": "success", "order": order}

def cancel_order(order_id: str) -> dict:
    """Cancel an order."""
    return {"order_id": order_id, "status": "cancelled"}

def list_orders() -> dict:
    """List the orders."""
    return {"orders": [ORDERS["A-1"]]}

def order_total(order_id: str, currency: str = "EUR") -> dict:
    """Return the total in a currency."""
    return {"order_id": order_id, "total": ORDERS[order_id]["total"] * {"EUR": 1, "USD": 2}[currency], "currency": currency}

def preview_discount(order_id: str) -> dict:
    """Preview a discount."""
    return {"order_id": order_id, "status": "preview", "total": ORDERS[order_id]["total"] / 2}

def quote(amount: float, kind: str = "plain") -> dict:
    """Quote a price."""
    if amount < 0:
        raise ValueError(f"{amount} is below zero")
    return {"amount": amount, "kind": kind, "note": f"{kind} for {amount}"}
'''


TOOLS = ("find_order", "cancel_order", "list_orders", "order_total", "preview_discount", "quote")
CODES = {name: function_of(SHOP, name) for name in TOOLS}


def call_of(tool: str, *earlier: EarlierAnswer, **arguments: Any) -> DraftCall:
    """Return a call of the shop."""
    return DraftCall(tool_name=tool, arguments=arguments, earlier=earlier, code=CODES[tool], codes=CODES)


def asked(tool: str, *earlier: EarlierAnswer, **arguments: Any) -> Draft:
    """Draft the answer to a call of the shop."""
    return drafted(call_of(tool, *earlier, **arguments))


def read(*outcomes: Outcome, **more: Any) -> Draft:
    """Draft an answer of a tool whose code says this."""
    call = DraftCall(tool_name="look", code=CODES["quote"], **more)
    return drafted(call, Sources(read=lambda *_, **__: CodeReading(outcomes, complete=True)))


LIBRARY = '''
import json
import os
import library_store

def find_book(isbn: str) -> str:
    """Find a book."""
    if not isbn.isdigit():
        return json.dumps({"error": f"{isbn} is no ISBN."})
    book = library_store.book(isbn)
    if not book:
        return json.dumps({"error": "No such book."})
    return json.dumps({"isbn": isbn, "title": book.title})

def lend_book(isbn: str) -> str:
    """Lend a book."""
    if not os.environ.get("LIBRARY_CARD"):
        return json.dumps({"status": "error", "message": "The card is missing."}, indent=2)
    return json.dumps({"status": "success", "isbn": isbn})
'''


def test_an_error_that_is_json_text_is_drafted_only_where_it_is_certain() -> None:
    """A success comes first though only the error is fully known, the error is a candidate next to it, and no earlier error is repeated."""
    codes = {name: function_of(LIBRARY, name) for name in ("find_book", "lend_book")}

    def asked_for(tool: str, isbn: str) -> DraftCall:
        return DraftCall(tool_name=tool, arguments={"isbn": isbn}, code=codes[tool], codes=codes)

    found, lent = asked_for("find_book", "123"), asked_for("lend_book", "123")
    assert "No such book." not in str(drafted(found).value)
    assert drafted(found).is_guess
    assert json.dumps({"error": "No such book."}) in [one.value for one in candidates(found)]
    assert drafted(lent).value == json.dumps({"status": "success", "isbn": "123"})
    assert [(one.path, one.drawn) for one in drafted(lent).blanks] == [("$", True)]
    assert drafted(asked_for("find_book", "A-1")).value == json.dumps({"error": "A-1 is no ISBN."})
    missing: JsonObject = {"result": json.dumps({"error": "No such book."})}
    again = found.model_copy(
        update={
            "earlier": (EarlierAnswer(tool_name="find_book", arguments={"isbn": "123"}, response=missing),)
        }
    )
    assert drafted(again).why != "The earlier response to the same call"


def test_the_code_gives_the_answer_and_its_place() -> None:
    """What the arguments decide stands in it; nothing of it is a guess, and another draw changes nothing."""
    made = asked("find_order", order_id="A-1")
    assert made.value == {
        "status": "success",
        "order": {"order_id": "A-1", "status": "processing", "total": 24.9},
    }
    assert re.search(r"\bshop/tools\.py, line \d+$", made.why)
    assert (made.is_guess, made.blanks, made.varies) == (False, (), False)
    assert asked("find_order", order_id="A-9").value == {
        "status": "error",
        "message": "No order A-9 is known.",
    }


def test_what_happened_overrides_the_literals_of_the_code() -> None:
    """A cancelled order stays so, whatever the module's constant holds, and so does what a person wrote; the envelope is no state."""
    found = answered("find_order", asked("find_order", order_id="A-1").value, order_id="A-1")
    done = answered("cancel_order", asked("cancel_order", found, order_id="A-1").value, order_id="A-1")
    again: Any = asked("find_order", found, done, order_id="A-1").value
    assert again == {"status": "success", "order": {"order_id": "A-1", "status": "cancelled", "total": 24.9}}
    listed: Any = asked("list_orders", found, done).value
    assert [one["status"] for one in listed["orders"]] == ["cancelled"]
    written: JsonObject = {"order_id": "A-1", "status": "lost", "total": 5}
    edited = answered("find_order", {"order": written}, order_id="A-1")
    note = answered("cancel_order", {"status": "error", "message": "It is lost."}, order_id="A-1")
    of_person: Any = asked("find_order", edited, note, order_id="A-1").value
    assert of_person["order"] == written


def test_what_code_computes_is_not_overwritten_by_what_other_computed_answers_say() -> None:
    """Neither in a table nor in an answer to other arguments; where a person said something else, nobody knows what is computed of it."""
    total: JsonObject = {"order_id": "A-1", "currency": "USD"}
    half: JsonObject = {"order_id": "A-1"}
    earlier = [
        EarlierAnswer("order_total", total, asked("order_total", **total).value),
        EarlierAnswer("preview_discount", half, asked("preview_discount", **half).value),
    ]
    found: Any = asked("find_order", *earlier, order_id="A-1").value
    assert found["order"] == {"order_id": "A-1", "status": "processing", "total": 24.9}
    in_euros = EarlierAnswer("order_total", half, asked("order_total", **half).value)
    assert asked("order_total", in_euros, **total).value == {**total, "total": 49.8}
    world = World(tables=read_tables('{"orders": [{"order_id": "A-1", "status": "new", "total": 20.0}]}'))
    seeded = drafted(call_of("order_total", **total), Sources(world=world))
    assert (seeded.value, seeded.blanks) == ({**total, "total": 40.0}, ())
    edited = answered("find_order", {"order": {"order_id": "A-1", "total": 30.0}}, order_id="A-1")
    of_person = asked("order_total", edited, **total)
    assert {one.path for one in of_person.blanks} == {"$.total"}


def test_a_thing_that_is_gone_leaves_lists_and_is_not_found_in_the_tools_own_form() -> None:
    """What a tool has deleted is no row of a constant any more."""
    gone = answered("delete_order", {"deleted": True}, order_id="A-1")
    assert asked("list_orders", gone).value == {"orders": []}
    found: Any = asked("find_order", gone, order_id="A-1").value
    assert found.keys() == {"status", "message"}
    assert found["status"] == "error"
    assert "A-1" in found["message"]


@for_each(("schema", "uses"), [
    ({"type": "array", "items": {"type": "object"}}, False),
    ({"type": "object", "properties": {"holder": {"type": "string"}}, "required": ["holder"]}, True),
    ({"type": "object", "properties": {"note": {"const": "Of GRV-500-56."}}, "required": ["note"]}, True),
])  # fmt: skip
def test_a_draft_names_the_things_of_the_session_that_it_has_something_of(
    schema: JsonObject, uses: bool
) -> None:
    """What a call is about is no source of a draft that has no value of it."""
    policy = answered(
        "find_policy", {"policy_number": "GRV-500-56", "holder": "Ada"}, policy_number="GRV-500-56"
    )
    asked_for = DraftCall(
        tool_name="list_claims",
        arguments={"policy_number": "GRV-500-56"},
        earlier=(policy,),
        response_schema=schema,
    )
    assert ("GRV-500-56" in drafted(asked_for).why) == uses


def test_code_that_does_not_know_what_was_taken_away_does_not_say_what_is_left() -> None:
    """A tool that takes things away in its words alone leaves the table as it was: the world counts, and so does an error that a person wrote."""
    shop = SHOP + "\ndef order_exists(order_id: str) -> bool:\n    return order_id in ORDERS\n"
    code = function_of(shop, "order_exists")
    call = DraftCall(
        tool_name="order_exists", arguments={"order_id": "A-1"}, code=code, codes={"order_exists": code}
    )
    gone = answered("delete_order", {"deleted": True}, order_id="A-1")
    missing = answered("find_order", {"error": "Order A-1 was not found."}, order_id="A-1")
    assert drafted(call).value is True
    for said in (gone, missing):
        assert is_error(drafted(call.model_copy(update={"earlier": (said,)})).value)


def test_a_guess_is_no_shape_and_a_shape_beside_code_is_marked() -> None:
    """Nobody knows whether a guess has the fields of the tool's responses; what else the code may return differs in any field."""
    orders = "import requests\ndef create_order(item):\n    if requests.get('x').ok:\n        return requests.get('x').json()\n    return {'error': item}"
    code = function_of(orders, "create_order")
    call = DraftCall(tool_name="create_order", arguments={"item": "b"}, code=code)
    guess = EarlierAnswer("create_order", {"item": "a"}, {"status": "success"}, is_guess=True)
    assert drafted(call.model_copy(update={"earlier": (guess,)})).is_guess
    booked = function_of(orders.replace("create_order(item)", "confirm_order(item)"), "confirm_order")
    known = EarlierAnswer("confirm_order", {"item": "a"}, {"item": "a", "status": "confirmed"})
    again = DraftCall(tool_name="confirm_order", arguments={"item": "b"}, code=booked, earlier=(known,))
    assert drafted(again).value == {"item": "b", "status": "confirmed"}
    assert {one.path for one in drafted(again).blanks} == {"$.status"}


def test_what_unknown_fields_are_put_into_has_them() -> None:
    """Each is a blank, however often calls have changed what is not known."""
    hits = """
HITS = {"hit": 0, "miss": 0}

def clear():
    HITS.update(hit=0, miss=0)
    raise ValueError("closed")

def stats():
    return {**HITS, "ok": True}
"""
    codes = {name: function_of(hits, name) for name in ("clear", "stats")}
    by_hand = (answered("clear", "Done"), answered("clear", "Done"))
    draft: Any = drafted(DraftCall(tool_name="stats", earlier=by_hand, code=codes["stats"], codes=codes))
    assert draft.value.keys() == {"hit", "miss", "ok"}
    assert {one.path for one in draft.blanks} >= {"$.hit", "$.miss"}


def test_each_outcome_is_a_candidate_with_its_condition() -> None:
    """The expected one first, then what the code would do for other values, then the generic ones; five at most."""
    found = candidates(call_of("find_order", order_id="A-1"))
    assert [one.label for one in found][:2] == ["expected", "outcome"]
    assert "order" in found[1].title
    assert found[1].kind == "error"
    assert found[1].error_message == "No order A-1 is known."
    assert len(found) <= 5
    raised = candidates(call_of("quote", amount=-1))
    assert (raised[0].kind, raised[0].error_code) == ("exception", "ValueError")
    assert raised[0].error_message == "-1 is below zero"


def test_holes_are_filled_from_the_session_the_schema_and_what_the_code_states() -> None:
    """A row's field, a range, a choice and a text's known parts are kept; what has no source is marked where it stands."""
    sketch: dict[str, Any] = {
        "customer_name": Hole("string", "row.name"),
        "score": Hole("integer", "score", low=3, high=5),
        "unit": Hole("string", "unit", choices=("C", "F")),
        "note": Hole("string", "note", parts=("For ", Hole("string", "city"), ".")),
        "total": Hole("number", "total"),
        "rows": Hole("array", "rows", like={"email": Hole("string"), "age": Hole("integer")}),
        "anything": Hole(),
    }
    world = World(tables=read_tables('{"customers": [{"id": "C-1", "name": "Ada"}]}'))
    call = DraftCall(tool_name="get_customer", arguments={"customer_id": "C-1"}, code=CODES["quote"])
    reading = CodeReading((Outcome(sketch, certain=True, line=4),))
    made = drafted(call, Sources(world=world, read=lambda *_, **__: reading))
    value: Any = made.value
    assert value["customer_name"] == "Ada"
    assert 3 <= value["score"] <= 5
    assert value["unit"] in ("C", "F")
    assert value["note"] == "For <city>."
    assert (value["total"], value["anything"]) == (0, None)
    assert "@" in value["rows"][0]["email"]
    assert [one.path for one in made.blanks] == [
        "$.score",
        "$.unit",
        "$.note",
        "$.total",
        "$.rows[0].email",
        "$.rows[0].age",
        "$.anything",
    ]
    assert made.is_guess
    assert made.varies


def test_what_code_leaves_open_is_filled_from_the_next_evidence() -> None:
    """A bare hole says nothing: the example, the schema, the earlier shape and at last a skeleton follow."""
    schema: JsonObject = {"type": "object", "properties": {"n": {"const": 3}}, "required": ["n"]}
    bare = Outcome(Hole("object", "response.json()"), line=3)
    assert read(bare, response_schema=schema).value == {"n": 3}
    assert read(bare, description='Looks.\n\nReturns:\n    {"n": 4}').value == {"n": 4}
    assert read(bare).value == {"result": "<result>"}
    assert read(Outcome(raises="NotImplementedError", certain=True)).value == {"result": "<result>"}


@for_each(
    ("description", "expected"),
    [
        ("Add.\n\n>>> add(2, 3)\n5", 5),
        ("Add.\n\n>>> add(a=2, b=3)\n{'sum': 5}\n", {"sum": 5}),
        ("Add.\n\n>>> add(7, 8)\n15", Hole("integer")),
        ("Add.\n\nReturns:\n    A dict, e.g. {'sum': 5, 'a': 9, 'unit': '<unit>'}.\n\nRaises:\n    X: [1]", {"sum": 5, "a": 2, "unit": Hole("string", "unit")}),
        ('Add.\n\nExample response:\n    {"ok": true, "list": [1, ...]}', {"ok": True, "list": [1]}),
        ("Add {'a': 1} to it.\n\nArgs:\n    a: such as {'x': 1}", None),
        (">>> add(2, 3)\n<object at 0x1>", None),
    ],
)  # fmt: skip
def test_examples_of_descriptions_are_read(description: str, expected: Any) -> None:
    """The output of this very call as it is, of another call only its shape, and literals about what is returned."""
    assert shown_answer(description, {"a": 2, "b": 3}, ("a", "b")) == expected


def _places(value: Any, place: str = "$") -> Iterator[tuple[str, Any]]:
    yield place, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _places(inner, field_place(place, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _places(inner, item_place(place, number))


@given(st.integers(0, 10**9))
def test_no_leaf_is_without_source_and_mark(seed: int) -> None:
    """Of each plain type without bounds, what stands in a draft is what stands in a blank, and marked; each mark has its place."""
    schema, _, _ = witnessed(seed)
    made = drafted(DraftCall(tool_name="find_it", response_schema=schema, seed=str(seed)))
    marked = {one.path for one in made.blanks}
    there = dict(_places(made.value))
    told = json.dumps(schema).lower()
    assert marked <= there.keys()
    assert marked >= {
        place
        for place, value in there.items()
        if (value is True or str(value).startswith("<")) and str(value).lower() not in told
    }
    assert made.is_guess == any(not one.drawn for one in made.blanks)


def test_a_value_that_was_drawn_is_marked_and_no_guess() -> None:
    """A name that goes with its field, or one of the choices of the schema; what cannot even be drawn makes a guess."""
    properties: JsonObject = {"state": {"enum": ["open", "done"]}, "first_name": {"type": "string"}}
    schema: JsonObject = {"type": "object", "properties": properties, "required": [*properties]}
    made = drafted(DraftCall(tool_name="look_up", response_schema=schema))
    assert {(one.path, one.drawn) for one in made.blanks} == {("$.state", True), ("$.first_name", True)}
    assert not made.is_guess
    properties["total"] = {"type": "number"}
    guess = drafted(DraftCall(tool_name="look_up", response_schema={**schema, "required": [*properties]}))
    assert [one.path for one in guess.blanks if not one.drawn] == ["$.total"]
    assert guess.is_guess


def test_a_thing_that_is_unknown_denies_no_other_that_the_call_names() -> None:
    """Where the code only knows how to deny the customer, who is known, the product is denied in other words."""
    text = '''
CUSTOMERS = load_customers()

def create_order(customer_id: str, sku: str) -> dict:
    """Place an order."""
    if customer_id not in CUSTOMERS:
        return {"error_code": 404, "error_message": f"No customer {customer_id} is known."}
    return {"order_id": new_id(), "sku": sku}
'''
    tables = '{"customers": [{"customer_id": "C-1"}], "products": [{"sku": "mug"}]}'
    made = drafted(
        DraftCall(
            tool_name="create_order",
            arguments={"customer_id": "C-1", "sku": "sofa"},
            code=function_of(text, "create_order"),
        ),
        Sources(World(tables=read_tables(tables))),
    )
    assert isinstance(made.value, dict)
    assert made.value["error_code"] == 404
    assert "'sofa'" in str(made.value["error_message"])


@for_each(
    "body",
    ["raise NotImplementedError", "raise NotImplementedError('later')", "...", "pass", "",
     "if len(order_id) > 9:\n        raise ValueError('Too long')\n    return {'order': library.order(order_id)}"],
)  # fmt: skip
def test_what_a_tool_raises_is_no_form_of_its_not_found_error(body: str) -> None:
    """Neither what stands for a body that is not written yet, nor what it raises for other arguments, names it."""
    text = f'def find_order(order_id: str) -> dict:\n    """Find an order."""\n    {body}\n'
    call = DraftCall(
        tool_name="find_order", arguments={"order_id": "O-9"}, code=function_of(text, "find_order")
    )
    value: Any = drafted(call, Sources(World(tables=read_tables('{"orders": [{"order_id": "O-7"}]}')))).value
    assert (value["error_code"], "O-9" in value["error_message"]) == (404, True)


@for_each(("maker", "is_denied"), [("create_order", True), ("pay_order", False)])
def test_what_only_the_session_makes_is_not_there_before_it_is_made(maker: str, is_denied: bool) -> None:
    """The code's own not-found answer, marked as uncertain, comes before one that shows nothing; not where no tool makes such a thing, and not once one is known."""
    text = """
from shop.data import ORDERS

def get_order(order_id: str) -> dict:
    order = ORDERS.get(order_id)
    if not order:
        return {"status": "error", "message": f"Order {order_id} not found."}
    return {"status": "success", "order": order}
"""
    takes: JsonObject = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    given_by: JsonObject = {} if maker == "create_order" else takes
    tools = [ToolShape(name=maker, parameters=given_by), ToolShape(name="get_order", parameters=takes)]
    world = World(found_offline(tools))
    code = function_of(text, "get_order")

    def made() -> Draft:
        call = DraftCall(tool_name="get_order", arguments={"order_id": "zzz"}, code=code)
        return drafted(call, Sources(world))

    first = made()
    denied: JsonObject = {"status": "error", "message": "Order zzz not found."}
    assert (first.value == denied, first.is_guess) == (is_denied, not is_denied)
    if is_denied:
        assert unsure_of(first.blanks, first.value, first.value).uncertain == ("$.status", "$.message")
    world.take(
        EarlierAnswer("get_order", {"order_id": "A-1"}, {"status": "success", "order": {"order_id": "A-1"}})
    )
    assert made().is_guess


def test_what_code_certainly_returns_counts_for_more_than_a_plain_annotation() -> None:
    """A schema that a person set, or one with fields, still holds."""
    reading = CodeReading((Outcome({"sum": 3}, certain=True, line=4),))
    sources = Sources(read=lambda *_, **__: reading)
    call = DraftCall(tool_name="add", code=CODES["quote"], response_schema={"type": "string"})
    assert drafted(call, sources).value == {"sum": 3}
    assert isinstance(drafted(call.model_copy(update={"is_held": True}), sources).value, str)
    fields: JsonObject = {"type": "object", "properties": {"sum": {"type": "string"}}, "required": ["sum"]}
    declared: Any = drafted(call.model_copy(update={"response_schema": fields}), sources).value
    assert isinstance(declared["sum"], str)


TWO_TABLES = """
import logging
import requests

log = logging.getLogger(__name__)
SENT = {}
PRICES = {"A-1": {"price": 5}}
ALL = {"sent": SENT, "prices": PRICES}
FIRST = PRICES["A-1"]

def price(item: str) -> dict:
    return PRICES.get(item) or {"error": "none"}

def clear_prices():
    PRICES.clear()

HOOKS = [clear_prices]

def send(item: str) -> dict:
"""


@for_each(
    ("body", "stays"),
    [
        ("for one in requests.get(item): log.info('%s', one); SENT[one['id']] = one", True),
        ("for number in range(100000): SENT[number] = item", True),
        ("SENT.update(requests.get(item)); return {'left': len(SENT)}", True),
        ("for one in requests.get(item): PRICES[one['id']] = one", False),
        ("for one in requests.get(item): ALL[one].clear()", False),
        ("for one in requests.get(item): FIRST[one] = one", False),
        ("for one in requests.get(item): HOOKS[0]()", False),
        ("for one in requests.get(item): globals()[one] = {}", False),
        ("for number in range(100000): PRICES[str(number)] = item", False),
        ("import shop.tools as own\n    for one in requests.get(item): own.PRICES = one", False),
    ],
)
def test_a_table_stays_known_after_a_call_whose_code_cannot_reach_it(body: str, stays: bool) -> None:
    """By its name, by another name, through a function or an import; of what it can reach, nothing that may have changed is told."""
    text = f"{TWO_TABLES}    {body}\n    return {{'sent': True}}\n"
    codes = {name: function_of(text, name) for name in ("price", "send")}
    sent = [answered("send", {"sent": True}, item="A-1")]
    for earlier in (sent, sent * 30):
        call = DraftCall(
            tool_name="price",
            arguments={"item": "A-1"},
            earlier=tuple(earlier),
            code=codes["price"],
            codes=codes,
        )
        made = drafted(call)
        assert (made.value == {"price": 5} and not made.blanks) is stays
