"""Kills one server after the other while people answer and type, and compares what was shown before with what is there after.

`python -m tests.app.live.killed_servers DATABASE FOLDER KILLS SEED` prints, as JSON, what was lost, and how much was looked at.
Each server is a fork of one process that has imported what a server needs, which takes longer than all the rest.
"""

from __future__ import annotations

import asyncio
import faulthandler
import importlib
import json
import multiprocessing
import os
import re
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from time import monotonic, sleep

import httpx
from sqlalchemy import Engine, event
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import WebSocketException

from simulator import Simulation
from simulator.facts import EVERY, ToolPlayer
from simulator.journal import Journal
from simulator.kernel.kernel_program import serve_forks
from simulator.kernel.kernel_server import MOST_IMPORTED
from simulator.kernel.kernel_templates import Template
from simulator.session import Seats
from simulator.store import JournalStore
from tests.harness.forked import ForkedProgram
from tests.harness.page_client import PageClient
from tests.harness.processes import REPOSITORY, port_of, quiet_environment
from tests.harness.stepping_agent import NAME, write_stepping_agent

PLAYERS: tuple[ToolPlayer, ...] = ("person", "person", "offline")
"""Tool calls are answered by of each session: two people answer and type, and one looks on."""

MOST_DONE = 15
"""A server is killed after so many clicks and texts at most: a slow machine takes its time, and does as much."""

LONGEST_SECONDS = 1.5
"""A click takes so long at most before its server is killed in the middle of it."""

NOT_STORED = "Not everything is stored"
"""Where the page says so, the end of its server may take the last steps and texts along."""

SLOWEST_SECONDS = 0.1
"""So long each commit of a server's database takes at most: what is not waited for shows, as on a slow disk."""

_NEEDED = (
    "streamlit.web.cli",
    "app.screens.page",
    "app.screens.session_page",
    "simulator.kernel.remote_simulation",
    "app.lifespan",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "anyio._backends._asyncio",
    "starlette.middleware.sessions",
    "streamlit.web.server.starlette.starlette_agent_routes",
    "streamlit.components.v2.manifest_scanner",
    "streamlit.emojis",
    "streamlit.material_icon_names",
    "sqlalchemy.dialects.sqlite.aiosqlite",
    "pandas",
    *MOST_IMPORTED,
)
_PATIENCE = 60.0
_STEP = re.compile(r"\b(\d+) steps? in the timeline")
_LINE_LOST = (WebSocketException, OSError)


class LostError(AssertionError):
    """Something that was shown before is not there any more; the text says what."""


@dataclass
class Report:
    """What all kills came to; `seen` counts what was compared."""

    lost: list[str] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=lambda: {"steps": 0, "drafts": 0})
    kills: int = 0


