"""Where a script has no answer, `python -m simulator run` asks the person at the terminal."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evalset.cli import terminal_play
from evalset.cli.main import simulator_main as main
from evalset.cli.terminal_play import NotReadError
from simulator.scripts import read_script
from tests.evalset.ending import Ends

HEAD = "format: golden-trace-studio/script\nversion: 1\n"
ORDER = HEAD + 'turns:\n- say: "Where is order A-1002?"\n'


ASKED = "(:help) > "
"""Ends each question."""


class Typed(io.StringIO):
    """What a person types at a terminal, line by line."""

    def isatty(self) -> bool:
        """It is one."""
        return True


Asks = Callable[..., str]


@pytest.fixture
def ask(tmp_path: Path, ends: Ends) -> Asks:
    """Runs a script, with a person who types these lines and then leaves; returns what is said on the standard error."""
    file, out = tmp_path / "script.yaml", tmp_path / "set.evalset.json"

    def run(
        script: str, *typed: str, code: int = 0, agent: str = "order_desk", more: tuple[object, ...] = ()
    ) -> str:
        file.write_text(script)
        terminal = Typed("".join(f"{line}\n" for line in typed))
        words = ("run", agent, "--verbose", "--script", file, "--out", out, "--eval-id", "case", *more)
        return ends(code, *words, program=partial(main, typed=terminal)).err

    return run


def responses(tmp_path: Path) -> list[Any]:
    """Return what the tools answered in the case that was written."""
    (case,) = json.loads((tmp_path / "set.evalset.json").read_text())["eval_cases"]
    return [
        each["response"]
        for turn in case["conversation"]
        for each in turn["intermediate_data"]["tool_responses"]
    ]


def test_the_call_is_shown_with_its_draft_and_a_value_answers_it(tmp_path: Path, ask: Asks) -> None:
    """What does not fit is said and asked again; the script goes on after, and can be recorded with the answer."""
    recorded = tmp_path / "recorded.yaml"
    typed = (":help", ":frobnicate", "{broken", '{"order_id": "A-1002", "status": "delayed"}')
    said = ask(ORDER, *typed, more=("--record", recorded))
    assert "(line 4: turns.0.moves)" in said
    assert 'find_order:\n  {\n    "order_id": "A-1002"\n  }\nDraft:\n' in said
    assert ":raise TimeoutError" in said
    assert ":frobnicate " in said
    assert "invalid JSON" in said
    assert said.count(ASKED) == len(typed)
    assert responses(tmp_path) == [{"order_id": "A-1002", "status": "delayed"}]
    moves = read_script(recorded.read_text()).script.turns[0].moves
    assert any(getattr(move, "returns", None) == responses(tmp_path)[0] for move in moves)


def test_enter_takes_the_draft_and_commands_answer_in_other_ways(tmp_path: Path, ask: Asks) -> None:
    """The draft; and an error in ADK's form, after which the agent's model tries again."""
    ask(ORDER, "")
    assert responses(tmp_path)[0]["order_id"] == "A-1002"
    (tmp_path / "set.evalset.json").unlink()
    ask(ORDER, ":fail 503 It is down.", '{"order_id": "A-1002"}')
    failed, found = responses(tmp_path)
    assert failed == {"error_code": 503, "error_message": "It is down."}
    assert found == {"order_id": "A-1002"}


def test_an_answer_that_breaks_what_was_set_is_given_when_it_is_said_again(tmp_path: Path, ask: Asks) -> None:
    """What it breaks is named; the same words once more stand."""
    schema = "{type: object, properties: {total: {type: number}}}"
    settings = f"{{tools: {{find_order: {{name: find_order, output_schema: {schema}}}}}}}"
    script = HEAD + (
        "agent:\n- calls: [{name: find_order, args: {order_id: A-9}}]\n- text: There.\n"
        "turns:\n- say: Where is order A-9?\n  before:\n"
        f"  - environment: {{kind: environment_changed, settings: {settings}}}\n"
    )
    said = ask(script, "{total: much}", "{total: much}")
    assert re.search("find_order .*total", said)
    assert said.count(ASKED) == 2
    assert responses(tmp_path) == [{"total": "much"}]


@pytest.mark.parametrize("typed", [(), (":quit",)])
def test_who_leaves_ends_the_run_and_is_told_what_to_paste(
    typed: tuple[str, ...], tmp_path: Path, ask: Asks
) -> None:
    """Exit code 1, and nothing is written."""
    said = ask(ORDER, *typed, code=1)
    assert "of its other keys:\nmoves:\n- tool: find_order\n" in said
    assert "not a terminal" not in said
    assert not (tmp_path / "set.evalset.json").exists()


def test_the_agents_turn_is_asked_for_too(tmp_path: Path, ask: Asks) -> None:
    """A person says what the agent says or calls, and answers its call."""
    script = ORDER.replace("turns:", "agent: person\nturns:")
    said = ask(script, ":call find_order {order_id: A-7}", "{found: yes}", "It is there.")
    assert re.search("order_desk .*: find_order", said)
    assert responses(tmp_path) == [{"found": "yes"}]
    (case,) = json.loads((tmp_path / "set.evalset.json").read_text())["eval_cases"]
    assert case["conversation"][0]["final_response"]["parts"][0]["text"] == "It is there."


@pytest.mark.long
def test_what_the_command_line_says_is_done_in_place_of_what_the_script_says(
    tmp_path: Path, ask: Asks
) -> None:
    """`--otherwise` is for one run."""
    assert "turns.0.moves" in ask(ORDER, code=1, more=("--otherwise", "fail"))
    ask(ORDER, more=("--otherwise", "generate"))
    assert len(responses(tmp_path)) == 1


def test_a_confirmation_that_the_script_forgot_is_asked_for(tmp_path: Path, ask: Asks) -> None:
    """Yes or no, and the session goes on: the tool that it was about is answered as the script says."""
    script = HEAD + "turns:\n- say: 'E-7 of engineering: flight 640 EUR'\n"
    policy = '{"lines": [{"line": 1, "finding": "ok", "allowed_amount": 640.0, "explanation": ""}]}'
    budget = '{"department": "engineering", "remaining": 5000.0, "currency": "EUR"}'
    said = ask(script, policy, budget, "perhaps", "yes", "", agent="expense_approver")
    assert "reimburse:" in said
    assert said.count(f"yes or no {ASKED}") == 2
    assert any(response.get("payment_id") for response in responses(tmp_path))


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("[1, 2]", {"returns": [1, 2]}),
        ("hello", {"returns": "hello"}),
        ("", {"draft": True}),
        (":draft", {"draft": True}),
        (":real", {"real": True}),
        (":later", {"later": True}),
        (":raise TimeoutError: slow", {"raises": "TimeoutError: slow"}),
        (":fail E-7 no", {"fails": {"error_code": "E-7", "error_message": "no"}}),
    ],
)
def test_an_answer_of_a_tool_is_read_as_a_line_of_a_script(typed: str, wanted: dict[str, Any]) -> None:
    """What is typed says the same as a line of a script."""
    move = terminal_play.tool_move(typed, "x").model_dump(mode="json", exclude_unset=True)
    assert move == {"tool": "x", **wanted}


@pytest.mark.parametrize(
    ("read", "typed"),
    [
        *(
            (partial(terminal_play.tool_move, tool="x"), typed)
            for typed in (":raise", ":raise too slow", ":later now", ":fial 503", "{", "'a: b: c")
        ),
        *((partial(terminal_play.agent_move, agent="a"), typed) for typed in ("", ":call f [1]")),
        (terminal_play.code_move, ":real"),
        (terminal_play.confirmed, "perhaps"),
        (terminal_play.reply, ""),
    ],
)
def test_an_answer_that_is_none_is_refused_with_words(read: Callable[[str], Any], typed: str) -> None:
    """The error is for a person."""
    with pytest.raises(NotReadError) as caught:
        read(typed)
    assert str(caught.value)


def test_turns_code_confirmations_and_replies_are_read() -> None:
    """Each kind of question has its own words."""
    assert terminal_play.agent_move("Hi.", "a").text == "Hi."
    assert terminal_play.agent_move(":call f", "a").calls[0].args == {}
    assert terminal_play.agent_move(":transfer b", "a").transfer == "b"
    assert terminal_play.agent_move(":model", "a").model is True
    assert terminal_play.code_move("1\\n2").prints == "1\n2"
    assert (terminal_play.confirmed("YES"), terminal_play.confirmed("n")) == (True, False)
    assert terminal_play.reply("{a: 1}") == {"a": 1}
