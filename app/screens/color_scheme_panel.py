"""Gives the document the colour scheme of the app: Streamlit opens menus, dialogs and tooltips next to the app, not in it."""

from __future__ import annotations

import streamlit as st

_FOLLOW = """
const app = document.querySelector('[data-testid="stApp"]');
const follow = () => { document.documentElement.style.colorScheme = getComputedStyle(app).colorScheme; };
new MutationObserver(follow).observe(app, { attributes: true, attributeFilter: ["class"] });
follow();

export default function () {}
"""
_color_scheme = st.components.v2.component("studio_color_scheme", html="<span></span>", js=_FOLLOW)


def color_scheme() -> None:
    """Let `light-dark()` in the style sheet mean the same everywhere on the page; call it once in each run."""
    with st.container(key="color_scheme_unseen"):
        _color_scheme(key="color_scheme")
