"""The world: entities, tables, connections between tools, invariants, and state that tools share.

`world` holds what responses add up to. It is folded from facts, and never changed in place by a tool.
"""
