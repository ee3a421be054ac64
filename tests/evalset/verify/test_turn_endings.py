"""A turn that a tool's response ends is replayed as one that the agent's own words end; calls inside of an agent tool are compared, though the golden does not contain them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evalset import write_golden_trace
from evalset.cli.main import main
from evalset.verify import replay_written
from simulator import Simulation, called
from simulator import said as says
from simulator.agents.agent_folder import AgentFolder
from simulator.facts import EVERY
from simulator.session import Seats
from tests.evalset.ending import Ends
from tests.evalset.verify.small_agents import agent, played, verified
from tests.evalset.verify.test_user_state import imported, said

SQL = '''
def count(what: str, tool_context) -> dict:
    """Count rows."""
    tool_context.actions.skip_summarization = True
    return {"rows": len(what)}


root_agent = LlmAgent(name="small", model="gemini-2.5-flash", instruction="Count.", tools=[count])
'''.replace("tool_context)", "tool_context: ToolContext)").replace(
    "\ndef count", "\nfrom google.adk.tools import ToolContext\n\n\ndef count", 1
)
INNER = """
inner = LlmAgent(name="inner", model="gemini-2.5-flash", description="Counts.", instruction="Count.")
root_agent = LlmAgent(
    name="small", model="gemini-2.5-flash", instruction="Ask.", tools=[AgentTool(inner, skip_summarization=True)]
)
"""
COUNTS = {"calls": [{"name": "count", "args": {"what": "abc"}}]}


def counted(folder: Path, *, times: int = 1) -> tuple[Path, dict[str, Any]]:
    """Play the agent whose real tool ends its turn; return the set and its turn."""
    calls = {"calls": COUNTS["calls"] * times}
    turn = {"say": "How many?", "moves": [calls]}
    written = played(agent(folder / "agents", SQL), turn, players={"count": "real"})
    return written, json.loads(written.read_text())["eval_cases"][0]["conversation"][0]


LETTER = """
from google.adk.tools import LongRunningFunctionTool
from pydantic import BaseModel


class Reply(BaseModel):
    reply: str


def send(to: str) -> dict:
    return {"status": "queued"}


root_agent = LlmAgent(name="small", model="gemini-2.5-flash", tools=[LongRunningFunctionTool(send)], output_schema=Reply)
"""


def data(reply: str) -> dict[str, Any]:
    """Return the move that gives the data of a turn."""
    return {"calls": [{"name": "set_model_response", "args": {"reply": reply}}]}


def test_data_that_was_given_before_a_late_result_is_given_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A replay has the result at once, so that the golden keeps the call of ADK's tool that came after it; what the first one said stays as a text.

    A tool that does not run long any more would have no later result, and is named. What responded at once does so either way.
    """
    sent: list[Any] = [
        {"calls": [{"name": "send", "args": {"to": "A"}}]},
        {"tool": "send", "returns": {"status": "queued"}},
    ]
    turns: list[Any] = [{"say": "Write.", "moves": [*sent, data("Queued.")]}]
    turns.append({"reply": {"status": "there"}, "tool": "send", "moves": [data("There.")]})
    written = played(agent(tmp_path / "agents", LETTER), *turns)
    assert "fails its own replay" not in capsys.readouterr().err
    between = json.loads(written.read_text())["eval_cases"][0]["conversation"][0]["intermediate_data"]
    assert [(use["name"], use["args"].get("reply")) for use in between["tool_uses"]] == [
        ("send", None),
        ("set_model_response", "There."),
    ]
    assert "Queued." in json.dumps(between["intermediate_responses"])
    assert verified(written, tmp_path / "agents") == 0
    agents = agent(tmp_path / "now", LETTER.replace("[LongRunningFunctionTool(send)]", "[send]")).parent
    assert verified(written, agents) == 1
    assert (
        "The agent changed: The agent no longer waits for a later response of send" in capsys.readouterr().out
    )
    at_once = played(tmp_path / "agents" / "small", turns[0], out=tmp_path / "at_once.evalset.json")
    assert verified(at_once, agents) == 0


