"""What the tool's code does not decide is right in a draft, or marked; it never looks certain."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.conventions import EarlierAnswer, is_error
from simulator.environment.drafts.candidates import candidates, drafted
from simulator.environment.drafts.draft import Blank, Draft, DraftCall, Sources, unsure_of
from simulator.environment.world.entities import EntityChange, read_tables
from simulator.environment.world.world import World
from tests.simulator.base.rows import for_each
from tests.simulator.environment.evidence.running import function_of

NOW = dt.datetime(2026, 11, 27, 15, 30, tzinfo=dt.UTC)
DESK = """
import contextlib
import enum
import json
import os
import random
import secrets
import time
import uuid
from datetime import date, datetime, timedelta, timezone
from typing import Literal, Optional, Union
from zoneinfo import ZoneInfo

import requests
from pydantic import BaseModel

ORDERS = {"A-1": {"id": "A-1", "status": "open"}, "A-2": {"id": "A-2", "status": "done"}}

STOCK = {"A-1": 100}
CODES = {"Rome": "ROM", "Oslo": "OSL"}
NOTES = {"Rome": "big"}
DB = {"customers": [{"id": "C-1", "name": "Ada"}]}

LIVE = os.getenv("LIVE", "") == "yes"
DICE = random.random() < 0.5

try:
    import fast_engine
    FAST = True
except ImportError:
    FAST = False

PLAIN = True
try:
    import plain_engine
    PLAIN = False
except ImportError:
    pass

try:
    import json as engine_json
    JSON = True
except ImportError:
    JSON = False

def engine(q: str) -> dict:
    return {"status": "fast" if FAST else "slow", "json": JSON}

def plain(q: str) -> dict:
    return {"status": "plain" if PLAIN else "not"}

def worked(q: str) -> dict:
    if random.random() < 0.5:
        return {"status": "success", "q": q}
    return {"status": "error", "q": q}

def works(q: str) -> dict:
    return {"status": "ok", "n": 1, "ok": True} if requests.get(q) else {"ok": False}

def cancels(q: str) -> dict:
    if not requests.get(q):
        return {"cancelled": False, "q": q, "error": "Closed"}
    if requests.get("x").ok:
        raise ValueError("No")
    return {"cancelled": True, "q": q, "error_message": None}

def suppressed(q: str) -> dict:
    found = "no"
    with contextlib.suppress(KeyError, ValueError):
        requests.get(q)
        found = "yes"
    return {"status": found}

def excepted(q: str) -> dict:
    found = "no"
    try:
        requests.get(q)
        found = "yes"
    except (KeyError, ValueError):
        pass
    return {"status": found}

def switched(q: str) -> dict:
    if not LIVE:
        return {"status": "off"}
    return {"status": "live", "of": q}

def rolled(q: str) -> dict:
    return {"status": "won"} if DICE else {"status": "lost"}

def appliance(q: str) -> dict:
    return {"success": True, "model": "X", "error_code": "22E", "of": q}

def order(q: str) -> dict:
    if q not in ORDERS:
        return {"error": f"No order {q}"}
    return {"order": ORDERS[q], "open": ORDERS[q]["status"] == "open"}

def orders(q: str) -> dict:
    return {"orders": list(ORDERS.values()), "names": [one["name"] for one in DB["customers"]]}

def code(q: str) -> dict:
    return {"code": CODES[q], "note": NOTES[q]}

def take(q: str) -> dict:
    STOCK[q] -= 30
    return {"left": STOCK[q]}

class User(BaseModel):
    kind: Literal["user"] = "user"
    name: str

class Company(BaseModel):
    kind: Literal["company"] = "company"
    name: str
    industry: str = ""

class Level(enum.Enum):
    LOW = 1
    HIGH = 2

def computed(q: str) -> dict:
    order = ORDERS.get(requests.get("http://x/" + q).text)
    if not order:
        return {"error": "No order"}
    return {"status": "success", "order": order}

def looped(q: str) -> dict:
    if requests.get(q).status_code == 404:
        return {"status": "error", "message": "not found"}
    while True:
        q += "x"

def example(q: str) -> dict:
    return requests.get(q).json()

def twice(q: str) -> dict:
    score = random.randint(1, 100)
    color = random.choice(["red", "blue", "green"])
    return {"text": f"{score} {color}", "score": score, "again": {"score": score}, "tint": color, "color": color}

def counts(q: str) -> dict:
    rows = [{"id": one["id"]} for one in requests.get(q).json()]
    return {"count": len(rows), "text": f"{len(rows)} found", "rows": rows}

