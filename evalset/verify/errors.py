"""The error of this room: what cannot be verified, accepted or repaired, in words for a person."""

from __future__ import annotations


class VerifyError(ValueError):
    """Something cannot be done with an eval set or one of its cases; the text names it, and nothing was changed."""
