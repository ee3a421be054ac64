"""Agents in a folder of ADK's convention, through ADK's own loader."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from google.adk.apps.app import App
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.evaluation.local_eval_sets_manager import LocalEvalSetsManager

from simulator import Simulation
from simulator.agents import AgentCatalogue, AgentEntry, AgentSettings, find_agents
from simulator.agents.agent_folder import AgentFolder
from tests.evalset.there import there

AGENT = """
from google.adk.agents import LlmAgent

root_agent = LlmAgent(name={name!r}, model="gemini-2.5-flash", description={description!r})
"""
APP = """
from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.plugins.base_plugin import BasePlugin

class Counting(BasePlugin):
    pass

app = App(
    name="named_otherwise",
    root_agent=LlmAgent(name="inner", model="gemini-2.5-flash"),
    plugins=[Counting(name="counting")],
)
"""
WORKFLOW = """
from google.adk.workflow import START, Workflow

def greet():
    return "hello"

root_agent = Workflow(name="graph", edges=[(START, greet)])
"""
YAML = """
agent_class: LlmAgent
name: from_yaml
model: gemini-2.5-flash
description: In YAML.
instruction: Be brief.
"""


def write(root: Path, files: dict[str, str]) -> Path:
    """Write files below a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return root


def agent_source(name: str, description: str = "") -> str:
    """Write the source of a module with a root agent."""
    return AGENT.format(name=name, description=description)


