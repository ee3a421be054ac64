"""Draws one tab of an eval set alone, as the page of the set does."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from app.bench import Bench, benches
from app.people import LOCAL
from tests.app.pages import Tab

_PAGE = """
from importlib import import_module
from pathlib import Path
from app.acknowledged import acknowledge
from app.bench import benches
from app.set_facts import facts_of

path = Path({path!r})
draw = getattr(import_module({module!r}), {name!r})
draw(benches().of({owner!r}, path), facts_of(path))
acknowledge()
"""


class SetTab(Tab):
    """A tab on an eval set; `name` is that of its module, and of the function in it."""

    def __init__(self, name: str, path: Path, owner: str = LOCAL) -> None:
        page = _PAGE.format(path=str(path), module=f"app.panels.evalsets.{name}", name=name, owner=owner)
        self.app = AppTest.from_string(page, default_timeout=60)
        self.path, self.owner = path, owner
        self.run()

    @property
    def bench(self) -> Bench:
        """The bench that is drawn."""
        return benches().of(self.owner, self.path)
