"""Which files of its folder count as an agent's: what it can load."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.agents.agent_source import are_tests, loadable_files, source_digest

OTHERS = (
    "test_desk.py", "desk_test.py", "conftest.py", "tests/test_more.py", "tests/fakes.py", "tests/README.md", "README.md", "notes.md",
    "requirements.txt", "refund.script.yaml", "desk.evalset.json",
)  # fmt: skip
AGENT = ("__init__.py", "agent.py", "tools/orders.py", "pyproject.toml", "prompts/main.j2")


def written(folder: Path, code: str, *names: str, **texts: str) -> Path:
    """Write an agent of this code, with other files around it."""
    for name in (*AGENT, *OTHERS, *names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "agent.py").write_text(code)
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("from . import tools", ()),
        ('"""See notes.md, and the tests."""', ()),
        ("sys.path.insert(0, str(Path(__file__).parent))", ()),
        ("from .test_desk import FAKES", ("test_desk.py",)),
        ("from desk.tests import fakes", ("tests/test_more.py", "tests/fakes.py", "tests/README.md")),
        ("import desk_test", ("desk_test.py",)),
        ('import_module("desk.conftest")', ("conftest.py",)),
        ('(Path(__file__).parent / "notes.md").read_text()', ("notes.md",)),
        ('text = load("notes")', ("notes.md",)),
        ('HERE = Path(__file__).parent\nopen(HERE / f"{name}.txt")', ("requirements.txt",)),
        ('open("%s.txt" % name)', ("requirements.txt",)),
        ('folder.glob("*.md")', ("tests/README.md", "README.md", "notes.md")),
        ('open("refund.script.yaml")', ("refund.script.yaml",)),
    ],
)
def test_a_test_or_a_text_counts_where_the_agent_names_it(
    code: str, loaded: tuple[str, ...], tmp_path: Path
) -> None:
    """What it imports, and what a text of its code may be the name of; all else leaves its digest as it is."""
    folder = written(tmp_path, code)
    found = {file.relative_to(folder).as_posix() for file in loadable_files(folder)}
    assert found == {*AGENT, *loaded}
    assert are_tests([folder / "test_desk.py"], folder) is ("test_desk.py" not in loaded)
    assert not are_tests([folder / "test_desk.py", folder / "agent.py"], folder)
    before = source_digest(folder)
    for name in {*OTHERS} - {*loaded}:
        (folder / name).write_text("x = 2\n")
    assert source_digest(folder) == before
    for name in loaded:
        (folder / name).write_text("x = 2\n")
    assert (source_digest(folder) != before) is bool(loaded)
    before = source_digest(folder)
    (folder / "agent.py").write_text(f"{code}\n# other")
    assert source_digest(folder) != before


@pytest.mark.parametrize(
    "code",
    [
        "for file in HERE.iterdir(): read(file)",
        "os.listdir('x')",
        "load_skill_from_dir(Path(__file__).parent)",
        "HERE = Path(__file__).resolve().parent\nskills = load(folder=HERE)",
        "folder.glob('*')",
        "prompts(__file__)",
        "not Python at all",
    ],
)
def test_every_text_counts_where_nobody_can_tell(code: str, tmp_path: Path) -> None:
    """The code lists folders, hands on where it is, or cannot be read."""
    found = {file.name for file in loadable_files(written(tmp_path, code))}
    assert {"notes.md", "README.md", "requirements.txt", "refund.script.yaml"} <= found
    assert not {"test_desk.py", "conftest.py"} & found


def test_agent_configs_name_each_other(tmp_path: Path) -> None:
    """As ADK follows them from the root; another YAML file is none of them."""
    root = "sub_agents:\n  - config_path: ./helper.yaml\n"
    folder = written(
        tmp_path, "", root_agent=root, helper="sub_agents:\n  - config_path: deep.yaml\n", deep="x"
    )
    found = {file.name for file in loadable_files(folder) if file.suffix == ".yaml"}
    assert found == {"root_agent.yaml", "helper.yaml", "deep.yaml"}
