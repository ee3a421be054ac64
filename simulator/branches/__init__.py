"""The branches of a journal: where each forks (`branch_tree`), and two of them compared (`branch_comparison`).

Pure.
"""
