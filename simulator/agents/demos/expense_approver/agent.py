"""The expense approver's agent: what it is told, its schemas, and which tools it has."""

from google.adk.agents import LlmAgent

from simulator.agents.demos.expense_approver.model import ExpenseApproverModel
from simulator.agents.demos.expense_approver.schemas import Decision, ExpenseReport
from simulator.agents.demos.expense_approver.tools import check_policy, get_budget, reimburse_tool

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
