"""The decision pane while an agent's turn, its code, or an open call waits; and the arguments of a call that are found in what the agent has seen."""

from __future__ import annotations

import base64
from typing import Any, Literal

import pytest
from google.adk.agents import LlmAgent
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.events.event import Event
from google.adk.flows.llm_flows.contents import _present_other_agent_message
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import BaseModel

from app.decision.call_arguments import CallArguments
from app.decision.call_prefills import DEFAULT, EARLIER_MESSAGE, MESSAGE, Prefill, prefills, quotes
from app.decision.golden_candidate import ANOTHER_WAY
from app.decision.queue_panel import waiting
from app.forms.field_group_widgets import NullableField, ObjectField
from app.forms.form_tree import parse_schema
from simulator.facts import CodeAnswered, ModelAnswered
from simulator.scripts import Script
from simulator.scripts.script import AgentMove
from simulator.seats.requests import ToolDeclaration
from simulator.session import SessionState
from simulator.session.history import file_part, message_of
from tests.app.decision.deciding import Deciding, answers, facts, model_parts
from tests.app.page_driver import HOSTILE
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, say, scripted

QUERY = "Book me a room"


class Line(BaseModel):
    """A line of an order."""

    sku: str
    quantity: int = 1


def book(  # noqa: PLR0917 - one parameter for each kind of field
    guest: str,
    nights: int,
    price: float,
    breakfast: bool,
    room: Literal["single", "double"],
    lines: list[Line],
    note: str | None = None,
) -> dict[str, Any]:
    """Book a room."""
    return {"booked": guest}


def rest() -> dict[str, Any]:
    """Rest."""
    return {}


def played(*turns: Any, agents: str = "person", **more: Any) -> Any:
    """Open a session in which a person plays the agent, and ask it."""
    more.setdefault("tools", [book, rest])
    agent = more.pop("agent", None) or agent_of(*turns, **more)
    simulation = opened(agent, agents=agents)
    simulation.query(QUERY, wait=PATIENCE)
    return simulation


def last_parts(simulation: Any) -> Any:
    """Return what the agent said or called last."""
    return model_parts(simulation)[-1]


def test_a_person_says_something_as_the_agent() -> None:
    """A text ends the turn, as it would from the model; an empty one is refused."""
    with played() as simulation:
        page = Deciding(simulation).choose("kind_", "Reply").press("accept_")
        assert page.foot()
        assert model_parts(simulation) == []
        page.type("say_", "It is booked.").press("accept_")
        assert simulation.session.state is SessionState.COMPLETED
        assert last_parts(simulation) == [{"text": "It is booked."}]


def test_a_person_calls_a_tool_through_a_form_made_from_its_declaration() -> None:
    """String, integer, number, boolean, enum, array of objects and an optional one come out as JSON; not before all are there."""
    with played() as simulation:
        page = Deciding(simulation).choose("kind_", "Call tools").press("chip_book")
        form = "form0:json:args1_book"
        page.press(f"{form}.lines:add").press("accept_")
        assert model_parts(simulation) == []
        assert "Fix nights, price, room" in page.foot()
        page.press(f"{form}.lines:0:remove")
        (more,) = [one for one in page.tab.button if str(one.key).startswith(f"{form}.lines:add")]
        assert more.label == "Add row"
        page.type(f"{form}.guest", "Ada").type(f"{form}.nights", "3").type(f"{form}.price", "99.5")
        page.type(f"{form}.breakfast_", True).choose(f"{form}.room", 1).press(f"{form}.lines:add")
        page.type(f"{form}.lines:1.sku", "S-1").run().press("accept_")
        args = {
            "guest": "Ada",
            "nights": 3,
            "price": 99.5,
            "breakfast": True,
            "room": "double",
            "lines": [{"sku": "S-1"}],
        }
        assert last_parts(simulation)[0]["function_call"]["args"] == args
        assert simulation.pending[0].arguments == args


def find_order(order_id: str, why: str) -> dict[str, Any]:
    """Find an order.

    Args:
        order_id: Its id, for instance "A-1001".
        why: The reason.
    """
    return {"order_id": order_id}


def pay(order_id: str, amount: float, note: str | None) -> dict[str, Any]:
    """Pay for an order."""
    return {"order_id": order_id}


def charge(order_id):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - of which nobody says what it takes
    """Pay for an order."""


