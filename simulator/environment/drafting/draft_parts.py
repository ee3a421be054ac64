"""Makes answers to one call: refusals, what tables say, and what is made up, each in the shape that the tool answers in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from pydantic import JsonValue

from simulator.environment.conventions.answers import done_state, is_creation, is_read
from simulator.environment.conventions.chance import Chance
from simulator.environment.conventions.kinds import is_own_key
from simulator.environment.conventions.names import is_identifier, spelled, words_of
from simulator.environment.drafting.attempt import Try
from simulator.environment.drafting.coherence import coherent
from simulator.environment.drafting.docstrings import returned_example, shown_example
from simulator.environment.drafting.echoes import Echo
from simulator.environment.drafting.error_answers import Trouble, error_answers, told_troubles
from simulator.environment.drafting.guesses import Guesses, may_hold
from simulator.environment.drafting.instances import NoValueError, instance
from simulator.environment.drafting.knowledge import Knowledge
from simulator.environment.drafting.ledgers import remaining
from simulator.environment.drafting.new_ids import new_id
from simulator.environment.drafting.plain_values import (
    is_plain,
    is_telling,
    name_of,
    said_plainly,
    told_plainly,
)
from simulator.environment.drafting.records import Layers, Record
from simulator.environment.drafting.refusals import makes_something, refusal
from simulator.environment.drafting.rows import Rows, found_rows
from simulator.environment.drafting.scalars import Style
from simulator.environment.drafting.shapes import filled_shape, plain_answer
from simulator.environment.drafting.sold_lines import SoldLines
from simulator.environment.drafting.sorting import in_order, is_ordered
from simulator.environment.schema.inferred import inferred_schema
from simulator.environment.schema.open_shapes import is_open, leaves_open
from simulator.environment.schema.schema_plans import Plan, is_error_branch, plan_for, plan_of
from simulator.environment.schema.schemas import BrokenSchemaError, Problem, check
from simulator.jsonvalue import JsonObject

_NOT_FOUND = 404
_BY_SCHEMA = "made up by the tool's output schema"
_ASKING = ("is", "has", "can")
_STATES = ("status", "state")


class Parts:
    """One call, its tool, and all that is known; what several ways to answer need is worked out once."""

    def __init__(
        self,
        *,
        tool_name: str,
        description: str,
        arguments: JsonObject,
        schema: JsonObject | None,
        knowledge: Knowledge,
        chance: Chance,
        defaults: Mapping[str, JsonValue] | None = None,
    ) -> None:
        self.tool_name = tool_name
        self.description = description
        self.arguments = arguments
        self.schema = schema
        self.knowledge = knowledge
        self.chance = chance
        self.defaults = defaults or {}
        self.hopeless = ""
        """Why no value was found that fits the tool's schema, where none was."""

    @cached_property
    def plan(self) -> Plan | None:
        """The plan of the tool's schema; None where it has none, or one that cannot be read."""
        try:
            return None if self.schema is None else plan_for(self.schema)
        except BrokenSchemaError:
            return None

    @cached_property
    def told(self) -> Mapping[str, JsonValue]:
        """What is known of the things that the call names."""
        return self.knowledge.fields(self.tool_name, self.arguments)

    @cached_property
    def rows(self) -> Rows | None:
        """The rows of a table that the call asks for."""
        knowledge = self.knowledge
        if not knowledge.tables or not is_read(self.tool_name):
            return None
        return found_rows(self.tool_name, self.arguments, knowledge.tables, knowledge.complete)

    @cached_property
    def known(self) -> Mapping[str, JsonValue]:
        """What a field of the answer may take over, by its name: what is known, and above it the arguments."""
        fields = {**self._agreed, **told_plainly(self.knowledge.earlier, self.arguments), **self.told}
        rows = self.rows
        single = rows.records[0] if rows is not None and len(rows.records) == 1 and rows.used else None
        if single is not None:
            fields = {**fields, **single.fields}
        if rows is not None:
            fields |= {"total_count": rows.total, "total_results": rows.total, "total_items": rows.total}
        fields |= remaining(self.tool_name, self.arguments, fields, self.knowledge.earlier)
        if not is_read(self.tool_name):
            state = done_state(self.tool_name)
            fields = {name: value for name, value in fields.items() if name not in _STATES or state is None}
            fields |= dict.fromkeys(_STATES, state) if state else {}
            if is_creation(self.tool_name):
                fields = {name: value for name, value in fields.items() if name not in _STATES}
        kind = (
            single.kind
            if single is not None
            else next(map(_kind_of, filter(is_identifier, self.arguments)), "")
        )
        fields = fields if is_read(self.tool_name) else {**fields, **self.defaults}
        return Layers(self.arguments, Record(fields, kind, single.key if single is not None else ""))

    @cached_property
    def _agreed(self) -> dict[str, JsonValue]:
        """The ids of other things in which all rows agree: the customer of a list of orders."""
        rows = self.rows
        if rows is None or not rows.records:
            return {}
        first, *others = rows.records
        return {
            name: value
            for name, value in first.fields.items()
            if is_identifier(name)
            and str(value) != first.key
            and all(one.fields.get(name) == value for one in others)
        }

    @cached_property
    def _unit_price(self) -> float | None:
        """What one of the article costs of which the call names a quantity; None where it names none, or no price is known."""
        if is_read(self.tool_name):
            return None
        said = (value for value in self.arguments.values() if isinstance(value, str) and value)
        return next((price for price in map(self.knowledge.price, said) if price is not None), None)

    @cached_property
    def ids(self) -> dict[str, JsonValue]:
        """The ids of what the call makes, by the names of their fields."""
        if not makes_something(self.tool_name):
            return {}
        names = [name for name in self._id_fields() if name not in self.arguments]
        nouns = set(words_of(self.tool_name))
        own = [name for name in names if set(words_of(name)[:-1]) & nouns or name == "id"] or names[:1]
        return {name: new_id(name, self.knowledge.ids(name), self.chance) for name in own if name in names}

    def _id_fields(self) -> list[str]:
        if self.plan is None:
            noun = "_".join(words_of(self.tool_name)[1:])
            return [f"{noun}_id"] if noun else []
        for plain in self.plan.alternatives(self.plan.schema):
            properties = plain.get("properties")
            if isinstance(properties, dict) and not is_error_branch(plain):
                inner = [one.get("properties") for one in properties.values() if isinstance(one, dict)]
                nested = [name for fields in inner if isinstance(fields, dict) for name in fields]
                return [name for name in (*properties, *nested) if is_identifier(name)]
        return []

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """Say what is wrong with an answer by the tool's schema."""
        if self.schema is None:
            return ()
        return check(value, self.schema) if self.plan is None else self.plan.problems(value)

    def fits(self, value: JsonValue) -> bool:
        """Tell whether the tool may give an answer."""
        return not self.problems(value)

    def error(self, trouble: Trouble) -> JsonObject | None:
        """Give an error as this tool says it; None where its schema has no room for one."""
        found = error_answers(
            trouble,
            plan=self.plan,
            description=self.description,
            earlier=self.knowledge.earlier,
            tool_name=self.tool_name,
            arguments=self.arguments,
            chance=self.chance,
        )
        return found[0] if found else None

    @property
    def is_gone(self) -> bool:
        """Whether the call names a thing that is known not to exist."""
        return self.knowledge.missing(self.tool_name, self.arguments) is not None

    def refused(self) -> Try | None:
        """Answer that a thing does not exist, or that its state forbids what is asked; None where nothing is known."""
        gone = self.knowledge.missing(self.tool_name, self.arguments)
        if gone is not None:
            return self._not_found(gone)
        trouble = refusal(self.tool_name, self.arguments, self.told, self.knowledge)
        if trouble is None or not self._says_errors():
            return self._no_row()
        answer = self.error(trouble)
        return None if answer is None else Try(answer, f"by what is known of it: {trouble.message}")

    def _not_found(self, gone: JsonObject) -> Try | None:
        why = "what the call names does not exist"
        if self.plan is None or self.fits(gone):
            return Try(gone, why)
        answer = self.error(Trouble(code=_NOT_FOUND, message=_message_of(gone)))
        return None if answer is None else Try(answer, why)

    def _no_row(self) -> Try | None:
        """Answer that a complete table has no such row, where the tool gives one thing and no list."""
        rows = self.rows
        if rows is None or rows.records or not rows.used or not self._says_errors():
            return None
        if self._gives_list() and not rows.nobody:
            return None
        kind = (rows.nobody or rows.kind).replace("_", " ")
        said = ", ".join(f"{name} {self.arguments[name]!r}" for name in rows.used)
        answer = self.error(Trouble(code=_NOT_FOUND, message=f"No {kind} with {said} was found."))
        return None if answer is None else Try(answer, f"the table of {kind} has no such row")

    def _says_errors(self) -> bool:
        """Tell whether the tool is known to answer with errors."""
        if self.plan is not None and any(map(is_error_branch, self.plan.alternatives(self.plan.schema))):
            return True
        return bool(told_troubles(self.description)) or self.plan is None

    def _gives_list(self) -> bool:
        if self.plan is None:
            return words_of(self.tool_name)[:1] in {
                ("search",),
                ("list",),
                ("query",),
            } or self.tool_name.endswith("s")
        for plain in self.plan.alternatives(self.plan.schema):
            properties = plain.get("properties")
            if plain.get("type") == "array":
                return True
            for one in (
                properties.values() if isinstance(properties, dict) and not is_error_branch(plain) else ()
            ):
                if isinstance(one, dict) and one.get("type") == "array":
                    return True
        return False

    def of_rows(self) -> Try | None:
        """Answer with the rows of a table, or the fields of a thing, in the tool's shape; None where there are none."""
        rows = self.rows
        if rows is None or not (rows.records or self._gives_list()):
            return None
        made = self._shaped("usual")
        if made is None:
            return None
        keys = [row.key for row in rows.records if row.key]
        named = f"row{'s' * (len(keys) > 1)} {', '.join(keys[:3])}{' and others' if len(keys) > 3 else ''}"  # noqa: PLR2004 - a few will do
        return Try(made.value, f"from the table of {spelled(rows.kind)}: {named if keys else 'no row fits'}")

    def made_up(self) -> Try:
        """Make an answer up, in the shape that the tool answers in."""
        made = self._shaped("usual")
        if made is None:
            return Try({"status": "success"}, "the tool's schema cannot be read, or no value fits it")
        known = [name for name in self.told if name not in self.arguments]
        why = f"{made.why}, with what is known of what the call names"
        return Try(made.value, why, made.is_guess) if known else made

    def styled(self, style: Style) -> JsonValue:
        """Make an answer as empty or as full as the tool's schema allows; None where no value fits."""
        made = self._shaped(style)
        return None if made is None else made.value

    @cached_property
    def guesses(self) -> Guesses:
        """What may be said of the shape of the answer where the tool's schema says little."""
        return Guesses(
            self.tool_name, self.description, self.arguments, self.knowledge, self.rows, self.chance
        )

    def _shaped(self, style: Style) -> Try | None:
        if self.schema is not None and self.plan is None:
            return None
        if self.plan is None or may_hold(self.plan.schema):
            return self._of_little(style)
        if is_plain(self.plan):
            return self._plain(self.plan, style)
        return self._of_schema(self.plan, style)

    def _of_schema(self, plan: Plan, style: Style) -> Try | None:
        """Make an answer by the tool's schema, in which parts may be left open."""
        if is_open(plan.schema) and self.guesses.is_map(plan.schema):
            found = self._of_plan(plan, style, words_of(self.tool_name)[-1])
            return None if found is None else Try(found, _BY_SCHEMA, is_guess=True)
        found = self._of_plan(plan_of(self.guesses.filled(plan.schema)) if plan.leaves_open else plan, style)
        if found is None:
            return None
        if not leaves_open(plan.schema):
            return Try(found, _BY_SCHEMA)
        record = self.guesses.record
        return Try(found, record.why, record.source == "names" and self.rows is None)

    def _plain(self, plan: Plan, style: Style) -> Try | None:
        """Make an answer that is one plain value, or a list of them."""
        said = said_plainly(self, plan) if style == "usual" else None
        if said is not None:
            return said
        found = self._of_plan(plan, style, name_of(self, plan))
        return None if found is None else Try(found, _BY_SCHEMA, not is_telling(self))

    def _of_little(self, style: Style) -> Try | None:
        """Make an answer of a tool whose schema says nothing: by its description, its earlier answers, or its name."""
        guesses = self.guesses
        if shown_example(self.description) and style == "usual":
            shown = returned_example(self.description, self.chance)
            echo = Echo(self.arguments, {**self.known, **self.ids}, self.tool_name)
            made = filled_shape(shown, echo, self.rows)
            if self.fits(made):
                return Try(made, guesses.record.why)
        schema = guesses.told or (inferred_schema(guesses.before, closed=False) if guesses.before else None)
        found = None if schema is None else self._of_plan(plan_of(guesses.filled(schema)), style)
        if found is not None and self.fits(found):
            return Try(found, guesses.record.why)
        return (
            Try(self._by_name(), "made up by the tool's name", self.rows is None)
            if style == "usual"
            else None
        )

    def _by_name(self) -> JsonValue:
        """Make the answer of a tool of which only the name tells anything."""
        kind = self.guesses.kind
        is_told = any(is_own_key(name, kind) for name in self.arguments) and bool(self.told)
        reads = is_read(self.tool_name) and words_of(self.tool_name)[0] not in _ASKING
        if reads and kind and self.rows is None and not is_told:
            found = self._of_plan(plan_of(self.guesses.listed()), "usual")
            if found is not None:
                return found
        fields = {
            name: value
            for name, value in {**self.known, **self.ids}.items()
            if is_read(self.tool_name) or name not in _STATES or name in self.told
        }
        return plain_answer(self.tool_name, self.arguments, fields, self.chance, self.rows)

    def _of_plan(self, plan: Plan, style: Style, name: str = "") -> JsonValue:
        """Make what fits a schema best: with all that is known, or else without it; None where no value is found."""
        last: JsonValue = None
        self.hopeless = ""
        for known, now in ((self.known, style), ({}, style), ({}, "least")):
            own = self.arguments if known else {}
            try:
                made = instance(
                    plan.schema,
                    self.chance,
                    known,
                    name,
                    arguments=own,
                    tool_name=self.tool_name,
                    currency=self.knowledge.currency,
                    style=now,
                    rows=self.rows if known else None,
                    knowledge=self.knowledge,
                    ids=self.ids,
                )
            except NoValueError as error:
                self.hopeless = str(error)
                continue
            for one in self._agreeing(made, known, style):
                if not plan.problems(one):
                    return one
            last = made
        return last

    def _agreeing(self, made: JsonValue, known: Mapping[str, JsonValue], style: Style) -> Iterator[JsonValue]:
        """Make the fields of an answer agree with each other, and with what the tables tell; what was made comes last."""
        by = is_ordered(self.description, self.arguments)
        lines = SoldLines(self.knowledge, known, self.chance)
        is_usual = style == "usual"
        settled = lines.settled(made) if is_usual and is_read(self.tool_name) else made
        for one in (settled, made) if settled != made else (made,):
            agreeing = coherent(one, known, self.chance, self._unit_price, lines.told) if is_usual else one
            yield agreeing if by is None else in_order(agreeing, by)
        yield made


def _kind_of(name: str) -> str:
    return spelled(name).removesuffix("_id")


def _message_of(gone: JsonObject) -> str:
    said = (gone.get(name) for name in ("error_message", "errorMessage", "message", "error", "detail"))
    return next((one for one in said if isinstance(one, str)), "Not found.")
