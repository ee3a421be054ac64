"""Lets each Python that finds this import what only some metrics of `adk eval` need when they need it: it is three fourths of the import.

What Python imports by itself where this folder is in `PYTHONPATH`; nothing is left out, and everything is as real as before.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_LATE = frozenset({"agentplatform", "vertexai", "rouge_score.rouge_scorer", "rouge_score.tokenizers"})


class LateImports:
    """Finds these modules, and lets them load at the first look into them."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module, as Python's own finders do."""
        found = importlib.machinery.PathFinder.find_spec(name, path, target) if name in _LATE else None
        if found is not None and found.loader is not None:
            found.loader = importlib.util.LazyLoader(found.loader)
        return found


sys.meta_path.insert(0, LateImports)
