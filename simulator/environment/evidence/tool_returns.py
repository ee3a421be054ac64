"""Reads from a tool's source what a call of it may return. Nothing of the tool is called, imported or evaluated."""

from __future__ import annotations

import ast
import decimal
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os.path import commonprefix
from threading import Lock
from typing import Any

from pydantic import JsonValue

from simulator.base.adk_names import TEMPORARY
from simulator.base.json_values import JsonObject, canonical, copied, digest
from simulator.environment.conventions import is_error
from simulator.environment.evidence.call_evaluation import call, call_function, kind_of_annotation
from simulator.environment.evidence.code_names import Reached, all_parameters, makers, names_of, reached_names
from simulator.environment.evidence.program_classes import is_none, kinds_of
from simulator.environment.evidence.program_run import (
    CHANGED,
    NO_CHANCES,
    REBOUND,
    Chances,
    ProgramRun,
    RunPlan,
    StepBudget,
    look_up,
    noted,
)
from simulator.environment.evidence.programs import (
    MOST_LETTERS,
    Heap,
    Program,
    UnreadableModuleError,
    find,
    load,
    seeded,
)
from simulator.environment.evidence.sketch import (
    CodeReading,
    EarlierCall,
    FunctionSource,
    Hole,
    Outcome,
    SeedTable,
    Sketch,
)
from simulator.environment.evidence.unknown_values import (
    Awaitable,
    Cached,
    Class,
    ClassInstance,
    Context,
    External,
    Func,
    NameScope,
    ProgramException,
    ThawError,
    TooMuchError,
    TouchedError,
    Unknown,
)
from simulator.environment.evidence.value_sketches import alike, fits, sketch_of

MOST_RUNS = 24
"""So many ways through a function are followed."""

STEPS = 20_000
"""So many steps all of them may take together."""

MOST_EARLIER = 24
"""So many calls of a session that changed the constants of a module are followed."""

MOST_LEFT = 4 * MOST_EARLIER
"""Of so many calls it is kept what they left."""

_SESSION, _STATE = " session", "state"
"""Under these names the modules hold the session's state as earlier calls left it, so that what stands in both stays one; no program can use them."""

_ACTIONS = ("escalate", "skip_summarization", "transfer_to_agent")
"""The actions of a tool that are told: plain values, which a person can set as well."""

_NOT_ASKED = object()
"""Stands for what was not worked out yet."""

_DECIMAL = decimal.Context()
"""How Python calculates with decimal numbers where nobody has changed it."""

_NO_MODELS = frozenset({"str", "int", "float", "bool", "list", "dict", "List", "Dict"})

_CONTEXTS = ("ToolContext", "Context", "CallbackContext", "ReadonlyContext", "InvocationContext")


def read_returns(
    code: FunctionSource,
    arguments: Mapping[str, JsonValue],
    *,
    state: JsonObject | None = None,
    earlier: Sequence[EarlierCall] = (),
    chances: Chances = NO_CHANCES,
    tables: Sequence[SeedTable] = (),
) -> CodeReading:
    """Return the ways in which a tool's function may end for some arguments.

    Args:
        code: Where the function is written.
        arguments: The arguments of the call.
        state: The state of the session; None where it is not known.
        earlier: The calls that were answered before in the session, oldest first: constants of the module stand as these left them.
        chances: What the code's clock says, and where ids that it draws come from.
        tables: The environment's data, which stands in the place of the modules' own tables of the same kinds.

    Returns:
        What the values decide comes first and is certain; then what may be, those that return before errors; then what the code would do for other
        values. Values that the code does not decide are holes.
    """
    with decimal.localcontext(_DECIMAL):  # another may be set where the agent's own code runs
        return _read(code, arguments, state, earlier, chances, tables)


