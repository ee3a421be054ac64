"""The decision pane while tool calls wait, with what a draft does besides its response, and with ready answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import streamlit
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from pydantic import BaseModel
from streamlit.runtime.context import StreamlitCookies

from app.decision.golden_candidate import ANOTHER_WAY
from app.decision.ready_answers import preview
from app.decision.tool_answer import tool_inputs
from app.forms.safe_labels import literal
from app.live.live_sessions import UnsentTexts
from app.server.owners import COOKIE
from app.session.timeline_view import step_badges
from simulator.facts import Deferred, Failed, Raised, Returned, ToolEffects
from simulator.scripts import Script
from simulator.scripts.script import ToolMove
from simulator.session.history import ToolOutput, files_in
from tests.app.decision.deciding import Deciding, answers, asked, asked_for, echo, first
from tests.app.page_driver import HOSTILE, block_key
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened


def test_a_mistake_in_json_is_named_and_nothing_is_moved_sent_or_lost() -> None:
    """It is said above the editor: all that can be used keeps its place, also the button under the mouse, and the text stays.

    What only breaks the tool's own schema is said as well, below its field, and can be sent.
    """
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        page = Deciding(simulation)
        assert not any(":add_" in name or ":drop" in name for name in page.names())
        before = {key: at for key, at in page.places().items() if "form0:" not in key}
        assert {name.partition("_")[0] for name in before} >= {"accept", "reset", "real", "response", "give"}
        wrong = '{"order_id": "A-1"\n "total": 2}'
        off = '{"order_id": 3, "total": 1}'
        for text, said in (("", ""), (off, "\norder_id: 3"), (wrong, "Line 2, column 2")):
            after = page.type("response_", text).run().places()
            assert said in page.shown()
            assert {key: after.get(key, place) for key, place in before.items()} == before, text
            assert any(key.startswith("accept_") for key in after), text
        page.press("accept_")
        assert len(simulation.pending) == 1
        assert page.text("response_") == page.refreshed().text("response_") == wrong
        page.choose("style_", "JSON").choose("style_", "Form")
        assert page.text("response_") == wrong
        page.type("response_", off).press("accept_")
        assert answers(simulation)[0].outcome == Returned(value={"order_id": 3, "total": 1})


def test_how_a_response_is_written_is_remembered_for_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who writes in the form finds it at the next call, and in that browser in the next session; a plain text is for one call only."""
    calls = [call("find_order", order_id=f"A-{number}") for number in range(3)]
    with asked_for(*calls) as simulation:
        page = Deciding(simulation).choose("style_", "Form").press("accept_0")
        assert page.text("style_") == page.refreshed().text("style_") == "Form"
        page.choose("style_", "Text").type("response_text_", "found").press("accept_0")
        assert page.text("style_") == "Form"
    begun = list[str]()
    for browser, style in (("a", "Form"), ("b", "Text"), ("a", "Both"), ("b", "JSON"), ("a", "JSON")):
        monkeypatch.setattr(type(streamlit.context), "cookies", StreamlitCookies({COOKIE: browser * 43}))
        with asked_for(call("find_order", order_id="A-1")) as simulation:
            page = Deciding(simulation)
            begun.append(page.text("style_"))
            page.choose("style_", style)
    assert begun == ["Both", "Both", "Form", "Both", "Both"]


def touch(word: str):  # type: ignore[no-untyped-def] # noqa: ANN201 - no schema is declared
    """Touch it."""
    return {} if word else None


def test_a_response_that_begins_empty_gets_fields_lists_and_groups() -> None:
    """It has a form from the start, and so has what is typed over it; a field can be added inside of another."""
    with asked_for(call("touch", word="x"), call("touch", word=""), tools=[touch]) as simulation:
        page = Deciding(simulation)
        assert page.text("response_") == "{}"
        add(page, "left", "Whole number")
        page.type("response_", '{"left": 4, "at": {"x": 1.50, "y": 2}}').run()
        add(page, "tags", "List of texts", where=1)
        page.type("form:response.at.tags:0_", "new").press("form:response.at.y:drop")
        add(page, "rooms", "List of whole numbers")
        page.type("form:response.rooms:0_", "7")
        add(page, "sizes", "Group of fields")
        add(page, "big", "Yes or no", where=2)
        page.press("accept_0")
        value = {"left": 4, "at": {"x": 1.5, "tags": ["new"]}, "rooms": [7], "sizes": {"big": False}}
        assert answers(simulation)[0].outcome == Returned(value=value)
        assert page.text("response_") == "null"
        add(page, "left", "Whole number")
        assert json.loads(page.text("response_")).keys() == {"left"}


