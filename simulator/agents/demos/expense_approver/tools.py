"""The expense approver's tools, and the schemas of what it is given and answers: the policy, the budgets, and the payment that a person confirms above a limit."""

# ruff: noqa: D417 - the model reads these docstrings, and ADK fills in `tool_context` behind its back
# No `from __future__ import annotations` here: ADK reads the annotations of tools to tell the model about them.

from enum import StrEnum
from typing import Any, Literal, Self, cast

from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, model_validator
from typing_extensions import TypedDict


class Department(StrEnum):
    """Whose budget pays."""

    ENGINEERING = "engineering"
    SALES = "sales"
    OPERATIONS = "operations"


class Currency(StrEnum):
    """The currencies that are paid out."""

    EUR = "EUR"
    USD = "USD"
    GBP = "GBP"


class Category(StrEnum):
    """What the money was spent on."""

    MEALS = "meals"
    TRAVEL = "travel"
    LODGING = "lodging"
    EQUIPMENT = "equipment"
    ENTERTAINMENT = "entertainment"


class ExpenseLine(BaseModel):
    """One expense of a report."""

    category: Category
    amount: float = Field(gt=0, description="In the currency of the report.")
    description: str = ""
    has_receipt: bool = True


class ExpenseReport(BaseModel):
    """What an employee asks to be paid back.

    ADK checks every message of the user against this schema, and a person also says "and now?". So plain text
    passes as a note, with no other field set; anything that is a JSON object must fit.
    """

    employee_id: str = Field(pattern=r"^E-\d+$", description="For instance E-7.")
    department: Department
    currency: Currency = Currency.EUR
    lines: list[ExpenseLine] = Field(min_length=1)
    note: str = ""

    @model_validator(mode="wrap")
    @classmethod
    def _let_plain_text_pass(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, (dict, cls)):
            return handler(data)
        only_a_note: dict[str, Any] = {"note": str(data)}
        return cast("Self", cls.model_construct(**only_a_note))


class Verdict(StrEnum):
    """How a report ends."""

    APPROVED = "approved"
    PARTLY_APPROVED = "partly_approved"
    REJECTED = "rejected"
    NEEDS_REVIEW = "needs_review"
    NEEDS_INFORMATION = "needs_information"


class Decision(BaseModel):
    """What became of a report; its enums are plain texts once they are validated."""

    model_config = ConfigDict(use_enum_values=True, validate_default=True)

    verdict: Verdict
    approved_amount: float = Field(default=0.0, ge=0)
    currency: Currency = Currency.EUR
    payment_id: str = Field(default="", description="Empty where nothing was paid.")
    reasons: list[str] = Field(description="Why, in sentences that the employee understands.")


CONFIRM_ABOVE = 500.0
"""A payment of more than this waits until a person has confirmed it, whatever the currency."""

LIMITS = {
    Category.MEALS: 60.0,
    Category.TRAVEL: 1500.0,
    Category.LODGING: 400.0,
    Category.EQUIPMENT: 800.0,
    Category.ENTERTAINMENT: 0.0,
}
SALES_ENTERTAINMENT = 200.0
"""What the sales department, and no other, may spend on entertaining customers."""

BUDGETS = {Department.ENGINEERING: 5000.0, Department.SALES: 1800.0, Department.OPERATIONS: 300.0}

_RECEIPT_ABOVE = 25.0
_FIRST_PAYMENT = 3001
_UNPROCESSABLE = 422


class Method(StrEnum):
    """How the money is paid out."""

    PAYROLL = "payroll"
    BANK_TRANSFER = "bank_transfer"


class Payment(BaseModel):
    """What is paid out."""

    amount: float = Field(gt=0)
    currency: Currency = Currency.EUR
    method: Method = Method.BANK_TRANSFER


class LineCheck(TypedDict):
    """What the policy says of one line; `line` counts from 1."""

    line: int
    finding: Literal["ok", "over_limit", "no_receipt", "not_allowed"]
    allowed_amount: float
    explanation: str


class PolicyReport(TypedDict):
    """What the policy says of each line, in order."""

    lines: list[LineCheck]


class Budget(TypedDict):
    """What a department may still spend."""

    department: str
    remaining: float
    currency: str


class PaymentReceipt(TypedDict):
    """A payment that went out."""

    payment_id: str
    status: Literal["paid"]
    amount: float
    currency: str


class ToolError(TypedDict):
    """Why a tool did nothing."""

    error_code: int
    error_message: str


