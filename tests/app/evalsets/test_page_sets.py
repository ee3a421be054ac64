"""The pages of the eval sets: sets are found, looked through, edited and saved, by whom they are for."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from app import lifespan
from app.decision.golden_candidate import ANOTHER_WAY
from app.evalsets import exchange_jobs
from app.evalsets.exchange_jobs import Upload, taken
from app.evalsets.open_sets import edited_sets
from app.evalsets.set_context import environment_of
from app.evalsets.set_discovery import (
    check_import,
    check_set,
    folders,
    found_sets,
    remove_upload,
    take_upload,
)
from app.live import upload_quota
from app.live.agent_catalogue import catalogue
from app.live.destinations import recent_sets
from app.live.live_sessions import LiveSession
from app.live.session_store import server_store
from app.live.upload_quota import UPLOAD_MB, uploads_of
from app.screens import page
from app.server.owners import LOCAL, Visitor
from evalset.doctor import examine
from evalset.editing.case_edits import DuplicateCase, SetValue
from evalset.editing.set_changes import changes
from evalset.importing import import_files
from evalset.importing.gathered import Harvest
from evalset.recorded.recording import Author, RecordedCall, RecordedCase, RecordedTurn
from evalset.recorded.recording_files import joined, put_cases, read_environment, sidecar_of
from simulator.environment.injection.rule_effects import DelayEffect
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Failed, Returned, ToolAnswered
from simulator.scripts import script_of, write_script
from simulator.scripts.script_player import WENT_BACK
from simulator.seats.answers import called
from simulator.seats.requests import ModelRequest
from simulator.session.adk_event_fields import message_text
from simulator.session.history import ToolError
from simulator.store import JournalStore
from tests.app.decision.deciding import facts
from tests.app.desk_sessions import begun, live_of, server_ends
from tests.app.evalsets.set_tabs import imported, on_set, same_address, settled
from tests.app.page_driver import HOSTILE, MAIN, Tab, block_key
from tests.evalset.doctor.test_importable import importable
from tests.evalset.editing.editing_sets import a_raw_case, write_set

STYLES = MAIN.with_name("styles.css").read_text()
NOT_THEIRS = r"\.json files in"
"""What an error says of the files that somebody may open."""


def test_a_set_is_found_and_opened_from_the_list(path: Path) -> None:
    """The list names the set and its agent; a click opens its cases, with what is known of each. Words, tools, tags and kinds narrow them.

    From a case of a search, which is sorted, the next is the next one found; a case that was not found stands among all.
    """
    path.write_text(path.read_text().replace('"at": "Rome"', '"at": "Bern"', 2))
    tab = Tab().click("open_sets")
    assert "orders.evalset.json" in tab.literal
    tab.click(tab.key("row_open_")).click("set_back")  # as its name does
    tab.click(tab.key("open_set_"))
    assert str(path) in tab.app.query_params["set"]
    assert "3 cases" in tab.words
    for word in ("one", "Where is A-1?", "find_order, track", "recorded, 2 rubrics", "smoke"):
        assert word in tab.literal
    tab.fill("case_search", "tw")
    assert "1 of 3 cases" in tab.run().words
    tab.fill("case_search", "bern").fill("case_sort", "Case")  # stands in a response alone
    assert "2 of 3 cases" in tab.run().words
    tab.app.query_params["case"] = "one"
    assert "1 of 2" in tab.run().words
    tab.click("case_after")
    assert tab.app.query_params["case"] in ("two", ["two"])
    assert "2 of 2" in tab.words
    assert tab.app.button(key="case_after").disabled
    assert "of 3" in on_set(path, "two").words
    tab.click("case_back").fill("case_search", "no such word")
    assert "0 of 3 cases" in tab.run().words
    tab.fill("case_search", "")
    tab.fill("case_tags", ["smoke"])
    assert "1 of 3 cases" in tab.run().words
    assert tab.app.dataframe
    tab.fill("case_tools", ["track"])
    tab.fill("case_kinds", ["Scenarios"])
    assert not tab.run().app.dataframe
    assert "set" not in tab.click("set_back").app.query_params
    copied = Tab(page="sets", set=str(path), case_search="bern", case_sort="Case", case_tools="no such tool")
    assert "2 of 3 cases" in copied.words


def test_the_filters_wait_for_their_switch_on_a_phone(path: Path) -> None:
    """The style sheet hides them there, all but the search and the switch."""
    tab = on_set(path)
    (style,) = [line for line in STYLES.splitlines() if ".st-key-case_filters_shut >" in line]
    assert all(f".st-key-{key}" in style and tab.has(key) for key in ("case_search", "case_more"))
    assert tab.keys("case_filters_") == ["case_filters_shut"]
    assert tab.fill("case_more", True).run().keys("case_filters_") == ["case_filters_open"]


def test_the_name_of_a_case_is_whole_where_there_is_room(path: Path) -> None:
    """A short one leaves the room to what is beside it."""
    tab = on_set(path)
    short = json.loads(tab.app.dataframe[0].proto.columns)["case"]["width"]
    name = "water_damage_that_was_told_by_phone"
    edited_sets().of("local", path).work.apply(DuplicateCase(case="one", eval_id=name))
    width = json.loads(tab.run().app.dataframe[0].proto.columns)["case"]["width"]
    assert short < 8 * len(name) <= width


def test_a_case_keeps_the_search_that_it_was_found_by(path: Path) -> None:
    """A tab at its address has the same place among the cases, and the list the same search; what no filter knows is left out.

    Where one case is found, it is compared with another of the set. A case that is added is among those found, and the place says that they are.
    """
    path.write_text(path.read_text().replace('"at": "Rome"', '"at": "Bern"', 2))
    of_one, of_all = on_set(path, "two", search="search=two"), on_set(path, "two")
    assert "1 of 1 found" in of_one.words
    for case in ("two", "three"):
        edited_sets().of("local", path).work.apply(DuplicateCase(case=case, eval_id=f"{case} again"))
    assert "1 of 2 found" in of_one.run().words
    assert "2 of 5" in of_all.run().words
    assert "found" not in of_all.words
    of_one.click("set_undo").click("set_undo")
    alone = on_set(path, "two", search="search=two").click("case_compare")
    assert alone.app.query_params["other"] in ("one", ["one"])
    tab = Tab(page="sets", set=str(path), case_search="bern")
    for column, order in (
        ("turns", "Turns"),
        ("turns", "File order"),
        ("tools", "File order"),
        ("case", "Case"),
    ):
        picked = {"selection": {"rows": [], "columns": [column], "cells": []}}
        tab.app.session_state[tab.key("cases_table_")] = picked
        assert tab.run().app.selectbox(key="case_sort").value == order
    tab.app.session_state[tab.key("cases_table_")] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    tab.run()
    assert "1 of 2" in same_address(tab).words
    ways = [tab.app.button(key=f"case_{way}").label for way in ("before", "after")]
    assert ways == ["Previous case", "Next case"]
    of_case = on_set(path, "one", search="search=bern&sort=Case&kinds=none&reviews=approved&reviews=none")
    assert "1 of 2" in of_case.words
    assert "1 of 2" in same_address(of_case.click("case_after").click("case_before")).words
    assert "2 of 3 cases" in of_case.click("case_back").words
    assert of_case.app.selectbox(key="case_sort").value == "Case"


def test_an_upload_is_removed_and_a_path_is_typed_in_the_list(path: Path) -> None:
    """The list offers to remove an upload alone, behind a second click. A path is typed as it stands in the agents' folder, and remembered whole.

    One that is nowhere is named, and so is an empty field.
    """
    uploaded = take_upload("local", "mine.evalset.json", path.read_bytes())
    tab = Tab().click("open_sets")
    tab.click(tab.key("remove_set_"))
    assert not uploaded.exists()
    assert "orders.evalset.json" in tab.literal
    assert "mine.evalset.json" not in tab.literal
    for typed, shown in (
        (path.name, "3 cases"),
        ("nowhere.evalset.json", "nowhere.evalset.json"),
        ("", "Enter the path of an eval set file"),
    ):
        tab.fill("set_path_typed", typed).click("set_open_typed")
        assert shown in f"{tab.words}{tab.literal}"
        if typed:
            tab.click("set_back")
    assert [each.path for each in recent_sets(LOCAL)] == [str(path)]


def test_a_relative_path_that_two_agents_have_is_refused(tmp_path: Path) -> None:
    """None of the two is opened for the other; the error names both."""
    homes = [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        home.mkdir()
        write_set(home / "x.evalset.json")
    with pytest.raises(ValueError, match="is in several folders") as refused:
        check_set("x.evalset.json", LOCAL, homes)
    assert all(str(home / "x.evalset.json") in str(refused.value) for home in homes)
    assert check_set(str(homes[1] / "x.evalset.json"), LOCAL, homes) == homes[1] / "x.evalset.json"


def test_a_dataset_of_an_agents_cli_project_is_listed_and_imported(path: Path) -> None:
    """The project's folder of datasets is looked through; a dataset is no eval set, so its import into one is offered."""
    project = path.parents[1]
    (project / "agents-cli-manifest.yaml").write_text("agent_directory: desk\n")
    dataset = project / "tests" / "eval" / "datasets" / "basic-dataset.json"
    dataset.parent.mkdir(parents=True)
    prompt = {"role": "user", "parts": [{"text": "Where is A-1?"}]}
    dataset.write_text(json.dumps({"eval_cases": [{"eval_case_id": "where", "tool_call": {"name": "find"}}]}))
    tab = on_set(dataset)
    assert not tab.has("import_as_set")
    assert "'eval_set_id'" in tab.literal
    dataset.write_text(json.dumps({"eval_cases": [{"eval_case_id": "where", "prompt": prompt}]}))
    assert str(dataset) in Tab().click("open_sets").literal
    assert "where" in imported(dataset).literal
    assert dataset.with_name("basic-dataset_imported.evalset.json").is_file()


