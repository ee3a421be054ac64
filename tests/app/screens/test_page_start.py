"""The start page: agents to choose from, what to ask, and the way into a session; and the search, which leads to all there is."""

from __future__ import annotations

import json
import logging
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st

from app.evalsets.set_discovery import remove_upload, take_upload
from app.live import agent_catalogue
from app.live.agent_catalogue import PAGES, catalogue, warm_up
from app.live.destinations import remember_set
from app.live.live_sessions import registry
from app.live.player_names import PLAYERS, not_at_first
from app.screens.search_targets import MOST_FOUND, Searchable, Target
from app.screens.start_page import LOOKS_BEFORE_LOADING
from app.screens.start_panel import QUERY_KEY
from app.server.owners import LOCAL
from evalset.cli.studio_command import studio_command
from evalset.recorded.recording_files import sidecar_of
from simulator.agents.load_failure import VARIABLE
from simulator.facts import SessionOpened
from simulator.session.adk_event_fields import message_text
from simulator.store import JournalStore, StoredJournal
from tests.app.desk_sessions import begun, live_of, server_ends
from tests.app.page_driver import HOSTILE, Tab
from tests.evalset.editing.editing_sets import record_case, write_set

CREDENTIALS = "GOOGLE_APPLICATION_CREDENTIALS"
NO_ACCOUNT = "Your default credentials were not found."
WORKING = '''
from google.adk.agents import LlmAgent

def look_up(name: str) -> dict:
    """Look up a person."""
    return {}

root_agent = LlmAgent(name="asker", model="gemini-2.5-flash", description=%r, instruction="Help.", tools=[look_up])
'''