def kept(q: str) -> dict:
    rows = requests.get(q).json()
    good = [{"id": one["id"]} for one in rows if one["ok"]]
    return {"total": len(rows), "count": len(good), "rows": good}

def gathers(q: str) -> dict:
    rows = []
    for one in requests.get(q).json():
        rows.append({"id": one["id"]})
    return {"rows": rows, "count": len(rows)}

def entity(entity: Union[User, Company]) -> dict:
    if isinstance(entity, User):
        return {"kind": "user", "name": entity.name}
    return {"kind": "company", "name": entity.name, "industry": entity.industry}

def either(entity: User | Company | None = None) -> dict:
    return {"kind": entity.kind, "is_user": isinstance(entity, User)}

def level(level: Optional[Level] = None) -> dict:
    return {"high": level == Level.HIGH, "is": isinstance(level, Level), "raw": level}

def clock(q: str) -> dict:
    now = datetime.now(timezone.utc)
    return {"at": now.isoformat(), "until": f"{now + timedelta(days=7):%Y-%m-%d}", "day": date.today().isoformat(), "ts": time.time(), "form": time.strftime("%Y-%m-%d %H:%M")}

def one_way(q: str) -> dict:
    found = {"q": q, "unit": "kg", "items": [], "notes": ["fixed", "open"], "empty": [], "is_live": False}
    if requests.get(q).ok:
        found["items"].append("first")
        found["notes"][1] = "closed"
        found.update({"mode": "live", "empty": {}, "is_live": True, "from": q, "mine": "only"})
    else:
        found.update({"mode": "mock", "is_live": 0, "from": requests.get(q).text})
    return found

def not_read(q: str) -> dict:
    if requests.get(q).ok:
        return {"status": "done", "q": q, "unit": "kg"}
    return requests.get(q).json()

def many(q: str) -> dict:
    count = 0
    for name in ("a", "b", "c", "d", "e"):
        if requests.get(name).ok:
            count = 1
    return {"status": "done", "q": q, "unit": "kg"} if q else {}

def tried(q: str) -> dict:
    try:
        rows = requests.get(q).json()
        return {"status": "success", "unit": "kg", "names": [one["name"] for one in rows]}
    except requests.RequestException:
        return {"status": "error", "message": "No connection"}

def reports(q: str) -> dict:
    found = requests.get(q)
    return {"error": found.text, "line": 3}

def caught(q: str) -> dict:
    try:
        json.loads(q)
    except json.JSONDecodeError as e:
        return {"error": e.msg, "line": 3}
    return {"n": 1}

def decided(q: str) -> dict:
    if q == "x":
        return {"mode": "given"}
    return {"mode": "other"}

def zoned(q: str) -> dict:
    now = datetime.now(ZoneInfo("Europe/Berlin"))
    return {"at": now.isoformat(), "zone": now.strftime("%Z%z"), "other": str(ZoneInfo("Nowhere/Here"))}

def ids(q: str) -> dict:
    one = str(uuid.uuid4())
    return {"id": one, "short": one[:8], "hex": uuid.uuid4().hex, "token": secrets.token_hex(4), "text": f"Made {one}"}
"""


def made(name: str, arguments: JsonObject | None = None, **more: Any) -> Draft:
    """Draft a call."""
    given = {"q": "x"} if arguments is None else arguments
    code = function_of(DESK, name)
    settings: dict[str, Any] = {"state": {}, "seed": "s", "now": NOW.timestamp(), **more}
    return drafted(DraftCall(tool_name=name, arguments=given, code=code, **settings))


def marked(draft: Draft) -> set[str]:
    """Return the places that are marked."""
    return {one.path for one in draft.blanks}


def test_a_record_of_a_table_is_no_computed_answer() -> None:
    """It has the record's fields, each a blank; what only says that all went well stays."""
    draft: Any = made("computed")
    assert draft.value.keys() == {"status", "order"}
    assert draft.value["status"] == "success"
    assert marked(draft) == {"$.order.id", "$.order.status"}


def test_an_error_does_not_win_because_the_success_is_not_known() -> None:
    """A way that is too long to follow may give anything."""
    assert "error" not in str(made("looped").value)


def test_where_nothing_decides_between_two_ways_what_differs_is_marked() -> None:
    """The values of one way stay as a suggestion; what both say is certain. What the call says differs only from another known value."""
    draft: Any = made("one_way")
    assert draft.value["mode"] == "live"
    assert draft.value["items"] == ["first"]
    differing = {"mode", "items[0]", "notes[1]", "empty", "is_live", "from", "mine"}
    assert marked(draft) == {f"$.{one}" for one in differing}
    assert (draft.is_guess, draft.varies) == (False, False)
    assert made("decided").blanks == ()


