"""The menu of the faults that can answer one tool call: the usual ones, and all others by a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from app.forms.safe_labels import safe_label
from app.live.rule_text import latency_words
from simulator.environment.injection.rule_effects import OF_A_RESPONSE, OF_ONE_CALL
from simulator.environment.injection.rule_sets import Fault, faults, search
from simulator.environment.injection.rules import InjectionRule

USUAL = (
    "http_504",
    "http_408",
    "http_503",
    "http_500",
    "http_429",
    "http_404",
    "http_401",
    "empty_object",
    "null_result",
    "distort_truncate",
    "distort_wrong_type",
    "raise_timeout_error",
    "hang_then_timeout",
    "raise_connection_error",
)
"""The faults that are listed before anything is searched for."""

MOST = 14


def fitting(words: str, *, changes: bool) -> tuple[Fault, ...]:
    """Return the faults that can answer one call, best first; `changes` says whether there is a response to change."""
    usual = {name: place for place, name in enumerate(USUAL)}
    found = (
        search(words)
        if words.strip()
        else sorted(faults(), key=lambda each: usual.get(each.name, len(usual)))
    )
    return tuple(each for each in found if _fits(each.rule("tool", each.name), changes=changes))


def _fits(rule: InjectionRule, *, changes: bool) -> bool:
    """Leave out what depends on other calls, or answers none by itself."""
    effect = rule.effect.kind
    is_always = rule.probability >= 1 and rule.when is None and rule.match_args is None
    return is_always and effect in OF_ONE_CALL and (changes or effect not in OF_A_RESPONSE)


def fault_menu(
    key: str,
    *,
    changes: bool,
    help_: str,
    on_pick: Callable[..., None],
    args: tuple[Any, ...] = (),
) -> None:
    """Draw the menu, its body only while it is open.

    Args:
        key: The end of its widgets' keys.
        changes: Whether there is a response that a fault can change or delay.
        help_: What happens on a choice.
        on_pick: Is called with `args` and the fault's name.
        args: What it is given first.
    """
    body = st.popover(
        "Fail this call", icon=":material/bug_report:", key=f"fail_{key}", on_change="rerun", help=help_
    )
    if not body.open:
        return
    with body:
        words = st.text_input(
            "Search faults",
            key=f"fail_search_{key}",
            live=True,
            placeholder="timeout, rate limit, empty ...",
            icon=":material/search:",
        )
        found = fitting(words, changes=changes)
        with st.container(gap=None, key=f"fail_list_{key}"):
            for fault in found[:MOST]:
                _choice(fault, key, on_pick, args)
        if not found:
            st.caption("No faults match. Try other words.")
        elif len(found) > MOST:
            st.caption(f"Search to find {len(found) - MOST} more.")


def _raises(rule: InjectionRule) -> bool:
    """Return whether the agent sees no response, and its turn ends where nothing of it handles the exception."""
    effect = rule.effect
    return effect.kind == "raise" or (effect.kind == "hang" and effect.timeout_seconds is not None)


def _choice(fault: Fault, key: str, on_pick: Callable[..., None], args: tuple[Any, ...]) -> None:
    rule = fault.rule("tool", fault.name)
    # A title of a fault that does nothing but delay tells how long.
    after = "" if rule.effect.kind == "delay" else latency_words(rule.latency_seconds, rule.latency)
    ends = "ends the turn unless the agent catches it" if _raises(rule) else ""
    st.button(
        safe_label(", ".join(filter(None, (fault.title, after, ends)))),
        key=f"fail_with_{fault.name}_{key}",
        type="tertiary",
        help=safe_label(fault.description, 200),
        on_click=on_pick,
        args=(*args, fault.name),
    )


def rule_of(name: str, tool: str) -> InjectionRule:
    """Return what a fault of the library does to a call of a tool.

    Raises:
        StopIteration: The library has no such fault.
    """
    return next(each for each in faults() if each.name == name).rule(tool, name)
