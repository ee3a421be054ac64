"""Guards what the document "Data model: simulator run" says of its entities, their fields, relations, transitions and rules."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.evaluation.eval_case import EvalCase, IntermediateData, Invocation
from google.adk.evaluation.eval_set import EvalSet
from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from pydantic import TypeAdapter, ValidationError

from evalset import EvalSetWriter, GoldenTraceBuilder, eval_id_for
from simulator import (
    FinalResponse,
    HistoryEntry,
    SessionState,
    SimulatedAgentConfig,
    Simulation,
    SimulationSession,
    ToolCall,
    ToolError,
    ToolOutput,
    UserQuery,
    failed,
    raised,
)
from simulator.base.json_values import JsonObject
from tests.simulator.base.rows import for_each
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, say

AT = 1_700_000_000.0
CALLS = [call("get_weather", city="Rome")]


def get_weather(city: str) -> dict[str, Any]:
    """Get the weather."""
    raise AssertionError(city)


def weather_agent(*turns: Any) -> LlmAgent:
    """Make an agent that asks for the weather once, or makes these turns."""
    return agent_of(*(turns or (CALLS, [say("It rains.")])), tools=[get_weather])


def opened(agent: Any = None, **more: Any) -> Simulation:
    """Open a session of the document's kind."""
    agent = agent or weather_agent()
    config = SimulatedAgentConfig(name="WeatherDesk", agent=agent, eval_set_path="weather.evalset.json")
    return Simulation.open(config, clock=lambda: AT, **more)


def completed(answer: Any = None, **more: Any) -> SimulationSession:
    """Play the session to its end; return what it is then."""
    with opened(**more) as simulation:
        assert simulation.query("What is the weather in Rome?", wait=PATIENCE)
        assert simulation.answer(simulation.pending[0], answer or {"sky": "rain"}, wait=PATIENCE)
        return simulation.session


# ---------------------------------------------------------------- SimulatedAgentConfig


def test_a_config_has_a_name_an_agent_and_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is resolved against the working directory, an absolute one is used as it is."""
    agent = weather_agent()
    monkeypatch.chdir(tmp_path)
    config = SimulatedAgentConfig("Weather", agent, "evals/weather.evalset.json")
    assert (config.name, config.agent, config.eval_set_path) == (
        "Weather",
        agent,
        "evals/weather.evalset.json",
    )
    assert config.resolve_eval_set_path() == tmp_path / "evals" / "weather.evalset.json"
    absolute = tmp_path / "w.json"
    assert (
        SimulatedAgentConfig(name="W", agent=agent, eval_set_path=absolute).resolve_eval_set_path()
        == absolute
    )


def test_a_config_is_a_dataclass_of_three_fields() -> None:
    """They come in the document's order and are all required; the path may be a text or a `Path`."""
    fields = dataclasses.fields(SimulatedAgentConfig)
    assert [field.name for field in fields][:3] == ["name", "agent", "eval_set_path"]
    assert all(field.default is dataclasses.MISSING for field in fields[:3])
    assert all(field.default is not dataclasses.MISSING for field in fields[3:])
    agent = weather_agent()
    for path in ("w.json", Path("w.json")):
        config = SimulatedAgentConfig("W", agent, path)
        assert config.resolve_eval_set_path() == Path.cwd() / "w.json"


# ---------------------------------------------------------------- SimulationSession


def test_the_defaults_of_a_session() -> None:
    """Nothing is chosen and nothing has happened; made with its agent alone, it has no tools and no session of ADK's."""
    config = SimulatedAgentConfig(name="WeatherDesk", agent=weather_agent(), eval_set_path="w.json")
    session = SimulationSession(session_id="s", agent_config=config, start_timestamp=AT)
    assert (session.state, list(session.history)) == (SessionState.SELECTING_AGENT, [])
    assert (session.agent_name, session.agent) == ("WeatherDesk", config.agent)
    assert (session.tools, session.adk_session) == ([], None)
    assert (session.session_id, session.start_timestamp) == ("s", AT)
    given = Session(id="a", app_name="weather", user_id="user")
    assert SimulationSession(agent_config=config, adk_session=given).adk_session is given


def test_each_session_has_an_id_of_its_own_and_its_start() -> None:
    """Two that are opened have different ids; the start is in seconds since the epoch."""
    with opened() as one, opened() as two:
        assert one.session.session_id
        assert one.session.session_id != two.session.session_id
        assert one.session.start_timestamp == AT


