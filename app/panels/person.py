"""Says in the sidebar who is logged in, with the way out."""

import streamlit as st

from app.labels import literal
from app.people import Visitor


def person(who: Visitor) -> None:
    """Draw it; nothing where nobody logs in. The names come from outside."""
    if not who.has_logged_in:
        return
    with st.sidebar, st.container(key="person", gap="xxsmall"):
        st.caption("Logged in")
        for said in dict.fromkeys(filter(None, (who.name, who.email))):
            st.text(literal(said))
        if st.button("Log out", key="log_out", type="tertiary", icon=":material/logout:"):
            st.logout()
            st.stop()  # what would be drawn now is nobody's