def _read(
    code: FunctionSource,
    arguments: Mapping[str, JsonValue],
    state: JsonObject | None,
    earlier: Sequence[EarlierCall],
    chances: Chances,
    tables: Sequence[SeedTable],
) -> CodeReading:
    try:
        program = seeded(load(code), tables) if tables else load(code)
        way = find(program.tree, code.name, code.line)
        if not way:
            return CodeReading(problem=f"{code.module.path} has no function {code.name} at line {code.line}")
        heap = _settled(program, earlier, state)
        found = _reading(_Reader(code, way, arguments, state, chances).ends(heap, MOST_RUNS))
        return found if found.outcomes else replace(found, problem=_too_much(code))
    except UnreadableModuleError as error:
        return CodeReading(problem=str(error))
    except (TooMuchError, RecursionError, MemoryError):
        return CodeReading(problem=_too_much(code))


def _too_much(code: FunctionSource) -> str:
    return f"{code.module.path}: {code.name} is too complex to analyze"


class _End:
    """How a run ended.

    Args:
        outcome: What it gave.
        heap: The modules as it left them.
        run: The run.
        whole: Whether the other ways that branch off from it are followed too.
    """

    def __init__(self, outcome: Outcome, heap: Heap, run: ProgramRun, *, whole: bool) -> None:
        self.outcome = replace(outcome, saves=frozenset(run.saved), failures=run.failures)
        self.heap, self.whole = heap, whole
        self.possible = run.plan.turned < 0
        self.lost = run.unknown_now


