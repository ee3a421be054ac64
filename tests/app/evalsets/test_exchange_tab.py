"""The tab of imports and exports: what files hold is shown before it is taken in, and cases leave in each form with its losses."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any, get_args

import pytest

from app.evalsets.exchange_jobs import EXPORTED, FORM_NAMES, Upload, imported_beside, looked_into, whole_set
from app.evalsets.open_sets import edited_sets
from app.evalsets.workspace import workspaces
from app.server.owners import LOCAL
from evalset.cli.export_command import main
from evalset.editing.case_edits import NoteCase, ReviewCase, SetText
from evalset.editing.opened_set import open_set
from evalset.editing.set_saving import save
from evalset.editing.set_work import SetWork
from evalset.editing.sidecars import CaseComment, CaseReview, has_changed_since, open_beside
from evalset.exporting.export_forms import Exported, ExportForm
from evalset.files.eval_names import case_digest
from evalset.recorded.recording import CaseNote
from evalset.recorded.tolerances import Ignore
from evalset.verify import keep_tolerances, tolerances_of
from tests.app.evalsets.set_tabs import settled
from tests.app.page_driver import HOSTILE, Tab
from tests.app.server.test_page_people import ANNE

TOLERANCE = Ignore(of="response", tool="track", path="at")


def opened(path: Path) -> Tab:
    """Open the tab."""
    return Tab(page="sets", set=str(path)).choose("set_tab", "Import & export")


def chat(folder: Path, name: str, query: str) -> Path:
    """Write a session of ADK's."""
    said = [("user", query), ("desk", "Good morning.")]
    events = [{"author": who, "content": {"parts": [{"text": words}]}} for who, words in said]
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.session.json"
    path.write_text(json.dumps({"id": name, "appName": "desk", "events": events}))
    return path


def looked_at(tab: Tab, path: Path, where: Path) -> Tab:
    """Look into a file or folder of the server."""
    tab.fill("import_path", str(where)).run().click(tab.key("import_look"))
    return settled(tab, path)


def test_what_files_hold_is_shown_and_taken_in(path: Path, tmp_path: Path) -> None:
    """As an edit of the set, which can be undone; an id that is taken there becomes another; nothing is written before it is saved.

    Some of the cases can be chosen; the button says how many they are.
    """
    before = path.read_bytes()
    chats = tmp_path / "chats"
    chat(chats, "one", "Hello.")
    chat(chats, "new", HOSTILE)
    (chats / "damaged.session.json").write_text("{")
    tab = looked_at(opened(path), path, chats)
    assert "damaged.session.json: " in tab.literal
    assert HOSTILE in tab.literal
    assert tab.live_marks() == []
    assert "not saved yet: 2" in tab.click(tab.key("import_add")).words
    tab.choose("set_tab", "Cases")
    assert "5 cases" in tab.words
    assert "one_2" in tab.literal
    work = edited_sets().of(LOCAL, path).work
    assert work.is_recorded(work.state.order[-1])
    assert path.read_bytes() == before
    tab.click("set_undo").click("set_undo")
    assert "3 cases" in tab.words
    looked_at(tab.choose("set_tab", "Import & export"), path, chats)
    assert " 2 cases " in tab.app.button(key=tab.key("import_add")).label
    tab.fill("import_cases", ["new"])
    assert " 1 case " in tab.run().app.button(key=tab.key("import_add")).label
    tab.click(tab.key("import_add"))
    assert [row.eval_id for row in edited_sets().of(LOCAL, path).work.rows()][3:] == ["new"]


