"""Opens the recorded environment beside an eval set as it is: which cases are recorded, and what people noted of them."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import SchemaValidator, core_schema

from evalset.editing.opened_set import identity_at
from evalset.files.json_streams import JsonStream, Span
from evalset.files.outline_cache import Identity
from evalset.recorded.recording import CaseNote, RecordedCase
from evalset.recorded.recording_files import (
    RecordedEnvironmentError,
    environment_text,
    holds_recording,
    parsed,
    read_environment,
    sidecar_of,
)
from simulator.base.documents import read_file
from simulator.base.json_text import JsonTextError
from simulator.base.validation_words import first_of

_LARGE = 4 << 20
"""Of a file of more bytes a case is checked when it is asked for, and not before."""


class RecordingSidecar:
    """The recording beside an eval set. Immutable; a case is read on first use.

    Args:
        path: The sidecar file.
        text: Its content; None where there is none.
        identity: Which state of the file that is.
        trouble: Why it cannot be used; empty where it can, or is not there.
    """

    def __init__(
        self, path: Path, text: bytes | None = None, identity: Identity | None = None, trouble: str = ""
    ) -> None:
        self.path, self.identity, self.trouble = path, identity, trouble
        self._text = text or b""
        self._spans: dict[str, Span] = {}
        self.notes: Mapping[str, CaseNote] = {}
        if text is not None and not trouble:
            self._find()

    @property
    def is_inside(self) -> bool:
        """Whether the recording stands in the eval set itself, and no file lies beside it yet."""
        return bool(self._text) and self.identity is None

    @property
    def text(self) -> bytes | None:
        """Its content; None where there is none, or none that can be used."""
        return self._text or None

    def __contains__(self, eval_id: object) -> bool:
        return eval_id in self._spans

    @property
    def eval_ids(self) -> frozenset[str]:
        """The cases of which the environment is recorded."""
        return frozenset(self._spans)

    def case(self, eval_id: str) -> RecordedCase | None:
        """Return what is recorded of a case; None where nothing is."""
        span = self._spans.get(eval_id)
        return None if span is None else RecordedCase.model_validate_json(self._text[slice(*span)])

    def _find(self) -> None:
        stream = JsonStream(BytesIO(self._text), constants=True)
        for name in stream.members():
            if name == "cases":
                self._spans = {eval_id: stream.passed() for eval_id in stream.members()}
            elif name == "notes":
                self.notes = {
                    eval_id: CaseNote.model_validate(stream.value()) for eval_id in stream.members()
                }
            else:
                stream.skip()


def open_beside(eval_set: Path) -> RecordingSidecar:
    """Open what lies beside an eval set, or else inside of it.

    Where it is damaged, it is told why, and the set can be opened all the same.
    """
    path = sidecar_of(eval_set)
    identity = identity_at(path)
    if identity is None:
        return _inside(eval_set, path)
    try:
        text = read_file(path)
        _check(path, text)
        return RecordingSidecar(path, text, identity)
    except (RecordedEnvironmentError, OSError, JsonTextError, ValidationError) as error:
        return RecordingSidecar(path, None, identity, str(error))


def _inside(eval_set: Path, beside: Path) -> RecordingSidecar:
    """Open the recording that an eval set holds itself; the first change of it makes the file beside."""
    if not holds_recording(eval_set):
        return RecordingSidecar(beside)
    try:
        return RecordingSidecar(beside, environment_text(read_environment(eval_set)).encode())
    except (RecordedEnvironmentError, OSError, ValidationError) as error:
        return RecordingSidecar(beside, None, None, str(error))


def _check(path: Path, text: bytes) -> None:
    if len(text) <= _LARGE:
        parsed(path, text)
        return
    head = text[: 1 << 12]
    if b'"format"' not in head or b"golden-trace-studio/environment" not in head:
        raise RecordedEnvironmentError(path, "this is not a recorded environment")
    try:
        # An object whose members are all ignored: the whole text is parsed, and nothing of it is held.
        SchemaValidator(core_schema.typed_dict_schema({})).validate_json(text.removeprefix(b"\xef\xbb\xbf"))
    except ValidationError as error:
        first = first_of(error)
        raise RecordedEnvironmentError(path, f"it is not a JSON object: {first['msg']}") from error
