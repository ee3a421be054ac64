"""Where a script has no answer, `python -m simulator run` asks the person at the terminal."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from evalset.cli import typed_answers
from evalset.cli.simulator_program import main
from evalset.cli.typed_answers import NotReadError
from simulator.scripts import read_script

HEAD = "format: golden-trace-studio/script\nversion: 1\n"
ORDER = HEAD + 'turns:\n- say: "Where is order A-1002?"\n'


ASKED = "(:help) > "
"""Ends each question."""


class Typed(io.StringIO):
    """What a person types at a terminal, line by line."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def ask(
    tmp_path: Path, script: str, *typed: str, agent: str = "order_desk", more: tuple[str, ...] = ()
) -> int:
    """Run a script, with a person who types these lines and then leaves."""
    file = tmp_path / "script.yaml"
    file.write_text(script)
    words = ["run", agent, "--verbose", "--script", str(file), "--out", str(tmp_path / "set.evalset.json")]
    return main([*words, "--eval-id", "case", *more], typed=Typed("".join(f"{line}\n" for line in typed)))


def responses(tmp_path: Path) -> list[Any]:
    """Return what the tools answered in the case that was written."""
    (case,) = json.loads((tmp_path / "set.evalset.json").read_text())["eval_cases"]
    return [
        each["response"]
        for turn in case["conversation"]
        for each in turn["intermediate_data"]["tool_responses"]
    ]


def test_the_call_is_shown_with_its_draft_and_a_value_answers_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What does not fit is said and asked again; the script goes on after, and can be recorded with the answer."""
    recorded = tmp_path / "recorded.yaml"
    typed = (":help", ":frobnicate", "{broken", '{"order_id": "A-1002", "status": "delayed"}')
    assert ask(tmp_path, ORDER, *typed, more=("--record", str(recorded))) == 0
    said = capsys.readouterr().err
    assert "(line 4: turns.0.moves)" in said
    assert 'find_order:\n  {\n    "order_id": "A-1002"\n  }\nDraft:\n' in said
    assert ":raise TimeoutError" in said
    assert ":frobnicate " in said
    assert "invalid JSON" in said
    assert said.count(ASKED) == len(typed)
    assert responses(tmp_path) == [{"order_id": "A-1002", "status": "delayed"}]
    moves = read_script(recorded.read_text()).script.turns[0].moves
    assert any(
        getattr(move, "returns", None) == {"order_id": "A-1002", "status": "delayed"} for move in moves
    )


def test_enter_takes_the_draft_and_commands_answer_in_other_ways(tmp_path: Path) -> None:
    """The draft; and an error in ADK's form, after which the agent's model tries again."""
    assert ask(tmp_path, ORDER, "") == 0
    assert responses(tmp_path)[0]["order_id"] == "A-1002"
    (tmp_path / "set.evalset.json").unlink()
    assert ask(tmp_path, ORDER, ":fail 503 It is down.", '{"order_id": "A-1002"}') == 0
    failed, found = responses(tmp_path)
    assert failed == {"error_code": 503, "error_message": "It is down."}
    assert found == {"order_id": "A-1002"}


def test_an_answer_that_breaks_what_was_set_is_given_when_it_is_said_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it breaks is named; the same words once more stand."""
    schema = "{type: object, properties: {total: {type: number}}}"
    settings = f"{{tools: {{find_order: {{name: find_order, output_schema: {schema}}}}}}}"
    script = HEAD + (
        "agent:\n- calls: [{name: find_order, args: {order_id: A-9}}]\n- text: There.\n"
        "turns:\n- say: Where is order A-9?\n  before:\n"
        f"  - environment: {{kind: environment_changed, settings: {settings}}}\n"
    )
    assert ask(tmp_path, script, "{total: much}", "{total: much}") == 0
    said = capsys.readouterr().err
    assert re.search("find_order .*total", said)
    assert said.count(ASKED) == 2
    assert responses(tmp_path) == [{"total": "much"}]


@pytest.mark.parametrize("typed", [(), (":quit",)])
def test_who_leaves_ends_the_run_and_is_told_what_to_paste(
    typed: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, and nothing is written."""
    assert ask(tmp_path, ORDER, *typed) == 1
    said = capsys.readouterr().err
    assert "turns.0.moves:\n- tool: find_order\n" in said
    assert "not a terminal" not in said
    assert not (tmp_path / "set.evalset.json").exists()


def test_the_agents_turn_is_asked_for_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A person says what the agent says or calls, and answers its call."""
    script = ORDER.replace("turns:", "agent: person\nturns:")
    assert ask(tmp_path, script, ":call find_order {order_id: A-7}", "{found: yes}", "It is there.") == 0
    assert re.search("order_desk .*: find_order", capsys.readouterr().err)
    assert responses(tmp_path) == [{"found": "yes"}]
    (case,) = json.loads((tmp_path / "set.evalset.json").read_text())["eval_cases"]
    assert case["conversation"][0]["final_response"]["parts"][0]["text"] == "It is there."


def test_what_the_command_line_says_is_done_in_place_of_what_the_script_says(tmp_path: Path) -> None:
    """`--otherwise` is for one run."""
    assert ask(tmp_path, ORDER, more=("--otherwise", "fail")) == 1
    assert ask(tmp_path, ORDER, more=("--otherwise", "generate")) == 0


def test_a_confirmation_that_the_script_forgot_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Yes or no, and the session goes on: the tool that it was about is answered as the script says."""
    script = HEAD + "turns:\n- say: 'E-7 of engineering: flight 640 EUR'\n"
    policy = '{"lines": [{"line": 1, "finding": "ok", "allowed_amount": 640.0, "explanation": ""}]}'
    budget = '{"department": "engineering", "remaining": 5000.0, "currency": "EUR"}'
    assert ask(tmp_path, script, policy, budget, "perhaps", "yes", "", agent="expense_approver") == 0
    said = capsys.readouterr().err
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
    move = typed_answers.tool_move(typed, "x").model_dump(mode="json", exclude_unset=True)
    assert move == {"tool": "x", **wanted}


@pytest.mark.parametrize("typed", [":raise", ":raise too slow", ":later now", ":fial 503", "{", "'a: b: c"])
def test_an_answer_that_is_none_is_refused_with_words(typed: str) -> None:
    """The error is for a person."""
    with pytest.raises(NotReadError) as caught:
        typed_answers.tool_move(typed, "x")
    assert str(caught.value)


def test_turns_code_confirmations_and_replies_are_read() -> None:
    """Each kind of question has its own words."""
    assert typed_answers.agent_move("Hi.", "a").text == "Hi."
    assert typed_answers.agent_move(":call f", "a").calls[0].args == {}
    assert typed_answers.agent_move(":transfer b", "a").transfer == "b"
    assert typed_answers.agent_move(":model", "a").model is True
    assert typed_answers.code_move("1\\n2").prints == "1\n2"
    assert (typed_answers.confirmed("YES"), typed_answers.confirmed("n")) == (True, False)
    assert typed_answers.reply("{a: 1}") == {"a": 1}
    for read, text in (
        (lambda text: typed_answers.agent_move(text, "a"), ""),
        (lambda text: typed_answers.agent_move(text, "a"), ":call f [1]"),
        (typed_answers.code_move, ":real"),
        (typed_answers.confirmed, "perhaps"),
        (typed_answers.reply, ""),
    ):
        with pytest.raises(NotReadError):
            read(text)
