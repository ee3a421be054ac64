"""Writes a folder of agents as somebody has one who just cloned the studio: one works at once, the others each show one thing."""

from __future__ import annotations

from pathlib import Path

from tests.harness.talking_agent import write_talking_agent
from tests.harness.tiny_agent import write_tiny_agent

BROKEN_WORDS = "no module of mine has this name"
"""Stands in the error of the agent that does not load."""

MODEL = """
import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types


class Answering(BaseLlm):
    async def part(self, contents):
        raise NotImplementedError

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        part = await self.part(llm_request.contents)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))
"""
"""Begins the source of an agent whose model answers with one part, which follows from what it was told."""

_SLOW = f'''{MODEL}

class Patient(Answering):
    """Waits for its tool, which takes longer than anybody wants to wait."""

    model: str = "patient"

    async def part(self, contents):
        answer = contents[-1].parts[-1].function_response
        if answer is None:
            return types.Part.from_function_call(name="dig", args={{"depth": 3}})
        return types.Part(text=f"I dug: {{answer.response}}")


async def dig(depth: int) -> dict[str, int]:
    """Dig a hole."""
    await asyncio.sleep(600)
    return {{"depth": depth}}


root_agent = LlmAgent(name="slow", model=Patient(), instruction="Dig.", tools=[dig])
'''

_SILENT = f'''{MODEL}

class Silent(Answering):
    """Asked to wait, it never answers; asked anything else, it answers at once."""

    model: str = "silent"

    async def part(self, contents):
        asked = contents[-1].parts[-1].text
        if asked == "Wait.":
            await asyncio.Event().wait()
        return types.Part(text=f"You said: {{asked}}")


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

_SEEKER = f'''{MODEL}
from pathlib import Path

from pydantic import BaseModel


class Customer(BaseModel):
    email: str
    points: int


class Asker(Answering):
    """Looks a customer up in a file that nobody has, so that next to nothing is known of what it finds."""

    model: str = "asker"

    async def part(self, contents):
        answer = contents[-1].parts[-1].function_response
        if answer is None:
            return types.Part.from_function_call(name="find_customer", args={{"customer_id": "C-1"}})
        if answer.name == "find_customer":
            return types.Part.from_function_call(name="greet", args={{"whom": "Ada"}})
        return types.Part(text="Done.")


def find_customer(customer_id: str) -> Customer:
    """Find a customer."""
    return Customer.model_validate_json(Path(customer_id).read_text())


def greet(whom: str) -> dict[str, str]:
    """Greet somebody."""
    if not whom:
        return {{"status": "error", "error": "Nobody is there."}}
    return {{"status": "ok", "said": f"Hello, {{whom}}!"}}


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


def write_agent(folder: Path, name: str, source: str) -> Path:
    """Write an agent into a folder of agents; return that folder."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text("from . import agent\n")
    (folder / name / "agent.py").write_text(source)
    return folder


def write_agents(folder: Path) -> Path:
    """Write the agents `adder`, `talking`, `slow`, `silent`, `keyless`, `help_desk`, `seeker`, and `broken`, which does not load; return the folder."""
    write_tiny_agent(folder)
    write_talking_agent(folder)
    sources = {"slow": _SLOW, "silent": _SILENT, "keyless": _KEYLESS, "seeker": _SEEKER, "broken": _BROKEN}
    for name, source in {**sources, "help_desk": _HELP_DESK}.items():
        write_agent(folder, name, source)
    return folder
