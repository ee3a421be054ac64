"""Binds the core to ADK: seated models and tools, the guard, and the loop that drives them."""
