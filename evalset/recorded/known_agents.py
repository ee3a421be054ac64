"""Knows what an agent can call, which one a recording may be of, and where that names it.

Agents are loaded in ADK's own way, and their tools and sub-agents listed. `places_of` finds every place at which a case or its recording names an agent, to give it
the name that the agent has now: as ADK's app, as the author of events and answers, as the target of a transfer, on the path of a graph's node, and where it is used as a
tool also as a tool. What arguments, responses, states and texts say is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from evalset.measured import MeasuredAgent, measured_agent
from evalset.recorded.recorded_turns import agents_as_tools, agents_that_ran, asking_tool, signed_agents
from evalset.recorded.recording import RecordedCase, is_imported, lean, without_golden
from simulator.agent_config import AgentConfigError, SimulatedAgentConfig
from simulator.agents import AgentCatalogue, AgentLoadError, AgentSettings, UnknownAgentError, agent_named
from simulator.agents.agent_folder import AgentFolder, agent_above, listed_as
from simulator.base.json_text import JsonPath
from simulator.environment.schema.schema_checks import misnamed, refusal, undeclared
from simulator.environment.world.connections import ToolShape
from simulator.environment.world.tool_settings import STEERING, TRANSFER
from simulator.kernel.kernel_agent import KernelAgentConfig, KernelLoader, needs_of

if TYPE_CHECKING:
    from google.adk.evaluation.eval_case import EvalCase

    from simulator.agents.agent_directory import StateNeeds


_ADDED_BY_ADK = STEERING - {"exit_loop"}
_MOST_ADDED = 2
"""So many optional arguments may have been added, so that it is still found out what was declared before."""


class KnownAgent(NamedTuple):
    """What an agent can call.

    Attributes:
        name: ADK's name of the app.
        tools: Its tools by name, with their schemas.
        others: The names of what it can call beside: agents as tools, and what steers ADK's flow.
        agents: The names of all agents in its tree.
        tool_sets: The tool sets whose tools are only known when they run.
        rewrites: Whether a callback of its may change what a tool answered, so that it hears another answer than the tool gave.
        own_code: The nodes whose own code may run tools, or make agents, that are only known when it runs.
        measured: The digests of what it was loaded from.
        needs: What its instructions need of the state; None where nobody has looked.
        agent_tools: Its tools that run agents, by name, with their schemas.
    """

    name: str
    tools: Mapping[str, ToolShape]
    others: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    tool_sets: tuple[str, ...] = ()
    rewrites: bool = False
    own_code: tuple[str, ...] = ()
    measured: MeasuredAgent | None = None
    needs: StateNeeds | None = None
    agent_tools: Mapping[str, ToolShape] = MappingProxyType({})

    def can_call(self, name: str) -> bool:
        """Return whether there is such a tool, or ADK may add it to an agent: of its own it adds no tool that ends a loop."""
        if name in self.tools or name in self.others:
            return True
        may_transfer = len(self.agents) > 1 or bool(self.own_code)
        return name in _ADDED_BY_ADK and (name != TRANSFER or may_transfer)

    def lacks(self, recorded: RecordedCase) -> dict[str, str]:
        """Return in words which agents of a recording, by name, are not there any more: those that took turns, and those that are tools; and whether the tool is that asked the user.

        None where the agent's own code may make them, or nobody knows with which agent it was recorded. A tool set may bring those that are tools.
        """
        if is_imported(recorded) or self.own_code:
            return {}
        needed = frozenset() if self.tool_sets else agents_as_tools(recorded) | asking_tool(recorded)
        tools = sorted(needed.difference(self.others, self.tools))
        return {
            **{name: gone_tool(name) for name in tools if name not in self.agents},
            **{name: gone_agent(name) for name in sorted(self.gone_agents(recorded))},
        }

    def gone_agents(self, recorded: RecordedCase) -> frozenset[str]:
        """Return the agents that took turns in a recording and are not there any more; of a tool that is gone itself not those inside of it.

        An import calls authors agents of which nobody knows that they were; the signature of a thought is a model's alone.
        """
        if self.own_code:
            return frozenset()
        ran = (
            signed_agents(recorded)
            if is_imported(recorded)
            else agents_that_ran(recorded, self.agent_tools.keys())
        )
        return ran - self.agents

    @property
    def brings_more(self) -> tuple[str, ...]:
        """What may bring tools that are only known when the agent runs: tool sets, and code of its own."""
        return (*self.tool_sets, *self.own_code)

    def digest(self, name: str) -> str | None:
        """Return the digest of a tool's schema as recorded environments keep it; None where there is no such tool."""
        tool = self.tools.get(name) or self.agent_tools.get(name)
        return tool.schema_digest if tool is not None else None


