"""The source of a tool is found by looking at objects alone: nothing of them is called, and where there is none, the reason is given."""

from __future__ import annotations

import ast
import functools
import importlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools._node_tool import NodeTool
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.google_search_tool import google_search
from google.adk.tools.google_tool import GoogleTool
from google.adk.tools.load_memory_tool import LoadMemoryTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import FunctionNode

from simulator.base.python_source import parsed
from simulator.environment.evidence.sketch import FunctionSource, Hole
from simulator.environment.evidence.tool_returns import read_returns
from simulator.runtime.adk import source_text, tool_code
from simulator.runtime.adk.tool_code import code_of
from simulator.runtime.adk.tool_guards import beneath_guard
from tests.simulator.runtime.stage import agent_of, going

SHOP = '''
"""Tools of a shop."""

import functools
from . import prices, nothing_there
from .stock import (
    left,  # how many are left
    Place as Shelf,
)
import json, os as system

ORDERS = {"A-1": "shipped"}


def logged(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return inner


def plainly(function):
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return inner


def find(order_id: str, *, deep: bool = False) -> dict:
    """Find an order."""
    return {"id": order_id, "status": ORDERS[order_id]}


async def find_later(order_id: str):
    return find(order_id)


@logged
def find_logged(order_id: str):
    return find(order_id)


@plainly
@logged
def find_plainly(
    order_id: str = "(",  # a bracket: ")"
    *more, sure=(1, 2), **others
):
    return find(order_id)


@functools.lru_cache(maxsize=8)
def find_cached(order_id: str):
    return find(order_id)


def maker(rate, table, seller):
    def convert(amount: float) -> float:
        return amount * rate + table["fee"] + seller.fee
    return convert


class Desk:
    def __init__(self, fee):
        self.fee = fee

    def method(self, order_id: str, __hidden: int = 1):
        return self.fee

    @classmethod
    def of_class(cls, order_id: str):
        return 1

    @staticmethod
    def of_none(order_id: str):
        return 2

    def __call__(self, order_id: str):
        return self.fee


wrapped_by_hand = logged(find)
double = lambda x, y=2: x * y
twins = (lambda x: x, lambda x: -x)
'''

STOCK = """
from shop.prices import PRICES
import shop.deeper.below as below
"""


