"""Says of a file that cannot be read how `golden-trace doctor` helps with it."""

from __future__ import annotations

import shlex
from pathlib import Path


def doctor_advice(path: Path) -> str:
    """Return a sentence to append to the error on an eval set; empty where the doctor finds nothing."""
    from evalset.doctor import examine  # noqa: PLC0415 - most files need no doctor

    found = [each for file in examine([path]).files if file.file == path for each in file.findings]
    errors = [each for each in found if each.severity == "error"]
    if not errors:
        return ""
    if all(each.mendable for each in errors):
        return f". `golden-trace doctor --fix {shlex.quote(str(path))}` fixes it"
    return f". `golden-trace doctor {shlex.quote(str(path))}` shows the details"
