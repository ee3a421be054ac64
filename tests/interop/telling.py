"""Writes down the events of played sessions in lines that any google-adk has to give alike.

`python -m tests.interop.telling > tests/interop/events.json` writes them down anew, with the newest version that is supported.
"""

import json
import sys
from typing import Any

from simulator.base.json_values import JsonObject
from tests.simulator.runtime.playing import Mode, Play, played
from tests.simulator.runtime.shapes import SHAPES

MODES: tuple[Mode, ...] = ("held", "real")


def told(play: Play) -> list[str]:
    """Return a line for each event of a play, in their order: who, the parts, and what it does."""
    return [line_of(dict(event)) for turn in play.journal.session().turns for event in turn.events]


def line_of(event: JsonObject) -> str:
    """Return one event in a line, without ids and times."""
    content: Any = event.get("content") or {}
    said = [_part(part) for part in content.get("parts") or []]
    actions: Any = event.get("actions") or {}
    done = [
        f"{name}={_short(value)}" for name, value in sorted(actions.items()) if value and name in _ACTIONS
    ]
    marks = [name for name in ("partial", "longRunningToolIds", "errorCode") if event.get(name)]
    return " | ".join([str(event.get("author")), *said, *done, *marks])


_ACTIONS = frozenset({"stateDelta", "artifactDelta", "transferToAgent", "escalate"})


def _part(part: Any) -> str:
    for kind, inner in part.items():
        if isinstance(inner, dict):
            return f"{kind} {_short({name: value for name, value in inner.items() if name != 'id'})}"
    return f"text {_short(part.get('text'))}"


def _short(value: Any) -> str:
    return json.dumps(_without_ids(value), sort_keys=True)


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_ids(inner) for name, inner in value.items() if name != "id"}
    return [_without_ids(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    everything = {name: {mode: told(played(shape, mode)) for mode in MODES} for name, shape in SHAPES.items()}
    json.dump(everything, sys.stdout, indent=1, sort_keys=True)
    print()  # noqa: T201 - the file ends with a line's end
