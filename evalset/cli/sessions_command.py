"""The commands `sessions` and `script`: list the sessions that are kept, and make a script of one.

They are the operator's, who sees everybody's sessions.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from evalset.cli.command_frame import (
    Options,
    ShellCommand,
    UsageError,
    file_option,
    flag,
    option,
    write_output,
)
from evalset.cli.terminal_output import (
    BAD_INPUT,
    DONE,
    FAILED,
    NO_ANSWER,
    WORDS,
    Ends,
    ProgressLine,
    output,
    plain,
)
from simulator.base.documents import read_file
from simulator.scripts import ScriptError, write_script

if TYPE_CHECKING:
    from simulator.journal import Journal
    from simulator.store import JournalStore, SessionRecord

STORE_VARIABLE = "GOLDEN_TRACE_STORE"
"""Names the database, as for the page."""

_FEWEST = 4
"""How many characters of a session's id name it at least."""

_WORDS = 60


def _list_sessions(given: argparse.Namespace, _: ProgressLine) -> int:
    with _opened(given.store) as store:
        found = _records(store, given.search, archived=given.archived)
    output().writelines((_as_json(record) if given.json else plain(_line(record))) + "\n" for record in found)
    if not found:
        raise Ends(NO_ANSWER, "no session found")
    return DONE


def _make_script(given: argparse.Namespace, progress: ProgressLine) -> int:
    journal = _journal(given)
    try:
        from simulator.scripts import script_of  # noqa: PLC0415 - imports ADK, which the list of sessions does without

        made = script_of(journal, agent=given.agent, name=given.name)
    except ScriptError as error:
        raise Ends(FAILED, f"the session cannot be written as a script: {error}") from error
    text = write_script(made, given.form)
    if given.out is None:
        output().write(text)
        return DONE
    write_output("--out", given.out, text.encode(), "script")
    progress.say(f"{given.out}: {len(made.turns)} turn{'' if len(made.turns) == 1 else 's'}")
    return DONE


def _journal(given: argparse.Namespace) -> Journal:
    path = Path(given.session)
    if path.is_file():
        return _of_file(path)
    from simulator.store import StoreError  # noqa: PLC0415 - SQLAlchemy takes half a second

    with _opened(given.store) as store:
        record = _named(store, given.session)
        try:
            return store.load(record.session_id)
        except StoreError as error:
            raise Ends(BAD_INPUT, f"SESSION: {error}") from error


def _of_file(path: Path) -> Journal:
    from simulator.store import StoreError, read_session  # noqa: PLC0415 - as above

    try:
        return read_session(read_file(path, "session").decode())
    except OSError as error:
        raise Ends(BAD_INPUT, f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Ends(BAD_INPUT, f"{path}: not UTF-8 text: byte {error.start} cannot be read") from error
    except StoreError as error:
        raise Ends(BAD_INPUT, f"{path}: {error}") from error


def _named(store: JournalStore, name: str) -> SessionRecord:
    everyone = [*_records(store, ""), *_records(store, "", archived=True)]
    exact = [record for record in everyone if record.session_id == name]
    found = exact or [record for record in everyone if record.session_id.startswith(name)]
    if len(name) < _FEWEST and not exact:
        raise Ends(BAD_INPUT, f"SESSION: {name!r} is too short; use at least {_FEWEST} characters of the id")
    if not found:
        raise Ends(
            BAD_INPUT,
            f"SESSION: {name!r} is neither a file nor a session in {store.name}; 'sessions' lists all sessions",
        )
    if len(found) > 1:
        several = ", ".join(record.session_id for record in found[:5])
        raise Ends(
            BAD_INPUT, f"SESSION: {len(found)} sessions have an id that starts with {name!r}: {several}"
        )
    return found[0]


def _records(store: JournalStore, search: str, *, archived: bool = False) -> list[SessionRecord]:
    from simulator.store import StoreError  # noqa: PLC0415 - as above

    try:
        return store.records_of_all(search=search, archived=archived)
    except StoreError as error:
        raise Ends(BAD_INPUT, f"--store: {error}") from error


@contextmanager
def _opened(named: str | None) -> Iterator[JournalStore]:
    """Open a store that is only read: where there is none, none is made."""
    from simulator.store import JournalStore, StoreError, default_path, file_of  # noqa: PLC0415 - as above

    where: str | Path = named or os.environ.get(STORE_VARIABLE, "").strip() or default_path(os.environ)
    if where == "none":
        raise Ends(
            BAD_INPUT, f"{STORE_VARIABLE} is 'none', so no sessions are stored; name a database with --store"
        )
    try:
        file = file_of(where)
        if file is not None and not file.is_file():
            raise Ends(BAD_INPUT, f"--store: no such file: {file}")
        if file is not None and not file.stat().st_size:
            raise Ends(BAD_INPUT, f"--store: the file is empty, so it is no session database: {file}")
        store = JournalStore.open(where)
    except StoreError as error:
        raise Ends(BAD_INPUT, f"--store: {error}") from error
    with closing(store):
        yield store


def _as_json(record: SessionRecord) -> str:
    return json.dumps(record.model_dump(mode="json", exclude={"shared_token"}))


def _line(record: SessionRecord) -> str:
    when = datetime.fromtimestamp(record.changed_at).astimezone().strftime("%Y-%m-%d %H:%M")
    turns = f"{record.turns} turn{'' if record.turns == 1 else 's'}"
    about = " ".join((record.name or record.query).split())
    about = about if len(about) <= _WORDS else f"{about[: _WORDS - 1]}\u2026"
    agent = record.agent_key or record.agent_name
    return "  ".join((record.session_id, when, f"{record.status:<14}", turns, agent, about)).rstrip()


_STORE: Options = {
    "--store": option(
        f"the database: a file, or a URL of SQLite or PostgreSQL (default: {STORE_VARIABLE}, otherwise the studio's own database)",
        "STORE",
    )
}
sessions = ShellCommand(
    prog="golden-trace sessions",
    about="List the stored sessions, the last changed first.",
    codes="Exit codes: 0 done; 1 no session found; 2 bad input.",
    options={
        **_STORE,
        "--search": option("only sessions that contain all of these words", "WORDS", default=""),
        "--archived": flag("list archived sessions instead of the others"),
        "--json": flag("write one JSON object for each session"),
    },
    work=_list_sessions,
    told=(UsageError,),
    interrupted=WORDS,
)
script = ShellCommand(
    prog="golden-trace script",
    about="Write a recorded session as a script, which you can change and play again with 'run'.",
    codes="Exit codes: 0 done; 2 bad input; 3 the session contains something that a script cannot express.",
    options={
        "session": option(
            "the id of a stored session, or its first characters; or the file of an exported session",
            "SESSION",
        ),
        **_STORE,
        "--out": file_option("the file to write (default: standard output)"),
        "--agent": option(
            "write the agent's moves into the script (`moves`, default), or let its model respond again (`model`)",
            choices=("moves", "model"),
            default="moves",
        ),
        "--form": option("YAML with comments, or JSON", choices=("yaml", "json"), default="yaml"),
        "--name": option("a description of the script", default=""),
    },
    work=_make_script,
    told=(UsageError,),
    interrupted=WORDS,
)
