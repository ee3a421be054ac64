"""Gives the tests of the commands what runs them."""

from __future__ import annotations

from tests.evalset.cli.ending import ends, here

__all__ = ["ends", "here"]
