"""What an expression may call or ask by name, besides JSON values."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any, Protocol, runtime_checkable

_NAMES_SHOWN = 8
_NAMES_COMPARED = 500
LONGEST_NAME = 60


class Function:
    """What an expression may call, and nothing else: `run` takes the `EvaluationBudget` first."""

    def __init__(self, name: str, run: Callable[..., Any]) -> None:
        self.name = name
        self.run = run
        self.described = f"the function {name}; write {name}() to call it"


@runtime_checkable
class Offering(Protocol):
    """An object that is no JSON value and that expressions may ask for values by name."""

    described: str

    def offered(self, name: str) -> object:
        """Return what stands under the name.

        Raises:
            LookupError: There is nothing; the message says what there is instead.
        """


def near(name: str, names: Iterable[str]) -> str:
    """Return which names there are, those alike first; long names are like none."""
    known = [known for known in names if isinstance(known, str) and len(known) <= LONGEST_NAME]
    alike = difflib.get_close_matches(name[: LONGEST_NAME + 1], known[:_NAMES_COMPARED], n=3, cutoff=0.6)
    if alike:
        return "did you mean " + " or ".join(alike) + "?"
    shown = ", ".join(known[:_NAMES_SHOWN]) + (", ..." if len(known) > _NAMES_SHOWN else "")
    return f"available: {shown}" if known else "nothing is available"
