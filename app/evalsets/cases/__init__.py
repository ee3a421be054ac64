"""The cases of an eval set: the table of them, and one case with every part of it to edit.

`case_fields` says which parts there are and makes edits of what was typed.
"""
