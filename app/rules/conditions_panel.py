"""The conditions of a rule in its editor: each kind with its inputs, and the groups that they stand in.

Each condition and each group of them is a node with a number; the inputs of node 4 are called `c4.kind`, `c4.path` and
so on, and the rows of a group `c4:rows`. The root, node 0, is a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import streamlit as st
from pydantic import JsonValue, TypeAdapter, ValidationError

from app.forms.typed_json import TypedJsonError, parse_json, write_json
from app.rules.rule_inputs_panel import (
    Input,
    Inputs,
    Kind,
    Seeds,
    chosen,
    complaints,
    json_seed,
    line,
    number,
    switch,
    text_read,
)
from simulator.environment.injection.conditions import (
    Absent,
    AgentIs,
    AllOf,
    AnyOf,
    ArgumentIs,
    Between,
    CallNumber,
    Condition,
    Equals,
    Expression,
    Holds,
    Matches,
    Not,
    OneOf,
    Present,
    WorldIs,
)

MAX_LEVELS = 2
"""How many groups may stand in each other inside of the root; what is deeper is written as JSON."""
_WIDE = 188
_MIDDLE = 146
_NARROW = 104
_TYPES = {"text": "text", "number": "number", "boolean": "boolean", "json": "JSON"}
_CONDITION: TypeAdapter[Condition] = TypeAdapter(Condition)


# ---------------------------------------------------------------- values, each typed as a type that is chosen


def _type_of(value: JsonValue) -> str:
    """Say as what a value is typed: `text` where a line holds it, `number`, `boolean` or `json`."""
    if isinstance(value, str):
        is_plain = value == value.strip() and value and value.isprintable()
        return "text" if is_plain else "json"
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, (int, float)) else "json"


def _type_name(name: str) -> str:
    return f"{name.rpartition('.')[0]}.as"


def _seed_value(name: str, value: JsonValue) -> Seeds:
    kind = _type_of(value)
    return {_type_name(name): kind, name: str(value) if kind == "text" else write_json(value)}


def _seed_values(name: str, values: tuple[JsonValue, ...]) -> Seeds:
    kinds = {_type_of(each) for each in values}
    kind = kinds.pop() if len(kinds) == 1 else "json"
    lines = (str(each) if kind == "text" else " ".join(write_json(each).split("\n")) for each in values)
    return {_type_name(name): kind, name: "\n".join(lines)}


def _typed(inputs: Inputs, name: str, text: str) -> JsonValue:
    """Read one value as the type that was chosen for it."""
    kind, words = inputs.get(_type_name(name)), text.strip()
    if kind == "text":
        return words
    refused = f"\u201c{words[:40]}\u201d is not a {_TYPES[kind]}."
    try:
        value = parse_json(text)
    except TypedJsonError as error:
        if not words:
            inputs.lack(name, "Enter a value.")
        return inputs.refuse(name, str(error) if kind == "json" else refused)
    return value if kind in {"json", _type_of(value)} else inputs.refuse(name, refused)


def _read_values(inputs: Inputs, name: str) -> list[JsonValue]:
    lines = [each for each in inputs.written(name).split("\n") if each.strip()]
    if not lines:
        inputs.lack(name, "Enter at least one value, one per line.")
    return [_typed(inputs, name, each) for each in lines]


def _draw_type(inputs: Inputs, name: str) -> str:
    return inputs.choice("Value type", _type_name(name), _TYPES, width=_NARROW)


def _draw_value(inputs: Inputs, name: str) -> None:
    match _draw_type(inputs, name):
        case "text":
            choices = inputs.hints.choices_at(inputs.words(f"{name.rpartition('.')[0]}.path"))
            inputs.suggested("Value", name, choices, placeholder="Rome", width=_WIDE)
        case "boolean":
            inputs.choice("Value", name, {"true": "true", "false": "false"}, width=_NARROW)
        case _:
            inputs.draw(st.text_input, "Value", name, width=_WIDE)


def _draw_values(inputs: Inputs, name: str) -> None:
    _draw_type(inputs, name)
    inputs.area("Values, one per line", name, height=90)


# ---------------------------------------------------------------- tests of a value


def _read_high(inputs: Inputs, name: str) -> Any:
    low = f"{name.rpartition('.')[0]}.low"
    high = inputs.get(name)
    return (
        inputs.lack(low, "Enter a minimum, a maximum or both.") if high is inputs.get(low) is None else high
    )


TESTS: Mapping[str, Kind] = {
    "equals": Kind(
        "is",
        Equals,
        (Input("value", _draw_value, lambda each, at: _typed(each, at, each.written(at)), _seed_value),),
    ),
    "holds": Kind(
        "contains",
        Holds,
        (
            Input(
                "value",
                lambda each, at: each.area("Value (JSON)", at, height=80, placeholder='{"status": "open"}'),
                Inputs.json,
                lambda name, value: {_type_name(name): "json", name: write_json(value)},
            ),
        ),
    ),
    "matches": Kind(
        "matches",
        Matches,
        (
            Input(
                "pattern",
                lambda each, at: each.draw(
                    st.text_input, "Regular expression", at, placeholder=r"^A-\d+$", width=_WIDE
                ),
                lambda each, at: (
                    each.written(at) or each.lack(at, "Enter a regular expression, for example ^A-\\d+$.")
                ),
            ),
            switch("whole", "match the whole text"),
            switch("ignore_case", "ignore case"),
        ),
    ),
    "between": Kind(
        "is between",
        Between,
        (
            number("low", "Minimum", format="%g", width=_NARROW, placeholder="any"),
            number("high", "Maximum", format="%g", width=_NARROW, placeholder="any")._replace(
                read=_read_high
            ),
            switch("exclusive", "exclusive"),
        ),
    ),
    "one_of": Kind("is one of", OneOf, (Input("values", _draw_values, _read_values, _seed_values),)),
    "present": Kind("is present", Present),
    "absent": Kind("is missing", Absent),
}
_TEST_WORDS = {name: kind.label for name, kind in TESTS.items()}


def _draw_test(inputs: Inputs, name: str) -> None:
    test = inputs.choice("Test", name, _TEST_WORDS, width=_NARROW + 14)
    TESTS[test].draw(inputs, name.rpartition(".")[0])


_TEST = Input(
    "test",
    _draw_test,
    lambda inputs, name: TESTS[inputs.get(name)].read(inputs, name.rpartition(".")[0]),
    lambda name, test: {name: test.test, **TESTS[test.test].seed(name.rpartition(".")[0], test)},
)


# ---------------------------------------------------------------- conditions


def _is_from(inputs: Inputs, name: str) -> bool:
    return bool(inputs.get(f"{name.rpartition('.')[0]}.id") == "from")


def _draw_id(inputs: Inputs, name: str) -> None:
    ways = {"from": "id from an argument", "fixed": "this id"}
    inputs.choice("Which entity", f"{name.rpartition('.')[0]}.id", ways, width=_MIDDLE)
    if _is_from(inputs, name):
        inputs.suggested("Argument", name, inputs.hints.paths, placeholder="order_id", width=_MIDDLE)


def _draw_fixed(inputs: Inputs, name: str) -> None:
    if not _is_from(inputs, name):
        inputs.draw(st.text_input, "Id", name, placeholder="A-1001", width=_MIDDLE)


def _read_json(inputs: Inputs, name: str) -> Condition:
    value = inputs.json(name)
    try:
        return _CONDITION.validate_python(value)
    except ValidationError as error:
        return inputs.refuse(name, complaints(error))


_COUNTED = {
    "rule": "calls that match the rest of the rule",
    "tool": "calls of this tool",
    "session": "all tool calls of the session",
}
_WHICH = {"nth": "only number", "first": "the first", "every": "every nth", "after": "after number"}

CONDITIONS: Mapping[str, Kind] = {
    "argument": Kind(
        "Argument",
        ArgumentIs,
        (
            Input(
                "path",
                lambda each, at: each.suggested(
                    "Argument", at, each.hints.paths, placeholder="order.items[*].sku", width=_WIDE
                ),
                text_read("Enter an argument, for example order_id."),
            ),
            _TEST,
        ),
    ),
    "call_number": Kind(
        "Call number",
        CallNumber,
        (
            chosen("which", "Calls", _WHICH, width=_WIDE),
            number("n", "Number", "Enter a whole number, 1 or more.", min_value=1, step=1, width=_NARROW),
            chosen("counted", "Counted among", _COUNTED, width=_WIDE + _NARROW),
        ),
        whole="n",
    ),
    "world": Kind(
        "World state",
        WorldIs,
        (
            line(
                "entity",
                "Entity kind",
                "Enter an entity kind, for example order.",
                placeholder="order",
                width=_MIDDLE,
            ),
            Input(
                "id_from",
                _draw_id,
                lambda each, at: (
                    each.needed(at, "Enter the argument that contains the id.") if _is_from(each, at) else ""
                ),
                lambda name, value: {
                    name: value,
                    f"{name.rpartition('.')[0]}.id": "from" if value else "fixed",
                },
            ),
            Input(
                "entity_id",
                _draw_fixed,
                lambda each, at: (
                    "" if _is_from(each, at) else each.needed(at, "Enter the id, for example A-1001.")
                ),
            ),
            line("field", "Field", placeholder="the entity itself", width=_MIDDLE)._replace(
                read=Inputs.words
            ),
            _TEST,
        ),
    ),
    "agent": Kind(
        "Calling agent",
        AgentIs,
        (
            Input(
                "agent",
                lambda each, at: each.suggested(
                    "Agent", at, each.hints.agents, placeholder="any; * is a wildcard", width=_WIDE
                ),
                Inputs.words,
            ),
            line("branch", "Branch", placeholder="any", width=_WIDE)._replace(read=Inputs.words),
        ),
    ),
    "expression": Kind(
        "Expression",
        Expression,
        (
            line(
                "text",
                "Expression",
                "Enter an expression that returns true or false.",
                placeholder="args.quantity > world.products[args.sku].stock",
                help="Variables: args, world, state, calls (earlier calls of this tool) and agent",
            ),
        ),
    ),
    "json": Kind(
        "Condition as JSON",
        lambda json: json,
        (
            Input(
                "json", lambda each, at: each.area("Condition (JSON)", at, height=140), _read_json, json_seed
            ),
        ),
    ),
}
_GROUPS = {"all_of": "All of these", "any_of": "Any of these"}
_LEAVES = {name: kind.label for name, kind in CONDITIONS.items()}
_JSON = _LEAVES.pop("json")
_WORDS = {**_LEAVES, **_GROUPS, "json": _JSON}

DEFAULTS: Seeds = {
    "c0.kind": "all_of",
    "c0:rows": [],
    "c:next": 1,
    "c.kind": "argument",
    "c.not": False,
    "c.test": "equals",
    "c.as": "text",
    "c.path": "",
    "c.value": "",
    "c.values": "",
    "c.pattern": "",
    "c.which": "nth",
    "c.n": 1,
    "c.counted": "rule",
    "c.id": "from",
    "c.json": "{}",
}


def seed_condition(when: Condition | None) -> Seeds:
    """Return what the inputs hold at first."""
    seeds, numbers = Seeds(), count(1)
    if when is not None and not isinstance(when, (AllOf, AnyOf)):
        when = AllOf(conditions=(when,))
    _seed_group(seeds, 0, when, numbers)
    seeds["c:next"] = next(numbers)
    return seeds


def _seed_group(
    seeds: Seeds, node: int, group: AllOf | AnyOf | None, numbers: Iterator[int], level: int = 0
) -> None:
    inner = group.conditions if group else ()
    seeds[f"c{node}.kind"] = group.kind if group else "all_of"
    rows = [next(numbers) for _ in inner]
    seeds[f"c{node}:rows"] = [*rows]
    for row, condition in zip(rows, inner, strict=True):
        _seed_node(seeds, row, condition, numbers, level + 1)


def _seed_node(seeds: Seeds, node: int, condition: Condition, numbers: Iterator[int], level: int) -> None:
    """Write one condition; `level` counts the groups that it stands in."""
    at = f"c{node}"
    if isinstance(condition, Not) and not isinstance(condition.condition, Not):
        seeds[f"{at}.not"] = True
        condition = condition.condition
    if isinstance(condition, (AllOf, AnyOf)) and level <= MAX_LEVELS:
        _seed_group(seeds, node, condition, numbers, level)
    elif condition.kind in _LEAVES:
        seeds |= {f"{at}.kind": condition.kind, **CONDITIONS[condition.kind].seed(at, condition)}
    else:
        seeds |= {f"{at}.kind": "json", **json_seed(f"{at}.json", condition.model_dump(mode="json"))}


def read_condition(inputs: Inputs) -> Condition | None:
    """Read what the inputs ask for; None where they ask for nothing.

    Raises:
        UnreadableInputError: An input says nothing usable; all such inputs are among the problems.
    """
    return _read_group(inputs, 0) if inputs.rows("c0") else None


def _read_group(inputs: Inputs, node: int) -> Condition:
    rows = inputs.rows(f"c{node}")
    if not rows:
        inputs.lack(f"c{node}.kind", "This group is empty. Add a condition or remove the group.")
    read = inputs.each(rows, lambda row: _read_node(inputs, row))
    if len(read) == 1 and node == 0:
        found: Condition = read[0]
        return found
    return (AnyOf if inputs.get(f"c{node}.kind") == "any_of" else AllOf)(conditions=read)


def _read_node(inputs: Inputs, node: int) -> Condition:
    at, kind = f"c{node}", inputs.get(f"c{node}.kind")
    condition = (
        _read_group(inputs, node)
        if kind in _GROUPS
        else CONDITIONS.get(kind, CONDITIONS["json"]).read(inputs, at)
    )
    return Not(condition=condition) if inputs.is_on(f"{at}.not") else condition


# ---------------------------------------------------------------- drawing


def when(inputs: Inputs) -> None:
    """Draw the conditions and the chance."""
    if not inputs.rows("c0"):
        st.caption("Applies to every call of the tool. Add a condition to narrow it.")
    _group(inputs, 0, 0)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        inputs.number(
            "Probability %", "chance", min_value=0.0, max_value=100.0, step=5.0, format="%g", width=_MIDDLE
        )
        inputs.draw(st.text_input, "Random seed", "seed", placeholder="from the session", width=_MIDDLE)
    with st.expander("Match arguments (ADK's match_args)"):
        inputs.area(
            "Arguments that must be equal (JSON object)",
            "match",
            placeholder='{"order_id": "A-1"}',
            height=80,
        )


def _group(inputs: Inputs, node: int, level: int) -> None:
    rows = inputs.rows(f"c{node}")
    for row in rows:
        with st.container(border=True, gap="xsmall", key=inputs.kept.key(f"c{row}:box")):
            _node(inputs, node, row, level)
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        if node == 0 and len(rows) > 1:
            inputs.choice("Match all or any", "c0.kind", _GROUPS, label_visibility="collapsed", width=_MIDDLE)
        inputs.adder("Add condition", f"c{node}", "c", type="tertiary" if node else "secondary")
        if level < MAX_LEVELS:
            st.button(
                "Add group",
                key=inputs.kept.key(f"c{node}:add_group"),
                icon=":material/data_object:",
                type="tertiary",
                help="A group contains conditions. All or any of them must hold",
                on_click=_add_group,
                args=(inputs, node),
            )


def _add_group(inputs: Inputs, node: int) -> None:
    row = int(inputs.get("c:next") or 0)
    inputs.add_row(f"c{node}", "c", kind="any_of")
    inputs.add_row(f"c{row}", "c")


def _node(inputs: Inputs, parent: int, row: int, level: int) -> None:
    at = f"c{row}"
    kinds = {name: words for name, words in _WORDS.items() if name not in _GROUPS or level < MAX_LEVELS}
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        kind = inputs.choice("Condition type", f"{at}.kind", kinds, label_visibility="collapsed", width=_WIDE)
        inputs.flag("not", f"{at}.not", help="Matches when the condition does not hold")
        st.space("stretch")
        inputs.row_buttons(f"c{parent}", row, at, _WORDS[kind].lower())
    if kind in _GROUPS:
        _group(inputs, row, level + 1)
    else:
        with st.container(horizontal=True, gap="small", vertical_alignment="top"):
            CONDITIONS[kind].draw(inputs, at)