def gone_tool(name: str) -> str:
    """Say that a tool is not there any more."""
    return f"the tool {name!r} is no longer declared"


def gone_agent(name: str) -> str:
    """Say that an agent is not there any more."""
    return f"the agent {name!r}, which took turns in the recording, is no longer there"


def misfit(name: str, arguments: object, then: str | None, now: ToolShape | None) -> str:
    """Say why a recorded call does not fit its tool as the agent declares it now; empty where it does.

    What is declared as it was then is not looked at, whatever optional arguments were added: it was so then. Where nobody knows how it was declared, what ADK drops now may have been
    dropped then.

    Args:
        name: The tool.
        arguments: What it was asked.
        then: The digest of its schema when the call was recorded; None or empty where it is not known.
        now: The tool as it is declared now; None where it is declared no more.
    """
    if now is None:
        return gone_tool(name) if then else ""
    if not then:
        now = now.model_copy(update={"dropped": ()})
    words = "" if then == now.schema_digest else refusal(arguments, now) or undeclared(arguments, now)
    return "" if words and then and then in _digests_of_less(arguments, now) else words


def _digests_of_less(arguments: object, tool: ToolShape) -> Iterator[str]:
    """Yield the digests of a tool's schema without optional arguments that a call does not give."""
    properties: Any = tool.parameters.get("properties") or {}
    required: Any = tool.parameters.get("required") or ()
    given = arguments if isinstance(arguments, dict) else {}
    added = [name for name in properties if name not in required and name not in given]
    for number in range(1, _MOST_ADDED + 1):
        for names in combinations(added, number):
            left = {name: held for name, held in properties.items() if name not in names}
            parameters = {**tool.parameters, "properties": left}
            yield tool.model_copy(update={"parameters": parameters}).schema_digest


def migration_of(name: str, arguments: object, now: ToolShape | None, new_tools: Sequence[str]) -> str:
    """Propose the doctor's option that migrates a call that fits its tool no more, with the names that are known; empty where there is none.

    Args:
        name: The tool.
        arguments: What it was asked.
        now: The tool as it is declared now; None where it is declared no more.
        new_tools: The tools that are declared now, and were not when the call was recorded.
    """
    if now is None and not new_tools:
        return ""  # the tool was removed, as no other could be its new name
    if now is None:
        return f"--rename-tool {name}={new_tools[0] if len(new_tools) == 1 else 'NEW'}"
    missing, unknown = misnamed(arguments, now.parameters)
    if not unknown:
        return " ".join(f"--set-argument {name}.{each}=VALUE" for each in missing)
    if len(unknown) > 1:
        return f"--rename-argument {name}.OLD=NEW"
    return f"--rename-argument {name}.{unknown[0]}={missing[0] if len(missing) == 1 else 'NEW'}"


def names_are_known(migration: str) -> bool:
    """Return whether nothing is left to fill in, in what `migration_of` proposes."""
    return bool(migration) and not migration.endswith(("=NEW", "=VALUE"))


def renamed_words(migration: str) -> str:
    """Return what a migration with known names renames, as `add_to_cart: quantity is now qty`."""
    before, _, now = migration.partition(" ")[2].partition("=")
    return f"{before.replace('.', ': ', 1)} is now {now}"


def known_agent(config: SimulatedAgentConfig) -> KnownAgent:
    """List what an agent that is loaded can call."""
    # ADK takes a second to import: not before an agent is there, which has imported it.
    from simulator.kernel.agent_outline import own_code_of  # noqa: PLC0415 - as above
    from simulator.runtime.knowledge.knowledge import ToolShapes, shapes_of_agents  # noqa: PLC0415 - as above

    root = config.root_agent
    nodes = _all_nodes(root)
    named = [tool for node in nodes for tool in _tools(node)]
    return KnownAgent(
        name=config.app_name,
        tools=ToolShapes(root).known({}, ()),
        agent_tools=shapes_of_agents(root),
        others=frozenset(name for tool in named if isinstance(name := getattr(tool, "name", None), str)),
        agents=frozenset(name for node in nodes if isinstance(name := getattr(node, "name", None), str)),
        tool_sets=tuple(type(tool).__name__ for tool in named if hasattr(tool, "get_tools")),
        rewrites=getattr(config, "rewrites", False)
        or any(getattr(node, "after_tool_callback", None) for node in nodes),
        own_code=config.own_code if isinstance(config, KernelAgentConfig) else own_code_of(config),
        needs=needs_of(config),
        measured=measured_agent(config),
    )


