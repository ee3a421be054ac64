"""Gives a process that replays a network of its own, in which it reaches no other machine: below Python neither.

What connects without Python's sockets (gRPC, UDP, child processes, threads that nobody knows) cannot be refused in Python. So the process enters
a Linux network namespace before it loads an agent. Every address is its own there, so that a connection is refused at once, and a packet
socket takes down which ones were tried. The loopback interface is its own too: what the agent starts itself, such as an MCP server, is reached there.

What Python's guard (`outside_work`) lets through goes to the machine's network by a broker: a process of a few lines outside of the
namespace, which makes sockets and looks up names. Sockets of files (`AF_UNIX`) are those of the machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import ipaddress
import json
import os
import socket
import struct
import sys
import threading
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simulator.base.frozen_value import Value

ASKED_FOR = "GOLDEN_TRACE_PRIVATE_NETWORK"
"""Set in the environment of a kernel that is to have a network of its own."""
_SHARED = "the process of the replay shared the network of the machine"
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_MOST_BYTES = 1 << 16
_DNS = 53


class NetworkNeededError(RuntimeError):
    """What is asked for needs the machine's network, and this process has one of its own."""


REAL_MODELS = "the agent's own models could be asked, so the network was open"
"""Why nothing was checked where the agents' own models stand for themselves, whether they answered or not."""


class NetworkUse(Value):
    """What a replay without anything real tried to reach.

    Attributes:
        refused: The hosts that were refused, each as far as it is known: a name, or an address with its port.
        not_checked: Why code below Python (gRPC, UDP, child processes) could reach other machines; empty where it could not.
    """

    refused: tuple[str, ...] = ()
    not_checked: str = ""

    @property
    def sentence(self) -> str:
        """What is told of it, in a line; empty where nothing was tried and all was refused."""
        refused = f"refused {', '.join(self.refused)}" if self.refused else ""
        unchecked = f"not checked: {self.not_checked}" if self.not_checked else ""
        told = ". ".join(filter(None, (refused, unchecked)))
        return f"network: {told}" if told else ""


def used_together(uses: Iterable[NetworkUse | None]) -> NetworkUse | None:
    """Put together what several parts of a replay tried; None where there is none."""
    found = [use for use in uses if use is not None]
    if not found:
        return None
    return NetworkUse(
        refused=tuple(dict.fromkeys(host for use in found for host in use.refused)),
        not_checked="; ".join(dict.fromkeys(use.not_checked for use in found if use.not_checked)),
    )


class PrivateNetwork:
    """The network of this process alone. Threads may use it at once.

    Args:
        broker: What makes sockets and looks up names outside of it.
    """

    def __init__(self, broker: socket.socket) -> None:
        self._broker, self._process = broker, os.getpid()
        self._lock = threading.Lock()
        self._led: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._noted: dict[str, None] = {}
        self._packets = _packet_socket()

    def note(self, host: str) -> None:
        """Note a host that Python's guard refused."""
        self._noted[host] = None

    def refused(self) -> tuple[str, ...]:
        """Return the hosts that were refused since the last time."""
        with self._lock:
            found, self._noted = self._noted, {}
            with contextlib.suppress(BlockingIOError):
                while packet := self._packets.recv(_MOST_BYTES):
                    found |= dict.fromkeys(_tried(packet))
            lost = struct.unpack("II", self._packets.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))[1]
        return (*found, *([f"{lost} more that were not noted"] if lost else ()))

    def lead_out(self, made: socket.socket, address: Any, *, is_here: bool) -> None:
        """Let a socket that is about to connect be one of the machine's network, unless something in here serves the address.

        Raises:
            OSError: It cannot be made.
        """
        if made in self._led or os.getpid() != self._process or (is_here and _is_served(made, address[1])):
            return
        _, ends = self._asked({"socket": [made.family, made.type, made.proto]})
        outside = ends[0]
        os.set_blocking(outside, made.gettimeout() is None)
        os.dup2(outside, made.fileno(), inheritable=False)
        os.close(outside)
        self._led.add(made)

    def lookup(self, *asked: Any) -> list[tuple[Any, ...]]:
        """Look up a name as `socket.getaddrinfo` does, in the machine's network.

        Raises:
            socket.gaierror: It is not known.
        """
        found, _ = self._asked({"lookup": asked})
        return [
            (socket.AddressFamily(family), socket.SocketKind(kind), proto, name, tuple(address))
            for family, kind, proto, name, address in found["found"]
        ]

    def _asked(self, asked: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        with self._lock:
            self._broker.send(json.dumps(asked, default=_as_text).encode())
            message, ends, _, _ = socket.recv_fds(self._broker, _MOST_BYTES, 1)
        if not message:
            raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))
        found: dict[str, Any] = json.loads(message)
        if "error" in found:
            raise (socket.gaierror if "lookup" in asked else OSError)(*found["error"])
        return found, ends


