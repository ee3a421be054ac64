"""A verdict names what was edited since the recording, and blames the agent only for what it does by itself."""

from __future__ import annotations

import json
import re
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from evalset.editing.case_edits import (
    AddCall,
    DeleteCase,
    DuplicateCase,
    Edit,
    MergeCases,
    MoveCall,
    MoveTurn,
    RemoveCall,
    RenameCase,
    SetCall,
    SetResponse,
    SetText,
    SplitCase,
)
from evalset.editing.case_parts import calls_of
from evalset.editing.opened_set import open_set
from evalset.editing.set_saving import save
from evalset.editing.set_work import SetWork
from evalset.editing.sidecars import open_beside
from evalset.recorded.golden_digests import recording_edits
from evalset.recorded.recording import without_golden
from evalset.recorded.recording_files import put_cases, read_environment, sidecar_of
from evalset.replay.model_choice import Models
from evalset.verify import Criteria, RunResult, accept, repair, verify
from evalset.verify.report import report
from evalset.verify.results import Divergence
from tests.evalset.verify.desks import (
    LOWER,
    TWO_TURNS,
    agents,
    copied_set,
    divergence_of,
    recorded_set,
    the_run,
)
from tests.simulator.base.drawn_json import put

AGENT: dict[str, tuple[tuple[str, str], ...]] = {
    "the same": (),
    "calls another tool": (('return calls("wipe", order=order)', 'return calls("note", order=order)'),),
    "other arguments": (LOWER,),
    "another text": (('"; ".join(f"{a.name}: {a.response}" for a in answered)', '"Done."'),),
    "a renamed tool": (
        ("def wipe(", "def erase("),
        ('calls("wipe"', 'calls("erase"'),
        ("FunctionTool(wipe", "FunctionTool(erase"),
    ),
}
CHANGED = [name for name in AGENT if name != "the same"]
STRICT = Criteria(response=0.99)


Named = tuple[str, ...]
"""What the sentence about an edit names, in this order."""

FIRST, SECOND = (("eval_cases", 0, "conversation", turn) for turn in range(2))
MADE, ANSWERED = ("intermediate_data", "tool_uses"), ("intermediate_data", "tool_responses")
QUERY = ((*FIRST, "user_content", "parts", 0, "text"), "check A, check D; note A; advisor visas")
NOTED = {"name": "note", "args": {"order": "Q"}}
EDITS: dict[str, tuple[tuple[Any, ...], Any, Named]] = {
    "query": (*QUERY, ("query", "turn 1")),
    "call": ((*SECOND, *MADE, 0, "name"), "note", ("check", "turn 2", "note")),
    "arguments": ((*FIRST, *MADE, 1, "args", "order"), "Z", ("arguments", "check", "turn 1")),
    "response": ((*FIRST, *ANSWERED, 0, "response"), {"status": "lost"}, ("response", "check", "turn 1")),
    "final response": (
        (*SECOND, "final_response", "parts", 0, "text"),
        "Never.",
        ("final response", "turn 2"),
    ),
    "state": (("eval_cases", 0, "final_session_state"), {"noted": "B"}, ("final state",)),
    "order": ((*FIRST, *MADE), lambda made: [*made[1::-1], *made[2:]], ("order", "turn 1")),
    "more": ((*SECOND, *MADE), lambda made: [*made, NOTED], ("note", "turn 2", "added")),
    "calls to null": ((*SECOND, "intermediate_data"), None, ("turn 2", "removed")),
    "final response to null": ((*SECOND, "final_response"), None, ("final response", "turn 2")),
    "a turn less": (("eval_cases", 0, "conversation"), lambda turns: turns[:-1], ("turn 2", "removed")),
}
"""Where an edit in the file is, what stands there then, and what is named."""


SHOWN = {
    "arguments": ("arguments", "tool_trajectory_avg_score"),
    "response": ("response", "stored_tool_responses"),
    "final response": ("text", "response_match_score"),
    "state": ("state", "final_session_state"),
}
"""At what a divergence points for an edit, and which check fails."""


