"""What names and answers say by convention: kinds of ids, roles of tools, and what an error looks like.

`entity_kinds` and `tool_roles` are read everywhere above; change a list there and look at the drafts of `tests/first_sight` again.
"""
