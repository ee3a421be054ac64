"""What a session's environment knows: tools and their shapes, earlier answers, the world.

`knowledge` holds it, also along a journal; `tool_shapes` and `instruction_state` look into the agent.
"""
