"""Who speaks for the user: a person, or what sits down in their place."""

import streamlit as st

import evalset
from app import state
from app.commands import AddScenario, Command, SeatUser
from app.destinations import default_destination
from app.kept import Kept
from app.labels import literal
from app.panels.parts import problem
from app.panels.scenario_form import loaded_scenarios, save_scenario, scenario_form
from app.panels.uploads import upload
from app.scene import Scene
from app.user_form import USER_PLAYERS, FormError, form_of, script_of, script_text, seat_words
from simulator.facts import UserPlayer

_SEAT = "Let it speak"


def user_seat(scene: Scene) -> Command | None:
    """Draw the seat; give what was asked for."""
    seat = scene.view.user.seat
    st.caption("Who speaks for the user")
    # Whoever sits down, by whatever button, is shown: what was chosen before that is not revived.
    choice = Kept(scene.drafts, "user", f"{seat.player} {seat.changes}")
    chosen: UserPlayer = st.selectbox(
        "User",
        list(USER_PLAYERS),
        format_func=USER_PLAYERS.__getitem__,
        key=choice.widget("seat", seat.player),
    )
    if seat.player != "person":
        st.caption(seat_words(seat))
    if chosen == "person":
        return _take_over(scene)
    kept = Kept(scene.drafts, f"user {chosen}")
    with st.container(border=True, gap="xsmall", key="user_seat_form"):
        match chosen:
            case "script":
                return _script(kept, scene)
            case "recording":
                return _recording(kept, scene)
            case "scenario":
                return _scenario(kept, scene)


def _take_over(scene: Scene) -> Command | None:
    if scene.view.user.seat.player == "person":
        return None
    taken = st.button("Take over for good", key="seat_user_sit", icon=":material/front_hand:")
    return SeatUser(player="person") if taken else None


def _ready(kept: Kept, scene: Scene) -> tuple[bool, bool]:
    """Draw what all have in common; give whether messages are held, and whether it shall sit down."""
    hold = st.toggle(
        "Hold each message",
        key=kept.widget("hold", scene.view.user.seat.hold),
        help="You accept, change or replace it; else it goes out by itself, until the end or a failure",
    )
    return hold, st.button(_SEAT, key="seat_user_sit", type="primary", icon=":material/record_voice_over:")


def _script(kept: Kept, scene: Scene) -> Command | None:
    seat = scene.view.user.seat
    text = st.text_area(
        "Messages",
        key=kept.widget("script", script_text(seat.script) if seat.player == "script" else ""),
        placeholder="One message on each line, or a JSON list",
        height=140,
    )
    hold, sit = _ready(kept, scene)
    if not sit:
        return None
    try:
        return SeatUser(player="script", script=script_of(text or ""), hold=hold)
    except FormError as error:
        problem("The script cannot speak yet.", str(error))
        return None


def _recording(kept: Kept, scene: Scene) -> Command | None:
    st.caption("What the user said in a case of an eval set")
    upload(kept, "set", "Eval set", ["json"])
    text = st.text_area("Eval set (JSON)", key=kept.widget("set", ""), height=100)
    if not (text or "").strip():
        return None
    try:
        turns = evalset.user_turns(text or "")
    except evalset.ScenarioError as error:
        problem("This cannot be read yet.", str(error))
        return None
    names = list(turns)
    first = kept.value("case")
    case = st.selectbox(
        "Case",
        names,
        key=kept.widget("case", first if first in names else names[0]),
        format_func=lambda name: f"{literal(name)} ({len(turns.get(name, ()))})",
    )
    hold, sit = _ready(kept, scene)
    return SeatUser(player="recording", script=turns[case], hold=hold) if sit and case in turns else None


def _scenario(kept: Kept, scene: Scene) -> Command | None:
    seat = scene.view.user.seat
    begins = form_of(seat.scenario or {}, seat.config)
    loaded_scenarios(kept)
    form = scenario_form(kept, begins)
    hold, sit = _ready(kept, scene)
    save_scenario(form)
    add = _add_to_set(kept, scene)
    if not (sit or add):
        return None
    try:
        if add:
            return AddScenario(scenario=form.scenario(), path=add)
        return SeatUser(player="scenario", scenario=form.scenario(), config=form.config(), hold=hold)
    except FormError as error:
        problem("The scenario is not complete yet.", str(error))
        return None


def _add_to_set(kept: Kept, scene: Scene) -> str:
    """Draw the way into an eval set; give its path where it was clicked."""
    path = st.text_input(
        "Eval set for the scenario case",
        key=kept.widget("set_path", str(default_destination(scene.live.owner, scene.live.config))),
    )
    clicked = st.button(
        "Add to an eval set as a scenario case",
        key="scenario_add",
        icon=":material/playlist_add:",
        help="As `adk eval_set add_eval_case` does, with this session's user and first state as the session input",
    )
    done = state.get("scenario_added")
    if done and not clicked:
        st.success("The eval set has the scenario.", icon=":material/check_circle:")
        st.text(literal(str(done)))
    if clicked and not (path or "").strip():
        problem("The scenario was not added.", "Give the path of an eval-set file.")
    return (path or "").strip() if clicked else ""
