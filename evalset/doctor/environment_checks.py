"""Checks a recorded environment, and the calls of cases: by themselves, against each other and against the agent.

`note_form` reads the environment, and repairs of its damaged calls what the set still tells; `note_fit` compares it with the cases, call by call;
`note_agents` and `note_tools` with the agents there are. What a case says of its agent is checked behind that: its calls, authors, app and state.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import EvalCase
from pydantic import ValidationError

from evalset.doctor.case_checks import (
    ASKS_A_PERSON,
    RecordedEvidence,
    ToolPlace,
    called_tools,
    calls_of_models,
    in_content,
    in_turn,
    is_of_a_node,
    undeclared_tools,
)
from evalset.doctor.model import Notes, Severity, listed
from evalset.files.byte_edits import Edit, JsonNode, Replace, short
from evalset.golden_trace.golden_steps import steps_of, without_confirmations
from evalset.golden_trace.steps import Step, calls_of
from evalset.recorded.known_agents import KnownAgent, KnownAgents, migration_of, misfit
from evalset.recorded.recorded_turns import recorded_steps
from evalset.recorded.recording import (
    VERSION,
    RecordedCall,
    RecordedCase,
    RecordedEnvironment,
    lean,
    unsure_in,
)
from evalset.recorded.recording_files import RecordedEnvironmentError, environment_of, parsed
from evalset.recorded.tolerances import Tolerance, tolerated
from simulator.base.json_paths import ABSENT, differing
from simulator.base.json_values import NotJsonError, canonical, same
from simulator.environment.schema.schema_checks import refusal
from simulator.environment.world.connections import ToolShape
from simulator.environment.world.tool_settings import steers
from simulator.facts import Returned

_MOST_BLANKS = 5
_Call: TypeAlias = tuple[str, Any]
"""A tool's name and the arguments."""


def note_form(
    file: Path, document: JsonNode, text: bytes, eval_set: JsonNode | None, notes: Notes
) -> RecordedEnvironment | None:
    """Check that a file is a recorded environment; return it where it can be used. Damaged calls are repaired from `eval_set`, where one is given."""
    version = document.members.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        words = f"The recorded environment has version {version}, but this release reads up to {VERSION}."
        notes.add("newer-environment", ("version",), words, "Use the release that wrote it, or a newer one.")
        return None
    try:
        if any(note.code == "no-json-number" for note in notes.all) or not isinstance(document.value, dict):
            return parsed(file, text)
        return environment_of(file, document.value)
    except RecordedEnvironmentError as error:
        reason = str(error).removeprefix(f"{file}: ")
        words = f"The recorded environment cannot be used: {reason}."
        _note_broken(words, repairs_of(document, eval_set) if eval_set is not None else [], notes)
    return None


def _note_broken(words: str, repairs: list[Repair], notes: Notes) -> None:
    calls = "the damaged call" if len(repairs) == 1 else f"the {len(repairs)} damaged calls"
    notes.add(
        "broken-environment", (), words, "Fix this place, restore an older copy, or re-record the case.",
        fix=f"copies the response of {calls} from the eval set", edits=[each.edit for each in repairs],
        loses="; ".join(each.loses for each in repairs), count=len(repairs) or 1,
    )  # fmt: skip


def cases_of(document: JsonNode) -> dict[str, JsonNode]:
    """Return the recorded cases by their ids."""
    cases = document.field("cases") or JsonNode(None)
    return {eval_id: JsonNode(case, (*cases.path, eval_id)) for eval_id, case in cases.members.items()}


