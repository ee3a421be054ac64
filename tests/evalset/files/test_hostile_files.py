"""Every reader of a person's file beside files that are made to hurt it: it gives a value or its own error, and neither takes much."""

from __future__ import annotations

import io
import os
import random
import zipfile
from functools import partial
from pathlib import Path

import pytest
from google.genai import types
from pydantic import ValidationError

from evalset.importing import import_files
from evalset.importing.gathered import memory_of
from simulator.base import documents, validation_words
from simulator.base.documents import LIMITS, open_archive, read_file
from simulator.base.json_text import MOST_VALUES, JsonTextError, read_json
from simulator.base.validation_words import MOST_FLAWS, MOST_TEXT, validated
from tests.harness.file_readers import READERS, FileReader, Reading, floods, in_child, mutants, read_in

HOSTILE_FILES = int(os.environ.get("HOSTILE_FILES", "12000"))
"""How many files are read in all; `HOSTILE_FILES=60000` reads more."""
_BATCH = 200
_MOST_MB = 500
_MOST_SECONDS = 4.0
"""Of the processor: twice what a quiet machine takes, as one under load is slower. What grows as the square takes minutes."""
_LONGEST = MOST_TEXT + len("...")
_READERS = {reader.name: reader for reader in READERS}


def _named(reader: FileReader) -> str:
    return reader.name


@pytest.mark.parametrize("reader", _READERS.values(), ids=_named)
def test_a_valid_file_is_read(reader: FileReader, tmp_path: Path) -> None:
    """What the hostile ones are made of."""
    read = read_in(reader, tmp_path, reader.valid())
    assert not read.uncaught
    assert not read.said


