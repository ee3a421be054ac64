"""A network in which each address is a machine that takes down who reaches it, and an agent that tries to, each time on another way.

Run as a program, with the command to run in it behind: it writes one JSON object, with what reached another machine, and what the command wrote. All addresses
are served by this one process, in a network namespace of its own. So nothing ever leaves the machine.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simulator.runtime.adk import private_network
from tests.harness.processes import REPOSITORY, completed, quiet_environment
from tests.harness.tiny_agent import write_agent

HOST, NAME, PORT = "192.0.2.1", "tools.example.com", 7001
DNS = 53

REFUSED = {
    "grpc": "{host}:{port}",
    "udp": "{host}:{port} (UDP)",
    "child": "{host}:{port}",
    "os_system": "{host}:{port}",
    "fork_and_exec": "{host}:{port}",
    "raw_thread": "{host}",
    "raw_socket": "{host}:{port}",
    "asyncio": "{host}",
    "httpx": "{host}",
    "requests": "{host}",
    "urllib3": "{host}",
    "lookup": "{name}",
    "child_lookup": "{name} (name lookup)",
}
"""The ways to another machine, each with what a verification names."""
HERE = ("loopback", "own_service")
"""The ways to what this machine, or the agent itself, serves."""
AT_IMPORT, LISTING = PORT - 1, PORT - 2
"""The ports that the agent tries to reach when it is imported, and when its tools are listed."""


def port_of(way: str) -> int:
    """Return the port that the agent tries to reach on a way: each has its own."""
    return PORT + [*REFUSED, *HERE].index(way)


AGENT = """
import asyncio, os, subprocess, sys, _thread, _socket, socket, threading
from google.adk.agents import LlmAgent
from google.adk.tools.base_toolset import BaseToolset

HOST, NAME, PORTS = {host!r}, {name!r}, {ports}
LOOKUP = f"import socket; socket.getaddrinfo({{NAME!r}}, 80)"


def code(port):
    return f"import socket; socket.create_connection(({{HOST!r}}, {{port}}), 9).close()"


def grpc(PORT):
    import grpc
    channel = grpc.insecure_channel(f"{{HOST}}:{{PORT}}")
    tried = threading.Event()
    channel.subscribe(lambda state: state.value[1] in ("ready", "transient failure") and tried.set(), try_to_connect=True)
    tried.wait(60)
    channel.close()


def udp(PORT):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hit", (HOST, PORT))


def child(PORT):
    subprocess.run([sys.executable, "-c", code(PORT)], check=False, stderr=subprocess.DEVNULL)


def child_lookup(_):
    subprocess.run([sys.executable, "-c", LOOKUP], check=False, stderr=subprocess.DEVNULL)


def os_system(PORT):
    os.system(f'{{sys.executable}} -c "{{code(PORT)}}" 2> /dev/null')


def fork_and_exec(PORT):
    if not (child := os.fork()):
        os.execv(sys.executable, [sys.executable, "-c", code(PORT)])
    os.waitpid(child, 0)


def raw_thread(PORT):
    done = threading.Event()

    def work():
        try:
            socket.create_connection((HOST, PORT), 9).close()
        except OSError:
            pass
        done.set()

    _thread.start_new_thread(work, ())
    done.wait(60)


def raw_socket(PORT):
    made = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        made.connect((HOST, PORT))
    finally:
        made.close()


def requests(PORT):
    import requests
    requests.get(f"http://{{HOST}}:{{PORT}}/", timeout=9)


def urllib3(PORT):
    import urllib3
    urllib3.PoolManager(retries=False, timeout=9).request("GET", f"http://{{HOST}}:{{PORT}}/")


def httpx(PORT):
    import httpx
    httpx.get(f"http://{{HOST}}:{{PORT}}/", timeout=9, trust_env=False)


def lookup(_):
    socket.getaddrinfo(NAME, 80)


def loopback(PORT):
    socket.create_connection(("127.0.0.1", PORT), 9).close()


def own_service(_):
    with socket.create_server(("127.0.0.1", 0)) as served:
        socket.create_connection(served.getsockname(), 9).close()
        served.accept()[0].close()


async def go(callback_context):
    way = callback_context.user_content.parts[0].text
    try:
        if way == "asyncio":
            _, writer = await asyncio.open_connection(HOST, PORTS[way])
            writer.close()
        else:
            globals()[way](PORTS[way])
    except Exception:
        if way in {here}:
            raise
        # as much code does


