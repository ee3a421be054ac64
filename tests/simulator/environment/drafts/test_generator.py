"""Tests of the offline drafts: they agree with the session, with the tool's own words and with its schema."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simulator.base.json_values import JsonObject, copied
from simulator.environment.conventions.entity_kinds import is_identifier, words_of
from simulator.environment.conventions.seeded_choice import Chance
from simulator.environment.drafts.draft_generator import DraftCall, EarlierAnswer, Sources, draft
from simulator.environment.drafts.draft_generator import drafted as drafted_from
from simulator.environment.drafts.schema_instances import Maker, ValueContext
from simulator.environment.schema.schema_checks import check, normalise
from simulator.environment.schema.schema_plans import plan_of
from simulator.environment.world.entities import WorldCall
from simulator.environment.world.world import World
from tests.simulator.base.rows import for_each

CREATED = EarlierAnswer(
    tool_name="create_order",
    arguments={"product": "Lamp", "quantity": 2},
    response={"status": "success", "order_id": "ORD-1"},
)
CANCELLED = EarlierAnswer(
    tool_name="cancel_order",
    arguments={"order_id": "ORD-1"},
    response={"order_id": "ORD-1", "status": "cancelled"},
)
DELETED = EarlierAnswer(
    tool_name="delete_order", arguments={"order_id": "ORD-1"}, response={"status": "success"}
)
SEEN = EarlierAnswer(
    tool_name="find_order", arguments={"order_id": "A-1"}, response={"order_id": "A-1", "status": "shipped"}
)
NOT_FOUND: JsonObject = {"status": "error", "error": "Order A-9 does not exist."}
MISSED = EarlierAnswer(tool_name="find_order", arguments={"order_id": "A-9"}, response=NOT_FOUND)


def drafted(tool_name: str, arguments: JsonObject, *earlier: EarlierAnswer, **more: Any) -> Any:
    """Draft one answer."""
    return draft(DraftCall(tool_name=tool_name, arguments=arguments, earlier=earlier, **more))


def is_adks(answer: object) -> bool:
    """Return whether an answer is an error in ADK's form, which no schema holds."""
    return isinstance(answer, dict) and answer.keys() == {"error_code", "error_message"}


def test_the_same_call_gets_the_same_draft_and_another_session_another() -> None:
    """A draft hangs on the call, the session's seed and the draw alone; it says whether another draw gives another."""
    schema: JsonObject = {
        "type": "object",
        "properties": {"email": {"type": "string"}},
        "required": ["email"],
    }
    one = drafted("find_user", {"user_id": 1}, seed="a", response_schema=schema)
    assert one == drafted("find_user", {"user_id": 1}, seed="a", response_schema=schema)
    assert one != drafted("find_user", {"user_id": 1}, seed="b", response_schema=schema)
    assert one != drafted("find_user", {"user_id": 1}, seed="a", draw=1, response_schema=schema)
    assert drafted_from(DraftCall(tool_name="find_user", response_schema=schema)).varies
    assert not drafted_from(DraftCall(tool_name="find_user")).varies


def test_a_tool_of_which_nothing_is_known_gets_a_marked_skeleton() -> None:
    """Names of tools and arguments say nothing of the answer: it is one blank, and a guess."""
    made = drafted_from(DraftCall(tool_name="create_order", arguments={"product": "Lamp"}))
    assert made.value == {"result": "<result>"}
    assert made.is_guess
    assert [(one.path, one.kind, one.name) for one in made.blanks] == [("$.result", "string", "result")]


def test_what_was_created_is_found_again_with_its_fields() -> None:
    """A later read of an id knows what created it."""
    found = drafted("find_order", {"order_id": "ORD-1"}, CREATED)
    assert found == {"order_id": "ORD-1", "product": "Lamp", "quantity": 2}


def test_a_change_is_seen_by_the_next_read() -> None:
    """After a cancellation the record says so, also where an equal read was answered before it."""
    before = EarlierAnswer(
        tool_name="find_order",
        arguments={"order_id": "ORD-1"},
        response={"order_id": "ORD-1", "status": "paid"},
    )
    found = drafted("find_order", {"order_id": "ORD-1"}, CREATED, before, CANCELLED)
    assert found["status"] == "cancelled"


def test_an_equal_read_gets_the_equal_answer() -> None:
    """Nothing was written in between, so the tool says the same again, word for word."""
    odd: JsonObject = {"anything": ["at", {"all": None}]}
    before = EarlierAnswer(tool_name="get_order", arguments={"order_id": "A-1"}, response=odd)
    assert drafted("get_order", {"order_id": "A-1"}, before) == odd


def test_a_deleted_thing_is_not_found() -> None:
    """A removal by id makes later reads of that id fail like a 404, and of others not where some were there before."""
    gone = drafted("find_order", {"order_id": "ORD-1"}, CREATED, DELETED)
    assert gone["error_code"] == 404
    assert "ORD-1" in gone["error_message"]
    assert "error_message" not in drafted("find_order", {"order_id": "ORD-2"}, SEEN, CREATED, DELETED)


def test_a_draft_from_earlier_answers_alone_knows_what_the_world_knows() -> None:
    """Where a session has no other source, the same answers refuse and remember just what they do in its world."""
    earlier = (SEEN, CREATED, CANCELLED)
    world = World()
    for one in earlier:
        world.take(WorldCall(one.tool_name, one.arguments, one.response))
    for arguments in ({"order_id": "ORD-1"}, {"order_id": "A-1"}, {"order_id": "A-2"}, {"id": "ORD-1"}):
        call = DraftCall(tool_name="find_order", arguments=arguments, earlier=earlier)
        assert draft(call) == drafted_from(call, Sources(world=world)).value
    never = drafted("find_order", {"order_id": "ORD-2"}, CREATED)
    assert never["error_code"] == 404


