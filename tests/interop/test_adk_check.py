"""The installed google-adk is checked before a session begins: what is missing is named, with the version and what follows."""

import warnings

import google.adk
import pytest

from simulator.runtime.adk.adk_check import (
    POINTS,
    AdkProblem,
    TouchPoint,
    UnsupportedAdkError,
    UntestedAdkWarning,
    adk_problems,
    check_adk,
    judge,
)

VERSION = google.adk.__version__
GONE = [
    "workflow._no_such_module:Tool",
    "workflow._tool_node:_NoSuchNode",
    "tools.tool_context:ToolContext._no_such_attribute",
    "runners:Runner.run_async(no_such_parameter)",
]


def test_this_version_has_all_that_is_touched() -> None:
    """It fails when ADK moves or renames one of them; nothing is warned of either."""
    assert adk_problems() == ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_adk.__wrapped__()


def test_each_point_says_what_does_not_work_without_it() -> None:
    """A person can decide by the text."""
    assert all(point.without and point.places for point in POINTS)


@pytest.mark.parametrize("place", GONE)
def test_what_is_needed_and_missing_is_an_error_that_names_it(place: str) -> None:
    """The version, the point, what follows and what to install."""
    problems = adk_problems([TouchPoint((place,), "calls are lost")])
    with pytest.raises(UnsupportedAdkError) as raised:
        judge(VERSION, problems)
    text = str(raised.value)
    assert text.startswith(f"google-adk {VERSION} has no {place}: calls are lost")
    assert "Install google-adk 2.11 to 2.13" in text


def test_what_a_session_can_do_without_is_a_warning() -> None:
    """The session begins."""
    problem = AdkProblem(VERSION, TouchPoint((GONE[0],), "undo is slow", needed=False))
    with pytest.warns(UntestedAdkWarning, match="undo is slow"):
        judge(VERSION, [problem])


@pytest.mark.parametrize("version", ["2.14.0", "3.0.0rc1", "2.20"])
def test_a_newer_version_is_a_warning(version: str) -> None:
    """It names the version, and the newest that was tested."""
    with pytest.warns(UntestedAdkWarning, match=rf"{version} is newer than 2\.13"):
        judge(version, ())


def test_one_of_several_places_is_enough() -> None:
    """Versions keep the same thing in different modules."""
    assert adk_problems([TouchPoint((GONE[0], "runners:Runner"), "nothing runs")]) == ()
