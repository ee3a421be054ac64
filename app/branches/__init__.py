"""The branches of a session: a tree, a list, and two of them side by side.

`branches_panel` draws the page; the other modules only make texts for it.
"""
