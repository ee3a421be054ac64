"""How the expense approver decides: check policy and budget at once, pay what is allowed, and give the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.agents.demo_model import (
    MAX_STEPS,
    Answer,
    DemoModel,
    Steps,
    Talk,
    asked,
    call,
    money,
    number,
    pick_number,
    pick_text,
    together,
)
from simulator.agents.demos.expense_approver.reports import read_report
from simulator.agents.demos.expense_approver.schemas import Decision, ExpenseReport, Verdict

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
            yield [call("set_model_response", **decision.model_dump(mode="json"))]
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
            asked(call("check_policy", department=department, lines=lines)),
            asked(call("get_budget", department=department)),
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
        call(
            "reimburse",
            employee_id=report.employee_id,
            department=report.department.value,
            payment={"amount": allowed.amount, "currency": report.currency.value, "method": "bank_transfer"},
            line_numbers=allowed.lines,
        )
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
