"""Says which agents' models cannot be asked from here, so that a person can sit down in their place.

Nothing is sent anywhere: what a model needs is read from its settings and from the environment, and of a model server on
this machine it is looked whether its port is open. A provider that is not known here counts as reachable; should it not be, its
error ends in the timeline.
"""

from __future__ import annotations

import importlib.util
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.registry import LLMRegistry

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_directory import directory_of, runs_elsewhere, said_together
from simulator.agents.load_failure import PLACEHOLDER
from simulator.base.model_settings import CLOUD_VOICE, names_address
from simulator.facts import EVERY
from simulator.runtime.adk.adk_private import all_below
from simulator.runtime.adk.boundaries import UnreachableModel, unseated_class
from simulator.session import Seats

_GOOGLE_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_CLOUD = ("GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI")
_PROJECT = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
# Where google-auth looks for credentials, or is told of a machine that has some: a file, a metadata server, a runtime of Google's.
_CREDENTIALS = (
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GCE_METADATA_HOST",
    "GCE_METADATA_ROOT",
    "GAE_ENV",
    "K_SERVICE",
    "KUBERNETES_SERVICE_HOST",
)
_PRODUCT_NAME = Path("/sys/class/dmi/id/product_name")

# LiteLLM tells this itself, but only once it is imported, which takes seconds and fetches a price list.
_PROVIDER_KEYS: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "azure": ("AZURE_API_KEY", "AZURE_AD_TOKEN"),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
    "gemini": _GOOGLE_KEYS,
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY"),
    "xai": ("XAI_API_KEY",),
}
_PROVIDER_OF = {"gemini": "vertex_ai", "gpt": "openai", "o1": "openai", "o3": "openai", "claude": "anthropic"}
"""The provider that LiteLLM asks for a model whose name has none, by how the name begins."""
_HOSTS = {
    "openai": "api.openai.com",
    "anthropic": "api.anthropic.com",
    "groq": "api.groq.com",
    "mistral": "api.mistral.ai",
}
"""Where a provider's own service is: it wants a key, also where its address is given."""
_VERTEX = frozenset({"vertex_ai", "vertex_ai_beta"})
_OLLAMA, _OLLAMA_SERVER = frozenset({"ollama", "ollama_chat"}), "http://localhost:11434"
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
_CONNECT_SECONDS = 0.2
_NOT_CHOSEN = "This agent runs in another program, which is asked only where you choose so."
_NOT_LITELLM = re.compile(r"projects/.*|apigee/.*|ollama/gemma3.*")


def model_reachability(config: SimulatedAgentConfig, environ: Mapping[str, str] | None = None) -> str | None:
    """Say in a sentence which agents' own models cannot be asked, and what each needs; None if all can.

    Args:
        config: The agent.
        environ: Where the models look for their keys; the process's environment by default.
    """
    reasons = {name: reason for name, reason in _reasons(config, environ).items() if reason != _NOT_CHOSEN}
    return "; ".join(said_together(reasons)) or None


def default_seats(config: SimulatedAgentConfig, environ: Mapping[str, str] | None = None) -> Seats:
    """Return who plays at first: each agent's own model, or a person where it cannot be asked; a person for the tools."""
    reasons = _reasons(config, environ)
    names = {card.name for card in directory_of(config.root_agent).agents if card.is_played}
    persons = {EVERY} if reasons and names == set(reasons) else set(reasons)
    return Seats(agents=dict.fromkeys(sorted(persons), "person"), tools={EVERY: "person"})


def _reasons(config: SimulatedAgentConfig, environ: Mapping[str, str] | None) -> dict[str, str]:
    """Return the reasons as the process of the agent sees them."""
    told: dict[str, str] | None = getattr(config, "unreachable", None)
    if told is not None:
        return told
    return unreachable_models(config.root_agent, os.environ if environ is None else environ)


