"""Sessions that ADK kept become cases: what they hold can be replayed without any tool or model, from JSON and from databases."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import DatabaseSessionService, InMemorySessionService, Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from evalset import HermeticEnvironment, Imported, import_cases
from evalset.recorded.recording import RecordedEnvironment
from simulator import Seats, Simulation, demo_agent
from simulator.facts import Deferred, Failed
from simulator.seats.answers import failed
from simulator.store import JournalStore
from tests.evalset.desk import write_desk
from tests.evalset.golden_trace.traces import answers, calls, text, turns
from tests.evalset.importing.test_dataset_cases import event, said
from tests.evalset.replay.test_hermetic import loaded

STATE = {"tier": "gold", "app:shop": "A"}
QUERIES: list[list[Any]] = [
    [[["add", {"first": 2, "second": 3}], ["find", {"key": "a"}]], "Five."],
    [[["pay", {"amount": 4}]], "Paid."],
    [[["pay", {"amount": 5}]], "Not paid."],
    [[["expert", {"request": "1 and 2"}]], [["nonsense", {}]], "The expert says three."],
    [[["transfer_to_agent", {"agent_name": "colleague"}]]],
]


def desk(folder: Path) -> Any:
    """Load the agent, whose model takes its steps from the user's words."""
    module = loaded(write_desk(folder))
    module.IDS.clear()
    return module.root_agent


async def spoken(runner: Runner, session_id: str, message: types.Content) -> list[Any]:
    """Say something; return the events."""
    return [
        event async for event in runner.run_async(user_id="user", session_id=session_id, new_message=message)
    ]


async def chat(agent: Any, service: Any) -> Session:
    """Chat with the agent as a person does in `adk web`: the second call that asks may run, the third may not."""
    async with Runner(app=App(name="desk", root_agent=agent), session_service=service) as runner:
        made = await service.create_session(app_name="desk", user_id="user", state=STATE)
        for number, query in enumerate(QUERIES):
            asked = types.Content(role="user", parts=[types.Part(text=json.dumps(query))])
            events = await spoken(runner, made.id, asked)
            for call in [each for event in events for each in event.get_function_calls()]:
                if call.name == "adk_request_confirmation":
                    part = types.Part.from_function_response(
                        name=call.name, response={"confirmed": number == 1}
                    )
                    assert part.function_response
                    part.function_response.id = call.id
                    await spoken(runner, made.id, types.Content(role="user", parts=[part]))
        kept = await service.get_session(app_name="desk", user_id="user", session_id=made.id)
        assert kept
        return Session.model_validate(kept.model_dump())


class Kept(NamedTuple):
    """A session, and the file that it was kept in."""

    session: Session
    path: Path


def in_json(folder: Path, **how: Any) -> Kept:
    """Keep a session in a file, as ADK's API gives it."""
    session = asyncio.run(chat(desk(folder), InMemorySessionService()))
    path = folder / "chat.session.json"
    path.write_text(session.model_dump_json(**(how or {"by_alias": True, "exclude_none": True})))
    return Kept(session, path)


def in_snake_case(folder: Path) -> Kept:
    """Keep a session as Python code writes it."""
    return in_json(folder, indent=1)


def in_adk_webs_database(folder: Path) -> Kept:
    """Keep a session where `adk web` does."""
    path = folder / "session.db"
    return Kept(asyncio.run(chat(desk(folder), SqliteSessionService(str(path)))), path)


def in_a_database_service(folder: Path) -> Kept:
    """Keep a session by ADK's service for any database."""
    path = folder / "sessions.sqlite"

    async def kept() -> Session:
        service = DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
        try:
            return await chat(desk(folder), service)
        finally:
            await service.db_engine.dispose()

    return Kept(asyncio.run(kept()), path)


