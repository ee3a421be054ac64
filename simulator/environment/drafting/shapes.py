"""Fills the shapes that tools without a schema answer in: one that a description shows, or the plainest there is."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from simulator.environment.conventions.answers import done_state, is_creation, is_read, is_removal
from simulator.environment.conventions.chance import Chance
from simulator.environment.conventions.names import is_identifier, words_of
from simulator.environment.drafting import plausible
from simulator.environment.drafting.echoes import Echo
from simulator.environment.drafting.rows import Rows, answers
from simulator.jsonvalue import JsonObject


def filled_shape(
    shown: JsonValue, echo: Echo, rows: Rows | None = None, name: str = "", item: str | None = None
) -> JsonValue:
    """Put what the call says into the fields of a shape that mean it, and the rows of a table into its list."""
    if isinstance(shown, list):
        singular = name[:-1] if name.endswith("s") and len(name) > 1 else name
        sample = next((one for one in shown if isinstance(one, dict)), None)
        if rows is not None and sample is not None and answers(rows, name, sample):
            return [{key: row.get(key, value) for key, value in sample.items()} for row in rows.records]
        inner = [filled_shape(one, echo, None, singular, singular) for one in shown]
        return _about_rows([one for one in inner if isinstance(one, dict)], echo, name) or inner
    if not isinstance(shown, dict):
        return shown
    answer: dict[str, JsonValue] = {}
    for key, value in shown.items():
        said = (
            ()
            if isinstance(value, (dict, list))
            else echo.field(key, lambda said: not isinstance(said, (dict, list)), shown, item)
        )
        answer[key] = said[0] if said else filled_shape(value, echo, rows, key, item)
    return answer


def _about_rows(shown: list[JsonObject], echo: Echo, name: str) -> list[JsonValue]:
    """Repeat the items of an example for each object that the call is about; nothing where it is about none."""
    rows = echo.rows(name, shown[0]) if shown else []
    answer: list[JsonValue] = []
    for place, row in enumerate(rows):
        one = shown[place % len(shown)]
        answer.append({key: row.get(key, value) for key, value in one.items()})
    return answer


def plain_answer(
    tool_name: str, arguments: JsonObject, known: Mapping[str, JsonValue], chance: Chance, rows: Rows | None
) -> JsonValue:
    """Report success, echo the arguments, and add what a tool of this name would give."""
    words = words_of(tool_name)
    noun = "_".join(words[1:]) if len(words) > 1 else ""
    answer: dict[str, JsonValue] = {"status": "success", **arguments}
    if words and words[0] in {"is", "has", "can"}:
        return {**answer, "result": True}
    if is_removal(tool_name):
        return {**answer, "deleted": True}
    if rows is not None:
        return _of_rows(rows, answer)
    if is_creation(tool_name) and noun and not any(map(is_identifier, arguments)):
        own_id = f"{noun}_id"
        return {
            "status": "success",
            own_id: known.get(own_id, plausible.identifier(own_id, chance)),
            **arguments,
        }
    state = done_state(tool_name)
    if state is not None and state in (known.get("status"), known.get("state")):
        answer |= {name: known[name] for name in ("status", "state") if name in known}
    if is_read(tool_name) and noun:
        answer.update({name: value for name, value in known.items() if name not in arguments})
        if known.keys() <= arguments.keys():
            answer.update(_thing(noun, chance))
    return answer


def _of_rows(rows: Rows, answer: dict[str, JsonValue]) -> JsonValue:
    """Tell the rows that were found: the fields of the one that an id names, else all, and how many they are."""
    if len(rows.records) == 1 and any(map(is_identifier, rows.used)):
        return {**answer, **rows.records[0].fields}
    listed: list[JsonValue] = [dict(row.fields) for row in rows.records]
    plural = f"{rows.kind[:-1]}ies" if rows.kind.endswith("y") else f"{rows.kind}s"
    return {"status": "success", plural: listed, "count": rows.total}


def _thing(noun: str, chance: Chance) -> dict[str, JsonValue]:
    """Give what a tool that reads this would tell: two records of a plural, one value where the name says enough."""
    if noun.endswith("s") and not noun.endswith("ss"):
        one = noun[:-1]
        names = [
            plausible.identifier(f"{one}_id", Chance(str(chance.number(noun + place, 2**31))))
            for place in "12"
        ]
        return {noun: [{f"{one}_id": name} for name in names]}
    value = plausible.by_name(noun, chance)
    told_nothing = isinstance(value, str) and value.startswith("example")
    return {} if told_nothing else {noun: value}