@for_each("name", ["switched", "rolled", "switched", "rolled", "engine", "plain", "suppressed", "excepted"])
def test_what_was_decided_for_one_way_is_open_again_for_the_next(name: str) -> None:
    """A switch at the top of a module is the same value for all ways and all drafts, and none of them knows it.

    Nor is known what an import that may fail leaves, or what is kept from failing.
    """
    assert marked(made(name)) - {"$.of"} == {"$.status"}


def test_a_code_beside_the_word_that_all_went_well_is_no_error() -> None:
    """It is one of what the call is about."""
    assert made("appliance").value == {"success": True, "model": "X", "error_code": "22E", "of": "x"}


@for_each("name", ["not_read", "many"])
def test_where_some_ways_are_not_known_all_but_what_the_call_says_is_marked(name: str) -> None:
    """They are not read, or too many to follow."""
    draft = made(name)
    assert draft.value == {"status": "done", "q": "x", "unit": "kg"}
    assert marked(draft) == {"$.status", "$.unit"}


def test_that_a_call_may_fail_does_not_make_its_success_uncertain() -> None:
    """The error is another candidate, for a person to take."""
    assert marked(made("tried")) == {"$.names[0]"}


@for_each(
    ("name", "places"),
    [("worked", {"$.status"}), ("works", {"$.status", "$.n", "$.ok"}), ("cancels", {"$.cancelled"})],
)
def test_no_that_is_as_possible_as_yes_makes_it_uncertain(name: str, places: set[str]) -> None:
    """An error that has no field but those of the success answers the call as it does; of another one the fields count that both have."""
    draft = made(name)
    assert not is_error(draft.value)
    assert marked(draft) == places


@for_each(
    ("body", "error"),
    [
        ("{'a': 1}[q]", {"error_code": "KeyError", "error_message": "'x'"}),
        ("statistics.mean([])", {"error_code": "StatisticsError", "error_message": "mean requires at least one data point"}),
        ("int(q)", {"error_code": "ValueError", "error_message": "invalid literal for int() with base 10: 'x'"}),
    ],
)  # fmt: skip
def test_an_exception_that_the_arguments_decide_is_the_draft(body: str, error: JsonObject) -> None:
    """As one that the code raises itself; a function that does nothing but raise stands for a tool."""
    code = function_of(f"import statistics\n\ndef f(q):\n    return {{'v': {body}}}", "f")
    asked = DraftCall(tool_name="f", arguments={"q": "x"}, code=code)
    draft = drafted(asked)
    assert (draft.value, draft.blanks) == (error, ())
    assert [one.label for one in candidates(asked) if one.kind == "exception"] == ["expected"]
    # ADK may make an object of the text, and what another value would give does not make the exception certain.
    for text in (
        "raise NotImplementedError",
        "return {'v': q.value}",
        "return {'v': q.value if q == 'x' else 1}",
    ):
        stub = function_of(f"def f(q):\n    {text}", "f")
        assert drafted(DraftCall(tool_name="f", arguments={"q": "x"}, code=stub)).is_guess


@for_each(
    "name", ["__builtins__", "__doc__", "__file__", "__loader__", "__name__", "__package__", "__spec__"]
)
def test_a_name_that_python_gives_each_module_is_no_error(name: str) -> None:
    """It is a value that is not known."""
    code = function_of(f"def f(q):\n    return {{'q': q, 'v': {name}}}", "f")
    draft: Any = drafted(DraftCall(tool_name="f", arguments={"q": "x"}, code=code))
    assert draft.value["q"] == "x"
    assert marked(draft) == {"$.v"}


@for_each(("name", "error"), [("reports", None), ("caught", "<error>")])
@for_each(
    "schema",
    [None, {"type": "object", "properties": {"error": {"type": ["string", "null"], "default": None}}}],
)
def test_an_error_of_which_nothing_is_known_is_a_blank(
    name: str, error: str | None, schema: JsonObject | None
) -> None:
    """It is never known to be null; what a handler of an exception returns says that there is one."""
    draft = made(name, response_schema=schema)
    assert draft.value == {"error": error, "line": 3}
    assert marked(draft) == {"$.error"}
    assert draft.is_guess