def test_a_thing_that_was_not_there_is_not_there_for_another_tool() -> None:
    """Cancelling what a read did not find gives the same error."""
    assert drafted("cancel_order", {"order_id": "A-9"}, MISSED) == NOT_FOUND
    assert "error" not in drafted("cancel_order", {"order_id": "A-1"}, MISSED)


def test_an_earlier_answer_of_the_tool_gives_the_shape() -> None:
    """The same fields for another id, with that id; what else the earlier answer said is not known of it."""
    before = EarlierAnswer(
        tool_name="find_order",
        arguments={"order_id": "A-1"},
        response={"status": "success", "order": {"order_id": "A-1", "price": 3.5, "paid": True}},
    )
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
    made = Maker(plan_of(schema)).value(schema, "", ValueContext(Chance("s"), {}, {}))
    assert check(made, schema) == ()


def wider(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects, lists and choices of such schemas."""
    names = st.sampled_from(
        ["order_id", "status", "price", "created_at", "is_paid", "tags", "count", "x", "items", "total", "low", "high",
         "departs", "arrives", "line", "name", "currency", "allowed_amount", "remaining", "placed_on"]
    )  # fmt: skip
    objects = st.builds(
        lambda fields, closed: {
            "type": "object", "properties": fields, "required": list(fields), "additionalProperties": not closed,
        },
        st.dictionaries(names, inner, max_size=4), st.booleans(),
    )  # fmt: skip
    arrays = st.builds(
        lambda items, least, more: {"type": "array", "items": items, "minItems": least, "maxItems": least + more},
        inner, st.integers(0, 4), st.integers(0, 3),
    )  # fmt: skip
    return objects | arrays | st.builds(lambda one: {"anyOf": [{"type": "null"}, one]}, inner)


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Return schemas of the kinds that tools declare, each of which some value fits."""
    low = st.integers(-50, 50)
    numbers = st.builds(
        lambda kind, least, span: {"type": kind, "minimum": least, "maximum": least + span},
        st.sampled_from(["integer", "number"]), low, st.integers(0, 40),
    )  # fmt: skip
    strict = st.builds(
        lambda least, span: {"type": "number", "exclusiveMinimum": least, "exclusiveMaximum": least + span},
        low, st.integers(1, 30),
    )  # fmt: skip
    texts = st.builds(
        lambda least, more: {"type": "string", "minLength": least, "maxLength": least + more},
        st.integers(0, 30), st.integers(0, 30),
    )  # fmt: skip
    formats = st.sampled_from(["date", "date-time", "time", "email", "uri", "uuid", "ipv4", "ipv6"])
    leaves = st.one_of(
        numbers,
        strict,
        texts,
        st.builds(lambda step: {"type": "integer", "multipleOf": step}, st.integers(1, 20)),
        st.builds(lambda kind: {"type": "string", "format": kind}, formats),
        st.builds(lambda choices: {"enum": choices}, st.lists(st.text() | low, min_size=1, max_size=4)),
        st.builds(lambda value: {"const": value}, low | st.text()),
        st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"type": ["null", "string"]}, {}]),
    )
    return st.recursive(leaves, wider, max_leaves=8)


@given(
    schemas(),
    st.text(),
    st.dictionaries(
        st.sampled_from(["order_id", "status", "price", "amount", "items", "name", "date"]),
        st.text()
        | st.integers()
        | st.lists(st.dictionaries(st.sampled_from(["x", "count", "price"]), st.integers())),
    ),
)
def test_a_draft_fits_its_schema(schema: dict[str, Any], seed: str, arguments: dict[str, Any]) -> None:
    """Whatever a tool declares, and whatever the arguments are, the draft is valid JSON that fits."""
    answer = draft(DraftCall(tool_name="find_it", arguments=arguments, response_schema=schema, seed=seed))
    assert copied(answer) == answer
    assert is_adks(answer) or check(answer, schema) == ()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from(["get_order", "create_order", "delete_order", "x", "is_open", "списать", "_"]),
    st.text(),
    st.dictionaries(st.sampled_from(["order_id", "id", "q"]), json_values, max_size=2),
    st.lists(json_values, max_size=3),
)
def test_no_description_and_no_history_breaks_a_draft(
    tool: str, description: str, arguments: dict[str, Any], responses: list[Any]
) -> None:
    """Any text, any arguments and any earlier answers give a value that is JSON."""
    earlier = tuple(
        EarlierAnswer(tool_name=tool, arguments={"order_id": "1"}, response=one) for one in responses
    )
    answer = draft(
        DraftCall(tool_name=tool, description=f"Returns: {description}", arguments=arguments, earlier=earlier)
    )
    assert copied(answer) == answer


def test_names_are_read_in_every_spelling() -> None:
    """Camel case, snake case and capitals give the same words, and ids are told from other numbers."""
    assert words_of("orderID") == words_of("order_id") == words_of("Order-Id") == ("order", "id")
    assert all(map(is_identifier, ["id", "orderId", "tracking_number", "sku", "booking_code"]))
    assert not any(map(is_identifier, ["number", "phone_number", "status_code", "paid", "identity"]))
