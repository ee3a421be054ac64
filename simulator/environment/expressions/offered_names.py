"""What an expression may call or ask by name, besides JSON values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable


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