def test_a_field_that_cannot_be_read_is_not_left_out_of_the_json() -> None:
    """The view as JSON is as little ready as the form, until the field is fixed or the JSON is edited; so is one that had no value before."""
    with asked_for(call("touch", word="x"), call("touch", word="y"), tools=[touch]) as simulation:
        page = Deciding(simulation)
        add(page, "limit", "Number")
        page.type("form:response.limit", "1.250,50").choose("style_", "JSON")
        assert "limit" not in page.text("response_")
        assert is_unready(page.press("accept_0"))
        page.choose("style_", "Form").type("form:response.limit", "1250.5").choose("style_", "JSON")
        assert not is_unready(page)
        page.press("accept_0")
        page.choose("style_", "Both")
        add(page, "limit", "Number")
        page.type("form:response.limit", "1,5").choose("style_", "JSON").press("accept_")
        assert is_unready(page)
        page.type("response_", '{"left": "out"}').press("accept_")
        values = [answer.outcome for answer in answers(simulation)]
        assert values == [Returned(value={"limit": 1250.5}), Returned(value={"left": "out"})]


def is_unready(page: Deciding) -> bool:
    """Return whether a badge says that the answer cannot be sent."""
    return any("not ready" in str(each.value) for each in page.tab.markdown)


class Basket(BaseModel):
    """What somebody bought, as far as it is declared."""

    lines: list[dict[str, Any]]
    notes: dict[str, Any]
    prices: dict[str, float]


def basket(word: str) -> Basket:
    """Return what somebody bought."""
    raise NotImplementedError(word)


def test_what_a_schema_leaves_open_is_filled_in_without_json() -> None:
    """A field without a declared name has an input for its name and one for its value; a list of such objects is a table."""
    with asked_for(call("basket", word="x"), tools=[basket]) as simulation:
        page = Deciding(simulation).choose("style_", "Form")
        lines, notes, prices = (f"form:response.{name}" for name in ("lines", "notes", "prices"))
        page.press(f"{lines}:column_add")
        assert "enter a name" in page.shown()
        page.type(f"{lines}:column_", "sku").press(f"{lines}:column_add")
        page.type(f"json:{lines}:0:others:0.value", "GRV-500-56").press(f"{lines}:add")
        second = f"json:{lines}:1:others:0.value"
        for text in ("300,00", "Oslo, 5", "12"):  # a column of texts has no number
            assert "Read as text" not in page.type(second, text).run().shown()
        page.press(f"{notes}:others:add")
        page.press("accept_")
        assert "enter a name" in page.shown()
        assert "notes" in page.foot()
        page.press(f"{notes}:others:0:remove").press(f"{prices}:others:add")
        page.type(f"{prices}:others:0.name", "net").type(f"{prices}:others:0.value", "4.5").press("accept_")
        value = {"lines": [{"sku": "GRV-500-56"}, {"sku": "12"}], "notes": {}, "prices": {"net": 4.5}}
        assert answers(simulation)[0].outcome == Returned(value=value)


def test_figures_are_a_text_where_their_column_has_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was typed and became something else says so at its place, and a click makes it the other; so do an amount in the browser's language and a draft's text of figures."""
    monkeypatch.setattr(type(streamlit.context), "locale", property(lambda _: "de-DE"))
    with asked_for(call("basket", word="x"), tools=[basket]) as simulation:
        page = Deciding(simulation).choose("style_", "Form")
        lines, notes = "form:response.lines", "form:response.notes:others"
        for name in ("claim", "paid"):
            page.type(f"{lines}:column_", name).press(f"{lines}:column_add")
        page.press(f"{lines}:add").type(f"json:{lines}:0:others:0.value", "20240815").run()
        assert "Number" in [each.value for each in page.tab.caption]
        page.type(f"json:{lines}:1:others:0.value", "0047110").run()
        assert "Number" not in [each.value for each in page.tab.caption]
        page.type(f"json:{lines}:0:others:1.value", "1.250,50").run()
        assert "Number: 1.250,50" in [each.value for each in page.tab.caption]
        page.type(f"json:{lines}:1:others:1.value", "7").run()
        rows = (
            ("phone", "49171234567", "text"),
            ("limit", "2,5", ""),
            ("room", "007", "number"),
            ("version", "1.250", "text"),
        )
        for at, (name, typed, way) in enumerate(rows):
            page.press(f"{notes}:add").type(f"{notes}:{at}.name", name)
            page.type(f"json:{notes}:{at}.value", typed).run()
            if way:
                page.press(f"json:{notes}:{at}.value:use_as_{way}")
            assert "Read as text" not in page.shown()
        page.press("accept_")
        lines_ = [{"claim": "20240815", "paid": 1250.5}, {"claim": "0047110", "paid": 7}]
        value = {
            "lines": lines_,
            "notes": {"phone": "49171234567", "limit": 2.5, "room": 7, "version": "1.250"},
            "prices": {},
        }
        assert answers(simulation)[0].outcome == Returned(value=value)


def payments(claim_id: str) -> list[dict]:  # type: ignore[type-arg] # as people write it
    """List the payments of a claim."""
    with urlopen(f"https://claims.test/{claim_id}") as response:
        rows = json.loads(response.read())["items"]
    return [{"date": row["date"], "amount": row["amount"]} for row in rows]


def sides(page: Deciding) -> str:
    """Return the key of the container of text and form."""
    keys = [block_key(node) for node in page.tab._tree]
    return next(str(key) for key in keys if str(key).endswith("_sides"))


def test_a_cell_of_a_table_that_is_null_at_first_takes_any_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing says what it holds: an amount is a number, one that may be two says that it is kept as text, and a yes or no in the browser's language can be one."""
    monkeypatch.setattr(type(streamlit.context), "locale", property(lambda _: "de-DE"))
    with asked_for(call("payments", claim_id="C-1"), tools=[payments]) as simulation:
        page = Deciding(simulation).choose("style_", "Form")
        assert first(simulation).draft == [{"date": None, "amount": None}]
        table = "form:response"
        assert [page.text(f"json:{table}:0.{name}") for name in ("date", "amount")] == ["", ""]
        assert "Use as text" not in page.shown()
        page.type(f"json:{table}:0.amount", "1.200,00").run()
        assert "Number: 1.200,00" in page.shown()
        page.press(f"{table}:add")
        page.type(f"json:{table}:1.amount", "800,50").type(f"json:{table}:0.date", "20.04.2026")
        page.type(f"json:{table}:1.date", "null").run()
        assert "Use 2026-04-20" in [each.label for each in page.tab.button]
        assert "Read as text" not in page.shown()
        page.type(f"json:{table}:1.date", "Nein").run().press(f"json:{table}:1.date:use_as_yes")
        page.press(f"json:{table}:1.date:use_as_text").press(f"json:{table}:1.date:use_as_yes")
        is_beside = [sides(page.choose("style_", "Both"))]
        page.choose("style_", "Form").type(f"{table}:column_", "fee").press(f"{table}:column_add")
        page.type(f"json:{table}:0:others:0.value", "1.200").run()
        assert "Read as text" in page.shown()
        ways = [each.label for each in page.tab.button if "use_as" in str(each.key)]
        assert ("Keep as text" in ways, "Text" in [each.value for each in page.tab.caption]) == (True, False)
        page.type(f"json:{table}:0:others:0.value", "5").type(f"json:{table}:1:others:0.value", "2,5")
        is_beside.append(sides(page.choose("style_", "Both")))
        assert is_beside == ["both_sides", "stacked_sides"]  # a third column has no room beside the text
        page.press("accept_")
        value = [
            {"date": "20.04.2026", "amount": 1200, "fee": 5},
            {"date": False, "amount": 800.5, "fee": 2.5},
        ]
        assert answers(simulation)[0].outcome == Returned(value=value)


