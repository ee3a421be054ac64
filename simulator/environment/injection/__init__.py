"""Injection rules: what they match, what they do, and the files that say them."""
