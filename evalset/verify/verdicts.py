"""Judges a divergence: what has changed, by which evidence, and what to do about it. Pure.

What was edited in the golden since it was recorded comes first, as the recording notes what the golden was; `failed_runs` finds out
whether the agent changed too. Recordings from before that: the user changed where the eval set asks another query than was recorded.
The golden is stale where the eval set and the recording disagree with each other, and the run does as one of them. The environment changed where a tool is declared otherwise than it
was. Otherwise the agent changed: it does what neither of the files holds, in a world that is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile, zip_longest
from typing import Any, Literal, NamedTuple, TypeAlias

from evalset.golden_trace.steps import Step, text_of
from evalset.recorded.golden_digests import (
    Edit,
    RecordingEdit,
    text_digest,
    value_digest,
)
from evalset.recorded.known_agents import names_are_known, renamed_words
from evalset.recorded.recorded_turns import question_of
from evalset.verify.divergence import does, value_differences
from evalset.verify.results import (
    PLAY_RECORDED,
    Action,
    Divergence,
    Pair,
    ValueDifference,
    Verdict,
    rename_words,
)
from evalset.verify.verdict_evidence import Evidence, disagreements
from simulator.base.json_values import JsonObject, canonical, same
from simulator.session.model import REQUEST_INPUT

_TOOLS_CHANGED = (
    "The agent's tools do not accept this call: {}. If they changed and the change is intended, {}open the session at this step and "
    "re-record it. Otherwise fix the agent."
)
_OR_MIGRATE = "migrate the golden with the doctor, or "
_TOOL_CHANGED = (
    "A tool changed after its responses were recorded. Open the session at this step and re-record it."
)
_RENAMED = "A tool changed after its responses were recorded. {}. If this is intended, migrate the golden. Otherwise fix the agent."
_AGENT_GONE = (
    "An agent that took turns in the recording is gone. If this is intended, migrate the golden with the doctor, or open the session at "
    "this step and re-record it. Otherwise fix the agent."
)
_TOOLS_UNLIKE = (
    "The agent's tools do not accept this call. The recording does not contain how they were declared, so it is not known whether they changed. Correct the golden, or open "
    "the session at this step and re-record it. Otherwise fix the agent."
)
_MOST_EDITS = 3
"""So many edits are named in a sentence; the evidence names all."""


_RESTORE: tuple[str, Action] = ("Restore the turn in the golden, or re-record the case.", "open")
_ACCEPT: tuple[str, Action] = (
    "If the edit is intended, accept the agent's new behavior. Otherwise undo the edit.",
    "accept",
)
_RERECORD: tuple[str, Action] = (
    "If the edit is intended, re-record from this step. Otherwise undo the edit.",
    "open",
)
_REPAIR: tuple[str, Action] = ("Repair the golden from the recording, or change the agent.", "repair")


_SHOWN, _MOST_PLACES = 80, 3


class Known:
    """Values and texts by their digests, turn by turn, gathered from goldens, recordings and runs."""

    def __init__(self, *conversations: Sequence[Sequence[Step]]) -> None:
        steps = [step for turns in conversations for turn in turns for step in turn]
        self._values = {
            value_digest(step.value): step.value for step in steps if step.kind in {"call", "response"}
        }
        self._texts = {text_digest(step.text): step.text for step in steps if step.kind in {"query", "text"}}

    def value(self, digest: str) -> Any:
        """Return the value of a digest; one that is equal to nothing where it is not known."""
        return self._values.get(digest, {"(as it was recorded)": digest})

    def text(self, digest: str) -> str:
        """Return the text of a digest; one that nobody says where it is not known."""
        return self._texts.get(digest, f"(as it was recorded: {digest})")

    def shown(self, digest: str) -> str:
        """Return what a digest stands for in a few words; empty where it is not known."""
        if digest in self._texts:
            return _short(repr(self._texts[digest]))
        return _short(canonical(self._values[digest])) if digest in self._values else ""

    def change(self, then: str, now: str) -> str:
        """Return how the value or the text of one digest became that of another, in a few words; empty where `then` is not known.

        Of long values the places that differ are named; long texts are shown from where they differ on.
        """
        if then in self._values and now in self._values:
            return _value_change(self._values[then], self._values[now])
        if then in self._texts and now in self._texts:
            return "it was {}, now it is {}".format(
                *_from_the_difference(self._texts[then], self._texts[now])
            )
        was = self.shown(then)
        return f"it was {was}" if was else ""

    def change_of(self, edit: Edit) -> str:
        """Return how what was edited became what it is, behind a colon; empty where that is not known."""
        change = self.change(edit.then, edit.now)
        return f": {change}" if change else ""


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _value_change(then: Any, now: Any) -> str:
    was, now_is = canonical(then), canonical(now)
    if max(len(was), len(now_is)) <= _SHOWN:
        return f"it was {was}, now it is {now_is}"
    places = list(value_differences(then, now))
    told = [_place_change(each) for each in places[:_MOST_PLACES]]
    if len(places) > _MOST_PLACES:
        told.append(f"{len(places) - _MOST_PLACES} more places differ")
    return "; ".join(told)


def _place_change(found: ValueDifference) -> str:
    place = found.path or "it"
    if not found.in_actual:
        return f"{place} was {_short(canonical(found.golden))}, now it is missing"
    if not found.in_golden:
        return f"{place} is new: {_short(canonical(found.actual))}"
    if isinstance(found.golden, str) and isinstance(found.actual, str):
        return "{} was {}, now it is {}".format(place, *_from_the_difference(found.golden, found.actual))
    return f"{place} was {_short(canonical(found.golden))}, now it is {_short(canonical(found.actual))}"


def _from_the_difference(then: str, now: str) -> tuple[str, str]:
    """Return two texts in quotes; of long ones what stands around the first character that differs."""
    if max(len(then), len(now)) <= _SHOWN:
        return repr(then), repr(now)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(then, now, strict=False)))
    start = max(0, alike - _SHOWN // 4)
    then, now = (f"{'…' if start else ''}{_short(text[start:])}" for text in (then, now))
    return repr(then), repr(now)


AgentIs: TypeAlias = Literal["as it was", "changed", "unknown"]


class Blame(NamedTuple):
    """Who is to blame for a run that fails though, or because, its golden was edited.

    Attributes:
        edits: What was edited since the recording, in the order of the conversation.
        agent: Whether the agent still does what it did when it was recorded.
        seen: The edits of which the agent was given something before it went another way than recorded.
        unlike: Where it goes another way than recorded, judged by nothing yet; None where it does not.
        why: Why it is not known whether the agent changed.
        known: What the digests of the edits stand for.
    """

    edits: tuple[Edit, ...]
    agent: AgentIs
    seen: tuple[Edit, ...] = ()
    unlike: Divergence | None = None
    why: str = ""
    known: Known = Known()


class _Judgement(NamedTuple):
    verdict: Verdict
    action: Action
    sentence: str
    evidence: tuple[str, ...]
    also: tuple[Verdict, ...] = ()
    migration: str = ""


def judged(
    divergence: Divergence,
    golden: Sequence[Sequence[Step]],
    actual: Sequence[Sequence[Step]],
    evidence: Evidence,
    why: str = "",
    *,
    is_whole: bool = True,
    blame: Blame | None = None,
) -> Divergence:
    """Return a divergence with its verdict.

    Args:
        divergence: Where the run goes another way.
        golden: The golden's steps, turn by turn.
        actual: Those of the run.
        evidence: What is known beside.
        why: What ended the run early, or what it asked and nothing was recorded for.
        is_whole: Whether the run came to its end and all it asked was answered, so that it can be accepted.
        blame: What was edited since the recording, and whether the agent changed; None where the recording does not say.
    """
    if evidence.refused_calls:
        divergence = _at_the_call(divergence, golden, actual)
        found = _refused(evidence)
    elif blame is not None:
        found = (
            _by_hand(divergence, actual, blame, evidence, why, is_whole=is_whole)
            or _environment(divergence, golden, evidence)
            or _agent(divergence, evidence, why, is_whole=is_whole)
        )
    else:
        found = (
            _user(divergence, golden, evidence)
            or _stale(divergence, golden, evidence)
            or _environment(divergence, golden, evidence)
            or _agent(divergence, evidence, why, is_whole=is_whole, is_noted=False)
        )
    return divergence.model_copy(update=found._asdict())


def _refused(evidence: Evidence) -> _Judgement:
    """Blame the tools where it is recorded how they were declared."""
    if evidence.declared:
        first, *more = evidence.refused_calls
        told = (*more, *evidence.untold, *_command(evidence))
        sentence = _TOOLS_CHANGED.format(first, _OR_MIGRATE if evidence.migration else "")
        return _Judgement("environment_changed", "open", sentence, told, migration=_known_migration(evidence))
    return _Judgement("differs_from_trace", "open", _TOOLS_UNLIKE, evidence.refused_calls)


def _command(evidence: Evidence) -> tuple[str, ...]:
    """Return the command that shows what migrates what does not fit any more, and writes nothing yet; no command where none is known."""
    return (f"{evidence.doctor} --dry-run {evidence.migration}",) if evidence.migration else ()


def _known_migration(evidence: Evidence) -> str:
    """Return the option that migrates it, where nothing is left to fill in."""
    return evidence.migration if names_are_known(evidence.migration) else ""


def _at_the_call(
    divergence: Divergence, golden: Sequence[Sequence[Step]], actual: Sequence[Sequence[Step]]
) -> Divergence:
    """Return a divergence that begins with the call whose response it is: a call that is not accepted differs itself, though the run makes it, too."""
    first = divergence.pairs[0].golden
    if divergence.what != "response" or first is None:
        return divergence
    steps = golden[divergence.turn][: divergence.step]
    made = [place for place, step in enumerate(steps) if (step.kind, step.tool) == ("call", first.tool)]
    if not made:
        return divergence
    own = actual[divergence.turn][made[-1] : divergence.step] if divergence.turn < len(actual) else ()
    before = tuple(Pair(golden=step, actual=done) for step, done in zip_longest(steps[made[-1] :], own))
    return divergence.model_copy(
        update={
            "step": made[-1],
            "what": "arguments",
            "pairs": (*before, *divergence.pairs),
            "differences": (),
        }
    )


def _by_hand(
    divergence: Divergence,
    actual: Sequence[Sequence[Step]],
    blame: Blame,
    evidence: Evidence,
    why: str,
    *,
    is_whole: bool,
) -> _Judgement | None:
    """Blame what was edited in the golden or in the recording's file; None where nothing was that the run had met."""
    met = [edit for edit in evidence.recording if _was_met(edit, blame.unlike or divergence, actual)]
    if not blame.edits:
        return _edited_recording(met, evidence, why, is_whole=is_whole) if met else None
    if met and blame.agent == "changed":
        blame = blame._replace(agent="unknown", why=met[0].words)
    return _edited(divergence, blame, evidence, is_whole=is_whole)