@pytest.mark.parametrize("style", ["Form", "Both"])
def test_a_row_that_was_added_is_named_once_something_is_typed_in_it_or_it_is_sent(style: str) -> None:
    """Its other cells are, as an empty cell of the first row is at once."""
    with asked_for(call("payments", claim_id="C-1"), tools=[payments]) as simulation:
        page = Deciding(simulation).choose("style_", style)
        words, whole = "enter a text, a number or JSON", "The form is incomplete"
        shown = page.press("form:response:add").shown()
        assert (words in shown, whole in shown) == (False, False)
        page.type("json:form:response:1.amount", "5").run()
        assert page.shown().count(words) == 1
        page.type("json:form:response:1.amount", "").run()
        assert words not in page.shown()
        assert page.press("accept_").shown().count(words) == 2
        page.type("json:form:response:1.amount", "5").type("json:form:response:1.date", "x").press("accept_")
        assert len(answers(simulation)) == 1


def pack(lines: list[dict[str, Any]]) -> None:
    """Pack lines of an order."""


def test_a_list_of_objects_without_declared_fields_is_a_table() -> None:
    """It has the columns that its rows have; a column is added to all rows, and a field that only other rows have to one."""
    drawn = [{"sku": "A", "count": 1}, {"sku": "B"}]
    with asked([call("pack", lines=drawn)], tools=[pack], agents="held") as simulation:
        page = Deciding(simulation).press("edit_")
        lines = "form0:json:args1_pack.lines"
        assert [each.value for each in page.tab.text if each.value in {"sku", "count"}] == ["sku", "count"]
        page.press(f"{lines}:1:others:add:count").type(f"json:{lines}:1:others:1.value", "2")
        page.type(f"{lines}:column_", "note").press(f"{lines}:column_add").press(f"{lines}:add")
        for row, cells in enumerate((("A", "1", "first"), ("B", "2", ""), ("C", "3", "last"))):
            for column, cell in enumerate(cells):
                page.type(f"json:{lines}:{row}:others:{column}.value", cell)
        page.press("accept_")
        assert "enter a text, a number or JSON" in page.shown()
        page.press(f"{lines}:1:remove").press("accept_")
        made = [{"sku": "A", "count": 1, "note": "first"}, {"sku": "C", "count": 3, "note": "last"}]
        assert first(simulation).arguments == {"lines": made}


def test_a_column_is_removed_from_each_row() -> None:
    """Also from one that was added since; what is left can be sent."""
    with asked([call("pack", lines=[{"sku": "A", "count": 1}])], tools=[pack], agents="held") as simulation:
        page = Deciding(simulation).press("edit_")
        lines = "form0:json:args1_pack.lines"
        page.press(f"{lines}:add").type(f"json:{lines}:1:others:0.value", "B").press(f"{lines}:drop:count")
        page.press("accept_")
        assert first(simulation).arguments == {"lines": [{"sku": "A"}, {"sku": "B"}]}


