"""Draws a choice between views that stands in the address, so that a reload, a copied link and the browser's way back lead to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.forms.common_panel import Option, views
from app.forms.widget_store import set_input
from app.session import page_state


def named_views(label: str, options: Sequence[Option], key: str, name: page_state.Part = "tab") -> Option:
    """Draw the choice; return the chosen view. The address names any but the first one, as its `name`.

    An address that has changed by itself decides; else the choice is the person's, or the page's that has set it.
    """
    now, before = page_state.part(name), page_state.named_last(key)
    if now != before:
        there = next((each for each in options if _word(each) == now), None)
        if there is not None or now is None:
            set_input(key, there or options[0])
    chosen = views(label, options, key)
    page_state.name_part(key, name, None if chosen == options[0] else _word(chosen))
    return chosen


def _word(option: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", option.lower()).strip("-")
