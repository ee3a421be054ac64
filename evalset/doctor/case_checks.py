"""Checks the cases of an eval set: conversations, turns, messages and calls."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal, NamedTuple

from google.adk.evaluation.eval_case import EvalCase, InvocationEvent, SessionInput

from evalset.doctor.model import Notes, listed
from evalset.files.byte_edits import Edit, Insert, JsonNode, Remove, RenameMember, Replace, short
from evalset.files.refusals import Refused
from evalset.recorded.known_agents import KnownAgent
from simulator.base.adk_names import camel
from simulator.base.json_text import JsonPath
from simulator.base.json_values import same
from simulator.environment.world.tool_settings import adk_refused

# Takes the questions whether a tool may run out of a turn, where the recorded environment keeps what a person said to them.


def without_questions(turn: JsonNode, confirmed: frozenset[str]) -> list[Edit]:
    """Take out what `evalset.golden_trace.golden_steps` takes out: the questions, what was said to them, and what stood for the answers until then.

    Args:
        turn: The turn.
        confirmed: The calls of which it is known elsewhere what a person said; where a question is about another one, nothing
            is taken out.
    """
    places = [place for place in in_turn(turn) if _is_data(place, turn)]
    asked = [place.call_id for place in places if place.role == "quoted"]
    questions = [place for place in places if place.role == "call" and place.name == CONFIRMATION]
    if not questions or len(asked) != len(questions) or not set(asked) <= confirmed:
        return []
    answers = [place for place in places if place.role == "answer"]
    last = {place.call_id: place for place in answers if place.call_id in asked}
    doomed = [*questions]
    doomed += [
        place
        for place in answers
        if place.name == CONFIRMATION or (place.call_id in last and last[place.call_id] is not place)
    ]
    return [Remove(path) for path in _whole(turn, [_item(place.at.path) for place in doomed])]


def _is_data(place: ToolPlace, turn: JsonNode) -> bool:
    data = turn.field("intermediate_data")
    return data is not None and place.at.path[: len(data.path)] == data.path


def _item(path: JsonPath) -> JsonPath:
    """Return the item of a list that a call or an answer is, or is a part of."""
    return path if isinstance(path[-1], int) else path[:-1]


def _whole(turn: JsonNode, doomed: list[JsonPath]) -> Iterator[JsonPath]:
    """Take an event out as a whole, where none of its parts stays."""
    going = Counter(path[:-1] for path in doomed)
    data = turn.field("intermediate_data") or JsonNode(None)
    emptied: set[JsonPath] = set()
    for event in data.items("invocation_events"):
        parts = (event.field("content") or JsonNode(None)).field("parts")
        if parts is not None and isinstance(parts.value, list) and going[parts.path] == len(parts.value) > 0:
            emptied.add(parts.path)
            yield event.path
    yield from (path for path in doomed if path[:-1] not in emptied)


# Finds every place in eval data where a tool is named: calls with their arguments, answers, and questions about calls.


CONFIRMATION = "adk_request_confirmation"
ASKS_A_PERSON = "adk_request_"


class ToolPlace(NamedTuple):
    """A place where a tool is named.

    Attributes:
        at: The call or the answer.
        tool: The tool's name, and where it stands; None where none is named.
        arguments: The arguments of a call, where it has some.
        call_id: The id of the call; empty where there is none.
        role: `call`, `answer`, or `quoted` for a call that another one asks about.
    """

    at: JsonNode
    tool: JsonNode | None
    arguments: JsonNode | None
    call_id: str
    role: Literal["call", "answer", "quoted"]

    @property
    def name(self) -> str:
        """The tool's name; empty where none is given."""
        return self.tool.value if self.tool and isinstance(self.tool.value, str) else ""


def in_turn(turn: JsonNode) -> Iterator[ToolPlace]:
    """Yield the places of one invocation in the form of today, in their order."""
    data = turn.field("intermediate_data") or JsonNode(None)
    for call in data.objects("tool_uses"):
        yield from _call(call)
    for answer in data.objects("tool_responses"):
        yield _answer(answer)
    for said in data.items("intermediate_responses"):
        for each in said.items():
            yield from _parts(each)
    for event in data.items("invocation_events"):
        yield from in_content(event.field("content"))
    for name in ("user_content", "final_response"):
        yield from in_content(turn.field(name))


