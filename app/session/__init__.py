"""One session on the page: its address and state, its header and timeline, and the commands that change it.

What features share stands here: they import each other only through this package.
"""