def test_the_states_and_their_values() -> None:
    """The four of the document, in its words."""
    assert {state.name: state.value for state in SessionState} == {
        "SELECTING_AGENT": "selecting_agent",
        "AWAITING_QUERY": "awaiting_query",
        "ACTIVE": "active",
        "COMPLETED": "completed",
    }


def test_the_state_transitions() -> None:
    """Awaiting a query, active while tools are answered, completed by the final response; and every entry on the way."""
    assert SimulationSession().state is SessionState.SELECTING_AGENT
    two = [call("get_weather", city="Rome"), call("get_weather", city="Oslo")]
    with opened(weather_agent(two, [say("Rain.")])) as simulation:
        states = [simulation.session.state]
        simulation.query("What is the weather?", wait=PATIENCE)
        states.append(simulation.session.state)
        simulation.answer(simulation.pending[0], {"sky": "rain"}, wait=PATIENCE)
        states.append(simulation.session.state)
        simulation.answer(simulation.pending[0], failed(503, "down"), wait=PATIENCE)
        session = simulation.session
    assert states == [SessionState.AWAITING_QUERY, SessionState.ACTIVE, SessionState.ACTIVE]
    assert session.state is SessionState.COMPLETED
    types = [entry.type for entry in session.history]
    assert types == ["user_query", "tool_call", "tool_call", "tool_output", "tool_error", "final_response"]


def test_a_session_has_its_config_and_its_agent() -> None:
    """`agent_config` is what the session was opened with, `agent` its agent, `tools` the agent's tools."""
    agent = weather_agent()
    with opened(agent) as simulation:
        session: Any = simulation.session
        assert session.agent_config is simulation.config
        assert session.agent is agent
        tools = session.tools
        assert [tool.name for tool in tools] == ["get_weather"]
        assert all(isinstance(tool, BaseTool) for tool in tools)
        assert session.agent_name == session.agent_config.name


def test_a_session_has_adks_session() -> None:
    """`adk_session` is ADK's: its id, its user, its state and its events."""
    with opened(session_id="s-1", initial_state={"units": "C"}) as simulation:
        assert simulation.query("go", wait=PATIENCE)
        simulation.answer(simulation.pending[0], {"sky": "rain"}, wait=PATIENCE)
        session: Any = simulation.session
        adks = session.adk_session
        assert isinstance(adks, Session)
        assert (adks.id, adks.user_id, adks.state) == ("s-1", "user", {"units": "C"})
        assert [event.author for event in adks.events] == ["user", "clerk", "clerk", "clerk"]


# ---------------------------------------------------------------- HistoryEntry


def test_the_entries_have_the_fields_of_the_document() -> None:
    """Each has its type, its content and its time; a call and its output or error share an id."""
    query, tool_call, output, final = completed().history
    assert isinstance(query, UserQuery)
    assert (query.type, query.content) == ("user_query", "What is the weather in Rome?")
    assert isinstance(tool_call, ToolCall)
    assert (tool_call.type, tool_call.tool_name, tool_call.arguments) == (
        "tool_call",
        "get_weather",
        {"city": "Rome"},
    )
    assert isinstance(output, ToolOutput)
    assert (output.type, output.call_id, output.result) == ("tool_output", tool_call.call_id, {"sky": "rain"})
    assert output.duration_ms >= 0
    assert isinstance(final, FinalResponse)
    assert (final.type, final.content) == ("final_response", "It rains.")
    assert all(entry.timestamp.timestamp() == AT for entry in (query, tool_call, output, final))


def test_a_tool_error_has_a_type_and_a_message() -> None:
    """An error dict has its code as its type, a raised exception its class."""
    error = completed(failed(503, "down")).history[2]
    assert isinstance(error, ToolError)
    assert (error.error_type, error.error_message, error.duration_ms >= 0) == ("503", "down", True)


def test_a_raised_exception_has_a_traceback() -> None:
    """A real tool's exception is kept with the traceback that Python would print."""

    def breaks(city: str) -> dict[str, Any]:
        """Break."""
        raise ConnectionError(f"no line to {city}")

    breaks.__name__ = "get_weather"
    with opened(agent_of(CALLS, tools=[breaks])) as simulation:
        simulation.set_player("tool", "real", wait=PATIENCE)
        simulation.query("go", wait=PATIENCE)
        (error,) = (entry for entry in simulation.session.history if isinstance(entry, ToolError))
    assert (error.error_type, error.error_message) == ("ConnectionError", "no line to Rome")
    assert error.traceback is not None
    assert 'raise ConnectionError(f"no line to {city}")' in error.traceback
    assert error.traceback.rstrip().endswith(f"ConnectionError: {error.error_message}")
    assert error.traceback.startswith("Traceback ")


