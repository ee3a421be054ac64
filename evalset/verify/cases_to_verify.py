"""Reads what is verified: the cases of an eval set, the recorded environment beside it, and the agent of each case."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from google.adk.evaluation.eval_case import EvalCase
from pydantic import ValidationError

from evalset.errors import PLAYED, RECORD_IT, EvalSetError, words_of_refusal
from evalset.files.case_text import convert_old_form, loaded
from evalset.files.datasets import project_of
from evalset.files.eval_names import import_command, no_case
from evalset.files.set_writer import EvalSetWriter
from evalset.golden_trace.golden_steps import without_confirmations
from evalset.recorded.golden_digests import (
    Golden,
    edits_since,
    golden_of,
    recording_edits,
    with_golden,
    with_noted_parts,
)
from evalset.recorded.known_agents import fitting_agent, known_agent, renamed_case, renamed_recording
from evalset.recorded.recorded_turns import agents_that_ran, needs_no_model
from evalset.recorded.recording import RecordedCase, RecordedEnvironment, is_imported
from evalset.recorded.recording_files import RecordedEnvironmentError, read_environment
from evalset.replay.model_choice import Models
from evalset.verify.results import (
    NO_GOLDEN,
    NO_MODEL_TURNS,
    NOT_RECORDED,
    NOT_WHOLE,
    UnreadableSetError,
    VerifyError,
)
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
from simulator.agents.agent_folder import agent_above
from simulator.agents.agent_source import project_folders
from simulator.agents.load_failure import does_without
from simulator.base.documents import read_file
from simulator.base.json_text import JsonSizeError

if TYPE_CHECKING:
    from evalset.importing.known_answers import DatasetGoldens


class ReadyCase(NamedTuple):
    """A case with all that its replay needs; `renamed` proposes the names that agents of the recording have now, `doctor` gives the command that examines its set."""

    case: EvalCase
    recorded: RecordedCase
    config: SimulatedAgentConfig
    golden: Golden
    renamed: Mapping[str, str] = MappingProxyType({})
    doctor: Callable[[], str] = str


class Unready(NamedTuple):
    """A case that cannot be replayed, and why; `renamed` as for one that can. `is_unloadable` says that loading its agent failed."""

    case: EvalCase
    error: str
    renamed: Mapping[str, str] = MappingProxyType({})
    is_unloadable: bool = False


class CasesToVerify:
    """The cases that are verified, in the order of the file; each is prepared when it is first asked for.

    Args:
        eval_set: The eval set.
        environment: Its recorded environment.
        chosen: The ids of the cases that are wanted; all where it is empty.
        agents: Where the agents are.
        renamed: The new name of each agent that was renamed, by its old one.
        models: Who answers for the agents' models.

    Raises:
        VerifyError: A file cannot be read, or holds something else, or has no case of a chosen id.
    """

    def __init__(
        self,
        eval_set: Path,
        environment: Path,
        chosen: Collection[str],
        agents: AgentFinder,
        *,
        renamed: Mapping[str, str] = MappingProxyType({}),
        models: Models = "auto",
    ) -> None:
        self._held, dataset = _chosen(eval_set, chosen)
        self._recorded = _all_recorded(environment, dataset)
        self._dataset, self._models = dataset, models
        self._eval_set = eval_set
        self._environment, self._agents, self._renamed = environment, agents, renamed
        self._prepared: dict[int, ReadyCase | Unready] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, place: int) -> ReadyCase | Unready:
        """Return the case at a place, from 0.

        Raises:
            IndexError: There are not so many.
        """
        if place not in self._prepared:
            self._prepared[place] = self._unchecked(self._held[place]) or _prepared(
                self._held[place], self._environment, self._recorded, self._agents, self._renamed
            )
        return self._prepared[place]

    def _unchecked(self, case: EvalCase) -> Unready | None:
        """Return a case that has nothing to be checked against; None for any other case."""
        if not case.conversation:
            return None
        recorded = self._recorded.cases.get(case.eval_id)
        if recorded is None and self._dataset is not None:
            lacks = self._dataset.goldens[case.eval_id].lacks
            return Unready(case, f"{NOT_WHOLE}{lacks}" if lacks else NOT_RECORDED)
        if recorded is None and _is_told(case):
            return Unready(case, _IMPORT_IT.format(self._environment.name, import_command(self._eval_set)))
        if recorded is not None and self._models == "recorded" and not needs_no_model(recorded):
            return Unready(case, NO_MODEL_TURNS)
        return None

    def named(self, error: str, each: ReadyCase | Unready, agent: str) -> str:
        """Return an error about a case with the names in the command that it may have, as far as they are known; `agent` is that of all cases."""
        if PLAYED not in error:
            return error
        origin = each.config.origin if isinstance(each, ReadyCase) else ""
        above = agent_above(self._eval_set.absolute(), Path(self._eval_set.absolute().anchor))
        place = agent or (origin if Path(origin).is_absolute() else str(above or "AGENT"))
        is_set, stem = self._dataset is None, self._eval_set.name.partition(".")[0]
        taken = import_command(self._eval_set)  # a dataset plays once it is a set
        script, out = (
            str(self._eval_set) if is_set else shlex.split(taken)[-1],
            f"{stem}_recorded.evalset.json",
        )
        names = f"{shlex.quote(place)} --script {shlex.quote(script)} --case {shlex.quote(each.case.eval_id)} --out {shlex.quote(out)}"
        before = "" if is_set else f"{taken}` and `"
        return error.replace(f"golden-trace run {PLAYED} --out NEW_SET", f"{before}golden-trace run {names}")

    def __iter__(self) -> Iterator[ReadyCase | Unready]:
        return map(self.__getitem__, range(len(self)))


_IMPORT_IT = "no recording of this case in {}. The set has its calls and responses, so import them: `{}`"


def _is_told(case: EvalCase) -> bool:
    """Return whether a case itself has all that its replay needs, as an import would record it."""
    turns = case.conversation or ()
    if any(turn.intermediate_data is None or turn.final_response is None for turn in turns):
        return False
    from evalset.importing.known_answers import known_answers  # noqa: PLC0415 - most cases are recorded

    answers = known_answers(case)
    return answers.environment is not None and not answers.problems


def doctor_command(eval_set: Path, agent: str, agents_dir: Path | None) -> str:
    """Return the command that examines an eval set, with its agents where their folder is known."""
    given = agents_dir or (Path(agent) if agent and Path(agent).is_dir() else None)
    folder = given or agent_above(eval_set.absolute(), Path(eval_set.absolute().anchor))
    agents = ["--agents-dir", str(folder)] if folder is not None else []
    return shlex.join(["golden-trace", "doctor", str(eval_set), *agents])


def _chosen(eval_set: Path, chosen: Collection[str]) -> tuple[list[EvalCase], DatasetGoldens | None]:
    """Read the cases of these ids, all where there are none, in the order of the file; of a dataset, also what else it says of them."""
    cases, dataset = _read(eval_set)
    if missing := set(chosen) - {case.eval_id for case in cases}:
        raise VerifyError(no_case(eval_set, min(missing), [case.eval_id for case in cases]))
    return [case for case in cases if not chosen or case.eval_id in chosen], dataset


def config_of_each(cases: Sequence[ReadyCase | Unready]) -> list[SimulatedAgentConfig]:
    """Return the agents of the cases that have one."""
    return [each.config for each in cases if isinstance(each, ReadyCase)]


def read_eval_set(path: Path) -> list[EvalCase]:
    """Read the cases of an eval set with ADK's own loader; those in the old form that it stumbles over, with ADK's converter; goldens of a dataset.

    Raises:
        UnreadableSetError: ADK cannot read it; the text says why.
        VerifyError: The file cannot be opened.
    """
    return _read(path)[0]


def read_recorded_set(path: Path, environment: Path) -> tuple[list[EvalCase], RecordedEnvironment]:
    """As `read_eval_set`, with what is recorded of the cases: beside them, or in a dataset itself.

    Raises:
        UnreadableSetError: As `read_eval_set`.
        VerifyError: A file cannot be read.
    """
    cases, dataset = _read(path)
    return cases, _all_recorded(environment, dataset)


def _all_recorded(environment: Path, dataset: DatasetGoldens | None) -> RecordedEnvironment:
    beside = read_recorded(environment)
    return beside if dataset is None else dataset.environment(beside)


def _read(path: Path) -> tuple[list[EvalCase], DatasetGoldens | None]:
    try:
        return loaded(path).eval_cases, None
    except OSError as error:
        raise VerifyError(f"{path}: cannot be read: {error.strerror or error}") from error
    except JsonSizeError as error:
        raise UnreadableSetError(path, f"{path}: {error.reason}") from error
    except (ValueError, TypeError, KeyError, AttributeError, ValidationError, RecursionError) as error:
        from evalset.importing.known_answers import read_dataset  # noqa: PLC0415 - most files are eval sets

        try:
            if (dataset := read_dataset(path)) is not None:
                return dataset.cases, dataset
            converted = convert_old_form(path, read_file(path))
        except (EvalSetError, OSError) as flaw:
            raise UnreadableSetError(path, str(flaw)) from error
        except ValueError as flaw:
            raise UnreadableSetError(path, f"{path}: {flaw}") from error
        if converted is not None:
            return converted.eval_cases, None
        reason = _reason(path) or f"{path}: ADK's loader cannot read it: {words_of_refusal(error)}"
        raise UnreadableSetError(path, reason) from error


def _reason(path: Path) -> str:
    """Return what is wrong with an eval set more exactly than ADK's loader does, where that is known."""
    try:
        EvalSetWriter(path, "").eval_ids()
    except EvalSetError as error:
        return str(error)
    return ""


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


