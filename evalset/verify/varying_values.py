"""Replays a case again, silently, to find what no answer determines: a time, an id or a random value of the agent's own code."""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import Invocation

from evalset.golden_trace.golden_steps import spoken, steps_of
from evalset.recorded.recorded_turns import inputs_text, question_of
from evalset.recorded.recording import RecordedCase
from evalset.recorded.tolerances import (
    EVERY_TOOL,
    Ignore,
    Of,
    PatternTolerance,
    Tolerance,
    Unordered,
    reordered_words,
)
from evalset.verify.case_replay import CaseReplay, ReplayOptions, replayed
from evalset.verify.cases_to_verify import ReadyCase
from evalset.verify.results import Divergence, RunResult, Varying
from evalset.verify.scoring import RunSettings, scored_as
from simulator.agents.agent_source import is_determined, makes_sets
from simulator.agents.named_agent import loaded_anew
from simulator.base.json_paths import field_place
from simulator.base.json_values import JsonObject, canonical, same
from simulator.environment.injection.conditions import LONGEST_PATTERN
from simulator.session.model import REQUEST_INPUT

FEWEST, ENOUGH, MOST = 2, 3, 6
"""How many replays are compared: the fewest; how many where each is quick, as two random values may be the same by luck; and
the most, where something still differs from the recording and not between replays.
"""

_BUDGET_SECONDS = 2.0

KEPT = "a value that the agent's code keeps from one run to the next"
"""What differs between replays in one process though the code reads neither clock nor chance: it counts on, and need not begin so in another process."""


async def find_varying(
    each: ReadyCase, ways: ReplayOptions, replay: CaseReplay | None = None
) -> tuple[Varying, ...]:
    """Return what differs between replays of a case though all answers, the models' too, are as recorded.

    Each replay runs with the real clock and with fresh chance. A case whose agents spoke and whose models' turns are not recorded is not
    replayed: nothing would hold the models to the same answers.

    Args:
        each: The case.
        ways: How it is replayed; the recording answers for the models.
        replay: A replay that was made already, with the same answers.
    """
    if replay is not None and _has_unrecorded_models(each.recorded, replay):
        return ()
    golden, inputs = golden_sample(each), inputs_text(each.recorded)
    quiet, recorded = ways.quiet._replace(unrecorded="fail"), _any_call(each)
    samples: list[Sample] = []
    began = time.perf_counter()
    found: tuple[Varying, ...] = ()
    while len(samples) < MOST:
        again = await replayed(each.case, recorded, each.config, quiet)
        if again.error:
            return ()
        samples.append(_sample(again))
        found = varying(golden, samples, inputs) if len(samples) >= FEWEST else ()
        if len(samples) >= FEWEST and time.perf_counter() - began > _BUDGET_SECONDS:
            break
        if len(samples) >= ENOUGH and not unexplained(golden, samples[0], found):
            break
    if found and is_determined(each.config):
        found = tuple(one.model_copy(update={"holds": KEPT}) for one in found)
    return (*found, *reordered(golden, samples[0], found)) if makes_sets(each.config) else found


def _any_call(each: ReadyCase) -> RecordedCase:
    """Return what is recorded of a case, in which each call has its response whatever its arguments are."""
    anything = Ignore(tool=EVERY_TOOL)
    return each.recorded.model_copy(update={"tolerances": (*each.recorded.tolerances, anything)})


async def find_drawn(each: ReadyCase, ways: ReplayOptions) -> tuple[Varying, ...]:
    """Return what the agents' own models write otherwise in each of two replays, where it is a time or an id in both and in the recording.

    Other words of a model vary as well, and may still be the agent's doing.
    """
    recorded, samples = _any_call(each), list[Sample]()
    while len(samples) < FEWEST:
        again = await replayed(each.case, recorded, each.config, ways._replace(latencies=False))
        if again.error:
            return ()
        samples.append(_sample(again))
    return varying(golden_sample(each), samples, inputs_text(each.recorded), only_drawn=True)