ENTRIES: dict[type[Any], JsonObject] = {
    UserQuery: {"content": "Rome?"},
    ToolCall: {"tool_name": "get_weather", "arguments": {"city": "Rome"}, "call_id": "c1"},
    ToolOutput: {"call_id": "c1", "result": [1, None], "duration_ms": 1.5},
    ToolError: {"call_id": "c1", "error_type": "E", "error_message": "m", "duration_ms": 2.0},
    FinalResponse: {"content": "It rains."},
}
WORDS: dict[type[Any], str] = {
    UserQuery: "user_query",
    ToolCall: "tool_call",
    ToolOutput: "tool_output",
    ToolError: "tool_error",
    FinalResponse: "final_response",
}


@for_each("kind", ENTRIES)
def test_an_entry_is_made_of_the_documents_fields(kind: type[Any]) -> None:
    """Its type is there by itself and cannot be another, its time is now; read as a `HistoryEntry` it is of its class."""
    before = datetime.now(UTC)
    fields: dict[str, Any] = dict(ENTRIES[kind])
    entry = kind(**fields)
    assert entry.type == WORDS[kind]
    assert before <= entry.timestamp <= datetime.now(UTC)
    assert {name: getattr(entry, name) for name in fields} == fields
    with pytest.raises(ValidationError):
        kind(**fields, type="session_note")
    at = datetime(2025, 12, 23, tzinfo=UTC)
    assert kind(**fields, timestamp=at).timestamp == at
    read: Any = TypeAdapter[Any](HistoryEntry).validate_python({"type": WORDS[kind], **fields})
    assert type(read) is kind


REQUIRED = [(kind, name) for kind, fields in ENTRIES.items() for name in fields if name != "duration_ms"]


@for_each(("kind", "name"), REQUIRED)
def test_an_entry_lacks_no_field_of_the_document(kind: type[Any], name: str) -> None:
    """Each field that has no default is required; only the duration may be left out, too."""
    with pytest.raises(ValidationError, match=name):
        kind(**{key: value for key, value in ENTRIES[kind].items() if key != name})


@for_each(
    ("kind", "wrong"),
    [
        (UserQuery, {"content": 5}),
        (ToolCall, {"tool_name": 5}),
        (ToolCall, {"arguments": [1]}),
        (ToolCall, {"call_id": 5}),
        (ToolOutput, {"call_id": None}),
        (ToolOutput, {"duration_ms": "long"}),
        (ToolError, {"error_type": 5}),
        (ToolError, {"error_message": None}),
        (ToolError, {"traceback": 5}),
        (FinalResponse, {"content": None}),
    ],
)
def test_a_field_of_an_entry_has_its_type(kind: type[Any], wrong: dict[str, Any]) -> None:
    """Another type is refused by the name of the field."""
    (name,) = wrong
    with pytest.raises(ValidationError, match=name):
        kind(**{**ENTRIES[kind], **wrong})


def test_a_traceback_may_be_there() -> None:
    """It is none by default, and else a text."""
    fields: dict[str, Any] = dict(ENTRIES[ToolError])
    assert ToolError(**fields).traceback is None
    assert ToolError(**fields, traceback="Traceback ...").traceback == "Traceback ..."


def test_structured_data_is_json_in_the_content() -> None:
    """A final response of an agent with an output schema is its JSON; so is a query of more than text."""
    picture = {"inline_data": {"mime_type": "image/png", "data": "AAAA"}}
    agent = weather_agent([say('{"sky": "rain"}')])
    with opened(agent) as simulation:
        message: Any = {"role": "user", "parts": [{"text": "What is this?"}, picture]}
        simulation.query(message, wait=PATIENCE)
        query, final = simulation.session.history
    assert isinstance(query, UserQuery)
    assert isinstance(final, FinalResponse)
    assert json.loads(final.content) == {"sky": "rain"}
    assert "image/png" in query.content


# ---------------------------------------------------------------- GoldenTraceBuilder


def only_invocation(case: EvalCase) -> Invocation:
    """Return the one invocation of a case."""
    (invocation,) = case.conversation or []
    return invocation


