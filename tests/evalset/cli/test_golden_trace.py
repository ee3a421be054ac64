"""The console command `golden-trace`: its commands, what is meant by words that are nearly right, how it starts the studio, and that it works from any folder."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest

from evalset.cli.command_frame import agent_and_file
from evalset.cli.main import COMMANDS
from evalset.cli.studio_command import main as studio
from evalset.cli.studio_command import studio_command
from tests.evalset.ending import Ends
from tests.harness.processes import REPOSITORY, completed, quiet_environment, serve
from tests.harness.tiny_agent import write_tiny_agent

_MAIN = "import sys; from golden_trace import main; sys.exit(main())"
PROGRAM = Path(sys.executable).with_name("golden-trace")


def test_the_program_and_the_plugin_are_declared() -> None:
    """An installation puts `golden-trace` beside its Python, and any pytest finds the options, by the one name that it has."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"golden-trace": "golden_trace:main"}
    assert project["entry-points"] == {"pytest11": {"golden_trace": "golden_trace"}}
    assert PROGRAM.is_file()


@pytest.mark.parametrize(("code", "arguments"), [(0, ["--help"]), (2, [])])
def test_the_commands_and_the_exit_codes_are_listed(code: int, arguments: list[str], ends: Ends) -> None:
    """By the help, and where no command is named: each stands on a line with what it does."""
    said = "".join(ends(code, *arguments))
    assert [
        name for name, each in COMMANDS.items() if f"  {name} " not in said or each.about not in said
    ] == []
    assert "130 interrupted" in said


def test_the_help_and_the_version_import_neither_adk_nor_streamlit() -> None:
    """What a person waits for is there at once: `--help`; the list of sessions; and that `run` knows no such word or agent."""
    script = """
import contextlib, sys
from evalset.cli.main import main
for arguments in (["--help"], ["--version"], ["nothing"]):
    main(arguments)
for name in ("studio", "verify", "import", "export", "doctor"):
    with contextlib.suppress(SystemExit):
        main([name, "--help"])
assert not {"google.adk", "streamlit", "pandas", "sqlalchemy"} & set(sys.modules)
refused = (["run", "order_desk", "a.yaml", "--out", "a.json", "--otherwise", "odd"], ["run", "nobody", "a.yaml", "--out", "a.json"])
for arguments in (["sessions", "--help"], ["sessions", "--store", "none.db"], ["script", "x", "--store", "none.db"], ["run", "--help"], *refused):
    with contextlib.suppress(SystemExit):
        main(arguments)
sys.exit("google.adk" in sys.modules)
"""
    done = completed(sys.executable, "-c", script)
    assert done.returncode == 0, done.stderr
    assert "usage: golden-trace studio" in done.stdout
    assert "agent 'nobody' not found" in done.stderr
    ours = re.escape(f"golden-trace-studio {version('golden-trace-studio')}")
    assert re.search(f"{ours}, google-adk 2.*Python 3", done.stdout)


@pytest.mark.parametrize("word", ["nothing", "--nothing"])
def test_what_is_no_command_is_bad_usage(word: str, ends: Ends) -> None:
    """The error says what was wrong, and how to find what there is."""
    said = ends(2, word).err
    assert "golden-trace --help" in said
    assert repr(word) in said


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_calls_itself_by_this_name(name: str, ends: Ends) -> None:
    """Its help shows what to type, and says its exit codes."""
    said = ends(0, name, "--help").out
    assert said.startswith(f"usage: golden-trace {name} ")
    assert "exit codes" in " ".join(said.lower().split())


def test_the_studio_is_given_its_options(here: Path) -> None:
    """Folders and files by their whole paths; Streamlit's own options as they are; and no `app` of the working directory."""
    for name in ("my agents", "app"):
        (here / name).mkdir()
    (here / "configs.py").touch()
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
        *(f"--agents-dir={here / 'my agents'}", f"--agents={here / 'configs.py'}", "--no-demos"),
    ]
    assert studio_command(["--agents", "my.module"])[-1] == "--agents=my.module"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--agents-dir", "nowhere"], "--agents-dir: .*nowhere"),
        (["--agents", "nowhere.py"], "--agents: .*nowhere.py"),
        (["agents"], "agents"),
        (["--nothing"], "--nothing"),
        (["--port", "http"], "--port: .*http"),
    ],
)
def test_what_the_studio_cannot_begin_with_is_named(
    arguments: list[str], told: str, here: Path, ends: Ends
) -> None:
    """Before a server starts; an option that is none is not passed on to Streamlit, which would say something else."""
    assert re.search(told, ends(2, *arguments, program=studio).err)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the studio's wheel, and sees what this one has installed."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "source"
    kept = (".streamlit", "app", "evalset", "simulator", "*.toml", "*.md", "LICENSE", "golden_trace.py")
    found = subprocess.check_output(["git", "ls-files", "-z", *kept], cwd=REPOSITORY, text=True)
    for name in found.split("\0")[:-1]:
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
    packages = Path(subprocess.check_output(asked, text=True).strip())
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return python


