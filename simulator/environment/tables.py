"""Reads the environment's data, which a person writes as JSON of tables, into tables, notes and words."""

from __future__ import annotations

from pydantic import Field

from simulator.environment.value import Value
from simulator.jsonvalue import JsonObject


class TablesError(ValueError):
    """The environment's data is no JSON of tables; the text names the table, the row and the field."""


class Table(Value):
    """Records of one kind. Each row has its id in `id_field`, and no two have the same."""

    name: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    id_field: str = Field(min_length=1)
    rows: tuple[JsonObject, ...] = ()


class Tables(Value):
    """All tables, the other values by their names, and what was said in words instead of JSON."""

    tables: tuple[Table, ...] = ()
    notes: JsonObject = Field(default_factory=dict)
    description: str = ""


NO_TABLES = Tables()


def read_tables(text: str) -> Tables:
    """Read tables: lists of objects and objects of objects; other values are notes, and a text that is no JSON is kept.

    Raises:
        TablesError: It is meant as JSON (it begins with a brace or bracket) and cannot be read, or a table has a row
            that is no record, has no id, or has the id of another row.
    """
    raise NotImplementedError
