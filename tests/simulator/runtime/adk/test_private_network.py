"""A process that is not a superuser's gets a network of its own as well, where the system lets it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from simulator.runtime.adk.private_network import NetworkUse
from tests.harness.processes import REPOSITORY

pytestmark = pytest.mark.process
_DUMPABLE = 4
"""The option of `prctl` by which a process that gave its rights up has its own files in /proc, as one that never had them."""
WORK = f"""
import ctypes, encodings.ascii, encodings.idna, fcntl, os, socket
from simulator.runtime.adk import private_network
if getattr(os, "geteuid", lambda: 1)() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    ctypes.CDLL(None).prctl({_DUMPABLE}, 1, 0, 0, 0)
private_network.enter()
if private_network.private_network() is not None:
    try:
        socket.create_connection(("192.0.2.1", 80))
    except OSError:
        pass
print(private_network.network_use().model_dump_json())
"""


def test_nobodys_process_reaches_no_other_machine_and_names_it() -> None:
    """By a namespace of users; where the system has none, that is told."""
    done = subprocess.run(
        [sys.executable, "-c", WORK], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    use = NetworkUse.model_validate_json(done.stdout)
    assert use.refused == ("192.0.2.1:80",) or "namespace" in use.not_checked