def _prepared(
    held: EvalCase,
    environment: Path,
    recorded: RecordedEnvironment,
    agents: AgentFinder,
    renamed: Mapping[str, str],
) -> ReadyCase | Unready:
    case = without_confirmations(held)  # a replay answers them by itself
    if not case.conversation:
        return Unready(case, NO_GOLDEN)
    found = recorded.cases.get(case.eval_id)
    if found is None:
        there = "" if environment.exists() else ": no such file"
        return Unready(case, f"no recording of this case in {environment.name}{there}. {RECORD_IT}")
    case = with_noted_parts(case, found)
    names = tuple(renamed.get(name, name) for name in _app_names(case, found))
    try:
        config = agents.of(names)
    except UnknownAgentError as error:
        return Unready(case, str(error), _fitting(case, found, agents.known()))
    except AgentLoadError as error:
        return Unready(case, str(error), is_unloadable=True)
    if renamed:
        case, found = _renamed(case, found, config, renamed)
        return ReadyCase(case, found, config, golden_of(case, found))
    is_called_otherwise = config.app_name not in names and found.agent not in known_agent(config).agents
    proposed = _fitting(case, found, [config]) if is_called_otherwise else {}
    return ReadyCase(case, found, config, golden_of(case, found), proposed)


def _fitting(
    case: EvalCase, recorded: RecordedCase, configs: Sequence[SimulatedAgentConfig]
) -> dict[str, str]:
    """Propose the new name of a recording's agent, and of its app, where exactly one agent declares the same tools.

    An import has a name for both also where its source names neither.
    """
    name = fitting_agent([recorded], map(known_agent, configs))
    config = next((config for config in configs if config.app_name == name), None)
    if config is None:
        return {}
    app = case.session_input.app_name if case.session_input else ""
    is_own = not is_imported(recorded)
    proposed = {recorded.app_name: config.app_name}
    if recorded.agent not in known_agent(config).agents:
        agent = {recorded.agent: config.root_agent.name}
        proposed = agent | proposed if is_own else proposed | agent
    told = {app, *agents_that_ran(recorded)}
    return {old: new for old, new in proposed.items() if old != new and (is_own or old in told)}


