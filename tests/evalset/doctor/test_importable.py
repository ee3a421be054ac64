"""A file that is no eval set, but holds cases, is named with the command that imports it."""

from __future__ import annotations

import json
import shlex
from contextlib import closing
from pathlib import Path

import pytest

from evalset import GoldenTraceBuilder, export_cases
from evalset.cli.main import main
from evalset.doctor import examine, mend
from evalset.files.case_text import loaded
from evalset.recorded.recorder import recorded_for
from simulator.journal import Journal
from simulator.store import JournalStore
from tests.evalset.doctor.examples import a_set, in_bytes
from tests.evalset.ending import Ends
from tests.simulator.runtime.playing import played
from tests.simulator.runtime.shapes import SHAPES
from tests.simulator.runtime.traces import Traces


def importable(name: str) -> tuple[str, bytes]:
    """Return a file of a session, by its name, in one of the forms that an import takes."""
    play = played(SHAPES["plain"], "held")
    if name == "journal":
        return "kept.json", play.journal.to_json().encode()
    facts = [fact for _, fact in play.journal.path()]
    cases = [
        GoldenTraceBuilder(play.end.session, eval_id=each, confirmations="beside").build()
        for each in ("one", "two")
    ]
    recorded = recorded_for(play.end.session, facts, SHAPES["plain"].config(Traces()).root_agent)
    if name == "archive":
        made = export_cases(cases, "evalset", environments=dict.fromkeys(("one", "two"), recorded))
    else:
        made = export_cases(cases[:1], "adk_test", environments={"one": recorded})
    return made.name, made.content


@pytest.mark.parametrize(("name", "kind"), [("journal", "studio"), ("adk_test", "ADK"), ("archive", "ZIP")])
def test_the_doctor_offers_the_import_that_works(
    tmp_path: Path, name: str, kind: str, monkeypatch: pytest.MonkeyPatch, ends: Ends
) -> None:
    """The remedy is a command; run as it stands, it writes an eval set that ADK reads."""
    named, content = importable(name)
    folder = tmp_path / "my sessions"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    path = folder / named
    path.write_bytes(content)
    (finding,) = examine([path]).findings
    assert (finding.code, finding.severity) == ("not-an-eval-set", "error")
    assert kind in finding.meaning
    assert mend([path]).files == ()
    program, command, *arguments = shlex.split(finding.remedy.removeprefix("Import it: "))
    assert program == "golden-trace"
    assert ends(0, command, *arguments).out
    (made,) = tmp_path.glob("*.evalset.json")
    assert len(loaded(made).eval_cases) == (2 if name == "archive" else 1)
    assert [each for each in examine([made]).findings if each.severity != "note"] == []


def test_a_database_is_offered_to_the_import_and_an_eval_set_is_not(tmp_path: Path) -> None:
    """A database of SQLite is no damaged text; an eval set that is also something else stays an eval set."""
    database = tmp_path / "sessions.db"
    with closing(JournalStore.open(database)) as store:
        store.begin(Journal.from_json(importable("journal")[1].decode()), owner="me", agent_key="desk")
    (finding,) = examine([database]).findings
    assert "SQLite" in finding.meaning
    assert "golden-trace import" in finding.remedy
    sets = tmp_path / "orders.evalset.json"
    sets.write_bytes(in_bytes(a_set(events=[])))
    assert [each.code for each in examine([sets]).findings] == ["unknown-key"]


NO_CASES: dict[str, bytes] = {
    "events.json": json.dumps({"id": "s", "events": []}).encode(),
    "silent.json": json.dumps(
        {"events": [{"author": "desk", "content": {"parts": [{"text": "Hi."}]}}]}
    ).encode(),
    "journal.json": json.dumps({"format": "golden-trace-studio/journal", "version": 1}).encode(),
    "case.json": json.dumps({"eval_id": "one", "conversation": []}).encode(),
    "other.db": b"SQLite format 3\x00",
    "empty.zip": b"PK\x05\x06" + bytes(18),
}


@pytest.mark.parametrize("name", NO_CASES)
def test_an_import_that_finds_no_case_is_not_offered(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What looks like sessions or a case, and holds none that an import takes, is named with the reason; `verify` and `run` offer the same."""
    path = tmp_path / name
    path.write_bytes(NO_CASES[name])
    (finding,) = examine([path]).findings
    imported = main(["import", str(path), "--out", str(tmp_path / "new.evalset.json")])
    assert ("Import it" in finding.remedy) is (imported == 0)
    assert finding.code == "not-an-eval-set"
    told = capsys.readouterr()
    assert (imported, bool(told.err)) == ((0, False) if name == "case.json" else (1, True))
    for words in (["verify", str(path)], ["run", "order_desk", "--script", str(path), "--out", "new.json"]):
        assert main(words) == 2
        assert ("Import it" in capsys.readouterr().err) is (imported == 0)
