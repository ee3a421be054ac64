"""Runs of an eval set: verify and `adk eval`, with their results.

The modules that end in `_jobs` start the work on the server; the tabs draw it.
"""