def test_a_value_that_was_typed_is_not_marked_as_missing_whatever_it_is() -> None:
    """Also a number that cannot be read, which is said beside it, and nothing at all where that was chosen."""
    with opened(agent_of(tools=[pay, rest]), agents="person") as simulation:
        simulation.query("Pay for B-7.", wait=PATIENCE)
        page = Deciding(simulation).choose("kind_", "Call tools").press("chip_pay")
        form = "form0:json:args1_pay"
        missing, none = _marks(page)
        assert missing == none
        page.type(f"{form}.amount", "300,00").type(f"{form}.note:null", True).run()
        assert not {missing} & set(_marks(page))
        page.type(f"{form}.amount", "").run()
        assert _marks(page)[0] == missing


def test_a_turn_opens_on_what_is_next() -> None:
    """A call after the user has spoken, and after a response what was sent there last; the golden's step where there is one."""
    with played() as simulation:
        page = Deciding(simulation)
        for choose in (False, True, False):
            if choose:
                page.choose("kind_", "Call tools")
            page.press("chip_rest").press("accept_").press("accept_")
        page.choose("kind_", "Reply").type("say_", "Done.").press("accept_")
        assert simulation.session.state is SessionState.COMPLETED
        simulation.query("Rest.", wait=PATIENCE)
        page.run().press("chip_rest").press("accept_").press("accept_").type("say_", "Done.").press("accept_")
        assert simulation.session.state is SessionState.COMPLETED
    with played() as simulation:
        Deciding(simulation, golden=golden(({"say": QUERY}, {"text": "Hm."}))).type("say_", "Hm.")


class Guest(BaseModel):
    """Who travels."""

    name: str
    note: str = ""


def travel(trip: str, guest: Guest) -> dict[str, Any]:
    """Book a trip."""
    return {"trip": trip}


def test_a_required_text_inside_of_an_argument_is_not_sent_empty_without_a_word() -> None:
    """It is marked where it is typed, without a move when it is; once the call and the place are named."""
    with opened(agent_of(tools=[travel, rest]), agents="person") as simulation:
        simulation.query("Book it.", wait=PATIENCE)
        page = Deciding(simulation).choose("kind_", "Call tools").press("chip_travel")
        form = "form0:json:args1_travel"
        page.type(f"{form}.trip", "T-1").run()
        _, whole, name = _marks(page, 3)
        assert whole == name
        page.press("accept_")
        assert (
            "Call 1: the tool 'travel' does not accept these arguments: guest \u203a name: is empty"
            in page.shown()
        )
        before = page.places()
        page.type(f"{form}.guest.name", "Ada").run()
        own, *others = _marks(page, 3)
        assert others == [own, own]
        assert page.places() == before
        page.press("accept_")
        assert last_parts(simulation)[0]["function_call"]["args"]["guest"]["name"] == "Ada"


def test_a_value_that_was_found_says_where_it_comes_from_and_one_that_was_not_is_marked() -> None:
    """The marks follow what is typed, and nothing changes its place for it."""
    with opened(agent_of(tools=[find_order, rest]), agents="person") as simulation:
        simulation.query("Where is B-7?", wait=PATIENCE)
        page = Deciding(simulation).choose("kind_", "Call tools").press("chip_find_order")
        form = "form0:json:args1_find_order"
        assert page.text(f"{form}.order_id") == "B-7"
        found, missing = _marks(page)
        assert MESSAGE in found
        assert MESSAGE not in missing
        before = page.places()
        page.type(f"{form}.order_id", "B-8").type(f"{form}.why", "asked").run()
        own, same = _marks(page)
        assert own == same
        assert own not in {found, missing}
        assert page.places() == before
        page.press("accept_")
        assert last_parts(simulation)[0]["function_call"]["args"] == {"order_id": "B-8", "why": "asked"}
    for tool in (pay, charge):
        with opened(agent_of(tools=[tool, rest]), agents="person") as simulation:
            simulation.query("Where is GRV-500-56?", wait=PATIENCE)
            name = tool.__name__
            page = Deciding(simulation).choose("kind_", "Call tools").press(f"chip_{name}")
            (offered,) = [each for each in page.tab.button_group if "order_id:suggested" in str(each.key)]
            field = str(offered.key).partition("suggested")[0].removesuffix(":") + "_"
            assert (page.text(field), [*offered.options]) == ("", ["GRV-500-56"])
            page.choose(str(offered.key), "GRV-500-56")
            assert page.text(field) == "GRV-500-56"


class Visitor(BaseModel):
    """Who comes."""

    email: str


def host(day: str, visitor: Visitor) -> dict[str, Any]:
    """Expect somebody.

    Args:
        day: When, as 2026-01-02.
        visitor: Who.
    """
    return {"day": day}


