"""The pages, each named by the address: they put the features together and carry out what panels return.

No feature imports a page. A folder called `pages` would be Streamlit's own: it lists the files of one in the sidebar.
"""
