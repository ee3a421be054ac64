"""Tests of the offline drafts: they agree with the session, with the tool's own words and with its schema."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simulator.base.json_values import JsonObject, copied
from simulator.environment.conventions import EarlierAnswer, is_error, is_identifier, words_of
from simulator.environment.drafts.candidates import drafted as drafted_from
from simulator.environment.drafts.draft import Draft, DraftCall, Sources, Unsure, unsure_of
from simulator.environment.drafts.schema_instances import Maker, ValueContext
from simulator.environment.schema.scalar_instances import Chance
from simulator.environment.schema.schema_checks import check, normalise
from simulator.environment.schema.schema_plans import plan_for
from simulator.environment.world.connections import ToolShape, found_offline
from simulator.environment.world.world import World
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drawn_json import json_values
from tests.simulator.environment.evidence.running import function_of


def answered(tool: str, response: Any, **arguments: Any) -> EarlierAnswer:
    """Return an answered call."""
    return EarlierAnswer(tool_name=tool, arguments=arguments, response=response)


CREATED = answered("create_order", {"status": "success", "order_id": "ORD-1"}, product="Lamp", quantity=2)
CANCELLED = answered("cancel_order", {"order_id": "ORD-1", "status": "cancelled"}, order_id="ORD-1")
SEEN = answered("find_order", {"order_id": "A-1", "status": "shipped"}, order_id="A-1")
NOT_FOUND: JsonObject = {"status": "error", "error": "Order A-9 does not exist."}
MISSED = answered("find_order", NOT_FOUND, order_id="A-9")


def drafted(tool_name: str, arguments: JsonObject, *earlier: EarlierAnswer, **more: Any) -> Any:
    """Draft one answer."""
    return drafted_from(DraftCall(tool_name=tool_name, arguments=arguments, earlier=earlier, **more)).value


def test_the_same_call_gets_the_same_draft_and_another_session_another() -> None:
    """A draft hangs on the call, the session's seed and the draw alone; it says whether another draw gives another."""
    fields: JsonObject = {"properties": {"email": {"type": "string"}}, "required": ["email"]}
    call = DraftCall(tool_name="find_user", response_schema={"type": "object", **fields}, seed="a")
    one = drafted_from(call).value
    assert one == drafted_from(call.model_copy()).value
    assert one != drafted_from(call.model_copy(update={"seed": "b"})).value
    assert one != drafted_from(call.model_copy(update={"draw": 1})).value
    assert drafted_from(call).varies
    assert not drafted_from(DraftCall(tool_name="find_user")).varies


def test_a_tool_of_which_nothing_is_known_gets_a_marked_skeleton() -> None:
    """Names of tools and arguments say nothing of the answer: it is one blank, and a guess."""
    made = drafted_from(DraftCall(tool_name="create_order", arguments={"product": "Lamp"}))
    assert made.value == {"result": "<result>"}
    assert made.is_guess
    assert [(one.path, one.kind, one.name) for one in made.blanks] == [("$.result", "string", "result")]


def test_a_tool_of_which_only_its_connections_are_known_gives_their_ids() -> None:
    """What it makes has a new id, which is drawn where none is known; what the session knows is shown, and the rest does not exist."""
    object_of: JsonObject = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    takes = [ToolShape(name=name, parameters=object_of) for name in ("get_order", "pay_order")]
    world = World(found_offline([ToolShape(name="create_order"), *takes]))

    def made(tool_name: str, **arguments: Any) -> Draft:
        return drafted_from(DraftCall(tool_name=tool_name, arguments=arguments), Sources(world=world))

    first = made("create_order", item="lamp")
    assert re.fullmatch(r"ORD-\d{4}", new_id(first))
    assert (first, first.is_guess, first.varies) == (made("create_order", item="lamp"), True, True)
    assert [(one.path, one.drawn) for one in first.blanks] == [("$.order_id", True), ("$", False)]
    assert unsure_of(first.blanks, first.value, first.value) == Unsure(blanks=("$",))
    world.take(EarlierAnswer("create_order", {"item": "lamp"}, {"order_id": "O-1"}, fact=1))
    assert made("get_order", order_id="O-1").value == {"order_id": "O-1", "item": "lamp"}
    assert new_id(made("create_order", item="lamp")) == "O-2"
    changed = made("pay_order", order_id="O-1")
    assert (changed.value, changed.is_guess) == ({"order_id": "O-1", "item": "lamp"}, True)
    missing: Any = made("get_order", order_id="NEVER-1").value
    assert missing["error_code"] == 404