def test_a_date_and_an_address_inside_of_an_argument_are_filled_in() -> None:
    """They are sent as they stand in the message."""
    with opened(agent_of(tools=[host, rest]), agents="person") as simulation:
        simulation.query("Ada comes on 2026-05-03, write to ada@example.org.", wait=PATIENCE)
        page = Deciding(simulation).choose("kind_", "Call tools").press("chip_host")
        assert all(MESSAGE in mark for mark in _marks(page, 3))
        page.press("accept_")
        expected = {"day": "2026-05-03", "visitor": {"email": "ada@example.org"}}
        assert last_parts(simulation)[0]["function_call"]["args"] == expected


def _marks(page: Deciding, count: int = 2) -> list[str]:
    """Return the badges at the arguments: what is said of where values come from."""
    return [str(each.value) for each in page.tab.markdown if "-badge[" in str(each.value)][-count:]


def test_a_person_makes_several_calls_at_once_with_words_before() -> None:
    """All calls of the turn wait together; a call that was removed is not made."""
    with played() as simulation:
        page = Deciding(simulation).choose("kind_", "Call tools").press("chip_rest").press("add_call")
        page.choose("tool2_", "rest").press("chip_rest").press("remove3_").type("before_", "One moment.")
        page.press("accept_")
        said, *calls = last_parts(simulation)
        assert said == {"text": "One moment."}
        assert [part["function_call"]["name"] for part in calls] == ["rest", "rest"]
        assert len(simulation.pending) == 2


def test_a_call_and_any_parts_can_be_written_as_json() -> None:
    """JSON is the way out of any form, and what the form held is carried to it; anything but a list of parts is refused.

    A call that does not fit its tool is named first, as often as it is changed, and sent when it is sent again: a model may call so, too.
    """
    with played() as simulation:
        page = Deciding(simulation).choose("kind_", "Call tools").press("chip_book")
        page.type("form0:json:args1_book.guest", "Ada").type("form0:json:args1_book.price", "1.250,50")
        page.type("args1_book:as", True).press("accept_").press("accept_")
        assert '"Ada"' in page.text("json:args1_book")
        assert model_parts(simulation) == []  # the price would be left out
        for guest in (4, 5):
            page.type("json:args1_book", f'{{"guest": {guest}}}').press("accept_")
            assert model_parts(simulation) == []
            assert "these arguments: guest: " in page.shown()
        page.press("accept_")
        assert last_parts(simulation)[0]["function_call"]["args"] == {"guest": 5}
        page.press("accept_").choose("kind_", "JSON").type("response_parts", "{}").press("accept_")
        assert page.tab.error
        page.type("response_parts", '[{"function_call": {"name": "nosuch", "args": {}}}]').press("accept_")
        assert "no tool 'nosuch'" in page.shown()
        assert len(model_parts(simulation)) == 1
        page.type("response_parts", '[{"text": "hm", "thought": true}, {"text": "Yes."}]').press("accept_")
        assert last_parts(simulation)[0]["thought"] is True


def test_a_person_hands_over_to_another_agent() -> None:
    """The targets are those that the framework offers to the model."""
    other = LlmAgent(name="other", description="Another.", model=scripted([say("hello")]))
    with played(agent=agent_of(sub_agents=[other])) as simulation:
        page = Deciding(simulation).choose("kind_", "Transfer").choose("target_", "other").press("accept_")
        assert simulation.pending[0].agent == "other"
        quoted = quotes(simulation.pending[0].contents[-1]["parts"])
        assert quoted is not None
        assert ["[clerk]" in who for who, _ in quoted] == [True]
        assert [words for _, words in quoted] == ["{'result': None}"]
        assert "QUOTED" not in "".join(text.value for text in page.tab.text[:1])
        assert "QUOTED" in page.shown()
        page.type("say_", "I am the other.").press("accept_")
        assert simulation.session.history[-1].agent == "other"


class Verdict(BaseModel):
    """What the judge says."""

    fits: bool
    reason: str


def test_a_final_answer_is_a_form_where_there_is_an_output_schema() -> None:
    """Without tools the form's value is the text of the turn; with tools ADK gives the agent one to answer with, for which the form stands."""
    for tools in ([], [rest]):
        with played(tools=tools, output_schema=Verdict) as simulation:
            page = Deciding(simulation)
            if tools:
                page.choose("kind_", "Final")
            page.type("form0:json:final.fits", True).type("form0:json:final.reason", "well made").press(
                "accept_"
            )
            assert simulation.session.history[-1].content == '{"fits": true, "reason": "well made"}'
            called = last_parts(simulation)[0].get("function_call", {})
            assert called.get("name") == ("set_model_response" if tools else None)