@pytest.mark.long
def test_the_list_has_the_sets_that_the_doctor_finds(path: Path) -> None:
    """Sets in nested folders, next to the agents and anywhere in their project are listed; what is installed is not."""
    home = path.parents[2]
    named = ("tests/eval/evalsets", "eval/data", "evals", "evalsets", "evaluation", "more/of/it", ".")
    places = [path.parent / "a/b/c/d/e", path.parents[1], *(home / name for name in named)]
    (home / "pyproject.toml").touch()
    installed = path.parent / "venv"
    for place in (*places, installed):
        place.mkdir(parents=True, exist_ok=True)
        (place / "more.evalset.json").write_bytes(path.read_bytes())
    plain, other = home / "evals" / "plain.json", home / "evals" / "other.json"
    plain.write_bytes(path.read_bytes())
    other.write_text('{"eval_set_id": "of_results"}')
    tab = Tab().click("open_sets")
    assert (str(plain) in tab.literal, str(other) in tab.literal) == (True, False)
    theirs = folders(catalogue().entries(), "browser-a")
    assert not {home, path.parents[1]} & theirs.keys()
    found = {str(file.file) for file in examine([home]).files}
    for place in places:
        assert str(place / "more.evalset.json") in tab.literal
        assert str(place / "more.evalset.json") in found
    assert str(installed) not in tab.literal
    assert str(installed / "more.evalset.json") not in found


