"""Proves what rules do in the environment without the page, as in a session that is played."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from simulator.environment.world.invariants import InvariantError
from simulator.runtime.knowledge.knowledge import Knowledge
from simulator.runtime.plugin.session_play import SessionPlay
from tests.simulator.runtime.plugin.order_tools import find_order, really_ran
from tests.simulator.runtime.plugin.standing import FIND, Form, config, played, rule
from tests.simulator.runtime.stage import agent_of, call

# ---------------------------------------------------------------- what rules do here


def test_distortions_change_real_answers_too(form: Form) -> None:
    """A real tool runs, and the agent sees its answer without what the rule takes away."""
    empty = rule("empty", effect={"kind": "distort", "distortions": [{"kind": "drop"}]})
    given = config(empty, players={"find_order": "real"})
    seen, stage = played(form, agent_of(FIND, tools=[find_order]), given)
    assert really_ran() == [("find_order", "A-1")]
    assert seen != [{"order_id": "A-1", "status": "really open", "total": 1.0}]
    assert stage.ours.calls()[0].really == {"order_id": "A-1", "status": "really open", "total": 1.0}


def test_sequences_and_templates_follow_the_session(form: Form) -> None:
    """One value after the other, each filled in from the call's arguments, the state and its number."""
    values = [{"order": "{{ args.order_id }}", "n": "{{ call_number }}"}, {"of": "{{ state.who }}"}]
    told = rule("told", effect={"kind": "sequence", "values": values, "templated": True, "then": "pass"})

    def sign(callback_context: Any) -> None:
        callback_context.state["who"] = "Ada"

    agent = agent_of(
        FIND, FIND, [call("find_order", order_id="B-2")], tools=[find_order], before_agent_callback=sign
    )
    seen, stage = played(form, agent, config(told))
    assert seen[:2] == [{"order": "A-1", "n": 1}, {"of": "Ada"}]
    assert [each.provenance.source for each in stage.ours.calls()] == ["injected", "injected", "generated"]


def test_a_rule_that_cannot_answer_or_asks_a_person_leaves_the_call_to_the_player(form: Form) -> None:
    """A broken template or a question to a person never ends a run; the log says what happened."""
    broken = rule(
        "broken", effect={"kind": "response", "value": {"x": "{{ args.nothing.at_all }}"}, "templated": True}
    )
    asks = rule("asks", effect={"kind": "ask"})
    for each in (broken, asks):
        (seen,), stage = played(form, agent_of(FIND, tools=[find_order]), config(each))
        assert seen["order_id"] == "A-1"
        assert each.rule_id in stage.ours.calls()[0].provenance.notes[0]


# ---------------------------------------------------------------- what goes wrong inside


def test_what_is_wrong_in_here_does_not_end_the_agents_run(
    form: Form, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Rules that cannot be asked, and answers that nothing can be learnt from, leave the agent an answer and a log.

    Where the real tool was to answer, that is an error, and nothing is made up.
    """

    def broken(*_: object, **__: object) -> None:
        raise InvariantError("a line that was never checked")

    # Nothing that is known raises here: this stands for what is not known yet.
    monkeypatch.setattr(SessionPlay, "judge", broken)
    monkeypatch.setattr(Knowledge, "take", broken)
    agent = agent_of(FIND, tools=[find_order])
    (refused,), _ = played(form, agent.clone(), config(rule("x"), players={"find_order": "real"}))
    assert refused["error_code"] == "simulation_failed"
    caplog.clear()
    (seen,), stage = played(form, agent, config(players={"find_order": "offline"}))
    assert seen["order_id"] == "A-1"
    (logged,) = stage.ours.calls()
    assert "a line that was never checked" in logged.provenance.notes[0]
    failed = [record for record in caplog.records if record.levelno == logging.ERROR and record.exc_info]
    assert ["find_order" in record.getMessage() for record in failed] == [True, True]


def test_players_of_tools_that_there_are_not_are_told_once(
    form: Form, caplog: pytest.LogCaptureFixture
) -> None:
    """A misspelt name is logged at the first call, and not again; a tool that is there is not named."""
    given = config(players={"find_order": "offline", "find_ordr": "real"})
    seen, _ = played(form, agent_of(FIND, FIND, tools=[find_order]), given)
    assert len(seen) == 2
    told = [record.message for record in caplog.records if record.message.startswith("players: ")]
    assert ["'find_ordr'" in message for message in told] == [True]
