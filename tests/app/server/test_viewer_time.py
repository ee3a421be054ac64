"""Times are told by the clock of whoever looks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import streamlit as st

from app.server.viewer_time import short_time, viewer_time

NOON = datetime(2020, 5, 1, 12, 0, tzinfo=UTC)


def looks_from(monkeypatch: pytest.MonkeyPatch, zone: str | None) -> None:
    """Let the browser be in a time zone."""
    monkeypatch.setattr(type(st.context), "timezone", property(lambda _: zone))


@pytest.mark.parametrize(("zone", "hour"), [("Asia/Tokyo", 21), ("America/New_York", 8)])
def test_a_time_is_that_of_the_viewers_clock(zone: str, hour: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given in seconds or as a moment of any zone."""
    looks_from(monkeypatch, zone)
    assert (viewer_time(NOON).hour, viewer_time(NOON.timestamp()).hour) == (hour, hour)


@pytest.mark.parametrize("zone", [None, "", "Nowhere/City", "../etc/passwd"])
def test_without_a_known_zone_it_is_the_servers(zone: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is raised."""
    looks_from(monkeypatch, zone)
    assert viewer_time(NOON) == NOON.astimezone()
    assert viewer_time(NOON).utcoffset() == NOON.astimezone().utcoffset()


def test_today_is_told_by_the_clock_and_other_days_by_their_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the viewer's zone, where another day may have begun."""
    looks_from(monkeypatch, "Asia/Tokyo")
    assert ":" in short_time(datetime.now(UTC).timestamp())
    assert short_time(NOON.timestamp()) == "2020-05-01"
