"""The expense approver: what it is told, which tools it has, and how it decides: check policy and budget at once, pay what is allowed, and give the reasons."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.adk.agents import LlmAgent
from pydantic import ValidationError

from simulator.agents.demo_model import (
    MAX_STEPS,
    Answer,
    DemoCall,
    DemoModel,
    Steps,
    Talk,
    asked,
    money,
    number,
    pick_number,
    pick_text,
    together,
)
from simulator.agents.demos.expense_approver.tools import (
    Category,
    Currency,
    Decision,
    Department,
    ExpenseLine,
    ExpenseReport,
    Verdict,
    check_policy,
    get_budget,
    reimburse_tool,
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


_LINES = ("lines", "checks", "findings", "results", "data")
_REJECTED = "rejected"


@dataclass(frozen=True)
class Allowed:
    """What the policy allows: the amount, the lines counted from 1, and why it is not all."""

    amount: float
    lines: list[int]
    reasons: list[str]


class ExpenseApproverModel(DemoModel):
    """Decides as the expense approver's instruction says; its final answer always fits the output schema."""

    def think(self, talk: Talk) -> Steps[str]:
        """Decide, and give the decision through ADK's `set_model_response` where that tool is there."""
        report, missing = read_report(_said_so_far(talk))
        decision = (
            (yield from _decide(report))
            if report
            else Decision(verdict=Verdict.NEEDS_INFORMATION, reasons=missing)
        )
        if "set_model_response" in talk.tools:
            yield [DemoCall("set_model_response", decision.model_dump(mode="json"))]
        return decision.model_dump_json()

    def give_up(self, talk: Talk) -> str:  # noqa: ARG002 - every report that takes too long ends alike
        """Leave the report to a person."""
        reasons = [f"It was not settled in {MAX_STEPS} steps; a person has to look at it."]
        return Decision(verdict=Verdict.NEEDS_REVIEW, reasons=reasons).model_dump_json()


def _said_so_far(talk: Talk) -> str:
    """Give the latest words, after those of the turns just before that ended with a question for more."""
    words = [talk.said]
    for turn in reversed(talk.turns[:-1]):
        if not any(Verdict.NEEDS_INFORMATION in reply for reply in turn.replied):
            break
        words.insert(0, turn.said)
    return talk.said if talk.said.lstrip().startswith("{") else ", ".join(words)


def _decide(report: ExpenseReport) -> Steps[Decision]:
    lines = [line.model_dump(mode="json") for line in report.lines]
    department = report.department.value
    policy, budget = yield from together(
        [
            asked("check_policy", department=department, lines=lines),
            asked("get_budget", department=department),
        ]
    )
    unclear = [*_unclear("policy check", policy), *_unclear("budget", budget)]
    if unclear:
        return _decision(report, Verdict.NEEDS_REVIEW, unclear)
    allowed = _allowed(report, policy.records(*_LINES))
    remaining = pick_number(budget.record("budget", "data"), "remaining", "available", "amount")
    if allowed is None:
        return _decision(
            report, Verdict.NEEDS_REVIEW, [f"The policy check does not cover each line: {policy}."]
        )
    if remaining is None:
        return _decision(report, Verdict.NEEDS_REVIEW, [f"The budget does not say what remains: {budget}."])
    if allowed.amount <= 0:
        return _decision(report, Verdict.REJECTED, allowed.reasons or ["The policy allows none of it."])
    if allowed.amount > remaining:
        short = (
            f"The budget of {department} has {remaining:.2f} left, which is less than {allowed.amount:.2f}."
        )
        return _decision(report, Verdict.NEEDS_REVIEW, [*allowed.reasons, short])
    return (yield from _pay(report, allowed))


