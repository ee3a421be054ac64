"""The agent of an eval set is the nearest one in its project; a renamed one is recognised by its tools, and its recordings are verified, migrated and imported under the new name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from evalset.__main__ import main
from evalset.doctor import Migration, examine, migrate
from evalset.recorded.known_agents import places_of
from evalset.recorded.recording_files import read_environment, sidecar_of
from evalset.verify import verify
from tests.evalset.ending import Ends
from tests.evalset.recorded.test_files import json_values
from tests.evalset.replay.desk_agent import SOURCE, write_desk
from tests.evalset.verify.desks import (
    LOWER,
    TWO_TURNS,
    copied_set,
    divergence_of,
    recorded_set,
    the_case,
    the_run,
)
from tests.evalset.verify.small_agents import agent

NEW = "clerk"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An eval set with one case that uses tools, an agent as a tool, and a transfer."""
    return recorded_set(tmp_path_factory.mktemp("kept"), {"two": (*TWO_TURNS, "transfer refunds")})


def _renamed(folder: Path, *others: str, tools: tuple[str, str] = ("", "")) -> Path:
    """Write the agent under its new name, its folder and itself, beside others; `tools` replaces a piece of the source."""
    agents = folder / "agents"
    (agents / NEW).mkdir(parents=True)
    (agents / NEW / "__init__.py").touch()
    source = SOURCE.replace('name="desk"', f'name="{NEW}"')
    (agents / NEW / "agent.py").write_text(source.replace(*tools) if tools[0] else source)
    for name in others:
        agent(agents, f"root_agent = LlmAgent(name={name!r}, model='none')\n", name)
    return agents


@pytest.mark.parametrize("models", ["real", "recorded"])
def test_the_new_name_is_proposed_and_verified_with(kept: Path, tmp_path: Path, models: Any) -> None:
    """The one agent that declares the same tools is named; with the new name the case passes, and the files are as they were."""
    agents, before = _renamed(tmp_path, "other"), sidecar_of(kept).read_bytes()
    found = verify(kept, agents_dir=agents, models=models)
    assert the_case(found).status == "error"
    assert found.renamed == {"desk": NEW}
    again = verify(kept, agents_dir=agents, models=models, renamed={"desk": NEW})
    assert again.status == "passed", the_run(again)
    assert again.renamed == {}
    assert sidecar_of(kept).read_bytes() == before


def test_an_agent_that_has_other_tools_is_not_proposed(kept: Path, tmp_path: Path) -> None:
    """Nor is one of two that both fit: nothing tells which it is."""
    changed = ("def note(order: str)", "def note(order: str, loud: bool = False)")
    assert verify(kept, agents_dir=_renamed(tmp_path / "other", "more", tools=changed)).renamed == {}
    agents = _renamed(tmp_path / "both")
    shutil.copytree(agents / NEW, agents / "second")
    assert verify(kept, agents_dir=agents).renamed == {}


@pytest.mark.long
def test_a_folder_alone_may_be_renamed(kept: Path, tmp_path: Path) -> None:
    """The agent in it is called as ever: its app's name alone changes."""
    agents = _renamed(tmp_path, "other")
    (agents / NEW / "agent.py").write_text(SOURCE)
    assert verify(kept, agents_dir=agents).renamed == {"desk": NEW}
    assert verify(kept, agents_dir=agents, models="recorded", renamed={"desk": NEW}).status == "passed"


@pytest.mark.long
def test_a_changed_agent_is_still_blamed_under_its_new_name(kept: Path, tmp_path: Path) -> None:
    """The renaming is no edit of the golden."""
    agents = _renamed(tmp_path, "other", tools=LOWER)
    run = the_run(verify(kept, agents_dir=agents, renamed={"desk": NEW}))
    assert run.edited == ()
    assert divergence_of(run).verdict == "agent_changed"


