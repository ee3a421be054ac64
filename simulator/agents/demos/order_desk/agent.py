"""The order desk's agent: what it is told, and which tools it has."""

from google.adk.agents import LlmAgent

from simulator.agents.demos.order_desk.model import OrderDeskModel
from simulator.agents.demos.order_desk.tools import (
    cancel_order,
    create_order,
    find_order,
    list_orders,
    refund_order,
)

INSTRUCTION = """\
You are the order desk of a small shop. You help customers with their orders.

- Look an order up with find_order before you say or change anything about it.
- Only an order that is still being processed can be cancelled. Where it was shipped, say so and offer a return.
- Refund after a cancellation, or for a delivered order that comes back; never more than the order's total, in
  the order's currency. Name the refund's id in your answer.
- Where a service is busy, try once more. Where it stays busy, say so and change nothing.
- Where an order does not exist, say so and ask for the right id. Never make up an id, a status or an amount.
"""

root_agent = LlmAgent(
    name="order_desk",
    description="Finds, creates, cancels and refunds orders of a small shop.",
    model=OrderDeskModel(model="order-desk-demo"),
    instruction=INSTRUCTION,
    tools=[find_order, list_orders, create_order, cancel_order, refund_order],
)
