"""Edits a list of rubrics as sentences: each one that a judge model answers with yes or no. All else of a rubric stays as it is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import streamlit as st
from pydantic import JsonValue

from app.forms.field_widgets import problem_line
from app.forms.form_reading import FieldProblem
from app.forms.safe_labels import safe_label
from app.forms.schema_form_widgets import FormResult
from app.forms.value_editor_widgets import ValueEditor
from app.forms.value_shapes import is_plain
from app.forms.widget_store import KeptInputs
from evalset.editing.case_parts import at, field, key_of, put

_SENTENCE = ("rubric_content", "text_property")
_LOW = 80


class RubricEditor(ValueEditor):
    """A list of rubrics as sentences, or as JSON.

    Args:
        kept: Keeps the inputs.
        name: The name of the JSON's input.
        value: The rubrics.
        taken: The ids of all rubrics of the case: a new one gets another.
        is_camel: The case writes its keys in camel case.
    """

    def __init__(
        self, kept: KeptInputs, name: str, value: JsonValue, taken: Collection[str], *, is_camel: bool
    ) -> None:
        super().__init__(kept, name, value)
        self._taken, self._is_camel = taken, is_camel

    def _why(self) -> str:
        base = self._base()
        if isinstance(base, list) and all(_sentence(each) is not None for each in base):
            return ""
        return "Not every rubric here is one statement, so they are edited as JSON."

    def _rubrics(self) -> list[Any]:
        base = self._base()
        return base if isinstance(base, list) else []

    def _numbers(self) -> list[int]:
        return list(self._kept.value(f"{self._form_name()}:rows", list(range(len(self._rubrics())))))

    def _text_name(self, number: int) -> str:
        return f"rubric_{number}:{self._form_name()}"

    def _typed(self, number: int) -> str:
        rubrics = self._rubrics()
        first = (_sentence(rubrics[number]) or "") if number < len(rubrics) else ""
        return str(self._kept.value(self._text_name(number), first) or "")

    def _of_form(self) -> FormResult:
        rubrics, made = self._rubrics(), list[JsonValue]()
        problems: list[FieldProblem] = []
        taken = {*self._taken, *(str(field(each, "rubric_id", "")) for each in rubrics)}
        for place, number in enumerate(self._numbers()):
            text = self._typed(number)
            if not text.strip():
                problems.append(
                    FieldProblem(path=(place,), message="enter a statement, or remove this rubric")
                )
            elif number < len(rubrics):
                made.append(_with_sentence(rubrics[number], text))
            else:
                free = next(
                    name for each in range(1, len(taken) + 2) if (name := f"rubric_{each}") not in taken
                )
                taken.add(free)
                made.append(self._new(free, text))
        return FormResult(value=None if problems else made, problems=tuple(problems))

    def _new(self, rubric_id: str, text: str) -> dict[str, JsonValue]:
        first = next((each for each in self._rubrics() if isinstance(each, dict)), None)
        is_camel = self._is_camel if first is None else key_of(first, "rubric_id") == "rubricId"
        named: dict[str, JsonValue] = {"rubricId" if is_camel else "rubric_id": rubric_id}
        inside: dict[str, JsonValue] = {"textProperty" if is_camel else "text_property": text.strip()}
        return named | {"rubricContent" if is_camel else "rubric_content": inside}

    def _draw_form(self, *, tried: bool) -> None:
        numbers, rubrics = self._numbers(), self._rubrics()
        problems = {problem.path[0]: problem.message for problem in self._of_form().problems} if tried else {}
        if not numbers:
            st.caption("No rubrics yet. A rubric is a statement that a judge model answers with yes or no.")
        for place, number in enumerate(numbers):
            self._draw_row(place, number, rubrics)
            if place in problems:
                problem_line(problems[place])
        st.button(
            "Add rubric",
            key=self._kept.key("rubric_add"),
            icon=":material/add:",
            on_click=self._add,
        )

    def _draw_row(self, place: int, number: int, rubrics: list[Any]) -> None:
        is_old = number < len(rubrics)
        named = safe_label(str(field(rubrics[number], "rubric_id", ""))) if is_old else "new"
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_area(
                f"Rubric {place + 1} \u00b7 {named}",
                key=self._kept.widget(self._text_name(number), self._typed(number)),
                height=_LOW,
                on_change="ignore",
                placeholder="The agent confirms the order number before it cancels the order.",
            )
            st.button(
                ":material/close:",
                key=self._kept.key(f"rubric_remove_{number}"),
                type="tertiary",
                help="Remove this rubric",
                on_click=self._kept.put,
                args=(f"{self._form_name()}:rows", [each for each in self._numbers() if each != number]),
            )

    def _add(self) -> None:
        rows = self._numbers()
        new = int(self._kept.value(f"{self._form_name()}:next", len(self._rubrics())))
        self._kept.put(f"{self._form_name()}:rows", [*rows, new])
        self._kept.put(f"{self._form_name()}:next", new + 1)


def sentences_of(rubrics: Any) -> tuple[str, ...]:
    """Return the statements of rubrics; none where not every rubric is one statement."""
    found = [_sentence(each) for each in rubrics] if isinstance(rubrics, list) else []
    return () if None in found else tuple(each for each in found if each)


def _sentence(rubric: Any) -> str | None:
    """Return the statement of a rubric; None where it is none that an input shows as it is."""
    found = at(rubric, _SENTENCE) if isinstance(rubric, dict) else None
    return found if isinstance(found, str) and is_plain(found) else None


def _with_sentence(rubric: Any, text: str) -> Any:
    return rubric if _sentence(rubric) == text else put(rubric, _SENTENCE, text)