def moved_tool(name: str, agent: str, root: Any) -> str:
    """Say which agent has a tool now that an agent had when it was recorded; empty where none has it.

    Args:
        name: The tool.
        agent: The agent that called it.
        root: The agent that is run, with all that it reaches.
    """
    for node in _all_nodes(root):
        names = {getattr(tool, "name", getattr(tool, "__name__", None)) for tool in _tools(node)}
        if name in names and node.name != agent:
            return f"the tool {name!r} is no longer one of the agent {agent!r}, but of {str(node.name)!r}"
    return ""


def _all_nodes(root: Any) -> list[Any]:
    seen: dict[int, Any] = {}
    for node in _nodes(root, seen):
        seen[id(node)] = node
    return [*seen.values()]


def _tools(node: Any) -> Iterator[Any]:
    yield from getattr(node, "tools", None) or ()
    if (tool := getattr(node, "tool", None)) is not None:
        yield tool


def _nodes(node: Any, seen: Mapping[int, Any]) -> Iterator[Any]:
    """Yield an agent and all that it reaches, those that are tools included."""
    from simulator.runtime.adk.adk_private import children_of, node_of  # noqa: PLC0415 - as in `known_agent`

    if id(node) in seen:
        return
    yield node
    for tool in _tools(node):
        if (inner := node_of(tool)) is not None:
            yield from _nodes(inner, seen)
    for child in children_of(node):
        yield from _nodes(child, seen)


def fitting_agent(recorded: Iterable[RecordedCase], agents: Iterable[KnownAgent]) -> str:
    """Return the app name of the one agent that declares every recorded tool as it was; empty where none or several do.

    Of recordings that hold no declarations the names of the tools that were called decide. Those without tools fit no agent:
    nothing speaks for one.
    """
    cases = list(recorded)
    wanted = {(name, tool.schema_digest) for case in cases for name, tool in case.tools.items()}
    called = {call.tool for case in cases for turn in case.turns for call in turn.calls if not call.within}
    if not called:
        return ""
    fits = [
        agent.name
        for agent in agents
        if all(agent.digest(name) == digest for name, digest in wanted) and all(map(agent.can_call, called))
    ]
    return fits[0] if len(set(fits)) == 1 else ""


