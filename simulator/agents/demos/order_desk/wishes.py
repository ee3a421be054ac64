"""Reads out of a customer's words what shall happen to which orders."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from simulator.agents.demo_model import Talk, number

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
