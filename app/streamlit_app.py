"""The entry of `streamlit run app`: the page in `main.py`, with what surrounds it on the server (headers, ids, links, an orderly end)."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import WebSocketRoute

from app import waking
from app.access_link import AccessLinks
from app.browser_ids import BrowserIds
from app.headers import SecurityHeaders
from app.lifespan import lifespan
from app.media import GuardedMedia
from app.peers import MarkedPeers
from app.upload_names import UploadNames
from app.way_back import WayBack

app = st.App(
    Path(__file__).with_name("main.py"),
    lifespan=lifespan,
    routes=[WebSocketRoute(waking.PATH, waking.wake)],
    middleware=[
        Middleware(SecurityHeaders),
        Middleware(AccessLinks),
        Middleware(BrowserIds),
        Middleware(WayBack),
        Middleware(MarkedPeers),
        Middleware(GuardedMedia),
        Middleware(UploadNames),
    ],
)
