"""Reads and writes ADK's `EnvironmentSimulationConfig` as text: JSON, YAML, or Python code."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from simulator.environment.documents import DocumentError, read_document, write_json, write_yaml
from simulator.environment.injection.adk_config import (
    EnvironmentConfigError,
    ReadConfig,
    read_config,
    written_config,
)
from simulator.environment.injection.adk_snippet import config_in_snippet, snippet_of

_MAKES = re.compile(r"\b(?:EnvironmentSimulationConfig|ToolSimulationConfig|InjectionConfig)\(")

TextForm: TypeAlias = Literal["json", "yaml", "python"]


class WrittenText(NamedTuple):
    """A configuration as text, and what ADK has no word for."""

    text: str
    losses: list[str]


def is_code(text: str) -> bool:
    """Tell whether a text is code that makes a configuration, rather than JSON or YAML."""
    return _MAKES.search(text) is not None and text.lstrip()[:1] not in {"{", "["}


def read_config_text(text: str) -> ReadConfig:
    """Read a configuration from JSON, YAML, or Python code, whichever it is. Nothing is run.

    Raises:
        EnvironmentConfigError: It cannot be read; the text says what is wrong and where.
    """
    if is_code(text):
        return read_config(config_in_snippet(text))
    try:
        return read_config(read_document(text))
    except DocumentError as error:
        raise EnvironmentConfigError(str(error)) from error


def config_text(read: ReadConfig, form: TextForm) -> WrittenText:
    """Write a configuration as text that ADK's class, or Python, takes for it."""
    config, losses = written_config(read)
    match form:
        case "json":
            return WrittenText(write_json(config), losses)
        case "yaml":
            return WrittenText(write_yaml(config), losses)
        case "python":
            return WrittenText(snippet_of(config), losses)