def test_a_way_that_a_person_takes_is_certain() -> None:
    """The candidate says when the code takes it; only the draft, which nobody chose, is marked."""
    call = DraftCall(tool_name="one_way", arguments={"q": "x"}, code=function_of(DESK, "one_way"))
    expected, other, *_ = candidates(call)
    assert {one.path for one in expected.blanks} >= {"$.mode", "$.is_live"}
    assert other.title == "When not requests.get(q).ok"
    assert {one.path for one in other.blanks} == {"$.from"}


def test_an_example_of_another_call_is_marked_where_code_computes() -> None:
    """It stands in the draft, and not as something certain; where there is no code it is all that is known."""
    shown = 'Look.\n\nReturns:\n    {"status": "success", "sum": 6, "q": "x"}'
    draft = made("example", description=shown)
    assert draft.value == {"status": "success", "sum": 6, "q": "x"}
    assert marked(draft) == {"$.sum"}
    call = DraftCall(tool_name="example", description=shown, arguments={"q": "x"})
    assert not drafted(call).blanks


def test_one_variable_is_one_value() -> None:
    """In each place of the response and in its texts, in whichever order."""
    value: Any = made("twice").value
    assert value["again"]["score"] == value["score"]
    assert value["tint"] == value["color"]
    assert value["text"] == f"{value['score']} {value['color']}"


@for_each(
    ("drawn", "fits"),
    [
        ("random.random()", lambda one: 0 <= one <= 1),
        ("random.uniform(2, 3)", lambda one: 2 <= one <= 3),
        ("round(random.uniform(2, 3), 2)", lambda one: 2 <= one <= 3),
        ("random.randint(1, 6)", range(1, 7).__contains__),
        ("int(np.random.randint(1, 6))", range(1, 6).__contains__),
        ("DICE.randint(1, 6)", range(1, 7).__contains__),
        ("np.random.default_rng().uniform(2, 3)", lambda one: 2 <= one <= 3),
        ("random.choice(['a', 'b'])", "ab".__contains__),
        ("np.random.choice(['a', 'b'])", "ab".__contains__),
        ("secrets.choice(['a', 'b'])", "ab".__contains__),
        ("random.sample(['a', 'b', 'c'], 2)", lambda found: len(found) == 2 and {*found} <= {*"abc"}),
        ("random.choices(['a', 'b'], k=3)", lambda found: len(found) == 3 and {*found} <= {*"ab"}),
        ("shuffled()", lambda found: len(found) == 2 and {*found} <= {*"ab"}),
        ("f'No {random.randint(1, 6)}'", lambda text: int(text.removeprefix("No ")) in range(1, 7)),
    ],
)
def test_what_is_drawn_by_chance_is_an_uncertain_value(drawn: str, fits: Callable[[Any], bool]) -> None:
    """Whatever draws it, the draft has one of the values that the code states, and another draw may give another; it is no blank, and it is not certain."""
    text = f"""
import random, secrets
import numpy as np

DICE = random.Random(7)

def shuffled():
    found = ["a", "b"]
    random.shuffle(found)
    return found

def roll() -> dict:
    return {{"value": {drawn}}}
"""
    draft = drafted(DraftCall(tool_name="roll", arguments={}, code=function_of(text, "roll"), seed="s"))
    value: Any = draft.value
    assert fits(value["value"])
    unsure = unsure_of(draft.blanks, value, value)
    assert unsure.uncertain
    assert not unsure.blanks
    assert draft.varies


@for_each(
    ("given", "left"),
    [
        ({"orders": [{"id": "A-1"}], "total": 1, "found": True}, ()),
        ({"orders": [{"id": "A-1"}, {"id": "A-2"}], "total": 1, "found": True}, ("$.total",)),
        ({"orders": [{"id": "A-1"}], "total": 1, "found": True, "pages": [1]}, ("$.total", "$.found")),
        ({"orders": [{"id": "<id>"}], "total": 1, "found": True}, ("$.total", "$.found")),
    ],
)
def test_the_right_count_of_rows_that_were_changed_is_no_blank(
    given: JsonValue, left: tuple[str, ...]
) -> None:
    """Who writes the rows has seen how many they are, also where that is what the draft said."""
    draft: JsonValue = {"orders": [{"id": "<id>"}], "total": 1, "found": True}
    blanks = [Blank(path="$.total", name="total"), Blank(path="$.found", name="found")]
    assert unsure_of(blanks, draft, given).blanks == left


