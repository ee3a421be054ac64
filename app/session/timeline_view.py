"""Turns a session into what the panes show: steps, badges, rows and words, what can be taken back, and how the session stands. Pure; nothing here draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, assert_never

from app.forms.safe_labels import Badge, DetailBlock, literal, safe_label
from app.forms.typed_json import show_json
from app.live.player_names import AGENT_PLAYERS, PLAYERS
from app.server.viewer_time import viewer_time
from app.session import provenance_labels
from app.session.user_form import text_and_files
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.facts import (
    EVERY,
    CodeAnswered,
    ConversationEnded,
    Fact,
    ModelAnswered,
    RulesChanged,
    SeatChanged,
    ToolAnswered,
    TurnEnded,
    TurnStarted,
    UserSeated,
)
from simulator.journal import Journal
from simulator.seats.requests import ModelRequest, Request, ToolRequest
from simulator.session.history import (
    AgentMessage,
    CodeRun,
    FinalResponse,
    HistoryEntry,
    ModelError,
    SessionNote,
    ToolCall,
    ToolError,
    ToolOutput,
    TurnFailed,
    UserQuery,
    UserReply,
)
from simulator.session.model import CONFIRMATION, OpenCall, SessionState, SimulationSession

if TYPE_CHECKING:
    from simulator.runtime import SimulationView


SHORT_ID = 6


def short_id(session_id: str) -> str:
    """Return the end of an id, enough to tell sessions apart on one screen."""
    return session_id[-SHORT_ID:]


def counted_steps(count: int) -> str:
    """Write how many steps there are."""
    return f"{count} step{'' if count == 1 else 's'}"


def is_underway(view: SimulationView) -> bool:
    """Return whether something happens by itself, so that the page should look again soon."""
    is_drafting = any(isinstance(each, ToolRequest) and each.drafting for each in view.pending)
    return bool(view.running) or is_drafting or (view.busy and not view.pending)


def waits_for_reply(session: SimulationSession) -> bool:
    """Return whether a turn that has ended left a question to the user: a confirmation, a requested input."""
    return any(not call.answered for call in session.open_calls)


def status(view: SimulationView, *, by_script: bool = False) -> Badge:
    """Say what the session does now, in one word; `by_script` says that a script answers what waits."""
    session = view.session
    last = session.turns[-1] if session.turns else None
    first_that_holds = (
        (view.divergence is not None, Badge(text="Diverged", color="red", icon=":material/call_split:")),
        (
            not by_script and (bool(view.pending) or waits_for_reply(session)),
            Badge(text="Paused", color="orange", icon=":material/pause_circle:"),
        ),
        (
            by_script or view.busy or bool(view.running),
            Badge(text="Running", color="blue", icon=":material/play_circle:"),
        ),
        (
            session.is_running and bool(view.problems),
            Badge(text="Interrupted", color="red", icon=":material/error:"),
        ),
        (
            last is not None and last.stopped,
            Badge(text="Stopped", color="gray", icon=":material/stop_circle:"),
        ),
        (
            last is not None and last.error is not None,
            Badge(text="Failed", color="red", icon=":material/error:"),
        ),
        (
            view.user.seat.ended,
            Badge(text="Ended", color="green", icon=":material/task_alt:"),
        ),
        (
            session.state is SessionState.COMPLETED,
            Badge(text="Completed", color="green", icon=":material/check_circle:"),
        ),
    )
    ready = Badge(text="Ready", color="gray", icon=":material/edit:")
    return next((badge for holds, badge in first_that_holds if holds), ready)


_LONGEST = 32
_COUNTED: dict[str, str] = {
    "turn_started": "user message",
    "model_answered": "agent turn",
    "tool_answered": "tool response",
    "code_answered": "code output",
    "rules_changed": "rule change",
    "seat_changed": "player change",
    "user_seated": "player change",
    "environment_changed": "environment change",
    "world_edited": "world edit",
}
"""What a way back takes away, as people count it."""
_OTHERS = {
    "environment_changed": "the change of environment settings",
    "environment_data_given": "the loaded environment data",
    "world_edited": "the world edit",
    "state_cleared": "the reset of a tool's memory",
    "recording_given": "the recording",
    "connections_analysed": "the tool connections",
    "tools_declared": "the declared tools",
    "draft_drawn": "the new draft",
}


def step_words(fact: Fact) -> str:  # noqa: PLR0911 - one arm for each kind of step
    """Name a step, to stand after a verb; safe in a label."""
    match fact:
        case TurnStarted():
            return "the user message" if fact.purpose == "query" else "the reply"
        case ToolAnswered():
            return f"the answer to {safe_label(fact.tool_name, _LONGEST)}"
        case ModelAnswered():
            return f"the turn of {safe_label(fact.agent, _LONGEST)}"
        case CodeAnswered():
            return "the code output"
        case SeatChanged():
            who = f"all other {fact.seat}s" if fact.target == EVERY else safe_label(fact.target, _LONGEST)
            return f"the seat change for {who}"
        case UserSeated():
            return "the seat change for the user"
        case ConversationEnded():
            return "the end of the conversation" if fact.over else "the reopening of the conversation"
        case RulesChanged():
            return "the rule change"
        case TurnEnded():
            return "the stop" if fact.stopped else "the end of the turn"
        case _:
            return _OTHERS.get(fact.kind, "the step")


def query_said(fact: Fact | None) -> tuple[str, tuple[JsonObject, ...]]:
    """Return the text and the files of a query that was taken back, to begin the next one with; nothing for anything else."""
    if not isinstance(fact, TurnStarted) or fact.purpose != "query":
        return "", ()
    return text_and_files(fact.message) or ("", ())


def would_answer(request: Request) -> str:
    """Return who would answer what a person came back to; empty where nobody would. A rule's id may come from outside."""
    who = request.would_answer
    if not who:
        return ""
    named = next((words.name for player, words in PLAYERS.items() if player == who), None)
    if isinstance(request, ToolRequest):
        return named or f"Rule {who}"
    return {"model": "The agent's model", "held": "The agent's model"}.get(who, named or who)