class _Reader:
    """Follows the ways through a function; they share the modules as long as none changes them, if they may."""

    def __init__(
        self,
        code: FunctionSource,
        way: Sequence[ast.AST],
        arguments: Mapping[str, JsonValue],
        state: JsonObject | None,
        chances: Chances = NO_CHANCES,
    ) -> None:
        self._chances = chances
        self._code, self._way, self._arguments, self._state = code, way, arguments, state
        self._budget = StepBudget(STEPS)
        self._shares = True
        self._reached: Any = _NOT_ASKED
        self._context = Context(None, _no_actions(None))
        self._has_context = code.takes_mapping or any(map(_is_context, all_parameters(self._takes)))

    @property
    def _takes(self) -> ast.arguments:
        node: Any = self._way[-1]
        found: ast.arguments = node.args
        return found

    def ends(self, heap: Heap, most: int) -> list[_End]:
        """Return how the function may end, and at last how it would for other values."""
        plans, found, turned = deque([RunPlan()]), list[_End](), list[RunPlan]()
        while plans and len(found) < most:
            try:
                end, run = self._run(heap, plans.popleft())
            except TooMuchError:
                left = _forgotten(heap.copy(), self.reached(heap))
                found.append(_End(Outcome(Hole()), left, left.run(self._budget, RunPlan()), whole=False))
                continue
            found.append(end)
            plans.extend(run.forks)
            if run.plan.turned < 0:
                turned.extend(RunPlan(tuple(run.taken), place) for place in range(run.tests))
            if not plans and turned:
                plans.extend(turned[: most - len(found)])
                turned = []
        whole = all(one.whole for one in found if one.possible)
        if plans or not whole:
            begun = commonprefix([one.decided for one in plans])  # noqa: RUF071 - of decisions, and no paths
            shared = RunPlan(tuple(begun), stops=True)
            self._doubt([one for one in found if one.possible], heap, shared if whole else None)
        return found

    def _doubt(self, found: Sequence[_End], heap: Heap, shared: RunPlan | None) -> None:
        """Let nothing be sure of what some ways do besides but what is done before the first of those part that were not followed."""
        self._budget = StepBudget(STEPS)
        first = Outcome() if shared is None else self._run(heap, shared)[0].outcome
        for end in found:
            one = end.outcome
            state, actions = alike(one.state, first.state), alike(one.actions, first.actions)
            unsure = _differing(one.state, state) | _differing(one.actions, actions)
            end.outcome = replace(one, state=state, actions=actions, unsure=one.unsure | unsure)

    def reached(self, heap: Heap) -> Reached:
        """Return the names of the modules whose values a call can reach: what it has not left as it was is among them."""
        if self._reached is _NOT_ASKED:
            self._reached = self._reaching(heap)
        names: Reached = self._reached
        return names

    def _reaching(self, heap: Heap) -> Reached:
        top = heap.scopes[self._code.module.name]
        code: list[tuple[NameScope, ast.AST]] = [(top, self._way[1])]
        values = list[Any]()
        if self._code.receiver:
            found = list(_instances(heap, top.names.get(getattr(self._way[-2], "name", ""))))
            if len({id(one) for _, _, one in found}) != 1:
                return None
            code += [(scope, each) for scope, name, _ in found for each in makers(scope, name)]
            values.append(found[0][2])
        if self._has_context and _SESSION in heap.scopes:
            values.append(heap.scopes[_SESSION].names[_STATE])
        names = reached_names(heap.scopes, code, values, heap.run(StepBudget(MOST_LETTERS), RunPlan()).knows)
        return names if names is None or not self._has_context else names | {(_SESSION, _STATE)}

    def _run(self, heap: Heap, plan: RunPlan) -> tuple[_End, ProgramRun]:
        if self._shares and heap.shared:
            try:
                return self._once(heap, plan)
            except ThawError:
                self._shares = False
        own = heap.copy()
        if self._state is not None and _SESSION in own.scopes:
            _let_be_unknown(own, self._state)
        return self._once(own, plan)

    def _once(self, heap: Heap, plan: RunPlan) -> tuple[_End, ProgramRun]:
        run = heap.run(self._budget, plan)
        run.chances = self._chances
        run.reached = partial(self.reached, heap)
        session = heap.scopes.get(_SESSION)
        run.state = state = self._state_now() if session is None else session.names[_STATE]
        self._context = Context(state, _no_actions(state))
        before: Mapping[str, Any] = {} if session is None else self._written(run)
        try:
            function, scope = self._function(run, heap)
            given = self._given(run, function, scope)
            value = call(run, function, [], given, self._way[-1], scope)
            if isinstance(value, Awaitable):
                value = value.run()
            outcome = Outcome(
                sketch_of(run, value),
                tuple(run.when),
                run.certain,
                line=run.last_line,
                handled=run.handled,
            )
        except ProgramException as raised:
            raised.line = raised.line or getattr(self._way[-1], "lineno", 0)
            outcome = _of_raised(run, raised)
        except (TouchedError, TooMuchError) as error:
            if isinstance(error, TooMuchError) and not plan.stops:
                raise
            outcome, run.missed = Outcome(Hole(), tuple(run.when), certain=False), True
        if session is not None:
            session.names[_STATE] = self._context.state
        else:
            before = self._state or {}
        now = self._written(run)
        written = {
            key: one for key, one in now.items() if key not in before or repr(one) != repr(before[key])
        }
        unsure, varies = frozenset(run.unplaced - written.keys()), run.drew > 0
        outcome = replace(outcome, state=written, actions=self._acted(), unsure=unsure, varies=varies)
        return _End(outcome, heap, run, whole=not run.missed), run

    def _written(self, run: ProgramRun) -> Mapping[str, Sketch]:
        """Return what the state holds; where that is not known any more, holes for what was written, and nothing where the function cannot reach it."""
        state, delta = self._context.state, self._context.actions.fields.get("state_delta")
        if delta is not state and type(delta) is dict and type(state) is dict:
            state.update(delta)  # it was set as a whole
        if not self._has_context or type(state) is not dict:
            return {}
        if not run.holds(state):
            first = self._state or {}
            return {key: Hole(name=key) for key, value in state.items() if not _is_still(first, key, value)}
        budget, run.budget = run.budget, StepBudget(STEPS)
        try:
            return {key: sketch_of(run, value) for key, value in state.items() if type(key) is str}
        except TooMuchError:
            return {}
        finally:
            run.budget = budget

    def _acted(self) -> Mapping[str, JsonValue]:
        """Return the actions that are set for certain."""
        fields = self._context.actions.fields
        return {name: fields[name] for name in _ACTIONS if type(fields.get(name)) in {bool, str}}

    def _state_now(self) -> Any:
        return Unknown("object", "state") if self._state is None else copied(self._state)

    def _function(self, run: ProgramRun, heap: Heap) -> tuple[Any, NameScope]:
        """Return the function that is called, as its decorators leave it, and the scope in which it is."""
        top = heap.scopes[self._code.module.name]
        node = self._way[-1]
        around = [
            one
            for one in self._way[1:-1]
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        ]
        if not around and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found = top.names.get(node.name)
            if isinstance(found, Unknown) and isinstance(found.like, Func):
                run.certain = False
                found = found.like
            if isinstance(found, (Func, Cached)):
                return found, top
        if around and isinstance(around[-1], ast.ClassDef) and len(around) == 1:
            cls = top.names.get(around[-1].name)
            method = cls.scope.names.get(self._code.name) if isinstance(cls, Class) else None
            if isinstance(cls, Class) and isinstance(method, Func):
                receiver = _receiver(run, cls, heap) if self._code.receiver else None
                return Func(
                    method.node, method.scope, method.defaults, receiver, bound=self._code.receiver, cls=cls
                ), top
        return self._inner_function(run, top, around), top

    def _inner_function(self, run: ProgramRun, top: NameScope, around: Sequence[ast.AST]) -> Func:
        """Return a function that another function makes: what it holds of that one is known as far as it is given."""
        node: Any = self._way[-1]
        scope = top
        for one in around:
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
                scope = NameScope(
                    {name: Unknown(name=name) for name in names_of(one).local}, top.module, scope
                )
        scope.names.update(
            {} if scope is top else {name: copied(value) for name, value in self._code.held.items()}
        )
        run.certain = run.certain and not getattr(node, "decorator_list", ())
        defaults = {one.arg: Unknown(name=one.arg) for one in all_parameters(node.args)}
        defaults.update({name: copied(value) for name, value in self._code.held.items() if name in defaults})
        receiver = Unknown(name="self") if self._code.receiver else None
        return Func(node, scope, defaults, receiver, bound=self._code.receiver)

    def _given(self, run: ProgramRun, function: Any, scope: NameScope) -> dict[str, Any]:
        """Return what ADK gives to the function: the arguments that it takes, and the context."""
        takes = self._takes
        given: dict[str, Any] = {}
        plain = function.function if isinstance(function, Cached) else function
        for place, one in enumerate([*takes.posonlyargs, *takes.args, *takes.kwonlyargs]):
            if place == 0 and self._code.receiver:
                continue
            if _is_context(one):
                given[one.arg] = self._context
            elif self._code.takes_mapping and one.arg == "args":
                given[one.arg] = copied(dict(self._arguments))
            elif one.arg in self._arguments:
                given[one.arg] = _converted(run, one.annotation, copied(self._arguments[one.arg]), scope)
            elif one.arg in self._code.held:
                given[one.arg] = copied(self._code.held[one.arg])
            elif one.arg not in plain.defaults:
                given[one.arg] = Unknown(kind_of_annotation(one.annotation), one.arg)
        if takes.kwarg is not None and self._code.takes_mapping:
            own = {"args": copied(dict(self._arguments)), "tool_context": self._context}
            given.update({name: value for name, value in own.items() if name not in given})
        elif takes.kwarg is not None:
            given.update(
                {name: copied(value) for name, value in self._arguments.items() if name not in given}
            )
        return given


