"""Makes answers to one call out of each kind of evidence: the session, the tool's code and description, its schema, its shape."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from pydantic import JsonValue

from simulator.base.adk_names import TEMPORARY
from simulator.base.json_paths import WHOLE, field_place, item_place
from simulator.base.json_values import JsonObject, canonical, same
from simulator.environment.conventions import (
    UNSURE,
    EarlierAnswer,
    collection_of,
    is_collection,
    is_envelope,
    is_error,
    is_identifier,
    is_own_key,
    words_of,
)
from simulator.environment.drafts.docstrings import example, shown_answer
from simulator.environment.drafts.draft import (
    Blank,
    Doubts,
    DraftCall,
    Sources,
    Try,
    agreeing,
    blanks_of,
    filled_from,
    is_guess,
    kind_of,
    still_blank,
)
from simulator.environment.drafts.field_texts import next_id
from simulator.environment.drafts.schema_instances import (
    ADK_FORM,
    Maker,
    NoValueError,
    Style,
    ValueContext,
    adk_error,
    error_answers,
    layers,
    sentence_of,
)
from simulator.environment.drafts.session_knowledge import (
    LaterChanges,
    Rows,
    as_told,
    doubted,
    found_rows,
    known_fields,
    settled,
)
from simulator.environment.drafts.sketch_filling import Filler, lost
from simulator.environment.evidence.program_run import NO_CHANCES, Chances
from simulator.environment.evidence.programs import find, load, may_write, states, takes_rows
from simulator.environment.evidence.sketch import CodeReading, EarlierCall, Hole, Outcome, Sketch
from simulator.environment.evidence.value_sketches import alike, fits, shape_of
from simulator.environment.recordings import NO_EFFECTS, ObservedCall, ToolEffects
from simulator.environment.schema.scalar_instances import Chance
from simulator.environment.schema.schema_checks import BrokenSchemaError, Problem, check
from simulator.environment.schema.schema_plans import SchemaPlan, is_error_branch, plan_for
from simulator.environment.world.entities import PERSON, SEED, Entity, Origin, Table
from simulator.environment.world.response_reader import says_missing
from simulator.environment.world.world import World

_BAD_REQUEST, _NOT_FOUND = 400, 404
_MOST_REPLAYED, _MOST_ASKED, _MOST_NAMED = 100, 24, 3
"""How many earlier calls are read for what they left in the modules of the tools, and how many for whether the code gave their responses."""
_NO_OUTCOME = Outcome()
_OF_THE_READING = frozenset(
    {"AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "TypeError", "UnboundLocalError"}
)
"""The exceptions that Python raises for what a program is, and not for the values that it is given."""
_BY_SCHEMA = "Generated from the output schema"
GUESS = "A guess: the tool's return value is not known"
_BY_CONNECTIONS = "From the connections of the tools; what else the tool returns is not known"


class Parts:
    """One call, its tool, and all that is known; what several ways to answer need is worked out once."""

    def __init__(self, call: DraftCall, sources: Sources) -> None:
        self.call, self._sources = call, sources
        self.tool, self.arguments = call.tool_name, call.arguments
        self.world = sources.world or _world_of(call)
        self.chance = Chance(call.seed, call.tool_name, canonical(call.arguments), str(call.draw))
        self.hopeless = ""
        """Why no value was found that fits the tool's schema, where none was."""
        self._is_hopeless = False
        self._given: dict[int, bool] = {}
        self._tables: Sequence[Table] = self.world.tables.tables

    @cached_property
    def plan(self) -> SchemaPlan | None:
        """The plan of the tool's schema; None where it has none, or one that cannot be read."""
        try:
            return None if self.call.response_schema is None else plan_for(self.call.response_schema)
        except BrokenSchemaError:
            return None

    @cached_property
    def use(self) -> str:
        """What the tool does to things."""
        return self._use(self.tool, self.arguments)

    def _use(self, tool_name: str, arguments: JsonObject) -> str:
        return self.world.role_of(tool_name, arguments).use

    @cached_property
    def rows(self) -> Rows | None:
        """The rows of a table that the call asks for."""
        return found_rows(self.tool, self.arguments, self.world) if self.use == "reads" else None

    @cached_property
    def known(self) -> Mapping[str, JsonValue]:
        """What a field of the answer may take over, by its name: the arguments, and below them what the session knows."""
        facts = known_fields(self.tool, self.arguments, self.world, self.rows)
        return layers(self.arguments, facts, self._sources.shared or {})

    @cached_property
    def reading(self) -> CodeReading:
        """What the tool's code says about the call, after all that the session's calls have changed."""
        found = self._read(self._earlier, self._chances)
        values: list[Any] = [one.value for one in found.outcomes if one.possible and not one.raises]
        if all(map(is_error, values)) and (added := self._added()):
            self._tables = added
            return self._read(self._earlier, self._chances)
        return found

    def _added(self) -> Sequence[Table]:
        """Return the environment's data with the things that the call names and the code cannot know; empty where there are none."""
        tables = {one.kind: one for one in self.world.tables.tables}
        things = [
            (kind, one) for kind, key in self._things if (one := self.world.entity(kind, key)) is not None
        ]
        added = [
            each
            for each in things
            if (first := each[1].first) and first.source != SEED and self._is_news(first)
        ]
        for kind, one in added:
            own = tables.get(kind) or Table(name=kind, kind=kind, id_field=self.world.columns(kind)[0])
            tables[kind] = own.model_copy(update={"rows": (*own.rows, one.fields)})
        return [*tables.values()] if added else []

    @property
    def _chances(self) -> Chances:
        return Chances(self.call.now, str(self.chance.number("ids", 2**62)))

    def _read(
        self,
        earlier: Sequence[EarlierCall],
        chances: Chances = NO_CHANCES,
        asked: EarlierAnswer | None = None,
    ) -> CodeReading:
        """Read the code of this call, or of one that was `asked` before."""
        code = self.call.code if asked is None else self.call.codes.get(asked.tool_name)
        if code is None:
            return CodeReading()
        return self._sources.read(
            code,
            self.arguments if asked is None else asked.arguments,
            state=self.call.state,
            earlier=earlier,
            chances=chances,
            tables=self._tables,
        )

    @cached_property
    def _writes(self) -> Mapping[int, EarlierAnswer]:
        """The earlier calls that may have changed what the tools keep, and whose code is at hand, by their numbers."""
        codes, start = self.call.codes, max(len(self.call.earlier) - _MOST_REPLAYED, 0)
        return {
            one.fact or place: one
            for place, one in enumerate(self.call.earlier[start:], start=start + 1)
            if one.tool_name in codes and not one.injected and self._may_write(one.tool_name, one.arguments)
        }

    def _may_write(self, tool_name: str, arguments: JsonObject) -> bool:
        """Return whether a call may change something: as its name says, or its code."""
        code = self.call.codes.get(tool_name)
        return self._use(tool_name, arguments) != "reads" or (code is not None and may_write(code))

    @property
    def _earlier(self) -> Sequence[EarlierCall]:
        codes = self.call.codes
        return [
            EarlierCall(codes[one.tool_name], one.arguments, one.response, one.state_delta)
            for one in self._writes.values()
        ]

    def _unless_changed(self, said: Sketch, now: Sketch) -> Sketch:
        """Return what the session says of an answer of the code, unless calls have changed since what the code keeps there."""
        if not self._writes:
            return said
        first = next(
            (one.value for one in self._read((), self._chances).outcomes if one.possible and not one.raises),
            None,
        )
        return said if repr(first) == repr(now) else self._kept(said, now, first)

    def _kept(self, said: Sketch, now: Sketch, first: Sketch, name: str = "") -> Sketch:
        """Compare an answer with what the code would give had no call changed anything: what differs has changed."""
        if isinstance(said, dict) and isinstance(now, dict):
            of = first if isinstance(first, dict) else now
            return {key: self._kept(one, now[key], of.get(key, now[key]), key) for key, one in said.items()}
        if isinstance(said, list) and isinstance(now, list) and len(said) == len(now):
            of_items = first if isinstance(first, list) and len(first) == len(now) else now
            return [self._kept(*each, name) for each in zip(said, now, of_items, strict=True)]
        told = max(self._told_at(name, said), default=0)
        if repr(now) == repr(first) or told >= max(self._writes):
            return said
        if isinstance(now, Hole):
            return lost(now, name)
        is_of_code = repr(said) in {repr(now), repr(first)} or self._gave(told)
        return now if is_of_code else lost(said, name)

    def _told_at(self, name: str, value: Sketch) -> Iterator[int]:
        """Yield the numbers of the calls in which the session was told this value of a field of some thing."""
        for kind in self.world.kinds():
            for key in self.world.collections().get(collection_of(kind), ()):
                entity = self.world.entity(kind, key)
                if entity is not None and name in entity.origins and entity.fields.get(name) == value:
                    yield entity.origins[name].fact

    def _gave(self, number: int) -> bool:
        """Return whether the code gave the response of an earlier call itself, after all that was changed by then."""
        if number not in self._given:
            before = [
                write for place, write in zip(self._writes, self._earlier, strict=True) if place < number
            ]
            self._given[number] = any(
                way.certain and fits(way.value, one.response)
                for one in self._call_of(number)
                for way in self._read(before, asked=one).outcomes
            )
        return self._given[number]

    def _call_of(self, number: int) -> list[EarlierAnswer]:
        return [one for place, one in enumerate(self.call.earlier, start=1) if (one.fact or place) == number][
            :1
        ]

    def _is_news(self, origin: Origin | None) -> bool:
        """Return whether the code cannot know what was set there: nobody computed it, or a tool did that changes things in its words alone."""
        if origin is None or origin.source in {PERSON, SEED} or not self._gave(origin.fact):
            return True
        code, role = self.call.codes.get(origin.source), self.world.role_of(origin.source, {})
        return code is not None and role.use != "reads" and role.why != UNSURE and not may_write(code)

    def _heard(self, name: str, value: Any, thing: Entity) -> Any:
        """Return what stands in a field that the code decides, where the session says something else; it counts if the code only states its own.

        What the code computes holds, unless somebody said something else: then nobody knows.
        """
        origin = thing.origins.get(name) if name else thing.last
        told = as_told(name, value, thing)
        if _holes(value) or (name and same(told, value)):
            return told
        is_asked = name in self.arguments and same(self.arguments[name], value)
        if is_asked or (origin is not None and origin.is_doubted) or not self._is_news(origin):
            return value
        if not name or self.call.code is None or states(self.call.code, name, value):
            return told
        return value if origin is not None and origin.source == SEED else lost(value, name)

    @cached_property
    def _ends(self) -> tuple[tuple[Outcome, Try], ...]:
        """The ways in which the tool's code ends that say something, each with the answer that it is."""
        found = (one for one in self.reading.outcomes if one.raises or not _is_bare(one.value))
        return tuple((one, self._of_outcome(one)) for one in found)

    @cached_property
    def outcomes(self) -> tuple[Try, ...]:
        """The ways in which the tool's code says that the call may end, those that return first."""
        return tuple(made for _, made in self._ends)

    def gives(self, value: JsonValue) -> bool:
        """Return whether the tool's code gives an answer for certain."""
        return any(one.certain and not made.blanks and same(made.value, value) for one, made in self._ends)

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """Say what is wrong with an answer by the tool's schema; nothing is with an error in ADK's form."""
        schema = self.call.response_schema
        if schema is None or (isinstance(value, dict) and value.keys() == ADK_FORM):
            return ()
        return check(value, schema) if self.plan is None else self.plan.problems(value)

    def fits(self, value: JsonValue) -> bool:
        """Return whether the tool may give an answer."""
        return not self.problems(value)

    def agreeing(self, value: JsonValue, is_open: Callable[[str], bool] = bool) -> JsonValue:
        """Return an answer whose open counts say the same as its rows, unless the schema has no room for that."""
        made = agreeing(value, is_open)
        return made if made == value or self.fits(made) or not self.fits(value) else value

    # ------------------------------------------------------------ errors

    def error(self, code: int, message: str) -> JsonObject:
        """Return an error as this tool says it: by its code, its earlier errors or its schema; else in ADK's form."""
        shapes = [
            one.response
            for one in reversed(self.call.earlier)
            if one.tool_name == self.tool and not one.injected
        ]
        shapes += [one.value for one in self.outcomes if not one.raises]
        found = error_answers(
            code, message, self.arguments, plan=self.plan, shapes=list(filter(is_error, shapes))
        )
        return next(found, adk_error(code, message))

    def refused(self) -> Try | None:
        """Answer that a required argument is missing or null; None where all are there."""
        properties, required = self.call.parameters.get("properties"), self.call.parameters.get("required")
        fields = properties if isinstance(properties, dict) else {}
        names = [name for name in (required if isinstance(required, list) else []) if isinstance(name, str)]
        null = [
            name
            for name in names
            if self.arguments.get(name, name) is None and _asks_for_value(fields.get(name))
        ]
        missing = [name for name in names if name not in self.arguments]
        if null:
            return Try(
                self.error(_BAD_REQUEST, f"{' and '.join(null)} must not be null."),
                "A required argument is null",
            )
        if not missing:
            return None
        word = "arguments" if len(missing) > 1 else "argument"
        message = f"Missing required {word}: {', '.join(missing)}."
        return Try(self.error(_BAD_REQUEST, message), "A required argument is missing")

    @cached_property
    def gone(self) -> JsonObject | None:
        """The error of the world for a thing that the call names and that does not exist."""
        return self.world.not_found(self.tool, self.arguments)

    def names_what_is_gone(self) -> bool:
        """Return whether the call names a thing that was taken away: not one that the session just does not know."""
        named = [self.world.entity(*one) for one in self.world.named(self.tool, self.arguments)]
        return self.gone is not None and any(one is not None and one.gone for one in named)

    def not_found(self) -> Try | None:
        """Answer that a thing does not exist, in the tool's own words where its code has some; None where nothing is known."""
        rows, message = self.rows, "" if self.gone is None else sentence_of(self.gone)
        is_lost = rows is not None and rows.used and not rows.records and not self._gives_list()
        if rows is not None and is_lost and not message:
            said = ", ".join(f"{name} {self.arguments[name]!r}" for name in rows.used)
            message = f"No {rows.kind.replace('_', ' ')} with {said} was found."
        if not message:
            return None
        by_code = self.by_code()
        for outcome, made in self._ends:
            is_so = outcome.certain and made is by_code
            is_error_of_code = is_error(made.value) and not made.blanks
            if (is_so and self._follows) or (is_error_of_code and (is_so or self._is_about_gone(made.value))):
                return made
        if self.gone is not None and self.gone in [one.response for one in self.call.earlier]:
            return Try(self.gone, "The tool already returned this not-found error")
        return Try(
            self.error(_NOT_FOUND, message), "The call names an entity that does not exist in this session"
        )

    @cached_property
    def _follows(self) -> bool:
        """Whether the code's own tables show which of the things that the call names exist, as the calls that made and removed them changed these tables, too."""
        named = self.world.named(self.tool, self.arguments)
        kinds = {kind for kind, key in named if self.world.entity(kind, key) is None}
        if self.rows is not None and self.rows.kind not in {kind for kind, _ in named}:
            kinds.add(self.rows.kind)
        gone = [found.last for one in named if (found := self.world.entity(*one)) is not None and found.gone]
        said = [
            Origin(one.fact or place, 0, one.tool_name)
            for place, one in enumerate(self.call.earlier, start=1)
            if self.gone is not None and one.response == self.gone
        ]
        return not any(map(self._is_news, [*gone, *said])) and all(map(self._follows_kind, kinds))

    def _follows_kind(self, kind: str) -> bool:
        """Return whether the code keeps the things of a kind: the environment's data, and what was made in the session."""
        code, tables = self.call.code, [one for one in self.world.tables.tables if one.kind == kind]
        rows = {key: row for one in tables for key, row in one.records()}
        if code is None or (tables and not takes_rows(load(code), kind, rows)):
            return False
        made = self.world.first_told(kind)
        return len(made) <= _MOST_ASKED and not any(map(self._is_news, made))

    def _is_about_gone(self, error: JsonValue) -> bool:
        """Return whether an error says that a thing does not exist, and of nothing that the session knows."""
        if not isinstance(error, dict) or not says_missing(error):
            return False
        said = sentence_of(error)
        return not any(re.search(rf"(?<!\w){re.escape(key)}(?!\w)", said) for _, key in self._things)

    def _gives_list(self) -> bool:
        """Return whether the tool answers with a list, which may be empty."""
        fields: list[object] = []
        for one in self.reading.outcomes[:1]:
            fields += [one.value, *(one.value.values() if isinstance(one.value, dict) else ())]
        if any(isinstance(one, list) or (isinstance(one, Hole) and one.kind == "array") for one in fields):
            return True
        if self.plan is None:
            return self.call.code is None and is_collection((words_of(self.tool) or ("",))[-1])
        for plain in self.plan.alternatives(self.plan.schema):
            properties = plain.get("properties")
            inner = properties.values() if isinstance(properties, dict) and not is_error_branch(plain) else ()
            if any(isinstance(one, dict) and one.get("type") == "array" for one in (plain, *inner)):
                return True
        return False

    # ------------------------------------------------------------ what was answered before

    def recorded(self, *, again: bool) -> Try | None:
        """Return the answer that was recorded for the same arguments; `again` allows one that was given before."""
        found = recorded_answer(
            self._sources.recorded, self.tool, self.arguments, self.call.earlier, self.fits
        )
        if found is None or not (again or found[1]):
            return None
        why = f"Recorded response to the same arguments: {found[0].place}"
        blanks = blanks_of(found[0].blanks, found[0].uncertain)
        return Try(found[0].response, why, blanks, effects=self.effects_of_recorded(found[0]))

    def repeated(self) -> Try | None:
        """Return the last answer to this very call that was no error, if the tool only reads and nothing has been written since."""
        found = self._before
        if found is None or found[1]:
            return None
        answer = found[0]
        effects = self.effects_of(answer.response)
        unsure = tuple(Blank(path=path, drawn=True) for path in answer.uncertain)
        return Try(answer.response, "The earlier response to the same call", unsure, effects=effects)

    def as_before(self) -> Try | None:
        """Return the answer to this very call from before later calls that may have written, with what they may have changed marked.

        What the tool's code says stays. None where it says all, and where code of a call since changes what this code reads.
        """
        found = self._before
        by_code = None if found is None else self.by_code()
        if found is None or (by_code is not None and not is_guess(by_code.blanks)):
            return None
        answer, since = found
        codes = (self.call.codes.get(one.tool_name) for one in since)
        if by_code is not None and any(one is not None and may_write(one) for one in codes):
            return None
        before: Any = answer.response
        writers = sorted({one.tool_name for one in since})
        why = f"As before; {' and '.join(writers)} {'were' if writers[1:] else 'was'} called since"
        made = self._sketched(before, why) if by_code is None else replace(by_code, why=why)
        value, left = filled_from(before, made.value, made.blanks)
        changes = LaterChanges(self._changed_by(since), {name for one in since for name in one.arguments})
        own = {key for _, key in self.world.named(self.tool, self.arguments)}
        marked = {*self.arguments, *(one.path for one in left)}
        doubted = (Blank(path=path, drawn=True) for path in answer.uncertain)
        unsure = {one.path: one for one in (*doubted, *changes.of(value, own))}
        still = still_blank([*unsure], before, value)
        blanks = (*left, *(unsure[one] for one in still if not {one, unsure[one].name} & marked))
        return replace(made, value=value, blanks=blanks, effects=self.effects_of(value))

    def _changed_by(self, since: Sequence[EarlierAnswer]) -> set[str] | None:
        """Return the ids of the things that some calls name; None where one of them may have changed any."""
        keys, kind = set[str](), self.world.role_of(self.tool, self.arguments).kind
        for one in since:
            named = {key for _, key in self.world.named(one.tool_name, one.arguments)}
            role = self.world.role_of(one.tool_name, one.arguments)
            if not named and (role.why == UNSURE or role.kind in {"", kind}):
                return None
            keys |= named
        return keys

    @cached_property
    def _before(self) -> tuple[EarlierAnswer, list[EarlierAnswer]] | None:
        """The last answer to this very call that was no error, if the tool only reads, and the calls since that may have written."""
        if self._may_write(self.tool, self.arguments) or self._reads_what_is_gone:
            return None
        since = list[EarlierAnswer]()
        for one in reversed(self.call.earlier):
            is_same = one.tool_name == self.tool and one.arguments == self.arguments
            if is_same and not is_error(one.response) and not one.is_guess:
                return one, since
            if self._may_write(one.tool_name, one.arguments):
                since.append(one)
        return None

    @property
    def _reads_what_is_gone(self) -> bool:
        """Whether the code decides the answer after an invocation whose own state is gone: an earlier answer may have been made of it."""
        state = self.call.state or {}
        written = [key for one in self.call.earlier for key in one.state_delta]
        is_gone = any(key.startswith(TEMPORARY) and key not in state for key in written)
        return is_gone and any(one.certain for one in self.reading.outcomes)

    # ------------------------------------------------------------ code, description, schema, shape

    def _of_outcome(self, outcome: Outcome) -> Try:
        code, when = self.call.code, " and ".join(outcome.when)
        line = f", line {outcome.line}" if outcome.line else ""
        why = f"From the tool's code: {code.module.path if code else ''}{line}{f', when {when}' if when else ''}"
        title = f"When {when}" if when else ""
        if not outcome.raises:
            # What the code does for certain counts for more than the plain type that its annotation names.
            holds = outcome.certain and self._is_loose and not _holes(outcome.value)
            made = self._sketched(outcome.value, why, holds=holds, outcome=outcome)
            value = self._untaken(made.value)
            effects = made.effects if value is made.value else NO_EFFECTS
            varies = made.varies or outcome.varies
            return replace(made, value=value, when=title, effects=effects, varies=varies)
        error: dict[str, Sketch] = {"error_code": outcome.raises, "error_message": outcome.message or ""}
        made = self._sketched(error, why, outcome=outcome)
        when = f"Raises {outcome.raises}{f' when {when}' if when else ''}"
        return replace(made, when=when, raises=outcome.raises)

    def _untaken(self, value: JsonValue) -> JsonValue:
        """Let a thing that is just made have the next id, where the one that the code counts out is taken in this session by what the code does not know."""
        role = self.world.role_of(self.tool, self.arguments)
        if role.use != "creates" or not isinstance(value, dict):
            return value
        for name, key in value.items():
            if not isinstance(key, str) or key in self.arguments.values() or not is_own_key(name, role.kind):
                continue
            found = self.world.entity(role.kind, key)
            if found is not None and not found.gone and self._is_news(found.first):
                following = next_id([*self.world.collections().get(collection_of(role.kind), ()), key])
                return value if following is None else {**value, name: following}
        return value

    @cached_property
    def _is_loose(self) -> bool:
        """Whether the schema is an annotation that only names a type such as `str` or `dict`: nobody set it, and no field is declared."""
        if self.call.is_held or self.plan is None:
            return not self.call.is_held
        plain = self.plan.alternatives(self.plan.schema)
        return not any({"properties", "items", "enum", "const"} & one.keys() for one in plain)

    def _names_no_field(self, value: JsonValue) -> bool:
        """Whether an annotation such as `dict[str, str]` would leave nothing of an object that the code puts together."""
        if self.plan is None or not self._is_loose or not isinstance(value, dict):
            return False
        return any(one.get("type") == "object" for one in self.plan.alternatives(self.plan.schema))

    def by_code(self) -> Try | None:
        """Return the first outcome of the tool's code that the call may have: an error only where it is certain, or nothing else may be.

        What another outcome that is as possible does not say, too, is marked in it.

        None where it may return what the code does not say, and of code that does nothing or only raises what it says: it stands for a tool.
        So does nothing at all of a long-running tool, whose answer comes later.
        """
        possible = [one for one in self.reading.outcomes if one.possible]
        is_later = self.call.is_long_running and all(one.value is None for one in possible)
        of_values = [one for one in self.reading.outcomes if not _is_of_the_reading(one)]
        raised = all(one.raises and not (one.by_chance and one.certain) for one in of_values)
        if is_later or raised or self._is_stub:
            return None
        ends = [(one, made) for one, made in self._ends if one.possible and not _is_of_the_reading(one)]
        well = [(one, made) for one, made in ends if one.certain or not (one.raises or is_error(made.value))]
        is_open = any(_is_bare(one.value) for one in possible if not one.raises)
        if is_open:  # what is returned where a call fails says nothing of the way on which it does not
            well = [one for one in well if not one[0].handled]
        left = well or ([] if is_open or not self.reading.complete else ends)
        if not left or left[0][0].certain:
            return left[0][1] if left else None
        first, *others = self._missing_first([made for _, made in left], [made for _, made in ends])
        unknown = {one.path for other in others for one in other.blanks}
        if is_open or not self.reading.followed:
            unknown.add(WHOLE)
        doubts = Doubts(unknown, self.known, {one.path for one in first.blanks})
        values = [one.value for one in others]
        errors = (made.value for one, made in ends if not (one.handled or one.raises))
        values += [_answered_no(value, first.value) for value in errors]
        return replace(first, blanks=(*first.blanks, *doubts.of(first.value, values)))

    def _missing_first(self, left: list[Try], ends: list[Try]) -> list[Try]:
        """Put the tool's own not-found answer first where the other would show nothing of a thing that only this session's tools make."""
        nothing = all(one.kind == "" and not one.drawn for one in left[0].blanks) and bool(left[0].blanks)
        if not nothing or not self._asks_for_unmade():
            return left
        missing = [
            one for one in ends if is_error(one.value) and self._is_about_gone(one.value) and not one.blanks
        ]
        return [*missing[:1], *left] if missing else left

    def _asks_for_unmade(self) -> bool:
        """Return whether a call reads a thing of a kind that some tool makes, and of which the session knows none."""
        if self.use != "reads":
            return False
        made = {one.kind for one in self.world.connections.produces if one.creates}
        named = {kind for kind, _ in self.world.named(self.tool, self.arguments)}
        return bool(named) and named <= made and not any(map(self.world.rows, named))

    @cached_property
    def _is_stub(self) -> bool:
        """Whether the tool's function has no body but its docstring."""
        code = self.call.code
        if code is None or any(one.line or one.raises for one in self.reading.outcomes):
            return False
        way = find(load(code).tree, code.name, code.line)
        body = getattr(way[-1], "body", ()) if way else ()
        return isinstance(body, list) and all(
            isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            for one in body
        )

    def declared(self) -> Try | None:
        """Return what the output schema asks for, unless it leaves open what the answer holds."""
        made = self.by_schema()
        return None if made is None or any(one.path == "$" for one in made.blanks) else made

    def described(self) -> Try | None:
        """Return the example that the tool's declaration shows, or its description."""
        call, properties = self.call, self.call.parameters.get("properties")
        names = [*properties] if isinstance(properties, dict) else []
        shown = example(call.examples[0], "", self.arguments) if call.examples else None
        if shown is None:
            shown = shown_answer(call.description, self.arguments, names)
        if shown is None:
            return None
        sketch = shape_of(shown) if self.rows is not None and not isinstance(shown, Hole) else shown
        made = self._sketched(sketch, "From the example in the tool's description")
        computes = any(one.possible and not one.raises for one in self.reading.outcomes)
        return self._of_another_call(made) if computes and not self._is_stub else made

    def _of_another_call(self, made: Try) -> Try:
        """Mark all that was said of another call, where the code works the response out: it is no more than what that may look like."""
        marked = {*self.arguments, *(one.path for one in made.blanks)}
        doubted = (one for one in _leaves(made.value, "$", "") if not {one.path, one.name} & marked)
        return replace(made, blanks=(*made.blanks, *doubted))

    def by_schema(self, style: Style = "usual", known: Mapping[str, JsonValue] | None = None) -> Try | None:
        """Make an answer by the tool's schema, with all that is known or else without; None where no value fits."""
        if self.plan is None or self._is_hopeless:
            return None
        all_known = self.known if known is None else layers(known, self.known)
        for fields, rows, now in ((all_known, self.rows, style), ({}, None, style), ({}, None, "least")):
            maker = Maker(self.plan)
            try:
                made = maker.value(self.plan.schema, "", replace(self._scope(now), known=fields, rows=rows))
            except NoValueError as error:
                self.hopeless = str(error)
                continue
            if self.fits(made):
                self.hopeless = ""
                made = self.agreeing(made, {one.path for one in maker.blanks}.__contains__)
                return self._told(Try(made, _BY_SCHEMA, tuple(maker.blanks), varies=maker.drew))
        self._is_hopeless = True
        return None

    def of_rows(self) -> Try | None:
        """Answer with the rows that the call asks for as they are: one where an id names it, else a list."""
        rows = self.rows
        if rows is None or self.plan is not None or not (rows.records or self._gives_list()):
            return None
        if len(rows.records) == 1 and any(map(is_identifier, rows.used)):
            row = rows.records[0]
            why = f"From the environment's data: {rows.kind} {row.key}"
            unsure = tuple(
                Blank(path=field_place(WHOLE, name), kind=kind_of(row.fields[name]), name=name, drawn=True)
                for name in self.world.found_beside(rows.kind, row.key)
                if name in row.fields
            )
            return self._marked(Try(dict(row.fields), why, unsure))
        listed: list[JsonValue] = [dict(row.fields) for row in rows.records]
        why = f"From the environment's data: {len(listed)} of {rows.total} rows"
        return self._marked(Try({collection_of(rows.kind): listed}, why))

    def in_shape(self) -> Try | None:
        """Answer in the shape of the tool's earlier or recorded responses."""
        before = [one.response for one in self._sources.recorded if one.tool_name == self.tool]
        before += [
            one.response
            for one in self.call.earlier
            if one.tool_name == self.tool and not (one.injected or one.is_guess)
        ]
        shape = next(
            (shape_of(one) for one in reversed(before) if one is not None and not is_error(one)), None
        )
        if shape is None:
            return None
        made = self._sketched(shape, "In the shape of this tool's earlier responses")
        return self._of_another_call(made) if any(one.possible for one, _ in self._ends) else made

    def skeleton(self) -> Try:
        """Answer with what is certain to be edited: what the connections of the tools tell of the answer, or one blank."""
        kinds = [
            one.value.kind for one in self.reading.outcomes if isinstance(one.value, Hole) and one.value.kind
        ]
        kind = kinds[0] if kinds and kinds[0] != "object" else ""
        if not kind and (connected := self._connected()):
            made = self._sketched(connected, _BY_CONNECTIONS)
            return replace(made, blanks=(*made.blanks, Blank(path=WHOLE)))
        made = self._sketched(Hole(kind, "result") if kind else {"result": Hole("string", "result")}, GUESS)
        return replace(made, blanks=made.blanks or (Blank(path="$"),), varies=False)

    def _connected(self) -> dict[str, Sketch]:
        """Return a new id for each thing that the tool makes; of one that it does not make, what the session knows of it."""
        if made := self.world.new_ids(self.tool):
            return {name: Hole("string", name) for name in made}
        known: dict[str, Any] = self.world.known(self.tool, self.arguments)
        return known if self._things else {}

    def effects_of_recorded(self, call: ObservedCall) -> ToolEffects:
        """Return what a recorded call did besides; where its recording does not tell that, what the tool's code does."""
        return self.effects_of(call.response) if call.effects is None else call.effects

    def effects_of(self, value: JsonValue) -> ToolEffects:
        """Return what the tool's code does for certain besides, on each way on which it may give an answer that was not made of it."""
        return self._effects([one for one in self._returns if fits(one.value, value)])

    @cached_property
    def _returns(self) -> list[Outcome]:
        """The ways in which the tool's code may return, with no times and ids of this draft."""
        return [one for one in self._read(self._earlier).outcomes if one.possible and not one.raises]

    def _effects(self, ends: Sequence[Outcome]) -> ToolEffects:
        """Return what some ways of the code do alike, and do before those part that were not followed."""
        if not ends:
            return NO_EFFECTS
        state, actions = ends[0].state, ends[0].actions
        for other in ends:
            sure = {key: one for key, one in other.state.items() if key not in other.unsure}
            state, actions = alike(state, sure), alike(actions, other.actions)
        return ToolEffects(state_delta=Filler(self.plan).known_of(state), actions={**actions})

    def with_effects(self, made: Try) -> Try:
        """Add to an answer that was not made of the tool's code what the code does besides on each of its ways, and say what else it writes."""
        ends = self._returns
        if not ends or self.call.is_long_running:
            return made
        effects = self._effects(ends)
        told = {
            key for one in ends for key in (*one.state, *one.unsure, *one.actions)
        } - effects.actions.keys()
        sure = told.intersection(*(one.state.keys() - one.unsure for one in ends))
        saves = frozenset(name for one in ends for name in one.saves)
        open_ends = Outcome(state=dict.fromkeys(told), unsure=frozenset(told - sure), saves=saves)
        return replace(made, why=made.why + _open_writes(open_ends, effects.state_delta), effects=effects)

    def _sketched(
        self, sketch: Sketch, why: str, *, holds: bool = False, outcome: Outcome = _NO_OUTCOME
    ) -> Try:
        """Fill a sketch, with what the session says of the things in it; bring it into the tool's schema where it does not fit, unless it holds.

        What the code does on the way to its `outcome` goes along, unless the session says something else of the answer.
        """
        role = self.world.role_of(self.tool, self.arguments)
        acts = role.use != "reads" and role.why != UNSURE
        filler = Filler(self.plan, of_code=outcome is not _NO_OUTCOME, acts=acts)
        heard = as_told if outcome is _NO_OUTCOME else self._heard
        said = settled(sketch, self.tool, self.arguments, self.world, heard)
        if outcome is not _NO_OUTCOME:
            said = self._unless_changed(said, sketch)
        value = filler.filled(said, self._scope("usual"))
        value = self.agreeing(value, {one.path for one in filler.blanks if not one.drawn}.__contains__)
        effects = NO_EFFECTS
        if said == sketch and (outcome.state or outcome.actions or outcome.unsure or outcome.saves):
            effects = ToolEffects(state_delta=filler.known_of(outcome.state), actions={**outcome.actions})
            why += _open_writes(outcome, effects.state_delta)
        made = self._told(Try(value, why, filler.blanks, varies=filler.drew, effects=effects))
        if holds or self.fits(value) or (outcome is not _NO_OUTCOME and self._names_no_field(value)):
            return made
        if isinstance(value, dict) and value.keys() == {"result"} and self.fits(value["result"]):
            inner = (
                one.model_copy(update={"path": one.path.replace("$.result", "$", 1)}) for one in filler.blanks
            )
            return replace(made, value=value["result"], blanks=tuple(inner))
        fitting = self.by_schema(known=value if isinstance(value, dict) else {})
        return (
            made
            if fitting is None
            else replace(fitting, why=f"{why}, adapted to the output schema", effects=effects)
        )

    def _scope(self, style: Style) -> ValueContext:
        scope = ValueContext(self.chance, self.known, self.arguments, self.rows, style, now=self.call.now)
        if self.use != "creates":
            return scope
        kind = self.world.role_of(self.tool, self.arguments).kind
        known = [*self.world.collections().get(collection_of(kind), ())]
        return replace(scope, made=len(self.call.earlier), makes=kind, like=known[-1] if known else "")

    def _told(self, made: Try) -> Try:
        """Say which things of the session an answer says something of, too, and what of them nobody said."""
        made = self._marked(made)
        used = [(kind, key) for kind, key in self._things if self._uses(made.value, kind, key)]
        named = [f"{kind.replace('_', ' ')} {key}" for kind, key in used]
        return (
            replace(made, why=f"{made.why}; uses {', '.join(named[:3])} of this session") if named else made
        )

    def _uses(self, value: JsonValue, kind: str, key: str) -> bool:
        """Return whether an answer has the id of a thing in it, or a value of one of its fields."""
        entity = self.world.entity(kind, key)
        return entity is not None and _says_of(value, "", key, entity.fields)

    def _marked(self, made: Try) -> Try:
        """Mark what an answer says of things of the session and nobody said of them."""
        marked = {one.path for one in made.blanks}
        unsure = doubted(made.value, self.tool, self.arguments, self.world)
        again = tuple(one for one in unsure if one.path not in marked)
        return replace(made, blanks=(*made.blanks, *again)) if again else made

    @cached_property
    def _things(self) -> list[tuple[str, str]]:
        named = self.world.named(self.tool, self.arguments)
        return [one for one in named if (found := self.world.entity(*one)) is not None and not found.gone]


