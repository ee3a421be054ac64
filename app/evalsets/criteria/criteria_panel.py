"""The editor of an evaluation's criteria: a form, the JSON behind it, what is wrong with it, and the file that it is saved in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from pydantic import JsonValue

from app.evalsets.choices_panel import followed_key, keep_option, key_of, option_key
from app.evalsets.run.adk_eval_jobs import TOLERANT, AdkEvalOptions, check_metrics, criteria_of
from app.evalsets.set_context import environment_of
from app.evalsets.workspace import Workspace
from app.forms.common_panel import problem
from app.forms.safe_labels import literal
from app.forms.typed_json import TypedJsonError, parse_object, write_json
from app.forms.widget_store import slug
from app.session.named_view_widgets import named_views
from evalset.eval_config.config_checks import VERTEX, Flaw, check, unmet
from evalset.eval_config.config_edits import (
    ALWAYS_REPORTED,
    CRITERIA,
    INTERVAL,
    METRIC_OBJECTS,
    NEEDS,
    Criterion,
    criteria_in,
    criterion_named,
    custom_metrics,
    option,
    rubric_lines,
    rubrics_from,
    threshold,
    value_at,
    with_metric_field,
    with_option,
    with_threshold,
    with_value,
    with_values,
    without_values,
)
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import JsonObject
from simulator.base.model_settings import server_settings_in
from simulator.kernel.kernel_agent import model_problem, variables_set

SIDES = ("Form", "JSON")


def criteria_editor(
    workspace: Workspace,
    choice: AdkEvalOptions,
    scenarios: int = 0,
    config: SimulatedAgentConfig | None = None,
) -> None:
    """Draw the editor.

    Args:
        workspace: The eval set.
        choice: What is run with the criteria.
        scenarios: How many cases a simulated user plays.
        config: The agent that is evaluated; None where it is not loaded.
    """
    draft = workspace.criteria
    side, save = _head(workspace)
    st.caption("For `adk eval` and `golden-trace eval`. Verify has its own options.")
    if draft.problem:
        problem("Loading or saving the criteria failed.", draft.problem)
    document = draft.document
    if document is None:
        problem("Invalid JSON. The form and the run are unavailable.", draft.flaw)
    else:
        _used(workspace, choice, document)
    if side == "JSON" or document is None:
        _raw(workspace)
    else:
        _form(workspace, document)
    if document is not None:
        _flaws(check(document))
        problem_of = partial(model_problem, config=config)
        found = unmet(document, variables_set(VERTEX, config), problem_of=problem_of, scenarios=scenarios)
        _unmet(list(found), is_agents=config is not None and config.runs_elsewhere)
    _buttons(workspace)
    if save:
        _save(workspace)
        st.rerun()


def _head(workspace: Workspace) -> tuple[str, bool]:
    """Draw the heading; return the side that was chosen, and whether to save."""
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", key="head_criteria", wrap=False
    ):
        st.markdown("**Criteria**", width="content")
        _kept(workspace)
        save = _save_button(workspace)
        st.space("stretch")
        return named_views("Criteria: view", SIDES, "criteria_side", "criteria"), save


def _kept(workspace: Workspace) -> None:
    draft = workspace.criteria
    if draft.is_saved:
        st.badge("Saved", icon=":material/check:", color="green")
    elif draft.has_file:
        st.badge("Not saved", icon=":material/edit:", color="orange")
    else:
        st.badge("No file yet", color="gray")


def _used(workspace: Workspace, choice: AdkEvalOptions, document: JsonObject) -> None:
    """Say what a run uses where that is not what the editor shows."""
    try:
        used = criteria_of(workspace, choice)
    except (ValueError, OSError):  # the run says it
        return
    if used != document:
        names = " and ".join(
            f"`{name}`" for name in custom_metrics(used) if name not in custom_metrics(document)
        )
        st.caption(
            f"No criteria are saved, and a case has recorded tolerances. A run uses {names} with these tolerances."
        )


def _form(workspace: Workspace, document: JsonObject) -> None:
    criteria_form(workspace, document)
    with st.expander("Custom metrics", key="own_metrics", type="compact"):
        own_metrics(workspace, document)
    with st.expander("Simulated user", key="simulated_user", type="compact"):
        st.caption("For cases that contain a scenario instead of a conversation. It calls a model.")
        simulated_user(workspace, document)
    with st.expander("Live mode", key="live_mode", type="compact"):
        live_mode(workspace, document)


def _raw(workspace: Workspace) -> None:
    said = st.text_area(
        "EvalConfig of ADK as JSON",
        key=followed_key(workspace, "criteria_json", workspace.criteria.text),
        height=380,
        label_visibility="collapsed",
    )
    if said is not None and said != workspace.criteria.text:
        workspace.criteria.text = said
        st.rerun()


def _flaws(flaws: tuple[Flaw, ...]) -> None:
    for severity, words, show in (
        ("error", "`adk eval` cannot evaluate these criteria as intended.", st.error),
        ("warning", "These criteria may not work as intended.", st.warning),
    ):
        found = [flaw for flaw in flaws if flaw.severity == severity]
        if found:
            show(words, icon=":material/error:" if severity == "error" else ":material/warning:")
            lines = "\n".join(f"{flaw.place}: {flaw.sentence}" for flaw in found)
            st.code(literal(lines), language=None, wrap_lines=True)


def _unmet(sentences: list[str], *, is_agents: bool) -> None:
    if sentences:
        where = (
            "in the agent's process."
            if is_agents
            else "with the keys that the studio was started with. The agent's `.env` may contain others."
        )
        st.warning(f"Unavailable {where} A metric without a score fails no case.", icon=":material/key_off:")
        st.code(literal("\n".join(sentences)), language=None, wrap_lines=True)


def _save_button(workspace: Workspace) -> bool:
    return st.button(
        "Save",
        key=key_of(workspace, "criteria_save"),
        icon=":material/save:",
        disabled=workspace.criteria.document is None,
        help="Saves them where `adk eval` finds them for all sets in this folder",
    )


def _buttons(workspace: Workspace) -> None:
    draft = workspace.criteria
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        if st.button(
            "Reload",
            key=key_of(workspace, "criteria_load"),
            type="tertiary",
            icon=":material/refresh:",
            help="Discards unsaved changes",
        ):
            draft.load()
            st.rerun()
        with st.container(key="criteria_path"):
            st.text(literal(str(draft.path)), wrap=False)


def _save(workspace: Workspace) -> None:
    """Save the criteria, unless they hold what a text does not decide: `adk eval` in a terminal would follow the file."""
    draft = workspace.criteria
    document = draft.document or {}
    draft.problem = "\n".join(map(str, server_settings_in(document)))
    try:
        check_metrics(workspace, document)
    except ValueError as error:
        draft.problem = str(error)
    if not draft.problem:
        draft.save()


# The criteria of an evaluation as a form: each of ADK's switched on or off, with its threshold and what else it can be told.


_NEEDS_ICONS = {"nothing": "", "judge": ":material/psychology:", "vertex": ":material/cloud:"}
_NEEDS_WORDS = {"nothing": "", "judge": "needs a model", "vertex": "needs Vertex AI"}
_MATCHES = {
    "EXACT": "Exactly these calls",
    "IN_ORDER": "In order, extra calls allowed",
    "ANY_ORDER": "In any order, extra calls allowed",
}
_NUMBERS = ("0", "1", "2")
_COLUMNS = (2.4, 1)
_JUDGE = "judge_model_options"
_MOST = 1 << 53
"""From here on a browser does not count exactly."""
_JUDGE_CONFIG = (_JUDGE, "judge_model_config")
_JUDGE_FIELDS: tuple[tuple[tuple[str, ...], str, str, float], ...] = (
    (("temperature",), "Temperature", "The model's default", 0.1),
    (("max_output_tokens",), "Maximum output tokens", "The model's default", 1),
    (("thinking_config", "thinking_budget"), "Thinking budget", "The model's default", 1),
)
"""What most people set of ADK's `GenerateContentConfig`: the field, its label, what holds without it, and the step of its number."""


