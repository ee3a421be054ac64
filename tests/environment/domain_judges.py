"""Judges drafts as the people would who know the domain of a demo agent; knows nothing of how drafts are made."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from typing import Any

ID = re.compile(r"[A-Z]{1,4}\d*-[A-Z0-9-]*\d+|[A-Z]{2,6}\d+(-\d+)?")
COSTS = {"mug": (5, 30), "lamp": (12, 90), "notebook": (2, 20), "backpack": (30, 160), "laptop": (400, 2500)}
PLACEHOLDER = re.compile(
    r"\bexample\b(?!\.com)|lorem|foo\b|\bbar\b|string|placeholder|\bTODO\b|<[a-z]+>", re.IGNORECASE
)
SCHENGEN = {
    "Norway",
    "Italy",
    "Portugal",
    "Germany",
    "France",
    "Spain",
    "Austria",
    "Denmark",
    "Greece",
    "Sweden",
}


def texts(value: Any) -> Iterator[str]:
    """Give each text in a value."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(inner)


def is_error(answer: Any, *codes: int) -> bool:
    """Tell whether an answer is an error in the tool's own shape, with one of some codes."""
    return (
        isinstance(answer, dict)
        and answer.get("error_code") in codes
        and isinstance(answer.get("error_message"), str)
        and len(answer["error_message"]) > 8
    )


def is_date(text: Any) -> bool:
    """Tell whether a text is a day as the tools write it."""
    try:
        return dt.date.fromisoformat(text).year in range(2020, 2035)
    except (TypeError, ValueError):
        return False


class Judge:
    """Keeps what is true in one session, and says what is wrong with an answer; nothing where an expert accepts it."""

    def __init__(self, data: dict[str, Any] | None) -> None:
        self.data = data

    def complaints(self, tool: str, args: dict[str, Any], answer: Any) -> list[str]:
        """Say what an expert would not accept."""
        found = [f"placeholder {text!r}" for text in texts(answer) if PLACEHOLDER.search(text)]
        return found + list(getattr(self, tool)(args, answer))

    def _style(self, new: Any, known: list[str]) -> Iterator[str]:
        if not isinstance(new, str) or not ID.fullmatch(new):
            yield f"{new!r} is no id"
        elif new in known:
            yield f"{new} is taken"
        elif known and not any(new.rstrip("0123456789") == one.rstrip("0123456789") for one in known):
            yield f"{new} is not in the style of {known[-1]}"


