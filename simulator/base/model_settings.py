"""Says what a text may set of a model: the page, a file, a journal. Addresses, headers and keys are set on the server. Pure.

A client sends the server's key to the address that it is given. So of a client's options a text has a word in its timeout and its
retries, and the environment variables of the server, its command line and the code of an agent's project decide the rest. Code of
one's own process may give a model as an object, or a configuration with any options: a journal keeps what a text may set of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from simulator.base.adk_names import snake
from simulator.base.json_values import JsonObject, canonical, copied, place_words

_Place: TypeAlias = tuple[int | str, ...]

_CONFIGURATIONS = frozenset(
    {
        "simulation_model_configuration",
        "model_configuration",
        "audio_model_configuration",
        "judge_model_options",
        "judge_model_config",
        "user_simulator_config",
    }
)
"""The fields of ADK's and our documents that hold the configuration of a model."""

_OPTIONS = "http_options"
_TAKEN_OPTIONS = frozenset({"timeout", "retry_options"})
_OF_THE_SERVER = frozenset({
    "base_url", "api_base", "base_url_resource_scope", "api_version", "url", "endpoint", "proxy", "proxies", "proxy_url",
    "headers", "extra_headers", "default_headers", "default_query", "extra_query", "extra_body", "custom_llm_provider",
    "client", "client_args", "async_client_args", "client_kwargs", "client_options", "httpx_client", "httpx_async_client",
    "aiohttp_client", "http_client", "ssl_verify", "api_key", "api_token", "auth_token", "key", "credentials", "organization",
    "vertex_credentials", "auth_config", "api_auth", "external_api", "mcp_servers",
})  # fmt: skip
_FREE = frozenset({
    "system_instruction", "labels", "response_schema", "response_json_schema", "parameters", "parameters_json_schema",
    "response", "custom_instructions",
})  # fmt: skip
"""Fields whose inner names are somebody's own."""
_WORD = "[A-Za-z0-9_-]*"
_NAME_OF_A_MODEL = re.compile(
    rf"(?!.*(?:locations|regions)/(?!{_WORD}(?:/|$)))(?!.*arn:(?!(?:{_WORD}:){{4}}))[\w.:/@+ -]*"
)
_NAMES = frozenset({"model", "judge_model", "audio_model"})

CLOUD_VOICE = "cloud_tts"
"""ADK's name of Google Cloud Text-to-Speech, which speaks for a simulated user that sends audio."""


class ServerSetting(NamedTuple):
    """A field that a text may not set; `place` is a path in the document, as `http_options.base_url`."""

    place: str
    sentence: str

    def __str__(self) -> str:
        """Say it."""
        return f"{self.place} {self.sentence}"


def names_address(model: str) -> bool:
    """Return whether the name of a model is an address, or may become a part of one: some clients send their key to it.

    Clients put the region of a resource's name into their host: it is plain words. What ends a host or parts an address stands in no name.
    """
    return "//" in model or not _NAME_OF_A_MODEL.fullmatch(model)


def server_settings(configuration: object) -> tuple[ServerSetting, ...]:
    """Return the fields of a model's configuration, as ADK's `GenerateContentConfig` in JSON, that only the server sets."""
    return tuple(
        ServerSetting(
            place_words(place),
            "is an address, which is set on the server, not here"
            if isinstance(place[-1], str) and snake(place[-1]) in _NAMES
            else "is set on the server, not here",
        )
        for place in _found(configuration)
    )


def server_settings_in(document: object) -> tuple[ServerSetting, ...]:
    """As `server_settings`, of all configurations in a document: an `EvalConfig`, an environment, the arguments of a command."""
    return tuple(
        ServerSetting(f"{place_words(place)}.{each.place}", each.sentence)
        for place, configuration in _configurations(document)
        for each in server_settings(configuration)
    )


def without_server_settings(configuration: JsonObject) -> JsonObject:
    """Return a copy of a configuration without the fields that only the server sets."""
    made: JsonObject = copied(configuration)
    for *way, name in _found(configuration):
        holder: Any = made
        for step in way:
            holder = holder[step]
        holder.pop(name)
    return made


def _found(configuration: object) -> Iterator[_Place]:
    """Yield the places of fields that only the server sets."""
    waiting: list[tuple[_Place, object]] = [((), configuration)]
    for place, value in waiting:  # which grows: a document may be nested deeper than Python calls
        of_client = bool(place) and snake(str(place[-1])) == _OPTIONS
        for name, each in _entries(value):
            spelt, inner = snake(str(name)), (*place, name)
            if each is None or spelt in (_TAKEN_OPTIONS if of_client else _FREE):
                continue
            if of_client or spelt in _OF_THE_SERVER or (spelt in _NAMES and names_address(str(each))):
                yield inner
            else:
                waiting.append((inner, each))


def _configurations(document: object) -> Iterator[tuple[_Place, object]]:
    waiting: list[tuple[_Place, object]] = [((), document)]
    for place, value in waiting:
        for name, each in _entries(value):
            if isinstance(name, str) and snake(name) in _CONFIGURATIONS:
                yield (*place, name), each
            elif isinstance(each, (Mapping, list, tuple)):
                waiting.append(((*place, name), each))


def _entries(value: object) -> Iterable[tuple[int | str, object]]:
    if isinstance(value, Mapping):
        return [(str(name), each) for name, each in value.items()]
    return enumerate(value) if isinstance(value, (list, tuple)) else ()


class GivenSettings:
    """The configurations of models that code of this process gave. Nothing of them that only the server sets is kept elsewhere."""

    def __init__(self) -> None:
        self._given: dict[str, JsonObject] = {}

    def kept(self, configuration: JsonObject) -> JsonObject:
        """Remember a configuration, and return what of it a journal keeps."""
        part = without_server_settings(configuration)
        if part != configuration:
            self._given[canonical(part)] = configuration
        return part

    def forget(self, configuration: JsonObject) -> None:
        """Let a configuration stand for itself again."""
        self._given.pop(canonical(without_server_settings(configuration)), None)

    def whole(self, configuration: JsonObject) -> JsonObject:
        """Return the configuration that was given where the journal has this one; else what of this one a text may set."""
        part = without_server_settings(configuration)
        return self._given.get(canonical(part), part)
