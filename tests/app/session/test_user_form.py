"""What was typed about the user's seat becomes what sits down there, and back; what is missing is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.session.user_form import (
    OWN_PERSONA,
    FormError,
    ScenarioForm,
    form_of,
    script_of,
    script_text,
    seat_words,
)
from simulator.session.user_fold import UserSeat

WHOLE = ScenarioForm(starting_prompt="Hi", conversation_plan="Talk.")


def _content(text: str) -> dict[str, object]:
    return {"role": "user", "parts": [{"text": text}]}


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_a_script_reads_back_as_it_was(texts: list[str]) -> None:
    """Lines where that holds them, else JSON; blanks around and line breaks stay."""
    script = tuple(_content(text) for text in texts if text.strip())
    if not script:
        return
    read = script_of(script_text(script))  # type: ignore[arg-type] # texts are JSON
    assert [each if isinstance(each, str) else None for each in read] == [t for t in texts if t.strip()]


def test_a_script_has_a_message_on_each_line_or_is_named_as_none() -> None:
    """Empty lines are none; a script without any is told from one whose messages are none."""
    assert script_of("a\n \n b \n") == ("a", "b")
    said: dict[str, str] = {}
    for text in ("", "[]", "[1]", "["):
        with pytest.raises(FormError, match=r"^Messages: ") as raised:
            script_of(text)
        said[text] = str(raised.value)
    assert said[""] == said["[]"]
    assert len(set(said.values())) == 3


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"starting_prompt": " "}, "Starting prompt"),
        ({"conversation_plan": ""}, "Plan"),
        ({"persona": OWN_PERSONA, "own_persona": "["}, "Persona"),
    ],
)
def test_what_is_missing_is_named(change: dict[str, str], field: str) -> None:
    """The field of the form."""
    with pytest.raises(FormError, match=field):
        WHOLE.model_copy(update=change).scenario()
    with pytest.raises(FormError, match="Model configuration"):
        WHOLE.model_copy(update={"model_configuration": "1"}).config()


def test_a_form_gives_adks_words_and_takes_them_back() -> None:
    """What is not set is left to ADK, but for the model: an empty one is none."""
    form = WHOLE.model_copy(
        update={
            "persona": OWN_PERSONA,
            "own_persona": '{"id": "SHY"}',
            "model": " talker ",
            "model_configuration": '{"temperature": 0}',
            "limit": 3,
            "custom_instructions": "x",
            "include_function_calls": True,
        }
    )
    assert form.scenario()["user_persona"] == {"id": "SHY"}
    assert form.config() == {
        "model": "talker",
        "max_allowed_invocations": 3,
        "model_configuration": {"temperature": 0},
        "custom_instructions": "x",
        "include_function_calls": True,
    }
    again = form_of(form.scenario(), form.config())
    assert (again.scenario(), again.config()) == (form.scenario(), form.config())
    assert WHOLE.config() == {"model": "", "max_allowed_invocations": 20}
    assert "user_persona" not in WHOLE.scenario()


def test_the_seat_is_told_in_words() -> None:
    """Who, how much is left, and whether messages are held."""
    scenario = UserSeat(player="scenario", config={"max_allowed_invocations": 5}, said=2)
    assert "3 of 5" in seat_words(scenario)
    endless = UserSeat(player="scenario", config={"max_allowed_invocations": -1})
    said = [UserSeat(), scenario, endless, endless.model_copy(update={"hold": False})]
    assert len({seat_words(each) for each in said}) == len(said)
    assert not any(digit.isdigit() for digit in seat_words(endless))
