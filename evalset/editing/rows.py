"""Says of each case what a table shows, and what it is searched and filtered by. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from evalset.editing.parts import text_of, turns_of
from evalset.editing.places import Case, field, listed

_SHOWN = 160
_TURN = "\n"


class CaseRow(NamedTuple):
    """One case of a set.

    Attributes:
        key: What the case is called while the set is open: its eval id when it was opened, made different from others.
        eval_id: Its eval id.
        query: How the first query begins; of a scenario, how its starting prompt does.
        turns: How many turns it has; 0 for a scenario.
        tools: The tools that are called, each once.
        agents: Who speaks or calls, where the case says so, and its app.
        rubrics: How many rubrics it has, those of its turns too.
        is_scenario: A model speaks for the user.
    """

    key: str
    eval_id: str
    query: str
    turns: int
    tools: tuple[str, ...]
    agents: tuple[str, ...]
    rubrics: int = 0
    is_scenario: bool = False

    def holds(self, words: Iterable[str]) -> bool:
        """Tell whether each of these words, in small letters, stands in it."""
        text = f"{self.eval_id}\n{self.query}\n{' '.join(self.tools)}\n{' '.join(self.agents)}".casefold()
        return all(word in text for word in words)


def row_of(key: str, case: Case) -> CaseRow:
    """Read a case's row; whatever is not as ADK wants it counts as absent."""
    tools: dict[str, None] = {}
    agents: dict[str, None] = {}
    app = field(field(case, "session_input"), "app_name")
    if isinstance(app, str) and app:
        agents[app] = None
    turns = turns_of(case)
    rubrics = len(listed(case, "rubrics"))
    for turn in turns:
        rubrics += len(listed(turn, "rubrics"))
        _take(field(turn, "intermediate_data"), tools, agents)
    scenario = field(case, "conversation_scenario")
    first = field(turns[0], "user_content") if turns else field(scenario, "starting_prompt", "")
    query = first if isinstance(first, str) else text_of(first)
    return CaseRow(
        key=key,
        eval_id=str(field(case, "eval_id", "")),
        query=" ".join(query[: _SHOWN * 2].split())[:_SHOWN],
        turns=len(turns),
        tools=tuple(tools),
        agents=tuple(agents),
        rubrics=rubrics,
        is_scenario=scenario is not None and not turns,
    )


def _take(data: Any, tools: dict[str, None], agents: dict[str, None]) -> None:
    for call in listed(data, "tool_uses"):
        tools[str(field(call, "name", ""))] = None
    for said in listed(data, "intermediate_responses"):
        if isinstance(said, list) and said and isinstance(said[0], str) and said[0]:
            agents[said[0]] = None
    for event in listed(data, "invocation_events"):
        author = field(event, "author")
        if isinstance(author, str) and author and author != "user":
            agents[author] = None
        for part in listed(field(event, "content"), "parts"):
            call = field(part, "function_call")
            if call is not None:
                tools[str(field(call, "name", ""))] = None


def unlike(key: str, taken: Iterable[str]) -> str:
    """Give a key that no other case has: no eval id that can be used holds a line break."""
    used, number, free = set(taken), 1, key
    while free in used:
        number += 1
        free = f"{key}{_TURN}{number}"
    return free
