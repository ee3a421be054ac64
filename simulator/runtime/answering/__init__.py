"""Who answers a request: rules first, then the player, then what rules make of the answer.

`dispatcher` is the pipeline.
"""
