"""Measures the share of drafts that people would accept unchanged, on agents that the drafts were not made with."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.tools.function_tool import FunctionTool

from simulator.environment.connections import ToolShape, found_offline
from simulator.environment.entities import WorldCall
from simulator.environment.generator import DraftCall, EarlierAnswer, Sources, drafted
from simulator.environment.tables import read_tables
from simulator.environment.world import World
from simulator.runtime.requests import describe_tool
from tests.environment import fresh_bank, fresh_clinic, fresh_help_desk
from tests.environment.domain_judges import Judge

SEEDS = ("one", "two")
LEAST_SHARE = 0.9
CASES: dict[str, tuple[Any, type[Judge], tuple[Any, ...]]] = {
    "help_desk": (fresh_help_desk, fresh_help_desk.HelpDeskJudge, (fresh_help_desk.DATA, None)),
    "bank": (fresh_bank, fresh_bank.BankJudge, (None,)),
    "clinic": (fresh_clinic, fresh_clinic.ClinicJudge, (None,)),
}


def session(
    module: Any, judge: Judge, script: Callable[[Any], None], seed: str
) -> list[tuple[str, list[str]]]:
    """Play a session in which each draft is the answer; give what the judge says of each."""
    described = [describe_tool(FunctionTool(function)) for function in module.TOOLS]
    shapes = [
        ToolShape(
            name=one.name,
            description=one.description,
            parameters=one.parameters,
            response_schema=one.response,
        )
        for one in described
    ]
    tools = {one.name: one for one in described}
    world = World(found_offline(shapes), read_tables(json.dumps(judge.data or {})))
    earlier: list[EarlierAnswer] = []
    judged: list[tuple[str, list[str]]] = []

    def ask(tool: str, **arguments: Any) -> Any:
        one = tools[tool]
        call = DraftCall(
            tool_name=tool,
            description=one.description,
            parameters=one.parameters,
            response_schema=one.response,
            arguments=arguments,
            earlier=tuple(earlier),
            seed=seed,
        )
        answer: Any = drafted(call, Sources(world=world)).value
        complaints = judge.complaints(tool, arguments, answer)
        judged.append((f"{tool}({arguments}) -> {json.dumps(answer)[:400]}", complaints))
        earlier.append(EarlierAnswer(tool_name=tool, arguments=arguments, response=answer))
        world.take(WorldCall(tool, arguments, answer, fact=len(earlier), turn=1))
        return answer

    script(ask)
    return judged


@pytest.mark.parametrize("agent", CASES)
def test_experts_accept_most_drafts_of_tools_that_say_little(agent: str) -> None:
    """Of each agent's calls, half of them of tools that say little of their answers, people accept at least 90 %."""
    module, judge, tables = CASES[agent]
    judged = [
        one
        for data in tables
        for script in module.SCRIPTS
        for seed in SEEDS
        for one in session(module, judge(data), script, seed)
    ]
    refused = [f"{call}: {'; '.join(words)}" for call, words in judged if words]
    share = 1 - len(refused) / len(judged)
    assert len(judged) >= 2 * 24
    assert share >= LEAST_SHARE, f"{share:.0%} of {len(judged)} accepted; refused:\n" + "\n".join(refused)