def golden(*turns: Any) -> Script:
    """Return the script of a case with these turns, each what the user says and what then happens."""
    return Script.model_validate({"turns": [{**said, "moves": moves} for said, *moves in turns]})


VERDICT = {"fits": True, "reason": "well made"}
FULL = {
    "guest": "Ada", "nights": 3, "price": 99.5, "breakfast": True, "room": "double", "lines": [{"sku": "S-1", "quantity": 2}],
}  # fmt: skip


@pytest.mark.parametrize(
    "move",
    [
        {"text": "It is booked."},
        {"text": "First.", "calls": [{"name": "rest"}, {"name": "book", "args": FULL}]},
        {"transfer": "other"},
        {"parts": [{"text": "Hm.", "thought": True}, {"text": "Booked."}]},
        {"calls": [{"name": "set_model_response", "args": VERDICT}]},
    ],
)
def test_the_turn_of_the_golden_is_used_or_edited(move: dict[str, Any]) -> None:
    """One click sends it; in the inputs it has its kind, and is sent as it was there."""
    wanted = [dict(part) for part in AgentMove.model_validate(move).answer().parts]
    for clicks in (["golden_use"], ["golden_edit", "accept_"]):
        agent = agent_of(
            tools=[book, rest],
            **({"output_schema": Verdict} if "calls" in move and "text" not in move else {}),
        )
        if "transfer" in move:
            agent = agent_of(tools=[rest], sub_agents=[LlmAgent(name="other", model=scripted())])
        with played(agent=agent) as simulation:
            page = Deciding(simulation, golden=golden(({"say": QUERY}, {"agent": "clerk", **move})))
            for each in clicks:
                page.press(each)
            given = [
                {**part, **({"function_call": _own_call(part)} if "function_call" in part else {})}
                for part in last_parts(simulation)
            ]
            assert given == wanted
            (fact,) = facts(simulation, ModelAnswered)[:1]
            assert fact.provenance.source == "written"


def _own_call(part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part["function_call"].items() if name != "id"}


def test_a_turn_that_left_the_golden_is_only_edited() -> None:
    """The page says that it went another way; its own next step can still be put into the inputs. Another agent has none."""
    book_it = {"calls": [{"name": "book", "args": FULL}]}
    with played() as simulation:
        page = Deciding(simulation, golden=golden(({"say": QUERY}, book_it, {"text": "Booked."})))
        page.choose("kind_", "Call tools").press("chip_rest").press("accept_").press("accept_0")
        assert ANOTHER_WAY in page.shown()
        assert not [name for name in page.names() if name.startswith("golden_use")]
        page.press("golden_edit").press("accept_")
        assert _own_call(last_parts(simulation)[0])["args"] == FULL
        page.press("accept_0").press("golden_use")
        assert last_parts(simulation) == [{"text": "Booked."}]
    with played() as simulation:
        page = Deciding(
            simulation, golden=golden(({"say": QUERY}, book_it, {"agent": "other", "text": "Hm."}))
        )
        assert "does not tell which agent" in page.shown()
        assert not [name for name in page.names() if name.startswith("golden_")]


def test_another_tool_takes_the_arguments_of_the_goldens_call() -> None:
    """Those of the same name and type, such as where a tool was renamed since; others are asked for."""
    given = {"guest": "Ada", "nights": "three", "lines": [{"sku": "S-1", "quantity": 2}], "old": 1}
    with played() as simulation:
        page = Deciding(
            simulation, golden=golden(({"say": QUERY}, {"calls": [{"name": "reserve", "args": given}]}))
        )
        page.press("golden_edit").choose("tool1_", "book").press("accept_")
        assert model_parts(simulation) == []
        assert "Fix nights, price, room" in page.foot()
        form = "form0:json:args1_book"
        page.type(f"{form}.nights", "3").type(f"{form}.price", "99.5").choose(f"{form}.room", 1).press(
            "accept_"
        )
        sent = _own_call(last_parts(simulation)[0])
        assert sent["name"] == "book"
        assert (sent["args"]["guest"], sent["args"]["lines"]) == (given["guest"], given["lines"])
        assert "old" not in sent["args"]


