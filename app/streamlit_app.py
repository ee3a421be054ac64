"""The entry of `streamlit run app`: the page in `main.py`, with what surrounds it on the server (headers, ids, links, an orderly end)."""

from __future__ import annotations

import sys
from pathlib import Path

_HOME = Path(__file__).resolve().parents[1]
# This process imports the studio's own packages, whatever else has their names; an installation keeps two of them in a folder.
sys.path[:0] = [str(place) for place in (_HOME, _HOME / "packages") if place.is_dir()]

from simulator.kernel.kernel_templates import TEMPLATES

# It takes longest of all that the first page needs, and another processor: it starts before the rest is imported.
TEMPLATES.prepare(Path(sys.executable))

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import WebSocketRoute

from app.lifespan import lifespan
from app.live import wake_ups
from app.server.browser_cookie import BrowserIds
from app.server.local_peers import MarkedPeers
from app.server.login import AccessLinks, LoginReturn
from app.server.offered_files import GuardedMedia
from app.server.security_headers import SecurityHeaders, UploadNames

app = st.App(
    Path(__file__).with_name("main.py"),
    lifespan=lifespan,
    routes=[WebSocketRoute(wake_ups.PATH, wake_ups.wake)],
    middleware=[
        Middleware(SecurityHeaders),
        Middleware(AccessLinks),
        Middleware(BrowserIds),
        Middleware(LoginReturn),
        Middleware(MarkedPeers),
        Middleware(GuardedMedia),
        Middleware(UploadNames),
    ],
)
