"""Lists what the doctor can find: each code with its severity and what it is about."""

from __future__ import annotations

from typing import NamedTuple

from evalset.doctor.model import Severity


class Code(NamedTuple):
    """A kind of finding; `about` says in a few words what it is."""

    severity: Severity
    about: str


CODES: dict[str, Code] = {
    # the file as a text
    "empty-file": Code("error", "a file without a word"),
    "not-utf8": Code("error", "a text in another encoding than UTF-8"),
    "byte-order-mark": Code("error", "a byte order mark before the text"),
    "damaged-json": Code("error", "a text that is no JSON"),
    "trailing-comma": Code("error", "commas before a closing bracket"),
    "too-deep": Code("error", "brackets nested deeper than ADK's parser goes"),
    "duplicate-key": Code("warning", "a name that an object holds twice"),
    "no-json-number": Code("warning", "NaN or Infinity, for which JSON has no word"),
    "oversized": Code("note", "a file so large that ADK's tools become slow"),
    # the set
    "not-an-eval-set": Code("error", "JSON that is no eval set"),
    "legacy-format": Code("warning", "eval data in ADK's old form"),
    "legacy-unreadable": Code("error", "eval data in the old form that ADK's converter cannot read"),
    "camel-case-top": Code("error", "names in camel case at the top, where ADK knows snake case only"),
    "missing-set-id": Code("error", "an eval set without an id"),
    "unfit-set-id": Code("warning", "an id of a set, or a file's name, that `adk web` cannot take"),
    "name-differs": Code("note", "a file that is named otherwise than its set"),
    "empty-set": Code("warning", "an eval set without cases"),
    "unknown-key": Code("warning", "a name that ADK does not know"),
    "refused-key": Code("error", "a name for which ADK refuses the whole file"),
    "refused-value": Code("error", "a value for which ADK refuses the whole file"),
    # the cases
    "missing-eval-id": Code("error", "a case without an id"),
    "duplicate-eval-id": Code("error", "two cases of one id"),
    "unfit-eval-id": Code("warning", "an id of a case that `adk eval` or `adk web` cannot take"),
    "no-conversation": Code("error", "a case with neither a conversation nor a scenario"),
    "two-conversations": Code("error", "a case with both a conversation and a scenario"),
    "empty-conversation": Code("warning", "a conversation without turns"),
    "unfit-app-name": Code("warning", "a name of an app that ADK cannot take"),
    "other-app-name": Code("note", "a case that names another app than the agent's"),
    "not-portable": Code("note", "what some releases of ADK from 1.24 to 2.13 refuse"),
    # the turns
    "missing-user-content": Code("error", "a turn in which the user's message is missing"),
    "empty-user-content": Code("warning", "a turn in which the user says nothing"),
    "missing-role": Code("warning", "a message without a role"),
    "wrong-role": Code("warning", "a message whose role is not its author's"),
    "missing-final-response": Code(
        "warning", "a turn without a final response, or with one that holds nothing"
    ),
    "duplicate-invocation-id": Code("note", "two turns of one case with one id"),
    "old-tool-use": Code("error", "the old form's `expected_tool_use` in a turn of today's form"),
    # the calls
    "call-without-name": Code("error", "a call that names no tool"),
    "call-without-response": Code("note", "calls whose answers are not stored"),
    "response-without-call": Code("warning", "an answer to a call that nobody makes"),
    "duplicate-call-id": Code("warning", "two calls of one turn with one id"),
    "confirmation-round": Code("warning", "a question to a person in the middle of a turn"),
    "parallel-calls": Code("note", "calls that are made at once, whose order counts"),
    # with the agent
    "unknown-tool": Code("error", "a call of a tool that the agent does not have"),
    "refused-arguments": Code("error", "arguments that the tool's schema refuses"),
    "unknown-agent": Code("warning", "an author that is no agent of the tree"),
    # the recorded environment
    "broken-environment": Code("error", "a recorded environment that cannot be used"),
    "newer-environment": Code("error", "a recorded environment of a newer release"),
    "environment-alone": Code("warning", "a recorded environment without its eval set"),
    "environment-lacks-case": Code("warning", "a case that was not recorded"),
    "environment-extra-case": Code("warning", "a recorded case that the eval set does not hold"),
    "environment-turns-differ": Code("warning", "other turns recorded than the case has"),
    "environment-calls-differ": Code("warning", "other calls recorded than the case has"),
    "environment-answers-differ": Code("warning", "other answers recorded than the case holds"),
    "environment-state-differs": Code("note", "another final state recorded than the case expects"),
    "environment-schema-changed": Code("warning", "a tool whose schema has changed since it was recorded"),
    "environment-tool-gone": Code("error", "a recorded tool that the agent does not have"),
    # what a migration tells
    "migrated": Code("note", "what a migration changes"),
    "migration-conflict": Code("error", "a change that a migration cannot make"),
    "migration-left": Code("warning", "what a migration leaves as it is, though it may be meant"),
}
"""All kinds of findings by their codes, which keep their meaning in later releases."""
