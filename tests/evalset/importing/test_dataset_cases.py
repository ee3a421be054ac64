"""Datasets and traces that others wrote become cases; what they lack is named, and a case that cannot be read says where and is left out."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from google.genai import types

from evalset import export_cases, import_cases
from evalset.recorded.recording import CaseNote
from evalset.recorded.recording_files import read_environment, sidecar_of
from tests.evalset.ending import Ends
from tests.evalset.golden_trace.traces import calls, roles, text
from tests.evalset.golden_trace.traces import turns as turns_of

Json = dict[str, Any]


def said(words: str, role: str = "user") -> Json:
    """Write a content of text."""
    return {"role": role, "parts": [{"text": words}]}


def event(author: str, content: Json | None = None, **more: Any) -> Json:
    """Write an event."""
    return {"author": author, **({"content": content} if content else {}), **more}


CALL = {"role": "model", "parts": [{"function_call": {"id": "c", "name": "find", "args": {"x": 1}}}]}
ANSWER = {"role": "user", "parts": [{"function_response": {"id": "c", "name": "find", "response": {"y": 2}}}]}


def a_trace(**more: Any) -> Json:
    """Write what `eval generate` makes of a case with a prompt: its only turn holds what the agent did."""
    events = [
        event("desk", CALL, event_time="2026-06-01T12:00:00Z"),
        event("desk", ANSWER, state_delta={"found": True}, event_time="2026-06-01T12:00:01Z"),
        event("desk", said("Found.", "model"), event_time="2026-06-01T12:00:02Z"),
    ]
    turns = [{"turn_index": 0, "turn_id": "turn_0", "events": events}]
    agents = {"desk": {"agent_id": "desk"}}
    responses = [{"response": said("Found.", "model")}]
    return {
        "eval_case_id": "traced",
        "prompt": said("Find it."),
        "agent_data": {"agents": agents, "turns": turns},
        "responses": responses,
        **more,
    }


def written(path: Path, *cases: Any) -> Path:
    """Write a dataset."""
    path.write_text(json.dumps({"eval_cases": list(cases)}))
    return path


def fit(problems: Sequence[str], *patterns: str) -> None:
    """Check that each problem names what its pattern does, and that there is no other."""
    assert len(problems) == len(patterns), problems
    for problem, pattern in zip(problems, patterns, strict=True):
        assert re.fullmatch(pattern, problem), problem


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a dataset is written."""
    return tmp_path / "basic-dataset.json"


def test_a_prompt_with_a_reference_is_a_turn(path: Path) -> None:
    """What the form cannot say is named once for all cases; each group of rubrics is taken."""
    groups = {
        "g": {
            "rubrics": [{"rubric_id": "r", "content": {"property": {"description": "Be kind."}}, "type": "T"}]
        }
    }
    one = {"eval_case_id": "a", "prompt": said("Hi."), "reference": {"response": said("Hello.", "model")}}
    found = import_cases(
        written(path, {**one, "rubric_groups": groups}, {**one, "eval_case_id": "b", "mood": 1})
    )
    first, second = found.cases
    assert [case.eval_id for case in found.cases] == ["a", "b"]
    (turn,) = turns_of(first)
    assert (text(turn.user_content), text(turn.final_response)) == ("Hi.", "Hello.")
    assert roles(turn) == ("user", "model")
    assert [(each.rubric_id, each.rubric_content.text_property) for each in first.rubrics or ()] == [
        ("g/r", "Be kind.")
    ]
    assert second.rubrics is None
    assert found.environments == {}
    fit(
        found.problems,
        "basic-dataset.json: .*tool calls.*: 'a', 'b'",
        "basic-dataset.json: .*`session_input`.*: 'a', 'b'",
        "basic-dataset.json: .*`mood`.*: 'b'",
    )


def two_turns() -> list[Json]:
    """Write a conversation of two turns after a state, a case for each."""
    seeds = event("user", state_delta={"tier": "gold"})
    first = [seeds, event("user", said("One."))]
    whole = [*first, *(event("model", each) for each in (CALL, ANSWER, said("1", "model")))]
    held = ([first], [whole, [event("user", said("Two."))]])
    return [
        {
            "eval_case_id": f"talk_turn{number}",
            "agent_data": {"turns": [{"events": events} for events in turns]},
            "reference": {"response": said(f"{number + 1}", "model")},
        }
        for number, turns in enumerate(held)
    ]


