"""Replays golden traces hermetically: under `adk eval`, `adk web`, pytest or a `Runner`, the recorded environment answers, and no real tool runs.

`hermetic_environment` is the plugin, `case_following` finds the recorded case and call, `improvised_answers` answers what was not recorded where that is asked for.
"""