def test_a_case_is_shown_step_by_step(path: Path) -> None:
    """Its turns, calls, answers and states stand there in either form, and nothing in them comes alive.

    A text is where it was said, also before a late result, as far as that was recorded.
    """
    recorded = read_environment(sidecar_of(path)).cases["one"]
    first = recorded.turns[0]
    late = first.calls[0].model_copy(update={"later": {"status": "shipped"}})
    waits = first.models[2].model_copy(
        update={"put_off": True, "responses": ({"content": {"parts": [{"text": "I am waiting."}]}},)}
    )
    models = (first.models[0], waits, *first.models[1:])
    turn = first.model_copy(update={"calls": (late, first.calls[1]), "models": models})
    put_cases(sidecar_of(path), {"one": recorded.model_copy(update={"turns": (turn, recorded.turns[1])})})
    path.write_text(path.read_text().replace("Where is A-1?", HOSTILE).replace('"shipped"', f'"{HOSTILE}"'))
    tab = on_set(path, "one")
    assert tab.live_marks() == []
    steps = tab.keys("case_step_one_")
    assert len(steps) == 12
    assert [step for step in steps if "_one_0_" in step] == [
        f"case_step_one_0_{place}" for place in (0, 5, 1, 2, 3, 4, 6)
    ]
    drawn = [str(getattr(node, "value", "")) or block_key(node) for node in tab.nodes()]
    (noted,) = [at for at, words in enumerate(drawn) if "I am waiting" in words]
    assert drawn.index(steps[2]) < noted < drawn.index(steps[3])
    for step in steps:
        tab.app.session_state[step] = True
    tab.run()
    assert HOSTILE in tab.literal
    assert '"at": "Oslo"' not in tab.literal
    for key in tab.keys("json_of_"):
        tab.app.session_state[key] = True
    assert '"at": "Oslo"' in tab.run().literal
    assert tab.live_marks() == []


def test_two_cases_stand_side_by_side(path: Path) -> None:
    """What differs is marked with its place, what only one has, too, and what is the same is folded; a refresh and a copied link show it.

    Another case is chosen on either side, not the same one twice. A response that failed has the sign of an error.
    """
    held = json.loads(path.read_text())
    data = held["eval_cases"][1]["conversation"][0]["intermediate_data"]
    data["tool_responses"][0]["response"]["status"] = HOSTILE
    data["tool_responses"][1]["response"] = {"error_code": 503, "error_message": "no track"}
    del data["intermediate_responses"]
    held["eval_cases"][1]["final_session_state"]["seen"] = ["B-2"]
    path.write_text(json.dumps(held))
    tab = same_address(on_set(path, "one").click("case_compare"))
    assert f'result.status: "{HOSTILE}"' in tab.literal
    assert 'result.status: "shipped"' in tab.literal
    assert 'final state.seen[0]: "B-2"' in tab.literal
    assert [len(tab.keys(f"compared_right_{kind}_")) for kind in ("changed", "only_left", "same")] == [
        2,
        1,
        0,
    ]
    assert ":material/error:" in [each.icon for each in tab.app.expander]
    assert tab.steps_marked(" failed \u00b7 503") == 1  # as in the timeline of a session
    tab.app.session_state[tab.keys("same_rows_")[0]] = True
    assert tab.run().keys("compared_left_same_")
    assert tab.live_marks() == []
    tab.fill("cases_right_two", "three").run()
    assert tab.app.query_params["other"] in ("three", ["three"])
    assert tab.keys("compared_left_changed_") == []
    assert "No step differs" in tab.words
    tab.fill("cases_right_three", "one").run()
    assert tab.app.info
    assert "other" not in tab.click("cases_back").app.query_params
    assert tab.has("case_compare")


def test_a_file_that_is_no_set_is_refused_with_the_reason(path: Path, tmp_path: Path) -> None:
    """The reason names the file and the line; of an archive without a case nothing is written."""
    path.write_text("{")
    tab = on_set(path)
    assert tab.app.error
    assert re.search(rf"{path.name}.* line 1\b", tab.literal)
    archive = tmp_path / "archives" / "empty.zip"
    archive.parent.mkdir()
    archive.write_bytes(b"PK\x03\x04 and no more")
    tab = imported(archive)
    assert tab.app.error
    assert "ZIP" in tab.literal
    assert [each.name for each in archive.parent.iterdir()] == ["empty.zip"]