def another_way_from(entry: HistoryEntry, journal: Journal) -> int:
    """Return the number of the fact after which another way begins at an entry: for a call with the call waiting, else before it."""
    return entry.fact if entry.type == "tool_call" else before(entry, journal)


def before(entry: HistoryEntry, journal: Journal) -> int:
    """Return the number of the fact after which an entry is still to come."""
    # What ended a turn by itself was said before, by the answer that led there.
    said = (number for number, fact in journal.backwards(entry.fact) if not _follows_by_itself(fact))
    return journal.parent(next(said, entry.fact))


def taken_back(fact: int, journal: Journal) -> str:
    """Say what a way back to a fact of this branch takes back, also settings; empty where that is nothing."""
    after = takewhile(lambda each: each[0] != fact, journal.backwards())
    counts = Counter(_COUNTED[each.kind] for _, each in after if each.kind in _COUNTED)
    return ", ".join(f"{counts[name]} {name}{'' if counts[name] == 1 else 's'}" for name in counts)


def _follows_by_itself(fact: Fact) -> bool:
    return isinstance(fact, TurnEnded) and not fact.stopped


Filter: TypeAlias = Literal["All", "Tools", "Errors"]
Group: TypeAlias = Literal["talk", "tool", "error", "note"]
FILTERS: tuple[Filter, ...] = ("All", "Tools", "Errors")
_NOTES = {
    "environment": ("public", "Environment"),
    "injections": ("rule", "Rules"),
    "user seat": ("record_voice_over", "User"),
}
"""The icon and the page's own word for what a note begins with."""

_SEATS: Mapping[str, Mapping[str, str]] = {
    "agent seat of ": dict(AGENT_PLAYERS.items()),
    "tool seat of ": {player: words.name for player, words in PLAYERS.items()},
}
"""How a note of a changed seat begins, and the names of who may sit there."""

_ALL_OTHERS = "all others"
"""Whose seat a note means that is about no agent and no tool by name."""

_GROUPS: frozenset[Group] = frozenset({"talk", "tool", "error", "note"})


class TimelineStep(Value):
    """One line of the timeline. `label` is Markdown, made of safe parts; `index` is the entry's place in the history, after those of `others` in the line."""

    index: int
    icon: str
    label: str
    others: tuple[int, ...] = ()


class Row(Value):
    """One line of the full history, as plain text for a table."""

    index: int
    turn: int
    time: str
    who: str
    what: str
    detail: str
    by: str


def provenance_badge(entry: ToolOutput | ToolError) -> Badge | None:
    """Say who authored an answer; the agent's own model, and ADK itself, go without a badge."""
    word = provenance_labels.author(entry.provenance, failed=isinstance(entry, ToolError))
    return Badge(text=word[0], color=word[1]) if word else None


