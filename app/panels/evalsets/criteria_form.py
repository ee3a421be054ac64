"""The criteria of an evaluation as a form: each of ADK's switched on or off, with its threshold and what else it can be told."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st
from pydantic import JsonValue

from app.bench import Bench
from app.panels.evalsets.remembered import followed_key
from evalset.eval_config.criteria import ALWAYS_REPORTED, CRITERIA, NEEDS, Criterion
from evalset.eval_config.editing import (
    criteria_in,
    option,
    rubric_lines,
    rubrics_from,
    threshold,
    with_option,
    with_threshold,
)
from simulator.jsonvalue import JsonObject

_NEEDS_ICONS = {"nothing": "", "judge": ":material/psychology:", "vertex": ":material/cloud:"}
_NEEDS_WORDS = {"nothing": "", "judge": "needs a model", "vertex": "needs Vertex AI"}
_MATCHES = {
    "EXACT": "Exactly these calls",
    "IN_ORDER": "These in order, others between",
    "ANY_ORDER": "These in any order, others too",
}
_NUMBERS = ("0", "1", "2")
_COLUMNS = (2.4, 1)
_JUDGE = "judge_model_options"


def criteria_form(bench: Bench, document: JsonObject) -> None:
    """Draw a line for each criterion; what is changed goes into the bench's draft."""
    named = criteria_in(document)
    for criterion in CRITERIA:
        with st.container(key=f"criterion_{criterion.name}", gap="xsmall"):
            _line(bench, document, criterion, is_on=criterion.name in named)
    st.caption(
        "ADK reports calls, model calls, tokens and seconds of each run by itself: "
        + ", ".join(f"`{name}`" for name in ALWAYS_REPORTED)
        + "."
    )


def _line(bench: Bench, document: JsonObject, criterion: Criterion, *, is_on: bool) -> None:
    if not is_on:
        _switch(bench, criterion, is_on=False)
        return
    left, right = st.columns(_COLUMNS, gap="small", vertical_alignment="center")
    with left:
        _switch(bench, criterion, is_on=True)
    with right:
        _threshold(bench, document, criterion)
    if criterion.kind != "plain":
        with st.expander("More", key=f"more_{criterion.name}", type="compact"):
            _more(bench, document, criterion)


def _switch(bench: Bench, criterion: Criterion, *, is_on: bool) -> None:
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        wanted = st.toggle(
            criterion.title,
            key=followed_key(bench, f"on_{criterion.name}", is_on),
            help=f"`{criterion.name}`: {criterion.sentence} {NEEDS[criterion.needs]}",
        )
        if criterion.needs != "nothing":
            st.badge(_NEEDS_WORDS[criterion.needs], icon=_NEEDS_ICONS[criterion.needs], color="gray")
    if wanted != is_on:
        bench.criteria.switch(criterion.name, on=wanted)
        st.rerun()


def _threshold(bench: Bench, document: JsonObject, criterion: Criterion) -> None:
    now = threshold(document, criterion.name)
    if now is None:
        st.caption("Its threshold is no number; see the JSON.")
        return
    said = st.number_input(
        f"Threshold of {criterion.title}",
        key=followed_key(bench, f"least_{criterion.name}", now),
        step=0.05,
        format="%.2f",
        label_visibility="collapsed",
        help=f"From {criterion.lowest:g} to {criterion.highest:g}: a score of at least this passes",
    )
    if said is not None and said != now:
        bench.criteria.take(with_threshold(document, criterion.name, said))
        st.rerun()


def _more(bench: Bench, document: JsonObject, criterion: Criterion) -> None:
    options = _Options(bench, document, criterion.name)
    match criterion.kind:
        case "trajectory":
            _trajectory(options)
        case "rubrics":
            _rubrics(options, criterion)
        case "hallucinations":
            options.flag("evaluate_intermediate_nl_responses", "Look at texts between the calls too")
        case "user_simulator":
            options.line(("stop_signal",), "Stop signal", "</finished>")
    if criterion.kind in {"judge", "rubrics"}:
        options.flag(
            "include_intermediate_responses_in_final", "Show texts between the calls to the judge too"
        )
    if criterion.kind != "trajectory":
        _judge(options)


class _Options(NamedTuple):
    """What one criterion can be told beside its threshold."""

    bench: Bench
    document: JsonObject
    name: str

    def held(self, *path: str) -> Any:
        """Give an option as the document has it."""
        return option(self.document, self.name, path)

    def key(self, field: str, value: JsonValue) -> str:
        """Let the input of an option show what the document has."""
        return followed_key(self.bench, f"{field}_{self.name}", value)

    def put(self, path: Sequence[str], value: JsonValue) -> None:
        """Put an option into the draft; None takes it away."""
        self.bench.criteria.take(with_option(self.document, self.name, path, value))
        st.rerun()

    def flag(self, field: str, label: str) -> None:
        """Draw an option that is on or off, and off where nothing is said."""
        now = self.held(field) is True
        wanted = st.checkbox(label, key=self.key(field, now))
        if wanted != now:
            self.put((field,), True if wanted else None)

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


def _trajectory(options: _Options) -> None:
    said = str(options.held("match_type") or "EXACT")
    plain = said.strip().upper().replace("-", "_").replace(" ", "_")
    now = dict(zip(_NUMBERS, _MATCHES, strict=True)).get(plain, plain)
    if now in _MATCHES:
        wanted = st.selectbox(
            "The calls match",
            list(_MATCHES),
            key=options.key("match", now),
            format_func=lambda match: _MATCHES[match],
        )
        if wanted != now:
            options.put(("match_type",), None if wanted == "EXACT" else wanted)
    else:
        st.caption("Its `match_type` is none that ADK knows; see the JSON.")
    options.flag("ignore_args", "Compare the names of the tools alone, and not the arguments")


def _rubrics(options: _Options, criterion: Criterion) -> None:
    before = options.held("rubrics")
    now = rubric_lines(before)
    said = st.text_area(
        "Rubrics, one in a line: `id: what it wants`",
        key=options.key("rubrics", now),
        height=110,
        placeholder="polite: The response is polite.\nnames_order: The response names the order.",
        help=f"Cases may bring their own, of the type `{criterion.rubric_type}`; both are asked about",
    )
    if said is not None and said.strip() != now.strip():
        made: JsonValue = rubrics_from(said, before) or None
        options.put(("rubrics",), made)


def _judge(options: _Options) -> None:
    left, middle, right = st.columns((2, 1, 1), gap="small")
    with left:
        options.line((_JUDGE, "judge_model"), "Judge", "gemini-2.5-flash")
    with middle:
        options.number((_JUDGE, "num_samples"), "Asked so often", 5)
    with right:
        options.number((_JUDGE, "parallelism_limit"), "At once", 1)
