"""The functions of tools that leave a trace when they really run; alone in their module, as the code of a tool is read with all that its module imports."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field


@dataclass
class Traces:
    """What really ran, and the functions that leave it there."""

    ran: list[str] = field(default_factory=list)

    def hit(self, mark: str = "") -> dict[str, str]:
        """Leave a trace."""
        self.ran.append(mark)
        return {"real": mark}

    async def hit_later(self, mark: str = "") -> dict[str, str]:
        """Leave a trace, asynchronously."""
        self.ran.append(mark)
        return {"real": mark}

    def hits(self, mark: str = "") -> Generator[dict[str, str], None, None]:
        """Leave a trace and return it piece by piece."""
        self.ran.append(mark)
        yield {"real": mark}

    def named(self, name: str) -> Callable[..., dict[str, str]]:
        """Return a function of this name that leaves a trace."""

        def function(mark: str = "") -> dict[str, str]:
            """Leave a trace."""
            return self.hit(mark)

        function.__name__ = function.__qualname__ = name
        return function