def replayed(agent: Any, imported: Imported) -> list[list[tuple[str, Any]]]:
    """Replay the one case with recorded models; return each turn's answers."""
    (case,) = imported.cases
    plugin = HermeticEnvironment(RecordedEnvironment(cases=imported.environments), models="recorded")

    async def run() -> list[list[tuple[str, Any]]]:
        service = InMemorySessionService()
        app = App(name="desk", root_agent=agent, plugins=[plugin])
        async with Runner(app=app, session_service=service) as runner:
            assert case.session_input
            state = case.session_input.state
            made = await service.create_session(app_name="desk", user_id="user", state=state)
            found = []
            for turn in turns(case):
                events = await spoken(runner, made.id, turn.user_content)
                found.append(
                    [
                        (each.name or "", each.response)
                        for event in events
                        for each in event.get_function_responses()
                    ]
                )
                assert text(events[-1].content) == text(turn.final_response)
            return found

    return asyncio.run(run())


@pytest.mark.long
@pytest.mark.parametrize("keep", [in_json, in_snake_case, in_adk_webs_database, in_a_database_service])
def test_a_chat_becomes_a_case_that_can_be_replayed(keep: Callable[[Path], Kept], tmp_path: Path) -> None:
    """Parallel calls, what was confirmed and what was rejected, an agent as a tool, a transfer, and the first state."""
    kept = keep(tmp_path)
    imported = import_cases(kept.path)
    assert imported.problems == ()
    (case,) = imported.cases
    assert case.eval_id == kept.session.id
    assert case.session_input
    assert (case.session_input.app_name, case.session_input.state) == ("desk", STATE)
    assert [[name for name, _ in calls(turn)] for turn in turns(case)] == [
        ["add", "find"],
        ["pay"],
        ["pay"],
        ["expert", "nonsense"],
        ["transfer_to_agent", "add"],
    ]
    assert answers(turns(case)[1]) == [("pay", {"paid": 4})]
    agent = desk(tmp_path / "again")
    agent.tools = [_trapped(tool) for tool in agent.tools]
    found = replayed(agent, imported)
    assert found == [answers(turn) for turn in turns(case)]


def _trapped(tool: Any) -> Any:
    """Let a tool end the test where it runs."""

    def trap(*_: Any, **__: Any) -> Any:
        raise SystemExit("a real tool ran")

    if hasattr(tool, "func"):
        tool.func = _named_as(tool.func, trap)
        return tool
    return tool if hasattr(tool, "run_async") else _named_as(tool, trap)


def _named_as(function: Any, trap: Any) -> Any:
    def trapped(*args: Any, **named: Any) -> Any:
        return trap(*args, **named)

    trapped.__name__, trapped.__doc__ = function.__name__, function.__doc__
    trapped.__signature__ = inspect.signature(function)  # type: ignore[attr-defined] # ADK reads it
    return trapped


def test_a_chat_that_broke_off_is_cut_where_it_was_whole(tmp_path: Path) -> None:
    """What the user said last and nobody answered is left out, with a word; one without any answer is a problem."""
    kept = in_json(tmp_path)
    document = json.loads(kept.path.read_text())
    asked = event("user", said("And?"), timestamp=1.0)
    kept.path.write_text(json.dumps({**document, "events": [*document["events"], asked]}))
    imported = import_cases(kept.path)
    (problem,) = imported.problems
    assert re.match("chat.session.json: .* 1 user message", problem)
    assert len(turns(imported.cases[0])) == len(QUERIES)
    for events, words in (
        ([asked], "final response"),
        ([], "user message"),
        ([{"author": 7, "content": None}], "event"),
    ):
        kept.path.write_text(json.dumps({**document, "events": events}))
        assert import_cases(kept.path).cases == ()
        assert words in import_cases(kept.path).problems[0]


def test_a_damaged_session_of_a_database_leaves_the_others(tmp_path: Path) -> None:
    """It is named; and the database is only read."""
    kept = in_adk_webs_database(tmp_path)
    with sqlite3.connect(kept.path) as connection:
        connection.execute("INSERT INTO sessions VALUES ('desk', 'user', 'bad', '[]', 1, 1)")
    before = kept.path.read_bytes()
    imported = import_cases(kept.path)
    assert [case.eval_id for case in imported.cases] == [kept.session.id]
    (problem,) = imported.problems
    assert re.match("session.db, session bad: .*state", problem)
    assert kept.path.read_bytes() == before


