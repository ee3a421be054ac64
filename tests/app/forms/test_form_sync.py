"""A text and a form side by side say the same, whichever was changed."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
import streamlit
from hypothesis import Phase, given, settings
from streamlit.testing.v1 import AppTest

from app.forms.schema_form_widgets import path_of
from app.forms.typed_json import parse_json
from app.live.live_sessions import UnsentTexts
from simulator.base.json_values import same
from tests.app.forms.test_forms_values import ANY_JSON, PAIRS, Pair

_FEW = settings(
    max_examples=settings().max_examples // 4,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # each example draws pages: shrinking takes minutes
)


def _page(schema: "Any", value: "Any", drafts: "Any", given_up: "Any", results: "Any") -> None:  # noqa: UP037 - the script has no imports
    import streamlit as st  # noqa: PLC0415 - the function's text is the page's script

    from app.forms.schema_form_widgets import SchemaForm, schema_form  # noqa: PLC0415 - as above
    from app.forms.widget_store import KeptInputs, gather  # noqa: PLC0415 - as above

    gather(drafts)
    kept = KeptInputs(drafts, "owner")
    if results is not None:
        results.append(schema_form(kept, "form", schema, value))
        return
    form = SchemaForm(kept, "text", schema, value)
    lost = form.sync()
    if lost is not None:
        given_up.append(lost)
    st.text_area("Text", key=kept.widget("text", form.initial_text()))
    form.draw(tried=False, live=True)
    st.code(str(form.shows_text))


def _table_page(schema: "Any", value: "Any", drafts: "Any", results: "Any") -> None:  # noqa: UP037 - as above
    from app.forms.value_editor_widgets import ValueEditor  # noqa: PLC0415 - as above
    from app.forms.widget_store import KeptInputs, gather  # noqa: PLC0415 - as above

    gather(drafts)
    results.append(ValueEditor(KeptInputs(drafts, "owner"), "json", value, schema).draw(tried=False))


class Both:
    """A page with a text and a form for one value; `alone` stands the form, which says what it holds as the last of the `results`."""

    def __init__(
        self, schema: Any, value: Any, drafts: UnsentTexts | None = None, *, alone: bool = False
    ) -> None:
        self.drafts = drafts or UnsentTexts()
        self.given_up: list[str] = []
        self.results: list[Any] = []
        results = self.results if alone else None
        drawn = {"schema": schema, "value": value, "drafts": self.drafts, "given_up": self.given_up}
        self.tab = AppTest.from_function(_page, kwargs={**drawn, "results": results}, default_timeout=60)
        self.run()

    def run(self) -> Both:
        """Draw the page."""
        self.tab.run()
        assert not self.tab.exception
        return self

    @property
    def text(self) -> str:
        """What stands in the text."""
        return str(self.tab.text_area(key="text_owner").value)

    def type(self, text: str) -> Both:
        """Put another text there, and leave it."""
        self.tab.text_area(key="text_owner").set_value(text)
        return self.run()

    def input(self, end: str) -> Any:
        """Find an input of the form by the end of its name."""
        groups: list[Any] = [self.tab.text_input, self.tab.toggle, self.tab.checkbox]
        return next(one for group in groups for one in group if str(one.key).endswith(f"{end}_owner"))

    def switch(self, start: str, *, on: bool) -> Any:
        """Switch a toggle whose key begins like this; return what the form says then."""
        next(one for one in self.tab.toggle if str(one.key).startswith(start)).set_value(on)
        return self.run().results[-1]

    def fill(self, end: str, value: Any) -> Both:
        """Fill an input of the form, and leave it."""
        self.input(end).set_value(value)
        return self.run()


ORDER: Any = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "total": {"type": "number"},
        "note": {"type": "string"},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]},
        },
    },
    "required": ["name", "lines"],
}
FIRST: Any = {"name": "Ada", "total": 45, "lines": [{"sku": "a"}, {"sku": "b"}]}


@_FEW
@given(PAIRS, ANY_JSON)
def test_what_is_typed_is_in_the_form_and_stays_as_it_was_typed(pair: Pair, value: Any) -> None:
    """For any schema and any two values: the text is kept to the letter, and the form never undoes it."""
    import json  # noqa: PLC0415 - only here

    page = Both(pair[0], pair[1])
    assert pair[1] is None or same(parse_json(page.text), pair[1])
    typed = json.dumps(value)
    for _ in range(2):
        page.type(typed)
        assert page.text == typed
    assert page.run().text == typed
    assert page.given_up == []


@pytest.mark.long
def test_an_input_of_the_form_is_in_the_text_at_once() -> None:
    """Only what was filled in is another value; a whole number stays written as one."""
    page = Both(ORDER, FIRST).fill("name", "Bob").fill("sku", "c")
    assert parse_json(page.text) == {**FIRST, "name": "Bob", "lines": [{"sku": "c"}, {"sku": "b"}]}
    assert '"total": 45,' in page.text
    assert parse_json(Both(ORDER, FIRST, page.drafts).text)["name"] == "Bob"  # type: ignore[index, call-overload] # an order


def test_inputs_stay_where_they_are_while_the_text_changes() -> None:
    """Whoever is in an input of the form stays in it, as long as the value has the same parts."""
    page = Both(ORDER, FIRST)
    before = page.input("name").key
    page.type('{"name": "Eve", "total": 1.5, "lines": [{"sku": "x"}, {"sku": "y"}]}')
    assert page.input("name").key == before
    assert page.input("name").value == "Eve"
    assert page.input("total").value == "1.5"
    page.type('{"name": "Eve", "lines": []}')
    assert page.input("name").value == "Eve"
    page.type('{"lines": []}').fill("name", "Zoe")
    assert parse_json(page.text) == {"name": "Zoe", "lines": []}


def _two_forms(drafts: "Any") -> None:  # noqa: UP037 - the script has no imports
    import streamlit as st  # noqa: PLC0415 - the function's text is the page's script

    from app.forms.schema_form_widgets import SchemaForm  # noqa: PLC0415 - as above
    from app.forms.widget_store import KeptInputs, gather  # noqa: PLC0415 - as above

    gather(drafts)
    kept = KeptInputs(drafts, "owner")
    for name in ("find", "find_order"):
        form = SchemaForm(
            kept, name, {"properties": {"id": {"type": "string"}}, "required": ["id"]}, {"id": "1"}
        )
        form.sync()
        st.text_area(name, key=kept.widget(name, form.initial_text()))
        form.draw(tried=False)


def test_a_text_changes_its_own_form_alone() -> None:
    """Also where the name of another form begins with that of this one."""
    tab = AppTest.from_function(_two_forms, kwargs={"drafts": UnsentTexts()}, default_timeout=60).run()
    tab.text_input(key="form0:find_order.id_owner").set_value("typed").run()
    tab.text_area(key="find_owner").set_value('{"id": "2"}').run().run()
    held = [tab.text_input(key=f"form0:{name}.id_owner").value for name in ("find", "find_order")]
    assert held == ["2", "typed"]
    assert parse_json(str(tab.text_area(key="find_order_owner").value)) == {"id": "typed"}


@pytest.mark.long
def test_a_broken_text_stays_until_the_form_is_changed_and_is_handed_back_then() -> None:
    """The form says that it shows what was JSON last; filling it gives up the broken text, which is not lost."""
    page = Both(ORDER, FIRST).type('{"name": ')
    assert page.text == '{"name": '
    assert page.tab.code[0].value == "False"
    assert page.input("name").value == "Ada"
    page.fill("name", "Bob")
    assert page.given_up == ['{"name": ']
    assert parse_json(page.text) == {**FIRST, "name": "Bob"}


TYPED = {
    "day": {"type": "string", "format": "date"},
    "at": {"type": "string", "format": "date-time"},
    "count": {"type": "integer"},
    "total": {"type": "number"},
    "any": {},
    "figures": {},
}


@pytest.mark.parametrize(
    ("locale", "name", "typed", "value", "words"),
    [
        ("de-DE", "day", "2.12.2026", "2026-12-02", "Wednesday, 2 December 2026"),
        ("de-DE", "day", " 2026-11-03", "2026-11-03", "Tuesday, 3 November 2026"),
        ("en-GB", "day", "3/4/2026", "2026-04-03", "Friday, 3 April 2026"),
        ("en-US", "day", "3/4/2026", "2026-03-04", "Wednesday, 4 March 2026"),
        ("en-US", "day", "25/12/2026", "2026-12-25", "Friday, 25 December 2026"),
        (None, "day", "3/4/2026", None, "Write 2026-03-04 or 2026-04-03"),
        ("de-DE", "day", "31.2.2026", None, "does not exist"),
        ("de-DE", "day", "3.11.26", None, "four digits, for example 31.12.2026"),
        ("en-US", "day", "20261103", None, "for example 12/31/2026"),
        ("de-DE", "at", "3.11.2026 9:30", "2026-11-03T09:30:00Z", "Tuesday, 3 November 2026, 09:30 UTC"),
        ("de-DE", "at", "3.11.2026", None, "enter a date and a time"),
        ("de-DE", "total", "1.250", None, "Write 1250 or 1.25"),
        ("de-DE", "count", "25.000", None, "Write 25000 or 25"),
        ("en-US", "total", "1,250", None, "Write 1250 or 1.25"),
        ("de-DE", "total", "1.125", None, "Write 1125 or 1.1250"),
        ("de-DE", "total", "0.125", 0.125, ""),
        ("de-DE", "total", "1250.50", 1250.5, ""),
        ("de-DE", "total", "1250,50", 1250.5, "1.250,50"),
        ("de-DE", "total", "-1.250,50", -1250.5, "-1.250,50"),
        ("de-DE", "count", "1.250.000", 1_250_000, "1.250.000"),
        ("fr-FR", "total", "1 250,5", 1250.5, "1\u202f250,5"),
        ("en-US", "total", "1,250.50", 1250.5, "1,250.50"),
        ("de-CH", "total", "1'250.50", 1250.5, "1\u2019250.50"),
        ("en-US", "total", "1.250,50", None, "enter a number with a point"),
        ("de-DE", "total", "1,250.50", None, "enter a number with a comma, for example 1250,50"),
        (None, "total", "1250,50", None, "enter a number with a point"),
        ("de-DE", "total", "65.000,00 €", 65000, "65.000,00"),
        ("de-DE", "total", "-1.250,50 EUR", -1250.5, "-1.250,50"),
        ("en-US", "total", "-$1,250.50", -1250.5, "-1,250.50"),
        ("en-US", "total", "€65.000", None, "Write 65000 or 65"),
        (None, "count", "65000 USD", 65000, "65,000"),
        ("de-DE", "total", "65 km", None, "enter a number"),
        ("de-DE", "any", "65.000,00 €", 65000, "Number: 65.000,00"),
        ("de-DE", "any", "65 km", "65 km", ""),
        ("de-DE", "any", "65.000 EUR", "65.000 EUR", "Write 65000 or 65"),
        ("en-US", "any", "1.250,50 €", "1.250,50 €", "written with a point"),
        ("de-DE", "figures", "65.000,00 €", "65.000,00 €", "Text"),
        ("de-DE", "count", "1250,5", None, "enter a whole number"),
        ("de-CH", "total", "1.250", 1.25, ""),
        ("en-US", "total", "1.250", 1.25, ""),
        ("de-DE", "any", "12.500", "12.500", "Write 12500 or 12.5"),
        ("en-US", "any", "12.500", 12.5, ""),
        ("de-DE", "any", "1.250,50", 1250.5, "Number: 1.250,50"),
        ("en-US", "figures", "4711", "4711", "Text"),
        ("en-US", "figures", "null", None, "Null"),
    ],
)
def test_what_is_typed_is_never_read_as_another_date_or_number(  # noqa: PLR0917 - one for each column
    monkeypatch: pytest.MonkeyPatch, locale: str | None, name: str, typed: str, value: Any, words: str
) -> None:
    """The form says at once what was read, or what to write instead; the text has it as JSON does, and no value that nobody meant."""
    monkeypatch.setattr(type(streamlit.context), "locale", property(lambda _: locale))
    first = {
        "day": "2026-01-02",
        "at": "2026-01-02T03:04:05Z",
        "count": 7,
        "total": 1.375,
        "any": 1.375,
        "figures": "20240815",
    }
    schema: Any = {"type": "object", "properties": {name: TYPED[name]}, "required": [name]}
    page = Both(schema, {name: first[name]})
    assert json.loads(page.text) == {name: first[name]}
    page.fill(name, typed).run()
    assert json.loads(page.text) == ({} if value is None and words != "Null" else {name: value})
    shown = [*(one.value for one in page.tab.caption), *(one.value for one in page.tab.text)]
    assert not words or any(words in one for one in shown)
    page.type(json.dumps({name: first[name]}))
    assert json.loads(page.run().text) == {name: first[name]}


@pytest.mark.parametrize(
    ("field", "locale", "typed", "meant"),
    [
        ({"description": "The day of the damage (YYYY-MM-DD)."}, "de-DE", "24.11.2026", "2026-11-24"),
        ({"description": "The day, for example '2026-05-03'."}, "en-US", "11/24/2026", "2026-11-24"),
        ({"pattern": r"^\d{4}-\d{2}-\d{2}$"}, "de-DE", "24.11.2026", "2026-11-24"),
        ({"examples": ["2026-05-03"]}, "de-DE", "24.11.2026", "2026-11-24"),
        ({"description": "YYYY-MM-DD HH:MM"}, "de-DE", "24.11.2026", None),
        ({"description": "The day of the damage."}, "de-DE", "24.11.2026", None),
        ({"description": "YYYY-MM-DD"}, "de-DE", "2026-11-24", None),
        ({"description": "YYYY-MM-DD"}, None, "3/4/2026", None),
        ({"description": "YYYY-MM-DD"}, "de-DE", "tomorrow", None),
        ({"name": "dueDate", "description": "When it is due."}, "de-DE", "24.11.2026", "2026-11-24"),
        ({"name": "update"}, "de-DE", "24.11.2026", None),
        ({"name": "birthday", "description": "DD.MM.YYYY"}, "de-DE", "24.11.2026", None),
        ({}, "de-DE", "24.11.2026", "2026-11-24"),
    ],
)
def test_a_text_that_is_asked_for_as_a_date_of_json_is_offered_so(
    monkeypatch: pytest.MonkeyPatch, field: Any, locale: str | None, typed: str, meant: str | None
) -> None:
    """Also where it is but named like a date. What was typed stays until a click; where another form is told, or it may be two dates, nothing is offered."""
    monkeypatch.setattr(type(streamlit.context), "locale", property(lambda _: locale))
    name = field.get("name", "when") if field else "paid_until"
    schema: Any = {"type": "object", "properties": {name: field and {"type": "string", **field}}}
    page = Both(schema, {name: "-"}).fill(name, typed).run()
    assert json.loads(page.text) == {name: typed}
    offers = [one for one in page.tab.button if "use_day" in str(one.key)]
    assert len(offers) == (meant is not None)
    if meant:
        assert any(meant in one.value for one in page.tab.caption)
        offers[0].click().run()
        assert (json.loads(page.run().text), page.input(name).value) == ({name: meant}, meant)


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_table_says_what_was_read_and_offers_the_date_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, *, is_declared: bool
) -> None:
    """Below it, with row and column; a click puts the date into its cell, and the other cells stay."""
    monkeypatch.setattr(type(streamlit.context), "locale", property(lambda _: "de-DE"))
    day: Any = {"type": ["string", "null"], "description": "YYYY-MM-DD"}
    row: Any = {"type": "object", "properties": {"day": day, "paid": {"type": "number"}}}
    schema: Any = {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": row if is_declared else {}}},
    }
    rows = [{"day": "2026-01-02", "paid": 1.5}, {"day": "2026-01-03", "paid": 2.5}]
    results: list[Any] = []
    drawn = {"schema": schema, "value": {"rows": rows}, "drafts": UnsentTexts(), "results": results}
    tab = AppTest.from_function(_table_page, kwargs=drawn, default_timeout=60).run()
    (table,) = tab.data_editor
    done = {
        "edited_rows": {1: {"day": "24.11.2026", "paid": "1.250,50"}},
        "added_rows": [],
        "deleted_rows": [0],
    }
    tab.session_state[str(table.key)] = done
    tab.run()
    assert results[-1].value == {"rows": [{"day": "24.11.2026", "paid": 1250.5}]}
    said = [one.value for one in tab.caption]
    assert any(one.endswith(": 1.250,50") for one in said)
    assert any(one.endswith("2026-11-24") for one in said)
    next(one for one in tab.button if "use_day" in str(one.key)).click().run()
    tab.run()
    assert results[-1].value == {"rows": [{"day": "2026-11-24", "paid": 1250.5}]}
    assert not [one for one in tab.button if "use_day" in str(one.key)]


def test_a_date_that_was_typed_is_the_same_in_another_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written as JSON does once its field is left, for whoever opens the form next; the calendar beside it shows it, and fills the field."""
    monkeypatch.setattr(type(streamlit.context), "locale", property(lambda _: "en-GB"))
    schema: Any = {"type": "object", "properties": {"day": TYPED["day"]}, "required": ["day"]}
    page = Both(schema, {"day": "2026-01-02"}).fill("day", "3/4/2026")
    monkeypatch.setattr(type(streamlit.context), "locale", property(lambda _: "en-US"))
    again = Both(schema, {"day": "2026-01-02"}, page.drafts)
    assert (again.input("day").value, json.loads(again.text)) == ("2026-04-03", {"day": "2026-04-03"})
    (calendar,) = again.tab.date_input
    assert calendar.value == date(2026, 4, 3)
    calendar.set_value(date(2027, 5, 6))
    assert (again.run().input("day").value, json.loads(again.text)) == ("2027-05-06", {"day": "2027-05-06"})
    assert again.fill("day", "soon").tab.date_input[0].value is None
    assert again.fill("day", "12/31/1899").tab.date_input[0].value is None
    assert json.loads(again.text) == {"day": "1899-12-31"}