def _world_of(call: DraftCall) -> World:
    """Return the world that follows from a call's earlier answers alone."""
    world = World()
    for place, answer in enumerate(call.earlier, start=1):
        world.take(replace(answer, fact=answer.fact or place))
    return world


def _leaves(value: JsonValue, path: str, name: str) -> Iterator[Blank]:
    """Yield the places of a value that say something of what it is about, as values that were drawn."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from () if is_envelope(key, inner) else _leaves(inner, field_place(path, key), key)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, item_place(path, place), name)
    else:
        yield Blank(path=path, kind=kind_of(value), name=name, drawn=True)


def _says_of(value: JsonValue, name: str, key: str, fields: Mapping[str, JsonValue]) -> bool:
    """Return whether a value under a name is a field of a thing, or holds one or the thing's id."""
    if value and same(value, fields.get(name)):
        return True
    if isinstance(value, dict):
        return any(_says_of(inner, each, key, fields) for each, inner in value.items())
    if isinstance(value, list):
        return any(_says_of(inner, name, key, fields) for inner in value)
    return isinstance(value, str) and bool(value) and (key in value or value in fields.values())


def _is_of_the_reading(one: Outcome) -> bool:
    """Return whether Python raises an exception about names, types or imports: it may as well come of how the code was read."""
    return one.by_chance and one.raises in _OF_THE_READING


