"""Says what a result was measured on: digests of eval sets, recordings and agents; and which of these have changed since.

Digests are taken before anything is read, so that a file that changes in the meantime makes the result out of date and never
the other way round.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field
from pydantic_core import from_json

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_fingerprint import loaded_fingerprint
from simulator.agents.agent_source import file_digest, source_digest, source_of
from simulator.base.adk_names import camel
from simulator.base.documents import read_file
from simulator.base.frozen_value import Value
from simulator.base.json_text import JsonPlaces
from simulator.base.json_values import digest

FileKind: TypeAlias = Literal["set", "recording"]


class MeasuredFile(Value):
    """A file that a result depends on.

    Attributes:
        kind: An eval set (old test files too), or a recorded environment.
        file: Where it lies.
        sha256: The digest of its bytes, of a recording without its notes and tags; empty where there was no such file.
        cases: The digest of what each case depends on in it, by eval id; nothing of a case of which nobody can tell.
    """

    kind: FileKind
    file: Path
    sha256: str = ""
    cases: Mapping[str, str] = Field(default_factory=dict)

    def has_changed(self, eval_ids: Collection[str] = ()) -> bool:
        """Return whether it has changed since; with eval ids, whether that may change a result of one of these cases."""
        if _digest(self.kind, self.file) == self.sha256:
            return False
        now = _of_cases(self.kind, self.file, file_digest(self.file)) if self.cases else {}
        return not eval_ids or any(
            each not in self.cases or self.cases[each] != now.get(each) for each in eval_ids
        )


class MeasuredAgent(Value):
    """An agent that a result depends on.

    Attributes:
        app_name: ADK's name of its app.
        fingerprint: A digest of its prompts, models and tools as they were loaded; empty where another process loaded it.
        source: The folder or the file that it was loaded from; None where nobody can tell.
        source_sha256: The digest of the files there.
        models: The names of its models and of those of agents below it.
    """

    app_name: str
    fingerprint: str = ""
    source: Path | None = None
    source_sha256: str = ""
    models: tuple[str, ...] = ()


class Measured(Value):
    """What a result was measured on.

    Attributes:
        files: The eval sets and recorded environments.
        agents: The agents.
        adk: The version of google-adk that ran them; empty where nobody can tell.
    """

    files: tuple[MeasuredFile, ...] = ()
    agents: tuple[MeasuredAgent, ...] = ()
    adk: str = ""

    def changes(self, eval_ids: Collection[str] = ()) -> tuple[str, ...]:
        """Return what has changed on disk since, in words: `the set`, `the recording`, `the agent`; nothing where nothing has.

        Args:
            eval_ids: The cases whose results are asked about; what changed for others alone is left out. Without any, all counts.
        """
        several = len([each for each in self.files if each.kind == "set"]) > 1
        files = (
            f"the {each.kind} {each.file.name}" if several else f"the {each.kind}"
            for each in self.files
            if each.has_changed(eval_ids)
        )
        agents = (
            f"the agent {each.app_name}" if len(self.agents) > 1 else "the agent"
            for each in self.agents
            if each.source is not None and source_digest(each.source) != each.source_sha256
        )
        return tuple(dict.fromkeys((*files, *agents)))


def changed_words(changes: Sequence[str]) -> str:
    """Say what has changed, as `the set, the recording and the agent changed`."""
    *before, last = changes
    return f"{', '.join(before)} and {last} changed" if before else f"{last} changed"


def version_of(package: str) -> str:
    """Return the version of a package in this process's environment; empty where it is not installed, as of a checkout."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def measured_file(kind: FileKind, file: Path) -> MeasuredFile:
    """Take the digest of a file."""
    return MeasuredFile(kind=kind, file=file, sha256=_digest(kind, file))


def _digest(kind: FileKind, file: Path) -> str:
    """Return the digest of what a result depends on in a file: no verdict depends on the notes and tags of a recording."""
    whole = file_digest(file)
    return _without_notes(file, whole) if whole and kind == "recording" else whole


@lru_cache(maxsize=4096)
def _without_notes(file: Path, whole: str) -> str:
    """Return the digest of a recording as it is without its notes; empty where nothing else is in it, as of a file that is not there."""
    try:
        content = read_file(file, "recording")
        if b'"notes"' not in content:
            return whole
        members = JsonPlaces(content).members(content.index(b"{"))
    except (OSError, ValueError, RecursionError):
        return whole
    at = next((place for place, member in enumerate(members) if member.name == "notes"), None)
    if at is None:
        return whole
    cases = next((content[slice(*each.value)] for each in members if each.name == "cases"), b"{}")
    if not cases.strip(b"{} \t\r\n"):
        return ""
    start = members[at - 1].value[1] if at else members[at].start
    return hashlib.sha256(content[:start] + content[members[at].value[1] :]).hexdigest()


_CASES: Mapping[FileKind, str] = {"set": "eval_cases", "recording": "cases"}
_OF_NO_VERDICT = frozenset({"notes", "format", "version"})
"""What a recording holds that no verdict depends on: its version is that of its newest case."""


@lru_cache(maxsize=256)
def _of_cases(kind: FileKind, file: Path, _: str) -> Mapping[str, str]:
    """Return the digest of each case of a file, with what belongs to no case; nothing where cases are not found, or share an id."""
    try:
        content = read_file(file, kind)
        places = JsonPlaces(content)
        members = {each.name: each for each in places.members(content.index(b"{"))}
        held = places.members(members.pop(_CASES[kind]).value[0])
        texts = [content[slice(*each.value)] for each in held]
        names = [str(each.name) for each in held] if kind == "recording" else [*map(_eval_id, texts)]
    except (OSError, ValueError, KeyError, RecursionError):
        return {}
    rest = [
        content[each.start : each.value[1]] for name, each in members.items() if name not in _OF_NO_VERDICT
    ]
    counts = Counter(names)
    return {
        name: hashlib.sha256(b"\0".join((*rest, text))).hexdigest()
        for name, text in zip(names, texts, strict=True)
        if counts[name] == 1
    }


def _eval_id(text: bytes) -> str:
    case = from_json(text)
    return str(case.get("eval_id") or case.get(camel("eval_id"))) if isinstance(case, dict) else ""


def measured_files(eval_set: Path, environment: Path | None) -> tuple[MeasuredFile, ...]:
    """Take the digests of an eval set and, where there is one or may be one, of its recorded environment; those of their cases too."""
    recording = (measured_file("recording", environment),) if environment is not None else ()
    return tuple(
        each.model_copy(update={"cases": _of_cases(each.kind, each.file, file_digest(each.file))})
        for each in (measured_file("set", eval_set), *recording)
    )


def measured_agent(config: SimulatedAgentConfig) -> MeasuredAgent:
    """Take the digests of an agent that is loaded."""
    from simulator.runtime.models.reachability import model_names  # noqa: PLC0415 - imports ADK, which who reads results needs not

    source = source_of(config)
    return MeasuredAgent(
        app_name=config.app_name,
        fingerprint=digest(loaded_fingerprint(config.root_agent)),
        source=source,
        source_sha256=source_digest(source) if source is not None else "",
        models=model_names(config.root_agent),
    )


def measured_agents(configs: Iterable[SimulatedAgentConfig]) -> tuple[MeasuredAgent, ...]:
    """Take the digests of agents that are loaded, each once."""
    each_once = {id(config.root_agent): config for config in configs}
    return tuple(measured_agent(config) for config in each_once.values())