def add(page: Deciding, name: str, kind: str, where: int = 0) -> None:
    """Add a field to the object with this number."""
    page.type("form:response:add_name", name).type("form:response:add_kind", kind)
    if where:
        page.type("form:response:add_where", where)
    page.press("form:response:add_now")


def test_a_text_an_error_and_an_exception_answer_as_such() -> None:
    """A text is a result; a preset fills code and message, and digits are a number; an exception ends the turn."""
    with asked_for(*(call("echo", word=word) for word in "wxyz")) as simulation:
        page = Deciding(simulation).choose("style_", "Text").type("response_text_", "it's raining")
        page.press("accept_0").choose("mode_", "Error").press("preset_503")
        assert '"error_code": 503' in page.shown()
        page.press("accept_0").choose("mode_", "Error").type("error_code_", "NO_STOCK").press("accept_0")
        page.choose("mode_", "Exception").choose("exception_type_", "TimeoutError")
        page.type("exception_message_", "too slow").press("accept_")
        text, preset, own, raised = (fact.outcome for fact in answers(simulation))
        assert text == Returned(value="it's raining")
        assert isinstance(preset, Failed)
        assert isinstance(own, Failed)
        assert (preset.error_code, own.error_code) == (503, "NO_STOCK")
        assert isinstance(raised, Raised)
        assert (raised.error.short_type, raised.error.message) == ("TimeoutError", "too slow")
        error = simulation.session.turns[-1].error
        assert error is not None
        assert error.short_type == "TimeoutError"


def with_exception(simulation: Any, kind: str) -> Deciding:
    """Open the page where this type was typed before; a test cannot type what is not in the list."""
    drafts = UnsentTexts()
    kept = tool_inputs(drafts, simulation.pending[0]).kept
    kept.put("mode", "Exception")
    kept.put("exception_type", kind)
    return Deciding(simulation, drafts)


def test_an_exception_is_shown_as_the_agents_code_will_see_it() -> None:
    """What stands on the page before the click is what the agent's handler is given; without a type nothing is shown or sent."""
    rows = (
        ("TimeoutError", "too slow", "TimeoutError: too slow"),
        ("TimeoutError", "", "TimeoutError"),
        ("KeyError", "A-1", "KeyError: 'A-1'"),
        ("NoSuchError", "no", "NoSuchError: no"),
        ("TimeoutError", "too \u202eslow", "TimeoutError: too \\u202eslow"),
    )
    caught: list[str] = []

    def handle(*, error: Exception, **_: Any) -> dict[str, str]:
        caught.append(literal(f"{type(error).__name__}: {error}".removesuffix(": ")))
        return {"handled": "yes"}

    turns = [[call("echo", word=str(number))] for number in range(len(rows) + 1)]
    with opened(agent_of(*turns, tools=[echo], on_tool_error_callback=handle)) as simulation:
        simulation.query("go", wait=PATIENCE)
        for kind, message, seen in rows:
            page = with_exception(simulation, kind)
            page.type("exception_message_", message).run()
            assert any(code.value.startswith(seen) for code in page.tab.code), seen
            page.press("accept_")
            assert caught[-1] == seen
        page = with_exception(simulation, "not a name")
        assert not any("not a name" in code.value for code in page.tab.code)
        assert page.press("accept_").foot()
        assert len(caught) == len(rows)


def test_a_long_running_call_is_answered_later() -> None:
    """Only a long-running tool offers it, with words on what the agent sees; its late result is given after the turn.

    Before, the user can send another message, with files as at any other time.
    """
    with asked_for(call("ship", order_id="A")) as simulation:
        page = Deciding(simulation)
        before = {each.value for each in page.tab.caption}
        page.choose("mode_", "Later")
        assert {each.value for each in page.tab.caption} - before
        page.press("accept_")
        assert answers(simulation)[0].outcome == Deferred()
        assert [one.tool_name for one in simulation.session.open_calls] == ["ship"]
        page.choose("waiting_", "query 1").tab.file_uploader[0].set_value(
            ("plan.png", b"pixels", "image/png")
        )
        page.type("again_text", "Meanwhile, look at this.").press("accept_")
        said = simulation.session.turns[-1].message
        assert [file.name for file in files_in(said)] == ["plan.png"]
        assert said["parts"][0] == {"text": "Meanwhile, look at this."}
        page.choose("waiting_", f"open {simulation.session.open_calls[0].call_id}")
        page.choose("response_late_as_json_", True).type("response_late_", "{").press("accept_")
        assert page.foot()
        page.type("response_late_", '{"shipped": true}')
        page.press("accept_")
        reply = simulation.session.history[-2]
        assert reply.type == "user_reply"
        assert reply.response == {"shipped": True}