def _answered_no(other: JsonValue, first: JsonValue) -> JsonValue:
    """Return what an error says of the fields of a success, such as `{"ok": false}`: all of it where it has no other fields or is a text, else the success with that."""
    if is_error(first) or not is_error(other):
        return first
    if not isinstance(first, dict) or not isinstance(other, dict):
        return other if type(first) is type(other) else first
    shared = {key: one for key, one in other.items() if key in first}
    return other if shared == other else {**first, **shared}


def _open_writes(outcome: Outcome, written: JsonObject) -> str:
    """Name what the code writes besides, or may write, and what it may write otherwise."""
    sentences = [
        (
            "its code also writes {} to the state: the values are unknown",
            outcome.state.keys() - written - outcome.unsure,
        ),
        ("its code may also write {}", outcome.unsure - written.keys()),
        ("its code may write {} otherwise, or not", outcome.unsure & written.keys()),
        ("its code may also save the artifact {}", outcome.saves),
    ]
    named = [(text, sorted(keys)) for text, keys in sentences if keys]
    more = [f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else "" for _, keys in named]
    return "".join(
        "; " + text.format(", ".join(keys[:_MOST_NAMED]) + rest)
        for (text, keys), rest in zip(named, more, strict=True)
    )


def _is_bare(sketch: Sketch) -> bool:
    """Return whether a sketch says no more than what type it is of."""
    return isinstance(sketch, Hole) and sketch == Hole(sketch.kind, sketch.name)