def _edited(divergence: Divergence, blame: Blame, evidence: Evidence, *, is_whole: bool) -> _Judgement:
    """Blame what was edited, and the agent too where it changed as well."""
    queries = any(edit.part == "query" for edit in blame.edits)
    verdict: Verdict = "user_changed" if queries else "golden_stale"
    told = (*_other_words(blame), *evidence.changes)
    words = _list(blame.edits)
    if blame.agent == "changed" and blame.unlike is not None:
        sentence = (
            f"{words} The agent also changed after the recording: it {does(blame.unlike)}. Undo the edit to see what the agent "
            "changed, or re-record from this step."
        )
        return _Judgement(verdict, "open", sentence, told, ("agent_changed",))
    if blame.agent == "unknown":
        sentence = (
            f"{words} It is not known whether the agent changed too: {blame.why}. Re-record from this step."
        )
        return _Judgement(verdict, "open", sentence, told)
    if queries:
        sentence = f"{words} The recorded responses do not fit the edited query. Re-record from this step."
        return _Judgement(verdict, "open", sentence, told)
    is_missing = divergence.what == "query" and divergence.pairs[0].golden is None
    if is_missing or not blame.seen:
        remedy, action = _RESTORE if is_missing else _REPAIR
        sentence = f"{words} The agent does the same as in the recording. {remedy}"
        return _Judgement(verdict, action, sentence, told)
    sentence = f"{words} The agent follows the edit: it {does(divergence)}. "
    remedy, action = _ACCEPT if is_whole else _RERECORD
    return _Judgement(verdict, action, sentence + remedy, told)


