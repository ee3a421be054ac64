"""What else an evaluation can be told beside ADK's own criteria: metrics of one's own, the simulated user, live mode."""

import streamlit as st
from pydantic import JsonValue

from app.bench import Bench
from app.evaluating import TOLERANT
from app.kept import slug
from app.labels import literal
from app.panels.evalsets.remembered import followed_key, keep_option, key_of, option_key
from app.set_facts import environment_of
from evalset.eval_config.criteria import criterion_named
from evalset.eval_config.editing import custom_metrics, threshold, value_at, with_threshold, with_value
from simulator.jsonvalue import JsonObject

_USER = "user_simulator_config"
_LIVE = "live_model_config"
_LIVE_SECONDS = 300
_MOST_TURNS = 20


def own_metrics(bench: Bench, document: JsonObject) -> None:
    """Draw the metrics of one's own, and the way to add one."""
    if environment_of(bench.eval_set) is not None and st.button(
        "Heed the tolerances of the recording",
        key=key_of(bench, "own_tolerant"),
        icon=":material/rule:",
        disabled=TOLERANT in custom_metrics(document).values(),
        help="Compares the calls as `tool_trajectory_avg_score` does, but for the arguments that may differ",
    ):
        bench.criteria.heed_tolerances(bench.eval_set)
        st.rerun()
    for name, path in custom_metrics(document).items():
        _own_metric(bench, document, name, path)
    left, middle, right = st.columns((1, 1.6, 0.6), gap="small", vertical_alignment="bottom")
    with left:
        name = st.text_input("Name", key=option_key(bench, "own_name", ""), placeholder="names_the_order")
    with middle:
        path = st.text_input(
            "Function",
            key=option_key(bench, "own_path", ""),
            placeholder="package.module.function",
            help="Where Python finds it: ADK calls it with the metric, the actual and the expected turns, and the scenario",
        )
    keep_option(bench, "own_name", name or "")
    keep_option(bench, "own_path", path or "")
    with right:
        added = st.button("Add", key=key_of(bench, "own_add"), icon=":material/add:")
    if not added:
        return
    said, where = (name or "").strip(), (path or "").strip()
    if problem := _refused(said, where):
        st.error(problem, icon=":material/error:")
        return
    bench.criteria.own_metric(said, where)
    bench.options.update(own_name="", own_path="")
    st.rerun()


def _refused(name: str, path: str) -> str:
    if not name or not path:
        return "A metric of your own needs a name and the path of its function."
    if criterion_named(name) is not None:
        return "ADK has a metric of this name; take another one."
    return ""


def _own_metric(bench: Bench, document: JsonObject, name: str, path: str) -> None:
    left, middle, right = st.columns((2, 1, 0.6), gap="small", vertical_alignment="center")
    with left:
        st.text(literal(f"{name}: {path}"))
    now = threshold(document, name)
    with middle:
        said = st.number_input(
            "Threshold of a metric of one's own",
            key=followed_key(bench, f"least_own_{slug(name)}", 0.0 if now is None else now),
            step=0.05,
            format="%.2f",
            label_visibility="collapsed",
        )
    if now is not None and said is not None and said != now:
        bench.criteria.take(with_threshold(document, name, said))
        st.rerun()
    with right:
        if st.button(
            "Remove", key=key_of(bench, f"own_gone_{slug(name)}"), type="tertiary", icon=":material/delete:"
        ):
            bench.criteria.own_metric(name, None)
            st.rerun()


def simulated_user(bench: Bench, document: JsonObject) -> None:
    """Draw what ADK's simulated user is told, who plays the cases that hold a scenario."""
    left, right = st.columns((2, 1), gap="small")
    with left:
        _user_text(bench, document, "model", "Model", "gemini-2.5-flash")
    with right:
        held = value_at(document, (_USER, "max_allowed_invocations"))
        now = held if isinstance(held, int) and not isinstance(held, bool) else _MOST_TURNS
        said = st.number_input(
            "Most turns",
            key=followed_key(bench, "user_turns", now),
            min_value=-1,
            step=1,
            help="The first message counts; -1 sets no limit, and a conversation may then never end",
        )
        _set(
            bench,
            document,
            (_USER, "max_allowed_invocations"),
            None if said == _MOST_TURNS else said,
            said != now,
        )
    shown = value_at(document, (_USER, "include_function_calls")) is True
    wanted = st.checkbox("It sees the calls and their answers", key=followed_key(bench, "user_calls", shown))
    _set(bench, document, (_USER, "include_function_calls"), True if wanted else None, wanted != shown)
    _user_text(
        bench,
        document,
        "custom_instructions",
        "Instructions",
        "Jinja with {{ stop_signal }}, {{ conversation_plan }} and {{ conversation_history }}; ADK's own where empty",
        lines=True,
    )


def _user_text(
    bench: Bench, document: JsonObject, field: str, label: str, hint: str, *, lines: bool = False
) -> None:
    now = str(value_at(document, (_USER, field)) or "")
    key = followed_key(bench, f"user_{field}", now)
    said = (
        st.text_area(label, key=key, placeholder=hint, height=90)
        if lines
        else st.text_input(label, key=key, placeholder=hint)
    ) or ""
    _set(bench, document, (_USER, field), said if said.strip() else None, said != now)


def live_mode(bench: Bench, document: JsonObject) -> None:
    """Draw whether the agent is run live, as models for speech want it."""
    held = value_at(document, (_LIVE,))
    is_on = isinstance(held, dict)
    wanted = st.checkbox(
        "Run the agent live (bidirectional streaming)",
        key=followed_key(bench, "live", is_on),
        help="For models of the Live API",
    )
    _set(bench, document, (_LIVE,), {"timeout_seconds": _LIVE_SECONDS} if wanted else None, wanted != is_on)
    if not is_on:
        return
    seconds = value_at(document, (_LIVE, "timeout_seconds"))
    now = (
        seconds
        if isinstance(seconds, int) and not isinstance(seconds, bool) and seconds > 0
        else _LIVE_SECONDS
    )
    said = st.number_input(
        "Seconds for a turn", key=followed_key(bench, "live_seconds", now), min_value=1, step=10
    )
    _set(bench, document, (_LIVE, "timeout_seconds"), said, said != now)


def _set(bench: Bench, document: JsonObject, path: tuple[str, ...], value: JsonValue, is_new: bool) -> None:
    if not is_new:
        return
    made = with_value(document, path, value)
    if value_at(made, path[:1]) == {}:
        made = with_value(made, path[:1], None)
    bench.criteria.take(made)
    st.rerun()
