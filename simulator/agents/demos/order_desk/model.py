"""How the order desk decides: look the order up, then cancel, refund or explain, by what the tools say."""

from __future__ import annotations

from typing import Any

from simulator.agents.demo_model import (
    Answer,
    DemoModel,
    Steps,
    Talk,
    ToolFailure,
    asked,
    call,
    listed,
    money,
    pick_number,
    pick_text,
    quoted,
    together,
)
from simulator.agents.demos.order_desk.wishes import OFFER_TO_CANCEL, Wish, order_ids_in, read_wish

_HELP = (
    "I can find, create, cancel and refund orders. Tell me the id of an order, for instance A-1001, or the "
    "customer's id or e-mail address."
)
_OPEN = ("processing", "pending", "open", "new", "paid", "placed", "created", "confirmed")
_ON_THE_WAY = ("ship", "transit", "way", "dispatch", "delivery")
_REFUNDABLE = ("cancelled", "canceled", "delivered", "returned")
_WRAPPERS = ("order", "data", "orders", "record")


class OrderDeskModel(DemoModel):
    """Decides as the order desk's instruction says."""

    def think(self, talk: Talk) -> Steps[str]:
        """Find out what the customer wants, do it for each order at the same time, and report."""
        wish = read_wish(talk)
        if wish.declined:
            return "All right, I leave the order as it is."
        if wish.create:
            return (yield from _create(wish))
        if wish.order_ids:
            return " ".join((yield from together(_handle(order_id, wish) for order_id in wish.order_ids)))
        if wish.names_a_customer:
            return (yield from _handle_customer(wish))
        if wish.cancel or wish.refund:
            return "Which order do you mean? Please give me its id, for instance A-1001."
        return _HELP


def _handle(order_id: str, wish: Wish) -> Steps[str]:
    answer = yield from asked(call("find_order", order_id=order_id))
    if answer.failure:
        return _not_found(order_id, answer.failure)
    order = answer.record(*_WRAPPERS, order_id=order_id)
    if not order:
        return f"The order system has no details of order {order_id}; it says: {answer}."
    if wish.cancel:
        return (yield from _cancel_and_refund(order_id, order, wish))
    if wish.refund:
        return (yield from _refund(order_id, order, wish))
    return _described(order_id, order)


def _cancel_and_refund(order_id: str, order: dict[str, Any], wish: Wish) -> Steps[str]:
    done = f"Order {order_id} is already cancelled."
    if "cancel" not in _status(order):
        refusal = yield from _cancel(order_id, order, wish)
        if refusal:
            return refusal
        done = f"I cancelled order {order_id}."
    if not wish.refund:
        return done
    paid = yield from _refund(order_id, order | {"status": "cancelled"}, wish)
    return f"{done} {paid}"


def _cancel(order_id: str, order: dict[str, Any], wish: Wish) -> Steps[str]:
    """Cancel an order; gives why it was not done, or an empty text."""
    status = _status(order)
    if not any(word in status for word in _OPEN):
        return _explained(order_id, status)
    answer = yield from asked(call("cancel_order", order_id=order_id, reason=wish.reason))
    if answer.failure:
        return f"I could not cancel order {order_id}: {_sorry(answer.failure)} Nothing was refunded."
    if answer.is_empty:
        return f"I got no confirmation that order {order_id} is cancelled, so I refunded nothing."
    now = _status(answer.record(*_WRAPPERS, order_id=order_id))
    if now and not any(word in now for word in ("cancel", "ok", "success", "done")):
        return f"The cancellation of order {order_id} is {now}, so I refunded nothing."
    return ""


def _refund(order_id: str, order: dict[str, Any], wish: Wish) -> Steps[str]:
    status = _status(order)
    if not any(word in status for word in _REFUNDABLE):
        return _explained(order_id, status)
    total = pick_number(order, "total", "amount", "price", "sum")
    amount = total if wish.amount is None else wish.amount
    currency = wish.currency or pick_text(order, "currency", default="EUR")
    if amount is None or amount <= 0:
        return f"I found no amount to refund for order {order_id}. How much was it?"
    if total is not None and amount > total:
        return f"I refund at most {money(total, currency)} for order {order_id}, which is its total."
    answer = yield from asked(call("refund_order", order_id=order_id, amount=amount, currency=currency))
    if answer.failure:
        return f"The refund of {money(amount, currency)} did not go through: {_sorry(answer.failure)}"
    refund = answer.record("refund", "data")
    refund_id = pick_text(refund, "refund_id", "id", "reference")
    if not refund_id:
        return (
            f"I asked for a refund of {money(amount, currency)} for order {order_id}, but got no refund id."
        )
    sent = pick_number(refund, "amount") or amount
    paid = money(sent, pick_text(refund, "currency", default=currency))
    return f"I refunded {paid} for order {order_id}; the refund's id is {refund_id}."


