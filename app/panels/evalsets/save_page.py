"""What a save would change, case by case, before it is done; and what to do where somebody else has written the file."""

from collections.abc import Sequence

import streamlit as st

from app.diffing import difference
from app.kept import slug
from app.labels import literal, safe_label
from app.panels.evalsets.scene import AskToSave, MergeSet, ReloadSet, SaveSet, SetCommand, SetScene
from app.panels.parts import problem
from evalset.editing.changes import CaseChange, Changes, changes
from evalset.editing.merging import Conflict

MOST_SHOWN = 50
_AROUND = 3
_COLORS = {"added": "green", "removed": "red", "changed": "blue"}


def save_page(scene: SetScene, failed: str | None) -> SetCommand | None:
    """Draw it; give what was asked for. `failed` says why the last save was refused."""
    found = changes(scene.work)
    if failed:
        problem("The eval set was not saved.", failed)
    asked: SetCommand | None = None
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="save_line"):
        st.markdown(f"**{_count(found)}**", width="content")
        st.space("stretch")
        if st.button("Back to editing", key="save_back", type="tertiary", icon=":material/arrow_back:"):
            asked = AskToSave(shown=False)
        if st.button(
            "Save to file",
            key="save_set",
            type="primary",
            icon=":material/save:",
            shortcut="Mod+Enter",
            disabled=not found.any,
        ):
            asked = SaveSet()
    if found.reordered:
        st.caption("The cases stand in another order.")
    for place, change in enumerate(found.cases[:MOST_SHOWN]):
        _change(change, is_open=place == 0)
    if len(found.cases) > MOST_SHOWN:
        st.caption(f"and {len(found.cases) - MOST_SHOWN} more cases")
    return asked


def _count(found: Changes) -> str:
    count = len(found.cases)
    if not count:
        return "Nothing is different from the file" if not found.reordered else "Another order"
    return f"{count} case{'s' if count > 1 else ''} will be different"


def _change(change: CaseChange, *, is_open: bool) -> None:
    words = ", ".join(safe_label(word, 40) for word in change.words[:6])
    body = st.expander(
        f"{safe_label(change.eval_id, 48)} \u00b7 {words}",
        icon=":material/difference:",
        key=f"change_{slug(change.key)}",
        expanded=is_open,
    )
    with body:
        with st.container(horizontal=True, gap="xsmall"):
            st.badge(change.kind, color=_COLORS[change.kind])  # type: ignore[arg-type] # the colours are those of badges
            if change.recorded:
                st.badge("also in what is recorded beside it", color="gray")
        shown = difference(*_trimmed(change.before, change.after))
        st.code(literal(shown.text), language="diff", wrap_lines=True)
        if shown.is_cut:
            st.caption("Only the beginning of what is different is shown.")


def _trimmed(before: str, after: str) -> tuple[str, str]:
    """Leave out what is alike at the beginning and at the end of two long texts, but for a few lines."""
    old, new = before.splitlines(), after.splitlines()
    shortest = min(len(old), len(new))
    head = next((place for place in range(shortest) if old[place] != new[place]), shortest)
    tail = next(
        (place for place in range(shortest - head) if old[-1 - place] != new[-1 - place]), shortest - head
    )
    start, cut = max(0, head - _AROUND), max(0, tail - _AROUND)
    return "\n".join(old[start : len(old) - cut]), "\n".join(new[start : len(new) - cut])


def conflict_page(both: Sequence[Conflict]) -> SetCommand | None:
    """Draw what to do where the file has changed meanwhile; give what was asked for."""
    st.warning("The file was changed by somebody else since you opened it.", icon=":material/sync_problem:")
    if both:
        st.caption(
            "These cases were changed here and there. Choose whose each shall be; all others go together by themselves."
        )
    else:
        st.caption("No case was changed here and there, so both go together.")
    mine = [conflict.key for conflict in both[:MOST_SHOWN] if _whose(conflict) == "Mine"]
    with st.container(horizontal=True, gap="xsmall", key="conflict_buttons"):
        merged = st.button(
            "Bring my edits onto it", key="conflict_merge", type="primary", icon=":material/merge:"
        )
        dropped = st.button("Drop my edits and reload", key="conflict_reload", icon=":material/refresh:")
    if merged:
        return MergeSet(keep_mine=tuple(mine))
    return ReloadSet() if dropped else None


def _whose(conflict: Conflict) -> str:
    with st.container(border=True, gap="xsmall", key=f"conflict_{slug(conflict.key)}"):
        st.text(literal(conflict.eval_id))
        gone = (
            " (deleted here)"
            if conflict.mine is None
            else " (deleted there)"
            if conflict.theirs is None
            else ""
        )
        st.caption(f"Changed here and there{gone}")
        chosen = st.segmented_control(
            "Whose it shall be",
            ["Mine", "Theirs"],
            default="Theirs",
            required=True,
            key=f"whose_{slug(conflict.key)}",
            label_visibility="collapsed",
        )
    return chosen or "Theirs"
