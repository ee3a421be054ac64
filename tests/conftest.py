"""Says how far the property tests search.

The suite tries the same few examples in every run, so that it ends the same way twice. A wider search draws new
ones: `HYPOTHESIS_PROFILE=thorough pytest tests/environment`.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Nothing is kept among the data of whoever runs the tests; those that keep sessions name a store of their own.
os.environ["GOLDEN_TRACE_STORE"] = "none"

# A busy machine is no fault of a test.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

settings.register_profile("suite", _PATIENT, max_examples=30, derandomize=True)
settings.register_profile("thorough", _PATIENT, max_examples=600)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))