@pytest.mark.parametrize("times", [1, 2])
def test_the_turn_of_a_tool_that_ends_it_replays(
    tmp_path: Path, times: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The final response is the tool's response as text, once for each of several calls made at once."""
    written, turn = counted(tmp_path, times=times)
    assert "warning" not in capsys.readouterr().err
    assert turn["final_response"]["parts"] == [{"text": "\n".join(['{"rows": 3}'] * times)}]
    assert len(turn["intermediate_data"]["tool_responses"]) == times
    assert verified(written, tmp_path / "agents") == 0


@pytest.mark.long
def test_a_golden_that_has_the_response_itself_at_its_end_passes(tmp_path: Path) -> None:
    """ADK's own conversion writes such a turn so; another response there does not pass."""
    written, turn = counted(tmp_path)
    document = json.loads(written.read_text())
    response: dict[str, Any] = {"id": "x", "name": "count", "response": {"rows": 3}}
    turn["final_response"] = {"role": "user", "parts": [{"function_response": response}]}
    document["eval_cases"][0]["conversation"] = [turn]
    written.write_text(json.dumps(document))
    assert verified(written, tmp_path / "agents") == 0
    response["response"]["rows"] = 4
    written.write_text(json.dumps(document))
    assert verified(written, tmp_path / "agents") == 1


@pytest.mark.long
def test_the_turn_of_an_agent_tool_that_ends_it_replays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the inner agent says is the final response."""
    asks = {"agent": "small", "calls": [{"name": "inner", "args": {"request": "Count."}}]}
    moves = [asks, {"agent": "inner", "text": "Three."}]
    written = played(agent(tmp_path / "agents", INNER), {"say": "How many?", "moves": moves})
    assert "warning" not in capsys.readouterr().err
    turn = json.loads(written.read_text())["eval_cases"][0]["conversation"][0]
    assert turn["final_response"]["parts"] == [{"text": "Three."}]
    assert verified(written, tmp_path / "agents") == 0


@pytest.mark.long
def test_a_hermetic_eval_passes_a_turn_that_a_tool_ends(tmp_path: Path) -> None:
    """With ADK's default criteria, of which the response match needs text."""
    written, _ = counted(tmp_path)
    assert main(["eval", str(tmp_path / "agents" / "small"), str(written), "--models", "recorded"]) == 0


def test_an_imported_session_whose_turn_a_tool_ended_replays(tmp_path: Path) -> None:
    """The response ends the turn again: no model is asked for more."""
    call = {"functionCall": {"id": "c", "name": "count", "args": {"what": "abc"}}}
    answer = {"functionResponse": {"id": "c", "name": "count", "response": {"rows": 3}}}
    asks, answers = said("small"), said("small")
    asks["content"] = {"role": "model", "parts": [call]}
    answers |= {"content": {"role": "user", "parts": [answer]}, "actions": {"skipSummarization": True}}
    written = imported(tmp_path, said("user", "How many?"), asks, answers)
    agent(tmp_path / "agents", SQL)
    assert verified(written, tmp_path / "agents") == 0


@pytest.mark.long
def test_a_response_without_the_effect_and_a_question_end_no_turn(tmp_path: Path, verifies: Ends) -> None:
    """The agent goes on in the session, and so it does in the replay. Whether a tool may run is no final response.

    ADK marks the response that stands for the tool's as one that ends the turn, though the user is asked.
    """
    moves = [COUNTS, {"tool": "count", "returns": {"rows": 3}}, {"text": "Three."}]
    written = played(agent(tmp_path / "agents", SQL), {"say": "How many?", "moves": moves})
    assert verified(written, tmp_path / "agents") == 0
    asks = SQL.replace("tools=[count]", "tools=[FunctionTool(count, require_confirmation=True)]")
    agent(tmp_path / "agents", asks.replace("ToolContext\n", "FunctionTool, ToolContext\n", 1))
    (case,) = json.loads(verifies(1, written, tmp_path / "agents", "--json").out)["cases"]
    (turn,) = case["runs"][0]["turns"]
    assert [part for part in turn["invocation"]["final_response"]["parts"] if "text" in part] == []


PAIR = """
from google.adk.agents import SequentialAgent

notes = LlmAgent(name="notes", model="gemini-2.5-flash")
says = LlmAgent(name="says", model="gemini-2.5-flash")
root_agent = SequentialAgent(name="small", sub_agents=[notes, says])
"""


PAIR_INSIDE = f"""{PAIR.replace("root_agent", "pair").replace("small", "pair")}
root_agent = LlmAgent(name="small", model="gemini-2.5-flash", tools=[AgentTool(pair)])
"""
ASKS_PAIR = {"agent": "small", "calls": [{"name": "pair", "args": {"request": "Hi."}}]}


@pytest.mark.parametrize("gone", ["notes", "says"])
@pytest.mark.parametrize(
    ("source", "before", "after"),
    [(PAIR, [], []), (PAIR_INSIDE, [ASKS_PAIR], [{"agent": "small", "text": "Done."}])],
    ids=["by itself", "inside of an agent tool"],
)
def test_an_agent_that_took_turns_and_is_gone_fails_its_case(
    tmp_path: Path, verifies: Ends, *, source: str, before: list[Any], after: list[Any], gone: str
) -> None:
    """Though the golden has nothing of it; the doctor migrates a new name."""
    pair = [{"agent": "notes", "text": "Noted."}, {"agent": "says", "text": "Hello."}]
    written = played(agent(tmp_path / "agents", source), {"say": "Hi.", "moves": [*before, *pair, *after]})
    assert verified(written, tmp_path / "agents") == 0
    left = {"notes": "says", "says": "notes"}[gone]
    agent(tmp_path / "agents", source.replace("[notes, says]", f"[{left}]"))
    shown = verifies(1, written, tmp_path / "agents").out
    assert f"the agent '{gone}', which took turns in the recording, is no longer there" in shown
    assert f"the agent '{left}'" not in shown
    now = agent(tmp_path / "now", source.replace(f'name="{gone}"', 'name="new"')).parent
    assert main(["doctor", str(written), "--agents-dir", str(now), "--rename-agent", f"{gone}=new"]) == 0
    assert verified(written, now) == 0


GUARDED = """
from google.adk.models import LlmResponse
from google.genai import types


def guard(callback_context, llm_request):
    if "password" in str(llm_request.contents[-1]):
        return LlmResponse(content=types.Content(role="model", parts=[types.Part(text="No.")]))


root_agent = LlmAgent(name="small", model="gemini-2.5-flash", before_model_callback=guard)
"""


def test_an_agent_whose_code_no_longer_answers_for_its_model_has_changed(
    tmp_path: Path, verifies: Ends
) -> None:
    """It is known that no model was asked in that turn."""
    turns: list[Any] = [{"say": "Hi.", "moves": [{"text": "Hello."}]}, {"say": "The password?", "moves": []}]
    written = played(agent(tmp_path / "agents", GUARDED), *turns)
    assert verified(written, tmp_path / "agents") == 0
    agent(tmp_path / "agents", GUARDED.replace(", before_model_callback=guard", ""))
    shown = verifies(1, written, tmp_path / "agents").out
    assert "The agent changed" in shown
    assert "was answered by the agent's code, and now its model is asked: small" in shown


COUNTS_ON = """
count = {"n": 0}


def before(callback_context, llm_request):
    count["n"] += 1
    callback_context.state["seen"] = count["n"]


root_agent = LlmAgent(name="small", model="gemini-2.5-flash", before_model_callback=before)
"""


def test_a_count_of_the_agents_code_is_not_taken_for_chance(
    tmp_path: Path, verifies: Ends, capsys: pytest.CaptureFixture[str]
) -> None:
    """It begins anew with the agent, so that no run passes or fails by those before it; of another count it is not said that the agent is as it was."""
    written = played(agent(tmp_path / "agents", COUNTS_ON), {"say": "Hi.", "moves": [{"text": "Hello."}]})
    told = capsys.readouterr()
    assert "tolerance" not in told.out + told.err
    verifies(0, written, tmp_path / "agents", "--runs", "3")
    agent(tmp_path / "agents", COUNTS_ON.replace("+= 1", "+= 2"))
    (case,) = json.loads(verifies(1, written, tmp_path / "agents", "--json").out)["cases"]
    found = case["runs"][0]["divergence"]
    assert (found["verdict"], found["what"]) == ("varies", "state")
    assert "not known whether the agent changed" in found["sentence"]
    assert "random" not in json.dumps(found)


BOOKS = """
def book(name: str) -> dict:
    return {"booked": name}


sub = LlmAgent(name="sub", model="gemini-2.5-flash", description="Books.")
desk = LlmAgent(name="desk", model="gemini-2.5-flash", description="Books.", sub_agents=[sub], tools=[book])
root_agent = LlmAgent(name="small", model="gemini-2.5-flash", tools=[AgentTool(desk)])
"""


@pytest.mark.parametrize(
    ("to", "now", "owner"),
    [
        ('"sub", ', '"sub", tools=[book], ', "sub"),
        ("[AgentTool(desk)]", "[AgentTool(desk), book]", "small"),
        ("", "", ""),
    ],
    ids=["to a sub-agent", "to the root agent", "nowhere"],
)
def test_a_tool_that_another_agent_has_now_is_not_called_undeclared(
    tmp_path: Path, verifies: Ends, *, to: str, now: str, owner: str
) -> None:
    """It is said which agent has it."""
    asks = {"agent": "small", "calls": [{"name": "desk", "args": {"request": "Book."}}]}
    books = {"agent": "desk", "calls": [{"name": "book", "args": {"name": "Ann"}}]}
    said = [{"agent": name, "text": "Done."} for name in ("desk", "small")]
    moves = [asks, books, {"tool": "book", "returns": {"booked": "Ann"}}, *said]
    written = played(agent(tmp_path / "agents", BOOKS), {"say": "Book.", "moves": moves})
    agent(tmp_path / "agents", BOOKS.replace(", tools=[book])", ")").replace(to, now, 1 if to else 0))
    shown = verifies(1, written, tmp_path / "agents").out
    moved = f"the tool 'book' is no longer one of the agent 'desk', but of '{owner}'"
    assert "The agent's tools changed" in shown
    assert (moved if owner else "the tool 'book' is no longer declared") in shown
    assert not owner or "no longer declared" not in shown


PAYS = """
from google.adk.tools import FunctionTool


def pay(amount: int) -> dict:
    return {"paid": amount}


def is_high(amount: int) -> bool:
    return amount > 100


root_agent = LlmAgent(name="small", model="gemini-2.5-flash", tools=[FunctionTool(pay, require_confirmation=is_high)])
"""


@pytest.mark.parametrize("approved", [True, False])
def test_a_confirmation_that_is_no_longer_asked_for_is_a_change_of_the_agent(
    tmp_path: Path, verifies: Ends, *, approved: bool
) -> None:
    """Though a person had allowed the call; who decides it otherwise, and asks all the same, has not changed."""
    answer = [{"tool": "pay", "returns": {"paid": 500}}] if approved else []
    asks = {"say": "Pay.", "moves": [{"calls": [{"name": "pay", "args": {"amount": 500}}]}]}
    written = played(
        agent(tmp_path / "agents", PAYS), asks, {"confirm": approved, "moves": [*answer, {"text": "Done."}]}
    )
    agent(tmp_path / "agents", PAYS.replace("=is_high", "=True"))
    assert verified(written, tmp_path / "agents") == 0
    agent(tmp_path / "agents", PAYS.replace("> 100", "> 1000"))
    shown = verifies(1, written, tmp_path / "agents").out
    assert not approved or "The agent changed: The agent no longer asks for confirmation of pay" in shown


ASKS = """
from google.adk.tools import request_input

root_agent = LlmAgent(name="small", model="gemini-2.5-flash", tools=[request_input])
"""
REPLIES = "tools=[request_input], before_tool_callback=lambda tool, args, tool_context: {'result': 'Ann'}"


@pytest.mark.parametrize(
    ("now", "told"),
    [("tools=[]", ["the tool 'adk_request_input' is no longer declared"]), (REPLIES, [])],
    ids=["no tool", "a callback replies"],
)
def test_a_question_of_a_tool_that_is_no_longer_asked_is_a_change_of_the_agent(
    tmp_path: Path, verifies: Ends, *, now: str, told: list[str]
) -> None:
    """The recorded model calls the tool as ever, and the user has no reply to give; it is said whether the tool is still declared."""
    asks = {"calls": [{"name": "adk_request_input", "args": {"message": "Who?"}}]}
    reply = {"reply": {"result": "Ann"}, "tool": "adk_request_input", "moves": [{"text": "Done."}]}
    written = played(agent(tmp_path / "agents", ASKS), {"say": "Book.", "moves": [asks]}, reply)
    assert verified(written, tmp_path / "agents") == 0
    agent(tmp_path / "agents", ASKS.replace("tools=[request_input]", now))
    (case,) = json.loads(verifies(1, written, tmp_path / "agents", "--json").out)["cases"]
    found = case["runs"][0]["divergence"]
    assert (found["verdict"], found["what"]) == ("agent_changed", "response")
    assert "The agent no longer asks the user for input" in found["sentence"]
    assert [words for words in found["evidence"] if "declar" in words] == told


CUSTOM = '''
from google.adk.agents import BaseAgent
from google.adk.events.event import Event
from google.genai import types


def look(topic: str) -> dict:
    """Look up a topic."""
    raise SystemExit("a real tool ran")


def said(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


class Desk(BaseAgent):
    async def _run_async_impl(self, ctx):
        yield Event(author=self.name, content=said("Asking."))
        async for event in self.sub_agents[0].run_async(ctx):
            yield event
        yield Event(author=self.name, content=said("Closed."))


helper = LlmAgent(name="helper", model="gemini-2.5-flash", instruction="Help.", tools=[look])
root_agent = Desk(name="small", sub_agents=[helper])
'''


@pytest.mark.long
def test_events_that_an_agents_code_makes_without_an_invocation_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They belong to the turn in which they come."""
    call = {"agent": "helper", "calls": [{"name": "look", "args": {"topic": "hours"}}]}
    moves = [call, {"tool": "look", "returns": {"open": True}}, {"agent": "helper", "text": "Yes."}]
    written = played(
        agent(tmp_path / "agents", CUSTOM), {"say": "Open?", "moves": moves}, {"say": "Now?", "moves": moves}
    )
    assert "warning" not in capsys.readouterr().err
    turns = json.loads(written.read_text())["eval_cases"][0]["conversation"]
    assert [turn["final_response"]["parts"] for turn in turns] == [[{"text": "Closed."}]] * 2
    assert verified(written, tmp_path / "agents") == 0


WORDS = '''
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

INNER = [("count", {"text": "a b"})]


def count(text: str) -> dict:
    """Count the words of a text."""
    raise SystemExit("a real tool ran")


class Moves(BaseLlm):
    def moves(self):
        return INNER if self.model == "inner" else [("inner", {"request": "Count: a b"})]

    async def generate_content_async(self, llm_request, stream=False):
        done = sum(bool(part.function_response) for content in llm_request.contents for part in content.parts)
        part = types.Part(text="Two.")
        if done < len(self.moves()):
            name, args = self.moves()[done]
            part = types.Part(function_call=types.FunctionCall(name=name, args=args))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


inner = LlmAgent(name="inner", model=Moves(model="inner"), description="Counts.", instruction="Count.", tools=[count])
root_agent = LlmAgent(name="small", model=Moves(model="outer"), instruction="Ask.", tools=[AgentTool(inner)])
'''
ASK = {"agent": "small", "calls": [{"name": "inner", "args": {"request": "Count: a b"}}]}
MOVES = [
    ASK,
    {"agent": "inner", "calls": [{"name": "count", "args": {"text": "a b"}}]},
    {"tool": "count", "returns": {"result": 2}},
    {"agent": "inner", "text": "Two."},
    {"agent": "small", "text": "Two."},
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The eval set of a case in which the inner agent calls its tool once."""
    folder = agent(tmp_path_factory.mktemp("kept") / "agents", WORDS)
    return played(folder, {"say": "How many words are in a b?", "moves": MOVES})


def changed(tmp_path: Path, calls: str) -> Path:
    """Write the agent with other calls of its inner agent, and return the folder of agents."""
    agent(tmp_path / "changed" / "agents", WORDS.replace('[("count", {"text": "a b"})]', calls))
    return tmp_path / "changed" / "agents"


@pytest.mark.long
def test_the_same_inner_calls_pass(kept: Path, verifies: Ends) -> None:
    """With recorded models and with real ones."""
    assert verified(kept, kept.parent / "agents") == 0
    (case,) = json.loads(verifies(0, kept, kept.parent / "agents", "--models", "real", "--json").out)["cases"]
    statuses = {check["name"]: check["status"] for check in case["runs"][0]["checks"]}
    assert statuses["inner_tool_calls"] == "passed"


@pytest.mark.parametrize(
    ("calls", "what", "told"),
    [
        ("[]", "call", "does not call count inside inner"),
        ('[("count", {"text": "b a"})]', "arguments", "calls count inside inner with different arguments"),
        ('[("count", {"text": "a b"})] * 2', "call", "calls count inside inner, unlike the golden"),
    ],
    ids=["left out", "other arguments", "one more"],
)
def test_another_inner_call_is_a_divergence(
    kept: Path, tmp_path: Path, ends: Ends, *, calls: str, what: str, told: str
) -> None:
    """It is at the call of the agent tool, and names that and the inner call."""
    words = ("verify", kept, "--agents-dir", changed(tmp_path, calls), "--models", "real", "--json")
    (case,) = json.loads(ends(1, *words).out)["cases"]
    found, checks = case["runs"][0]["divergence"], case["runs"][0]["checks"]
    (pair,) = found["pairs"]
    assert (found["what"], found["turn"], found["step"]) == (what, 0, 1)
    assert {tuple(step["within"]) for step in (pair["golden"], pair["actual"]) if step} == {("inner",)}
    assert told in found["sentence"]
    assert "inner_tool_calls" in {check["name"] for check in checks if check["status"] == "failed"}


def test_more_inner_calls_pass_where_the_recorded_ones_alone_count(kept: Path, tmp_path: Path) -> None:
    """As for the agent's own calls; one that is left out does not pass."""
    agents = changed(tmp_path, '[("count", {"text": "a b"}), ("count", {"text": "c"})]')
    more = ("--match", "in_order", "--unrecorded", "generate", "--models", "real")
    assert verified(kept, agents, *more) == 0
    assert verified(kept, changed(tmp_path, "[]"), *more) == 1


TALKS = """
import datetime


def adds(callback_context, llm_response):
    llm_response.content.parts[0].text = f"BEFORE{llm_response.content.parts[0].text}AFTER"


root_agent = LlmAgent(name="small", model="gemini-2.5-flash", instruction="Talk.", after_model_callback=adds)
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("", " Have a nice day."), ("", "")),
        (("", " The fee is 5."), ("", " The fee is 6.")),
        (("", ""), ("Dear customer: ", "")),
        (("", ""), ("", " Bye")),
        (("Not lost but found. ", ""), ("Not found but lost. ", "")),
        (("", "."), ("", "!")),
    ],
    ids=["left out", "a number", "in front", "behind", "another order", "a sign"],
)
def test_other_words_that_the_agents_code_puts_around_a_models_are_noticed(
    before: tuple[str, str], after: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Recorded models say the same again, so that each word counts."""

    def talking(words: tuple[str, str]) -> str:
        return TALKS.replace("BEFORE", words[0]).replace("AFTER", words[1])

    text = "Your order of tea and of coffee is on its way, and it will be with you by noon"
    written = played(
        agent(tmp_path / "agents", talking(before)), {"say": "Where is it?", "moves": [{"text": text}]}
    )
    assert verified(written, tmp_path / "agents") == 0
    agent(tmp_path / "agents", talking(after))
    capsys.readouterr()
    assert verified(written, tmp_path / "agents") == 1
    assert "The agent changed: The agent gives a different final response" in capsys.readouterr().out


ENDLESS = """
import asyncio
import pathlib
import time


async def endless() -> None:
    process = await asyncio.create_subprocess_exec("sleep", "600")
    pathlib.Path(PLACE).write_text(str(process.pid))
    while True:
        try:
            await process.wait()
            if ENDS:
                return
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass


async def begin(callback_context) -> None:
    if WAYS == "task":
        begin.kept = asyncio.create_task(endless())
        while not pathlib.Path(PLACE).exists():
            await asyncio.sleep(0.01)
    else:
        begin.kept = asyncio.get_running_loop().run_in_executor(None, time.sleep, 2)


root_agent = LlmAgent(name="small", model="gemini-2.5-flash", before_agent_callback=begin)
"""


@pytest.mark.parametrize(
    "given", [("task", False, "endless"), ("task", True, ""), ("thread", True, "a worker thread")]
)
def test_what_an_agent_began_and_does_not_end_is_left_and_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    given: tuple[str, bool, str],
) -> None:
    """The verdict is there all the same, once a deadline is over; a process that was started on the loop is killed."""
    way, ends, left = given
    began = tmp_path / "began"
    source = ENDLESS.replace("PLACE", repr(str(began))).replace("ENDS", str(ends)).replace("WAYS", repr(way))
    quiet = 'root_agent = LlmAgent(name="small", model="gemini-2.5-flash")\n'
    folder = agent(tmp_path / "quiet", quiet)
    written = played(folder, {"say": "Hello", "moves": [{"agent": "small", "text": "Hi."}]})
    agent(tmp_path / "agents", source)
    monkeypatch.setattr("evalset.verify.case_replay.ENDING", 0.3)
    assert replay_written(written, "one", agents_dir=tmp_path / "agents").passed
    named = [text for text in caplog.messages if "left running" in text]
    assert [left in text for text in named] == ([True] if left else [])
    if way == "task":
        with pytest.raises(ProcessLookupError):
            os.kill(int(began.read_text()), 0)


