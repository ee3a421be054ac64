"""Lets an agent load that asks for credentials of Google Cloud while it is imported, where somebody chose so: nobody accepts these."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

VARIABLE = "GOLDEN_TRACE_PLACEHOLDER_CREDENTIALS"
_FILE, _PROJECT = "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"
_OFF = frozenset({"", "0", "false", "no", "off"})
PLACEHOLDER = "placeholder"
"""What stands for a value that lets an agent load and that nobody accepts: no key, whatever it is the value of."""


def load_with_placeholders(environ: MutableMapping[str, str] = os.environ) -> None:
    """Choose that agents find placeholder credentials from now on, in this process and those that it starts."""
    environ[VARIABLE] = "1"


def are_chosen(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether somebody chose that agents find placeholder credentials where they load with none."""
    return environ.get(VARIABLE, "").lower() not in _OFF


@contextmanager
def placeholder_credentials(environ: MutableMapping[str, str] = os.environ) -> Iterator[None]:
    """Let `google.auth.default()` find credentials and a project while the block runs; later it finds none again, so that no model seems to be in reach.

    Only where the variable `GOLDEN_TRACE_PLACEHOLDER_CREDENTIALS` is set, and nothing that is set already is replaced, but for a file of credentials that is not there.
    """
    before = environ.get(_FILE, "")
    if not are_chosen(environ) or (before and Path(before).exists()):
        yield
        return
    said = {
        "type": "authorized_user",
        "client_id": PLACEHOLDER,
        "client_secret": PLACEHOLDER,
        "refresh_token": PLACEHOLDER,
    }
    with TemporaryDirectory() as folder:
        file = Path(folder, "credentials.json")
        file.write_text(json.dumps(said))
        given = {_FILE: str(file)} | ({} if environ.get(_PROJECT) else {_PROJECT: PLACEHOLDER})
        environ.update(given)
        try:
            yield
        finally:
            for name, value in given.items():
                if environ.get(name) == value:
                    del environ[name]
            if before:
                environ[_FILE] = before
