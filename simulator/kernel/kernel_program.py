"""The program of a kernel, run by the interpreter of the agent's project.

Only the packages `simulator` and `evalset` are offered to the agent's process, found by their folder, whatever is installed there. That folder is
no place to look for anything else, so that no other module of ours stands before one of the project's; `process_setup` lets a project have
these two names as well. Messages go over the standard input and
output as they were; what the agent prints goes to the standard error.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import sysconfig
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

_OURS = """
import importlib.util, os, sys
home = sys.argv.pop(1)
class Ours:
    of_studio = {name: os.path.join(home, name) for name in ("simulator", "evalset")}
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if folder := cls.of_studio.get(name):
            return importlib.util.spec_from_file_location(
                name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
sys.meta_path.insert(0, Ours)
sys.path[:] = [place for place in sys.path if not place or os.path.abspath(place) != home]
"""
_FAMILY = """
import os, signal
def end_family(root):
    parents = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        try:
            with open(f"/proc/{name}/stat") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            pass
    found = {root}
    while (more := {child for child, parent in parents.items() if parent in found} - found):
        found |= more
    for one in found - {root, os.getpid()}:
        try:
            os.kill(one, signal.SIGKILL)
        except OSError:
            pass
"""
_GROUP = f"""
{_FAMILY}
first = os.fork()
if not first:
    if os.fork():
        os._exit(0)
    os.closerange(0, life)
    os.closerange(life + 1, 4096)
    os.read(life, 1)
    end_family(os.getsid(0))
    os.killpg(0, signal.SIGKILL)
os.close(life)
os.waitpid(first, 0)
"""
"""Needs `life` and gives `end_family`; stands as a text, as it runs before anything of ours is imported."""
_PROGRAM = f"""
import os, sys
life = int(sys.argv.pop(1))
{_GROUP}
incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
from simulator.kernel.kernel_program import begin
begin(incoming, outgoing, end_family)
"""
_TEMPLATE = """
import sys
number = int(sys.argv.pop(1))
if sys.path[:1] == [""]:
    del sys.path[0]
from simulator.kernel.kernel_program import serve_forks
serve_forks(number)
"""
_MOST_BYTES = 1 << 20
_PR_SET_CHILD_SUBREAPER = 36


def command_line(python: Path, life: int) -> list[str]:
    """Return the command that starts a kernel with this interpreter.

    Beside it a process of a few lines waits until `life`, the end of a pipe to be read, says that the studio has ended in whatever way, and then kills
    the whole group: an agent that computes reads no input, and what an agent starts outlives it. It is no child of the kernel, as an agent may wait for its own children.
    """
    return [*with_ours(python, _PROGRAM), str(life)]


def template_command(python: Path, number: int) -> list[str]:
    """Return the command that starts a template, which forks kernels on request, through the socket with this number."""
    return [*with_ours(python, _TEMPLATE), str(number)]


def with_ours(python: Path, program: str) -> list[str]:
    """Return the command that runs a program with this interpreter, to which our two packages are offered; its arguments come behind."""
    return [str(python), "-c", f"{_OURS}{program}", str(Path(__file__).resolve().parents[2])]


def begin(incoming: BinaryIO, outgoing: BinaryIO, end_family: Callable[[int], None]) -> None:
    """Serve a studio until it ends, and then end at once, whatever of the agent is still at work.

    What the agent has started ends first: once this process is gone, nobody knows whose a process in a session of its own was.
    """
    adopt_orphans()
    # A crash in native code says where it was.
    faulthandler.enable()
    # Here and not before: without google-adk these cannot be imported, and the studio shall read why.
    from simulator.kernel.kernel_server import Server  # noqa: PLC0415 - as above
    from simulator.kernel.messages import Channel  # noqa: PLC0415 - as above
    from simulator.runtime.adk.private_network import ASKED_FOR, enter  # noqa: PLC0415 - as above
    from simulator.runtime.adk.tool_guards import guard_process  # noqa: PLC0415 - as above

    if os.environ.pop(ASKED_FOR, ""):
        enter()
    guard_process()
    server = Server(Channel(incoming, outgoing))

    def serve() -> None:
        try:
            server.serve()
        finally:
            try:
                end_family(os.getpid())
            finally:
                os._exit(0)

    threading.Thread(target=serve, name="kernel-calls").start()
    server.load_forever()


def adopt_orphans() -> None:
    """Become the parent of each descendant whose own parent ends, also of a daemon in a session of its own, so that it can be found and ended.

    Only Linux can do that. A kernel is asked for it once what watches over it is no descendant any more; where a kernel itself
    ends, its template is next.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def serve_forks(number: int) -> None:
    """Import what every kernel needs, and fork kernels until the studio has ended; `kernel_templates` is the studio's side.

    A kernel is a fork of this process while it has one thread and has loaded no agent: it differs from one that was started only in what
    it has imported already.
    """
    _import_most()
    if len([*Path("/proc/self/task").iterdir()]) > 1:
        raise SystemExit("an imported module started a thread, so this process cannot be forked")
    gc.collect()
    gc.freeze()  # what a collection touches would be copied
    adopt_orphans()
    kernels = set[int]()
    studio = socket.socket(fileno=number)
    ended, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    places = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    studio.send(json.dumps({"places": places}).encode())
    while True:
        readable, _, _ = select.select([studio.fileno(), ended], [], [])
        if ended in readable:
            os.read(ended, _MOST_BYTES)
            _tell_ended(studio, kernels)
        if studio.fileno() in readable:
            kernels.add(_forked(studio, (studio.fileno(), ended, wakes)))


def _import_most() -> None:
    from simulator.environment.drafts import field_texts  # noqa: PLC0415 - as in `begin`
    from simulator.kernel.kernel_server import FOR_REPLAYS, MOST_IMPORTED  # noqa: PLC0415 - as in `begin`

    for name in MOST_IMPORTED:
        importlib.import_module(name)
    field_texts.warm_up()
    # Where what ADK needs to evaluate is not installed, who asks for a replay is told.
    with contextlib.suppress(ImportError):
        importlib.import_module(FOR_REPLAYS)


def _forked(studio: socket.socket, of_template: tuple[int, ...]) -> int:
    """Fork the kernel that the studio asks for, and tell it its process id; end where the studio has."""
    message, given, _, _ = socket.recv_fds(studio, _MOST_BYTES, 4)
    if not message:
        os._exit(0)
    forked = os.fork()
    if not forked:
        _become_kernel(json.loads(message), given, of_template)
    for one in given:
        os.close(one)
    studio.send(json.dumps({"forked": forked}).encode())
    return forked


def _tell_ended(studio: socket.socket, kernels: set[int]) -> None:
    with contextlib.suppress(ChildProcessError):  # there is none
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] in kernels:
                kernels.discard(found[0])
                code = os.waitstatus_to_exitcode(found[1])
                studio.send(json.dumps({"ended": found[0], "code": code}).encode())
    _end_orphans(kernels)


