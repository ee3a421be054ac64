"""Proves over any mixture of callbacks that answer that the seats change nothing in what ADK calls and gives."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin
from hypothesis import given
from hypothesis import strategies as st

from tests.simulator.runtime.beside import Log, Message, assert_same
from tests.simulator.runtime.stage import call, say
from tests.simulator.runtime.watching import (
    AGENT_CALLBACKS,
    ANSWERS,
    FAILS,
    FIND,
    KEEPS,
    RUN_CALLBACKS,
    app_of,
    clerk,
)

TURNS = st.sampled_from(["find", "keeps", "fails", "raise", "say", "unknown"])
MADE = {"find": FIND, "keeps": KEEPS, "fails": FAILS, "say": [say("so")], "unknown": [call("nothing")]}


def _turn(word: str) -> Any:
    return RuntimeError("no model") if word == "raise" else MADE[word]


@pytest.mark.long
@given(
    turns=st.lists(TURNS, max_size=4),
    own=st.sets(st.sampled_from(AGENT_CALLBACKS), max_size=3),
    of_plugin=st.sets(st.sampled_from(sorted(ANSWERS)), max_size=2),
    limit=st.sampled_from([2, 500]),
    messages=st.integers(1, 2),
)
def test_any_mixture_of_answering_callbacks_behaves_as_in_adk(
    turns: list[str], own: set[str], of_plugin: set[str], limit: int, messages: int
) -> None:
    """Whatever the model does and whichever callbacks answer: same calls, same events, same errors, same state."""

    def make(log: Log) -> BaseAgent | App:
        agent = clerk(log, *map(_turn, turns), answering={name: ANSWERS[name]() for name in own})
        return app_of(log, agent, {name: ANSWERS[name]() for name in of_plugin})

    asked: list[Message] = ["go", "again"][:messages]  # type: ignore[assignment] # a list of texts is one of messages
    assert_same(make, asked, max_llm_calls=limit)


def test_the_watchers_cover_all_callbacks_that_adk_has() -> None:
    """ADK's plugin has no callback that these tests do not watch."""
    known = {f"{name}_callback" for name in (*AGENT_CALLBACKS, *RUN_CALLBACKS)}
    assert {name for name in vars(BasePlugin) if name.endswith("_callback")} == known
    assert {name for name in LlmAgent.model_fields if name.endswith("_callback")} == {
        f"{name}_callback" for name in AGENT_CALLBACKS
    }
