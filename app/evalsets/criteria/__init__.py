"""The criteria of `adk eval` on an eval set's page: a form, its JSON, and what they need.

`criteria_draft` holds what is edited and not saved.
"""
