"""The decision pane while tool calls wait."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from app.decision.tool_answer import tool_inputs
from app.forms.safe_labels import literal
from app.live.unsent_texts import UnsentTexts
from simulator.environment.injection.rules import InjectionRule, ResponseEffect
from simulator.facts import Deferred, Failed, Raised, Returned
from simulator.session import SessionState
from tests.app.decision.deciding import HOSTILE, Deciding, answers
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened


class Order(TypedDict):
    """An order, so that the tool has a response schema."""

    order_id: str
    total: float


RAN: list[str] = []


def find_order(order_id: str) -> Order:
    """Find an order."""
    RAN.append(order_id)
    return {"order_id": order_id, "total": 1.0}


def echo(word: str) -> dict[str, Any]:
    """Echo a word, without a response schema."""
    return {"word": word}


def ship(order_id: str) -> None:
    """Ship an order, some day."""


def asked_for(*calls: Any, **more: Any) -> Any:
    """Open a session whose agent makes these calls at once, and ask it."""
    tools = more.pop("tools", [find_order, echo, LongRunningFunctionTool(ship)])
    simulation = opened(agent_of(list(calls), tools=tools), **more)
    simulation.query("go", wait=PATIENCE)
    return simulation


def test_a_draft_is_accepted_with_one_click() -> None:
    """The page opens with the draft in the editor, and its one primary button sends it as generated."""
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        draft = simulation.pending[0].draft
        Deciding(simulation).press("accept_")
        (fact,) = answers(simulation)
        assert fact.outcome == Returned(value=draft)
        assert fact.provenance.source == "generated"
        assert simulation.session.state is SessionState.COMPLETED


def test_an_edited_draft_is_sent_as_edited() -> None:
    """What stands in the editor when the button is clicked is the answer."""
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        Deciding(simulation).type("response_", '{"order_id": "B", "total": 2}').press("accept_")
        (fact,) = answers(simulation)
        assert fact.outcome == Returned(value={"order_id": "B", "total": 2})
        assert fact.provenance.source == "edited"


def test_a_mistake_in_json_is_named_and_nothing_is_sent_or_lost() -> None:
    """The error says line and column and what is expected; the text stays, and the call stays open."""
    with asked_for(call("echo", word="x")) as simulation:
        page = Deciding(simulation).type("response_", '{"a": 1,\n "b": }').press("accept_")
        assert "Line 2, column 7: expected a value" in page.shown()
        assert page.text("response_") == '{"a": 1,\n "b": }'
        assert len(simulation.pending) == 1
        assert page.refreshed().text("response_") == '{"a": 1,\n "b": }'


def test_a_response_off_its_schema_is_said_and_can_be_sent() -> None:
    """A person may let a tool break its own schema, and sees that it does."""
    with asked_for(call("find_order", order_id="A")) as simulation:
        page = Deciding(simulation).type("response_", '{"order_id": 3, "total": 1}').run()
        assert "$.order_id: 3 is not of type 'string'" in page.shown()
        page.press("accept_")
        assert answers(simulation)[0].outcome == Returned(value={"order_id": 3, "total": 1})


def test_json_and_form_carry_each_other() -> None:
    """What is typed in one is in the other after a switch; a form that was filled answers."""
    with asked_for(call("find_order", order_id="A")) as simulation:
        page = Deciding(simulation).type("response_", '{"order_id": "Z-9", "total": 7.5, "more": [1]}')
        page.choose("style_", "Form")
        assert page.text("form:response.order_id") == "Z-9"
        page.type("form:response.order_id", "Z-10").choose("style_", "JSON")
        assert '"Z-10"' in page.text("response_")
        page.choose("style_", "Form").type("form:response.total", 8.5).press("accept_")
        value = {"order_id": "Z-10", "total": 8.5, "more": [1]}
        assert answers(simulation)[0].outcome == Returned(value=value)


def test_fields_of_a_response_without_a_schema_are_added_and_removed() -> None:
    """Text and form have them at once; a tool with a schema decides its fields itself."""
    with asked_for(call("echo", word="x"), call("find_order", order_id="A")) as simulation:
        page = Deciding(simulation).type("response_", '{"word": "x", "at": {"x": 1.50, "y": 2}}').run()
        assert not any("find_order" in name for name in page.names() if ":add_" in name)
        page.type("form:response:add_name", "left").choose("form:response:add_kind", "Whole number")
        page.press("form:response:add_now")
        page.type("form:response.left", 4).press("form:response.at.y:drop")
        page.press("form:response.word:drop").press("accept_")
        assert answers(simulation)[0].outcome == Returned(value={"at": {"x": 1.5}, "left": 4})
        assert not any(":add_" in name or ":drop" in name for name in page.names())


def touch(word: str):  # type: ignore[no-untyped-def] # noqa: ANN201 - no schema is declared
    """Touch it."""
    return {} if word else None


@pytest.mark.parametrize("first", ["{}", "null"])
def test_a_response_that_begins_empty_gets_fields_lists_and_groups(first: str) -> None:
    """It has a form from the start, and so has what is typed over it; a field can be added inside of another."""
    with asked_for(call("touch", word="x" if first == "{}" else ""), tools=[touch]) as simulation:
        page = Deciding(simulation)
        assert page.text("response_") == first
        assert "No fields yet" in page.shown()
        add(page, "left", "Whole number")
        page.type("response_", '{"left": 4, "at": {"x": 1}}').run()
        add(page, "tags", "List of texts", where=1)
        page.type("form:response.at.tags:0_", "new")
        add(page, "rooms", "List of whole numbers")
        page.type("form:response.rooms:0_", 7)
        add(page, "sizes", "Group of fields")
        add(page, "big", "Yes or no", where=2)
        page.press("accept_")
        value = {"left": 4, "at": {"x": 1, "tags": ["new"]}, "rooms": [7], "sizes": {"big": False}}
        assert answers(simulation)[0].outcome == Returned(value=value)


def add(page: Deciding, name: str, kind: str, where: int = 0) -> None:
    """Add a field to the object with this number."""
    page.type("form:response:add_name", name).choose("form:response:add_kind", kind)
    if where:
        page.choose("form:response:add_where", where)
    page.press("form:response:add_now")


def test_a_text_that_is_no_json_is_not_lost_on_the_way_to_the_form() -> None:
    """The form cannot show it, so the editor stays, with its text and the mistake."""
    with asked_for(call("find_order", order_id="A")) as simulation:
        page = Deciding(simulation).type("response_", "{'order_id'").choose("style_", "Form")
        assert page.text("response_") == "{'order_id'"
        assert "double quotes" in page.shown()


def test_a_plain_text_answers_as_a_value() -> None:
    """A tool may give a text; the agent sees it as a result."""
    with asked_for(call("echo", word="x")) as simulation:
        page = Deciding(simulation).choose("style_", "Text").type("response_text_", "it's raining")
        page.press("accept_")
        assert answers(simulation)[0].outcome == Returned(value="it's raining")


def test_an_error_is_data_with_a_code_and_a_message() -> None:
    """A preset fills both; a code of digits is a number, any other a word."""
    with asked_for(call("echo", word="x"), call("echo", word="y")) as simulation:
        page = Deciding(simulation).choose("mode_", "Error").press("preset_503")
        assert '{"error_code": 503, "error_message": "Unavailable"}' in page.shown()
        page.press("accept_0")
        page.choose("mode_", "Error").type("error_code_", "NO_STOCK").press("accept_")
        assert answers(simulation)[0].outcome == Failed(error_code=503, error_message="Unavailable")
        assert answers(simulation)[1].outcome == Failed(error_code="NO_STOCK", error_message="Internal error")


def test_an_exception_is_raised_in_the_agent() -> None:
    """The turn ends with the exception of the type and words that were given."""
    with asked_for(call("echo", word="x")) as simulation:
        page = Deciding(simulation).choose("mode_", "Exception").choose("exception_type_", "TimeoutError")
        page.type("exception_message_", "too slow").press("accept_")
        outcome = answers(simulation)[0].outcome
        assert isinstance(outcome, Raised)
        assert (outcome.error.short_type, outcome.error.message) == ("TimeoutError", "too slow")
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


@pytest.mark.parametrize(
    ("kind", "message", "seen"),
    [
        ("TimeoutError", "too slow", "TimeoutError: too slow"),
        ("TimeoutError", "", "TimeoutError (without a message)"),
        ("KeyError", "A-1", "KeyError: 'A-1'"),
        ("NoSuchError", "no", "SimulatedToolError: NoSuchError: no"),
        ("TimeoutError", "too \u202eslow", "TimeoutError: too \\u202eslow"),
    ],
)
def test_an_exception_is_shown_as_the_agents_code_will_see_it(kind: str, message: str, seen: str) -> None:
    """What stands on the page before the click is what the agent's handler is given, class and words."""
    caught: list[str] = []

    def handle(*, error: Exception, **_: Any) -> dict[str, str]:
        caught.append(f"{type(error).__name__}: {error}".removesuffix(": "))
        return {"handled": "yes"}

    agent = agent_of([call("echo", word="x")], tools=[echo], on_tool_error_callback=handle)
    with opened(agent) as simulation:
        simulation.query("go", wait=PATIENCE)
        page = with_exception(simulation, kind)
        page.type("exception_message_", message).run()
        assert seen in page.shown()
        page.press("accept_")
        assert [literal(each) for each in caught] == [seen.removesuffix(" (without a message)")]


