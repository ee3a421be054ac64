"""Times in the time zone of the browser, or of the server if the browser does not name one."""

from __future__ import annotations

from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st


def viewer_time(at: float | datetime) -> datetime:
    """Return a time in the viewer's time zone.

    Args:
        at: Seconds since the epoch, or a time with a zone.
    """
    moment = at if isinstance(at, datetime) else datetime.fromtimestamp(at).astimezone()
    return moment.astimezone(_zone())


def short_time(at: float) -> str:
    """Say when something was: by the clock where it was today, else by the day."""
    then, now = viewer_time(at), viewer_time(datetime.now().astimezone())
    if then.date() == now.date():
        return then.strftime("%H:%M")
    return then.strftime("%-d %b" if then.year == now.year else "%Y-%m-%d")


def _zone() -> tzinfo | None:
    name = st.context.timezone
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError):  # the browser knows a zone that this machine does not
        return None
