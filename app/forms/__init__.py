"""Inputs that every part of the page uses: forms from JSON schemas, JSON as text, tables, and labels that are safe to show.

The ground floor of the screen; it imports nothing else of it. Text from outside reaches the page through `safe_labels` only.
"""
