"""Datasets are what Agent Platform's own classes read, and an import of ours gives every golden back, with edits of the dataset."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    SessionInput,
)
from google.adk.evaluation.eval_rubrics import Rubric, RubricContent
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from evalset import Exported, export_cases, import_cases, read_cases
from evalset.exporting.dataset_file import agent_cards, dataset_file
from evalset.importing.dataset_cases import DatasetCase, dataset_cases
from evalset.importing.gathered import ImportProblemError
from evalset.importing.known_answers import read_dataset
from evalset.recorded.recording import RecordedEnvironment
from evalset.recorded.recording_files import read_environment
from tests.evalset.files.formatting import TEXTS, VALUES
from tests.evalset.golden_trace.traces import text
from tests.evalset.golden_trace.traces import turns as turns_of
from tests.evalset.replay.desk_agent import config, keep, played, write_desk
from tests.evalset.replay.test_hermetic import ANSWERS, EVERYTHING

OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=2)
NAMES = st.text("abcde_0", min_size=1, max_size=6)


def document(exported: Exported) -> dict[str, Any]:
    """Return the dataset of an export."""
    found: dict[str, Any] = json.loads(exported.files[0].text)
    return found


def read(cases: list[Any]) -> tuple[list[EvalCase], list[str]]:
    """Read the cases of a dataset, and what is said about them."""
    told: list[str] = []
    found: list[DatasetCase] = list(dataset_cases(cases, told.append))
    return [each.case for each in found], told


class Desk:
    """Goldens of the desk, with what is recorded of them, and its agent."""

    def __init__(self, folder: Path) -> None:
        write_desk(folder / "agents")
        of, eval_set = config(folder / "agents"), folder / "desk.evalset.json"
        sidecar = keep(
            played(of, [EVERYTHING, "check C", "note B"], {**ANSWERS, "check": {"n": 1}}), eval_set, "three"
        )
        keep(played(of, ["check A"], ANSWERS), eval_set, "one")
        keep(
            played(of, ["check A", "check B"], {"check": {"n": 1}}, state={"tier": "gold"}), eval_set, "state"
        )
        keep(played(of, [EVERYTHING], ANSWERS), eval_set, "events", form="invocation_events")
        self.root = of.root_agent
        self.cases = list(read_cases(eval_set.read_text()).values())
        self.environments: RecordedEnvironment = read_environment(sidecar)
        self.exported = export_cases(
            self.cases, "dataset", environments=self.environments, name="desk", root_agent=self.root
        )


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Played once; nothing changes it."""
    return Desk(tmp_path_factory.mktemp("desk"))


@pytest.mark.long
def test_agent_platforms_own_classes_read_it(desk: Desk) -> None:
    """A case for each turn: the message last, all events of the turns before it, and the agents with what they can call."""
    dataset_types = pytest.importorskip("vertexai._genai.types")
    found = dataset_types.EvaluationDataset.model_validate_json(desk.exported.files[0].text)
    by_id = {case.eval_case_id: case for case in found.eval_cases}
    assert list(by_id) == [
        "three_turn0",
        "three_turn1",
        "three_turn2",
        "one",
        "state_turn0",
        "state_turn1",
        "events",
    ]
    assert by_id["one"].prompt.parts[0].text == "check A"
    assert by_id["one"].agent_data is None
    assert by_id["one"].reference.response.role == "model"
    last = by_id["three_turn2"]
    assert [turn.turn_index for turn in last.agent_data.turns] == [0, 1, 2]
    assert [event.author for event in last.agent_data.turns[2].events] == ["user"]
    assert last.agent_data.agents["desk"].sub_agents == ["refunds"]
    declared = last.agent_data.agents["desk"].tools[0].function_declarations
    assert {each.name for each in declared} >= {"check", "wipe", "advisor"}
    assert last.agent_data.agents["refunds"].instruction == "Refund."
    events = last.agent_data.turns[0].events
    parallel = [part.function_call.name for part in events[1].content.parts]
    assert (events[0].author, parallel) == ("user", ["check", "check"])
    assert [event.state_delta for event in events if event.state_delta] == []
    assert events[-1].author == "refunds"
    assert by_id["state_turn0"].prompt.parts[0].text == "check A"
    (state,) = (case for case in desk.cases if case.eval_id == "state")
    alone = dataset_types.EvaluationDataset.model_validate_json(dataset_file([state], {}, None).text)
    seeds = alone.eval_cases[1].agent_data.turns[0].events[0]
    assert (seeds.author, seeds.content, seeds.state_delta) == ("user", None, {"tier": "gold"})


