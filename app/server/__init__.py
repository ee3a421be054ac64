"""The server around the pages: who somebody is, links, cookies, headers, tabs, files that are offered.

It knows no session.
"""
