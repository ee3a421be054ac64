"""What the doctor mends it mends whole, in its turn, with a copy, and only what it says; a damaged recording is repaired from its set."""

from __future__ import annotations

import codecs
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_case import get_all_tool_calls

from evalset import EvalSetWriter
from evalset.cli.main import main
from evalset.doctor import Changes, examine, known_agent, mend, preview
from evalset.doctor import files as writing_room
from evalset.doctor import fixes as mending_room
from evalset.files.case_text import loaded
from evalset.importing.import_files import import_cases
from evalset.recorded.recording_files import read_environment
from simulator.base import user_files
from simulator.base.user_files import lock_path, system_lock
from tests.evalset.doctor.examples import (
    a_case,
    a_message,
    a_recorded_call,
    a_recorded_case,
    a_set,
    a_turn,
    an_environment,
    in_bytes,
    put,
    the_agent,
    without,
)
from tests.evalset.doctor.pitfalls import ENVIRONMENT, SET
from tests.evalset.files.examples import a_case as an_eval_case
from tests.harness.processes import wait_until

UNFIT = {
    SET: in_bytes(a_set(a_case("a:b"))),
    ENVIRONMENT: in_bytes(an_environment(**{"a:b": a_recorded_case()})),
}
"""A case whose id cannot be used, and what is recorded of it."""
ROLELESS = a_set(a_case("one", a_turn(user_content={"parts": [{"text": "größer"}]})))


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def written(changes: Changes) -> list[str]:
    """Return the names of the files that were written."""
    assert changes.problems == ()
    return [change.file.name for change in changes.files if change.written]


def test_nothing_but_the_mend_changes(tmp_path: Path) -> None:
    """Of a file in an odd formatting each byte stays but those that are told; the preview shows them before."""
    text = b'{ "eval_set_id":"orders","eval_cases" : [\r\n\t{"eval_id":"a","conversation":[{"user_content":{"parts":[{"text":"\\u00fc"}]}}]}]}'
    put(tmp_path, {SET: text})
    shown = preview([tmp_path]).files[0]
    assert not shown.written
    assert contents(tmp_path) == {SET: text}
    assert [line for line in shown.diff.splitlines() if line.startswith("+\t")] == [
        '+\t{"eval_id":"a","conversation":[{"user_content":{"parts":[{"text":"\\u00fc"}],"role":"user"}}]}]}'
    ]
    done = mend([tmp_path]).files[0]
    assert done.after == shown.after == text.replace(b"}]}}]}]}", b'}],"role":"user"}}]}]}')
    assert contents(tmp_path) == {SET: done.after, f"{SET}.1.bak": text}
    assert examine([tmp_path]).mendable == ()


def test_copies_are_numbered_and_never_replaced(tmp_path: Path) -> None:
    """Each mend keeps another copy; one that was there stays."""
    put(tmp_path, {SET: codecs.BOM_UTF8 + in_bytes(a_set()), f"{SET}.1.bak": b"mine"})
    mend([tmp_path])
    (tmp_path / SET).write_bytes(codecs.BOM_UTF8 + in_bytes(a_set()))
    mend([tmp_path])
    held = contents(tmp_path)
    assert held[f"{SET}.1.bak"] == b"mine"
    assert held[f"{SET}.2.bak"] == held[f"{SET}.3.bak"] == codecs.BOM_UTF8 + in_bytes(a_set())


def test_only_the_wanted_kinds_are_mended(tmp_path: Path) -> None:
    """With codes, everything else stays; a text that cannot be read without another mend stays as it is."""
    put(tmp_path, {SET: in_bytes(a_set(a_case("a:b", a_turn(user_content={"parts": [{"text": "x"}]}))))})
    assert [each.code for each in mend([tmp_path], codes=["missing-role"]).files[0].mended] == [
        "missing-role"
    ]
    assert [each.code for each in examine([tmp_path]).mendable] == ["unfit-eval-id"]
    (tmp_path / SET).write_bytes(codecs.BOM_UTF8 + in_bytes(ROLELESS))
    assert mend([tmp_path], codes=["missing-role"]).files == ()
    assert {each.code for each in mend([tmp_path]).files[0].mended} == {"byte-order-mark", "missing-role"}


