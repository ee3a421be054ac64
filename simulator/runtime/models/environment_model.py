"""Asks models for the environment of a session: for drafts of answers, with what is told of a call and the reason where none comes, and once how the agent's tools hang together."""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from google.adk.models.base_llm import BaseLlm
from google.genai import types
from pydantic import JsonValue, ValidationError

from simulator.base.json_values import JsonObject, digest, place_words
from simulator.base.model_settings import GivenSettings
from simulator.base.secret_masking import error_words, without_secrets
from simulator.base.validation_words import first_of, shortened, validated
from simulator.environment.conventions import plural
from simulator.environment.drafts.candidates import Candidate
from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.prompts.json_answers import answer_schema
from simulator.environment.prompts.model_prompts import (
    CONNECTIONS_SCHEMA,
    AskedCall,
    KnownThing,
    RecordedExample,
    connection_lines,
    connections_prompt,
    prompt_for,
    read_connections,
    shapes_digest,
    source_of_tool,
)
from simulator.environment.recordings import nearest
from simulator.environment.world.connections import Connections, ToolShape
from simulator.facts import ConnectionsAnalysed
from simulator.runtime.adk.codec import jsonable
from simulator.runtime.errors import SimulationError, ends_the_work
from simulator.runtime.knowledge.knowledge import Knowledge, LiveKnowledge
from simulator.runtime.models.json_client import (
    ClientHooks,
    JsonAnswer,
    JsonQuestion,
    RequestProgress,
    Timeouts,
    ask_for_json,
)
from simulator.runtime.turns.turn import SessionPort
from simulator.seats.requests import ToolDeclaration
from simulator.session.model import SessionEnvironment


class Generation(JsonAnswer):
    """What a model made of a tool call.

    `value` is the tool's answer, and fits its output schema or is an error; where there is none, `reason` says why the offline draft
    stands. `problems` are those of the last answer that could not be used. `seconds` and `tokens` are for all attempts.
    """


