"""A case is played again and takes the place of the one before, with all that nobody plays: notes, rubrics, tolerances, the order of the cases."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset import GoldenTraceBuilder, write_golden_trace
from evalset.editing.case_edits import RemoveCall, ReviewCase, SetCall, SetResponse, SetText, SetValue
from evalset.editing.case_parts import Where, calls_of
from evalset.editing.golden_writing import replacing
from evalset.editing.opened_set import open_set
from evalset.editing.set_saving import save
from evalset.editing.set_work import SetWork
from evalset.editing.sidecars import CaseReview, open_beside
from evalset.errors import CaseTakenError, EvalSetError
from evalset.files.eval_names import case_digest
from evalset.recorded.recorder import recorded_for
from evalset.recorded.recording import CaseNote
from evalset.recorded.recording_files import put_all, read_environment, sidecar_of
from evalset.recorded.tolerances import Ignore
from simulator import Simulation
from tests.evalset.ending import Ends
from tests.evalset.replay.desk_agent import config, played, write_desk

RUBRIC = {"rubric_id": "polite", "rubric_content": {"text_property": "It is polite."}}
TOLERANCE = Ignore(of="response", tool="check", path="at")
LOST = """
format: golden-trace-studio/script
version: 1
otherwise: fail
agent: model
environment:
- tool: check
  returns: {status: lost}
turns:
- say: check A
"""
NOTE = CaseNote(text="From the ticket.", tags=("smoke",))


def desk(tmp_path: Path, status: str) -> Simulation:
    """Play the desk, whose one call gets this status."""
    return played(config(tmp_path / "agents"), ["check A"], {"check": {"status": status}})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A set of two goldens; the first has rubrics, a note and a tolerance that people gave it."""
    write_desk(tmp_path / "agents")
    path = tmp_path / "agents" / "desk" / "desk.evalset.json"
    for eval_id in ("one", "two"):
        write_golden_trace(desk(tmp_path, "shipped"), path, eval_id=eval_id)
    document = json.loads(path.read_text())
    document["eval_cases"][0]["rubrics"] = [RUBRIC]
    document["eval_cases"][0]["conversation"][0]["rubrics"] = [RUBRIC]
    path.write_text(json.dumps(document))
    recorded = read_environment(sidecar_of(path)).cases["one"]
    put_all(
        sidecar_of(path),
        {"one": recorded.model_copy(update={"tolerances": (TOLERANCE,)})},
        {"one": NOTE},
    )
    return path


def test_a_scenario_becomes_the_case_that_was_played(path: Path, tmp_path: Path) -> None:
    """ADK takes a conversation or a scenario, and not both."""
    document = json.loads(path.read_text())
    scenario = {"starting_prompt": "check A", "conversation_plan": "Ask once."}
    document["eval_cases"][0] = {"eval_id": "one", "conversation_scenario": scenario}
    path.write_text(json.dumps(document))
    write_golden_trace(desk(tmp_path, "lost"), path, eval_id="one", replace=True)
    one, _ = load_eval_set_from_file(str(path), "desk").eval_cases
    assert one.conversation
    assert one.conversation_scenario is None
    with pytest.raises(TypeError, match="needs eval_id"):
        write_golden_trace(desk(tmp_path, "lost"), path, replace=True)
    with pytest.raises(CaseTakenError) as taken:
        write_golden_trace(desk(tmp_path, "lost"), path, eval_id="one")
    assert "Replace" in str(taken.value)
    assert "replace=True" in "".join(taken.value.__notes__)
    with pytest.raises(EvalSetError, match="has no case 'oen'; did you mean one"):
        write_golden_trace(desk(tmp_path, "lost"), path, eval_id="oen", replace=True)


def repaired(path: Path, of: str, value: Any) -> dict[str, Any]:
    """Edit the first case as a person does on its page; return it."""
    work = SetWork(open_set(path), open_beside(path))
    (call,) = calls_of(work.case("one"), 0)
    places: dict[str, Where] = {
        "final response": ("conversation", 0, "final_response"),
        "query": ("conversation", 0, "user_content"),
    }
    match of:
        case "response":
            work.apply(SetResponse(case="one", where=call.answers[-1].where, response=value, are_right=True))
        case "arguments":
            work.apply(SetCall(case="one", where=call.call.where, name="check", arguments=value))
        case "removed":
            work.apply(RemoveCall(case="one", where=call.call.where))
        case "final state":
            work.apply(SetValue(case="one", where=("final_session_state",), value=value))
        case _:
            work.apply(SetText(case="one", where=places[of], text=value))
    assert not save(work).trouble
    found: dict[str, Any] = json.loads(path.read_text())["eval_cases"][0]
    return found