def new_id(made: Draft) -> str:
    """Return the id of the order that a draft makes."""
    value: Any = made.value
    return str(value["order_id"])


@for_each(
    ("kind", "wanted"),
    [
        ({"type": "string"}, r"ORD-\d{4}"),
        ({"type": "string", "pattern": "^O[0-9]{3}$"}, r"O\d{3}"),
        ({"type": "integer"}, r"\d{4}"),
        ({"type": "integer", "minimum": 10_000_000}, r"\d{8}"),
    ],
)
def test_the_id_of_what_a_call_makes_is_drawn_as_its_schema_has_it(kind: JsonObject, wanted: str) -> None:
    """Such a draft is no guess, and nothing in it is unsure; ids of other things, and of what a read shows, stay blank."""
    fields: JsonObject = {"order_id": kind, "customer": {"type": "object", "properties": {"id": kind}}}
    schema: JsonObject = {"type": "object", "properties": fields, "required": ["order_id"]}

    def made(tool_name: str, *required: str) -> Draft:
        whole: JsonObject = {**schema, "required": ["order_id", *required]}
        return drafted_from(DraftCall(tool_name=tool_name, response_schema=whole))

    first = made("create_order")
    assert re.fullmatch(wanted, new_id(first))
    assert (first.is_guess, unsure_of(first.blanks, first.value, first.value)) == (False, Unsure())
    assert all(one.drawn == ("pattern" in kind) for one in made("find_order").blanks)
    if kind == {"type": "string"}:
        assert new_id(made("find_order")) == "<order_id>"
        fields["customer"] = {"type": "object", "properties": {"id": kind}, "required": ["id"]}
        value: Any = first.value
        assert made("create_order", "customer").value == {**value, "customer": {"id": "<id>"}}


SERVICE = """
import order_service

client = order_service.Client()

def get_order(order_id: str) -> dict:
    order = client.find(order_id)
    if order is None:
        return {"error": f"No order {order_id}"}
    return {"order_id": order_id, "status": order.status}

def create_order(item: str) -> dict:
    order = client.create(item)
    return
"""


@for_each(
    ("returned", "known", "wanted"),
    [
        ('{"order_id": order.id, "note": f"Order {order.id} is created"}', "", r"ORD-\d{4}"),
        ('{"order": {"id": order["id"]}}', "", r"ORD-\d{4}"),
        ('{"status": "success", "data": {"id": order.id}}', "", r"ORD-\d{4}"),
        ('{"order_id": str(order.id)}', "", r"ORD-\d{4}"),
        ('{"order_id": f"SHOP-{order.number}"}', "", r"SHOP-\d{4}"),
        ('{"order_id": order.id, "customer_id": order.customer}', "A-7", "A-8"),
        ('{"order_id": order.id}', "ord_8f3k", r"ord_\d[a-f]\d[a-f]"),
    ],
)
def test_an_id_that_a_service_gives_is_drawn_and_found_again(returned: str, known: str, wanted: str) -> None:
    """In the shape of the session's other orders, marked as drawn if it is not counted on; only ids of other things stay blank, and an id that nobody gave is not found."""
    text = SERVICE.replace("    return\n", f"    return {returned}\n")
    codes = {name: function_of(text, name) for name in ("create_order", "get_order")}
    before = (answered("create_order", {"order_id": known}, item="mug"),) if known else ()

    def made(tool_name: str, *earlier: EarlierAnswer, code: bool = True, **arguments: Any) -> Draft:
        own = codes[tool_name] if code else None
        return drafted_from(
            DraftCall(
                tool_name=tool_name,
                arguments=arguments,
                earlier=earlier,
                code=own,
                codes=codes if code else {},
            )
        )

    first: Any = made("create_order", *before, item="lamp")
    said = json.dumps(first.value)
    found = re.search(rf'"({wanted})"', said)
    assert found is not None
    assert [one.path for one in first.blanks if not one.drawn] == ["$.customer_id"] * ("customer" in returned)
    assert first.value.get("note", f"Order {found[1]} is created") == f"Order {found[1]} is created"
    earlier = (*before, answered("create_order", first.value, item="lamp"))
    for code in (True, False):
        again: Any = made("get_order", *earlier, code=code, order_id=found[1]).value
        assert not is_error(again)
        assert is_error(made("get_order", *earlier, code=code, order_id="NEVER-1").value)
    assert f'"{found[1]}"' not in json.dumps(made("create_order", *earlier, item="lamp").value)


