"""What the tool's own code says that it returns: read from its source, never run.

`tool_returns` is the way in. What the reader does not know is `Unknown`, never a guess; `tests/simulator/environment/evidence` runs random programs against it.
"""
