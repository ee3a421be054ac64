"""The branches of a journal: where each forks, and two of them compared.

Pure.
"""
