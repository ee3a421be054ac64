"""Tells an eval set from other files by its text, without importing ADK."""

from __future__ import annotations

import json


def holds_cases(text: str) -> bool:
    """Tell whether a text is an eval set, in ADK's present form or in its older one."""
    if not text.lstrip("\ufeff \n\r\t").startswith(("{", "[")):
        return False
    try:
        document = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return False
    if isinstance(document, dict):
        return not document.keys().isdisjoint(("eval_cases", "evalCases"))
    return bool(document) and all(isinstance(each, dict) and "name" in each for each in document)