@for_each("schema", [None, {"type": "string"}])
@for_each(("found", "value", "drawn"), [("lib.get(q)", None, False), ("random.choice([2, 2])", 2, True)])
def test_a_json_text_has_what_is_known_and_is_marked(
    found: str, value: JsonValue, drawn: bool, schema: JsonObject | None
) -> None:
    """As a text, whatever the annotation says; what nobody knows is a blank in it."""
    text = f"import json, lib, random\n\ndef f(q):\n    return json.dumps({{'q': q, 'kind': 'book', 'found': {found}}})"
    code = function_of(text, "f")
    draft: Any = drafted(DraftCall(tool_name="f", arguments={"q": "x"}, code=code, response_schema=schema))
    assert json.loads(draft.value) == {"q": "x", "kind": "book", "found": value}
    assert [(one.path, one.drawn) for one in draft.blanks] == [("$", drawn)]


@for_each(
    ("body", "stars", "value", "blanks"),
    [
        ("lib.get().get('stars')", ">100", None, [("$.stars", False)]),
        ("lib.get().get('stargazers_count')", 5, None, [("$.stars", False)]),
        ("lib.get().get('stars')", 5, 5, [("$.stars", True)]),
        ("f'{lib.get().stars} stars'", 5, "5 stars", [("$.stars", True)]),
        ("stars", ">100", ">100", []),
    ],
)
def test_an_argument_says_no_more_than_a_guess_of_what_code_takes_from_elsewhere(
    body: str, stars: JsonValue, value: JsonValue, blanks: list[tuple[str, bool]]
) -> None:
    """Nothing where the code calls it otherwise, or where the argument is a filter."""
    code = function_of(f"import lib\n\ndef f(stars):\n    return {{'stars': {body}}}", "f")
    draft = drafted(DraftCall(tool_name="f", arguments={"stars": stars}, code=code))
    assert draft.value == {"stars": value}
    assert [(one.path, one.drawn) for one in draft.blanks] == blanks


@for_each(
    "failed", ["{'found': False, 'claim': None}", "{'status': 'unavailable'}", "{'error': 'No service'}"]
)
def test_what_is_returned_where_a_call_fails_is_no_draft_of_one_that_does_not(failed: str) -> None:
    """The way of the success, of which nothing is known, comes first; the other is a candidate with its condition."""
    text = f"import lib\n\ndef f(q):\n    try:\n        return lib.get(q)\n    except Exception:\n        return {failed}"
    call = DraftCall(tool_name="f", arguments={"q": "x"}, code=function_of(text, "f"))
    expected, *others = candidates(call)
    assert (expected.by_code, [one.drawn for one in expected.blanks]) == (False, [False])
    assert (others[0].by_code, others[0].title) == (True, "When lib.get(q) fails")


@for_each(
    ("tool", "body", "value", "blanks"),
    [
        ("pay_out", "{'claim_id': got['claim_id'], 'amount': got.amount}", {"claim_id": "C-1", "amount": 120.5}, []),
        ("pay_out", "{'claim_id': got['id'], 'amount': got['paid']}", {"claim_id": "C-1", "amount": None}, ["$.amount"]),
        ("pay_out", "{'claim_id': str(got['claim_id']), 'amount': int(got['amount'])}", {"claim_id": "C-1", "amount": 0}, ["$.amount"]),
        ("pay_out", "{'claim_id': claim_id, 'amount': amount, **got}", {"claim_id": "C-1", "amount": 120.5}, []),
        ("pay_out", "{'claim_id': got.claim_id, 'before': {'amount': got.amount}}", {"claim_id": "C-1", "before": {"amount": 120.5}}, ["$.before.amount"]),
        ("find_claim", "{'claim_id': got['claim_id'], 'amount': got['amount']}", {"claim_id": "C-1", "amount": 120.5}, ["$.amount"]),
        ("pay_out", "{'rows': [{'amount': one.amount} for one in got]}", {"rows": [{"amount": 120.5}]}, ["$.rows[0].amount"]),
        ("create_claim", "{'claim_id': got['id'], 'amount': got['amount']}", {"claim_id": "CLA-7500", "amount": 120.5}, ["$.claim_id"]),
    ],
)  # fmt: skip
def test_what_a_call_asks_for_is_certain_in_its_own_answer(
    tool: str, body: str, value: JsonObject, blanks: list[str]
) -> None:
    """The id that it names, and what it is to do; not what was looked for, nor what stands further in, or is of another type."""
    text = f"import lib\n\ndef {tool}(claim_id, amount):\n    got = lib.post(claim_id, amount)\n    return {body}"
    call = DraftCall(
        tool_name=tool, arguments={"claim_id": "C-1", "amount": 120.5}, code=function_of(text, tool)
    )
    draft = drafted(call)
    assert (draft.value, [one.path for one in draft.blanks]) == (value, blanks)


