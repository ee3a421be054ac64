"""Chooses the tools that drafts are measured on, by the rule in CONTRIBUTING.

    python -m tests.first_sight.choosing FOLDER NAMES LIST

NAMES holds the repositories (`owner/name`, between white space), and FOLDER in `owner+name` the Python and Markdown files of each
repository with its commit in the file `COMMIT`; an empty folder stands for one that cannot be had. Writes LIST (`tools.json` or
`tools_second.json`) beside this file once enough was found, and before that says which repositories are wanted next.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import JsonValue

from simulator.base.python_source import parsed
from tests.first_sight.arguments import Classes, chosen
from tests.first_sight.checkouts import Checkout, File
from tests.first_sight.finding import Found, digest, is_test, tools_of
from tests.first_sight.running import ran
from tests.first_sight.slices import sliced

AT_LEAST = {"tools.json": (110, 55), "tools_second.json": (100, 45)}
"""How many tools a sample has at least, and how many of them only compute."""

MOST_OF_ONE_REPOSITORY, MOST_OF_ONE_NAME = 6, 2
KNOWN = ("google/adk-samples", "google/adk-python")
"""Repositories whose tools, and all copies of them, are left out: earlier drafts were made with them."""

LEFT_OUT_OWNERS = frozenset({"google", "googlecloudplatform", "kevinaud"})
HOME = Path(__file__).parent
LIST = HOME / "tools.json"
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Tool:
    """A chosen tool, the arguments of its call, and whether it only computes."""

    repository: str
    commit: str
    path: str
    function: str
    arguments: dict[str, JsonValue]
    computes: bool


@dataclass
class Choice:
    """What is chosen so far, for the list of a name."""

    name: str = LIST.name
    tools: list[Tool] = field(default_factory=list)
    visited: dict[str, str] = field(default_factory=dict)
    left: Counter[str] = field(default_factory=Counter)
    bodies: set[str] = field(default_factory=set)
    names: Counter[str] = field(default_factory=Counter)

    @property
    def is_enough(self) -> bool:
        """Whether both groups are large enough."""
        computing = sum(tool.computes for tool in self.tools)
        tools, computing_tools = AT_LEAST[self.name]
        return len(self.tools) >= tools and computing >= computing_tools


def folder_of(folder: Path, repository: str) -> Path:
    """Return the folder of a repository's checkout."""
    return folder / repository.replace("/", "+")


def ordered(names: list[str]) -> list[str]:
    """Return the repositories in the order in which they are visited."""
    kept = {name.lower(): name for name in names if name.partition("/")[0].lower() not in LEFT_OUT_OWNERS}
    return [kept[name] for name in sorted(kept, key=digest)]


def main() -> None:
    """Choose, or say what is wanted."""
    folder, list_name = Path(sys.argv[1]), sys.argv[3]
    earlier = visited_before(list_name)
    asked = {name.lower() for name in earlier}
    names = [name for name in ordered(Path(sys.argv[2]).read_text().split()) if name.lower() not in asked]
    missing = [name for name in (*KNOWN, *names[:60]) if not folder_of(folder, name).is_dir()]
    choice = Choice(list_name, bodies=_known_bodies(folder, [*KNOWN, *earlier]))
    for name in names:
        if choice.is_enough or not folder_of(folder, name).is_dir():
            break
        _visit(choice, folder, name)
    computing = sum(tool.computes for tool in choice.tools)
    visited, left = len(choice.visited), dict(choice.left.most_common())
    print(f"{len(choice.tools)} tools, {computing} compute, {visited} repositories; left out: {left}")  # noqa: T201 - a program
    if choice.is_enough:
        written = {"visited": choice.visited, "tools": [asdict(tool) for tool in choice.tools]}
        (HOME / list_name).write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n")
    else:
        wanted = missing or [name for name in names if not folder_of(folder, name).is_dir()][:60]
        print("wanted:", *wanted)  # noqa: T201 - a program


