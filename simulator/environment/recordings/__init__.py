"""Recorded calls with their responses, and the search for the nearest of them.

Files of the studio, of ADK's simulation and of traces are read into the same `ObservedCall`.
"""