class OrderDeskJudge(Judge):
    """Knows the shop: its orders, customers, prices and what may follow what."""

    def __init__(self, data: dict[str, Any] | None) -> None:
        super().__init__(data)
        self.orders: dict[str, dict[str, Any]] = {}
        self.customers: dict[str, str] = {}
        self.prices: dict[str, float] = {}
        self.refunds: list[dict[str, Any]] = []
        self.made = False
        if data:
            self.orders = {one["order_id"]: dict(one) for one in data["orders"]}
            self.customers = {one["email"]: one["customer_id"] for one in data["customers"]}
            self.prices = {one["sku"]: one["price"] for one in data["products"]}

    def _order(self, order: Any) -> Iterator[str]:
        if not isinstance(order, dict) or "items" not in order:
            yield f"no order: {order}"
            return
        known = self.orders.get(order["order_id"])
        if known is not None:
            yield from (
                f"{key} was {value!r}, is {order.get(key)!r}"
                for key, value in known.items()
                if order.get(key) != value
            )
        if not ID.fullmatch(order["customer_id"]):
            yield f"customer {order['customer_id']}"
        if not order["items"]:
            yield "an order of nothing"
        for line in order["items"]:
            yield from self._line(line)
        total = round(sum(line["quantity"] * line["unit_price"] for line in order["items"]), 2)
        if abs(order["total"] - total) > 0.005:
            yield f"total {order['total']} is not {total}"
        if order["currency"] != "EUR":
            yield f"currency {order['currency']}"
        if not is_date(order["placed_on"]):
            yield f"placed on {order['placed_on']}"
        if ("tracking" in order) != (order["status"] in ("shipped", "delivered")):
            yield f"a tracking number does not suit {order['status']}"
        self.orders[order["order_id"]] = dict(order)

    def _line(self, line: dict[str, Any]) -> Iterator[str]:
        low, high = next((cost for word, cost in COSTS.items() if word in line["sku"].lower()), (1, 500))
        if not 1 <= line["quantity"] <= 50:
            yield f"{line['quantity']} pieces"
        known = self.prices.setdefault(line["sku"], line["unit_price"])
        if line["unit_price"] != known:
            yield f"{line['sku']} cost {known}, costs {line['unit_price']}"
        if not low <= line["unit_price"] <= high:
            yield f"{line['sku']} at {line['unit_price']}"

    def find_order(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """An order is as it was left; an unknown one is not found where all are known, or all were made here."""
        if args["order_id"] not in self.orders and (self.data or (self.made and is_error(answer, 404))):
            if not is_error(answer, 404):
                yield "no such order exists"
            return
        yield from self._order(answer)
        if answer.get("order_id") != args["order_id"]:
            yield "another order"

    def list_orders(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """All known orders of the customer, and of nobody else."""
        customer = args.get("customer_id") or self.customers.get(args.get("email", ""))
        if self.data and customer not in self.customers.values():
            if not is_error(answer, 404):
                yield "no such customer exists"
            return
        if not isinstance(answer, dict) or "orders" not in answer:
            yield f"no list: {answer}"
            return
        if customer and answer["customer_id"] != customer:
            yield "another customer"
        self.customers.setdefault(args.get("email", ""), answer["customer_id"])
        listed = [order["order_id"] for order in answer["orders"]]
        owned = [key for key, one in self.orders.items() if one["customer_id"] == answer["customer_id"]]
        if (
            len(set(listed)) < len(listed)
            or not set(owned) <= set(listed)
            or (self.data and set(listed) != set(owned))
        ):
            yield f"listed {listed}, known are {owned}"
        for order in answer["orders"]:
            yield from self._order(order)
            if order["customer_id"] != answer["customer_id"]:
                yield "somebody else's order"

    def create_order(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """A new id, what was asked for, at the known prices, and it begins as being processed."""
        if self.data and args["customer_id"] not in self.customers.values():
            if not is_error(answer, 404):
                yield "no such customer exists"
            return
        if self.data and not {item["sku"] for item in args["items"]} <= self.prices.keys():
            if not is_error(answer, 422, 404):
                yield "not sold"
            return
        self.made = True
        yield from self._style(answer.get("order_id"), list(self.orders))
        if [(one["sku"], one["quantity"]) for one in answer.get("items", ())] != [
            (one["sku"], one.get("quantity", 1)) for one in args["items"]
        ]:
            yield "other items"
        if answer.get("customer_id") != args["customer_id"] or answer.get("status") != "processing":
            yield "another customer, or not new"
        if answer.get("express", False) != args.get("express", False):
            yield "express is not as it was asked"
        yield from self._order(answer)

    def cancel_order(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Only what is still processed can be cancelled."""
        order = self.orders.get(args["order_id"])
        if self.data and order is None:
            if not is_error(answer, 404):
                yield "no such order exists"
            return
        if order and order["status"] != "processing":
            if not is_error(answer, 409):
                yield f"it is {order['status']}"
            return
        if answer.get("order_id") != args["order_id"] or answer.get("status") != "cancelled":
            yield "not cancelled"
        if "reason" in args and answer.get("reason") != args["reason"]:
            yield "another reason"
        if order:
            order["status"] = "cancelled"

    def refund_order(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """At most what was paid comes back, once, for what was cancelled or delivered."""
        order = self.orders.get(args["order_id"])
        if self.data and order is None:
            if not is_error(answer, 404):
                yield "no such order exists"
            return
        paid = sum(one["amount"] for one in self.refunds if one["order_id"] == args["order_id"])
        if order and order["status"] not in ("cancelled", "delivered"):
            if not is_error(answer, 409):
                yield f"it is {order['status']}"
        elif order and (
            args["amount"] > round(order["total"] - paid, 2) + 0.005 or args["currency"] != order["currency"]
        ):
            if not is_error(answer, 422):
                yield "more than was paid, or in another currency"
        else:
            yield from self._style(answer.get("refund_id"), [one["refund_id"] for one in self.refunds])
            for key in ("order_id", "amount", "currency"):
                if answer.get(key) != args[key]:
                    yield f"another {key}"
            if answer.get("refund_id"):
                self.refunds.append(answer)


class TravelJudge(Judge):
    """Knows what flights, hotels, the weather and papers are like."""

    def __init__(self, data: dict[str, Any] | None) -> None:
        super().__init__(data)
        self.bookings: list[str] = []
        self.said: dict[str, Any] = {}

    def _again(self, tool: str, args: dict[str, Any], answer: Any) -> Iterator[str]:
        key = f"{tool} {sorted(args.items())}"
        if self.said.setdefault(key, answer) != answer:
            yield "it was answered otherwise before"

    def _offers(self, name: str, key: str, args: dict[str, Any], answer: Any, price: str) -> Iterator[str]:
        offers = answer.get(name)
        if offers is None and self.data and is_error(answer, 404):
            return
        if not isinstance(offers, list) or (not offers and not self.data):
            yield f"no offers: {answer}"
            return
        ids = [one[key] for one in offers]
        if len(set(ids)) < len(ids) or not all(ID.fullmatch(one) for one in ids):
            yield f"ids {ids}"
        prices = [one[price] for one in offers]
        if prices != sorted(prices):
            yield f"not the cheapest first: {prices}"
        if any(one["currency"] != "EUR" for one in offers):
            yield "another currency"

    def search_flights(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Flights of that day between those cities, which arrive after they leave."""
        yield from self._again("search_flights", args, answer)
        yield from self._offers("flights", "flight_id", args, answer, "price")
        for one in answer.get("flights", ()):
            if any(one[key] != args[key] for key in ("origin", "destination", "date")):
                yield f"another flight: {one}"
            if not re.fullmatch(r"\d\d:\d\d", one["departs"]) or not one["departs"] < one["arrives"]:
                yield f"departs {one['departs']}, arrives {one['arrives']}"
            if not 25 <= one["price"] <= 900:
                yield f"a flight for {one['price']}"
        if self.data:
            wanted = [
                one["flight_id"] for one in self.data["flights"] if all(one[key] == args[key] for key in args)
            ]
            if sorted(one["flight_id"] for one in answer.get("flights", ())) != sorted(wanted):
                yield f"the timetable has {wanted}"

    def search_hotels(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Hotels of that city; the total is for all nights."""
        yield from self._again("search_hotels", args, answer)
        yield from self._offers("hotels", "hotel_id", args, answer, "price_per_night")
        for one in answer.get("hotels", ()):
            if one["city"] != args["city"] or one["name"] in ("", args["city"]):
                yield f"another hotel: {one}"
            if not 1 <= one["stars"] <= 5 or not 35 <= one["price_per_night"] <= 700:
                yield f"{one['stars']} stars for {one['price_per_night']}"
            if abs(one["total"] - one["price_per_night"] * args["nights"]) > 0.01:
                yield f"total {one['total']}"
        if self.data:
            wanted = [one["hotel_id"] for one in self.data["hotels"] if one["city"] == args["city"]]
            if sorted(one["hotel_id"] for one in answer.get("hotels", ())) != sorted(wanted):
                yield f"the city has {wanted}"

    def _booking(self, name: str, answer: Any) -> Iterator[str]:
        yield from self._style(answer.get("booking_id"), self.bookings)
        if answer.get("status") != "confirmed" or answer.get("name") != name:
            yield f"not confirmed for {name}: {answer}"
        if answer.get("booking_id"):
            self.bookings.append(answer["booking_id"])

    def book_flight(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """A new booking in the passenger's name."""
        yield from self._booking(args["passenger_name"], answer)

    def book_hotel(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """A new booking in the guest's name."""
        yield from self._booking(args["guest_name"], answer)

    def get_weather(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """The low is below the high, by not too much, and it is the same when asked again."""
        yield from self._again("get_weather", args, answer)
        if (
            answer.get("city") != args["city"]
            or not -20 <= answer.get("low", 99) < answer.get("high", -99) <= 45
        ):
            yield f"no weather: {answer}"
        elif answer["high"] - answer["low"] > 18:
            yield f"from {answer['low']} to {answer['high']} degrees"
        told = [one for one in (self.data or {}).get("weather", ()) if one["city"] == args["city"]]
        if told and answer != told[0]:
            yield f"it is {told[0]}"

    def look_up_entry_rules(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Both countries are those asked for; inside Schengen no visa is needed, and stays last weeks to a year."""
        if any(answer.get(key) != args[key] for key in args):
            yield "other countries"
        if set(args.values()) <= SCHENGEN and answer.get("visa_required") is not False:
            yield "no visa is needed there"
        if not 14 <= answer.get("max_days", 0) <= 365:
            yield f"a stay of {answer.get('max_days')} days"


class ExpenseJudge(Judge):
    """Knows how expenses are checked and paid; the limits only where they were given as data."""

    def __init__(self, data: dict[str, Any] | None) -> None:
        super().__init__(data)
        self.payments: list[str] = []
        self.left: dict[str, float] = {
            one["department"]: one["remaining"] for one in (data or {}).get("budgets", ())
        }

    def check_policy(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """One finding for each line, in order; nobody is allowed more than asked, nor anything without a receipt."""
        lines = answer.get("lines") if isinstance(answer, dict) else None
        if not isinstance(lines, list) or [one["line"] for one in lines] != list(
            range(1, len(args["lines"]) + 1)
        ):
            yield f"not each line, counted from 1: {answer}"
            return
        for asked, one in zip(args["lines"], lines, strict=True):
            if one["finding"] == "ok" and one["allowed_amount"] != asked["amount"]:
                yield f"ok, and {one['allowed_amount']} of {asked['amount']}"
            if one["finding"] != "ok" and not one["explanation"]:
                yield "no word of why not"
            if one["allowed_amount"] > asked["amount"]:
                yield "more than was asked for"
            if (
                not asked.get("has_receipt", True)
                and asked["amount"] > 25
                and (one["finding"] == "ok" or one["allowed_amount"])
            ):
                yield "paid without a receipt"

    def get_budget(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """What remains is what remained, less what was paid since."""
        if answer.get("department") != args["department"] or answer.get("currency") != "EUR":
            yield f"another budget: {answer}"
        left = self.left.setdefault(args["department"], answer.get("remaining", -1))
        if not 0 <= answer.get("remaining", -1) <= 100_000 or abs(answer["remaining"] - left) > 0.01:
            yield f"{left} should remain, not {answer.get('remaining')}"

    def reimburse(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """A new payment of that amount; nothing is paid for no line."""
        if not args["line_numbers"]:
            if not is_error(answer, 422):
                yield "paid for no line"
            return
        yield from self._style(answer.get("payment_id"), self.payments)
        if (
            any(answer.get(key) != args["payment"][key] for key in ("amount", "currency"))
            or answer.get("status") != "paid"
        ):
            yield f"another payment: {answer}"
        self.payments.append(str(answer.get("payment_id")))
        if args["department"] in self.left:
            self.left[args["department"]] = round(
                self.left[args["department"]] - args["payment"]["amount"], 2
            )
