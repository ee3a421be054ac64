"""Injection rules: what they match, what they do, and the files that hold them.

`rules` decides, `conditions` match, `rule_effects` answer, `distortions` change an answer, `fault_library` has the ready ones. Draws come from seeds alone.
"""
