"""Says how a command ends: with which exit code, and with which words."""

from __future__ import annotations

DONE, NO_ANSWER, BAD_INPUT, FAILED, NOT_RECORDED, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""The exit codes."""

CODES = (
    "Exit codes: 0 done; 1 the script has no answer and nobody gave one, or with --strict a line too many; "
    "2 bad input; 3 the agent failed; 4 the case was written, and the tool responses beside it were not: run it again, which writes no second case; "
    "130 interrupted. Whatever is neither 0 nor 4 has written no case."
)
"""The exit codes in words, for the help of a command."""


class Ends(Exception):  # noqa: N818 - it ends the command, in one of its ways
    """The command ends here; the text is for the person who called it."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
