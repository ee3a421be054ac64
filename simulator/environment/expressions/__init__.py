"""Paths, expressions and templates: the small languages in which rules and invariants are written.

`expressions.compiled` reads one; it runs in jinja2's sandbox within a `WorkLimit`, so that no rule can hold up a session.
"""