def in_content(content: JsonNode | None) -> Iterator[ToolPlace]:
    """Yield the places among the parts of a content."""
    if content is not None and (parts := content.field("parts")) is not None:
        yield from _parts(parts)


def in_old_turn(turn: JsonNode) -> Iterator[ToolPlace]:
    """Yield the places of one turn in the old form."""
    for use in turn.objects("expected_tool_use"):
        yield ToolPlace(use, use.field("tool_name"), use.field("tool_input"), "", "call")


def calls_in_recorded_turn(turn: JsonNode) -> Iterator[ToolPlace]:
    """Yield the calls of one turn of a recorded environment that tools or their agents answered, or that were rejected."""
    for name in ("calls", "rejected", "agents"):
        for call in turn.items(name):
            yield ToolPlace(call, call.field("tool"), call.field("arguments"), call.text("id"), "call")


def in_recorded_turn(turn: JsonNode) -> Iterator[ToolPlace]:
    """Yield the places of one turn of a recorded environment."""
    yield from calls_in_recorded_turn(turn)
    for model in turn.items("models"):
        for response in model.items("responses"):
            yield from in_content(response.field("content"))
    yield from in_content(turn.field("query"))
    for reply in turn.items("replies"):
        yield from in_content(reply)


def _parts(parts: JsonNode) -> Iterator[ToolPlace]:
    for part in parts.items():
        if (call := part.field("function_call")) is not None:
            yield from _call(call)
        if (answer := part.field("function_response")) is not None:
            yield _answer(answer)


def _call(call: JsonNode) -> Iterator[ToolPlace]:
    arguments = call.field("args")
    yield ToolPlace(call, call.field("name"), arguments, call.text("id"), "call")
    asked = arguments.field("original_function_call") if arguments else None
    if asked is not None and call.text("name") == CONFIRMATION:
        yield ToolPlace(asked, asked.field("name"), asked.field("args"), asked.text("id"), "quoted")


def _answer(answer: JsonNode) -> ToolPlace:
    return ToolPlace(answer, answer.field("name"), None, answer.text("id"), "answer")


# Reads from a recorded case what its eval case leaves open: who answered, which tools there were, and who made a call.


_OF_NO_AGENT = "unknown"
_ASKED = ("calls", "rejected", "models")
"""The agent of a call that a node of a workflow made."""


class RecordedEvidence:
    """What is known of a case from its recording; each part is looked for when it is first asked for.

    Args:
        recorded: The recorded case; None where nothing is recorded.
    """

    def __init__(self, recorded: JsonNode | None = None) -> None:
        self._recorded = recorded or JsonNode(None)

    @cached_property
    def confirmed(self) -> frozenset[str]:
        """The ids of the calls to which a person's yes or no is recorded."""
        return frozenset(
            call.text("id")
            for turn in self._recorded.items("turns")
            for name in ("calls", "rejected")
            for call in turn.items(name)
            if call.field("confirmed") is not None and call.text("id")
        )

    @cached_property
    def replied(self) -> frozenset[str]:
        """The ids of the calls to which a person's reply is recorded."""
        replies = (reply for turn in self._recorded.items("turns") for reply in turn.items("replies"))
        return frozenset(place.call_id for reply in replies for place in in_content(reply) if place.call_id)

    @cached_property
    def called(self) -> frozenset[str]:
        """The tools that answered, or were rejected."""
        return called_tools(self._recorded)

    @cached_property
    def undeclared(self) -> frozenset[str]:
        """The tools that answered though no agent declared them: of tool sets, of agents made at run time, or invented by a model. Of those that ran an agent nobody kept how they were declared."""
        return undeclared_tools(self._recorded, self.called) - self._ran_agents

    @cached_property
    def _ran_agents(self) -> frozenset[str]:
        turns = list(self._recorded.items("turns"))
        asked = (call for turn in turns for name in ("calls", "models") for call in turn.items(name))
        return frozenset(str(outer.value) for call in asked for outer in call.items("within"))

    @cached_property
    def agents(self) -> frozenset[str]:
        """The agents that spoke."""
        turns = list(self._recorded.items("turns"))
        asked = (call for turn in turns for name in _ASKED for call in turn.items(name))
        return frozenset(call.text("agent") for call in asked) - {"", _OF_NO_AGENT}

    @cached_property
    def inside(self) -> frozenset[str]:
        """The agents whose models spoke inside of agents that are used as tools."""
        models = (model for turn in self._recorded.items("turns") for model in turn.items("models"))
        return frozenset(model.text("agent") for model in models if model.members.get("within"))

    @property
    def is_there(self) -> bool:
        """Whether anything is recorded."""
        return self._recorded.value is not None

    def digest(self, name: str) -> str | None:
        """Return the digest of a tool's schema when the case was recorded; None where nothing tells it."""
        kept = (self._recorded.field("tools") or JsonNode(None)).field(name)
        return kept.text("schema_digest") if kept is not None else None

    def never_fitted(self, name: str, arguments: object) -> bool:
        """Whether ADK itself answered such a call when the case was recorded, as its arguments did not fit."""
        for turn in self._recorded.items("turns"):
            for call in turn.items("calls"):
                given = (call.field("arguments") or JsonNode({})).value
                outcome = call.field("outcome") or JsonNode({})
                response = (outcome.field("value") or JsonNode(None)).value
                if call.text("tool") == name and same(given, arguments) and adk_refused(name, response):
                    return True
        return False

    @property
    def first_state(self) -> frozenset[str]:
        """The keys of the state that the session began with."""
        return frozenset((self._recorded.field("state") or JsonNode(None)).members)

    @property
    def later_state(self) -> frozenset[str]:
        """The keys that the state had at any later time, as far as it is recorded."""
        found = set((self._recorded.field("final_state") or JsonNode(None)).members)
        for turn in self._recorded.items("turns"):
            for call in turn.items("calls"):
                effects = call.field("effects") or JsonNode(None)
                found.update((effects.field("state_delta") or JsonNode(None)).members)
        return frozenset(found)


