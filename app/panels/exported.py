"""What stands below a case that was written: whether its replay agrees with it, and the commands that run it, the surest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from app import state
from app.exporting import Written
from app.labels import literal
from app.panels.evalsets.waiting import waiting
from app.panels.parts import problem

if TYPE_CHECKING:
    from app.export_replay import Replayed
    from app.jobs import Job
    from evalset.verify.results import CaseResult

_LINES = (
    "Put them at the end of the agent's module. `adk eval`, `adk web`, pytest and every `Runner` then get the recorded responses, and no "
    "real tool runs."
)
_REAL = (
    "Without the lines above, `adk eval` runs the agent's real tools and models: what they change is changed, and the case passes only "
    "where they respond as when it was recorded."
)


def exported(written: Written, replay: Job[Replayed] | None, differs: Sequence[str]) -> bool:
    """Draw what was written; True when it shall be replayed again.

    Args:
        written: What was written.
        replay: Its replay; None where there is none.
        differs: What plain `adk eval` does differently, in sentences.
    """
    with st.container(gap="xsmall", key="export_done"):
        what = "A new eval set was written." if written.created else "The case was added to the eval set."
        st.success(what, icon=":material/check_circle:")
        st.code(literal(written.path), language=None, wrap_lines=True)
        if written.converted_copy:
            st.caption("The file was in ADK's old form and was converted; a copy of the old one is kept:")
            st.code(literal(written.converted_copy), language=None, wrap_lines=True)
        if written.unrecorded:
            problem("What the world answered was not kept beside it.", written.unrecorded)
        again = bool(written.environment) and _replay(replay)
        found = replay.result if replay is not None else None
        _commands(written, differs, tolerates=found is not None and bool(found.tolerances))
        st.button(
            "Open it in its eval set",
            key="export_open_set",
            icon=":material/checklist:",
            help="There it can be edited. The session stays in the list on the left",
            on_click=state.show_sets,
            args=(written.path, written.eval_id),
        )
    return again


def _replay(job: Job[Replayed] | None) -> bool:
    """Draw the replay; True when it shall be made again."""
    with st.container(gap="xsmall", key="export_verified"):
        if job is None:
            st.caption("The case was not replayed yet.")
            return _again("Replay it now")
        if job.state == "running":
            waiting(job, "export_replay")
            return False
        if job.result is None:
            problem("The case could not be replayed.", job.problem)
            return _again("Replay again")
        return _outcome(job.result)


def _tolerances(lines: Sequence[str]) -> None:
    """Say what is not compared, as the agent's own code makes it anew in each run."""
    if not lines:
        return
    st.caption(
        "The agent's own code makes this anew in each run, though all answers are the same. It was kept as tolerances, which you can change "
        "under Verify in the eval set:"
    )
    for line in lines:
        st.text(literal(f"· {line}"))


def _outcome(replayed: Replayed) -> bool:
    found = replayed.verification
    _tolerances(replayed.tolerances)
    changes = found.measured.changes() if found.measured is not None else ()
    if changes:
        st.warning(
            f"Out of date: {' and '.join(changes)} changed since the replay.", icon=":material/update:"
        )
        return _again("Replay again")
    case = found.cases[0] if found.cases else None
    if case is None or case.status == "stopped":
        st.caption("The replay was stopped.")
        return _again("Replay again")
    if case.status == "passed":
        st.success(
            "**Verified**: replayed with the recorded responses, the agent makes the same calls, gives the same answers, and ends in "
            "the same state.",
            icon=":material/verified:",
        )
        return False
    _failed(case)
    return _again("Replay again")


def _failed(case: CaseResult) -> None:
    """Show why a replay does not agree with its case."""
    if case.error:
        problem("The case could not be replayed.", case.error)
        return
    st.error(
        "Replayed with its own recording, the case does not give the same again.",
        icon=":material/difference:",
    )
    run = next((each for each in case.runs if not each.passed), None)
    if run is None:
        return
    if run.error:
        st.text(literal(run.error))
    if run.divergence is not None:
        from app.panels.evalsets.divergence import divergence_shown  # noqa: PLC0415 - it imports ADK's evaluation

        divergence_shown(run.divergence)
        return
    for check in run.checks:
        if check.status in {"failed", "error"}:
            st.text(literal(check.detail or check.name))


def _again(label: str) -> bool:
    return st.button(label, key="export_replay_again", icon=":material/replay:", type="tertiary")


# ---------------------------------------------------------------- commands


def _commands(written: Written, differs: Sequence[str], *, tolerates: bool) -> None:
    """Draw the commands, which can be pasted into a shell in any folder; the case may have got tolerances."""
    commands = written.commands
    if written.environment and commands is not None:
        st.markdown("**Run it with ADK**")
        st.caption(
            "ADK's own `adk eval`, with the recorded responses: no real tool runs, and no line of the agent changes."
            + (" The first line installs what `adk eval` needs." if commands.lacks_eval else "")
        )
        st.code(literal(commands.evaluate), language="bash", wrap_lines=True)
        with st.expander("As a pytest file", key="export_pytest", icon=":material/labs:"):
            st.caption(
                "Writes a test file beside the set, which replays every recorded case without a key, and runs it for this case."
                + (" The first line installs pytest." if commands.lacks_pytest else "")
            )
            st.code(literal(commands.pytest), language="bash", wrap_lines=True)
    if written.environment:
        _lines(written, tolerates=tolerates)
    _real_tools(written, differs)


def _lines(written: Written, *, tolerates: bool) -> None:
    commands = written.commands
    with st.expander("Three lines in the agent", key="export_replay", icon=":material/replay:"):
        st.caption(_LINES)
        st.code(literal(written.replay), language="python", wrap_lines=True)
        if commands is not None and commands.plain:
            st.caption(
                "Then plain `adk eval` passes as well, with criteria that heed the tolerances of this case:"
                if tolerates
                else "Then plain `adk eval` passes as well:"
            )
            st.code(
                literal(commands.tolerant if tolerates else commands.plain), language="bash", wrap_lines=True
            )


def _real_tools(written: Written, differs: Sequence[str]) -> None:
    with st.expander("adk eval with the real tools", key="export_real_tools", icon=":material/warning:"):
        st.caption(_REAL)
        for sentence in differs:
            st.text(literal(f"\u00b7 {sentence}"))
        plain = written.commands.plain if written.commands is not None else ""
        if plain:
            st.code(literal(plain), language="bash", wrap_lines=True)
        else:
            st.caption("`adk eval` itself cannot load this agent: it takes a folder with an `__init__.py`.")
