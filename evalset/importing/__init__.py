"""Imports what people have: eval sets old and new, ADK's sessions from files and databases, `adk test` files, and sessions of the studio.

All of it becomes eval cases, and recorded environments where the answers of the tools are known.
"""