def test_others_open_only_what_is_theirs(path: Path, tmp_path: Path) -> None:
    """Where several people use the server they open what lies in an agent's folder, or what they have uploaded."""
    elsewhere = write_set(tmp_path / "mine.evalset.json")
    homes = {path.parent: "desk"}
    assert check_set(str(path), "browser-a", homes) == path
    link = path.with_name("link.evalset.json")
    link.symlink_to(elsewhere)
    for wanted in (elsewhere, path.parent / ".." / ".." / elsewhere.name, link):
        with pytest.raises(ValueError, match=NOT_THEIRS):
            check_set(str(wanted), "browser-a", homes)
        assert check_set(str(wanted), "local", homes)
    taken = take_upload("browser-a", "../up.evalset.json", path.read_bytes())
    assert check_set(str(taken), "browser-a", homes) == taken
    with pytest.raises(ValueError, match=NOT_THEIRS):
        check_set(str(taken), "browser-b", homes)
    assert [line.name for line in found_sets({}, "browser-a")] == ["up"]
    assert found_sets({}, "browser-b") == []
    archive = take_upload("browser-a", "../mine.zip", b"PK\x03\x04 and no more")
    assert archive.name == "mine.zip"
    assert check_set(str(archive), "browser-a", homes) == archive
    with pytest.raises(ValueError, match=NOT_THEIRS):
        check_set(str(archive), "browser-b", homes)


def test_uploads_have_a_limit_and_are_removed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person uploads has a limit; archives count too. Removing an upload makes room, and removes nothing of anybody else.

    An imported set counts, too: what takes too much is taken away again; a set elsewhere is nobody's upload.
    """
    monkeypatch.setenv(UPLOAD_MB, "1")
    archive = take_upload("browser-q", "first.zip", b"PK" + bytes(700_000))
    with pytest.raises(ValueError, match=rf"1\.\d MB; the limit is 1 MB.*{UPLOAD_MB}"):
        take_upload("browser-q", "second.zip", b"PK" + bytes(700_000))
    assert take_upload("browser-q", "first.zip", b"PK" + bytes(700_000)) == archive
    taken = take_upload("browser-q", "up.evalset.json", path.read_bytes())
    put_cases(sidecar_of(taken), {})
    assert {line.name for line in found_sets({}, "browser-q")} == {"first.zip", "up"}
    for mine in (path, take_upload("browser-r", "first.zip", b"PK" + bytes(700_000))):
        with pytest.raises(ValueError, match="your uploads"):
            remove_upload("browser-q", mine)
        assert mine.is_file()
    for mine in (archive, taken):
        remove_upload("browser-q", mine)
    assert list(taken.parent.iterdir()) == []
    take_upload("browser-q", "second.zip", b"PK" + bytes(700_000))
    made = uploads_of("browser-q") / "second_imported.evalset.json"
    made.write_bytes(b" " * 700_000)
    with pytest.raises(ValueError, match="the limit is 1 MB"):
        check_import("browser-q", made)
    assert not made.exists()
    check_import("browser-q", path)
    with pytest.raises(ValueError, match="the limit is 1 MB"):
        take_upload("browser-q", "set.evalset.json", b"{}", recorded=b" " * 700_000)


def test_an_upload_counts_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one that does not fit beside it is refused meanwhile; then there is room again for what fits."""
    monkeypatch.setenv(UPLOAD_MB, "1")
    first, second = (Upload(name=f"{each}.zip", content=b"PK" + bytes(600_000)) for each in ("a", "b"))
    begun, go_on = threading.Event(), threading.Event()

    def held_up(content: bytes) -> tuple[bytes, bytes]:
        begun.set()
        assert go_on.wait(60)
        return content, b""

    monkeypatch.setattr(exchange_jobs, "apart", held_up)
    read = taken("browser-h", first)
    assert begun.wait(60)
    refused = taken("browser-h", second)
    assert taken("browser-g", second).state == "running"
    assert refused.wait(60)
    assert "1.1 MB; the limit is 1 MB" in refused.problem
    go_on.set()
    assert read.wait(60)
    assert read.result is not None
    assert [*uploads_of("browser-h").iterdir()] == [read.result]
    assert read.result.read_bytes() == first.content
    remove_upload("browser-h", read.result)
    again = taken("browser-h", second)
    assert again.wait(60)
    assert not again.problem


def test_uploads_that_are_kept_at_once_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight that fit alone, as many are kept as fit together; none takes the name of another."""
    monkeypatch.setenv(UPLOAD_MB, "1")
    at_once = threading.Barrier(8)

    def keep(number: int) -> Path | None:
        at_once.wait(60)
        try:
            return take_upload("browser-e", "one.zip", b"PK%d" % number + bytes(250_000))
        except ValueError:
            return None

    with ThreadPoolExecutor(8) as people:
        kept = [path for path in people.map(keep, range(8)) if path]
    assert len({*kept}) == len(kept) == 4
    assert {*uploads_of("browser-e").iterdir()} == {*kept}


def test_uploads_go_some_time_after_the_last_page_of_their_owner_has_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever has a page open keeps old files, and so do who reloads or sleeps for half an hour, and the one person of a machine."""
    owners = ("browser-open", "browser-asleep", "browser-gone", "local")
    kept = {owner: take_upload(owner, "old.zip", b"PK") for owner in owners}

    def looked_after(minutes: int) -> set[str]:
        long_ago = time.time() - 60 * minutes
        for each in filter(Path.exists, kept.values()):
            os.utime(each.parent, (long_ago, long_ago))
        lifespan._end_idle()
        return {owner for owner, each in kept.items() if each.exists()}

    with monkeypatch.context() as patch:
        patch.setattr(page, "visitor", lambda: Visitor(owner="browser-open"))
        Tab(page="sets")
    with monkeypatch.context() as patch:
        patch.setattr(upload_quota, "is_open", lambda _: True)
        assert looked_after(30) == {*owners}
        assert looked_after(120) == {"browser-open", "local"}
    assert looked_after(30) == {"browser-open", "local"}
    assert looked_after(120) == {"local"}
    remove_upload("local", kept["local"])


