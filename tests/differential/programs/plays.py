"""Plays sessions of the demo agents by drawn moves and writes what each leaves, with the public names alone.

`python plays.py FOLDER FIRST COUNT` writes a folder for each number from `FIRST`: the moves, the journal, and the eval set with its recording.
A number draws the agent, the messages, the rules, the seats and each move, so that two versions play the same.
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

from evalset import EvalSetWriter, GoldenTraceBuilder
from simulator import (
    ErrorEffect,
    InjectionRule,
    ResponseEffect,
    Seats,
    Simulation,
    demo_agent,
    failed,
    returned,
    said,
)

MESSAGES = {
    "order_desk": [
        "Please cancel order A-1001 and refund me.",
        "What are all orders of C-17?",
        "Refund A-1002 and A-1003, they are broken.",
        "I want 3 mugs for C-17.",
        "Yes, please do.",
    ],
    "travel_planner": [
        "Plan a trip from Oslo to Rome from 2026-05-03 to 2026-05-06 for 2 people with a Norwegian passport.",
        "A hotel in Rome from 2026-05-03 to 2026-05-06.",
        "Fly from Oslo to Rome on 2026-05-03.",
        "How is the weather in Oslo and Lima?",
    ],
    "expense_approver": [
        "E-7 of engineering: hotel 180 EUR and dinner 75 EUR",
        "E-9 of sales: taxi 42 EUR",
        "E-3 of marketing: flight 1900 EUR and gift 500 EUR",
    ],
}
VALUES: list[Any] = [
    {},
    {"status": "ok"},
    {"error": "busy"},
    [],
    [{"id": "A-1"}],
    "done",
    3,
    None,
    {"items": [{"id": 1}], "total": 1},
]
MOST_MOVES = 14


def rules(dice: random.Random) -> list[InjectionRule]:
    """Draw up to three rules."""
    tools = ["find_order", "cancel_order", "search_flights", "refund_order", "get_weather", "check_policy"]
    made = []
    for number in range(dice.choice([0, 0, 1, 3])):
        effect = dice.choice(
            [ErrorEffect(error_code=503, error_message="busy"), ResponseEffect(value={"status": "late"})]
        )
        chance = dice.choice([1.0, 0.5, 0.1])
        rule = InjectionRule(
            rule_id=f"r{number}", tool_name=dice.choice(tools), effect=effect, probability=chance
        )
        made.append(rule)
    return made


def move(session: Simulation, dice: random.Random) -> str:
    """Make one move and return its name; what is refused is said, as that is compared too."""
    request = dice.choice(session.pending)
    way = dice.choice(["draft"] * 5 + ["value", "failed", "undo", "player", "stop"])
    if way == "undo" and session.can_undo():
        session.undo()
    elif way == "stop" and dice.random() < 0.1:
        session.stop()
    elif request.kind != "tool":
        session.answer(request, said("Done."))
    elif way == "value":
        session.answer(request, returned(dice.choice(VALUES)))
    elif way == "failed":
        session.answer(request, failed("BUSY", "try later"))
    else:
        session.answer(request, request.draft)
    return way


def play(number: int, folder: Path) -> None:
    """Play one session and write what it leaves."""
    dice = random.Random(number)  # noqa: S311 - what is drawn is to be drawn again
    name = dice.choice(sorted(MESSAGES))
    ticks = iter(range(10**9))
    moves: list[str] = []
    config = demo_agent(name)
    with Simulation.open(
        config,
        rules=rules(dice),
        seats=Seats(),
        seed=str(number),
        session_id=f"s{number}",
        clock=lambda: 1.7e9 + next(ticks),
    ) as session:
        for message in dice.sample(MESSAGES[name], dice.choice([1, 1, 2, 3])):
            try:
                session.query(message)
                while session.pending and len(moves) < MOST_MOVES:
                    moves.append(move(session, dice))
            except Exception as refused:  # noqa: BLE001 - which error it is, and its words, are compared
                moves.append(f"{type(refused).__name__}: {refused}")
            if len(moves) >= MOST_MOVES:
                break
        if session.pending:
            session.stop()
        (folder / "journal.json").write_text(session.journal.to_json())
        (folder / "moves.json").write_text(json.dumps(moves, indent=1))
        written = folder / "set.evalset.json"
        try:
            case = GoldenTraceBuilder(session.session, eval_id="case").build()
            EvalSetWriter(written, config.name, clock=lambda: 1.7e9).write_eval_case(case)
        except Exception as refused:  # noqa: BLE001 - as above
            (folder / "refused.txt").write_text(f"{type(refused).__name__}: {refused}")


if __name__ == "__main__":
    root, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for each in range(first, first + count):
        home = root / str(each)
        home.mkdir(parents=True)
        play(each, home)