class Listed(BaseToolset):
    async def get_tools(self, readonly_context=None):
        _, writer = await asyncio.open_connection(HOST, PORTS["listing"])
        writer.close()
        return []

    async def close(self):
        pass


child(PORTS["import"])
root_agent = LlmAgent(name="clerk", model="gemini-2.5-flash", before_agent_callback=go, tools=[Listed()])
"""


def write_project(folder: Path, ways: Sequence[str]) -> Path:
    """Write an agent that tries to reach another machine, with a case for each way and its recording; return the eval set."""
    ports = {"import": AT_IMPORT, "listing": LISTING, **{way: port_of(way) for way in (*REFUSED, *HERE)}}
    home = write_agent(folder / "clerk", AGENT.format(host=HOST, name=NAME, ports=ports, here=HERE))
    eval_set = home / "reach.evalset.json"
    cases, recorded = zip(*map(_case, ways), strict=True)
    eval_set.write_text(json.dumps({"eval_set_id": "reach", "eval_cases": cases}))
    head = {"format": "golden-trace-studio/environment", "version": 1}
    written = {**head, "cases": dict(zip(ways, recorded, strict=True))}
    (home / "reach.environment.json").write_text(json.dumps(written))
    return eval_set


def _case(way: str) -> tuple[dict[str, Any], dict[str, Any]]:
    def content(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "parts": [{"text": text}]}

    invocation = {
        "invocation_id": "one",
        "user_content": content("user", way),
        "final_response": content("model", "done"),
        "intermediate_data": {"tool_uses": [], "tool_responses": [], "intermediate_responses": []},
    }
    given = {"app_name": "clerk", "user_id": "user", "state": {}}
    model = {
        "agent": "clerk",
        "responses": [{"content": content("model", "done")}],
        "author": {"source": "model"},
    }
    turn = {"query": content("user", way), "calls": [], "models": [model]}
    return (
        {"eval_id": way, "conversation": [invocation], "session_input": given},
        {"agent": "clerk", "app_name": "clerk", "turns": [turn]},
    )


def _listening(kind: socket.SocketKind, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("0.0.0.0", port))  # noqa: S104 - in a network of its own
    if kind == socket.SOCK_STREAM:
        made.listen()
    return made


def _take_down(found: list[int], ended: socket.socket) -> None:
    made: Any
    with selectors.DefaultSelector() as waiting:
        every = [AT_IMPORT, LISTING, *map(port_of, (*REFUSED, *HERE))]
        streams = [_listening(socket.SOCK_STREAM, port) for port in every]
        for made in (*streams, *(_listening(socket.SOCK_DGRAM, port) for port in (*every, DNS))):
            waiting.register(made, selectors.EVENT_READ)
        waiting.register(ended, selectors.EVENT_READ)
        ended.send(b"ready")
        while True:
            for key, _ in waiting.select():
                made = key.fileobj
                if made is ended:
                    return
                if made.type == socket.SOCK_STREAM:
                    made.accept()[0].close()
                    found.append(made.getsockname()[1])
                else:
                    _, sender = made.recvfrom(1 << 16)
                    found.append(made.getsockname()[1])
                    if made.getsockname()[1] == DNS:
                        made.sendto(b"", sender)


def run_among(command: Sequence[str | Path], folder: Path | None = None) -> dict[str, Any]:
    """Run a command among the other machines.

    Returns:
        `reached`: the ports of theirs that something reached; `code`, `output` and `errors` of the command.
    """
    variables = quiet_environment(PYTHONPATH=str(REPOSITORY))
    done = completed(sys.executable, "-m", __name__, *command, folder=folder, environment=variables)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def can_part_networks() -> bool:
    """Return whether this system lets a process have a network of its own."""
    asked = "from simulator.runtime.adk import private_network as one; one.enter(); print(one.network_use().not_checked)"
    return completed(sys.executable, "-c", asked).stdout == "\n"


def main(command: list[str]) -> None:
    """Run a command among machines that listen, and write what reached them."""
    private_network._unshare()
    private_network._be_every_address()
    found: list[int] = []
    ours, its = socket.socketpair()
    taking = threading.Thread(target=_take_down, args=(found, its))
    taking.start()
    ours.recv(5)
    done = completed(*command)
    ours.send(b"end")
    taking.join()
    told = {
        "reached": sorted(set(found)),
        "code": done.returncode,
        "output": done.stdout,
        "errors": done.stderr,
    }
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1:])
