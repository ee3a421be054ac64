"""Verifies golden traces: replays each case of an eval set without its world, and says where the agent went another way.

    verification = verify(path)                        # all cases, once; see `verify` for agents, cases, runs, progress, stop
    verification.status                                # "passed", "failed", "error", "stopped" or "skipped"; `exit_code` for a command
    for case in verification.cases:                    # a CaseResult for each, in the order of the file
        case.eval_id, case.status, case.error          # the error says why a case could not be run at all
        for run in case.runs:                          # a RunResult for each of `runs`
            run.passed, run.checks, run.error          # a Check has a name, a status, a score, and its detail in a sentence
            run.divergence                             # a Divergence: the first step that differs, or None

A `Divergence` holds the turn (from 0), the step in it, golden and actual steps side by side from there, what differs in the
arguments and in the text, and a verdict with its evidence, a sentence and one action:

    accept(path, eval_id, run)                         # what the agent does now becomes the golden
    repair(path, eval_id)                              # the golden is put right from what was recorded
    divergence.turn, divergence.step                   # where to open the session

Both write at once, as the eval-set editor saves. `accepting(held, key, run)` and `repairing(held, key, config)` give the edit for
a `SetWork` instead, so that a page shows what changes first. Only a run with `came_to_its_end` can be accepted.

`tolerances_of(path, eval_id)`, `keep_tolerances(path, eval_id, tolerances)`, `add_tolerances` and `propose_tolerances(runs)` are for what
may differ: arguments, responses, the state, final responses. Where a run failed only by a time, an id or a random value that the agent's
own code makes, its divergence has the verdict `varies`, and `run.varying` holds a tolerance for each, and a `line` that says it.
`replay_written(path, eval_id, agent=config)` finds the same for a case that was just written, before anything fails: `found.passed`,
`found.lines`, `found.tolerances`, and with `keep=True` it keeps them. `eval_config(path)` gives the `EvalConfig` with which plain `adk eval` heeds them, too.

Every result is a frozen pydantic model: `verification.model_dump(mode="json")`. `verify` needs no event loop and may be
called in any thread. Errors are `VerifyError`s, ValueErrors with a text for a person. ADK is imported when one of these names
is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalset.golden_trace.steps import Step
    from evalset.verify.golden_repair import accept, accepting, repair, repairing
    from evalset.verify.metric import eval_config
    from evalset.verify.proposed_tolerances import (
        WrittenCase,
        add_tolerances,
        keep_tolerances,
        propose_tolerances,
        replay_written,
        tolerances_of,
    )
    from evalset.verify.results import (
        CaseResult,
        Check,
        Divergence,
        RunResult,
        Varying,
        Verification,
        VerifyError,
    )
    from evalset.verify.verify_request import Criteria, VerifyProgress
    from evalset.verify.verify_run import verify

_HOMES = {
    "CaseResult": "evalset.verify.results",
    "Check": "evalset.verify.results",
    "Criteria": "evalset.verify.verify_request",
    "Divergence": "evalset.verify.results",
    "RunResult": "evalset.verify.results",
    "Step": "evalset.golden_trace.steps",
    "Varying": "evalset.verify.results",
    "Verification": "evalset.verify.results",
    "VerifyError": "evalset.verify.results",
    "VerifyProgress": "evalset.verify.verify_request",
    "accept": "evalset.verify.golden_repair",
    "accepting": "evalset.verify.golden_repair",
    "add_tolerances": "evalset.verify.proposed_tolerances",
    "repair": "evalset.verify.golden_repair",
    "repairing": "evalset.verify.golden_repair",
    "eval_config": "evalset.verify.metric",
    "keep_tolerances": "evalset.verify.proposed_tolerances",
    "propose_tolerances": "evalset.verify.proposed_tolerances",
    "tolerances_of": "evalset.verify.proposed_tolerances",
    "replay_written": "evalset.verify.proposed_tolerances",
    "verify": "evalset.verify.verify_run",
    "WrittenCase": "evalset.verify.proposed_tolerances",
}

__all__ = [
    "CaseResult",
    "Check",
    "Criteria",
    "Divergence",
    "RunResult",
    "Step",
    "Varying",
    "Verification",
    "VerifyError",
    "VerifyProgress",
    "WrittenCase",
    "accept",
    "accepting",
    "add_tolerances",
    "eval_config",
    "keep_tolerances",
    "propose_tolerances",
    "repair",
    "repairing",
    "replay_written",
    "tolerances_of",
    "verify",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'evalset.verify' has no attribute {name!r}")
    return getattr(__import__(home, globals(), None, (name,)), name)