def test_a_late_result_keeps_the_fields_that_identify_its_first_response() -> None:
    """They are marked as that until they are changed; all else of the first response is not the result."""
    with asked_for(call("ship", order_id="A")) as simulation:
        first = {"ticket_id": "T-1", "status": "pending", "days": 3}
        assert simulation.answer(simulation.pending[0], first, wait=PATIENCE)
        page = Deciding(simulation)
        page.choose("waiting_", f"open {simulation.session.open_calls[0].call_id}")
        marked = [str(each.value) for each in page.tab.markdown if "first response" in str(each.value)]
        assert len(marked) == 1
        page.press("accept_")
        reply = simulation.session.history[-2]
        assert reply.type == "user_reply"
        assert reply.response == {"ticket_id": "T-1", "status": "done"}


def settle(claim_id: str) -> dict:  # type: ignore[type-arg] # as people write it
    """Settle a claim.

    Raises:
        ClaimClosedError: The claim is closed.
        NotImplementedError: It is of another country.
    """
    with urlopen(f"https://claims.test/{claim_id}") as response:
        if not json.loads(response.read())["open"]:
            raise LookupError(claim_id)
    return {"claim_id": claim_id}


def test_the_exceptions_of_the_tool_come_first_among_those_to_raise() -> None:
    """Those that its code raises, and then the builtin ones that its description names."""
    with asked_for(call("settle", claim_id="C-1"), tools=[settle]) as simulation:
        page = Deciding(simulation).choose("mode_", "Exception")
        (kinds,) = (one.options for one in page.tab.button_group if "suggested" in str(one.key))
        assert kinds[:3] == ["LookupError", "NotImplementedError", "RuntimeError"]


class Delivery(BaseModel):
    """What becomes of an order."""

    ticket_id: str
    boxes: int


def deliver(order_id: str) -> Delivery:
    """Deliver an order, some day."""
    raise NotImplementedError(order_id)


def collect(order_id: str) -> dict:  # type: ignore[type-arg] # as people write it
    """Collect an order, some day."""
    with urlopen(f"https://orders.test/{order_id}") as response:
        found = json.loads(response.read())
    return {"order_id": order_id, "ticket_id": found["ticket"], "boxes": found["boxes"]}


@pytest.mark.parametrize(
    ("tool", "value", "added"),
    [
        (deliver, {"ticket_id": "T-1", "boxes": 3}, {}),
        (collect, {"order_id": "A", "ticket_id": "T-1", "boxes": 3}, {"note": "Left at the door"}),
    ],
)
def test_a_late_result_has_the_fields_that_are_declared_or_in_the_code(
    tool: Callable[..., Any], value: dict[str, Any], added: dict[str, Any]
) -> None:
    """What is known stands in them; the others are empty. Where no type is declared, fields can be added."""
    tools = [LongRunningFunctionTool(tool)]
    with asked_for(call(tool.__name__, order_id="A"), tools=tools) as simulation:
        first = {"ticket_id": "T-1", "status": "pending"}
        assert simulation.answer(simulation.pending[0], first, wait=PATIENCE)
        page = Deciding(simulation)
        page.choose("waiting_", f"open {simulation.session.open_calls[0].call_id}")
        assert "status" not in " ".join(page.names())
        page.type(next(one for one in page.names() if ".boxes_" in one), "3")
        more = [one for one in page.names() if ":others:add_" in one]
        assert bool(more) is bool(added)  # a declared type decides which fields there are
        for one in more:
            page.press(one)
            name, shown = [one for one in page.names() if ":others:0." in one]
            page.type(name, "note").type(shown, "Left at the door").run()
        page.press("accept_")
        reply = simulation.session.history[-2]
        assert reply.type == "user_reply"
        assert reply.response == value | added


def test_all_drafts_are_accepted_at_once() -> None:
    """Each call gets what stands in its own editor, draft or not; none is answered while one is broken."""
    with asked_for(*(call("echo", word=word) for word in "abc")) as simulation:
        drafts = [request.draft for request in simulation.pending]
        page = Deciding(simulation).type("response_", "{").press("accept_all")
        assert any("Call 1" in str(error.value) for error in page.tab.error)
        assert len(simulation.pending) == 3
        page.type("response_", '{"mine": true}').run().press("accept_all")
        assert page.problems == []
        given = [(fact.outcome, fact.provenance.source) for fact in answers(simulation)]
        assert given == [
            (Returned(value={"mine": True}), "edited"),
            (Returned(value=drafts[1]), "generated"),
            (Returned(value=drafts[2]), "generated"),
        ]


def test_reset_gives_the_draft_back() -> None:
    """Everything typed for this call is dropped at once: text, mode and state changes."""
    with asked_for(call("echo", word="x")) as simulation:
        page = Deciding(simulation)
        draft = page.text("response_")
        page.type("response_", "{").type("state_delta_", "{").run().press("reset_")
        assert (page.text("response_"), page.text("state_delta_")) == (draft, "")


def state_of(order_id: str) -> dict[str, Any]:
    """Say how an order stands.

    Returns:
        status: one of 'open', 'closed'
    """
    return {"order_id": order_id, "status": "open"}