def _is_still(state: JsonObject, key: Any, value: Any) -> bool:
    """Return whether a value of the state is the one that it was; it may have something unknown inside."""
    try:
        return type(key) is not str or (key in state and bool(state[key] == value))
    except TouchedError:
        return False


def _no_actions(state: Any) -> ClassInstance:
    """Return the `EventActions` of a call, of which nothing is set and nothing else is known; what is written into its `state_delta` stands in the state."""
    fields = {"state_delta": state}
    return ClassInstance(Class("EventActions", "plain", {}, NameScope({}, "")), fields, whole=False)


def _is_context(parameter: ast.arg) -> bool:
    if parameter.arg == "tool_context":
        return True
    text = "" if parameter.annotation is None else ast.unparse(parameter.annotation).strip("'\"")
    return text.partition(" |")[0].removeprefix("Optional[").rstrip("]").rpartition(".")[2] in _CONTEXTS


def _converted(run: ProgramRun, annotation: ast.expr | None, value: Any, scope: NameScope) -> Any:
    """Return what ADK makes of an argument: an object where its annotation is a model, a whole number where it is `int`."""
    try:
        members = [one for one in kinds_of(annotation) if not is_none(one)]
    except TouchedError:
        return value
    if annotation is None or not members or value is None:
        return value
    target = members[0] if len(members) == 1 else annotation
    classes = [look_up(scope, one.id) if isinstance(one, ast.Name) else None for one in members]
    if len(members) > 1 and all(isinstance(one, Class) and one.kind == "model" for one in classes):
        return _as_one_of(run, classes, value, target, scope) if type(value) is dict else value
    if len(members) > 1 and any(ast.unparse(one).partition("[")[0] in _NO_MODELS for one in members):
        return value  # ADK makes no object of such a union
    text = ast.unparse(target)
    if text == "int":
        return int(value) if type(value) is float and value.is_integer() else value
    if text in {"list[int]", "List[int]"} and type(value) is list:
        return [int(one) if type(one) is float and one.is_integer() else one for one in value]
    match target:
        case ast.Subscript(value=ast.Name(id="list" | "List"), slice=ast.Name(id=name)) if (
            type(value) is list
        ):
            return [_as_model(run, look_up(scope, name), one, target, scope) for one in value]
        case ast.Name(id=name):
            return _as_model(run, look_up(scope, name), value, target, scope)
    named = [look_up(scope, one.id) for one in ast.walk(target) if isinstance(one, ast.Name)]
    if any(
        isinstance(one, Unknown) or (isinstance(one, Class) and one.kind in {"model", "other"})
        for one in named
    ):
        return _not_known(run, target, value)
    return value


