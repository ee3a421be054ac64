"""Reviews lie beside a set in a file of their own, follow their cases, and are written with the set or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalset.editing.case_edits import (
    DeleteCase,
    DuplicateCase,
    MergeCases,
    MoveCall,
    MoveTurn,
    RemoveCall,
    RemoveTurn,
    RenameCase,
    ReviewCase,
    SetText,
    SplitCase,
)
from evalset.editing.opened_set import open_set
from evalset.editing.set_changes import changes
from evalset.editing.set_saving import ChangedOnDiskError, conflicts, decided_twice, merged, save
from evalset.editing.set_work import SetWork, kept_work, restored_work
from evalset.editing.sidecars import (
    NO_REVIEW,
    CaseComment,
    CaseReview,
    Status,
    call_of,
    has_changed_since,
    merged_review,
    open_beside,
    open_reviews,
    reviews_text,
    step_of,
    turn_of,
)
from evalset.errors import EvalSetError
from evalset.files.eval_names import case_digest, reviews_path
from tests.evalset.editing.editing_sets import work_on, write_set


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A set of three cases, of two turns each."""
    return write_set(tmp_path / "desk.evalset.json")


def at_call(work: SetWork, key: str, text: str, turn: int | None, call: int | None = None) -> CaseComment:
    """Return a comment of Ann's at a step."""
    return CaseComment(text=text, by="Ann", **step_of(work.case(key), turn, call))


def review(work: SetWork, key: str, *comments: CaseComment, status: str = "changes_requested") -> None:
    """Let Ann decide about a case."""
    said = {"status": status, "reviewer": "Ann", "digest": case_digest(work.case(key))}
    work.apply(ReviewCase(case=key, review=CaseReview.model_validate({**said, "comments": comments})))


def places(work: SetWork, key: str) -> list[tuple[str, int | None, int | None]]:
    """Return where each comment of a case is, from 0."""
    case, found = work.case(key), []
    for comment in work.review(key).comments:
        turn = turn_of(comment, case)
        found.append((comment.text, turn, None if turn is None else call_of(comment, case, turn)))
    return found


def test_a_review_is_written_beside_the_set_for_people_to_read(path: Path) -> None:
    """Two spaces, in the order of the ids; the set keeps its bytes, and an undo takes the review back."""
    before = path.read_bytes()
    work = work_on(path)
    review(work, "two", at_call(work, "two", "Which order?", 0, 1))
    assert changes(work).cases[0].words == ("review",)
    assert (work.is_changed, work.is_edited) == (True, False)
    saved = save(work)
    assert saved.reviews == reviews_path(path) == path.with_name("desk.review.json")
    assert path.read_bytes() == before
    digest = case_digest(work.case("two"))
    assert (
        saved.reviews.read_text(encoding="utf-8")
        == f"""{{
  "format": "golden-trace-studio/review",
  "version": 1,
  "cases": {{
    "two": {{
      "status": "changes_requested",
      "reviewer": "Ann",
      "digest": "{digest}",
      "comments": [
        {{
          "text": "Which order?",
          "by": "Ann",
          "turn": 1,
          "invocation_id": "i-1",
          "call": 2,
          "call_id": "c2"
        }}
      ]
    }}
  }}
}}
"""
    )
    assert work_on(path).review("two") == work.review("two")
    work.undo()
    save(work)
    assert not open_reviews(path).reviews


def test_a_later_change_of_the_case_is_noticed(path: Path) -> None:
    """The status is about the case as it was; another eval id is no change."""
    work = work_on(path)
    review(work, "one", status="approved")
    work.apply(RenameCase(case="one", eval_id="uno"))
    assert work.is_edited
    assert not has_changed_since(work.review("one"), work.case("one"))
    work.apply(SetText(case="one", where=("conversation", 0, "final_response"), text="No."))
    assert has_changed_since(work.review("one"), work.case("one"))


def test_reviews_follow_their_cases(path: Path) -> None:
    """Renamed, deleted, merged and split with them; a duplicate has none."""
    work = work_on(path)
    for key in ("one", "two", "three"):
        review(work, key, at_call(work, key, f"{key} 1", 0), at_call(work, key, f"{key} 2", 1, 0))
    work.apply(RenameCase(case="one", eval_id="uno"))
    work.apply(DuplicateCase(case="one", eval_id="copy"))
    work.apply(MergeCases(case="one", other="two"))
    assert places(work, "one") == [("one 1", 0, None), ("one 2", 1, 0), ("two 1", 2, None), ("two 2", 3, 0)]
    work.apply(SplitCase(case="one", turn=1, eval_id="rest"))
    assert places(work, "rest") == [("one 2", 0, 0), ("two 1", 1, None), ("two 2", 2, 0)]
    work.apply(DeleteCase(case="three"))
    save(work)
    assert sorted(open_reviews(path).reviews) == ["rest", "uno"]
    work.undo()
    save(work)
    assert sorted(open_reviews(path).reviews) == ["rest", "three", "uno"]