def note_fit(
    eval_set: JsonNode, environment: JsonNode, kept: RecordedEnvironment, agents: KnownAgents, notes: Notes
) -> None:
    """Check that a recorded environment fits its eval set; the notes are those of the environment, which was read as `kept`."""
    recorded = cases_of(environment)
    held: dict[str, JsonNode] = {}
    for case in eval_set.items("eval_cases"):
        held.setdefault(case.text("eval_id"), case)
    for eval_id, case in held.items():
        if eval_id in recorded:
            places = [list(in_turn(turn)) for turn in case.items("conversation")]
            _note_case(eval_id, case, recorded[eval_id], places, notes)
            _note_unsure(eval_id, recorded[eval_id], kept.cases[eval_id], notes)
            agent = agents.of(notes.file, recorded[eval_id].text("app_name"))
            if agent is None or not agent.rewrites:
                note_answers(eval_id, case, recorded[eval_id], kept.cases[eval_id], notes)
        elif recorded and case.field("conversation") is not None:
            words = f"The case {eval_id!r} of the eval set was not recorded, so it cannot be replayed without its real tools."
            notes.add(
                "environment-lacks-case",
                (),
                words,
                "To record it, play it again and export it.",
                eval_id=eval_id,
            )
    for eval_id, node in recorded.items():
        if eval_id not in held:
            words = f"The eval set has no case {eval_id!r}, so its recording is never used."
            notes.add(
                "environment-extra-case",
                node.path,
                words,
                "Remove the recording, or restore the case.",
                eval_id=eval_id,
            )


def _note_case(
    eval_id: str, case: JsonNode, recorded: JsonNode, places: Sequence[Sequence[ToolPlace]], notes: Notes
) -> None:
    turns, recorded_turns = list(case.items("conversation")), list(recorded.items("turns"))
    if len(turns) != len(recorded_turns):
        words = f"The case {eval_id!r} has {len(turns)} turns, but {len(recorded_turns)} were recorded."
        notes.add("environment-turns-differ", recorded.path, words, "Re-record the case.", eval_id=eval_id)
        return
    for number, (turn, recorded_turn) in enumerate(zip(places, recorded_turns, strict=True), 1):
        new, lost = _apart(turn, recorded_turn)
        if new or lost:
            tool, arguments = (new or lost)[0]
            what = "was recorded but is not in the case" if new else "is in the case but was not recorded"
            words = f"In turn {number} of {eval_id!r} a call {what}: {tool} {short(arguments)}."
            notes.add(
                "environment-calls-differ", recorded_turn.path, words, "Re-record the case, or migrate both files.",
                eval_id=eval_id, count=len(new) + len(lost),
            )  # fmt: skip
    expected, final = case.field("final_session_state"), recorded.field("final_state")
    # An empty state is left out of a recording, and is compared with nothing where the case expects it.
    if expected and expected.value and not same(expected.value, final.value if final else {}):
        words = f"The final state recorded for {eval_id!r} differs from the one the case expects."
        where = final.path if final else recorded.path
        notes.add("environment-state-differs", where, words, "Re-record the case.", eval_id=eval_id)


def _apart(turn: Sequence[ToolPlace], recorded: JsonNode) -> tuple[list[_Call], list[_Call]]:
    """Return the recorded calls that a turn does not hold, and those of its own that were not recorded.

    A callback may have changed the arguments on their way to the tool: then the case holds what the model asked, or what the
    tool got.
    """
    wanted, of_models = _asked(turn), calls_of_models(recorded)
    has_models = recorded.field("models") is not None
    new: list[_Call] = []
    found: set[str] = set()
    tools: set[str] = set()
    for call in _recorded(recorded):
        name = call.text("tool")
        tools.add(name)
        asked = of_models.get(call.text("id"))
        ways = [call.members.get("arguments"), *([asked.members.get("args")] if asked else [])]
        keys = {_key(name, arguments or {}) for arguments in ways}
        found |= keys
        if keys.isdisjoint(wanted) and not is_of_a_node(call, of_models, has_models=has_models):
            new.append((name, call.members.get("arguments") or {}))
    lost = [call for key, call in wanted.items() if key not in found and call[0] in tools]
    return new, lost


def _asked(turn: Sequence[ToolPlace]) -> dict[str, _Call]:
    """Return the calls of a turn, save questions to a person, by what tells them apart."""
    places = (place for place in turn if place.role == "call")
    calls = (
        (place.name, place.arguments.value if place.arguments else {})
        for place in places
        if not place.name.startswith(ASKS_A_PERSON)
    )
    return {_key(name, arguments): (name, arguments) for name, arguments in calls}


