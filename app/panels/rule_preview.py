"""Shows what a rule that is being edited would make of a call: the answer that the agent gets."""

from collections.abc import Sequence

import streamlit as st

from app.labels import literal
from app.panels.rule_inputs import Inputs
from app.past_calls import PastCall, before
from app.rule_preview import Preview, previewed
from app.scene import Scene
from simulator.environment.injection.rules import InjectionRule


def preview(
    inputs: Inputs,
    scene: Scene,
    calls: Sequence[PastCall],
    call: PastCall | None,
    read: InjectionRule | None,
) -> None:
    """Draw the preview of what stands in the editor, on a call of the session."""
    if call is None:
        return
    if read is None:
        st.caption("The preview follows as soon as all inputs can be read.")
        return
    shown = previewed(read, call, before(scene.session, calls, call), scene.seed(), scene.world)
    if shown is None:
        return
    with st.container(gap="xsmall", key=inputs.kept.key("preview")):
        _draw(shown)


def _draw(shown: Preview) -> None:
    if shown.problem:
        st.error("This cannot be filled in for the chosen call.", icon=":material/error:")
        st.text(literal(shown.problem))
        return
    if shown.before is not None:
        left, right = st.columns(2, gap="small")
        with left:
            st.caption("The answer as it is")
            st.code(literal(shown.before), language="json", wrap_lines=True)
        with right:
            st.caption("What the agent gets")
            st.code(literal(shown.after), language="json", wrap_lines=True)
    else:
        st.caption("What the agent gets")
        st.code(literal(shown.after), language="json", wrap_lines=True)
    for note in shown.notes:
        st.text(literal(note))
