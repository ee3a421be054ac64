"""What is told to paste where an agent cannot be loaded: only what its own words, its project or google-adk say."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.abc import MetaPathFinder
from importlib.metadata import version
from pathlib import Path

import pytest
from dotenv import dotenv_values

from simulator.agents import find_agents
from simulator.agents.load_advice import advice, pip_install
from simulator.agents.load_failure import ACCOUNT, PLACEHOLDER, VARIABLE, placeholders
from simulator.base.secret_masking import without_secrets
from tests.harness.tiny_agent import write_agent
from tests.simulator.base.rows import for_each

PYTHON = Path("/project/.venv/bin/python")
MISSING = "ModuleNotFoundError: No module named {!r} (agent.py, line 3)"


def told(folder: Path, words: str, files: dict[str, str] | None = None) -> str:
    """Return the advice for an agent in a project with these files."""
    agent = folder / "app"
    agent.mkdir()
    (folder / ".git").mkdir()
    for name, text in (files or {}).items():
        (folder / name).write_text(text, encoding="utf-16" if text.startswith("# wide") else "utf-8")
    return advice(words, agent, PYTHON)


def lists(text: str) -> dict[str, str]:
    """Return the files of a project that needs something."""
    return {"requirements.txt": f"# ours\nother\n{text}  # needed\n-e .\n"}


PROJECTS = (
    "[project]\nname='x'\ndependencies=['requests>=2']",
    "[project.optional-dependencies]\nweb=['requests>=2']",
    "[dependency-groups]\ndev=[{include-group='x'}, 'requests>=2']",
    "[tool.poetry.dependencies]\nrequests='>=2'\nlocal={path='x'}",
)
BROKEN = ("project = 5", "[project]\ndependencies = 5", "not toml", "[tool]\npoetry = 1")
FROM_LIST = f"{PYTHON} -m pip install -r {{}}/requirements.txt"
TELLS = (
    'ImportError: it needs pandas. Please install it by running: pip install "sdk[eval]" (agent.py, line 1)'
)
NO_NAME = "ImportError: cannot import name 'Old' from '{}' (agent.py, line 2)"
NO_PART = (
    "ImportError: cannot import name 'firestore' from 'google.cloud' (unknown location) (agent.py, line 2)"
)
NEARER = {"app/requirements.txt": "google-cloud-firestore==2.19\n", **lists("thing==2")}
OLD_PINS = ("google-adk<2", "google-adk==1.*", "google-adk>=1.0,<2.0", "google-adk==1.9.0")


@pytest.mark.parametrize(
    ("words", "files", "begins", "ends"),
    [
        ("dotenv", lists("python-dotenv>=1"), "requirements.txt lists python-dotenv>=1. ", FROM_LIST),
        (
            "google.cloud.x",
            lists("google-cloud-x==3.2"),
            "requirements.txt lists google-cloud-x==3.2. ",
            FROM_LIST,
        ),
        ("my_tool.parts", lists("My.Tool"), "requirements.txt lists My.Tool. ", FROM_LIST),
        (
            "dotenv",
            {"requirements.txt": "# wide\r\npython-dotenv\r\n"},
            "requirements.txt lists python-dotenv. ",
            FROM_LIST,
        ),
        *(
            (
                "requests",
                {"pyproject.toml": text},
                "pyproject.toml lists requests>=2",
                " install 'requests>=2'",
            )
            for text in PROJECTS[:-1]
        ),
        ("requests", {"pyproject.toml": PROJECTS[-1]}, "pyproject.toml lists requests>=2", " install {}"),
        (
            "requests",
            lists("google-adk==1.14.1\nrequests"),
            "requirements.txt lists requests. ",
            " install other requests",
        ),
        (
            "requests",
            lists(
                "google-adk==1.14.1\nstarlette==0.46.2\ngoogle-cloud-secret-manager==2.23.3\nrequests==2.3"
            ),
            "requirements.txt lists requests==2.3. ",
            " install other starlette google-cloud-secret-manager requests",
        ),
        (
            "google.cloud.secret_manager",
            lists("google-cloud-secret-manager==2.23.3"),
            "requirements.txt lists google-cloud-secret-manager==2.23.3. ",
            FROM_LIST,
        ),
        *(
            ("requests", {"pyproject.toml": text}, "If pyproject.toml lists the missing", "")
            for text in BROKEN
        ),
        *(
            (module, lists(f"google-adk>=2\n{listed}"), f"requirements.txt lists {listed}. ", FROM_LIST)
            for module, listed in (
                ("google.cloud.secretmanager", "google-cloud-secret-manager>=2"),
                ("google.cloud.secretmanager_v1.types", "google-cloud-secret-manager"),
                ("google.cloud.discoveryengine_v1", "google-cloud-discoveryengine"),
            )
        ),
        (
            "google.maps",
            lists("google-cloud-storage"),
            "requirements.txt lists no package named google.maps. ",
            FROM_LIST,
        ),
        ("bs4", lists("beautifulsoup4"), "requirements.txt lists no package named bs4. ", FROM_LIST),
        ("bs4", {}, "", ""),
        ("a2a.client", {}, "", " install 'google-adk[a2a]'"),
        ("mcp", {}, "", " install 'google-adk[mcp]'"),
        (TELLS, lists("pandas"), "", f"{PYTHON} -m pip install 'sdk[eval]'"),
        (NO_PART, NEARER, "requirements.txt lists google-cloud-firestore==2.19. ", "/app/requirements.txt"),
        (NO_NAME.format("thing.parts"), lists("thing==2"), "", " install thing==2"),
        *(
            (words, lists(pin), f"The project asks for {pin}. ", "needs google-adk 2.11 or newer")
            for words in (NO_NAME.format("google.adk.agents"), "google.adk.new", NO_NAME.format("mcp.client"))
            for pin in OLD_PINS
        ),
    ],
)
def test_what_lets_an_agent_load_is_named(
    tmp_path: Path, words: str, files: dict[str, str], begins: str, ends: str
) -> None:
    """What the project lists is installed, with all that it lists; else the extra of ADK, unless the error itself says how.

    A broken list, which is somebody's file, hides nothing; a pin that cannot play is not installed, as that would end in the next
    error, nor are the pins that came with it of what google-adk brings; and a package that nothing names is not made up.
    """
    line = told(tmp_path, words if ":" in words else MISSING.format(words), files)
    assert line.startswith(begins)
    assert line.endswith(ends.format(tmp_path))
    assert bool(line) is bool(begins or ends)
    assert without_secrets(line) == line


@for_each(
    "words",
    [
        "KeyError: 'MAPS_API_KEY' (agent.py, line 2)",
        "ValueError: MAPS_API_KEY environment variable is not set (agent.py, line 2)",
        "RuntimeError: Please set MAPS_API_KEY in .env (agent.py, line 2)",
    ],
)
def test_an_unset_variable_gets_a_line_that_lets_the_agent_load(
    tmp_path_factory: pytest.TempPathFactory, words: str
) -> None:
    """ADK reads the file; no mask of secrets makes the line useless. It goes where ADK reads the others: a nearer file would hide that."""
    folder = tmp_path_factory.mktemp("project")
    line = told(folder, words)
    file = folder / "app" / ".env"
    assert line.endswith(f">> {file}")
    assert without_secrets(line) == line
    file.write_text("OTHER=kept")
    assert subprocess.run(["sh", "-ec", line.partition(": ")[2]], check=False).returncode == 0
    assert dotenv_values(file) == {"OTHER": "kept", "MAPS_API_KEY": "placeholder"}
    file.rename(folder / ".env")
    assert advice(words, folder / "app", PYTHON).endswith(f">> {folder / '.env'}")


@pytest.mark.parametrize(
    ("asks", "told"),
    [
        (">=3.99", "asks for Python >=3.99, and Python 3.{} runs it"),
        ("~=3.99.1", "asks for Python ~=3.99.1"),
        (">=3.8", ""),
        ("<4", ""),
    ],
)
def test_a_project_for_a_newer_python_is_told_so(tmp_path: Path, asks: str, told: str) -> None:
    """Code that this Python cannot read is right for that one; what is installed for it goes into an environment of that one."""
    agent = write_agent(tmp_path / "project" / "shop", "def shop(:\n")
    (tmp_path / "project" / ".git").mkdir()
    listed = f"[project]\nname='x'\nrequires-python='{asks}'\ndependencies=['thing']"
    (tmp_path / "project" / "pyproject.toml").write_text(listed)
    (entry,) = find_agents(agent, demos=False)
    assert told.format(sys.version_info.minor) in str(entry.error)
    assert ("--python" in str(entry.error)) is bool(told)
    line = advice(MISSING.format("thing"), agent, Path(sys.executable))
    assert (f"{'python3.99' if told else sys.executable} -m venv {tmp_path}" in line) is True
    environment = tmp_path / "other"
    (environment / "bin").mkdir(parents=True)
    python = environment / "bin" / "python"
    assert not advice("SyntaxError: no (agent.py, line 1)", agent, python)
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n")
    assert ("Python 3.12 runs it" in advice("SyntaxError: no (agent.py, line 1)", agent, python)) is bool(
        told
    )


def test_an_environment_without_pip_is_installed_into_by_uv(tmp_path: Path) -> None:
    """Uv makes such; one with pip, and an interpreter that is in none, have their own."""
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    assert pip_install(python) == f"{python} -m pip install"
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    assert pip_install(python) == f"uv pip install --python {python}"
    (tmp_path / ".venv" / "lib" / "python3.12" / "site-packages" / "pip").mkdir(parents=True)
    assert pip_install(python) == f"{python} -m pip install"


AGENT = """
from google.adk.agents import LlmAgent
import google.auth
google.auth.default()
root_agent = LlmAgent(name="shop", model="gemini-2.5-flash")
"""


def test_an_agent_that_asks_for_credentials_at_import_finds_placeholders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where somebody chose so, off by default: then both ways are told. What was set for it is gone once it is loaded. What lacks here is told as on the page."""
    for name, source in (("shop", AGENT), ("lacks", "import nothing_of_that_name\nroot_agent = None\n")):
        write_agent(tmp_path / name, source)
    (tmp_path / "requirements.txt").write_text("nothing-of-that-name\n")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    lacks, shop = find_agents(tmp_path, demos=False)
    created = f"{sys.executable} -m venv {tmp_path / '.venv'}"
    assert created in str(lacks.error)
    own = Path(sys.executable)
    for words in (MISSING.format("a2a.client"), TELLS, NO_NAME.format("nothing_of_that_name")):
        assert created in advice(words, tmp_path / "lacks", own), (
            "the studio's own environment stays as it is"
        )
    assert advice(MISSING.format("a2a.client"), tmp_path / "lacks", own).endswith(
        "requirements.txt 'google-adk[a2a]'"
    )
    assert "gcloud auth application-default login" in str(shop.error)
    assert VARIABLE in str(shop.error)
    monkeypatch.setenv(VARIABLE, "1")
    (entry,) = find_agents(tmp_path / "shop", demos=False)
    assert entry.error is None
    assert entry.config is not None
    assert entry.config.placeholders == (ACCOUNT,)
    assert ACCOUNT not in os.environ


