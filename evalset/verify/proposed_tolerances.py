"""Proposes what may differ, and keeps it beside the eval set.

`propose_tolerances` compares several runs of a case, place by place. `replay_written` replays a case that was just written, once and silently: whether it
passes its own verification, and what differs by itself though all answers are the same.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from google.adk.evaluation.eval_case import Invocation

from evalset.files.eval_names import no_case
from evalset.golden_trace.golden_steps import spoken, steps_of
from evalset.golden_trace.steps import Step
from evalset.recorded.recording import RecordedEnvironment
from evalset.recorded.recording_files import (
    RecordedEnvironmentError,
    change_environment,
    read_environment,
    recording_of,
)
from evalset.recorded.tolerances import (
    EVERY_TOOL,
    LONGEST_FORM,
    CaseInsensitive,
    Ignore,
    OneOfTolerance,
    PatternTolerance,
    Range,
    Tolerance,
    Unordered,
    word_form,
)
from evalset.verify.case_replay import CaseReplay, ReplayOptions, replayed, run_to_end
from evalset.verify.cases_to_verify import CasesToVerify, ReadyCase, agents_for
from evalset.verify.results import Players, RunResult, Varying, VerifyError
from evalset.verify.scoring import RunSettings, scored_as
from evalset.verify.varying_values import (
    MISSING,
    allowing,
    find_varying,
    passed_anew,
    places_within,
)
from evalset.verify.verify_request import PATIENCE, Criteria
from simulator.agent_config import SimulatedAgentConfig
from simulator.base import json_paths
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject, canonical, same
from simulator.base.validation_words import near
from simulator.kernel.kernel import KernelError, RefusedError
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.runtime.adk.adk_private import let_missing_a2a_be_known

_MOST_VALUES = 5
_UUID = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_HEX = "[0-9a-f]{8,}"
_RUN = re.compile(r"[0-9]+|[^0-9]+")


class _Seen(NamedTuple):
    """What the same call had at one place in each run; `unordered` where they are the same items in another order."""

    values: tuple[Any, ...]
    unordered: bool = False


def propose_tolerances(runs: Sequence[RunResult]) -> tuple[Tolerance, ...]:
    """Propose what lets each of several runs of a case pass beside any other one.

    Calls are the same that are in the same turn, of the same tool, and as manieth. Run with `Criteria(ignore_args=True)`, so that
    a call with other arguments does not end a run.

    Returns:
        For each place that differs: another order of the same items, or of upper and lower case; numbers between the least and
        the greatest; texts of one form with digits in it; one of a few values that come again; or anything. In the state and in
        responses: anything. In final responses that are the same but for words with digits in them: such words. Then what a run's own
        replays found to vary.
    """
    seen = (one.tolerance for run in runs for one in run.varying)
    return _distinct((*_of_arguments(runs), *_of_the_rest(runs), *_of_finals(runs), *seen))


def lacking(proposed: Sequence[Tolerance], golden: Sequence[Sequence[Step]]) -> tuple[Tolerance, ...]:
    """Return the proposals that help no run, as they are for an argument that no call of the golden has; only `ignore` lets one be new."""
    calls = [step for turn in golden for step in turn if step.kind == "call"]

    def is_there(each: Tolerance) -> bool:
        path = json_paths.parse(each.path)
        return any(step.tool == each.tool and path.found(step.value) for step in calls)

    return tuple(
        each for each in proposed if each.of == "arguments" and each.kind != "ignore" and not is_there(each)
    )


def lacking_words(found: Sequence[Tolerance]) -> str:
    """Say why nothing is proposed for arguments that the golden does not have, and what helps; empty where there are none."""
    if not found:
        return ""
    names = ", ".join(f"{each.tool}.{each.path}" for each in found)
    return f"No tolerance for {names}: the golden has no such argument. Migrate the calls, or record the case again."


def _distinct(found: Iterable[Tolerance]) -> tuple[Tolerance, ...]:
    """Return one tolerance for each place: the first."""
    places: dict[tuple[str, str, str], Tolerance] = {}
    for each in found:
        places.setdefault(each.place, each)
    return tuple(places.values())


def _of_the_rest(runs: Sequence[RunResult]) -> Iterable[Tolerance]:
    """Propose what lets states and responses differ that differ from run to run."""
    whole = [run for run in runs if not run.error]
    seen: defaultdict[tuple[str, str], list[_Seen]] = defaultdict(list)
    for tool, responses in _same_steps(whole, "response"):
        _look(tool, responses, seen)
    yield from (Ignore(of="response", tool=tool, path=path) for tool, path in sorted(seen))
    seen.clear()
    if len(whole) > 1:
        _look(EVERY_TOOL, [run.final_state for run in whole], seen)
    yield from (Ignore(of="state", path=path) for _, path in sorted(seen))


def _of_finals(runs: Sequence[RunResult]) -> Iterable[Tolerance]:
    """Propose what lets final responses differ; none where what differs is more than words with digits: that may be the agent."""
    turns = [
        [Invocation.model_validate(turn.invocation) for turn in run.turns] for run in runs if not run.error
    ]
    texts = [[spoken(turn.final_response) for turn in same_turn] for same_turn in zip(*turns, strict=False)]
    forms = [word_form(each) for each in texts if len({*each}) > 1]
    known = [form for form in forms if form is not None]
    if known and len(known) == len(forms):
        pattern = known[0] if len(known) == 1 else "|".join(f"(?:{form})" for form in dict.fromkeys(known))
        yield PatternTolerance(of="final_response", tool=EVERY_TOOL, pattern=pattern)


def _same_steps(runs: Sequence[RunResult], kind: Literal["call", "response"]) -> list[tuple[str, list[Any]]]:
    """Return what each call, or its response, was in the runs that made it."""
    found: defaultdict[tuple[int, str, int], list[Any]] = defaultdict(list)
    for run in runs:
        for number, turn in enumerate(run.turns):
            counts: Counter[str] = Counter()
            for step in steps_of(Invocation.model_validate(turn.invocation)):
                if step.kind == kind:
                    found[number, step.tool, counts[step.tool]].append(step.value)
                    counts[step.tool] += 1
    return [(tool, values) for (_, tool, _), values in found.items() if len(values) > 1]


def _of_arguments(runs: Sequence[RunResult]) -> tuple[Tolerance, ...]:
    """Propose what lets arguments differ."""
    seen: defaultdict[tuple[str, str], list[_Seen]] = defaultdict(list)
    for tool, arguments in _same_steps(runs, "call"):
        _look(tool, arguments, seen)
    found: dict[tuple[str, str], Tolerance] = {}
    for tool, path in sorted(seen):
        found[tool, path] = _proposed(tool, path, seen[tool, path])
    anything = [key for key, each in found.items() if each.kind == "ignore"]
    return tuple(each for key, each in found.items() if not any(_is_inside(key, other) for other in anything))


def _is_inside(place: tuple[str, str], other: tuple[str, str]) -> bool:
    tool, path = other
    return place[0] == tool and any(place[1].startswith(f"{path}{begin}") for begin in (".", "["))


def _look(tool: str, values: Sequence[Any], seen: Mapping[tuple[str, str], list[_Seen]]) -> None:
    """Find the places at which values differ."""
    for path, there in places_within("", values, is_whole=_are_reordered):
        if any(one is MISSING or other is MISSING or not same(one, other) for one, other in pairwise(there)):
            seen[tool, path].append(_Seen(there, unordered=_are_reordered(there)))


def _are_reordered(values: Sequence[Any]) -> bool:
    """Return whether values are lists of the same items, if in another order."""
    lists = all(isinstance(value, list) for value in values)
    return lists and len({canonical(sorted(map(canonical, value))) for value in values}) == 1


def _proposed(tool: str, path: str, seen: Sequence[_Seen]) -> Tolerance:
    if all(each.unordered for each in seen):
        return Unordered(tool=tool, path=path)
    if any(each.unordered for each in seen):
        return Ignore(tool=tool, path=path)
    values = [value for each in seen for value in each.values]
    if all(isinstance(value, str) for value in values):
        return _of_texts(tool, path, seen, values)
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return Range(tool=tool, path=path, low=min(values), high=max(values))
    return _few(tool, path, values) or Ignore(tool=tool, path=path)


def _of_texts(tool: str, path: str, seen: Sequence[_Seen], values: Sequence[str]) -> Tolerance:
    if all(len({value.casefold() for value in each.values}) == 1 for each in seen):
        return CaseInsensitive(tool=tool, path=path)
    if (pattern := _form(values)) is not None:
        return PatternTolerance(tool=tool, path=path, pattern=pattern)
    return _few(tool, path, values) or Ignore(tool=tool, path=path)


def _form(values: Sequence[str]) -> str | None:
    """Return a regular expression for texts of one form: an id, or the same text but for the digits in it."""
    if all(re.fullmatch(_UUID, value) for value in values):
        return _UUID
    forms = {tuple("0" if _is_digits(piece) else piece for piece in _RUN.findall(value)) for value in values}
    pieces = forms.pop()
    if not forms and "0" in pieces:
        written = "".join("[0-9]+" if piece == "0" else re.escape(piece) for piece in pieces)
        return written if len(written) < LONGEST_FORM else None
    return _HEX if all(re.fullmatch(_HEX, value) for value in values) else None


def _is_digits(piece: str) -> bool:
    return piece.isascii() and piece.isdigit()


def _few(tool: str, path: str, values: Sequence[Any]) -> OneOfTolerance | None:
    """Return the values, where there are few and most of them came more than once."""
    if any(value is MISSING for value in values):
        return None
    distinct = {canonical(value): value for value in values}
    if len(distinct) > _MOST_VALUES or len(values) < 2 * len(distinct):
        return None
    return OneOfTolerance(tool=tool, path=path, values=tuple(distinct.values()))


def tolerances_of(
    eval_set: Path | str, eval_id: str, environment: Path | str | None = None
) -> tuple[Tolerance, ...]:
    """Return the tolerances that are kept for a case.

    Raises:
        VerifyError: The recorded environment cannot be used, or has no such case.
    """
    path = Path(environment) if environment is not None else recording_of(eval_set)
    try:
        found = read_environment(path).cases
    except RecordedEnvironmentError as error:
        raise VerifyError(str(error)) from error
    except OSError as error:
        raise VerifyError(f"{path}: cannot be read: {error.strerror or error}") from error
    if eval_id not in found:
        raise VerifyError(no_case(path, eval_id, found))
    return found[eval_id].tolerances


def add_tolerances(
    eval_set: Path | str,
    eval_id: str,
    tolerances: Sequence[Tolerance],
    environment: Path | str | None = None,
) -> tuple[Tolerance, ...]:
    """Keep tolerances beside those that a case has; one for the same place takes its place. Return all that it has then.

    Raises:
        VerifyError: As for `keep_tolerances`.
    """
    new = {each.place for each in tolerances}
    before = tolerances_of(eval_set, eval_id, environment)
    kept = (*(each for each in before if each.place not in new), *tolerances)
    keep_tolerances(eval_set, eval_id, kept, environment)
    return kept


def keep_tolerances(
    eval_set: Path | str,
    eval_id: str,
    tolerances: Sequence[Tolerance],
    environment: Path | str | None = None,
) -> None:
    """Keep the tolerances of a case, in the place of those that it had.

    Raises:
        VerifyError: The recorded environment cannot be used or written, or has no such case; nothing was changed.
    """
    path = Path(environment) if environment is not None else recording_of(eval_set)
    tolerances_of(eval_set, eval_id, path)  # refused here where there is no such case

    def change(before: RecordedEnvironment) -> RecordedEnvironment:
        if eval_id not in before.cases:
            raise RecordedEnvironmentError(path, f"no case {eval_id!r}; {near(eval_id, before.cases)}")
        case = before.cases[eval_id].model_copy(update={"tolerances": tuple(tolerances)})
        return before.model_copy(update={"cases": {**before.cases, eval_id: case}})

    try:
        change_environment(path, change)
    except RecordedEnvironmentError as error:
        raise VerifyError(str(error)) from error
    except OSError as error:
        raise VerifyError(f"{path}: cannot be written: {error.strerror or error}") from error


class WrittenCase(Value):
    """What the replay of a written case showed.

    Attributes:
        eval_id: The case.
        run: The replay, with the tolerances below: how the case stands once they are kept. Its divergence is the first, where it failed.
        varying: What differs between replays though all answers are the same, with a tolerance for each.
        kept: Whether the tolerances were written into the recorded environment.
    """

    eval_id: str
    run: RunResult
    varying: tuple[Varying, ...] = ()
    kept: bool = False

    @property
    def passed(self) -> bool:
        """Whether the case passes its own verification, once the tolerances are kept."""
        return self.run.passed

    @property
    def tolerances(self) -> tuple[Tolerance, ...]:
        """What is proposed."""
        return tuple(one.tolerance for one in self.varying)

    @property
    def lines(self) -> tuple[str, ...]:
        """What is proposed, in a plain line each."""
        return tuple(one.line for one in self.varying)


def replay_written(  # long: what it takes is most of it
    path: Path | str,
    eval_id: str,
    *,
    agent: SimulatedAgentConfig | str | None = None,
    agents_dir: Path | str | None = None,
    environment: Path | str | None = None,
    keep: bool = False,
    timeout: float = PATIENCE,
) -> WrittenCase:
    """Replay a case against its recording, several times where that is quick, and propose tolerances for what differs by itself.

    The recording answers for the tools, for the models where their turns are recorded, and for the user, so all replays get the same
    answers; the agent's own code has the real clock and fresh chance. It needs no event loop, and may be called in any thread.

    Args:
        path: The eval set.
        eval_id: The case.
        agent: As for `verify`.
        agents_dir: As for `verify`.
        environment: The recorded environment; by default the one beside the eval set.
        keep: Write the tolerances into the recorded environment, beside those that are there.
        timeout: Seconds that one replay may take.

    Raises:
        VerifyError: A file or the agent cannot be used, there is no such case, or nothing is recorded of it.
    """
    if isinstance(agent, KernelAgentConfig):
        asked: JsonObject = {
            "path": str(Path(path).absolute()),
            "eval_id": eval_id,
            "environment": str(Path(environment).absolute()) if environment is not None else None,
            "keep": keep,
            "timeout": timeout,
        }
        return WrittenCase.model_validate(done_in_kernel(agent, "replay_written_here", asked))
    eval_set = Path(path)
    sidecar = Path(environment) if environment is not None else recording_of(eval_set)
    (each,) = CasesToVerify(eval_set, sidecar, [eval_id], agents_for(eval_set, agent, agents_dir))
    if not isinstance(each, ReadyCase):
        raise VerifyError(f"{eval_set}: {each.error}")
    players: Players = "recorded" if any(turn.models for turn in each.recorded.turns) else "real"
    let_missing_a2a_be_known()
    found = run_to_end(_replayed(each, ReplayOptions(models=players, seconds=timeout)))
    if keep and found.varying:
        add_tolerances(eval_set, eval_id, found.tolerances, sidecar)
    return found.model_copy(update={"kept": keep and bool(found.varying)})


def done_in_kernel(config: KernelAgentConfig, function: str, arguments: JsonObject) -> Any:
    """Have a function run where the agent is loaded, in a kernel, and return what it gives, in JSON.

    Raises:
        VerifyError: The kernel cannot be started, or the function raised.
    """
    try:
        return config.kernels.run(function, arguments)
    except (KernelError, RefusedError) as error:
        raise VerifyError(str(error)) from error


def replay_written_here(config: SimulatedAgentConfig, **arguments: Any) -> Any:
    """Replay a case that was just written with the agent that this process, a kernel, has loaded; in and out in JSON."""
    return replay_written(**arguments, agent=config).model_dump(mode="json")


async def _replayed(each: ReadyCase, ways: ReplayOptions) -> WrittenCase:
    first = await replayed(each.case, each.recorded, each.config, ways)
    found, asked = await find_varying(each, ways, first), RunSettings(Criteria(), 1, ways, [])
    if (anew := await passed_anew(each, found, asked)) is not None:
        return WrittenCase(eval_id=each.case.eval_id, run=anew, varying=())
    tolerant = allowing(each, found)
    again: CaseReplay = (
        await replayed(tolerant.case, tolerant.recorded, tolerant.config, ways) if found else first
    )
    result = await scored_as(tolerant, again, asked)
    return WrittenCase(eval_id=each.case.eval_id, run=result, varying=found)