class Person(PageClient):
    """One session's only visitor, who remembers beyond the end of a server what they saw.

    Args:
        session_id: Whose page it looks at.
        random: What it does next.
    """

    def __init__(self, session_id: str, random: Random) -> None:
        super().__init__("", f"session={session_id}")
        self.session_id, self._random = session_id, random
        self.news = asyncio.Event()
        self.most = self.before = 0
        """The number of steps that were shown: by this server, and by the one before."""
        self.typed: dict[str, list[str]] = {}
        """What may stand in each input: what stood there when a page was last drawn to its end, and what was typed since."""
        self.next_message: list[str] = []
        """What may stand in the next message: typed while the turn went on, which leaves no input for it until it ends."""
        self.lost: list[str] = []
        self._texts_typed = self._typed_at = self.done = 0
        self._is_warned = False

    async def _hear(self, fragment: str) -> None:
        await super()._hear(fragment)
        self._is_warned = any(text.startswith(NOT_STORED) for text in self.texts)

    def _note(self, said: ForwardMsg) -> None:
        super()._note(said)
        self._is_warned |= any(text.startswith(NOT_STORED) for text in self.texts[-1:])
        counted = max((int(each) for text in self.texts[-1:] for each in _STEP.findall(text)), default=0)
        if counted > self.most:
            self.most = counted
            self.news.set()

    async def come_back(self, url: str, report: Report) -> None:
        """Open the page on another server, and compare."""
        self._at(url)
        await self.open()
        await self.run()
        end = monotonic() + _PATIENCE
        # The session is being brought back, or its agent is at work.
        while not self._rests and monotonic() < end:
            await self.run()
        if not self._rests:
            report.lost.append(
                f"session {self.session_id} is not back after {_PATIENCE:g} s: {self.texts[-9:]}"
            )
        else:
            self.lost += [*self._lost_steps(), *self._lost_texts(report)]
            self._look_for_next_message()
        report.lost += [f"session {self.session_id}: {each}" for each in self.lost]
        report.seen["steps"] += self.before
        self.typed = {}

    @property
    def _rests(self) -> bool:
        return self._count >= 0 and bool(self.key("response_") or self.key("query_send"))

    @property
    def _count(self) -> int:
        return max((int(each) for text in self.texts for each in _STEP.findall(text)), default=-1)

    def _lost_steps(self) -> list[str]:
        if self._count < self.before:
            return [f"{self.before} steps were shown, and {self._count} are there"]
        return []

    def _lost_texts(self, report: Report) -> list[str]:
        lost = []
        for name, texts in self.typed.items():
            if (
                self._count > self._typed_at
            ):  # it was sent, and the server was gone before its page was drawn to the end
                continue
            report.seen["drafts"] += 1
            if name.startswith("query_text") and not self.key("query_text"):
                self.next_message = texts
                continue
            is_aside = any(text and text in shown.replace("\\", "") for text in texts for shown in self.texts)
            if (found := self.inputs.get(name)) not in texts and not is_aside:
                lost.append(
                    f"{texts!r} was typed in {name} at step {self._typed_at}, and {found!r} is there at step {self._count}; "
                    f"the page has {sorted(self.inputs)} and says {self.texts[-9:]}"
                )
        return lost

    def _look_for_next_message(self) -> None:
        """Compare what was typed for the next message, once that has an input."""
        name = self.key("query_text")
        if self.next_message and name:
            if (found := self.inputs[name]) not in self.next_message:
                self.lost.append(
                    f"{self.next_message!r} was typed for the next message, and {found!r} is there"
                )
            self.next_message = []

    def _at(self, url: str) -> None:
        self.before, self.most, self.inputs = 0 if self._is_warned else self.most, 0, {}
        self.news = asyncio.Event()
        self.go_to(url)

    async def live(self) -> None:
        """Answer and type until the server is gone."""
        while True:
            await self._act()

    async def _act(self) -> None:
        if self.key("response_"):
            name = self.key("response_")
            if self._random.random() < 0.6:
                await self._type(name)
            else:
                await self._send("accept_")
        elif self.key("query_send"):
            self._look_for_next_message()
            await self._type(self.key("query_text"))
            if self._random.random() < 0.5:
                await self._type(self.key("query_text"))
            steps = self._random.randint(2, 12)
            await self._type(self.key("query_text"), f"go {steps}")
            await self._send("query_send")
        else:
            await self.run()

    async def _send(self, button: str) -> None:
        """Click a button, if the page that was drawn last still has it."""
        if self.key(button):
            await self.click(button)
            self.typed.clear()
            self.done += 1
        else:
            await self.run()

    async def _type(self, name: str, text: str = "") -> None:
        if not name:  # the page that was drawn last has no such input any more
            await self.run()
            return
        self._texts_typed += 1
        self._typed_at = self.most
        text = text or json.dumps({"typed": self._texts_typed, "by": self.session_id})
        self.typed.setdefault(name, [self.inputs.get(name, "")]).append(text)
        await self.type(name, text)
        if self._is_warned:
            del self.typed[name]
        else:
            self.typed[name] = [text]
        self.done += 1
        self.news.set()