NESTED = """
critic = LlmAgent(name="critic", model="gemini-2.5-flash", description="Judges.", instruction="Judge.")
inner = LlmAgent(name="inner", model="gemini-2.5-flash", description="Writes.", instruction="Write.", tools=[AgentTool(critic)])
root_agent = LlmAgent(name="small", model="gemini-2.5-flash", instruction="Ask.", tools=[AgentTool(inner)])
"""
ANSWERED = """

def answered(callback_context, llm_request):
    from google.adk.models import LlmResponse
    from google.genai import types
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Roses.")]))


inner.before_model_callback = answered
"""
SKIPPED = """

inner.before_tool_callback = lambda tool, args, tool_context: {"result": "Good."}
"""


def test_an_agent_that_no_longer_runs_inside_of_an_agent_tool_is_a_divergence(
    tmp_path: Path, ends: Ends
) -> None:
    """It is a tool of an agent that is one itself: the golden does not contain its call, and the words may stay the same."""
    moves = [
        {"agent": "small", "calls": [{"name": "inner", "args": {"request": "A poem."}}]},
        {"agent": "inner", "calls": [{"name": "critic", "args": {"request": "Roses."}}]},
        {"agent": "critic", "text": "Good."},
        {"agent": "inner", "text": "Roses."},
        {"agent": "small", "text": "Roses."},
    ]
    written = played(agent(tmp_path / "agents", NESTED), {"say": "A poem.", "moves": moves})
    assert verified(written, tmp_path / "agents") == 0
    for change in (ANSWERED, SKIPPED):
        agent(tmp_path / "agents", NESTED + change)
        (case,) = json.loads(ends(1, "verify", written, "--agents-dir", tmp_path / "agents", "--json").out)[
            "cases"
        ]
        assert "does not call critic inside inner" in case["runs"][0]["divergence"]["sentence"]


