"""What the tab of the verification asks for: verifications as work on the server, their results as plain text, and tolerances as rows to edit; no drawing here."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from app.evalsets.set_context import facts_of
from app.evalsets.workspace import Workspace
from app.forms.safe_labels import literal, safe_label
from app.live import agent_catalogue as of_server
from app.live.agent_catalogue import catalogue
from app.live.background_jobs import Job, JobProgress, Report, Work
from app.session.shell_texts import verify_commands_of
from evalset.golden_trace.steps import Step
from evalset.recorded.tolerances import EVERY_TOOL, OneOfTolerance, PatternTolerance, Range, Tolerance
from evalset.replay.model_choice import ANSWERED_BY, BY_HAND, Models, Policy
from evalset.verify import Criteria, VerifyProgress, verify
from evalset.verify.results import VERDICTS, CaseResult, Check, Divergence, Pair, TextPiece, Verification
from evalset.verify.verify_request import VerifyRequest
from evalset.verify.verify_run import interpreter_for, kernels_with
from simulator.base.frozen_value import Value
from simulator.base.json_values import canonical

KINDS: Mapping[str, str] = {
    "ignore": "any value",
    "one_of": "one of these values",
    "regex": "text matching a regex",
    "range": "number in a range",
    "unordered": "list in any order",
    "case_insensitive": "any letter case",
    "exact": "exactly as recorded",
}
"""Each kind of tolerance, in words."""

OF: Mapping[str, str] = {
    "arguments": "arguments",
    "response": "response",
    "state": "state",
    "final_response": "final response",
}
"""What a tolerance is for, in words."""

HINTS: Mapping[str, str] = {
    "one_of": '["express", "standard"]',
    "regex": "R-[0-9]+",
    "range": "1..5 or ±0.5",
}
"""What a kind needs beside its place; the others need nothing."""

WITHOUT_TOOL = frozenset({"state", "final_response"})
"""What no tool gives."""

Row: TypeAlias = dict[str, str]
"""`of`, `tool`, `path`, `kind` and `more`, all of them texts."""

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_BOUNDS = re.compile(rf"({_NUMBER})?\s*\.\.\s*({_NUMBER})?")
_DISTANCE = re.compile(rf"(?:±|\+-)\s*({_NUMBER})")
_ONE: TypeAdapter[Any] = TypeAdapter(Tolerance)


class RowError(ValueError):
    """A row says no tolerance; the text names it."""


def new_row() -> Row:
    """Return an empty row."""
    return {"of": "arguments", "tool": "*", "path": "", "kind": "ignore", "more": ""}


def row_of(tolerance: Tolerance) -> Row:
    """Write a tolerance as a row."""
    match tolerance:
        case OneOfTolerance(values=values):
            more = canonical(list(values))
        case PatternTolerance(pattern=pattern):
            more = pattern
        case Range():
            more = _range_text(tolerance)
        case _:
            more = ""
    return {
        "of": tolerance.of,
        "tool": tolerance.tool,
        "path": tolerance.path,
        "kind": tolerance.kind,
        "more": more,
    }


def tolerance_words(tolerance: Tolerance) -> str:
    """Return a tolerance in a line of words."""
    row = row_of(tolerance)
    named = "every tool" if row["tool"] == EVERY_TOOL else row["tool"]
    tool = "" if row["of"] in WITHOUT_TOOL else f" of {named}"
    path = f", {row['path']}" if row["path"] else ""
    return f"{OF[row['of']]}{tool}{path}: {KINDS[row['kind']]} {row['more']}".strip()


def _range_text(tolerance: Range) -> str:
    low, high = (_number_text(bound) for bound in (tolerance.low, tolerance.high))
    bounds = f"{low}..{high}" if low or high else ""
    distance = "" if tolerance.distance is None else f"±{_number_text(tolerance.distance)}"
    return " ".join(part for part in (bounds, distance) if part)


def _number_text(number: float | None) -> str:
    return "" if number is None else repr(number)


def tolerances_from(rows: Sequence[Row]) -> tuple[Tolerance, ...]:
    """Read rows.

    Raises:
        RowError: One of them says no tolerance; its number and what is wrong are named.
    """
    return tuple(_tolerance(row, number) for number, row in enumerate(rows, 1))


def _tolerance(row: Row, number: int) -> Tolerance:
    said: dict[str, Any] = {name: row.get(name, "").strip() for name in ("of", "kind", "tool", "path")}
    said["of"] = said["of"] or "arguments"
    if said["of"] in WITHOUT_TOOL:
        said["tool"] = EVERY_TOOL
    try:
        match row["kind"]:
            case "one_of":
                said["values"] = json.loads(row["more"])
            case "regex":
                said["pattern"] = row["more"]
            case "range":
                said |= _range(row["more"])
        made: Tolerance = _ONE.validate_python(said)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"] if step != row["kind"])
        words = first["msg"].removeprefix("Value error, ")
        raise RowError(f"row {number}: {f'{place}: ' if place else ''}{words}") from error
    except ValueError as error:  # no JSON, or no range
        raise RowError(f"row {number}: {error}") from error
    return made


def _range(text: str) -> dict[str, float]:
    bounds, distance = _BOUNDS.search(text), _DISTANCE.search(text)
    rest = text
    for found in (bounds, distance):
        rest = rest.replace(found[0], "", 1) if found else rest
    if rest.strip() or not (bounds or distance):
        raise ValueError(f"{text!r} is not a range; write {HINTS['range']}")
    said: dict[str, str | None] = {
        "low": bounds[1] if bounds else None,
        "high": bounds[2] if bounds else None,
        "distance": distance[1] if distance else None,
    }
    return {name: json.loads(number.lstrip("+")) for name, number in said.items() if number is not None}


VERIFIED = "verified"
"""The name of the work at a workspace."""

MARKS = {
    "passed": "✓ passed",
    "failed": "✗ failed",
    "error": "! could not run",
    "stopped": "stopped",
    "skipped": "skipped",
}
_MOST_NAMED = 3
MOST_SHOWN = 4_000
"""Of longer texts only so many letters are shown side by side."""


class VerifyOptions(Value):
    """The options of one verification.

    Attributes:
        eval_set: The eval set.
        agent: The agent's name; empty for the one that each case names.
        cases: The ids of the cases; none for all.
        runs: How often each is replayed.
        models: Who answers for the agents' models.
        unrecorded: What becomes of a call that was not recorded.
        criteria: What is compared.
        renamed: The new name of each agent that was renamed since the recording, by its old one.
    """

    eval_set: Path
    agent: str = ""
    cases: tuple[str, ...] = ()
    runs: int = 1
    models: Models = BY_HAND
    unrecorded: Policy = "fail"
    criteria: Criteria = Criteria()
    renamed: Mapping[str, str] = Field(default_factory=dict)


def options_of(workspace: Workspace, agent: str, cases: tuple[str, ...]) -> VerifyOptions:
    """Return the options of a verification of some cases, as they were chosen last for their set."""
    chosen = {name.removeprefix("verify_"): value for name, value in workspace.options.items()}
    criteria = {name: chosen[name] for name in Criteria.model_fields if name in chosen}
    others = {name: chosen[name] for name in ("runs", "models", "unrecorded") if name in chosen}
    return VerifyOptions.model_validate(
        {
            "eval_set": workspace.eval_set,
            "agent": agent,
            "cases": cases,
            "criteria": Criteria.model_validate(criteria),
            **others,
        }
    )


class VerifyJob(Job[Verification]):
    """A verification, and the options that it was begun with."""

    def __init__(self, work: Work[Verification], asked: VerifyOptions) -> None:
        super().__init__(work, "verify")
        self.asked = asked


def commands_of(asked: VerifyOptions, cases: Sequence[CaseResult]) -> str:
    """Return the commands that give the same verdicts in a terminal and in CI; empty where a shell cannot name the agent.

    Args:
        asked: What was asked for.
        cases: What became of it: who answered then does so there, whatever is reachable from there.
    """
    answered = {run.models for case in cases for run in case.runs}
    models: Models = answered.pop() if len(answered) == 1 else asked.models
    agents = catalogue()
    request = VerifyRequest(
        eval_set=asked.eval_set,
        agents_dir=agents.settings_for(asked.eval_set).agents_dir,
        cases=asked.cases,
        runs=asked.runs,
        models=models,
        unrecorded=asked.unrecorded,
        criteria=asked.criteria,
        renamed=asked.renamed,
    )
    return verify_commands_of(asked.agent, agents.entries(), agents.settings, request)


def models_words(case: CaseResult | None) -> str:
    """Return who answered for the models of a case; empty where none did, or nobody knows."""
    players = dict.fromkeys(run.models for run in case.runs) if case is not None else {}
    return " and ".join(ANSWERED_BY[each] for each in players)


def verifying(asked: VerifyOptions) -> VerifyJob:
    """Begin a verification."""

    def work(report: Report, stop: Event) -> Verification:
        far = _Far(report, len(asked.cases or facts_of(asked.eval_set).eval_ids) * asked.runs)
        report(JobProgress(words="Loading the agent and the cases"))
        agents = catalogue()
        executor = None
        if of_server.LOADS_NONE_HERE and not asked.agent:
            # Each case names its agent: processes find them, and this one imports none.
            settings = agents.settings_for(asked.eval_set)
            python = settings.python or interpreter_for(asked.eval_set, None, settings.agents_dir)
            executor = kernels_with(python or Path(sys.executable), os.cpu_count() or 1, asked.models)
        try:
            return verify(
                asked.eval_set,
                agent=agents.config_of_now(asked.agent) if asked.agent else None,
                agents_dir=agents.settings_for(asked.eval_set).agents_dir,
                cases=asked.cases,
                runs=asked.runs,
                models=asked.models,
                unrecorded=asked.unrecorded,
                criteria=asked.criteria,
                processes=None,
                executor=executor,
                renamed=asked.renamed,
                on_progress=far.done,
                on_work=far.at_work,
                stop=stop,
            )
        finally:
            if executor is not None:
                executor.shutdown(wait=False)

    return VerifyJob(work, asked)


class _Far:
    """Reports how far a verification is, and which cases are at work."""

    def __init__(self, report: Report, total: int) -> None:
        self._report, self._now = report, VerifyProgress(done=0, total=total)
        self._cases: Sequence[str] = ()

    def done(self, now: VerifyProgress) -> None:
        self._now = now
        self._tell()

    def at_work(self, cases: Sequence[str]) -> None:
        self._cases = cases
        self._tell()

    def _tell(self) -> None:
        done, total = self._now.done, self._now.total
        named = ", ".join(safe_label(each, 40) for each in self._cases[:_MOST_NAMED])
        more = f" and {len(self._cases) - _MOST_NAMED} more" if len(self._cases) > _MOST_NAMED else ""
        words = f"{done} of {total} runs done" + (f". At work: {named}{more}" if named else "")
        self._report(JobProgress(done=done, total=total, words=words))


def steps_before(golden: Sequence[Step], step: int, kinds: Sequence[str]) -> int:
    """Say how many steps of a turn are played, so that a session stops before a step of the golden.

    Args:
        golden: The golden's steps in the turn, as a verification counts them.
        step: The place of the step among them; how many there are, for what comes behind the last one.
        kinds: The kinds of the steps as an eval set has them: calls may all come before their answers there.
    """
    calls = [place for place, kind in enumerate(kinds) if kind == "call"]
    before = sum(each.kind == "call" for each in golden[:step])
    kind = golden[step].kind if step < len(golden) else "text"
    if kind == "query" or not kinds:
        return 1
    if kind == "call" and before < len(calls):
        return max(1, calls[before])
    if kind == "response" and 0 < before <= len(calls):
        return calls[before - 1] + 1
    return max(1, len(kinds) - (kinds[-1] == "final"))


def case_rows(cases: Sequence[CaseResult], runs: int) -> list[dict[str, str]]:
    """Return a row for each case, as plain text."""
    return [
        {
            "case": literal(case.eval_id),
            "verdict": MARKS[case.status],
            **(_of_runs(case, runs) if runs > 1 else {}),
            "first divergence": _where(case.divergence),
            "what happened": literal(why_of(case) or "; ".join(case.blanks)),
        }
        for case in cases
    ]


def _of_runs(case: CaseResult, runs: int) -> dict[str, str]:
    passed = sum(run.passed for run in case.runs)
    power = f"{case.pass_power(runs):.2f}" if len(case.runs) >= runs else ""
    return {"runs passed": f"{passed} of {len(case.runs)}", f"pass^{runs}": power}


def _where(divergence: Divergence | None) -> str:
    if divergence is None:
        return ""
    return f"turn {divergence.turn + 1}, step {divergence.step + 1}: {verdict_words(divergence)}"


def verdict_words(divergence: Divergence) -> str:
    """Return what has changed: more than one thing, where more than one has."""
    return ", ".join(VERDICTS[each] for each in (divergence.verdict, *divergence.also))


def where_of(case: CaseResult | None) -> str:
    """Return at which step a case goes another way, as the beginning of a sentence; empty where it does not, or nobody knows."""
    runs = case.runs if case is not None else ()
    found = next((run.divergence for run in runs if run.divergence is not None), None)
    return f"Turn {found.turn + 1}, step {found.step + 1}: " if found is not None else ""


def why_of(case: CaseResult) -> str:
    """Return why a case did not pass, in the words of the first run that did not."""
    if case.error:
        return case.error
    failed = next((run for run in case.runs if not run.passed), None)
    if failed is None:
        return ""
    if failed.divergence is None and failed.edited:
        return " ".join(failed.edited)
    if failed.divergence is None:
        checks = (check_words(check) for check in failed.checks if check.status in {"failed", "error"})
        return failed.error or "; ".join(checks)
    return failed.divergence.sentence


def check_words(check: Check) -> str:
    """Name a check, with what it tells."""
    return f"{check.name}: {check.detail}" if check.detail else check.name


def fitting(cases: Sequence[CaseResult], text: str, verdict: str) -> list[CaseResult]:
    """Return the cases whose id holds a text, and that have a verdict; "all" for any."""
    wanted = text.strip().lower()
    return [case for case in cases if wanted in case.eval_id.lower() and verdict in {"all", case.status}]


def step_text(step: Step | None) -> str:
    """Write a step as it is shown beside another one."""
    if step is None:
        return "(nothing)"
    match step.kind:
        case "call":
            return _short(f"{step.tool}({_json(step.value)})")
        case "response":
            return _short(f"{step.tool} responds\n{_json(step.value)}")
        case "state":
            return _short(f"state\n{_json(step.value)}")
        case "query":
            return _short(f"user: {step.text}")
        case _:
            return _short(f"agent: {step.text}")


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


def _short(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}\n... {len(text):,} characters"


def difference_rows(divergence: Divergence) -> list[dict[str, str]]:
    """Return a row for each place at which arguments, a response or the state differ."""
    return [
        {
            "place": literal(each.path or "(whole value)"),
            "golden": literal(_short(_json(each.golden))) if each.in_golden else "(absent)",
            "actual": literal(_short(_json(each.actual))) if each.in_actual else "(absent)",
        }
        for each in divergence.differences
    ]


TEXT_MARKS = ":red-background[~~only {}~~] and :green-background[**only {}**]"
"""Says how `marked_text` shows what only one of two texts has."""
_AROUND = {
    "same": ("", ""),
    "golden": (":red-background[~~", "~~]"),
    "actual": (":green-background[**", "**]"),
}


def marked_text(pieces: Sequence[TextPiece]) -> str:
    """Write two texts as one in Markdown that shows each text literally: what only the golden has is struck, what only the actual one has is bold."""
    shown, left = "", MOST_SHOWN
    for each in pieces:
        shown += "  \n\u2060".join(
            _marked(line, *_AROUND[each.kind]) for line in each.text[:left].split("\n")
        )
        left = max(0, left - len(each.text))
    return shown if left else f"{shown} \u2026 {sum(len(each.text) for each in pieces):,} characters"


def _marked(line: str, start: str, end: str) -> str:
    """Mark a line, without the spaces around it."""
    if not (words := line.strip()):
        return line and " "
    before, _, after = line.partition(words)
    shown = safe_label(words, MOST_SHOWN).replace("[", r"\[").replace("]", r"\]")
    return f"{before and ' '}{start}{shown}{end}{after and ' '}"


def side_by_side(pairs: Sequence[Pair]) -> list[tuple[str, str, bool]]:
    """Return golden, actual, and whether they differ, for each pair of steps."""
    return [(step_text(pair.golden), step_text(pair.actual), pair.differs) for pair in pairs]
