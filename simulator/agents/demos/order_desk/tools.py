"""The order desk's tools: a small shop whose changes live in the session's state."""

# ruff: noqa: D417 - the model reads these docstrings, and ADK fills in `tool_context` behind its back
# No `from __future__ import annotations` here: ADK reads the annotations of tools to tell the model about them.

from typing import Any, Literal, NotRequired

from google.adk.tools.tool_context import ToolContext
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

CURRENCY = "EUR"
PRICES = {"mug": 12.45, "lamp": 25.0, "notebook": 6.0, "backpack": 79.0}
CUSTOMERS = {"C-17": "ada@example.com", "C-18": "grace@example.com"}

_FIRST_NEW_ORDER = 1005
_FIRST_REFUND = 5001
_BAD_REQUEST, _NOT_FOUND, _CONFLICT, _UNPROCESSABLE = 400, 404, 409, 422


class OrderItem(BaseModel):
    """One line of a new order."""

    sku: str = Field(description="The article, for instance mug, lamp, notebook or backpack.")
    quantity: int = Field(default=1, ge=1, description="How many of it.")


class OrderLine(TypedDict):
    """One line of an order as the shop keeps it."""

    sku: str
    quantity: int
    unit_price: float


class Order(TypedDict):
    """An order. `tracking` is there once it was shipped, `express` where it shall go by express."""

    order_id: str
    customer_id: str
    status: Literal["processing", "shipped", "delivered", "cancelled"]
    items: list[OrderLine]
    total: float
    currency: str
    placed_on: str
    tracking: NotRequired[str]
    express: NotRequired[bool]


class OrderList(TypedDict):
    """The orders of one customer."""

    customer_id: str
    orders: list[Order]


class Cancellation(TypedDict):
    """What a cancellation changed."""

    order_id: str
    status: Literal["cancelled"]
    reason: str


class Refund(TypedDict):
    """Money that went back to a customer."""

    refund_id: str
    order_id: str
    amount: float
    currency: str
    status: Literal["sent"]


class ToolError(TypedDict):
    """Why a tool did nothing."""

    error_code: int
    error_message: str


PAYMENTS: list[Refund] = []
"""Every refund that really left the house in this process. No undo brings one back: a side effect."""


def _line(sku: str, quantity: int) -> OrderLine:
    return OrderLine(sku=sku, quantity=quantity, unit_price=PRICES[sku])


def _total(lines: list[OrderLine]) -> float:
    return round(sum(line["quantity"] * line["unit_price"] for line in lines), 2)


def _order(order_id: str, customer_id: str, status: Any, placed_on: str, *lines: OrderLine) -> Order:
    return Order(
        order_id=order_id,
        customer_id=customer_id,
        status=status,
        items=list(lines),
        total=_total(list(lines)),
        currency=CURRENCY,
        placed_on=placed_on,
    )


ORDERS: dict[str, Order] = {
    order["order_id"]: order
    for order in (
        _order("A-1001", "C-17", "processing", "2026-03-02", _line("mug", 2), _line("lamp", 1)),
        _order("A-1002", "C-17", "shipped", "2026-02-26", _line("notebook", 3)) | {"tracking": "TRK-88012"},
        _order("A-1003", "C-18", "delivered", "2026-02-11", _line("backpack", 1)) | {"tracking": "TRK-87341"},
        _order("A-1004", "C-18", "cancelled", "2026-03-01", _line("mug", 1)),
    )
}
"""What the shop begins with, in each new session."""


def find_order(order_id: str, tool_context: ToolContext) -> Order | ToolError:
    """Looks one order up.

    Args:
        order_id: The order's id, for instance "A-1001".

    Returns:
        The order with its status, items, total, currency and, once it was shipped, its tracking number; or an
        error with code 404 where no such order exists.
    """
    return _orders(tool_context).get(order_id) or _no_order(order_id)


def list_orders(
    tool_context: ToolContext, customer_id: str | None = None, email: str | None = None
) -> OrderList | ToolError:
    """Lists the orders of one customer. Give the customer's id or the e-mail address.

    Args:
        customer_id: The customer's id, for instance "C-17".
        email: The e-mail address that the customer is known by.

    Returns:
        The customer's id and orders; or an error with code 404 where the customer is not known.
    """
    if not customer_id and not email:
        return ToolError(error_code=_BAD_REQUEST, error_message="Give a customer_id or an email.")
    known = [key for key, address in CUSTOMERS.items() if key == customer_id or address == email]
    if not known:
        return _no_customer(customer_id or email or "")
    orders = [order for order in _orders(tool_context).values() if order["customer_id"] == known[0]]
    return OrderList(customer_id=known[0], orders=orders)


