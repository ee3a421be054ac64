"""Changes files of eval data: shows what would change, or writes it and keeps the old text.

`mend` fixes what was found, round by round, until nothing is left that can be fixed. `migrate` brings renamed tools and changed arguments to eval sets and recorded environments
together; the digests of goldens in a recorded environment come along, so that an edit by hand is still noticed after a migration.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from json import loads
from pathlib import Path
from typing import Any

from evalset.doctor.case_checks import ToolPlace, in_old_turn, in_recorded_turn, in_turn
from evalset.doctor.examination import (
    Patient,
    Settings,
    as_partner,
    environment_in,
    eval_set_beside,
    examined,
    old_turns,
)
from evalset.doctor.files import Document, changes_of, is_environment, read, read_content
from evalset.doctor.model import Changes, FileChange, Finding, Migration, Note, Notes
from evalset.doctor.set_checks import kind_of
from evalset.files.byte_edits import Edit, Insert, JsonNode, Remove, RenameMember, Replace, apply
from evalset.files.set_writer import ChangedMeanwhileError
from evalset.recorded.golden_digests import DIGESTED, digests_of, value_digest
from evalset.recorded.known_agents import KnownAgent, KnownAgents, keys_of, places_of
from evalset.recorded.tolerances import EVERY_TOOL
from simulator.base.json_text import JsonPlaces

_ROUNDS = 50


def preview(
    paths: Iterable[Path | str],
    *,
    agents_dir: Path | str | None = None,
    agents: Mapping[str, KnownAgent] | None = None,
    agent: str = "",
    portable: bool = False,
    codes: Collection[str] | None = None,
) -> Changes:
    """Show what `mend` would change; nothing is written. Arguments and errors are those of `mend`."""
    settings = Settings(KnownAgents(Path(agents_dir) if agents_dir else None, agents, agent), portable)
    return changes_of(paths, partial(_fixed, settings=settings, codes=codes), write=False)


def mend(
    paths: Iterable[Path | str],
    *,
    agents_dir: Path | str | None = None,
    agents: Mapping[str, KnownAgent] | None = None,
    agent: str = "",
    portable: bool = False,
    codes: Collection[str] | None = None,
) -> Changes:
    """Fix what can be fixed: under the lock, each file at once, its old text kept beside it as `<name>.<n>.bak`.

    Done again, it changes nothing. An eval set and its recorded environment are changed together or not at all.

    Args:
        paths: As for `examine`.
        agents_dir: As for `examine`.
        agents: As for `examine`.
        agent: As for `examine`.
        portable: As for `examine`.
        codes: The codes of what is fixed; everything by default.

    Raises:
        simulator.agents.AgentLoadError: The folder of agents is none.
    """
    settings = Settings(KnownAgents(Path(agents_dir) if agents_dir else None, agents, agent), portable)
    return changes_of(paths, partial(_fixed, settings=settings, codes=codes), write=True)


def content_of(file: Path) -> bytes | FileChange:
    """Read a file, or say as a change why it cannot be."""
    try:
        return read_content(file).text
    except ChangedMeanwhileError:
        reason = "another program keeps changing this file"
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
    return FileChange(file=file, before=b"", after=b"", problem=reason)


def _fixed(
    group: tuple[Path, ...], settings: Settings, codes: Collection[str] | None
) -> tuple[FileChange, ...]:
    changes: list[FileChange] = []
    partner: JsonNode | None = None
    wanted: list[Note] = []
    for file in group:
        before = content_of(file)
        if isinstance(before, FileChange):
            changes.append(before)
            continue
        course = _Fixing(file, before, settings, codes)
        if is_environment(file):
            course.take_over(wanted)
            course.run(partner if len(group) > 1 else eval_set_beside(file))
        else:
            course.run(_environment(group))
            partner, wanted = as_partner(course.document), course.for_partner
        if course.text != before:
            changes.append(
                FileChange(file=file, before=before, after=course.text, mended=tuple(course.mended))
            )
    return tuple(changes)


def _environment(group: tuple[Path, ...]) -> JsonNode | None:
    try:
        found = environment_in(group)
    except (OSError, ChangedMeanwhileError):  # said when its own turn comes
        return None
    return found.root if found else None


class _Fixing:
    """Fixes one file, round by round, until nothing is left that can be fixed."""

    def __init__(self, file: Path, text: bytes, settings: Settings, codes: Collection[str] | None) -> None:
        self._file, self._settings, self._codes = file, settings, codes
        self.text = text
        self.document: Document | None = None
        self.mended: list[Finding] = []
        self.for_partner: list[Note] = []

    def take_over(self, wanted: Iterable[Note]) -> None:
        """Make the changes that the eval set needs here too; a name that is taken is left alone."""
        document = read(self.text, Notes(self._file))
        if document is None or document.places.text != self.text:
            return
        root = JsonNode(document.value)
        notes = [note for note in wanted if any(_is_free(edit, root) for edit in note.partner)]
        self._change(
            document.places, notes, [edit for note in notes for edit in note.partner if _is_free(edit, root)]
        )

    def run(self, partner: JsonNode | None) -> None:
        """Fix what can be fixed; `partner` is what `examined` takes."""
        for _ in range(_ROUNDS):
            patient = examined(self._file, self.text, self._settings, partner=partner)
            self.document = patient.document
            if not self._round(patient):
                return

    def _round(self, patient: Patient) -> bool:
        """Fix what can be fixed at once; False where nothing changed."""
        notes = patient.notes
        chosen = [
            note for note in notes.all if note.mendable and (self._codes is None or note.code in self._codes)
        ]
        whole = [note for note in notes.all if note.whole and note.code != "legacy-format"]
        if not chosen or any(note not in chosen for note in whole):
            return False
        before = self.text
        if notes.converted is not None and any(note.code == "legacy-format" for note in chosen):
            self.text = notes.converted
            self._tell(chosen, JsonPlaces(notes.text))
        else:
            self._change(JsonPlaces(notes.text), chosen, [edit for note in chosen for edit in note.edits])
        self.for_partner += [note for note in chosen if note.partner]
        return self.text != before

    def _change(self, places: JsonPlaces[bytes], notes: list[Note], edits: list[Edit]) -> None:
        edited = apply(places, edits)
        waiting = {id(edit) for edit in edited.waiting}
        self._tell([note for note in notes if not any(id(edit) in waiting for edit in note.edits)], places)
        self.text = edited.text

    def _tell(self, notes: Iterable[Note], places: JsonPlaces[bytes]) -> None:
        told = Notes(self._file)
        told.all.extend(notes)
        self.mended.extend(told.findings(places if places.text else None))


def _is_free(edit: Edit, document: JsonNode) -> bool:
    """Return whether a member can be renamed: it is there, and no other one has its new name."""
    node = document.value
    for step in edit.path[:-1]:
        node = node.get(step) if isinstance(node, dict) else None
    return (
        isinstance(edit, RenameMember)
        and isinstance(node, dict)
        and edit.path[-1] in node
        and edit.name not in node
    )


_TRANSFER = "transfer_to_agent"


def turns_of(case: JsonNode) -> Iterator[JsonNode]:
    """Yield the turns of a recorded case, and behind each what it was before it was edited."""
    for turn in case.items("turns"):
        yield turn
        if (original := turn.field("original")) is not None:
            yield original


def digest_edits(before: Any, after: Any, migration: Migration) -> Iterator[Edit]:
    """Yield the edits of the digests: of calls that the migration has changed, and of no others.

    What a digest is of is only known where a recorded call has it. Where none has, and the call's arguments are others now, nobody can tell
    the new one, and the digests of that turn go.

    Args:
        before: The recorded environment before the migration.
        after: The same after it, but for the digests.
        migration: What changed.
    """
    cases = JsonNode(before).field("cases") or JsonNode(None)
    for name, case in cases.members.items():
        now = JsonNode(after["cases"][name], ("cases", name))
        for turn, turn_now in zip(turns_of(JsonNode(case)), turns_of(now), strict=True):
            yield from _of_turn(turn, turn_now, migration)


def _of_turn(turn: JsonNode, now: JsonNode, migration: Migration) -> Iterator[Edit]:
    if (golden := now.field("golden")) is None:
        return
    places = [pair for each in _states(turn, now) for pair in each]
    digests = {_digest(old): _digest(new) for old, new in places}
    names = {**migration.tools, **{old.name: new.name for old, new in places}}
    edits = list(_recorded(turn, now, golden))
    for call in golden.items("calls"):
        tool, arguments = call.text("tool"), call.text("arguments")
        known = digests.get((tool, arguments))
        if known is None and (tool in migration.touched or (migration.agents and tool == _TRANSFER)):
            yield Remove(golden.path)
            return
        for field, new in zip(
            ("tool", "arguments"), known or (names.get(tool, tool), arguments), strict=True
        ):
            if new != call.text(field):
                edits.append(Replace((*call.path, field), new))
    yield from edits


def _recorded(turn: JsonNode, now: JsonNode, golden: JsonNode) -> Iterator[Edit]:
    """Yield the edits of the digests of what is recorded; one that was wrong before stays so, as an edit by hand does."""
    before, after = (
        digests_of({name: [each.members for each in state.items(name)] for name in DIGESTED})
        for state in (turn, now)
    )
    for held, new in after.items():
        noted = golden.text(held).split()
        pairs = list(zip(noted, before[held].split(), new.split(), strict=False))
        digests = " ".join(is_now if then == was else was for was, then, is_now in pairs)
        if len(pairs) == len(noted) and digests != golden.text(held):
            yield Replace((*golden.path, held), digests)


def _states(turn: JsonNode, now: JsonNode) -> Iterator[Iterator[tuple[ToolPlace, ToolPlace]]]:
    """Yield the calls of a turn before and after the migration, as they are and as they were recorded."""
    yield zip(in_recorded_turn(turn), in_recorded_turn(now), strict=True)
    original, original_now = turn.field("original"), now.field("original")
    if original is not None and original_now is not None:
        yield zip(in_recorded_turn(original), in_recorded_turn(original_now), strict=True)


def _digest(place: ToolPlace) -> tuple[str, str]:
    return place.name, value_digest(place.arguments.value if place.arguments else {})


_FIRST_STEP = re.compile(r"[^.\[]+")


def preview_migration(
    paths: Iterable[Path | str], migration: Migration, *, agents_dir: Path | str | None = None,
    agents: Mapping[str, KnownAgent] | None = None, agent: str = "",
) -> Changes:  # fmt: skip
    """Show what `migrate` would change; nothing is written. Arguments and errors are those of `migrate`."""
    known = KnownAgents(Path(agents_dir) if agents_dir else None, agents, agent)
    return changes_of(paths, partial(_migrated, migration=migration, agents=known), write=False)


def migrate(
    paths: Iterable[Path | str], migration: Migration, *, agents_dir: Path | str | None = None,
    agents: Mapping[str, KnownAgent] | None = None, agent: str = "",
) -> Changes:  # fmt: skip
    """Bring calls, answers, rules and recorded tools to new names and arguments, in many files at once.

    Written as `mend` writes. Done again it changes nothing. A file in which a change cannot be made without losing something
    stays as it is, with the one beside it; its `problem` says why.

    Args:
        paths: As for `examine`.
        migration: What changed.
        agents_dir: A folder of agents: the recorded digests of migrated tools become those of the agents' present tools.
        agents: Agents that are loaded already, by the names of their apps; for the same.
        agent: As for `examine`; for the same.

    Raises:
        simulator.agents.AgentLoadError: The folder of agents is none.
    """
    known = KnownAgents(Path(agents_dir) if agents_dir else None, agents, agent)
    return changes_of(paths, partial(_migrated, migration=migration, agents=known), write=True)


def _migrated(group: tuple[Path, ...], migration: Migration, agents: KnownAgents) -> tuple[FileChange, ...]:
    changes = [change for file in group if (change := _changed(file, migration, agents)) is not None]
    reason = next((f"{each.file.name} was not migrated" for each in changes if each.problem), None)
    if reason is None:
        return tuple(changes)
    return tuple(each if each.problem else each.model_copy(update={"problem": reason}) for each in changes)


def _changed(file: Path, migration: Migration, agents: KnownAgents) -> FileChange | None:
    """Migrate one file; None where nothing in it changes."""
    before = content_of(file)
    if isinstance(before, FileChange):
        return before
    notes = Notes(file)
    document = read(before, notes)
    if document is None or document.places.text != before:
        reason = notes.all[-1].meaning
        return FileChange(file=file, before=before, after=before, problem=f"fix it first: {reason}")
    course = _Migrating(JsonNode(document.value), migration, agents, notes)
    places, edits, waiting = document.places, course.edits(), True
    if conflict := next((note for note in notes.all if note.code == "migration-conflict"), None):
        return FileChange(
            file=file, before=before, after=before, problem=conflict.meaning, mended=notes.findings(places)
        )
    for _ in range(_ROUNDS):
        edited = apply(places, edits)
        places, edits, waiting = JsonPlaces(edited.text), list(edited.waiting), bool(edited.waiting)
        if not waiting:
            break
    if places.text == before:
        return None
    if course.is_recorded:
        places = JsonPlaces(apply(places, digest_edits(document.value, loads(places.text), migration)).text)
    course.tell()
    return FileChange(file=file, before=before, after=places.text, mended=notes.findings(document.places))


class _Migrating:
    """Finds the changes of one file."""

    def __init__(self, root: JsonNode, migration: Migration, agents: KnownAgents, notes: Notes) -> None:
        self._root, self._migration, self._agents, self._notes = root, migration, agents, notes
        self._done: Counter[str] = Counter()

    @property
    def is_recorded(self) -> bool:
        """Whether it is a recorded environment."""
        return kind_of(self._root.value) == "recorded environment"

    def edits(self) -> list[Edit]:
        """Return the changes; what cannot be done, or is left, is noted."""
        root, found = self._root, list[Edit]()
        match kind_of(root.value):
            case "eval set":
                for case in root.items("eval_cases"):
                    found += self._agents_in(case)
                    for turn in case.items("conversation"):
                        found += [edit for place in in_turn(turn) for edit in self._at(place, "args")]
                        found += self._details(turn)
            case "old eval data":
                for turn in old_turns(root):
                    found += [edit for place in in_old_turn(turn) for edit in self._at(place, "tool_input")]
            case "recorded environment":
                cases = root.field("cases") or JsonNode(None)
                for name, case in cases.members.items():
                    recorded = JsonNode(case, (*cases.path, name))
                    found += [*self._agents_in(recorded), *self._recorded(recorded)]
            case _:
                pass
        return found

    def _agents_in(self, case: JsonNode) -> Iterator[Edit]:
        """Yield the edits for renamed agents; where the agent itself is called as ever, its app alone was renamed."""
        names = self._migration.agents
        app_name = (case.field("session_input") or JsonNode(None)).text("app_name") or case.text("app_name")
        agent = self._agents.of(self._notes.file, names.get(app_name, app_name)) if names else None
        kept = agent.agents if agent is not None else frozenset[str]()
        found = dict(places_of(case.value, names, apps_only=True))
        own = {old: new for old, new in names.items() if old not in kept}
        found |= dict(places_of(case.value, own))
        for held in (each for turn in case.items("conversation") for each in _agent_details(turn)):
            if (new := own.get(str(held.path[-1]))) is not None:
                yield RenameMember(held.path, new)
                found |= {(*held.path[len(case.path) :], "name"): new} if held.text("name") in own else {}
        for path, new in found.items():
            yield Replace((*case.path, *path), new)
        for path, new in keys_of(case.value, names):
            yield RenameMember((*case.path, *path), new)
        for old, new in names.items() if found else ():
            self._done[f"Agent {old!r} renamed to {new!r}"] += 1

    def _details(self, turn: JsonNode) -> Iterator[Edit]:
        """Yield the edits of the tools that ADK keeps as declared in a turn."""
        for agent in _agent_details(turn):
            for tool in agent.items("tool_declarations"):
                for declared in tool.items("function_declarations"):
                    yield from self._declared(declared)

    def _declared(self, declared: JsonNode) -> Iterator[Edit]:
        """Yield the edits of a declaration: the arguments of its schema, and its name."""
        tool = declared.text("name")
        renamed = {each.old: each.new for each in self._migration.renamed if each.tool == tool}
        dropped = {each.name for each in self._migration.dropped if each.tool == tool}
        for name in ("parameters", "parameters_json_schema"):
            schema = declared.field(name) or JsonNode(None)
            properties = schema.field("properties") or JsonNode(None)
            if not properties.members.keys().isdisjoint(renamed.values()):
                continue  # it is that of the tool as it is now
            yield from self._changed_names(tool, properties)
            for item in (each for key in ("required", "property_ordering") for each in schema.items(key)):
                if str(item.value) in renamed:
                    yield Replace(item.path, renamed[str(item.value)])
                elif str(item.value) in dropped:
                    yield Remove(item.path)
        yield from self._renamed(declared.field("name"))

    def tell(self) -> None:
        """Note what was changed."""
        for words, count in self._done.items():
            self._notes.add("migrated", (), f"{words}.", count=count)

    def _at(self, place: ToolPlace, arguments_name: str) -> Iterator[Edit]:
        if not place.name:
            return
        if place.role != "answer":
            yield from self._arguments(place, arguments_name)
        yield from self._renamed(place.tool)

    def _renamed(self, tool: JsonNode | None) -> Iterator[Edit]:
        new = self._migration.tools.get(tool.value) if tool and isinstance(tool.value, str) else None
        if tool and new is not None and new != tool.value:
            self._done[f"Tool {tool.value!r} renamed to {new!r}"] += 1
            yield Replace(tool.path, new)

    def _arguments(self, place: ToolPlace, arguments_name: str) -> Iterator[Edit]:
        arguments = place.arguments or JsonNode({}, (*place.at.path, arguments_name))
        if not isinstance(arguments.value, dict):
            return
        there = place.arguments is not None
        yield from self._changed_names(place.name, arguments)
        given = {each.name: each.value for each in self._migration.given if each.tool == place.name}
        missing = {name: value for name, value in given.items() if name not in arguments.value}
        for name, value in given.items():
            if name in arguments.value and _differ(arguments.value[name], value):
                self._done[f"Argument {name!r} of {place.name!r} changed"] += 1
                yield Replace((*arguments.path, name), value)
        for name in missing:
            self._done[f"Argument {name!r} of {place.name!r} added"] += 1
        if missing and there:
            yield from (Insert(arguments.path, name, value) for name, value in missing.items())
        elif missing and arguments_name in place.at.members:
            yield Replace(arguments.path, missing)
        elif missing:
            yield Insert(place.at.path, arguments_name, missing)

    def _changed_names(self, tool: str, arguments: JsonNode) -> Iterator[Edit]:
        held = arguments.members
        dropped = {each.name for each in self._migration.dropped if each.tool == tool} & held.keys()
        renamed = {
            each.old: each.new for each in self._migration.renamed if each.tool == tool and each.old in held
        }
        for old, new in renamed.items():
            if new in held and new not in dropped and new not in renamed:
                words = f"the argument {old!r} of {tool!r} cannot be renamed to {new!r}, because the call already has an argument of that name"
                self._notes.add("migration-conflict", arguments.path, words, "Remove one of the two first.")
                continue
            self._done[f"Argument {old!r} of {tool!r} renamed to {new!r}"] += 1
            yield RenameMember((*arguments.path, old), new)
        for name in sorted(dropped):
            self._done[f"Argument {name!r} of {tool!r} removed"] += 1
            yield Remove((*arguments.path, name))

    # ------------------------------------------------------------ recorded environments

    def _recorded(self, case: JsonNode) -> Iterator[Edit]:
        for turn in turns_of(case):
            for place in in_recorded_turn(turn):
                in_file = "arguments" if place.at.path[-2] in {"calls", "rejected", "agents"} else "args"
                yield from self._at(place, in_file)
            for name in ("calls", "rejected", "models", "code", "agents"):
                for asked in turn.items(name):
                    for outer in asked.items("within"):
                        yield from self._renamed(outer)
        for rule in case.items("rules"):
            yield from self._rule(rule)
        for tolerance in case.items("tolerances"):
            yield from self._tolerance(tolerance)
        yield from self._tools(case)

    def _tolerance(self, tolerance: JsonNode) -> Iterator[Edit]:
        tool, path = tolerance.text("tool"), tolerance.text("path")
        name = _FIRST_STEP.match(path)
        for each in self._migration.renamed:
            if name is None or each.old != name.group():
                continue
            if each.tool == tool:
                self._done[f"Tolerance of {each.old!r} of {tool!r} moved to {each.new!r}"] += 1
                yield Replace((*tolerance.path, "path"), each.new + path[name.end() :])
            elif tool == EVERY_TOOL:
                words = f"A tolerance of {each.old!r} for all tools was not changed, although {each.tool!r} now calls it {each.new!r}."
                self._notes.add("migration-left", tolerance.path, words, "Add a tolerance for the new name.")
        yield from self._renamed(tolerance.field("tool"))

    def _rule(self, rule: JsonNode) -> Iterator[Edit]:
        tool = rule.field("tool_name")
        if tool is None or not isinstance(tool.value, str):
            return
        if (matched := rule.field("match_args")) is not None:
            yield from self._changed_names(tool.value, matched)
        if rule.field("when") is not None and tool.value in self._migration.touched:
            words = f"The condition of the rule {rule.text('rule_id')!r} for {tool.value!r} may name an argument. It was not changed."
            self._notes.add("migration-left", rule.path, words, "Check the condition and change it by hand.")
        yield from self._renamed(tool)

    def _tools(self, case: JsonNode) -> Iterator[Edit]:
        tools = case.field("tools") or JsonNode(None)
        agent = self._agents.of(self._notes.file, case.text("app_name"))
        for name, kept in tools.members.items():
            new = self._migration.tools.get(name, name)
            if new != name and new in tools.members and new not in self._migration.tools:
                self._done[f"Recorded schema of {name!r} replaced by that of {new!r}"] += 1
                yield Remove((*tools.path, name))
                continue
            if new != name:
                yield RenameMember((*tools.path, name), new)
            digest = agent.digest(new) if agent and self._touches(name) else None
            if digest is not None and isinstance(kept, dict) and kept.get("schema_digest") != digest:
                self._done[f"Recorded schema of {new!r} updated"] += 1
                yield Replace((*tools.path, name, "schema_digest"), digest)

    def _touches(self, tool: str) -> bool:
        return tool in self._migration.tools or tool in self._migration.touched


def _agent_details(turn: JsonNode) -> Iterator[JsonNode]:
    """Yield what ADK keeps of each agent in a turn."""
    agents = (turn.field("app_details") or JsonNode(None)).field("agent_details") or JsonNode(None)
    return (JsonNode(held, (*agents.path, name)) for name, held in agents.members.items())


def _differ(one: Any, other: Any) -> bool:
    return type(one) is not type(other) or one != other