def tool_names(history: Iterable[HistoryEntry]) -> dict[str, str]:
    """Return the tool's name for each call id."""
    return {entry.call_id: entry.tool_name for entry in history if isinstance(entry, (ToolCall, UserReply))}


class VisibleSteps(Value):
    """The newest steps that a filter lets through, oldest first; `total` counts all that it lets through, `hidden` the lines before these."""

    steps: tuple[TimelineStep, ...]
    total: int
    hidden: int


def newest_steps(session: SimulationSession, chosen: Filter, count: int) -> VisibleSteps:
    """Return the last `count` lines of what the filter lets through; who plays at first is one line.

    Only these are worded, so that the work does not grow with the length of the history.
    """
    history = session.history
    wanted = {"All": _GROUPS, "Tools": {"tool", "error"}, "Errors": {"error"}}[chosen]
    places = [index for index, entry in enumerate(history) if _group(entry) in wanted]
    names = tool_names(history)
    seats = list(takewhile(bool, map(_seat, history))) if chosen == "All" else []
    lines = places[max(len(seats) - 1, 0) :]  # who plays at first is the line of the last of these notes
    last = lines[-count:] if count else []
    steps = [step(index, history[index], names) for index in last]
    if len(seats) > 1 and len(last) == len(lines):
        label = f"**Seats**{_after(_seated(filter(None, seats)))}"
        steps[0] = steps[0].model_copy(update={"label": label, "others": tuple(range(len(seats) - 1))})
    return VisibleSteps(steps=tuple(steps), total=len(places), hidden=len(lines) - len(last))


def steps_of(session: SimulationSession) -> str:
    """Write how many lines the timeline of a session has, of all kinds."""
    return counted_steps(newest_steps(session, "All", 0).hidden)


def _seat(entry: HistoryEntry) -> tuple[str, str, str] | None:
    """Return which seat a note is about, whose, and who plays there; None for anything else."""
    seat, _, player = entry.content.rpartition(": ") if isinstance(entry, SessionNote) else ("", "", "")
    for of, names in _SEATS.items():
        if seat.startswith(of) and player in names:
            return of.partition(" ")[0], seat.removeprefix(of), names[player]
    return None


def _seated(seats: Iterable[tuple[str, str, str]]) -> str:
    """Say who plays where: those that one plays together, and none apart that is played as all others are."""
    held = {(kind, whose): player for kind, whose, player in seats}
    told: dict[str, list[str]] = {}
    for (kind, whose), player in held.items():
        others = held.get((kind, _ALL_OTHERS))
        if whose == _ALL_OTHERS:
            is_all = all(each == player for (of, _), each in held.items() if of == kind)
            told.setdefault(player, []).append(f"all {kind}s" if is_all else f"all other {kind}s")
        elif player != others:
            told.setdefault(player, []).append(whose)
    return "; ".join(f"{', '.join(names)}: {player}" for player, names in told.items())


def _group(entry: HistoryEntry) -> Group:
    match entry:
        case ToolError() | ModelError() | TurnFailed():
            return "error"
        case CodeRun():
            return "tool" if entry.error is None else "error"
        case ToolCall() | ToolOutput():
            return "tool"
        case SessionNote():
            return "note"
        case UserQuery() | UserReply() | AgentMessage() | FinalResponse():
            return "talk"
        case never:
            assert_never(never)


class _Headline(NamedTuple):
    """The line of an entry: `who` is any text, `rest` is safe Markdown."""

    icon: str
    who: str
    rest: str


def step(index: int, entry: HistoryEntry, names: Mapping[str, str]) -> TimelineStep:
    """Return the line of one entry; `names` as of `tool_names`."""
    line = _headline(entry, names)
    badges = "".join(f" {badge.markdown()}" for badge in step_badges(entry))
    nested = "\u21b3 " if getattr(entry, "scope", "") else ""
    label = f"{nested}**{safe_label(line.who, 32)}**{line.rest}{badges}"
    return TimelineStep(index=index, icon=f":material/{line.icon}:", label=label)


def step_badges(entry: HistoryEntry) -> Iterable[Badge]:
    """Return who authored an entry, and what rules did to it."""
    found = getattr(entry, "provenance", None)
    failed = isinstance(entry, ToolError)
    words = [provenance_labels.author(found, failed=failed)]
    if isinstance(entry, (ToolOutput, ToolError)):
        words.append(provenance_labels.change(found, failed, entry.beneath))
    return (Badge(text=word[0], color=word[1]) for word in words if word)