_EVENTS = "CREATE TABLE events (app_name, user_id, session_id, event_data, id, invocation_id, timestamp)"
_ROW = "INSERT INTO sessions (app_name, user_id, id) VALUES ('a', 'u', 's')"
_ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT 'a' app_name, 'u' user_id, x id, '{}' state, 1 update_time FROM n"


@pytest.mark.parametrize(
    ("statements", "named"),
    [
        ((f"CREATE VIEW sessions AS {_ENDLESS}", _EVENTS), "'sessions'"),
        (("CREATE TABLE sessions (app_name, user_id, id, update_time, state AS (hex(zeroblob(150000000))))", _EVENTS, _ROW), "'state'"),
        (("CREATE VIRTUAL TABLE sessions USING fts5(app_name, user_id, id, state, update_time)", _EVENTS, _ROW), "'sessions'"),
        (("CREATE TABLE sessions (app_name, user_id, id, state, update_time)", "CREATE TABLE events (id, actions BLOB)"), "`adk migrate session`"),
        (("CREATE TABLE birds (name)",), "no sessions"),
        (b"SQLite format 3\x00" + b"\xff" * 200, "readable database"),
    ],
    ids=["view", "computed", "virtual", "pickled", "other", "damaged"],
)  # fmt: skip
def test_a_database_that_is_not_taken_is_refused_with_the_reason(
    statements: Any, named: str, tmp_path: Path
) -> None:
    """A few kilobytes could compute without end, or any number of bytes; pickled events are never unpickled."""
    path = tmp_path / "odd.db"
    if isinstance(statements, bytes):
        path.write_bytes(statements)
    else:
        with sqlite3.connect(path) as connection:
            for statement in statements:
                connection.execute(statement)
    imported = import_cases(path)
    assert imported.cases == ()
    assert named in imported.problems[0]


@pytest.fixture
def own(tmp_path: Path) -> Simulation:
    """A session of the studio, with an error that a person gave and a rule."""
    simulation = Simulation.open(demo_agent("order_desk"), seats=Seats(tools={"*": "person"}), seed="s")
    simulation.query("Where is order A-1002?", wait=60.0)
    while simulation.pending:
        simulation.answer(simulation.pending[0], failed(503, "down"), wait=60.0)
    return simulation


def test_the_studios_own_sessions_come_with_all_that_was_recorded(own: Simulation, tmp_path: Path) -> None:
    """From a journal, from a file that was downloaded, and from its database."""
    journal = tmp_path / "a.json"
    journal.write_text(own.journal.to_json())
    database = tmp_path / "b.db"
    store = JournalStore.open(database)
    store.begin(own.journal, owner="me", agent_key="order_desk")
    downloaded = tmp_path / "c.json"
    downloaded.write_text(store.export(own.session.session_id))
    store.close()
    for path in (journal, database, downloaded):
        imported = import_cases(path)
        assert imported.problems == ()
        (case,) = imported.cases
        assert case.eval_id == own.session.session_id
        (environment,) = imported.environments.values()
        assert environment.seed == "s"
        call = environment.turns[0].calls[0]
        assert call.outcome == Failed(error_code=503, error_message="down")
        assert call.author.source == "written"


def test_a_late_answer_is_one(tmp_path: Path) -> None:
    """Of a tool that takes long, what was there at once and what the user brought later are told apart."""
    call = {"functionCall": {"id": "c1", "name": "wait", "args": {}}}
    answer = {"functionResponse": {"id": "c1", "name": "wait", "response": {"done": 1}}}
    events = [
        event("user", said("go")),
        event("desk", {"role": "model", "parts": [call]}, longRunningToolIds=["c1"]),
        event("user", {"role": "user", "parts": [answer]}),
        event("desk", said("Done.", "model")),
    ]
    path = tmp_path / "late.session.json"
    path.write_text(json.dumps({"id": "late", "appName": "desk", "events": events}))
    imported = import_cases(path)
    assert imported.problems == ()
    (recorded,) = imported.environments["late"].turns[0].calls
    assert (recorded.outcome, recorded.later) == (Deferred(), {"done": 1})
