"""Says who authored an answer, what it was made of, and what rules did to it: a word for a line, and more for its body. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from pydantic import JsonValue

from app.forms.form_reading import place_in_words
from app.forms.safe_labels import Color, safe_label
from simulator.environment.injection.rules import nearest_first
from simulator.facts import Deferred, Failed, Outcome, Provenance, Raised, Returned

Word: TypeAlias = tuple[str, Color]
"""A safe text for a badge, and its colour."""

OFFLINE = "offline"
CANDIDATE = "Candidate: "
"""What the note of an answer begins with that is a candidate other than the draft; its title follows."""
BLANKS = "Blanks: nothing is known of these places"
UNCERTAIN = "Uncertain values: no source gave them"
RIGHT = "These values are right"
RIGHT_HELP = (
    "You know them, also where they are what is shown. They are not marked, and other responses can use them."
)
_LONGEST, _SECOND, _MOST_NAMED = 24, 999.5, 4
_SOURCES: dict[str, Word] = {
    "written": ("written", "violet"),
    "edited": ("edited", "green"),
    "generated": ("draft accepted", "gray"),
    "injected": ("injected", "violet"),
    "recorded": ("recorded", "blue"),
    "real": ("real", "orange"),
    "refused": ("refused", "red"),
}


def author(provenance: Provenance | None, *, failed: bool = False) -> Word | None:
    """Say who authored an answer; the agent's own model, and ADK itself, go without a word. A rule that made the call fail is red."""
    if provenance is None or provenance.source == "model":
        return None
    text, color = _SOURCES[provenance.source]
    by = provenance.by
    if provenance.source == "written" and by:  # a script, or the beginning of a scenario
        return safe_label(by, _LONGEST), color
    if provenance.source == "generated" and by:
        return ("draft, automatic", "gray") if by == OFFLINE else (f"by {safe_label(by, _LONGEST)}", "violet")
    chosen = provenance.notes[0] if provenance.source == "generated" and provenance.notes else ""
    if chosen.startswith(CANDIDATE):
        title = chosen.removeprefix(CANDIDATE).partition(": ")[0]
        return f"candidate accepted: {safe_label(title, _LONGEST)}", color
    if provenance.source == "injected":
        return f"{text} by {safe_label(by, _LONGEST)}" if by else text, "red" if failed else color
    return text, color


def change(provenance: Provenance | None, outcome_failed: bool, beneath: Outcome | None) -> Word | None:
    """Say in a word what rules did to an answer on its way to the agent, or that some of it is blank; None where there is nothing to say."""
    if beneath is not None:
        is_lost = outcome_failed and isinstance(beneath, Returned)
        return ("response lost", "orange") if is_lost else ("distorted", "orange")
    if provenance is not None and provenance.blanks:
        return blank_word(provenance.blanks), "orange"
    helped = provenance is not None and provenance.source != "injected" and provenance.fired
    return ("rule fired", "orange") if helped else None


def blank_word(blanks: Sequence[object]) -> str:
    """Count blanks in words."""
    return "1 blank" if len(blanks) == 1 else f"{len(blanks)} blanks"


def places_named(places: Sequence[str]) -> str:
    """Name places as a form labels them, the first few of many."""
    more = f" and {len(places) - _MOST_NAMED} more" if len(places) > _MOST_NAMED else ""
    return ", ".join(map(place_in_words, places[:_MOST_NAMED])) + more


def sentence(provenance: Provenance, duration_ms: float) -> str:
    """Return who answered and how long it took."""
    by = f" by {provenance.by}" if provenance.by else ""
    minutes, seconds = divmod(round(duration_ms / 1000), 60)
    took = f"{minutes} min {seconds} s" if minutes else f"{duration_ms / 1000:.1f} s"
    return f"{provenance.source}{by}, {took if duration_ms >= _SECOND else f'{duration_ms:.0f} ms'}"


def details(provenance: Provenance) -> Iterator[tuple[str, str]]:
    """Yield what else there is to say of an answer: a title of ours, and a text that may come from outside."""
    yield BLANKS, "\n".join(map(place_in_words, provenance.blanks))
    yield UNCERTAIN, "\n".join(map(place_in_words, provenance.uncertain))
    yield "Sources and changes", "\n".join(provenance.notes)
    yield "Rules that fired", "\n".join(provenance.fired)
    misses = "\n".join(f"{miss.rule_id}: {miss.reason}" for miss in nearest_first(provenance.misses))
    yield "Rules that did not match", misses


def as_value(outcome: Outcome) -> JsonValue:
    """Write an outcome as a value to look at."""
    match outcome:
        case Returned(value=value):
            return value
        case Failed():
            return outcome.response()
        case Raised(error=error):
            return f"{error.short_type}: {error.message}"
        case Deferred():
            return "answered later"
