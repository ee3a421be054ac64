"""Draws for which calls a rule is: its conditions, in groups, and its chance."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app.argument_paths import choices_at, schema_paths, typed_as, value_paths
from app.condition_form import COUNTED, GROUPS, KINDS, MAX_LEVELS, TESTS, TYPES, WHICH
from app.fields import Fields
from app.panels.rule_inputs import Inputs
from app.past_calls import PastCall
from simulator.environment.injection.rules import EVERY_TOOL
from simulator.environment.language.paths import PathError, parse
from simulator.jsonvalue import JsonObject

_NOT = "not"
_WIDE = 188
_MIDDLE = 146
_NARROW = 104


class Asked:
    """What the editor knows of the calls that a rule may be for: their arguments' paths, schemas and values."""

    def __init__(
        self,
        tool: str,
        schemas: Mapping[str, JsonObject],
        calls: Sequence[PastCall],
        agents: Sequence[str] = (),
    ) -> None:
        of_tool = [call for call in calls if tool in {call.tool_name, EVERY_TOOL}]
        self.agents = tuple(agents)
        self.arguments = [dict(call.arguments) for call in of_tool[-20:]]
        self.schemas = schema_paths(schemas.get(tool) or {})
        self.paths = tuple(dict.fromkeys((*self.schemas, *value_paths(self.arguments))))

    def values_at(self, path: str) -> list[Any]:
        """Give the values that calls had at a path."""
        try:
            read = parse(path)
        except PathError:
            return []
        return [value for arguments in self.arguments for _, value in read.found(arguments)]

    def type_at(self, path: str) -> str:
        """Say how the value at a path is typed."""
        return typed_as(self.schemas.get(path), next(iter(self.values_at(path)), None))


def suggest_types(fields: Fields, asked: Asked) -> None:
    """Let a value that nobody said the type of be of the type that its schema, or an earlier call, has."""
    for row in range(int(fields.get("c:next") or 0)):
        path = fields.line(f"c{row}.path")
        if path:
            fields.suggest(f"c{row}.as", asked.type_at(path))


def when(inputs: Inputs, asked: Asked) -> None:
    """Draw the conditions and the chance."""
    rows = inputs.fields.rows("c0")
    if rows:
        _group(inputs, 0, 0, asked)
    else:
        st.caption("Each call of the tool, unless you add a condition.")
        _adders(inputs, 0, 0)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        inputs.number(
            "Chance %", "chance", min_value=0.0, max_value=100.0, step=5.0, format="%g", width=_MIDDLE
        )
        inputs.line("Seed of the chance", "seed", placeholder="from the session", width=_MIDDLE)
    with st.expander("Arguments as in ADK (match_args)"):
        inputs.area(
            "Each argument that is named here must be equal (JSON object)",
            "match",
            placeholder='{"order_id": "A-1"}',
            height=80,
        )


def _group(inputs: Inputs, node: int, level: int, asked: Asked) -> None:
    rows = inputs.fields.rows(f"c{node}")
    for row in rows:
        with st.container(border=True, gap="xsmall", key=inputs.kept.key(f"c{row}:box")):
            _node(inputs, node, row, level, asked)
    _adders(inputs, node, level)


def _adders(inputs: Inputs, node: int, level: int) -> None:
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        if node == 0 and len(inputs.fields.rows("c0")) > 1:
            inputs.choice(
                "Which of these must hold", "c0.kind", GROUPS, label_visibility="collapsed", width=_MIDDLE
            )
        st.button(
            "Add condition",
            key=inputs.kept.key(f"c{node}:add"),
            icon=":material/add:",
            on_click=inputs.add_row,
            args=(f"c{node}", "c"),
            type="tertiary" if node else "secondary",
        )
        if level < MAX_LEVELS:
            st.button(
                "Add group",
                key=inputs.kept.key(f"c{node}:add_group"),
                icon=":material/data_object:",
                type="tertiary",
                help="A group holds conditions of its own, all or any of which must hold",
                on_click=_add_group,
                args=(inputs, node),
            )


def _add_group(inputs: Inputs, node: int) -> None:
    row = int(inputs.fields.get("c:next") or 0)
    inputs.add_row(f"c{node}", "c", kind="any_of")
    inputs.add_row(f"c{row}", "c")