def _has_unrecorded_models(recorded: RecordedCase, replay: CaseReplay) -> bool:
    spoke = any(replay.models)
    return spoke and not any(turn.models for turn in recorded.turns)


def _sample(replay: CaseReplay) -> Sample:
    return sample_of(
        replay.turns,
        replay.final_state,
        replay.asked,
        began=replay.began,
        ended=replay.began + replay.seconds,
    )


def golden_sample(each: ReadyCase) -> Sample:
    """Return what the eval set and the recording hold of a case."""
    asked = [
        (number, call.tool, call.arguments)
        for number, turn in enumerate(each.recorded.turns)
        for call in turn.calls
    ]
    began = each.recorded.recorded_at
    ended = each.case.creation_timestamp or began
    return sample_of(
        each.case.conversation or (),
        each.golden.expected,
        asked,
        began=began,
        ended=max(began, ended) + _longest_session(each),
    )


def _longest_session(each: ReadyCase) -> float:
    """Return how long the session may have lasted: until its last turn began, and a while for that."""
    last = max((turn.creation_timestamp for turn in each.case.conversation or ()), default=0.0)
    return max(0.0, last - each.recorded.recorded_at) + 24 * 3600.0


async def passed_anew(each: ReadyCase, found: Sequence[Varying], asked: RunSettings) -> RunResult | None:
    """Return a run of a case that passes once its agent is loaded again, where the code had kept something of earlier runs; None where none does."""
    may_pass = asked.ways.models == "recorded" and any(one.holds == KEPT for one in found)
    config = loaded_anew(each.config) if may_pass else None
    if config is None:
        return None
    replay = await replayed(each.case, each.recorded, config, asked.ways)
    result = await scored_as(each._replace(config=config), replay, asked)
    return result if result.passed else None


async def judged_again(
    each: ReadyCase, replay: CaseReplay, result: RunResult, asked: RunSettings
) -> RunResult:
    """Look again at a run that failed, where its first divergence may be one that no answer determines.

    The run stays failed, but for one that passes with its agent loaded again. Where it passes but for what varies, that is its verdict; otherwise its divergence is the first one that does not vary.
    """
    if not _may_vary(result):
        return result
    found: tuple[Varying, ...] = ()
    if not _has_unrecorded_models(each.recorded, replay):
        if not asked.varying:  # the same for all runs of a case
            asked.varying.append(await find_varying(each, asked.ways))
        found = asked.varying[0]
    if not found and asked.ways.models == "real" and _may_be_drawn(result):
        found = await find_drawn(each, asked.ways)
    if not found:
        return result
    if (anew := await passed_anew(each, found, asked)) is not None:
        return anew
    tolerant = allowing(each, found)
    if any(one.tolerance.of == "arguments" for one in found):
        replay = await replayed(tolerant.case, tolerant.recorded, tolerant.config, asked.ways)
    second = await scored_as(tolerant, replay, asked)
    divergence = result.divergence if second.passed else second.divergence or result.divergence
    if divergence is not None:
        divergence = _varied(divergence, found) if second.passed else _beside(divergence, found)
    return result.model_copy(update={"divergence": divergence, "varying": found})


def allowing(each: ReadyCase, found: Sequence[Varying]) -> ReadyCase:
    """Return a case whose tolerances let differ what varies."""
    kept = (*each.recorded.tolerances, *(one.tolerance for one in found))
    return each._replace(recorded=each.recorded.model_copy(update={"tolerances": kept}))


def _may_vary(result: RunResult) -> bool:
    if result.passed or result.divergence is None:
        return False
    return result.divergence.what in {"arguments", "response", "text", "state"} or bool(result.unrecorded)


