"""The recorded environment of golden traces: what the world answered in each case, beside its eval set.

An eval set holds what ADK knows; `<set>.environment.json` beside it holds what a hermetic replay needs: who answered each
call, with what, and what it did beside. It is a text in a stable order that can be read in a diff.
"""