def by_name(root: Path) -> dict[str, AgentEntry]:
    """Find and load all agents of a folder."""
    return {entry.name: entry for entry in find_agents(root, demos=False)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with an agent in every form that ADK's loader knows."""
    return write(
        tmp_path / "bots",
        {
            "in_submodule/__init__.py": "",
            "in_submodule/agent.py": agent_source("sub", "In agent.py."),
            "without_init/agent.py": agent_source("bare"),
            "in_package/__init__.py": agent_source("packaged"),
            "single_file.py": agent_source("filed"),
            "with_app/__init__.py": "from . import agent",
            "with_app/agent.py": APP,
            "with_workflow/agent.py": WORKFLOW,
            "with_yaml/root_agent.yaml": YAML,
            "notes/readme.txt": "no agent",
            ".hidden/agent.py": agent_source("hidden"),
            "helpers.py": "VALUE = 1",
        },
    )


FORMS = {
    "in_package": "packaged",
    "in_submodule": "sub",
    "single_file": "filed",
    "with_app": "inner",
    "with_workflow": "graph",
    "with_yaml": "from_yaml",
    "without_init": "bare",
}
"""The root agent of each."""


def test_each_form_of_the_convention_loads(root: Path) -> None:
    """A submodule, a bare folder, a package, a single file, an App, a workflow and a YAML file all load, without any key.

    Listing gives what ADK's own does, and the single files. Each one's eval set is where the manager behind `adk web` finds it.
    """
    assert AgentFolder(root).names() == tuple(FORMS)
    assert {*FORMS} - {*AgentLoader(str(root)).list_agents()} == {"single_file"}
    entries = by_name(root)
    assert {name: (entry.state, entry.error) for name, entry in entries.items()} == dict.fromkeys(
        FORMS, ("ready", None)
    )
    assert [entries[name].description for name in ("with_yaml", "in_submodule")] == [
        "In YAML.",
        "In agent.py.",
    ]
    manager = LocalEvalSetsManager(agents_dir=str(root))
    for name, entry in entries.items():
        config = entry.config
        assert config
        assert (config.root_agent.name, config.app_name) == (FORMS[name], name)
        assert config.resolve_eval_set_path() == root / name / f"{name}_evals.evalset.json"
        manager.create_eval_set(name, f"{name}_evals")
        assert config.resolve_eval_set_path().is_file()
        assert f"{name}_evals" in manager.list_eval_sets(name)
        assert AgentFolder(root).load(name, anew=True).origin == config.origin
    assert AgentFolder(root).names() == tuple(FORMS)
    app = there(entries["with_app"].config).agent
    assert isinstance(app, App)
    assert [plugin.name for plugin in app.plugins] == ["counting"]


@pytest.mark.parametrize("files", [{"agent.py": agent_source("lonely")}, {"root_agent.yaml": YAML}])
def test_a_folder_that_is_one_agent_is_taken_as_that_agent(tmp_path: Path, files: dict[str, str]) -> None:
    """As for `adk web`, the folder of a single agent may be named instead of the folder above it."""
    name = f"only_{'yaml' if 'root_agent.yaml' in files else 'python'}"
    root = write(tmp_path / name, files)
    (entry,) = find_agents(root, demos=False)
    assert (entry.name, entry.error) == (name, None)
    assert entry.config
    assert entry.config.eval_set_path == root / f"{name}_evals.evalset.json"
    assert entry.config.app_name == name


BROKEN = {
    "no_syntax/agent.py": "def broken(:\n    pass\n",
    "no_module/agent.py": "\n\nimport a_module_that_nobody_has\n",
    "raises/__init__.py": "from . import agent",
    "raises/agent.py": "from .deeper import go\ngo()\n",
    "raises/deeper.py": "def go():\n    raise KeyError('the key')\n",
    "value_error/agent.py": "raise ValueError('out of range')\n",
    "gives_up/agent.py": "try:\n    try:\n        raise OSError('port 7')\n    except OSError:\n        raise ConnectionError('no line')\n"
    "except ConnectionError as error:\n    raise RuntimeError('tried in vain') from error\n",
    "leaves/agent.py": "import sys\n\nsys.exit('not today')\n",
    "exits/agent.py": "import logging, os\n\nif not os.environ.get('NO_SUCH_SWITCH', ''):\n    print('The shop is closed.')\n"
    "    logging.error('Open it first.')\n    exit(1)\n",
    "reads/agent.py": "import os\n\nos.environ['NO_SUCH_SWITCH']\n",
    ".venv/lib/python3/site-packages/of_the_project/__init__.py": "def fails():\n    raise LookupError('inside')\n",
    "installed/agent.py": "import sys\nsys.path.append('.venv/lib/python3/site-packages')\nfrom of_the_project import fails\nfails()\n",
    "no_agent/__init__.py": "from .parts import *",
    "no_agent/parts.py": "NUMBER = 1\n",
    "wrong_type/agent.py": "root_agent = 'me'\n",
    "bad_yaml/root_agent.yaml": "name: [unclosed\n",
    "bad_field/root_agent.yaml": "agent_class: LlmAgent\nname: ok\nmodel: m\ninstruction: x\nno_such_field: 1\n",
    "hidden/agent.py": agent_source("hidden"),
    "../hidden/__init__.py": "",
    "nul/agent.py": "x = 'a\0b'\n",
    "shop.v2/agent.py": agent_source("shop"),
    **{f"{taken}/agent.py": agent_source("thief") for taken in ("json", "sys", "pydantic")},
    "works/agent.py": agent_source("works"),
}
SAID = {
    "no_syntax": ("SyntaxError", "no_syntax/agent.py, line 1"),
    "no_module": ("ModuleNotFoundError", "a_module_that_nobody_has", "no_module/agent.py, line 3"),
    "raises": ("KeyError", "the key", "raises/deeper.py, line 2"),
    "value_error": ("ValueError: out of range", "value_error/agent.py, line 1"),
    "gives_up": ("RuntimeError: tried in vain (gives_up/agent.py, line 7). Caused by OSError: port 7",),
    "leaves": ("SystemExit: not today", "leaves/agent.py, line 3"),
    "exits": ("SystemExit: 1 (exits/agent.py, line 6)", "The shop is closed. Open it first."),
    "reads": ("KeyError: NO_SUCH_SWITCH (reads/agent.py, line 3)",),
    "installed": ("LookupError: inside (installed/agent.py, line 4)",),
    "no_agent": ("root_agent", "'no_agent'"),
    "wrong_type": ("not a BaseAgent", "builtins.str"),
    "bad_yaml": ("bad_yaml", "line 2"),
    "bad_field": ("no_such_field",),
    "hidden": ("'hidden' is already used", "hidden/__init__.py"),
    "nul": ("null bytes",),
    "shop.v2": ("Rename the folder",),
    **{taken: (f"'{taken}' is already",) for taken in ("json", "sys", "pydantic")},
}
"""What is said of each; Python cannot import a name with a dot, and has one table of modules."""


def test_an_agent_that_fails_is_listed_with_what_and_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error gives type, message, file and line of the agent's own code, in a few words, whatever the current folder; the others work."""
    (tmp_path / "bots").mkdir()
    monkeypatch.chdir(tmp_path / "bots")
    monkeypatch.syspath_prepend(str(tmp_path))  # put back later
    entries = by_name(write(tmp_path / "bots", BROKEN))
    assert entries.pop("works").state == "ready"
    assert entries.keys() == SAID.keys()
    for name, entry in entries.items():
        assert (entry.state, entry.config) == ("failed", None)
        error = str(entry.error)
        assert [words for words in SAID[name] if words not in error] == [], error
        assert "Fail to load" not in error
        assert "\n" not in error
        assert len(error) < 700


def test_a_missing_or_empty_folder_is_named(tmp_path: Path) -> None:
    """A folder that is not there, is a file, cannot be read or holds no agent is one entry whose error names it; demos work on."""
    file = tmp_path / "file.txt"
    file.write_text("", encoding="utf-8")
    looped = tmp_path / "loop"
    looped.symlink_to(looped)
    for path, words in (
        (tmp_path / "nowhere", "does not exist"),
        (file, "is a file"),
        (tmp_path, "no agents in the folder"),
        (tmp_path / ("long" * 100), "cannot be read: File name too long"),
        (looped, "does not exist"),
    ):
        first, *demos = AgentCatalogue(AgentSettings(path)).entries()
        assert first.state == "failed"
        assert words in (first.error or "")
        assert str(path) in (first.error or "")
        assert len(demos) == 3


WHOLE = "from google.adk import apps\n\napp = apps.App(\n    name='whole',\n    root_agent=inner,\n)\n"


def test_packages_and_scripts_without_an_agent_are_no_agents(tmp_path: Path) -> None:
    """Folders of tests, evals and helpers beside an agent are packages too: they are not listed as agents that failed.

    Nor is a script or a package that only imports another agent, or has an app of another library. It is not run.
    """
    files = {
        "desk/agent.py": agent_source("desk"),
        "eval/__init__.py": "",
        "tests/__init__.py": '"""Tests for the agent and its app."""\nroot_agents = ()\n',
        "shared/__init__.py": "from .tools import find\nimport json as helper\n",
        "lazy/__init__.py": "def __getattr__(name):\n    raise AttributeError(name)\n",
        "aliased/__init__.py": "from .inside import best as root_agent\n",
        "aliased/inside.py": agent_source("aliased").replace("root_agent", "best"),
        "unparsed/__init__.py": "def broken(:\n",
        "scripts/__init__.py": "from desk.agent import root_agent\nraise SystemExit('it is run')\n",
        "own/__init__.py": "from own.inside import root_agent\n",
        "own/inside.py": agent_source("own"),
        "play.py": "from desk.agent import root_agent\nraise SystemExit('it is run')\n",
        "chat.py": "from slack_bolt import App\napp = App(token='x')\nraise SystemExit('it is run')\n",
        "whole.py": f"{agent_source('inner').replace('root_agent', 'inner')}\n{WHOLE}",
    }
    entries = by_name(write(tmp_path / "bots", files))
    assert {name: entry.state for name, entry in entries.items()} == {
        "aliased": "ready",
        "desk": "ready",
        "lazy": "failed",
        "own": "ready",
        "unparsed": "failed",
        "whole": "ready",
    }


def test_agents_at_any_depth_are_listed_by_their_folder(tmp_path: Path) -> None:
    """A repository opens as it is: what programs made in it, tests, and the parts of an agent are no agents."""
    root = tmp_path / "my project"
    deep = {f"python/agents/{name}/agent.py": agent_source(name) for name in ("one", "two")}
    write(
        root,
        {
            **deep,
            "more/third.py": agent_source("third"),
            "python/agents/one/sub/agent.py": agent_source("sub"),
        },
    )
    write(root, {"tests/__init__.py": "", ".venv/lib/agent.py": agent_source("hidden"), "readme.md": "x"})
    write(root, {"env/pyvenv.cfg": "", "env/lib/made/agent.py": agent_source("made")})
    uses = "from one.agent import root_agent\nraise SystemExit('it is run')\n"
    write(root, {"python/tests/test_one.py": uses, "python/deployment/deploy.py": uses})
    assert AgentFolder(root).names() == ("more/third", "python/agents/one", "python/agents/two")
    entries = by_name(root)
    assert {entry.state for entry in entries.values()} == {"ready"}
    config = there(entries["python/agents/one"].config)
    assert (config.app_name, Path(config.eval_set_path).parent) == ("one", root / "python" / "agents" / "one")
    catalogue = AgentCatalogue(AgentSettings(agents_dir=root, demos=False))
    assert catalogue.config("one") is catalogue.config("python/agents/one")
    part = {"direct/agent.py": agent_source("direct"), "direct/part/agent.py": agent_source("part")}
    write(root, part)
    assert AgentFolder(root).names() == ("direct", "more/third", "python/agents/one", "python/agents/two")


def test_a_list_that_is_not_whole_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with too many others in it is searched to a bound."""
    write(tmp_path, {f"{name}/deep/agent.py": agent_source(name) for name in "abcdef"})
    monkeypatch.setattr("simulator.agents.agent_folder._MOST_FOLDERS", 4)
    failed = [entry for entry in by_name(tmp_path).values() if entry.error]
    assert ["not all folders" in str(entry.error) for entry in failed] == [True]
    assert len(by_name(tmp_path)) > 1


@pytest.mark.parametrize(
    ("agent", "module", "mark"),
    [
        ("src/shop/agent.py", "src/helper.py", ".git"),
        ("services/shop/desk/agent.py", "services/helper/__init__.py", ".git"),
        ("apps/shop/agent.py", "src/helper.py", ".git"),
        ("apps/shop/agent.py", "apps/shop/helper.py", ".git"),
        ("src/helper/agents/shop/agent.py", "src/helper/__init__.py", "src/helper/pyproject.toml"),
    ],
)
def test_a_module_of_the_project_is_found_where_it_lies(
    tmp_path: Path, agent: str, module: str, mark: str
) -> None:
    """Projects run from their root, from `src`, side by side, or from the agent's own folder; nothing else says from where."""
    folder = Path(agent).parent
    source = agent_source(folder.name).replace("description=''", "description=helper.WORDS")
    root = write(tmp_path / "project", {agent: f"import helper\n{source}", module: "WORDS = 'found'\n"})
    (root / mark).touch()
    entry = by_name(root / folder)[folder.name]
    assert (entry.error, entry.description) == (None, "found")


def test_a_module_in_a_folder_of_everybodys_is_not_found(tmp_path: Path) -> None:
    """As in `/tmp`: what others put there is none of the project's, and would run."""
    shared = tmp_path / "shared"
    source = "import helper_of_a_stranger\n" + agent_source("shop")
    write(shared, {"shop/agent.py": source, "helper_of_a_stranger/__init__.py": "", "src/x.py": ""})
    (shared / ".git").mkdir()
    home = shared / "mine"
    write(home, {"bots/desk/agent.py": source.replace("'shop'", "'desk'")})
    shared.chmod(0o777)
    assert "helper_of_a_stranger" in str(by_name(home / "bots")["desk"].error)
    shared.chmod(0o755)
    assert by_name(home / "bots" / "desk")["desk"].error is None


def test_a_package_that_gives_its_agent_can_be_named_itself(tmp_path: Path) -> None:
    """It is the agent by its own name, and not a folder with the module that holds it; one with other agents in it is a folder of agents."""
    files = {"shop/__init__.py": "from .graph import root_agent\n", "shop/graph.py": agent_source("graph")}
    root = write(tmp_path / "bots", files)
    assert AgentFolder(root / "shop").names() == AgentFolder(root).names() == ("shop",)
    config = there(by_name(root / "shop")["shop"].config)
    assert (config.app_name, config.root_agent.name) == ("shop", "graph")
    write(root, {"shop/inner/agent.py": agent_source("inner")})
    assert AgentFolder(root / "shop").names() == ("graph", "inner")
    given = {
        "desk/__init__.py": "from .agents.graph import root_agent\n",
        "desk/agents/graph.py": agent_source("graph"),
    }
    write(root, {**given, "desk/agents/__init__.py": "from .graph import root_agent\n"})
    assert AgentFolder(root / "desk").names() == ("desk",)


OTHER_APP = "from google.adk.apps import App\napp = App(name='other', root_agent=root_agent)\n"


@pytest.mark.parametrize(
    "files",
    [
        {"my-shop/agent.py": agent_source("desk"), "my-shop/__init__.py": ""},
        {"shop/agent.py": agent_source("desk") + OTHER_APP},
        {"shop/__init__.py": agent_source("desk") + OTHER_APP},
    ],
    ids=["hyphen", "app in a module", "app in a package"],
)
def test_an_agent_is_played_whatever_its_folder_and_its_app_are_named(
    tmp_path: Path, files: dict[str, str]
) -> None:
    """ADK's loader refuses a hyphen, which Python imports all the same; its own server gives its runner the folder's name."""
    ((name, entry),) = by_name(write(tmp_path / "bots", files)).items()
    with Simulation.open(there(entry.config)) as simulation:
        assert simulation.query("Hello", wait=60)
        assert [request.agent for request in simulation.pending] == ["desk"]
        assert simulation.session.app_name == name


def test_folders_with_the_same_names_are_not_confused(tmp_path: Path) -> None:
    """Two folders hold an agent and a helper of the same names: each agent is made of its own folder's code.

    Python prefers a package with an `__init__.py` wherever it is to one without that stands before it.
    """
    roots = []
    for side, more in (("left", {"twin/__init__.py": ""}), ("right", {})):
        own = agent_source("twin").replace("description=''", f"description='{side} ' + shared_helper.WHO")
        files = {
            "twin/agent.py": f"import shared_helper\n{own}",
            "shared_helper.py": f"WHO = {side!r}\n",
            **more,
        }
        roots.append(write(tmp_path / side, files))
    entries = [by_name(root)["twin"] for root in (*roots, *roots)]
    assert [entry.description for entry in entries] == ["left left", "right right"] * 2
    left, right = (entry.config and entry.config.agent for entry in entries[:2])
    assert left is not right


def test_a_single_agent_and_one_of_the_same_name_deeper_down_are_not_confused(tmp_path: Path) -> None:
    """A folder of agents lies in the folder of another agent of the same name: the files' own places decide."""
    outer = write(tmp_path / "work" / "nested_bot", {"agent.py": agent_source("outer")})
    inner = write(tmp_path / "work" / "more", {"nested_bot/agent.py": agent_source("inner")})
    names = [
        entry.config.root_agent.name
        for root in (inner, outer, inner)
        for entry in find_agents(root, demos=False)
        if entry.config
    ]
    assert names == ["inner", "outer", "inner"]


def test_a_changed_agent_is_read_again_on_demand(tmp_path: Path) -> None:
    """`load` keeps what it has; `reload` reads the files again; a failure is tried again after `refresh`, with what it imported."""
    root = write(tmp_path / "bots", {"growing/agent.py": agent_source("young"), "growing/__init__.py": ""})
    catalogue = AgentCatalogue(AgentSettings(root, demos=False))
    young = catalogue.config("growing")
    write(root, {"growing/agent.py": agent_source("grown_up")})
    assert catalogue.config("growing") is young
    assert catalogue.reload("growing").config is not young
    assert catalogue.config("growing").root_agent.name == "grown_up"
    leaning = "from .part import NAME\n" + agent_source("x").replace("'x'", "NAME")
    write(root, {"growing/agent.py": leaning, "growing/part.py": "NAME = None\n"})
    assert catalogue.reload("growing").state == "failed"
    write(root, {"growing/part.py": "NAME = 'mended'\n"})
    assert catalogue.load("growing").state == "failed"
    catalogue.refresh()
    assert catalogue.config("growing").root_agent.name == "mended"
