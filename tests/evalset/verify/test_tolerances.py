"""Verifies with tolerances, proposes them from runs, finds times, ids and random values that need one, and has plain `adk eval` heed them."""

from __future__ import annotations

import datetime as dt
import json
import random
import time
import uuid
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import START, Workflow
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from evalset.recorded.recording_files import read_environment, sidecar_of
from evalset.recorded.tolerances import (
    CaseInsensitive,
    Ignore,
    OneOfTolerance,
    PatternTolerance,
    Range,
    Tolerance,
    Unordered,
    as_recorded,
    tolerated,
)
from evalset.verify import (
    Criteria,
    RunResult,
    VerifyError,
    add_tolerances,
    eval_config,
    keep_tolerances,
    propose_tolerances,
    replay_written,
    tolerances_of,
    verify,
)
from evalset.verify.proposed_tolerances import WrittenCase
from evalset.verify.results import ActualTurn
from evalset.verify.varying_values import is_clock
from tests.evalset.recorded.test_files import json_values
from tests.evalset.replay import asking
from tests.evalset.replay.asking import book, played
from tests.evalset.replay.asking import kept as kept_of
from tests.evalset.replay.test_inputs import final_text
from tests.evalset.replay.test_inputs import the_run as one_run
from tests.evalset.verify.desks import LOWER, agents, copied_set, divergence_of, recorded_set, the_run
from tests.harness.adk_process import run_adk_eval
from tests.harness.tiny_agent import write_agent
from tests.simulator.runtime.stage import Scripted, call, say

QUERIES = ("check A, check B; note A", "check C")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An eval set with two cases in which the user says the same in the second turn."""
    return recorded_set(tmp_path_factory.mktemp("kept"), {"two": QUERIES, "one": ["check A"]})


@pytest.mark.long
def test_arguments_that_do_not_count_are_answered_by_the_tool_alone(kept: Path, tmp_path: Path) -> None:
    """As ADK's `ignore_args` has it."""
    changed = agents(tmp_path, LOWER)
    assert verify(kept, agents_dir=changed, criteria=Criteria(ignore_args=True)).status == "passed"


@pytest.mark.long
def test_a_divergence_is_no_argument_that_may_differ(kept: Path, tmp_path: Path) -> None:
    """The first call differs in what it may, the note in what it may not."""
    eval_set, changed = copied_set(kept, tmp_path), agents(tmp_path, LOWER)
    keep_tolerances(eval_set, "two", [Ignore(tool="check", path="order")])
    found = divergence_of(the_run(verify(eval_set, agents_dir=changed, cases=["two"])))
    assert (found.turn, found.what) == (0, "arguments")
    assert found.pairs[0].golden is not None
    assert found.pairs[0].golden.tool == "note"


def run_of(*calls: dict[str, Any], tool: str = "find") -> RunResult:
    """Make a run of one turn."""
    uses = [{"name": tool, "args": arguments} for arguments in calls]
    data = {"tool_uses": uses, "tool_responses": [], "intermediate_responses": []}
    invocation = {"user_content": {"role": "user", "parts": [{"text": "go"}]}, "intermediate_data": data}
    return RunResult(passed=False, models="real", turns=(ActualTurn(invocation=invocation),))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1, 1, 1], []),
        ([1, 3, 2.5], [Range(tool="find", path="x", low=1, high=3)]),
        (["Ada", "ADA"], [CaseInsensitive(tool="find", path="x")]),
        ([[1, 2], [2, 1]], [Unordered(tool="find", path="x")]),
        (["A-1", "A-22"], [PatternTolerance(tool="find", path="x", pattern="A\\-[0-9]+")]),
        (["red", "blue", "red", "blue"], [OneOfTolerance(tool="find", path="x", values=("red", "blue"))]),
        (["some words", "other words"], [Ignore(tool="find", path="x")]),
        ([{"a": 1, "b": "x y"}, {"a": 1, "b": "z"}, {"a": 1}], [Ignore(tool="find", path="x.b")]),
        ([[{"p": 1}, {"p": 5}], [{"p": 2}, {"p": 5}]], [Range(tool="find", path="x[*].p", low=1, high=2)]),
        ([[1], [1, 2]], [Ignore(tool="find", path="x")]),
        ([True, False, True, False], [OneOfTolerance(tool="find", path="x", values=(True, False))]),
    ],
)
def test_each_way_to_differ_has_its_tolerance(values: list[Any], wanted: list[Tolerance]) -> None:
    """The narrowest that a person would write."""
    assert list(propose_tolerances([run_of({"x": value}) for value in values])) == wanted


