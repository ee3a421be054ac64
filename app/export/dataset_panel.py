"""A golden trace as a dataset for `agents-cli eval`: what is lost, the download, and the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from app.forms.common_panel import problem
from app.forms.safe_labels import literal
from app.forms.widget_store import KeptInputs
from simulator.base.frozen_value import Value

if TYPE_CHECKING:
    from evalset import Exported

_WHAT = "The format of `agents-cli eval`. One turn is a prompt with a reference. Several turns are a case for each turn, with the turns before it as history."
_LOST = "Not in the dataset, or different there:"
_RUN = "`pytest --goldens` replays it, and so does `agents-cli eval generate` with the recorded environment in the agent's `App`."


@dataclass(frozen=True)
class DatasetView:
    """What the page knows of the dataset.

    Attributes:
        made: Makes it; a ValueError says why there is none.
        default_path: Where it is written by default.
        written: The files that were written last.
        failed: Why the last write failed.
    """

    made: Callable[[], Exported]
    default_path: str
    written: tuple[str, ...] = ()
    failed: str = ""


class WriteDataset(Value):
    """Write the golden trace as a dataset; `path` is the file."""

    path: str


def dataset_export(kept: KeptInputs, shown: DatasetView, *, may_write: bool) -> WriteDataset | None:
    """Draw it, once somebody looks; return what was asked for."""
    body = st.expander(
        "Dataset for agents-cli", icon=":material/dataset:", key="export_dataset", on_change="rerun"
    )
    if not body.open:
        return None
    with body:
        st.caption(_WHAT)
        try:
            made = shown.made()
        except ValueError as error:
            problem("This case cannot be exported as a dataset.", str(error))
            return None
        if made.losses:
            with st.container(gap="xsmall", key="dataset_losses", border=True):
                st.caption(_LOST)
                for loss in made.losses:
                    st.text(literal(f"· {loss}"))
        return _ways(kept, shown, made, may_write=may_write)


def _ways(kept: KeptInputs, shown: DatasetView, made: Exported, *, may_write: bool) -> WriteDataset | None:
    path = ""
    if may_write:
        path = st.text_input(
            "Dataset file",
            key=kept.widget("dataset_path", shown.default_path),
            help="In a project of agents-cli, its folder of datasets. The recorded environment is written next to it",
        )
    with st.container(horizontal=True, gap="xsmall", key="dataset_buttons"):
        write = may_write and st.button("Write dataset", key="dataset_write", icon=":material/save:")
        st.download_button(
            "Download dataset",
            data=made.content,
            file_name=made.name,
            key="dataset_download",
            icon=":material/download:",
            on_click="ignore",
            help="The dataset and its recorded environment",
        )
    if shown.failed:
        problem("The dataset was not written.", shown.failed)
    elif shown.written:
        st.success("The dataset was written.", icon=":material/check_circle:")
        st.code(literal("\n".join(shown.written)), language=None, wrap_lines=True)
        st.caption(_RUN)
    return WriteDataset(path=path) if write else None
