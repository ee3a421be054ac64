"""Says what a run of `adk eval` evaluates, and where its process finds the agent; lays out the folder that it works in.

An agent is found by its folder in ADK's convention, or by the words that name it. Nothing of the agent or the set is touched.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from evalset.errors import EvalSetError, words_of_refusal
from evalset.files.case_text import loaded, set_json
from evalset.replay.model_choice import Policy
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import DEMOS, absolute_agent, agent_named
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.base.validation_words import near
from simulator.kernel.kernel_agent import KernelAgentConfig, KernelLoader

SPEC_FILE = "run.json"
"""Tells the agents' folder of a run which agent it stands for."""

PROGRESS_FILE, ASKED_FILE = "turns.jsonl", "asked.txt"
"""Gets a line for each turn that an agent has taken."""

_MODULE = '''"""A stand-in for an agent in another folder, while `adk eval` runs it."""

from evalset.adk_runs.wrapped import wrapped

app = wrapped(__file__)
'''
_FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


class AgentPlace(Value):
    """Where an agent is found.

    Attributes:
        name: Its name in the studio's list of agents.
        app_name: ADK's name of the app, which the results carry.
        folder: Its folder, where it has one in ADK's convention.
        agents_dir: The folder of agents of the settings.
        agents_file: The file or module of the settings that lists agents.
        demos: Whether the settings name the demo agents.
        words: What names it on a command line; stands above the settings.
        python: The interpreter of its project; None for this process's.
    """

    name: str
    app_name: str
    folder: Path | None = None
    agents_dir: Path | None = None
    agents_file: str | None = None
    demos: bool = True
    words: str = ""
    python: Path | None = None


class EvalRunSpec(Value):
    """What a run evaluates.

    Attributes:
        eval_set: The eval-set file.
        agent: The agent.
        cases: The ids of the cases; none for all.
        config: The document of an `EvalConfig`.
        environment: The recorded environment that stands for the tools, in which nothing is recorded where there is no such file; None lets the
            real tools run.
        models: Who answers for the agent's models, where there is a recorded environment.
        unrecorded: What becomes of a call that was not recorded, where there is one.
        latencies: Whether each tool takes as long as when it was recorded, where there is a recorded environment.
        history: A folder to keep the results file in, beside the run's own; None keeps it there alone.
        patience: The seconds after which it ends where no further turn is done; None for no limit.
    """

    eval_set: Path
    agent: AgentPlace
    cases: tuple[str, ...] = ()
    config: JsonObject = Field(default_factory=dict)
    environment: Path | None = None
    models: Literal["real", "recorded"] = "real"
    unrecorded: Policy = "fail"
    latencies: bool = False
    history: Path | None = None
    patience: float | None = None


class Prepared(Value):
    """The folder of a run: what `adk eval` is given, and what it leaves.

    `turns` says how many turns there are to take; None where a simulated user decides that.
    """

    agent: Path
    eval_set: Path
    config: Path
    progress: Path
    results: Path
    network: Path
    cases: tuple[str, ...]
    turns: int | None


def prepare(spec: EvalRunSpec, folder: Path) -> Prepared:
    """Lay out the folder of a run: a stand-in for the agent's folder, a copy of the chosen cases, the criteria.

    Raises:
        EvalSetError: ADK's loader cannot read the set, or it holds no such case.
        ValueError: The agent's name cannot be a folder's.
        OSError: The folder cannot be written.
    """
    if not _FOLDER_NAME.fullmatch(spec.agent.app_name):
        raise ValueError(
            f"{spec.agent.app_name!r} is not a valid agent name for ADK: use letters, digits, _ and -"
        )
    agent = folder / "agents" / spec.agent.app_name
    agent.mkdir(parents=True)
    (agent / "__init__.py").write_text(_MODULE, encoding="utf-8")
    progress = folder / PROGRESS_FILE
    progress.touch()
    (agent / SPEC_FILE).write_text(spec.model_dump_json(exclude={"config", "history"}), encoding="utf-8")
    config = folder / "criteria.json"
    config.write_text(json.dumps(spec.config, indent=2, ensure_ascii=False), encoding="utf-8")
    copy, cases, turns = _copied(spec, folder)
    return Prepared(
        agent=agent,
        eval_set=copy,
        config=config,
        progress=progress,
        results=agent / ".adk" / "eval_history",
        network=folder / "network.json",
        cases=cases,
        turns=turns,
    )