def edit_step(tab: Tab, step: str) -> Tab:
    """Open a step of the case's timeline, and its editor."""
    tab.unfold(f"case_step_{step}")
    return tab.click(f"edit_{step}")


def as_json(tab: Tab) -> Tab:
    """Go from the form of a part to its JSON, or back."""
    toggle = tab.app.toggle(key=tab.key("json_as_json_"))
    toggle.set_value(not toggle.value)
    return tab.run()


def test_an_answer_is_edited_looked_at_and_saved(path: Path) -> None:
    """The change is shown before it is saved; then the file has it and nothing else, and what is recorded has it too."""
    before = path.read_bytes()
    tab = as_json(edit_step(on_set(path, "one"), "one_0_2"))
    area = tab.app.text_area(key=tab.key("json_part-one"))
    assert '"shipped"' in (area.value or "")
    area.input('{"status": "lost"')
    assert "line 1, column 18: " in tab.click("part_accept").words
    order = [each.type for each in tab.nodes() if each.type in {"error", "text_area"}]
    assert order == ["error", "error", "text_area"]
    assert as_json(tab).app.toggle(key=tab.key("json_as_json_")).value  # what is no JSON has no form
    area = tab.app.text_area(key=tab.key("json_part-one"))
    assert area.value == '{"status": "lost"'
    area.input('{"status": "lost"}')
    tab.click("part_accept")
    assert "1 case " in tab.click("set_changes").words
    (shown,) = [one.value for one in tab.app.markdown if "shipped" in one.value]
    assert (
        shown
        == "Turn 1 \u203a response 1 \u203a status: :red-background[~~shipped~~]:green-background[**lost**]"
    )
    assert '"status"' not in tab.literal
    tab.fill("change_json_", True).run()
    lines = [line.split(maxsplit=1) for line in tab.literal.splitlines()]
    assert ["-", '"status": "shipped",'] in lines
    assert ["+", '"status": "lost"'] in lines
    assert path.read_bytes() == before
    assert "**Save to file**" in tab.words
    assert tab.click("save_set").app.success
    (files,) = tab.block("set_saved_files").get("text")
    assert [str(each) in files.value for each in (path, sidecar_of(path))] == [True, True]
    assert str(path) not in tab.literal.replace(files.value, "")
    assert json.loads(path.read_bytes())["eval_cases"][0]["conversation"][0]["intermediate_data"]["tool_responses"][0] == {
        "id": "c1", "name": "find_order", "response": {"status": "lost"},
    }  # fmt: skip
    call = read_environment(sidecar_of(path)).cases["one"].turns[0].calls[0]
    assert call.outcome == Returned(value={"status": "lost"})
    tab.click("set_undo").click("set_save")
    assert path.read_bytes() == before


def test_the_overview_of_a_save_counts_what_it_does_not_name(path: Path) -> None:
    """Of more places than a line has room for, the number is told."""
    tab = on_set(path)
    work = edited_sets().of("local", path).work
    text = json.dumps(work.case("one"))
    for word in ("A-1", "shipped", "Rome", "I look.", "On its way."):
        text = text.replace(word, "else")
    work.apply(SetValue(case="one", value=json.loads(text)))
    left = len(changes(work).cases[0].words) - 6
    assert left > 0
    tab.run().click("set_changes")
    (label,) = [each.label for each in tab.app.expander if "one" in each.label]
    assert label.endswith(f" and {left} more")


def test_a_refresh_loses_neither_an_edit_nor_what_is_being_typed(path: Path) -> None:
    """A tab at the same address has the edit that was not saved, and the editor with its text; another tab has the edit alone."""
    tab = edit_step(on_set(path, "one"), "one_0_0")
    tab.fill("text_part-one", "Where is it?").click("part_accept")
    edit_step(tab, "one_0_6")
    tab.fill("text_part-one", "half a sen").run()
    assert not on_set(path, "one").has("part_accept")
    again = same_address(tab)
    assert not again.app.button(key="set_save").disabled
    assert "Where is it?" in str(again.app.expander)
    assert again.app.text_area(key=again.key("text_part-one")).value == "half a sen"
    assert "turn 1" in again.words


def test_a_save_names_the_form_whose_text_is_not_applied(path: Path) -> None:
    """Also one of another case. From there the form is shown with its text; once it is applied, nothing is named."""
    tab = on_set(path, "one").click("note_edit").fill("text_part-one", "Look again").run()
    before = on_set(path, "two").click("note_edit")  # a form in which nothing was typed
    edit_step(before, "two_0_0").fill("text_part-two", "Where?").click("part_accept")
    for press in ("set_save", "save_set"):
        assert "form of one has changes that are not applied: Note" in before.click(press).words
    before.click(before.key("show_form_"))
    assert (before.app.query_params["case"], before.typed("text_part-one")) == ("one", "Look again")
    tab.click("part_accept").click("set_save")
    assert "not applied" not in tab.words