def criteria_form(workspace: Workspace, document: JsonObject) -> None:
    """Draw a line for each criterion; what is changed goes into the workspace's draft."""
    named = criteria_in(document)
    for criterion in CRITERIA:
        with st.container(key=f"criterion_{criterion.name}", gap="xsmall"):
            _line(workspace, document, criterion, is_on=criterion.name in named)
    st.caption(
        "ADK always reports calls, model calls, tokens and seconds of each run: "
        + ", ".join(f"`{name}`" for name in ALWAYS_REPORTED)
        + "."
    )


def _line(workspace: Workspace, document: JsonObject, criterion: Criterion, *, is_on: bool) -> None:
    if not is_on:
        _switch(workspace, criterion, is_on=False)
        return
    left, right = st.columns(_COLUMNS, gap="small", vertical_alignment="center")
    with left:
        _switch(workspace, criterion, is_on=True)
    with right:
        _threshold(workspace, document, criterion)
    if criterion.kind != "plain":
        with st.expander("More", key=f"more_{criterion.name}", type="compact"):
            _more(workspace, document, criterion)


def _switch(workspace: Workspace, criterion: Criterion, *, is_on: bool) -> None:
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        wanted = st.toggle(
            criterion.title,
            key=followed_key(workspace, f"on_{criterion.name}", is_on),
            help=f"`{criterion.name}`: {criterion.sentence} {NEEDS[criterion.needs]}",
        )
        if criterion.needs != "nothing":
            st.badge(_NEEDS_WORDS[criterion.needs], icon=_NEEDS_ICONS[criterion.needs], color="gray")
    if wanted != is_on:
        workspace.criteria.switch(criterion.name, on=wanted)
        st.rerun()