class Hiding(MetaPathFinder):
    """Has no module of a name, as an environment in which its package is not installed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, fullname: str, *_: object) -> None:
        """Raise what Python raises of it."""
        if fullname.partition(".")[0] == self.name:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@pytest.mark.parametrize("listed", [None, "google-adk>=1.3.0\n", "google-adk==1.3.0\n"])
def test_what_google_adk_goes_without_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: str | None
) -> None:
    """A part of google-adk is empty where its package is missing, and says nothing of it: its extra is told, whichever google-adk the project lists."""
    import google.adk.tools  # noqa: PLC0415 - its parts are put back

    source = "from google.adk.tools.mcp_tool import MCPToolset\nroot_agent = None\n"
    folder = write_agent(tmp_path / "shop", source)
    if listed:
        (tmp_path / "requirements.txt").write_text(listed)
    monkeypatch.setattr(google.adk.tools, "mcp_tool", None, raising=False)
    for name in [*sys.modules]:
        if name.partition(".")[0] == "mcp" or ("mcp" in name and name.startswith("google.adk.")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Hiding("mcp"), *sys.meta_path])
    (entry,) = find_agents(folder, demos=False)
    assert "No module named 'mcp'" in str(entry.error)
    assert str(entry.error).endswith(" 'google-adk[mcp]'")


@pytest.mark.parametrize(
    ("listed", "is_gone"),
    [
        ("", True),
        ("google-adk", True),
        ("google-adk[mcp]>=1.0", True),
        ("google-adk>=2.0,<99", True),
        ("google-adk~=2.11", True),
        ("google-adk>=99", False),
        ("google-adk==2.99", False),
        ("google-adk<2", False),
    ],
)
@pytest.mark.parametrize(
    "asks", ["from google.adk.agents import NoSuchAgent", "import google.adk.no_such_part"]
)
def test_what_google_adk_no_longer_has_gets_no_line(
    tmp_path: Path, asks: str, listed: str, *, is_gone: bool
) -> None:
    """Where the project allows the version that is there, to install it again ends in the same error."""
    folder = write_agent(tmp_path / "shop", f"{asks}\nroot_agent = None\n")
    (tmp_path / "requirements.txt").write_text(f"thing\n{listed}\n")
    (entry,) = find_agents(folder, demos=False)
    gone = f"google-adk {version('google-adk')} is installed and has no "
    assert (gone in str(entry.error), "pip install" in str(entry.error)) == (
        is_gone,
        listed.endswith("99") and not is_gone,
    )


@pytest.mark.parametrize("module", ["agent.py", "__init__.py"])
def test_a_coroutine_in_the_place_of_an_agent_is_named(tmp_path: Path, module: str) -> None:
    """With its place: ADK names its type alone."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / module).write_text(
        "async def create():\n    return None\n\n\nroot_agent = create()\nroot_agent.close()  # no warning\n"
    )
    (entry,) = find_agents(folder, demos=False)
    assert f"(shop/{module}, line 5)" in str(entry.error)
    assert "not awaited" in str(entry.error)