def test_a_person_sees_what_the_model_would_see() -> None:
    """The instruction, the conversation and each declaration, word by word; and the model may take this one turn."""
    agent = agent_of([call("rest")], tools=[book, rest], instruction=f"Be kind. {HOSTILE}")
    with played(agent=agent) as simulation:
        page = Deciding(simulation).choose("view_", "Model sees")
        request, shown = simulation.pending[0], page.shown()
        assert request.system_instruction in shown
        assert QUERY in shown
        assert book.__doc__
        assert book.__doc__ in shown
        assert '"nights"' in shown
        Deciding(simulation).press("own_model").press("accept_")
        assert [fact.provenance.source for fact in facts(simulation, ModelAnswered)] == ["model"]
        assert simulation.pending[0].kind == "model"


def test_a_person_in_the_agents_seat_sees_the_picture_of_a_message() -> None:
    """It is shown as such where the turn is made and in what the model sees, and any file can be downloaded."""
    with opened(agent_of(tools=[rest]), agents="person") as simulation:
        files = [file_part("plan.png", "image/png", b"pixels"), file_part("notes.bin", "", b"bytes")]
        simulation.query(message_of("Look at this.", files), wait=PATIENCE)
        for page in (Deciding(simulation), Deciding(simulation).choose("view_", "Model sees")):
            (picture,) = page.tab.get("image")
            assert base64.b64encode(b"pixels").decode() in picture.proto.imgs[0].url
            assert len(page.tab.get("download_button")) == len(files)
            assert "plan.png" in page.shown()


def test_a_held_turn_is_accepted_edited_or_rejected() -> None:
    """One click lets the proposal through; its calls stand in forms to be changed; of one that is rejected nothing reaches the agent."""
    edited = [say("Wait."), call("book", guest="Ada", nights=1), call("rest")]
    with played([call("rest")], edited, [call("rest")], agents="held") as simulation:
        page = Deciding(simulation).press("accept_proposal")
        assert simulation.pending[0].tool_name == "rest"
        page.press("accept_").press("edit_")
        page.type("form0:json:args1_book.nights", "9").run().press("accept_").press("accept_")
        said, booking, resting = last_parts(simulation)
        assert said == {"text": "Wait."}
        assert booking["function_call"]["args"] == {"guest": "Ada", "nights": 9}
        assert resting["function_call"]["name"] == "rest"
        page.press("accept_all").press("write_").press("back_").press("write_")
        page.choose("kind_", "Reply").type("say_", "No.").press("accept_")
        assert last_parts(simulation) == [{"text": "No."}]
        sources = [turn.provenance.source for turn in facts(simulation, ModelAnswered)]
        assert sources == ["generated", "edited", "written"]


def test_a_failed_model_is_shown_and_replaced() -> None:
    """What it raised is shown as it is; the person makes the turn, or asks it again."""
    with played(RuntimeError(HOSTILE), agents="held") as simulation:
        page = Deciding(simulation)
        assert HOSTILE in page.shown()
        page.press("own_model")
        assert simulation.pending[0].proposal is not None
        page.press("accept_proposal")
        assert simulation.session.state is SessionState.COMPLETED


def _coder() -> Any:
    code = types.Part(executable_code=types.ExecutableCode(code="print(6 * 7)", language="PYTHON"))
    return agent_of([code], [code], [say("done")], code_executor=UnsafeLocalCodeExecutor())


def test_a_person_says_what_code_prints_or_lets_it_run() -> None:
    """The code is shown, and runs only behind a second click."""
    with played(agent=_coder(), agents="model") as simulation:
        page = Deciding(simulation)
        assert "print(6 * 7)" in page.shown()
        assert [each.language for each in page.tab.code] == ["python"]
        page.type("response_stdout", "43").type("response_stderr", "odd").press("accept_")
        page.press("real_")
        said, ran = facts(simulation, CodeAnswered)
        assert said.result is not None
        assert (said.result["stdout"], said.result["stderr"]) == ("43", "odd")
        assert ran.provenance.source == "real"


WIPED: list[str] = []


def wipe(what: str, tool_context: ToolContext) -> dict[str, Any]:
    """Wipe something, once somebody has said how often."""
    WIPED.append(what)
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint=HOSTILE, payload={"times": 1})
        return {"status": "asked"}
    return {"status": "wiped", "payload": tool_context.tool_confirmation.payload}


def plain_wipe(what: str) -> dict[str, Any]:
    """Wipe something."""
    return {"wiped": what}


def _confirmed(tool: Any, tool_name: str) -> Any:
    return played([call(tool_name, what="disk")], agents="model", tools=[tool])