def _may_be_drawn(result: RunResult) -> bool:
    """Return whether a run differs first in values with digits alone, so that it is worth it to ask the models again."""
    if result.divergence is None:
        return False
    first = result.divergence.pairs[0]
    pairs = [(each.golden, each.actual) for each in result.divergence.differences]
    if result.divergence.what == "text" and first.golden and first.actual:
        pairs = [(first.golden.text, first.actual.text)]
    return bool(pairs) and all(
        isinstance(value, (str, int, float)) and any(map(str.isdigit, str(value)))
        for pair in pairs
        for value in pair
    )


def _varied(divergence: Divergence, found: Sequence[Varying]) -> Divergence:
    told = varying_words(found)
    why = "Replays with equal inputs differ here, as each run makes its own value: the agent did not change."
    if all(one.tolerance.kind == "unordered" for one in found):
        why = "Only the order differs, and the agent's code makes a set: each process has its own order for the texts in one."
    if any(one.holds == KEPT for one in found):
        why = "Replays in one process differ here, so it is not known whether the agent changed."
    keep = "Keep the proposed tolerances and the case passes."
    if new := [f'"{one.tolerance.path}"' for one in found if one.is_new]:
        why = f"The golden does not have {_listed(new)}: the agent changed, and each run makes its own value."
        keep = f"If this is intended, k{keep[1:]} Otherwise fix the agent."
    sentence = f"{told[:1].upper()}{told[1:]}. {why} {keep}"
    evidence = tuple(one.line for one in found)
    verdict = {"verdict": "varies", "action": "tolerate", "sentence": sentence, "evidence": evidence}
    return divergence.model_copy(update=verdict)


def varying_words(found: Sequence[Varying]) -> str:
    """Return what holds what: `the state holds a time and an id; the final response holds a time`."""
    held: dict[str, dict[str, None]] = {}
    for one in found:
        held.setdefault(one.what, {})[one.holds] = None
    return "; ".join(f"{what} contains {_listed([*holds])}" for what, holds in held.items())


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _beside(divergence: Divergence, found: Sequence[Varying]) -> Divergence:
    told = tuple(f"in addition, {one.line}" for one in found)
    return divergence.model_copy(update={"evidence": (*divergence.evidence, *told)})


# Sets what several replays gave side by side, and finds the places that differ though all answers were the same. Pure.
#
# What differs between two replays with the same answers is not determined by the answers: the agent's own code read a clock, drew
# a random number, or counted on. A place that is the clock's time in the recording and in a replay, each of its own moment, is a time,
# even where two quick replays have the same.