def _copied(spec: EvalRunSpec, folder: Path) -> tuple[Path, tuple[str, ...], int | None]:
    """Write the chosen cases into a set of their own, so that what is edited meanwhile or oddly named disturbs nothing."""
    try:
        found = loaded(spec.eval_set)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise EvalSetError(
            spec.eval_set, f"ADK's loader cannot read it: {words_of_refusal(error)}"
        ) from error
    chosen = [case for case in found.eval_cases if not spec.cases or case.eval_id in spec.cases]
    if unknown := sorted(set(spec.cases) - {case.eval_id for case in chosen}):
        ids = [case.eval_id for case in found.eval_cases]
        raise EvalSetError(spec.eval_set, f"no case {unknown[0]!r}; {near(unknown[0], ids)}")
    if not chosen:
        raise EvalSetError(spec.eval_set, "no case to evaluate")
    from evalset.golden_trace.golden_steps import with_spoken  # noqa: PLC0415 - imports ADK, and a page asks for folders before that

    cases = [
        case.model_copy(update={"conversation": [*map(with_spoken, case.conversation)]})
        if case.conversation
        else case
        for case in chosen
    ]
    named = {"eval_set_id": _file_safe(found.eval_set_id), "eval_cases": cases}
    copy = folder / "cases.evalset.json"
    copy.write_text(set_json(found.model_copy(update=named)), encoding="utf-8")
    turns = [_turns(case) for case in chosen]
    total = sum(turn for turn in turns if turn is not None) if None not in turns else None
    return copy, tuple(case.eval_id for case in chosen), total


def _turns(case: Any) -> int | None:
    return None if case.conversation is None else len(case.conversation)


def _file_safe(eval_set_id: str) -> str:
    """Return an id that ADK can name a results file by: one of an old file is that file's path, and ADK refuses it at the end."""
    return re.sub(r"[/\\:\0]+", "_", eval_set_id).strip("._") or "set"


_AGENT_FILES = ("agent.py", "root_agent.yaml", "__init__.py")


def agent_folder(config: SimulatedAgentConfig) -> Path | None:
    """Find the folder that `adk eval` takes for an agent; None where it was made by other code."""
    candidates = (Path(config.origin) if config.origin else None, config.resolve_eval_set_path().parent)
    for folder in filter(None, candidates):
        if folder.is_absolute() and any((folder / name).is_file() for name in _AGENT_FILES):
            return folder
    return None


def python_of(config: SimulatedAgentConfig) -> Path | None:
    """Return the interpreter of an agent's project; None where that is this process's."""
    if not isinstance(config, KernelAgentConfig) or str(config.kernels.python) == sys.executable:
        return None
    return config.kernels.python


def named_place(words: str, python: Path | None = None) -> tuple[AgentPlace, SimulatedAgentConfig]:
    """Load the agent that a command names, and say where another process finds it.

    Args:
        words: As `simulator.agents.named_agent.agent_named` takes them.
        python: The interpreter of its process; None for that of its project, where that has an environment of its own.

    Raises:
        UnknownAgentError: There is no such agent.
        AgentLoadError: It cannot be loaded.
    """
    config = agent_named(words, KernelLoader(python))
    in_adks_way = Path(words.rpartition("#")[0] or words).expanduser().is_dir() or words in DEMOS
    folder = agent_folder(config) if in_adks_way else None
    place = AgentPlace(
        name=config.name,
        app_name=config.app_name,
        folder=folder,
        words=absolute_agent(words),
        python=python_of(config),
    )
    return place, config