def fork_template() -> None:
    """Fork what forks this server's kernels, while there is one thread: it needs to import nothing, as a program would."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def serve() -> None:
        ours.close()
        os.setsid()
        _, (number,), _, _ = socket.recv_fds(its, 1, 1)
        serve_forks(number)

    process = multiprocessing.get_context("fork").Process(target=serve)
    process.start()
    its.close()

    def started(_: Template, __: Path, number: int) -> ForkedProgram:
        socket.send_fds(ours, [b"."], [number])
        return ForkedProgram(process)

    Template._started = started  # type: ignore[method-assign, assignment] # in this server alone


def start_server(database: str, agents: Path, log: Path) -> int:
    """Start a server as a fork; return its process."""
    if process := os.fork():
        return process
    os.setsid()
    os.chdir(REPOSITORY)
    os.environ.clear()
    os.environ.update(quiet_environment(GOLDEN_TRACE_STORE=database))
    written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(written, stream)
    faulthandler.dump_traceback_later(_PATIENCE - 5)  # where it hangs stands in its log, if it still does
    fork_template()
    event.listen(Engine, "commit", lambda _: sleep(Random().uniform(0, SLOWEST_SECONDS)))  # noqa: S311 - a slow disk
    options = ["--server.port", "0", "--server.headless", "true", "--", "--agents-dir", str(agents)]
    sys.argv = ["streamlit", "run", "app", *options]
    from streamlit.web.cli import main  # noqa: PLC0415 - only a server's process needs it

    main()
    os._exit(0)


def wait_for(process: int, log: Path) -> str:
    """Wait until a server answers; return where."""
    end = monotonic() + _PATIENCE
    with httpx.Client(timeout=5, trust_env=False) as client:
        while monotonic() < end:
            url = f"http://localhost:{port_of(process)}"
            with suppress(httpx.TransportError):
                if client.get(f"{url}/_stcore/health").status_code == httpx.codes.OK:
                    return url
            sleep(0.02)
    raise LostError(f"no server answers\n{log.read_text(errors='replace')[-3000:]}")


async def _news_of_one(people: list[Person]) -> None:
    """Wait until one of them has done or was shown something."""
    waits = [asyncio.create_task(person.news.wait()) for person in people]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()


async def until_killed(people: list[Person], kill: Callable[[], None], random: Random) -> None:
    """Let all act, and kill their server: in the middle of something, or as soon as one of them has been shown something new."""
    until = sum(person.done for person in people) + random.randint(0, MOST_DONE)
    tasks = [asyncio.create_task(person.live()) for person in people]
    while sum(person.done for person in people) < until and not any(task.done() for task in tasks):
        for person in people:
            person.news.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(_news_of_one(people), LONGEST_SECONDS)
    if random.random() < 0.7:
        one = random.choice(people)
        one.news.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(one.news.wait(), LONGEST_SECONDS)
    else:
        await asyncio.sleep(random.uniform(0, LONGEST_SECONDS))
    kill()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if not isinstance(ended, (*_LINE_LOST, AssertionError)) or (
            isinstance(ended, AssertionError) and "closed the line" not in str(ended)
        ):
            raise LostError(f"{type(ended).__name__}: {ended}")


def in_a_fork(work: Callable[[], list[str]], answer: Path) -> list[str]:
    """Do something whose threads must not be here when a server is forked."""
    if process := os.fork():
        os.waitpid(process, 0)
        found: list[str] = json.loads(answer.read_text(encoding="utf-8"))
        return found
    answer.write_text(json.dumps(work()), encoding="utf-8")
    os._exit(0)


def sessions(database: str, folder: Path) -> list[str]:
    """Keep a new session for each visitor; return their ids."""
    config = write_stepping_agent(folder / "agents", remembers=False)
    store = JournalStore.open(database)

    def keep(journal: Journal) -> Journal:
        return store.begin(journal, owner="local", agent_key=NAME)

    made = []
    for player in PLAYERS:
        with Simulation.open(config, seats=Seats(tools={EVERY: player}), keep=keep) as simulation:
            made.append(simulation.session.session_id)
    store.close()
    return made


def killed(database: str, folder: Path, kills: int, seed: str) -> Report:
    """Kill so many servers."""
    for name in _NEEDED:
        importlib.import_module(name)
    random, report = Random(seed), Report()  # noqa: S311 - to act by chance, not to keep a secret
    names = in_a_fork(lambda: sessions(database, folder), folder / "sessions.json")
    people = [Person(name, Random(f"{seed} {name}")) for name in names]  # noqa: S311 - as above
    for number in range(kills + 1):
        log = folder / f"server-{number}.log"
        process = start_server(database, folder / "agents", log)

        def kill(process: int = process) -> None:
            os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)

        async def round_(url: str, kill: Callable[[], None] = kill, number: int = number) -> None:
            await asyncio.gather(*(person.come_back(url, report) for person in people))
            if number < kills:
                await until_killed(people, kill, random)
            else:
                kill()

        try:
            asyncio.run(round_(wait_for(process, log)))
        except BaseException:
            print(log.read_text(errors="replace")[-3000:], file=sys.stderr)  # noqa: T201 - for whoever reads the failure
            with suppress(ProcessLookupError, ChildProcessError):
                kill()
            raise
        report.kills += number < kills
        if report.lost:
            print(log.read_text(errors="replace")[-9000:], file=sys.stderr)  # noqa: T201 - as above
            break
    return report


if __name__ == "__main__":
    told = killed(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    print(json.dumps(asdict(told)))  # noqa: T201 - what it is run for
