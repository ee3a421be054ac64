"""The line above the panes that says how far a script is, what it wants of a person, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import streamlit as st

from app.forms.safe_labels import Badge, literal
from app.live.live_sessions import LiveSession
from app.scripts import script_play
from app.scripts.script_play import RecordedView, add_answers
from app.session.page_fragments import fragment

if TYPE_CHECKING:
    from simulator.scripts import Played, ScriptAtWork, ScriptProgress
    from simulator.scripts.script import Place

ScriptAction: TypeAlias = Callable[[LiveSession], object]
"""What is asked of the script in a session: what does it."""

LOOK_AGAIN_SECONDS = 0.4
_SHOWN_LINES = 8
_SCRIPT_HEIGHT = 240
_SNIPPET_LINES = 10
_SNIPPET_HEIGHT = 200
_SHOWN_CHARACTERS = 20_000


def script_strip(
    work: ScriptAtWork | None,
    text: str,
    recorded: RecordedView | None = None,
    *,
    has_rest: bool = False,
    case: tuple[int, int] | None = None,
) -> ScriptAction | None:
    """Draw it in one line, and all there is to know behind a click; return what was asked for.

    Args:
        work: The script that plays, or has played; None where it has not since the session was brought back.
        text: The script.
        recorded: The recorded case that it replays, and what is missing there; None where it replays none.
        has_rest: Whether there are later turns to be played behind it.
        case: Of a case, whose next step is offered where a person decides: the turn that the session is in, and how many the case has.
    """
    progress = work.progress if work is not None else None
    what = "replay" if recorded else "case" if case else "script"
    words = _words_of_replay(progress, recorded) if recorded else _words(progress, case)
    with st.container(
        horizontal=True,
        vertical_alignment="center",
        gap="xsmall",
        wrap=False,
        border=True,
        key="script_strip",
    ):
        shown = _badge(progress, what.capitalize(), case)
        st.badge(shown.text, icon=shown.icon, color=shown.color)
        with st.container(key="script_words", width="stretch"):
            st.text(literal(words))
        with st.popover("Details", key="script_details", type="tertiary", width="content"):
            _details(recorded, words, text, lambda: _more(progress))
        asked = _adding(recorded) or _buttons(progress, what, has_rest=has_rest)
    if work is not None and progress is not None and not progress.is_over:
        fragment(_watch, LOOK_AGAIN_SECONDS)(work, progress)
    return asked


def _details(recorded: RecordedView | None, words: str, text: str, more: Callable[[], None]) -> None:
    """Draw how far it is, where the case that is replayed was recorded, what there is to know at the end, and the script."""
    st.text(literal(words))
    if recorded is not None:
        st.caption("Recorded in")
        st.code(literal(f"{recorded.path}\n{recorded.case}"), language=None, wrap_lines=True)
    more()
    st.caption("Script")
    st.code(literal(_cut(text)), language="yaml", height=_SCRIPT_HEIGHT)


def _cut(text: str) -> str:
    return (
        text
        if len(text) <= _SHOWN_CHARACTERS
        else f"{text[:_SHOWN_CHARACTERS]}\n... {len(text):,} characters"
    )


def _watch(work: ScriptAtWork, drawn: ScriptProgress) -> None:
    """Draw the page anew as soon as the script is further than what was drawn."""
    if work.progress is not drawn:
        st.rerun()


def _plays_on(progress: ScriptProgress, case: tuple[int, int] | None) -> bool:
    """Return whether a person goes on in a case: at a step, or behind the turns that were to be played."""
    if case is None:
        return False
    is_through = progress.played is not None and progress.played.came_through
    return bool(progress.asks) or (is_through and progress.step.turns < case[1])


def _badge(progress: ScriptProgress | None, what: str, case: tuple[int, int] | None) -> Badge:
    icon = ":material/description:"
    if progress is None:
        return Badge(text=f"{what} not running", color="gray", icon=icon)
    plays_on = what == "Case" and _plays_on(progress, case)
    if plays_on or progress.asks:
        text, color = ("Case played to here", "blue") if plays_on else (f"{what} waiting", "orange")
        return Badge(text=text, color=color, icon=icon)
    if not progress.is_over:
        return Badge(text=f"{what} running", color="blue", icon=icon)
    if progress.played is not None and progress.played.came_through:
        return Badge(text=f"{what} completed", color="green", icon=icon)
    if progress.played is not None and progress.played.stopped:
        return Badge(text=f"{what} stopped", color="gray", icon=icon)
    return Badge(text=f"{what} ended early", color="red", icon=icon)


def _words_of_replay(progress: ScriptProgress | None, recorded: RecordedView) -> str:
    """Return how far a replay is; where something was not recorded, what is nearest."""
    if recorded.problem:
        return recorded.problem
    if progress is None or not progress.asks:
        missing = f" {_counted(recorded.missing)} not recorded yet." if recorded.missing else ""
        return f"{_words(progress)}{missing}"
    wanted = ", and ".join(each.words for each in progress.asks[:2])
    nearest = "".join(f" {each}." for each in recorded.nearest)
    return f"Turn {progress.step.turn} of {progress.step.turns}: no recording of {wanted}.{nearest} Answer to continue."


def _counted(number: int) -> str:
    return "1 response is" if number == 1 else f"{number} responses are"


def _adding(recorded: RecordedView | None) -> ScriptAction | None:
    """Offer to add what was answered to the recorded case, where it lacks something."""
    if recorded is None or not recorded.missing:
        return None
    wanted = st.button(
        "Add to the recording",
        key="add_answers",
        icon=":material/library_add:",
        help="Stores these responses in the case. Later replays and evaluations use them",
    )
    return add_answers if wanted else None


def _words(progress: ScriptProgress | None, case: tuple[int, int] | None = None) -> str:
    if progress is None:
        return "It can resume where it stopped."
    number, turns = case or (progress.step.turn, progress.step.turns)
    turn = f"Turn {number} of {turns}" if number <= turns else f"Turn {number}"
    if _plays_on(progress, case):
        return f"{turn}. You continue from here. What the golden did next is shown where you decide."
    if progress.asks:
        wanted = ", and ".join(each.words for each in progress.asks[:2])
        return f"{turn}: the script has no line for {wanted}. Answer to continue."
    played = progress.played
    if played is None:
        step = progress.step
        words = step.words.removesuffix(".".join(map(str, step.place))) + place_words(step.place)
        return f"{turn}: {progress.failure or words}"
    if played.came_through:
        return f"All {turns} turns completed." if turns > 1 else "1 turn completed."
    return f"{turn}: {played.stopped or played.failure or _why(played)}"


def place_words(place: Place) -> str:
    """Name a place in a script for a person, who counts from 1: `line 3 of turn 1`."""
    match place:
        case ("turns", int(turn), "moves", int(line), *_):
            return f"line {line + 1} of turn {turn + 1}"
        case ("turns", int(turn), *_):
            return f"turn {turn + 1}"
        case ("environment", int(line), *_):
            return f"line {line + 1} of the environment"
    return ".".join(map(str, place))


def _why(played: Played) -> str:
    if played.refused is not None:
        return "a line does not match the call that uses it."
    return "the script has no line here, and is set to end."


def _more(progress: ScriptProgress | None) -> None:
    """List what there is to know at the end; every word of it may come from outside."""
    played = progress.played if progress is not None else None
    if played is None:
        return
    lines = [f"{place_words(wait.place)}: {wait.words} is missing" for wait in played.waits]
    if played.refused is not None:
        lines.append(f"{place_words(played.refused.place)}: {played.refused.words}")
    if not played.stopped:
        lines += [f"{place_words(left.place)}: {left.words}" for left in played.leftovers]
    if len(lines) > _SHOWN_LINES:
        lines = [*lines[:_SHOWN_LINES], f"and {len(lines) - _SHOWN_LINES} more"]
    if lines:
        st.code(literal("\n".join(lines)), language=None, wrap_lines=True)
    if played.waits:
        snippet = played.waits[0].snippet
        is_long = snippet.count("\n") > _SNIPPET_LINES
        st.caption("Add a line like this:")
        st.code(literal(snippet), language="yaml", height=_SNIPPET_HEIGHT if is_long else "content")


def _buttons(progress: ScriptProgress | None, what: str, *, has_rest: bool) -> ScriptAction | None:
    if progress is not None and not progress.is_over:
        stopped = st.button(
            f"Stop {what}",
            key="stop_script",
            icon=":material/stop_circle:",
            help=f"You continue by hand. The {what} can resume later where it stopped",
        )
        return script_play.stop if stopped else None
    ended_well = progress is not None and progress.played is not None and progress.played.came_through
    asked: ScriptAction | None = None
    if not ended_well and st.button(
        "Resume",
        key="play_script_on",
        icon=":material/play_arrow:",
        help="Continues with the lines that are not used yet",
    ):
        asked = script_play.play_on
    if (
        ended_well
        and has_rest
        and st.button(
            "Play later turns",
            key="play_rest",
            icon=":material/skip_next:",
            help="Sends the user messages of the case's later turns, after this turn has ended. Its recorded responses answer the same calls",
        )
    ):
        asked = script_play.play_rest
    if st.button("Dismiss", key="forget_script", type="tertiary", icon=":material/close:"):
        asked = script_play.forget
    return asked
