"""Writes the environment of a golden trace beside its eval set, and says how it is replayed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from evalset.recorded.recorder import recorded_case
from evalset.recorded.recording import RecordedCase
from evalset.recorded.recording_files import put_cases, sidecar_of
from simulator.agent_config import SimulatedAgentConfig
from simulator.facts import Fact
from simulator.runtime.knowledge.tool_shapes import ToolShapes
from simulator.runtime.models.reachability import model_reachability
from simulator.session import SimulationSession


def record(
    eval_set: Path | str, eval_id: str, session: SimulationSession, facts: Iterable[Fact], agent: Any
) -> Path:
    """Write what the world answered in a session; return the path of the recorded environment.

    Call it when the case is in its eval set: what is recorded under its id from before is replaced.

    Args:
        eval_set: The eval-set file.
        eval_id: The id of the case in it.
        session: The session of the case.
        facts: The session's facts, from the first to the head.
        agent: Its agent, for the schemas of the tools.

    Raises:
        RecordedEnvironmentError: What stands there is no recorded environment; nothing was changed.
        OSError: The disk or the folder refused.
    """
    path = sidecar_of(eval_set)
    put_cases(path, {eval_id: recorded_for(session, facts, agent)})
    return path


def recorded_for(session: SimulationSession, facts: Iterable[Fact], agent: Any) -> RecordedCase:
    """Record a session with the schemas of its agent's tools. Arguments as for `record`."""
    return recorded_case(session, facts, ToolShapes(agent).known({}, ()))


def replay_lines_of(
    config: SimulatedAgentConfig, app_name: str, environment: Path, agent_folder: Path | None
) -> str:
    """Return the lines of `replay_lines` for an agent that is loaded: models that cannot be asked are answered from the recording."""
    return replay_lines(
        app_name,
        environment,
        agent_folder,
        models="recorded" if model_reachability(config) else "real",
        has_app=getattr(config, "has_app", config.agent is not config.root_agent),
    )


def replay_lines(
    app_name: str,
    environment: Path | str,
    agent_folder: Path | None = None,
    *,
    models: Literal["real", "recorded"] = "real",
    has_app: bool = False,
) -> str:
    """Return the lines of Python that a person adds to the end of an agent's module, so that it is replayed.

    Args:
        app_name: ADK's name of the app.
        environment: The recorded environment.
        agent_folder: Where the agent's module lies, if it is known: a file beside it is named by its name alone.
        models: Who answers for the agent's models.
        has_app: The module has an `app` already, which keeps its plugins and gets one more.
    """
    path = Path(environment)
    named = path.name if agent_folder is not None and path.parent == agent_folder else str(path)
    given = repr(named) if models == "real" else f"{named!r}, models={models!r}"
    if has_app:
        return f"from evalset import HermeticEnvironment\n\napp.plugins.append(HermeticEnvironment({given}))"
    return (
        "from evalset import HermeticEnvironment\n"
        "from google.adk.apps import App\n"
        f"app = App(name={app_name!r}, root_agent=root_agent, plugins=[HermeticEnvironment({given})])"
    )
