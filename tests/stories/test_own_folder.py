"""A folder of agents that somebody brings along: from the list on the start page to the verdict of `adk eval`."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.harness.adk_process import adk_web, run_adk_eval
from tests.harness.browser import Studio
from tests.stories.own_agents import BROKEN_WORDS
from tests.stories.reading import add_changed_case, trajectory_scores

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.xdist_group("stories own folder")]


def test_an_agent_that_does_not_load_is_listed_with_its_error(studio: Studio) -> None:
    """The broken one says why; the others can be chosen, and so can the demos."""
    failed = studio.keyed("agent_card_broken")
    expect(failed).to_contain_text("Failed to load")
    expect(failed).to_contain_text(BROKEN_WORDS)
    for name in ("adder", "slow", "keyless", "order_desk", "travel_planner", "expense_approver"):
        expect(studio.keyed(f"choose_{name}").get_by_role("button")).to_be_enabled()


def test_a_trace_of_ones_own_agent_lands_where_adk_finds_it(studio: Studio, agents_dir: Path) -> None:
    """The default file is the agent's own eval set: `adk eval` passes it, `adk web` shows and runs it in place.

    A copy of the case with one changed argument fails in the same run.
    """
    studio.pick_agent("adder").start("add 2 and 3")
    studio.wait_for_pause("add").run_real()
    studio.wait_for_status("Completed")
    path = studio.export_to(eval_id="sum")
    assert path == agents_dir / "adder" / "adder_evals.evalset.json"

    add_changed_case(path, "sum", 0, second=4)
    outcome = run_adk_eval(agents_dir / "adder", path)
    assert trajectory_scores(outcome) == {"sum": 1.0, "changed": 0.0}, outcome.output[-3000:]

    with adk_web(agents_dir) as web:
        assert "adder_evals" in web.eval_sets("adder")
        assert web.eval_cases("adder", "adder_evals") == ["changed", "sum"]
        shown = web.eval_case("adder", "adder_evals", "sum")
        assert shown["conversation"][0]["finalResponse"]["parts"][0]["text"] == "The sum is 5."
        assert [case.passed for case in web.run("adder", "adder_evals", ["sum"])] == [True]
