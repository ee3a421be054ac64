"""A question to a person is taken out of a case where the recorded environment keeps what was said, as the export does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset import EvalSetWriter, GoldenTraceBuilder
from evalset.doctor import examine, mend
from evalset.golden_trace.builder import TraceForm
from evalset.golden_trace.confirmations import without_confirmations
from evalset.recorded.recording_export import record
from evalset.recorded.recording_files import sidecar_of
from tests.evalset.golden_trace.test_golden_replies import confirmed
from tests.evalset.sessions import PATIENCE, answer, ask, opened


@pytest.mark.parametrize("form", ["intermediate_data", "invocation_events"])
@pytest.mark.parametrize("approved", [True, False])
def test_what_is_recorded_beside_a_case_need_not_stand_in_it(
    tmp_path: Path, form: TraceForm, *, approved: bool
) -> None:
    """Mended, the case is what `without_confirmations` makes of it; alone, without its environment, it stays as it is."""
    path = tmp_path / "one.evalset.json"
    with opened(confirmed()) as sim:
        ask(sim, "Refund A-1.")
        assert sim.confirm(sim.session.open_calls[0].call_id, confirmed=approved, wait=PATIENCE)
        answer(sim, *[{"paid": 3}] * approved)
        case = GoldenTraceBuilder(sim.session, form=form, eval_id="case").build()
        EvalSetWriter(path, "one").write_eval_case(case)
        assert mend([path]).files == ()
        assert "confirmation-round" in {each.code for each in examine([path]).findings}
        facts = [fact for _, fact in sim.journal.path()]
        record(path, "case", sim.session, facts, confirmed())
    done = mend([path])
    assert {each.code for change in done.files for each in change.mended} == {"confirmation-round"}
    (mended,) = load_eval_set_from_file(str(path), "one").eval_cases
    assert mended == without_confirmations(case)
    assert "confirmation-round" not in {each.code for each in examine([path]).findings}
    assert sidecar_of(path).is_file()
