"""The script that the server runs for each page; `streamlit_app.py` puts the server around it."""

from app.screens.page import page

page()
