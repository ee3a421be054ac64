"""Keeps the tests among the files of then to themselves: `test_files.py` runs them where they were exported to."""

collect_ignore = ["files"]
