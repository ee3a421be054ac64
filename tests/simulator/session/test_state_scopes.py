"""The state of a session: what lasts longer than one invocation, by the prefixes of its keys."""

from __future__ import annotations

from google.adk.sessions.state import State

from simulator.base.state_scopes import OF_APP, OF_USER, TEMPORARY, lasting


def test_prefixes_are_those_of_adk() -> None:
    """What knows no ADK takes a key for what ADK takes it for."""
    assert (TEMPORARY, OF_APP, OF_USER) == (State.TEMP_PREFIX, State.APP_PREFIX, State.USER_PREFIX)


def test_what_lasts_one_invocation_is_left_out() -> None:
    """All else stays, in its order."""
    assert list(lasting({"b": 1, "temp:a": 2, "user:temp:": 3, "app:a": 4})) == ["b", "user:temp:", "app:a"]