def test_scenarios_that_the_set_has_are_skipped(path: Path, tmp_path: Path) -> None:
    """Looked into again, nothing is added, and the page says so. No path, one where nothing is, and a file without a case are named."""
    scenarios = tmp_path / "conversation_scenarios.json"
    scenarios.write_text('{"scenarios": [{"starting_prompt": "Hi", "conversation_plan": "Ask."}]}')
    tab = opened(path)
    assert not tab.app.button(key=tab.key("import_look")).disabled
    assert "enter a path" in tab.click(tab.key("import_look")).words
    for told in (False, True):
        looked_at(tab, path, scenarios).click(tab.key("import_add"))
        assert len(edited_sets().of(LOCAL, path).work.rows()) == 4
        assert ("already has" in tab.words) == told
        tab.choose("set_tab", "Import & export")
    looked_at(tab, path, tmp_path / "none")
    assert str(tmp_path / "none") in tab.literal
    other = tmp_path / "other.json"
    other.write_text("{}")
    looked_at(tab, path, other)
    assert f"{other.name}: " in tab.literal
    assert not tab.keys("import_add")


def test_uploads_are_read_together_whatever_they_are_called(tmp_path: Path) -> None:
    """Two of one name, and names that lead elsewhere."""
    content = chat(tmp_path / "chats", "chat", "Hello.").read_bytes()
    names = ("a.json", "a.json", "../../b.json", "c:\\d.json")
    job = looked_into([Upload(name=name, content=content) for name in names])
    assert job.wait(60)
    assert job.result is not None
    assert [case.eval_id for case in job.result.imported.cases] == ["chat", "chat_2", "chat_3", "chat_4"]
    assert not (tmp_path.parent / "b.json").exists()


def exported(tab: Tab, path: Path, form: str) -> Exported:
    """Prepare an export in a form."""
    tab.fill("export_form", form).run().click(tab.key("export_prepare"))
    settled(tab, path)
    result: Any = workspaces().of(LOCAL, path).jobs[EXPORTED].result
    assert isinstance(result, Exported)
    return result


def test_each_form_is_offered_and_says_what_it_loses(path: Path) -> None:
    """As the set is on the screen; what a form cannot hold at all is said in its place.

    Who changes the choice has to prepare it anew; chosen cases alone are exported.
    """
    assert set(FORM_NAMES) == set(get_args(ExportForm))
    tab = opened(path)
    made = exported(tab, path, "evalset")
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        assert archive.namelist() == ["orders.evalset.json", "orders.environment.json"]
    assert "orders.environment.json" in tab.literal
    made = exported(tab, path, "adk_test")
    assert any("HermeticEnvironment" in loss for loss in made.losses)
    assert all(loss in tab.literal for loss in made.losses)
    exported(tab, path, "pytest")
    assert "test_orders.py" in tab.literal
    exported(tab, path, "dataset")
    assert "cases 3, in the dataset 6." in tab.words
    assert "eval_config.yaml" not in tab.literal
    tab.fill("export_metrics", True)
    exported(tab.run(), path, "dataset")
    assert "eval_config.yaml" in tab.literal
    exported(tab, path, "evalset")
    tab.fill("export_cases", ["two"]).run()
    assert "orders.evalset.json\n" not in tab.literal
    made = exported(tab, path, "evalset")
    assert [case["eval_id"] for case in json.loads(made.files[0].text)["eval_cases"]] == ["two"]
    assert "3 cases" in Tab(page="sets", set=str(path)).words  # what was exported is no result of a case
    assert Tab(page="sets", set=str(path), case="two").keys("case_verify")


@pytest.mark.parametrize("form", ["dataset", "evalset"])
def test_notes_and_tolerances_go_along_and_come_back(path: Path, tmp_path: Path, form: ExportForm) -> None:
    """As `golden-trace export` writes them, also where tolerances were saved while the set had unsaved edits, which then are saved, too."""
    work = edited_sets().of(LOCAL, path).work
    work.apply(NoteCase(case="one", text=HOSTILE, tags=("slow",)))
    work.apply(SetText(case="one", where=("conversation", 0, "user_content"), text="Well?"))
    keep_tolerances(path, "one", (TOLERANCE,))
    made = exported(opened(path), path, form)
    save(work)
    assert tolerances_of(path, "one") == (TOLERANCE,)
    assert main([str(path), "--form", form, "--out", str(tmp_path / "by_command")]) == 0
    for file in made.files:
        if "environment" in file.path:
            assert (tmp_path / "by_command" / file.path).read_text() == file.text
    archive = tmp_path / "orders.zip"
    archive.write_bytes(made.content)
    there = imported_beside(archive).path
    assert tolerances_of(there, "one") == (TOLERANCE,)
    assert open_beside(there).notes["one"] == CaseNote(text=HOSTILE, tags=("slow",))
    tab = looked_at(opened(path), path, archive)
    tab.click(tab.key("import_add"))
    now = edited_sets().of(LOCAL, path).work
    assert now.note(now.state.order[-3]).tags == ("slow",)