def test_an_id_changes_in_the_recorded_environment_too(tmp_path: Path) -> None:
    """A case that gets an id that can be used keeps what was recorded for it."""
    environment = an_environment(**{"a:b": a_recorded_case()}) | {"notes": {"a:b": {"text": "why"}}}
    put(tmp_path, {SET: in_bytes(a_set(a_case("a:b"))), ENVIRONMENT: in_bytes(environment)})
    assert sorted(written(mend([tmp_path]))) == [ENVIRONMENT, SET]
    found = read_environment(tmp_path / ENVIRONMENT)
    assert list(found.cases) == list(found.notes) == ["a_b"]
    assert examine([tmp_path]).findings == ()
    assert (tmp_path / f"{ENVIRONMENT}.1.bak").read_bytes() == in_bytes(environment)


def test_a_recorded_case_is_never_put_over_another_one(tmp_path: Path) -> None:
    """Where the environment holds a case of the new id, it is left as it is: nothing recorded is lost."""
    environment = in_bytes(an_environment(**{"a:b": a_recorded_case(), "a_b": a_recorded_case()}))
    put(tmp_path, {**UNFIT, ENVIRONMENT: environment})
    assert written(mend([tmp_path])) == [SET]
    assert (tmp_path / ENVIRONMENT).read_bytes() == environment


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for the superuser")
def test_what_cannot_be_written_stays_with_what_belongs_to_it(tmp_path: Path) -> None:
    """A read-only set keeps its old id, and so does its recorded environment."""
    put(tmp_path, UNFIT)
    (tmp_path / SET).chmod(0o400)
    assert "read-only" in " ".join(mend([tmp_path]).problems)
    assert contents(tmp_path) == UNFIT


def test_a_disk_that_refuses_leaves_both_files_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment is written first; when its set cannot be, it gets its old text back, and no copy is left.

    The writing of the set is replaced, as no disk is at hand that refuses at that moment.
    """
    put(tmp_path, UNFIT)
    real = user_files.write_whole

    def refuse(target: Path, *pieces: Any, **more: Any) -> os.stat_result:
        if target.name == SET:
            raise OSError(28, "full disk")
        return real(target, *pieces, **more)

    monkeypatch.setattr(writing_room, "write_whole", refuse)
    problems = mend([tmp_path]).problems
    assert "full disk" in " ".join(problems)
    assert len(problems) == 2
    assert contents(tmp_path) == UNFIT


def test_a_file_that_is_written_meanwhile_is_planned_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case that comes between plan and writing is not lost: the mend is made for the new text.

    The plan's first reading is replaced, to write a case at that very moment.
    """
    put(tmp_path, {SET: in_bytes(ROLELESS)})
    real = mending_room.content_of
    visits: list[Path] = []

    def read_and_write(file: Path) -> Any:
        found = real(file)
        if not visits:
            visits.append(file)
            EvalSetWriter(file, "desk").write_eval_case(an_eval_case("between"))
        return found

    monkeypatch.setattr(mending_room, "content_of", read_and_write)
    assert written(mend([tmp_path])) == [SET]
    whole = json.loads((tmp_path / SET).read_bytes())
    assert [case["eval_id"] for case in whole["eval_cases"]] == ["one", "between"]
    assert whole["eval_cases"][0]["conversation"][0]["user_content"]["role"] == "user"