def called_tools(recorded: JsonNode) -> frozenset[str]:
    """Return the names of all tools that are called in a recorded case."""
    places = (place for turn in recorded.items("turns") for place in in_recorded_turn(turn))
    return frozenset(place.name for place in places if place.role == "call")


def undeclared_tools(recorded: JsonNode, called: frozenset[str]) -> frozenset[str]:
    """Return the called tools that were not declared when the case was recorded; none where nobody noted what was declared.

    An agent that ran as a tool was declared.
    """
    declared = (recorded.field("tools") or JsonNode(None)).members
    inner = (each for turn in recorded.items("turns") for kind in _ASKED for each in turn.items(kind))
    agents = {str(name.value) for each in inner for name in each.items("within")}
    return called - declared.keys() - agents if declared else frozenset()


def calls_of_models(turn: JsonNode) -> dict[str, JsonNode]:
    """Return the calls that models made in a recorded turn, by their ids; without those inside of agents that are tools."""
    return {place.call_id: place.at for place in _of_models(turn)}


def is_of_a_node(call: JsonNode, of_models: dict[str, JsonNode], *, has_models: bool) -> bool:
    """Return whether a workflow's node or the agent's own code made a call: ADK has no event for it, so no case holds it."""
    return call.text("id") not in of_models and (has_models or call.text("agent") == _OF_NO_AGENT)


def _of_models(turn: JsonNode) -> Iterator[ToolPlace]:
    for model in turn.items("models"):
        if model.field("within"):
            continue
        for response in model.items("responses"):
            yield from (each for each in in_content(response.field("content")) if each.role == "call")


# Checks the cases of an eval set: conversations, turns, messages and calls.


_APP_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*")
_TIMES = ("duration", "model_duration", "tool_duration")
_KNOWN_IN_CASES, _KNOWN_IN_SESSIONS, _KNOWN_IN_EVENTS = (
    frozenset(spelled for name in model.model_fields for spelled in (name, camel(name)))
    for model in (EvalCase, SessionInput, InvocationEvent)
)
_OLDER = "some ADK releases since 1.24 refuse it"


class Case(NamedTuple):
    """A case and its id.

    Attributes:
        portable: Whether every ADK from 1.24 on shall read it.
        known: What the recorded environment tells of it.
        agent: Its agent, where that is known.
        refused: What ADK refuses in it.
    """

    node: JsonNode
    eval_id: str
    portable: bool = False
    known: RecordedEvidence = RecordedEvidence()
    agent: KnownAgent | None = None
    refused: tuple[Refused, ...] = ()

    def is_agent(self, name: str) -> bool:
        """Return whether a call is one of an agent of the tree, which has no answer."""
        return (self.agent is not None and name in self.agent.agents) or name in self.known.agents


