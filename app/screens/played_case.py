"""Opens a session in which a case of an eval set is played up to a step; no drawing here."""

from __future__ import annotations

from app.evalsets.set_context import PlayCase
from app.export.export_case import PlayedCase, remember_played
from app.live.agent_catalogue import catalogue
from app.live.live_sessions import LiveSession
from app.scripts.script_play import ScriptForm, keep_golden, open_script
from evalset.editing.case_parts import steps_of, turns_of
from evalset.editing.set_work import SetWork


def play_case(asked: PlayCase, work: SetWork, owner: str) -> LiveSession:
    """Open the session, and let the case play there as it is edited now.

    Raises:
        ValueError: The case cannot be played, or the agent cannot be loaded; the text says why.
    """
    # Importing ADK takes a second: not before somebody plays a case.
    from evalset.editing.case_play import script_until  # noqa: PLC0415 - as above
    from evalset.golden_trace.case_script import without_names  # noqa: PLC0415 - as above
    from simulator.runtime.knowledge.knowledge import agents_as_tools  # noqa: PLC0415 - as above
    from simulator.scripts import write_script  # noqa: PLC0415 - as above

    config = catalogue().config_of_now(asked.agent)
    held = work.held(asked.key)
    nested = agents_as_tools(config.root_agent)
    made = script_until(held.case, asked.turn, asked.steps, held.recorded, nested)
    last = len(turns_of(held.case)) - 1
    whole = script_until(held.case, last, len(steps_of(held.case, last)), held.recorded, nested)
    rest = write_script(without_names(whole.script)) if asked.turn < last else ""
    form = ScriptForm(agent=asked.agent, text=write_script(without_names(made.script)), rest=rest)
    live = open_script(form, config, owner)
    keep_golden(live, whole.script)
    played = PlayedCase(path=str(work.opened.path), eval_id=str(held.case["eval_id"]), losses=whole.losses)
    remember_played(live.drafts, played)
    return live