def _holes(sketch: object) -> bool:
    inside = sketch.values() if isinstance(sketch, dict) else sketch if isinstance(sketch, list) else ()
    return isinstance(sketch, Hole) or any(map(_holes, inside))


def _asks_for_value(schema: JsonValue) -> bool:
    """Return whether a schema names one type, and that is not null."""
    kind = schema.get("type") if isinstance(schema, dict) and not schema.get("nullable") else None
    return isinstance(kind, str) and kind.lower() != "null"


def recorded_answer(
    recorded: Sequence[ObservedCall],
    tool_name: str,
    arguments: JsonObject,
    earlier: Sequence[EarlierAnswer],
    fits: Callable[[JsonValue], bool],
) -> tuple[ObservedCall, bool] | None:
    """Return the call that was recorded with the same arguments, and whether its answer is a new one; None where none was.

    The same call asked again gets the next answer that was recorded for it; the last one once all were given.
    """
    calls = [one for one in recorded if one.tool_name == tool_name and same(one.arguments, arguments)]
    calls = [one for one in calls if fits(one.response)]
    given = [one for one in earlier if one.tool_name == tool_name and one.arguments == arguments]
    left = list(calls)
    for answer in given:
        used = next((one for one in left if same(one.response, answer.response)), None)
        if used is not None:
            left.remove(used)
    return (left[0], True) if left else (calls[-1], False) if calls else None
