"""The start page: agents to choose from, what to ask, and the way into a session."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.live.agent_catalogue import catalogue
from app.live.live_sessions import registry
from app.live.player_names import PLAYERS, not_at_first
from app.screens.start_panel import QUERY_KEY
from simulator.facts import ToolPlayer
from tests.app.page_driver import HOSTILE, Tab

WORKING = '''
from google.adk.agents import LlmAgent

def look_up(name: str) -> dict:
    """Look up a person."""
    return {}

root_agent = LlmAgent(name="asker", model="gemini-2.5-flash", description=%r, instruction="Help.", tools=[look_up])
'''


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Start the studio without options; its command line is an input of the process, not of any function."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "argv", ["main.py"])
    return monkeypatch


@pytest.fixture
def tab(options: pytest.MonkeyPatch) -> Tab:
    """The start page with the demo agents, all of them loaded."""
    catalogue().load_all()
    return Tab()


@pytest.fixture
def own_agents(options: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with an agent whose model cannot be reached, and one that fails to load."""
    for name, code in (("asker", WORKING % HOSTILE), ("broken", f"raise RuntimeError({HOSTILE!r})")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").write_text(code)
    options.setattr(sys, "argv", ["main.py", "--agents-dir", str(tmp_path), "--no-demos"])
    return tmp_path


def test_the_demo_agents_can_be_chosen(tab: Tab) -> None:
    """All three are listed with what they do; a click shows the chosen one's tools and examples."""
    assert tab.keys("choose_") == ["choose_order_desk", "choose_travel_planner", "choose_expense_approver"]
    assert "Finds, creates, cancels and refunds orders of a small shop." in tab.literal
    tab.click("choose_expense_approver")
    assert tab.keys("example_0_") == ["example_0_expense_approver"]


def test_an_example_becomes_the_query(tab: Tab) -> None:
    """One click writes the example into the query; it can be edited before it is sent."""
    tab.click("example_0_order_desk")
    assert tab.app.text_area(key=QUERY_KEY).value == "Where is order A-1002?"
    assert registry().newest_first() == []


def test_a_demo_begins_with_one_click_while_there_are_no_sessions(tab: Tab) -> None:
    """Its first example is asked; once there is a session, the start page is that of agents alone."""
    assert tab.keys("try_")[1:] == ["try_order_desk", "try_travel_planner", "try_expense_approver"]
    tab.click("try_travel_planner")
    (live,) = registry().newest_first()
    assert live.title.startswith("Plan a trip from Oslo to Rome")
    assert live.simulation.session.app_name == "travel_planner"
    assert Tab().keys("try_") == []


def test_what_is_typed_for_one_way_is_there_after_a_look_at_another(tab: Tab) -> None:
    """A message, a setting and a scenario are kept while another way to start is shown."""
    tab.unfold("start_settings").app.text_area(key=QUERY_KEY).input("Where is order A-1002?")
    tab.app.text_input(key="start_seed").input("7")
    tab.choose("start_from", "Scenario").unfold("start_settings")
    assert tab.app.text_input(key="start_seed").value == "7"
    tab.type("conversation_plan_", "Ask for A-1002.")
    tab.choose("start_from", "Script").choose("start_from", "Message")
    assert tab.app.text_area(key=QUERY_KEY).value == "Where is order A-1002?"
    tab.choose("start_from", "Scenario")
    assert tab.app.text_area(key=tab.key("conversation_plan_")).value == "Ask for A-1002."


def test_a_scenario_plays_the_user_from_the_start(tab: Tab) -> None:
    """An incomplete one opens no session and names the field; a complete one sends its prompt."""
    tab.choose("start_from", "Scenario")
    tab.type("starting_prompt_", "Where is order A-1002?").click("start_scenario")
    assert registry().newest_first() == []
    assert "Plan: enter what the user wants to achieve." in tab.literal
    tab.type("conversation_plan_", "Ask for A-1002.")
    tab.app.toggle(key=tab.key("hold_")).set_value(False)
    tab.run().click("start_scenario")
    (live,) = registry().newest_first()
    assert live.simulation.view().user.seat.player == "scenario"
    assert live.title == "Where is order A-1002?"


def test_start_opens_a_session_and_asks_the_query(tab: Tab) -> None:
    """The session's id is in the address, the agent was asked, and its first tool call waits for a person."""
    tab.click("example_0_order_desk").click("start_session")
    (live,) = registry().newest_first()
    assert tab.session_id == live.session_id
    assert live.simulation.session.turns[0].purpose == "query"
    tab.run()
    assert [request.kind for request in live.simulation.view().pending] == ["tool"]
    assert tab.keys("accept_")


def test_settings_reach_the_session(tab: Tab) -> None:
    """User, state, seed and seats are those of the form, also once it is folded; without a query the session waits for one."""
    tab.unfold("start_settings").app.text_input(key="start_user").input("ada")
    tab.app.text_input(key="start_seed").input("7")
    tab.app.text_area(key="start_state_json").input('{"vip": true}')
    tab.app.selectbox(key="start_agent_player").set_value("person")
    tab.app.selectbox(key="start_tool_player").set_value("refuse")
    tab.run().app.session_state["start_settings"] = False
    assert not tab.run().app.selectbox
    tab.click("start_session")
    (live,) = registry().newest_first()
    session = live.simulation.session
    assert session.user_id == "ada"
    assert session.initial_state == {"vip": True}
    assert session.seats.of_agent("order_desk") == "person"
    assert session.seats.of_tool("find_order") == "refuse"
    assert session.turns == ()
    assert tab.has("query_send")


@pytest.mark.parametrize(
    ("key", "text", "complaint"),
    [
        ("start_state_json", "{'vip': 1}", "Initial state: Line 1, column 2"),
        ("start_state_json", "[1]", "Initial state: Line 1, column 1: expected a JSON object"),
        ("start_user", "  ", "User ID: it must not be empty"),
    ],
)
def test_a_setting_that_cannot_be_read_is_named(tab: Tab, key: str, text: str, complaint: str) -> None:
    """No session is opened, the field is named, and everything that was typed is still there."""
    tab.unfold("start_settings")
    field = tab.app.text_area(key=key) if "json" in key else tab.app.text_input(key=key)
    field.input(text)
    tab.app.text_area(key=QUERY_KEY).input("Where is order A-1002?")
    tab.click("start_session")
    assert registry().newest_first() == []
    assert "The session was not opened." in tab.words
    assert complaint in tab.literal
    assert tab.app.text_area(key=QUERY_KEY).value == "Where is order A-1002?"


@pytest.mark.parametrize("player", sorted(PLAYERS))
def test_who_answers_the_tools_is_named_and_held_to_what_it_needs(tab: Tab, player: ToolPlayer) -> None:
    """The names are those of the seats; one that lacks a model or a recording says so at once, and opens no session."""
    choice = tab.unfold("start_settings").app.selectbox(key="start_tool_player")
    assert choice.options == [each.name for each in PLAYERS.values()]
    choice.set_value(player)
    tab.run()
    missing = not_at_first(player)
    assert bool(missing) == (player in {"model", "recorded"})
    assert (missing or PLAYERS[player].does) in tab.words
    tab.click("start_session")
    opened = registry().newest_first()
    assert [live.simulation.session.seats.of_tool("find_order") for live in opened] == (
        [] if missing else [player]
    )
    assert (f"Tool calls are answered by: {missing}" in tab.literal) == bool(missing)


def test_a_first_query_that_does_not_fit_is_not_asked(tab: Tab) -> None:
    """What the agent's input schema refuses opens no session: the page says where, and keeps the text to be mended."""
    query = '{"employee_id": "7"}'
    tab.click("choose_expense_approver")
    tab.app.text_area(key=QUERY_KEY).input(query)
    tab.click("start_session")
    assert registry().newest_first() == []
    assert "The session was not opened." in tab.words
    assert "First user message: it does not match the agent's input schema." in tab.literal
    assert "employee_id: " in tab.literal
    assert "department: Field required" in tab.literal
    assert tab.app.text_area(key=QUERY_KEY).value == query
    tab.app.text_area(key=QUERY_KEY).input("")
    tab.click("start_session")
    (live,) = registry().newest_first()
    assert live.simulation.session.turns == ()


def test_a_first_query_that_fits_is_asked(tab: Tab) -> None:
    """The example of an agent with an input schema goes through the check and begins the first turn."""
    tab.click("choose_expense_approver").click("example_0_expense_approver").click("start_session")
    (live,) = registry().newest_first()
    (turn,) = live.simulation.session.turns
    assert turn.error is None


def test_an_agent_that_fails_to_load_is_listed_with_its_error(own_agents: Path) -> None:
    """The error stands there letter for letter and comes alive nowhere; the other agent can be started."""
    catalogue().load_all()
    tab = Tab()
    assert HOSTILE in tab.literal
    assert "broken/agent.py, line 1" in tab.literal
    assert tab.live_marks() == []
    assert tab.app.button(key="choose_broken").disabled
    assert not tab.app.button(key="start_session").disabled


def test_a_mended_agent_is_loaded_again(own_agents: Path) -> None:
    """After its file was mended, one click loads the agent that had failed."""
    catalogue().load_all()
    tab = Tab()
    (own_agents / "broken" / "agent.py").write_text(WORKING % "Mended.")
    tab.click("agents_again")
    catalogue().load_all()
    tab.run()
    assert not tab.app.button(key="choose_broken").disabled
    assert not tab.has("agents_again")


def test_a_person_plays_an_agent_whose_model_cannot_be_reached(own_agents: Path) -> None:
    """The page says so and why before the start, and the person sits in the agent's seat."""
    catalogue().load_all()
    tab = Tab()
    assert "so you play these agents" in tab.words
    assert "gemini-2.5-flash" in tab.literal
    tab.app.text_area(key=QUERY_KEY).input("Who is Ada?")
    tab.click("start_session").run()
    (live,) = registry().newest_first()
    assert live.simulation.session.seats.of_agent("asker") == "person"
    assert [request.kind for request in live.simulation.view().pending] == ["model"]


def test_a_session_that_is_gone_is_told(tab: Tab) -> None:
    """An address of a session that this server does not have shows the start page, and says why."""
    gone = Tab("no-such-session")
    assert "You have no session at this address" in gone.words
    assert gone.has("start_session")


def test_an_unknown_option_of_the_studio_is_told(options: pytest.MonkeyPatch) -> None:
    """A misspelt option on the command line is named on the page."""
    options.setattr(sys, "argv", ["main.py", "--agent-dir", "x"])
    assert "--agent-dir" in Tab().literal


def test_a_studio_without_agents_says_how_to_bring_some(options: pytest.MonkeyPatch) -> None:
    """Without a single agent the page shows the command that offers some."""
    options.setattr(sys, "argv", ["main.py", "--no-demos"])
    tab = Tab()
    assert "No agents yet." in tab.words
    assert "--agents-dir path/to/agents" in tab.literal