@pytest.fixture
def options(no_key: None, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Start the studio without options; its command line is an input of the process, not of any function."""
    monkeypatch.setattr(sys, "argv", ["main.py"])
    return monkeypatch


@pytest.fixture
def tab(no_key: None, start: Tab) -> Tab:
    """The start page with the demo agents, all of them loaded, and without any key."""
    return start


@pytest.fixture
def own_agents(options: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with an agent whose model cannot be reached, and one that fails to load."""
    for name, code in (("asker", WORKING % HOSTILE), ("broken", f"raise RuntimeError({HOSTILE!r})")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").write_text(code)
    options.setattr(sys, "argv", ["main.py", "--agents-dir", str(tmp_path), "--no-demos"])
    return tmp_path


@pytest.mark.long
def test_a_demo_agent_is_chosen_asked_and_tried(tab: Tab) -> None:
    """All three are listed with what they do; an example is written into the query with a click, and asked with one while there are no sessions."""
    demos = ["order_desk", "travel_planner", "expense_approver"]
    assert tab.keys("choose_") == [f"choose_{name}" for name in demos]
    assert catalogue().config("order_desk").root_agent.description in tab.literal
    tab.click("choose_expense_approver")
    assert tab.keys("example_0_") == ["example_0_expense_approver"]
    tab.click("choose_order_desk").click("example_0_order_desk")
    assert "A-1002" in tab.typed(QUERY_KEY)
    assert registry().newest_first() == []
    assert tab.keys("try_")[1:] == [f"try_{name}" for name in demos]
    tab.click("try_travel_planner")
    (live,) = registry().newest_first()
    assert "Oslo" in live.title
    assert live.simulation.session.app_name == "travel_planner"
    assert Tab().keys("try_") == []


@pytest.mark.parametrize("is_installed", [True, False])
def test_the_commands_that_start_the_studio_hold_as_it_is_installed(
    tab: Tab, is_installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a wheel the program lies beside its Python; without it that Python runs the module, in any folder."""
    python, installed = tmp_path / "bin" / "python", tmp_path / "bin" / "golden-trace"
    python.parent.mkdir()
    if is_installed:
        installed.touch()
    monkeypatch.setattr(
        "evalset.cli.shell_lines.sys", SimpleNamespace(executable=str(python), platform="linux")
    )
    begin = f"{installed} studio" if is_installed else f"{python} -m evalset.cli studio"
    shown = [each.value for each in tab.unfold("own_agents").app.code if " studio --" in each.value]
    assert [line.removeprefix(f"{begin} ").split()[0] for line in shown] == [
        "--agents-dir",
        "--agents",
        "--agents-dir",
    ]


@pytest.mark.long
def test_what_is_typed_for_one_way_is_there_after_a_look_at_another(tab: Tab) -> None:
    """A message, a setting and a scenario are kept while another way to start is shown, and for a refresh, with the agent; a setting is seen then."""
    tab.unfold("start_settings").fill(QUERY_KEY, "Where is A-1002?")
    tab.fill("start_seed", "7")
    tab.choose("start_from", "Scenario").unfold("start_settings")
    assert tab.app.text_input(key=tab.key("start_seed")).value == "7"
    tab.type("conversation_plan_", "Ask for A-1002.")
    tab.choose("start_from", "Script").choose("start_from", "Message")
    assert tab.typed(QUERY_KEY) == "Where is A-1002?"
    tab.choose("start_from", "Scenario")
    assert tab.app.text_area(key=tab.key("conversation_plan_")).value == "Ask for A-1002."
    tab.click("choose_travel_planner")
    again = Tab()
    assert again.typed(QUERY_KEY) == "Where is A-1002?"
    assert again.app.text_input(key=again.key("start_seed")).value == "7"
    assert again.has("agent_chosen_travel_planner") or not again.keys("agent_chosen_")


def test_a_scenario_plays_the_user_from_the_start(tab: Tab) -> None:
    """An incomplete one opens no session and names the field; a complete one sends its prompt. The address names the way to start."""
    tab.choose("start_from", "Scenario")
    assert tab.app.query_params["tab"] in ("scenario", ["scenario"])
    assert Tab(tab="scenario").app.segmented_control(key="start_from").value == "Scenario"
    tab.type("starting_prompt_", "Where is A-1002?").click("start_scenario")
    assert registry().newest_first() == []
    assert "Plan: " in tab.literal
    tab.type("conversation_plan_", "Ask for A-1002.")
    tab.fill("hold_", False).run().click("start_scenario")
    (live,) = registry().newest_first()
    assert live.simulation.view().user.seat.player == "scenario"
    assert live.title == "Where is A-1002?"


@pytest.mark.long
def test_settings_reach_the_session(tab: Tab) -> None:
    """User, state, seed and seats are those of the form, also once it is folded; without a query the session waits for one."""
    tab.unfold("start_settings").fill("start_user", "ada")
    tab.fill("start_seed", "7")
    tab.fill("start_state_json", '{"vip": true}')
    tab.fill("start_agent_player", "person")
    tab.fill("start_tool_player", "refuse").run().app.session_state["start_settings"] = False
    assert not tab.run().app.selectbox
    tab.click("start_session")
    (live,) = registry().newest_first()
    session = live.simulation.session
    assert session.user_id == "ada"
    (_, opening), *_ = live.simulation.journal.path()
    assert isinstance(opening, SessionOpened)
    assert opening.seed == "7"
    assert session.initial_state == {"vip": True}
    assert session.seats.of_agent("order_desk") == "person"
    assert session.seats.of_tool("find_order") == "refuse"
    assert session.turns == ()
    assert tab.has("query_send")


def test_a_session_begins_with_artifacts_and_memory(tab: Tab) -> None:
    """Also once the settings are folded; two files of one name are versions of one, and the state of the session lists them."""
    tab.unfold("start_settings")
    files = [("plan.txt", text, "text/plain") for text in (b"one", b"two")]
    tab.fill("start_artifacts", files).fill("start_memory", "The colour is red.\n\nThe size is 4.")
    tab.run().app.session_state["start_settings"] = False
    tab.run().click("start_session")
    (live,) = registry().newest_first()
    earlier = live.simulation.session.earlier
    assert [(each.filename, each.version) for each in earlier.artifacts] == [("plan.txt", 0), ("plan.txt", 1)]
    assert len(earlier.memory) == 2
    tab.choose("context_view", "State")
    assert "The colour is red." in tab.literal
    assert tab.literal.count("plan.txt") == 2


def test_a_setting_that_cannot_be_read_is_named(tab: Tab) -> None:
    """No session is opened, the field or the file that is too large is named, and everything that was typed is still there."""
    tab.unfold("start_settings").fill(QUERY_KEY, "Where is A-1002?")
    for key, text, complaint in (
        ("start_user", "  ", "User ID: "),
        ("start_state_json", "{'vip': 1}", "Initial state: Line 1, column 2"),
    ):
        tab.fill(key, text).click("start_session")
        assert registry().newest_first() == []
        assert tab.app.error
        assert complaint in tab.literal
        assert tab.typed(QUERY_KEY) == "Where is A-1002?"
        tab.fill(key, "{}")
    tab.fill("start_artifacts", [("large.bin", bytes(5 << 20), "")]).click("start_session")
    assert registry().newest_first() == []
    assert "large.bin: 5.0 MB" in tab.literal


@pytest.mark.usefixtures("options")
def test_who_answers_the_tools_is_named_and_held_to_what_it_needs() -> None:
    """The names are those of the seats; one that lacks a model or a recording says so at once, and opens no session."""
    catalogue().load_all()
    tab = Tab().unfold("start_settings")
    for player in sorted(PLAYERS, key=lambda each: each == "refuse"):
        choice = tab.app.selectbox(key="start_tool_player")
        assert choice.options == [each.name for each in PLAYERS.values()]
        choice.set_value(player)
        tab.run()
        missing = not_at_first(player)
        assert bool(missing) == (player in {"model", "recorded"})
        assert (missing or PLAYERS[player].does) in tab.words
        if missing:
            assert missing in tab.click("start_session").literal
            assert registry().newest_first() == []
    tab.click("start_session")
    (live,) = registry().newest_first()
    assert live.simulation.session.seats.of_tool("find_order") == "refuse"


def test_a_first_query_is_held_to_the_input_schema_of_the_agent(tab: Tab) -> None:
    """What it refuses opens no session: the page says where, and keeps the text to be mended; the agent's own example begins the first turn, and is then gone."""
    query = '{"employee_id": "7"}'
    tab.click("choose_expense_approver")
    tab.fill(QUERY_KEY, query).click("start_session")
    assert registry().newest_first() == []
    assert tab.app.error
    assert "employee_id: " in tab.literal
    assert "department: " in tab.literal
    assert tab.typed(QUERY_KEY) == query
    tab.fill(QUERY_KEY, "").click("start_session")
    (live,) = registry().newest_first()
    assert live.simulation.session.turns == ()
    again = Tab().click("choose_expense_approver").click("example_0_expense_approver").click("start_session")
    (turn,) = registry().newest_first()[0].simulation.session.turns
    assert turn.error is None
    assert not Tab().typed(QUERY_KEY)
    assert not again.click("new_session").typed(QUERY_KEY)


def test_an_agent_that_fails_to_load_is_listed_with_its_error_and_loaded_again(own_agents: Path) -> None:
    """The error stands there letter for letter and comes alive nowhere; after its file was mended, one click loads it."""
    catalogue().load_all()
    tab = Tab()
    assert HOSTILE in tab.literal
    assert "broken/agent.py, line 1" in tab.literal
    assert tab.live_marks() == []
    assert tab.app.button(key="choose_broken").disabled
    assert not tab.app.button(key="start_session").disabled
    (own_agents / "broken" / "agent.py").write_text(WORKING % "Mended.")
    tab.click("agents_again")
    catalogue().load_all()
    tab.run()
    assert not tab.app.button(key="choose_broken").disabled
    assert not tab.has("agents_again")


def test_a_key_that_several_agents_lack_is_named_once(own_agents: Path) -> None:
    """In one line with their names."""
    second = 'sub_agents=[LlmAgent(name="second", model="gemini-2.5-flash")])'
    code = (WORKING % "Asks.").replace("tools=[look_up])", f"tools=[look_up], {second}")
    (own_agents / "asker" / "agent.py").write_text(code)
    catalogue().load_all()
    assert Tab().literal.count("GOOGLE_API_KEY") == 1
    assert "asker, second: " in Tab().literal


def test_what_the_instruction_needs_of_the_state_is_asked_for(own_agents: Path) -> None:
    """A field for each key, and none for what may be missing; a text is in the state of the session, and an empty one is not.

    What was typed is there again after a refresh. A session that lacks one asks for it, and sends what failed without it again.
    """
    code = (WORKING % "Asks.").replace("Help.", "You help {clerk_name} of {desk}. {note?}")
    (own_agents / "asker" / "agent.py").write_text(code)
    catalogue().load_all()
    tab = Tab()
    keys = [key.removeprefix("start_state_").removesuffix("_start") for key in tab.keys("start_state_")]
    assert keys == ["clerk_name", "desk"]
    tab.fill("start_state_clerk_name", "Ada").fill("start_state_desk_", "").fill(
        QUERY_KEY, "Who is there?"
    ).run()
    again = Tab()
    assert again.typed(QUERY_KEY) == "Who is there?"
    again.fill(QUERY_KEY, "").click("start_session")
    (live,) = registry().newest_first()
    assert live.simulation.session.initial_state == {"clerk_name": "Ada"}
    assert again.keys("start_state_clerk") == []
    again.fill("query_text_", "Who is there?").click("query_send").run()
    (turn,) = live.simulation.session.turns
    assert turn.error is not None
    again.fill("start_state_desk_", "Oslo").click("send_again").run()
    (turn,) = live.simulation.session.turns
    assert (turn.error, turn.state_delta) == (None, {"desk": "Oslo"})
    assert message_text(turn.message) == "Who is there?"
    assert again.keys("start_state_") == []


def test_an_agent_that_asks_for_credentials_is_loaded_with_placeholders(
    own_agents: Path, options: pytest.MonkeyPatch
) -> None:
    """By whoever sits at the machine, with a click; nobody chose so before. It says so from then on."""
    options.setenv(VARIABLE, "")
    asks = f"import os\nif not os.environ.get({CREDENTIALS!r}): raise RuntimeError({NO_ACCOUNT!r})\n"
    (own_agents / "asker" / "agent.py").write_text(asks + WORKING % "Asks.")
    catalogue().load_all()
    tab = Tab()
    tab.click("placeholders_asker")
    catalogue().load_all()
    tab.run()
    assert tab.app.info
    assert f"asks for {CREDENTIALS}" in tab.literal


@pytest.mark.long
@pytest.mark.usefixtures("own_agents")
def test_a_person_plays_an_agent_whose_model_cannot_be_reached() -> None:
    """The page says so and why before the start, and the person sits in the agent's seat."""
    catalogue().load_all()
    tab = Tab()
    assert tab.app.info
    assert "gemini-2.5-flash" in tab.literal
    tab.fill(QUERY_KEY, "Who is Ada?").click("start_session").run()
    (live,) = registry().newest_first()
    assert live.simulation.session.seats.of_agent("asker") == "person"
    assert [request.kind for request in live.simulation.view().pending] == ["model"]


def test_what_is_missing_is_told_with_the_commands_for_own_agents(options: pytest.MonkeyPatch) -> None:
    """They name the program that is installed beside this Python, and options that the studio has.

    A session that is gone, a misspelt option and a studio without agents are told.
    """
    gone = Tab("no-such-session").unfold("own_agents")
    assert len(gone.app.info) == 1
    assert gone.has("start_session")
    lines = [shlex.split(each.value) for each in gone.app.code]
    assert {Path(program).is_file() for program, *_ in lines} == {True}
    assert [words[1] for words in lines] == ["studio"] * 3
    assert [words[-2:] for words in lines] == [["--port", str(st.get_option("server.port"))]] * 3
    for words in lines:
        with pytest.raises(ValueError, match=r"path/to/agents|my_agents"):
            studio_command(words[2:])
    options.setattr(sys, "argv", ["main.py", "--agent-dir", "x"])
    assert "--agent-dir" in Tab().literal
    options.setattr(sys, "argv", ["main.py", "--no-demos"])
    tab = Tab()
    assert "--agents-dir" in tab.literal
    assert not tab.has("start_session")


def test_a_folder_of_agents_is_added_while_the_studio_runs(
    own_agents: Path, options: pytest.MonkeyPatch
) -> None:
    """By its path, from where the studio was started or from the home folder; a folder without agents is told.

    An agent is listed once, also where its own folder was added before the one around it. It plays, and a folder can be removed again. On a server that several people use there is no such field.
    """
    (own_agents / "none").mkdir()
    options.setattr(sys, "argv", ["main.py", "--agents-dir", str(own_agents / "none")])
    options.chdir(own_agents)
    options.setenv("HOME", str(own_agents))
    tab = Tab().unfold("own_agents")
    before = catalogue().names()
    tab.fill("folder_typed", "gone").click("add_folder")
    assert f"the agents folder {own_agents / 'gone'} does not exist" in tab.literal
    for typed, names in (("asker", ["asker"]), (".", ["asker", "broken"]), ("~", ["asker", "broken"])):
        tab.fill("folder_typed", typed).click("add_folder")
        assert catalogue().names() == (*before, *names)
    assert "does not exist" not in tab.literal
    catalogue().load("asker")
    tab.run().click("choose_asker").fill(QUERY_KEY, "Who is Ada?").click("start_session").run()
    (live,) = registry().newest_first()
    assert live.simulation.session.app_name == "asker"
    assert catalogue().settings_for(own_agents / "asker").agents_dir == own_agents / "asker"
    tab.click("new_session").unfold("own_agents").click("remove_folder_0")
    assert catalogue().names() == (*before, "asker", "broken")
    assert {entry.state for entry in catalogue().entries() if entry.name == "asker"} == {"ready"}
    tab.click("remove_folder_0")
    assert catalogue().names() == before
    options.setenv("GOLDEN_TRACE_PEOPLE", "browser")
    other = Tab().unfold("own_agents")
    assert other.app.code
    assert not other.has("folder_typed")


@pytest.fixture
def playing(start: Tab) -> Tab:
    """A session of the order desk that waits for an answer."""
    return start.click("example_0_order_desk").click("start_session").run()


def labels(playing: Tab, words: str) -> list[str]:
    """Search for words; return what is found."""
    playing.click("search")
    playing.fill("search_words", words).run()
    return [playing.app.button(key=key).label for key in playing.keys("found_")]


def test_labels_that_begin_with_the_words_come_first() -> None:
    """All words have to be there, in any case; no more than `MOST_FOUND` are given, out of thousands."""
    named = [Target(kind="step", name=str(place), label=f"step {place}") for place in range(3_000)]
    others = [
        Target(kind="case", name="c", label="refund order", about="shop"),
        Target(kind="session", name="s", label="Order a refund", about="desk"),
        Target(kind="agent", name="a", label="desk", about="Handles orders"),
    ]
    targets = Searchable([*named, *others])
    assert [each.name for each in targets.found("ORDER")] == ["s", "c", "a"]
    assert [each.name for each in targets.found("refund  order")] == ["c", "s"]
    assert targets.found("order nowhere") == []
    assert len(targets.found("step")) == MOST_FOUND


def test_commands_are_carried_out_where_they_apply(playing: Tab) -> None:
    """The export opens, the first message is taken back, and the start page has no commands of a session."""
    session_id = str(playing.session_id)
    assert labels(playing, "export") == ["Export session"]
    playing.click("found_0")
    assert playing.has("export_head")
    assert labels(playing, "undo") == ["Undo step"]
    playing.click("found_0")
    live = live_of(session_id)
    assert live.simulation.session.turns == ()
    assert labels(playing, "new session") == ["New session"]
    playing.click("found_0")
    assert playing.has("start_session")
    assert labels(playing, "export") == []


@pytest.mark.long
def test_what_is_found_is_shown_literally_and_leads_there(playing: Tab, tmp_path: Path) -> None:
    """A case of a set that was used, by its set and by a word of a response, and the session; names from outside come alive nowhere."""
    live = registry().newest_first()[0]
    path = write_set(tmp_path / "used.evalset.json", HOSTILE)
    remember_set(LOCAL, path)
    assert len(labels(playing, "shipped used.evalset")) == 1
    assert labels(playing, "shipped nowhere") == []
    assert len(labels(playing, "used.evalset.json")) == 1
    assert playing.live_marks() == []
    playing.click("found_0")
    assert str(path) in playing.app.query_params["set"]
    assert playing.has("case_head")
    assert len(labels(playing, "is order a-1002")) == 1
    playing.click("found_0")
    assert playing.session_id == live.session_id


def test_the_search_looks_into_whole_steps_all_sets_in_the_list_and_the_notes_of_sessions(
    store: JournalStore,
) -> None:
    """A word far behind in a message, a case of a set that nobody has opened, and what was noted of a session with a name."""
    live = begun(f"{'Where is it? ' * 40}It was a lantern.")
    live.simulation.journal.keep(5)
    store.rename(live.session_id, "Named")
    store.note(live.session_id, "For the lighthouse.")
    text = json.dumps({"eval_set_id": "s", "eval_cases": [{"eval_id": "lamp_case", "conversation": []}]})
    uploaded = take_upload(LOCAL, "listed.evalset.json", text.encode())
    tab = Tab(live.session_id)
    assert any("user" in label for label in labels(tab, "lantern user query"))
    assert any(label.startswith("Named") for label in labels(tab, "lighthouse"))
    assert any(label.startswith("Named") for label in labels(tab, "where session"))
    assert any("listed.evalset.json" in label for label in labels(tab, "lamp_case"))
    remove_upload(LOCAL, uploaded)


def test_the_search_looks_into_stored_sessions_and_opens_the_step(
    store: JournalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A response of another session, live or stored, is found: the step is named, plain, and is open where it leads.

    Of stored sessions none is read that has none of the words, and none twice.
    """
    begun("Where is the anchor?").simulation.journal.keep(5)
    live = begun()
    (request,) = live.simulation.view().pending
    order = {"order_id": "A-1001", "status": f"behind the Wheelhouse {HOSTILE}", "items": [], "total": 1.0}
    live.simulation.answer(request, order)
    live.simulation.journal.keep(5)
    read: list[str] = []
    load = JournalStore.load

    def counted(kept: JournalStore, session_id: str, **more: bool) -> StoredJournal:
        read.append(session_id)
        return load(kept, session_id, **more)

    monkeypatch.setattr(JournalStore, "load", counted)
    for is_live in (True, False):
        tab = Tab()
        assert labels(tab, "wheelhouse nowhere") == []
        (found,) = labels(tab, "wheelhouse find_order behind")
        assert "turn 1, step 3, tool output" in found
        assert "the Wheelhouse" in found
        assert tab.live_marks() == []
        assert read == ([] if is_live else [live.session_id])
        tab.click("found_0").run()
        assert tab.session_id == live.session_id
        assert "behind the Wheelhouse" in tab.literal
        server_ends()


def test_the_search_looks_into_recordings_and_opens_the_step(start: Tab, tmp_path: Path) -> None:
    """What a recording alone has is found by the search on every page, which leads to the step, and by that of the set."""
    path, tab = write_set(tmp_path / "desk.evalset.json", "one", "two"), start
    remember_set(LOCAL, path)
    record_case(path, "one")
    recording = sidecar_of(path)
    recording.write_text(recording.read_text().replace('"at": "Rome"', '"at": "Under the Drawbridge"'))
    (found,) = labels(tab, "drawbridge")
    assert "turn 1, step 4, recorded response of track" in found
    tab.click("found_0").run()
    assert tab.app.query_params["case"] in ("one", ["one"])
    assert tab.app.session_state["case_step_one_0_3"]
    assert "1 of 2 cases" in Tab(page="sets", set=str(path), case_search="drawbridge").words


FIRST_PAGE = """
import sys
import app.streamlit_app
import app.screens.page
large = ("google.adk", "google.genai", "pandas", "fastapi", "litellm")
later = ("app.screens.session_page", "app.screens.eval_sets_page", "app.screens.shared_page", "app.decision", "evalset.doctor")
print(*sorted({name for name in (*large, *later) if name in sys.modules}))
"""


@pytest.mark.long
def test_the_first_page_waits_for_no_large_import() -> None:
    """ADK, what draws tables, and the pages that come after it are imported once something needs them: they take longer than all else together."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_PAGE], capture_output=True, text=True, check=True, timeout=60
    )
    assert not done.stdout.split()


def test_no_agent_is_imported_before_the_page_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At first nothing is loaded; once the browser has come back a few times, everything is."""
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "agent.py").write_text("raise RuntimeError('odd')\n")
    # The command line is an input of the process.
    monkeypatch.setattr(sys, "argv", ["main.py", "--agents-dir", str(tmp_path), "--no-demos"])
    tab = Tab()
    listed = agent_catalogue.catalogue()
    assert (listed, "") not in agent_catalogue._threads
    assert [entry.state for entry in listed.entries()] == ["unread"]
    for _ in range(LOOKS_BEFORE_LOADING):
        tab.run()
    agent_catalogue._threads[listed, ""].join(timeout=60)
    assert [entry.state for entry in listed.entries()] == ["failed"]


def test_all_that_is_imported_ahead_is_there() -> None:
    """A name that no module has would only be logged, and whoever comes to that page first would wait."""
    assert warm_up(PAGES) == []
    assert warm_up() == []


def test_a_module_that_cannot_be_imported_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The rest is imported all the same; the page shows the error where it needs the module."""
    with caplog.at_level(logging.ERROR):
        assert warm_up(("no_module_has_this_name", "json")) == ["no_module_has_this_name"]
    assert "no_module_has_this_name" in caplog.text
