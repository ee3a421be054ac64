"""The environment's data is read as tables, notes and words, or refused with the place of what is wrong."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.base.json_values import JsonObject
from simulator.environment.conventions import EarlierAnswer
from simulator.environment.world.entities import EntityChange, Table, Tables, TablesError, read_tables
from simulator.environment.world.world import World
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drawn_json import NAMES, json_values


def only_table(text: str) -> Table:
    """Return the one table of a text."""
    (table,) = read_tables(text).tables
    return table


def test_the_documented_environment_data_gives_tables_and_notes() -> None:
    """Lists of objects are tables by their kind; other values are notes."""
    read = read_tables(
        '{"products": [{"id": "P-1", "stock": 3}, {"id": "P-2"}], "warehouse_location": "US", "cities": ["Oslo"]}'
    )
    assert [(table.name, table.kind, table.id_field) for table in read.tables] == [
        ("products", "product", "id")
    ]
    assert dict(read.tables[0].records())["P-1"] == {"id": "P-1", "stock": 3}
    assert read.notes == {"warehouse_location": "US", "cities": ["Oslo"]}


def test_an_object_of_objects_is_a_table_by_its_keys() -> None:
    """The key is the id, under the name that the rows use for it, or under one made from the kind."""
    table = only_table('{"customers": {"C-1": {"name": "Ada"}, "C-2": {"name": "Mei"}}}')
    assert table.id_field == "customer_id"
    assert table.rows[0] == {"customer_id": "C-1", "name": "Ada"}
    assert only_table('{"customers": {"7": {"id": 7}}}').rows == ({"id": 7},)


def test_a_wrapped_database_is_opened() -> None:
    """Tables that stand one level deeper are tables all the same, and so are the notes beside them."""
    read = read_tables('{"database": {"orders": [{"order_id": 1}], "region": "EU"}, "day": "2026-03-01"}')
    assert [table.kind for table in read.tables] == ["order"]
    assert read.notes == {"region": "EU", "day": "2026-03-01"}


@for_each(
    ("rows", "id_field"),
    [
        ([{"customer_id": "C", "order_id": "A"}], "order_id"),
        ([{"customer_id": "C", "id": "A"}], "id"),
        ([{"orderNumber": "A"}], "orderNumber"),
        ([{"reference": "A"}, {"reference": "B"}], "reference"),
        ([{"code": "A"}, {"code": "B"}], "code"),
        ([{"order": "A", "x": 1}], "order"),
        ([{"name": "A"}, {"name": "B"}], "name"),
        ([{"name": "A"}, {"name": "A"}], ""),
        ([{"from": "EUR", "to": "USD"}], ""),
        ([{"customer_id": "C"}], ""),
    ],
)
def test_the_field_with_the_ids_is_found(rows: list[dict[str, str]], id_field: str) -> None:
    """The kind's own id is taken before others; records without any are numbered, and get no field."""
    table = only_table(json.dumps({"orders": rows}))
    assert table.id_field == id_field
    assert list(table.rows) == rows
    if not id_field:
        assert [key for key, _ in table.records()] == [str(number + 1) for number in range(len(rows))]


def test_an_empty_list_with_a_plural_name_is_an_empty_table() -> None:
    """Who writes `"orders": []` says that there are none."""
    assert only_table('{"orders": []}').rows == ()
    assert read_tables('{"nothing": []}').notes == {"nothing": []}


