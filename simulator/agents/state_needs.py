"""Says which keys of a session's state the instructions of an agent need. Importing this imports no ADK."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from simulator.base.frozen_value import Value


class StateNeeds(Value):
    """What the instructions of an agent need of the state.

    Attributes:
        keys: The keys without which an agent's model cannot be asked, by the agent's name; those that code may set are left out.
        first: The agents whose models are asked before anything else of the agent runs.
        then: The keys that agents need whose models are certainly asked after those, with nothing between that may set a key but replies that are kept: without
            the keys of these.
        kept: The keys under which agents keep their replies.
    """

    keys: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    first: tuple[str, ...] = ()
    then: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    kept: tuple[str, ...] = ()

    @property
    def certain(self) -> tuple[str, ...]:
        """The keys without which the first message of a session certainly fails."""
        needed = (*(self.keys.get(name, ()) for name in self.first), *self.then.values())
        return tuple(dict.fromkeys(key for keys in needed for key in keys))
