"""The doctor's tab: findings in full, mends and migrations that are shown before they are done, and copies that are kept."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from app.evalsets.checks import doctor_jobs
from app.evalsets.checks.doctor_jobs import EXAMPLE, MigrationLineError, alike, migration_from, places, remedy
from app.evalsets.open_sets import edited_sets
from app.evalsets.workspace import workspaces
from app.live.background_jobs import Job
from app.server.owners import LOCAL
from evalset.cli.doctor_command import main, migration_in
from evalset.doctor import DroppedArgument, Finding, Migration, RenamedArgument, SetArgument
from evalset.editing.case_edits import SetValue, words_of
from evalset.editing.set_saving import save
from tests.app.evalsets.set_tabs import SetTab, on_set
from tests.app.page_driver import HOSTILE, Tab
from tests.harness.processes import wait_until

TAB = "checks.doctor_tab"


def opened(eval_set: Path) -> SetTab:
    """The tab, when the first examination is over."""
    return settled(SetTab(TAB, eval_set))


def settled(tab: Any) -> SetTab:
    """Wait until nothing is at work, and draw that."""
    wait_until(lambda: not tab.workspace.is_at_work, what="the doctor is done")
    made: SetTab = tab.run()
    return made


def findings(tab: SetTab) -> list[str]:
    """What each finding means, and what to do about it."""
    cards = [tab.block(key) for key in tab.keys("doctor_finding_")]
    shown = [str(text.value) for each in cards for text in each.get("text")]
    assert len(shown) == len(set(shown))
    return shown


def flaws(tab: SetTab) -> list[str]:
    """The codes of all errors and warnings; where there are none, the page says so."""
    found = tab.workspace.jobs[doctor_jobs.EXAMINED].result
    assert found is not None
    codes = [each.code for each in found.findings if each.severity != "note"]
    assert codes or tab.app.success
    return codes


def test_a_mend_is_shown_first_and_keeps_a_copy(eval_set: Path) -> None:
    """A byte order mark: the table names it, the difference is shown, nothing is written before it is agreed to.

    What somebody else has written between the look and the mend is left alone.
    """
    sound = eval_set.read_bytes()
    eval_set.write_bytes(b"\xef\xbb\xbf" + sound)
    tab = opened(eval_set)
    assert tab.app.selectbox(key=tab.key("agent_")).value == "adder"
    assert "byte-order-mark" in flaws(tab)
    assert findings(tab)
    settled(tab.click(tab.key("doctor_preview")))
    assert tab.keys("doctor_diff_") == ["doctor_diff_0"]
    assert eval_set.read_bytes() != sound
    eval_set.write_bytes(theirs := eval_set.read_bytes() + b"\n")
    settled(tab.click(tab.key("doctor_write")))  # what would change now is shown in the place of what was
    assert not tab.app.error
    assert "changed after the preview" in tab.words
    assert eval_set.read_bytes() == theirs
    settled(tab.click(tab.key("doctor_write")))
    sound += b"\n"
    assert eval_set.read_bytes() == sound
    (copy,) = eval_set.parent.glob("*.bak")
    assert copy.read_bytes() == b"\xef\xbb\xbf" + sound
    assert str(copy) in tab.literal
    assert re.search(r"changed, \d\d:\d\d", tab.words)
    assert flaws(settled(tab)) == []
    assert str(copy) in tab.literal
    eval_set.write_bytes(sound + b"\n")  # what was written then is no more
    assert str(copy) not in settled(tab.run()).literal


def test_a_renamed_tool_is_found_and_migrated(eval_set: Path) -> None:
    """The doctor misses the tool; lines say what became of it; a line that says nothing is named. It can be undone where the set is open, as the edits before it."""
    text = eval_set.read_text()
    eval_set.write_text(text.replace('"add"', '"sum_up"'))
    tab = opened(eval_set)
    assert any("sum_up" in meaning for meaning in findings(tab))
    work = edited_sets().of(tab.workspace.owner, eval_set).work
    work.apply(SetValue(case=work.rows()[0].key, where=("creation_timestamp",), value=7.0))
    save(work)
    tab.fill("doctor_lines", "tool sum_up -> add").click(tab.key("doctor_migrate"))
    assert "line 1" in tab.literal
    tab.fill("doctor_lines", "--rename-tool sum_up=add").click(tab.key("doctor_migrate"))
    settled(tab)
    tab.unfold("doctor_diff_0")
    assert re.search(r'^\+ +"name": "add"', tab.literal, re.MULTILINE)
    settled(tab.click(tab.key("doctor_write")))
    expected = json.loads(text)
    expected["eval_cases"][0]["creation_timestamp"] = 7.0
    assert json.loads(eval_set.read_text()) == expected
    assert flaws(tab) == []
    assert edited_sets().of(tab.workspace.owner, eval_set).work is work
    assert not work.is_changed
    assert "--rename-tool sum_up=add" in words_of(work.edits[-1])
    undo = on_set(eval_set).app.button(key="set_undo")
    assert "sum" in undo.help
    while work.undo():
        save(work)
    assert eval_set.read_text() == text.replace('"add"', '"sum_up"')


def test_a_line_that_migrates_a_refused_call_is_used_with_a_click(eval_set: Path) -> None:
    """It goes to the lines that are there, where it is previewed."""
    document = json.loads(eval_set.read_text())
    (first, *_) = [call for call in _calls(document) if call["name"] == "add"]
    name = next(iter(first["args"]))
    first["args"]["other"] = first["args"].pop(name)
    eval_set.write_text(json.dumps(document))
    tab = opened(eval_set)
    assert not tab.app.session_state["doctor_migration"]
    tab.fill("doctor_lines", "--rename-tool old=new").click(tab.key("doctor_use_0"))
    assert tab.app.session_state["doctor_migration"]  # open, where it was not
    assert opened(eval_set).app.session_state["doctor_migration"]
    assert tab.typed("doctor_lines").splitlines() == [
        "--rename-tool old=new",
        f"--rename-argument add.other={name}",
    ]


def _calls(part: Any) -> Iterator[dict[str, Any]]:
    """Return all calls of a part of an eval set."""
    if isinstance(part, dict) and {"name", "args"} <= part.keys():
        yield part
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _calls(each)


def test_findings_are_found_by_severity_and_word_and_shown_literally(eval_set: Path) -> None:
    """An id from outside is no live text anywhere."""
    document = json.loads(eval_set.read_text())
    document["eval_cases"].append({"eval_id": HOSTILE, "conversation": []})
    document["eval_cases"].append({"eval_id": HOSTILE, "conversation": []})
    eval_set.write_text(json.dumps(document))
    tab = opened(eval_set)
    found = findings(tab)
    assert len(found) > 1
    assert tab.live_marks() == []
    tab.fill("doctor_find", "no such words").run()
    assert findings(tab) == []
    tab.fill("doctor_find", "")
    tab.fill("doctor_severity", "warning").run()
    assert 0 < len(findings(tab)) <= len(found)


def test_each_finding_is_whole_and_those_that_say_the_same_are_one(eval_set: Path) -> None:
    """What to do is no cell of a table that is cut off; all places of 150 cases are there, and as many as the badge counts."""
    document = json.loads(eval_set.read_text())
    document["eval_cases"] += [{"eval_id": f"case {number}", "conversation": []} for number in range(150)]
    eval_set.write_text(json.dumps(document))
    tab = opened(eval_set)
    found = tab.workspace.jobs[doctor_jobs.EXAMINED].result
    assert found is not None
    assert set(findings(tab)) == {f"{each.meaning} {remedy(each)}".strip() for each in found.findings}
    assert len(findings(tab)) < 10
    one = Finding(code="x", severity="warning", file=Path("a.json"), eval_id="b", meaning="No turn.")
    many = one.model_copy(update={"count": 51, "place": "c"})
    (group,) = alike([one, many])
    assert places(group).splitlines() == ["b: a.json", "b: a.json c: and 50 more places"]


def test_migrations_are_read_from_lines() -> None:
    """Each kind, as the command takes it; comments and empty lines say nothing."""
    assert migration_from(f"# renamed in May\n\n{EXAMPLE}") == Migration(
        tools={"get_order": "find_order"},
        agents={"clerk": "order_desk"},
        renamed=(RenamedArgument(tool="find_refund", old="id", new="refund_id"),),
        dropped=(DroppedArgument(tool="find_refund", name="verbose"),),
        given=(SetArgument(tool="find_refund", name="currency", value="EUR"),),
    )
    assert migration_from("").is_empty
    read = migration_in(main.parser().parse_args(shlex.split(EXAMPLE)))
    assert migration_from(EXAMPLE) == read  # as on the command line


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tool a -> b", f"line 1: .*{re.escape(EXAMPLE.splitlines()[0])}"),
        ("--rename-argument a.b -> c", f"line 1: .*{re.escape(EXAMPLE.splitlines()[0])}"),
        ("--rename-argument a=b", r"line 1: .*TOOL\.OLD=NEW"),
        ("\n--rename-tool a=b\n--rename-tool=a=c", "line 3: --rename-tool a=c"),
        ("--set-argument a.b=EUR", "line 1: .*JSON"),
        ("--set-argument 'a.b=1", "line 1: .*quot"),
        ("--drop-argument a.b\n--set-argument a.b=1", r"line 2: .* a\.b"),
    ],
)
def test_a_line_that_says_nothing_is_named(text: str, reason: str) -> None:
    """By its number."""
    with pytest.raises(MigrationLineError, match=reason):
        migration_from(text)


def test_a_set_that_cannot_be_opened_is_mended_and_opens(eval_set: Path) -> None:
    """Its page says why, and has the doctor; after the mend the set opens there, with the backup, what was fixed and what remains."""
    sound = eval_set.read_bytes()
    eval_set.write_bytes(b"\xef\xbb\xbf" + sound)
    tab = Tab(page="sets", set=str(eval_set))
    assert tab.app.error
    workspace = workspaces().of(LOCAL, eval_set)
    for button in ("doctor_preview", "doctor_write", ""):
        wait_until(lambda: not workspace.is_at_work, what="the doctor is done")
        tab.run()
        if button:
            tab.click(tab.key(button))
    assert eval_set.read_bytes() == sound
    assert tab.app.segmented_control(key="set_tab").value == "Doctor"
    (copy,) = eval_set.parent.glob("*.bak")
    assert str(copy) in tab.literal
    assert "byte order mark" in tab.literal
    assert tab.keys("doctor_counts")
    edited_sets().clear()


def test_large_files_and_folders_are_examined_when_somebody_asks(
    eval_set: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking at them alone takes no time; a click examines them."""
    monkeypatch.setattr(doctor_jobs, "MOST_AT_ONCE", 10)
    tab = SetTab(TAB, eval_set)
    assert not tab.workspace.jobs
    tab.click(tab.key("doctor_examine"))
    assert flaws(settled(tab)) == []
    tab.fill("doctor_folder", True).run()
    assert not tab.app.success
    assert not tab.workspace.is_at_work


