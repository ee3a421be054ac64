"""The agents on the start page and who plays them: their processes, their Python, and the user's seat.

Panels take what is known of an agent and return what a person asked for.
"""