@pytest.fixture(scope="module")
def agent_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The agent as it was, and changed in every way."""
    return {name: agents(tmp_path_factory.mktemp("changed"), *changes) for name, changes in AGENT.items()}


def _edited(kept: Path, folder: Path, place: tuple[Any, ...], value: Any) -> Path:
    """Edit a copy of the set in its file, as an editor would: what is recorded stays."""
    copy = copied_set(kept, folder)
    copy.write_text(json.dumps(put(json.loads(copy.read_text()), place, value)))
    return copy


def _run(path: Path, folder: Path, models: Models = "auto") -> RunResult:
    return the_run(verify(path, agents_dir=folder, criteria=STRICT, models=models))


def _found(named: Named, run: RunResult) -> Divergence:
    """Return a run's divergence, whose verdict names an edit, and it alone."""
    found = divergence_of(run)
    first = found.sentence.partition(". ")[0]
    for text in (*run.edited, first):
        assert re.search(".*".join(named), text, re.IGNORECASE), text
    return found


ON_PAGE: dict[str, Named] = {
    "an answer": EDITS["response"][-1],
    "an argument": EDITS["arguments"][-1],
    "the final response": EDITS["final response"][-1],
    "the calls' order": EDITS["order"][-1],
    "a call less": ("check", "turn 1", "removed"),
    "a call more": ("check", "turn 2", "added"),
}


BLAMED = {
    **dict(zip(EDITS, cycle(CHANGED), strict=False)),  # each change of the agent in turn
    "an answer": "other arguments",  # the recording is changed
    "a call less": "other arguments",  # the agent makes one more
}
"""The agent that changed too, by the edit."""


@pytest.mark.parametrize("place", [*EDITS, *ON_PAGE])
def test_an_edit_is_named_and_the_agent_is_blamed_only_if_it_changed(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path], place: str
) -> None:
    """Each place of a golden, edited in its file or on its page, where the recording follows: the agent is the same all the same."""
    path = _edited(kept, tmp_path, *EDITS[place][:2]) if place in EDITS else saved(kept, tmp_path, place)[0]
    named = EDITS[place][-1] if place in EDITS else ON_PAGE[place]
    run = _run(path, agent_folders["the same"])
    found = _found(named, run)
    assert (found.verdict, found.also) == ("user_changed" if place == "query" else "golden_stale", ())
    if place in SHOWN:
        what, check = SHOWN[place]
        assert (found.what, found.action) == (what, "repair")
        assert check in {each.name for each in run.checks if each.status == "failed"}
    if place in BLAMED:
        found = _found(named, _run(path, agent_folders[BLAMED[place]]))
        assert found.also == ("agent_changed",), found


CALLS, MODELS, REJECTED = (("cases", "two", "turns", 0, held) for held in ("calls", "models", "rejected"))
CALLED = ("responses", 0, "content", "parts", 0, "function_call", "args", "order")
IN_RECORDING: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "a response": ((*CALLS, 2, "outcome", "value"), {"noted": False}, "call 3 (note)"),
    "arguments": ((*CALLS, 2, "arguments", "order"), "Z", "call 3 (note)"),
    "a tool": ((*CALLS, 1, "tool"), "note", "call 2 (note)"),
    "a call less": (CALLS, lambda calls: [*calls[:2], *calls[3:]], "call 3"),
    "what a model calls": ((*MODELS, 1, *CALLED), "Z", "model turn 2"),
    "a confirmation": ((*REJECTED, 0, "confirmed"), {"confirmed": True}, "rejected call 1 (wipe)"),
    "a rejected call less": (REJECTED, [], "rejected call 1"),
    "the query": ((*CALLS[:-1], "query", "parts", 0, "text"), "check Z", "the query"),
}
"""Where an edit in the recording's file is, what stands there then, and what is named."""


