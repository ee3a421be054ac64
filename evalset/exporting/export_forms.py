"""Exports cases in any of the forms, and says what each form has no words for.

`simulation_text` writes recorded cases as ADK's `EnvironmentSimulationConfig`; the other forms that are more than a few lines have modules of their own.
"""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.eval_set import EvalSet
from google.adk.workflow import BaseNode

from evalset.exporting.adk_test import adk_test
from evalset.exporting.dataset_file import AgentCards, agent_cards, dataset_file, metric_files
from evalset.files.case_text import new_eval_set, set_json
from evalset.files.datasets import ENDING
from evalset.files.eval_names import snake_case
from evalset.golden_trace.scenarios import scenarios_text
from evalset.recorded.recorded_turns import needs_no_model
from evalset.recorded.recording import RecordedCall, RecordedCase, RecordedEnvironment, RejectedCall
from evalset.recorded.recording_files import environment_text, sidecar_of
from simulator.base.json_values import JsonObject, canonical, copied
from simulator.base.validation_words import check_kind
from simulator.environment.injection.adk_config_text import TextForm, WrittenText, config_text
from simulator.environment.injection.adk_injection_config import ReadConfig, unwritable
from simulator.environment.injection.rule_effects import (
    MAX_LATENCY_SECONDS,
    Effect,
    ErrorEffect,
    ResponseEffect,
)
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Failed, Outcome, Raised, Returned

OPENING = '"""Replays the golden traces of '
"""How each of these files begins."""

_TEXT = '''{opening}{name}: no tool runs and no model is called, so this needs no key."""

from pathlib import Path

import pytest

from evalset.verify import verify
from evalset.verify.report import report

EVAL_SET = Path(__file__).with_name({name!r})
{agents}

@pytest.mark.parametrize(
    "eval_id",
    [
{ids}    ],
)
def test_golden_trace(eval_id: str) -> None:
    """The agent makes the same calls in the same order and gives the same final responses."""
    verification = verify(EVAL_SET, cases=[eval_id], models="recorded"{given})
    assert verification.status == "passed", report(verification)
'''


def pytest_text(eval_set: str, eval_ids: Sequence[str], agents_dir: str = "", agent: str = "") -> str:
    """Write the test file of an eval set.

    Args:
        eval_set: The name of the eval set's file, which lies beside the test file, its recorded environment too.
        eval_ids: The cases.
        agents_dir: The folder of the agents, or that of one agent, from the folder of the test file; empty where the eval set lies
            in its agent's folder.
        agent: The agent of all cases, in place of the one that each names.
    """
    given = {"agents_dir": "AGENTS_DIR" if agents_dir else "", "agent": "AGENT" if agent else ""}
    agents = f"AGENTS_DIR = Path(__file__).parent / {agents_dir!r}\n" if agents_dir else ""
    agents += f"AGENT = {agent!r}\n" if agent else ""
    return _TEXT.format(
        opening=OPENING,
        name=eval_set,
        agents=agents,
        ids="".join(f"        {eval_id!r},\n" for eval_id in eval_ids),
        given="".join(f", {name}={value}" for name, value in given.items() if value),
    )


ExportForm: TypeAlias = Literal[
    "evalset",
    "dataset",
    "adk_test",
    "scenarios",
    "pytest",
    "simulation_json",
    "simulation_yaml",
    "simulation_python",
]
EXPORT_FORMS: tuple[ExportForm, ...] = get_args(ExportForm)
_ENDINGS: dict[TextForm, str] = {"json": "json", "yaml": "yaml", "python": "py"}
_NEEDS_PLUGIN = (
    'a test of `adk test` has no recorded environment. Add `HermeticEnvironment("<set>.environment.json", '
    'models="recorded")` to the plugins of the agent\'s `App`. Without it the real tools run, and they must give the same '
    "responses"
)
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


class ExportError(ValueError):
    """There is nothing that the form could hold; the text says why."""


