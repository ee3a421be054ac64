"""Everything that touches ADK: its models, tools and services with seats around them, and its private parts in `adk_private` alone.

`boundaries` seats models, tools and code executors; `tool_guards` refuses what nobody seated.
"""
