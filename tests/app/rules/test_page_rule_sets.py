"""Rules in and out of a session: files and texts in every format, and sets that all agents share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.rules.rule_exchange import FORMS, appended, config_of, exported, missing_tools
from app.rules.rule_exchange_panel import RULES_VARIABLE, folder_for
from simulator.environment.injection.adk_injection_config import ReadConfig
from simulator.environment.injection.distortions import Distortion
from simulator.environment.injection.rule_effects import DistortEffect
from simulator.environment.injection.rule_sets import RuleSet, RuleSetFolder, read_rule_set
from tests.app.environment.shaped import Shaped
from tests.app.fakes import FakeSimulation, put_live, rule
from tests.app.page_driver import HOSTILE, Tab

SESSION = "session-0001-abcdef"
ADK = {
    "tool_simulation_configs": [
        {"tool_name": "find_order", "injection_configs": [{"injected_response": {"status": "lost"}}]},
        {"tool_name": "send_fax", "mock_strategy_type": 1},
    ],
    "environment_data": "{}",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RuleSetFolder:
    """A folder of the test's own; set in the environment, because that is how a server is told."""
    monkeypatch.setenv(RULES_VARIABLE, str(tmp_path / "sets"))
    return RuleSetFolder(tmp_path / "sets")


@pytest.fixture
def simulation() -> FakeSimulation:
    """A session without rules."""
    fake = FakeSimulation(SESSION).ask("Where is order A-1?")
    put_live(fake)
    return fake


def opened() -> Tab:
    """The page with the sets and files."""
    tab = Tab(SESSION).click("open_environment")
    return tab.choose("rules_side", "Sets and files")


def pasted(tab: Tab, text: str) -> Tab:
    """Paste a text."""
    tab.fill("paste_", text)
    return tab.run()


def ids(simulation: FakeSimulation) -> list[str]:
    """Return the ids of the rules in force."""
    return [each.rule_id for each in simulation.session.rules]


def test_an_adk_configuration_is_taken_in_and_saved_as_a_set(
    simulation: FakeSimulation, folder: RuleSetFolder
) -> None:
    """Its injections become rules behind those that are there, or in their place, which can be taken back; what is no rule stays out where it is not wanted.

    A saved set is in the folder under its name; tools that this agent lacks are named before it is taken in.
    """
    simulation.set_rules([rule("mine")])
    tab = pasted(opened(), json.dumps(ADK))
    assert "send_fax" in tab.literal
    tab.fill("beside_", False).run().click("append_incoming")
    assert ids(simulation) == ["mine", "find_order[0]"]
    tab.click("append_incoming")
    assert ids(simulation) == ["mine", "find_order[0]", "find_order[0]-1"]
    tab.click("replace_incoming")
    assert ids(simulation) == ["find_order[0]"]
    tab.click("rules_put_back")
    assert ids(simulation) == ["mine", "find_order[0]", "find_order[0]-1"]
    simulation.set_rules([rule("a"), rule("fax", tool_name="send_fax")])
    tab = opened()
    tab.fill("save_name_", "flaky / payments").run().click("rule_set_save")
    assert [(each.name, each.rules) for each in folder.list()] == [("flaky / payments", 2)]
    simulation.set_rules([])
    tab.run()
    assert "send_fax" in tab.literal
    tab.click(tab.key("append_flaky"))
    assert ids(simulation) == ["a", "fax"]


def test_all_of_an_adk_configuration_is_taken_in_and_given_out() -> None:
    """Its data, recorded calls, model and mock tools are in force with its rules, and in the export again."""
    config = {
        **ADK,
        "environment_data": '{"orders": [{"order_id": "A-7"}]}',
        "simulation_model": "gemini-2.5-flash",
        "tracing": "no trace",
    }
    shaped = Shaped()
    tab = shaped.tab.choose("rules_side", "Sets and files")
    pasted(tab, json.dumps(config))
    assert "tracing: " in tab.literal
    tab.click("append_incoming")
    session = shaped.simulation.session
    assert [each.rule_id for each in session.rules] == ["find_order[0]"]
    assert session.environment.data == config["environment_data"]
    assert session.seats.of_tool("send_fax") == "model"
    again = read_rule_set(exported(config_of(session), "adk_yaml", "").text).adk
    assert again is not None
    assert (again.mock_tools, again.simulation_model) == (("send_fax",), "gemini-2.5-flash")
    assert again.environment_data == config["environment_data"]