READS = """
import os, sys
{how}
from google.adk.agents import LlmAgent
root_agent = LlmAgent(name="shop", model="gemini-2.5-flash")
"""


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ('os.environ["SHOP_URL"]', ("SHOP_URL",)),
        ('url = os.getenv("SHOP_URL")\nprint("shop: " + url)', ("SHOP_URL",)),
        ('if not os.getenv("SHOP_URL"):\n    sys.exit(1)', ("SHOP_URL",)),
        ('if not os.getenv("SHOP_URL"):\n    raise RuntimeError("SHOP_KEY is not set")', ()),
        ("from google import genai\ngenai.Client()", ("GOOGLE_API_KEY",)),
        ("from shop.settings import url", ("SHOP_URL",)),
        ('int(os.environ["SHOP_URL"])', ()),
        ('raise ValueError(os.getenv("SHOP_URL", "no default"))', ()),
        (
            'url = os.getenv("SHOP_URL")\nif not url:\n    raise RuntimeError("La variable SHOP_URL es obligatoria")',
            ("SHOP_URL",),
        ),
        ('env = {name: os.environ[name] for name in ["SHOP_URL", "SHOP_KEY"]}', ("SHOP_URL", "SHOP_KEY")),
        (
            'NEEDED = ("SHOP_URL", "SHOP_KEY")\nfor each in NEEDED:\n    print("shop: " + os.environ[each])',
            ("SHOP_URL", "SHOP_KEY"),
        ),
        (
            (
                "from mcp import StdioServerParameters\n"
                'url = os.getenv("SHOP_URL")\nStdioServerParameters(command="shop", env={"SHOP_URL": url})'
            ),
            ("SHOP_URL",),
        ),
        (
            (
                "from pydantic import Field\nfrom pydantic_settings import BaseSettings\nclass Settings(BaseSettings, env_prefix='shop_'):\n"
                "    url: str\n    port: int = 1\n    other: str = Field(alias='SHOP_KEY')\nSettings()"
            ),
            ("SHOP_URL", "SHOP_KEY"),
        ),
        (
            'def made():\n    if os.getenv("SHOP_DEBUG"): return 1\n    return "/" + os.getenv("SHOP_URL")\nmade()',
            ("SHOP_URL",),
        ),
    ],
)
def test_an_agent_that_lacks_a_variable_finds_a_placeholder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, found: tuple[str, ...]
) -> None:
    """What its error names, or the code reads that raised it, and nothing else; what does not help is not told, but the error."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    folder = write_agent(tmp_path / "shop", READS.format(how=how))
    (folder / "settings.py").write_text(
        'import os\nurl = os.getenv("SHOP_URL")\nif url is None:\n    raise OSError("no shop")\n'
    )
    (before,) = find_agents(folder, demos=False)
    assert not found or f"Or give {', '.join(found)} any value" in str(before.error)
    assert all(f"{name}={PLACEHOLDER}" in str(before.error) for name in found)
    monkeypatch.setenv(VARIABLE, "1")
    (entry,) = find_agents(folder, demos=False)
    assert (entry.config.placeholders if entry.config else ()) == found
    assert (entry.error is None) == bool(found)
    assert not {"SHOP_URL", "SHOP_KEY", "GOOGLE_API_KEY"} & set(os.environ)


def test_the_variables_that_may_be_asked_for_next_are_named(tmp_path: Path) -> None:
    """All that the files of the agent read without a default, once; nothing says that these are needed, so no line sets them."""
    folder = write_agent(tmp_path / "shop", READS.format(how='print("shop: " + os.getenv("SHOP_URL"))'))
    (folder / "settings.py").write_text(
        'import os\nuser, key = os.getenv("SHOP_USER"), os.environ["SHOP_KEY"]\n'
        'port, host, url = os.getenv("SHOP_PORT", "1"), os.getenv("SHOP_HOST") or "here", os.getenv("SHOP_URL")\n'
    )
    (entry,) = find_agents(folder, demos=False)
    assert (
        "The code reads SHOP_URL, which is not set. It also reads SHOP_KEY, SHOP_USER, which are not set"
        in str(entry.error)
    )
    assert "SHOP_USER=" not in str(entry.error)


def test_a_coroutine_that_nobody_awaited_is_named(tmp_path: Path) -> None:
    """What it should have made is missing later, and the error says that alone."""
    how = "async def make_shop(): pass\nmake_shop()\nraise LookupError('no shop')"
    folder = write_agent(tmp_path / "shop", READS.format(how=how))
    with pytest.warns(RuntimeWarning, match="make_shop"):
        (entry,) = find_agents(folder, demos=False)
    assert "no shop" in str(entry.error)
    assert "Coroutine 'make_shop' was never awaited" in str(entry.error)


def test_an_agent_that_loads_without_credentials_finds_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes its own way then, and with placeholders it might have other tools."""
    (tmp_path / "shop").mkdir()
    asks = "try:\n    google.auth.default()\nexcept Exception:\n    pass\nelse:\n    raise RuntimeError"
    (tmp_path / "shop" / "agent.py").write_text(AGENT.replace("google.auth.default()", asks))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv(VARIABLE, "1")
    (entry,) = find_agents(tmp_path, demos=False)
    assert entry.error is None
    assert entry.config is not None
    assert not entry.config.placeholders


def test_what_is_set_is_as_before_once_an_agent_is_loaded(tmp_path: Path) -> None:
    """Nobody's own project is replaced, and a file of credentials that is not there comes back."""
    own = {"GOOGLE_CLOUD_PROJECT": "mine", ACCOUNT: str(tmp_path / "gone.json")}
    before = dict(own)
    with placeholders((ACCOUNT, "KEY"), own):
        assert own["GOOGLE_CLOUD_PROJECT"] == "mine"
        assert Path(own[ACCOUNT]).is_file()
        assert own["KEY"] == PLACEHOLDER
    assert own == before