def _node(inputs: Inputs, parent: int, row: int, level: int, asked: Asked) -> None:
    at = f"c{row}"
    kinds = {name: words for name, words in KINDS.items() if name not in GROUPS or level < MAX_LEVELS}
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        kind = inputs.choice(
            "What is asked for", f"{at}.kind", kinds, label_visibility="collapsed", width=_WIDE
        )
        inputs.flag(_NOT, f"{at}.not", help="Fits where this does not hold")
        st.space("stretch")
        inputs.row_buttons(f"c{parent}", row, at, KINDS[kind].lower())
    if kind in GROUPS:
        _group(inputs, row, level + 1, asked)
    else:
        _fields(inputs, at, kind, asked)


def _fields(inputs: Inputs, at: str, kind: str, asked: Asked) -> None:
    """Draw the inputs of one condition."""
    with st.container(horizontal=True, gap="small", vertical_alignment="top"):
        match kind:
            case "argument":
                path = inputs.suggested(
                    "Argument", f"{at}.path", asked.paths, placeholder="order.items[*].sku", width=_WIDE
                )
                _test(inputs, at, path, asked)
            case "call_number":
                inputs.choice("The call", f"{at}.which", WHICH, width=_WIDE)
                inputs.number("Number", f"{at}.n", min_value=1, step=1, width=_NARROW)
                inputs.choice("Counted", f"{at}.counted", COUNTED, width=_WIDE + _NARROW)
            case "world":
                _world(inputs, at, asked)
            case "agent":
                inputs.suggested(
                    "Agent", f"{at}.agent", asked.agents, placeholder="any; * stands for more", width=_WIDE
                )
                inputs.line("Branch", f"{at}.branch", placeholder="any", width=_WIDE)
            case "expression":
                inputs.line(
                    "Expression",
                    f"{at}.text",
                    placeholder="args.quantity > world.products[args.sku].stock",
                    help="Knows args, world, state, calls (of this tool so far) and agent",
                )
            case _:
                inputs.area("Condition (JSON)", f"{at}.json", height=140)


def _world(inputs: Inputs, at: str, asked: Asked) -> None:
    inputs.line("Kind of thing", f"{at}.entity", placeholder="order", width=_MIDDLE)
    ways = {"from": "id in an argument", "fixed": "this id"}
    if inputs.choice("Which one", f"{at}.id", ways, width=_MIDDLE) == "from":
        inputs.suggested("Argument", f"{at}.id_from", asked.paths, placeholder="order_id", width=_MIDDLE)
    else:
        inputs.line("Id", f"{at}.entity_id", placeholder="A-1001", width=_MIDDLE)
    inputs.line("Field", f"{at}.field", placeholder="the thing itself", width=_MIDDLE)
    _test(inputs, at, "", asked)


def _test(inputs: Inputs, at: str, path: str, asked: Asked) -> None:
    test = inputs.choice("Test", f"{at}.test", TESTS, width=_NARROW + 14)
    match test:
        case "equals":
            kind = inputs.choice("Typed as", f"{at}.as", TYPES, width=_NARROW)
            known = [str(each) for each in asked.values_at(path) if isinstance(each, (str, int, float))]
            if kind == "text":
                choices = (*choices_at(asked.schemas.get(path)), *known)
                inputs.suggested("Value", f"{at}.value", choices, placeholder="Rome", width=_WIDE)
            elif kind == "boolean":
                inputs.choice("Value", f"{at}.value", {"true": "true", "false": "false"}, width=_NARROW)
            else:
                inputs.line("Value", f"{at}.value", width=_WIDE)
        case "holds":
            inputs.area("Value (JSON)", f"{at}.value", height=80, placeholder='{"status": "open"}')
        case "matches":
            inputs.line("Regular expression", f"{at}.pattern", placeholder=r"^A-\d+$", width=_WIDE)
            inputs.flag("all of the text", f"{at}.whole")
            inputs.flag("in any case", f"{at}.ignore_case")
        case "between":
            inputs.number("Lowest", f"{at}.low", format="%g", width=_NARROW, placeholder="any")
            inputs.number("Highest", f"{at}.high", format="%g", width=_NARROW, placeholder="any")
            inputs.flag("without the bounds", f"{at}.exclusive")
        case "one_of":
            inputs.choice("Typed as", f"{at}.as", TYPES, width=_NARROW)
            inputs.area("Values, one on each line", f"{at}.values", height=90)
        case _:
            return
