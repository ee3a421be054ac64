"""Who answers a request: rules first, then the player, then what rules make of the answer.

`pipeline` is the way of a tool call, and `call_environment` what it asks there; `dispatcher` finds who answers in a session that is played.
"""
