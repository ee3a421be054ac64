"""The menu of a turn of a case: what is done with the turn as a whole."""

import streamlit as st

from app import state
from app.panels.evalsets.scene import ApplyEdits, EditPart, SetCommand, SetScene
from app.set_parts import ADD, name_of
from evalset.editing.edits import MoveTurn, RemoveTurn, SplitCase
from evalset.editing.parts import turns_of
from evalset.editing.places import field
from evalset.names import unique_eval_id


def turn_menu(scene: SetScene, key: str, number: int) -> SetCommand | None:
    """Draw it; give what was asked for."""
    name = f"turn_menu_{number}"
    if state.get("turn_menu_done") == number:  # it is closed before it is drawn again
        state.put("turn_menu_done", None)
        st.session_state[name] = False
    menu = st.popover("Turn", icon=":material/more_horiz:", type="tertiary", key=name, on_change="rerun")
    if not menu.open:
        return None
    with menu:
        asked = _entries(scene, key, number)
    if asked is not None:
        state.put("turn_menu_done", number)
    return asked


def _entries(scene: SetScene, key: str, number: int) -> SetCommand | None:  # noqa: PLR0911 - one for each entry
    turns = len(turns_of(scene.work.case(key)))
    is_last = number == turns - 1
    if _entry("Edit its rubrics", f"turn_rubrics_{number}", ":material/rule:"):
        return EditPart(name=name_of(("conversation", number, "rubrics")))
    if _entry("Add a call", f"turn_add_{number}", ":material/add:"):
        return EditPart(name=f"{ADD}{number}")
    if _entry("Move it up", f"turn_up_{number}", ":material/arrow_upward:", disabled=not number):
        return ApplyEdits(edits=(MoveTurn(case=key, turn=number, by=-1),))
    if _entry("Move it down", f"turn_down_{number}", ":material/arrow_downward:", disabled=is_last):
        return ApplyEdits(edits=(MoveTurn(case=key, turn=number, by=1),))
    if _entry("Split the case here", f"turn_split_{number}", ":material/call_split:", disabled=not number):
        return ApplyEdits(edits=(SplitCase(case=key, turn=number, eval_id=free_id(scene, key, "rest")),))
    if _entry("Remove it", f"turn_remove_{number}", ":material/delete:", disabled=turns == 1):
        return ApplyEdits(edits=(RemoveTurn(case=key, turn=number),))
    return None


def _entry(words: str, key: str, icon: str, *, disabled: bool = False) -> bool:
    return st.button(words, key=key, icon=icon, type="tertiary", disabled=disabled)


def free_id(scene: SetScene, key: str, ending: str) -> str:
    """Give an eval id that no case has: that of a case with another ending."""
    taken = {row.eval_id for row in scene.work.rows()}
    return unique_eval_id(f"{field(scene.work.case(key), 'eval_id', 'case')}_{ending}", taken)