def visited_before(list_name: str) -> list[str]:
    """Return the repositories of the samples before the one of this name: none of them, and no copy of theirs, is taken again."""
    names = list(AT_LEAST)
    lists = [HOME / name for name in names[: names.index(list_name)]]
    return [repository for one in lists for repository in json.loads(one.read_text())["visited"]]


def _known_bodies(folder: Path, repositories: Iterable[str]) -> set[str]:
    """Return the functions of some repositories and of this one, all of them, as `Found.body` does."""
    bodies: set[str] = set()
    for root in (*(folder_of(folder, name) for name in repositories), ROOT / "simulator", ROOT / "tests"):
        checkout = Checkout(root)
        for file in filter(None, map(checkout.file, checkout.paths)):
            for node in ast.walk(file.tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    bodies.add(Found(file.path, node).body)
    return bodies


def _visit(choice: Choice, folder: Path, repository: str) -> None:
    root = folder_of(folder, repository)
    commit = (root / "COMMIT").read_text().strip() if (root / "COMMIT").exists() else ""
    choice.visited[repository] = commit
    checkout = Checkout(root)
    taken = 0
    for tool in tools_of(checkout):
        name = tool.function.name
        if tool.body in choice.bodies or choice.names[name] >= MOST_OF_ONE_NAME:
            choice.left["copies"] += 1
        elif taken == MOST_OF_ONE_REPOSITORY:
            choice.left["beyond the share of a repository"] += 1
        else:
            taken += 1
            choice.bodies.add(tool.body)
            choice.names[name] += 1
            choice.tools.append(_tool(choice, checkout, tool, repository, commit))


def _tool(choice: Choice, checkout: Checkout, tool: Found, repository: str, commit: str) -> Tool:
    file = checkout.file(tool.path)
    arguments = chosen(tool.function, _calls(checkout, tool), _classes(checkout, file) if file else {})
    cut = sliced(checkout, tool)
    computes = not cut.reasons
    if computes and (problem := ran(tool, cut, arguments).problem):
        choice.left["computes, but did not return: " + problem.partition(":")[0]] += 1
        computes = False
    return Tool(repository, commit, tool.path, tool.function.name, arguments, computes)


def _classes(checkout: Checkout, file: File) -> Classes:
    """Return the classes that a file's annotations can name: its own, and those that it imports from the checkout."""
    found: Classes = {}
    for name, statements in file.binding.items():
        for statement in statements:
            if isinstance(statement, ast.ClassDef):
                found[name] = statement
            elif (target := checkout.target(file.path, statement, name)) and target.name:
                module = checkout.file(target.path)
                made = module.binding.get(target.name, []) if module else []
                found.update((name, one) for one in made if isinstance(one, ast.ClassDef))
    return found


def _calls(checkout: Checkout, tool: Found) -> list[ast.Call]:
    """Return the calls of a function by its name: in its docstring, in its file, in the others, in the Markdown files."""
    name = tool.function.name
    texts = [ast.get_docstring(tool.function) or ""]
    trees: list[ast.AST] = []
    for path in sorted(checkout.paths, key=lambda one: (one != tool.path, is_test(one), one)):
        file = checkout.file(path)
        if file is not None and f"{name}(" in file.text:
            trees.append(file.tree)
    texts += [
        path.read_text(errors="replace") for path in sorted(checkout.root.rglob("*.md")) if path.is_file()
    ]
    told = _written(texts[:1], name)
    coded = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    coded = [node for node in coded if isinstance(node.func, ast.Name) and node.func.id == name]
    return [*told, *coded, *_written(texts[1:], name)]


def _written(texts: list[str], name: str) -> list[ast.Call]:
    """Return the calls that stand at the start of a line of a text, after `>>>`, `=`, or a word such as `print(`."""
    found = []
    for text in texts:
        for line in text.splitlines():
            at = line.find(f"{name}(")
            for end in (index for index, sign in enumerate(line) if sign == ")" and 0 <= at < index):
                try:
                    read = parsed(line[at : end + 1], "eval").body
                except (SyntaxError, ValueError):
                    continue
                if isinstance(read, ast.Call):
                    found.append(read)
                    break
    return found


if __name__ == "__main__":
    main()
