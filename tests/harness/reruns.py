"""Follows what a page and its server say to each other: only they know whether a run of the script is still owed."""

from __future__ import annotations

from playwright.sync_api import Page, WebSocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_STREAM = "/_stcore/stream"
_LINE = "line_of_tab"


class Reruns:
    """What a page has asked its server for.

    The page itself says that a script runs only when the server has begun: right after a click it still seems at rest.
    """

    def __init__(self, page: Page) -> None:
        self._socket: WebSocket | None = None
        self._asked = self._begun = False
        page.on("websocket", self._listen)

    @property
    def owed(self) -> bool:
        """Whether the page has asked for a run of the script that has not ended."""
        return self._asked or self._begun

    def next_word(self) -> None:
        """Wait until the server says something."""
        if self._socket is not None:
            self._socket.wait_for_event("framereceived")

    def _listen(self, socket: WebSocket) -> None:
        if not socket.url.endswith(_STREAM):  # the line over which the page is woken
            return
        self._socket, self._asked, self._begun = socket, False, False
        socket.on("framesent", self._hear_page)
        socket.on("framereceived", self._hear_server)

    def _hear_page(self, frame: bytes | str) -> None:
        if isinstance(frame, bytes):
            said = BackMsg.FromString(frame)
            # What looks again by itself is not waited for: the server does not answer it once its part is gone.
            if said.HasField("rerun_script") and not _looks_by_itself(said.rerun_script):
                self._asked = True

    def _hear_server(self, frame: bytes | str) -> None:
        if isinstance(frame, bytes):
            kind = ForwardMsg.FromString(frame).WhichOneof("type")
            if kind == "new_session":
                self._asked, self._begun = False, True
            elif kind == "script_finished":
                self._begun = False


def _looks_by_itself(asked: ClientState) -> bool:
    is_woken = any(_LINE in state.id and state.json_trigger_value for state in asked.widget_states.widgets)
    return asked.is_auto_rerun or is_woken