def test_the_case_of_a_session() -> None:
    """One invocation with the query, the final response, the calls and their responses; its id is of the agent and the time."""
    session = completed(session_id="s-1")
    case = GoldenTraceBuilder(session).build()
    assert isinstance(case, EvalCase)
    assert case.eval_id == eval_id_for("WeatherDesk", AT)
    assert case.eval_id.startswith("weather_desk_2023-11-14T22")
    assert case.creation_timestamp == AT
    invocation = only_invocation(case)
    assert (invocation.invocation_id, invocation.creation_timestamp) == ("s-1_inv_0", AT)
    said = invocation.user_content.parts or []
    assert [part.text for part in said] == ["What is the weather in Rome?"]
    final = invocation.final_response
    assert final is not None
    assert final.parts
    assert final.parts[0].text == "It rains."
    data = invocation.intermediate_data
    assert isinstance(data, IntermediateData)
    ((use,), (response,)) = (data.tool_uses, data.tool_responses)
    assert (use.name, use.args) == ("get_weather", {"city": "Rome"})
    assert (response.name, response.id, response.response) == ("get_weather", use.id, {"sky": "rain"})


def test_an_error_is_exported_as_the_agent_saw_it() -> None:
    """The response of a failed call is in the case."""
    case = GoldenTraceBuilder(completed(failed(503, "down"))).build()
    data: Any = only_invocation(case).intermediate_data
    assert data.tool_responses[0].response == {"error_code": 503, "error_message": "down"}


def test_an_exception_that_a_callback_answers_is_exported() -> None:
    """The agent saw what its callback made of it, and so does the case."""

    def survives(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, Any]:
        return {"survived": str(error)}

    agent = weather_agent()
    agent.on_tool_error_callback = survives
    case = GoldenTraceBuilder(completed(raised("TimeoutError", "too late"), agent=agent)).build()
    data: Any = only_invocation(case).intermediate_data
    assert [use.name for use in data.tool_uses] == ["get_weather"]
    assert data.tool_responses[0].response == {"survived": "too late"}


def test_a_builder_knows_its_session_and_changes_nothing() -> None:
    """It is made of a session alone; the case has no other fields of the conversation than the document's."""
    session = completed()
    builder = GoldenTraceBuilder(session)
    assert builder.session is session
    first, second = builder.build(), builder.build()
    assert first == second
    assert len(first.conversation or ()) == 1


def test_many_calls_stand_in_their_order() -> None:
    """Calls and responses are chronological, and each response has the name and the id of its call."""
    turns = [[call("get_weather", city=city)] for city in ("Rome", "Oslo", "Bonn")]
    with opened(weather_agent(*turns, [say("Done.")])) as simulation:
        simulation.query("go", wait=PATIENCE)
        for number in range(3):
            simulation.answer(simulation.pending[0], {"n": number}, wait=PATIENCE)
        data: Any = only_invocation(GoldenTraceBuilder(simulation.session).build()).intermediate_data
    assert [use.args["city"] for use in data.tool_uses] == ["Rome", "Oslo", "Bonn"]
    assert [response.response for response in data.tool_responses] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert [(one.id, one.name) for one in data.tool_responses] == [
        (one.id, one.name) for one in data.tool_uses
    ]
    assert len({one.id for one in data.tool_uses}) == 3


# ---------------------------------------------------------------- EvalSetWriter


def test_a_writer_creates_a_set_and_appends_to_it(tmp_path: Path) -> None:
    """The set is named after the agent; parent folders are made; ADK's own model reads the file."""
    path = (
        tmp_path / "deep" / "weather_desk_evals.evalset.json"
    )  # ADK finds a set by its id as its file's name
    session = completed()
    writer = EvalSetWriter(path, "WeatherDesk")
    writer.write_eval_case(GoldenTraceBuilder(session, eval_id="one").build())
    writer.write_eval_case(GoldenTraceBuilder(session, eval_id="two").build())
    written = EvalSet.model_validate(json.loads(path.read_text()))
    assert (written.eval_set_id, written.name) == ("weather_desk_evals", "WeatherDesk Evaluation Set")
    assert written.description
    assert "WeatherDesk" in written.description
    assert [case.eval_id for case in written.eval_cases] == ["one", "two"]
    assert written.creation_timestamp


