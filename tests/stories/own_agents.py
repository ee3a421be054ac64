"""Writes a folder of agents as somebody has one who just cloned the studio: one works at once, the others each show one thing."""

from __future__ import annotations

from pathlib import Path

from tests.harness.talking_agent import write_talking_agent
from tests.harness.tiny_agent import write_tiny_agent

BROKEN_WORDS = "no module of mine has this name"
"""Stands in the error of the agent that does not load."""

_SLOW = '''
"""Waits for its tool, which takes longer than anybody wants to wait."""

from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types


class Patient(BaseLlm):
    model: str = "patient"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        answer = llm_request.contents[-1].parts[-1].function_response
        if answer is None:
            part = types.Part.from_function_call(name="dig", args={"depth": 3})
        else:
            part = types.Part(text=f"I dug: {answer.response}")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def dig(depth: int) -> dict[str, int]:
    """Dig a hole."""
    import asyncio

    await asyncio.sleep(600)
    return {"depth": depth}


root_agent = LlmAgent(name="slow", model=Patient(), instruction="Dig.", tools=[dig])
'''

_SILENT = '''
"""Asked to wait, its model never answers; asked anything else, it answers at once."""

import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types


class Silent(BaseLlm):
    model: str = "silent"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        asked = llm_request.contents[-1].parts[-1].text
        if asked == "Wait.":
            await asyncio.Event().wait()
        part = types.Part(text=f"You said: {asked}")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


root_agent = LlmAgent(name="silent", model=Silent(), instruction="Answer.")
'''

_KEYLESS = '''
"""An agent whose model cannot be asked without a key."""

from enum import Enum

from google.adk.agents import LlmAgent
from pydantic import BaseModel


class Size(str, Enum):
    SMALL = "small"
    LARGE = "large"


class Address(BaseModel):
    street: str
    number: int


class Parcel(BaseModel):
    parcel: str
    size: str


def send_parcel(address: Address, size: Size, insured: bool = False) -> Parcel:
    """Send a parcel.

    Args:
        address: Where it goes.
        size: How large it is.
        insured: Whether its loss is paid for.
    """
    return Parcel(parcel=f"{address.street} {address.number}", size=size.value)


root_agent = LlmAgent(
    name="keyless", model="gemini-2.5-flash", instruction="You send parcels.", tools=[send_parcel]
)
'''

_SEEKER = '''
"""Looks a customer up in a file that nobody has, so that next to nothing is known of what it finds."""

from collections.abc import AsyncGenerator
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types
from pydantic import BaseModel


class Customer(BaseModel):
    email: str
    points: int


class Asker(BaseLlm):
    model: str = "asker"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        answer = llm_request.contents[-1].parts[-1].function_response
        if answer is None:
            part = types.Part.from_function_call(name="find_customer", args={"customer_id": "C-1"})
        elif answer.name == "find_customer":
            part = types.Part.from_function_call(name="greet", args={"whom": "Ada"})
        else:
            part = types.Part(text="Done.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def find_customer(customer_id: str) -> Customer:
    """Find a customer."""
    return Customer.model_validate_json(Path(customer_id).read_text())


def greet(whom: str) -> dict[str, str]:
    """Greet somebody."""
    if not whom:
        return {"status": "error", "error": "Nobody is there."}
    return {"status": "ok", "said": f"Hello, {whom}!"}


root_agent = LlmAgent(name="seeker", model=Asker(), instruction="Look.", tools=[find_customer, greet])
'''

_HELP_DESK = '''
"""A help desk whose model cannot be asked without a key."""

from google.adk.agents import LlmAgent


def find_customer(email: str) -> dict[str, str]:
    """Find a customer."""
    return {"customer_id": "C-7", "email": email}


def open_ticket(customer_id: str, subject: str) -> dict[str, str]:
    """Open a ticket for a customer."""
    return {"ticket_id": "T-1", "customer_id": customer_id, "subject": subject}


def close_ticket(ticket_id: str) -> dict[str, str]:
    """Close a ticket."""
    return {"ticket_id": ticket_id, "status": "closed"}


root_agent = LlmAgent(
    name="help_desk",
    model="gemini-2.5-flash",
    instruction="You help customers.",
    tools=[find_customer, open_ticket, close_ticket],
)
'''

_BROKEN = f'raise ImportError("{BROKEN_WORDS}")\n'


def write_agents(folder: Path) -> Path:
    """Write the agents `adder`, `talking`, `slow`, `silent`, `keyless`, `help_desk`, `seeker`, and `broken`, which does not load; return the folder."""
    write_tiny_agent(folder)
    write_talking_agent(folder)
    sources = {"slow": _SLOW, "silent": _SILENT, "keyless": _KEYLESS, "seeker": _SEEKER, "broken": _BROKEN}
    sources["help_desk"] = _HELP_DESK
    for name, source in sources.items():
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("from . import agent\n")
        (folder / name / "agent.py").write_text(source)
    return folder