def _threshold(workspace: Workspace, document: JsonObject, criterion: Criterion) -> None:
    now = threshold(document, criterion.name)
    if now is None:
        st.caption("The threshold is not a number. Edit it in the JSON view.")
        return
    said = st.number_input(
        f"Threshold of {criterion.title}",
        key=followed_key(workspace, f"least_{criterion.name}", now),
        step=0.05,
        format="%.2f",
        label_visibility="collapsed",
        help=f"From {criterion.lowest:g} to {criterion.highest:g}. A score of at least this value passes",
    )
    if said is not None and said != now:
        workspace.criteria.take(with_threshold(document, criterion.name, said))
        st.rerun()


def _more(workspace: Workspace, document: JsonObject, criterion: Criterion) -> None:
    options = _Options(workspace, document, criterion.name)
    match criterion.kind:
        case "trajectory":
            _trajectory(options)
        case "rubrics":
            _rubrics(options, criterion)
        case "hallucinations":
            options.flag("evaluate_intermediate_nl_responses", "Also check texts between calls")
        case "user_simulator":
            options.line(("stop_signal",), "Stop signal", "</finished>")
    if criterion.kind in {"judge", "rubrics"}:
        options.flag("include_intermediate_responses_in_final", "Also show the judge texts between calls")
    if criterion.kind != "trajectory":
        _judge(options)