def _was_met(edit: RecordingEdit, divergence: Divergence, actual: Sequence[Sequence[Step]]) -> bool:
    """Return whether a run may have been given what was edited in its recording by the time that it went another way."""
    if edit.turn != divergence.turn or edit.of_model or not edit.tool:
        return edit.turn <= divergence.turn
    first = divergence.pairs[0]
    steps = actual[edit.turn][: divergence.step] if edit.turn < len(actual) else ()
    return any(step is not None and step.tool == edit.tool for step in (*steps, first.actual or first.golden))


def _edited_recording(
    met: Sequence[RecordingEdit], evidence: Evidence, why: str, *, is_whole: bool
) -> _Judgement:
    """Blame the recording: what it held before the edit is not known, nor what the agent would have done with that."""
    remedy, action = _ACCEPT if is_whole else _RERECORD
    sentence = (
        f"{_list(met, ' after it was written')} It is not known whether the agent changed too. {remedy}"
    )
    told = (*([why] if why else []), *(edit.words for edit in met), *evidence.changes)
    return _Judgement("recording_edited", action, sentence, told)


def _other_words(blame: Blame) -> Iterator[str]:
    for edit in blame.edits:
        if edit.part == "query" and blame.known.shown(edit.then):
            now, then = blame.known.shown(edit.now), blame.known.shown(edit.then)
            yield f"turn {edit.turn + 1}: the query in the eval set is {now}, but {then} was recorded"
        elif more := blame.known.change_of(edit):
            yield f"{edit.words}{more}"