PAYMENTS: list[PaymentReceipt] = []
"""Every payment that really went out in this process. No undo brings one back: a side effect."""


def check_policy(department: Department, lines: list[ExpenseLine]) -> PolicyReport | ToolError:
    """Checks each line of an expense report against the policy.

    Args:
        department: Whose budget pays.
        lines: The lines of the report: category, amount, description, and whether there is a receipt.

    Returns:
        For each line, counted from 1: the finding, the amount that the policy allows, and an explanation; or an
        error with code 422 where a line or the department cannot be read.
    """
    try:
        payer = Department(department)
        report = [ExpenseLine.model_validate(line) for line in lines]
    except ValueError as error:
        return _unreadable(error)
    return PolicyReport(lines=[_check(place, line, payer) for place, line in enumerate(report, start=1)])


def get_budget(department: Department, tool_context: ToolContext) -> Budget | ToolError:
    """Tells how much a department may still spend this month.

    Args:
        department: The department.

    Returns:
        The department, and what remains of its budget with its currency; or an error with code 422 where there is no
        such department.
    """
    try:
        payer = Department(department)
    except ValueError as error:
        return _unreadable(error)
    spent: dict[str, float] = tool_context.state.get("spent") or {}
    remaining = round(BUDGETS[payer] - spent.get(payer.value, 0.0), 2)
    return Budget(department=payer.value, remaining=remaining, currency=Currency.EUR.value)


def reimburse(
    employee_id: str,
    department: Department,
    payment: Payment,
    line_numbers: list[int],
    tool_context: ToolContext,
) -> PaymentReceipt | ToolError:
    """Pays an employee back. The money leaves at once; above 500 a person must confirm it first.

    Args:
        employee_id: Who is paid, for instance "E-7".
        department: Whose budget pays.
        payment: The amount, its currency, and how it is paid out.
        line_numbers: The lines of the report that are paid, counted from 1.

    Returns:
        The payment with its id; or an error with code 422 where there is no line to pay, or where the payment or the
        department cannot be read.
    """
    try:
        payer, paid = Department(department).value, Payment.model_validate(payment)
    except ValueError as error:
        return _unreadable(error)
    if not line_numbers:
        return ToolError(error_code=_UNPROCESSABLE, error_message=f"No line of {employee_id} is to be paid.")
    spent: dict[str, float] = dict(tool_context.state.get("spent") or {})
    spent[payer] = round(spent.get(payer, 0.0) + paid.amount, 2)
    tool_context.state["spent"] = spent
    count = int(tool_context.state.get("payments") or 0)
    tool_context.state["payments"] = count + 1
    receipt = PaymentReceipt(
        payment_id=f"P-{_FIRST_PAYMENT + count}",
        status="paid",
        amount=paid.amount,
        currency=paid.currency.value,
    )
    PAYMENTS.append(receipt)
    return receipt


def needs_confirmation(payment: Any = None, **_others: Any) -> bool:
    """Return whether a person must confirm the payment. A payment that cannot be read must be confirmed."""
    amount = payment.get("amount") if isinstance(payment, dict) else getattr(payment, "amount", None)
    return not isinstance(amount, (int, float)) or amount > CONFIRM_ABOVE


reimburse_tool = FunctionTool(reimburse, require_confirmation=needs_confirmation)


def _check(place: int, line: ExpenseLine, payer: Department) -> LineCheck:
    limit = SALES_ENTERTAINMENT if _entertains(line, payer) else LIMITS[line.category]
    if not limit:
        return LineCheck(
            line=place,
            finding="not_allowed",
            allowed_amount=0.0,
            explanation=f"{payer} does not pay {line.category}.",
        )
    if not line.has_receipt and line.amount > _RECEIPT_ABOVE:
        words = f"Above {_RECEIPT_ABOVE:.2f} a receipt is needed."
        return LineCheck(line=place, finding="no_receipt", allowed_amount=0.0, explanation=words)
    if line.amount > limit:
        words = f"At most {limit:.2f} is paid for {line.category}."
        return LineCheck(line=place, finding="over_limit", allowed_amount=limit, explanation=words)
    return LineCheck(line=place, finding="ok", allowed_amount=line.amount, explanation="")


def _entertains(line: ExpenseLine, payer: Department) -> bool:
    return payer is Department.SALES and line.category is Category.ENTERTAINMENT


def _unreadable(error: ValueError) -> ToolError:
    return ToolError(error_code=_UNPROCESSABLE, error_message=" ".join(str(error).split()))
