"""The tabs of an eval set's page by name, in their order; another one is a module here and a line below."""

from __future__ import annotations

from collections.abc import Mapping

from app.panels.evalsets.cases_tab import cases_tab
from app.panels.evalsets.scene import Tab

TABS: Mapping[str, Tab] = {
    "Cases": cases_tab,
}