def _list(edits: Sequence[Edit | RecordingEdit], since: str = " after the recording") -> str:
    shown = [edit.words for edit in edits[:_MOST_EDITS]]
    more = [f"{len(edits) - _MOST_EDITS} more places were changed"] if len(edits) > _MOST_EDITS else []
    *before, last = [*shown, *more]
    words = f"{', '.join(before)} and {last}" if before else last
    return f"{capital(words)}{since}."


def capital(words: str) -> str:
    """Return words as a sentence begins."""
    return words[:1].upper() + words[1:]


def _user(divergence: Divergence, golden: Sequence[Sequence[Step]], evidence: Evidence) -> _Judgement | None:
    told = tuple(_other_queries(golden[: divergence.turn + 1], evidence.turns))
    if not told:
        return None
    return _Judgement(
        "user_changed",
        "open",
        "The query differs from the recorded one, so the recorded responses no longer fit. Open the session at this step and "
        "re-record it.",
        told,
    )


def _other_queries(golden: Sequence[Sequence[Step]], recorded: Sequence[Sequence[Step]]) -> Iterator[str]:
    for number, steps in enumerate(golden, start=1):
        if number > len(recorded):
            yield f"turn {number}: only {len(recorded)} turns were recorded"
            continue
        asked, before = text_of(steps, "query"), text_of(recorded[number - 1], "query")
        if asked.strip() != before.strip():
            yield f"turn {number}: the query in the eval set is {asked!r}, but {before!r} was recorded"


def _stale(divergence: Divergence, golden: Sequence[Sequence[Step]], evidence: Evidence) -> _Judgement | None:
    told = tuple(_stale_signs(divergence, golden, evidence))
    if not told:
        return None
    return _Judgement(
        "golden_stale",
        "repair",
        "The eval set and its recorded environment disagree here. Repair the golden from the recording.",
        told,
    )


def _stale_signs(
    divergence: Divergence, golden: Sequence[Sequence[Step]], evidence: Evidence
) -> Iterator[str]:
    """Return where the two files disagree, if the run does as was recorded, or has only done what was not recorded."""
    recorded = evidence.turns[divergence.turn]
    theirs, text = divergence.pairs[0].actual, text_of(recorded, "text")
    if (
        theirs is None
        or (divergence.what == "text" and not theirs.text)
        or (theirs.kind == "call" and _is_recorded(theirs, recorded))
    ):
        yield from disagreements(golden[divergence.turn], recorded, evidence)
    elif _is_recorded_question(theirs, evidence.questions[divergence.turn]):
        yield "the eval set has another question to the user than the recording"
    elif divergence.what == "response" and _is_recorded(theirs, recorded):
        yield f"the eval set has another response of {theirs.tool} than the recording"
    elif divergence.what == "text" and text and theirs.text.strip() == text.strip():
        yield "the eval set has another final response than the recording"
    elif divergence.what == "state" and same(theirs.value, evidence.state):
        yield "the eval set has another final state than the recording"