def _renamed(
    case: EvalCase, recorded: RecordedCase, config: SimulatedAgentConfig, names: Mapping[str, str]
) -> tuple[EvalCase, RecordedCase]:
    """Return a case and what is recorded of it with the new names of agents; those that the agent still has are kept."""
    unedited = edits_since(golden_of(case, recorded), recorded) == () and not recording_edits(recorded)
    agents = {old: new for old, new in names.items() if old not in known_agent(config).agents}
    new_case = renamed_case(renamed_case(case, names, apps_only=True), agents)
    new_recorded = renamed_recording(renamed_recording(recorded, names, apps_only=True), agents)
    return new_case, with_golden(new_recorded, new_case) if unedited else new_recorded


def _app_names(case: EvalCase, recorded: RecordedCase) -> tuple[str, ...]:
    given = (case.session_input.app_name,) if case.session_input and case.session_input.app_name else ()
    return tuple(dict.fromkeys((*given, recorded.app_name)))


def agents_for(
    eval_set: Path, agent: SimulatedAgentConfig | str | None, agents_dir: Path | str | None
) -> AgentFinder:
    """Return what finds the agents of an eval set's cases.

    Raises:
        VerifyError: The agent that was named is not there, or cannot be loaded.
    """
    try:
        return AgentFinder(agent, Path(agents_dir) if agents_dir is not None else None, eval_set)
    except (UnknownAgentError, AgentLoadError, AgentConfigError) as error:
        raise VerifyError(str(error)) from error


