"""Asks models for the environment of a session: for drafts of answers, and how its tools hang together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from google.adk.models.base_llm import BaseLlm
from google.genai import types
from pydantic import ValidationError

from simulator.base.json_values import JsonObject, place_words
from simulator.base.model_settings import GivenSettings
from simulator.base.validation_words import first_of, shortened, validated
from simulator.environment.conventions.entity_kinds import plural
from simulator.environment.prompts.connection_prompts import connection_lines
from simulator.environment.prompts.tool_prompt import AskedCall, KnownThing, PreviousCall, RecordedExample
from simulator.environment.recordings.nearest_calls import nearest
from simulator.runtime.errors import SimulationError
from simulator.runtime.knowledge.knowledge import Knowledge
from simulator.runtime.knowledge.live_knowledge import LiveKnowledge
from simulator.runtime.models.json_client import RequestProgress
from simulator.runtime.models.model_connections import ConnectionCache, ModelConnections, connection_analysis
from simulator.runtime.models.model_evidence import ModelEvidence
from simulator.runtime.models.model_generator import Generation, generate
from simulator.seats.requests import ToolDeclaration
from simulator.session.environment_state import SessionEnvironment

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
        previous=tuple(
            PreviousCall(
                tool_name=call["tool_name"], parameters=call["parameters"], response=call["response"]
            )
            for call in state["previous_calls"]
        ),
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