def note_case(case: Case, notes: Notes) -> None:
    """Check one case."""
    node = case.node
    _note_which_conversation(case, notes)
    _note_extras(case, notes)
    _note_session(case, notes)
    seen: Counter[str] = Counter()
    for turn in node.items("conversation"):
        if not isinstance(turn.value, dict):
            continue
        if invocation_id := turn.text("invocation_id"):
            seen[invocation_id] += 1
            if seen[invocation_id] == 2:  # noqa: PLR2004 - once is enough to tell
                words = f"Two turns of the case have the invocation id {invocation_id!r}. Tools that show results confuse them."
                notes.add(
                    "duplicate-invocation-id",
                    turn.path,
                    words,
                    "Give each turn its own id.",
                    eval_id=case.eval_id,
                )
        _note_turn(case, turn, notes)


def _note_which_conversation(case: Case, notes: Notes) -> None:
    node = case.node
    conversation, scenario = node.field("conversation"), node.field("conversation_scenario")
    if not isinstance(node.value, dict):
        return
    if conversation is None and scenario is None:
        notes.add(
            "no-conversation", node.path, "The case has neither a 'conversation' nor a 'conversation_scenario', so ADK refuses the whole file.",
            "Add its turns, or remove the case.", eval_id=case.eval_id,
        )  # fmt: skip
    elif conversation is not None and scenario is not None:
        words = (
            "The case has both a 'conversation' and a 'conversation_scenario', so ADK refuses the whole file."
        )
        notes.add(
            "two-conversations", node.path, words, "Keep only the one you need.", eval_id=case.eval_id,
            fix="removes the conversation, which has no turns", edits=[Remove(conversation.path)] if conversation.value == [] else (),
        )  # fmt: skip
    elif conversation is not None and conversation.value == []:
        words = "The conversation has no turns, so the case evaluates nothing."
        notes.add(
            "empty-conversation",
            conversation.path,
            words,
            "Add its turns, or remove the case.",
            eval_id=case.eval_id,
        )


def _note_extras(case: Case, notes: Notes) -> None:
    """Tell of names that ADK keeps in a case without knowing them."""
    for node, known in (
        (case.node, _KNOWN_IN_CASES),
        (case.node.field("session_input"), _KNOWN_IN_SESSIONS),
    ):
        for name in node.members if node else ():
            if name not in known:
                notes.add(
                    "unknown-key", (*node.path, name) if node else (),
                    f"ADK 2.13 keeps the unknown field {name!r}, but the editor of `adk web` discards it, and {_OLDER}.",
                    "Keep it in a separate file.", severity="note", eval_id=case.eval_id,
                )  # fmt: skip


def _is_app_name(name: str) -> bool:
    return bool(_APP_NAME.fullmatch(name)) and name != "user"


def _note_session(case: Case, notes: Notes) -> None:
    given = case.node.field("session_input")
    if given is None:
        return
    app = given.field("app_name")
    if app is not None and isinstance(app.value, str) and not _is_app_name(app.value):
        words = f"{app.value!r} is not a valid ADK app name. It must start with a letter and contain only letters, digits, '_' and '-'."
        name = case.agent.name if case.agent is not None else ""
        remedy = (
            "Rename the agent's folder, and change it here."
            if name
            else "Change it to the name of the agent's folder."
        )
        notes.add(
            "unfit-app-name", app.path, words, remedy, fix=f"changes it to the agent's name, {name!r}",
            edits=[Replace(app.path, name)] if _is_app_name(name) else (), eval_id=case.eval_id,
        )  # fmt: skip
    if (pinned := given.field("session_id")) is not None:
        notes.add(
            "not-portable", pinned.path, f"'session_id' needs a recent ADK: {_OLDER}.",
            "Remove it, unless artifacts depend on it.", eval_id=case.eval_id,
        )  # fmt: skip


def _note_turn(case: Case, turn: JsonNode, notes: Notes) -> None:
    said, answered = turn.field("user_content"), turn.field("final_response")
    if said is None:
        notes.add(
            "missing-user-content", turn.path, "The turn has no 'user_content', so ADK refuses the whole file.",
            "Write the user's message. The doctor does not generate content.", eval_id=case.eval_id,
        )  # fmt: skip
    else:
        _note_role(said, "user", case, notes)
        if _is_empty(said):
            words = "The user message of this turn is empty, and most models refuse empty messages."
            notes.add(
                "empty-user-content", said.path, words, "Write the user's message.", eval_id=case.eval_id
            )
    if answered is None:
        notes.add(
            "missing-final-response", turn.path, "The turn has no 'final_response', so `response_match_score` gives it 0.",
            "Add the expected response, or use other criteria.", eval_id=case.eval_id,
        )  # fmt: skip
    else:
        _note_role(answered, "model", case, notes)
        if _is_empty(answered):
            notes.add(
                "missing-final-response", answered.path, "The final response has no text, so `response_match_score` gives the turn 0.",
                "Add the expected response, or use other criteria.", eval_id=case.eval_id,
            )  # fmt: skip
    _note_late_fields(case, turn, notes)
    _note_calls(case, turn, notes)


