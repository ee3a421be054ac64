"""The environment's side, without ADK and without a session: rules, the world, recordings, what tools' code says, drafts and prompts.

Pure but for clocks and chance that are handed in. Each package uses those below it: conventions, schema, evidence, expressions, world and
injection, recordings, drafts and prompts.
"""