def test_the_session_of_a_case_is_kept(path: Path) -> None:
    """Its app, user and state, of questions, traces and scenarios alike; state changes before the first message come on top."""
    session = {"appName": "desk", "user_id": "ada", "state": {"tier": "gold", "seen": 0}}
    leading = event("user", state_delta={"seen": 1})
    asked = {"agent_data": {"turns": [{"events": [leading, event("user", said("Hi."))]}]}}
    scenario = {"user_scenario": {"starting_prompt": "Hi.", "conversation_plan": "Ask."}}
    found = import_cases(
        written(
            path,
            {"eval_case_id": "a", **asked, "session_input": session},
            {"eval_case_id": "b", **scenario, "session_inputs": session},
            a_trace(session_input=session),
            {"eval_case_id": "c", "prompt": said("Hi."), "session_input": {}},
        )
    )
    kept = [case.session_input for case in found.cases]
    assert [each and (each.app_name, each.user_id, each.state) for each in kept] == [
        ("desk", "ada", {"tier": "gold", "seen": 1}),
        ("desk", "ada", session["state"]),
        ("desk", "ada", session["state"]),
        None,
    ]
    assert not any("session_input" in problem and "'a'" in problem for problem in found.problems)


def test_rubric_groups_keep_their_names_through_an_eval_set(path: Path) -> None:
    """An import and an export as a dataset give each group its rubrics back; the case and its turns have theirs."""
    rubrics = [{"rubric_id": name, "content": {"property": {"description": "Be kind."}}} for name in "rs"]
    groups = {
        "horizon": {"rubrics": rubrics},
        "other": {"rubrics": rubrics[:1]},
        "case": {"rubrics": rubrics[1:]},
    }
    one = {"eval_case_id": "a", "prompt": said("Hi."), "reference": {"response": said("Hello.", "model")}}
    cases = import_cases(written(path, {**one, "rubric_groups": groups})).cases
    exported = export_cases(cases, "dataset").content
    (case,) = json.loads(exported)["eval_cases"]
    assert case["rubric_groups"] == groups
    path.write_bytes(exported)
    assert import_cases(path).cases == cases
    case["rubric_groups"]["horizon"]["rubrics"].pop()
    (edited,) = import_cases(written(path, case)).cases
    assert [each.rubric_id for each in edited.rubrics or ()] == ["horizon/r", "other/r", "s"]
    assert (edited.conversation or [])[0].rubrics is None


def test_turns_with_a_history_become_one_golden_where_they_follow_each_other(path: Path) -> None:
    """`<case>_turn<k>`, each with the turns before it; a state before the first message is the session's; else each is a case."""
    cases = two_turns()
    (case,) = import_cases(written(path, *cases)).cases
    assert case.eval_id == "talk"
    assert case.session_input is not None
    assert case.session_input.state == {"tier": "gold"}
    first, second = turns_of(case)
    assert [text(turn.final_response) for turn in (first, second)] == ["1", "2"]
    assert calls(first) == [("find", {"x": 1})]
    apart = import_cases(written(path, cases[1], cases[0])).cases
    assert [each.eval_id for each in apart] == ["talk_turn1", "talk_turn0"]


def test_a_trace_of_eval_generate_is_a_session(path: Path) -> None:
    """With its calls, responses, state and models recorded, so that it replays without a key; a reference that differs is named."""
    found = import_cases(written(path, a_trace(reference={"response": said("Other.", "model")})))
    (case,) = found.cases
    recorded = found.environments["traced"]
    assert calls(turns_of(case)[0]) == [("find", {"x": 1})]
    assert text(turns_of(case)[0].final_response) == "Found."
    assert case.final_session_state == {"found": True}
    (turn,) = recorded.turns
    assert [(call.tool, call.effects.state_delta) for call in turn.calls] == [("find", {"found": True})]
    assert (recorded.agent, len(turn.models)) == ("desk", 2)
    fit(
        found.problems,
        "basic-dataset.json: .*`agent_data.agents`.*: 'traced'",
        "basic-dataset.json: .*reference.*: 'traced'",
    )