def _is_empty(content: JsonNode) -> bool:
    """Return whether no part of a message holds anything; one with a part that is refused is not looked at."""
    refused = "content" in content.members or "text" in content.members
    return not refused and not any(
        part.members and any(held not in (None, "") for held in part.members.values())
        for part in content.items("parts")
    )


def _note_role(content: JsonNode, role: str, case: Case, notes: Notes) -> None:
    """Check the role of a message. No model is shown a final response, and a workflow's own messages have the role of the user."""
    if not isinstance(content.value, dict):
        return
    found, is_final = content.members.get("role"), role == "model"
    if found is None:
        edit = (
            Replace((*content.path, "role"), role)
            if "role" in content.members
            else Insert(content.path, "role", role)
        )
        notes.add(
            "missing-role", content.path,
            "The final response has no role. No evaluation reads it, but tools that show the case may."
            if is_final else f"The message has no role, so a model cannot know that it is from the {role}.",
            fix=f"adds the role {role!r}", edits=[edit], eval_id=case.eval_id, severity="note" if is_final else None,
        )  # fmt: skip
    elif isinstance(found, str) and found != role and not (is_final and found == "user"):
        notes.add(
            "wrong-role", (*content.path, "role"), f"The role is {short(found)}, but ADK and the models expect {role!r}.",
            fix=f"changes it to {role!r}", edits=[Replace((*content.path, "role"), role)], eval_id=case.eval_id,
            loses=f"the role {short(found)}",
        )  # fmt: skip


def _note_late_fields(case: Case, turn: JsonNode, notes: Notes) -> None:
    late = [(turn.field(name), name) for name in _TIMES]
    events = list((turn.field("intermediate_data") or JsonNode(None)).items("invocation_events"))
    for event in events:
        late += [(event.field(name), name) for name in ("usage_metadata", "model_version")]
        for name in event.members:
            if name not in _KNOWN_IN_EVENTS:
                words = f"ADK 2.13 ignores {name!r} in an event and discards it when it writes the file; {_OLDER}."
                notes.add(
                    "unknown-key",
                    (*event.path, name),
                    words,
                    "Remove it.",
                    severity="note",
                    eval_id=case.eval_id,
                )
        if isinstance(event.value, dict) and event.field("content") is None:
            _note_portable(
                case,
                event,
                f"The event has no 'content': {_OLDER}.",
                "an event without content",
                notes,
            )
    for node, name in late:
        if node is not None:
            words = f"{name!r} needs a recent ADK: {_OLDER}."
            _note_portable(case, node, words, f"{name} = {short(node.value)}", notes)


def _note_portable(case: Case, node: JsonNode, words: str, loses: str, notes: Notes) -> None:
    """Note what only late releases read; it is fixed if files that every release reads were asked for."""
    notes.add(
        "not-portable", node.path, words, "Use the option for portable files to remove it.", eval_id=case.eval_id,
        fix="removes it", edits=[Remove(node.path)] if case.portable else (), loses=loses,
        severity="warning" if case.portable else None,
    )  # fmt: skip


def _note_calls(case: Case, turn: JsonNode, notes: Notes) -> None:
    places = list(in_turn(turn))
    calls = [place for place in places if place.role == "call"]
    for place in calls:
        if not place.name:
            words = "The call has no tool name, so no trajectory can match it."
            notes.add(
                "call-without-name", place.at.path, words, "Add the tool's name.", eval_id=case.eval_id,
                fix="takes it from the field that has it", edits=_naming(place.at.path, case.refused),
            )  # fmt: skip
    asking = [place for place in calls if _stops(place, case.known)]
    if asking:
        what = "whether a tool may run" if any(each.name == CONFIRMATION for each in asking) else "something"
        words = f"A person was asked {what} here. Plain `adk eval` cannot answer: it stops at the question, and the rest of the turn fails."
        notes.add(
            "confirmation-round", asking[0].at.path, words,
            "Record the case and replay it with HermeticEnvironment, which repeats the person's reply.",
            eval_id=case.eval_id, edits=without_questions(turn, case.known.confirmed),
            fix="removes the question and its reply; the recorded environment keeps them, and a replay repeats the reply",
            loses="the question, its reply, and the tool's placeholder response",
        )  # fmt: skip
    _note_ids(case, calls, notes)
    _note_pairs(case, turn, [each for each in places if each.role != "quoted"], notes)
    _note_parallel(case, turn, notes)