def _as_text(value: Any) -> Any:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)


_network: PrivateNetwork | None = None
_why_not = _SHARED


def private_network() -> PrivateNetwork | None:
    """Return the network that this process has entered; None where it is in the machine's."""
    return _network


def network_use() -> NetworkUse:
    """Return what was tried in this process since the last time, or why nobody knows."""
    if _network is None:
        return NetworkUse(not_checked=_why_not)
    return NetworkUse(refused=_network.refused())


def enter() -> None:
    """Enter a network of its own, where the system lets it; before there are threads, and before an agent is loaded.

    Threads and processes that begin later are in it too. `network_use` says where it was not permitted.
    """
    global _network, _why_not  # noqa: PLW0603 - a process has one network
    if sys.platform != "linux":
        _why_not = f"{sys.platform} has no network namespaces"
        return
    broker = None
    try:
        broker = _broker()
        _unshare()
        _be_every_address()
        _network = PrivateNetwork(broker)
    except OSError as error:
        if broker is not None:
            broker.close()
        _why_not = f"this system does not permit a network namespace ({error.strerror or error})"


def _unshare() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_NEW_NETWORK) == 0:
        return
    if libc.unshare(_NEW_USER | _NEW_NETWORK):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")


# ------------------------------------------------------------ the interface


_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41
_NEW_ROUTE, _REQUEST, _ACKNOWLEDGE, _CREATE = 24, 0x1, 0x4, 0x400
_TABLE_LOCAL, _BY_BOOT, _SCOPE_HOST, _IS_LOCAL, _OUT = 255, 3, 254, 2, 4


