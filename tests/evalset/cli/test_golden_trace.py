"""The console command `golden-trace`: which commands it has, how it starts the studio, and that it works from any folder."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import httpx
import pytest

from evalset.cli.main import COMMANDS, main
from evalset.cli.studio_command import main as studio
from evalset.cli.studio_command import studio_command
from tests.harness.processes import REPOSITORY, quiet_environment, serve

_MAIN = "import sys; from golden_trace import main; sys.exit(main())"
PROGRAM = Path(sys.executable).with_name("golden-trace")


def test_the_program_is_declared() -> None:
    """An installation puts `golden-trace` beside its Python."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"golden-trace": "golden_trace:main"}
    assert PROGRAM.is_file()


def test_the_help_lists_the_commands_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command stands on a line with what it does."""
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert f"  {name} " in said
        assert command.about in said
    assert "130 interrupted" in said


def test_the_help_and_the_version_import_neither_adk_nor_streamlit() -> None:
    """What a person waits for is there at once: `--help` of the program, of the studio, of verify, import, export and doctor; and the list of sessions."""
    script = """
import contextlib, sys
from evalset.cli.main import main
for arguments in (["--help"], ["--version"], ["nothing"]):
    main(arguments)
for name in ("studio", "verify", "import", "export", "doctor"):
    with contextlib.suppress(SystemExit):
        main([name, "--help"])
assert not {"google.adk", "streamlit", "pandas", "sqlalchemy"} & set(sys.modules)
for arguments in (["sessions", "--help"], ["sessions", "--store", "none.db"], ["script", "x", "--store", "none.db"]):
    with contextlib.suppress(SystemExit):
        main(arguments)
sys.exit("google.adk" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "usage: golden-trace studio" in done.stdout


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["--nothing"]])
def test_what_is_no_command_is_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The error says what was wrong, and how to find what there is."""
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert all(name in said for name in COMMANDS) if not arguments else "golden-trace --help" in said
    assert all(repr(each) in said for each in arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_calls_itself_by_this_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its help shows what to type, and says its exit codes."""
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: golden-trace {name} ")
    assert "exit codes" in " ".join(said.lower().split())


def test_the_studio_is_given_its_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders and files by their whole paths; Streamlit's own options as they are; and no `app` of the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my agents").mkdir()
    (tmp_path / "configs.py").touch()
    (tmp_path / "app").mkdir()
    python, safe, code, program, *command = studio_command(
        shlex.split(
            "--agents-dir 'my agents' --agents=configs.py --no-demos --port 9001 --address 10.0.0.1 --no-browser "
            "--server.maxUploadSize 9 --theme.base=dark"
        )
    )
    assert (python, safe, code) == (sys.executable, "-P", "-c")
    assert "streamlit" in program
    assert command == [
        *("run", str(REPOSITORY / "app"), "--server.port=9001", "--server.address=10.0.0.1"),
        *("--server.headless=true", "--server.maxUploadSize", "9", "--theme.base=dark", "--"),
        *(f"--agents-dir={tmp_path / 'my agents'}", f"--agents={tmp_path / 'configs.py'}", "--no-demos"),
    ]
    assert studio_command(["--agents", "my.module"])[-1] == "--agents=my.module"


@pytest.mark.parametrize(
    "arguments",
    [["--agents-dir", "nowhere"], ["--agents", "nowhere.py"]],
)
def test_agents_that_are_not_there_are_named(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before a server starts."""
    monkeypatch.chdir(tmp_path)
    assert studio(arguments) == 2
    option, place = arguments
    assert re.search(rf"{option}: .*{place}", capsys.readouterr().err)


@pytest.mark.parametrize("arguments", [["agents"], ["--nothing"], ["--port", "http"]])
def test_an_option_that_is_none_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """By name, and not passed on to Streamlit, which would say something else."""
    with pytest.raises(SystemExit) as ended:
        studio_command(arguments)
    assert ended.value.code == 2
    assert arguments[-1].lstrip("-") in capsys.readouterr().err


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the studio's wheel, and sees what this one has installed."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "source"
    for name in (
        *_listed(".streamlit", "app", "evalset", "simulator"),
        *_listed("*.toml", "*.md", "LICENSE", "golden_trace.py"),
    ):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        source = REPOSITORY / name
        if source.is_symlink():
            (copy / name).symlink_to(source.readlink())
        else:
            (copy / name).write_bytes(source.read_bytes())
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    subprocess.run([*build, "--wheel-dir", folder, copy], check=True, capture_output=True)
    venv.create(folder / "environment", with_pip=False)
    python = folder / "environment" / "bin" / "python"
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return python


def _listed(*patterns: str) -> list[str]:
    found = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    return [name for name in found.stdout.split("\0") if name]


@pytest.mark.long
@pytest.mark.process
def test_a_wheel_adds_one_name_to_a_project(installed: Path) -> None:
    """No `app`, `evalset` or `simulator` stands among the installed packages."""
    (purelib,) = installed.parents[1].glob("lib/python*/site-packages")
    names = {place.name.partition("-")[0] for place in purelib.iterdir()} - {"others.pth", "__pycache__"}
    assert names == {"golden_trace", "golden_trace.pth", "golden_trace_studio"}


@pytest.mark.long
@pytest.mark.process
def test_an_installation_offers_its_packages_behind_those_of_a_project(
    installed: Path, tmp_path: Path
) -> None:
    """What people import is there; a project's own module of the same name comes first, and the command works beside it."""

    def run(code: str, *words: str, folder: Path = tmp_path) -> str:
        done = subprocess.run(
            [installed, "-c", code, *words],
            cwd=folder,
            env=quiet_environment(),
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    run("from evalset import EvalSetWriter; from simulator import SimulatedAgentConfig")
    for name in ("app", "evalset", "simulator"):
        (tmp_path / f"{name}.py").write_text("MINE = True")
    run("import app, evalset, simulator; assert app.MINE and evalset.MINE and simulator.MINE")
    run("import importlib.util as u, sys; sys.exit(u.find_spec('app') is not None)", folder=Path("/"))
    assert "golden-trace-studio" in run(_MAIN, "--version")


@pytest.mark.long
@pytest.mark.process
def test_a_wheel_starts_the_studio_in_another_folder(installed: Path, tmp_path: Path) -> None:
    """With its configuration in force, whatever lies in that folder; all that it needs is in the wheel."""
    elsewhere = tmp_path / "else where"
    for name in ("app", "evalset"):
        (elsewhere / name).mkdir(parents=True)
        (elsewhere / name / "__init__.py").write_text("raise RuntimeError('a stranger')")
    variables = quiet_environment(HOME=str(tmp_path), GOLDEN_TRACE_DATA_DIR=str(tmp_path / "data"))
    command = [str(installed), "-c", _MAIN, "studio", "--no-browser", "--port", "0"]
    url = "http://localhost:{port}"
    with serve(command, url=url, ready="/_stcore/health", folder=elsewhere, environment=variables) as served:
        page = httpx.get(served.url, trust_env=False)
        assert page.status_code == 200
        assert "a stranger" not in served.output
        assert "URL: http://localhost:" in served.output
        assert (
            "Network URL" not in served.output
        )  # it listens on localhost alone, as the studio's configuration says
