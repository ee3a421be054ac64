"""Speaks with a server of Streamlit as a browser's page does, and draws nothing: hundreds of them fit beside the server."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol


class PageError(AssertionError):
    """The server said something else than a page's end of run; the text says what."""


class PageClient:
    """One browser's page.

    Args:
        url: The server's address, `http://...`.
        query: The page's own part of the address, without the question mark.
        cookie: What the browser sends along, `name=value`.

    Attributes:
        looks: How often each part that looks by itself does so, in seconds, by its id.
        texts: All texts that the last run drew, which tells one page from another.
    """

    def __init__(self, url: str, query: str = "", cookie: str = "") -> None:
        self._address = url.replace("http", "ws", 1) + "/_stcore/stream"
        self._url, self._query, self._cookie = url, query, cookie
        self._page = ""
        self._socket: ClientConnection | None = None
        self.looks: dict[str, float] = {}
        self.texts: list[str] = []

    async def open(self) -> None:
        """Open the line."""
        self._socket = await connect(
            self._address,
            origin=Origin(self._url),
            subprotocols=[Subprotocol("streamlit")],
            additional_headers={"Cookie": self._cookie} if self._cookie else {},
            max_size=None,
            compression=None,
        )

    async def close(self) -> None:
        """Close the tab."""
        await self._line.close()

    @property
    def _line(self) -> ClientConnection:
        if self._socket is None:
            raise PageError("the page is not open")
        return self._socket

    async def run(self) -> float:
        """Let the whole page be drawn; give the seconds until its script has ended."""
        return await self._asked("")

    async def look(self, part: str) -> float:
        """Let one part look by itself, as its timer does; give the seconds until that has ended."""
        return await self._asked(part)

    async def _asked(self, fragment: str) -> float:
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string, asked.page_script_hash = self._query, self._page
        if fragment:
            asked.fragment_id, asked.is_auto_rerun = fragment, True
        began = perf_counter()
        await self._line.send(message.SerializeToString())
        await self._hear(fragment)
        return perf_counter() - began

    async def _hear(self, fragment: str) -> None:
        """Hear what the server says until the run that was asked for has ended."""
        begun = False
        async for frame in self._line:
            said = ForwardMsg.FromString(frame if isinstance(frame, bytes) else frame.encode())
            kind = said.WhichOneof("type")
            if kind == "new_session":
                begun, self._page = True, said.new_session.page_script_hash
                if not fragment:
                    self.looks, self.texts = {}, []
            elif kind == "auto_rerun":
                self.looks[said.auto_rerun.fragment_id] = said.auto_rerun.interval
            elif kind == "delta":
                self._note(said)
            elif kind == "script_finished" and begun:
                if said.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    raise PageError("the page's script does not compile")
                if said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    return
        raise PageError("the server has closed the line")

    def _note(self, said: ForwardMsg) -> None:
        if said.delta.WhichOneof("type") != "new_element":
            return
        element = said.delta.new_element
        kind = element.WhichOneof("type")
        drawn: Any = getattr(element, kind or "", None)
        if kind == "exception":
            raise PageError(f"{drawn.type}: {drawn.message}")
        text = getattr(drawn, "body", "")
        if isinstance(text, str) and text:
            self.texts.append(text)
