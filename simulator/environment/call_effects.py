"""What a tool call does besides its response: a plain value, in a draft as in the journal."""

from __future__ import annotations

from pydantic import Field

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject


class SavedArtifact(Value):
    """A file that was saved, as google-genai's `Part` in JSON (bytes in base64)."""

    filename: str
    part: JsonObject
    custom_metadata: JsonObject | None = None
    version: int


class ToolEffects(Value):
    """What a tool call did beside its answer.

    `actions` holds other fields of ADK's `EventActions` that the tool changed (`escalate`,
    `transfer_to_agent`, ...), by their field names. `events` are those that it sent to ADK by itself, as a
    function that yields does.
    """

    state_delta: JsonObject = Field(default_factory=dict)
    artifacts: tuple[SavedArtifact, ...] = ()
    actions: JsonObject = Field(default_factory=dict)
    events: tuple[JsonObject, ...] = ()
    end_invocation: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it changes state and actions alone, which a person or a script can write."""
        return not (self.artifacts or self.events or self.end_invocation)

    @property
    def plain(self) -> ToolEffects:
        """The changes of state and actions alone."""
        return self if self.is_plain else ToolEffects(state_delta=self.state_delta, actions=self.actions)

    @property
    def written(self) -> JsonObject:
        """The changes of state and actions that there are, as a script writes them."""
        told = {"state_delta": self.state_delta, "actions": self.actions}
        return {name: {**changed} for name, changed in told.items() if changed}


NO_EFFECTS = ToolEffects()
"""Nothing besides the response."""
