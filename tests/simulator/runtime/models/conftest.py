"""Gives the tests of models each of the providers."""

from __future__ import annotations

import pytest

from tests.simulator.runtime.models.model_servers import PROVIDERS, Provider


@pytest.fixture
def _local_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM reads this when it is imported, and would else fetch its price list."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")


@pytest.fixture(params=["google-genai", pytest.param("litellm", marks=pytest.mark.long)])
def provider(request: pytest.FixtureRequest, _local_prices: None) -> Provider:
    """Each of the providers."""
    return PROVIDERS[request.param]