def test_an_examination_that_is_stopped_is_over_at_once(eval_set: Path) -> None:
    """Whatever it still does is forgotten, and nothing of it is shown."""
    go_on = Event()
    job = Job(lambda *_: go_on.wait(60), "long", may_be_left=True)
    assert job.state == "running"
    tab = SetTab(TAB, eval_set)
    settled(tab)
    tab.workspace.jobs["examined"] = job
    tab.run()
    tab.click("stop_doctor_examination")
    assert (job.state, job.result) == ("failed", None)
    assert len(tab.app.error) == 1
    go_on.set()
    assert job.wait(60)
    assert job.result is None


def test_findings_from_before_a_change_are_out_of_date(
    eval_set: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small files are examined anew by themselves; of large ones, and where the agent changed, the findings stay and say so."""
    monkeypatch.setattr("app.evalsets.checks.doctor_tab.is_quick", lambda _: False)
    tab = SetTab(TAB, eval_set)
    settled(tab.click(tab.key("doctor_examine")))
    assert changes(tab) == ()
    eval_set.write_bytes(b"\xef\xbb\xbf" + eval_set.read_bytes())
    tab.run()
    assert changes(tab) == ("the set",)
    assert flaws(tab) == []
    settled(tab.click(tab.key("doctor_again")))
    assert changes(tab) == ()
    assert "byte-order-mark" in flaws(tab)
    agent = eval_set.with_name("agent.py")
    agent.write_text(f"{agent.read_text()}\n")
    tab.run()
    assert changes(tab) == ("the agent",)


def changes(tab: SetTab) -> tuple[str, ...]:
    """What has changed since the examination; the page has a mark where something has."""
    found = tab.workspace.jobs[doctor_jobs.EXAMINED].result
    assert found is not None
    assert found.measured is not None
    changed: tuple[str, ...] = found.measured.changes()
    assert bool(changed) == bool(tab.keys("out_of_date_doctor"))
    return changed
