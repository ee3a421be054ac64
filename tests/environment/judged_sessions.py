"""Plays sessions in which each draft is the answer, and hears what a judge says of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from google.adk.tools.function_tool import FunctionTool

from simulator.environment.drafting.generator import DraftCall, EarlierAnswer, Sources, drafted
from simulator.environment.things.connections import ToolShape, found_offline
from simulator.environment.things.entities import WorldCall
from simulator.environment.things.tables import read_tables
from simulator.environment.things.world import World
from simulator.runtime.requests import describe_tool
from tests.environment.domain_judges import Judge

Ask = Callable[..., Any]
"""Calls a tool by its name, with arguments; gives the draft of its answer."""

Judged = tuple[str, list[str]]
"""A call with its draft, in words, and what the judge complains of."""

_SHOWN = 400


def session(
    functions: Iterable[Callable[..., Any]], judge: Judge, script: Callable[[Ask], None], seed: str
) -> list[Judged]:
    """Play a session with some tools; give what the judge says of each draft."""
    described = [describe_tool(FunctionTool(function)) for function in functions]
    tools = {
        one.name: ToolShape(
            name=one.name,
            description=one.description,
            parameters=one.parameters,
            response_schema=one.response,
        )
        for one in described
    }
    world = World(found_offline(list(tools.values())), read_tables(json.dumps(judge.data or {})))
    earlier: list[EarlierAnswer] = []
    judged: list[Judged] = []

    def ask(tool: str, **arguments: Any) -> Any:
        shape = tools[tool].model_dump(exclude={"name"})
        call = DraftCall(tool_name=tool, arguments=arguments, earlier=tuple(earlier), seed=seed, **shape)
        answer: Any = drafted(call, Sources(world=world)).value
        complaints = judge.complaints(tool, arguments, answer)
        judged.append((f"{tool}({arguments}) -> {json.dumps(answer)[:_SHOWN]}", complaints))
        earlier.append(EarlierAnswer(tool_name=tool, arguments=arguments, response=answer))
        world.take(WorldCall(tool, arguments, answer, fact=len(earlier), turn=1))
        return answer

    script(ask)
    return judged


def check_accepted(judged: list[Judged], share: float) -> None:
    """Check that at least this share of some drafts has no complaint; where not, all complaints are told."""
    refused = [f"{call}: {'; '.join(words)}" for call, words in judged if words]
    accepted = 1 - len(refused) / len(judged)
    assert accepted >= share, f"{accepted:.0%} of {len(judged)} accepted; refused:\n" + "\n".join(refused)
