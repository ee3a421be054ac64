"""Find and load agents, and the demo agents that ship with the studio."""