def test_choices_of_a_docstring_are_offered_and_any_other_value_is_taken() -> None:
    """Two values are below the field, which keeps a third one that is typed, too."""
    with asked_for(call("state_of", order_id="A-1"), tools=[state_of]) as simulation:
        page = Deciding(simulation)
        assert _status(page) == ("open", ["open", "closed"])
        page.choose("form:response.status:suggested", "closed")
        assert '"closed"' in page.text("response_")
        page.type("response_", '{"order_id": "A-1", "status": "lost"}').run()
        assert _status(page) == ("lost", ["open", "closed"])
        page.press("accept_")
        assert answers(simulation)[0].outcome == Returned(value={"order_id": "A-1", "status": "lost"})


def _status(page: Deciding) -> tuple[Any, list[str]]:
    """Return what the field of the status holds, and what is offered below it."""
    (offered,) = [one for one in page.tab.button_group if ".status" in str(one.key)]
    return page.text("form:response.status_"), offered.options


def load_cart(customer_id: str, tool_context: ToolContext) -> dict[str, Any]:
    """Load a cart."""
    tool_context.state["customer"] = customer_id
    tool_context.state["cart"] = [{"sku": "A-1", "qty": 2}]
    tool_context.actions.escalate = True
    return {"items": 2}


STATE = {"customer": "C-7", "cart": [{"sku": "A-1", "qty": 2}]}
BOTH = ToolEffects(state_delta=STATE, actions={"escalate": True})


def loading(*customers: str) -> Any:
    """Open a session whose agent loads these carts at once."""
    return asked([call("load_cart", customer_id=one) for one in customers], tools=[load_cart])


@pytest.mark.long
def test_accepted_drafts_do_what_the_code_does() -> None:
    """Each is a generated response, with typed values, and the session has them; of all drafts that are accepted at once, too."""
    with loading("C-7", "C-8", "C-9") as simulation:
        Deciding(simulation).press("accept_0").press("accept_all")
        given = answers(simulation)
        assert [fact.effects.state_delta["customer"] for fact in given] == ["C-7", "C-8", "C-9"]
        assert (given[0].effects, given[0].provenance.source) == (BOTH, "generated")
        assert simulation.session.current_state["cart"] == STATE["cart"]


def test_effects_are_left_out_and_values_are_changed() -> None:
    """A value that is no JSON is an error, and nothing is sent. Other changes of the state can be added."""
    with loading("C-7") as simulation:
        page = Deciding(simulation).choose("effect_state_customer", False)
        page.choose("effect_action_escalate", False)
        page.type("effect_value_cart", "[").press("accept_")
        assert "'cart'" in page.shown()
        assert len(simulation.pending) == 1
        page.type("effect_value_cart", "[7]")
        for text in ("[1", "[1]"):
            page.type("state_delta_", text).press("accept_")
            assert ("Line 1, column 3" in page.shown()) == (text == "[1")
            assert len(simulation.pending) == 1
        page.type("state_delta_", '{"more": null}').press("accept_")
        (fact,) = answers(simulation)
        assert fact.effects == ToolEffects(state_delta={"cart": [7], "more": None})
        assert fact.provenance.source == "edited"


def test_an_error_does_nothing_besides() -> None:
    """What the code does where it succeeds stands in sight, in no fold that the browser draws closed; it is not done where the call fails."""
    with loading("C-7") as simulation:
        page = Deciding(simulation)
        assert [name for name in page.names() if name.startswith("effect_")]
        assert [fold.label for fold in page.tab.expander if fold.label.startswith("State changes")] == []
        page.choose("mode_", "Error")
        assert not [name for name in page.names() if name.startswith("effect_")]
        page.press("accept_")
        assert answers(simulation)[0].effects == ToolEffects()


def read_note(note_id: str) -> dict[str, Any]:
    """Read a note."""
    return {"note_id": note_id}


def offer(simulation: Any, label: str) -> Any:
    """Return one of the ready answers."""
    return next(one for one in first(simulation).candidates if one.label == label)


@pytest.mark.long
def test_a_chosen_answer_stands_in_the_editor_with_what_differs() -> None:
    """Each has a line with its source and a key on each of its buttons; the chosen one is in the editor, the form and a difference."""
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        edge, page = offer(simulation, "edge"), Deciding(simulation)
        shown, offered = page.shown(), first(simulation).candidates
        assert {one.label for one in offered} >= {"expected", "empty", "edge", "hostile"}
        assert all(literal(one.why) in shown for one in offered)
        keys = [button.proto.shortcut for button in page.tab.button if button.proto.shortcut]
        assert "1" in keys
        assert any("shift" in key.lower() and key.endswith("1") for key in keys)
        words = preview(offer(simulation, "hostile"), offer(simulation, "expected").value)
        assert "order_id" not in words
        assert len(words) <= 160
        page.press("choose_edge")
        assert json.loads(page.text("response_")) == edge.value
        assert page.text("form:response.total") == str(edge.value["total"])
        compared = "\n".join(code.value for code in page.tab.code if code.language == "diff")
        assert {line[:2] for line in compared.splitlines()} >= {"+ ", "- "}
        page.press("accept_")
        (fact,) = answers(simulation)
        assert fact.outcome == Returned(value=edge.value)
        assert fact.provenance.source == "generated"
        assert fact.provenance.notes == (f"Candidate: {edge.title}: {edge.why}",)


