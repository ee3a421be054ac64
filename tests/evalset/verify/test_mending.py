"""Accepts what an agent does now, and repairs goldens from what was recorded: verified again, both pass, and all else stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from evalset.recorded.recording_files import read_environment, sidecar_of
from evalset.recorded.tolerances import CaseInsensitive
from evalset.verify import RunResult, VerifyError, accept, keep_tolerances, repair, verify
from evalset.verify.results import Players
from tests.evalset.verify.desks import (
    LOWER,
    TWO_TURNS,
    agents,
    copied_set,
    divergence_of,
    recorded_set,
    the_run,
)
from tests.evalset.verify.small_agents import agent
from tests.evalset.verify.small_agents import played as small_set
from tests.simulator.kernel.projects import config_of

SAYS = ('"; ".join(f"{a.name}: {a.response}" for a in answered)', '"I am done, and how!"')
LEAVES_OUT = ('for each in step.split(",")', 'for each in step.split(",") if each.strip() != "check B"')
ALONE = ("AgentTool(advisor)", "AgentTool(advisor, include_plugins=False)")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An eval set with two cases, of which one is none of our business."""
    return recorded_set(tmp_path_factory.mktemp("kept"), {"two": TWO_TURNS, "other": ["check A"]})


def with_more(eval_set: Path) -> dict[str, Any]:
    """Return a set what an editor might lose, and its document."""
    document: dict[str, Any] = json.loads(eval_set.read_text())
    document["eval_cases"][0]["mine"] = {"kept": True}
    document["eval_cases"][0]["rubrics"] = [
        {"rubric_id": "r", "rubric_content": {"text_property": "It is polite."}}
    ]
    uses = document["eval_cases"][0]["conversation"][0]["intermediate_data"]["tool_uses"]
    uses[0] = dict(reversed(uses[0].items()))
    eval_set.write_text(json.dumps(document, indent=2))
    return document


@pytest.mark.long
@pytest.mark.parametrize(
    "made",
    [
        pytest.param([SAYS], id="says"),
        pytest.param([LEAVES_OUT], id="leaves out"),
        pytest.param([SAYS, ALONE], id="without plugins", marks=pytest.mark.long),
    ],
)
def test_what_is_accepted_passes_with_either_models(
    kept: Path, tmp_path: Path, made: list[tuple[str, str]]
) -> None:
    """The agent's own, and the recorded ones: those follow. Rubrics, unknown keys and the other case stay as they are."""
    eval_set = copied_set(kept, tmp_path)
    before = with_more(eval_set)
    changed = agents(tmp_path, *made)
    run = the_run(verify(eval_set, agents_dir=changed, cases=["two"]))
    assert not run.passed
    saved = accept(eval_set, "two", run)
    assert (saved.cases, saved.beside) == (1, sidecar_of(eval_set))
    players: tuple[Players, ...] = ("real", "recorded")
    for models in players:
        assert verify(eval_set, agents_dir=changed, models=models, cases=["two"]).status == "passed"
    after = json.loads(eval_set.read_text())
    assert after["eval_cases"][1] == before["eval_cases"][1]
    one, then = after["eval_cases"][0], before["eval_cases"][0]
    assert all(one[name] == then[name] for name in ("mine", "rubrics", "session_input"))
    first, first_then = (case["conversation"][0]["intermediate_data"]["tool_uses"][0] for case in (one, then))
    assert json.dumps(first) == json.dumps(first_then)  # with its own id, and its fields in their order
    assert divergence_of(run).action == "accept"