def test_rows_that_were_removed_in_the_form_are_gone_from_the_text() -> None:
    """The row that stays keeps its own value, also after the text was changed meanwhile."""
    page = Both(ORDER, FIRST)
    next(one for one in page.tab.button if "remove" in str(one.key)).click().run()
    assert parse_json(page.text) == {**FIRST, "lines": [{"sku": "b"}]}
    page.type(page.text.replace("Ada", "Eve"))
    assert parse_json(page.fill("total", "3.5").text) == {
        "name": "Eve",
        "total": 3.5,
        "lines": [{"sku": "b"}],
    }


def test_places_of_schema_problems_lead_to_fields() -> None:
    """However the name is written, the place is found again."""
    assert path_of("$") == ()
    assert path_of("$.items[0].price") == ("items", 0, "price")
    assert path_of("$['a b'][2]") == ("a b", 2)


@_FEW
@given(PAIRS, ANY_JSON)
def test_a_value_survives_the_drawn_inputs_and_the_way_to_json_and_back(pair: Pair, other: Any) -> None:
    """The inputs on the page say the same value, run after run; switching to JSON and back keeps it, also where it does not fit the schema."""
    for value, fits in ((pair[1], pair[1] is not None), (other, False)):  # None stands for an empty form
        page = Both(pair[0], value, alone=True)
        for before in page.run().results:
            assert not fits or (before.problems == () and same(before.value, value))
        for on in (True, False):
            assert before.problems or same(page.switch("form:as", on=on).value, before.value)


