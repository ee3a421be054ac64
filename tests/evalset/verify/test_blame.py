"""A verdict names what was edited since the recording, and blames the agent only for what it does by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalset.editing.case_edits import (
    AddCall,
    Edit,
    MoveCall,
    MoveTurn,
    RemoveCall,
    SetCall,
    SetResponse,
    SetText,
)
from evalset.editing.case_parts import calls_of
from evalset.editing.opened_set import open_set
from evalset.editing.recording_beside import open_beside
from evalset.editing.set_saving import save
from evalset.editing.set_work import SetWork
from evalset.recorded.recording import without_golden
from evalset.recorded.recording_files import put_cases, read_environment, sidecar_of
from evalset.verify import Criteria, RunResult, accept, repair, verify
from evalset.verify.report import report
from evalset.verify.results import Divergence
from tests.evalset.verify.desks import TWO_TURNS, agents, copied_set, recorded_set, the_run

Document = dict[str, Any]
AGENT: dict[str, tuple[tuple[str, str], ...]] = {
    "the same": (),
    "calls another tool": (('return calls("wipe", order=order)', 'return calls("note", order=order)'),),
    "other arguments": (("return calls(tool, order=order)", "return calls(tool, order=order.lower())"),),
    "another text": (('"; ".join(f"{a.name}: {a.response}" for a in answered)', '"Done."'),),
    "a renamed tool": (
        ("def wipe(", "def erase("),
        ('calls("wipe"', 'calls("erase"'),
        ("FunctionTool(wipe", "FunctionTool(erase"),
    ),
}
CHANGED = [name for name in AGENT if name != "the same"]
STRICT = Criteria(response=0.99)


def _turn(document: Document, number: int) -> Document:
    found: Document = document["eval_cases"][0]["conversation"][number]
    return found


def _query(document: Document) -> None:
    _turn(document, 0)["user_content"]["parts"][0]["text"] = "check A, check D; note A; advisor visas"


def _name(document: Document) -> None:
    _turn(document, 1)["intermediate_data"]["tool_uses"][0]["name"] = "note"


def _arguments(document: Document) -> None:
    _turn(document, 0)["intermediate_data"]["tool_uses"][1]["args"]["order"] = "Z"


def _response(document: Document) -> None:
    _turn(document, 0)["intermediate_data"]["tool_responses"][0]["response"] = {"status": "lost"}


def _text(document: Document) -> None:
    _turn(document, 1)["final_response"]["parts"][0]["text"] = "Nothing of the kind was ever found."


def _state(document: Document) -> None:
    document["eval_cases"][0]["final_session_state"] = {"noted": "B"}


def _order(document: Document) -> None:
    data = _turn(document, 0)["intermediate_data"]
    data["tool_uses"][:2] = reversed(data["tool_uses"][:2])


def _added(document: Document) -> None:
    data = _turn(document, 1)["intermediate_data"]
    data["tool_uses"].append({"name": "note", "args": {"order": "Q"}})


Named = tuple[str, ...]
"""What the sentence about an edit names, in this order."""

EDITS: dict[str, tuple[Callable[[Document], None], Named]] = {
    "query": (_query, ("query", "turn 1")),
    "call": (_name, ("check", "turn 2", "note")),
    "arguments": (_arguments, ("arguments", "check", "turn 1")),
    "response": (_response, ("response", "check", "turn 1")),
    "final response": (_text, ("final response", "turn 2")),
    "state": (_state, ("final state",)),
    "order": (_order, ("order", "turn 1")),
    "more": (_added, ("note", "turn 2", "added")),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An eval set with one case of two turns."""
    return recorded_set(tmp_path_factory.mktemp("kept"), {"two": TWO_TURNS})


@pytest.fixture(scope="module")
def agent_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The agent as it was, and changed in every way."""
    return {name: agents(tmp_path_factory.mktemp("changed"), *changes) for name, changes in AGENT.items()}


def _edited(kept: Path, folder: Path, edit: Callable[[Document], None]) -> Path:
    """Edit a copy of the set in its file, as an editor would: what is recorded stays."""
    copy = copied_set(kept, folder)
    document = json.loads(copy.read_text())
    edit(document)
    copy.write_text(json.dumps(document))
    return copy


def _run(path: Path, folder: Path) -> RunResult:
    return the_run(verify(path, agents_dir=folder, criteria=STRICT))


def _found(named: Named, run: RunResult) -> Divergence:
    """Return a run's divergence, whose verdict names an edit, and it alone."""
    (edited,) = run.edited
    found = run.divergence
    assert found is not None
    first = found.sentence.partition(". ")[0]
    for text in (edited, first):
        assert re.search(".*".join(named), text, re.IGNORECASE), text
    return found


@pytest.mark.parametrize("place", EDITS)
def test_an_edit_is_named_and_the_agent_is_blamed_only_if_it_changed(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path], place: str
) -> None:
    """Each place of a golden, edited in its file, with the agent that is the same and with one that changed."""
    edit, named = EDITS[place]
    path = _edited(kept, tmp_path, edit)
    found = _found(named, _run(path, agent_folders["the same"]))
    assert (found.verdict, found.also) == ("user_changed" if place == "query" else "golden_stale", ())
    if changed := dict(zip(EDITS, CHANGED, strict=False)).get(place):  # each change of the agent once
        found = _found(named, _run(path, agent_folders[changed]))
        assert found.also == ("agent_changed",), found


