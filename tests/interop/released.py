"""What `make release-check` has built in `dist` is what a release needs: both files hold the same, and the wheel works where nothing else is.

Runs in the studio's own environment.
"""

from __future__ import annotations

import shutil
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tests.harness.processes import REPOSITORY
from tests.interop.installed import by_pip, open_studio, run

DIST = REPOSITORY / "dist"
VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
KEPT = REPOSITORY / "tests" / "conformance" / "files"


def built(suffix: str) -> Path:
    """Return the file of this kind; there is one, of the version that is released."""
    (found,) = DIST.glob(f"*{suffix}")
    assert found.name.startswith(f"golden_trace_studio-{VERSION}")
    return found


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, from the wheel with all that it needs, in an empty environment."""
    return by_pip(built(".whl"), tmp_path_factory.mktemp("wheel"))


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel that are installed, without the list of them."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/RECORD")]
        return {name: archive.read(name) for name in names}


def test_the_source_file_holds_what_is_tracked() -> None:
    """All of the packages that git knows, the licence and the notes; no tests and nothing that lay about."""
    packages = ("app", "evalset", "simulator")
    listed = run("git", "ls-files", "-z", *packages, folder=REPOSITORY).split("\0")
    with tarfile.open(built(".tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    inside = {name for name in names if name.startswith(tuple(f"{package}/" for package in packages))}
    assert inside == {name for name in listed if name}
    assert names - inside == {
        ".gitignore", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "golden_trace.py", "pyproject.toml",
    }  # fmt: skip


def test_the_source_file_makes_the_same_wheel(tmp_path: Path) -> None:
    """Byte for byte, whoever builds it from there."""
    python = tmp_path / "empty" / "bin" / "python"
    venv.create(tmp_path / "empty", with_pip=True)
    pip = (python, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path / "made", built(".tar.gz"))
    (made,) = (tmp_path / "made").glob("*.whl")
    assert contents(made) == contents(built(".whl"))
    run(*pip, "install", "--no-deps", made)
    assert VERSION in run(tmp_path / "empty" / "bin" / "golden-trace", "--version")


def test_the_command_says_what_it_can(command: Path, tmp_path: Path) -> None:
    """And which version it is."""
    assert "verify" in run(command, "--help", folder=tmp_path)
    assert f"golden-trace-studio {VERSION}" in run(command, "--version", folder=tmp_path)


def test_the_command_verifies_a_set(command: Path, tmp_path: Path) -> None:
    """A set that an earlier version wrote with a demo agent passes, with nothing of this checkout in reach."""
    for name in ("order_desk.evalset.json", "order_desk.environment.json"):
        shutil.copy(KEPT / name, tmp_path / name)
    said = run(command, "verify", "order_desk.evalset.json", "--agent", "order_desk", folder=tmp_path)
    assert "PASS" in said
    assert "FAIL" not in said


def test_the_command_opens_the_studio(command: Path, tmp_path: Path) -> None:
    """The server is healthy, and its page comes."""
    assert command.is_file()
    open_studio(command, tmp_path)
