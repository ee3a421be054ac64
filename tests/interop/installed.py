"""The studio is installed as people install programs: `uv tool install`, `pipx`, a wheel in an empty environment. It opens in any folder.

Runs in the studio's own environment, which has uv; pipx has one of its own, made by `make test-interop`.
"""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.harness.processes import REPOSITORY, free_port, quiet_environment, serve

UV = Path(sys.executable).with_name("uv")
PIPX = REPOSITORY / ".venv-interop" / "pipx" / "bin" / "pipx"
INSTALL_SECONDS = 900


def run(*command: str | Path, folder: Path | None = None, **environment: str) -> str:
    """Run a program, in a folder; it has to succeed. Returns what it says.

    Pip compiles nothing: what is imported is compiled then.
    """
    done = subprocess.run(
        [str(each) for each in command],
        cwd=folder,
        env=quiet_environment(PIP_NO_COMPILE="1", **environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=INSTALL_SECONDS,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    run(UV, "build", "--wheel", "--quiet", "--out-dir", folder, REPOSITORY)
    (built,) = folder.glob("*.whl")
    return built


def by_uv(wheel: Path, folder: Path) -> Path:
    """Install it with `uv tool install`; return the command."""
    run(
        UV,
        "tool",
        "install",
        "--quiet",
        "--python",
        sys.executable,
        wheel,
        UV_TOOL_DIR=str(folder / "tools"),
        UV_TOOL_BIN_DIR=str(folder / "bin"),
    )
    return folder / "bin" / "golden-trace"


def by_pipx(wheel: Path, folder: Path) -> Path:
    """Install it with `pipx install`."""
    if not PIPX.exists():
        pytest.skip("pipx could not be installed")
    run(
        PIPX,
        "install",
        "--quiet",
        wheel,
        PIPX_HOME=str(folder / "home"),
        PIPX_BIN_DIR=str(folder / "bin"),
    )
    return folder / "bin" / "golden-trace"


def by_pip(wheel: Path, folder: Path) -> Path:
    """Install it in an empty environment."""
    venv.create(folder / "empty", with_pip=True)
    run(
        folder / "empty" / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        wheel,
    )
    return folder / "empty" / "bin" / "golden-trace"


def open_studio(command: Path, folder: Path) -> None:
    """Open the studio in a folder with a package `app` of its own that raises; the page has to come, without an error."""
    home = folder / "project"
    (home / "app").mkdir(parents=True)
    (home / "app" / "__init__.py").write_text("raise RuntimeError('the project was imported')\n")
    port = free_port()
    options = ("--port", str(port), "--no-browser")
    environment = quiet_environment(GOLDEN_TRACE_STORE=str(folder / "kept.db"))
    with serve(
        [command, "studio", *options],
        url=f"http://localhost:{port}",
        ready="/_stcore/health",
        environment=environment,
        folder=home,
    ) as served:
        assert "<title>" in httpx.get(served.url).text
        assert "Traceback" not in served.log.read_text()


@pytest.mark.parametrize("install", [by_uv, by_pipx, by_pip])
def test_the_command_opens_the_studio_anywhere(
    install: Callable[[Path, Path], Path], wheel: Path, tmp_path: Path
) -> None:
    """Also in a folder with a package `app` of its own that raises."""
    command = install(wheel, tmp_path)
    assert command.is_file()
    open_studio(command, tmp_path)


def test_the_wheel_has_the_settings_of_the_checkout(wheel: Path) -> None:
    """Streamlit finds them beside the page, in the same place."""
    with zipfile.ZipFile(wheel) as held:
        text = held.read("golden_trace/app/.streamlit/config.toml").decode()
    assert text == (REPOSITORY / ".streamlit" / "config.toml").read_text()
