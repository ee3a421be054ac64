"""The invariants of the world: a line each, with how it stands now, checked as it is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import state
from app.invariant_lines import Verdict, examples, verdict_of
from app.kept import Kept
from app.labels import literal, safe_label
from app.scene import Scene
from app.shaping import ChangeSettings, Shape

if TYPE_CHECKING:
    from simulator.runtime.world_view import WorldView

_HELP = (
    "A line says what must hold: a field of every thing that has it (`stock >= 0`), of things of one kind "
    "(`order.total > 0`), or a thing that must exist (`order.customer_id in customers`). An answer that breaks one "
    "is flagged, and is not accepted silently."
)
_ICONS = {
    "holds": ":material/check_circle:",
    "broken": ":material/flag:",
    "unknown": ":material/help:",
    "wrong": ":material/error:",
}
_SHOWN = 8


def invariants(scene: Scene, world: WorldView) -> Shape | None:
    """Draw the invariants; give what was asked for."""
    settings = scene.live.simulation.environment.settings
    lines = settings.invariants
    st.caption(_HELP)
    asked: Shape | None = None
    for place, line in enumerate(lines):
        asked = _line(scene, lines, place, line) or asked
    asked = _new(scene, world, lines) or asked
    key = "world_implicit"
    state.follow(key, settings.implicit_contradictions)
    implicit = st.toggle(
        "Also flag what contradicts earlier answers: a fixed field that is another now, a deleted thing that lives",
        key=key,
    )
    if implicit != settings.implicit_contradictions:
        return ChangeSettings(fields={"implicit_contradictions": implicit})
    return asked


def _line(scene: Scene, lines: tuple[str, ...], place: int, line: str) -> Shape | None:
    kept = Kept(scene.drafts, f"invariant-{place}", line)
    with st.container(border=True, gap="xxsmall", key=f"invariant_row_{place}"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
            written = st.text_input(f"Invariant {place + 1}", key=kept.widget("invariant_json", line))
            delete = st.button(
                "Delete",
                key=f"invariant_delete_{place}",
                type="tertiary",
                icon=":material/delete:",
                help="The line goes into the input below, from where it can be added again",
                on_click=lambda: _new_input(scene, len(lines) - 1).put("invariant_json", line),
            )
        now = " ".join((written or "").split())
        verdict = _judge(scene, now or line)
        _draw(verdict)
        others = lines[:place] + lines[place + 1 :]
        if delete:
            return ChangeSettings(fields={"invariants": others})
        if not now or now == line:
            return None
        if verdict.state == "wrong" or now in others:
            st.caption("Not taken over: the line before counts.")
            return None
        return ChangeSettings(fields={"invariants": (*lines[:place], now, *lines[place + 1 :])})


def _new_input(scene: Scene, count: int) -> Kept:
    """Give the input for one more line; another one for each number of lines, so that what was added leaves it."""
    return Kept(scene.drafts, f"invariant-new-{count}")


def _new(scene: Scene, world: WorldView, lines: tuple[str, ...]) -> Shape | None:
    kept = _new_input(scene, len(lines))
    with st.container(border=True, gap="xsmall", key="invariant_new_row"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
            written = st.text_input(
                "New invariant",
                key=kept.widget("invariant_json", ""),
                placeholder="order.total >= 0",
            )
            add = st.button("Add", key="invariant_add", icon=":material/add:")
        line = " ".join((written or "").split())
        verdict = _judge(scene, line) if line else None
        if verdict is not None:
            _draw(verdict)
        ready = [each for each in examples(world.tables, lines) if each != line]
        if ready:
            with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
                st.caption("For example", width="content")
                for number, example in enumerate(ready):
                    st.button(
                        safe_label(example),
                        key=f"invariant_example_{number}",
                        on_click=lambda example=example: kept.put("invariant_json", example),
                    )
    if not add or not line or verdict is None or verdict.state == "wrong" or line in lines:
        return None
    return ChangeSettings(fields={"invariants": (*lines, line)})


def _judge(scene: Scene, line: str) -> Verdict:
    try:
        return verdict_of(scene.live.simulation.environment.judge(line))
    except ValueError as error:
        return Verdict("wrong", str(error))


def _draw(verdict: Verdict) -> None:
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown(_ICONS[verdict.state], width="content")
        st.text(literal(verdict.said))
    for sentence in verdict.broken[:_SHOWN]:
        st.text(literal(f"\u2022 {sentence}"))
    if len(verdict.broken) > _SHOWN:
        st.caption(f"And {len(verdict.broken) - _SHOWN} more.")
