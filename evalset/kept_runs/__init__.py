"""Runs of an eval set that are kept: what each was measured on, and what became of each case; and what differs between two.

`kept_run` has the values, `run_comparison` compares them, `run_files` keeps them next to the set in `.golden-trace/runs/<set>`.
"""