@pytest.mark.long
@pytest.mark.process
def test_an_installation_offers_its_packages_behind_those_of_a_project(
    installed: Path, tmp_path: Path
) -> None:
    """The wheel adds one name; what people import is there, a project's own module of that name comes first, and the command works."""
    (purelib,) = installed.parents[1].glob("lib/python*/site-packages")
    names = {place.name.partition("-")[0] for place in purelib.iterdir()} - {"others.pth", "__pycache__"}
    assert names == {"golden_trace", "golden_trace.pth", "golden_trace_studio"}

    def run(code: str, *words: str, folder: Path = tmp_path) -> str:
        done = completed(installed, "-c", code, *words, folder=folder, environment=quiet_environment())
        assert done.returncode == 0, done.stderr
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


@pytest.mark.process
def test_a_project_has_an_app_of_its_own(tmp_path: Path) -> None:
    """Also one without an `__init__.py`, which Python takes last: what the page is made of is none of the agent's modules."""
    home = write_tiny_agent(tmp_path / "shop" / "app")
    (home.parent / "prices.py").write_text("PRICES = {}\n")
    source = (home / "agent.py").read_text()
    (home / "agent.py").write_text(source.replace("\n\n", "\n\nfrom app.prices import PRICES\n", 1))
    (tmp_path / "shop" / "pyproject.toml").touch()
    script, out = tmp_path / "hi.yaml", tmp_path / "out.evalset.json"
    script.write_text("format: golden-trace-studio/script\nversion: 1\nagent: person\nturns:\n- say: Hi\n")
    command = (PROGRAM, "run", home, "--script", script, "--out", out)
    done = completed(*command, environment=quiet_environment())
    assert "Needed: a response of the agent" in done.stderr
    assert done.returncode == 1


DESK = str(REPOSITORY / "tests" / "conformance" / "files" / "order_desk.evalset.json")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("verfy", DESK), "verify"),
        (("eval", "ordr_desk", DESK), "order_desk"),
        (("run", "ordr_desk", "--script", DESK, "--out", "played.evalset.json"), "order_desk"),
        (("eval", "./biling", DESK), "billing?"),
        (("eval", "shops", DESK), "deep/shop?"),
        (("verify", DESK, "--case", "order_desk_cas"), "order_desk_case"),
        (("eval", "order_desk", DESK, "--case", "order_desk_cas"), "order_desk_case"),
        (("run", "order_desk", "--script", DESK, "--case", "order_desk_cas", "--out", "played.evalset.json"), "order_desk_case"),
        (("export", DESK, "--form", "pytest", "--case", "order_desk_cas"), "order_desk_case"),
    ],
)  # fmt: skip
def test_what_was_meant_is_named(words: tuple[str, ...], meant: str, here: Path, ends: Ends) -> None:
    """A command, an agent, its folder, an agent further down, a case."""
    (here / "billing").mkdir()
    write_tiny_agent(here / "deep", "shop")
    assert f"did you mean {meant}" in ends(2, *words).err


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("verify", DESK, "nobody_there"), marks=pytest.mark.long),
        ("verify", "nobody_there", "--models", "recorded", DESK),
        ("eval", "nobody_there", DESK),
        ("eval", DESK, "nobody_there"),
        ("run", "nobody_there", DESK, "--out", "played.evalset.json"),
        ("run", DESK, "nobody_there", "--out", "played.evalset.json"),
    ],
)
def test_agent_and_set_stand_in_either_order(words: tuple[str, ...], here: Path, ends: Ends) -> None:
    """It is the agent that is not found, wherever it stands."""
    assert "'nobody_there' not found" in "".join(ends(2, *words))


def test_an_agent_stands_once(ends: Ends) -> None:
    """Next to the set or in its option."""
    said = ends(2, "verify", DESK, "order_desk", "--agent", "order_desk").err
    assert "not allowed with --agent" in said


def test_two_files_of_data_stay_in_their_order() -> None:
    """An agent may be a file of configs."""
    assert agent_and_file("root_agent.yaml", "set.json") == ("root_agent.yaml", Path("set.json"))
    assert agent_and_file("set.json", "agents.py#one") == ("agents.py#one", Path("set.json"))


def test_an_agent_is_named_in_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: Ends
) -> None:
    """Its own name is enough there; a wrong one leads to it."""
    write_tiny_agent(tmp_path)
    monkeypatch.chdir(tmp_path / "adder")
    script = tmp_path / "hi.yaml"
    script.write_text(
        "format: golden-trace-studio/script\nversion: 1\nagent: person\nturns:\n- say: Hi\n  moves:\n  - text: Hello\n"
    )
    words = ("--script", script, "--out", tmp_path / "out.evalset.json")
    ends(0, "run", "adder", *words)
    assert "did you mean adder?" in ends(2, "run", "ader", *words).err