class ExportedFile(NamedTuple):
    """A file: its path in the export, and its text."""

    path: str
    text: str


class Exported(NamedTuple):
    """What was exported; `losses` says in sentences what the form cannot hold."""

    files: tuple[ExportedFile, ...]
    losses: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the file to download is called: the one file, or an archive of all of them."""
        if len(self.files) == 1:
            return self.files[0].path.rpartition("/")[2]
        return f"{self.files[0].path.partition('.')[0].replace('/', '_')}.zip"

    @property
    def content(self) -> bytes:
        """The one file, or a ZIP archive of all of them; the same bytes for the same cases."""
        if len(self.files) == 1:
            return self.files[0].text.encode()
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
            for file in self.files:
                entry = zipfile.ZipInfo(file.path, _LONG_AGO)
                entry.external_attr = 0o644 << 16
                made.writestr(entry, file.text, zipfile.ZIP_DEFLATED)
        return archive.getvalue()


def export_cases(  # long: what each form holds is most of it
    cases: EvalSet | Iterable[EvalCase],
    form: ExportForm,
    *,
    environments: RecordedEnvironment | Mapping[str, RecordedCase] | None = None,
    name: str = "",
    agents_dir: str = "",
    agent: str = "",
    reviews: str = "",
    root_agent: BaseNode | None = None,
    metrics: bool = False,
) -> Exported:
    """Export cases.

    - `evalset`: an eval set, and beside it what is recorded, and the reviews.
    - `dataset`: an evaluation dataset of Agent Platform, which `agents-cli eval` reads, and beside it what is recorded. A golden of several
      turns becomes a case for each turn. An import gives the goldens back as they were.
    - `adk_test`: a file of `adk test` for each case, in the folder `tests` that belongs into the agent's folder. It passes where the
      agent's `App` has a `HermeticEnvironment` with `models="recorded"` among its plugins.
    - `scenarios`: ADK's scenario file, of the cases that hold a scenario.
    - `pytest`: a test file that replays all cases without any key, with the eval set, what is recorded, and the reviews beside it.
    - `simulation_json`, `simulation_yaml`, `simulation_python`: ADK's `EnvironmentSimulationConfig` of what is recorded.

    Args:
        cases: An eval set, or cases.
        form: The form.
        environments: What is recorded of the cases, by their ids.
        name: What the files are called; by default as the eval set.
        agents_dir: For `pytest`: where the agents lie, from the folder of the test file; empty where that is the agent's folder.
        agent: For `pytest`: the agent of all cases, as `golden-trace verify --agent` takes it, where it is not found around the
            test file.
        reviews: The content of the file of their reviews, as `evalset.editing.sidecars.reviews_text` writes it; empty where
            they have none.
        root_agent: For `dataset`: the agent of the cases, whose instructions and tool declarations are written too.
        metrics: For `dataset`: whether to add metrics for `agents-cli eval grade`, and the `eval_config.yaml` that names them.

    Raises:
        ExportError: The form can hold none of the cases.
        ValueError: The form is none of these, or a case holds a number that JSON has no word for.
    """
    if form not in EXPORT_FORMS:
        raise ValueError(f"unknown format {form!r}; available: {', '.join(map(repr, EXPORT_FORMS))}")
    eval_set = cases if isinstance(cases, EvalSet) else _set_of(tuple(cases), name)
    if not eval_set.eval_cases:
        raise ExportError("no cases to export")
    if not isinstance(environments, RecordedEnvironment):
        environments = RecordedEnvironment(cases=dict(environments or {}))
    known = _of_cases(environments, [case.eval_id for case in eval_set.eval_cases])
    called = snake_case(name or eval_set.eval_set_id)
    made = _exported(eval_set, form, known, called, _Agents(agents_dir, agent, root_agent))
    if metrics and form == "dataset":
        added = (ExportedFile(path, text) for path, text in metric_files().items())
        made = made._replace(files=(*made.files, *added))
    if not reviews:
        return made
    if form in {"evalset", "pytest"}:
        return made._replace(files=(*made.files, ExportedFile(f"{called}.review.json", reviews)))
    return made._replace(losses=(*made.losses, "this format has no reviews"))


def _of_cases(environment: RecordedEnvironment, eval_ids: Sequence[str]) -> RecordedEnvironment:
    """Return what is recorded and noted of these cases, in their order."""
    cases = {eval_id: environment.cases[eval_id] for eval_id in eval_ids if eval_id in environment.cases}
    notes = {eval_id: environment.notes[eval_id] for eval_id in eval_ids if eval_id in environment.notes}
    return RecordedEnvironment(cases=cases, notes=notes)


class _Agents(NamedTuple):
    """What is known of the agents: for `pytest` their folder and the one of all cases, for `dataset` the agent itself."""

    folder: str
    name: str
    root: BaseNode | None


def _exported(
    eval_set: EvalSet,
    form: ExportForm,
    known: RecordedEnvironment,
    called: str,
    agents: _Agents,
) -> Exported:
    match form:
        case "evalset":
            return Exported(tuple(_set_files(eval_set, known, called)))
        case "dataset":
            cards = agent_cards(agents.root) if agents.root else None
            return _dataset(eval_set.eval_cases, known, called, cards)
        case "adk_test":
            return _adk_tests(eval_set.eval_cases, known.cases)
        case "scenarios":
            return _scenarios(eval_set.eval_cases, called)
        case "pytest":
            return _pytest(eval_set, known, called, agents.folder, agents.name)
        case "simulation_json" | "simulation_yaml" | "simulation_python":
            return _simulation(known.cases, cast("TextForm", form.removeprefix("simulation_")))


def _set_of(cases: Sequence[EvalCase], name: str) -> EvalSet:
    for case in cases:
        check_kind(case, "conversation", "an EvalCase")
    app = next((case.session_input.app_name for case in cases if case.session_input), "")
    at = max((case.creation_timestamp for case in cases), default=0.0) or time.time()
    return new_eval_set(name or app or "evals", *cases, at=at)


def _set_files(eval_set: EvalSet, known: RecordedEnvironment, name: str) -> Iterator[ExportedFile]:
    yield ExportedFile(f"{name}.evalset.json", set_json(eval_set.model_copy(update={"eval_set_id": name})))
    if known.cases or known.notes:
        yield ExportedFile(f"{name}.environment.json", environment_text(known))


def _dataset(
    cases: Sequence[EvalCase], known: RecordedEnvironment, name: str, agents: AgentCards | None
) -> Exported:
    written = dataset_file(cases, known.cases, agents, known.notes)
    path = f"{name}{ENDING}"
    files = [ExportedFile(path, written.text)]
    if known.cases or known.notes:
        files.append(ExportedFile(str(sidecar_of(path)), environment_text(known)))
    return Exported(tuple(files), written.losses)


def _adk_tests(cases: Sequence[EvalCase], known: Mapping[str, RecordedCase]) -> Exported:
    held = [case for case in cases if case.conversation]
    if not held:
        raise ExportError("no case has a conversation, which `adk test` needs")
    made = {case.eval_id: adk_test(case, known.get(case.eval_id)) for case in held}
    lost = [f"the case {case.eval_id!r} has a scenario and is left out" for case in cases if case not in held]
    return Exported(
        tuple(
            ExportedFile(f"tests/{eval_id.replace('/', '_')}.json", test.text)
            for eval_id, test in made.items()
        ),
        (
            *lost,
            *(loss for test in made.values() for loss in test.losses),
            *([_NEEDS_PLUGIN] if known else []),
        ),
    )


def _scenarios(cases: Sequence[EvalCase], name: str) -> Exported:
    held: list[JsonObject] = [
        case.conversation_scenario.model_dump(mode="json", exclude_none=True)
        for case in cases
        if case.conversation_scenario
    ]
    if not held:
        raise ExportError("no case has a scenario")
    losses = [
        f"the case {case.eval_id!r} has a conversation instead of a scenario and is left out"
        for case in cases
        if not case.conversation_scenario
    ]
    if any(case.session_input and case.session_input.state for case in cases if case.conversation_scenario):
        losses.append(
            "a scenario file has no initial state; `adk eval_set add_eval_case` reads it from another file"
        )
    return Exported((ExportedFile(f"{name}.scenarios.json", scenarios_text(held)),), tuple(losses))


def _pytest(
    eval_set: EvalSet, known: RecordedEnvironment, name: str, agents_dir: str, agent: str
) -> Exported:
    ids = [
        case.eval_id
        for case in eval_set.eval_cases
        if case.conversation and case.eval_id in known.cases and needs_no_model(known.cases[case.eval_id])
    ]
    if not ids:
        raise ExportError("no case can be replayed: no case has recorded models and tools")
    losses = [
        f"the case {case.eval_id!r} is not tested: its models and tools are not recorded"
        for case in eval_set.eval_cases
        if case.eval_id not in ids
    ]
    files = tuple(_set_files(eval_set, known, name))
    test = pytest_text(files[0].path, ids, agents_dir, agent)
    return Exported((ExportedFile(f"test_{name}.py", test), *files), tuple(losses))


def _simulation(known: Mapping[str, RecordedCase], form: TextForm) -> Exported:
    if not known:
        raise ExportError("no case is recorded, so there is nothing to simulate")
    written = simulation_text(known, form)
    return Exported((ExportedFile(f"simulation.{_ENDINGS[form]}", written.text),), tuple(written.losses))


_REAL = "real"
_EVERYTHING_ELSE = (
    "ADK runs the real tool for every call that is not in the configuration, and calls the real model. HermeticEnvironment "
    "does neither"
)


class _Heard(NamedTuple):
    """A recorded call, and where it stands, in words."""

    where: str
    call: RecordedCall

    @property
    def words(self) -> str:
        return f"{self.where}: {_written(self.call)}"


def simulation_text(cases: Mapping[str, RecordedCase], form: TextForm) -> WrittenText:
    """Write recorded cases as a configuration for ADK's own environment simulation.

    Each call becomes an injection for its tool that matches its arguments, the one with the most arguments first, as ADK takes the
    first that matches. The latency is that of real tools.

    Args:
        cases: The cases, by their eval ids.
        form: JSON or YAML for `EnvironmentSimulationConfig.model_validate`, or Python code.

    Returns:
        The text, and in sentences what ADK cannot say: calls that were answered in several ways, exceptions, what was done to the
        state, confirmations, and more.
    """
    lost: list[str] = []
    rules = _rules(cases, lost)
    written = config_text(ReadConfig(rules=rules), form)
    return WrittenText(written.text, [*lost, *_others(cases), *written.losses, _EVERYTHING_ELSE])


def _rules(cases: Mapping[str, RecordedCase], lost: list[str]) -> tuple[InjectionRule, ...]:
    by_tool: dict[str, list[InjectionRule]] = {}
    first: dict[str, tuple[_Heard, Effect]] = {}
    for heard in _all_heard(cases):
        effect = _effect(heard, lost)
        if effect is None:
            continue
        lost += _losses_of(heard)
        question = canonical([heard.call.tool, heard.call.arguments])
        if question in first:
            before, told = first[question]
            if told != effect:
                lost.append(
                    f"{heard.words} has another response than the first time ({before.where}); ADK repeats the first response"
                )
            continue
        first[question] = heard, effect
        rule = _rule(heard.call, effect)
        if reason := unwritable(rule):
            lost.append(f"{heard.words}: {reason}")
        else:
            by_tool.setdefault(rule.tool_name, []).append(rule)
    return tuple(rule for rules in by_tool.values() for rule in _in_order(rules))


def _in_order(rules: Iterable[InjectionRule]) -> Iterator[InjectionRule]:
    """Put the rules of a tool with more arguments first, and number them as ADK does."""
    ordered = sorted(rules, key=lambda rule: -len(rule.match_args or {}))
    for place, rule in enumerate(ordered):
        yield rule.model_copy(update={"rule_id": f"{rule.tool_name}[{place}]"})


def _all_heard(cases: Mapping[str, RecordedCase]) -> Iterator[_Heard]:
    for eval_id in sorted(cases):
        for number, turn in enumerate(cases[eval_id].turns, start=1):
            for call in turn.calls:
                yield _Heard(f"case {eval_id!r}, turn {number}", call)


def _rule(call: RecordedCall, effect: Effect) -> InjectionRule:
    seconds = call.latency_ms / 1000 if call.author.source == _REAL else 0.0
    return InjectionRule(
        rule_id=call.tool,
        tool_name=call.tool,
        match_args=copied(call.arguments) or None,
        latency_seconds=min(round(seconds, 3), MAX_LATENCY_SECONDS),
        effect=effect,
    )


def _effect(heard: _Heard, lost: list[str]) -> Effect | None:
    """Return what ADK is to answer with; None where it has no word for it."""
    call = heard.call
    if call.later is not None:
        lost.append(f"{heard.words} was answered later; ADK returns that response immediately")
        return ResponseEffect(value=copied(call.later))
    return _of_outcome(heard, call.outcome, lost)


def _of_outcome(heard: _Heard, outcome: Outcome, lost: list[str]) -> Effect | None:
    match outcome:
        case Returned(value=value):
            return ResponseEffect(
                value=copied(value) if isinstance(value, dict) else {"result": copied(value)}
            )
        case Failed(error_code=int() as code, error_message=message):
            return ErrorEffect(error_code=code, error_message=message, details=copied(outcome.details))
        case Failed():
            return ResponseEffect(value=outcome.response())
        case Raised(error=error):
            lost.append(
                f"{heard.words} raised {error.short_type}, which ADK's injections cannot do; it is left out"
            )
        case _:
            lost.append(f"{heard.words} has no response; it is left out")
    return None


def _losses_of(heard: _Heard) -> Iterator[str]:
    call, effects = heard.call, heard.call.effects
    done = {
        f"changed the state ({', '.join(effects.state_delta)})": bool(effects.state_delta),
        f"saved {', '.join(each.filename for each in effects.artifacts)}": bool(effects.artifacts),
        f"set {', '.join(effects.actions)}": bool(effects.actions),
        "sent its own events": bool(effects.events),
        "ended the invocation": effects.end_invocation,
    }
    for what, happened in done.items():
        if happened:
            yield f"{heard.words} {what}, which ADK's injections cannot do"
    if call.confirmed is not None:
        yield f"{heard.words} was confirmed by a person; ADK's injections respond before anyone is asked"
    if call.within:
        yield f"{heard.words} was made by {' in '.join(reversed(call.within))}; ADK ignores this"


def _others(cases: Mapping[str, RecordedCase]) -> Iterator[str]:
    """Return what stands in the cases beside their calls."""
    for eval_id in sorted(cases):
        for number, turn in enumerate(cases[eval_id].turns, start=1):
            where = f"case {eval_id!r}, turn {number}"
            for refused in turn.rejected:
                yield f"{where}: {_written(refused)} was rejected by a person; ADK asks again"
            if turn.code:
                yield f"{where}: the output of the agent's code is left out, because ADK runs the code"


def _written(call: RecordedCall | RejectedCall) -> str:
    arguments: JsonObject = call.arguments
    return f"{call.tool}({', '.join(f'{name}={canonical(value)}' for name, value in arguments.items())})"
