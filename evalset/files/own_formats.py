"""Reads files in formats of the studio's own: JSON objects with a `format` and a `version`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.base.json_text import JsonTextError, read_json

REVIEW = "golden-trace-studio/review"
"""The format of a file of reviews."""


def own_document(content: bytes, form: str, newest: int, what: str) -> dict[str, Any]:
    """Return the object in a file.

    Args:
        content: The file, in UTF-8.
        form: What its `format` must be.
        newest: The highest version that this release reads.
        what: What the file should be, such as "a kept run".

    Raises:
        ValueError: It is something else, is newer than this release, or is damaged; the text says where, without the file's name.
    """
    try:
        found = read_json(content.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: byte {error.start}") from error
    except JsonTextError as error:
        raise ValueError(f"not valid JSON: {error}") from error
    check_format(found if isinstance(found, dict) else {}, form, newest, what)
    return dict(found)


def check_format(document: Mapping[str, Any], form: str, newest: int, what: str) -> None:
    """Check the `format` and `version` of an object; the arguments and errors are those of `own_document`."""
    if document.get("format") != form:
        raise ValueError(f"not {what}: its `format` is not {form!r}")
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ValueError(f"its `version` is {version!r:.40}, which is not a version number")
    if version > newest:
        raise ValueError(
            f"its version is {version}, but this release reads up to {newest}: it was written by a newer release"
        )
