"""What a session's environment knows: tools and their shapes, earlier answers, the world.

`knowledge` holds it, also along a journal, and finds the tools; `instruction_state` looks into the agent.
"""
