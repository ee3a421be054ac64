"""Offline drafts of answers, out of all that is known."""
