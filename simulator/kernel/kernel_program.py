"""The program of a kernel, run by the interpreter of the agent's project.

Only the packages `simulator` and `evalset` are offered to the agent's process, found by their folder, whatever is installed there. That folder is
no place to look for anything else, so that no other module of ours stands before one of the project's. Messages go over the standard input and
output as they were; what the agent prints goes to the standard error.
"""

from __future__ import annotations

import faulthandler
import os
from pathlib import Path
from typing import BinaryIO

_OURS = """
import importlib.util, os, sys
home = sys.argv.pop(1)
class Ours:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("simulator", "evalset"):
            folder = os.path.join(home, name)
            return importlib.util.spec_from_file_location(
                name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
sys.meta_path.insert(0, Ours)
sys.path[:] = [place for place in sys.path if not place or os.path.abspath(place) != home]
"""
_PROGRAM = """
import os, signal, sys
def family(root):
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
    return found - {root, os.getpid()}
life = int(sys.argv.pop(1))
first = os.fork()
if not first:
    if os.fork():
        os._exit(0)
    os.closerange(0, life)
    os.closerange(life + 1, 4096)
    os.read(life, 1)
    left = family(os.getsid(0))
    for one in left:
        try:
            os.kill(one, signal.SIGKILL)
        except OSError:
            pass
    os.killpg(0, signal.SIGKILL)
os.close(life)
os.waitpid(first, 0)
incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
from simulator.kernel.kernel_program import begin
begin(incoming, outgoing)
"""


def command_line(python: Path, life: int) -> list[str]:
    """Return the command that starts a kernel with this interpreter.

    Beside it a process of a few lines waits until `life`, the end of a pipe to be read, says that the studio has ended in whatever way, and then kills
    the whole group: an agent that computes reads no input, and what an agent starts outlives it. It is no child of the kernel, as an agent may wait for its own children.
    """
    return [*with_ours(python, _PROGRAM), str(life)]


def with_ours(python: Path, program: str) -> list[str]:
    """Return the command that runs a program with this interpreter, to which our two packages are offered; its arguments come behind."""
    return [str(python), "-c", f"{_OURS}{program}", str(Path(__file__).resolve().parents[2])]


def begin(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Serve a studio until it ends, and then end at once, whatever of the agent is still at work."""
    # A crash in native code says where it was.
    faulthandler.enable()
    # Here and not before: without google-adk these cannot be imported, and the studio shall read why.
    from simulator.kernel.kernel_server import Server  # noqa: PLC0415 - as above
    from simulator.kernel.messages import Channel  # noqa: PLC0415 - as above

    try:
        Server(Channel(incoming, outgoing)).serve()
    finally:
        os._exit(0)