def test_a_file_is_uploaded(simulation: FakeSimulation) -> None:
    """A file counts before the text, of which a mistake says where it is; one that is no text says so.

    Code of one `InjectionConfig` names no tool, so one is chosen; one `ToolSimulationConfig` names its own.
    """
    broken = {"tool_simulation_configs": [{"tool_name": "a", "injection_configs": [{"x": 1}]}]}
    tab = pasted(opened(), json.dumps(ADK | broken))
    assert tab.app.error
    assert "tool 'a', injection 0" in tab.literal
    assert tab.typed("paste_") == json.dumps(ADK | broken)
    assert ids(simulation) == []
    alone = 'InjectionConfig(injected_response={"status": "ok"})'
    pasted(tab, alone).fill("import_tool_", "find_order").run().click("append_incoming")
    assert [each.tool_name for each in simulation.session.rules] == ["find_order"]
    pasted(tab, f'ToolSimulationConfig(tool_name="send_fax", injection_configs=[{alone}])')
    tab.click("append_incoming")
    assert ids(simulation) == ["find_order[0]", "send_fax[0]"]
    simulation.set_rules([])
    tab.run().app.file_uploader[0].set_value(
        ("simulation.json", json.dumps(ADK).encode(), "application/json")
    )
    tab.run().click("append_incoming")
    assert ids(simulation) == ["find_order[0]"]
    tab.app.file_uploader[0].set_value(("simulation.json", b"\xff\xfe", "application/json"))
    tab.run()
    assert "UTF-8" in tab.literal


def test_sets_are_renamed_and_deleted(simulation: FakeSimulation, folder: RuleSetFolder) -> None:
    """A set gets another name, one that is taken is refused in words, and a deleted one is gone.

    One that cannot be read is named with what is wrong, letter for letter. What a format loses is listed before the download.
    """
    for name in ("first", "second"):
        folder.save(RuleSet(name=name, rules=(rule(),)))
    effect = DistortEffect(distortions=(Distortion(kind="drop"),))
    simulation.set_rules([rule("cut", effect=effect)])
    tab = opened()
    assert not tab.keys("export_losses")
    tab.fill("form_", "adk_python").run()
    assert tab.keys("export_losses")
    assert "'cut'" in tab.literal
    tab.fill("rename_to_first", "second").run().click(tab.key("rename_now_first"))
    assert "'second'" in tab.literal
    assert [each.name for each in folder.list()] == ["first", "second"]
    tab.fill("rename_to_first", "third").run().click(tab.key("rename_now_first"))
    assert [each.name for each in folder.list()] == ["second", "third"]
    tab.click(tab.key("delete_now_second"))
    assert [each.name for each in folder.list()] == ["third"]
    assert ids(simulation) == ["cut"]
    folder.save(RuleSet(name=HOSTILE, rules=(rule(HOSTILE, tool_name=HOSTILE),)))
    (folder.path / "bad.rules.json").write_text('{"format": "' + HOSTILE.replace('"', "") + '"}')
    assert "Damaged: " in tab.run().literal
    assert tab.live_marks() == []


@pytest.mark.parametrize("form", list(FORMS))
def test_each_format_is_read_back(form: str) -> None:
    """What is exported in any format is recognised and read as the same rules."""
    rules = (rule("find_order[0]", random_seed=3),)
    text = exported(ReadConfig(rules=rules), form, "Order desk").text  # type: ignore[arg-type] # one of the forms
    assert read_rule_set(text).rule_set.rules == rules


def test_rules_are_appended_without_two_of_one_id() -> None:
    """Also where several of those that come have an id that is taken."""
    more = appended((rule("a"), rule("a-1")), (rule("a"), rule("b")))
    assert [each.rule_id for each in more] == ["a", "a-1", "a-2", "b"]
    assert missing_tools((rule(tool_name="*"), rule(tool_name="x"), rule()), ("find_order",)) == ("x",)


def test_the_folder_is_where_the_server_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable wins; else the sets are beside the agents folder; else in the user's own state."""
    monkeypatch.setenv("HOME", "/home/ada")
    assert folder_for([], {RULES_VARIABLE: "/srv/sets"}) == Path("/srv/sets")
    assert folder_for(["--agents-dir", "/srv/agents"], {}) == Path("/srv/rule_sets")
    assert folder_for([], {"XDG_STATE_HOME": "/srv/state"}) == Path(
        "/srv/state/golden-trace-studio/rule_sets"
    )
    assert folder_for(["--unknown"], {}).is_relative_to("/home/ada")
