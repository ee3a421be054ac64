"""Tests for made-up people: what they cost, and that threads may share them."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from simulator.environment.drafting.people import KINDS, fake


def test_the_facts_are_read_without_the_library_of_names() -> None:
    """Whoever only reads facts, or opens the page, does not wait until the library of names is there."""
    code = "import sys, simulator.facts; print(sorted(one for one in sys.modules if one.startswith('faker')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_threads_get_the_same_texts_as_one_alone() -> None:
    """A text depends on its kind and seed alone, whichever thread asks first."""
    asked = [(kind, 1_000 + seed) for kind in sorted(KINDS) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda one: fake(*one), asked))

    assert together == [fake(*one) for one in reversed(asked)][::-1]
    assert all(together)
