"""Exports cases in the forms that others read: eval sets, tests of `adk test`, scenario files, pytest files, ADK's simulation config."""