def test_a_change_is_seen_by_the_next_read() -> None:
    """What was created is found with its fields; after a cancellation it says so, also where an equal read was answered."""
    order = {"order_id": "ORD-1", "product": "Lamp", "quantity": 2}
    assert drafted("find_order", {"order_id": "ORD-1"}, CREATED) == order
    before = answered("find_order", {"order_id": "ORD-1", "status": "paid"}, order_id="ORD-1")
    found = drafted("find_order", {"order_id": "ORD-1"}, CREATED, before, CANCELLED)
    assert found["status"] == "cancelled"


def test_an_equal_read_gets_the_equal_answer() -> None:
    """Nothing was written in between, so the tool says the same again, word for word."""
    odd: JsonObject = {"anything": ["at", {"all": None}]}
    before = answered("get_order", odd, order_id="A-1")
    assert drafted("get_order", {"order_id": "A-1"}, before) == odd


PAID = answered("pay_out", {"done": True}, claim_id="C-1", amount=50)
SETTLED = answered("settle_claims", {"done": True})
CLAIM_CODES = {
    name: function_of(
        "import lib\n\ndef find_claim(claim_id):\n    return {'status': 'ok', 'claim': lib.get(claim_id)}\n\n"
        "def search_hits(q):\n    return {'q': q, 'hits': [{'title': one.title, 'score': one.score} for one in lib.all(q)]}",
        name,
    )
    for name in ("find_claim", "search_hits")
}
CLAIM: JsonObject = {"status": "ok", "claim": {"holder": "Ann", "state": "open", "paid": 0}}
HITS: JsonObject = {"q": "x", "hits": [{"title": "A", "score": 1}, {"title": "B", "score": 2}]}


@for_each("by_code", [True, False])
@for_each(
    ("before", "write", "marked"),
    [
        (answered("find_claim", CLAIM, claim_id="C-1"), PAID, ["$.claim.state", "$.claim.paid"]),
        (answered("find_claim", CLAIM, claim_id="C-2"), PAID, []),
        (answered("find_claim", CLAIM, claim_id="C-2"), SETTLED, ["$.claim.state", "$.claim.paid"]),
        (answered("find_claim", CLAIM, claim_id="C-2"), answered("send_email", True, to="Ann"), []),
        (answered("search_hits", HITS, q="x"), PAID, ["$.hits[0].score", "$.hits[1].score"]),
        (
            answered(
                "search_hits",
                {"q": "x", "hits": [{"claim_id": key, "n": 1} for key in ("C-1", "C-2")]},
                q="x",
            ),
            PAID,
            ["$.hits[0].n"],
        ),
    ],
)
def test_a_look_up_after_a_write_is_as_before_and_marked_where_that_may_have_changed_it(
    before: EarlierAnswer, write: EarlierAnswer, marked: list[str], by_code: bool
) -> None:
    """Numbers and states of what the write names; all of them where it does not say what it is about."""
    codes = CLAIM_CODES if by_code else {}
    call = DraftCall(
        tool_name=before.tool_name, arguments=before.arguments, codes=codes, code=codes.get(before.tool_name)
    )
    made = drafted_from(call.model_copy(update={"earlier": (before, write)}))
    assert (made.value, [one.path for one in made.blanks]) == (before.response, marked)
    assert made.why.startswith(f"As before; {write.tool_name} was called since")


def test_a_draft_from_earlier_answers_alone_knows_what_the_world_knows() -> None:
    """Where a session has no other source, the same answers refuse and remember just what they do in its world."""
    earlier = (SEEN, CREATED, CANCELLED)
    world = World()
    for one in earlier:
        world.take(EarlierAnswer(one.tool_name, one.arguments, one.response))
    for arguments in ({"order_id": "ORD-1"}, {"order_id": "A-1"}, {"order_id": "A-2"}, {"id": "ORD-1"}):
        call = DraftCall(tool_name="find_order", arguments=arguments, earlier=earlier)
        assert drafted_from(call).value == drafted_from(call, Sources(world=world)).value
    never = drafted("find_order", {"order_id": "ORD-2"}, CREATED)
    assert never["error_code"] == 404