def test_the_lock_is_waited_for(tmp_path: Path) -> None:
    """While another writer is in the file, the doctor waits."""
    put(tmp_path, {SET: in_bytes(ROLELESS)})
    mended = threading.Thread(target=lambda: mend([tmp_path]))
    with system_lock(lock_path(tmp_path / SET), 1.0):
        mended.start()
        wait_until(mended.is_alive, what="the doctor")
        assert (tmp_path / SET).read_bytes() == in_bytes(ROLELESS)
    mended.join()
    assert b'"role": "user"' in (tmp_path / SET).read_bytes()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """The file behind it is mended, and the copy lies beside that."""
    (tmp_path / "kept").mkdir()
    put(tmp_path / "kept", {"real.json": in_bytes(ROLELESS)})
    link = tmp_path / SET
    link.symlink_to(tmp_path / "kept" / "real.json")
    assert written(mend([link])) == [SET]
    assert link.is_symlink()
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["real.json", "real.json.1.bak"]


def test_a_conversion_is_the_same_each_time_and_tells_what_it_loses(tmp_path: Path) -> None:
    """Old eval data gets no fresh ids and no clock: what is shown is what is written, and what ADK drops is named."""
    old = [
        {
            "query": "x",
            "reference": "y",
            "expected_tool_use": [{"tool_name": "t", "tool_input": {}, "mock_tool_output": 1}],
            "why": "z",
        }
    ]
    put(tmp_path, {SET: in_bytes(old)})
    finding = next(each for each in examine([tmp_path]).findings if each.code == "legacy-format")
    assert "expected_tool_use.mock_tool_output" in finding.loses
    assert "why" in finding.loses
    shown = preview([tmp_path]).files[0].after
    assert mend([tmp_path]).files[0].after == shown == (tmp_path / SET).read_bytes()
    assert (tmp_path / f"{SET}.1.bak").read_bytes() == in_bytes(old)


def test_what_a_mend_takes_out_is_told(tmp_path: Path) -> None:
    """The finding and the mend both name the value that goes."""
    put(
        tmp_path,
        {SET: in_bytes(a_set(a_case("one", a_turn(notes={"by": "me"}, final_response=a_message("agent")))))},
    )
    done = mend([tmp_path]).files[0]
    assert {each.code: each.loses for each in done.mended} == {
        "refused-key": 'notes = {"by": "me"}',
        "wrong-role": 'the role "agent"',
    }


def test_the_text_of_a_message_in_another_format_is_kept(tmp_path: Path) -> None:
    """A message with its text under `content`, as other tools write it, says the same after the mend."""
    turn = a_turn(
        user_content={"role": "user", "content": "Where is A-1?"},
        final_response={"content": "On its way.", "role": "assistant", "parts": []},
    )
    path = tmp_path / SET
    path.write_bytes(in_bytes(a_set(a_case("one", turn))))
    assert "empty-user-content" not in {each.code for each in examine([path]).findings}
    assert not any(each.loses for each in examine([path]).mendable if each.code == "refused-key")
    mend([path])
    kept = json.loads(path.read_bytes())["eval_cases"][0]["conversation"][0]
    assert kept["user_content"] == {"role": "user", "parts": [{"text": "Where is A-1?"}]}
    assert kept["final_response"] == {"parts": [{"text": "On its way."}], "role": "model"}


OTHER_CALLS = {
    "ADK's older form": {"tool_name": "roll", "tool_input": {"sides": 6}},
    "OpenAI": {"id": "c", "type": "function", "function": {"name": "roll", "arguments": '{"sides": 6}'}},
    "OpenAI before tools": {"function_call": {"name": "roll", "arguments": '{"sides": 6}'}},
    "camel case": {"name": None, "toolName": "roll", "functionCall": {"args": {"sides": 6}}},
    "Anthropic": {"type": "tool_use", "id": "c", "name": "roll", "input": {"sides": 6}},
    "a text": {"name": "roll", "args": '{"sides": 6}'},
    "a function's": {"function_name": "roll", "function_args": {"sides": 6}},
    "short": {"tool": "roll", "params": {"sides": 6}},
    "Python's": {"name": "roll", "kwargs": {"sides": 6}},
}


