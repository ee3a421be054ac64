"""A kept session whose agent was renamed goes on with the one agent that declares the same tools."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from app.live.live_sessions import registry
from app.live.reopened_sessions import reopened
from app.live.session_store import server_store
from simulator.agents import DEMOS_DIR
from simulator.scripts import script_of
from simulator.store import JournalStore, read_session
from tests.app.desk_sessions import begun, live_of, server_ends
from tests.app.page_driver import Tab

OLD, NEW = "order_desk", "counter"


@pytest.fixture
def agents(tmp_path: Path, store: JournalStore, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a copy of the order desk and another agent."""
    assert store.trouble is None
    folder = tmp_path / "agents"
    shutil.copytree(DEMOS_DIR / OLD, folder / OLD)
    (folder / "other").mkdir()
    (folder / "other" / "agent.py").write_text(
        "from google.adk.agents import LlmAgent\nroot_agent = LlmAgent(name='other', model='none')\n"
    )
    monkeypatch.setattr("sys.argv", ["app", "--agents-dir", str(folder), "--no-demos"])
    return folder


@pytest.fixture
def session_id(agents: Path) -> str:
    """A session whose first call was answered, and whose second one waits."""
    assert agents.is_dir()
    live = begun()
    tab = Tab(live.session_id)
    tab.click(tab.key("accept_"))
    return live.session_id


def _renamed(agents: Path, session_id: str, *, itself: bool = True) -> str:
    """End the server, rename the agent's folder and, if asked for, the agent in it; return the journal."""
    live = live_of(session_id)
    journal = live.simulation.journal.to_json()
    server_ends()
    (agents / OLD).rename(agents / NEW)
    if itself:
        for file in (agents / NEW).glob("*.py"):
            text = file.read_text()
            file.write_text(text.replace(f'name="{OLD}"', f'name="{NEW}"'))
        assert f'name="{NEW}"' in "".join(file.read_text() for file in (agents / NEW).glob("*.py"))
    return journal


@pytest.mark.long
@pytest.mark.parametrize("itself", [False, True], ids=["folder", "folder and agent"])
def test_it_continues_under_the_new_name(agents: Path, session_id: str, *, itself: bool) -> None:
    """A click goes on with it; the journal is as it was, what waits waits, and the next start knows the new name."""
    before = _renamed(agents, session_id, itself=itself)
    tab = Tab(session_id)
    assert f"'{OLD}'" in tab.literal
    assert NEW in tab.literal
    tab.click("continue_renamed")
    live = live_of(session_id)
    assert live.simulation.journal.to_json() == before
    view = live.simulation.view()
    assert view.divergence is None
    assert view.pending
    assert f"{OLD} is now called {NEW}" in tab.literal
    assert "has changed since" not in tab.literal
    length = len(live.simulation.journal)
    tab.click(tab.key("accept_"))
    assert live.simulation.view().divergence is None
    assert len(live.simulation.journal) > length
    server_ends()
    again = Tab(session_id)
    assert not again.has("continue_renamed")
    kept = server_store().store
    assert kept is not None
    assert kept.record(session_id).agent_key == NEW
    assert read_session(kept.export(session_id)).fold.agent_name == OLD
    assert script_of(kept.load(session_id)).turns
    assert registry().get(session_id) is not None


@pytest.mark.long
def test_what_else_changed_is_said(agents: Path, session_id: str) -> None:
    """As of any agent that has changed; the renaming itself is no change."""
    _renamed(agents, session_id)
    (path,) = [file for file in (agents / NEW).glob("*.py") if f'name="{NEW}"' in file.read_text()]
    path.write_text(path.read_text().replace(f'name="{NEW}"', f'name="{NEW}", global_instruction="Be kind."'))
    live = reopened(session_id, agent=NEW)
    assert live is not None
    assert f"{OLD} has changed (its global instruction)" in live.word
    assert "gone" not in live.word


def test_where_two_fit_nothing_is_offered(agents: Path, session_id: str) -> None:
    """The page names both; where none fits it says so."""
    _renamed(agents, session_id)
    shutil.copytree(agents / NEW, agents / "second")
    tab = Tab(session_id)
    assert f"({NEW}, second)" in tab.literal
    assert not tab.has("continue_renamed")
    for name in (NEW, "second"):
        shutil.rmtree(agents / name)
    tab.run()
    assert NEW not in tab.literal
    assert not tab.has("continue_renamed")
