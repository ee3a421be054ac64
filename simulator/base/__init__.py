"""What everybody needs: JSON values and texts, YAML, pattern search, secrets, files that are replaced whole.

The ground floor; it imports nothing else of ours.
"""