def test_a_confirmation_is_given_or_refused() -> None:
    """The call that it is about is shown; after a yes it waits for its answer as any other, after a no it is not called.

    Meanwhile it does not lock the session: something else can be asked.
    """
    plain = FunctionTool(plain_wipe, require_confirmation=True)
    for button, left in (("confirm_", ["plain_wipe"]), ("reject_", [])):
        with _confirmed(plain, "plain_wipe") as simulation:
            page = Deciding(simulation)
            assert '{"what": "disk"}' in page.shown()
            first, *others = [text.value for text in page.tab.text]
            assert ("ToolConfirmation" in first, "ToolConfirmation" in str(others)) == (False, True)
            page.press(button)
            assert [request.tool_name for request in simulation.pending] == left
            assert (simulation.session.state is SessionState.COMPLETED) == (not left)
    with _confirmed(plain, "plain_wipe") as simulation:
        page = Deciding(simulation).choose("waiting_", "query 1").type("again_text", "Never mind.")
        page.press("accept_")
        queries = [entry.content for entry in simulation.session.history if entry.type == "user_query"]
        assert queries == [QUERY, "Never mind."]


def test_what_a_turn_leaves_open_is_shown_though_the_turn_before_ended_with_a_message() -> None:
    """Who sent another message in place of an answer sees the new confirmation first."""
    plain = FunctionTool(plain_wipe, require_confirmation=True)
    turns = ([call("plain_wipe", what="disk")], [say("Well.")], [call("plain_wipe", what="tape")])
    with played(*turns, agents="model", tools=[plain]) as simulation:
        page = Deciding(simulation).choose("waiting_", "query 1").type("again_text", "Wait.").press("accept_")
        page.choose("waiting_", "query 2").type("again_text", "Now.").press("accept_")
        assert [entry.key for entry in waiting(simulation.view())][-1] == "query 3"
        assert page.text("waiting_") != "query 3"
        assert "Allow this tool to run?" in page.shown()


def test_the_reply_of_the_golden_is_used() -> None:
    """A confirmation or a rejection, and a message in its place; where the golden has none, the page says so."""
    plain = FunctionTool(plain_wipe, require_confirmation=True)
    case = golden(({"say": QUERY},), ({"confirm": True, "tool": "plain_wipe"},), ({"say": "Never mind."},))
    with _confirmed(plain, "plain_wipe") as simulation:
        page = Deciding(simulation, golden=golden(({"say": QUERY},)))
        assert ANOTHER_WAY in page.shown()
        Deciding(simulation, golden=case).press("golden_use")
        assert [request.tool_name for request in simulation.pending] == ["plain_wipe"]
    with _confirmed(plain, "plain_wipe") as simulation:
        page = Deciding(simulation, golden=case).choose("waiting_", "query 1").press("golden_edit")
        assert page.text("again_text") == "Never mind."
        page.press("golden_use")
        queries = [entry.content for entry in simulation.session.history if entry.type == "user_query"]
        assert queries == [QUERY, "Never mind."]


def test_a_confirmation_with_a_payload_asks_for_it() -> None:
    """What the tool wants to know is JSON to fill in; a mistake in it is an error and nothing is sent."""
    WIPED.clear()
    with _confirmed(wipe, "wipe") as simulation:
        page = Deciding(simulation)
        assert WIPED == []
        page.press("real_")
        assert WIPED == ["disk"]
        assert HOSTILE in page.shown()
        page.choose("response_payload_as_json_", True).type("response_payload_", "{").press("confirm_")
        assert "line 1, column 2" in page.shown()
        assert len(answers(simulation)) == 1
        page.type("response_payload_", '{"times": 2}').press("confirm_").press("real_")
        assert answers(simulation)[-1].outcome.model_dump()["value"] == {
            "status": "wiped",
            "payload": {"times": 2},
        }


TOOL = ToolDeclaration(
    name="refund",
    description="""Refund an order.

    Args:
        order_id: The order's id, for instance "A-1001".
        size: one of 'small', 'large'
        amount: How much.
        currency: For example 'EUR'.
        days: How many, defaults to 5.
    """,
    parameters={
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "size": {"type": "string"},
            "amount": {"type": "number"},
            "currency": {"type": "string"},
            "days": {"type": "integer"},
        },
        "required": ["order_id", "size", "amount", "currency", "days"],
    },
)


def user(text: str) -> dict[str, Any]:
    """Return what the user said."""
    return {"role": "user", "parts": [{"text": text}]}


