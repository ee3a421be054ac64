"""Forms as they are drawn: the real inputs lose nothing, and nothing that was typed is lost when they come and go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, assume, given, settings
from streamlit.testing.v1 import AppTest

from app.live.unsent_texts import UnsentTexts
from simulator.base.json_values import same
from tests.app.forms.test_forms_values import ANY_JSON, PAIRS, Pair

_FEW = settings(
    max_examples=settings().max_examples // 4,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # each example draws pages: shrinking takes minutes
)


def _page(schema: "Any", value: "Any", drafts: "Any", results: "Any") -> None:  # noqa: UP037 - the script has no imports
    import streamlit as st  # noqa: PLC0415 - the function's text is the page's script

    from app.forms.schema_form_widgets import schema_form  # noqa: PLC0415 - as above
    from app.forms.widget_store import KeptInputs, gather  # noqa: PLC0415 - as above

    gather(drafts)
    if not st.checkbox("hide", key="hide"):
        results.append(schema_form(KeptInputs(drafts, "owner"), "form", schema, value))
    st.button("again", key="again")


class Form:
    """A page with one form."""

    def __init__(self, schema: Any, value: Any = None, drafts: UnsentTexts | None = None) -> None:
        self.results: list[Any] = []
        self.drafts = drafts if drafts is not None else UnsentTexts()
        given_ = {"schema": schema, "value": value, "drafts": self.drafts, "results": self.results}
        self.tab = AppTest.from_function(_page, kwargs=given_, default_timeout=60).run()
        assert not self.tab.exception

    @property
    def result(self) -> Any:
        """What the form said last."""
        return self.results[-1]

    def again(self) -> Form:
        """Draw the page once more."""
        self.tab.button(key="again").click().run()
        assert not self.tab.exception
        return self

    def toggle(self, beginning: str, *, on: bool) -> Form:
        """Switch a toggle or a checkbox."""
        for one in (*self.tab.toggle, *self.tab.checkbox):
            if str(one.key).startswith(beginning):
                one.set_value(on).run()
                assert not self.tab.exception
                return self
        raise LookupError(beginning)


@_FEW
@given(PAIRS)
def test_a_value_comes_back_from_the_drawn_inputs(pair: Pair) -> None:
    """For a schema and a value that fits it, the inputs on the page say the same value, run after run."""
    schema, value = pair
    assume(value is not None)  # stands for an empty form
    form = Form(schema, value)
    for _ in range(2):
        assert form.result.problems == ()
        assert same(form.result.value, value)
        form.again()


@_FEW
@given(PAIRS, ANY_JSON)
def test_a_value_survives_the_way_to_json_and_back(pair: Pair, value: Any) -> None:
    """Whatever stands in the form, switching to JSON and back keeps it, also where it does not fit the schema."""
    form = Form(pair[0], value)
    before = form.result
    form.toggle("form:as", on=True)
    assert before.problems or same(form.result.value, before.value)
    form.toggle("form:as", on=False)
    assert before.problems or same(form.result.value, before.value)


ORDER: Any = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "note": {"type": "string"},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]},
        },
    },
    "required": ["name", "lines"],
}


@pytest.mark.long
def test_an_optional_field_is_left_out_until_it_is_switched_on() -> None:
    """What is switched off again is left out, and still there when it is switched on once more."""
    form = Form(ORDER, {"name": "Ada", "lines": []})
    assert "note" not in form.result.value
    switch = next(str(one.key) for one in form.tab.toggle if "note" in str(one.key))
    form.toggle(switch, on=True)
    form.tab.text_area[0].set_value("soon").run()
    assert form.result.value["note"] == "soon"
    assert "note" not in form.toggle(switch, on=False).result.value
    assert form.toggle(switch, on=True).result.value["note"] == "soon"