def _as_one_of(run: ProgramRun, classes: Sequence[Any], value: Any, node: ast.AST, scope: NameScope) -> Any:
    """Return the object of the only model of a union that takes a value; the value where none does, as ADK leaves it."""
    certain, made = run.certain, list[Any]()
    for cls in classes:
        run.certain = True
        try:
            made.append(call(run, cls, [], value, node, scope))
        except ProgramException:
            continue
        if not run.certain:
            return _not_known(run, node, value)
    run.certain = certain
    return made[0] if len(made) == 1 else _not_known(run, node, value) if made else value


def _as_model(run: ProgramRun, cls: Any, value: Any, node: ast.AST, scope: NameScope) -> Any:
    if isinstance(cls, Class) and cls.kind == "model" and type(value) is dict:
        try:
            return call(run, cls, [], value, node, scope)
        except ProgramException:
            return value
    if isinstance(cls, Class) and cls.kind == "other":
        return _not_known(run, node, value)
    is_open = isinstance(cls, Unknown) and type(value) in {dict, list}
    return _not_known(run, node, value) if is_open else value


def _not_known(run: ProgramRun, node: ast.AST, value: Any) -> Unknown:
    run.certain = False
    return Unknown(name=ast.unparse(node), like=value)


def _instances(heap: Heap, cls: Any) -> Iterator[tuple[NameScope, str, ClassInstance]]:
    """Yield the objects of a class that the modules hold, with their places."""
    for scope in heap.scopes.values():
        for name, one in scope.names.items():
            if isinstance(one, ClassInstance) and one.cls is cls:
                yield scope, name, one


