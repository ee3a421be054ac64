"""The demo agents, a folder in ADK's own convention: `adk web simulator/agents/demos` serves them too."""