@pytest.mark.parametrize("form", ["intermediate_data", "invocation_events"])
def test_accepting_another_order_changes_the_order_alone(
    tmp_path: Path, form: Literal["intermediate_data", "invocation_events"]
) -> None:
    """Calls and responses keep their ids and stand as they were written; so do the recorded model turns that say the same."""
    answers = {
        "check": {"status": "ok", "at": 5, "by": "Ada"},
        "wipe": {"by": "Bo", "status": "gone", "at": 6},
    }
    queries = ("check A, check B; note A; wipe A; wipe B", "check C; wipe C")
    eval_set = recorded_set(tmp_path / "kept", {"two": queries}, {**answers, "confirmed": True}, form)
    before = json.loads(eval_set.read_text()), json.loads(sidecar_of(eval_set).read_text())
    changed = agents(tmp_path, ('query.split(";")', 'query.split(";")[::-1]'))
    run = the_run(verify(eval_set, agents_dir=changed))
    assert not run.passed
    accept(eval_set, "two", run)
    after = json.loads(eval_set.read_text()), json.loads(sidecar_of(eval_set).read_text())
    ways = [[called(turn) for turn in each[0]["eval_cases"][0]["conversation"]] for each in (before, after)]
    assert ways[0] != ways[1]
    assert [sorted(each) for each in ways[0]] == [sorted(each) for each in ways[1]]
    models, then = (
        [
            json.dumps(model)
            for turn in each[1]["cases"]["two"]["turns"]
            for model in turn["models"]
            if "text" not in str(model)
        ]
        for each in (after, before)
    )
    assert sorted(models) == sorted(then)
    assert after[1]["cases"]["two"]["turns"][0]["calls"] == before[1]["cases"]["two"]["turns"][0]["calls"]
    assert verify(eval_set, agents_dir=changed, models="recorded").status == "passed"


def called(turn: dict[str, Any]) -> list[str]:
    """Return the calls and responses of a turn as they are written, in their order."""
    data = turn["intermediate_data"]
    events = data.get("invocation_events") or ()
    parts = [json.dumps(part) for event in events for part in event["content"]["parts"]]
    return [
        *parts,
        *(json.dumps(each) for name in ("tool_uses", "tool_responses") for each in data.get(name) or ()),
    ]


def test_accepting_takes_the_arguments_that_were_tolerated(kept: Path, tmp_path: Path) -> None:
    """Both files have them then, and the case passes exactly."""
    eval_set, changed = copied_set(kept, tmp_path), agents(tmp_path, LOWER)
    keep_tolerances(eval_set, "two", [CaseInsensitive(tool="*", path="order")])
    run = the_run(verify(eval_set, agents_dir=changed, cases=["two"]))
    assert run.passed
    accept(eval_set, "two", run)
    keep_tolerances(eval_set, "two", [])
    assert verify(eval_set, agents_dir=changed, cases=["two"]).status == "passed"
    assert '"order": "a"' in eval_set.read_text()


def test_what_was_answered_though_it_was_not_recorded_is_accepted_too(kept: Path, tmp_path: Path) -> None:
    """The answers join the recording; a call that nobody answered keeps a run from being a golden."""
    eval_set, changed = copied_set(kept, tmp_path), agents(tmp_path, LOWER)
    refused = the_run(verify(eval_set, agents_dir=changed, cases=["two"]))
    before = eval_set.read_bytes(), sidecar_of(eval_set).read_bytes()
    with pytest.raises(VerifyError, match=r"stopped early, .*'two', turn"):
        accept(eval_set, "two", refused)
    assert (eval_set.read_bytes(), sidecar_of(eval_set).read_bytes()) == before
    made = the_run(verify(eval_set, agents_dir=changed, cases=["two"], unrecorded="generate"))
    assert made.came_to_its_end
    assert made.made
    assert divergence_of(made).action == "accept"
    accept(eval_set, "two", made)
    assert verify(eval_set, agents_dir=changed, cases=["two"]).status == "passed"


def test_a_repaired_golden_is_as_it_was(kept: Path, tmp_path: Path) -> None:
    """Whatever was edited in it, a response, arguments, the state, the query and a text; the recording stays byte for byte."""
    eval_set = copied_set(
        kept,
        tmp_path,
        ('"status": "shipped"', '"status": "lost"'),
        ('"order": "B"', '"order": "Z"'),
        ('"noted": "A"', '"noted": "B"'),
        ("; wipe C", "; wipe D"),
        ("check: {'status': 'shipped'}; check: {", "something of ours: {"),
    )
    repair(eval_set, "two", agents_dir=agents(tmp_path))
    assert json.loads(eval_set.read_text()) == json.loads(kept.read_text())
    assert sidecar_of(eval_set).read_bytes() == sidecar_of(kept).read_bytes()


SIGNS = """
from google.adk.models import LlmResponse
from google.genai import types


def find(order: str) -> dict:
    return {"order": order}


def sign(callback_context, llm_response):
    if (text := llm_response.content.parts[0].text) is None:
        return None
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text + " The desk")]))


root_agent = LlmAgent(name="small", model="gemini-2.5-flash", tools=[find], after_model_callback=sign)
"""