def _receiver(run: ProgramRun, cls: Class, heap: Heap) -> ClassInstance:
    """Return the object whose method is the tool: the only one of its class that the modules hold, or one made of nothing known."""
    found = {id(one): one for _, _, one in _instances(heap, cls)}
    if len(found) == 1:
        return next(iter(found.values()))
    run.certain = False
    begin = cls.scope.names.get("__init__")
    made = ClassInstance(cls, {}, whole=False)
    if isinstance(begin, Func):
        names = [one.arg for one in all_parameters(begin.node.args)][1:]
        given = {name: Unknown(name=name) for name in names if name not in begin.defaults}
        try:
            with run.without_forks():
                call_function(
                    run,
                    Func(begin.node, begin.scope, begin.defaults, made, bound=True),
                    [],
                    given,
                    begin.node,
                )
        except (ProgramException, TouchedError):
            made.fields.clear()
        made.fields.update(
            {name: Unknown(name=f"self.{name}", like=value) for name, value in made.fields.items()}
        )
    return made


def _of_raised(run: ProgramRun, raised: ProgramException) -> Outcome:
    cls = raised.cls
    name = "Exception" if cls is None else cls.name if isinstance(cls, Class) else cls.__name__
    certain = run.certain and cls is not None
    message = sketch_of(run, raised.text())
    return Outcome(None, tuple(run.when), certain, name, message, raised.line, by_chance=not raised.written)


def _reading(ends: Sequence[_End]) -> CodeReading:
    """Return the outcomes in the order in which they are of use, each once."""
    whole = all(one.whole for one in ends) and len(ends) < MOST_RUNS
    found: dict[str, Outcome] = {}
    ordered = sorted(
        ends,
        key=lambda one: (
            not one.possible,
            bool(one.outcome.raises),
            _is_blank(one.outcome) or bool(one.outcome.handled and one.outcome.failures),
            _failed(one.outcome),
        ),
    )
    for end in ordered:
        outcome = replace(end.outcome, possible=end.possible)
        if not end.possible and (outcome.line == 0 or _is_blank(outcome) or outcome.by_chance):
            continue
        known = found.setdefault(_told(outcome), outcome)
        if known is not outcome and known.possible is end.possible:
            differing = _differing(known.state, outcome.state) | _differing(known.actions, outcome.actions)
            actions = alike(known.actions, outcome.actions)
            unsure, saves = known.unsure | outcome.unsure | differing, known.saves | outcome.saves
            kept = min(known, outcome, key=lambda one: one.failures)
            found[_told(known)] = replace(kept, actions=actions, unsure=unsure, saves=saves)
    outcomes = tuple(one for one in found.values() if not (_is_blank(one) and not one.line))
    possible = [one for one in ends if one.possible]
    followed = all(one.whole for one in possible) and len(possible) < MOST_RUNS
    return CodeReading(outcomes, whole and len(outcomes) == len(found), followed=followed)


def _told(outcome: Outcome) -> str:
    """Return what the agent is told by an outcome: ways that tell it the same are one."""
    return repr((outcome.value, outcome.raises, outcome.message))


def _differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> frozenset[str]:
    return frozenset((first.keys() | second.keys()) - alike(first, second).keys())


def _is_blank(outcome: Outcome) -> bool:
    return isinstance(outcome.value, Hole) and not outcome.raises and not outcome.value.parts


def _failed(outcome: Outcome) -> bool:
    """Return whether an outcome that returns says that something failed."""
    value: Any = outcome.value  # holes in it count as something that is there
    return is_error(value)


# --- what earlier calls left


def _settled(program: Program, earlier: Sequence[EarlierCall], state: JsonObject | None) -> Heap:
    """Return the modules, and the session's state, as the calls of the session left them."""
    followed = [one for one in earlier if _may_change(program, one)]
    return _left_by(program, followed, state) if followed else program.heap