def create_order(
    customer_id: str, items: list[OrderItem], tool_context: ToolContext, *, express: bool = False
) -> Order | ToolError:
    """Places a new order for a customer.

    Args:
        customer_id: The customer's id, for instance "C-17".
        items: What to order: article and quantity of each line.
        express: Whether it shall be shipped by express.

    Returns:
        The new order; or an error with code 404 for an unknown customer, 422 for an article that is not sold or
        a line that cannot be read.
    """
    if customer_id not in CUSTOMERS:
        return _no_customer(customer_id)
    try:
        wanted = [OrderItem.model_validate(item) for item in items]
    except ValueError as error:
        return ToolError(error_code=_UNPROCESSABLE, error_message=" ".join(str(error).split()))
    unknown = sorted({item.sku for item in wanted} - PRICES.keys())
    if unknown or not wanted:
        known = ", ".join(PRICES)
        return ToolError(
            error_code=_UNPROCESSABLE,
            error_message=f"The shop does not sell {', '.join(unknown) or 'nothing'}. It sells: {known}.",
        )
    orders = _orders(tool_context)
    order_id = f"A-{_FIRST_NEW_ORDER + len(orders) - len(ORDERS)}"
    lines = [_line(item.sku, item.quantity) for item in wanted]
    order = _order(order_id, customer_id, "processing", "2026-03-05", *lines)
    if express:
        order["express"] = True
    _keep(tool_context, order)
    return order


def cancel_order(
    order_id: str,
    tool_context: ToolContext,
    reason: Literal["customer_request", "duplicate", "too_late", "other"] = "customer_request",
) -> Cancellation | ToolError:
    """Cancels an order that is still being processed. It does not pay anything back.

    Args:
        order_id: The order's id, for instance "A-1001".
        reason: Why it is cancelled.

    Returns:
        The order's id, its new status and the reason; or an error with code 404 where no such order exists, 409
        where it can no longer be cancelled.
    """
    order = _orders(tool_context).get(order_id)
    if order is None:
        return _no_order(order_id)
    if order["status"] != "processing":
        return ToolError(
            error_code=_CONFLICT, error_message=f"Order {order_id} is already {order['status']}."
        )
    _keep(tool_context, order | {"status": "cancelled"})
    return Cancellation(order_id=order_id, status="cancelled", reason=reason)


def refund_order(
    order_id: str, amount: float, currency: str, tool_context: ToolContext
) -> Refund | ToolError:
    """Pays money back for an order that was cancelled or delivered. The money leaves at once.

    Args:
        order_id: The order's id, for instance "A-1001".
        amount: How much to pay back, at most what was paid and not yet refunded.
        currency: The order's currency, for instance "EUR".

    Returns:
        The refund with its id; or an error with code 404 where no such order exists, 409 where the order is neither
        cancelled nor delivered, 422 where the amount or the currency does not fit the order.
    """
    order = _orders(tool_context).get(order_id)
    if order is None:
        return _no_order(order_id)
    if order["status"] not in ("cancelled", "delivered"):
        return ToolError(error_code=_CONFLICT, error_message=f"Order {order_id} is still {order['status']}.")
    refunds = _refunds(tool_context)
    left = order["total"] - sum(one["amount"] for one in refunds if one["order_id"] == order_id)
    if currency != order["currency"] or not 0 < amount <= round(left, 2):
        wanted = f"{left:.2f} {order['currency']}"
        return ToolError(error_code=_UNPROCESSABLE, error_message=f"At most {wanted} can be refunded.")
    refund = Refund(
        refund_id=f"R-{_FIRST_REFUND + len(refunds)}",
        order_id=order_id,
        amount=amount,
        currency=currency,
        status="sent",
    )
    tool_context.state["refunds"] = [*refunds, refund]
    PAYMENTS.append(refund)
    return refund


def _orders(tool_context: ToolContext) -> dict[str, Order]:
    changed: dict[str, Order] = tool_context.state.get("orders") or {}
    return ORDERS | changed


def _refunds(tool_context: ToolContext) -> list[Refund]:
    return list(tool_context.state.get("refunds") or [])


def _keep(tool_context: ToolContext, order: Order) -> None:
    changed: dict[str, Order] = tool_context.state.get("orders") or {}
    tool_context.state["orders"] = changed | {order["order_id"]: order}


def _no_order(order_id: str) -> ToolError:
    return ToolError(error_code=_NOT_FOUND, error_message=f"No order {order_id} exists.")


def _no_customer(who: str) -> ToolError:
    return ToolError(error_code=_NOT_FOUND, error_message=f"No customer {who} is known.")