@pytest.mark.parametrize(
    "reader",
    [
        pytest.param(reader, id=name, marks=() if place % 5 == 0 else pytest.mark.long)
        for place, (name, reader) in enumerate(_READERS.items())
    ],
)
@pytest.mark.parametrize("few", [100, pytest.param(5_000, marks=pytest.mark.long)])
def test_one_wrong_field_many_times_is_told_in_few_words(
    reader: FileReader, few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each place of the file that can hold it, as a short value and as a long one. Patched, so that a modest file is long."""
    monkeypatch.setattr(validation_words, "FEW_VALUES", few)
    for what, content in floods(reader.valid(), 4_000):
        read = read_in(reader, tmp_path, content)
        assert not read.uncaught, what
        assert len(read.said) <= _LONGEST, what
        assert len(read.said.splitlines()) <= MOST_FLAWS + 1, what


@pytest.mark.long
@pytest.mark.parametrize("reader", _READERS.values(), ids=_named)
def test_whatever_a_file_holds_it_is_read_or_refused(reader: FileReader, tmp_path: Path) -> None:
    """In a process whose memory ends: types flipped, constants, huge numbers, half characters, depth, what is twice, cut and damaged."""
    made = mutants(reader.valid(), random.Random(reader.name))  # noqa: S311 - the same each time
    left = max(1, HOSTILE_FILES // len(_READERS))
    while left > 0:
        batch = [next(made) for _ in range(min(_BATCH, left))]
        left -= len(batch)
        read = in_child(partial(_all, reader, tmp_path, batch))
        assert isinstance(read, list), f"the process {read}"
        assert [each for each in read if each.uncaught or len(each.said) > _LONGEST] == []
        assert max(each.grown_mb for each in read) < _MOST_MB


@pytest.mark.long
@pytest.mark.parametrize("reader", _READERS.values(), ids=_named)
def test_a_megabyte_of_one_wrong_field_takes_little(reader: FileReader, tmp_path: Path) -> None:
    """At some of the places that can hold it; with many hostile files at all of them."""
    places = sorted(what for what, _ in floods(reader.valid(), 1_000))
    chance = random.Random(reader.name)  # noqa: S311 - the same each time
    chosen = set(chance.sample(places, min(len(places), HOSTILE_FILES // 2_000)))
    for what, content in floods(reader.valid(), 1_000_000):
        if what not in chosen:
            continue
        read = in_child(partial(_all, reader, tmp_path, [("", content)]))
        assert isinstance(read, list), f"{what}: the process {read}"
        assert not read[0].uncaught, what
        assert read[0].grown_mb < _MOST_MB, what
        assert read[0].seconds <= _MOST_SECONDS, what


def _all(reader: FileReader, folder: Path, files: list[tuple[str, bytes]]) -> list[Reading]:
    read = []
    for what, content in files:
        for file in folder.iterdir():
            file.unlink()
        read.append(read_in(reader, folder, content, what)._replace(value=None))
    return read


# ---------------------------------------------------------------- what is no file, too large, or larger than it says


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    """A pipe waits for its other end, and a device may never end."""
    os.mkfifo(tmp_path / "pipe")
    named = {tmp_path / "pipe": "a named pipe", Path("/dev/zero"): "a device", tmp_path: "a folder"}
    for path, words in named.items():
        with pytest.raises(OSError, match=words):
            read_file(path)


def test_a_file_that_became_a_pipe_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patched, as it happens between two looks at it."""
    (tmp_path / "file").write_bytes(b"1")
    os.mkfifo(tmp_path / "pipe")
    status = (tmp_path / "file").stat()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", lambda _: status)
        with pytest.raises(OSError, match="a named pipe"):
            read_file(tmp_path / "pipe")


def test_a_file_over_its_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """By its form, with the limit."""
    path = tmp_path / "large.json"
    path.touch()
    os.truncate(path, LIMITS["rules"] + 1)
    with pytest.raises(OSError, match=f"{LIMITS['rules'] >> 20} MB"):
        read_file(path, "rules")
    assert len(read_file(path, "script")) == LIMITS["rules"] + 1


def test_too_many_values_are_refused_before_they_are_made() -> None:
    """What stands in texts is none."""
    with pytest.raises(JsonTextError, match=f"{MOST_VALUES:,}"):
        read_json(f"[{'1,' * MOST_VALUES}1]")
    assert read_json(f'["{"," * MOST_VALUES}", 1]')[1] == 1


def _bomb(path: Path, name: str, megabytes: int, start: bytes = b"[", piece: bytes = b"[],") -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed, packed.open(name, "w") as file:
        file.write(start)
        for _ in range(megabytes):
            file.write(piece * ((1 << 20) // len(piece)))


def test_an_archive_that_unpacks_to_more_than_it_may_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what comes out of it, not by what it says. Patched to a small limit."""
    monkeypatch.setitem(documents.LIMITS, "set", 1 << 20)
    _bomb(tmp_path / "bomb.zip", "x.evalset.json", 2)
    with open_archive(tmp_path / "bomb.zip") as packed, pytest.raises(OSError, match="1 MB"):
        documents.unpacked(packed, "x.evalset.json", "set")


def test_an_archive_with_a_list_without_end_is_refused() -> None:
    """Once it is read, the list takes twenty times as much memory as its bytes."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("x", "")
    content = bytearray(archive.getvalue())
    at = content.rindex(b"PK\x05\x06") + 12
    content[at : at + 4] = (64 << 20).to_bytes(4, "little")
    with pytest.raises(zipfile.BadZipFile, match="too many files"):
        open_archive(io.BytesIO(bytes(content)))


def test_a_model_that_makes_itself_is_checked_for_unknown_members() -> None:
    """google-genai's `Part` has an `__init__`, so that pydantic asks the class and no schema around it."""
    part = {"text": "hi", **{f"u{number}": 1 for number in range(validation_words.FEW_VALUES)}}
    with pytest.raises(ValidationError) as refused:
        validated(types.Content, {"role": "user", "parts": [part]})
    assert refused.value.error_count() == 1


def test_an_import_that_holds_its_cases_ends_before_they_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not fit is named, and what was found before stays. Patched to a small limit."""
    reader = _READERS["eval set, imported"]
    for name in ("a", "b"):
        (tmp_path / f"{name}.evalset.json").write_bytes(reader.valid())
    with (tmp_path / "a.evalset.json").open("rb") as file:
        monkeypatch.setattr(import_files, "MOST_MEMORY", memory_of(file) + 1)
    found = import_files.import_cases(tmp_path)
    assert len(found.cases) == 1
    assert [problem.partition(":")[0] for problem in found.problems] == ["b.evalset.json"]


@pytest.mark.long
@pytest.mark.parametrize("piece", [b"[],", b"1,", b'{"a":1},'])
@pytest.mark.parametrize("name", ["x.session.json", "x.evalset.json"])
def test_an_archive_of_some_kilobytes_takes_little_memory(name: str, piece: bytes, tmp_path: Path) -> None:
    """It holds a hundred megabytes of nothing."""
    start = (
        b'{"events": ['
        if "session" in name
        else b'{"eval_set_id": "x", "eval_cases": [{"eval_id": "a", "conversation": ['
    )
    _bomb(tmp_path / "bomb.zip", name, 100, start, piece)
    content = (tmp_path / "bomb.zip").read_bytes()
    folder = tmp_path / "read"
    folder.mkdir()
    read = in_child(lambda: _all(_READERS["archive, imported"], folder, [("bomb", content)]))
    assert isinstance(read, list), read
    assert not read[0].uncaught
    assert read[0].grown_mb < _MOST_MB