def test_a_set_is_written_with_two_spaces_and_read_by_adk(tmp_path: Path) -> None:
    """The JSON is indented by two; what ADK itself has written is appended to."""
    path = tmp_path / "w.evalset.json"
    case = GoldenTraceBuilder(completed(), eval_id="one").build()
    EvalSetWriter(path, "WeatherDesk").write_eval_case(case)
    assert path.read_text().splitlines()[:2] == ["{", '  "eval_set_id": "w",']
    adks = EvalSet(
        eval_set_id="w", name="Mine", description="By hand", eval_cases=[case], creation_timestamp=5.0
    )
    path.write_text(adks.model_dump_json(indent=2))
    EvalSetWriter(path, "WeatherDesk").write_eval_case(case.model_copy(update={"eval_id": "two"}))
    read = EvalSet.model_validate_json(path.read_text())
    assert (read.name, read.description, read.creation_timestamp) == ("Mine", "By hand", 5.0)
    assert [one.eval_id for one in read.eval_cases] == ["one", "two"]


def test_the_writers_arguments_have_the_names_of_the_document(tmp_path: Path) -> None:
    """`EvalSetWriter(eval_set_path=..., agent_name=...)`, and both can be read."""
    make: Any = EvalSetWriter
    writer = make(eval_set_path=tmp_path / "w.evalset.json", agent_name="WeatherDesk")
    assert (writer.eval_set_path, writer.agent_name) == (tmp_path / "w.evalset.json", "WeatherDesk")
    writer.write_eval_case(GoldenTraceBuilder(completed(), eval_id="one").build())
    assert writer.eval_set_path.exists()


# ---------------------------------------------------------------- validation rules

COMMON: dict[str, Any] = {"fact": 1, "turn": 0, "timestamp": "2024-01-01T00:00:00Z"}
QUERY: dict[str, Any] = {"type": "user_query", "content": "go", **COMMON}
CALL: dict[str, Any] = {
    "type": "tool_call",
    "agent": "a",
    "tool_name": "t",
    "arguments": {},
    "call_id": "c",
    **COMMON,
}
OUTPUT: dict[str, Any] = {"type": "tool_output", "call_id": "c", "result": 1, **COMMON}
FINAL: dict[str, Any] = {"type": "final_response", "agent": "a", "content": "done", **COMMON}


def test_a_session_that_keeps_the_rules_is_read() -> None:
    """Entries are told apart by their `type`."""
    session = SimulationSession.model_validate(
        {"state": "completed", "agent_name": "A", "history": [QUERY, CALL, OUTPUT, FINAL]}
    )
    assert [type(entry) for entry in session.history] == [UserQuery, ToolCall, ToolOutput, FinalResponse]


TOLD: list[HistoryEntry] = [
    UserQuery(content="Rome?"),
    ToolCall(tool_name="get_weather", arguments={"city": "Rome"}, call_id="c1"),
    ToolOutput(call_id="c1", result={"sky": "rain"}, duration_ms=1.5),
    ToolCall(tool_name="get_weather", arguments={"city": "Oslo"}, call_id="c2"),
    ToolError(call_id="c2", error_type="TimeoutError", error_message="too late", duration_ms=2.0),
    FinalResponse(content="It rains in Rome."),
]


def test_a_session_is_made_of_what_the_document_names(tmp_path: Path) -> None:
    """Entries have their time and number by themselves; the case of such a session is written as one that was played."""
    agent = weather_agent()
    config = SimulatedAgentConfig(name="WeatherDesk", agent=agent, eval_set_path=tmp_path / "w.evalset.json")
    session = SimulationSession(
        session_id="s",
        agent_config=config,
        agent_name=config.name,
        agent=agent,
        tools=[FunctionTool(get_weather)],
        state=SessionState.COMPLETED,
        history=TOLD,
        start_timestamp=AT,
    )
    assert (session.agent_config, session.agent) == (config, agent)
    assert [tool.name for tool in session.tools] == ["get_weather"]
    assert session.adk_session is None
    case = GoldenTraceBuilder(session).build()
    EvalSetWriter(eval_set_path=config.resolve_eval_set_path(), agent_name=config.name).write_eval_case(
        eval_case=case
    )
    (written,) = EvalSet.model_validate_json(config.resolve_eval_set_path().read_text()).eval_cases
    (invocation,) = written.conversation or []
    assert invocation.invocation_id == "s_inv_0"
    assert invocation.final_response is not None
    steps = IntermediateData.model_validate(
        invocation.intermediate_data.model_dump() if invocation.intermediate_data else {}
    )
    assert [(call.id, call.args) for call in steps.tool_uses] == [
        ("c1", {"city": "Rome"}),
        ("c2", {"city": "Oslo"}),
    ]
    assert [response.response for response in steps.tool_responses] == [
        {"sky": "rain"},
        {"error": {"type": "TimeoutError", "message": "too late"}},
    ]