@pytest.mark.parametrize("turn_of", ["intermediate_data", "tool_calls", "turn", "events"])
def test_calls_in_other_spellings_keep_names_and_arguments(tmp_path: Path, turn_of: str) -> None:
    """What other programs call otherwise, or write as text, becomes `name` and `args`; the second run finds nothing of it.

    An import of the file reads the same, and says what it changed.
    """
    calls = list(OTHER_CALLS.values())
    parts = [{"function_call": call} for call in calls]
    event = {"author": "desk", "content": {"role": "model", "parts": parts}}
    turn = {
        "intermediate_data": a_turn(intermediate_data={"tool_uses": calls}),
        "tool_calls": a_turn(intermediate_data={"tool_calls": calls, "tool_uses": None}),
        "turn": without(a_turn(tool_calls=calls), "intermediate_data"),
        "events": a_turn(intermediate_data={"invocation_events": [event]}),
    }[turn_of]
    path = tmp_path / SET
    path.write_bytes(in_bytes(a_set(a_case("one", turn))))
    (imported,), *_, problems = import_cases(path)[:3]
    assert any("'one', conversation[0]." in problem for problem in problems)
    assert main(["doctor", str(path), "--fix"]) == 0
    for case in (imported, loaded(path).eval_cases[0]):
        made = get_all_tool_calls((case.conversation or [])[0].intermediate_data)
        assert [(call.name, call.args) for call in made] == [("roll", {"sides": 6})] * len(calls)
    assert mend([path]).files == ()


def test_a_call_that_cannot_be_mapped_keeps_what_it_holds(tmp_path: Path) -> None:
    """Two names, arguments that are no object, or an object under a name that nobody knows are left to a person: nothing is removed."""
    calls = [
        {"name": "roll", "tool_name": "throw"},
        {"tool_name": "roll", "function_name": "throw"},
        {"name": "roll", "arguments": "six"},
        {"name": "roll", "function": {"name": "throw"}},
        {"name": "roll", "with": {"sides": 6}},
        {"name": "roll", "args": {}, "details": '{"sides": 6}'},
    ]
    path = tmp_path / SET
    path.write_bytes(in_bytes(a_set(a_case("one", a_turn(intermediate_data={"tool_uses": calls})))))
    before = path.read_bytes()
    assert main(["doctor", str(path), "--fix"]) == 1
    assert path.read_bytes() == before


def test_a_response_that_is_no_object_is_wrapped_as_adk_does(tmp_path: Path) -> None:
    """A text or a list becomes `result`; a text that may be the JSON of an object is left to a person."""
    given = [
        {"name": "roll", "response": "4"},
        {"tool_name": "roll", "output": [1, 2]},
        {"tool_call_id": "c", "content": "four"},
        {"name": "roll", "response": '{"total": 4}'},
    ]
    path = tmp_path / SET
    turn = a_turn(intermediate_data={"tool_uses": [], "tool_responses": given})
    path.write_bytes(in_bytes(a_set(a_case("one", turn))))
    assert "'one' is left out" in import_cases(path).problems[0]
    assert main(["doctor", str(path), "--fix"]) == 1
    held = json.loads(path.read_bytes())["eval_cases"][0]["conversation"][0]["intermediate_data"]
    assert held["tool_responses"] == [
        {"name": "roll", "response": {"result": "4"}},
        {"name": "roll", "response": {"result": [1, 2]}},
        {"id": "c", "response": {"result": "four"}},
        given[3],
    ]


def test_many_findings_of_a_kind_are_told_as_one_and_all_are_mended(tmp_path: Path) -> None:
    """A hundred are shown among what else is wrong, the last stands for the rest; the counts are right, and nothing is left behind."""
    turn, path = a_turn(user_content={"parts": [{"text": "x"}]}), tmp_path / SET
    wrong = {"eval_id": "one", "conversation": [], "wrong": 1}
    many: tuple[tuple[list[Any], str], ...] = (
        ([a_case(f"case {number}", turn) for number in range(252)], "missing-role"),
        ([*range(250), "text", None], "refused-value"),
    )
    for cases, code in many:
        put(tmp_path, {SET: in_bytes(a_set(wrong, *cases))})
        findings = examine([path]).findings
        found = [each for each in findings if each.code == code]
        assert [each.count for each in found] == [1] * 99 + [153]
        assert [found[place].place.partition(".")[0] for place in (0, -1)] == [
            "eval_cases[1]",
            "eval_cases[100]",
        ]
        assert {each.code for each in findings} > {code}
        mend([path])
        assert [each for each in examine([path]).findings if each.mendable] == []