def test_a_case_is_duplicated_split_merged_moved_renamed_noted_and_deleted(path: Path) -> None:
    """Each is a click, and undo takes them back one by one."""
    tab = on_set(path, "one").click("case_duplicate")
    assert tab.app.query_params["case"] in ("one_copy", ["one_copy"])
    tab.unfold("turn_menu_1").click("turn_split_1")
    tab.click("case_rename")
    tab.fill("name_part-one_copy", "start").click("part_accept")
    tab.click("note_edit")
    tab.fill("tags_part-one_copy", "smoke, new ,smoke").click("part_accept")
    tab.click("case_down")
    work = edited_sets().of("local", path).work
    assert [row.eval_id for row in work.rows()] == ["one", "one_copy_rest", "start", "two", "three"]
    assert work.note("one_copy").tags == ("smoke", "new")
    assert "Enter the eval id" in tab.click("case_merge").words
    tab.fill("merge_with", "three").run().click("case_merge")
    assert work.row("one_copy").turns == 3
    assert "Not saved" in Tab().click("open_sets").words
    tab.click("case_delete")
    assert [row.eval_id for row in work.rows()] == ["one", "one_copy_rest", "two"]
    assert ("start" in tab.literal.splitlines(), len(tab.app.success)) == (True, 1)
    assert not tab.click("set_undo").app.success
    edited = [each.key for each in tab.block("set_head").get("button")]
    for _ in range(6):
        work.undo()
    assert not work.edits
    unedited = [each.key for each in tab.run().block("set_head").get("button")]
    assert (edited, unedited[0]) == (["set_changes", *unedited], "set_undo")  # the line ends at the right
    assert "Not saved" not in Tab().click("open_sets").words
    assert [row.eval_id for row in work.rows()] == ["one", "two", "three"]


@pytest.mark.long
def test_calls_turns_states_and_rubrics_are_edited(path: Path) -> None:
    """A call gets another tool and moves, a turn goes, the state and the rubrics are edited as JSON; a refusal names why."""
    tab = edit_step(on_set(path, "two"), "two_0_1")
    tab.fill("name_part-two", "look_up").click("part_accept").unfold("case_step_two_0_1").click(
        "down_two_0_1"
    )
    tab.unfold("turn_menu_1").click("turn_remove_1")
    tab.unfold("turn_menu_0").click("turn_add_0")
    tab.fill("name_part-two", "close").click("part_accept")
    work = edited_sets().of("local", path).work
    assert work.row("two").tools == ("track", "look_up", "close")
    assert work.row("two").turns == 1
    for part, text in (("session_input_state", '{"tier": "new"}'), ("rubrics", "{}")):
        as_json(tab.unfold(f"case_value_{part}").click(f"edit_value_{part}"))
        tab.fill("json_part-two", text).click("part_accept")
    assert tab.app.error
    assert tab.has("part_accept")
    assert work.case("two")["session_input"]["state"] == {"tier": "new"}


def test_what_adk_would_refuse_is_not_saved(path: Path) -> None:
    """The page names the case and the place, and the file is as it was."""
    before = path.read_bytes()
    tab = on_set(path, "two").click("case_json")
    area = tab.app.text_area(key=tab.key("json_part-two"))
    area.input((area.value or "").replace('"user_content"', '"user_says"'))
    tab.click("part_accept").click("set_save")
    assert tab.app.error
    assert "case 'two': conversation[0]" in tab.literal
    assert path.read_bytes() == before


def test_a_set_that_changed_meanwhile_is_opened_anew(path: Path) -> None:
    """Who has nothing unsaved sees the file as it is, also after own edits; who drops their edits does, too, and a case that is gone is named."""
    for case, other, gone in (
        ("gone", "", ["gone"]),
        ("one", "lost", ["lost"]),
        ("gone", "lost", ["gone", "lost"]),
    ):
        named = on_set(path, case, other=other)
        assert [line for line in named.literal.splitlines() if line.startswith("case ")] == [
            f"case {each} of {path}" for each in gone
        ]
        assert named.has("set_tab" if case == "gone" else "case_back")
    tab = on_set(path, "one")
    tab.click("case_duplicate").click("set_save")
    path.write_text(path.read_text().replace("Where is A-1?", "Where now?", 1))
    tab = on_set(path, "one")
    assert "Where now?" in str(tab.app.expander)
    tab.click("case_duplicate")
    path.write_text(path.read_text().replace("Where now?", "And where now?", 1))
    tab.run().click("conflict_reload")
    assert not edited_sets().of("local", path).work.is_changed
    assert "And where now?" in str(on_set(path, "one").app.expander)