@pytest.mark.long
def test_an_optional_field_is_left_out_until_it_is_switched_on() -> None:
    """What is switched off again is left out, and still there when it is switched on once more."""
    page = Both(ORDER, {"name": "Ada", "lines": []}, alone=True)
    assert "note" not in page.results[-1].value
    switch = next(str(one.key) for one in page.tab.toggle if "note" in str(one.key))
    page.switch(switch, on=True)
    page.tab.text_area[0].set_value("soon")
    assert page.run().results[-1].value["note"] == "soon"
    assert "note" not in page.switch(switch, on=False).value
    assert page.switch(switch, on=True).value["note"] == "soon"


def test_a_required_field_that_the_value_lacks_has_no_switch_and_is_set_by_what_is_typed() -> None:
    """Until then it says so, and the value stays as it was; the text beside the form sets it and takes it out again."""
    alone = Both(ORDER, {"lines": [{}]}, alone=True)
    assert alone.results[-1].value == {"lines": [{}]}
    assert [str(one.label) for one in alone.tab.toggle if "form:as" not in str(one.key)] == [
        "Include total",
        "Include note",
    ]
    said = "This field is required, and is not set."
    assert said in [str(each.value) for each in alone.tab.text]
    alone.fill(".name", "Ada")
    assert alone.results[-1].value == {"name": "Ada", "lines": [{}]}
    both = Both(ORDER, {"lines": []})
    both.type('{"name": "Ada", "lines": []}').type('{"lines": []}')
    assert said in [str(each.value) for each in both.tab.text]
    assert json.loads(both.fill(".name", "Bob").text) == {"name": "Bob", "lines": []}


def test_what_is_typed_over_null_sets_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has to be unticked first, in a field as in a cell of a table; it is null again once that is ticked."""
    monkeypatch.setattr(type(streamlit.context), "locale", property(lambda _: "de-DE"))
    one: Any = {
        "type": "object",
        "properties": {"total": {"type": ["number", "null"]}},
        "required": ["total"],
    }
    page = Both(one, {"total": None}).fill("total:nothing", "1.250,50").run()
    assert json.loads(page.text) == {"total": 1250.5}
    page.fill("total:null", True).run()
    assert json.loads(page.text) == {"total": None}
    rows: Any = {"type": "array", "items": {**one, "additionalProperties": True}}
    table = Both(rows, [{"total": 1.5}, {"total": None}]).fill("1.total:nothing", "2,5").run()
    assert json.loads(table.text) == [{"total": 1.5}, {"total": 2.5}]
