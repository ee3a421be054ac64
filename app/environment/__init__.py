"""The environment of a session: its world, how the tools are connected, where drafts come from, and declared tools.

Each tab is a module; what it shows and what it makes of a person's edits are pure modules beside it.
"""
