"""Speaks with a server of Streamlit as a browser's page does, and draws nothing: hundreds of them fit beside the server."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
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
        port: Where the server, or what is in front of it, listens on this machine, where that is not the address's.
        headers: What else is sent; an `Origin` here takes the place of the page's own, and an empty one stands for none.

    Attributes:
        looks: How often each part that looks by itself does so, in seconds, by its id.
        texts: All texts that the last run drew, which tells one page from another.
        drawn: All that the last run drew, as the browser gets it.
        inputs: What each text input that was drawn holds, by its key.
        parts: The parts of the page that can be drawn by themselves.
    """

    def __init__(
        self,
        url: str,
        query: str = "",
        cookie: str = "",
        port: int = 0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._query = query
        self._there: dict[str, Any] = {"host": "127.0.0.1", "port": port} if port else {}
        self._headers = {"Cookie": cookie, **(headers or {})}
        self._own_origin = "Origin" not in self._headers
        self.go_to(url)
        self._page = ""
        self._socket: ClientConnection | None = None
        self.looks: dict[str, float] = {}
        self.texts: list[str] = []
        self.drawn: list[str] = []
        self.parts: set[str] = set()
        self.inputs: dict[str, str] = {}
        self._ids: dict[str, str] = {}

    def go_to(self, url: str) -> None:
        """Look at another server from the next `open` on."""
        self._address = url.replace("http", "ws", 1) + "/_stcore/stream"
        if self._own_origin:
            self._headers["Origin"] = url

    async def open(self) -> None:
        """Open the line."""
        self._socket = await connect(
            self._address,
            origin=Origin(origin) if (origin := self._headers["Origin"]) else None,
            subprotocols=[Subprotocol("streamlit")],
            additional_headers={
                name: value for name, value in self._headers.items() if value and name != "Origin"
            },
            max_size=None,
            **self._there,
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
        """Let the whole page be drawn; return the seconds until its script has ended."""
        return await self._asked("")

    async def look(self, part: str) -> float:
        """Let one part look by itself, as its timer does; return the seconds until that has ended."""
        return await self._asked(part)

    async def click(self, key: str) -> float:
        """Click the button whose key begins like this, and let the page be drawn."""
        return await self._asked("", WidgetState(id=self._id(key), trigger_value=True))

    async def type(self, key: str, text: str) -> float:
        """Leave the input whose key begins like this with another text, and let the page be drawn."""
        name = self.key(key)
        asked = WidgetState(id=self._ids[name], string_value=text)
        self.inputs[name] = text
        return await self._asked("", asked)

    def key(self, start: str) -> str:
        """Return the whole key of the one that was drawn last of those that begin like this; empty where there is none."""
        return next((key for key in reversed(self._ids) if key.startswith(start)), "")

    def _id(self, start: str) -> str:
        return self._ids[self.key(start)]

    async def _asked(self, fragment: str, *changed: WidgetState) -> float:
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string, asked.page_script_hash = self._query, self._page
        asked.widget_states.widgets.extend(changed)
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
                    self.looks, self.texts, self.drawn, self._ids, self.parts = {}, [], [], {}, set()
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
        self.drawn.append(str(said.delta))
        if said.delta.fragment_id:
            self.parts.add(said.delta.fragment_id)
        if said.delta.WhichOneof("type") != "new_element":
            return
        element = said.delta.new_element
        kind = element.WhichOneof("type")
        drawn: Any = getattr(element, kind or "", None)
        if kind == "exception":
            raise PageError(f"{drawn.type}: {drawn.message}")
        _, _, key = str(getattr(drawn, "id", "")).removeprefix("$$ID-").partition("-")
        if key:
            self._ids[key] = drawn.id
        if key and kind in {"text_area", "text_input"}:
            is_new = drawn.set_value or key not in self.inputs
            self.inputs[key] = (
                (drawn.value if drawn.set_value else drawn.default) if is_new else self.inputs[key]
            )
        text = getattr(drawn, "body", "") or getattr(drawn, "code_text", "")
        if isinstance(text, str) and text:
            self.texts.append(text)