def _at_first(program: Program, state: JsonObject | None, forgot: Sequence[EarlierCall]) -> Heap:
    heap = program.heap.copy()
    if state is not None:
        heap.scopes[_SESSION] = NameScope({_STATE: copied(state)}, _SESSION)
    for code in {_place(one.code): one.code for one in forgot}.values():
        way = find(program.tree, code.name, code.line)
        heap = _forgotten(heap, _Reader(code, way, {}, None).reached(heap)) if way else heap
    return heap


def _place(code: FunctionSource) -> tuple[str, str, int]:
    return code.module.name, code.name, code.line


_left: OrderedDict[str, tuple[Program, Heap]] = OrderedDict()
"""What the calls of a session have left, by their digest. One draft after the other follows the same calls, and the last one alone is new."""
_left_lock = Lock()


def _left_by(program: Program, followed: Sequence[EarlierCall], state: JsonObject | None) -> Heap:
    """Return the modules as calls left them, from the longest beginning that was followed before; they are shared, so change a copy."""
    calls, forgot = followed[-MOST_EARLIER:], followed[:-MOST_EARLIER]
    told = {key for one in calls for key in one.state_delta}
    begun = None if state is None else {key: value for key, value in state.items() if key not in told}
    digests = [digest(canonical([begun, sorted({_place(one.code) for one in forgot})]))]
    for one in calls:
        where = [one.code.module.name, one.code.name, one.code.line, one.code.receiver, dict(one.code.held)]
        digests.append(
            digest(digests[-1], canonical([where, dict(one.arguments), one.response, dict(one.state_delta)]))
        )
    for done in range(len(calls), 0, -1):
        known = _left.get(digests[done])
        if known is not None and known[0] is program:
            heap = known[1]
            break
    else:
        done, heap = 0, _at_first(program, begun, forgot)
    for number, one in enumerate(calls[done:], start=done + 1):
        way = find(program.tree, one.code.name, one.code.line)
        if way:
            state = heap.scopes[_SESSION].names[_STATE] if one.state_delta and begun is not None else None
            state = state if type(state) is dict and id(state) not in heap.lost else None
            reader = _Reader(one.code, way, one.arguments, None)
            heap = _after(heap, reader.ends(heap, MOST_RUNS), one.response, reader)
            if state is not None:  # what the call wrote is told, whatever its code says
                heap = heap.copy()
                heap.scopes[_SESSION].names[_STATE] = {**state, **copied(dict(one.state_delta))}
        with _left_lock:
            _left[digests[number]] = program, heap
            while len(_left) > MOST_LEFT:
                _left.popitem(last=False)
    return heap


def _let_be_unknown(heap: Heap, state: JsonObject) -> None:
    """Let nothing be known of what the state holds already and earlier calls change: whether they have done so by now is not told.

    What lasts one invocation only is there as long as the state has it.
    """
    left = heap.scopes[_SESSION].names[_STATE]
    if type(left) is dict:
        for key in [one for one in left if str(one).startswith(TEMPORARY) and one not in state]:
            del left[key]
        for key, value in state.items():
            if key not in left or not _same(heap, left[key], heap, value):
                left[key] = Unknown(name=key, like=copied(value))


def _may_change(program: Program, one: EarlierCall) -> bool:
    top = program.heap.scopes.get(one.code.module.name)
    if top is None:
        return False
    return bool(top.names.get(CHANGED) or top.names.get(REBOUND)) or ".state" in one.code.module.text