@pytest.mark.parametrize(
    ("of", "value"),
    [
        ("response", {"status": "repaired"}),
        ("arguments", {"order": "B"}),
        ("removed", None),
        ("final response", "All is well."),
        ("query", "check A please"),
        ("final state", {"seen": "A"}),
    ],
)
def test_what_was_edited_in_a_case_stays_where_the_session_has_the_same_there(
    path: Path, tmp_path: Path, of: str, value: Any
) -> None:
    """It is named, and stays in the set and its recording; it goes where a person wants that."""
    before = json.loads(path.read_text())["eval_cases"][0]
    edited = repaired(path, of, value)
    beside = read_environment(sidecar_of(path)).cases["one"]
    again = desk(tmp_path, "shipped")
    case = GoldenTraceBuilder(again.session, eval_id="one", confirmations="beside").build()
    facts = [fact for _, fact in again.journal.path()]
    found = replacing(path, case, recorded_for(again.session, facts, again.config.root_agent))
    assert found is not None
    assert [of in edit.words for edit in found.edits] == [True]
    assert found.dropped() == ()
    write_golden_trace(again, path, eval_id="one", replace=True)
    one = json.loads(path.read_text())["eval_cases"][0]
    assert one["conversation"][0]["user_content"] == edited["conversation"][0]["user_content"]
    for name in ("intermediate_data", "final_response"):
        assert without_ids(one["conversation"][0][name]) == without_ids(edited["conversation"][0][name])
    assert one["final_session_state"] == edited["final_session_state"]
    kept = read_environment(sidecar_of(path)).cases["one"]
    assert [(call.arguments, call.outcome, call.author.source) for call in kept.turns[0].calls] == [
        (call.arguments, call.outcome, call.author.source) for call in beside.turns[0].calls
    ]
    write_golden_trace(again, path, eval_id="one", replace=True, keep_edits=False)
    one = json.loads(path.read_text())["eval_cases"][0]
    assert without_ids(one["conversation"]) == without_ids(before["conversation"])


@pytest.mark.parametrize(
    ("of", "value", "plays"),
    [
        ("response", {"status": "repaired"}, ("check A", "repaired")),
        ("arguments", {"order": "B"}, ("check B", "shipped")),
        ("final response", "check: {'status': 'lost'}", ("check A", "lost")),
        ("query", "check  A", ("check  A", "shipped")),
    ],
)
def test_an_edit_that_the_session_has_too_is_no_loss(
    path: Path, tmp_path: Path, of: str, value: Any, plays: tuple[str, str]
) -> None:
    """Nobody has to keep it. A review is of the case before, and says so."""
    repaired(path, of, value)
    work = SetWork(open_set(path), open_beside(path))
    review = CaseReview(status="approved", reviewer="Anne", digest=case_digest(work.case("one")))
    work.apply(ReviewCase(case="one", review=review))
    save(work)
    query, status = plays
    again = played(config(tmp_path / "agents"), [query], {"check": {"status": status}})
    case = GoldenTraceBuilder(again.session, eval_id="one", confirmations="beside").build()
    facts = [fact for _, fact in again.journal.path()]
    found = replacing(path, case, recorded_for(again.session, facts, again.config.root_agent))
    assert found is not None
    assert found.edits == ()
    (dated,) = found.dropped(keep_edits=False)
    assert "approved before the last change" in dated


def without_ids(value: Any) -> str:
    """Write a value without what each session draws anew."""
    return re.sub(r'"(id|invocation_id|creation_timestamp)": [^,}]+', "", json.dumps(value))


@pytest.mark.parametrize("of", ["response", "final response"])
def test_an_edit_that_goes_is_named_by_the_command(path: Path, tmp_path: Path, ends: Ends, of: str) -> None:
    """The session has something else there now: that is what the case gets."""
    repaired(path, of, {"status": "repaired"} if of == "response" else "All is well.")
    script = tmp_path / "lost.yaml"
    script.write_text(LOST)
    run = ("run", path.parent, "--script", script, "--out", path, "--no-replay", "--eval-id", "one")
    assert f"warning: this edit will be removed: the {of} of" in ends(0, *run, "--replace").err
    assert "lost" in path.read_text()
    assert "repaired" not in path.read_text()
    assert "All is well" not in path.read_text()


def test_the_command_replaces_a_case(path: Path, tmp_path: Path, ends: Ends) -> None:
    """It names the option where the id is taken, and the cases that there are where it is not; verify passes on it.

    The first case is what was played now, with what people gave it, and the second as before.
    """
    before = path.read_bytes()
    second = json.dumps(json.loads(before)["eval_cases"][1])
    script = tmp_path / "lost.yaml"
    script.write_text(LOST)
    run = ("run", path.parent, "--script", script, "--out", path, "--no-replay", "--eval-id")
    told = [ends(2, *run, *words).err for words in (["one"], ["thre", "--replace"])]
    assert path.read_bytes() == before
    assert "--replace" in told[0]
    assert "has no case 'thre'" in told[1]
    anew = tmp_path / "anew.evalset.json"
    ends(0, *(anew if each == path else each for each in run), "one", "--replace")
    assert [each["eval_id"] for each in json.loads(anew.read_text())["eval_cases"]] == ["one"]
    ends(0, *run, "one", "--replace")
    one, two = json.loads(path.read_text())["eval_cases"]
    assert (one["eval_id"], two["eval_id"]) == ("one", "two")
    assert "lost" in json.dumps(one["conversation"])
    assert json.dumps(two) == second
    assert one["rubrics"] == one["conversation"][0]["rubrics"] == [RUBRIC]
    kept = read_environment(sidecar_of(path))
    assert "lost" in kept.cases["one"].model_dump_json()
    assert (kept.cases["one"].tolerances, kept.notes["one"]) == ((TOLERANCE,), NOTE)
    ends(0, "verify", path, "--models", "recorded")
