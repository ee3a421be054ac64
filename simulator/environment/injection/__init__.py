"""Injection rules: what they match, what they do, and the files that hold them.

`rules` decides, `conditions` match, `rule_effects` answer, `distortions` change an answer, `rule_sets` has the ready ones. Draws come from seeds alone.
"""