@pytest.mark.parametrize("place", IN_RECORDING)
def test_an_edit_of_the_recording_is_named_and_the_agent_is_not_blamed(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path], place: str
) -> None:
    """An agent that changed before it met the edit is blamed all the same; a file of an older version tells of edited queries alone."""
    where, value, named = IN_RECORDING[place]
    if where[: len(REJECTED)] == REJECTED:
        kept = recorded_set(tmp_path / "rejected", {"two": ["wipe A"]}, {"confirmed": False})
    path = copied_set(kept, tmp_path)
    models: Models = "recorded" if where[4] == "models" else "real"
    sidecar = sidecar_of(path)
    edited = put(json.loads(sidecar.read_text()), where, value)
    sidecar.write_text(json.dumps(edited))
    found = divergence_of(_run(path, agent_folders["the same"], models))
    assert (found.verdict, found.also) == ("recording_edited", ())
    assert found.sentence.lower().startswith(f"{named} of turn 1 was")
    if place in {"a response", "arguments"}:
        found = divergence_of(_run(path, agent_folders["other arguments"], models))
        assert found.verdict == "agent_changed"
    for turn in edited["cases"]["two"]["turns"]:
        for held in ("calls", "rejected", "models"):
            turn["golden"].pop(f"recorded_{held}", None)
    sidecar.write_text(json.dumps({**edited, "version": 9}))
    older = divergence_of(_run(path, agent_folders["the same"], models)).verdict
    assert older == ("recording_edited" if place == "the query" else "agent_changed")


def test_an_edit_that_a_threshold_lets_pass_is_told(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path]
) -> None:
    """With what it was and what it is; a golden that nobody edited passes without a word."""
    place = EDITS["final response"][0]
    run = _run(_edited(kept, tmp_path, place, lambda text: f"{text}!"), agent_folders["the same"])
    assert run.passed
    (told,) = run.edited
    assert re.search(r"final response of turn 2 was edited.*: it was .*, now it is .*!", told)
    same = _run(kept, agent_folders["the same"])
    assert (same.passed, same.edited) == (True, ())


@pytest.mark.long
@pytest.mark.parametrize("agent", CHANGED)
def test_an_agent_that_changed_is_blamed_where_nothing_was_edited(
    kept: Path, agent_folders: dict[str, Path], agent: str
) -> None:
    """Another call, other arguments, another text, a renamed tool."""
    run = _run(kept, agent_folders[agent])
    found = divergence_of(run)
    assert (found.verdict, found.also, run.edited) == ("agent_changed", (), ())
    assert (agent == "a renamed tool") == any("tool 'wipe' " in each for each in found.evidence)


def test_turns_that_changed_places_are_no_change_of_the_agent(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path]
) -> None:
    """The conversation passes where the agent does not mind; one that changed is said to, with the edit."""
    path, _ = saved(kept, tmp_path, "another order of turns")
    found = divergence_of(_run(path, agent_folders["other arguments"]))
    assert "moved" in found.sentence.partition(". ")[0]
    assert found.also == ("agent_changed",)


@pytest.mark.long
def test_an_edited_response_that_the_agent_follows_can_be_accepted_or_undone(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path]
) -> None:
    """Accepted, the case passes, and the edit is part of the golden; repaired, it is as it was recorded, in both files."""
    folder = agent_folders["the same"]
    path, _ = saved(kept, tmp_path / "accepted", "an answer")
    run = _run(path, folder)
    found = divergence_of(run)
    assert (found.action, found.what) == ("accept", "text")
    accept(path, "two", run)
    assert verify(path, agents_dir=folder, criteria=STRICT).status == "passed"
    changed = _run(path, agent_folders["other arguments"])
    assert (changed.edited, divergence_of(changed).verdict) == ((), "agent_changed")
    path, _ = saved(kept, tmp_path / "repaired", "an answer")
    repair(path, "two", agents_dir=folder)
    assert verify(path, agents_dir=folder, criteria=STRICT).status == "passed"
    before, after = (read_environment(sidecar_of(each)).cases["two"] for each in (kept, path))
    assert before.turns == after.turns


@pytest.mark.long
def test_the_order_of_cases_is_no_edit_of_them(tmp_path: Path, agent_folders: dict[str, Path]) -> None:
    """A set whose cases changed places passes as before, or blames the agent alone."""
    both = recorded_set(tmp_path, {"one": TWO_TURNS, "two": TWO_TURNS})
    document = json.loads(both.read_text())
    document["eval_cases"].reverse()
    both.write_text(json.dumps(document))
    for agent, verdict in (("the same", None), ("other arguments", "agent_changed")):
        for case in verify(both, agents_dir=agent_folders[agent], criteria=STRICT).cases:
            (run,) = case.runs
            assert run.edited == ()
            assert (run.divergence and run.divergence.verdict) == verdict


