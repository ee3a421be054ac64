"""Replays golden traces hermetically: under `adk eval`, `adk web`, pytest or a `Runner`, the recorded environment answers, and no real tool runs."""
