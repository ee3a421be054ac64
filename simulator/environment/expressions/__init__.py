"""Paths, expressions and templates: the small languages in which rules and invariants are written."""