def test_a_thing_that_was_not_there_is_not_there_for_another_tool() -> None:
    """Cancelling what a read did not find gives the same error."""
    assert drafted("cancel_order", {"order_id": "A-9"}, MISSED) == NOT_FOUND
    assert "error" not in drafted("cancel_order", {"order_id": "A-1"}, MISSED)


def test_an_earlier_answer_of_the_tool_gives_the_shape() -> None:
    """The same fields for another id, with that id; what else the earlier answer said is not known of it."""
    order = {"order_id": "A-1", "price": 3.5, "paid": True}
    before = answered("find_order", {"status": "success", "order": order}, order_id="A-1")
    made = drafted_from(DraftCall(tool_name="find_order", arguments={"order_id": "A-2"}, earlier=(before,)))
    assert made.value == {"status": "success", "order": {"order_id": "A-2", "price": 0, "paid": False}}
    assert [one.path for one in made.blanks] == ["$.order.price", "$.order.paid"]
    assert "shape" in made.why


def test_a_missing_required_argument_is_named() -> None:
    """The draft is what a strict tool would say."""
    answer: Any = drafted("find_order", {"other": 1}, parameters={"required": ["order_id", "other"]})
    assert answer["error_code"] == 400
    assert "order_id" in answer["error_message"]


def test_a_schema_comes_first_and_arguments_stand_in_it() -> None:
    """With a response schema the draft fits it, echoes only where the type allows it, and leaves out what nobody must know."""
    schema: JsonObject = {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "quantity": {"type": "boolean"}, "status": {"enum": ["error", "success"]}},
        "required": ["order_id"],
    }  # fmt: skip
    answer = drafted("find", {"order_id": "Z-1", "quantity": 3}, response_schema=schema)
    assert answer == {"order_id": "Z-1"}


@for_each(
    "broken",
    [
        {"properties": {"a": {"$ref": "#/nowhere"}}},
        {"properties": {"a": "string"}},
        {"properties": ["a"]},
        {"properties": {"a": {"type": "integer", "multipleOf": 0}}},
        {"patternProperties": ["a"]},
        {"anyOf": "x"},
        {"allOf": 5},
    ],
)
def test_a_broken_schema_still_gives_a_draft(broken: JsonObject) -> None:
    """A tool whose schema is no schema is answered plainly; if the draft has a problem, it is the schema's."""
    call = DraftCall(tool_name="find", arguments={}, response_schema={"type": "object", **broken})
    made = drafted_from(call)
    assert isinstance(made.value, dict)
    assert all(problem.of_schema for problem in made.problems)


def test_a_schema_that_holds_itself_ends() -> None:
    """Trees are drafted to a limited depth, and fit."""
    node: JsonObject = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        "required": ["name", "children"],
    }  # fmt: skip
    schema = normalise({"$ref": "#/$defs/Node", "$defs": {"Node": node}})
    made = Maker(plan_for(schema)).value(schema, "", ValueContext(Chance("s"), {}, {}))
    assert check(made, schema) == ()


@given(
    st.sampled_from(["get_order", "create_order", "delete_order", "x", "is_open", "списать", "_"]),
    st.text(),
    st.dictionaries(st.sampled_from(["order_id", "id", "q"]), json_values(), max_size=2),
    st.lists(json_values(), max_size=3),
)
def test_no_description_and_no_history_breaks_a_draft(
    tool: str, description: str, arguments: dict[str, Any], responses: list[Any]
) -> None:
    """Any text, any arguments and any earlier answers give a value that is JSON."""
    earlier = tuple(answered(tool, one, order_id="1") for one in responses)
    answer = drafted_from(
        DraftCall(tool_name=tool, description=f"Returns: {description}", arguments=arguments, earlier=earlier)
    ).value
    assert copied(answer) == answer


def test_names_are_read_in_every_spelling() -> None:
    """Camel case, snake case and capitals give the same words, and ids are told from other numbers."""
    assert words_of("orderID") == words_of("order_id") == words_of("Order-Id") == ("order", "id")
    assert all(map(is_identifier, ["id", "orderId", "tracking_number", "sku", "booking_code"]))
    assert not any(map(is_identifier, ["number", "phone_number", "status_code", "paid", "identity"]))
