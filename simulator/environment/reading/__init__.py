"""What names and descriptions tell of a tool: what it does, to what, and what it answers."""
