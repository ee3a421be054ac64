"""Schemas of answers: brought into one form, checked, and settled where they leave a choice."""