def _recorded(turn: JsonNode) -> Iterator[JsonNode]:
    """Return the recorded calls of a turn, save those inside of agents that are tools."""
    return (call for name in ("calls", "rejected") for call in turn.items(name) if not call.field("within"))


def _key(name: str, arguments: Any) -> str:
    """Return what tells calls apart."""
    try:
        return f"{name} {canonical(arguments)}"
    except NotJsonError:
        return f"{name} {arguments!r}"


def _note_unsure(eval_id: str, recorded: JsonNode, kept: RecordedCase, notes: Notes) -> None:
    unsure = unsure_in(kept)
    for code, known, places in (
        ("blank-response", "Nothing was known", unsure.blanks),
        ("uncertain-response", "No source gave the values", unsure.uncertain),
    ):
        if places:
            words = f"{known} of these places: {'; '.join(places[:_MOST_BLANKS])}."
            remedy = "Open the case and enter what belongs there, or play it again."
            notes.add(code, recorded.path, words, remedy, eval_id=eval_id, count=len(places))


def note_agents(
    eval_id: str, recorded: JsonNode, kept: RecordedCase, agent: KnownAgent, notes: Notes
) -> None:
    """Check that the agents that took turns in a recorded case are still there."""
    for name in agent.gone_agents(kept):
        words = f"The agent {name!r} took turns in the recording of {eval_id!r}, but {agent.name!r} no longer has it."
        remedy = f"If it was renamed, migrate it. The agents are {listed(sorted(agent.agents))}."
        notes.add("unknown-agent", recorded.path, words, remedy, severity="error", eval_id=eval_id)


def note_tools(eval_id: str, recorded: JsonNode, agent: KnownAgent, notes: Notes) -> None:
    """Check the tools of a recorded case against those that the agent has."""
    tools = recorded.field("tools") or JsonNode(None)
    called = called_tools(recorded)
    changed: list[str] = []
    for name, kept in tools.members.items():
        digest = agent.digest(name)
        wanted = kept.get("schema_digest") if isinstance(kept, Mapping) else None
        if digest is not None and isinstance(wanted, str) and digest != wanted:
            changed.append(name)
    for name in sorted(called - undeclared_tools(recorded, called)):
        if name and not agent.can_call(name) and not agent.brings_more:
            words = f"The recording of {eval_id!r} has responses of the tool {name!r}, but the agent {agent.name!r} no longer has it."
            remedy = f"If it was renamed, migrate it. The agent has {listed(agent.tools) or 'no tools'}."
            notes.add("environment-tool-gone", recorded.path, words, remedy, eval_id=eval_id)
    if changed:
        words = f"The declared parameters or responses of {listed(changed)} changed after {eval_id!r} was recorded."
        remedy = "Verify the case, and re-record it if its calls changed."
        notes.add(
            "environment-schema-changed", tools.path, words, remedy, eval_id=eval_id, count=len(changed)
        )


# Checks that an eval set holds the answers that were recorded, as `evalset.verify` reads both.


_REMEDY = (
    "Re-record the case, or verify it and repair the golden from the recording. If a callback of the agent changes tool "
    "responses, this is expected."
)


def note_answers(eval_id: str, case: JsonNode, recorded: JsonNode, kept: RecordedCase, notes: Notes) -> None:
    """Check the answers of a case against those that were recorded for the same calls.

    An answer that only one of the two holds contradicts nothing; neither does that to a call which was not allowed, or raised.
    A case that ADK refuses, or of which other turns were recorded, is not looked at: it has a finding of its own.
    """
    try:
        held = without_confirmations(EvalCase.model_validate(case.value))
        golden = [steps_of(turn) for turn in held.conversation or ()]
    except (ValueError, RecursionError):
        return
    if len(golden) != len(kept.turns):
        return
    for number, (steps, turn) in enumerate(zip(golden, kept.turns, strict=True), 1):
        found = _contradictions(steps, calls_of(recorded_steps(turn)), kept.tolerances)
        if found:
            words = f"In turn {number} of {eval_id!r} {_told(*found[0])}."
            path = (*recorded.path, "turns", number - 1)
            notes.add("environment-answers-differ", path, words, _REMEDY, eval_id=eval_id, count=len(found))