def test_reviews_go_along_with_a_set_and_come_with_an_upload(path: Path, tmp_path: Path) -> None:
    """A decision about a case that is as it was holds there, too; one about a case that has changed does not."""
    work = edited_sets().of(LOCAL, path).work
    comment = CaseComment(text=HOSTILE, by="Ann", turn=1)
    for key, digest in (("one", case_digest(work.case("one"))), ("two", "of something else")):
        review = CaseReview(status="approved", reviewer="Ann", digest=digest, comments=(comment,))
        work.apply(ReviewCase(case=key, review=review))
    tab = opened(path)
    made = exported(tab, path, "evalset")
    assert [file.path for file in made.files][-1] == "orders.review.json"
    archive = tmp_path / "orders.zip"
    archive.write_bytes(made.content)
    there = imported_beside(archive).path
    then = SetWork(open_set(there), open_beside(there))
    for key in ("one", "two"):
        found = then.review(key)
        assert (found.status, found.comments) == ("approved", (comment,))
        assert has_changed_since(found, then.case(key)) == (key == "two")
    in_other_form = exported(tab, path, "adk_test")
    assert any("reviews" in loss for loss in in_other_form.losses)
    looked_at(tab, path, archive).click(tab.key("import_add"))
    assert work.review(work.state.order[-3]).reviewer == "Ann"
    work.undo()
    archive_of(archive, {**{file.path: file.text for file in made.files}, "orders.review.json": "[]"})
    assert "orders.review.json: " in looked_at(tab, path, archive).literal
    with pytest.raises(ValueError, match=r"orders\.review\.json"):
        imported_beside(archive)


def test_the_download_of_a_set_replays_elsewhere(path: Path, tmp_path: Path) -> None:
    """It has what is next to it, byte for byte, and edits that are not saved as a save would write them. The set alone is the second choice."""
    (path.parent / "test_config.json").write_text('{"criteria": {}}')
    files = ("orders.evalset.json", "orders.environment.json", "test_config.json")
    tab = Tab(page="sets", set=str(path))
    assert tab.has("set_download")
    work = edited_sets().of(LOCAL, path).work
    buttons: Any = tab.app.get("download_button")
    help_of = {each.label: each.help for each in buttons}
    assert help_of["Download with recording"] == ", ".join(files)
    assert [(each.path, each.text) for each in whole_set(work).files] == [
        (name, (path.parent / name).read_text()) for name in files
    ]
    work.apply(NoteCase(case="two", text="slow", tags=()))
    work.apply(ReviewCase(case="one", review=CaseReview(status="approved", reviewer="Ann")))
    archive = tmp_path / whole_set(work).name
    archive.write_bytes(whole_set(work).content)
    there = imported_beside(archive).path
    then = SetWork(open_set(there), open_beside(there))
    assert (then.note("two").text, then.review("one").reviewer) == ("slow", "Ann")
    assert then.beside.case("one") == work.beside.case("one")
    for each in (*path.parent.glob("*.environment.json"), path.parent / "test_config.json"):
        each.unlink()
    alone: Any = Tab(page="sets", set=str(path)).app.get("download_button")
    assert next(each.label for each in alone) == "Download"


def archive_of(path: Path, files: dict[str, str]) -> None:
    """Write a ZIP archive."""
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)


def test_where_others_use_the_server_no_path_of_it_can_be_given(path: Path) -> None:
    """They upload what they want to take in."""
    tab = Tab(page="sets", set=str(path), user=ANNE).choose("set_tab", "Import & export")
    assert tab.keys("export_form")
    assert not tab.keys("import_path")
    assert [each.key for each in tab.app.text_input] == ["acknowledged"]
