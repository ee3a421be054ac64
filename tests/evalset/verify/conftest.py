"""Gives the tests what runs commands."""

from __future__ import annotations

from tests.evalset.cli.ending import ends, here

__all__ = ["ends", "here"]