@pytest.mark.long
@given(
    st.lists(
        st.lists(
            st.dictionaries(st.sampled_from(["x", "y", "odd name"]), json_values, max_size=3),
            min_size=2,
            max_size=2,
        ),
        min_size=2,
        max_size=4,
    )
)
def test_what_is_proposed_lets_each_run_stand_for_each_other(runs: list[list[dict[str, Any]]]) -> None:
    """Whatever the arguments were."""
    proposed = propose_tolerances([run_of(*calls) for calls in runs])
    for calls in runs:
        for others in runs:
            for recorded, asked in zip(calls, others, strict=True):
                assert tolerated("find", recorded, asked, proposed), proposed


def test_tolerances_of_what_is_not_there_are_refused(kept: Path, tmp_path: Path) -> None:
    """A case that is not recorded; a file that is not there, or is something else. Nothing is written."""
    before = sidecar_of(kept).read_bytes()
    with pytest.raises(VerifyError, match="no case 'three'"):
        keep_tolerances(kept, "three", [])
    assert sidecar_of(kept).read_bytes() == before
    with pytest.raises(VerifyError, match="cannot be read"):
        keep_tolerances(tmp_path / "none.evalset.json", "one", [])
    (tmp_path / "odd.environment.json").write_text("[]")
    with pytest.raises(VerifyError, match="JSON object"):
        tolerances_of(tmp_path / "odd.evalset.json", "one")
    assert read_environment(sidecar_of(kept)).cases["one"].tolerances == ()


@pytest.mark.long
@pytest.mark.process
def test_plain_adk_eval_heeds_the_tolerances(kept: Path, tmp_path: Path) -> None:
    """By the metric of the config that we give it; ADK's own metric does not, and a case without tolerances fails in both."""
    eval_set = copied_set(kept, tmp_path)
    keep_tolerances(eval_set, "two", [CaseInsensitive(tool="*", path="order")])
    folder = agents(tmp_path, LOWER) / "desk"
    source = folder / "agent.py"
    lines = (
        "from evalset import HermeticEnvironment\n"
        f"app = App(name='desk', root_agent=root_agent, plugins=[HermeticEnvironment({str(sidecar_of(eval_set))!r})])\n"
    )
    source.write_text(source.read_text() + lines)
    config = json.loads(json.dumps(eval_config(eval_set, criteria=Criteria(response=None))))
    criteria = {**config.pop("criteria"), "tool_trajectory_avg_score": 1.0}
    outcome = run_adk_eval(folder, eval_set, criteria=criteria, config=config)
    scores = {eval_id: dict(found) for eval_id, found in outcome.scores.items()}
    assert {
        eval_id: (found["tolerant_trajectory"], found["tool_trajectory_avg_score"])
        for eval_id, found in scores.items()
    } == {"two": (1.0, 0.0), "one": (0.0, 0.0)}, outcome.output


def said(*texts: str) -> RunResult:
    """Make a run whose turns end with these texts."""
    turns = [
        ActualTurn(
            invocation={
                "user_content": {"role": "user", "parts": [{"text": "go"}]},
                "final_response": {"role": "model", "parts": [{"text": text}]},
            }
        )
        for text in texts
    ]
    return RunResult(passed=False, models="real", turns=tuple(turns))


@pytest.mark.parametrize(
    ("runs", "allowed", "refused"),
    [
        ([("Nothing on 2026-11-27 15:43:05.",), ("Nothing on 2026-11-28 09:01:10.",)], "Nothing on 2026-12-01 00:00:00.", "All on 2026-12-01 00:00:00."),
        ([("Order A-17 is here.", "Bye"), ("Order B-2 is here.", "Bye")], "Order C-33 is here.", "Order C-33 is gone."),
    ],
    ids=["times", "ids"],
)  # fmt: skip
def test_words_with_digits_in_a_final_response_may_differ(
    runs: list[tuple[str, ...]], allowed: str, refused: str
) -> None:
    """The text around them stays as it is."""
    (proposed,) = propose_tolerances([said(*texts) for texts in runs])
    recorded = runs[0][0]
    assert as_recorded("final_response", recorded, allowed, (proposed,)) == recorded
    assert as_recorded("final_response", recorded, refused, (proposed,)) == refused