def _headline(entry: HistoryEntry, names: Mapping[str, str]) -> _Headline:
    match entry:
        case UserQuery() | UserReply() | AgentMessage() | FinalResponse() | SessionNote():
            return _said(entry)
        case ToolCall() | ToolOutput() | ToolError() | CodeRun():
            return _done(entry, names)
        case ModelError():
            return _Headline("error", entry.agent, f"'s model failed{_after(entry.error_type)}")
        case TurnFailed():
            if entry.stopped:
                return _Headline("stop_circle", "Stopped", " by you")
            return _Headline("error", "Turn failed", _after(entry.error_type))
        case never:
            assert_never(never)


def _said(entry: UserQuery | UserReply | AgentMessage | FinalResponse | SessionNote) -> _Headline:
    match entry:
        case UserQuery():
            return _Headline("person", "User", _after(entry.content))
        case UserReply(is_late=True):
            return _Headline(
                "check_circle", entry.tool_name, f" responded late \u00b7 {summary(entry.response)}"
            )
        case UserReply():
            return _Headline("reply", "User", _replied(entry))
        case AgentMessage():
            icon = "psychology" if entry.thought else "smart_toy"
            return _Headline(icon, entry.agent, _after(entry.content))
        case FinalResponse():
            return _Headline("flag", entry.agent, _after(entry.content))
        case SessionNote():
            return _noted(entry)
        case never:
            assert_never(never)


def _noted(entry: SessionNote) -> _Headline:
    """Head a note by what it is about, in the words that the page has for it."""
    content = entry.content
    kind, _, words = content.partition(": ")
    if kind in _NOTES:
        return _Headline(*_NOTES[kind], _after(words))
    if seat := _seat(entry):
        kind, whose, player = seat
        who = whose.replace(_ALL_OTHERS, f"all other {kind}s")
        return _Headline("event_seat", "Seats", _after(f"{who}: {player}"))
    return _Headline("tune", "Changed", _after(content))


def _replied(entry: UserReply) -> str:
    decided = entry.response.get("confirmed") if isinstance(entry.response, dict) else None
    if entry.tool_name == CONFIRMATION and isinstance(decided, bool):
        return " allowed the tool to run" if decided else " did not allow the tool to run"
    return f" answered {safe_label(entry.tool_name, 32)}"


def _done(entry: ToolCall | ToolOutput | ToolError | CodeRun, names: Mapping[str, str]) -> _Headline:
    match entry:
        case ToolCall():
            return _Headline("build", entry.tool_name, _after(arguments_line(entry.arguments)))
        case ToolOutput():
            rest = f" returned \u00b7 {summary(entry.result)}"
            return _Headline("check_circle", _tool(entry, names), rest)
        case ToolError():
            return _Headline("error", _tool(entry, names), f" failed{_after(entry.error_type)}")
        case CodeRun():
            if entry.error is None:
                return _Headline("terminal", entry.agent, " ran code")
            return _Headline("error", entry.agent, " ran code that failed")
        case never:
            assert_never(never)


def _after(text: str) -> str:
    return f" \u00b7 {safe_label(text, 72)}" if text.strip() else ""


def _tool(entry: ToolOutput | ToolError, names: Mapping[str, str]) -> str:
    return names.get(entry.call_id, entry.call_id)


def arguments_line(arguments: Mapping[str, Any]) -> str:
    """Write a call's arguments in one line: `order_id=1042, attempt=2`."""
    return ", ".join(
        f"{name}={value if isinstance(value, str) else show_json(value)}" for name, value in arguments.items()
    )


def summary(value: Any) -> str:
    """Say in a word what a tool gave; safe in a label."""
    match value:
        case dict():
            return _counted(len(value), "key")
        case list():
            return _counted(len(value), "item")
        case None:
            return "nothing"
        case _:
            return safe_label(str(value) if isinstance(value, str) else show_json(value), 40)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def blocks(entry: HistoryEntry) -> tuple[DetailBlock, ...]:
    """Return an entry's whole body, as texts that are shown without Markdown."""
    return tuple(block for block in _all_blocks(entry) if block.text)