async def generate(
    asked: AskedCall,
    model: str | BaseLlm,
    *,
    clock: Callable[[], float],
    on_progress: Callable[[RequestProgress], None],
    configuration: types.GenerateContentConfig | None = None,
    timeout_seconds: float = 60.0,
    retries: int = 2,
    retry_delay: float = 1.0,
    longest_wait: float = 30.0,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> Generation:
    """Ask a model for a tool's answer, as JSON that fits the tool's output schema; never crashes a run.

    An answer that cannot be used is asked for once more, with what is wrong with it. It runs apart from the turn that
    is in progress: nobody's seat, plugin or callback is asked, and the turn's ids and times are not used up.

    Args:
        asked: The call, and what is known.
        model: Any name that ADK resolves, or a model object; it may be one that an agent has.
        clock: Gives seconds since the epoch.
        on_progress: Is told in words what goes on; called on the loop's thread.
        configuration: What to ask with, but for tools and schemas; None is ADK's default of its simulation.
        timeout_seconds: How long one request may take.
        retries: How often in all to try again after a passing error: 429, 5xx, a lost connection.
        retry_delay: Seconds before the first retry, doubled before each later one; `Retry-After` counts more.
        longest_wait: The longest `Retry-After` that is waited for, in seconds.
        sleep: Waits so many seconds.

    Raises:
        asyncio.CancelledError: A person has stopped it.
        pydantic.ValidationError: One of the numbers is out of its bounds.
    """
    patience = Timeouts(
        timeout_seconds=timeout_seconds, retries=retries, retry_delay=retry_delay, longest_wait=longest_wait
    )
    schema = answer_schema(asked.output_schema, may_fail=True)
    question = JsonQuestion(partial(prompt_for, asked, schema), schema, model, configuration)
    return Generation(**dict(await ask_for_json(question, patience, ClientHooks(clock, on_progress, sleep))))


_MOST_KEPT = 64


class ModelConnections(JsonAnswer):
    """What a model says about some tools.

    `connections` is None, with the `reason`, where those that were found offline stand. `dropped` names in words what
    the model said about tools, parameters and fields that there are not.
    """

    connections: Connections | None = None
    dropped: tuple[str, ...] = ()


async def connection_analysis(
    tools: Sequence[ToolShape],
    model: str | BaseLlm,
    *,
    clock: Callable[[], float],
    on_progress: Callable[[RequestProgress], None],
    configuration: types.GenerateContentConfig | None = None,
    timeout_seconds: float = 120.0,
    retries: int = 2,
    retry_delay: float = 1.0,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> ModelConnections:
    """Ask a model about all tools of an agent and of those below it, in one request; arguments and errors as `generate`."""
    patience = Timeouts(timeout_seconds=timeout_seconds, retries=retries, retry_delay=retry_delay)
    question = JsonQuestion(partial(connections_prompt, tools), CONNECTIONS_SCHEMA, model, configuration)
    done = await ask_for_json(question, patience, ClientHooks(clock, on_progress, sleep))
    fields = dict(done)
    if done.reason:
        return ModelConnections(**fields)
    read = read_connections(done.value, tools)
    return ModelConnections(**fields, connections=read.connections, dropped=read.dropped)


class ConnectionCache:
    """What models have said about which tools, in memory. It belongs to one event loop.

    Those who ask for the same while a request is on its way wait for that one. A failure is given to all who wait and
    then forgotten, so that the next one asks again.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, ModelConnections] = OrderedDict()
        self._asked: dict[str, asyncio.Task[ModelConnections]] = {}
        self._waiting: dict[str, int] = {}

    def known(self, tools: Sequence[ToolShape], model: str | BaseLlm) -> ModelConnections | None:
        """Return what a model has said about these tools, in any order; None if it was not asked yet."""
        return self._known.get(_key(tools, model))

    def forget(self, tools: Sequence[ToolShape], model: str | BaseLlm) -> None:
        """Let the next one ask anew."""
        self._known.pop(_key(tools, model), None)

    async def get(
        self,
        tools: Sequence[ToolShape],
        model: str | BaseLlm,
        ask: Callable[[], Awaitable[ModelConnections]],
    ) -> ModelConnections:
        """Return what is known, or what `ask`, a call of a model for the same tools, gives.

        The request ends when the last one who waits for it is cancelled.
        """
        key = _key(tools, model)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(self._learn(key, ask))
        task = self._asked[key]
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]
                task.cancel()
                if self._asked.get(key) is task:
                    del self._asked[key]

    async def _learn(self, key: str, ask: Callable[[], Awaitable[ModelConnections]]) -> ModelConnections:
        learnt = await ask()
        if learnt.connections is not None:
            self._known[key] = learnt
            if len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
        return learnt


def _key(tools: Sequence[ToolShape], model: str | BaseLlm) -> str:
    name = model if isinstance(model, str) else f"{type(model).__name__}:{model.model}"
    return digest(name, shapes_digest(tools))


_SHOWN_RECORDINGS = 5
_SHOWN_OTHERS = 20
_FEWEST = 2  # one tool hangs together with nothing

CONNECTIONS = ConnectionCache()
"""What models have said about which tools: one analysis per agent, for all sessions of this process."""


class Modelling:
    """The model of a session's environment: its name in the settings, or an object that was given under that name.

    `given` are the configurations that code of this process gave. `analysing` is the task in which it looks at the connections, if it
    does, and `progress` what it is at.
    """

    def __init__(self, knowledge: LiveKnowledge, clock: Callable[[], float]) -> None:
        self._knowledge, self._clock = knowledge, clock
        self.objects: dict[str, BaseLlm] = {}
        self.given = GivenSettings()
        self.analysing: asyncio.Task[None] | None = None
        self.progress = ""

    @property
    def environment(self) -> SessionEnvironment:
        """What is set for the environment now."""
        return self._knowledge.up_to_date().environment

    @property
    def name(self) -> str:
        """The name of the model that is set; empty where none is."""
        return self.environment.settings.simulation_model

    @property
    def has_connections(self) -> bool:
        """Whether there are tools that could hang together."""
        return len(self._knowledge.up_to_date().shapes) >= _FEWEST

    def model(self) -> str | BaseLlm:
        """Return the model's name or object.

        Raises:
            SimulationError: None is set.
        """
        name = self.environment.settings.simulation_model
        if not name:
            raise SimulationError("no model is set for the environment")
        return self.objects.get(name, name)

    def _configuration(self) -> types.GenerateContentConfig | None:
        return configuration_of(self.given.whole(self.environment.settings.simulation_model_configuration))

    async def draft(self, asked: AskedCall, told: Callable[[RequestProgress], None]) -> Generation:
        """Ask the model for an answer to a call; without one, its `reason` says why.

        Args:
            asked: The call, and what is known.
            told: Is told what goes on.
        """
        return await generate(
            asked,
            self.model(),
            clock=self._clock,
            on_progress=told,
            configuration=self._configuration(),
        )

    async def analyse(self, told: Callable[[RequestProgress], None]) -> ModelConnections:
        """Ask the model how the agent's tools hang together; once per agent and model, unless `forget_analysis` was called."""
        knowledge = self._knowledge.up_to_date()
        tools, model, configuration = (
            tuple(knowledge.shapes.values()),
            self.model(),
            self._configuration(),
        )
        return await CONNECTIONS.get(
            tools,
            model,
            lambda: connection_analysis(
                tools, model, clock=self._clock, on_progress=told, configuration=configuration
            ),
        )

    def forget_analysis(self) -> None:
        """Let the next analysis of these tools by this model ask it anew, here and in other sessions."""
        CONNECTIONS.forget(tuple(self._knowledge.up_to_date().shapes.values()), self.model())


def configuration_of(written: JsonObject) -> types.GenerateContentConfig | None:
    """Return what the environment's model is asked with; None for ADK's default.

    Raises:
        SimulationError: It is no `GenerateContentConfig` in JSON; the text says where.
    """
    try:
        return validated(types.GenerateContentConfig, written) if written else None
    except ValidationError as error:
        first = first_of(error)
        words = shortened(f"{place_words(first['loc'])}: {first['msg']}")
        raise SimulationError(f"the simulation model's configuration: {words}") from error
    except (TypeError, AttributeError) as error:  # google-genai's own validators take the type for granted
        words = shortened(f"a value has a wrong type: {error}")
        raise SimulationError(f"the simulation model's configuration: {words}") from error


def asked_call(
    knowledge: Knowledge, tool: ToolDeclaration, arguments: JsonObject, evidence: ModelEvidence
) -> AskedCall:
    """Gather all that a model is told about a call."""
    settings = knowledge.environment.settings
    state = knowledge.registry.get_state(knowledge.registry.state_key(tool.name))
    recorded = nearest(knowledge.recorded_calls(), tool.name, arguments, n=_SHOWN_RECORDINGS)
    return AskedCall(
        tool_name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        output_schema=tool.response,
        arguments=arguments,
        environment_data="\n".join(filter(None, (knowledge.environment.data, settings.environment))),
        recorded=tuple(
            RecordedExample(arguments=near.call.arguments, response=near.call.response, differs=near.differs)
            for near in recorded
        ),
        things=tuple(_things(knowledge, tool.name, arguments)),
        initial_state=state["initial_state"] or "",
        previous=tuple(dict(call) for call in state["previous_calls"]),
        connections=connection_lines(knowledge.connections, tool.name),
        invariants=settings.invariants,
        examples=tool.response_examples,
        draft=evidence.draft,
        outcomes=evidence.outcomes,
        source=evidence.source,
    )


def _things(knowledge: Knowledge, tool_name: str, arguments: JsonObject) -> Iterator[KnownThing]:
    """Yield the things that the arguments name, and then others of the kinds that the tool is about."""
    named = knowledge.world.named(tool_name, arguments)
    about = dict.fromkeys(kind for kind, _ in named)
    about |= dict.fromkeys(
        each.kind for each in knowledge.connections.produces if each.tool_name == tool_name
    )
    others = [
        (kind, str(key))
        for kind in about
        for key in tuple(knowledge.world.collections().get(plural(kind), ()))[:_SHOWN_OTHERS]
    ]
    for kind, key in dict.fromkeys((*named, *others)):
        entity = knowledge.world.entity(kind, key)
        if entity is not None:
            yield KnownThing(kind=entity.kind, id=entity.id, fields=entity.fields, gone=entity.gone)


def words_of(generation: Generation) -> tuple[str, ...]:
    """Return what a model's draft cost: time, tokens, and how often it was asked."""
    tokens = generation.tokens
    counted = [
        f"{count} {what} tokens"
        for count, what in (
            (tokens.asked, "input"),
            (tokens.answered, "output"),
            (tokens.thought, "thinking"),
        )
        if count
    ]
    tries = len(generation.attempts)
    asked = f"asked {tries} times" if tries > 1 else ""
    return (", ".join(filter(None, (generation.model, f"{generation.seconds:.1f} s", *counted, asked))),)


def begin(modelling: Modelling, table: SessionPort) -> None:
    """Begin to ask the model; it goes on meanwhile. Where this session has heard it already, it is really asked again.

    Raises:
        SimulationError: No model is set, or it is being asked.
    """
    if modelling.analysing is not None:
        raise SimulationError("a model is already analysing the connections")
    modelling.model()
    if modelling.environment.analysed_by == modelling.environment.settings.simulation_model:
        modelling.forget_analysis()
    modelling.progress = "asking the model"
    work = _analyse(modelling, table)
    modelling.analysing = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
    table.noticed()


def begin_if_due(modelling: Modelling, table: SessionPort) -> None:
    """Begin if this session has not heard the model that is set now, where the settings want it and there are two tools."""
    environment = modelling.environment
    settings = environment.settings
    is_heard = environment.analysed_by == settings.simulation_model
    wanted = settings.connections_by_model and not is_heard and modelling.analysing is None
    if wanted and modelling.has_connections:
        begin(modelling, table)


def stop(modelling: Modelling) -> None:
    """End the analysis.

    Raises:
        SimulationError: None is going on.
    """
    if modelling.analysing is None:
        raise SimulationError("no model is analysing the connections")
    modelling.analysing.cancel()


async def _analyse(modelling: Modelling, table: SessionPort) -> None:
    def told(progress: RequestProgress) -> None:
        modelling.progress = progress.text
        table.noticed()

    name = modelling.environment.settings.simulation_model
    try:
        found = await modelling.analyse(told)
        fact = ConnectionsAnalysed(
            at=table.now(), model=name, connections=found.connections, reason=found.reason
        )
        table.append(fact)
    except BaseException as error:
        if ends_the_work(error):
            raise
        reason = error_words(error)
        table.append(ConnectionsAnalysed(at=table.now(), model=name, reason=reason))
    finally:
        modelling.analysing, modelling.progress = None, ""
        table.changed()


_MOST_FIELDS = 40
_DEEPEST = 6
_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


class ModelEvidence(NamedTuple):
    """What a model is told beside the declaration of a tool, as texts without secrets.

    `draft` is the offline draft with where it comes from, `outcomes` are the ways in which the tool's code ends: when, and of which
    shape. `source` is the code itself; empty where it is not to be sent.
    """

    draft: str = ""
    outcomes: tuple[str, ...] = ()
    source: str = ""


def model_evidence(
    draft: JsonValue,
    sources: Iterable[str],
    candidates: Sequence[Candidate],
    code: FunctionSource | None,
    *,
    with_source: bool,
) -> ModelEvidence:
    """Gather it for one call.

    Args:
        draft: The offline draft.
        sources: Where it comes from, in words.
        candidates: The candidates of the call.
        code: Where the tool is written.
        with_source: Whether the source may be sent.
    """
    outcomes = [one for one in candidates if one.by_code] if code else []
    return ModelEvidence(
        draft=without_secrets(f"{json.dumps(draft, ensure_ascii=False)}\n({'; '.join(sources)})"),
        outcomes=tuple(
            without_secrets(f"{one.title}: {json.dumps(shape_of(one.value))}") for one in outcomes
        ),
        source=source_for_model(code) if code and with_source else "",
    )


def source_for_model(code: FunctionSource) -> str:
    """Return exactly what is sent of a tool's source where that is allowed."""
    return without_secrets(source_of_tool(code))


def shape_of(value: object, depth: int = 0) -> JsonValue:
    """Return a value with the names of JSON types in the place of its values; of a list only the first."""
    value = jsonable(value) if depth == 0 else value
    if isinstance(value, dict):
        if depth > _DEEPEST:
            return "object"
        fields = list(value.items())
        rest = {"...": f"{len(fields) - _MOST_FIELDS} more"} if len(fields) > _MOST_FIELDS else {}
        return {**{name: shape_of(one, depth + 1) for name, one in fields[:_MOST_FIELDS]}, **rest}
    if isinstance(value, list):
        return [shape_of(one, depth + 1) for one in value[:1]] if depth <= _DEEPEST else "array"
    return _NAMES.get(type(value), "string")