def test_other_words_of_a_final_response_are_the_agents() -> None:
    """Nothing is proposed for a text that says something else in each run."""
    assert propose_tolerances([said("It is open."), said("It is closed.")]) == ()
    assert propose_tolerances([said("At 9 it opens."), said("It opens at 10 or so.")]) == ()


NOW = 1_700_000_000.25
Makes = Callable[[], Any]
_COUNT = count()


def stamped(
    make: Makes, *, text: Makes | None = None, response: Makes | None = None, kind: str = "same"
) -> LlmAgent:
    """Make an agent whose callbacks write into the state, and into what a model or a tool said."""

    def before(callback_context: Any) -> None:
        callback_context.state["last_seen"] = make()
        callback_context.state["fixed"] = {"kind": kind}

    def after_tool(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> Any:
        del tool, args, tool_context
        return {**tool_response, "at": response()} if response else None

    def after_model(callback_context: Any, llm_response: Any) -> Any:
        del callback_context
        for part in llm_response.content.parts:
            if part.text and text is not None:
                part.text = f"Booked by {text()}, all is well with your trip to the place that you named."
        return llm_response

    return LlmAgent(
        name="agent",
        model=Scripted(turns=[[call("book", place="Rome")], [say("booked")]]),
        tools=[book],
        before_agent_callback=before,
        after_tool_callback=after_tool,
        after_model_callback=after_model,
    )


def nothing() -> int:
    """Return always the same."""
    return 1


def replays(eval_set: Path, agent: Any, **more: Any) -> WrittenCase:
    """Replay the case that was written, as the export does."""
    return replay_written(eval_set, "case", agent=asking.config(agent), **more)


VALUES: dict[str, tuple[Makes, str]] = {
    "seconds": (time.time, "a time"),
    "nanoseconds": (time.time_ns, "a time"),
    "iso": (lambda: dt.datetime.now(dt.UTC).isoformat(), "a time"),
    "an id": (lambda: str(uuid.uuid4()), "an id"),
    "hex": (lambda: f"a{uuid.uuid4().hex[:11]}", "an id"),
    "a number": (random.random, "a random number"),
    "a counter": (lambda: next(_COUNT), "a random number"),
    "in a list": (lambda: [{"of": "Rome", "at": time.time()}], "a time"),
}


@pytest.mark.parametrize(("make", "holds"), VALUES.values(), ids=VALUES)
def test_a_state_that_varies_is_a_verdict_of_its_own(make: Makes, holds: str, tmp_path: Path) -> None:
    """The run fails, and nobody says that the agent changed; with what is proposed it passes."""
    eval_set = kept_of(played(stamped(make), []), tmp_path)
    run = one_run(eval_set, stamped(make))
    assert not run.passed
    found = divergence_of(run)
    assert (found.verdict, found.action) == ("varies", "tolerate")
    assert f"The state contains {holds}" in found.sentence
    (varying,) = run.varying
    assert varying.tolerance.path in {"last_seen", "last_seen[*].at"}
    assert (varying.holds, varying.tolerance.of, varying.tolerance.kind) == (holds, "state", "ignore")
    add_tolerances(eval_set, "case", propose_tolerances([run]))
    assert one_run(eval_set, stamped(make)).passed


@pytest.mark.parametrize(
    ("agent", "named"),
    [
        (lambda: stamped(nothing, response=time.time), ("response", "book", '"at"', "a time")),
        (
            lambda: stamped(nothing, text=lambda: f"{uuid.uuid4()} of {time.ctime()}"),
            ("final response", "a time"),
        ),
        (lambda: stamped(nothing, text=lambda: str(uuid.uuid4())), ("final response", "an id")),
    ],
    ids=["response", "text with both", "text and id"],
)
def test_a_written_case_is_replayed_and_settled(agent: Makes, named: tuple[str, ...], tmp_path: Path) -> None:
    """Before anything failed: a line for each, and with them the case passes its own verification."""
    eval_set = kept_of(played(agent(), []), tmp_path)
    written = replays(eval_set, agent(), keep=True)
    (line,) = written.lines
    assert all(each in line for each in named)
    assert (written.passed, written.kept) == (True, True)
    assert tolerances_of(eval_set, "case") == written.tolerances
    assert read_environment(sidecar_of(eval_set)).version == 10
    assert one_run(eval_set, agent(), criteria=Criteria(response=1.0)).passed
    (tolerance,) = written.tolerances
    if isinstance(tolerance, PatternTolerance):  # a text has to be the same around what varies
        assert as_recorded("final_response", "x", "something else", [tolerance]) == "something else"
        assert as_recorded("final_response", "x", final_text(played(agent(), []).session), [tolerance]) == "x"


def speaking(*texts: str) -> LlmAgent:
    """Make an agent that says in each turn what holds an id."""

    def after_model(callback_context: Any, llm_response: Any) -> Any:
        del callback_context
        llm_response.content.parts[0].text = llm_response.content.parts[0].text.format(uuid.uuid4())
        return llm_response

    model = Scripted(turns=[[say(text)] for text in texts])
    return LlmAgent(name="agent", model=model, after_model_callback=after_model)


@pytest.mark.parametrize("words", ["Lost by {}, all is well", "Booked by {}, and much more is well"])
def test_other_words_beside_an_id_are_the_agents_doing(words: str, tmp_path: Path) -> None:
    """An id in a final response does not excuse that the words around it changed."""
    eval_set = kept_of(played(speaking("Booked by {}, all is well"), []), tmp_path)
    found = divergence_of(one_run(eval_set, speaking(words), criteria=Criteria(response=1.0)))
    assert (found.verdict, found.what) == ("agent_changed", "text")


def test_a_final_response_that_is_unknown_leaves_the_ids_of_others_to_vary(tmp_path: Path) -> None:
    """A turn whose final response neither the golden nor the recording holds says nothing about the agent."""
    words = ["Booked as {} for you"] * 2
    eval_set = kept_of(played(speaking(*words), [], ["go", "again"]), tmp_path)
    recording = json.loads(sidecar_of(eval_set).read_text())
    for case in recording["cases"].values():
        del case["turns"][0]["golden"]
    sidecar_of(eval_set).write_text(json.dumps(recording))
    document = json.loads(eval_set.read_text())
    document["eval_cases"][0]["conversation"][0].pop("final_response")
    eval_set.write_text(json.dumps(document))
    run = one_run(eval_set, speaking(*words), criteria=Criteria(response=1.0))
    assert [one.tolerance.of for one in run.varying] == ["final_response"]
    assert divergence_of(run).verdict == "varies"


def test_a_graph_that_calls_a_tool_with_a_time(tmp_path: Path) -> None:
    """No call of the recording has its arguments: they are tolerated, and the data that the graph ends with, by place."""

    def place() -> dict[str, str]:
        return {"place": f"Rome at {time.time()}"}

    def told(node_input: Any) -> dict[str, Any]:
        return {"was": "booked", "id": str(uuid.uuid4())}

    def graph() -> Workflow:
        return Workflow(name="graph", edges=[(START, place, FunctionTool(book), told)])

    eval_set = kept_of(played(graph(), []), tmp_path)
    run = one_run(eval_set, graph())
    assert divergence_of(run).verdict == "varies", run
    assert {(each.tolerance.of, each.tolerance.path) for each in run.varying} == {
        ("arguments", "place"),
        ("final_response", "id"),
    }
    assert replays(eval_set, graph(), keep=True).passed
    assert one_run(eval_set, graph(), criteria=Criteria(response=1.0)).passed


def numbered(end: str = "book or drop?", again: bool = False, interrupt_id: str = "first") -> Workflow:
    """Ask the user about a request whose number is drawn in each run; once more about another, where that is wanted."""

    def asks(name: str, words: str, which: str) -> Any:
        return asking.asks(name, lambda: f"{words} REQ-{uuid.uuid4().int % 10**8:08} to Rome: {end}", which)

    first = asks("ask", "Request", interrupt_id)
    more = [asks("again", "Still", "second")] if again else []
    return Workflow(name="graph", edges=[(START, first, *more, asking.place_of, FunctionTool(book))])


@pytest.mark.parametrize(
    "more",
    [{}, {"interrupt_id": ""}, {"again": True}],
    ids=["one question", "of an id that ADK draws", "two questions"],
)
@pytest.mark.parametrize("models", [pytest.param("auto", marks=pytest.mark.long), "recorded"])
def test_an_id_in_the_words_of_a_question_to_the_user_varies(
    more: dict[str, Any], models: str, tmp_path: Path
) -> None:
    """The agent is not blamed; with what is proposed the case passes. Other words around the id are its doing, before and then."""
    eval_set = kept_of(played(numbered(**more), ["Rome"] * (1 + ("again" in more))), tmp_path)
    run = one_run(eval_set, numbered(**more), models=models)
    found = divergence_of(run)
    assert (found.verdict, found.action, run.unrecorded) == ("varies", "tolerate", ()), run
    assert found.sentence.startswith("A question to the user contains an id. ")
    (varying,) = run.varying
    assert (varying.tolerance.tool, varying.tolerance.path) == ("adk_request_input", "message")
    assert isinstance(varying.tolerance, PatternTolerance)
    for is_kept in (False, True):
        if is_kept:
            add_tolerances(eval_set, "case", propose_tolerances([run]))
            assert one_run(eval_set, numbered(**more), models=models).passed
        other = divergence_of(one_run(eval_set, numbered("fly or drop?", **more), models=models))
        assert (other.verdict, other.what) == ("agent_changed", "arguments")


class Clocked(BaseLlm):
    """Writes the time and an id into its call, and the time into its final response."""

    model: str = "clocked"
    words: str = "All is booked, at"
    place: str = "Rome"

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        """Call, then speak."""
        del stream
        now = f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%S.%f}"
        if any(part.function_response for each in llm_request.contents for part in each.parts):
            part = say(f"{self.words} {now}.")
        else:
            part = call("book", place=f"{self.place} {uuid.uuid4()} {now}")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