def write_played(path: Path, *later: str) -> Path:
    """Write a set with a case of a demo agent, with messages for later turns; beside it its one call failed."""
    turn = {
        "user_content": {"parts": [{"text": "Where is order A-1002?"}]},
        "final_response": {"parts": [{"text": "On its way."}], "role": "model"},
        "intermediate_data": {
            "tool_uses": [{"id": "c1", "args": {"order_id": "A-1"}, "name": "find_order"}],
            "tool_responses": [{"id": "c1", "name": "find_order", "response": {"status": "shipped"}}],
        },
    }
    said = [{"parts": [{"text": text}], "role": "user"} for text in later]
    turns = [turn, *({"user_content": each, "final_response": turn["final_response"]} for each in said)]
    raw = {**a_raw_case("played", *turns), "final_session_state": {"tier": "gold", "reserved": "T-1"}}
    path.write_text(json.dumps({"eval_set_id": "x", "eval_cases": [raw]}))
    asked, outcome = {"order_id": "A-1"}, Failed(error_code=503, error_message="busy")
    call = RecordedCall(
        id="c1", tool="find_order", arguments=asked, outcome=outcome, author=Author(source="written")
    )
    first = RecordedTurn(query=turn["user_content"], calls=(call,))
    recorded = (first, *(RecordedTurn(query=each) for each in said))
    rule = InjectionRule(rule_id="http_402", tool_name="find_order", effect=DelayEffect())
    case = RecordedCase(agent="order_desk", app_name="order_desk", turns=recorded, rules=(rule,))
    put_cases(sidecar_of(path), {"played": case})
    return path


def test_a_case_is_played_to_a_step_and_recorded_again_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session opens in which the recorded answers are given; from the step on it is played by hand.

    Then the case's later messages are sent, and the export proposes the case's own set and id.
    """
    monkeypatch.setattr(sys, "argv", ["main.py"])
    path = write_played(tmp_path / "orders.evalset.json", "Thank you.")
    tab = on_set(path, "played").unfold("case_step_played_0_2").click("play_played_0_2")
    live = live_of(tab.session_id)
    assert live.simulation.wait(60)
    session = live.simulation.session
    assert session.initial_state == {"tier": "gold"}
    (answer,) = [entry for entry in session.history if isinstance(entry, ToolError)]
    assert answer.error_message == "busy"
    (waits,) = live.simulation.view().pending
    assert isinstance(waits, ModelRequest)
    assert "Turn 1 of 2." in tab.run().literal
    assert not tab.has("play_rest")
    dropped = "turn 2 will be removed: the case in the file has 2 turns"
    unset = "'reserved' will be removed from the final state"
    assert live.simulation.answer(waits, "It is delayed.", wait=60)
    assert live.script is not None
    assert live.script.wait(lambda progress: progress.is_over, 60)
    assert dropped in tab.run().click("open_export").words
    tab.click("export_back").click("play_rest")
    assert live.script.wait(lambda progress: progress.is_over, 60)
    assert message_text(live.simulation.session.turns[-1].message) == "Thank you."
    live.simulation.complete()
    assert dropped not in tab.run().click("open_export").words
    assert unset in tab.words
    assert "the rule 'http_402' will be removed" in tab.words
    tab.click("export_replace")
    assert not tab.app.error
    (case,) = json.loads(path.read_text())["eval_cases"]
    assert case["eval_id"] == "played"
    finals = [turn["final_response"]["parts"][0]["text"] for turn in case["conversation"]]
    assert finals == ["It is delayed.", "On its way."]
    edited_sets().clear()


def test_who_goes_back_while_a_case_is_played_is_told_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The case plays no more, and the strip names the turn of the case and what the person did."""
    monkeypatch.setattr(sys, "argv", ["main.py"])
    path = write_played(tmp_path / "orders.evalset.json", "Thank you.")
    tab = on_set(path, "played").unfold("case_step_played_0_2").click("play_played_0_2")
    live = live_of(tab.session_id)
    assert live.script is not None
    assert live.script.wait(lambda progress: bool(progress.asks), 60)
    assert live.simulation.undo(wait=60)
    assert live.script.wait(lambda progress: progress.is_over, 60)
    assert f"Turn 1 of 2: {WENT_BACK}" in tab.run().literal
    edited_sets().clear()