DAMAGED: dict[str, Any] = {
    "no outcome": without(a_recorded_call(), "outcome"),
    "an outcome of no kind": a_recorded_call(outcome={"value": {"status": "shipped"}}),
    "an outcome that is null": a_recorded_call(outcome=None),
    "no author": without(a_recorded_call(latency_ms=7.5), "author"),
    "no arguments that can be read": a_recorded_call(arguments="A-1", outcome=[]),
    "a name that nobody knows": a_recorded_call(outcom={}),
}


def damaged(folder: Path, *calls: Any, eval_set: Any = None) -> Path:
    """Write a set, and a recording with these calls."""
    environment = an_environment(one=a_recorded_case(*calls))
    put(folder, {SET: in_bytes(eval_set or a_set()), ENVIRONMENT: in_bytes(environment)})
    return folder / ENVIRONMENT


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_call_takes_its_response_from_the_set(tmp_path: Path, name: str) -> None:
    """What can be read of it stays, the old text is kept, and then nothing is wrong any more."""
    path = damaged(tmp_path, DAMAGED[name])
    before = path.read_bytes()
    (finding,) = [each for each in examine([tmp_path]).findings if each.code == "broken-environment"]
    assert finding.mendable
    assert "find_order" in finding.loses
    (change,) = mend([tmp_path]).files
    assert change.copy_kept is not None
    assert change.copy_kept.read_bytes() == before
    (call,) = read_environment(path).cases["one"].turns[0].calls
    assert call.outcome.model_dump() == {"kind": "returned", "value": {"status": "shipped"}}
    assert (call.id, call.agent, call.arguments) == ("call-1", "desk", {"order_id": "A-1"})
    assert call.latency_ms == DAMAGED[name].get("latency_ms", 0.0)
    assert examine([tmp_path]).findings == ()
    assert mend([tmp_path]).files == ()


@pytest.mark.parametrize(
    ("calls", "eval_set"),
    [
        ([DAMAGED["no outcome"]], a_set(a_case("one", a_turn(intermediate_data={"tool_uses": []})))),
        ([DAMAGED["no outcome"]], a_set(a_case("two"))),
        ([DAMAGED["no outcome"], without(a_recorded_call(2), "outcome")], a_set()),
        ([a_recorded_call(tool="other", outcome=None)], a_set()),
        ([None], a_set()),
    ],
)
def test_what_the_set_does_not_hold_is_left_as_it_is(tmp_path: Path, calls: list[Any], eval_set: Any) -> None:
    """No response, another case, another tool, no call at all: nothing is invented, and nothing is written."""
    path = damaged(tmp_path, *calls, eval_set=eval_set)
    before = path.read_bytes()
    (finding,) = [each for each in examine([tmp_path]).findings if each.code == "broken-environment"]
    assert not finding.mendable
    mend([tmp_path])
    assert path.read_bytes() == before
    assert json.loads(before)


def test_an_agent_whose_callbacks_change_responses_is_not_repaired_from_them(tmp_path: Path) -> None:
    """The set holds what the callback made of the response, which the tool never gave."""
    path = damaged(tmp_path, DAMAGED["no outcome"])
    agent = known_agent(the_agent())._replace(rewrites=True)
    before = path.read_bytes()
    assert mend([tmp_path], agents={agent.name: agent}).files == ()
    assert path.read_bytes() == before
    assert mend([tmp_path], agents={agent.name: agent._replace(rewrites=False)}).files