def test_the_doctor_proposes_the_new_name_and_renames_in_both_files(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After that both are verified without an option; done again, nothing changes."""
    agents, path = _renamed(tmp_path, "other"), copied_set(kept, tmp_path / "set")
    assert examine([path], agents_dir=agents).renamed == {"desk": NEW}
    main(["doctor", str(path), "--agents-dir", str(agents)])
    assert f"--rename-agent desk={NEW}" in capsys.readouterr().out
    main(["doctor", str(path), "--agents-dir", str(agents), "--rename-agent", f"desk={NEW}"])
    assert f"'{NEW}'" in capsys.readouterr().out
    (case,) = json.loads(path.read_text())["eval_cases"]
    assert case["session_input"]["app_name"] == NEW
    (recorded,) = read_environment(sidecar_of(path)).cases.values()
    assert (recorded.app_name, recorded.agent) == (NEW, NEW)
    assert {call.agent for turn in recorded.turns for call in turn.calls} == {NEW, "advisor", "refunds"}
    assert verify(path, agents_dir=agents, models="recorded").status == "passed"
    assert examine([path], agents_dir=agents).renamed == {}
    assert migrate([path], Migration(agents={"desk": NEW}), agents_dir=agents).files == ()


def test_a_sub_agent_and_an_agent_used_as_a_tool_are_renamed_everywhere(kept: Path, tmp_path: Path) -> None:
    """Transfers go to the new name, calls of the agent as a tool too, and what happened inside of it."""
    path = copied_set(kept, tmp_path / "set")
    migrate([path], Migration(agents={"refunds": "payments", "advisor": "counsel"}))
    agents = write_desk(tmp_path / "agents")
    renamed = SOURCE.replace('name="refunds"', 'name="payments"').replace('name="advisor"', 'name="counsel"')
    (agents / "agent.py").write_text(renamed)
    texts = path.read_text() + sidecar_of(path).read_text()
    assert '"agent_name": "payments"' in texts
    assert '"name": "counsel"' in texts
    verification = verify(path, agents_dir=agents.parent, models="recorded")
    assert verification.status == "passed", the_run(verification)


def test_a_name_that_is_none_is_refused(kept: Path, tmp_path: Path, ends: Ends) -> None:
    """By each command, before anything is done."""
    agents = str(_renamed(tmp_path))
    for command in ("verify", "doctor"):
        assert (
            "--rename-agent desk=: expected OLD=NEW"
            in ends(2, command, kept, "--agents-dir", agents, "--rename-agent", "desk=", program=main).err
        )


@given(json_values)
def test_what_is_said_is_left_alone(said: Any) -> None:
    """Arguments, responses, states and texts may hold the name anywhere."""
    data = {
        "tool_uses": [{"name": "find", "args": {"agent": "desk", "agent_name": "desk", "said": said}}],
        "tool_responses": [{"name": "find", "response": {"author": "desk", "said": said}}],
    }
    case = {
        "eval_id": "desk",
        "session_input": {"app_name": "desk", "state": {"agent": "desk", "said": said}},
        "conversation": [{"user_content": {"parts": [{"text": "desk"}]}, "intermediate_data": data}],
    }
    assert dict(places_of(case, {"desk": NEW})) == {("session_input", "app_name"): NEW}


@pytest.mark.parametrize(
    ("agents", "sets"),
    [
        ("agents", "tests/eval/evalsets"),
        ("agents", "agents"),
        pytest.param("src", "eval", marks=pytest.mark.long),
        pytest.param(".", "tests/eval/evalsets", marks=pytest.mark.long),
        (".", "desk/tests/eval/evalsets"),
        ("agents", "agents/desk/eval/data/deep"),
    ],
)
def test_a_set_finds_its_agent_in_its_project(kept: Path, tmp_path: Path, agents: str, sets: str) -> None:
    """Without an option, as far as its project goes."""
    project = tmp_path / "project"
    write_desk(project / agents)
    (project / "pyproject.toml").touch()
    path = copied_set(kept, project / sets)
    assert [case.status for case in verify(path, models="recorded").cases] == ["passed"]


def test_the_nearest_agent_above_a_set_counts(kept: Path, tmp_path: Path) -> None:
    """Where the folder that is given is another agent, the one beside the set is verified, and the other is not blamed."""
    outer = tmp_path / "outer"
    write_desk(outer)
    agent(tmp_path, 'root_agent = LlmAgent(name="other", model="gemini-2.5-flash")\n', "outer")
    path = copied_set(kept, outer / "desk" / "evals")
    assert [case.status for case in verify(path, agents_dir=outer, models="recorded").cases] == ["passed"]
    files = examine([copied_set(kept, outer / "eval")], agents_dir=outer).files  # the case names it
    assert "other-app-name" not in [found.code for file in files for found in file.findings]


def test_beyond_its_project_no_agent_is_looked_for(kept: Path, tmp_path: Path) -> None:
    """The error says where it was looked for, and what helps."""
    write_desk(tmp_path)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".git").mkdir()
    path = copied_set(kept, tmp_path / "project" / "sets" / "deep")
    (case,) = verify(path, models="recorded").cases
    assert case.status == "error"
    assert "Name the folder of the agents: --agents-dir" in case.error