def _told(answer: Step, other: Step) -> str:
    first = next(differing(answer.value or {}, other.value))
    held, recorded = ("nothing" if each is ABSENT else short(each) for each in (first.left, first.right))
    place = f" at {first.place}" if first.place else ""
    return f"{answer.tool} responded {recorded}{place} in the recording, but the case has {held}"


def _contradictions(
    golden: Sequence[Step],
    recorded: Sequence[tuple[Step, Step | None]],
    tolerances: Sequence[Tolerance],
) -> list[tuple[Step, Step]]:
    """Return each response of a turn whose call was recorded with others alone, beside one of those; the order of like calls is free."""
    left, open_calls = list(recorded), list[tuple[Step, Step]]()
    for call, answer in calls_of(golden):
        if answer is None:
            continue
        alike = (each for each in _alike(call, left, tolerances) if each[1] is not None)
        given = next((each for each in alike if each[1] and same(each[1].value, answer.value)), None)
        if given is None:
            open_calls.append((call, answer))
        else:
            left.remove(given)
    found: list[tuple[Step, Step]] = []
    for call, answer in open_calls:
        if not (alike_left := _alike(call, left, tolerances)):
            continue
        other = next((each for each in alike_left if each[1] is None), alike_left[0])
        left.remove(other)
        if other[1] is not None:
            found.append((answer, other[1]))
    return found


def _alike(
    call: Step, recorded: Sequence[tuple[Step, Step | None]], tolerances: Sequence[Tolerance]
) -> list[tuple[Step, Step | None]]:
    """Return the recorded calls that this one may stand for, those with the very same arguments first."""
    found = [
        (recorded_call, response)
        for recorded_call, response in recorded
        if recorded_call.tool == call.tool
        and tolerated(call.tool, call.arguments, recorded_call.arguments, tolerances)
    ]
    return sorted(found, key=lambda each: not same(call.arguments, each[0].arguments))


# Repairs a damaged recording from its eval set: the response to a call is taken from there, where the case holds it.


_CALL_DEPTH = 4
"""`turns`, the turn's number, `calls`, the call's number."""


class Repair(NamedTuple):
    """What puts a damaged call right, and what it takes the place of."""

    edit: Edit
    loses: str


def repairs_of(environment: JsonNode, eval_set: JsonNode) -> list[Repair]:
    """Return what puts a recording right that cannot be read; nothing where the eval set does not hold all that is damaged."""
    held = {case.text("eval_id"): case for case in eval_set.items("eval_cases")}
    found: list[Repair] = []
    cases = environment.field("cases") or JsonNode(None)
    for eval_id, value in cases.members.items():
        damaged = _damaged_calls(value)
        if damaged is None or (damaged and eval_id not in held):
            return []
        for turn, number in damaged:
            node = JsonNode(
                value["turns"][turn]["calls"][number], (*cases.path, eval_id, "turns", turn, "calls", number)
            )
            repair = _repaired(node, held[eval_id], turn)
            if repair is None:
                return []
            found.append(repair)
    return found


def _damaged_calls(case: Any) -> list[tuple[int, int]] | None:
    """Return the places of the calls that cannot be read; None where something else is damaged too."""
    try:
        RecordedCase.model_validate(case)
    except ValidationError as error:
        places = [each["loc"][:_CALL_DEPTH] for each in error.errors(include_url=False, include_input=False)]
    else:
        return []
    found: list[tuple[int, int]] = []
    for place in places:
        match place:
            case ("turns", int() as turn, "calls", int() as number):
                found.append((turn, number))
            case _:
                return None
    return list(dict.fromkeys(found))


def _repaired(call: JsonNode, case: JsonNode, number: int) -> Repair | None:
    """Put a call right: what can be read of it stays; the rest comes from the call of its id in the case."""
    turns = list(case.items("conversation"))
    call_id = call.text("id")
    if number >= len(turns) or not call_id:
        return None
    places = [place for place in in_turn(turns[number]) if place.call_id == call_id]
    asked = next((place for place in places if place.role == "call"), None)
    answers = [place for place in places if place.role == "answer"]
    if asked is None or len(answers) != 1 or call.text("tool") not in {"", asked.name}:
        return None
    made = _made(call, asked, answers[0].at.members.get("response"))
    return Repair(Replace(call.path, lean(made)), f"{asked.name}: {short(call.value)}") if made else None