class KnownAgents:
    """The agents that eval data can be checked against.

    Args:
        agents_dir: A folder of agents in ADK's convention, or the folder of one; None for none.
        known: Agents that are loaded already, by the names of their apps.
        only: The agent that all data is checked against, whatever app it names: one of the folder, or where there is no folder a
            demo agent or the folder of one. Empty for the one that each case names.
        python: The interpreter of their processes; None for that of each one's project, where that has an environment of its own.

    Raises:
        AgentLoadError: The folder does not exist, cannot be read, or holds no agent; or `only` cannot be loaded.
    """

    def __init__(
        self,
        agents_dir: Path | None = None,
        known: Mapping[str, KnownAgent] | None = None,
        only: str = "",
        python: Path | None = None,
    ) -> None:
        self._elsewhere = KernelLoader(python)
        self._known: dict[str, KnownAgent | None] = dict(known or {})
        self._catalogue = (
            AgentCatalogue(AgentSettings(agents_dir=agents_dir, demos=False), self._elsewhere)
            if agents_dir
            else None
        )
        self._folder = AgentFolder(agents_dir) if agents_dir else None
        self._names = self._folder.names() if self._folder else ()
        self._inner: dict[Path, KnownAgent | None] = {}
        self._above: dict[Path, Path | None] = {}
        self._only = self._chosen(only) if only else None
        self.skipped: list[str] = []
        """Why agents could not be looked at."""
        self.strangers: set[str] = set()
        """The names of apps in the data that none of the agents has."""

    @property
    def measured(self) -> tuple[MeasuredAgent, ...]:
        """The agents that were looked at, or are there to be."""
        looked_at = [self._only] if self._only else [*self._known.values(), *self._inner.values()]
        return tuple(each.measured for each in looked_at if each and each.measured)

    @property
    def any(self) -> bool:
        """Whether there is any agent to check against."""
        return bool(self._only or self._catalogue or any(self._known.values()))

    def of(self, file: Path, app_name: str) -> KnownAgent | None:
        """Return the agent of a case: the one that was named for all, else by the name of its app, the nearest above its file, or the only one there is."""
        found = self._only if self._only or not self.any else self._nearest(file, app_name)
        is_found = found is not None and found.name == app_name
        if app_name and self.any and not is_found and not self._is_known(app_name):
            self.strangers.add(app_name)
        return found

    def _nearest(self, file: Path, app_name: str) -> KnownAgent | None:
        above = self._folder_above(file.absolute())
        is_inner = above is not None and self._folder is not None and self._folder.home != above.parent
        if above is not None and is_inner and (above.name == app_name or not self._named(app_name)):
            return self._within(above)
        names = [above.name] if above is not None else []
        below = self._folder.path / app_name if self._folder is not None and app_name.isidentifier() else None
        if below is not None and app_name not in self._names and (below / "agent.py").is_file():
            return self._within(below)
        for name in (app_name, *names, *(parent.name for parent in file.absolute().parents)):
            if name and (found := self._named(name)) is not None:
                return found
        known = [each for each in self._known.values() if each]
        if len({*self._names, *(each.name for each in known)}) == 1:
            return known[0] if known else self._named(self._names[0])
        what = f"the app {app_name!r}" if app_name else "an unnamed app"
        self.skipped.append(
            f"Calls in {file} were not checked against the agent's tools: they belong to {what}, which is not one of the given "
            "agents. Name the agent with --agent."
        )
        return None

    def _folder_above(self, file: Path) -> Path | None:
        """Return the folder of the nearest agent above a file, where that lies among the agents."""
        if self._folder is None:
            return None
        if file.parent not in self._above:
            above = agent_above(file, self._folder.path)
            self._above[file.parent] = above if above != self._folder.home else None
        return self._above[file.parent]

    def _within(self, folder: Path) -> KnownAgent | None:
        """Return the agent of a folder inside of another agent's."""
        if folder not in self._inner:
            catalogue = AgentCatalogue(AgentSettings(agents_dir=folder, demos=False), self._elsewhere)
            self._inner[folder] = self._loaded(catalogue, folder.name)
        return self._inner[folder]

    def _is_known(self, app_name: str) -> bool:
        return self._only.name == app_name if self._only else self._named(app_name) is not None

    def all(self) -> list[KnownAgent]:
        """Load all agents; those that cannot be loaded are left out."""
        found = [self._only] if self._only else [self._named(name) for name in {*self._names, *self._known}]
        return [each for each in found if each is not None]

    def _chosen(self, name: str) -> KnownAgent:
        """Load the one agent that was named.

        Raises:
            AgentLoadError: There is none of that name, or it cannot be loaded.
        """
        if name in self._known and (known := self._known[name]) is not None:
            return known
        try:
            config = self._catalogue.config(name) if self._catalogue else agent_named(name, self._elsewhere)
        except (UnknownAgentError, AgentConfigError) as error:
            raise AgentLoadError(f"--agent: {error}") from error
        return known_agent(config)

    def _named(self, name: str) -> KnownAgent | None:
        if name in self._known:
            return self._known[name]
        if self._catalogue is None or listed_as(name, self._names) not in self._names:
            return None
        self._known[name] = self._loaded(self._catalogue, name)
        return self._known[name]

    def _loaded(self, catalogue: AgentCatalogue, name: str) -> KnownAgent | None:
        entry = catalogue.load(name)
        if entry.config is None:
            self.skipped.append(
                f"Tools and arguments of {name!r} were not checked, because the agent could not be loaded: {entry.error}"
            )
        return known_agent(entry.config) if entry.config else None


_Found: TypeAlias = tuple[JsonPath, str, str]
"""A place, what stands there, and what shall."""

APP_NAMES = frozenset({"app_name", "appName"})
_AGENTS = frozenset({"author", "agent"})
_TOOLS = frozenset({"tool", "tool_name"})
_CALLS = frozenset({"function_call", "functionCall", "function_response", "functionResponse"})
_LISTED = frozenset({"tool_uses", "toolUses", "tool_responses", "toolResponses"})
_INSIDE = frozenset(
    {
        *(
            "conversation",
            "intermediate_data",
            "intermediateData",
            "invocation_events",
            "invocationEvents",
            "content",
            "parts",
        ),
        *(
            "session_input",
            "sessionInput",
            "turns",
            "calls",
            "rejected",
            "agents",
            "models",
            "code",
            "inputs",
            "responses",
            "original",
        ),
        *("tolerances", "rules", "final_response", "finalResponse"),
    }
)
_SAID = frozenset({"intermediate_responses", "intermediateResponses"})
_TRANSFER = "transfer_to_agent"
_STEP = re.compile(r"([^/@]+)(?=@|/|$)")


