"""A package that only the tools of an agent need is not needed for a replay; whatever else needs it is not judged without."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evalset.verify import verify
from simulator.agents import AgentLoadError, agent_named
from simulator.agents.load_failure import VARIABLE
from tests.evalset.ending import Ends
from tests.evalset.verify.small_agents import HEAD, agent, played

PACKAGE = '''
TONE = "kind"


class Client:
    def find(self, order: str) -> dict:
        return {"order": order}


def traced(function):
    return function


def polite(callback_context, llm_response):
    return None


def find(order: str) -> dict:
    """Find an order."""
    return {"order": order}
'''
SHOP = '''
import shop_db
from shop_db import Client

client = Client()
HEAD_LINES


def find(order: str) -> dict:
    """Find an order."""
    return client.find(order)


root_agent = LlmAgent(name="small", model="gemini-2.5-flash", instruction=INSTRUCTION, tools=[TOOL]MORE)
'''
CALLBACK = "\n\ndef polite(callback_context, llm_response):\n    "
MOVES = [
    {"calls": [{"name": "find", "args": {"order": "A"}}]},
    {"tool": "find", "returns": {"order": "A"}},
    {"text": "Found."},
]


def shop(head: str = "", more: str = "", tool: str = "find", instruction: str = '"Find orders."') -> str:
    """Return the source of an agent whose tool needs the package."""
    source = SHOP.replace("HEAD_LINES", head).replace("INSTRUCTION", instruction)
    return source.replace("TOOL", tool).replace("MORE", more and f", {more}")


def recorded(tmp_path: Path, source: str, *, requirements: str = "shop-db\n") -> tuple[Path, Path]:
    """Record a case with the package; return the set, and the agents where the package is not."""
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "shop_db.py").write_text(PACKAGE)
    folder = agent(tmp_path / "with" / "agents", source)
    if requirements:
        (folder / "requirements.txt").write_text(requirements)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(packages)
        written = played(folder, {"say": "Find A.", "moves": MOVES})
    sys.modules.pop("shop_db", None)
    return written, folder.parent.rename(tmp_path / "agents")


def test_recorded_tools_answer_without_the_package_that_they_need(tmp_path: Path, ends: Ends) -> None:
    """All that replays says so, and a run that needs the package refuses as before."""
    written, agents = recorded(tmp_path, shop())
    verified = ends(0, "verify", written, "--agents-dir", agents, "--quiet").out
    assert "PASS one" in verified
    assert "shop_db is not installed" in verified
    assert (
        "No module named 'shop_db'"
        in ends(2, "verify", written, "--agents-dir", agents, "--models", "real").out
    )
    assert verify(written, agents_dir=agents).cases[0].status == "passed"
    with pytest.raises(AgentLoadError, match="shop_db"):
        agent_named(str(agents / "small"))


def test_what_still_lacks_with_placeholders_is_told(
    tmp_path: Path, ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The credentials that were asked for first are there by then, so that nobody is told to set them."""
    written, agents = recorded(tmp_path, shop())
    asks = "import google.auth\ngoogle.auth.default()\n"
    (agents / "small" / "agent.py").write_text(HEAD + asks + shop("import nothing_of_that_name"))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv(VARIABLE, "1")
    told = ends(2, "verify", written, "--agents-dir", agents, "--quiet").out
    assert "No module named 'shop_db'" in told
    assert VARIABLE not in told


@pytest.mark.long
def test_adks_evaluation_needs_the_package_as_little(tmp_path: Path, ends: Ends) -> None:
    """What does not pass without it is not judged."""
    written, agents = recorded(tmp_path, shop())
    evaluated = ends(0, "eval", agents / "small", written, "--quiet").out
    assert "1 of 1 passed" in evaluated
    assert "shop_db is not installed" in evaluated
    own = shop(f"{CALLBACK}client.find('B')", "after_model_callback=polite")
    (agents / "small" / "agent.py").write_text(HEAD + own)
    assert "shop_db is not installed" in ends(2, "eval", agents / "small", written, "--quiet").err


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (shop(instruction="f'Be {shop_db.TONE}.'"), "No module named 'shop_db'"),
        (shop("find_it = shop_db.find", tool="find_it"), "No module named 'shop_db'"),
        (shop(more="after_model_callback=shop_db.polite"), "No module named 'shop_db'"),
        (shop("if shop_db.TONE == 'kind':\n    pass"), "No module named 'shop_db'"),
        (shop("class Own(Client):\n    pass"), "No module named 'shop_db'"),
        (shop(f"{CALLBACK}client.find('B')", "after_model_callback=polite"), "Client"),
        (
            shop(
                f"{CALLBACK}try:\n        client.find('B')\n    except Exception:\n        pass",
                "after_model_callback=polite",
            ),
            "Client",
        ),
        (shop(f"{CALLBACK}import shop_db as own", "after_model_callback=polite"), "shop_db"),
    ],
    ids=["instruction", "tool", "callback", "branch", "class", "used", "used_in_silence", "imported_late"],
)
def test_what_else_needs_the_package_is_not_judged(tmp_path: Path, source: str, words: str) -> None:
    """Its own structure, and code that runs in a replay: neither a pass nor a change of the agent."""
    written, agents = recorded(tmp_path, source)
    (case,) = verify(written, agents_dir=agents).cases
    assert case.status == "error"
    assert words in case.error
    assert all(run.divergence is None for run in case.runs)


@pytest.mark.parametrize("requirements", ["", "requests\n"])
def test_a_module_that_the_project_does_not_list_may_be_its_own(tmp_path: Path, requirements: str) -> None:
    """Then the agent is broken, and a replay would hide that."""
    written, agents = recorded(tmp_path, shop(), requirements=requirements)
    (case,) = verify(written, agents_dir=agents).cases
    assert case.status == "error"
    assert "No module named 'shop_db'" in case.error


def test_another_way_of_an_agent_without_its_package_is_no_verdict(tmp_path: Path) -> None:
    """Nobody knows whether the package would have changed it."""
    written, agents = recorded(tmp_path, shop())
    changed = shop(f"{CALLBACK}llm_response.content.parts[0].text = 'Lost.'", "after_model_callback=polite")
    (agents / "small" / "agent.py").write_text(HEAD + changed)
    (case,) = verify(written, agents_dir=agents).cases
    assert case.status == "error"
    assert "shop_db is not installed" in case.error