def test_an_import_gives_the_goldens_back_with_their_recordings(desk: Desk, tmp_path: Path) -> None:
    """Equal, in a file beside its environment; without the agent it is said that its instructions are left out."""
    for file in desk.exported.files:
        (tmp_path / file.path).write_text(file.text)
    assert [file.path for file in desk.exported.files] == [
        "desk-dataset.json",
        "desk-dataset.environment.json",
    ]
    found = import_cases(tmp_path)
    assert list(found.cases) == desk.cases
    assert found.environments == desk.environments.cases
    assert found.problems == ()
    without = export_cases(desk.cases, "dataset", environments=desk.environments, name="desk")
    restored, left_out = sorted(desk.exported.losses, reverse=True)
    assert "initial state" in restored
    assert restored.endswith("('state')")
    assert "state changes" in left_out
    assert left_out.endswith("('three')")
    (of_agent,) = set(without.losses) - set(desk.exported.losses)
    assert "agent" in of_agent
    alone = export_cases(desk.cases, "dataset", name="desk")
    assert any("google-adk 2.13" in loss for loss in alone.losses)
    assert read(document(without)["eval_cases"])[0] == desk.cases


def test_edits_of_the_dataset_are_taken(desk: Desk) -> None:
    """What was edited comes from the dataset and is named; calls and all else come from the golden. A copy under another id is its own case."""
    cases = document(export_cases(desk.cases, "dataset", name="desk"))["eval_cases"]
    one = next(case for case in cases if case["eval_case_id"] == "one")
    copy = json.loads(json.dumps(one)) | {"eval_case_id": "copy"}
    copy["prompt"]["parts"][0]["text"] = "check Z"
    state = [case for case in cases if case["eval_case_id"].startswith("state")]
    state[0]["agent_data"]["turns"][0]["events"][0]["state_delta"] = {"tier": "basic"}
    state[1]["reference"]["response"]["parts"][0]["text"] = "other"
    found, told = read([one, copy, *state])
    golden = {case.eval_id: case for case in desk.cases}
    assert [case.eval_id for case in found] == ["one", "copy", "state"]
    assert found[0] == golden["one"]
    (copied,), (whole,), (_, edited) = (turns_of(case) for case in (found[1], golden["one"], found[2]))
    assert text(copied.user_content) == "check Z"
    assert copied.intermediate_data == whole.intermediate_data
    assert found[2].session_input is not None
    assert found[2].session_input.state == {"tier": "basic"}
    assert edited.final_response == types.Content(role="model", parts=[types.Part(text="other")])
    wanted = (
        "turn 1: .*user message.*: 'copy'",
        "turn 2: .*reference.*: 'state'",
        ".*initial state.*: 'state'",
    )
    assert all(map(re.fullmatch, wanted, told)), told
    assert len(told) == len(wanted)


def test_a_part_of_a_golden_is_read_as_what_it_says(desk: Desk) -> None:
    """Of three turns the first is missing; that is named. A newer version of our field is refused."""
    cases = document(desk.exported)["eval_cases"]
    found, told = read(cases[1:3])
    assert [len(case.conversation or ()) for case in found] == [2, 3]
    assert [case.eval_id for case in found] == ["three_turn1", "three_turn2"]
    assert re.search("turns .*'three_turn1'", told[0])
    for case in cases[:3]:
        case["golden_trace"]["version"] = 2
    with pytest.raises(ImportProblemError, match=r"golden_trace .*2"):
        read(cases[:3])


def test_an_instruction_that_code_makes_is_named() -> None:
    """A dataset has no place for it: the agent's card lacks it, and the losses say so."""
    agent = LlmAgent(name="desk", model="none", instruction=lambda _: "Help.", description="Helps.")
    cards = agent_cards(agent)
    assert "instruction" not in cards.agents["desk"]
    assert any("'desk' is made by code" in loss for loss in cards.losses)


def test_a_scenario_is_a_prompt_with_its_plan() -> None:
    """`eval generate` needs a message; the persona comes back, and an edited plan is taken."""
    held = ConversationScenario(starting_prompt="Hello.", conversation_plan="Ask.", user_persona="NOVICE")
    session = SessionInput(app_name="desk", user_id="u", state={"tier": "gold"})
    case = EvalCase(eval_id="s", conversation_scenario=held, session_input=session)
    exported = export_cases([case], "dataset", name="desk")
    (written,) = document(exported)["eval_cases"]
    assert written["agent_data"]["turns"][0]["events"][1]["content"]["parts"] == [{"text": "Hello."}]
    dataset_types = pytest.importorskip("vertexai._genai.types")
    assert dataset_types.EvaluationDataset.model_validate_json(exported.files[0].text).eval_cases
    assert read([written]) == ([case], [])
    written["user_scenario"]["conversation_plan"] = "Insist."
    (edited,), _ = read([written])
    assert edited.conversation_scenario == held.model_copy(update={"conversation_plan": "Insist."})