def test_an_exception_without_a_type_is_not_shown() -> None:
    """Where the inputs are no answer yet, nothing is said of what the agent will see."""
    with asked_for(call("echo", word="x")) as simulation:
        assert "The agent's code sees" in with_exception(simulation, "ValueError").shown()
        page = with_exception(simulation, "not a name")
        assert "The agent's code sees" not in page.shown()
        assert "An exception needs a type" in page.press("accept_").shown()


def test_an_answer_later_says_what_the_agent_sees() -> None:
    """Before the click the page says that the agent sees no response now, and sees one in a later turn."""
    with asked_for(call("ship", order_id="A")) as simulation:
        page = Deciding(simulation).choose("mode_", "Later")
        assert "For now, the agent gets no response to this call" in page.shown()


def test_a_long_running_call_is_answered_later() -> None:
    """Only a long-running tool offers it; its late result is given after the turn."""
    with asked_for(call("ship", order_id="A")) as simulation:
        page = Deciding(simulation).choose("mode_", "Later").press("accept_")
        assert answers(simulation)[0].outcome == Deferred()
        assert [one.tool_name for one in simulation.session.open_calls] == ["ship"]
        page.type("response_late_", '{"shipped": true}').press("accept_")
        reply = simulation.session.history[-2]
        assert reply.type == "user_reply"
        assert reply.response == {"shipped": True}


