"""Makes a case, with its environment, of the facts of a session: of one of the studio's, or of one that ADK kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from google.adk.evaluation.eval_case import EvalCase

from evalset.errors import GoldenTraceError
from evalset.golden_trace import GoldenTraceBuilder
from evalset.importing.adk_events import AdkSession, facts_of
from evalset.importing.found import FoundCase, ImportProblemError
from evalset.names import usable_eval_id
from evalset.recorded.recorder import recorded_case
from simulator.facts import Fact, TurnStarted
from simulator.session import SessionFold, SessionState


def case_of_session(session: AdkSession, tell: Callable[[str], None]) -> FoundCase:
    """Make a case of a session of ADK's.

    Args:
        session: The session.
        tell: Is told what is left out.

    Raises:
        ImportProblemError: No case can be made of it.
    """
    return case_of_facts(facts_of(session), session.session_id, tell)


def case_of_facts(facts: Sequence[Fact], name: str, tell: Callable[[str], None]) -> FoundCase:
    """Make a case of a session's facts, as far as it is complete. As `case_of_session`; `name` becomes its id."""
    known, fold = _complete(facts, tell)
    if len(known) < len(facts):
        left = sum(isinstance(fact, TurnStarted) for fact in facts[len(known) :])
        if left:
            tell(f"the last {left} messages of the user came to no final response, and are left out")
    session = fold.session()
    eval_id = usable_eval_id(name)
    try:
        case: EvalCase = GoldenTraceBuilder(session, eval_id=eval_id, confirmations="beside").build()
    except GoldenTraceError as error:
        raise ImportProblemError(str(error)) from error
    return FoundCase(case, recorded_case(session, known))


def _complete(facts: Sequence[Fact], tell: Callable[[str], None]) -> tuple[list[Fact], SessionFold]:
    """Give the facts up to the last point at which the session was complete.

    Raises:
        ImportProblemError: It never was, or its facts cannot follow each other.
    """
    fold, best, count = SessionFold(), SessionFold(), 0
    for number, fact in enumerate(facts):
        try:
            fold.take(number, fact)
        except ValueError as error:
            if not count:
                raise ImportProblemError(str(error)) from error
            tell(str(error))
            break
        if fold.state is SessionState.COMPLETED:
            best, count = fold.forked(), number + 1
    if not count:
        raise ImportProblemError("the agent has given no final response in it")
    return list(facts[:count]), best
