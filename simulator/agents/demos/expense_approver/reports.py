"""Reads an expense report out of what the user sent: JSON by the schema, or a sentence."""

from __future__ import annotations

import json
import re

from pydantic import ValidationError

from simulator.agents.demo_model import number
from simulator.agents.demos.expense_approver.schemas import (
    Category,
    Currency,
    Department,
    ExpenseLine,
    ExpenseReport,
)

_EMPLOYEE = re.compile(r"(?<![\w-])E-\d{1,8}\b", re.IGNORECASE | re.ASCII)
_AMOUNT = re.compile(
    r"(?:(?P<before>EUR|USD|GBP|[€$£])\s?)?(?<![\w-])(?P<amount>\d{1,7}(?:\.\d{1,2})?)(?:\s?(?P<after>EUR|USD|GBP|[€$£]))?",
    re.IGNORECASE | re.ASCII,
)
_CURRENCIES = {"€": Currency.EUR, "$": Currency.USD, "£": Currency.GBP}
_SPENT_ON = {
    Category.MEALS: r"\b(?:meals?|lunch|dinner|breakfast|food)\b",
    Category.LODGING: r"\b(?:hotel|lodging|room|nights?)\b",
    Category.EQUIPMENT: r"\b(?:equipment|laptop|screen|monitor|keyboard|phone)\b",
    Category.ENTERTAINMENT: r"\b(?:entertainment|tickets? for|concert|show|party)\b",
    Category.TRAVEL: r"\b(?:travel|taxi|train|flight|bus|mileage|parking)\b",
}
_NO_RECEIPT = re.compile(r"\b(?:no|without(?: an?)?|lost(?: the)?) receipt", re.IGNORECASE)


def read_report(said: str) -> tuple[ExpenseReport | None, list[str]]:
    """Read the report; where there is none, say in sentences what is missing."""
    try:
        data = json.loads(said)
    except ValueError:
        return _out_of_words(said)
    if not isinstance(data, dict):
        return _out_of_words(said)
    try:
        return ExpenseReport.model_validate(data), []
    except ValidationError as error:
        return None, [
            f"{'.'.join(map(str, one['loc'])) or 'report'}: {one['msg']}." for one in error.errors()
        ]


def _out_of_words(said: str) -> tuple[ExpenseReport | None, list[str]]:
    employee = _EMPLOYEE.search(said)
    department = next((one for one in Department if one.value in said.lower()), None)
    lines, currency = _lines(said)
    missing = [
        sentence
        for sentence, is_there in (
            ("Which employee is it for? Please give the id, for instance E-7.", employee),
            (f"Which department pays: {', '.join(Department)}?", department),
            ("What was it spent on, and how much, for instance: dinner 45 EUR?", lines),
        )
        if not is_there
    ]
    if employee is None or department is None or not lines:
        return None, missing
    report = ExpenseReport(
        employee_id=employee.group().upper(), department=department, currency=currency, lines=lines
    )
    return report, []


def _lines(said: str) -> tuple[list[ExpenseLine], Currency]:
    """Find the amounts with a currency; each is for what was named last, next to it."""
    lines: list[ExpenseLine] = []
    currency = Currency.EUR
    start = 0
    for match in _AMOUNT.finditer(said):
        sign = match["before"] or match["after"]
        amount = number(match["amount"])
        if not sign or not amount:
            continue
        currency = _CURRENCIES.get(sign) or Currency(sign.upper())
        end = re.search(r"[,;]|\band\b|$", said[match.end() :])
        stop = match.end() + (end.start() if end else 0)
        words = said[start:stop]
        start = stop
        lines.append(
            ExpenseLine(
                category=_category(words),
                amount=amount,
                description=_described(words),
                has_receipt=not _NO_RECEIPT.search(words),
            )
        )
    return lines, currency


def _described(words: str) -> str:
    """Leave out whose report it is, and what joins one line to the next."""
    own = " ".join(words.rpartition(":")[2].split()).strip(" ,;.")
    return own.removeprefix("and ")[:80]


def _category(words: str) -> Category:
    return next(
        (one for one, names in _SPENT_ON.items() if re.search(names, words, re.IGNORECASE)), Category.TRAVEL
    )