def test_what_was_typed_is_brought_back() -> None:
    """A ready answer takes its place, and one click brings it back, broken as it was; between ready answers nothing is kept aside."""
    with asked_for(call("find_order", order_id="A-1"), call("find_order", order_id="A-2")) as simulation:
        empty = offer(simulation, "empty")
        page = Deciding(simulation).press("choose_edge").press("choose_empty").press("choose_expected")
        assert not any(name.startswith("bring_back") for name in page.names())
        page.type("response_", '{"order_id": "mine", ').run().press("choose_empty")
        assert "mine" not in page.text("response_")
        page.press("choose_hostile").press("bring_back")
        assert page.text("response_") == '{"order_id": "mine", '
        assert not any(name.startswith("bring_back") for name in page.names())
        assert page.refreshed().text("response_") == '{"order_id": "mine", '
        page.press("give_empty")
        assert answers(simulation)[0].outcome == Returned(value=empty.value)
        draft = first(simulation).draft
        assert page.press("choose_edge").press("choose_expected").press("accept_").problems == []
        assert answers(simulation)[1].outcome == Returned(value=draft)
        given = [entry for entry in simulation.session.history if isinstance(entry, ToolOutput)]
        words = [badge.text for entry in given for badge in step_badges(entry)]
        assert words == [f"candidate accepted: {empty.title}", "draft accepted"]


def test_a_candidate_of_another_kind_says_so_and_leads_back() -> None:
    """The kind changes in sight, and back again with the response as it was typed, by a click or by the control; then nothing is left to say."""
    mine = '{"word": "mine"}'
    with asked_for(call("echo", word="x")) as simulation:
        page = Deciding(simulation).type("response_", mine).run().press("choose_error")
        assert page.text("mode_") == "Error"
        assert page.press("switch_back").text("mode_") == "Response"
        assert page.text("response_") == mine
        left = ("switch_back", "bring_back")
        assert not [name for name in page.names() if name.startswith(left)]
        page.press("choose_error").choose("mode_", "Response")
        assert page.text("response_") == mine
        assert not [name for name in page.names() if name.startswith(left)]
        page.press("choose_error").type("error_message_", "Gone").press("choose_empty")
        assert page.text("mode_") == "Response"
        page.press("switch_back")
        assert (page.text("mode_"), page.text("error_message_")) == ("Error", "Gone")


@pytest.mark.parametrize(
    "line",
    [
        {"returns": {"word": "x", "times": 1}, "state_delta": {"seen": "x"}},
        {"returns": {"word": "golden"}, "state_delta": {"seen": "x"}, "actions": {"escalate": True}},
        {"returns": {"word": "golden", "times": 0}, "blanks": ("$.times",), "uncertain": ("$.word",)},
        {"fails": {"error_code": "E-1", "error_message": "busy", "details": {"wait": 3}}},
        {"raises": "KeyError: gone"},
        {"tool": "ship", "later": True, "args": {"order_id": "A-1"}},
    ],
)
def test_what_the_golden_responds_is_given_with_all_that_it_does(line: dict[str, Any]) -> None:
    """With one click, and as if its script had played on; also put into the inputs first. Of a tool that it does not call there is nothing."""
    move: dict[str, Any] = {"tool": "echo", "args": {"word": "x"}, **line}
    golden = Script.model_validate({"turns": [{"say": "go", "moves": [move, move]}]})
    wanted = golden.turns[0].moves[0]
    assert isinstance(wanted, ToolMove)
    answer = wanted.answer()
    assert answer is not None
    for clicks in (["golden_use"], ["golden_edit", "accept_0"]):
        with asked_for(call(move["tool"], **move["args"])) as simulation:
            page = Deciding(simulation, golden=golden)
            for each in clicks:
                page.press(each)
            (fact,) = answers(simulation)
            assert (fact.outcome, fact.provenance.by) == (answer.outcome, "script")
            assert fact.effects == ToolEffects(state_delta=answer.state_delta, actions=answer.actions)
            assert fact.provenance.blanks == answer.blanks
            assert fact.provenance.uncertain == answer.uncertain
            assert page.problems == []
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        page = Deciding(simulation, golden=golden)
        assert ANOTHER_WAY in page.shown()
        assert not [name for name in page.names() if "golden" in name]