@dataclass(frozen=True)
class _Options:
    """What one criterion can be told beside its threshold."""

    workspace: Workspace
    document: JsonObject
    name: str

    def held(self, *path: str) -> Any:
        """Return an option as the document has it."""
        return option(self.document, self.name, path)

    def key(self, field: str, value: JsonValue) -> str:
        """Let the input of an option show what the document has."""
        return followed_key(self.workspace, f"{field}_{self.name}", value)

    def put(self, path: Sequence[str], value: JsonValue) -> None:
        """Put an option into the draft; None takes it away."""
        self.workspace.criteria.take(with_option(self.document, self.name, path, value))
        st.rerun()

    def flag(self, field: str, label: str, *way: str) -> None:
        """Draw an option that is on or off, and off where nothing is said; `way` leads to its field."""
        now = self.held(*way, field) is True
        wanted = st.checkbox(label, key=self.key(field, now))
        if wanted != now:
            self.put((*way, field), True if wanted else None)

    def line(self, path: Sequence[str], label: str, usual: str) -> None:
        """Draw an option that is a text, with the usual one where nothing is said."""
        now = str(self.held(*path) or "")
        said = (st.text_input(label, key=self.key(path[-1], now), placeholder=usual) or "").strip()
        if said != now.strip():
            self.put(path, said or None)

    def number(self, path: Sequence[str], label: str, usual: int) -> None:
        """Draw an option that counts, with the usual number where nothing is said."""
        held = self.held(*path)
        now = held if isinstance(held, int) and not isinstance(held, bool) and held > 0 else usual
        said = st.number_input(label, key=self.key(path[-1], now), min_value=1, step=1)
        if said is not None and said != now:
            self.put(path, None if said == usual else said)

    def optional(self, path: Sequence[str], label: str, usual: str, step: float) -> None:
        """Draw an option that is a number or nothing; a whole one where the step is. What is neither is left to the JSON."""
        held, kind = self.held(*path), type(step)
        is_number = isinstance(held, (int, kind)) and not isinstance(held, bool)
        if held is not None and not (is_number and abs(held) < _MOST):
            st.caption(f"{label}: not a number. Edit it in the JSON view.")
            return
        now = None if held is None else kind(held)
        said = st.number_input(label, value=None, key=self.key(path[-1], now), step=step, placeholder=usual)
        if said != now:
            self.put(path, said)

    def rest(self, path: Sequence[str], label: str, but: Sequence[tuple[str, ...]]) -> None:
        """Draw as JSON what an object holds beside the options `but`, which have inputs."""
        held: JsonObject = self.held(*path) or {}
        now = without_values(held, but)
        text = st.text_area(
            label,
            key=self.key(path[-1], write_json(now) if now else ""),
            height=90,
            placeholder='{"top_p": 0.9, "seed": 7}',
        )
        try:
            said = parse_object(text) if text and text.strip() else {}
        except TypedJsonError as error:
            st.error(f"Invalid JSON on line {error.line}, column {error.column}: {error.message}.")
            return
        if said != now:
            self.put(path, with_values(said, but, held) or None)


def _trajectory(options: _Options) -> None:
    said = str(options.held("match_type") or "EXACT")
    plain = said.strip().upper().replace("-", "_").replace(" ", "_")
    now = dict(zip(_NUMBERS, _MATCHES, strict=True)).get(plain, plain)
    if now in _MATCHES:
        wanted = st.selectbox(
            "Match type",
            list(_MATCHES),
            key=options.key("match", now),
            format_func=lambda match: _MATCHES[match],
        )
        if wanted != now:
            options.put(("match_type",), None if wanted == "EXACT" else wanted)
    else:
        st.caption("ADK does not support this `match_type`. Edit it in the JSON view.")
    options.flag("ignore_args", "Compare only tool names, not arguments")


def _rubrics(options: _Options, criterion: Criterion) -> None:
    before = options.held("rubrics")
    now = rubric_lines(before)
    said = st.text_area(
        "Rubrics, one per line: `id: statement`",
        key=options.key("rubrics", now),
        height=110,
        placeholder="polite: The response is polite.\nnames_order: The response names the order.",
        help=f"Cases can add their own rubrics of type `{criterion.rubric_type}`. Both are judged",
    )
    if said is not None and said.strip() != now.strip():
        made: JsonValue = rubrics_from(said, before) or None
        options.put(("rubrics",), made)


def _judge(options: _Options) -> None:
    left, middle, right = st.columns((2, 1, 1), gap="small")
    with left:
        options.line((_JUDGE, "judge_model"), "Judge model", "gemini-2.5-flash")
    with middle:
        options.number((_JUDGE, "num_samples"), "Samples", 5)
    with right:
        options.number((_JUDGE, "parallelism_limit"), "Parallel", 1)
    if not isinstance(options.held(*_JUDGE_CONFIG), dict | None):
        st.caption("`judge_model_config` is not an object. Edit it in the JSON view.")
        return
    for column, (path, label, usual, step) in zip(st.columns(3, gap="small"), _JUDGE_FIELDS, strict=True):
        with column:
            options.optional((*_JUDGE_CONFIG, *path), label, usual, step)
    fields = [path for path, *_ in _JUDGE_FIELDS]
    options.rest(_JUDGE_CONFIG, "Other settings of the judge (JSON)", fields)