def unreachable_models(agent: Any, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the reason for each agent whose model cannot be asked, or which another program runs, by the agent's name; nobody is asked.

    Args:
        agent: The root agent or workflow.
        environ: The environment in which the models would look for their keys.
    """
    models = {each.name: reason for each in _agents(agent) if (reason := _reason(each, environ))}
    return models | {each.name: _NOT_CHOSEN for each in all_below(agent) if runs_elsewhere(each)}


def model_problem(model: str | BaseLlm, environ: Mapping[str, str]) -> str | None:
    """Return why a model, given by its name or as an object, cannot be asked from here; None if it can. Nothing is sent."""
    if isinstance(model, BaseLlm):
        return _model_reason(model, environ)
    if names_address(model):
        return (
            f"the model {model} is an address. Set the address on the server, and name the model alone here"
        )
    return _name_reason(model, environ)


def _given(environ: Mapping[str, str], name: str) -> bool:
    """Return whether a variable has a value that may be right: what only lets an agent load is none."""
    return environ.get(name, "") not in {"", PLACEHOLDER}


def problem_here(_: SimulatedAgentConfig | None, name: str) -> str | None:
    """Return why a model cannot be asked from this process; the page has an agent's process say it."""
    return model_problem(name, os.environ)


def set_here(_: SimulatedAgentConfig | None, names: list[str]) -> list[str]:
    """Return which of some variables this process has; their values stay here."""
    return [name for name in names if _given(os.environ, name)]


def _agents(root: Any) -> Iterator[LlmAgent]:
    return (node for node in all_below(root) if isinstance(node, LlmAgent))


def _reason(agent: LlmAgent, environ: Mapping[str, str]) -> str | None:
    return _name_reason(_named_model(agent), environ, lambda: agent.canonical_model)


def _name_reason(
    name: str, environ: Mapping[str, str], make: Callable[[], BaseLlm] | None = None
) -> str | None:
    if name == CLOUD_VOICE:
        return _voice_reason(environ)
    if "/" in name and not _NOT_LITELLM.fullmatch(name):
        if importlib.util.find_spec("litellm") is None:
            return f"the model {name} needs the package litellm, which is not installed"
        return _litellm_reason(name, {}, environ)
    try:
        model = make() if make else LLMRegistry.new_llm(name)
    except Exception as error:  # noqa: BLE001 - a model's own constructor may raise anything
        return f"the model {name} cannot be created: {' '.join(str(error).split())}"
    return _model_reason(model, environ)


def has_models(agent: Any) -> bool:
    """Return whether an agent, or one below it, asks a model."""
    return any(True for _ in _agents(agent))


def model_names(agent: Any) -> tuple[str, ...]:
    """Return the names of the models of an agent and of all below it, each once."""
    models = (each.model for each in _agents(agent))
    names = (model if isinstance(model, str) else model.model for model in models)
    return tuple(dict.fromkeys(filter(None, names)))


def _named_model(agent: LlmAgent) -> str:
    """Return the name that stands for an agent's model, its own or an ancestor's; empty where it is an object."""
    holder: Any = agent
    while isinstance(holder, LlmAgent) and not holder.model:
        holder = holder.parent_agent
    return holder.model if isinstance(holder, LlmAgent) and isinstance(holder.model, str) else ""


def _model_reason(model: BaseLlm, environ: Mapping[str, str]) -> str | None:
    if isinstance(model, UnreachableModel):
        return model.reason
    kind: Any = unseated_class(model)
    if not kind.generate_content_async.__module__.startswith("google.adk.") or getattr(model, "client", None):
        return None  # somebody's own way to a model
    of_adk = {base.__name__ for base in kind.__mro__ if base.__module__.startswith("google.adk.")}
    asked = next((reason for name, reason in _BY_CLASS.items() if name in of_adk), None)
    return None if asked is None else asked(model, environ)


def _gemini_reason(model: BaseLlm, environ: Mapping[str, str]) -> str | None:
    settings: Any = getattr(model, "client_kwargs", None) or {}
    given = ("api_key", "credentials", "vertexai", "enterprise")
    in_cloud = model.model.startswith("projects/") or any(
        environ.get(name, "").lower() in {"1", "true"} for name in _CLOUD
    )
    if any(settings.get(name) for name in given):
        return None
    if in_cloud:  # with a project, google-genai leaves a key of the environment out
        has_project = any(
            environ.get(name) or settings.get(option)
            for option, name in zip(("project", "location"), _PROJECT, strict=True)
        )
        return _credentials_reason(model.model, _without_keys(environ) if has_project else environ)
    return _missing(model.model, environ, *_GOOGLE_KEYS, otherwise=f", or {_CLOUD[0]} for Google Cloud")


def _credentials_reason(model: str, environ: Mapping[str, str]) -> str | None:
    """Say that Google Cloud's libraries find no credentials: no key, no file, and no machine of Google's that has some."""
    if any(_given(environ, name) for name in (*_GOOGLE_KEYS, *_CREDENTIALS)):
        return None
    home = environ.get("HOME") or environ.get("USERPROFILE") or str(Path.home())
    settings = environ.get("CLOUDSDK_CONFIG") or str(
        Path(environ.get("APPDATA") or Path(home, ".config"), "gcloud")
    )
    if Path(settings, "application_default_credentials.json").is_file() or _is_google_machine():
        return None
    return f"the model {model} needs Google Cloud credentials; run: gcloud auth application-default login"


def _without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for what takes no key for a credential."""
    return {name: value for name, value in environ.items() if name not in _GOOGLE_KEYS}


def _voice_reason(environ: Mapping[str, str]) -> str | None:
    if _is_installed("google.cloud.texttospeech_v1"):
        return _credentials_reason(CLOUD_VOICE, _without_keys(environ))
    return f"the model {CLOUD_VOICE} needs the package google-cloud-texttospeech, which is not installed"


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that it is in
        return False


def _is_google_machine() -> bool:
    try:
        return _PRODUCT_NAME.read_text().startswith("Google")
    except OSError:
        return False


def _apigee_reason(_model: BaseLlm, _environ: Mapping[str, str]) -> str | None:
    return None  # it says what it needs when it is made


def _claude_reason(model: BaseLlm, environ: Mapping[str, str]) -> str | None:
    missing = [name for name in _PROJECT if not _given(environ, name)]
    return f"the model {model.model} needs {' and '.join(missing)} to be set" if missing else None


def _anthropic_reason(model: BaseLlm, environ: Mapping[str, str]) -> str | None:
    return _missing(model.model, environ, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


def _openai_reason(model: BaseLlm, environ: Mapping[str, str]) -> str | None:
    return None if getattr(model, "api_key", None) else _missing(model.model, environ, "OPENAI_API_KEY")


def _litellm_object_reason(model: BaseLlm, environ: Mapping[str, str]) -> str | None:
    settings: Any = getattr(model, "_additional_args", None) or {}
    return _litellm_reason(model.model, settings, environ)


def _litellm_reason(name: str, settings: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    provider = _PROVIDER_OF.get(name.partition("-")[0], "") if "/" not in name else name.partition("/")[0]
    base = settings.get("api_base") or settings.get("base_url")
    if provider in _OLLAMA:
        base = base or environ.get("OLLAMA_API_BASE") or _OLLAMA_SERVER
    if base and f"//{_HOSTS.get(provider, '/')}/" not in f"{base}/":
        return _local_server_reason(name, str(base))
    if provider in _VERTEX:
        return _credentials_reason(name, _without_keys(environ))
    keys = _PROVIDER_KEYS.get(provider)
    return None if settings.get("api_key") or keys is None else _missing(name, environ, *keys)


def _local_server_reason(model: str, address: str) -> str | None:
    """Say that a server of this machine is not running: its port refuses a connection. Elsewhere nothing is tried."""
    try:
        found = urlsplit(address)
        host, port = found.hostname or "", found.port or (443 if found.scheme == "https" else 80)
    except ValueError:
        return f"the model {model} has an invalid URL"
    if host not in _THIS_MACHINE:
        return None
    try:
        socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
    except ConnectionRefusedError:
        return f"the model {model} needs its server, but nothing responds at {host}:{port}"
    except OSError:
        return None
    return None


def _missing(model: str, environ: Mapping[str, str], *names: str, otherwise: str = "") -> str | None:
    """Say that a model needs one of some variables, where the environment has none of them."""
    if any(_given(environ, name) for name in names):
        return None
    return f"the model {model} needs a key: set {' or '.join(names)}{otherwise}"


# Told by name: to import the classes would import the clients of all providers. A subclass stands before its base.
_BY_CLASS = {
    "ApigeeLlm": _apigee_reason,
    "LiteLlm": _litellm_object_reason,
    "Gemini": _gemini_reason,
    "Claude": _claude_reason,
    "AnthropicLlm": _anthropic_reason,
    "OpenAILlm": _openai_reason,
    "OpenAIResponsesLlm": _openai_reason,
}
