"""The world: things, tables, connections between tools, invariants, and what tools share."""
