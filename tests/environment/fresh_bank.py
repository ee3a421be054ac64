"""A bank as people write one, the sessions that its agent has, and what its people accept as answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel
from typing_extensions import TypedDict

from tests.environment.domain_judges import Judge, is_date
from tests.environment.fresh_judging import is_moment, is_person

PER_EURO = {"EUR": 1.0, "USD": 1.1, "GBP": 0.86, "CHF": 0.95, "JPY": 165.0, "NOK": 11.6}


class Account(BaseModel):
    """An account of the bank."""

    account_id: str
    owner: str
    type: Literal["checking", "savings"]
    balance: float
    currency: str
    opened_on: str


class Transaction(TypedDict):
    """A booking on an account."""

    transaction_id: str
    date: str
    description: str
    amount: float
    currency: str


def get_account(account_id: str) -> Account:
    """Look up an account by its id."""
    raise NotImplementedError


def list_transactions(account_id: str, limit: int = 10) -> list[Transaction]:
    """List the latest transactions of an account."""
    raise NotImplementedError


def get_balance(account_id: str) -> float:
    """Get the current balance of an account."""
    raise NotImplementedError


def transfer_money(from_account: str, to_account: str, amount: float, currency: str = "EUR") -> dict:  # type: ignore[type-arg] # as people write it
    """Transfer money between two accounts.

    Parameters
    ----------
    from_account : str
        Where the money is taken from.
    to_account : str
        Where it goes.

    Returns
    -------
    dict
        Dictionary with keys transfer_id, status, amount and executed_at.
    """  # noqa: D416 - NumPy's way to write it
    raise NotImplementedError


def get_exchange_rate(base: str, quote: str) -> float:
    """Get the exchange rate between two currencies.

    :param base: currency code, e.g. EUR
    :param quote: currency code, e.g. USD
    :returns: the rate
    """
    raise NotImplementedError


def block_card(card_id: str, reason: str) -> dict:  # type: ignore[type-arg] # as people write it
    """Block a card at once."""
    raise NotImplementedError


def find_customer(name: str) -> dict[str, str]:
    """Find a customer by name."""
    raise NotImplementedError


def count_cards(account_id: str) -> int:
    """Count the cards that belong to an account."""
    raise NotImplementedError


TOOLS = (
    get_account, list_transactions, get_balance, transfer_money, get_exchange_rate, block_card, find_customer, count_cards,
)  # fmt: skip


def counter(ask: Any) -> None:
    """Serve a customer who moves money."""
    ask("find_customer", name="Ada Lovelace")
    ask("get_account", account_id="ACC-1001")
    ask("get_balance", account_id="ACC-1001")
    ask("list_transactions", account_id="ACC-1001", limit=5)
    ask("transfer_money", from_account="ACC-1001", to_account="ACC-2002", amount=120.0, currency="EUR")
    ask("get_balance", account_id="ACC-1001")
    ask("get_account", account_id="ACC-1001")
    ask("get_exchange_rate", base="EUR", quote="USD")
    ask("get_exchange_rate", base="USD", quote="EUR")
    ask("get_exchange_rate", base="GBP", quote="GBP")
    ask("count_cards", account_id="ACC-1001")
    ask("block_card", card_id="CARD-77", reason="stolen")
    ask("get_account", account_id="ACC-2002")


def phone(ask: Any) -> None:
    """Serve two customers by phone."""
    ask("find_customer", name="Jonas Weber")
    ask("find_customer", name="Mei")
    ask("block_card", card_id="4111-22", reason="lost on a trip")
    ask("count_cards", account_id="DE44-9")
    ask("get_account", account_id="DE44-9")
    ask("list_transactions", account_id="DE44-9")
    ask("get_exchange_rate", base="EUR", quote="JPY")
    ask("get_exchange_rate", base="CHF", quote="NOK")
    ask("transfer_money", from_account="DE44-9", to_account="DE44-10", amount=35.5)
    ask("transfer_money", from_account="DE44-9", to_account="DE44-11", amount=10.0, currency="EUR")
    ask("get_balance", account_id="DE44-9")
    ask("get_balance", account_id="DE44-10")
    ask("find_customer", name="Jonas Weber")


SCRIPTS = (counter, phone)
DATA = None


class BankJudge(Judge):
    """Knows the accounts and balances of one session."""

    def __init__(self, data: dict[str, Any] | None) -> None:
        super().__init__(data)
        self.accounts: dict[str, dict[str, Any]] = {}
        self.balances: dict[str, float] = {}
        self.customers: dict[str, Any] = {}
        self.transfers: list[str] = []

    def _balance(self, key: str, balance: Any) -> Iterator[str]:
        if (
            not isinstance(balance, (int, float))
            or not -2_000 < balance < 1_000_000
            or round(balance, 2) != balance
        ):
            yield f"balance {balance!r}"
        elif key in self.balances and abs(self.balances[key] - balance) > 0.005:
            yield f"balance of {key} is {self.balances[key]}, not {balance}"
        else:
            self.balances[key] = balance

    def get_account(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `get_account` says."""
        if answer["account_id"] != args["account_id"]:
            yield f"another account: {answer}"
        if not is_person(answer["owner"]):
            yield f"owner {answer['owner']!r}"
        if not is_date(answer["opened_on"]):
            yield f"opened on {answer['opened_on']!r}"
        if answer["currency"] not in PER_EURO:
            yield f"currency {answer['currency']!r}"
        known = self.accounts.setdefault(args["account_id"], answer)
        yield from (
            f"{name} was {known[name]!r}"
            for name in known
            if name != "balance" and known[name] != answer[name]
        )
        yield from self._balance(args["account_id"], answer["balance"])

    def list_transactions(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `list_transactions` says."""
        if not answer or len(answer) > args.get("limit", 10):
            yield f"no bookings: {answer!r}"
        if len({one["transaction_id"] for one in answer}) != len(answer):
            yield "two bookings with one id"
        for one in answer:
            if not is_date(one["date"]) or not one["amount"]:
                yield f"no booking: {one}"
            words = one["description"]
            if words.endswith(".") or len(words) < 3 or is_person(words):
                yield f"no text of a booking: {words!r}"
        if len({one["currency"] for one in answer}) > 1:
            yield "bookings in several currencies"

    def get_balance(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `get_balance` says."""
        yield from self._balance(args["account_id"], answer)

    def transfer_money(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `transfer_money` says."""
        if (
            not isinstance(answer, dict)
            or not {"transfer_id", "status", "amount", "executed_at"} <= answer.keys()
        ):
            yield f"not what is described: {answer!r}"
            return
        yield from self._style(answer["transfer_id"], self.transfers)
        self.transfers.append(answer["transfer_id"])
        if answer["amount"] != args["amount"] or answer["status"] not in (
            "success", "completed", "executed", "ok", "transferred", "done", "pending", "processing",
        ):  # fmt: skip
            yield f"amount or status: {answer}"
        if not is_moment(answer["executed_at"]):
            yield f"executed at {answer['executed_at']!r}"
        for key, change in ((args["from_account"], -args["amount"]), (args["to_account"], args["amount"])):
            if key in self.balances:
                self.balances[key] = round(self.balances[key] + change, 2)

    def get_exchange_rate(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `get_exchange_rate` says."""
        usual = PER_EURO[args["quote"]] / PER_EURO[args["base"]]
        if not isinstance(answer, float) or not 0.8 * usual < answer < 1.25 * usual:
            yield f"{args['base']} to {args['quote']} is about {usual:.2f}, not {answer!r}"

    def block_card(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `block_card` says."""
        if args["card_id"] not in map(str, answer.values()) or not re.search(
            "block|success", str(answer), re.IGNORECASE
        ):
            yield f"is it blocked? {answer}"

    def find_customer(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `find_customer` says."""
        if not isinstance(answer, dict) or not all(isinstance(one, str) for one in answer.values()):
            yield f"no texts: {answer!r}"
            return
        if "name" not in answer or args["name"] not in answer["name"]:
            yield f"not the customer {args['name']!r}: {answer}"
        if not any("id" in name for name in answer):
            yield f"a customer without an id: {answer}"
        if self.customers.setdefault(args["name"], answer) != answer:
            yield f"was {self.customers[args['name']]}"

    def count_cards(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `count_cards` says."""
        if not isinstance(answer, int) or not 0 <= answer <= 8:
            yield f"{answer!r} cards of {args}"
