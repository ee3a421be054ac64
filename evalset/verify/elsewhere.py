"""Verifies the cases of an agent whose code runs in kernels: there, in the agent's own environment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from evalset.verify.criteria import Criteria
from evalset.verify.errors import VerifyError
from evalset.verify.results import Verification
from evalset.verify.written import WrittenCase
from simulator.agent_config import SimulatedAgentConfig
from simulator.jsonvalue import JsonObject
from simulator.kernel.config import KernelAgentConfig
from simulator.kernel.process import KernelError, RefusedError

_PATHS = ("path", "environment")
_ASKED: TypeAdapter[Criteria | None] = TypeAdapter(Criteria | None)


def verify_in_kernel(
    config: KernelAgentConfig, arguments: dict[str, Any], stop: threading.Event | None
) -> Verification:
    """Have `verify` run in a kernel of the agent; arguments as for it.

    Raises:
        VerifyError: As `verify`; or the kernel cannot be started, has ended, or was stopped.
    """
    criteria = _ASKED.dump_python(arguments.pop("criteria", None), mode="json")
    found = _run(config, "verify_here", {**_plain(arguments), "criteria": criteria}, stop)
    return Verification.model_validate(found)


def replay_written_in_kernel(config: KernelAgentConfig, arguments: dict[str, Any]) -> WrittenCase:
    """Have `replay_written` run in a kernel of the agent; arguments as for it.

    Raises:
        VerifyError: As `replay_written`; or the kernel cannot be started or has ended.
    """
    return WrittenCase.model_validate(_run(config, "replay_written_here", _plain(arguments), None))


def _run(
    config: KernelAgentConfig, function: str, arguments: JsonObject, stop: threading.Event | None
) -> Any:
    stopped: Callable[[], bool] = stop.is_set if stop is not None else lambda: False
    try:
        return config.kernels.run(function, arguments, stopped=stopped)
    except (KernelError, RefusedError) as error:
        raise VerifyError(str(error)) from error


def _plain(arguments: dict[str, Any]) -> JsonObject:
    """Write paths absolutely, as a kernel works in the agent's project, and collections as lists."""
    written: JsonObject = {}
    for name, value in arguments.items():
        if name in _PATHS:
            written[name] = None if value is None else str(Path(value).absolute())
        else:
            written[name] = list(value) if isinstance(value, (tuple, set, frozenset)) else value
    return written


# ---------------------------------------------------------------- in the kernel


def verify_here(config: SimulatedAgentConfig, **arguments: Any) -> Any:
    """Verify with the agent that this process has loaded."""
    from evalset.verify.verifying import verify  # noqa: PLC0415 - which asks for this module

    criteria = _ASKED.validate_python(arguments.pop("criteria"))
    return verify(**arguments, agent=config, criteria=criteria).model_dump(mode="json")


def replay_written_here(config: SimulatedAgentConfig, **arguments: Any) -> Any:
    """Replay a case that was just written, with the agent that this process has loaded."""
    from evalset.verify.written import replay_written  # noqa: PLC0415 - which asks for this module

    return replay_written(**arguments, agent=config).model_dump(mode="json")