def _naming(call: JsonPath, refused: Iterable[Refused]) -> list[Edit]:
    """Return the edits of what ADK refuses in a call that give it its name."""
    return [
        edit
        for each in refused
        for edit in each.edits
        if (edit == RenameMember(edit.path, "name") and edit.path[:-1] == call)
        or (isinstance(edit, Replace) and edit.path == call and "name" in edit.value)
    ]  # fmt: skip


def _stops(place: ToolPlace, known: RecordedEvidence) -> bool:
    """Return whether a call asks a person something to which no reply is recorded; a confirmation is better kept beside the case."""
    if not place.name.startswith(ASKS_A_PERSON):
        return False
    return place.name == CONFIRMATION or place.call_id not in known.replied


def _note_ids(case: Case, calls: list[ToolPlace], notes: Notes) -> None:
    seen: set[str] = set()
    for place in calls:
        if place.call_id in seen:
            words = f"Two calls of the turn have the id {place.call_id!r}, so their responses cannot be told apart."
            notes.add(
                "duplicate-call-id", place.at.path, words, "Give each its own id.", eval_id=case.eval_id
            )
        if place.call_id:
            seen.add(place.call_id)


def _note_pairs(case: Case, turn: JsonNode, places: list[ToolPlace], notes: Notes) -> None:
    """Find calls without answers, and answers without calls: by id, and where there is none by the tool's name."""
    calls = [place for place in places if place.role == "call"]
    by_id = {place.call_id: place for place in calls if place.call_id}
    waiting = {id(place): place for place in calls}
    # What an answer with an id may be to, and one without: in the order of the calls, without a look at each of them.
    by_name: dict[tuple[str, bool], deque[ToolPlace]] = defaultdict(deque)
    for place in calls:
        by_name[place.name, False].append(place)
        if not place.call_id:
            by_name[place.name, True].append(place)
    for answer in (place for place in places if place.role == "answer"):
        call = by_id.get(answer.call_id) or _first(by_name[answer.name, bool(answer.call_id)], waiting)
        if call is not None:
            waiting.pop(id(call), None)
            continue
        notes.add(
            "response-without-call", answer.at.path,
            f"The response of {answer.name!r} belongs to no call of the turn, so it is never used.",
            "Remove it, or give it the id of its call.", eval_id=case.eval_id,
        )  # fmt: skip
    waiting = {key: place for key, place in waiting.items() if not case.is_agent(place.name)}
    if waiting:
        names = listed(place.name or "no name" for place in waiting.values())
        stored = f"responses of {len(waiting)} calls are" if len(waiting) > 1 else "response of a call is"
        words = (
            f"The {stored} not stored ({names}). ADK does not read stored responses; it runs the real tools."
        )
        remedy = "`adk eval` needs no change. A hermetic replay uses the recorded environment."
        notes.add("call-without-response", turn.path, words, remedy, eval_id=case.eval_id, count=len(waiting))


def _first(calls: deque[ToolPlace], waiting: Mapping[int, ToolPlace]) -> ToolPlace | None:
    while calls and id(calls[0]) not in waiting:
        calls.popleft()
    return calls[0] if calls else None


def _note_parallel(case: Case, turn: JsonNode, notes: Notes) -> None:
    data = turn.field("intermediate_data") or JsonNode(None)
    for event in data.items("invocation_events"):
        content = event.field("content") or JsonNode(None)
        names = [
            call.text("name") for part in content.items("parts") if (call := part.field("function_call"))
        ]
        if len(names) > 1:
            notes.add(
                "parallel-calls", event.path,
                f"{len(names)} tools are called in parallel ({listed(names)}). An exact trajectory only passes if the agent calls them in this order.",
                "Use the match type IN_ORDER or ANY_ORDER if the order does not matter.", eval_id=case.eval_id,
            )  # fmt: skip