def test_what_playing_a_case_lost_is_said_before_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case without a recording does not tell which calls were made at once."""
    monkeypatch.setattr(sys, "argv", ["main.py"])
    path = write_played(tmp_path / "orders.evalset.json")
    sidecar_of(path).unlink()
    raw = json.loads(path.read_text())
    way = raw["eval_cases"][0]["conversation"][0]["intermediate_data"]
    for each in (way["tool_uses"], way["tool_responses"]):
        each.append({**each[0], "id": "c2"})
    path.write_text(json.dumps(raw))
    tab = on_set(path, "played").unfold("case_step_played_0_5").click("play_played_0_5")
    live = live_of(tab.session_id)
    assert live.script is not None
    assert live.script.wait(lambda progress: progress.is_over, 60)
    live.simulation.complete()
    assert "which were made at once" in tab.run().click("open_export").words
    edited_sets().clear()


def pressed(tab: Tab, live: LiveSession, start: str) -> None:
    """Press the button whose key starts like this as soon as the session is at rest, and see what comes of it."""
    assert live.simulation.wait(60)
    tab.run().click(tab.key(start))
    assert live.simulation.wait(60)
    tab.run()


def test_what_the_golden_did_next_is_a_candidate_at_each_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the agent's seat, at the tool and for the user: it is edited, used with one click, and not offered where the session went another way."""
    monkeypatch.setattr(sys, "argv", ["main.py"])
    path = write_played(tmp_path / "orders.evalset.json", "Thank you.")
    tab = on_set(path, "played").unfold("case_step_played_0_0").click("play_played_0_0")
    live = live_of(tab.session_id)
    press = partial(pressed, tab, live)
    press("golden_edit")
    (order,) = (key for key in tab.keys("form") if ".order_id_" in key)
    assert tab.app.text_input(key=order).value == "A-1"
    tab.fill(order, "A-1002")
    press("accept_")
    assert "args.order_id was 'A-1' and is now 'A-1002'" in tab.literal
    press("golden_edit")
    assert tab.app.text_input(key=tab.key("error_message_")).value == "busy"
    press("switch_back")
    press("golden_use")
    (answer,) = facts(live.simulation, ToolAnswered)
    assert (answer.arguments, answer.outcome) == (
        {"order_id": "A-1002"},
        Failed(error_code=503, error_message="busy"),
    )
    press("golden_use")
    press("golden_use")
    said = [turn.message for turn in live.simulation.session.turns]
    assert [message_text(each) for each in said] == ["Where is order A-1002?", "Thank you."]
    assert live.simulation.answer(live.simulation.view().pending[0], called(("list_orders", {})), wait=60)
    tab.run()
    assert not tab.keys("golden_use")
    assert ANOTHER_WAY in tab.words
    assert "Turn 2 of 2" in tab.literal
    live.simulation.undo()
    press("golden_use")
    assert live.simulation.session.turns[-1].ended
    assert ANOTHER_WAY not in tab.words
    assert not tab.keys("golden_use")
    assert tab.click("open_export").has("export_replace")
    edited_sets().clear()


def test_later_turns_follow_what_was_said_in_the_place_of_the_golden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that a person wrote anew takes the place of the golden's, which is not sent once more."""
    monkeypatch.setattr(sys, "argv", ["main.py"])
    path = write_played(tmp_path / "orders.evalset.json", "Thank you.", "Bye.")
    tab = on_set(path, "played").unfold("case_step_played_0_2").click("play_played_0_2")
    live = live_of(tab.session_id)
    press = partial(pressed, tab, live)
    press("golden_use")
    assert live.script is not None
    assert live.script.wait(lambda progress: progress.is_over, 60)
    press("golden_edit")
    assert tab.typed("query_text_") == "Thank you."
    tab.fill("query_text_", "Thanks a lot.")
    press("query_send")
    press("golden_use")
    press("play_rest")
    assert live.script.wait(lambda progress: progress.is_over, 60)
    said = [message_text(turn.message) for turn in live.simulation.session.turns]
    assert said == ["Where is order A-1002?", "Thanks a lot.", "Bye."]
    assert write_script(script_of(live.simulation.journal)).count("503") == 1  # said by its line alone
    assert not tab.run().has("play_rest")
    edited_sets().clear()


def test_kept_sessions_stand_beside_the_sets_on_the_first_page_of_a_server(store: JournalStore) -> None:
    """Nobody has looked at the start page since the server began, and the store is opened beside the page."""
    made = begun().session_id
    assert store.record(made)
    server_ends()
    tab = Tab(page="sets")
    assert server_store().store is not None
    assert tab.run().has(f"recent_{made}")


def test_a_file_that_holds_cases_is_imported_where_it_was_opened(path: Path) -> None:
    """A session in the place of an eval set: one button, and the new set is open; the work tells how many cases it has found."""
    named, content = importable("journal")
    given = path.with_name(named)
    given.write_bytes(content)
    tab = imported(given)
    made = given.with_name(f"{given.name.partition('.')[0]}_imported.evalset.json")
    assert str(made) in tab.app.query_params["set"]
    assert "go" in tab.literal
    assert "recorded" in tab.literal
    assert "Imported: 1 case." in tab.literal
    assert sidecar_of(made).is_file()
    assert given.read_bytes() == content
    made.unlink()
    job = exchange_jobs.made_of(given, LOCAL)
    assert job.wait(60)
    assert job.result is not None
    assert "1" in job.progress.words


def test_an_import_is_stopped_and_writes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows how many cases were found, and is there meanwhile. Held up, so that there is time to press Stop."""
    take, begun, stopped = import_files.take_path, threading.Event(), threading.Event()

    def held_up(file: Path, harvest: Harvest) -> None:
        begun.set()
        stopped.wait(60)
        take(file, harvest)

    monkeypatch.setattr(import_files, "take_path", held_up)
    given = path.with_name(importable("journal")[0])
    given.write_bytes(importable("journal")[1])
    before = {*path.parent.iterdir()}
    tab = on_set(given).click("import_as_set")
    assert begun.wait(60)
    tab.run().click("stop_made_set")
    stopped.set()
    settled(tab, given)
    assert tab.app.error
    assert "set" in tab.app.query_params
    assert {*path.parent.iterdir()} == before


def test_the_page_says_where_the_recording_is(path: Path) -> None:
    """Of a set that holds it inside the cases count as recorded, too; with the file beside it, nothing is said."""
    beside = len(on_set(path).app.caption)
    sidecar = sidecar_of(path)
    path.write_text(joined(path.read_text(), read_environment(sidecar)))
    sidecar.unlink()
    edited_sets().clear()
    inside = on_set(path)
    assert len(inside.app.caption) == beside + 1
    assert "recorded" in inside.literal
    assert environment_of(path) == path