class Folder:
    """A package that tests import and write anew."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file of the package."""
        path = self.root / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def module(self, name: str = "tools") -> Any:
        """Import one of its modules."""
        importlib.invalidate_caches()
        return importlib.import_module(f"shop.{name}")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    """Return a package with tools in it."""
    folder = Folder(tmp_path)
    for name, text in {
        "__init__.py": "",
        "tools.py": SHOP,
        "stock.py": STOCK + "\nleft = 3\nclass Place: ...\n",
        "prices.py": "PRICES = {'tea': 3}\n",
        "deeper/below.py": "def later():\n    from ....outside import nothing\n    from .. import tools\n",
        "deeper/__init__.py": "",
        "unused.py": "",
        "nothing_there.py": "",
    }.items():
        folder.write(name, text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


def found(tool: object) -> FunctionSource:
    """Find the code of a tool that has some."""
    code, reason = code_of(tool)
    assert code is not None, reason
    return code


def reason(tool: object) -> str:
    """Return why a tool has no code."""
    code, reason = code_of(tool)
    assert code is None
    return reason


def definition(code: FunctionSource) -> ast.AST:
    """Return what stands at the line of a code, as the reader of the source finds it."""
    for node in ast.walk(parsed(code.module.text)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                name, line = node.name, min([node.lineno, *(each.lineno for each in node.decorator_list)])
            case ast.Lambda():
                name, line = "<lambda>", node.lineno
            case _:
                continue
        if (name, line) == (code.name, code.line):
            return node
    raise AssertionError(f"no {code.name} at line {code.line}")


FORMS: dict[str, Callable[[Any], Any]] = {
    "function": lambda m: m.find,
    "tool": lambda m: FunctionTool(m.find),
    "tool with credentials": lambda m: GoogleTool(m.find),
    "long running": lambda m: LongRunningFunctionTool(m.find),
    "async": lambda m: FunctionTool(m.find_later),
    "decorated": lambda m: m.find_logged,
    "decorated without wraps": lambda m: FunctionTool(m.find_plainly),
    "cached": lambda m: m.find_cached,
    "partial": lambda m: FunctionTool(functools.partial(m.find, deep=True)),
    "partial of partial of a decorated": lambda m: functools.partial(functools.partial(m.find_logged, "A-1")),
    "closure": lambda m: m.maker(2, {}, object()),
    "bound method": lambda m: FunctionTool(m.Desk(3).method),
    "class method": lambda m: m.Desk.of_class,
    "static method": lambda m: m.Desk.__dict__["of_none"],
    "callable object": lambda m: FunctionTool(m.Desk(3)),
    "lambda": lambda m: m.double,
    "node of a function": lambda m: NodeTool(FunctionNode(func=m.find), name="find", description="d"),
}


METHODS = {"bound method", "class method", "callable object"}
"""The forms whose first parameter is no argument."""


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_tool_leads_to_where_it_is_written(shop: Folder, form: str) -> None:
    """Whatever stands around a function, its own definition is found; methods are told from functions."""
    code = found(FORMS[form](shop.module()))
    assert (code.module.path, code.module.name) == ("shop/tools.py", "shop.tools")
    assert definition(code)
    assert code.receiver is (form in METHODS)


def test_variables_and_arguments_given_in_advance_are_copied_if_they_are_plain(shop: Folder) -> None:
    """What is held is a copy; the outer of two partials wins."""
    tools = shop.module()
    table = {"fee": [1, 2.5, None, True, "x"]}
    convert = tools.maker(2, table, tools.Desk(3))
    code = found(convert)
    assert code.held == {"rate": 2, "table": table}
    assert code.held["table"] is not table
    given = functools.partial(functools.partial(tools.find, "A-1", deep=True), deep=False)
    assert found(given).held == {"order_id": "A-1", "deep": False}
    assert found(functools.partial(tools.Desk(3).method, "A-2")).held == {"order_id": "A-2"}
    empty_cell = (
        "def make():\n    def tool():\n        return x\n    early = tool\n    return early\n    x = 1\n"
    )
    shop.write("later.py", empty_cell)
    assert found(shop.module("later").make()).held == {}


class Odd(dict[str, int]):
    """A dict that says something else than it holds."""

    def __getitem__(self, key: str) -> int:
        raise AssertionError(key)


@pytest.mark.parametrize(
    "value",
    [
        {"a": Odd(a=1)},
        {1: "a"},
        (1, 2),
        float("nan"),
        object(),
        "x" * 1_000_001,
        [0] * 10_001,
        json.loads("[" * 100 + "]" * 100),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_plain_value_or_is_too_much_is_not_held(shop: Folder, value: Any) -> None:
    """Only exactly the builtin types that JSON has are read, up to a measure."""
    assert found(shop.module().maker(2, value, None)).held == {"rate": 2, "seller": None}


def test_modules_of_the_project_are_found_by_what_is_imported(shop: Folder) -> None:
    """Relative, absolute and indirect imports are followed; what is outside is not."""
    project = found(shop.module().find).project
    assert set(project) == {"shop", "shop.prices", "shop.nothing_there", "shop.stock", "shop.deeper.below"}
    assert project["shop.prices"].text == "PRICES = {'tea': 3}\n"
    assert {name: module.name for name, module in project.items()} == {name: name for name in project}


def test_modules_are_few_and_small(shop: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a limit for their number, and for their text."""
    monkeypatch.setattr(source_text, "MOST_MODULES", 2)
    assert len(found(shop.module().find).project) == 2
    monkeypatch.setattr(source_text, "MOST_MODULES", 40)
    monkeypatch.setattr(source_text, "MOST_PROJECT_TEXT", 30)
    shop.write("tools.py", SHOP + "\n")
    assert set(found(shop.module().find).project) == {"shop", "shop.prices", "shop.nothing_there"}


def test_a_tool_of_an_installed_package_brings_none_but_its_own_package() -> None:
    """Nobody wanders through installed packages."""
    code = found(LoadMemoryTool())
    assert code.module.path == "tools/load_memory_tool.py"
    assert code.project
    assert all(name.startswith("google.adk.tools") for name in code.project)


def test_the_same_text_is_read_once_and_a_changed_one_again(
    shop: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is read anew only after it was written."""
    read: list[str] = []
    really = source_text._read

    def reading(path: Path) -> str:
        read.append(path.name)
        return really(path)

    monkeypatch.setattr(source_text, "_read", reading)
    tools = shop.module()
    first = found(tools.find)
    assert found(tools.find_later).module is first.module
    assert found(tools.find).project is first.project
    assert len(read) == len(set(read))
    shop.write("prices.py", "PRICES = {}\n")
    assert found(tools.find).project["shop.prices"].text == "PRICES = {}\n"
    assert read.count("tools.py") == 1


def test_a_file_that_changed_so_that_another_function_stands_there_gives_none(shop: Folder) -> None:
    """The line alone proves nothing: name and parameters have to be the same."""
    tools = shop.module()
    found(tools.find)
    shop.write("tools.py", "# one more line\n" + SHOP)
    assert "tools.py has changed" in reason(tools.find)
    shop.write("tools.py", SHOP.replace("find(order_id: str, *, deep", "find(order_id: str, *, deeper"))
    assert reason(tools.find)
    assert code_of(tools.find_later).code is not None


def marked(folder: Folder, name: str = "mark") -> str:
    """Return Python that leaves a file when it runs."""
    return f"open({str(folder.root / name)!r}, 'w').close()"


def test_nothing_of_a_tool_runs(shop: Folder) -> None:  # long: one program with a trap in each of its places
    """Objects that would leave a mark whatever is asked of them leave none."""
    shop.write(
        "traps.py",
        f"""
import functools
def leave():
    {marked(shop)}

class Meta(type):
    def __getattribute__(cls, name): leave(); return super().__getattribute__(name)
    def __eq__(cls, other): leave(); return True
    def __hash__(cls): leave(); return 1
    def __instancecheck__(cls, other): leave(); return True
    def __subclasscheck__(cls, other): leave(); return True

class Trap(metaclass=Meta):
    def __getattr__(self, name): leave(); return self
    def __getattribute__(self, name): leave(); return object.__getattribute__(self, name)
    def __eq__(self, other): leave(); return True
    def __hash__(self): leave(); return 1
    def __bool__(self): leave(); return False
    def __repr__(self): leave(); return ''
    def __len__(self): leave(); return 1
    def __iter__(self): leave(); return iter(())
    def __call__(self, order_id: str): leave(); return 1
    __class__ = property(lambda self: leave() or dict)
    __wrapped__ = property(lambda self: leave())
    __name__ = property(lambda self: leave())
    __code__ = property(lambda self: leave())
    __func__ = property(lambda self: leave())
    func = property(lambda self: leave())

class Text(str):
    __hash__ = Trap.__dict__['__hash__']
    __eq__ = Trap.__dict__['__eq__']

def make(held):
    def tool(x):
        leave()
        return held
    tool.__module__ = Trap()
    tool.__doc__ = Trap()
    return tool

def odd(x):
    leave()
odd.__wrapped__ = Trap()
odd.__name__ = Text('odd')
trap = Trap()
through = make(trap)
deep = make([trap, {{'a': trap}}])
keys = make({{Text('a'): 1}})
given = functools.partial(make(1), trap, y=trap)
""",
    )
    traps = shop.module("traps")
    mark = shop.root / "mark"
    mark.unlink(missing_ok=True)
    for name in ("trap", "through", "deep", "keys", "given", "odd"):
        code, reason = code_of(vars(traps)[name])
        assert code is not None or reason
    assert not mark.exists()
    assert "class" in code_of(traps.Trap).reason
    assert found(traps.given).held == {"held": 1}


class OwnWay(FunctionTool):
    """A tool that does more than call its function."""

    async def run_async(self, **_: Any) -> Any:
        """Answer something else."""
        return 1


class Plain(BaseTool):
    """A tool without a function."""


def undeclared() -> None:
    """Stand in this file."""


def by_hand(function: Callable[..., Any]) -> Any:
    """Wrap a function so that its source does not show it."""

    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return [function(*args, **kwargs)]

    return inner


def without_code() -> dict[str, tuple[Any, str]]:
    """Return tools that have no code that can be read, each with a word of the reason."""
    names: dict[str, Any] = {}
    exec("def made(x):\n    return x", names)  # noqa: S102 - a tool that somebody made so
    notebook = compile("def cell(x):\n    return x", "/nowhere/ipykernel_1/2.py", "exec")
    exec(notebook, names)  # noqa: S102 - as a notebook does
    agent = LlmAgent(name="helper", model="gemini-2.5-flash")
    return {
        "C": (len, "Python"),
        "C descriptor": (str.lower, "Python"),
        "C callable": (json.JSONEncoder().encode.__get__, "Python"),
        "class": (dict, "class"),
        "exec": (names["made"], "run time"),
        "notebook": (names["cell"], "2.py"),
        "wrapped by hand": (by_hand(undeclared), "wrapped"),
        "no function": (Plain(name="x", description="y"), "Plain"),
        "agent": (AgentTool(agent), "AgentTool"),
        "built in": (google_search, "GoogleSearchTool"),
        "no callable": (3, "no function"),
    }


class Ticket(BaseTool):
    """A tool with a body of its own."""

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        """Open a ticket."""
        if not args.get("title"):
            return {"error": "A title is missing."}
        tool_context.state["open"] = args["title"]
        return {"title": args["title"], "queue": "first", "by": self.name}


class Inquiring:
    """Runs a tool, and is none."""

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        """Ask."""
        del tool_context
        return {"asked": args["title"]}


class Inquiry(Inquiring, BaseTool):
    """A tool that runs what another class has."""


@pytest.fixture(params=[False, True], ids=["at rest", "in a run"])
def _in_a_run(request: pytest.FixtureRequest) -> Iterator[None]:
    """Outside of sessions, and in a turn, where all classes of tools are guarded."""
    if not request.param:
        yield
        return
    with going(agent_of(), agents="person"):
        assert beneath_guard(Ticket.run_async) is not Ticket.run_async
        yield


@pytest.mark.usefixtures("_in_a_run")
def test_a_tool_of_a_class_of_its_own_is_read_where_its_class_runs_it() -> None:
    """All arguments stand in one mapping there, and what its object holds is not known."""
    inquiry = found(Inquiry(name="inquiry", description="Ask."))
    assert read_returns(inquiry, {"title": "Lamp"}).outcomes[0].value == {"asked": "Lamp"}
    for tool in (OwnWay(undeclared), Ticket(name="ticket", description="Open a ticket.")):
        code = found(tool)
        assert (code.name, code.takes_mapping, code.receiver) == ("run_async", True, True)
    ticket = found(Ticket(name="ticket", description="Open a ticket."))
    done = read_returns(ticket, {"title": "Lamp"}, state={}).outcomes[0].value
    assert isinstance(done, dict)
    assert {name: done[name] for name in ("title", "queue")} == {"title": "Lamp", "queue": "first"}
    assert isinstance(done["by"], Hole)
    refused = read_returns(ticket, {}, state={}).outcomes[0]
    assert (refused.value, refused.certain) == ({"error": "A title is missing."}, True)
    assert read_returns(found(OwnWay(undeclared)), {"x": 1}).outcomes[0].value == 1


@pytest.mark.parametrize("case", without_code())
def test_where_there_is_no_code_the_reason_is_said(case: str) -> None:
    """No code, no crash, and a reason."""
    tool, word = without_code()[case]
    assert word in reason(tool)


def test_two_lambdas_alike_in_a_line_are_not_told_apart(shop: Folder) -> None:
    """A guess between two would be wrong half of the time."""
    assert re.match(r"tools\.py .*lambdas .*\d", reason(shop.module().twins[0]))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (b"# coding: no-such-thing\ndef find(order_id, *, deep=False):\n    return 1\n", "encoding"),
        (b"\x00\xff\xfe", "encoding"),
        (b"#" * 10_000_001, "larger than 10 MB"),
        (b"", "has changed"),
        (b"'''" + b"\n" * 40, "has changed"),
    ],
    ids=["no encoding", "binary", "large", "empty", "open string"],
)
def test_a_file_that_cannot_be_read_any_more_gives_none(shop: Folder, text: bytes, word: str) -> None:
    """A file may become anything after it was imported."""
    tools = shop.module()
    shop.write("tools.py", text)
    assert word in reason(tools.find)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(shop: Folder) -> None:
    """Opening a pipe would wait for somebody to write into it."""
    tools = shop.module()
    path = shop.root / "shop" / "tools.py"
    path.unlink()
    os.mkfifo(path)
    assert "regular file" in reason(tools.find)


def test_other_encodings_are_read_as_python_reads_them(shop: Folder) -> None:
    """The encoding that the file names counts, and line breaks are as Python has them."""
    shop.write("latin.py", "# coding: latin-1\ndef find(x):\r\n    return 'café'\r\n".encode("latin-1"))
    assert "return 'café'\n" in found(shop.module("latin").find).module.text


def test_a_module_that_lies_in_no_package_is_called_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modules beside it are found too."""
    (tmp_path / "lonely_tools.py").write_text("import lonely_help\ndef find(x):\n    return lonely_help.y\n")
    (tmp_path / "lonely_help.py").write_text("y = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    code = found(importlib.import_module("lonely_tools").find)
    assert (code.module.name, code.module.path) == ("lonely_tools", f"{tmp_path.name}/lonely_tools.py")
    assert set(code.project) == {"lonely_help"}


def test_a_large_module_is_looked_at_in_next_to_no_steps(
    shop: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what stands at the line of the function is looked at."""
    filler = "\n".join(f"def filler_{number}(x):\n    return x" for number in range(2_000))
    shop.write("large.py", f"{filler}\ndef last(x):\n    return x\n{filler}\n")
    large = shop.module("large")
    steps = 0
    really = tool_code._tokens

    def counted(lines: list[str], line: int) -> Iterator[Any]:
        nonlocal steps
        for token in really(lines, line):
            steps += 1
            yield token

    monkeypatch.setattr(tool_code, "_tokens", counted)
    assert definition(found(large.last))
    assert steps < 100