ON_THE_WAY = """
def changes(tool, args, tool_context):
    args["request"] = args["request"].upper()


inner = LlmAgent(name="inner", model="gemini-2.5-flash", description="Writes.", instruction="Write.")
root_agent = LlmAgent(
    name="small", model="gemini-2.5-flash", instruction="Ask.", tools=[AgentTool(inner)], before_tool_callback=changes
)
"""


def test_an_argument_that_a_callback_changes_on_the_way_into_an_agent_tool_is_compared(
    tmp_path: Path, ends: Ends
) -> None:
    """The golden contains what the model said, and the recording what came to the agent. Where its agent is renamed, the recording follows."""
    call = {"agent": "small", "calls": [{"name": "inner", "args": {"request": "a poem"}}]}
    moves = [call, {"agent": "inner", "text": "Roses."}, {"agent": "small", "text": "Roses."}]
    folder = agent(tmp_path / "agents", ON_THE_WAY)
    written = played(folder, {"say": "A poem.", "moves": moves}, players={"inner": "real"})
    words = ("verify", written, "--agents-dir", tmp_path / "agents", "--models", "recorded", "--json")
    ends(0, *words)
    for change in ('args["request"] + "!"', 'args["request"]'):
        agent(tmp_path / "agents", ON_THE_WAY.replace('args["request"].upper()', change))
        (case,) = json.loads(ends(1, *words).out)["cases"]
        found = case["runs"][0]["divergence"]
        assert (found["verdict"], found["action"]) == ("agent_changed", "open")
        assert (found["what"], found["turn"], found["step"]) == ("arguments", 0, 1)
        assert [each["golden"] for each in found["differences"]] == ["A POEM"]
        assert "runs inner with different arguments" in found["sentence"]
    now = agent(tmp_path / "now", ON_THE_WAY.replace('name="inner"', 'name="writer"')).parent
    ends(0, "doctor", written, "--agents-dir", now, "--rename-agent", "inner=writer")
    ends(0, "verify", written, "--agents-dir", now, "--models", "recorded")
    assert '"inner"' not in (tmp_path / "set.environment.json").read_text()