def _pay(report: ExpenseReport, allowed: Allowed) -> Steps[Decision]:
    answer = yield from asked(
        "reimburse",
        employee_id=report.employee_id,
        department=report.department.value,
        payment={"amount": allowed.amount, "currency": report.currency.value, "method": "bank_transfer"},
        line_numbers=allowed.lines,
    )
    if answer.failure:
        return _not_paid(report, allowed, answer)
    receipt = answer.record("payment", "receipt", "data")
    payment_id = pick_text(receipt, "payment_id", "id", "reference")
    if not payment_id:
        unclear = f"The payment was asked for, but the answer names no payment: {answer}."
        return _decision(report, Verdict.NEEDS_REVIEW, [*allowed.reasons, unclear])
    asked_for = round(sum(line.amount for line in report.lines), 2)
    paid = max(0.0, pick_number(receipt, "amount") or allowed.amount)
    verdict = Verdict.APPROVED if paid >= asked_for else Verdict.PARTLY_APPROVED
    reasons = [*allowed.reasons, f"{money(paid, report.currency)} was paid to {report.employee_id}."]
    return _decision(report, verdict, reasons, amount=paid, payment_id=payment_id)


def _not_paid(report: ExpenseReport, allowed: Allowed, answer: Answer) -> Decision:
    """Word a payment that failed: a person rejected it, or the tool could not make it."""
    words = str(answer.failure)
    if _REJECTED in words.lower():
        reason = f"The payment of {money(allowed.amount, report.currency)} was rejected by the person who confirms it."
        return _decision(report, Verdict.REJECTED, [*allowed.reasons, reason])
    return _decision(
        report, Verdict.NEEDS_REVIEW, [*allowed.reasons, f"The payment did not go through: {words}."]
    )


def _allowed(report: ExpenseReport, checks: Sequence[Mapping[str, Any]]) -> Allowed | None:
    """Add up what the policy allows; None where a line has no check that can be read. Nobody gets more than asked."""
    if len(checks) < len(report.lines):
        return None
    total = 0.0
    paid: list[int] = []
    reasons: list[str] = []
    for place, (line, check) in enumerate(zip(report.lines, checks, strict=False), start=1):
        amount = number(check.get("allowed_amount", check.get("allowed")))
        if amount is None:
            return None
        granted = min(max(amount, 0.0), line.amount)
        total += granted
        if granted > 0:
            paid.append(place)
        if granted < line.amount:
            why = pick_text(
                check, "explanation", "finding", "reason", default="the policy does not allow more"
            )
            reasons.append(
                f"Line {place}, {line.category}: {money(granted, report.currency)} is allowed. {why}"
            )
    return Allowed(amount=round(total, 2), lines=paid, reasons=reasons)


def _unclear(what: str, answer: Answer) -> list[str]:
    if answer.failure:
        return [f"The {what} failed: {answer.failure}."]
    return [f"The {what} gave no answer."] if answer.is_empty else []


def _decision(
    report: ExpenseReport, verdict: Verdict, reasons: list[str], *, amount: float = 0.0, payment_id: str = ""
) -> Decision:
    return Decision(
        verdict=verdict,
        approved_amount=amount,
        currency=report.currency,
        payment_id=payment_id,
        reasons=reasons,
    )


INSTRUCTION = """\
You decide on expense reports.

- Check every report with check_policy and get_budget, both at once.
- Pay with reimburse what the policy allows, if the budget holds it. Name the lines that you pay. A person confirms
  a payment above 500; where that person rejects it, the report is rejected.
- Where a tool fails or answers nothing clear, decide needs_review and pay nothing.
- Where the report is not complete, decide needs_information and say what is missing.
- Give each reason in a sentence that the employee understands.
"""

root_agent = LlmAgent(
    name="expense_approver",
    description="Checks expense reports against policy and budget, and pays back what is allowed.",
    model=ExpenseApproverModel(model="expense-approver-demo"),
    instruction=INSTRUCTION,
    tools=[check_policy, get_budget, reimburse_tool],
    input_schema=ExpenseReport,
    output_schema=Decision,
)
