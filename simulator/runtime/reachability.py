"""Says which agents' models cannot be asked from here, so that a person can sit down in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.google_llm import Gemini

from simulator.runtime.adk_private import children_of, node_of
from simulator.runtime.boundaries import UnreachableModel

_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_CLOUD = ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE")
_NO_KEY = (
    "the model {model} needs a key, and neither GOOGLE_API_KEY nor GEMINI_API_KEY is set (nor "
    "GOOGLE_GENAI_USE_VERTEXAI)"
)


def unreachable_models(agent: Any, environ: Mapping[str, str]) -> dict[str, str]:
    """Give the reason for each agent whose model cannot be asked, by the agent's name; no model is asked.

    Args:
        agent: The root agent or workflow.
        environ: The environment in which the models would look for their keys.
    """
    agents = (node for node in _walk(agent, set()) if isinstance(node, LlmAgent))
    return {each.name: reason for each in agents if (reason := _reason(each, environ))}


def _walk(node: Any, seen: set[int]) -> Iterator[Any]:
    if id(node) in seen:
        return
    seen.add(id(node))
    yield node
    inside = (node_of(tool) for tool in getattr(node, "tools", None) or ())
    for child in (*filter(None, inside), *children_of(node)):
        yield from _walk(child, seen)


def _reason(agent: LlmAgent, environ: Mapping[str, str]) -> str | None:
    try:
        model = agent.canonical_model
    except Exception as error:  # noqa: BLE001 - a model's own constructor may raise anything
        return f"{type(error).__name__}: {error}"
    if isinstance(model, UnreachableModel):
        return model.reason
    if isinstance(model, Gemini) and not _has_credentials(environ):
        return _NO_KEY.format(model=model.model)
    return None


def _has_credentials(environ: Mapping[str, str]) -> bool:
    in_cloud = any(environ.get(name, "").lower() in {"1", "true"} for name in _CLOUD)
    return in_cloud or any(environ.get(name) for name in _KEYS)
