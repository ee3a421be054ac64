"""Sessions as files: a script says who plays, what is said and what is answered, and can be played again.

text = write_script(script_of(simulation.journal))   # a recorded session, to be read and changed
script = read_script(text).script                    # ScriptError names the line and the place
played = play_script(config, script)                 # drives a `Simulation` from beginning to end
played.session, played.waits, played.leftovers       # what came of it, and what the script lacks or has too much

The names below import what they need when they are first used: a script is read and written without ADK, which playing one takes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.scripts.script import Script, ScriptTurn
    from simulator.scripts.script_lines import Leftover
    from simulator.scripts.script_player import Asks, Played, ScriptPlay, ScriptStep
    from simulator.scripts.script_player import ScriptStep as Step
    from simulator.scripts.script_text import (
        ScriptError,
        ScriptText,
        Waits,
        read_script,
        words_of,
        write_script,
    )
    from simulator.scripts.scripted_session import (
        ScriptAtWork,
        ScriptedSession,
        ScriptProgress,
        of_now,
        open_for_script,
        play_script,
    )
    from simulator.scripts.session_script import move_of, script_of

_HOMES = {
    "Asks": "simulator.scripts.script_player",
    "Leftover": "simulator.scripts.script_lines",
    "Played": "simulator.scripts.script_player",
    "Script": "simulator.scripts.script",
    "ScriptAtWork": "simulator.scripts.scripted_session",
    "ScriptError": "simulator.scripts.script_text",
    "ScriptPlay": "simulator.scripts.script_player",
    "ScriptProgress": "simulator.scripts.scripted_session",
    "ScriptStep": "simulator.scripts.script_player",
    "ScriptText": "simulator.scripts.script_text",
    "ScriptTurn": "simulator.scripts.script",
    "ScriptedSession": "simulator.scripts.scripted_session",
    "Step": "simulator.scripts.script_player",
    "Waits": "simulator.scripts.script_text",
    "move_of": "simulator.scripts.session_script",
    "of_now": "simulator.scripts.scripted_session",
    "open_for_script": "simulator.scripts.scripted_session",
    "play_script": "simulator.scripts.scripted_session",
    "read_script": "simulator.scripts.script_text",
    "script_of": "simulator.scripts.session_script",
    "words_of": "simulator.scripts.script_text",
    "write_script": "simulator.scripts.script_text",
}
_ALIASES = {"Step": "ScriptStep"}
"""A name under which a script of one's own may import another."""

__all__ = [
    "Asks",
    "Leftover",
    "Played",
    "Script",
    "ScriptAtWork",
    "ScriptError",
    "ScriptPlay",
    "ScriptProgress",
    "ScriptStep",
    "ScriptText",
    "ScriptTurn",
    "ScriptedSession",
    "Step",
    "Waits",
    "move_of",
    "of_now",
    "open_for_script",
    "play_script",
    "read_script",
    "script_of",
    "words_of",
    "write_script",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used.

    Raises:
        AttributeError: There is none of that name.
    """
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), _ALIASES.get(name, name))
    return value