def _be_every_address() -> None:
    """Bring the loopback interface up, and let every address be this one's: nobody waits for a machine that never answers."""
    import fcntl  # noqa: PLC0415 - not everywhere

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh22x", b"lo", _UP_AND_RUNNING))
    for family in (socket.AF_INET, socket.AF_INET6):
        route = struct.pack("=8BI", family, 0, 0, 0, _TABLE_LOCAL, _BY_BOOT, _SCOPE_HOST, _IS_LOCAL, 0)
        body = route + struct.pack("=HHI", 8, _OUT, socket.if_nametoindex("lo"))
        head = struct.pack("=IHHII", 16 + len(body), _NEW_ROUTE, _REQUEST | _ACKNOWLEDGE | _CREATE, 1, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as routes:
            routes.send(head + body)
            routes.recv(_MOST_BYTES)  # where it was refused (no IPv6), there is no way to anywhere


def _is_served(made: socket.socket, port: int) -> bool:
    """Return whether a socket of this network takes connections, or datagrams, at a port."""
    name, states = ("udp", {"07"}) if made.type == socket.SOCK_DGRAM else ("tcp", {"0A"})
    for table in (Path("/proc/thread-self/net", name), Path("/proc/thread-self/net", f"{name}6")):
        with contextlib.suppress(OSError):  # no IPv6
            for line in table.read_text(encoding="ascii").splitlines()[1:]:
                _, local, _, state, *_ = line.split()
                if state in states and int(local.rpartition(":")[2], 16) == port:
                    return True
    return False


# ------------------------------------------------------------ what was tried


_SOL_PACKET, _PACKET_STATISTICS, _ALL_PROTOCOLS, _ATTACH_FILTER = 263, 6, 3, 26
_TCP, _UDP = 6, 17
_HEAD_4, _HEAD_6 = 20, 40
_LAST_PACKETS_KIND = 0xFFFFF004
_FILTER = (
    (0x30, 0, 0, _LAST_PACKETS_KIND),
    (0x15, 0, 15, 4),  # going out, as each packet also comes in here
    (0x30, 0, 0, 0),
    (0x54, 0, 0, 0xF0),
    (0x15, 0, 5, 0x40),  # IPv4
    (0x30, 0, 0, 9),
    (0x15, 9, 0, _UDP),
    (0x15, 0, 9, _TCP),
    (0x30, 0, 0, _HEAD_4 + 13),
    (0x05, 0, 0, 4),
    (0x30, 0, 0, 6),  # IPv6
    (0x15, 4, 0, _UDP),
    (0x15, 0, 4, _TCP),
    (0x30, 0, 0, _HEAD_6 + 13),
    (0x54, 0, 0, 0x12),
    (0x15, 0, 1, 0x02),  # begins a connection
    (0x06, 0, 0, _MOST_BYTES),
    (0x06, 0, 0, 0),
)
"""Lets through datagrams and the first packet of each connection, in the language of the kernel: code, jump if true, jump if false, value."""


def _packet_socket() -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL_PROTOCOLS))
    steps = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in _FILTER))
    made.setsockopt(
        socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HL", len(_FILTER), ctypes.addressof(steps))
    )
    made.setblocking(False)
    return made


def _tried(packet: bytes) -> list[str]:
    """Name the host that a packet was for, if that is another machine: a name that was looked up, or an address and a port."""
    is_6 = packet[0] >> 4 == 6  # noqa: PLR2004 - the version of IP
    head = _HEAD_6 if is_6 else (packet[0] & 15) * 4
    protocol = packet[6] if is_6 else packet[9]
    to = ipaddress.ip_address(packet[24:40] if is_6 else packet[16:20])
    port = int.from_bytes(packet[head + 2 : head + 4], "big")
    if protocol == _UDP and port == _DNS and (name := _name_asked(packet[head + 20 :])):
        return [f"{name} (name lookup)"]
    if to.is_loopback:
        return []
    place = f"[{to}]:{port}" if is_6 else f"{to}:{port}"
    return [f"{place} (UDP)" if protocol == _UDP else place]


def _name_asked(question: bytes) -> str:
    """Read the name out of a question of DNS, behind its head."""
    labels = []
    while question and 0 < question[0] < len(question):
        labels.append(question[1 : question[0] + 1].decode("ascii", "replace"))
        question = question[question[0] + 1 :]
    return ".".join(labels)


# ------------------------------------------------------------ the broker


def _broker() -> socket.socket:
    """Start a process that stays in the machine's network, and return the socket on which it is asked; it ends with this process.

    It is no child of this one, as an agent may wait for its own children.
    """
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    first = os.fork()
    if not first:
        try:
            if not os.fork():
                _serve(its)
        finally:
            os._exit(0)
    os.waitpid(first, 0)
    its.close()
    return ours


def _serve(its: socket.socket) -> None:
    number = its.fileno()
    nothing = os.open(os.devnull, os.O_RDWR)
    for place in range(3):
        os.dup2(nothing, place)
    os.closerange(3, number)
    os.closerange(number + 1, 1 << 12)
    while message := its.recv(_MOST_BYTES):
        asked = json.loads(message)
        try:
            if "lookup" in asked:
                its.send(json.dumps({"found": socket.getaddrinfo(*asked["lookup"])}).encode())
            else:
                with socket.socket(*asked["socket"]) as made:
                    socket.send_fds(its, [b"{}"], [made.fileno()])
        except OSError as error:
            its.send(json.dumps({"error": [error.errno, error.strerror]}).encode())