def test_comments_stay_at_their_steps(path: Path) -> None:
    """Turns and calls move and go, with ids and without; what is said of a turn that goes, goes with it."""
    text = path.read_text(encoding="utf-8").replace('"id": "c1",', "").replace('"id": "c2",', "")
    path.write_text(text.replace('"invocation_id": "i-1",', ""), encoding="utf-8")
    work = work_on(path)
    said = [at_call(work, "one", f"{turn} {call}", turn, call) for turn, call in ((0, 0), (0, 1), (1, 0))]
    review(work, "one", *said)
    uses = ("conversation", 0, "intermediate_data", "tool_uses")
    work.apply(MoveCall(case="one", where=(*uses, 0), by=1))
    assert places(work, "one") == [("0 0", 0, 1), ("0 1", 0, 0), ("1 0", 1, 0)]
    work.apply(RemoveCall(case="one", where=(*uses, 1)))
    assert places(work, "one") == [("0 0", 0, None), ("0 1", 0, 0), ("1 0", 1, 0)]
    work.apply(MoveTurn(case="one", turn=1, by=-1))
    assert places(work, "one") == [("0 0", 1, None), ("0 1", 1, 0), ("1 0", 0, 0)]
    work.apply(RemoveTurn(case="one", turn=1))
    assert places(work, "one") == [("1 0", 0, 0)]
    work.undo()
    assert len(places(work, "one")) == 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not valid JSON"),
        ("[]", "reviews"),
        ('{"format": "golden-trace-studio/review", "version": 9}', "newer"),
        (
            '{"format": "golden-trace-studio/review", "version": 1, "cases": {"one": {"stat": ""}}}',
            "cases.one.stat",
        ),
    ],
)
def test_a_damaged_file_is_named_and_never_written_over(path: Path, content: str, words: str) -> None:
    """The set opens, and is saved as long as no review changes."""
    beside = reviews_path(path)
    beside.write_text(content)
    work = work_on(path)
    assert words in work.reviews.trouble
    work.apply(SetText(case="one", where=("conversation", 0, "final_response"), text="No."))
    save(work)
    before = path.read_bytes()
    review(work, "one")
    work.apply(SetText(case="one", where=("conversation", 0, "final_response"), text="Yes."))
    with pytest.raises(EvalSetError, match="review"):
        save(work)
    assert (beside.read_text(), path.read_bytes()) == (content, before)


@pytest.mark.parametrize("which", [".evalset.json", ".review.json"])
def test_the_set_and_its_reviews_are_written_together_or_not_at_all(path: Path, which: str) -> None:
    """A disk that refuses the set leaves both files; the reviews take their place last, and what fails there is said."""
    work = work_on(path)
    review(work, "one")
    save(work)
    before = path.read_bytes(), reviews_path(path).read_bytes()
    review(work, "two")
    work.apply(SetText(case="one", where=("conversation", 0, "final_response"), text="No."))

    def refuse(source: Path, target: Path) -> None:
        if target.name.endswith(which):
            raise OSError(28, "full disk")
        source.replace(target)

    if which == ".evalset.json":
        with pytest.raises(EvalSetError, match="full disk"):
            save(work, replace=refuse)
        assert (path.read_bytes(), reviews_path(path).read_bytes()) == before
    else:
        assert "full disk" in save(work, replace=refuse).review_trouble
        assert reviews_path(path).read_bytes() == before[1]
    assert sorted(each.name for each in path.parent.glob("*.json")) == [
        "desk.evalset.json",
        "desk.review.json",
    ]