def test_state_changes_go_with_the_answer() -> None:
    """They are a JSON object; anything else is said, and nothing is sent."""
    with asked_for(call("echo", word="x")) as simulation:
        page = Deciding(simulation).type("state_delta_", "[1]").press("accept_")
        assert "The state changes are not valid JSON" in page.shown()
        assert len(simulation.pending) == 1
        page.type("state_delta_", '{"seen": 1}').press("accept_")
        assert answers(simulation)[0].effects.state_delta == {"seen": 1}
        assert simulation.session.current_state["seen"] == 1


def test_the_real_tool_runs_only_behind_a_second_click() -> None:
    """One call is answered by the real tool; no other click runs it."""
    RAN.clear()
    with asked_for(call("find_order", order_id="A-7")) as simulation:
        page = Deciding(simulation)
        assert RAN == []
        page.press("real_")
        assert RAN == ["A-7"]
        assert answers(simulation)[0].provenance.source == "real"


def test_parallel_calls_are_answered_in_any_order() -> None:
    """Each keeps what was typed for it while another is on the screen."""
    with asked_for(*(call("echo", word=word) for word in "abc")) as simulation:
        first, second, third = (request.key for request in simulation.pending)
        page = Deciding(simulation).type("response_", '{"first": 1}')
        page.choose("waiting_", third).type("response_", '{"third": 3}').choose("waiting_", first)
        assert page.text("response_") == '{"first": 1}'
        page.choose("waiting_", third).press("accept_0")
        assert [request.key for request in simulation.pending] == [first, second]
        assert "edited" in str([badge.value for badge in page.tab.markdown])
        assert page.refreshed().text("response_") == '{"first": 1}'
        assert answers(simulation)[0].outcome == Returned(value={"third": 3})


def test_all_drafts_are_accepted_at_once() -> None:
    """Each call gets what stands in its own editor: the draft, or what was made of it."""
    with asked_for(*(call("echo", word=word) for word in "abc")) as simulation:
        drafts = [request.draft for request in simulation.pending]
        page = Deciding(simulation).type("response_", '{"mine": true}').run().press("accept_all")
        assert page.problems == []
        given = [(fact.outcome, fact.provenance.source) for fact in answers(simulation)]
        assert given == [
            (Returned(value={"mine": True}), "edited"),
            (Returned(value=drafts[1]), "generated"),
            (Returned(value=drafts[2]), "generated"),
        ]


def test_not_one_draft_is_accepted_while_one_is_broken() -> None:
    """It is said which, and all calls stay open."""
    with asked_for(*(call("echo", word=word) for word in "ab")) as simulation:
        page = Deciding(simulation).type("response_", "{").press("accept_all")
        assert "Call 1 cannot be sent" in page.shown()
        assert len(simulation.pending) == 2


def test_fifty_calls_are_a_list() -> None:
    """Many calls stand in a list that can be searched, and are accepted at once."""
    with asked_for(*(call("echo", word=str(number)) for number in range(50))) as simulation:
        page = Deciding(simulation)
        assert len(page.tab.selectbox[0].options) == 50
        page.choose("waiting_", simulation.pending[41].key)
        assert '"41"' in page.shown()
        page.press("accept_all")
        assert len(answers(simulation)) == 50


