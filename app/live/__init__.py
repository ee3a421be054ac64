"""The sessions that this server plays: opened, kept, brought back, shared, and followed where another server plays them.

Nothing here draws. `live_sessions` finds a session by its id; ask for its owner's.
"""
