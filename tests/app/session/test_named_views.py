"""The view that was chosen on a page stands in its address: a reload, a copied link and the way back lead to it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.app.page_driver import Tab
from tests.harness.processes import REPOSITORY

KEPT = REPOSITORY / "tests/conformance/files"


def address(tab: Tab) -> dict[str, str]:
    """Return what the address says of views."""
    named = {name: tab.app.query_params.get(name) for name in ("tab", "part")}
    return {
        name: str(value if isinstance(value, str) else value[0]) for name, value in named.items() if value
    }


def test_the_tab_of_a_set_is_in_the_address(tmp_path: Path) -> None:
    """The first one is not named; another one is, and the browser's way back leaves it."""
    path = Path(shutil.copy(KEPT / "order_desk.evalset.json", tmp_path))
    tab = Tab(page="sets", set=str(path))
    assert address(tab) == {}
    tab.choose("set_tab", "Doctor")
    assert address(tab) == {"tab": "doctor"}
    assert (
        Tab(page="sets", set=str(path), tab="doctor").app.segmented_control(key="set_tab").value == "Doctor"
    )
    del tab.app.query_params["tab"]
    assert tab.run().app.segmented_control(key="set_tab").value == "Cases"
    tab.choose("set_tab", "Import & export")
    assert address(tab) == {"tab": "import-export"}
    tab.app.query_params["tab"] = "doctor"
    assert tab.run().app.segmented_control(key="set_tab").value == "Doctor"
    assert (
        Tab(page="sets", set=str(path), tab="nothing").app.segmented_control(key="set_tab").value == "Cases"
    )
