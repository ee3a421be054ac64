"""Opens a real session of the order desk on the page of its environment, for the tests of its tabs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simulator.agents.agent_settings import demo_agent
from simulator.runtime import Simulation
from tests.app.desk_sessions import taken_in
from tests.app.page_driver import Tab

CANCEL = "Please cancel order A-1001 and refund me."
PATIENCE = 60.0


class Shaped:
    """A session of the order desk whose page of the environment is open; with data where it `brings` any."""

    def __init__(self, query: str = "", *, brings: bool = True) -> None:
        config = demo_agent("order_desk")
        config = config if brings else replace(config, environment_data="")
        self.simulation = Simulation.open(config, seed="seed")
        if query:
            self.simulation.query(query, wait=PATIENCE)
        self.live = taken_in(self.simulation, config)
        self.tab = Tab(self.live.session_id).click("open_environment")

    @property
    def environment(self) -> Any:
        """The environment that the page shapes."""
        return self.simulation.environment

    def open(self, tab: str, **parts: str) -> Tab:
        """Show a tab of the page, and parts of it by the keys of their choices."""
        self.tab.choose("environment_tab", tab)
        for key, value in parts.items():
            self.tab.choose(key, value)
        return self.tab

    def edit(self, start: str, **done: Any) -> Tab:
        """Do something in the data editor whose key starts like this: `edited_rows`, `added_rows`, `deleted_rows`."""
        (key,) = [key for each in self.tab.app.data_editor if (key := str(each.key)).startswith(start)]
        self.tab.app.session_state[key] = {"edited_rows": {}, "added_rows": [], "deleted_rows": [], **done}
        return self.tab.run()

    def write(self, start: str, text: str) -> Tab:
        """Write into the text input, or text area, whose key starts like this."""
        return self.tab.type(start, text)
