"""The export of a session: the golden trace, the checks on it, and the ways to write it.

`export_case` makes and writes the case without drawing anything.
"""
