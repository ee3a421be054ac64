"""The session: what the facts of a journal add up to."""
