"""Replays golden traces hermetically: under `adk eval`, `adk web`, pytest or a `Runner`, the recorded environment answers, and no real tool runs.

`hermetic_environment` is the plugin, `session_following` finds the recorded case, `case_following` its next answer, and `session_replay` answers what was not
recorded where that is asked for.
"""
