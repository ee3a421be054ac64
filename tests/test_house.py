"""Tests of how the house is laid out: what `make census` counts, and what CONTRIBUTING says of it."""

from __future__ import annotations

import ast
import re

import pytest

from tests.census import PACKAGES, ROOT, House

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
MOST_FILES = 25
SHORTEST_WORDS = 60
PARSES = (
    "simulator/base/python_source.py",
    "tests/mutants/drawing.py",
    "tests/quick.py",
    "tests/simulator/runtime/answering/test_anything_raised.py",
)
"""The modules that call `ast.parse`: the one that makes it safe, two that run before anything else does, and that one's own test."""


@pytest.fixture(scope="module")
def house() -> House:
    """Read all modules once."""
    return House()


def test_no_modules_import_each_other_in_a_loop(house: House) -> None:
    """One can be read after the other."""
    assert house.circles == []


def test_one_module_alone_imports_from_above(house: House) -> None:
    """`python -m simulator` starts commands that use both packages; the name is promised."""
    above = ("evalset.cli.main", "evalset.cli.terminal_output")
    assert house.running_up() == [("simulator.__main__", name) for name in above]


def test_no_feature_of_the_screen_imports_another(house: House) -> None:
    """What two of them need stands in `session`, and pages put them together."""
    assert house.features_importing_each_other() == []


def test_no_folder_is_a_warehouse(house: House) -> None:
    """Whoever opens a folder can read its list."""
    assert {name: count for name, count in house.folders.items() if count > MOST_FILES} == {}


def test_a_name_means_one_thing(house: House) -> None:
    """Nobody opens the wrong one of two files."""
    assert house.names_with_two_meanings() == {}


def test_a_class_has_a_name_of_its_own(house: House) -> None:
    """Who reads it in an import knows which one it is."""
    assert house.classes_with_two_meanings() == {}


def test_a_long_function_says_why(house: House) -> None:
    """Each stands for a list that would not be clearer in pieces."""
    assert [name for name, _, says_why in house.long_functions() if not says_why] == []


def test_each_package_says_what_is_in_it(house: House) -> None:
    """Its first lines are where a stranger looks."""
    words = {
        name: ast.get_docstring(module.tree) or ""
        for name, module in house.modules.items()
        if module.file.name == "__init__.py"
    }
    assert [name for name, text in words.items() if len(text) < SHORTEST_WORDS] == []


def test_the_drawing_of_the_house_names_each_package(house: House) -> None:
    """A package that nobody drew is one that nobody finds."""
    drawing = CONTRIBUTING.split("## The house")[1].split("###")[0]
    rooms = {name.split(".")[1] for name in house.folders if name.count(".") == 1}
    named = set(re.findall(r"[a-z_]+", drawing))
    assert rooms - named == set()
    assert set(PACKAGES) <= named


def test_what_contributing_points_to_is_there() -> None:
    """Each path of the repository in it exists."""
    paths = set(re.findall(r"`((?:app|evalset|simulator|tests)/[\w./-]+)`", CONTRIBUTING))
    assert len(paths) > 40
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def test_source_is_read_in_one_place() -> None:
    """Elsewhere a traceback that is written meanwhile makes it fail, by chance (`python_source.parsed` tells how)."""
    files = [file for folder in (*PACKAGES, "tests") for file in sorted((ROOT / folder).rglob("*.py"))]
    found = [
        str(file.relative_to(ROOT))
        for file in files
        if re.search(r"\bast\.parse\(|\bfrom ast import", file.read_text())
    ]
    assert sorted(found) == sorted(PARSES)