def _handle_customer(wish: Wish) -> Steps[str]:
    arguments = {"customer_id": wish.customer_id} if wish.customer_id else {"email": wish.email}
    answer = yield from asked(call("list_orders", **arguments))
    who = wish.customer_id or wish.email
    if answer.failure:
        return f"I could not list the orders of {who}: {_sorry(answer.failure)}"
    orders = answer.records("orders", "data", "items", "results")
    if not orders:
        return f"I found no orders of {who}."
    ids = list(filter(None, (pick_text(order, "order_id", "id") for order in orders)))
    if not (wish.cancel or wish.refund):
        lines = [_listed(order) for order in orders]
        return f"{who} has {len(orders)} order{'s' * (len(orders) != 1)}: {listed(lines)}."
    if ids and (len(ids) == 1 or wish.every_order):
        known = tuple(dict.fromkeys(order_ids_in(" ".join(ids)) or ids[:1]))
        return " ".join((yield from together(_handle(order_id, wish) for order_id in known)))
    return f"Which order of {who} do you mean: {listed(ids) or quoted(orders)}?"


def _create(wish: Wish) -> Steps[str]:
    if not wish.items:
        return "What shall I order, and how many? For instance: order 2 mugs and 1 lamp for C-17."
    customer_id = wish.customer_id
    if not customer_id and wish.email:
        found = yield from asked(call("list_orders", email=wish.email))
        customer_id = pick_text(found.record(), "customer_id", "customer")
        if found.failure or not customer_id:
            return f"I do not know a customer with the address {wish.email}."
    if not customer_id:
        return "Who is the order for? Please give me the customer's id, for instance C-17, or e-mail address."
    items = [{"sku": sku, "quantity": quantity} for sku, quantity in wish.items]
    answer = yield from asked(
        call("create_order", customer_id=customer_id, items=items, express=wish.express)
    )
    if answer.failure:
        return f"I could not place the order: {_sorry(answer.failure)}"
    return _placed(answer, customer_id)


def _placed(answer: Answer, customer_id: str) -> str:
    order = answer.record(*_WRAPPERS)
    order_id = pick_text(order, "order_id", "id")
    if not order_id:
        return f"I placed the order for {customer_id}, but got no order id; the system says: {answer}."
    return f"I placed order {order_id} for {customer_id}{_price(order)}."


def _described(order_id: str, order: dict[str, Any]) -> str:
    status = _status(order)
    if not status:
        return f"The order system does not say how order {order_id} stands; it says: {quoted(order)}."
    tracking = pick_text(order, "tracking", "tracking_number", "tracking_id")
    tail = f", tracking number {tracking}" if tracking else ""
    return f"Order {order_id} is {status}{tail}{_price(order)}."


def _listed(order: dict[str, Any]) -> str:
    order_id = pick_text(order, "order_id", "id", default="an order without an id")
    return f"{order_id} ({_status(order) or 'no status'}{_price(order)})"


def _price(order: dict[str, Any]) -> str:
    total = pick_number(order, "total", "amount", "price")
    return "" if total is None else f", {money(total, pick_text(order, 'currency', default='EUR'))} in total"


def _explained(order_id: str, status: str) -> str:
    if any(word in status for word in _ON_THE_WAY):
        return f"Order {order_id} is already {status}, so it cannot be cancelled. You can return it once it arrives."
    if "delivered" in status:
        return f"Order {order_id} was delivered, so it cannot be cancelled. You can return it for a refund."
    if any(word in status for word in _OPEN):
        return f"Order {order_id} is still {status}. {OFFER_TO_CANCEL}"
    return f"Order {order_id} is {status or 'in no known status'}, so I cannot change it."


def _status(order: dict[str, Any]) -> str:
    return pick_text(order, "status", "state").lower().replace("_", " ")


def _not_found(order_id: str, failure: ToolFailure) -> str:
    if failure.is_missing:
        return f"I cannot find an order {order_id}. Please check the id."
    return f"I could not look up order {order_id}: {_sorry(failure)}"


def _sorry(failure: ToolFailure) -> str:
    if failure.is_busy:
        return f"the service is not available at the moment ({failure}). I am sorry; please try again later."
    return f"{failure}.".replace("..", ".")
