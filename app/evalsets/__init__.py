"""The page of an eval set: which sets there are, the one that is open, and its imports and exports.

`cases`, `run`, `checks` and `criteria` are its tabs. `workspace` keeps on the server what somebody runs and edits there.
"""