def _made(call: JsonNode, asked: ToolPlace, response: Any) -> RecordedCall | None:
    if not isinstance(response, dict):
        return None
    known: dict[str, Any] = {
        "id": call.text("id"),
        "tool": asked.name,
        "arguments": asked.arguments.value if asked.arguments else {},
        "outcome": Returned(value=response),
        "author": {"source": "recorded", "notes": ("the response was copied from the eval set",)},
    }
    known |= dict(_readable(call, known))
    try:
        return RecordedCall.model_validate(known)
    except ValidationError:
        return None


def _readable(call: JsonNode, known: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the members of a damaged call that are well by themselves."""
    for name, value in call.members.items():
        if name not in RecordedCall.model_fields or name == "outcome":
            continue
        try:
            RecordedCall.model_validate({**known, name: value})
        except ValidationError:
            continue
        yield name, value


MIGRATE = "Migrate them: "
"""How the remedy begins that goes on with the options of a migration; what is not known in these is `NEW` or `VALUE`."""


def note_calls(
    places: Iterable[ToolPlace],
    agent: KnownAgent,
    eval_id: str,
    notes: Notes,
    known: RecordedEvidence | None = None,
) -> None:
    """Check calls against the tools that an agent has, save those that need no declaration, as the recording shows."""
    for place in places:
        if place.role == "answer" or not place.name:
            continue
        if not agent.can_call(place.name):
            if known is not None and place.name in (known.called if agent.brings_more else known.undeclared):
                continue  # what a tool set or the agent's own code brings is not seen by looking at the agent
            _note_gone(place, agent, eval_id, notes)
        elif (tool := agent.tools.get(place.name) or agent.agent_tools.get(place.name)) and (
            words := refusal(_arguments(place), tool) or _undeclared_now(place, tool, known)
        ):
            if known is not None and known.never_fitted(place.name, _arguments(place)):
                continue
            _note_refused(place, words, eval_id, notes, tool=tool, known=known)


def _undeclared_now(place: ToolPlace, tool: ToolShape, known: RecordedEvidence | None) -> str:
    """Say which arguments a tool of a class of its own does not declare any more; empty where nothing tells how it was declared."""
    then = known.digest(tool.name) if known is not None else None
    return misfit(tool.name, _arguments(place), then, tool) if then else ""


def _was_so(place: ToolPlace, tool: ToolShape, known: RecordedEvidence | None) -> str | None:
    """Say why a model may have made a call that its tool does not accept; None where nothing says so."""
    then = known.digest(tool.name) if known is not None else None
    if misfit(tool.name, _arguments(place), then, tool):
        return None
    return "These arguments are declared as they were in the recording." if then else ""


def _arguments(place: ToolPlace) -> Any:
    return place.arguments.value if place.arguments else {}


def _note_refused(
    place: ToolPlace,
    words: str,
    eval_id: str,
    notes: Notes,
    *,
    tool: ToolShape,
    known: RecordedEvidence | None,
) -> None:
    """Note a call that its tool does not accept: an agent's model may make one, which is what the golden says then."""
    path, words = (place.arguments or place.at).path, f"{words[:1].upper()}{words[1:]}."
    if (was_so := _was_so(place, tool, known)) is not None:
        words = f"{words} {was_so}".strip()
        remedy = "Keep it if the agent's model made this call. Otherwise correct the arguments."
        notes.add("refused-arguments", path, words, remedy, severity="warning", eval_id=eval_id)
    else:
        options = migration_of(place.name, _arguments(place), tool, ())
        remedy = f"{MIGRATE}{options or 'rename, remove or set arguments.'}"
        notes.add("refused-arguments", path, words, remedy, eval_id=eval_id)


def _note_gone(place: ToolPlace, agent: KnownAgent, eval_id: str, notes: Notes) -> None:
    node = place.tool or place.at
    known = [*agent.tools, *agent.others]
    near = difflib.get_close_matches(place.name, known, 1)
    remedy = (
        f"If the tool was renamed, migrate the call: rename {place.name!r} to {near[0]!r}."
        if near
        else "Migrate it to the tool that replaced it, or remove the case."
    )
    words = f"The agent {agent.name!r} has no tool {place.name!r}, so it can never make this call."
    if agent.brings_more:
        words = (
            f"The agent {agent.name!r} does not declare the tool {place.name!r}. Whether {listed(agent.brings_more)} provides it is "
            "only known at run time."
        )
    severity: Severity | None = "note" if agent.brings_more else None
    notes.add("unknown-tool", node.path, words, remedy, severity=severity, eval_id=eval_id)


def note_authors(
    turn: JsonNode, agent: KnownAgent, eval_id: str, notes: Notes, known: RecordedEvidence
) -> None:
    """Check who speaks in a turn; the agents that spoke in the recording are not doubted where code may make agents."""
    data = turn.field("intermediate_data") or JsonNode(None)
    for event in data.items("invocation_events"):
        author = event.text("author")
        if author and author != "user" and agent.agents and author not in agent.agents:
            if agent.own_code and author in known.agents:
                continue
            words = (
                f"The author {author!r} is not an agent of {agent.name!r}, so this message can never occur."
            )
            notes.add(
                "unknown-agent", event.path, words, "Change it to the agent's current name.", eval_id=eval_id
            )


def note_app(case: JsonNode, agent: KnownAgent, eval_id: str, notes: Notes) -> None:
    """Check the app that a case names."""
    app = (case.field("session_input") or JsonNode(None)).field("app_name")
    if app is not None and isinstance(app.value, str) and app.value and app.value != agent.name:
        words = f"The case names the app {app.value!r}, but the agent is {agent.name!r}. Data that its tools store for the app will not be found."
        notes.add(
            "other-app-name", app.path, words, "Change it to the name of the agent's folder.", eval_id=eval_id
        )


def note_state(
    case: JsonNode, agent: KnownAgent, eval_id: str, notes: Notes, known: RecordedEvidence
) -> None:
    """Check that the state has the keys without which the instructions of the agents that speak cannot be made.

    Only keys count that nothing can have set before: neither a reply that an agent keeps, nor a tool.
    """
    needs, session = agent.needs, case.field("session_input") or JsonNode({}, case.path)
    if (
        needs is None or not (needs.keys or needs.then) or "events" in session.members
    ):  # earlier events may have set any key
        return
    state = {*(session.field("state") or JsonNode({})).members, *known.first_state}
    lacks = {name: [key for key in needs.keys.get(name, ()) if key not in state] for name in needs.first}
    state |= known.later_state
    lacks |= {name: [key for key in keys if key not in state] for name, keys in needs.then.items()}
    state |= {*needs.kept}
    for author in _speakers(case, agent, known):
        lacks.setdefault(author, [key for key in needs.keys.get(author, ()) if key not in state])
    for name, keys in lacks.items():
        if keys:
            words = f"The instruction of the agent {name!r} needs {listed(map(repr, keys))} in the state, and the case does not give it. ADK fails before it asks the model."
            remedy = f"Add it to 'session_input.state', or write {{{keys[0]}?}} in the instruction."
            notes.add("missing-state", session.path, words, remedy, eval_id=eval_id)


def _speakers(case: JsonNode, agent: KnownAgent, known: RecordedEvidence) -> Iterator[str]:
    """Yield the agents that speak, those that are used as tools too, up to a tool of which nobody recorded what it changes in the state.

    ADK begins the session of an agent that is used as a tool with the state of the session that calls it.
    """
    for turn in case.items("conversation"):
        data = turn.field("intermediate_data") or JsonNode(None)
        if not known.is_there and any(True for _ in data.items("tool_uses")):
            return
        for event in data.items("invocation_events"):
            yield event.text("author")
            calls = [place.name for place in in_content(event.field("content")) if place.role == "call"]
            if known.is_there:
                continue
            if any(name not in agent.agents and not steers(name) for name in calls):
                return
            yield from calls
    yield from known.inside