def _end_orphans(kernels: set[int]) -> None:
    """End what kernels that have ended had started; what watches over a living one is in its session."""
    scope: dict[str, Any] = {}
    exec(_FAMILY, scope)  # noqa: S102 - our own text
    with contextlib.suppress(OSError):  # a system that does not list them
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
        for one in map(int, children.split()):
            with contextlib.suppress(OSError):  # it has ended already
                if not kernels & {one, os.getsid(one)}:
                    scope["end_family"](one)
                    os.kill(one, signal.SIGKILL)


def _become_kernel(asked: dict[str, Any], given: list[int], of_template: tuple[int, ...]) -> None:
    """Do in a fork what a kernel's program does at its start, and serve the studio."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for one in of_template:
            os.close(one)
        os.setsid()
        for place, one in enumerate(given[:3]):
            os.dup2(one, place)
            os.close(one)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        time.tzset()
        sys.path.insert(0, "")
        importlib.invalidate_caches()
        scope: dict[str, Any] = {"life": given[3]}
        exec(_GROUP, scope)  # noqa: S102 - our own text, as the other program has it
        incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        begin(incoming, outgoing, scope["end_family"])
    except BaseException:  # noqa: BLE001 - nothing of it may go on as the template
        traceback.print_exc()
    finally:
        os._exit(1)
