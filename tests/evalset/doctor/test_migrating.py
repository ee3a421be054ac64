"""Renamed tools and changed arguments go through eval sets old and new and recorded environments, all places at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError, create_model

from evalset.doctor import (
    DroppedArgument,
    Migration,
    RenamedArgument,
    SetArgument,
    examine,
    known_agent,
    migrate,
    preview_migration,
)
from evalset.files.case_text import loaded
from evalset.recorded.golden_digests import recording_edits, with_golden
from evalset.recorded.recording_files import read_environment, sidecar_of
from simulator.agent_config import SimulatedAgentConfig
from tests.evalset.doctor.examples import (
    a_call,
    a_case,
    a_digest,
    a_recorded_call,
    a_recorded_case,
    a_set,
    a_turn,
    an_answer,
    an_environment,
    an_event,
    events,
    find_order,
    in_bytes,
    put,
)
from tests.evalset.doctor.pitfalls import ENVIRONMENT, SET
from tests.evalset.verify.desks import recorded_set

RENAMES = Migration(
    tools={"find_order": "look_up"},
    renamed=(RenamedArgument(tool="find_order", old="order_id", new="order"),),
    dropped=(DroppedArgument(tool="find_order", name="old"),),
    given=(SetArgument(tool="find_order", name="deep", value=[1, {"ü": None}]),),
)


QUESTION = {
    "function_call": {
        "id": "q", "name": "adk_request_confirmation",
        "args": {"originalFunctionCall": {"id": "c", "name": "find_order", "args": {"order_id": "A"}}},
    }
}  # fmt: skip
"""ADK's question whether a tool may run, which quotes the call."""


def read(folder: Path, name: str = SET) -> Any:
    """Read a file as JSON."""
    return json.loads((folder / name).read_bytes())


def test_every_place_of_a_set_is_migrated(tmp_path: Path) -> None:
    """Calls and answers in lists, in events, in messages, and quoted in a question; texts that only look alike stay."""
    in_events = a_turn(
        2, intermediate_data=events(an_event(a_call(order_id="A", old=1), QUESTION), an_event(an_answer()))
    )
    camel = {
        "toolUses": [{"name": "find_order"}],
        "intermediateResponses": [["desk", [{"functionCall": {"name": "find_order"}}]]],
    }
    state = {"name": "find_order", "order_id": "A", "function_call": {"name": "find_order"}}
    case = a_case(
        "one",
        a_turn(),
        in_events,
        a_turn(3, intermediate_data=camel),
        session_input={"app_name": "desk", "user_id": "u", "state": state},
    )
    put(tmp_path, {SET: in_bytes(a_set(case))})
    shown = preview_migration([tmp_path], RENAMES).files[0]
    done = migrate([tmp_path], RENAMES).files[0]
    assert done.written
    assert done.after == shown.after
    case = read(tmp_path)["eval_cases"][0]
    assert case["session_input"]["state"] == state
    plain, with_events, in_camel = (turn["intermediate_data"] for turn in case["conversation"])
    new = {"order": "A-1", "deep": [1, {"ü": None}]}
    assert plain["tool_uses"][0] == {"id": "call-1", "name": "look_up", "args": new}
    assert plain["tool_responses"][0]["name"] == "look_up"
    called, asked = with_events["invocation_events"][0]["content"]["parts"]
    assert called["function_call"]["args"] == {"order": "A", "deep": [1, {"ü": None}]}
    quoted = asked["function_call"]["args"]["originalFunctionCall"]
    assert quoted == {"id": "c", "name": "look_up", "args": {"order": "A", "deep": [1, {"ü": None}]}}
    assert in_camel["toolUses"] == [{"name": "look_up", "args": {"deep": [1, {"ü": None}]}}]
    assert b'"name": "find_order"' not in in_bytes([with_events, in_camel])
    (renamed,) = (each for each in done.mended if "'order'" in each.meaning)
    assert renamed.count == 3
    assert all(name in renamed.meaning for name in ("'order_id'", "'find_order'"))
    assert migrate([tmp_path], RENAMES).files == ()