@pytest.mark.process
@pytest.mark.parametrize("where", ["here", "in its own process"])
def test_a_repaired_golden_has_what_a_callback_makes_of_the_recorded_models(
    tmp_path: Path, where: str
) -> None:
    """Also where the page repairs it, whose agents run in processes of their own: both files are as they were, byte for byte."""
    folder = agent(tmp_path / "agents", SIGNS)
    moves = [{"calls": [{"name": "find", "args": {"order": "A"}}]}, {"text": "It is found."}]
    eval_set = small_set(folder, {"say": "Find A", "moves": moves}, players={"find": "real"})
    before = eval_set.read_text(), sidecar_of(eval_set).read_bytes()
    assert "It is found. The desk" in before[0]
    eval_set.write_text(before[0].replace("It is found. The desk", "Something else"))
    repair(eval_set, "one", agent=str(folder) if where == "here" else config_of(folder.parent, folder.name))
    assert (eval_set.read_text(), sidecar_of(eval_set).read_bytes()) == before


def test_turns_that_were_lost_come_back(kept: Path, tmp_path: Path) -> None:
    """And such as were never recorded go."""
    eval_set, folder = copied_set(kept, tmp_path), agents(tmp_path)
    document = json.loads(eval_set.read_text())
    turns = document["eval_cases"][0]["conversation"]
    for edited in ([turns[0]], [*turns, turns[1]]):
        document["eval_cases"][0]["conversation"] = edited
        eval_set.write_text(json.dumps(document))
        repair(eval_set, "two", agents_dir=folder)
        assert len(json.loads(eval_set.read_text())["eval_cases"][0]["conversation"]) == 2
        assert verify(eval_set, agents_dir=folder, cases=["two"]).status == "passed"


@pytest.mark.long
def test_a_golden_kept_as_events_stays_so(kept: Path, tmp_path: Path) -> None:
    """With the texts on the way, and no event without content."""
    eval_set, changed = copied_set(kept, tmp_path), agents(tmp_path, SAYS)
    run = the_run(verify(eval_set, agents_dir=changed, cases=["two"]))
    document = json.loads(eval_set.read_text())
    for turn, happened in zip(document["eval_cases"][0]["conversation"], run.turns, strict=True):
        turn["intermediate_data"] = {"invocation_events": []}
        assert happened.invocation["intermediate_data"]
    eval_set.write_text(json.dumps(document))
    accept(eval_set, "two", run)
    turn = json.loads(eval_set.read_text())["eval_cases"][0]["conversation"][0]
    assert set(turn["intermediate_data"]) == {"invocation_events"}
    events = turn["intermediate_data"]["invocation_events"]
    assert events
    assert all(set(event) == {"author", "content"} and event["content"]["parts"] for event in events)
    assert verify(eval_set, agents_dir=changed, cases=["two"]).status == "passed"


def test_what_cannot_be_mended_is_told_and_nothing_is_written(kept: Path, tmp_path: Path) -> None:
    """A case that is not there or not recorded, a recording without models, an agent that is another one, another number of turns."""
    eval_set, folder = copied_set(kept, tmp_path), agents(tmp_path)
    whole = RunResult(passed=True, models="real")
    before = eval_set.read_bytes()
    with pytest.raises(VerifyError, match="'three'"):
        accept(eval_set, "three", whole)
    with pytest.raises(VerifyError, match=r"2 turns, .*0"):
        accept(eval_set, "two", whole)
    with pytest.raises(VerifyError, match=r"no longer .*check"):
        repair(eval_set, "two", agents_dir=agents(tmp_path / "x", ("        check,\n", "")))
    sidecar = sidecar_of(eval_set)
    document = json.loads(sidecar.read_text())
    for turn in document["cases"]["two"]["turns"]:
        del turn["models"]
    sidecar.write_text(json.dumps(document))
    with pytest.raises(VerifyError, match="no model turns"):
        repair(eval_set, "two", agents_dir=folder)
    del document["cases"]["two"]
    sidecar.write_text(json.dumps(document))
    with pytest.raises(VerifyError, match=r"recording .*'two'"):
        repair(eval_set, "two", agents_dir=folder)
    sidecar.write_text("[]")
    with pytest.raises(VerifyError, match="JSON object"):
        repair(eval_set, "two", agents_dir=folder)
    assert eval_set.read_bytes() == before
    assert read_environment(sidecar_of(kept)).cases.keys() == {"two", "other"}