def test_a_trace_that_is_no_whole_session_keeps_no_other_from_being_taken(path: Path) -> None:
    """As traces of graphs are whose question was lost: the user answers a call that is not there. The texts are taken, and it is named."""
    answer = types.Part.from_function_response(name="approve", response={"ok": True})
    given = {"role": "user", "parts": [answer.model_dump(exclude_none=True)]}
    cut = {
        "eval_case_id": "cut",
        "responses": [{"response": said("Approved.", "model")}],
        "agent_data": {"turns": [{"events": [event("user", said("Hi.")), event("user", given)]}]},
    }
    found = import_cases(written(path, cut, a_trace()))
    first, second = found.cases
    assert (first.eval_id, second.eval_id) == ("cut", "traced")
    assert found.environments.keys() == {"traced"}
    (turn,) = turns_of(first)
    assert (text(turn.user_content), text(turn.final_response)) == ("Hi.", "Approved.")
    assert any("complete session" in each and "'cut'" in each for each in found.problems)


@pytest.mark.parametrize("has_ids", [True, False])
def test_a_trace_in_which_the_user_was_asked_is_one_session(path: Path, *, has_ids: bool) -> None:
    """The turn goes on with what the user answers; a trace does not say which calls wait for that, but their name does.

    Without ids of calls a reply names its question by the interrupt ID alone.
    """

    def part(kind: str, role: str, name: str, key: str, **more: Any) -> Json:
        known = {"id": key} if has_ids else {}
        return {"role": role, "parts": [{kind: {"name": name, **known, **more}}]}

    name, keys = "adk_request_input", ("left_1", "right_1")
    asked = [
        part("function_call", "model", name, each, args={"interruptId": each, "message": each})
        for each in keys
    ]
    replies = [
        part("function_response", "user", name if has_ids else each, each, response={"result": f"to {each}"})
        for each in reversed(keys)
    ]
    first = [event("user", said("Hi.")), *(event("desk", question) for question in asked)]
    second = [*(event("user", reply) for reply in replies), event("desk", said("Done.", "model"))]
    turns = [{"events": first}, {"events": second}] if has_ids else [{"events": [*first, *second]}]
    found = import_cases(written(path, {"eval_case_id": "graph", "agent_data": {"turns": turns}}))
    (case,) = found.cases
    (turn,) = turns_of(case)
    assert text(turn.final_response) == "Done."
    (recorded,) = found.environments["graph"].turns
    assert {reply.id: reply.response for reply in recorded.inputs} == {
        each: {"result": f"to {each}"} for each in keys
    }


def test_a_synthesized_conversation_and_a_scenario_are_taken(path: Path) -> None:
    """`eval dataset synthesize` writes both into a case, of which a golden can hold one; alone it stays a scenario."""
    scenario = {"starting_prompt": "Hi.", "conversation_plan": "Ask."}
    events = [event("user", said("Hi.")), event("agent", said("Hello.", "model"))]
    both = {"eval_case_id": "both", "user_scenario": scenario, "agent_data": {"turns": [{"events": events}]}}
    failed = {"eval_case_id": "failed", "userScenario": scenario, "agentData": {"turns": []}}
    found = import_cases(written(path, both, failed))
    conversation, alone = found.cases
    assert (conversation.conversation_scenario, len(conversation.conversation or ())) == (None, 1)
    assert alone.conversation_scenario is not None
    assert alone.conversation_scenario.conversation_plan == "Ask."
    assert any(re.search("scenario.*'both'", problem) for problem in found.problems)


def test_each_field_that_an_eval_case_has_no_place_for_is_named(path: Path) -> None:
    """Of the dataset, of a case, and of what is in it."""
    rubric = {"rubric_id": "r", "content": {"property": {"description": "Be kind."}}, "importance": "HIGH"}
    scenario = {"starting_prompt": "Hi.", "conversation_plan": "Ask.", "test_case_title": "T"}
    case = a_trace(rubric_groups={"g": {"rubrics": [rubric]}}, user_scenario=scenario)
    case["responses"] *= 2
    case["agent_data"]["turns"][0]["events"][0]["active_tools"] = ["find"]
    path.write_text(json.dumps({"name": "mine", "eval_cases": [case]}))
    found = import_cases(path)
    named = {words for problem in found.problems for words in re.findall("`([^`]+)`[^`]* left out", problem)}
    assert named == {
        "name",
        "agent_data.agents",
        "events[*].active_tools",
        "responses[1:]",
        "rubric_groups[*].rubrics[*].importance",
        "user_scenario.test_case_title",
    }