@pytest.mark.parametrize("in_camel", [False, True])
def test_the_tools_that_adk_keeps_as_declared_are_migrated(tmp_path: Path, *, in_camel: bool) -> None:
    """`app_details` has the new names of agents, tools and arguments; what only looks alike stays."""
    schema = {
        "type": "OBJECT",
        "properties": {"order_id": {"type": "STRING"}, "old": {}, "name": {"description": "find_order"}},
        "required": ["order_id", "old", "name"],
    }
    tools = [{"function_declarations": [{"name": "find_order", "parameters": schema}, {"name": "other"}]}]
    details = {"name": "desk", "instructions": "Use find_order.", "tool_declarations": tools}
    turn = a_turn(app_details={"agent_details": {"desk": details}})
    if in_camel:
        tools[0] = {"functionDeclarations": tools[0]["function_declarations"]}
        details = {"name": "desk", "instructions": "Use find_order.", "toolDeclarations": tools}
        turn = a_turn(appDetails={"agentDetails": {"desk": details}})
    put(tmp_path, {SET: in_bytes(a_set(a_case("one", turn)))})
    move = RENAMES.model_copy(update={"agents": {"desk": "counter"}})
    assert migrate([tmp_path], move).files[0].written
    kept = loaded(tmp_path / SET).eval_cases[0].conversation
    assert kept
    assert kept[0].app_details
    agent = kept[0].app_details.model_dump(mode="json", exclude_none=True)["agent_details"]["counter"]
    declared = agent["tool_declarations"][0]
    first, other = declared.get("function_declarations") or declared["functionDeclarations"]
    assert (agent["name"], agent["instructions"], other["name"]) == ("counter", "Use find_order.", "other")
    assert first["name"] == "look_up"
    assert list(first["parameters"]["properties"]) == ["order", "name"]
    assert first["parameters"]["required"] == ["order", "name"]
    assert migrate([tmp_path], move).files == ()


def test_old_eval_data_is_migrated_in_its_own_form(tmp_path: Path) -> None:
    """A list of queries stays one."""
    use = {"tool_name": "find_order", "tool_input": {"order_id": "A", "old": 1}}
    put(tmp_path, {"a.test.json": in_bytes([{"query": "find_order", "expected_tool_use": [use]}])})
    assert migrate([tmp_path], RENAMES).files[0].written
    assert read(tmp_path, "a.test.json") == [
        {
            "query": "find_order",
            "expected_tool_use": [
                {"tool_name": "look_up", "tool_input": {"order": "A", "deep": [1, {"ü": None}]}}
            ],
        }
    ]


def test_a_recorded_environment_is_migrated_with_its_set(tmp_path: Path) -> None:
    """Calls, models' turns, rules and the tools' digests; the environment still fits its set."""
    rule = {
        "rule_id": "slow", "tool_name": "find_order", "effect": {"kind": "response", "value": {}},
        "match_args": {"order_id": "A-1"},
    }  # fmt: skip
    turn = {
        "query": {"role": "user", "parts": [{"text": "x"}]},
        "calls": [a_recorded_call(), a_recorded_call(2, within=["find_order"], arguments={"order_id": "A-2"})],
        "models": [{"agent": "desk", "author": {"source": "model"}, "responses": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "find_order", "args": {"order_id": "A-1"}}}]}}]}],
    }  # fmt: skip
    tolerances = [
        {"kind": "ignore", "tool": "find_order", "path": "order_id[0].x"},
        {"kind": "ignore", "tool": "other", "path": "order_id"},
    ]
    case = a_recorded_case(
        turns=[turn],
        tools={"find_order": {"schema_digest": "x"}},
        rules=[rule],
        tolerances=tolerances,
    )
    put(tmp_path, {SET: in_bytes(a_set()), ENVIRONMENT: in_bytes(an_environment(one=case) | {"version": 2})})
    assert [change.written for change in migrate([tmp_path], RENAMES).files] == [True, True]
    read_case = read_environment(tmp_path / ENVIRONMENT).cases["one"]
    assert set(read_case.tools) == {"look_up"}
    assert [call.tool for call in read_case.turns[0].calls] == ["look_up", "look_up"]
    assert read_case.turns[0].calls[1].within == ("look_up",)
    assert [(each.tool, each.path) for each in read_case.tolerances] == [
        ("look_up", "order[0].x"),
        ("other", "order_id"),
    ]
    assert read_case.rules[0].tool_name == "look_up"
    assert read_case.rules[0].match_args == {"order": "A-1"}
    assert b"find_order" not in (tmp_path / ENVIRONMENT).read_bytes()
    assert [each.code for each in examine([tmp_path]).findings] == []