# What else an evaluation can be told beside ADK's own criteria: metrics of one's own, the simulated user, live mode.


_CUSTOM, _INFO = "custom_metrics", ("metric_info",)
_ENDS = (("min", "Lowest score", "0"), ("max", "Highest score", "1"))
_USER = "user_simulator_config"
_LIVE = "live_model_config"
_LIVE_SECONDS = 300
_MOST_TURNS = 20


def own_metrics(workspace: Workspace, document: JsonObject) -> None:
    """Draw the metrics of one's own, and the way to add one."""
    if environment_of(workspace.eval_set) is not None and st.button(
        "Use recorded tolerances",
        key=key_of(workspace, "own_tolerant"),
        icon=":material/rule:",
        disabled=TOLERANT in custom_metrics(document).values(),
        help="Compares calls like `tool_trajectory_avg_score`, but applies the recorded tolerances",
    ):
        workspace.criteria.heed_tolerances(workspace.eval_set)
        st.rerun()
    for name, path in custom_metrics(document).items():
        _own_metric(workspace, document, name, path)
    left, middle, right = st.columns((1, 1.6, 0.6), gap="small", vertical_alignment="bottom")
    with left:
        name = st.text_input("Name", key=option_key(workspace, "own_name", ""), placeholder="names_the_order")
    with middle:
        path = st.text_input(
            "Function",
            key=option_key(workspace, "own_path", ""),
            placeholder="package.module.function",
            help="Import path. ADK calls the function with the metric, the actual and expected turns, and the scenario",
        )
    keep_option(workspace, "own_name", name or "")
    keep_option(workspace, "own_path", path or "")
    with right:
        added = st.button("Add", key=key_of(workspace, "own_add"), icon=":material/add:")
    if not added:
        return
    said, where = (name or "").strip(), (path or "").strip()
    if problem := _refused(said, where):
        st.error(problem, icon=":material/error:")
        return
    workspace.criteria.own_metric(said, where)
    workspace.options.update(own_name="", own_path="")
    st.rerun()


def _refused(name: str, path: str) -> str:
    if not name or not path:
        return "A custom metric needs a name and the path of its function."
    if criterion_named(name) is not None:
        return "ADK already has a metric with this name. Choose another name."
    return ""


def _own_metric(workspace: Workspace, document: JsonObject, name: str, path: str) -> None:
    left, middle, right = st.columns((2, 1, 0.6), gap="small", vertical_alignment="center")
    with left:
        st.text(literal(f"{name}: {path}"))
    now = threshold(document, name)
    with middle:
        said = st.number_input(
            "Threshold of a custom metric",
            key=followed_key(workspace, f"least_own_{slug(name)}", 0.0 if now is None else now),
            step=0.05,
            format="%.2f",
            label_visibility="collapsed",
        )
    if now is not None and said is not None and said != now:
        workspace.criteria.take(with_threshold(document, name, said))
        st.rerun()
    with right:
        if st.button(
            "Remove",
            key=key_of(workspace, f"own_gone_{slug(name)}"),
            type="tertiary",
            icon=":material/delete:",
        ):
            workspace.criteria.own_metric(name, None)
            st.rerun()
    with st.expander("More", key=f"more_own_{slug(name)}", type="compact"):
        _metric_info(_MetricOptions(workspace, document, name))


class _MetricOptions(_Options):
    """What ADK is told about a custom metric."""

    def held(self, *path: str) -> Any:
        """Return a field of it as the document has it."""
        return value_at(self.document, (_CUSTOM, self.name, *path))

    def put(self, path: Sequence[str], value: JsonValue) -> None:
        """Put a field of it into the draft; None takes it away."""
        self.workspace.criteria.take(with_metric_field(self.document, self.name, path, value))
        st.rerun()


