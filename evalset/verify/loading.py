"""Reads what is verified: the cases of an eval set, the recorded environment beside it, and the agent of each case."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from google.adk.evaluation.eval_case import EvalCase
from pydantic import ValidationError

from evalset.confirmations import without_confirmations
from evalset.documents import loaded
from evalset.errors import EvalSetError
from evalset.legacy import convert_old_form
from evalset.recorded.files import RecordedEnvironmentError, read_environment, sidecar_of
from evalset.recorded.model import RecordedCase, RecordedEnvironment
from evalset.verify.errors import VerifyError
from evalset.writer import EvalSetWriter
from simulator.agent_config import AgentConfigError, SimulatedAgentConfig
from simulator.agents import (
    DEMOS,
    AgentCatalogue,
    AgentLoadError,
    AgentSettings,
    UnknownAgentError,
    agent_named,
    catalogue_for,
)


class Ready(NamedTuple):
    """A case with all that its replay needs."""

    case: EvalCase
    recorded: RecordedCase
    config: SimulatedAgentConfig


class Unready(NamedTuple):
    """A case that cannot be replayed, and why."""

    case: EvalCase
    error: str


def cases_to_verify(
    eval_set: Path, environment: Path, chosen: Collection[str], agents: Agents
) -> list[Ready | Unready]:
    """Read the cases, in the order of the file.

    Args:
        eval_set: The eval set.
        environment: Its recorded environment.
        chosen: The ids of the cases that are wanted; all where it is empty.
        agents: Where the agents are.

    Raises:
        VerifyError: A file cannot be read, or holds something else, or has no case of a chosen id.
    """
    cases = read_eval_set(eval_set)
    if missing := set(chosen) - {case.eval_id for case in cases}:
        known = ", ".join(repr(case.eval_id) for case in cases) or "none"
        raise VerifyError(f"{eval_set}: there is no case {min(missing)!r}; there are {known}")
    recorded = read_recorded(environment)
    wanted = [case for case in cases if not chosen or case.eval_id in chosen]
    return [_prepared(case, environment, recorded, agents) for case in wanted]


def read_eval_set(path: Path) -> list[EvalCase]:
    """Read the cases of an eval set with ADK's own loader; those in the old form that it stumbles over, with ADK's converter.

    Raises:
        VerifyError: It cannot; the text says why, and whether `python -m evalset doctor` mends it.
    """
    try:
        return loaded(path).eval_cases
    except OSError as error:
        raise VerifyError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, AttributeError, ValidationError, RecursionError) as error:
        try:
            converted = convert_old_form(path, path.read_bytes())
        except (EvalSetError, OSError) as flaw:
            raise VerifyError(f"{flaw}{_mended_by(path)}") from error
        if converted is not None:
            return converted.eval_cases
        reason = _reason(path) or f"{path}: ADK's loader cannot read it: {error!r}"
        raise VerifyError(f"{reason}{_mended_by(path)}") from error


def _reason(path: Path) -> str:
    """Say what is wrong with an eval set more exactly than ADK's loader does, where that is known."""
    try:
        EvalSetWriter(path, "").eval_ids()
    except EvalSetError as error:
        return str(error)
    return ""


def _mended_by(path: Path) -> str:
    """Say how the doctor helps with a file that ADK cannot read; nothing where it finds nothing."""
    from evalset.doctor import examine  # noqa: PLC0415 - most files need no doctor

    found = [each for file in examine([path]).files if file.file == path for each in file.findings]
    errors = [each for each in found if each.severity == "error"]
    if not errors:
        return ""
    if all(each.mendable for each in errors):
        return f"; `python -m evalset doctor --fix {shlex.quote(str(path))}` mends it"
    return f"; `python -m evalset doctor {shlex.quote(str(path))}` tells more"


def read_recorded(environment: Path) -> RecordedEnvironment:
    """Read a recorded environment; an empty one where there is no file.

    Raises:
        VerifyError: It cannot be read, or is something else.
    """
    if not environment.exists():
        return RecordedEnvironment()
    try:
        return read_environment(environment)
    except RecordedEnvironmentError as error:
        raise VerifyError(str(error)) from error
    except OSError as error:
        raise VerifyError(f"{environment}: cannot be read: {error.strerror or error}") from error