def responded(name: str, **response: Any) -> dict[str, Any]:
    """Return a tool's response."""
    return {"role": "user", "parts": [{"function_response": {"name": name, "response": response}}]}


def called(name: str, **args: Any) -> dict[str, Any]:
    """Return a call of the agent."""
    return {"role": "model", "parts": [{"function_call": {"name": name, "args": args}}]}


def found(*contents: dict[str, Any]) -> dict[str, Prefill]:
    """Return what is found after this conversation."""
    return prefills(TOOL, contents).found


def test_an_id_and_a_choice_come_from_the_message_and_the_rest_from_the_docstring() -> None:
    """A number without a name is no evidence for an amount, which stays empty."""
    assert found(user("Refund 12 for B-77, the LARGE one.")) == {
        "order_id": Prefill(value="B-77", source=MESSAGE),
        "size": Prefill(value="large", source=MESSAGE),
        "days": Prefill(value=5, source=DEFAULT),
    }


def test_an_example_is_offered_and_fills_nothing_in() -> None:
    """It is seldom what is right here."""
    assert prefills(TOOL, [user("Refund mine.")]).several["currency"] == ("EUR",)


def test_values_of_earlier_steps_have_the_parameters_own_name_and_type() -> None:
    """The newest response wins over an older call; what has another type or another name is none."""
    steps = (
        user("Refund my order."),
        called("find", order_id="A-1", amount=3),
        responded("find", order={"order_id": "A-2", "amount": "much", "total": 9}),
    )
    prefilled = found(*steps)
    assert (prefilled["order_id"].value, prefilled["amount"].value) == ("A-2", 3)
    assert all("find" in prefilled[name].source for name in ("order_id", "amount"))
    assert prefilled["order_id"].source != prefilled["amount"].source
    # An id in the message looks alike, and is a member's; the response came later.
    assert found(user("Refund it for M-7."), responded("find", order_id="A-2"))["order_id"].value == "A-2"
    assert found(responded("find", order_id="A-2"), user("Refund B-7."))["order_id"].value == "B-7"


def test_another_call_of_the_same_tool_is_for_something_else() -> None:
    """Its own earlier arguments are no evidence for the next ones."""
    assert "amount" not in found(user("Refund."), called("refund", amount=3))


@pytest.mark.parametrize(
    "contents",
    [
        (user("Refund A-1 and A-2."),),
        (user("Refund mine."), responded("list", orders=[{"order_id": "A-1"}, {"order_id": "A-2"}])),
    ],
)
def test_several_values_are_offered_and_none_is_chosen(contents: tuple[dict[str, Any], ...]) -> None:
    """Two ids in a message, or in one response, are no evidence for either."""
    both = prefills(TOOL, contents)
    assert "order_id" not in both.found
    assert both.several["order_id"] == ("A-1", "A-2")


@pytest.mark.parametrize(
    ("message", "offered"),
    [
        ("Hi, GRV-500-56 is mine: 5kg were stolen, see bob1@example.org.", ("GRV-500-56",)),
        ("My claim CL-100 of GRV-500-56, please.", ("CL-100", "GRV-500-56")),
        ("It is 500 for 12 days.", None),
    ],
)
def test_an_id_of_unknown_shape_is_suggested_and_not_filled_in(
    message: str, offered: tuple[str, ...] | None
) -> None:
    """Only for an argument that names an id, and the form offers it and says where it comes from. An older message suggests none."""
    text = {"type": "string"}
    properties = {"policy_number": text, "note": text, "other_id": {"anyOf": [text, {"type": "null"}]}}
    tool = ToolDeclaration(name="look", parameters={"type": "object", "properties": properties})
    made = prefills(tool, [user("X-1"), user(message)])
    assert (made.found, made.several.get("policy_number")) == ({}, offered)
    assert "note" not in made.several
    form = CallArguments(tool, made)
    assert ("Suggested" in form.marks({}, ())["policy_number",].text) == (offered is not None)
    assert form.marks({"policy_number": "GRV-500-56"}, ())["policy_number",].color == "gray"
    whole = parse_schema(form.schema)
    assert isinstance(whole, ObjectField)
    fields = {member.name: member.field for member in whole.members}
    other = fields["other_id"]
    assert isinstance(other, NullableField)
    assert {getattr(each, "suggestions", None) for each in (fields["policy_number"], other.inner)} == {
        offered or ()
    }


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ({"description": "The first day, as 2026-05-03."}, "start"),
        ({"description": "The first day (YYYY-MM-DD)."}, "start"),
        ({"format": "date"}, "start"),
        ({"description": "For example ada@example.com."}, "contact"),
        ({"format": "email"}, "contact"),
        ({}, "guest_email"),
    ],
)
def test_dates_and_addresses_are_found_by_their_shape(field: dict[str, Any], name: str) -> None:
    """Also inside of an argument that is an object, also one that is declared apart. Two of them are offered."""
    fields: dict[str, Any] = {name: {"type": "string", **field}}
    guest: dict[str, Any] = {"type": "object", "properties": fields, "required": [name]}
    tool = ToolDeclaration(
        name="book",
        parameters={
            "type": "object",
            "properties": {**fields, "who": {"$ref": "#/$defs/Guest"}},
            "required": [name, "who"],
            "$defs": {"Guest": guest},
        },
    )
    one, other = ("2026-05-03", "2026-06-07") if name == "start" else ("grace@example.org", "ada@example.com")
    made = prefills(tool, [user(f"A room for 2 nights, {one}.")])
    expected = Prefill(value=one, source=MESSAGE)
    assert (made.found, made.within["who"].found) == ({name: expected}, {name: expected})
    form = CallArguments(tool, made)
    assert form.schema["properties"]["who"]["properties"][name]["default"] == one  # type: ignore[index, call-overload] # a schema
    marks = form.marks({name: one, "who": {name: one}}, ())
    assert len({marks[path].text for path in ((name,), ("who",), ("who", name))}) == 1
    typed = form.marks({name: one, "who": {name: "x"}}, ("who",))
    assert len({typed[path].text for path in ((name,), ("who",), ("who", name))}) == 2
    both = prefills(tool, [user(f"For {one} or {other}.")])
    assert (both.found, both.within["who"].several[name]) == ({}, (one, other))


