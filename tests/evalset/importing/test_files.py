"""Files of every shape that people have become cases with what is known of their environments; the rest is named with its place."""

from __future__ import annotations

import codecs
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_case import EvalCase
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalset import export_cases, import_cases
from evalset.exporting.export_forms import ExportForm
from evalset.importing import import_files as files
from evalset.recorded.recording import Author, RecordedCall, RecordedCase, RecordedEnvironment, RecordedTurn
from evalset.recorded.recording_files import environment_text, sidecar_of
from simulator.facts import Returned
from tests.evalset.golden_trace.traces import calls, text, turns


def said(words: str, role: str = "model") -> dict[str, Any]:
    """Make a content."""
    return {"role": role, "parts": [{"text": words}]}


def call_of(order: str, **more: Any) -> dict[str, Any]:
    """Make a function call."""
    return {"name": "find_order", "args": {"order_id": order}, **more}


def turn_of(*steps: dict[str, Any], responses: Any = ()) -> dict[str, Any]:
    """Make an invocation."""
    return {
        "user_content": said("Where is A-1?", "user"),
        "final_response": said("On its way."),
        "intermediate_data": {"tool_uses": [*steps], "tool_responses": [*responses]},
    }


RESPONSES = [
    {"name": "find_order", "response": {"status": status}, "id": call_id}
    for status, call_id in (("lost", "c2"), ("sent", "c1"))
]
LISTED = turn_of(call_of("A-1", id="c1"), call_of("A-2", id="c2"), responses=RESPONSES)
NAMELESS = turn_of(
    call_of("A-1"), call_of("A-1"), responses=[{**each, "id": None} for each in reversed(RESPONSES)]
)
EVENTS = {
    **turn_of(),
    "intermediate_data": {
        "invocation_events": [
            {
                "author": "desk",
                "content": {"role": "model", "parts": [{"function_call": call_of("A-1", id="c1")}]},
            },
            {"author": "desk", "content": {"role": "user", "parts": [{"function_response": RESPONSES[1]}]}},
        ]
    },
}
OLD_TURN: dict[str, Any] = {
    "query": "Where is A-1?",
    "expected_tool_use": [
        {
            "tool_name": "find_order",
            "tool_input": {"order_id": "A-1"},
            "mock_tool_output": {"status": "sent"},
        }
    ],
    "reference": "On its way.",
}


def set_of(*conversation: dict[str, Any], name: str = "one", state: Any = None) -> dict[str, Any]:
    """Make an eval set of one case."""
    session = {"app_name": "desk", "user_id": "u", "state": state or {"tier": "gold"}}
    case = {"eval_id": name, "conversation": [*conversation], "session_input": session}
    return {"eval_set_id": "s", "eval_cases": [case]}