@pytest.mark.parametrize("agent", CHANGED)
def test_an_agent_that_changed_is_blamed_where_nothing_was_edited(
    kept: Path, agent_folders: dict[str, Path], agent: str
) -> None:
    """Another call, other arguments, another text, a renamed tool."""
    run = _run(kept, agent_folders[agent])
    found = run.divergence
    assert found is not None
    assert (found.verdict, found.also, run.edited) == ("agent_changed", (), ())
    assert (agent == "a renamed tool") == any("tool wipe " in each for each in found.evidence)


@pytest.mark.long
@pytest.mark.parametrize("agent", CHANGED)
@pytest.mark.parametrize("place", EDITS)
def test_both_are_named_where_the_golden_was_edited_and_the_agent_changed(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path], place: str, agent: str
) -> None:
    """Each edit with each change of the agent, whichever comes first in the conversation."""
    edit, named = EDITS[place]
    found = _found(named, _run(_edited(kept, tmp_path, edit), agent_folders[agent]))
    assert found.also == ("agent_changed",), found


def _on_page(work: SetWork, place: str) -> Edit:
    first, second, *_ = calls_of(work.case("two"), 0)
    edits: dict[str, Edit] = {
        "response": SetResponse(case="two", where=first.answers[0].where, response={"status": "lost"}),
        "arguments": SetCall(case="two", where=first.call.where, name="check", arguments={"order": "Z"}),
        "final response": SetText(case="two", where=("conversation", 1, "final_response"), text="Well."),
        "order": MoveCall(case="two", where=second.call.where, by=-1),
        "less": RemoveCall(case="two", where=first.call.where),
        "more": AddCall(
            case="two", turn=1, name="check", arguments={"order": "D"}, response={"status": "new"}
        ),
        "turns": MoveTurn(case="two", turn=0, by=1),
    }
    return edits[place]


ON_PAGE: dict[str, Named] = {
    **{place: EDITS[place][1] for place in ("response", "arguments", "final response", "order")},
    "less": ("check", "turn 1", "removed"),
    "more": ("check", "turn 2", "added"),
}


def _saved(kept: Path, folder: Path, place: str) -> Path:
    """Edit a copy of the set as its page does: what is recorded follows."""
    path = copied_set(kept, folder)
    work = SetWork(open_set(path), open_beside(path))
    work.apply(_on_page(work, place))
    save(work)
    return path


@pytest.mark.parametrize("place", ON_PAGE)
def test_an_edit_that_the_recording_follows_is_named_too(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path], place: str
) -> None:
    """The agent gets the edited response, or is asked for what it does not call: it is the same all the same. One that changed is named."""
    path = _saved(kept, tmp_path, place)
    found = _found(ON_PAGE[place], _run(path, agent_folders["the same"]))
    assert (found.verdict, found.also) == ("golden_stale", ())
    if place in {"response", "less"}:  # with the recording changed, and with a call more than the agent makes
        both = _run(path, agent_folders["other arguments"]).divergence
        assert both is not None
        assert (both.verdict, both.also) == ("golden_stale", ("agent_changed",))


def test_turns_that_changed_places_are_no_change_of_the_agent(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path]
) -> None:
    """The conversation passes where the agent does not mind; one that changed is said to, with the edit."""
    path = _saved(kept, tmp_path, "turns")
    found = _run(path, agent_folders["other arguments"]).divergence
    assert found is not None
    assert "moved" in found.sentence.partition(". ")[0]
    assert found.also == ("agent_changed",)


def test_an_edited_response_that_the_agent_follows_can_be_accepted_or_undone(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path]
) -> None:
    """Accepted, the case passes, and the edit is part of the golden; repaired, it is as it was recorded, in both files."""
    folder = agent_folders["the same"]
    path = _saved(kept, tmp_path / "accepted", "response")
    run = _run(path, folder)
    assert run.divergence is not None
    assert run.divergence.action == "accept"
    assert run.divergence.what == "text"
    accept(path, "two", run)
    assert verify(path, agents_dir=folder, criteria=STRICT).status == "passed"
    changed = _run(path, agent_folders["other arguments"])
    assert (changed.edited, changed.divergence and changed.divergence.verdict) == ((), "agent_changed")
    path = _saved(kept, tmp_path / "repaired", "response")
    repair(path, "two", agents_dir=folder)
    assert verify(path, agents_dir=folder, criteria=STRICT).status == "passed"
    before, after = (read_environment(sidecar_of(each)).cases["two"] for each in (kept, path))
    assert before.turns == after.turns


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
    path = _saved(kept, tmp_path, "response")
    (case,) = read_environment(sidecar_of(path)).cases.values()
    put_cases(sidecar_of(path), {"two": without_golden(case)})
    run = _run(path, agent_folders["the same"])
    found = run.divergence
    assert found is not None
    assert (run.edited, found.verdict) == ((), "agent_changed")
    assert any(re.search("response of check .*turn 1 .*edited", each) for each in found.evidence)


def test_a_verdict_stands_above_scores_and_errors_and_is_said_once(
    kept: Path, tmp_path: Path, agent_folders: dict[str, Path]
) -> None:
    """In the text of the command, what was edited is the first line below the case."""
    path = _edited(kept, tmp_path, _query)
    text = report(verify(path, agents_dir=agent_folders["the same"], criteria=STRICT))
    lines = text.splitlines()
    assert lines[0] == "FAIL two"
    assert re.match("    user changed: .*query.*turn 1 ", lines[1])
    assert text.count("query of turn 1") == 1
    error = next(line for line in lines if "no recorded case" in line)
    assert lines.index(error) > 1
    assert text.count(error) == 1