def test_two_reviewers_of_one_case_lose_no_word(path: Path) -> None:
    """Whoever saves later keeps the comments of both, also where the set itself was written meanwhile."""
    mine, theirs = work_on(path), work_on(path)
    review(mine, "one", at_call(mine, "one", "mine", 0))
    mine.apply(SetText(case="two", where=("conversation", 0, "final_response"), text="No."))
    review(theirs, "one", at_call(theirs, "one", "theirs", 1), status="approved")
    theirs.apply(SetText(case="one", where=("conversation", 0, "final_response"), text="Yes."))
    save(theirs)
    now = open_set(path)
    assert conflicts(mine, now) == ()
    both = merged(mine, now, open_beside(path), ())
    save(both)
    found = open_reviews(path).reviews["one"]
    assert [comment.text for comment in found.comments][:2] == ["theirs", "mine"]
    assert "approved" in found.comments[2].text
    assert found.status == "changes_requested"
    cases = json.loads(path.read_bytes())["eval_cases"]
    said = [case["conversation"][0]["final_response"]["parts"][0]["text"] for case in cases]
    assert said == ["Yes.", "No.", "On its way."]


def test_a_comment_that_one_of_two_removes_is_gone() -> None:
    """It was there before, so it is no new one of the other's."""
    one, two, three = (CaseComment(text=text) for text in "123")
    base = CaseReview(comments=(one, two))
    found = merged_review(base, CaseReview(comments=(two,)), CaseReview(comments=(one, two, three)))
    assert found == NO_REVIEW.model_copy(update={"comments": (two, three)})


@pytest.mark.parametrize("base", ["", "needs_review", "approved", "changes_requested"])
@pytest.mark.parametrize("keeps_theirs", [False, True])
def test_what_two_people_decided_at_once_is_kept_by_name(
    path: Path, base: Status, *, keeps_theirs: bool
) -> None:
    """Also where one of them decided as it was before. The one who saves last chooses whose status stays; who decided the same is no conflict."""
    if base:
        before = work_on(path)
        decide(before, "one", base, "Carl")
        save(before)
    mine, theirs = work_on(path), work_on(path)
    decide(theirs, "one", "changes_requested", "Bob")
    decide(theirs, "two", "approved", "Bob")
    decide(theirs, "three", "approved", "Bob")
    save(theirs)
    decide(mine, "one", "approved", "Anne")
    decide(mine, "two", "approved", "Anne")
    mine.apply(DeleteCase(case="three"))
    twice = decided_twice(mine, open_reviews(path).reviews)
    assert [(each.eval_id, each.theirs.reviewer) for each in twice] == [("one", "Bob"), ("three", "Bob")]
    keep = [each.eval_id for each in twice if keeps_theirs]
    made = merged(mine, open_set(path), open_beside(path), (), keep_their_status=keep)
    save(made)
    found = open_reviews(path).reviews
    kept, other = [("approved", "Anne"), ("changes_requested", "Bob")][:: -1 if keeps_theirs else 1]
    assert (found["one"].status, found["one"].reviewer) == kept
    assert [(each.by, other[0].replace("_", " ") in each.text) for each in found["one"].comments] == [
        (other[1], True)
    ]
    assert found["two"].comments == ()
    assert ("three" in found, len(open_set(path).rows)) == (keeps_theirs, 2 + keeps_theirs)


def test_a_status_that_was_written_meanwhile_is_not_saved_over(path: Path) -> None:
    """Also where the file of reviews alone was written, as `git pull` does: it is named, and nothing is written."""
    mine = work_on(path)
    decide(mine, "one", "approved", "Anne")
    text = reviews_text({"one": CaseReview(status="changes_requested", reviewer="Bob")})
    reviews_path(path).write_bytes(text)
    with pytest.raises(ChangedOnDiskError, match="one: Bob, changes requested"):
        save(mine)
    assert reviews_path(path).read_bytes() == text


def decide(work: SetWork, key: str, status: Status, reviewer: str) -> None:
    """Decide about a case."""
    work.apply(ReviewCase(case=key, review=CaseReview(status=status, reviewer=reviewer)))


def test_unsaved_reviews_are_gone_on_with(path: Path) -> None:
    """Also where somebody has written the file of reviews since."""
    work = work_on(path)
    review(work, "one", at_call(work, "one", "first", 0))
    save(work)
    review(work, "one", *work.review("one").comments, at_call(work, "one", "second", 0))
    kept = kept_work(work, {})
    assert kept is not None
    other = work_on(path)
    review(other, "two", status="approved")
    save(other)
    restored, _ = restored_work(path, kept)
    assert restored is not None
    assert [comment.text for comment in restored.review("one").comments] == ["first", "second"]
    save(merged(restored, open_set(path), open_beside(path), ()))
    assert {eval_id: len(found.comments) for eval_id, found in open_reviews(path).reviews.items()} == {
        "one": 2,
        "two": 0,
    }