@for_each(
    ("body", "value", "places"),
    [
        ("lib.send(q)", {"q": ["1", "2"], "n": 2}, {"$.q[0]", "$.q[1]", "$.n"}),
        ("q = {'a': 1, 'b': {'c': 2}}; lib.send(q)", {"q": {"a": 1, "b": {"c": 2}}, "n": 2}, {"$.q.a", "$.q.b.c", "$.n"}),
        ("q = {}; lib.fill(q)", {"q": {}, "n": 0}, {"$.q", "$.n"}),
        ("q = ['x' for one in lib.all()]", {"q": ["x"], "n": 1}, {"$.q[0]", "$.n"}),
        ("print(q)", {"q": ["1", "2"], "n": 2}, set()),
    ],
)  # fmt: skip
def test_what_unread_code_may_change_is_as_it_was_and_marked(
    body: str, value: JsonObject, places: set[str]
) -> None:
    """The whole list or object, and its size; that of a list of unknown size, too."""
    code = function_of(f"import lib\n\ndef f(q):\n    {body}\n    return {{'q': q, 'n': len(q)}}", "f")
    draft = drafted(DraftCall(tool_name="f", arguments={"q": ["1", "2"]}, code=code))
    assert (draft.value, marked(draft)) == (value, places)


def test_fields_of_one_condition_say_the_same() -> None:
    """They are marked, and the other side of it is a candidate."""
    code = function_of(
        "import lib\n\ndef f(q):\n    high = lib.load(q) > 80\n    return {'high': high, 'alarm': 'on' if high else 'off'}",
        "f",
    )
    call = DraftCall(tool_name="f", arguments={"q": "x"}, code=code)
    draft = drafted(call)
    assert (draft.value, marked(draft)) == ({"high": True, "alarm": "on"}, {"$.high", "$.alarm"})
    assert {"high": False, "alarm": "off"} in [one.value for one in candidates(call)]


@for_each("name", ["counts", "gathers", "kept"])
def test_a_count_is_that_of_the_rows(name: str) -> None:
    """And it is marked as they are. That of rows which are not shown is not less."""
    draft = made(name)
    value: Any = draft.value
    assert value["count"] == len(value["rows"])
    assert value.get("text", "1 found") == f"{len(value['rows'])} found"
    assert value.get("total", 1) == 1
    assert {"$.count", "$.rows[0].id", *(["$.total"] if "total" in value else [])} <= marked(draft)


@for_each(
    ("name", "arguments", "expected"),
    [
        ("entity", {"entity": {"kind": "company", "name": "Acme"}}, {"kind": "company", "name": "Acme", "industry": ""}),
        ("entity", {"entity": {"kind": "user", "name": "Ada"}}, {"kind": "user", "name": "Ada"}),
        ("either", {"entity": {"kind": "company", "name": "Acme"}}, {"kind": "company", "is_user": False}),
        ("level", {"level": 2}, {"high": False, "is": False, "raw": 2}),
    ],
)  # fmt: skip
def test_a_branch_by_type_is_taken_as_adk_gives_the_argument(
    name: str, arguments: JsonObject, expected: JsonObject
) -> None:
    """A union of models is the one that takes the value; ADK leaves an enumeration's value as it is."""
    draft = made(name, arguments)
    assert (draft.value, draft.blanks) == (expected, ())


ROOMS = """
import rooms

def by_code(q: str) -> dict:
    rows = rooms.search(q)
    listed = [{"id": one.id} for one in rows]
    return {"rooms": listed, "count": len(rows), "is_empty": not rows, "has_results": bool(rows), "found": len(rows) > 0}

def alone(q: str) -> dict:
    rows = rooms.search(q)
    return {"count": len(rows), "is_empty": not rows, "has_results": bool(rows), "found": len(rows) > 0}

def stated(q: str) -> dict:
    rows = rooms.search(q)
    return {"rooms": [{"id": 1}, {"id": 2}], "total": int(rows.total), "is_empty": bool(rows.none), "has_results": bool(rows.some), "found": True}
"""
ROOM_FIELDS: JsonObject = {
    "rooms": {"type": "array", "items": {"type": "object", "properties": {"id": {}}, "required": ["id"]}},
    "count": {"type": "integer", "maximum": 40, "minimum": 0},
    "is_empty": {"type": "boolean"},
    "has_results": {"type": "boolean"},
    "found": {"type": "boolean"},
}


