"""Where the command `golden-trace` begins, and the one name that an installation has among a project's packages.

In a wheel this is the package `golden_trace`: `packages` in it holds `evalset` and `simulator`, which any project finds behind its own modules, and
`app` is the page, which only the studio's own process imports.
"""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGES = Path(__file__).with_name("packages")


def main() -> int:
    """Run a command with the arguments of this process, and return its exit code."""
    if _PACKAGES.is_dir():  # else this is a checkout, in which they lie beside this file
        sys.path.insert(0, str(_PACKAGES))
    from evalset.cli.main import main as run  # noqa: PLC0415 - only now it is certain whose `evalset` this is

    return run()