@pytest.mark.parametrize("context", ["Lamps cost 5.", said("Lamps cost 5.")])
@pytest.mark.parametrize("is_trace", [False, True])
def test_the_context_of_a_case_is_kept_for_its_graders(
    path: Path, tmp_path: Path, ends: Ends, context: Any, is_trace: bool
) -> None:
    """Beside the set, as no agent sees it; an export writes it again, also after an import of the set, and where nothing is recorded."""
    case = a_trace() if is_trace else {"eval_case_id": "traced", "prompt": said("Hi.")}
    written(path, {**case, "context": context}, {**case, "eval_case_id": "bare"})
    first, second = tmp_path / "one.evalset.json", tmp_path / "two.evalset.json"
    told = ends(0, "import", path, "--out", first).err
    assert "`context`" not in told
    ends(0, "import", first, "--out", second)
    assert read_environment(sidecar_of(second)).notes == {"traced": CaseNote(context=context)}
    ends(0, "export", second, "--form", "dataset", "--out", tmp_path / "out")
    (exported,) = (tmp_path / "out").glob("*-dataset.json")
    cases = {each["eval_case_id"]: each for each in json.loads(exported.read_text())["eval_cases"]}
    assert (cases["traced"]["context"], "context" in cases["bare"]) == (context, False)
    again = import_cases(exported)
    assert again.notes == {"traced": CaseNote(context=context)}


FINE = {"eval_case_id": "fine", "prompt": said("Hi.")}
OURS = {"version": 1, "eval_id": "x", "turn": 0, "turns": 1, "case": {"eval_id": "x", "conversation": []}}


@pytest.mark.parametrize(
    ("case", "place"),
    [
        ({"eval_case_id": "x"}, "eval_cases[1] "),
        ({"prompt": "Hi."}, "eval_cases[1].prompt "),
        ({"prompt": {"role": "user", "part": []}}, "eval_cases[1].prompt *: part"),
        ({"agent_data": {"turns": [{"events": [1]}]}}, "eval_cases[1].agent_data.turns[0].events[0] "),
        (
            {"agent_data": {"turns": [{"events": [event("user", state_delta=1)]}]}},
            "events[0].state_delta ",
        ),
        ({**FINE, "reference": said("Hi.", "model")}, 'eval_cases[1].reference *"response"'),
        ({**FINE, "rubric_groups": {"g": {"rubrics": [{}]}}}, "rubric_groups.g.rubrics[0] "),
        ([], "eval_cases[1] "),
        ({**FINE, "golden_trace": {**OURS, "version": 2}}, "eval_cases[1].golden_trace *version 2"),
        ({**FINE, "eval_case_id": "x", "golden_trace": OURS}, "eval_cases[1].golden_trace.invocation "),
    ],
)
def test_a_case_that_cannot_be_read_is_named_and_the_others_are_taken(
    path: Path, case: Any, place: str
) -> None:
    """Those before it and behind it."""
    found = import_cases(written(path, FINE, case, {**FINE, "eval_case_id": "last"}))
    assert [each.eval_id for each in found.cases] == ["fine", "last"]
    pattern = re.escape(place).replace(r"\*", ".*")
    assert any(re.search(pattern, problem) for problem in found.problems), found.problems


@pytest.mark.parametrize("cut", [1, 40, 300])
def test_a_damaged_file_leaves_nothing(path: Path, cut: int, tmp_path: Path, ends: Ends) -> None:
    """The command names the place, and writes no set."""
    whole = json.dumps({"eval_cases": [a_trace()]})
    path.write_text(whole[:-cut])
    out = tmp_path / "out.evalset.json"
    assert re.search("basic-dataset.json: .* line 1, column", ends(1, "import", path, "--out", out).err)
    assert not out.exists()


def test_a_large_file_is_read_one_case_at_a_time(path: Path) -> None:
    """An import that is stopped has read a small part of 50 MB."""
    filler = "x" * 1_000_000
    case = json.dumps({**FINE, "mood": filler})
    with path.open("w") as file:
        file.write('{"eval_cases": [')
        file.write(", ".join([case] * 50))
        file.write("]}")
    asked: list[int] = []

    def goes_on(found: int) -> bool:
        asked.append(found)
        return found < 2

    found = import_cases(path, goes_on=goes_on)
    assert len(found.cases) == len(asked) - 1 == 2
    assert re.match("basic-dataset.json: .*stopped", found.problems[-1])