@st.composite
def rubrics(draw: st.DrawFn) -> Rubric:
    """Draw a rubric."""
    return Rubric(
        rubric_id=draw(NAMES),
        rubric_content=RubricContent(text_property=draw(TEXTS)),
        description=draw(st.none() | TEXTS),
        type=draw(st.sampled_from([None, "TOOL_USE_QUALITY"])),
    )


RUBRICS = st.none() | st.lists(rubrics(), max_size=2)
CALLS = st.lists(st.tuples(st.none() | NAMES, NAMES, OBJECTS, st.none() | OBJECTS), max_size=3)
CONTENTS = st.builds(
    lambda role, texts, data: types.Content(
        role=role,
        parts=[
            *(types.Part(text=each) for each in texts),
            *([types.Part(inline_data=types.Blob(data=data, mime_type="a/b"))] if data else []),
        ],
    ),
    st.sampled_from([None, "user", "model"]),
    st.lists(TEXTS, max_size=2),
    st.binary(max_size=5),
)


@st.composite
def turns(draw: st.DrawFn) -> Invocation:
    """Draw a turn: calls with and without ids and responses, in either of ADK's forms."""
    made = draw(CALLS)
    calls = [types.FunctionCall(id=call_id, name=name, args=args) for call_id, name, args, _ in made]
    given_back = [
        types.FunctionResponse(id=call_id, name=name, response=response)
        for call_id, name, _, response in made
        if response is not None
    ]
    parts = [types.Part(function_call=call) for call in calls]
    answers = [types.Part(function_response=response) for response in given_back]
    event = InvocationEvent(author=draw(NAMES), content=types.Content(role="model", parts=[*parts, *answers]))
    data = st.sampled_from(
        [
            None,
            IntermediateData(tool_uses=calls, tool_responses=given_back),
            InvocationEvents(invocation_events=[event]),
        ]
    )
    return Invocation(
        invocation_id=draw(TEXTS),
        user_content=draw(CONTENTS),
        final_response=draw(st.none() | CONTENTS),
        intermediate_data=draw(data),
        creation_timestamp=draw(st.sampled_from([0.0, 1.5])),
        rubrics=draw(RUBRICS),
    )


@st.composite
def goldens(draw: st.DrawFn) -> EvalCase:
    """Draw a golden of up to three turns."""
    state = draw(st.none() | st.dictionaries(NAMES, VALUES, max_size=2))
    return EvalCase(
        eval_id=draw(NAMES),
        conversation=draw(st.lists(turns(), min_size=1, max_size=3)),
        session_input=None if state is None else SessionInput(app_name="desk", user_id="u", state=state),
        rubrics=draw(RUBRICS),
        final_session_state=draw(OBJECTS),
    )


@given(st.lists(goldens(), min_size=1, max_size=3))
def test_any_golden_comes_back_equal(cases: list[EvalCase]) -> None:
    """Every form of calls, contents, states and rubrics; several goldens in a file, of the same id too."""
    written = dataset_file(cases, {}, None).text
    found, told = read(json.loads(written)["eval_cases"])
    assert found == cases
    assert told == []
    dataset_types = pytest.importorskip("vertexai._genai.types")
    assert dataset_types.EvaluationDataset.model_validate_json(written).eval_cases


def test_a_golden_that_is_called_like_a_turn_of_another_is_named() -> None:
    """Both have a case of the same id then, which other programs cannot tell apart."""
    says = types.Content(role="user", parts=[types.Part(text="Hi.")])
    turn = Invocation(user_content=says, creation_timestamp=1.0)
    cases = [
        EvalCase(eval_id="x", conversation=[turn, turn]),
        EvalCase(eval_id="x_turn1", conversation=[turn]),
    ]
    assert any(loss.endswith("('x_turn1')") for loss in dataset_file(cases, {}, None).losses)


def test_a_dataset_without_its_recording_makes_none_up(desk: Desk, tmp_path: Path) -> None:
    """Which agent made a call is told only where a golden holds events: of the others there is no recording."""
    path = tmp_path / "desk-dataset.json"
    path.write_text(desk.exported.files[0].text)
    found = read_dataset(path)
    assert found is not None
    assert len(found.cases) == len(desk.cases)
    assert set(found.environment(RecordedEnvironment()).cases) == {"events"}