def _metric_info(options: _MetricOptions) -> None:
    odd = [way for way in METRIC_OBJECTS if not isinstance(options.held(*way), dict | None)]
    if odd:
        st.caption(f"`{'.'.join(odd[0])}` is not an object. Edit it in the JSON view.")
        return
    has_info = options.held(*_INFO) is not None
    options.line((*_INFO, "description") if has_info else ("description",), "Description", "What it measures")
    for column, (end, label, usual) in zip(st.columns(2, gap="small"), _ENDS, strict=True):
        with column:
            options.optional((*INTERVAL, f"{end}_value"), label, usual, 0.05)
            options.flag(f"open_at_{end}", f"{label.split()[0]} is exclusive", *INTERVAL)
    st.caption("The range only describes the scores. The threshold decides what passes.")


def simulated_user(workspace: Workspace, document: JsonObject) -> None:
    """Draw what ADK's simulated user is told, who plays the cases that hold a scenario."""
    left, right = st.columns((2, 1), gap="small")
    with left:
        _user_text(workspace, document, "model", "Model", "gemini-2.5-flash")
    with right:
        held = value_at(document, (_USER, "max_allowed_invocations"))
        now = held if isinstance(held, int) and not isinstance(held, bool) else _MOST_TURNS
        said = st.number_input(
            "Maximum turns",
            key=followed_key(workspace, "user_turns", now),
            min_value=-1,
            step=1,
            help="Includes the first message. -1 means no limit: a conversation may then never end",
        )
        _set(
            workspace,
            document,
            (_USER, "max_allowed_invocations"),
            None if said == _MOST_TURNS else said,
            said != now,
        )
    shown = value_at(document, (_USER, "include_function_calls")) is True
    wanted = st.checkbox("Sees tool calls and responses", key=followed_key(workspace, "user_calls", shown))
    _set(workspace, document, (_USER, "include_function_calls"), True if wanted else None, wanted != shown)
    _user_text(
        workspace,
        document,
        "custom_instructions",
        "Instructions",
        "Jinja template with {{ stop_signal }}, {{ conversation_plan }} and {{ conversation_history }}. Empty: ADK's default",
        lines=True,
    )


def _user_text(
    workspace: Workspace, document: JsonObject, field: str, label: str, hint: str, *, lines: bool = False
) -> None:
    now = str(value_at(document, (_USER, field)) or "")
    key = followed_key(workspace, f"user_{field}", now)
    said = (
        st.text_area(label, key=key, placeholder=hint, height=90)
        if lines
        else st.text_input(label, key=key, placeholder=hint)
    ) or ""
    _set(workspace, document, (_USER, field), said if said.strip() else None, said != now)


def live_mode(workspace: Workspace, document: JsonObject) -> None:
    """Draw whether the agent is run live, as models for speech want it."""
    held = value_at(document, (_LIVE,))
    is_on = isinstance(held, dict)
    wanted = st.checkbox(
        "Run the agent live (bidirectional streaming)",
        key=followed_key(workspace, "live", is_on),
        help="For models that use the Live API",
    )
    _set(
        workspace, document, (_LIVE,), {"timeout_seconds": _LIVE_SECONDS} if wanted else None, wanted != is_on
    )
    if not is_on:
        return
    seconds = value_at(document, (_LIVE, "timeout_seconds"))
    now = (
        seconds
        if isinstance(seconds, int) and not isinstance(seconds, bool) and seconds > 0
        else _LIVE_SECONDS
    )
    said = st.number_input(
        "Timeout per turn (s)", key=followed_key(workspace, "live_seconds", now), min_value=1, step=10
    )
    _set(workspace, document, (_LIVE, "timeout_seconds"), said, said != now)


def _set(
    workspace: Workspace, document: JsonObject, path: tuple[str, ...], value: JsonValue, is_new: bool
) -> None:
    if not is_new:
        return
    made = with_value(document, path, value)
    if value_at(made, path[:1]) == {}:
        made = with_value(made, path[:1], None)
    workspace.criteria.take(made)
    st.rerun()