@pytest.mark.parametrize(
    ("model", "verdict"),
    [
        (Clocked(), "varies"),
        (Clocked(words="Nothing was left, at"), "agent_changed"),
        (Clocked(place="Oslo"), "agent_changed"),
    ],
    ids=["same", "other words", "another place"],
)
def test_times_and_ids_that_an_agents_own_model_writes_vary(
    model: Clocked, verdict: str, tmp_path: Path
) -> None:
    """At the first run with real models; other words beside them are the agent's doing."""

    def agent_with(own: Clocked) -> LlmAgent:
        return LlmAgent(name="agent", model=own, tools=[book])

    eval_set = kept_of(played(agent_with(Clocked()), []), tmp_path)
    run = one_run(eval_set, agent_with(model), models="real")
    assert divergence_of(run).verdict == verdict, run
    if verdict == "varies":
        add_tolerances(eval_set, "case", propose_tolerances([run]))
        assert one_run(eval_set, agent_with(model), models="real").passed


def test_a_day_that_is_the_same_by_luck_is_found(tmp_path: Path) -> None:
    """All of it is made within one day, and the test set fails tomorrow; a day that a tool gave is no luck."""

    def today() -> str:
        return dt.datetime.now(dt.UTC).date().isoformat()

    eval_set = kept_of(played(stamped(today), []), tmp_path)
    (line,) = replays(eval_set, stamped(today)).lines
    assert line.startswith('state "last_seen" ')
    asked = kept_of(played(stamped(today), [], [f"for {today()}"]), tmp_path, "asked")
    assert replay_written(asked, "asked", agent=asking.config(stamped(today))).lines == ()


