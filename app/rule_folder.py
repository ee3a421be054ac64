"""Says in which folder this server keeps its named sets of rules."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from simulator.agents import AgentSettingsError, settings_from
from simulator.rule_set_folder import RuleSetFolder

RULES_VARIABLE = "GOLDEN_TRACE_RULES_DIR"
"""Names the folder, in place of the usual one."""

_NAME = "rule_sets"


def rule_set_folder() -> RuleSetFolder:
    """Give the folder of this process; all its agents share it."""
    return RuleSetFolder(folder_for(sys.argv[1:], os.environ))


def folder_for(argv: Sequence[str], environ: Mapping[str, str]) -> Path:
    """Choose the folder: the one that the environment names, else one beside the agents folder, else one of the user's state.

    Args:
        argv: The arguments of the server, as `settings_from` takes them.
        environ: The environment; `GOLDEN_TRACE_RULES_DIR` and `XDG_STATE_HOME` are read, an empty one is none.
    """
    if named := environ.get(RULES_VARIABLE, "").strip():
        return Path(named).expanduser().absolute()
    try:
        agents = settings_from(argv, environ).agents_dir
    except AgentSettingsError:  # the start page says so
        agents = None
    if agents is not None:
        return agents.expanduser().absolute().parent / _NAME
    state = environ.get("XDG_STATE_HOME", "").strip() or "~/.local/state"
    return Path(state).expanduser().absolute() / "golden-trace-studio" / _NAME