def _after(before: Heap, ends: Sequence[_End], response: JsonValue, reader: _Reader) -> Heap:
    """Return the modules as the call left them that was answered so; where that is not one way, what differs is not known."""
    raised = [one for one in ends if one.possible and _raises(one.outcome, response)]
    possible = [one for one in ends if one.possible and not one.outcome.raises]
    supposed = [
        one for one in ends if not (one.possible or one.outcome.raises or isinstance(one.outcome.value, Hole))
    ]
    fitting = raised or [one for one in possible if fits(one.outcome.value, response)]
    fitting = fitting or [one for one in supposed if fits(one.outcome.value, response)]
    failed = is_error(response)
    left = fitting or [one for one in possible if _failed(one.outcome) is failed]
    if not left:
        return before if failed else _forgotten(before.copy(), reader.reached(before))
    first, *others = left
    for one in left:
        one.heap.lost = one.lost
    # An answer that the code does not give was given by somebody else: what the code changes there may not have changed at all.
    joined = _joined(first.heap, [*(one.heap for one in others), *(() if fitting else (before,))])
    session = joined.scopes.get(_SESSION)
    heaps = [one.heap for one in others] if fitting else [before]
    if session is not None and not all(
        _same(joined, session.names[_STATE], each, each.scopes[_SESSION].names[_STATE]) for each in heaps
    ):
        # Several ways leave several states; and one that answered otherwise has left another one than was told.
        session.names[_STATE] = Unknown("object", _STATE)
    return joined


def _raises(outcome: Outcome, response: JsonValue) -> bool:
    """Return whether a response says what an outcome raises, in ADK's form of an error."""
    if not outcome.raises or not isinstance(response, dict) or response.get("error_code") != outcome.raises:
        return False
    return fits(outcome.message or "", response.get("error_message"))


def _joined(heap: Heap, others: Sequence[Heap]) -> Heap:
    for name, scope in heap.scopes.items():
        for known in scope.names.get(CHANGED, set()) | scope.names.get(REBOUND, set()):
            theirs = [(other, other.scopes[name].names.get(known)) for other in others]
            mine = scope.names.get(known)
            agreed = _agreed(heap, known, mine, theirs)
            if agreed is not mine:
                scope.names[known] = agreed
    return heap


def _agreed(heap: Heap, name: str, mine: Any, theirs: Sequence[tuple[Heap, Any]]) -> Any:
    """Return a value where it is the same on all ways; of a table only what differs is not known."""
    if all(_same(heap, mine, other, value) for other, value in theirs):
        return mine
    is_table = type(mine) is dict and id(mine) not in heap.lost
    if is_table and all(
        type(value) is dict and id(value) not in other.lost and mine.keys() == value.keys()
        for other, value in theirs
    ):
        for key in mine:
            mine[key] = _agreed(heap, str(key), mine[key], [(other, value[key]) for other, value in theirs])
        return mine
    return Unknown(name=name, like=mine)


def _same(heap: Heap, mine: Any, other: Heap, theirs: Any) -> bool:
    if isinstance(mine, Func) and isinstance(theirs, Func):
        return mine.node is theirs.node
    if isinstance(mine, External) and isinstance(theirs, External):
        return mine.path == theirs.path
    if isinstance(mine, Class) and isinstance(theirs, Class):
        first_names, second_names = mine.scope.names, theirs.scope.names
        return first_names.keys() == second_names.keys() and all(
            value is second_names[name] or _same(heap, value, other, second_names[name])
            for name, value in first_names.items()
        )
    budget = StepBudget(STEPS)
    first, second = heap.run(budget, RunPlan()), other.run(budget, RunPlan())
    return first.knows(mine) and second.knows(theirs) and type(mine) is type(theirs) and bool(mine == theirs)


def _forgotten(heap: Heap, reached: Reached) -> Heap:
    if _SESSION in heap.scopes and (reached is None or (_SESSION, _STATE) in reached):
        heap.scopes[_SESSION].names[_STATE] = Unknown("object", _STATE)
    for scope in heap.scopes.values():
        for known in [*noted(scope, CHANGED, reached), *noted(scope, REBOUND, reached)]:
            if known in scope.names and not isinstance(scope.names[known], (Func, Class)):
                scope.names[known] = Unknown(name=known, like=scope.names[known])
    return heap