def test_the_digests_of_goldens_follow_and_others_stay(tmp_path: Path) -> None:
    """An edit by hand is noticed after a migration, too; a case that does not call the tool keeps its digests as they were written.

    A call whose arguments nobody knows any more leaves no digest that would tell something wrong.
    """
    eval_set = recorded_set(
        tmp_path,
        {"one": ["check A; note A"], "two": ["note B"], "three": ["check C"], "four": ["check D"]},
    )
    sidecar = sidecar_of(eval_set)
    document = json.loads(sidecar.read_text())
    (turn,) = document["cases"]["three"]["turns"]
    turn["golden"]["calls"][0]["arguments"] = "0" * 16
    document["cases"]["four"]["turns"][0]["calls"][0]["outcome"]["value"] = {"status": "lost"}
    sidecar.write_text(json.dumps(document))
    moved = Migration(
        tools={"check": "inspect"}, renamed=(RenamedArgument(tool="check", old="order", new="item"),)
    )
    assert all(change.written for change in migrate([eval_set, sidecar], moved).files)
    after, cases = json.loads(sidecar.read_text()), read_environment(sidecar).cases
    assert json.dumps(after["cases"]["two"]["turns"]) == json.dumps(document["cases"]["two"]["turns"])
    for case in loaded(eval_set).eval_cases[:2]:
        assert with_golden(cases[case.eval_id], case) == cases[case.eval_id]
        assert cases[case.eval_id].turns[0].golden is not None
    assert cases["three"].turns[0].golden is None
    assert [len(recording_edits(cases[each])) for each in ("one", "four")] == [0, 1]
    assert migrate([eval_set, sidecar], moved).files == ()


def test_names_can_be_swapped(tmp_path: Path) -> None:
    """Two tools, and two arguments, change places: all is done at once."""
    uses = [{"name": "a", "args": {"x": 1, "y": 2}}, {"name": "b", "args": {}}]
    put(tmp_path, {SET: in_bytes(a_set(a_case("one", a_turn(intermediate_data={"tool_uses": uses}))))})
    swap = Migration(
        tools={"a": "b", "b": "a"},
        renamed=(RenamedArgument(tool="a", old="x", new="y"), RenamedArgument(tool="a", old="y", new="x")),
    )
    migrate([tmp_path], swap)
    data = read(tmp_path)["eval_cases"][0]["conversation"][0]["intermediate_data"]
    assert data["tool_uses"] == [{"name": "b", "args": {"y": 1, "x": 2}}, {"name": "a", "args": {}}]


