"""The branches of a journal: where each forks (`branch_tree`), and two of them compared (`branch_comparison`).

`branch_tree.failed_step` says which answer ended the last turn of a path with an error. Pure.
"""