def written(folder: Path, name: str, document: Any) -> Path:
    """Write a file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


CAMEL = {
    "evalSetId": "s",
    "evalCases": [
        {
            "evalId": "one",
            "conversation": [
                {
                    "userContent": said("Where is A-1?", "user"),
                    "finalResponse": said("On its way."),
                    "intermediateData": {
                        "toolUses": [call_of("A-1", id="c1")],
                        "toolResponses": [RESPONSES[1]],
                    },
                }
            ],
        }
    ],
}


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("desk.evalset.json", set_of(LISTED)),
        ("desk.evalset.json", set_of(NAMELESS)),
        ("desk.test.json", set_of(EVENTS)),
        ("camel.evalset.json", CAMEL),
        ("one_case.json", set_of(LISTED)["eval_cases"][0]),
        ("old.test.json", [OLD_TURN]),
        ("old.evalset.json", [{"name": "one", "data": [OLD_TURN], "initial_session": {}}]),
        ("old.json", {"name": "one", "data": [OLD_TURN], "initial_session": {}}),
    ],
)
def test_each_shape_of_a_set_brings_its_answers_along(name: str, document: Any, tmp_path: Path) -> None:
    """Answers find their calls by ids, and else in their order; of the older form, too, whose answers ADK itself passes over.

    A byte order mark, as some editors write one, is no obstacle.
    """
    path = written(tmp_path, name, document)
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    imported = import_cases(path)
    assert imported.problems == ()
    (case,) = imported.cases
    (turn,) = turns(case)
    assert (text(turn.user_content), calls(turn)[0]) == ("Where is A-1?", ("find_order", {"order_id": "A-1"}))
    (environment,) = imported.environments.values()
    first = environment.turns[0].calls[0]
    assert (first.tool, first.arguments) == ("find_order", {"order_id": "A-1"})
    assert first.outcome == Returned(value={"status": "sent"})
    assert len(environment.turns[0].models) == len(environment.turns[0].calls) + 1


def test_what_was_answered_and_is_not_told_is_named(tmp_path: Path) -> None:
    """By the case, the turn and the call; the other calls are recorded."""
    turn = turn_of(call_of("A-1", id="c1"), call_of("A-2", id="c2"), responses=RESPONSES[1:])
    imported = import_cases(written(tmp_path, "desk.evalset.json", set_of(turn)))
    (problem,) = imported.problems
    assert problem.startswith("desk.evalset.json: ")
    for words in ("'one', turn 1: ", 'find_order(order_id="A-2")'):
        assert words in problem
    assert [call.arguments for call in imported.environments["one"].turns[0].calls] == [{"order_id": "A-1"}]


def test_a_folder_is_searched_and_each_case_has_an_id_of_its_own(tmp_path: Path) -> None:
    """ADK's hidden folders too; an id that is taken, or that ADK's commands cannot take, becomes another, with a word.

    A scenario has no environment, nor has a case with half a character in its state, which is named.
    """
    written(tmp_path, "a/desk.evalset.json", set_of(LISTED))
    written(tmp_path, "b/desk.evalset.json", set_of(LISTED))
    written(tmp_path, "c/.adk/eval.evalset.json", set_of(LISTED, name="at 10:30"))
    written(tmp_path, "c/package.json", {"name": "something else"})
    written(tmp_path, "c/list.json", [1, 2])
    written(tmp_path, "test_config.json", {"criteria": {}})
    (tmp_path / "notes.txt").write_text("not looked at")
    (tmp_path / "broken.test.json").write_text('{"eval_cases": [')
    written(tmp_path, "odd.evalset.json", {"birds": []})
    written(tmp_path, "worse.evalset.json", {"eval_cases": [{"eval_id": 7}]})
    written(tmp_path, "d/half.evalset.json", set_of(turn_of(), name="half", state={"name": "\ud800"}))
    scenario = {
        "eval_id": "s",
        "conversation_scenario": {"starting_prompt": "hi", "conversation_plan": "ask"},
    }
    written(tmp_path, "d/scenario.evalset.json", {"eval_set_id": "a", "eval_cases": [scenario]})
    imported = import_cases(tmp_path)
    assert [case.eval_id for case in imported.cases] == ["one", "one_2", "at 10_30", "half", "s"]
    assert imported.environments.keys() == {"one", "one_2", "at 10_30"}
    found = dict(problem.split(": ", 1) for problem in imported.problems)
    wanted = {
        "b/desk.evalset.json": "'one_2'",
        "c/.adk/eval.evalset.json": "':'",
        "d/half.evalset.json": "'half'",
        "broken.test.json": "line 1",
        "odd.evalset.json": "",
        "worse.evalset.json": "eval_cases.0.",
    }
    assert found.keys() == wanted.keys()
    assert all(words in found[name] for name, words in wanted.items())


@pytest.mark.parametrize("form", ["evalset", "pytest", "adk_test"])
def test_an_export_is_imported_again(tmp_path: Path, form: ExportForm) -> None:
    """The archive of a download brings its cases, and what is recorded of them."""
    cases = [EvalCase.model_validate(each) for each in set_of(LISTED, name="one")["eval_cases"]]
    cases.append(cases[0].model_copy(update={"eval_id": "two"}))
    known = import_cases(written(tmp_path, "a.evalset.json", set_of(LISTED, name="one"))).environments
    exported = export_cases(cases, form, environments={"one": known["one"], "two": known["one"]}, name="Desk")
    path = tmp_path / exported.name
    assert path.suffix == ".zip"
    path.write_bytes(exported.content)
    imported = import_cases(path)
    assert [case.eval_id for case in imported.cases] == ["one", "two"]
    assert set(imported.environments) == {"one", "two"}
    if form != "adk_test":
        assert imported.environments == {"one": known["one"], "two": known["one"]}
        assert imported.problems == ()
    path.rename(tmp_path / "renamed.json")
    assert len(import_cases(tmp_path / "renamed.json").cases) == 2


def _zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return path


def test_an_archive_writes_nowhere_else_and_holds_no_more_than_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names that lead out are left out and named; too many files, too many bytes, damage and passwords are told."""
    text = json.dumps(set_of(LISTED, name="one")).encode()
    outside = tmp_path / "outside.evalset.json"
    names = [
        "../outside.evalset.json",
        str(outside),
        "a/../../b.json",
        "c:\\..\\d.json",
        "in/ok.evalset.json",
        "no.txt",
    ]
    found = import_cases(_zip(tmp_path / "mixed.zip", dict.fromkeys(names, text)))
    assert [case.eval_id for case in found.cases] == ["one"]
    assert len(found.problems) == 4
    for name in names[:4]:
        assert any(repr(name) in problem or name in problem for problem in found.problems), name
    assert not outside.exists()
    empty = import_cases(_zip(tmp_path / "empty.zip", {"no.txt": b"x"}))
    assert [problem.partition(":")[0] for problem in empty.problems] == ["empty.zip"]
    whole = (tmp_path / "mixed.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    assert import_cases(tmp_path / "cut.zip").problems[0].startswith("cut.zip: ")
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 20)
    bomb = _zip(tmp_path / "bomb.zip", {"a.json": b" " * (3 << 20)})
    assert bomb.stat().st_size < 10_000
    assert "1 MB" in import_cases(bomb).problems[0]
    monkeypatch.setattr(files, "MOST_FILES", 1)
    many = _zip(tmp_path / "many.zip", {"a.json": text, "b.json": text})
    assert re.search("2 files.* 1 ", import_cases(many).problems[0])


