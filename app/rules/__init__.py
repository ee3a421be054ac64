"""Injection rules on the page: the list, the editor of one rule, the fault library, and rules as files.

The forms turn a rule into inputs and back; they draw nothing.
"""
