"""Asks drawn sets of injections, in ADK's own form, for the answers of drawn calls, with the public names alone.

`python rules.py FOLDER FIRST COUNT` writes a line for each set: what each of its calls got, or what the set was refused for.
"""

import asyncio
import json
import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from simulator import create_callback

TOOLS = ["find_order", "refund", "search"]
NAMES = ["order_id", "amount", "filter", "note"]
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    2,
    -1,
    2.0,
    1e300,
    10**20,
    "",
    "A-1",
    "2",
    "é",
    [],
    {},
    [2],
    {"a": None},
    [{"b": [2, True]}],
]


def arguments(dice: random.Random) -> dict[str, Any]:
    """Draw the arguments of a call."""
    return {name: dice.choice(VALUES) for name in dice.sample(NAMES, dice.choice([0, 1, 2]))}


def injection(dice: random.Random) -> dict[str, Any]:
    """Draw an injection, now and then one that is to be refused."""
    error = {
        "injected_http_error_code": dice.choice([404, 503, 600]),
        "error_message": dice.choice(["", "busy"]),
    }
    response = {"injected_response": dice.choice([{"status": "ok"}, {"items": VALUES[-1], "": 1}, {}])}
    return {
        "injection_probability": dice.choice([1.0] * 20 + [0.5, 0.1, 0.0] * 6 + [1.5]),
        "random_seed": dice.choice([None, 1, 42]),
        "match_args": dice.choice([None, None, arguments(dice)]),
        **dice.choice([{"injected_error": error}, response]),
    }


async def answers(config: dict[str, Any], calls: list[tuple[str, dict[str, Any]]], seed: str) -> list[Any]:
    """Return what each call gets."""
    callback: Any = create_callback(config, seed=seed)
    got: list[Any] = []
    for name, given in calls:
        tool: Any = SimpleNamespace(
            name=name, description="", _get_declaration=lambda: None, is_long_running=False
        )
        try:
            got.append(await callback(tool, given, None))
        except Exception as refused:  # noqa: BLE001 - which error it is, and its words, are compared
            got.append(f"{type(refused).__name__}: {refused}")
    return got


def line(number: int) -> str:
    """Return what one set gives to its calls."""
    dice = random.Random(number)  # noqa: S311 - what is drawn is to be drawn again
    tools = [
        {"tool_name": name, "injection_configs": [injection(dice) for _ in range(dice.choice([1, 2, 3]))]}
        for name in dice.sample(TOOLS, dice.choice([1, 2]))
    ]
    calls = [(dice.choice(TOOLS), arguments(dice)) for _ in range(6)]
    try:
        got = asyncio.run(answers({"tool_simulation_configs": tools}, calls, str(number)))
    except Exception as refused:  # noqa: BLE001 - as above
        got = [f"{type(refused).__name__}: {refused}"]
    return json.dumps([number, got], default=repr)


if __name__ == "__main__":
    root, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    root.mkdir(parents=True, exist_ok=True)
    (root / "answers.txt").write_text("\n".join(line(number) for number in range(first, first + count)))
