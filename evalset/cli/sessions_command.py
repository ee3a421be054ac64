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
from typing import TYPE_CHECKING, Any, TextIO

from evalset.cli.exit_codes import BAD_INPUT, FAILED, NO_ANSWER, Ends
from evalset.cli.output_files import write_output
from evalset.cli.progress_line import ProgressLine, plain
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


def add_sessions(commands: Any) -> None:
    """Add the command `sessions` to those of the program."""
    sessions = commands.add_parser(
        "sessions",
        help="list the stored sessions",
        description="List the stored sessions, the last changed first.",
        epilog="Exit codes: 0 done; 1 no session found; 2 bad input.",
        allow_abbrev=False,
    )
    _add_store(sessions)
    sessions.add_argument(
        "--search", default="", metavar="WORDS", help="only sessions that contain all of these words"
    )
    sessions.add_argument(
        "--archived", action="store_true", help="list archived sessions instead of the others"
    )
    sessions.add_argument("--json", action="store_true", help="write one JSON object for each session")
    sessions.set_defaults(work=list_sessions)


def add_script(commands: Any) -> None:
    """Add the command `script` to those of the program."""
    script = commands.add_parser(
        "script",
        help="write a session as a script",
        description="Write a recorded session as a script, which you can change and play again with 'run'.",
        epilog="Exit codes: 0 done; 2 bad input; 3 the session contains something that a script cannot express.",
        allow_abbrev=False,
    )
    script.add_argument(
        "session",
        metavar="SESSION",
        help="the id of a stored session, or its first characters; or the file of an exported session",
    )
    _add_store(script)
    script.add_argument(
        "--out", type=Path, metavar="FILE", help="the file to write (default: standard output)"
    )
    script.add_argument(
        "--agent",
        choices=("moves", "model"),
        default="moves",
        help="write the agent's moves into the script (`moves`, default), or let its model respond again (`model`)",
    )
    script.add_argument(
        "--form", choices=("yaml", "json"), default="yaml", help="YAML with comments, or JSON"
    )
    script.add_argument("--name", default="", help="a description of the script")
    script.set_defaults(work=make_script)


def _add_store(parser: Any) -> None:
    parser.add_argument(
        "--store",
        metavar="STORE",
        help=f"the database: a file, or a URL of SQLite or PostgreSQL (default: {STORE_VARIABLE}, otherwise the studio's own database)",
    )


def list_sessions(given: argparse.Namespace, _: TextIO, progress: ProgressLine, out: TextIO) -> None:
    """Carry the command `sessions` out.

    Raises:
        Ends: It ends otherwise than well.
    """
    with _opened(given.store) as store:
        found = _records(store, given.search, archived=given.archived)
    out.writelines((_as_json(record) if given.json else plain(_line(record))) + "\n" for record in found)
    if not found:
        progress.say("no session found")
        raise Ends(NO_ANSWER, "")


def make_script(given: argparse.Namespace, _: TextIO, progress: ProgressLine, out: TextIO) -> None:
    """Carry the command `script` out.

    Raises:
        Ends: It ends otherwise than well.
    """
    journal = _journal(given)
    try:
        from simulator.scripts import script_of  # noqa: PLC0415 - imports ADK, which the list of sessions does without

        made = script_of(journal, agent=given.agent, name=given.name)
    except ScriptError as error:
        raise Ends(FAILED, f"the session cannot be written as a script: {error}") from error
    text = write_script(made, given.form)
    if given.out is None:
        out.write(text)
        return
    try:
        write_output(given.out, text.encode(), "script")
    except OSError as error:
        raise Ends(BAD_INPUT, f"--out: {given.out}: cannot be written: {error.strerror or error}") from error
    progress.say(f"{given.out}: {len(made.turns)} turn{'' if len(made.turns) == 1 else 's'}")


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
