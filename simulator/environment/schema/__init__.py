"""Schemas of responses: brought into one form, checked, and settled where they leave a choice.

JSON Schema and the schemas of google-genai both come in here; the rest of the house sees JSON Schema alone.
"""
