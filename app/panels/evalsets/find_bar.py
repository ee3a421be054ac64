"""The line above a table of results: words to be found in it, and a choice of what each line is."""

from collections.abc import Mapping

import streamlit as st

from app.bench import Bench
from app.panels.evalsets.remembered import keep_option, option_key


def find_bar(
    bench: Bench, tab: str, find: tuple[str, str], kind: str, choices: Mapping[str, str]
) -> tuple[str, str]:
    """Draw it; give the words and the choice, which is "all" where nothing was chosen.

    Args:
        bench: Where both are kept.
        tab: The tab's name, with which the keys begin.
        find: What is said of the words, and what stands where none are.
        kind: What is said of the choice.
        choices: What a line can be, and how that is shown.
    """
    label, placeholder = find
    words_name, kind_name = f"{tab}_find", f"{tab}_{kind.lower()}"
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom", key=f"{tab}_filter"):
        words = st.text_input(
            label, key=option_key(bench, words_name, ""), placeholder=placeholder, width=260
        )
        chosen = st.selectbox(
            kind,
            ("all", *choices),
            key=option_key(bench, kind_name, "all"),
            format_func=lambda each: choices.get(each, each),
            width=180,
        )
    keep_option(bench, words_name, words or "")
    keep_option(bench, kind_name, chosen)
    return words or "", chosen