def of_another_agent(*parts: types.Part) -> dict[str, Any]:
    """Return what another agent did, as the google-adk of today shows it to an agent."""
    event = Event(author="desk", content=types.Content(role="model", parts=list(parts)))
    shown = _present_other_agent_message(event)
    assert shown is not None
    assert shown.content is not None
    return shown.content.model_dump(mode="json", exclude_none=True)


def test_the_newest_message_counts_first_and_what_other_agents_did_is_no_message() -> None:
    """An older message helps where the newest has nothing. The user may begin as ADK does."""
    assert found(user("A-1"), user("A-2"))["order_id"] == Prefill(value="A-2", source=MESSAGE)
    assert found(user("A-1"), user("Yes."))["order_id"] == Prefill(value="A-1", source=EARLIER_MESSAGE)
    assert found(user("For context: refund A-1"))["order_id"] == Prefill(value="A-1", source=MESSAGE)
    said = of_another_agent(types.Part(text="I look at A-9."))
    assert "order_id" not in found(user("Refund me."), said)
    old = {"role": "user", "parts": [{"text": "For context:"}, {"text": "[desk] said: A-9"}]}
    assert "order_id" not in found(user("Refund me."), old)


def test_calls_and_responses_of_other_agents_are_evidence_as_those_of_ones_own() -> None:
    """ADK quotes them as Python writes them; what cannot be read is none."""
    call = types.Part.from_function_call(name="book", args={"order_id": "A-3", "note": "it's }"})
    response = types.Part.from_function_response(name="book", response={"order": {"order_id": "A-4"}})
    assert found(user("Refund it."), of_another_agent(call))["order_id"] == Prefill(
        value="A-3", source="From a call of book"
    )
    assert found(user("Refund it."), of_another_agent(call), of_another_agent(response))[
        "order_id"
    ] == Prefill(value="A-4", source="From a response of book")
    old = "[desk] `book` tool returned result: {'order_id': 'A-5', 'paid': True}"
    quoted = {"role": "user", "parts": [{"text": "For context:"}, {"text": old}]}
    assert found(user("Refund it."), quoted)["order_id"].value == "A-5"
    quoted["parts"][1]["text"] = "[desk] `book` tool returned result: {'order_id': <object>}"  # type: ignore[index] # parts
    assert "order_id" not in found(user("Refund it."), quoted)


def test_choices_of_a_shared_definition_are_found() -> None:
    """ADK declares an enumeration beside the parameters, and refers to it."""
    tool = ToolDeclaration(
        name="send",
        parameters={
            "type": "object",
            "properties": {"size": {"$ref": "#/$defs/Size"}},
            "$defs": {"Size": {"type": "string", "enum": ["small", "large"]}},
        },
    )
    assert prefills(tool, [user("A large one.")]).found["size"] == Prefill(value="large", source=MESSAGE)
