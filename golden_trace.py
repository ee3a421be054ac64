"""Where the command `golden-trace` begins, and the one name that an installation has among a project's packages.

In a wheel this is the package `golden_trace`: `packages` in it holds `evalset` and `simulator`, which any project finds behind its own modules, and
`app` is the page, which only the studio's own process imports.

It is pytest's plugin as well, in every run of pytest beside it: without `--goldens` it adds its options and imports nothing. With it, nothing of ours is
imported by a name that a project may have, too.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    import pytest

_PACKAGES = Path(__file__).with_name("packages")


def main() -> int:
    """Run a command with the arguments of this process, and return its exit code."""
    if _PACKAGES.is_dir():
        sys.path.insert(0, str(_PACKAGES))
    else:
        _offer_two_packages()
    from evalset.cli.terminal_output import as_program  # noqa: PLC0415 - only now it is certain whose `evalset` this is

    def run() -> int:
        from evalset.cli.main import main as command  # noqa: PLC0415 - as above

        return command()

    return as_program(run)


def _offer_two_packages() -> None:
    """Let a checkout offer no more than a wheel does: a project may have an `app` or `tests` of its own, and Python takes a folder without `__init__.py` last."""
    found = importlib.util.find_spec("evalset")
    if found is None or found.origin is None:
        return
    home = Path(found.origin).parents[1]

    class Ours:
        @staticmethod
        def find_spec(name: str, *_: object) -> ModuleSpec | None:
            if name not in {"evalset", "simulator"}:
                return None
            folder = home / name
            return importlib.util.spec_from_file_location(
                name, folder / "__init__.py", submodule_search_locations=[str(folder)]
            )

    sys.meta_path.insert(0, Ours)
    sys.path[:] = [place for place in sys.path if Path(place) != home]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of pytest."""
    group = parser.getgroup("golden traces")
    group.addoption(
        "--goldens",
        action="store_true",
        help="collect each golden of each eval set and dataset as a test: it replays the golden with its recorded responses, as `golden-trace "
        "verify` does",
    )
    group.addoption(
        "--goldens-update",
        action="store_true",
        help="make what the agents do now the golden of each case that fails",
    )
    words = "options of `golden-trace verify` for --goldens, in one string, such as '--agents-dir agents --match in_order'"
    group.addoption("--goldens-options", metavar="OPTIONS", help=f"{words} (write it with =)")
    parser.addini("goldens_options", f"{words}; paths start at the root folder", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register what collects the cases, where it is asked for."""
    if config.getoption("--goldens"):
        spec = importlib.util.spec_from_file_location("golden_trace_goldens", _plugin_file())
        if spec is None or spec.loader is None:
            raise ImportError(f"{spec} cannot be loaded")
        plugin = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(plugin)
        config.pluginmanager.register(plugin.GoldensPlugin(config), "golden-trace-cases")


def _plugin_file() -> Path:
    """Return the file that collects the cases: of a wheel, of a checkout, or of the checkout that an editable installation puts on the path."""
    places = (_PACKAGES, Path(__file__).parent, *map(Path, sys.path))
    files = (place / "evalset" / "cli" / "pytest_goldens.py" for place in places)
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        raise ImportError(f"{__file__} does not belong to a studio")
    return found
