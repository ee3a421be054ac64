"""Injection rules: what they match, what they do, and the files that hold them.

`rules` is the model, `compiled_conditions` matches, `rule_effects` applies, `fault_library` has the ready ones. Draws come from seeds alone.
"""
