"""Scripts and recorded cases that play in a session of the page.

They open a session for a script, say how far it is, and stop it.
"""