def test_there_has_to_be_a_file(tmp_path: Path) -> None:
    """Else the system's error comes out."""
    with pytest.raises(FileNotFoundError):
        import_cases(tmp_path / "none.json")


pieces = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["events", "eval_cases", "evalCases", "eval_id", "conversation", "user_content", "parts", "text", "data",
                 "query", "name", "expected_tool_use", "author", "content", "actions", "state", "format", "function_call"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(pieces)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_no_document_crashes_the_import(tmp_path: Path, document: Any) -> None:
    """It gives cases or says why not."""
    imported = import_cases(written(tmp_path, "any.evalset.json", document))
    assert (
        imported.cases
        or imported.problems
        or document in ({"eval_cases": []}, {"evalCases": []})
        or (isinstance(document, dict) and not (document.get("eval_cases") or document.get("evalCases")))
    )


@given(st.binary(max_size=60))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_no_bytes_crash_the_import(tmp_path: Path, content: bytes) -> None:
    """Databases among them."""
    path = tmp_path / "any.test.json"
    for start in (b"", b"SQLite format 3\x00"):
        path.write_bytes(start + content)
        assert import_cases(path).cases == ()


def test_what_cannot_be_read_is_left_out_with_its_place_and_the_rest_is_imported(tmp_path: Path) -> None:
    """A case, a session, or an old case in the midst of a file; of a text that ends there nothing is, and other files are."""
    cases = [set_of(LISTED, name=f"case {number}")["eval_cases"][0] for number in range(5)]
    unanswered = set_of(turn_of(call_of("A-2")), name="unanswered")["eval_cases"][0]
    whole = json.dumps({"eval_set_id": "s", "eval_cases": [unanswered, *cases]})
    unnamed = {name: held for name, held in cases[4].items() if name != "eval_id"}
    odd = [*cases[:2], {"eval_id": 7}, {"eval_id": "no turns"}, 3, unnamed, cases[2]]
    written(tmp_path, "a.evalset.json", {"name": 1, "eval_cases": odd})
    (tmp_path / "b.evalset.json").write_text(whole[: whole.index("case 4")])
    sessions = [
        {
            "id": name,
            "events": [{"author": who, "content": {"parts": [{"text": "hi"}]}} for who in ("user", "desk")],
        }
        for name in ("s", "t")
    ]
    written(tmp_path, "c.evalset.json", [sessions[0], 3, sessions[1]])
    old = [
        {"name": name, "data": data}
        for name, data in (("old", [OLD_TURN]), ("bad", [3]), ("new", [OLD_TURN]))
    ]
    written(tmp_path, "d.test.json", old)
    imported = import_cases(tmp_path)
    ids = ["case 0", "case 1", "case", "case 2", "s", "t", "old", "new"]
    assert [case.eval_id for case in imported.cases] == ids
    left = [problem for problem in imported.problems if "left out" in problem]
    for problem, where in zip(left, ("cases.2.", "cases.3", "cases.4", "the case 2 "), strict=True):
        assert where in problem
    assert any(
        each.startswith("b.evalset.json: ") and "line 1, column " in each for each in imported.problems
    )
    assert any(each.startswith("c.evalset.json, session 2: ") for each in imported.problems)


@pytest.mark.parametrize("place", ["beside", "inside"])
def test_a_recording_is_taken_before_the_answers_in_the_set_unless_it_is_damaged(
    place: str, tmp_path: Path
) -> None:
    """It is named with its place; what is recorded of other cases is not used either, and no case comes twice."""
    cases = [set_of(LISTED, name=name)["eval_cases"][0] for name in ("one", "two")]
    document: dict[str, Any] = {"eval_set_id": "s", "eval_cases": cases}
    path = written(tmp_path, "desk.evalset.json", document)
    call = RecordedCall(tool="beside", outcome=Returned(value=1), author=Author(source="written"))
    case = RecordedCase(agent="desk", app_name="desk", turns=(RecordedTurn(query={}, calls=(call,)),))
    recorded = json.loads(environment_text(RecordedEnvironment(cases={"one": case, "two": case})))
    target, held = (sidecar_of(path), recorded) if place == "beside" else (path, document)
    if place == "inside":
        document["recorded_environment"] = recorded
    target.write_text(json.dumps(held))
    assert import_cases(path).environments == {"one": case, "two": case}
    recorded["cases"]["two"]["turns"][0]["calls"][0]["tool"] = ""
    target.write_text(json.dumps(held))
    imported = import_cases(path)
    (problem,) = imported.problems
    assert problem.startswith(path.name)
    assert "cases.two.turns.0.calls.0.tool: " in problem
    assert [case.eval_id for case in imported.cases] == ["one", "two"]
    tools = {each.turns[0].calls[0].tool for each in imported.environments.values()}
    assert tools == {"find_order"}


def test_an_answer_in_the_older_form_is_that_of_its_own_case(tmp_path: Path) -> None:
    """Where two cases ask the same and are answered otherwise, each keeps its answer."""
    turns = [json.loads(json.dumps(OLD_TURN).replace("sent", status)) for status in ("sent", "lost")]
    old = [
        {"name": turn["expected_tool_use"][0]["mock_tool_output"]["status"], "data": [turn]} for turn in turns
    ]
    known = import_cases(written(tmp_path, "old.test.json", old)).environments
    answers = {name: case.turns[0].calls[0].outcome for name, case in known.items()}
    assert answers == {status: Returned(value={"status": status}) for status in ("sent", "lost")}