def test_a_new_value_that_varies_is_told_as_new(tmp_path: Path) -> None:
    """The golden does not have it, so nobody says that the agent did not change; what is proposed lets it pass all the same."""
    before = stamped(time.time)
    before.before_agent_callback = None
    eval_set = kept_of(played(before, []), tmp_path)

    def seen(callback_context: Any) -> None:
        callback_context.state["last_seen"] = time.time()

    before.before_agent_callback = seen
    run = one_run(eval_set, before)
    found = divergence_of(run)
    assert (found.verdict, found.action) == ("varies", "tolerate")
    assert '"last_seen": the agent changed' in found.sentence
    assert "did not change" not in found.sentence
    (varying,) = run.varying
    assert (varying.is_new, varying.line.partition(":")[0]) == (
        True,
        'state "last_seen" is new and contains a time',
    )
    add_tolerances(eval_set, "case", propose_tolerances([run]))
    assert one_run(eval_set, before).passed


def test_what_really_changed_stands_above_what_varies(tmp_path: Path) -> None:
    """The divergence is the real one, and what varies is told beside it."""
    eval_set = kept_of(played(stamped(time.time), []), tmp_path)
    found = divergence_of(one_run(eval_set, stamped(time.time, kind="another")))
    assert found.verdict == "agent_changed"
    assert [each.path for each in found.differences] == ["fixed.kind"]
    assert any('"last_seen" contains a time' in sentence for sentence in found.evidence)