EXPERTS = """
expert = LlmAgent(name="expert", model="gemini-2.5-flash", description="Knows.", instruction="Answer.")
root_agent = LlmAgent(name="small", model="gemini-2.5-flash", instruction="Ask.", tools=[AgentTool(expert)])
"""
SWAPPED = """

def swapped(tool, args, tool_context, tool_response):
    return {"result": {"Pets?": "48 hours.", "Cancellation?": "Small pets."}[args["request"]]}


root_agent.after_tool_callback = swapped
"""


def test_calls_of_one_agent_tool_that_were_made_at_once_have_each_its_own_answer(
    tmp_path: Path, ends: Ends
) -> None:
    """Also where the second was answered first; an agent that swaps the answers has changed."""
    folder, written = agent(tmp_path / "agents", EXPERTS), tmp_path / "set.evalset.json"
    answers = {"Cancellation?": "48 hours.", "Pets?": "Small pets."}
    config = AgentFolder(folder.parent).load("small")
    with Simulation.open(config, seats=Seats(agents={EVERY: "person"})) as session:
        session.query("Two things.")
        session.answer(
            session.pending[0],
            called(("expert", {"request": "Cancellation?"}), ("expert", {"request": "Pets?"})),
        )
        for request in reversed(session.pending):
            (words,) = [text for what, text in answers.items() if what in request.model_dump_json()]
            session.answer(request, says(words))
        session.answer(session.pending[0], says("Done."))
        write_golden_trace(session, written, eval_id="one")
    assert verified(written, tmp_path / "agents") == 0
    agent(tmp_path / "agents", EXPERTS + SWAPPED)
    (case,) = json.loads(ends(1, "verify", written, "--agents-dir", tmp_path / "agents", "--json").out)[
        "cases"
    ]
    assert case["runs"][0]["divergence"]["verdict"] == "agent_changed"