@for_each(
    ("text", "told"),
    [
        ('{"orders": [{"id": 1}, {"id": 1}]}', "'orders', row 2, field 'id': row 1 "),
        ('{"orders": [{"id": 1}, {"x": 1}]}', "row 2, field 'id': it "),
        ('{"orders": [{"id": [1]}]}', "'orders', row 1, field 'id': [1] "),
        ('{"orders": [{"id": 1}, 3]}', "'orders', row 2: 3 "),
        ('{"orders": {"A": {"order_id": "B"}}}', "row 'A', field 'order_id': \"B\" "),
        ('{"orders": {"": {"x": 1}}}', "'orders': '' "),
        ('{"orders": [], "order": [{"id": 1}]}', "'order': 'orders' "),
        ('{"a": 1, "a": 2}', "'a' appears twice"),
        ('{"a": NaN}', "NaN "),
        ('{\n  "a": }', "line 2, column 8"),
        ("{orders: []}", "line 1, column 2"),
        ('{"a": "\\ud800"}', "a JSON value"),
        ('{"a": ' + "[" * 300 + "]" * 300 + "}", "nested"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, told: str) -> None:
    """An error names the table, the row and the field, or the line and column."""
    with pytest.raises(TablesError) as caught:
        read_tables(text)
    assert told in str(caught.value)


@for_each("text", ["A shop in Oslo.", "[Note] all prices in EUR", "42", '"words"'])
def test_a_text_that_is_no_json_of_tables_is_kept_in_words(text: str) -> None:
    """ADK takes any text; so do we."""
    read = read_tables(f" {text}\n")
    assert read == Tables(description=text, problems=read.problems)


@given(
    json_values(names=st.sampled_from(["id", "orders", "order_id", "name", "", "x"]) | NAMES, max_leaves=25)
)
def test_any_json_is_read_or_refused(value: object) -> None:
    """No JSON crashes the reader, and each row of a table has its own id."""
    try:
        read = read_tables(json.dumps(value))
    except TablesError:
        return  # what it says is the test above
    for table in read.tables:
        keys = [key for key, _ in table.records()]
        assert len(set(keys)) == len(keys) == len(table.rows)
    assert Tables.model_validate_json(read.model_dump_json()) == read


@for_each(
    ("text", "told"),
    [
        ("[1, 2]", "'records' is not a"),
        ('{"orders": [1, 2]}', "'orders' is not a"),
        ("5", "is 5: "),
        ("null", "is null: "),
    ],
)
def test_what_may_have_been_meant_as_tables_is_told(text: str, told: str) -> None:
    """Data that is JSON and makes no table is kept, and a line says so."""
    (problem,) = read_tables(text).problems
    assert told in problem


def test_lists_of_words_are_notes_without_a_complaint() -> None:
    """A list of texts, an empty one, and words are what they are."""
    read = read_tables('{"currencies": ["EUR", "CHF"], "orders": [], "note": [1]}')
    assert (read.problems, set(read.notes)) == ((), {"currencies", "note"})
    assert read_tables("A shop for lamps.").problems == ()


ROW = st.dictionaries(
    st.sampled_from(["name", "price", "tags", "currency"]),
    st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2),
    max_size=3,
)


@given(st.lists(ROW, max_size=5), st.text(max_size=3))
def test_a_world_changes_nothing_in_the_tables_that_it_is_made_of(rows: list[JsonObject], new: str) -> None:
    """The tables of a text are read once for all worlds: edits and answers in one of them are not seen in another."""
    text = json.dumps({"products": [{"id": f"P-{place}", **row} for place, row in enumerate(rows)]})
    assert read_tables(text) is read_tables(text)
    before = read_tables(text).model_dump_json()
    world, twin = World(tables=read_tables(text)), World(tables=read_tables(text))
    seen = json.dumps(twin.collections())
    for place in range(len(rows)):
        world.edit(
            [EntityChange(op="put", kind="product", id=f"P-{place}", fields={"name": new, "tags": [new]})],
            fact=1,
            turn=1,
        )
        world.take(
            EarlierAnswer(
                "get_product", {"id": f"P-{place}"}, {"id": f"P-{place}", "price": new}, fact=2, turn=1
            )
        )
        world.edit([EntityChange(op="delete", kind="product", id=f"P-{place}")], fact=3, turn=1)
    assert read_tables(text).model_dump_json() == before
    assert json.dumps(twin.collections()) == seen == json.dumps(World(tables=read_tables(text)).collections())
