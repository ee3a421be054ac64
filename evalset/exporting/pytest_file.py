"""Writes a pytest file that replays an eval set: no tool runs and no model is asked, so it needs no key."""

from __future__ import annotations

from collections.abc import Sequence

OPENING = '"""Replays the golden traces of '
"""How each of these files begins."""

_TEXT = '''{opening}{name}: no tool runs and no model is called, so this needs no key."""

from pathlib import Path

import pytest

from evalset.verify import verify
from evalset.verify.report import report

EVAL_SET = Path(__file__).with_name({name!r})
{agents}

@pytest.mark.parametrize(
    "eval_id",
    [
{ids}    ],
)
def test_golden_trace(eval_id: str) -> None:
    """The agent makes the same calls in the same order and gives the same final responses."""
    verification = verify(EVAL_SET, cases=[eval_id], models="recorded"{given})
    assert verification.status == "passed", report(verification)
'''


def pytest_text(eval_set: str, eval_ids: Sequence[str], agents_dir: str = "", agent: str = "") -> str:
    """Write the test file of an eval set.

    Args:
        eval_set: The name of the eval set's file, which lies beside the test file, its recorded environment too.
        eval_ids: The cases.
        agents_dir: The folder of the agents, or that of one agent, from the folder of the test file; empty where the eval set lies
            in its agent's folder.
        agent: The agent of all cases, in place of the one that each names.
    """
    given = {"agents_dir": "AGENTS_DIR" if agents_dir else "", "agent": "AGENT" if agent else ""}
    agents = f"AGENTS_DIR = Path(__file__).parent / {agents_dir!r}\n" if agents_dir else ""
    agents += f"AGENT = {agent!r}\n" if agent else ""
    return _TEXT.format(
        opening=OPENING,
        name=eval_set,
        agents=agents,
        ids="".join(f"        {eval_id!r},\n" for eval_id in eval_ids),
        given="".join(f", {name}={value}" for name, value in given.items() if value),
    )
