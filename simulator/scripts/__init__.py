"""Sessions as files: a script says who plays, what is said and what is answered, and can be played again.

text = write_script(script_of(simulation.journal))   # a recorded session, to be read and changed
script = read_script(text).script                    # ScriptError names the line and the place
played = play_script(config, script)                 # drives a `Simulation` from beginning to end
played.session, played.waits, played.leftovers       # what came of it, and what the script lacks or has too much
"""

from simulator.scripts.line_matching import Leftover
from simulator.scripts.script import Script, ScriptTurn
from simulator.scripts.script_at_work import ScriptAtWork, ScriptProgress
from simulator.scripts.script_player import Asks, Played, ScriptPlay, ScriptStep
from simulator.scripts.script_text import ScriptError, ScriptText, Waits, read_script, words_of, write_script
from simulator.scripts.scripted_session import ScriptedSession, of_now, open_for_script, play_script
from simulator.scripts.session_script import move_of, script_of

Step = ScriptStep
"""The name under which a script of one's own may import it."""

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
