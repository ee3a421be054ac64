"""Tests of the repository itself: its layout, its lock files, and its own rules about code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

from tests.census import nodes, parsed
from tests.quick import imported

ROOT = Path(__file__).resolve().parents[1]
TOP_FOLDERS = {".ci", ".github", ".streamlit", "app", "evalset", "simulator", "tests"}
TOP_FILES = {
    ".gitignore", ".pre-commit-config.yaml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "golden_trace.py",
    "pyproject.toml",
    "requirements-dev.lock", "requirements.lock",
}  # fmt: skip
WRITTEN = ROOT / "tests" / "conformance" / "files"
MOST_FUNCTION_LINES = 40
DRAWING = ("_page", "_panel", "_tab", "_widgets")
NOT_DRAWING = {
    "app/streamlit_app.py": "it is Streamlit's app",
    "app/forms/widget_store.py": "keeps what widgets hold where Streamlit keeps it, and tells what its browser side has seen of that",
    "app/session/page_fragments.py": "makes Streamlit's fragments",
    "app/session/page_state.py": "owns Streamlit's session state and the page's address",
    "app/server/browser_choices.py": "reads the cookie of the browser",
    "app/server/browser_tabs.py": "ends the sessions of Streamlit's server",
    "app/server/login.py": "reads Streamlit's options and secrets, and who is logged in",
    "app/server/offered_files.py": "guards the files that Streamlit's server offers",
    "app/server/security_headers.py": "reads the page that Streamlit's server sends",
    "app/server/viewer_time.py": "reads the browser's time zone",
}
"""The modules that import Streamlit and draw nothing, and why they do."""


@cache
def tracked() -> tuple[Path, ...]:
    """Return the files of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return tuple(path for name in listed.stdout.split("\0") if name and (path := ROOT / name).exists())


def sources() -> list[Path]:
    """Return the Python files, without those that an earlier version wrote."""
    return [path for path in tracked() if path.suffix == ".py" and WRITTEN not in path.parents]


def texts() -> Iterator[tuple[Path, str]]:
    """Yield each file that is text."""
    for path in tracked():
        if path.suffix not in {".png", ".ico", ".db"} and not path.is_dir():  # a link to a folder is no text
            yield path, path.read_text()


def test_the_top_level_holds_what_it_shall_hold() -> None:
    """A newcomer finds the packages, the tests and the usual small files, and nothing else."""
    parts = {path.relative_to(ROOT).parts for path in tracked()}
    assert {part[0] for part in parts if len(part) > 1} == TOP_FOLDERS
    assert {part[0] for part in parts if len(part) == 1} == TOP_FILES


def test_the_tests_lie_as_the_house_does() -> None:
    """The tests of a folder of the source, or of a module that is a subject by itself, are in the folder of the same name."""
    mirrored = [path.parent for path in tracked() if path.relative_to(ROOT).parts[:1] == ("tests",)]
    named = {folder.relative_to(ROOT / "tests") for folder in mirrored}
    rooms = [name for name in named if name.parts[:1] in {("app",), ("evalset",), ("simulator",)}]
    assert len(rooms) > len(TOP_FOLDERS)
    sources = [ROOT / name for name in rooms]
    assert [str(one) for one in sources if not (one.is_dir() or one.with_suffix(".py").is_file())] == []


def test_no_file_names_a_registry_or_a_place_of_one_machine() -> None:
    """The lock files install from wherever pip is told to; no path of a developer's machine is left."""
    registries = re.compile("pypi" + r"\.org|files\.pythonhosted|--(extra-)?index" + "-url|--find" + "-links")
    places = re.compile(r"(?<![\w.:])/(work" + r"|root|home/\w+|Users/\w+)/")
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path, text in texts()
        for match in (*registries.finditer(text), *places.finditer(text))
        if path.name != "LICENSE"
    ]
    assert found == []


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_each_requirement_is_pinned_with_hashes(name: str) -> None:
    """What is installed is what was tested, to the byte."""
    entries = re.split(r"\n(?=\S)", (ROOT / name).read_text().strip())
    assert len(entries) > 50
    for entry in entries:
        assert re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+", entry), entry[:80]
        assert "--hash=sha256:" in entry, entry[:80]


def test_the_development_lock_holds_all_of_the_other() -> None:
    """One environment serves for running and for checking, with the same versions."""
    pins = {
        name: set(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))
        for name in ("requirements.lock", "requirements-dev.lock")
    }
    assert pins["requirements.lock"] <= pins["requirements-dev.lock"]


