"""The entry of `streamlit run app`: the page in `main.py`, behind security headers, with an orderly end."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from app.headers import SecurityHeaders
from app.lifespan import lifespan

app = st.App(
    Path(__file__).with_name("main.py"),
    lifespan=lifespan,
    middleware=[Middleware(SecurityHeaders)],
)
