"""The side of a kernel in this process: what it shows can be asked about at once."""

from __future__ import annotations

from typing import Any, cast

from simulator import demo_agent
from simulator.kernel.kernel_server import Server
from simulator.kernel.messages import Channel, KernelCall, KernelReply, SessionDisplay
from tests.simulator.kernel.projects import PATIENCE, PERSON


class QuickStudio:
    """A studio that asks for the draft of a request as soon as it is shown the request."""

    def __init__(self) -> None:
        self.server = Server(cast("Channel", self))
        self.server._config = demo_agent("order_desk")
        self.replies: list[KernelReply] = []

    def ask(self, name: str, **arguments: Any) -> None:
        """Ask for something."""
        self.server._answer(KernelCall(number=1, session="s", name=name, arguments=arguments))

    def send(self, message: object) -> None:
        """Hear what the kernel sends."""
        if isinstance(message, SessionDisplay):
            for key in message.later:
                self.ask("fields", key=key, names=["draft"])
        if isinstance(message, KernelReply):
            self.replies.append(message)


def test_the_draft_of_a_request_can_be_asked_for_as_soon_as_it_is_shown() -> None:
    """A studio that is faster than the kernel's own thread is not told that the call no longer waits."""
    studio = QuickStudio()
    seats = PERSON.model_copy(update={"agents": {}})
    named = {"name": "order_desk", "app_name": "order_desk", "root": "order_desk"}
    studio.ask("open", called=named, at=None, seats=seats.model_dump(mode="json"), seed="seed")
    studio.ask("query", message="Where is order A-1002?", wait=PATIENCE)
    assert [reply.error for reply in studio.replies if reply.error is not None] == []
    given: list[Any] = [reply.value for reply in studio.replies if isinstance(reply.value, dict)]
    assert {each["draft"]["order_id"] for each in given} == {"A-1002"}
    studio.ask("close")
