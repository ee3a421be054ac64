"""Names that ADK's commands can take, and a package that imports ADK only when it is used."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation
from google.adk.events import Event
from google.genai.types import Content, FunctionCall, Part
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import evalset
from evalset import EvalSetWriter, eval_id_for, snake_case, unique_eval_id
from evalset.files.eval_names import FreeIds, flaw_of_eval_id
from simulator.base.adk_names import camel, snake
from tests.harness.processes import REPOSITORY


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("OrderDesk", "order_desk"),
        ("order_desk", "order_desk"),
        ("HTTPAgent v2", "http_agent_v2"),
        ("Käse Fuß", "kase_fuss"),
        ("  a--b  ", "a_b"),
        ("7 Dwarfs", "7_dwarfs"),
        ("Weather2Go", "weather2_go"),
        ("代理", "agent"),
        ("", "agent"),
    ],
)
def test_names_in_snake_case(name: str, snake: str) -> None:
    """Words are split where a person would, and written in lower-case ASCII."""
    assert snake_case(name) == snake


@pytest.mark.parametrize(
    "model", [EvalCase, Invocation, IntermediateData, Event, Content, Part, FunctionCall]
)
def test_fields_are_spelled_as_adk_does(model: type[BaseModel]) -> None:
    """In camel case as its models answer, and back."""
    for name, field in model.model_fields.items():
        assert camel(name) == (field.alias or name)
        assert snake(camel(name)) == name


@given(st.text(), st.floats(0, 4e9))
def test_every_agent_and_time_make_an_id_that_adk_takes(name: str, at: float) -> None:
    """Whatever the agent is called, the id is its name in snake case and a time, with nothing that ADK splits at."""
    eval_id = eval_id_for(name, at)
    assert re.fullmatch(r"[a-z0-9_]+_\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z", eval_id)
    assert flaw_of_eval_id(eval_id) is None
    assert eval_id.startswith(f"{snake_case(name)}_")


@given(st.integers(0, 4_000_000_000_000), st.integers(1, 10_000))
def test_ids_of_other_milliseconds_differ(at_ms: int, later_ms: int) -> None:
    """Two sessions of one agent that began in different milliseconds have different ids, in order."""
    assert eval_id_for("a", at_ms / 1000) < eval_id_for("a", (at_ms + later_ms) / 1000)


def test_everything_that_is_promised_is_there() -> None:
    """Each public name can be imported from the package, and no other."""
    assert all(getattr(evalset, name) is not None for name in evalset.__all__)
    assert evalset.EvalSetWriter is EvalSetWriter
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = evalset.nothing


def test_importing_the_package_imports_no_adk() -> None:
    """ADK's evaluation takes a second to import, so it waits until the first name of the package is used."""
    check = "import sys, evalset; sys.exit(any(name.split('.')[0] == 'google' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-S", "-c", check], cwd=REPOSITORY, check=False).returncode == 0


@given(
    st.lists(st.sampled_from(["a", "a_2", "a_3", "b"]), max_size=9), st.sets(st.sampled_from(["a", "a_3"]))
)
def test_free_ids_are_those_that_are_looked_for_one_by_one(wanted: list[str], taken: set[str]) -> None:
    """In their order; what was given back is free again."""
    free, known, found = FreeIds(taken), set(taken), list[str]()
    for name in wanted:
        expected = unique_eval_id(name, known)
        assert expected not in known
        assert (expected == name) == (name not in known)
        known.add(expected)
        found.append(free.take(name))
        assert found[-1] == expected
    free.give_back(found)
    assert [free.take(name) for name in wanted] == found
