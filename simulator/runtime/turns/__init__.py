"""One turn: it runs ADK, takes requests from the boundaries, and releases answers in the journal's order.

`turn` is the heart; a turn in progress is executed again from its facts after an undo or a restart.
"""