def _is_recorded(step: Step, recorded: Sequence[Step]) -> bool:
    """Return whether a call or a response is one that was recorded."""
    return any(
        (each.kind, each.tool) == (step.kind, step.tool) and same(each.value, step.value) for each in recorded
    )


def _is_recorded_question(step: Step, questions: Sequence[JsonObject]) -> bool:
    if step.kind != "call" or step.tool != REQUEST_INPUT or not isinstance(step.value, dict):
        return False
    asked = question_of(step.value)
    return any(same(asked, each) for each in questions)


def _environment(
    divergence: Divergence, golden: Sequence[Sequence[Step]], evidence: Evidence
) -> _Judgement | None:
    first = divergence.pairs[0]
    here = {step.tool for step in (first.golden, first.actual) if step is not None and step.tool}
    before = {step.tool for steps in golden[: divergence.turn + 1] for step in steps if step.tool}
    changed = {tool: words for tool, words in evidence.changed_tools.items() if tool not in evidence.gone}
    told = tuple(words for tool, words in sorted(changed.items()) if tool in (here or before))
    if not told and not evidence.gone_agents:
        return None
    migration = _known_migration(evidence)
    sentence = _RENAMED.format(renamed_words(migration)) if migration else _TOOL_CHANGED
    return _Judgement(
        "environment_changed",
        "open",
        sentence if told else _AGENT_GONE,
        (*told, *evidence.gone_agents, *_command(evidence)),
        migration=migration,
    )


_MAY_BE_UNCHANGED = "The agent may be unchanged: the trace does not contain the versions and the environment variables that it was made with. "

_STATE_UNKNOWN = "Nor does it contain the state that tools set, which the agent may read here. "

_WRITTEN = (
    "The agent may be unchanged: a person or a script wrote its moves in the recording, and its own model answered now. "
    f"{PLAY_RECORDED} "
)

_UNSET = "the agent's code reads environment variables that are not set here: "
_MOST_VARIABLES = 5


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_VARIABLES
    return ", ".join(names[:_MOST_VARIABLES]) + (f", and {more} more" if more > 0 else "")


def _agent(
    divergence: Divergence, evidence: Evidence, why: str, *, is_whole: bool, is_noted: bool = True
) -> _Judgement:
    told = (
        *([why] if why and not evidence.otherwise else []),
        *evidence.changes,
        f"the golden was not edited since it was {'imported' if evidence.is_imported else 'recorded'} or accepted"
        if is_noted
        else "the eval set and the recording agree here",
        *(["the tool declarations did not change"] if evidence.same_tools else []),
        *(evidence.maybe_edited if not is_noted else ()),
        *([_UNSET + _some(evidence.unset)] if evidence.unset else []),
    )
    theirs = divergence.pairs[0].actual
    has_stopped = evidence.raised and (
        divergence.what == "text" or theirs is None or not (theirs.tool or theirs.text)
    )
    done = evidence.otherwise or ("ends with an error" if has_stopped else does(divergence))
    verdict, unsure = _of_the_agent(divergence, evidence)
    is_inner = any(step.within for step in (divergence.pairs[0].golden, divergence.pairs[0].actual) if step)
    if is_whole and not (is_inner or evidence.otherwise):
        sentence = f"The agent {done}. {unsure}If this is intended, accept it as the new golden. Otherwise fix the agent."
        return _Judgement(verdict, "accept", sentence, told)
    if evidence.renamed and not is_whole:
        named = ". ".join(rename_words(*names) for names in evidence.renamed.items())
        return _Judgement(verdict, "open", f"{named}. Otherwise fix the agent.", told)
    ended = "" if is_whole else ", and the replay cannot continue from there"
    sentence = f"The agent {done}{ended}. {unsure}If this is intended, re-record from this step. Otherwise fix the agent."
    return _Judgement(verdict, "open", sentence, told)


def _of_the_agent(divergence: Divergence, evidence: Evidence) -> tuple[Verdict, str]:
    """Return the verdict on what the agent does, and what is not known of it."""
    if evidence.is_imported:
        return "differs_from_trace", _MAY_BE_UNCHANGED + (
            _STATE_UNKNOWN if evidence.state is None and evidence.called else ""
        )
    if any(turn <= divergence.turn for turn in evidence.written):
        return "differs_from_moves", _WRITTEN
    return "agent_changed", ""