@pytest.mark.parametrize(
    ("customer", "items", "clicks", "given", "said"),
    [
        ("C-9", 2, [], BOTH, "From the tool's code"),
        ("C-9", 2, ["golden_edit"], BOTH, "From the tool's code"),
        ("C-9", 3, ["golden_edit"], "golden", "From the golden: recorded for other arguments"),
        ("C-7", 2, [], BOTH, "From the tool's code"),
        ("C-7", 2, ["golden_edit"], "golden", "From the golden."),
        ("C-7", 2, ["golden_edit", "reset_"], BOTH, "From the tool's code"),
    ],
)
def test_what_the_code_does_now_is_proposed_and_not_what_it_did_for_the_golden(
    customer: str, items: int, clicks: list[str], given: Any, said: str
) -> None:
    """The golden stored no cart. What it did is proposed where its response is chosen for its own call, or where no code gives it, and is said to be its own."""
    move = {"tool": "load_cart", "args": {"customer_id": customer}, "returns": {"items": items}}
    done = {"customer": customer}
    golden = Script.model_validate({"turns": [{"say": "go", "moves": [{**move, "state_delta": done}]}]})
    with loading("C-7") as simulation:
        page = Deciding(simulation, golden=golden)
        for each in clicks:
            page.press(each)
        assert said in page.shown()
        page.press("accept_")
        wanted = ToolEffects(state_delta=done) if given == "golden" else given
        assert answers(simulation)[0].effects == wanted
        assert (answers(simulation)[0].provenance.by == "script") == (given == "golden" and customer == "C-7")


FAILS = {"fails": {"error_code": 504, "error_message": "late"}}


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        ([("y", {"returns": "mine"}), ("big claim 2", FAILS)], "Recorded for other arguments:"),
        ([("y", FAILS), ("big claim 2", {"returns": 1})], "An error, recorded for other arguments:"),
        ([None, ("big claim", {"returns": {"error": "late"}})], "An error, recorded in another turn:"),
        ([("y", {"returns": 1}), ("big claim", {"returns": "mine"})], "Recorded in another turn:"),
    ],
)
def test_a_call_with_other_arguments_is_offered_the_goldens_call_of_this_turn(moves: Any, said: str) -> None:
    """Another turn's is nearer only where its arguments are equal; what is an error says so above its buttons."""
    rounds = [[{"tool": "echo", "args": {"word": each[0]}, **each[1]}] if each else [] for each in moves]
    golden = Script.model_validate({"turns": [{"say": "go", "moves": lines} for lines in rounds]})
    with asked_for(call("echo", word="big claim")) as simulation:
        page = Deciding(simulation, golden=golden)
        assert said in [each.value for each in page.tab.caption]
        page.press("golden_use")
        assert said.startswith("An error") or answers(simulation)[0].outcome == Returned(value="mine")


@pytest.mark.parametrize("named", ["say_again", "find_order"])
def test_the_response_of_a_tool_that_is_gone_is_offered_for_the_call_in_its_place(named: str) -> None:
    """It says of which tool it is; where the agent still has that one, nothing of it is offered."""
    moves = [
        {"calls": [{"name": named, "args": {"word": "x"}}]},
        {"tool": named, "args": {"word": "x"}, "returns": {"word": "golden"}},
    ]
    golden = Script.model_validate({"turns": [{"say": "go", "moves": moves}]})
    with asked_for(call("echo", word="x")) as simulation:
        page = Deciding(simulation, golden=golden)
        assert ("recorded for say_again" in page.shown()) == (named == "say_again")
        assert ("golden_use" in str(page.names())) == (named == "say_again")
        if named == "say_again":
            page.press("golden_use")
            assert answers(simulation)[0].outcome == Returned(value={"word": "golden"})


@pytest.mark.long
def test_an_error_of_a_tool_without_a_schema_keeps_its_shape() -> None:
    """The message is changed, the rest of the tool's own error stays."""
    with asked_for(call("read_note", note_id="N-1"), tools=[read_note]) as simulation:
        made = offer(simulation, "error")
        page = (
            Deciding(simulation)
            .press("choose_error")
            .type("error_message_", "Gone for good")
            .press("accept_")
        )
        outcome = answers(simulation)[0].outcome
        seen = outcome.response() if isinstance(outcome, Failed) else getattr(outcome, "value", {})
        assert "Gone for good" in seen.values()
        assert seen.keys() == made.value.keys()
        assert page.problems == []


def rate(order_id: str) -> dict[str, Any]:
    """Rate an order."""
    known = json.loads(Path(order_id).read_text())
    if known == 1:
        return {"rate": "low"}
    if known == 2:
        return {"rate": "high"}
    return {"rate": "none"}


def test_several_outcomes_of_the_code_have_numbers() -> None:
    """No two chips read alike."""
    with asked_for(call("rate", order_id="A-1"), tools=[rate]) as simulation:
        chips = [
            each.label for each in Deciding(simulation).tab.button if str(each.key).startswith("choose_")
        ]
        assert chips[:3] == ["Expected", "Outcome 1", "Outcome 2"]


def test_hostile_words_stay_words() -> None:
    """A name and an argument with Markdown and HTML come alive in no ready answer and no difference."""

    def hostile(**_: Any) -> dict[str, Any]:
        return {}

    hostile.__doc__ = hostile.__name__ = HOSTILE
    with asked([call(HOSTILE, **{HOSTILE: HOSTILE})], tools=[hostile]) as simulation:
        page = Deciding(simulation)
        for one in first(simulation).candidates:
            page.press(f"choose_{one.label}")
            marked = [*page.tab.markdown, *page.tab.caption, *page.tab.error]
            assert "http://evil" not in " ".join(str(each.value) for each in marked)
