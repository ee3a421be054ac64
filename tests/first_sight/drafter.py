"""Drafts answers with the code that Python finds first on its path, of this version or an earlier one.

Reads calls from standard input, one JSON object a line, and writes their drafts: `value`, `why`, `is_guess`, and the
paths of `blanks`; `problem` where drafting failed.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from simulator.environment.drafts.candidates import drafted
from simulator.environment.drafts.draft import DraftCall


def _code(written: dict[str, Any]) -> Any:
    sketch = importlib.import_module("simulator.environment.evidence.sketch")
    project = {name: sketch.Module(**module) for name, module in written["project"].items()}
    source = getattr(sketch, "FunctionSource", None) or sketch.Code  # as earlier versions call it
    return source(sketch.Module(**written["module"]), written["name"], written["line"], project=project)


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Draft an answer to a call."""
    code = asked.pop("code")
    known = DraftCall.model_fields
    if "code" in known:
        asked["code"] = _code(code)
    if "state" in known:
        asked["state"] = {}
    try:
        draft = drafted(DraftCall(**asked))
    except Exception as problem:  # noqa: BLE001 - a draft that fails is a result too
        return {"value": None, "problem": repr(problem)[:300]}
    return {
        "value": draft.value,
        "why": draft.why,
        "is_guess": draft.is_guess,
        "blanks": [blank.path for blank in getattr(draft, "blanks", ())],
    }


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)  # noqa: T201 - its output