@pytest.mark.parametrize("is_silent", [False, True])
def test_what_differs_from_the_recording_alone_is_the_agents_doing(is_silent: bool, tmp_path: Path) -> None:
    """Replays agree with each other, in another value or in none: nothing varies, and the agent did change."""
    eval_set = kept_of(played(stamped(lambda: "before"), []), tmp_path)
    changed = stamped(lambda: "after")
    if is_silent:
        changed.before_agent_callback = None
    run = one_run(eval_set, changed)
    assert (divergence_of(run).verdict, run.varying) == ("agent_changed", ())


def test_a_case_without_a_recording_is_refused(tmp_path: Path) -> None:
    """There is nothing to replay it with."""
    eval_set = kept_of(played(stamped(nothing), []), tmp_path)
    sidecar_of(eval_set).unlink()
    with pytest.raises(VerifyError, match="no recording "):
        replays(eval_set, stamped(nothing))


def test_several_runs_propose_for_state_and_responses_too(tmp_path: Path) -> None:
    """As they do for arguments; what is proposed lets each pass."""

    def agent() -> LlmAgent:
        return stamped(random.random, response=time.time)

    eval_set = kept_of(played(agent(), []), tmp_path)
    (case,) = verify(eval_set, agent=asking.config(agent()), runs=3).cases
    proposed = propose_tolerances(case.runs)
    assert {(each.of, each.tool, each.path) for each in proposed} == {
        ("response", "book", "at"),
        ("state", "*", "last_seen"),
    }
    keep_tolerances(eval_set, "case", proposed)
    assert one_run(eval_set, agent()).passed


@pytest.mark.long
@pytest.mark.process
def test_plain_adk_eval_heeds_tolerances_of_final_responses(tmp_path: Path) -> None:
    """By the metric that the written `EvalConfig` names; ADK's own fails on the same case."""
    agent = stamped(nothing, text=lambda: " ".join(str(uuid.uuid4()) for _ in range(9)))
    eval_set = kept_of(played(agent, []), tmp_path)
    assert replays(eval_set, agent, keep=True).passed
    source = VARYING.replace("ENVIRONMENT", repr(str(sidecar_of(eval_set))))
    folder = write_agent(tmp_path / "agents" / "stage", source)
    config = eval_config(eval_set, criteria=Criteria(response=1.0))
    assert set(config["criteria"]) == {"tolerant_trajectory", "tolerant_response"}  # type: ignore[arg-type] # a JSON object
    root = {"PYTHONPATH": str(Path(__file__).parents[3])}
    criteria: Any = config["criteria"]
    own = {"custom_metrics": config["custom_metrics"]}
    outcome = run_adk_eval(
        folder, eval_set, criteria={**criteria, "response_match_score": 1.0}, config=own, environment=root
    )
    scores = outcome.scores["case"]
    assert (scores["tolerant_trajectory"], scores["tolerant_response"]) == (1.0, 1.0), outcome.output
    assert scores["response_match_score"] is not None
    assert scores["response_match_score"] < 1


VARYING = """
import uuid

from evalset import HermeticEnvironment
from google.adk.apps import App
from tests.evalset.verify.test_tolerances import nothing, stamped

root_agent = stamped(nothing, text=lambda: " ".join(str(uuid.uuid4()) for _ in range(9)))
app = App(name="stage", root_agent=root_agent, plugins=[HermeticEnvironment(ENVIRONMENT)])
"""


@given(json_values, json_values)
def test_ignoring_all_of_it_puts_everything_as_it_was_recorded(recorded: Any, given_: Any) -> None:
    """And without a tolerance of its kind, nothing."""
    everything: list[Tolerance] = [Ignore(of="state")]
    assert as_recorded("state", recorded, given_, everything) == recorded
    assert as_recorded("response", recorded, given_, everything) == given_


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        (NOW, True),
        (int(NOW * 1e3), True),
        (int(NOW * 1e9), True),
        (NOW - 86_400 * 30, False),
        (3, False),
        (True, False),
        ("2023-11-14T22:13:20Z", True),
        ("2023-11-14 23:13:20.25", True),
        ("Tue, 14 Nov 2023 22:13:20 GMT", True),
        ("Tue Nov 14 22:13:20 2023", True),
        ("14/11/2023", True),
        ("November 14, 2023", True),
        ("2021-01-01T00:00:00Z", False),
        ("1700000000", True),
        ("order 1700000000 of Ada", False),
    ],
)
def test_a_clocks_time_is_told_from_other_values(value: Any, is_one: bool) -> None:
    """Numbers in each unit, and texts as programs and people write them."""
    assert is_clock(value, NOW - 1, NOW + 1) is is_one
