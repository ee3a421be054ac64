"""Draws one tab of an eval set alone, as the page of the set does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from app.evalsets.workspace import Workspace, workspaces
from app.server.owners import LOCAL
from tests.app.page_driver import Tab
from tests.harness.processes import wait_until

_PAGE = """
from importlib import import_module
from pathlib import Path
from app.forms.widget_store import acknowledge
from app.evalsets.workspace import workspaces
from app.evalsets.set_context import facts_of

path = Path({path!r})
draw = getattr(import_module({module!r}), {name!r})
draw(workspaces().of({owner!r}, path), facts_of(path))
acknowledge()
"""


def on_set(path: Path, case: str | None = None, **more: str) -> Tab:
    """Open the page of a set, or of a case of it; `more` stands in the address, too."""
    return tab_at({"set": str(path), "case": case or "", **more})


def tab_at(place: Mapping[str, str]) -> Tab:
    """Open a tab at a place of the eval sets."""
    more: dict[str, Any] = {name: value for name, value in place.items() if value}
    return Tab(**{"page": "sets", **more})


def same_address(tab: Tab) -> Tab:
    """Open a tab at the address of another, as a refresh or a copied link does."""
    named = tab.app.query_params.items()
    return tab_at({name: value[0] if isinstance(value, list) else value for name, value in named})


def settled(tab: Tab, path: Path) -> Tab:
    """Wait until nothing is at work on a file, and draw that."""
    wait_until(lambda: not workspaces().of(LOCAL, path).is_at_work, what="the work is done")
    return tab.run()


def imported(path: Path) -> Tab:
    """Open the page of a file that is no set, import its cases, and see what comes of it."""
    return settled(on_set(path).click("import_as_set"), path)


class SetTab(Tab):
    """A tab on an eval set; `name` is that of its module in `app.evalsets`, and of the function in it."""

    def __init__(self, name: str, path: Path, owner: str = LOCAL) -> None:
        folder, _, function = name.rpartition(".")
        module = ".".join(filter(None, ("app.evalsets", folder, function)))
        page = _PAGE.format(path=str(path), module=module, name=function, owner=owner)
        self.app = AppTest.from_string(page, default_timeout=60)
        self.path, self.owner = path, owner
        self.run()

    @property
    def workspace(self) -> Workspace:
        """The workspace that is drawn."""
        return workspaces().of(self.owner, self.path)
