"""What the expense approver is given and what it answers: an expense report in, a decision out."""

# No `from __future__ import annotations` here: ADK reads the annotations of tools, which use these types.

from enum import StrEnum
from typing import Any, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, model_validator


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