MISSING: Any = object()
_UUID = re.compile("[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_ID = re.compile(r"(?=.*[0-9])[A-Za-z0-9]+([-_:.][A-Za-z0-9]+)*")
_TOKEN = re.compile(r"""[^\s,;?!()\[\]{}"'<>]+|\s+|.""", re.DOTALL)
_SHORTEST_ID = 6
_WORDS_OF_A_TIME = 8

Key: TypeAlias = tuple[Of, str, int, int]
"""What is compared: of which kind, of which tool, in which turn, and as manieth there."""
Place: TypeAlias = tuple[Of, str, str]
"""Where something differs: of which kind, of which tool, and the path in it."""


class Sample(NamedTuple):
    """What one replay, or the recording, gave, and when: seconds since the epoch, from and to."""

    values: Mapping[Key, Any]
    began: float
    ended: float


def sample_of(
    turns: Sequence[Invocation],
    state: JsonObject | None,
    asked: Sequence[tuple[int, str, JsonObject]] = (),
    *,
    began: float,
    ended: float,
) -> Sample:
    """Return what is compared of a replay.

    Args:
        turns: What happened.
        state: The final state; None where it is not known.
        asked: The calls that were asked of the environment, each with the number of its turn, its tool and its arguments; questions to
            the user stand in the turns.
        began: When it began.
        ended: When it ended.
    """
    values: dict[Key, Any] = {} if state is None else {("state", EVERY_TOOL, 0, 0): state}
    counts: Counter[tuple[str, int, str]] = Counter()

    def put(of: Of, tool: str, turn: int, value: Any) -> None:
        values[of, tool, turn, counts[of, turn, tool]] = value
        counts[of, turn, tool] += 1

    for number, turn in enumerate(turns):
        for step in steps_of(turn):
            if step.kind == "response":
                put("response", step.tool, number, step.value)
            elif step.tool == REQUEST_INPUT and isinstance(step.value, dict):
                put("arguments", step.tool, number, question_of(step.value))
        put("final_response", EVERY_TOOL, number, spoken(turn.final_response))
    for number, tool, arguments in asked:
        put("arguments", tool, number, arguments)
    return Sample(values, began, ended)


def varying(
    golden: Sample, replays: Sequence[Sample], inputs: str = "", *, only_drawn: bool = False
) -> tuple[Varying, ...]:
    """Return what differs by itself, and the tolerance for each.

    Args:
        golden: What was recorded.
        replays: Several replays with the same answers.
        inputs: All that was answered, as a text: a date that stands in there is not one that a clock gave.
        only_drawn: Whether only times and ids count.
    """
    found: dict[Place, list[tuple[Any, ...]]] = defaultdict(list)
    for place, values in _places([golden, *replays]):
        found[place].append(values)
    samples = (golden, *replays)
    made = [
        _varying(place, seen, samples, inputs)
        for place, seen in found.items()
        if any(_varies(values, samples) or _is_lucky(values, samples, inputs) for values in seen)
        and not (_is_text(place, seen) and any(_is_reworded(texts, samples, inputs) for texts in seen))
        and not (only_drawn and any(_is_more_than_drawn(values, samples) for values in seen))
    ]
    return tuple(_outermost(made))


def reordered(golden: Sample, replay: Sample, known: Iterable[Varying]) -> tuple[Varying, ...]:
    """Return where a replay has the recorded words or items in another order, and that is not known to vary: as a set has one in each process."""
    places = {each.tolerance.place for each in known}
    found = {
        (of, tool, path)
        for (of, tool, turn, number), value in golden.values.items()
        for path in _reordered("", value, replay.values.get((of, tool, turn, number), MISSING))
        if not _is_inside((of, tool, path), places)
    }
    return tuple(
        Varying(tolerance=Unordered(of=of, tool=tool, path=path), holds="the order of a set")
        for of, tool, path in sorted(found)
    )


def _reordered(path: str, there: Any, here: Any) -> Iterator[str]:
    """Yield the places at which a value has the same words or items in another order."""
    if here is MISSING or same(there, here):
        return
    match there, here:
        case dict(), dict():
            for name, value in there.items():
                yield from _reordered(field_place(path, name), value, here.get(name, MISSING))
        case list(), list() if len(there) == len(here):
            if Counter(map(canonical, there)) == Counter(map(canonical, here)):
                yield path
                return
            for items in zip(there, here, strict=True):
                yield from _reordered(f"{path}[*]", *items)
        case str(), str() if reordered_words(there, here):
            yield path


def unexplained(golden: Sample, replay: Sample, known: Iterable[Varying]) -> bool:
    """Return whether a replay differs from the recording at a place that is not known to vary."""
    places = {each.tolerance.place for each in known}
    return any(
        not _is_inside(place, places) for place, values in _places([golden, replay]) if not same(*values)
    )


def _varies(values: Sequence[Any], samples: Sequence[Sample]) -> bool:
    """Return whether a place differs between replays, or is the clock's time in the recording and in a replay."""
    of_replays = [value for value in values[1:] if value is not MISSING]
    if not of_replays:  # what no replay has does not vary: it is missing
        return False
    if len(of_replays) < len(values) - 1 or any(not same(*pair) for pair in pairwise(of_replays)):
        return True
    recorded, given = values[0], of_replays[0]
    if recorded is MISSING or same(recorded, given):
        return False
    return is_clock(given, samples[1].began, samples[1].ended) and is_clock(
        recorded, samples[0].began, samples[0].ended
    )


def _is_lucky(values: Sequence[Any], samples: Sequence[Sample], inputs: str) -> bool:
    """Recognise a day, a minute or a second that is the same everywhere because all was made in it, and that no answer holds."""
    first = values[0]
    if first is MISSING or any(value is MISSING or not same(value, first) for value in values):
        return False
    last = samples[-1]
    if isinstance(first, str) and _clock_words(_TOKEN.findall(first), last, inputs):
        return True
    is_one = is_clock(first, last.began, last.ended)
    return is_one and str(first) not in inputs


def _places(samples: Sequence[Sample]) -> Iterator[tuple[Place, tuple[Any, ...]]]:
    """Yield every place, with its value in each sample; a final response that is text has the whole of it."""
    for key in samples[0].values:
        values = [sample.values.get(key, MISSING) for sample in samples]
        if any(value is MISSING for value in values):
            continue  # a call that only some made: that is no value that varies
        of, tool, _, _ = key
        read = _as_json(values) if of == "final_response" else None
        if of == "final_response" and read is None:
            yield (of, tool, ""), tuple(values)
            continue
        yield from (((of, tool, path), each) for path, each in places_within("", read or values))


def _as_json(texts: Sequence[str]) -> list[Any] | None:
    """Read final responses as JSON, where each of them is an object or a list."""
    try:
        read = [json.loads(text) for text in texts]
    except ValueError:
        return None
    return read if all(isinstance(each, (dict, list)) for each in read) else None


def places_within(
    path: str, values: Sequence[Any], *, is_whole: Callable[[Sequence[Any]], bool] = lambda _: False
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield each place inside of values that are side by side, with what stands there in each.

    Args:
        path: Where the values stand.
        values: The values.
        is_whole: Tells which lists are one place, with all that is in them.
    """
    if all(isinstance(value, dict) for value in values):
        for name in dict.fromkeys(name for value in values for name in value):
            inner = [value.get(name, MISSING) for value in values]
            yield from places_within(field_place(path, name), inner, is_whole=is_whole)
    elif (
        all(isinstance(value, list) for value in values)
        and len({*map(len, values)}) == 1
        and not is_whole(values)
    ):
        for items in zip(*values, strict=True):
            yield from places_within(f"{path}[*]", items, is_whole=is_whole)
    else:
        yield path, tuple(values)


def _outermost(found: Sequence[Varying]) -> Iterator[Varying]:
    """Leave out what lies inside of something that varies as a whole."""
    places = {each.tolerance.place for each in found}
    return (each for each in found if not _is_inside(each.tolerance.place, places - {each.tolerance.place}))


def _is_inside(place: tuple[str, str, str], places: Iterable[tuple[str, str, str]]) -> bool:
    """Return whether a place is one of these, or lies inside of one."""
    return any(
        place[:2] == other[:2]
        and (place[2] == other[2] or not other[2] or place[2].startswith((f"{other[2]}.", f"{other[2]}[")))
        for other in places
    )


def _varying(
    place: Place, seen: Sequence[tuple[Any, ...]], samples: Sequence[Sample], inputs: str
) -> Varying:
    of, tool, path = place
    is_text = _is_text(place, seen)
    holds = _text_holds(seen, samples, inputs) if is_text else _holds(seen, samples)
    pattern = _pattern(seen, samples, inputs) if is_text else None
    tolerance: Tolerance = (
        Ignore(of=of, tool=tool, path=path)
        if pattern is None
        else PatternTolerance(of=of, tool=tool, path=path, pattern=pattern)
    )
    is_new = all(values[0] is MISSING for values in seen)
    return Varying(tolerance=tolerance, holds=holds, is_new=is_new)


def _holds(seen: Sequence[tuple[Any, ...]], samples: Sequence[Sample]) -> str:
    """Return what stands at a place, as far as its values tell."""
    pairs = [
        (value, sample)
        for values in seen
        for value, sample in zip(values, samples, strict=True)
        if value is not MISSING
    ]
    if all(is_clock(value, sample.began, sample.ended) for value, sample in pairs):
        return "a time"
    values = [value for value, _ in pairs]
    if all(isinstance(value, str) and _UUID.fullmatch(value) for value in values):
        return "an id"
    if all(
        isinstance(value, str) and len(value) >= _SHORTEST_ID and _ID.fullmatch(value) for value in values
    ):
        return "an id"
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return "a random number"
    return "a random value"


def _text_holds(seen: Sequence[tuple[Any, ...]], samples: Sequence[Sample], inputs: str) -> str:
    changed = [
        tuple(tokens) for texts in seen for tokens in zip(*_tokens(texts), strict=False) if len({*tokens}) > 1
    ]
    found = {_holds([each], samples) for each in changed}
    if "a time" in found or any(
        _clock_words(tokens[-1], samples[-1], inputs) for tokens in map(_tokens, seen)
    ):
        return "a time"
    return found.pop() if len(found) == 1 else "a random value"


def _is_more_than_drawn(values: Sequence[Any], samples: Sequence[Sample]) -> bool:
    """Return whether a place differs in more than times and ids; of texts each word that differs is looked at."""
    if _holds([tuple(values)], samples) in {"a time", "an id"}:
        return False
    if not all(isinstance(value, str) for value in values):
        return True
    cut = _tokens(values)
    return len({*map(len, cut)}) != 1 or any(
        len({*words}) > 1 and not all(any(map(str.isdigit, word)) for word in words)
        for words in zip(*cut, strict=True)
    )


def _tokens(texts: Sequence[str]) -> list[list[str]]:
    return [_TOKEN.findall(text) for text in texts]


def _is_text(place: Place, seen: Sequence[tuple[Any, ...]]) -> bool:
    """Return whether the words around what varies count: a final response that is text, and what the user is asked."""
    of, tool, path = place
    if of == "arguments" and tool == REQUEST_INPUT:
        return all(isinstance(value, str) for values in seen for value in values)
    return of == "final_response" and not path


def _is_open(cut: Sequence[Sequence[str]], samples: Sequence[Sample], inputs: str) -> list[bool]:
    """Return of each word whether it differs between replays, or belongs to a time; `cut` holds as many words of each sample."""
    times = _clock_words(cut[-1], samples[-1], inputs)
    columns = zip(*cut[1:], strict=True)
    return [len({*column}) > 1 or place in times for place, column in enumerate(columns)]


def _is_reworded(texts: Sequence[str], samples: Sequence[Sample], inputs: str) -> bool:
    """Return whether all replays have the same other words than the recording: that is the agent's doing, whatever varies beside them."""
    cut = _tokens(texts)
    if not cut[0] or len({*map(len, cut[1:])}) != 1:  # an empty text may be one that nobody knows
        return False
    return len(cut[0]) != len(cut[1]) or any(
        recorded != given and not is_open
        for recorded, given, is_open in zip(cut[0], cut[1], _is_open(cut, samples, inputs), strict=True)
    )


def _pattern(seen: Sequence[tuple[Any, ...]], samples: Sequence[Sample], inputs: str) -> str | None:
    """Write a regular expression for texts that differ in some words alone; None where there is more to it."""
    patterns = [_pattern_of(_tokens(texts), samples, inputs) for texts in seen]
    written = "|".join(dict.fromkeys(pattern or "" for pattern in patterns))
    return written if all(patterns) and len(written) <= LONGEST_PATTERN else None


def _pattern_of(cut: Sequence[Sequence[str]], samples: Sequence[Sample], inputs: str) -> str:
    """Write it for one text; empty where the texts are not alike."""
    if len({*map(len, cut)}) != 1 or all(differs := _is_open(cut, samples, inputs)):
        return ""
    return "".join(
        r"\S+" if is_open else re.escape(word).replace("\\ ", " ")
        for word, is_open in zip(cut[0], differs, strict=True)
    )


def _clock_words(tokens: Sequence[str], sample: Sample, inputs: str) -> set[int]:
    """Return the places of the words that together are the time at which a sample was made, and that no answer holds."""
    found: set[int] = set()
    words = [place for place, token in enumerate(tokens) if token.strip()]
    for first, start in enumerate(words):
        for end in words[first : first + _WORDS_OF_A_TIME]:
            text = "".join(tokens[start : end + 1]).strip(".,;")
            if (
                any(map(str.isdigit, text))
                and is_clock(text, sample.began, sample.ended)
                and text not in inputs
            ):
                found |= {place for place in words if start <= place <= end}
    return found


# Checks whether a value is the time that a clock showed at a moment: a number of seconds, or a text that people or programs write. Pure.


_UNITS = (1.0, 1e3, 1e6, 1e9)
"""How many of a number's units are a second: seconds, and what milli-, micro- and nanoseconds are counted in."""

_SLACK = 5.0
_AN_HOUR = 3600.0
_FURTHEST_ZONE = timedelta(hours=15)
_FORMATS = (
    "%a %b %d %H:%M:%S %Y",
    "%Y/%m/%d %H:%M:%S",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M:%S",
    "%Y%m%d%H%M%S",
    "%Y%m%d_%H%M%S",
)
_DAYS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%B %d, %Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%d %b %Y",
    "%Y%m%d",
)
_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(:[0-5]\d(\.\d+)?)?( ?[AaPp][Mm])?")
_NUMBERS = re.compile(r"\d{10,19}(\.\d+)?")
_LONGEST = 64


def is_clock(value: Any, began: float, ended: float) -> bool:
    """Return whether a value is a time between two moments, in seconds since the epoch, wherever the clock stands."""
    if isinstance(value, bool):
        return False
    if isinstance(value, (int, float)):
        return any(began - _SLACK <= value / unit <= ended + _SLACK for unit in _UNITS)
    return isinstance(value, str) and len(value) <= _LONGEST and _is_clock_text(value.strip(), began, ended)


def _is_clock_text(text: str, began: float, ended: float) -> bool:
    if _NUMBERS.fullmatch(text):
        return is_clock(float(text), began, ended)
    if _HOURS.fullmatch(text):
        return ended - began > _AN_HOUR or _is_minute(text, ended)
    for day in _days(began) | _days(ended):
        if any(day.strftime(form) == text for form in _DAYS):
            return True
    low, high = (datetime.fromtimestamp(moment, UTC) for moment in (began - 60, ended + 60))
    return any(low - _FURTHEST_ZONE <= found <= high + _FURTHEST_ZONE for found in _moments(text))


def _is_minute(text: str, moment: float) -> bool:
    """Return whether a text is the hour and the minute of a moment, in UTC or where this runs; a minute more or less."""
    hour, minute = text.split(":")[:2]
    there = datetime.fromtimestamp(moment, UTC)
    near = [there + timedelta(minutes=minutes) for minutes in (-1, 0, 1)]
    known = {(each.hour % 12, each.minute) for at in near for each in (at, at.astimezone())}
    return (int(hour) % 12, int(minute[:2])) in known


def _moments(text: str) -> Iterator[datetime]:
    """Read a text as a moment in each way that fits; without a zone it is taken as one of UTC."""
    readers: list[Callable[[str], datetime]] = [datetime.fromisoformat, parsedate_to_datetime]
    readers += [partial(_of_form, form) for form in _FORMATS]
    for read in readers:
        try:
            found = read(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        yield found if found.tzinfo else found.replace(tzinfo=UTC)


def _of_form(form: str, text: str) -> datetime:
    return datetime.strptime(text, form).replace(tzinfo=UTC)


def _days(moment: float) -> set[date]:
    """Return the days that it is at a moment, somewhere on earth."""
    there = datetime.fromtimestamp(moment, UTC)
    return {(there + shift).date() for shift in (-_FURTHEST_ZONE, timedelta(), _FURTHEST_ZONE)}