@for_each("name", ["by_code", "alone", "stated", "", "of none"])
def test_the_fields_of_an_answer_that_count_its_rows_agree(name: str) -> None:
    """In the draft and in each candidate, whatever tells of them: code, a count alone, or a schema. What nobody knows stays marked."""
    fields = ROOM_FIELDS if not name else {key: one for key, one in ROOM_FIELDS.items() if key != "rooms"}
    schema: JsonObject = {"type": "object", "properties": fields, "required": [*fields]}
    has_code = f"def {name}(" in ROOMS
    more: dict[str, Any] = {"code": function_of(ROOMS, name)} if has_code else {"response_schema": schema}
    call = DraftCall(tool_name="search_rooms", arguments={"q": "x"}, **more)
    assert {"$.is_empty", "$.has_results"} <= marked(drafted(call))
    for one in candidates(call):
        value: Any = one.value
        if is_error(value):
            continue
        count = next((value[key] for key in ("count", "total") if key in value), None)
        size = len(value.get("rooms", [0] * bool(count)))
        assert (value["is_empty"], value["has_results"], value["found"]) == (size == 0, size > 0, size > 0), (
            one
        )
        assert one.label == "edge" or "rooms" not in value or count in {None, size}


UNIONS = """
from typing import Optional, Union
from pydantic import BaseModel

class Address(BaseModel):
    city: str

def by_text(to: Union[Address, str]) -> dict:
    return {"text": to} if isinstance(to, str) else {"city": to.city if isinstance(to, Address) else to["city"]}

def by_model(to: Optional[Address | str] = None) -> dict:
    return {"city": to.city} if isinstance(to, Address) else {"other": to}

def by_list(to: Address | list[Address]) -> dict:
    return {"many": len(to)} if isinstance(to, list) else {"is_model": isinstance(to, Address)}

def alone(to: Address | None = None) -> dict:
    return {"is_model": isinstance(to, Address), "is_dict": isinstance(to, dict)}
"""


@for_each("to", ["Rome", {"city": "Rome"}, {"street": "Via"}, [{"city": "Rome"}, {"city": "Oslo"}], None])
@for_each("name", ["by_text", "by_model", "by_list", "alone"])
def test_a_branch_by_type_is_taken_as_the_real_tool_takes_it(name: str, to: JsonValue) -> None:
    """Whatever ADK makes of the argument, where the tool returns something the draft has it without a mark."""
    names: dict[str, Any] = {}
    exec(UNIONS, names)  # noqa: S102 - it stands above
    try:
        real = asyncio.run(
            FunctionTool(names[name]).run_async(args={"to": to}, tool_context=MagicMock(spec=ToolContext))
        )
    except (AttributeError, KeyError, TypeError):
        return
    draft = drafted(
        DraftCall(tool_name=name, arguments={"to": to}, code=function_of(UNIONS, name), seed="s", state={})
    )
    assert (draft.value, draft.blanks) == (real, ())


def test_a_union_that_several_models_take_is_marked() -> None:
    """Neither is taken for granted."""
    draft = made("either", {"entity": {"name": "Ada"}})
    assert "$.is_user" in marked(draft)


def test_times_are_of_the_sessions_clock() -> None:
    """And so is what is computed from them; without a clock they are blanks."""
    stamp = NOW.timestamp()
    assert made("clock").value == {
        "at": NOW.isoformat(),
        "until": "2026-12-04",
        "day": "2026-11-27",
        "ts": stamp,
        "form": "2026-11-27 15:30",
    }
    assert marked(made("clock", now=0.0)) == {"$.at", "$.until", "$.day", "$.ts", "$.form"}
    zoned: Any = made("zoned")
    assert zoned.value.items() >= {"at": "2026-11-27T16:30:00+01:00", "zone": "CET+0100"}.items()
    assert marked(zoned) == {"$.other"}


def test_ids_are_of_the_sessions_seed() -> None:
    """The same again for the same draw, others for another one; they vary."""
    first, again, other = made("ids"), made("ids"), made("ids", draw=1)
    value: Any = first.value
    assert (first.value, first.varies) == (again.value, True)
    assert value["short"] == value["id"][:8]
    assert value["text"] == f"Made {value['id']}"
    others: Any = other.value
    assert not {*value.values()} & {*others.values()}