def agent_of(
    eval_set: Path | str,
    recorded: RecordedCase | None,
    agent: SimulatedAgentConfig | str | None = None,
    agents_dir: Path | str | None = None,
) -> SimulatedAgentConfig:
    """Return the agent of one case.

    Raises:
        VerifyError: It is not there, or cannot be loaded.
    """
    agents = agents_for(Path(eval_set), agent, agents_dir)
    try:
        return agents.of((recorded.app_name,) if recorded is not None else ())
    except (UnknownAgentError, AgentLoadError) as error:
        raise VerifyError(str(error)) from error


class AgentFinder:
    """The finder of the agent of each case.

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
        self._eval_set, self._agents_dir = eval_set, agents_dir
        self._catalogue = _catalogue(agents_dir) if agents_dir else None
        self._of: dict[tuple[str, ...], SimulatedAgentConfig] = {}

    def known(self) -> list[SimulatedAgentConfig]:
        """Return all agents that can be loaded of the folder that was given, or of the one around the eval set."""
        if self._config is not None:
            return [self._config]
        folder = self._eval_set.absolute().parent.parent
        catalogue = self._catalogue or _catalogue(folder)
        return [entry.config for entry in catalogue.load_all() if entry.config is not None]

    def of(self, app_names: Sequence[str]) -> SimulatedAgentConfig:
        """Return the agent that one of these names of apps stands for.

        Raises:
            UnknownAgentError: There is none; the text says which there are.
            AgentLoadError: It cannot be loaded.
        """
        if self._config is not None:
            return self._config
        wanted = tuple(app_names)
        if wanted not in self._of:
            self._of[wanted] = self._found(wanted)
        return self._of[wanted]

    def _found(self, app_names: Sequence[str]) -> SimulatedAgentConfig:
        catalogue = self._nearer(app_names) or self._catalogue or self._around(app_names)
        names = catalogue.names()
        found = next((name for name in app_names if name in names), names[0] if len(names) == 1 else None)
        if found is None:
            wanted = " or ".join(map(repr, app_names))
            raise UnknownAgentError(f"no agent {wanted}; available: {', '.join(names) or 'none'}")
        return catalogue.config_of_now(found)

    def _nearer(self, app_names: Sequence[str]) -> AgentCatalogue | None:
        """Return the agent above the eval set that lies further down than the agents of the folder that was given, where no other has a name of the apps."""
        above = agent_above(self._eval_set.absolute(), self._agents_dir) if self._agents_dir else None
        if above is None or self._catalogue is None or self._agents_dir is None:
            return None
        given, names = self._agents_dir.expanduser().resolve(), self._catalogue.names()
        if above in {given, *(given / name for name in names)} or (
            above.name not in app_names and any(name in names for name in app_names)
        ):
            return None
        return _catalogue(above)

    def _around(self, app_names: Sequence[str]) -> AgentCatalogue:
        """Return the agents around the eval set: of its own folder, of one above it in its project, or the demo agents."""
        folder = self._eval_set.absolute().parent
        project = project_of(folder)
        for place in (folder, folder.parent, *([project.agent] if project else ())):
            if any(_holds_agent(place, name) for name in app_names) or _is_agent(place):
                return _catalogue(place)
        grounds = [*project_folders(folder)]
        for place in (inside for ground in grounds for inside in (ground, ground / "agents", ground / "src")):
            if any(_holds_agent(place, name) for name in app_names):
                return _catalogue(place)
        if (above := agent_above(self._eval_set.absolute(), grounds[-1])) is not None:
            return _catalogue(above)
        if any(name in DEMOS for name in app_names):
            return catalogue_for(AgentSettings())
        wanted = " or ".join(map(repr, app_names))
        raise UnknownAgentError(
            f'no agent {wanted} next to the eval set in {folder}{os.sep}. Name the folder of the agents: --agents-dir FOLDER (for pytest: --goldens-options="--agents-dir FOLDER")'
        )


def _catalogue(folder: Path) -> AgentCatalogue:
    settings = AgentSettings(agents_dir=folder, demos=False)
    return catalogue_for(settings, without_packages=does_without())


def _is_agent(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("agent.py", "root_agent.yaml", "__init__.py"))


def _holds_agent(folder: Path, name: str) -> bool:
    """Return whether a folder holds an agent of this name; a folder of eval sets alone is none."""
    return _is_agent(folder / name) or (folder / f"{name}.py").is_file()
