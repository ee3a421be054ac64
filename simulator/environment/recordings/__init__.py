"""Recorded calls, and the nearest of them."""
