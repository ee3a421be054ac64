"""The order desk: what it is told, which tools it has, and how it decides: look the order up, then cancel, refund or explain, by what the tools say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from google.adk.agents import LlmAgent

from simulator.agents.demo_model import (
    Answer,
    DemoModel,
    Steps,
    Talk,
    ToolFailure,
    asked,
    listed,
    money,
    number,
    pick_number,
    pick_text,
    quoted,
    together,
)
from simulator.agents.demos.order_desk.tools import (
    cancel_order,
    create_order,
    find_order,
    list_orders,
    refund_order,
)

OFFER_TO_CANCEL = "Shall I cancel it and refund you?"
"""How the desk asks; a plain "yes" to it means this."""

_MOST_ORDERS = 5
_ORDER_ID = re.compile(r"(?<![\w-])(?![CR]-)[A-Z]{1,2}-\d{3,8}(?!\w)", re.IGNORECASE | re.ASCII)
_BARE_ORDER_NUMBER = re.compile(
    r"(?:\border\s*(?:no\.?|number|id)?\s*|#)(\d{3,8})\b", re.IGNORECASE | re.ASCII
)
_CUSTOMER_ID = re.compile(r"(?<![\w-])C-\d{1,8}\b", re.IGNORECASE | re.ASCII)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}", re.ASCII)
_AMOUNT = re.compile(
    r"(?P<before>[€$£])?\s?(?P<amount>\d{1,9}(?:\.\d{1,2})?)\s?(?P<after>EUR|USD|GBP|CHF|[€$£])?"
)
_SYMBOLS = {"€": "EUR", "$": "USD", "£": "GBP"}
_ITEM = re.compile(r"(?<![\w-])(\d{1,4})\s*(?:x\s+)?([a-z]{3,20})\b", re.IGNORECASE | re.ASCII)
_NO_ARTICLES = frozenset(
    ("eur", "usd", "gbp", "chf", "days", "day", "times", "orders", "order", "percent", "please")
)
_CANCEL = re.compile(r"\bcancel|\bcall (?:it|the order) off", re.IGNORECASE)
_REFUND = re.compile(r"\brefund|\bmoney back|\bpay (?:me )?back|\breimburs", re.IGNORECASE)
_CREATE = re.compile(
    r"\b(?:buy|purchase)\b|\b(?:place|create|make|start)\b.{0,20}\border|\bnew order\b|\bto order\b|\border (?:me |an? |\d{1,2}\s)",
    re.IGNORECASE,
)
_ALL = re.compile(r"\ball\b|\bevery\b|\beach\b", re.IGNORECASE)
_YES = re.compile(r"^\W*(?:yes|yeah|yep|ok|okay|sure|please do|go ahead|do it)\b", re.IGNORECASE)
_POINTS_BACK = re.compile(r"\b(?:it|that|this|them|the order|my order|status|where)\b", re.IGNORECASE)
_NO = re.compile(r"^\W*(?:no|nope|don't|do not|leave it)\b", re.IGNORECASE)
_REASONS = {"duplicate": r"\bduplicate|\btwice", "too_late": r"\b(?:too )?late\b|\btakes too long"}


@dataclass(frozen=True)
class Wish:
    """What the customer wants. `items` are articles and quantities of a new order."""

    order_ids: tuple[str, ...] = ()
    customer_id: str = ""
    email: str = ""
    cancel: bool = False
    refund: bool = False
    create: bool = False
    every_order: bool = False
    declined: bool = False
    amount: float | None = None
    currency: str = ""
    reason: str = "customer_request"
    express: bool = False
    items: tuple[tuple[str, int], ...] = ()

    @property
    def names_a_customer(self) -> bool:
        """Whether the orders can be found by their customer."""
        return bool(self.customer_id or self.email)


def read_wish(talk: Talk) -> Wish:
    """Read the latest words; which order "it" is, they may leave to what was said before."""
    said = talk.said
    wish = _read(said)
    if talk.last_reply.endswith(OFFER_TO_CANCEL) and _YES.match(said):
        wish = replace(wish, cancel=True, refund=True)
    if talk.last_reply.endswith(OFFER_TO_CANCEL) and _NO.match(said):
        return replace(wish, declined=True)
    if wish.create:
        return wish if wish.names_a_customer else _for_the_customer_before(talk, wish)
    if wish.order_ids or wish.names_a_customer:
        return wish
    points_back = wish.cancel or wish.refund or _POINTS_BACK.search(said)
    return replace(wish, order_ids=_ids_before(talk)) if points_back else wish


def _read(said: str) -> Wish:
    order_ids = order_ids_in(said)
    cancel, refund = bool(_CANCEL.search(said)), bool(_REFUND.search(said))
    amount, currency = _amount(said)
    return Wish(
        order_ids=order_ids,
        customer_id=_first(_CUSTOMER_ID, said).upper(),
        email=_first(_EMAIL, said).lower(),
        cancel=cancel,
        refund=refund,
        create=bool(_CREATE.search(said)) and not (cancel or refund or order_ids),
        every_order=bool(_ALL.search(said)),
        amount=amount,
        currency=currency,
        reason=next(
            (name for name, words in _REASONS.items() if re.search(words, said, re.IGNORECASE)),
            "customer_request",
        ),
        express="express" in said.lower(),
        items=tuple(_items(said)),
    )


def order_ids_in(text: str) -> tuple[str, ...]:
    """Give the order ids in a text, each once, in order and in capitals."""
    found = [match.upper() for match in _ORDER_ID.findall(text)] or _BARE_ORDER_NUMBER.findall(text)
    return tuple(dict.fromkeys(found))[:_MOST_ORDERS]


def _ids_before(talk: Talk) -> tuple[str, ...]:
    earlier = (text for turn in reversed(talk.turns[:-1]) for text in (*reversed(turn.replied), turn.said))
    return next(filter(None, map(order_ids_in, earlier)), ())


def _for_the_customer_before(talk: Talk, wish: Wish) -> Wish:
    wishes = (_read(said) for said in talk.said_before)
    found = next((before for before in wishes if before.names_a_customer), Wish())
    return replace(wish, customer_id=found.customer_id, email=found.email)


def _amount(said: str) -> tuple[float | None, str]:
    for match in _AMOUNT.finditer(said):
        sign = match["before"] or match["after"]
        if sign:
            return number(match["amount"]), _SYMBOLS.get(sign, sign)
    return None, ""


def _items(said: str) -> Iterable[tuple[str, int]]:
    for quantity, name in _ITEM.findall(said):
        article = name.lower()
        if article not in _NO_ARTICLES:
            yield (
                (article[:-1] if article.endswith("s") and not article.endswith("ss") else article),
                int(quantity),
            )


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group() if match else ""


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
    answer = yield from asked("find_order", order_id=order_id)
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
    answer = yield from asked("cancel_order", order_id=order_id, reason=wish.reason)
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
    answer = yield from asked("refund_order", order_id=order_id, amount=amount, currency=currency)
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
    answer = yield from asked("list_orders", **arguments)
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
        found = yield from asked("list_orders", email=wish.email)
        customer_id = pick_text(found.record(), "customer_id", "customer")
        if found.failure or not customer_id:
            return f"I do not know a customer with the address {wish.email}."
    if not customer_id:
        return "Who is the order for? Please give me the customer's id, for instance C-17, or e-mail address."
    items = [{"sku": sku, "quantity": quantity} for sku, quantity in wish.items]
    answer = yield from asked("create_order", customer_id=customer_id, items=items, express=wish.express)
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