def _all_blocks(entry: HistoryEntry) -> Iterable[DetailBlock]:
    match entry:
        case UserQuery():
            yield DetailBlock(title="", text=entry.content)
            yield from (DetailBlock(title="", text=file.words, file=file) for file in entry.files)
        case SessionNote():
            yield DetailBlock(title="", text=entry.content)
        case AgentMessage() | FinalResponse():
            yield DetailBlock(title="", text=entry.content)
        case UserReply():
            yield _json("Response", entry.response)
        case ToolCall():
            yield _json("Arguments", dict(entry.arguments))
            yield DetailBlock(title="Call", text=f"{entry.call_id}, by {entry.agent}{_inside(entry.scope)}")
        case ToolOutput():
            yield _json("Response" if entry.beneath is None else "What the agent saw", entry.result)
            yield (
                _json("State changes", dict(entry.state_delta))
                if entry.state_delta
                else DetailBlock(title="", text="")
            )
            yield from _how(entry)
        case ToolError():
            yield DetailBlock(
                title="Error", text=f"{entry.error_type}: {entry.error_message}", language="text"
            )
            yield DetailBlock(title="Traceback", text=entry.traceback or "", language="text")
            yield from _how(entry)
        case CodeRun():
            yield DetailBlock(title="Code", text=entry.code, language="python")
            yield DetailBlock(title="Output", text=entry.output, language="text")
            yield DetailBlock(title="Error", text=entry.error or "", language="text")
        case ModelError() | TurnFailed():
            yield DetailBlock(
                title="Error", text=f"{entry.error_type}: {entry.error_message}", language="text"
            )
        case never:
            assert_never(never)


def said(entry: HistoryEntry) -> str:
    """Return the whole text of an entry: its message, or the JSON of its arguments or its response."""
    return next((block.text for block in blocks(entry)), "")


def _inside(scope: str) -> str:
    return f", inside {scope}" if scope else ""


def _json(title: str, value: Any) -> DetailBlock:
    return DetailBlock(title=title, text=show_json(value), language="json", value=value)


def _how(entry: ToolOutput | ToolError) -> Iterable[DetailBlock]:
    """Say who answered, how long it took, and why each rule before did not."""
    if entry.beneath is not None:
        yield _json("Original outcome (the agent did not see it)", provenance_labels.as_value(entry.beneath))
    if entry.provenance is None:
        yield DetailBlock(title="", text="Answered by ADK")
        return
    yield DetailBlock(title="", text=provenance_labels.sentence(entry.provenance, entry.duration_ms))
    for title, text in provenance_labels.details(entry.provenance):
        yield DetailBlock(title=title, text=text, language="text")


def rows(session: SimulationSession) -> tuple[Row, ...]:
    """Return the full history for a table, oldest first."""
    names = tool_names(session.history)
    return tuple(_row(index, entry, names) for index, entry in enumerate(session.history))


def _row(index: int, entry: HistoryEntry, names: Mapping[str, str]) -> Row:
    found = getattr(entry, "provenance", None)
    return Row(
        index=index,
        turn=entry.turn,
        time=viewer_time(entry.timestamp).strftime("%H:%M:%S"),
        who=literal(_who(entry, names)),
        what=entry.type.replace("_", " "),
        detail=literal(" ".join(said(entry).split())[:200]),
        by=literal(f"{found.source}{f' ({found.by})' if found.by else ''}") if found else "",
    )


def _who(entry: HistoryEntry, names: Mapping[str, str]) -> str:
    match entry:
        case UserReply(is_late=True):
            return entry.tool_name
        case UserQuery() | UserReply():
            return "user"
        case ToolCall():
            return entry.tool_name
        case ToolOutput() | ToolError():
            return _tool(entry, names)
        case AgentMessage() | FinalResponse() | CodeRun() | ModelError():
            return entry.agent
        case SessionNote() | TurnFailed():
            return ""
        case never:
            assert_never(never)


def waiting_steps(
    pending: Iterable[Request], open_calls: Iterable[OpenCall], whom: str = "you"
) -> tuple[TimelineStep, ...]:
    """Return a line for each thing that waits for a person, oldest first; `whom` says for which."""
    names = [_asks(request) for request in pending]
    names += [(call.tool_name, "") for call in open_calls if not call.answered and not call.is_confirmation]
    names += [("Confirmation", "") for call in open_calls if call.is_confirmation]
    return tuple(
        TimelineStep(
            index=index,
            icon=":material/hourglass_top:",
            label=f"**{safe_label(name, 32)}**{rest} \u00b7 waiting for {whom} :orange-badge[now]",
        )
        for index, (name, rest) in enumerate(names)
    )


def _asks(request: Request) -> tuple[str, str]:
    if isinstance(request, ToolRequest):  # with its arguments, which tell calls of one tool apart
        return request.tool_name, _after(arguments_line(request.arguments))
    return request.agent, "'s turn" if isinstance(request, ModelRequest) else "'s code"