def test_an_argument_is_never_put_over_another_one(tmp_path: Path) -> None:
    """Where a call has the new name already, the file and the one beside it stay as they are, and the place is told."""
    uses = [{"name": "find_order", "args": {"order_id": "A", "order": "B"}}]
    files = {
        SET: in_bytes(a_set(a_case("one", a_turn(intermediate_data={"tool_uses": uses})))),
        ENVIRONMENT: in_bytes(an_environment()),
    }
    put(tmp_path, files)
    problems = migrate([tmp_path], RENAMES).problems
    assert len(problems) == 2
    assert all(name in problems[0] for name in (SET, "'order_id'", "'order'"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_a_condition_that_may_name_an_argument_is_left_and_told(tmp_path: Path) -> None:
    """The rule's condition is a person's own: it is not changed behind their back."""
    rule = {
        "rule_id": "odd", "tool_name": "find_order", "effect": {"kind": "response", "value": {}},
        "when": {"kind": "argument", "path": "order_id", "test": {"test": "present"}},
    }  # fmt: skip
    environment = an_environment(one=a_recorded_case(rules=[rule]))
    put(tmp_path, {SET: in_bytes(a_set()), ENVIRONMENT: in_bytes(environment)})
    told = [each for change in migrate([tmp_path], RENAMES).files for each in change.mended]
    assert "'odd'" in next(each.meaning for each in told if each.code == "migration-left")


def test_a_damaged_file_is_to_be_mended_first(tmp_path: Path) -> None:
    """It is named with what is wrong, and stays as it is."""
    put(tmp_path, {SET: in_bytes(a_set())[:-9], "other.evalset.json": in_bytes(a_set())})
    done = migrate([tmp_path], RENAMES)
    assert "fix it first" in done.problems[0]
    assert [change.file.name for change in done.files if change.written] == ["other.evalset.json"]


RENAMED = [{"tool": "a", "old": "x", "new": "y"}]


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ({"tools": {"": "x"}}, "name is empty"),
        ({"renamed": RENAMED, "dropped": [{"tool": "a", "name": "x"}]}, r"for a\.x"),
        ({"renamed": RENAMED, "given": [{"tool": "a", "name": "y", "value": 1}]}, r"a\.y .*twice"),
    ],
)
def test_a_migration_says_one_thing_of_each_argument(words: dict[str, Any], wrong: str) -> None:
    """What cannot all be done is refused before anything is read."""
    with pytest.raises(ValidationError, match=wrong):
        Migration.model_validate(words)


def an_agent_with_an_agent(name: str = "expert", *, asks: str = "request") -> SimulatedAgentConfig:
    """Make an agent that asks another one as a tool, with a message that has one field."""
    from google.adk.agents import LlmAgent  # noqa: PLC0415 - ADK is slow to import, and most tests need no agent
    from google.adk.tools.agent_tool import AgentTool  # noqa: PLC0415 - as above

    schema = None if asks == "request" else create_model("Ask", **{asks: (str, ...)})  # type: ignore[call-overload] # a field's name
    expert = LlmAgent(name=name, model="none", description="Finds.", tools=[find_order], input_schema=schema)
    return SimulatedAgentConfig(
        "desk", LlmAgent(name="desk", model="none", tools=[AgentTool(expert)]), "x.evalset.json"
    )


@pytest.mark.parametrize(
    ("changed", "args", "codes"),
    [
        ({}, {"request": "A-1?"}, []),
        ({}, {"question": "A-1?"}, ["refused-arguments"]),
        ({"asks": "order"}, {"request": "A-1?"}, ["refused-arguments"]),
        ({"name": "finder"}, {"request": "A-1?"}, ["unknown-tool"]),
    ],
)
def test_calls_of_an_agent_that_is_a_tool_are_examined(
    tmp_path: Path, changed: dict[str, Any], args: dict[str, str], codes: list[str]
) -> None:
    """By what the agent takes, as calls of other tools are; a renamed one is known by the calls that were recorded inside of it."""
    uses = {"tool_uses": [{"id": "c", "name": "expert", "args": args}], "tool_responses": []}
    inner = a_recorded_call(agent="expert", within=["expert"])
    asked = {
        "agent": "desk",
        "responses": [{"content": {"role": "model", "parts": [a_call("expert", **args)]}}],
    }
    recorded = a_recorded_case(inner)
    recorded["turns"][0]["models"] = [asked]
    recorded["tools"] = {"find_order": {"schema_digest": a_digest()}}
    files = {
        SET: in_bytes(a_set(a_case("one", a_turn(intermediate_data=uses)))),
        ENVIRONMENT: in_bytes(an_environment(one=recorded)),
    }
    put(tmp_path, files)
    found = examine([tmp_path], agents={"desk": known_agent(an_agent_with_an_agent(**changed))}).findings
    told = [
        each.code
        for each in found
        if each.file.name == SET and each.code in {"refused-arguments", "unknown-tool"}
    ]
    assert told == codes
