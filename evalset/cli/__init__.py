"""The console command `golden-trace`: `main` starts its commands, `studio_command` the page. Importing this imports no ADK.

Each `*_command` module reads the arguments of one command and prints; the work is in the package of its name.
"""
