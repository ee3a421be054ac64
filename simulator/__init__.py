"""The core of Golden Trace Studio: seats, journal, environment, and ADK's runner between them."""