def test_a_recording_that_does_not_say_what_its_golden_was_decides_less(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path]
) -> None:
    """One from before goldens were noted: an edited response that the recording followed is named as what may be behind it."""
    path, _ = saved(kept, tmp_path, "an answer")
    (case,) = read_environment(sidecar_of(path)).cases.values()
    put_cases(sidecar_of(path), {"two": without_golden(case)})
    run = _run(path, agent_folders["the same"])
    found = divergence_of(run)
    assert (run.edited, found.verdict) == ((), "agent_changed")
    assert any(re.search("response of check .*turn 1 .*edited", each) for each in found.evidence)


def test_a_verdict_stands_above_scores_and_errors_and_is_said_once(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path]
) -> None:
    """In the text of the command, what was edited is the first line below the case."""
    path = _edited(kept, tmp_path, *QUERY)
    text = report(verify(path, agents_dir=agent_folders["the same"], criteria=STRICT))
    lines = text.splitlines()
    assert lines[0] == "FAIL two"
    assert re.match("    The user message was edited: .*query.*turn 1 ", lines[1])
    assert text.count("query of turn 1") == 1
    error = next(line for line in lines if "no recorded case" in line)
    assert lines.index(error) > 1
    assert text.count(error) == 1


def edit_of(work: SetWork, what: str) -> Edit:
    """Return an edit of a kind, of the first call of the first turn where they are about a call."""
    first, second, *_ = calls_of(work.case("two"), 0)
    asked: dict[str, Edit] = {
        "an argument": SetCall(case="two", where=first.call.where, name="check", arguments={"order": "Z"}),
        "an answer": SetResponse(case="two", where=first.answers[0].where, response={"status": "lost"}),
        "the final response": SetText(case="two", where=("conversation", 1, "final_response"), text="Well."),
        "the query": SetText(case="two", where=("conversation", 1, "user_content"), text="Else?"),
        "the calls' order": MoveCall(case="two", where=second.call.where, by=-1),
        "a call more": AddCall(
            case="two", turn=1, name="check", arguments={"order": "D"}, response={"status": "new"}
        ),
        "a call less": RemoveCall(case="two", where=first.call.where),
        "another order of turns": MoveTurn(case="two", turn=0, by=1),
        "another name": RenameCase(case="two", eval_id="deux"),
        "a copy": DuplicateCase(case="two", eval_id="copy"),
        "two halves": SplitCase(case="two", turn=1, eval_id="rest"),
    }
    return asked[what]


def saved(kept: Path, folder: Path, what: str) -> tuple[Path, SetWork]:
    """Edit a copy of the set as its page does: what is recorded follows."""
    path = copied_set(kept, folder)
    work = SetWork(open_set(path), open_beside(path))
    work.apply(edit_of(work, what))
    save(work)
    return path, work


LONG = [
    pytest.param(what, marks=pytest.mark.long)
    for what in ("the calls' order", "a call less", "another name", "a copy")
]


@pytest.mark.parametrize(
    "what",
    ["an argument", "an answer", "the final response", "the query", "a call more", "two halves", *LONG],
)
def test_an_edited_case_is_replayed_as_it_was_edited(kept: Path, tmp_path: Path, what: str) -> None:
    """With the recorded models each case does what the edited golden says, and gets the edited answers."""
    path, work = saved(kept, tmp_path / "set", what)
    verification = verify(path, agents_dir=agents(tmp_path), models="recorded")
    assert [(case.eval_id, case.status, case.error) for case in verification.cases] == [
        (row.eval_id, "passed", "") for row in work.rows()
    ], verification.model_dump_json(indent=1)
    assert not any(map(recording_edits, read_environment(sidecar_of(path)).cases.values()))


def test_halves_that_are_merged_again_are_replayed_as_one(kept: Path, tmp_path: Path) -> None:
    """The case does what it did before it was split."""
    path = copied_set(kept, tmp_path / "set")
    work = SetWork(open_set(path), open_beside(path))
    work.apply(SplitCase(case="two", turn=1, eval_id="rest"))
    work.apply(DuplicateCase(case="two", eval_id="first"))
    work.apply(MergeCases(case="first", other="rest"))
    work.apply(DeleteCase(case="two"))
    save(work)
    verification = verify(path, agents_dir=agents(tmp_path), models="recorded")
    assert [(case.eval_id, case.status) for case in verification.cases] == [("first", "passed")]