def test_what_is_to_end_ends_after_the_clock() -> None:
    """A date that is drawn for a name like `valid_until` is still to come."""
    schema: JsonObject = {
        "type": "object",
        "properties": {"valid_until": {"type": "string", "format": "date"}, "expiresAt": {"type": "string", "format": "date-time"}},
        "required": ["valid_until", "expiresAt"],
    }  # fmt: skip
    for seed in "abcdefgh":
        value: Any = made("example", response_schema=schema, seed=seed).value
        assert all(text > NOW.isoformat() for text in value.values())


DATA = """{"orders": [{"id": "A-1", "total": 5.0}, {"id": "B-9", "status": "open", "total": 3.0}],
           "customers": [{"id": "C-9", "name": "Eve"}], "stock": [{"id": "A-1", "quantity": 55}],
           "cities": [{"id": "Rome", "code": "ROM", "country": "Italy"}, {"id": "Bern", "code": "BRN", "country": "Switzerland"}]}"""


def from_data(name: str, q: str, *earlier: EarlierAnswer) -> Draft:
    """Draft a call in an environment that has data."""
    world = World(tables=read_tables(DATA))
    codes = {one: function_of(DESK, one) for one in ("order", "orders", "take", "code")}
    call = DraftCall(
        tool_name=name, arguments={"q": q}, code=codes[name], codes=codes, state={}, earlier=earlier
    )
    return drafted(call, Sources(world=world))


def test_the_environments_data_stands_before_the_tables_of_a_module() -> None:
    """In all that the code makes of them; what the data does not have is a blank, and never that of the module's record."""
    draft: Any = from_data("order", "A-1")
    assert draft.value["order"]["total"] == 5.0
    assert {"$.order.status", "$.open"} <= marked(draft)
    assert from_data("order", "B-9").value == {
        "order": {"id": "B-9", "status": "open", "total": 3.0},
        "open": True,
    }
    listed: Any = from_data("orders", "")
    assert [one["id"] for one in listed.value["orders"]] == ["A-1", "B-9"]
    assert listed.value["names"] == ["Eve"]
    told: Any = from_data("code", "Bern")
    assert told.value["code"] == "BRN"
    assert marked(told) == {"$.note"}


@for_each("tables", ["", '{"orders": [{"id": "D-1", "status": "open", "total": 3.0}]}'])
@for_each("is_by_person", [True, False])
def test_what_is_added_to_the_world_is_found_by_code_with_a_table_of_its_own(
    tables: str, is_by_person: bool
) -> None:
    """A look-up by its id gives it in the fields of this tool, whether a person or a tool without code added it; a list has the module's rows alone, and what nobody added is not there."""
    text = """
ORDERS = {"A-1": {"id": "A-1", "status": "open", "total": 1.0}}

def get_order(order_id: str) -> dict:
    if order_id not in ORDERS:
        return {"error": f"Order {order_id} not found"}
    return {"order": {"id": ORDERS[order_id]["id"], "status": ORDERS[order_id]["status"]}, "large": ORDERS[order_id]["total"] > 5}

def read_order(order_id: str) -> dict:
    return ORDERS[order_id]

def list_orders() -> dict:
    return {"ids": list(ORDERS)}
"""
    codes = {one: function_of(text, one) for one in ("get_order", "read_order", "list_orders")}
    fields: JsonObject = {"status": "held", "total": 9.0}
    world = World(tables=read_tables(tables))
    made = EarlierAnswer("create_order", fields, {"id": "B-9", **fields}, fact=1)
    if is_by_person:
        world.edit([EntityChange(op="put", kind="order", id="B-9", fields=fields)], fact=1, turn=1)
    else:
        world.take(made)

    def asked(tool: str, **arguments: Any) -> Draft:
        earlier = () if is_by_person else (made,)
        call = DraftCall(
            tool_name=tool, arguments=arguments, code=codes[tool], codes=codes, earlier=earlier, state={}
        )
        return drafted(call, Sources(world=world))

    shown = asked("get_order", order_id="B-9")
    assert (shown.value, shown.blanks) == ({"order": {"id": "B-9", "status": "held"}, "large": True}, ())
    assert asked("read_order", order_id="B-9").value == {"id": "B-9", **fields}
    assert asked("list_orders").value == {"ids": ["D-1" if tables else "A-1"]}
    assert asked("get_order", order_id="C-3").value == {"error": "Order C-3 not found"}


def test_calls_change_the_environments_data_as_they_change_the_tables() -> None:
    """What the code takes away is taken from there."""
    first = EarlierAnswer(tool_name="take", arguments={"q": "A-1"}, response={"left": 25})
    assert from_data("take", "A-1").value == {"left": 25}
    assert from_data("take", "A-1", first).value == {"left": -5}
