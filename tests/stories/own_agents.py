"""Writes a folder of agents as somebody has one who just cloned the studio: one works at once, the others each show one thing."""

from __future__ import annotations

from pathlib import Path

from tests.harness.talking_agent import write_talking_agent
from tests.harness.tiny_agent import write_tiny_agent

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


def write_agent(folder: Path, name: str, source: str) -> Path:
    """Write an agent into a folder of agents; return that folder."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text("from . import agent\n")
    (folder / name / "agent.py").write_text(source)
    return folder


def write_agents(folder: Path) -> Path:
    """Write the agents `adder`, `talking`, `slow`, `keyless` and `help_desk`; return the folder."""
    write_tiny_agent(folder)
    write_talking_agent(folder)
    for name, source in {"slow": _SLOW, "keyless": _KEYLESS, "help_desk": _HELP_DESK}.items():
        write_agent(folder, name, source)
    return folder