def test_the_lock_files_hold_all_that_they_need() -> None:
    """They are installed as they stand: what pip looks for beside them, it takes newer than is pinned, and refuses."""
    installs = re.findall(r"^\t.*-r requirements\S*\.lock", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert len(installs) == 2
    assert all("--no-deps --require-hashes" in line for line in installs)
    checked = subprocess.run(
        [sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False, timeout=120
    )
    assert checked.returncode == 0, checked.stdout


def test_the_base_installation_stays_light() -> None:
    """What is heavy or rare is an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[<>=]", requirement)[0] for requirement in project["dependencies"]}
    assert names == {
        "PyYAML",
        "faker",
        "google-adk",
        "google-genai",
        "jinja2",
        "jsonschema",
        "pandas",
        "psutil",
        "pydantic",
        "pydantic-core",
        "referencing",
        "regex",
        "sqlalchemy",
        "starlette",
        "streamlit",
        "typing-extensions",
    }
    assert set(project["optional-dependencies"]) == {"eval", "litellm", "mcp", "postgres"}


THEIRS = {"evalset/cli/pytest_goldens.py": "pytest"}
"""What a file may import undeclared: that program itself loads the file, where somebody runs it."""


def test_each_import_is_declared() -> None:
    """What the packages import is named in `pyproject.toml`, and not only there because something else needs it today."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = (line for lines in project["optional-dependencies"].values() for line in lines)
    declared = {re.split(r"[<>=\[]", line)[0].lower() for line in (*project["dependencies"], *extras)}
    ours = (
        {path.stem for path in sources()} | {"app", "evalset", "simulator", "tests"} | sys.stdlib_module_names
    )
    missing = {
        name: str(path.relative_to(ROOT))
        for path in sources()
        if path.relative_to(ROOT).parts[0] in {"app", "evalset", "simulator"}
        for name in imported(nodes(path))
        if name.partition(".")[0] not in ours | {THEIRS.get(str(path.relative_to(ROOT)), "")}
        and not distributions(name) & declared
    }
    assert missing == {}


def test_only_what_draws_imports_streamlit() -> None:
    """Logic is tested without a page: pages, panels, tabs and widgets know Streamlit, and the few modules whose subject it is."""
    found = {
        str(path.relative_to(ROOT)): path
        for path in sources()
        if path.relative_to(ROOT).parts[0] == "app"
        and any(name.partition(".")[0] == "streamlit" for name in imported(nodes(path)))
    }
    drawing = {
        name
        for name, path in found.items()
        if path.stem.endswith(DRAWING) or path.parent == ROOT / "app" / "screens"
    }
    assert found.keys() - drawing == NOT_DRAWING.keys()


def distributions(module: str) -> set[str]:
    """Return what may be installed for a module; of the namespace `google`, what its next name says."""
    top, _, below = module.partition(".")
    if top == "google":
        return {f"google-{below.partition('.')[0]}"} if below else set()
    return {home.lower().replace("_", "-") for home in _homes().get(top, [])}


@cache
def _homes() -> Mapping[str, list[str]]:
    """Return the distributions of all that is installed, which takes a second to find."""
    return packages_distributions()


def targets() -> set[str]:
    """Return what can be made."""
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_workflow_runs_what_a_contributor_runs() -> None:
    """Each check is a target of the Makefile; actions are pinned, what they are given only reads, and every Python is tried."""
    (workflow,) = (ROOT / ".github" / "workflows").glob("*.yml")
    written = yaml.safe_load(workflow.read_text())
    steps = [step for job in written["jobs"].values() for step in job["steps"]]
    ran = {step["run"] for step in steps if "run" in step}
    assert ran == {"make lint", "make quick", "make test", "make test-interop", "make test-long"}
    assert {command.removeprefix("make ") for command in ran} <= targets()
    assert all(re.search(r"@(v\d+|[0-9a-f]{40})$", step["uses"]) for step in steps if "uses" in step)
    assert written["permissions"] == {"contents": "read"}
    assert "secrets." not in workflow.read_text()
    tried = [job["strategy"]["matrix"]["python"] for job in written["jobs"].values() if job.get("strategy")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    supported = [each.rpartition(" ")[2] for each in project["classifiers"] if ":: 3." in each]
    assert tried
    assert all(versions == supported for versions in tried)


def test_the_hooks_run_what_the_workflow_runs() -> None:
    """They are of this repository alone, and nothing is fetched for them."""
    (only,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert only["repo"] == "local"
    assert [hook["entry"] for hook in only["hooks"]] == ["make lint", "make quick"]
    assert {hook["language"] for hook in only["hooks"]} == {"system"}


def test_the_version_has_its_notes() -> None:
    """What is built has a section in the changelog, the first after what is not released."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    sections = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[:2] == ["Unreleased", version]


def test_functions_stay_small() -> None:
    """Functions have up to 40 lines, or their comment says why not."""
    large: list[str] = []
    for path in sources():
        text = path.read_text()
        lines = text.splitlines()
        for node in nodes(path):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > MOST_FUNCTION_LINES and "# long:" not in lines[node.lineno - 1]:
                    large.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length} lines")
    assert large == []


def test_every_exception_to_a_check_says_why() -> None:
    """A `noqa` or a `type: ignore` carries its reason on its line."""
    bare = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sources()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"#\s*(noqa|type:\s*ignore)\b(?!.*( - | # )\S)", line) and "re.search" not in line
    ]
    assert bare == []


CHECK = re.compile(
    r"\bassert\b|\buntil_gone\(|\bassert_\w+\(|\b(?:raises|warns)\(|\bexpect\(|\bwait_for|\brun_adk_eval\("
)


def test_every_test_states_its_claim_and_checks_it() -> None:
    """Each test has a docstring, and checks something, by itself or through a function of its file."""
    idle: list[str] = []
    for path in sources():
        if not path.name.startswith(("test_", "bench_")):
            continue
        functions = [
            node for node in nodes(path) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        checking = [node.name for node in functions if CHECK.search(ast.unparse(node))]
        for node in functions:
            if not node.name.startswith("test_"):
                continue
            body = ast.unparse(node)
            checks = CHECK.search(body) or any(f"{name}(" in body for name in checking)
            if not ast.get_docstring(node) or not checks:
                idle.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert idle == []


def test_each_module_that_calls_itself_pure_is_held_to_it() -> None:
    """It is named, or a package that it is in, by a contract that forbids imports."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    held = [name for each in contracts if each["type"] == "forbidden" for name in each["source_modules"]]
    for path in sources():
        if path.relative_to(ROOT).parts[0] != "tests" and re.search(
            r"\bPure\b", ast.get_docstring(parsed(path)) or ""
        ):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            assert any(f"{module}.".startswith(f"{name}.") for name in held), module


def test_streamlit_finds_no_pages_by_itself() -> None:
    """A folder of this name beside the script would stand in the sidebar, each of its files as a page with an address."""
    assert not (ROOT / "app" / "pages").exists()


CLAIM = re.compile(r"^\| \[?([A-Z][\w ]+?)(?:\]\([^)]+\))? \|", re.MULTILINE)


def named(cell: str) -> list[Path]:
    """Return the files of tests that a cell of CONTRIBUTING's table names."""
    found = [ROOT / each for each in re.findall(r"`(tests/[\w./]+)`", cell)]
    return [file for each in found for file in (sorted(each.rglob("test_*.py")) if each.is_dir() else [each])]


def test_each_claim_of_the_readme_says_where_it_is_proved() -> None:
    """Each row of the README's table is one of CONTRIBUTING's, which names tests of `make test`; each file with long tests is named."""
    readme = (ROOT / "README.md").read_text().split("## What it can do")[1].split("## Read on")[0]
    table = (ROOT / "CONTRIBUTING.md").read_text().split("### Where each claim")[1].split("\n###")[0]
    claims = [claim for claim in CLAIM.findall(readme) if claim != "Part"]
    rows = {
        row[0]: row[1:] for row in re.findall(r"^\| ([A-Z][^|]+?) \|([^|]+)\|([^|]+)\|$", table, re.MULTILINE)
    }
    assert len(claims) > 10
    assert [claim for claim in claims if claim not in rows] == []
    daily = {claim: named(cells[0]) for claim, cells in rows.items() if claim != "Claim"}
    assert {claim for claim, files in daily.items() if not any(map(has_daily_tests, files))} == set()
    named_long = {file for cells in rows.values() for file in named(cells[1])}
    assert (
        sorted(
            str(file)
            for file in sources()
            if "mark.long" in file.read_text()
            and file.name.startswith("test_")
            and file not in named_long | {Path(__file__)}
        )
        == []
    )


def has_daily_tests(file: Path) -> bool:
    """Return whether some test of a file is not marked `long`."""
    tree = parsed(file)
    marks = [
        ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)
    ]
    tests = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    return not any("mark.long" in mark for mark in marks) and any(
        not any(ast.unparse(each).endswith("mark.long") for each in test.decorator_list) for test in tests
    )


TIMED = re.compile(r"\b(?:perf_counter|monotonic|free_port)\(\)|\btime\.sleep\(|\basyncio\.sleep\((?!0\b)")


def test_no_test_of_every_run_measures_time_or_chooses_a_port() -> None:
    """A busy machine fails none: what is timed is a benchmark, and what waits waits for a word from the program."""
    found = [
        f"{path.relative_to(ROOT)}:{test.lineno} {test.name}"
        for path in sources()
        if path.name.startswith("test_") and has_daily_tests(path)
        for test in parsed(path).body
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_")
        if not any("mark.long" in ast.unparse(each) for each in test.decorator_list)
        if TIMED.search(re.sub(r"(['\"]).*?\1", "", ast.unparse(test)))
    ]
    assert found == []
