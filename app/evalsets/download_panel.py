"""The button that downloads a result as CSV."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from evalset.result_tables import Result, Reviews, table_csv


def csv_button(
    result: Callable[[], Result], file_name: str, key: str, reviews: Callable[[], Reviews] = dict
) -> None:
    """Draw the button; the text is made only when it is pressed. `reviews` gives those of cases."""
    st.download_button(
        "CSV",
        data=lambda: table_csv(result(), reviews=reviews()),
        file_name=file_name,
        mime="text/csv",
        icon=":material/download:",
        key=key,
        on_click="ignore",
    )
