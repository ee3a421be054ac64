"""Lets eight processes write, edit, mend, migrate and read one eval set and its environment, and kills one after the other.

`python -m tests.evalset.editing.eight_processes SET SECONDS` prints what they said was done, as JSON.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from random import Random

from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset import EvalSetWriter
from evalset.doctor import Changes, Migration, SetArgument, examine, mend, migrate
from evalset.editing.case_edits import SetText
from evalset.editing.opened_set import open_set
from evalset.editing.set_saving import ChangedOnDiskError, save
from evalset.editing.set_work import SetWork
from evalset.editing.sidecars import open_beside
from evalset.recorded.recording import Author, RecordedCall, RecordedCase, RecordedTurn
from evalset.recorded.recording_files import put_cases, read_environment, sidecar_of
from simulator.facts import Returned
from tests.evalset.files.examples import a_case

Say = Callable[..., None]
Work = Callable[[Path, int, Say], Iterator[None]]

PATIENCE = 120.0
KINDS = (b'["case"', b'["text"', b'["mended"', b'["step"', b'["read"')
LIFE = 1_000_000
"""What a process of its slot numbers begins above those of the one before it."""


def recorded() -> RecordedCase:
    """Make the recorded environment of a case."""
    call = RecordedCall(
        id="call-0", tool="find_order", arguments={"order_id": "A-0"}, outcome=Returned(value=1), author=Author(source="written")
    )  # fmt: skip
    return RecordedCase(
        agent="desk", app_name="order_desk", turns=(RecordedTurn(query={"role": "user"}, calls=(call,)),)
    )


def write(path: Path, life: int, say: Say) -> Iterator[None]:
    """Append cases, each with its environment; in half of them a role is missing."""
    for number in count():
        case = a_case(f"life {life} {number}")
        if number % 2 and case.conversation:
            case.conversation[0].user_content.role = None
        EvalSetWriter(path, "Order Desk", lock_timeout=PATIENCE).write_eval_case(case)
        put_cases(sidecar_of(path), {case.eval_id: recorded()})
        say("case", case.eval_id)
        yield


def edit(path: Path, life: int, say: Say, key: str = "") -> Iterator[None]:
    """Change what the agent says in a case, as the editor does; open it anew where somebody else was faster."""
    for number in count(life * LIFE):
        while True:
            opened = open_set(path)
            work = SetWork(opened, open_beside(opened.path))
            work.apply(SetText(case=key, where=("conversation", 0, "final_response"), text=str(number)))
            try:
                save(work)
                break
            except ChangedOnDiskError:
                continue
        say("text", key, number)
        yield


def mend_it(path: Path, life: int, say: Say) -> Iterator[None]:
    """Mend what the writers left."""
    while True:
        done = mend([path])
        clear_away(done)
        say("mended", life, len(done.files))
        yield


def migrate_it(path: Path, life: int, say: Say) -> Iterator[None]:
    """Set an argument of each call in both files."""
    for number in count(life * LIFE):
        step = SetArgument(tool="find_order", name="step", value=number)
        clear_away(migrate([path], Migration(given=(step,))))
        say("step", number)
        yield


def clear_away(done: Changes) -> None:
    """Take away the copies, which would be thousands; what could not be written is an error."""
    assert done.problems == (), done.problems
    for copy in done.copies:
        copy.unlink()


def read_it(path: Path, life: int, say: Say) -> Iterator[None]:
    """Read both files in every way; each must be whole at any time."""
    while True:
        cases = load_eval_set_from_file(str(path), "set").eval_cases
        environment = read_environment(sidecar_of(path))
        examination = examine([path])
        assert examination.unreadable == ()
        errors = [each for each in examination.findings if each.severity == "error"]
        assert errors == [], errors
        say("read", life, len(cases), len(environment.cases))
        yield


def editing(key: str) -> Work:
    """Make the work of somebody who edits one case."""
    return lambda path, life, say: edit(path, life, say, key)


EDITED = ("base 0", "base 1")
SLOTS: Sequence[Work] = (write, write, *map(editing, EDITED), mend_it, migrate_it, read_it, read_it)


def begin(path: Path) -> None:
    """Make the files."""
    for number in range(10):
        EvalSetWriter(path, "Order Desk").write_eval_case(a_case(f"base {number}"))
    put_cases(sidecar_of(path), {f"base {number}": recorded() for number in range(10)})


def child(work: Work, path: Path, life: int, pipe: int) -> int:
    """Start a process that works until it is killed; what it did it says in lines of JSON."""
    process = os.fork()
    if process:
        return process

    def say(*words: object) -> None:
        os.write(pipe, json.dumps(words).encode() + b"\n")

    try:
        for _ in work(path, life, say):
            pass
    except BaseException:  # noqa: BLE001 - whatever it is, the parent has to hear of it
        say("failed", traceback.format_exc()[-3000:])
    finally:
        os._exit(1)


def run(path: Path, seconds: float, moments: Random) -> list[list[object]]:
    """Let them work for a time, and on until each kind of work was done once; kill one at a time; return what they said."""
    reads, writes = os.pipe()
    os.set_blocking(reads, False)
    lives = count(1)
    alive = {slot: child(work, path, next(lives), writes) for slot, work in enumerate(SLOTS)}
    heard = bytearray()
    end = time.monotonic() + seconds
    kills = 0
    with selectors.DefaultSelector() as selector:
        selector.register(reads, selectors.EVENT_READ)
        next_kill = time.monotonic() + moments.uniform(0.1, 0.6)
        while (now := time.monotonic()) < end or (
            now < end + PATIENCE and not all(word in heard for word in KINDS)
        ):
            if selector.select(max(0.0, next_kill - time.monotonic())):
                heard += os.read(reads, 1 << 16)
            if time.monotonic() >= next_kill:
                slot = moments.randrange(len(SLOTS))
                kill(alive[slot])
                kills += 1
                alive[slot] = child(SLOTS[slot], path, next(lives), writes)
                next_kill = time.monotonic() + moments.uniform(0.1, 0.6)
    for process in alive.values():
        kill(process)
    os.close(writes)
    while piece := os.read(reads, 1 << 16):
        heard += piece
    return [*(json.loads(line) for line in heard.splitlines()), ["kills", kills]]


def kill(process: int) -> None:
    """Kill a process at once."""
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    place = Path(sys.argv[1])
    begin(place)
    print(json.dumps(run(place, float(sys.argv[2]), Random(7))))  # noqa: T201, S311 - the test reads it; no secret
