"""The pages, each named by the address: they put the features together and carry out what panels return.

No feature imports a page.
"""