def places_of(
    value: Any, names: Mapping[str, str], *, apps_only: bool = False
) -> Iterator[tuple[JsonPath, str]]:
    """Yield each place of a case, or of what is recorded of one, that names a renamed agent, with what shall stand there.

    Args:
        value: The case in JSON.
        names: The new name of each agent, by its old one.
        apps_only: Only the names of apps: the agents themselves are called as ever.
    """
    for path, held, new in _named(value, (), names):
        if (not apps_only or path[-1] in APP_NAMES) and held != new:
            yield path, new


def keys_of(value: Any, names: Mapping[str, str]) -> Iterator[tuple[JsonPath, str]]:
    """Yield the recorded schemas of renamed agents that are used as tools: the path of each member, and its new name."""
    tools = value.get("tools") if isinstance(value, dict) else None
    if isinstance(tools, dict):
        yield from (
            (("tools", name), names[name]) for name in tools if name in names and names[name] not in tools
        )


def _named(value: Any, path: JsonPath, names: Mapping[str, str]) -> Iterator[_Found]:
    if isinstance(value, list):
        for place, each in enumerate(value):
            yield from _named(each, (*path, place), names)
    if isinstance(value, dict):
        for key, held in value.items():
            yield from _member(key, held, (*path, key), names)
        if value.get("tool") == _TRANSFER:
            yield from _target(value.get("arguments"), (*path, "arguments"), names)


def _member(key: str, held: Any, path: JsonPath, names: Mapping[str, str]) -> Iterator[_Found]:
    if key in _INSIDE:
        yield from _named(held, path, names)
    elif key in _CALLS:
        yield from _call(held, path, names)
    elif isinstance(held, str):
        yield from _text(key, held, path, names)
    elif isinstance(held, list):
        for place, each in enumerate(held):
            yield from _item(key, each, (*path, place), names)


def _text(key: str, held: str, path: JsonPath, names: Mapping[str, str]) -> Iterator[_Found]:
    if key in APP_NAMES | _AGENTS | _TOOLS and held in names:
        yield path, held, names[held]
    elif key == "path" and "@" in held:
        yield path, held, _STEP.sub(lambda step: names.get(step[1], step[1]), held)


def _item(key: str, held: Any, path: JsonPath, names: Mapping[str, str]) -> Iterator[_Found]:
    if key in _LISTED:
        yield from _call(held, path, names)
    elif key == "within" and isinstance(held, str) and held in names:
        yield path, held, names[held]
    elif key in _SAID and isinstance(held, list) and held and isinstance(held[0], str) and held[0] in names:
        yield (*path, 0), held[0], names[held[0]]


def _call(call: Any, path: JsonPath, names: Mapping[str, str]) -> Iterator[_Found]:
    if not isinstance(call, dict):
        return
    name = call.get("name")
    if isinstance(name, str) and name in names:
        yield (*path, "name"), name, names[name]
    if name == _TRANSFER:
        yield from _target(call.get("args"), (*path, "args"), names)


def _target(arguments: Any, path: JsonPath, names: Mapping[str, str]) -> Iterator[_Found]:
    target = arguments.get("agent_name") if isinstance(arguments, dict) else None
    if isinstance(target, str) and target in names:
        yield (*path, "agent_name"), target, names[target]


def renamed_case(case: EvalCase, names: Mapping[str, str], *, apps_only: bool = False) -> EvalCase:
    """Return a case in which agents have their new names."""
    document = case.model_dump(mode="json", exclude_none=True)
    return type(case).model_validate(_with(document, names, apps_only=apps_only))


def renamed_recording(
    recorded: RecordedCase, names: Mapping[str, str], *, apps_only: bool = False
) -> RecordedCase:
    """Return what is recorded of a case, with the new names of agents; it says nothing more of what its golden was."""
    document = _with(lean(without_golden(recorded)), names, apps_only=apps_only)
    if not apps_only:
        for path, new in list(keys_of(document, names)):
            document["tools"][new] = document["tools"].pop(path[-1])
    return RecordedCase.model_validate(document)


def _with(document: Any, names: Mapping[str, str], *, apps_only: bool) -> Any:
    for path, new in list(places_of(document, names, apps_only=apps_only)):
        at = document
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = new
    return document