def recorded_beside(eval_set: Path) -> Path:
    """Give the place of an eval set's recorded environment."""
    return sidecar_of(eval_set)


def _prepared(
    held: EvalCase, environment: Path, recorded: RecordedEnvironment, agents: Agents
) -> Ready | Unready:
    case = without_confirmations(held)  # a replay answers them by itself
    if not case.conversation:
        return Unready(case, "it holds no conversation: a scenario has no golden to compare with")
    found = recorded.cases.get(case.eval_id)
    if found is None:
        there = "" if environment.exists() else ", as there is no such file"
        return Unready(case, f"nothing is recorded for this case in {environment.name}{there}")
    try:
        return Ready(case, found, agents.of(_app_names(case, found)))
    except (UnknownAgentError, AgentLoadError) as error:
        return Unready(case, str(error))


def _app_names(case: EvalCase, recorded: RecordedCase) -> tuple[str, ...]:
    given = (case.session_input.app_name,) if case.session_input and case.session_input.app_name else ()
    return tuple(dict.fromkeys((*given, recorded.app_name)))


def agents_for(
    eval_set: Path, agent: SimulatedAgentConfig | str | None, agents_dir: Path | str | None
) -> Agents:
    """Give what finds the agents of an eval set's cases.

    Raises:
        VerifyError: The agent that was named is not there, or cannot be loaded.
    """
    try:
        return Agents(agent, Path(agents_dir) if agents_dir is not None else None, eval_set)
    except (UnknownAgentError, AgentLoadError, AgentConfigError) as error:
        raise VerifyError(str(error)) from error


def agent_of(
    eval_set: Path | str,
    recorded: RecordedCase | None,
    agent: SimulatedAgentConfig | str | None = None,
    agents_dir: Path | str | None = None,
) -> SimulatedAgentConfig:
    """Give the agent of one case.

    Raises:
        VerifyError: It is not there, or cannot be loaded.
    """
    agents = agents_for(Path(eval_set), agent, agents_dir)
    try:
        return agents.of((recorded.app_name,) if recorded is not None else ())
    except (UnknownAgentError, AgentLoadError) as error:
        raise VerifyError(str(error)) from error


class Agents:
    """Finds the agent of a case.

    Args:
        agent: The agent of all cases.
        agents_dir: A folder of agents in ADK's convention, or the folder of one; by default the one that the eval set lies
            in, or the demo agents.
        eval_set: The eval set.
    """

    def __init__(
        self,
        agent: SimulatedAgentConfig | str | None,
        agents_dir: Path | None,
        eval_set: Path,
    ) -> None:
        self._config = agent_named(agent) if isinstance(agent, str) else agent
        self._eval_set = eval_set
        self._catalogue = (
            catalogue_for(AgentSettings(agents_dir=agents_dir, demos=False)) if agents_dir else None
        )

    def of(self, app_names: Sequence[str]) -> SimulatedAgentConfig:
        """Give the agent that one of these names of apps stands for.

        Raises:
            UnknownAgentError: There is none; the text says which there are.
            AgentLoadError: It cannot be loaded.
        """
        if self._config is not None:
            return self._config
        catalogue = self._catalogue or self._around(app_names)
        names = catalogue.names()
        found = next((name for name in app_names if name in names), names[0] if len(names) == 1 else None)
        if found is None:
            wanted = " or ".join(map(repr, app_names))
            raise UnknownAgentError(f"there is no agent {wanted}; there are {', '.join(names) or 'none'}")
        return catalogue.config(found)

    def _around(self, app_names: Sequence[str]) -> AgentCatalogue:
        """Give the agents around the eval set: its own folder's, those of the folder it lies in, or the demo agents."""
        folder = self._eval_set.absolute().parent
        for place in (folder, folder.parent):
            settings = AgentSettings(agents_dir=place, demos=False)
            if any((place / name).is_dir() for name in app_names) or _is_agent(place):
                return catalogue_for(settings)
        if any(name in DEMOS for name in app_names):
            return catalogue_for(AgentSettings())
        wanted = " or ".join(map(repr, app_names))
        raise UnknownAgentError(
            f"there is no agent {wanted} beside the eval set in {folder}{os.sep}: name the folder of the agents"
        )


def _is_agent(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("agent.py", "root_agent.yaml", "__init__.py"))