def test_an_answer_of_an_injection_is_shown_beside_its_siblings() -> None:
    """Of two parallel calls one was answered by a rule: the pane says so, and by which."""
    rule = InjectionRule(
        rule_id="rainy", tool_name="find_order", effect=ResponseEffect(value={"order_id": "i"})
    )
    calls = (call("find_order", order_id="A"), call("echo", word="x"))
    with asked_for(*calls, rules=[rule]) as simulation:
        page = Deciding(simulation)
        assert "injected by rainy" in str([badge.value for badge in page.tab.markdown])


def test_a_call_that_was_answered_elsewhere_is_said() -> None:
    """A click on an answered call changes nothing, and says that it came too late."""
    with asked_for(call("echo", word="x"), call("echo", word="y")) as simulation:
        page = Deciding(simulation)
        simulation.answer(simulation.pending[0], {"by": "another tab"}, wait=PATIENCE)
        page.press("accept_0")
        assert len(answers(simulation)) == 1


def test_reset_gives_the_draft_back() -> None:
    """Everything typed for this call is dropped at once: text, mode and state changes."""
    with asked_for(call("echo", word="x")) as simulation:
        page = Deciding(simulation)
        draft = page.text("response_")
        page.type("response_", "{").type("state_delta_", "{").run().press("reset_")
        assert page.text("response_") == draft
        assert not page.text("state_delta_")


def test_words_from_outside_are_shown_as_they_are() -> None:
    """A name, an argument and a description with Markdown and HTML reach no label as such."""

    def hostile(**_: Any) -> dict[str, Any]:
        return {}

    hostile.__doc__ = hostile.__name__ = HOSTILE
    calls = (call(HOSTILE, **{HOSTILE: HOSTILE}), call(HOSTILE))
    with asked_for(*calls, tools=[hostile]) as simulation:
        page = Deciding(simulation)
        marked = " ".join(str(one.value) for one in [*page.tab.markdown, *page.tab.caption, *page.tab.error])
        marked += " ".join(str(word) for group in page.tab.button_group for word in group.options)
        assert "http://evil" not in marked
        assert "<b>" not in marked
        assert any(HOSTILE in text.value for text in page.tab.text)
        assert any(HOSTILE in code.value for code in page.tab.code)


@pytest.mark.parametrize("text", ['{"order_id": "A-2", "total": 3.5}', '{"order_id": 7}', "no JSON", ""])
def test_what_can_be_used_keeps_its_place_when_an_editor_is_left(text: str) -> None:
    """Pressing a button leaves the editor, and what that changes above must not make the button anew under the mouse."""
    with asked_for(call("find_order", order_id="A-1"), call("echo", word="b")) as simulation:
        pane = Deciding(simulation)
        before = pane.places()
        assert {name.partition("_")[0] for name in before} >= {"accept", "reset", "real", "response", "give"}
        after = pane.type("response_", text).run().sound().places()
        moved = {
            key: (before[key], after[key])
            for key in before.keys() & after.keys()
            if before[key] != after[key]
        }
        assert not moved
        assert any(key.startswith("accept_") for key in after)


def state_of(order_id: str) -> dict[str, Any]:
    """Say how an order stands.

    Returns:
        status: one of 'open', 'closed'
    """
    return {"order_id": order_id, "status": "open"}


def test_choices_of_a_docstring_are_offered_and_any_other_value_is_taken() -> None:
    """The form has the two values in its list, and holds a third one, too."""
    with asked_for(call("state_of", order_id="A-1"), tools=[state_of]) as simulation:
        page = Deciding(simulation)
        (status,) = [one for one in page.tab.selectbox if ".status" in str(one.key)]
        assert (status.value, status.options) == ("open", ["open", "closed"])
        page.choose("form:response.status", "closed")
        assert '"closed"' in page.text("response_")
        page.type("response_", '{"order_id": "A-1", "status": "lost"}').run()
        (status,) = [one for one in page.tab.selectbox if ".status" in str(one.key)]
        assert (status.value, status.options) == ("lost", ["lost", "open", "closed"])
        page.press("accept_")
        assert answers(simulation)[0].outcome == Returned(value={"order_id": "A-1", "status": "lost"})


def test_a_mistake_in_json_is_named_above_the_editor_and_moves_nothing() -> None:
    """It names line and column, and all that can be used keeps its place in the page."""
    with asked_for(call("find_order", order_id="A-1")) as simulation:
        page = Deciding(simulation).choose("style_", "JSON")
        before = page.places()
        page.type("response_", '{"order_id": "A-1"\n "total": 2}').run()
        assert "Line 2, column 2: expected a comma" in page.shown()
        assert page.places() == before
