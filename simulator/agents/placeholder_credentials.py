"""Lets an agent load that asks for a variable or an account while it is imported, which this machine does not have, where somebody chose so: nobody accepts what it finds.

Only an agent that failed to load finds them, in another try: one that loads without has a way of its own then, and with them it might be another agent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

VARIABLE = "GOLDEN_TRACE_PLACEHOLDER_CREDENTIALS"
ACCOUNT, _PROJECT = "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"
_OFF = frozenset({"", "0", "false", "no", "off"})
PLACEHOLDER = "placeholder"
"""What stands for a value that lets an agent load and that nobody accepts: no key, whatever it is the value of."""


def load_with_placeholders(environ: MutableMapping[str, str] = os.environ) -> None:
    """Choose that agents find placeholders from now on, in this process and those that it starts."""
    environ[VARIABLE] = "1"


def are_chosen(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether somebody chose that an agent finds placeholders where it does not load without."""
    return environ.get(VARIABLE, "").lower() not in _OFF


@contextmanager
def placeholders(names: Sequence[str], environ: MutableMapping[str, str] = os.environ) -> Iterator[None]:
    """Let variables be set while the block runs that are not; later they are as before, so that no model seems to be in reach.

    `GOOGLE_APPLICATION_CREDENTIALS` names a file with which `google.auth.default()` finds credentials, and comes with a project.
    """
    before = dict(environ)
    with TemporaryDirectory() as folder:
        for name in names:
            environ[name] = _account(Path(folder)) if name == ACCOUNT else PLACEHOLDER
        if ACCOUNT in names and not environ.get(_PROJECT):
            environ[_PROJECT] = PLACEHOLDER
        given = {name: environ[name] for name in (*names, _PROJECT) if environ.get(name) != before.get(name)}
        try:
            yield
        finally:
            for name, value in given.items():
                if environ.get(name) == value:
                    environ.pop(name)
                    environ.update({name: before[name]} if name in before else {})


def _account(folder: Path) -> str:
    file = folder / "credentials.json"
    secrets = ("client_id", "client_secret", "refresh_token")
    file.write_text(json.dumps({"type": "authorized_user", **dict.fromkeys(secrets, PLACEHOLDER)}))
    return str(file)


def placeholder_words(names: Sequence[str]) -> str:
    """Say in a sentence with which placeholders an agent was loaded; empty where with none."""
    if not names:
        return ""
    return f"The agent asks for {', '.join(names)} when it loads. This is not set, so it was loaded with a placeholder."
