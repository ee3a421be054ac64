"""What a session's environment knows: tools and their shapes, earlier answers, the world.

`live_knowledge` follows the journal.
"""
