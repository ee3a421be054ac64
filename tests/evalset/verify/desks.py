"""Records eval sets with the agent that does as it is told, for tests that verify them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from evalset.recorded.recorder import record
from evalset.recorded.recording_files import sidecar_of
from evalset.verify import CaseResult, RunResult, Verification
from evalset.verify.results import Divergence
from simulator import SimulatedAgentConfig
from simulator.seats.answers import returned
from tests.evalset.replay.desk_agent import config, keep, played, write_desk

ANSWERS: dict[str, Any] = {
    "check": returned({"status": "shipped"}),
    "note": returned({"noted": True}, state_delta={"noted": "A"}),
    "look_up": {"rule": "none needed"},
    "wipe": {"wiped": 3},
    "pay": {"paid": 5},
}
LOWER = ("return calls(tool, order=order)", "return calls(tool, order=order.lower())")
"""Lets the agent ask with other arguments."""
VARIED = (
    ("class Clerk(BaseLlm):", "import itertools\nruns = itertools.count(1)\n\n\nclass Clerk(BaseLlm):"),
    ("return calls(tool, order=order)", "return calls(tool, order=f'{order}-{next(runs)}')"),
)
"""Let it ask with others each time."""
TWO_TURNS = ("check A, check B; note A; advisor visas", "check C; wipe C")


def recorded_set(
    folder: Path,
    cases: dict[str, Sequence[str]],
    answers: dict[str, Any] | None = None,
    form: Literal["intermediate_data", "invocation_events"] = "intermediate_data",
) -> Path:
    """Record an eval set: the queries of each case by its id; the digests of the tools too."""
    write_desk(folder / "played")
    agent: SimulatedAgentConfig = config(folder / "played")
    eval_set = folder / "desk.evalset.json"
    for eval_id, queries in cases.items():
        simulation = played(agent, queries, {**ANSWERS, **(answers or {})})
        keep(simulation, eval_set, eval_id, form=form)
        facts = [fact for _, fact in simulation.journal.path()]
        record(eval_set, eval_id, simulation.session, facts, agent.root_agent)
    return eval_set


def copied_set(eval_set: Path, folder: Path, *changes: tuple[str, str]) -> Path:
    """Copy an eval set and what was recorded into a folder, with pieces of the eval set's text replaced, each once."""
    folder.mkdir(parents=True, exist_ok=True)
    text = eval_set.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    copy = folder / eval_set.name
    copy.write_text(text)
    shutil.copy(sidecar_of(eval_set), folder)
    return copy


def agents(folder: Path, *changes: tuple[str, str]) -> Path:
    """Write the agent, with pieces of its source replaced, and return the folder of agents."""
    source = write_desk(folder / "agents") / "agent.py"
    text = source.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    source.write_text(text)
    return folder / "agents"


def first(code: str) -> tuple[str, str]:
    """Let each model of the agent do something before anything else, as a change of its source."""
    return 'if os.environ.get("NO_MODEL"):', f"{code}\n        if False:"


def the_case(verification: Verification, eval_id: str = "") -> CaseResult:
    """Return the only case of a verification, or that of an id."""
    cases = [case for case in verification.cases if not eval_id or case.eval_id == eval_id]
    assert len(cases) == 1, verification
    return cases[0]


def the_run(verification: Verification) -> RunResult:
    """Return the only run of the only case."""
    (run,) = the_case(verification).runs
    return run


def divergence_of(run: RunResult) -> Divergence:
    """Return where a run that is not as its golden first differs from it."""
    assert run.divergence is not None
    return run.divergence
