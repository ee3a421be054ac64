"""Evaluates the calls of a program that is read: of its own functions and classes, and of Python's."""

from __future__ import annotations

import ast
import enum
import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from inspect import Parameter, Signature
from types import GeneratorType
from typing import Any

from pydantic import ValidationError

from simulator.base.python_source import parsed
from simulator.environment.evidence import (
    dice,
    native_functions,
    program_texts,
)
from simulator.environment.evidence.code_names import all_parameters, names_of
from simulator.environment.evidence.expression_evaluation import (
    CALLS,
    EVALUATORS,
    ONLY,
    as_text,
    attribute,
    awaited,
    evaluate,
    family,
    inherited,
    iterate,
    joined,
    like_of,
    native,
    operate,
    ordered,
    pay,
    truth_of,
)
from simulator.environment.evidence.program_classes import in_json, keeps_limits, validated
from simulator.environment.evidence.program_run import ProgramRun, look_up, named, spoken
from simulator.environment.evidence.program_texts import formatted
from simulator.environment.evidence.sketch import Kind
from simulator.environment.evidence.unknown_values import (
    CONTAINERS,
    KNOWN,
    MAPPINGS,
    NO_DEFAULT,
    SCALARS,
    Awaitable,
    Bound,
    Cached,
    Class,
    ClassInstance,
    CompiledPattern,
    Context,
    Decorated,
    DefaultFactory,
    External,
    Func,
    Lazy,
    Match,
    NameScope,
    Node,
    Partial,
    ProgramException,
    Super,
    TooMuchError,
    TouchedError,
    Unknown,
    failing,
    number_of,
)

MOST_CALLS_DEEP = 12
"""So deep functions of the program call each other before it is left."""

_TWO = 2

_ORDERLESS = frozenset(
    {"len", "sorted", "min", "max", "sum", "any", "all", "set", "frozenset", "bool", "isinstance"}
)
_ANNOTATED: Mapping[str, Kind] = {
    "str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object", "List": "array",
    "Dict": "object", "Any": "", "tuple": "array",
}  # fmt: skip
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_OURS = (
    Unknown,
    Func,
    Match,
    CompiledPattern,
    Super,
    Decorated,
    Class,
    External,
    ClassInstance,
    ProgramException,
    Lazy,
    Bound,
    Context,
    Partial,
    Cached,
)
_TYPES: Mapping[str, type] = {
    f"builtins.{one.__name__}": one
    for one in (str, int, float, bool, list, dict, tuple, set, frozenset, bytes, complex, type(None))
}


_IDENTITY_OF_ONE = ast.arguments(
    posonlyargs=[], args=[ast.arg("one")], kwonlyargs=[], kw_defaults=[], defaults=[]
)
_IDENTITY = ast.Lambda(_IDENTITY_OF_ONE, ast.Name("one", ast.Load()))


class ReturnSignal(Exception):  # noqa: N818 - the program returns; that is no error
    """The function that runs returns a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


Args = Sequence[Any]
Keywords = Mapping[str, Any]


def _call(run: ProgramRun, node: ast.Call, scope: NameScope) -> Any:
    if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
        return _super(run, scope)
    callee = evaluate(run, node.func, scope)
    args, keywords, whole = _arguments(run, node, scope)
    if not whole:
        run.lose_all([*args, *keywords.values(), callee])
        run.forget_globals(scope)
        raise TouchedError
    return call(run, callee, args, keywords, node, scope)


def _super(run: ProgramRun, scope: NameScope) -> Super:
    """Return what `super()` gives in a method.

    Raises:
        TouchedError: It is called elsewhere, or the class has several classes above it.
    """
    cls, receiver = look_up(scope, " class"), look_up(scope, " receiver")
    if not isinstance(cls, Class) or not isinstance(receiver, (ClassInstance, Class)):
        raise TouchedError
    of = receiver.cls if isinstance(receiver, ClassInstance) else receiver
    if any(len(one.bases) > 1 for one in family(of)):
        raise TouchedError
    run.budget.spend()
    return Super(cls, receiver)


def _arguments(run: ProgramRun, node: ast.Call, scope: NameScope) -> tuple[list[Any], dict[str, Any], bool]:
    args: list[Any] = []
    keywords: dict[str, Any] = {}
    whole = True
    for one in node.args:
        value = evaluate(run, one.value if isinstance(one, ast.Starred) else one, scope)
        try:
            args.extend(iterate(run, value) if isinstance(one, ast.Starred) else [value])
        except TouchedError:
            args.append(value)
            whole = False
    for keyword in node.keywords:
        value = evaluate(run, keyword.value, scope)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif type(value) in MAPPINGS and run.holds(value) and all(type(key) is str for key in value):
            keywords.update(value)
        else:
            args.append(value)
            whole = False
    return args, keywords, whole


def call(
    run: ProgramRun, callee: Any, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope
) -> Any:
    """Return what a call gives."""
    work = _CALLED.get(type(callee))
    if work is not None:
        return work(run, callee, args, keywords, node, scope)
    if isinstance(callee, type) and issubclass(callee, BaseException):
        return ProgramException(callee, tuple(args), written=True)
    return _unread(run, callee, args, keywords, node, scope)


def _remembered(
    run: ProgramRun, callee: Cached, args: Args, keywords: Keywords, node: ast.AST, _: NameScope
) -> Any:
    if not run.knows(*args, *keywords.values()):
        run.lose_all([callee.function, *args, *keywords.values()])
        run.forget_globals(callee.function.scope)
        raise TouchedError
    key = (id(callee), *args, *sorted(keywords.items()))
    native(run, hash, key)
    if key not in run.remembered:
        run.remembered[key] = call_function(run, callee.function, args, keywords, node)
    return run.remembered[key]


def _unread(
    run: ProgramRun, callee: Any, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope
) -> Unknown:
    """Return what code gives that is not read; what it is given may be changed by it."""
    run.may_raise(node)
    is_kept = run.loading and isinstance(callee, External) and callee.path.startswith(_KEEPERS)
    run.lose_all([*args, *keywords.values(), callee], calls=not is_kept)
    if not isinstance(callee, External):
        run.forget_globals(scope)
    kind: Kind = ""
    if isinstance(callee, Unknown) and isinstance(callee.like, Bound):
        _write_by(run, callee.like, args, keywords, node)
        kind = _KINDS_OF_METHODS.get(callee.like.name, "")
        receiver = callee.like.value
        if (
            isinstance(receiver, Unknown)
            and callee.like.name in {"get", "pop", "setdefault"}
            and type(receiver.like) is dict
            and args
        ):
            return Unknown(name=named(node), like=like_of(run, receiver, args[0]))
    return Unknown(kind, named(node))


# They keep the functions that they are given, and call none while a module is loaded.
_KEEPERS = ("google.adk.", "google.genai.")
_KINDS_OF_METHODS: Mapping[str, Kind] = {
    "strip": "string", "lower": "string", "upper": "string", "title": "string", "replace": "string", "join": "string", "strftime": "string",
    "isoformat": "string", "format": "string", "decode": "string", "split": "array", "keys": "array", "values": "array", "items": "array",
    "startswith": "boolean", "endswith": "boolean", "exists": "boolean", "timestamp": "number", "total_seconds": "number", "count": "integer",
    "capitalize": "string", "is_file": "boolean", "read_text": "string", "hexdigest": "string", "splitlines": "array",
}  # fmt: skip


def call_function(run: ProgramRun, function: Func, args: Args, keywords: Keywords, *_: Any) -> Any:
    """Return what a function of the program gives."""
    given = [function.receiver, *args] if function.bound else list(args)
    code = function.node
    if isinstance(code, ast.Lambda):
        scope = _frame(run, function, given, keywords)
        return _deeper(run, lambda: evaluate(run, code.body, scope))
    if names_of(code).gives_way:
        run.lose_all([function, *args, *keywords.values()])
        run.forget_globals(function.scope)
        raise TouchedError
    scope = _frame(run, function, given, keywords)
    if isinstance(code, ast.AsyncFunctionDef):
        return Awaitable(lambda: _body(run, code, scope))
    return _body(run, code, scope)


def _body(run: ProgramRun, code: ast.FunctionDef | ast.AsyncFunctionDef, scope: NameScope) -> Any:
    def work() -> Any:
        try:
            run.execute(run, code.body, scope)
        except ReturnSignal as signal:
            return signal.value
        except TouchedError:
            run.forget(code.body, scope)
            run.forget_globals(scope)
            raise
        return None

    return _deeper(run, work)


def _deeper(run: ProgramRun, work: Callable[[], Any]) -> Any:
    if run.depth >= MOST_CALLS_DEEP:
        raise TooMuchError
    run.depth += 1
    try:
        return work()
    finally:
        run.depth -= 1


def _frame(run: ProgramRun, function: Func, args: Args, keywords: Keywords) -> NameScope:
    """Return the scope of a call, with the parameters in it."""
    code, scope = (
        function.node,
        NameScope({}, function.scope.module, function.scope, names_of(function.node).local),
    )
    for name in names_of(code).outer:
        scope.outer[name] = _outer_place(function.scope, name, code)
    scope.given = frozenset(one.arg for one in all_parameters(code.args))
    run.scopes.append(function.scope.top)
    names = scope.names
    if function.bound and function.cls is not None:
        names.update({" class": function.cls, " receiver": function.receiver})
    try:
        names.update(_signature(code).bind(*args, **keywords).arguments)
    except TypeError as error:
        raise failing(TypeError) from error
    gathering: dict[Any, Any] = {code.args.vararg: (), code.args.kwarg: {}}
    for one in all_parameters(code.args):
        if one.arg not in names and one not in gathering and one.arg not in function.defaults:
            raise failing(TypeError)
        names.setdefault(one.arg, gathering.get(one, function.defaults.get(one.arg)))
    return scope


@lru_cache(maxsize=4_096)
def _signature(node: Node) -> Signature:
    """Return what a function takes, as if each parameter had a default."""
    takes = node.args
    groups = (
        (takes.posonlyargs, Parameter.POSITIONAL_ONLY), (takes.args, Parameter.POSITIONAL_OR_KEYWORD), ([takes.vararg], Parameter.VAR_POSITIONAL),
        (takes.kwonlyargs, Parameter.KEYWORD_ONLY), ([takes.kwarg], Parameter.VAR_KEYWORD),
    )  # fmt: skip
    return Signature(
        [
            Parameter(
                one.arg, kind, default=Parameter.empty if group[0] in {takes.vararg, takes.kwarg} else None
            )
            for group, kind in groups
            for one in group
            if one is not None
        ]
    )


def _outer_place(scope: NameScope, name: str, code: Node) -> NameScope:
    if name in names_of(code).of_module:
        return scope.top
    place: NameScope | None = scope
    while place is not None and place.parent is not None:
        if name in place.outer:
            return place.outer[name]
        if name in place.names or (place.bound is not None and name in place.bound):
            return place
        place = place.parent
    return scope.top


# --- classes


def _instance(
    run: ProgramRun, cls: Class, args: Args, keywords: Keywords, node: ast.AST, _: NameScope
) -> Any:
    if cls.kind == "exception":
        special = any("__init__" in one.scope.names or "__str__" in one.scope.names for one in family(cls))
        given = (Unknown("string", "the error", sure=True),) if special else tuple(args)
        if special:
            run.lose_all([*args, *keywords.values()])
            run.certain = False
        return ProgramException(cls, given, written=True)
    if cls.kind in {"model", "dataclass", "frozen", "namedtuple"}:
        return _filled(run, cls, args, keywords, node)
    if cls.kind == "typeddict":
        return dict(keywords) if not args else _unread(run, cls, args, keywords, node, cls.scope)
    if cls.real is not None and len(args) == 1 and not keywords and run.knows(args[0]):
        pay(run, native_functions.written(args[0]))  # the error for a value that no member has names it
        return native(run, cls.real, args[0])
    if cls.kind == "plain":
        made = ClassInstance(cls, {})
        owner, begin = inherited(cls, "__init__")
        if isinstance(begin, Func):
            method = Func(begin.node, begin.scope, begin.defaults, made, bound=True, cls=owner)
            call_function(run, method, args, keywords, node)
            return made
        if begin is None and not args and not keywords:
            return made
    return _unread(run, cls, args, keywords, node, cls.scope)


def _filled(run: ProgramRun, cls: Class, args: Args, keywords: Keywords, node: ast.AST) -> Any:
    """Return an object of a class whose fields are its parameters."""
    names = [name for name, (_, _, way) in cls.fields.items() if way == "place"]
    given = {**dict(zip(names, args, strict=False)), **keywords}
    others = given.keys() - {name for name, (_, _, way) in cls.fields.items() if way != "not"}
    if (args and cls.kind == "model") or len(args) > len(names) or (others and cls.kind != "model"):
        raise failing(TypeError)
    more = {" extra"} if others else frozenset[str]()
    special = (_SPECIAL_METHODS | more) & {name for one in family(cls) for name in one.scope.names}
    begins = "__post_init__" in special and cls.kind != "model"
    special = special - {"__post_init__"} if begins else special
    if special or any(not isinstance(base, Class) for one in family(cls) for base in one.bases):
        run.may_raise(node)
    made, begun_with = ClassInstance(cls, {}, whole=not special), list[Any]()
    for name, (annotation, default, _) in cls.fields.items():
        if name not in given and default is NO_DEFAULT:
            if cls.kind == "model" and (special or "Annotated" in named(annotation)):
                run.may_raise(node)
                made.fields[name] = Unknown(name=name)
                continue
            raise failing(ValidationError if cls.kind == "model" else TypeError)
        value = given[name] if name in given else made_default(run, default, node)
        if named(annotation).partition("[")[0].endswith("InitVar"):
            begun_with.append(value)
            continue
        if cls.kind == "model" and name in given:
            value = _coerced(run, annotation, value, cls, node)
            _check_limits(run, cls, name, value, node)
        made.fields[name] = value
        if special:
            made.fields[name] = Unknown(kind_of_annotation(annotation), name, like=value)
    if begins:
        call(run, attribute(run, made, "__post_init__", node), begun_with, {}, node, cls.scope)
    return made


_SPECIAL_METHODS = frozenset({"__init__", "__post_init__", "model_post_init", "__new__", " validated"})


def _check_limits(run: ProgramRun, cls: Class, name: str, value: Any, node: ast.AST) -> None:
    """Raise what pydantic raises where a value does not keep the limits of its field."""
    limits: Mapping[str, Any] = next(
        (
            one.scope.names[" limits"][name]
            for one in family(cls)
            if name in one.scope.names.get(" limits", ())
        ),
        {},
    )
    keeps = keeps_limits(value, limits)
    if keeps is None:
        run.may_raise(node)
    elif not keeps:
        raise failing(ValidationError)


def made_default(run: ProgramRun, default: Any, node: ast.AST) -> Any:
    """Return the value of a field that is not given; a `DefaultFactory` is made each time."""
    if isinstance(default, DefaultFactory):
        return call(run, default.factory, [], {}, node, NameScope({}, ""))
    return default


def kind_of_annotation(annotation: ast.expr | None) -> Kind:
    """Return the JSON type that an annotation names; empty where it names none, or several."""
    inner = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return _ANNOTATED.get(getattr(inner, "id", getattr(inner, "attr", "")), "")


def _coerced(run: ProgramRun, annotation: ast.expr, value: Any, cls: Class, node: ast.AST) -> Any:
    """Return what pydantic makes of a value for a field."""
    kind = kind_of_annotation(annotation)
    if isinstance(value, Unknown):
        if value.sure and value.kind == kind:
            return value
        run.may_raise(node)
        low, high = value.low, value.high
        return Unknown(
            value.kind or kind, value.name, low=low, high=high, choices=value.choices, like=value.like
        )
    try:
        return validated(
            run, annotation, value, cls.scope, lambda model, given: _filled(run, model, (), given, node)
        )
    except TouchedError:
        run.may_raise(node)
        return Unknown(kind, named(annotation), like=value)


def as_plain(run: ProgramRun, value: Any, *, as_json: bool = False) -> Any:
    """Return a record with all inside of it as plain dicts, as `model_dump` and `asdict` give it."""
    run.budget.spend()
    plain = partial(as_plain, run, as_json=as_json)
    if as_json:
        value = in_json(value.value if isinstance(value, enum.Enum) else value)
    if isinstance(value, ClassInstance):
        return {name: plain(one) for name, one in value.declared.items()}
    made: Any = value
    if type(value) is dict:
        made = {key: plain(one) for key, one in value.items()}
    elif type(value) is list:
        made = list(map(plain, value))
    if made is not value and not run.holds(value):
        run.lose(made)
    return made


# --- methods of known values


def _method(
    run: ProgramRun, callee: Bound, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope
) -> Any:
    value, name = callee.value, callee.name
    if isinstance(value, CompiledPattern):
        return _of_pattern(run, value, name, args, keywords, node, scope)
    if isinstance(value, Match):
        return program_texts.match_method(run, value, name, args, keywords)
    if isinstance(value, Context):
        return _save(run, args, keywords, node, scope)
    if isinstance(value, (Class, ClassInstance)):
        return _model_method(run, callee, args, keywords, node, scope)
    if name == "sort" and type(value) is list and run.knows(value):
        run.changes(value)
        value[:] = _sorted(run, value, keywords, node, scope)
        return None
    if name == "format" and type(value) is str:
        return formatted(run, value, args, keywords, node)
    if name == "join" and type(value) is str and len(args) == 1:
        return _joined(run, value, args[0])
    if name in native_functions.CHANGING and type(value) not in SCALARS:
        run.changes(value)
    known = run.knows(*args, *keywords.values()) and native_functions.takes(name, args, keywords)
    if known and run.knows(value):
        pay(run, native_functions.of_call(name, (value, *args), keywords))
        if type(value) not in {set, frozenset}:
            ordered(run, *args)
        return _views(run, native(run, getattr(value, name), *args, **keywords))
    if (
        type(value) in native_functions.KEEPING.get(name, ())
        and run.holds(value)
        and _keys_known(run, name, value, args)
    ):
        if name in {"extend", "update"} and not (
            args and type(args[0]) in {list, dict, tuple} and run.holds(args[0])
        ):
            return _mixed(run, callee, args, keywords, node)
        pay(run, native_functions.of_call(name, (value, *args), {}))
        return _views(run, native(run, getattr(value, name), *args, **keywords))
    return _mixed(run, callee, args, keywords, node)


def _save(run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope) -> Unknown:
    """Note an artifact that is saved, by its name."""
    run.saved.add(spoken(args[0] if args else keywords.get("filename"), node))
    return _unread(run, Unknown(), args, keywords, node, scope)


def _model_method(
    run: ProgramRun, callee: Bound, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope
) -> Any:
    """Return what a method gives that pydantic gives a model, or an object of one."""
    value, name = callee.value, callee.name
    given = args[0] if len(args) == 1 and not keywords else None
    if isinstance(value, Class) and isinstance(given, ClassInstance) and given.cls is value:
        return given
    if (
        isinstance(value, Class)
        and type(given) is dict
        and run.holds(given)
        and all(type(key) is str for key in given)
    ):
        return _filled(run, value, (), given, node)
    is_dump = name in {"model_dump", "dict"} and not args and not (keywords.keys() - {"mode"})
    if isinstance(value, ClassInstance) and is_dump and value.whole and run.knows(*keywords.values()):
        return as_plain(run, value, as_json=keywords.get("mode") == "json")
    return _unread(run, callee, args, keywords, node, scope)


def _keys_known(run: ProgramRun, name: str, value: Any, args: Args) -> bool:
    if name in {
        "append",
        "appendleft",
        "extend",
        "copy",
        "items",
        "keys",
        "values",
        "clear",
        "reverse",
        "popitem",
        "popleft",
        "update",
    }:
        return True
    return run.knows(*args[:1]) and type(value) in CONTAINERS


def _views(run: ProgramRun, value: Any) -> Any:
    """Return a value of Python as one of the program's: an iterator or view is watched."""
    if value is NotImplemented:
        raise TouchedError
    kind = type(value)
    if kind in SCALARS or kind in CONTAINERS or isinstance(value, _OURS):
        return value
    if kind in _VIEWS or hasattr(kind, "__next__"):
        return Lazy(value, run.epoch)
    raise TouchedError


def _mixed(run: ProgramRun, callee: Bound, args: Args, keywords: Keywords, node: ast.AST) -> Any:
    """Return what a method gives where the value or what it is given is not known."""
    value, name = callee.value, callee.name
    if isinstance(value, Awaitable) and name == "result":
        return value.run()
    run.may_raise(node)
    run.lose_all([one for one in (*args, *keywords.values()) if isinstance(one, (Func, Lazy))])
    if name in native_functions.CHANGING:
        _write_by(run, callee, args, keywords, node)
        if name in {"append", "add", "insert", "appendleft"} and type(value) is list and args and not value:
            value.append(args[-1])
        elif name == "update" and type(value) is dict and args and type(args[0]) is dict:
            value.update(args[0])
        run.lose(value)
    like = None
    if name in {"get", "pop", "setdefault"} and type(value) in MAPPINGS:
        like = next(iter(value.values()), None)
    return Unknown(_KINDS_OF_METHODS.get(name, ""), named(node), like=like)


def _write_by(run: ProgramRun, callee: Bound, args: Args, keywords: Keywords, node: ast.AST) -> None:
    """Note the keys that a method puts into the session's state where the state may not show them."""
    more = args[0] if args else {}
    keys = [more] if callee.name == "setdefault" else []
    if callee.name == "update":
        keys = [*keywords, *(more if type(more) is dict and run.holds(more) else (Unknown(),))]
    for key in keys:
        run.writes(callee.value, key, node)


def _joined(run: ProgramRun, between: str, given: Any) -> Any:
    parts: list[Any] = []
    for each in iterate(run, given):
        one = each.value if isinstance(each, enum.Enum) and isinstance(each, str) else each
        if type(one) is not str and not (isinstance(one, Unknown) and one.kind == "string" and one.sure):
            if isinstance(one, Unknown):
                raise TouchedError
            raise failing(TypeError)
        parts.extend([between, one] if parts else [one])
        pay(run, native_functions.size(one) if isinstance(one, str) else 1)
    return joined(run, parts)


# --- regular expressions


def _of_re(
    name: str, run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope
) -> Any:
    """Return what a function of `re` gives for a known expression and text."""
    if name == "escape" and run.knows(*args):
        pay(run, native_functions.of_call(name, tuple(args), keywords))
        return native(run, re.escape, *args)
    given = _placed(_ORDER_OF_RE.get(name, ()), args, keywords)
    if name == "compile":
        return program_texts.compiled(run, given["pattern"], given.get("flags", 0))
    if "pattern" not in given:
        raise TouchedError
    pattern = program_texts.compiled(run, given.pop("pattern"), given.pop("flags", 0))
    return _of_pattern(run, pattern, name, [], given, node, scope)


_ORDER_OF_RE: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("search", "match", "fullmatch", "findall", "finditer"), ("pattern", "string", "flags")),
    "split": ("pattern", "string", "maxsplit", "flags"), "sub": ("pattern", "repl", "string", "count", "flags"),
    "subn": ("pattern", "repl", "string", "count", "flags"), "compile": ("pattern", "flags"),
}  # fmt: skip


def _placed(names: Sequence[str], args: Args, keywords: Keywords) -> dict[str, Any]:
    """Return arguments by the names of their parameters."""
    given = {**dict(zip(names, args, strict=False)), **keywords}
    if (
        not names
        or len(args) > len(names)
        or len(given) < len(args) + len(keywords)
        or given.keys() - set(names)
    ):
        raise TouchedError
    return given


def _of_pattern(
    run: ProgramRun,
    pattern: CompiledPattern,
    name: str,
    args: Args,
    keywords: Keywords,
    node: ast.AST,
    scope: NameScope,
) -> Any:
    names = [one for one in _ORDER_OF_RE.get(name, ()) if one not in {"pattern", "flags"}]
    given = _placed(names, args, keywords)
    if name in program_texts.SEARCHING and "string" in given:
        return program_texts.search(run, pattern, name, list(given.values()))
    replacement, text = given.get("repl"), given.get("string")
    if name not in {"sub", "subn"} or text is None:
        raise TouchedError

    def put(match: Match) -> Any:
        if type(replacement) is str:
            return program_texts.expanded(run, replacement, match)
        return call(run, replacement, [match], {}, node, scope)

    parts, count = program_texts.replaced(run, pattern, text, given.get("count", 0), put)
    made = _joined(run, "", parts)
    return made if name == "sub" else (made, count)


# --- functions of Python


def _external(
    run: ProgramRun, callee: External, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope
) -> Any:
    path, special = callee.path, _SPECIAL.get(callee.path)
    if special is not None:
        return special(run, args, keywords, node, scope)
    if path in native_functions.RETURNED:
        return _returned(path, node)
    if path.startswith(native_functions.STATELESS):
        return None
    if dice.dice_named(path):
        return dice.drawn(run, path, args, keywords, node)
    function = native_functions.FUNCTIONS.get(path)
    if function is None:
        return _unread(run, callee, args, keywords, node, scope)
    return _of_python(run, path, function, args, keywords, node)


def _returned(path: str, node: ast.AST) -> Unknown:
    kind = native_functions.RETURNED[path]
    return Unknown(kind, named(node), sure=kind != "")


def _of_session(
    path: str, run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, _: NameScope
) -> Any:
    """Return a time by the session's clock, or an id out of its seed; not known where the session has none."""
    chances, clock = run.chances, native_functions.CLOCK.get(path)
    is_given = run.knows(*args, *keywords.values()) and native_functions.takes(
        path.rpartition(".")[2], args, keywords
    )
    if not is_given or not (chances.now if clock else chances.seed):
        return _returned(path, node)
    if clock:
        return native(run, clock, chances.now, *args, **keywords)
    run.drew += 1
    drawn = hashlib.sha512(f"{chances.seed}/{run.drew}".encode()).digest()
    return native(run, native_functions.IDS[path], drawn, *args, **keywords)


def _of_python(
    run: ProgramRun, path: str, function: Callable[..., Any], args: Args, keywords: Keywords, node: ast.AST
) -> Any:
    """Return what a function of Python gives that may be used."""
    name = path.rpartition(".")[2]
    args = [[*one.real] if isinstance(one, Class) and one.real is not None else one for one in args]
    gathers = path in native_functions.GATHERING
    given = [_taken(run, one, gathers) for one in args]
    if name not in _ORDERLESS:
        ordered(run, *args)
    held = all(
        run.holds(one) if type(one) in CONTAINERS else isinstance(one, Lazy) or run.knows(one) for one in args
    )
    there = tuple(() if type(one) is GeneratorType else one for one in given)
    if (held and gathers and run.knows(*keywords.values())) or run.knows(*there, *keywords.values()):
        if not native_functions.takes(name, given, keywords):
            raise TouchedError
        pay(run, native_functions.of_call(path, there, keywords))
        return _views(run, native(run, function, *given, **keywords))
    return _of_unknown(run, path, args, keywords, node)


def _taken(run: ProgramRun, value: Any, gathers: bool) -> Any:
    """Return a value as Python's functions take it: an iterator is watched while it is used, or is a list first."""
    if not isinstance(value, Lazy):
        return value
    if gathers:
        is_view = type(value.source) in _VIEWS and run.fresh(value)
        return value.source if is_view else iterate(run, value)
    return list(iterate(run, value))


def _of_unknown(run: ProgramRun, path: str, args: Args, keywords: Keywords, node: ast.AST) -> Any:
    """Return what a function of Python gives for what is not known."""
    name = path.rpartition(".")[2]
    first = args[0] if args else None
    if name in {"str", "format"} and path.startswith("builtins") and len(args) == 1:
        return as_text(run, first, "", -1, node)
    numeric = isinstance(first, Unknown) and first.is_number
    if not (
        numeric and name in {"int", "float", "round", "abs", "bool", "floor", "ceil"} and run.knows(*args[1:])
    ):
        run.may_raise(node)
    run.lose_all([one for one in (*args, *keywords.values()) if isinstance(one, (Func, Lazy))])
    kind = _KINDS_OF_FUNCTIONS.get(name, "number" if path.startswith(("math.", "statistics.")) else "")
    if name == "round" and len(args) > 1:
        kind = "number"
    like = None
    if kind == "array":
        source = first.like if isinstance(first, Unknown) else first
        like = (
            source
            if isinstance(first, Unknown)
            else source[0]
            if type(source) in {list, tuple} and source
            else None
        )
    low, high = _bounds(name, first, args[1:])
    return Unknown(
        kind,
        named(node),
        sure=kind in {"integer", "number", "boolean", "string"} and name != "abs",
        low=low,
        high=high,
        like=like,
        size_of=number_of(first) if name == "len" else 0,
    )


_KINDS_OF_FUNCTIONS: Mapping[str, Kind] = {
    "len": "integer", "int": "integer", "float": "number", "str": "string", "bool": "boolean", "round": "integer", "sum": "number",
    "list": "array", "sorted": "array", "dict": "object", "dumps": "string", "any": "boolean", "all": "boolean", "repr": "string",
    "tuple": "array", "ord": "integer", "chr": "string", "hex": "string", "bin": "string", "isclose": "boolean", "isnan": "boolean", "isfinite": "boolean", "isinf": "boolean", "floor": "integer", "ceil": "integer",
}  # fmt: skip


def _bounds(name: str, value: Any, more: Args) -> tuple[float | None, float | None]:
    """Return the least and the most that a length is, or a number that was made whole or rounded to as many places as a draft has."""
    if name == "len":
        return 0.0, None
    work: Callable[..., Any] | None = _MADE_WHOLE.get(name)
    known = isinstance(value, Unknown) and value.is_number and None not in (value.low, value.high)
    if work is None or not known or any(one != _TWO for one in more):
        return None, None
    return work(value.low, *more), work(value.high, *more)


_MADE_WHOLE: Mapping[str, Callable[..., Any]] = {"int": int, "float": float, "round": round}


def _keyed(
    run: ProgramRun, value: Any, keywords: Keywords, node: ast.AST, scope: NameScope
) -> tuple[Any, Any]:
    """Return the elements of a value, and what they are ordered by.

    Raises:
        TouchedError: That is not known.
    """
    found, key = list(value if run.holds(value) else iterate(run, value)), keywords.get("key")
    keys = found if key is None else [call(run, key, [one], {}, node, scope) for one in found]
    if not run.knows(keys, keywords.get("reverse")):
        raise TouchedError
    return found, keys.__getitem__


def _sorted(run: ProgramRun, value: Any, keywords: Keywords, node: ast.AST, scope: NameScope) -> list[Any]:
    found, key = _keyed(run, value, keywords, node, scope)
    if keywords.keys() - {"key", "reverse"}:
        raise TouchedError
    reverse = bool(keywords.get("reverse"))
    places = native(run, sorted, range(len(found)), key=key, reverse=reverse)
    return [found[place] for place in places]


def _ordering(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    def ordering(run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope) -> Any:
        try:
            return work(run, args[0] if len(args) == 1 or work is _sorted else args, keywords, node, scope)
        except TouchedError:
            return _of_unknown(run, f"builtins.{name}", args, keywords, node)

    return ordering


def _extreme(extreme: Callable[..., Any]) -> Callable[..., Any]:
    def found_by(run: ProgramRun, value: Any, keywords: Keywords, node: ast.AST, scope: NameScope) -> Any:
        if type(value) in {set, frozenset} and "key" in keywords:
            ordered(run, value)
        found, key = _keyed(run, value, keywords, node, scope)
        if not found and "default" in keywords:
            return keywords["default"]
        return found[native(run, extreme, range(len(found)), key=key)]

    return found_by


def _mapped(run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope) -> Any:
    if len(args) < _TWO or keywords:
        raise TouchedError
    sources = [iterate(run, one) for one in args[1:]]
    return Lazy(
        (call(run, args[0], given, {}, node, scope) for given in zip(*sources, strict=False)), run.epoch
    )


def _filtered(run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope) -> Any:
    if len(args) != _TWO or keywords:
        raise TouchedError

    def kept(one: Any) -> bool:
        known = truth_of(run, one if args[0] is None else call(run, args[0], [one], {}, node, scope))
        if known is None:
            raise TouchedError
        return known

    return Lazy((one for one in iterate(run, args[1]) if kept(one)), run.epoch)


def _quantified(stops_at: bool) -> Callable[..., Any]:
    def quantified(run: ProgramRun, args: Args, _: Mapping[str, Any], node: ast.AST, __: NameScope) -> Any:
        if len(args) != 1:
            raise failing(TypeError)
        unknown = False
        source = args[0]
        found = (
            iter(source) if type(source) in {set, frozenset} and run.holds(source) else iterate(run, source)
        )
        for one in found:
            known = truth_of(run, one)
            if known is stops_at:
                return stops_at if not unknown else Unknown("boolean", named(node), sure=True, truth=stops_at)
            unknown = unknown or known is None
        return Unknown("boolean", named(node), sure=True) if unknown else not stops_at

    return quantified


def _next(run: ProgramRun, args: Args, _: Mapping[str, Any], node: ast.AST, __: NameScope) -> Any:
    lazy = args[0]
    if not isinstance(lazy, Lazy) or not hasattr(type(lazy.source), "__next__") or not run.fresh(lazy):
        return _of_unknown(run, "builtins.next", args, {}, node)
    try:
        return native(run, next, lazy.source)
    except ProgramException as raised:
        if raised.cls is StopIteration and len(args) > 1:
            return args[1]
        raise


def _is_instance(_: ProgramRun, args: Args, __: Mapping[str, Any], node: ast.AST, ___: NameScope) -> Any:
    value, kinds = args[0], args[1] if type(args[1]) is tuple else (args[1],)
    found = [_of_kind(value, kind) for kind in kinds]
    if True in found:
        return True
    return Unknown("boolean", named(node), sure=True) if None in found else False


def _of_kind(value: Any, kind: Any) -> bool | None:
    if isinstance(kind, External) and kind.path in _TYPES and type(value) in KNOWN:
        return isinstance(value, _TYPES[kind.path])
    if isinstance(kind, External) and type(value) in {str, int, float, bool, list, dict, tuple, type(None)}:
        path = kind.path.rpartition(".")[2]
        return None if path not in {"datetime", "date", "Decimal"} else False
    if isinstance(kind, Class):
        if isinstance(value, enum.Enum):
            return type(value) is kind.real if kind.real is not None else None
        if isinstance(value, ClassInstance):
            return any(one is kind for one in family(value.cls)) or (None if _is_open(value.cls) else False)
        return False if type(value) in KNOWN else None
    if isinstance(value, ClassInstance) and isinstance(kind, External) and kind.path in _TYPES:
        return None if _is_open(value.cls) else False
    return None


def _is_open(cls: Class) -> bool:
    """Return whether a class may be derived from what is not read, Python's own and pydantic's bases aside."""
    roots = [base for one in family(cls) for base in one.bases if not isinstance(base, Class)]
    plain = ("pydantic.BaseModel", "pydantic.main.BaseModel", "abc.ABC", "builtins.object")
    return any(not isinstance(base, External) or base.path not in plain for base in roots)


def _type_of(run: ProgramRun, args: Args, _: Mapping[str, Any], node: ast.AST, __: NameScope) -> Any:
    value = args[0] if len(args) == 1 else None
    if isinstance(value, ClassInstance):
        return value.cls
    kind = value.cls if isinstance(value, ProgramException) else type(value)
    if isinstance(kind, Class):
        return Class(kind.name, "other", {}, kind.scope)
    known = (isinstance(value, ProgramException) and kind is not None) or type(value) in KNOWN
    if len(args) == 1 and known and kind is not None:
        path = f"builtins.{kind.__name__}"
        return (
            Class(kind.__name__, "other", {}, NameScope({}, ""))
            if isinstance(value, ProgramException) or path not in _TYPES
            else External(path)
        )
    return _unread(run, External("builtins.type"), args, {}, node, NameScope({}, ""))


def _has_attribute(run: ProgramRun, args: Args, __: Mapping[str, Any], node: ast.AST, ___: NameScope) -> Any:
    value, name = args[0], args[1] if len(args) > 1 else None
    if type(value) in KNOWN and type(name) is str:
        return hasattr(type(value), name) or (name == "to_dict" and value is run.state)
    return Unknown("boolean", named(node), sure=True)


def _get_attribute(run: ProgramRun, args: Args, _: Mapping[str, Any], node: ast.AST, __: NameScope) -> Any:
    if len(args) < _TWO or type(args[1]) is not str:
        raise TouchedError
    try:
        return attribute(run, args[0], args[1], node)
    except ProgramException as raised:
        if raised.cls is AttributeError and len(args) > _TWO:
            return args[2]
        raise


def _default_dict(run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope) -> Any:
    factory = args[0] if args else None
    if len(args) <= 1 and not keywords and isinstance(factory, External) and factory.path in _TYPES:
        return defaultdict(_TYPES[factory.path])
    return _unread(run, External("collections.defaultdict"), args, keywords, node, scope)


def _dumped(run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, _: NameScope) -> Any:
    plain = [as_plain(run, one) if not isinstance(one, ClassInstance) else one for one in args]
    if run.knows(*plain, *keywords.values()):
        pay(run, native_functions.of_call("dumps", tuple(plain), keywords))
        ordered(run, *plain)
        work = native_functions.FUNCTIONS.get("json.dumps")
        if work is not None:
            return native(run, work, *plain, **keywords)
    run.may_raise(node)
    return Unknown("string", named(node), sure=True, like=plain[0] if plain else None)


def _as_dict(run: ProgramRun, args: Args, _: Mapping[str, Any], node: ast.AST, scope: NameScope) -> Any:
    if len(args) == 1 and isinstance(args[0], ClassInstance) and args[0].cls.kind in {"dataclass", "frozen"}:
        return as_plain(run, args[0])
    return _unread(run, External("dataclasses.asdict"), args, {}, node, scope)


def _written(most: int) -> Callable[..., Any]:
    def written(run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, _: NameScope) -> Any:
        if len(args) > most or keywords or isinstance(next(iter(args), None), ClassInstance):
            raise TouchedError
        return as_text(run, args[0], args[1] if len(args) > 1 else "", -1, node) if args else ""

    return written


def _cache(_: ProgramRun, args: Args, keywords: Keywords, __: ast.AST, ___: NameScope) -> Any:
    """Return a function that remembers, or its decorator."""
    if len(args) == 1 and isinstance(args[0], Func) and not keywords:
        return Cached(args[0])
    return External("functools.cache")


_WRITTEN_ANEW = (
    ast.NamedExpr,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.Await,
)
_LONGEST_EXPRESSION = 2_000


def _evaluated(run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope) -> Any:
    """Return what `eval` gives for a known text: it is read as the rest of the program is, and not run."""
    text = args[0] if args else None
    names = _names_for_eval(run, args[1:], scope)
    if type(text) is not str or len(text) > _LONGEST_EXPRESSION or keywords or names is None:
        raise TouchedError
    expression = text.lstrip(" \t")
    native(run, compile, expression, "<string>", "eval")
    tree = native(run, parsed, expression, "eval").body
    if any(isinstance(one, _WRITTEN_ANEW) for one in ast.walk(tree)):
        raise TouchedError
    try:
        return evaluate(run, tree, names)
    except ProgramException as raised:
        raised.line = getattr(node, "lineno", 0)
        raise


def _names_for_eval(run: ProgramRun, given: Sequence[Any], scope: NameScope) -> NameScope | None:
    """Return the names that `eval` sees: those of the function and its module, or those that it is given; None where they are not known."""
    if not given:
        return NameScope(
            {name: value for name, value in scope.names.items() if name[0] != " "}, scope.module, scope.top
        )
    if not all(
        type(one) is dict and run.holds(one) and all(type(key) is str for key in one) for one in given
    ):
        return None
    builtin = given[0].get("__builtins__")
    if "__builtins__" in given[0] and (type(builtin) is not dict or not run.holds(builtin)):
        return None
    if builtin is None:
        run.changes(given[0])
        run.lose(given[0])
    names = {**(builtin or {}), **{name: value for one in given for name, value in one.items()}}
    return NameScope(names if builtin is None else {**names, ONLY: True}, scope.module)


def _reduced(run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope) -> Any:
    if len(args) not in {_TWO, _TWO + 1} or keywords:
        raise TouchedError
    found = iterate(run, args[1])
    total = args[2] if len(args) > _TWO else next(found, NO_DEFAULT)
    if total is NO_DEFAULT:
        raise failing(TypeError)
    for one in found:
        total = call(run, args[0], [total, one], {}, node, scope)
    return total


def _operator(op: type[ast.operator]) -> Callable[..., Any]:
    def operated(run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, _: NameScope) -> Any:
        if len(args) != _TWO or keywords:
            raise TouchedError
        return operate(run, op, args[0], args[1], node, native_functions.BINARY)

    return operated


def _getter(form: str) -> Callable[..., Any]:
    def getter(run: ProgramRun, args: Args, keywords: Keywords, _: ast.AST, __: NameScope) -> Any:
        key = args[0] if len(args) == 1 and not keywords and run.knows(*args) else None
        if key is None or (form == "." and not (type(key) is str and key.isidentifier())):
            raise TouchedError
        one = ast.Name("one", ast.Load())
        got = (
            ast.Subscript(one, ast.Name("key", ast.Load()))
            if form == "["
            else ast.Attribute(one, key, ast.Load())
        )
        return Func(ast.Lambda(_IDENTITY_OF_ONE, got), NameScope({"key": key}, ""), {})

    return getter


def _hashed(name: str, run: ProgramRun, args: Args, keywords: Keywords, _: ast.AST, __: NameScope) -> Any:
    work = getattr(hashlib, name)
    if (
        len(args) > 1
        or keywords
        or not run.knows(*args)
        or not all(native_functions.size(one) <= native_functions.MOST for one in args)
    ):
        raise TouchedError
    return Match(native(run, work, *args), frozenset({"hexdigest", "digest"}))


def _loop_run(run: ProgramRun, args: Args, _: Keywords, node: ast.AST, __: NameScope) -> Any:
    """Return what an event loop that is started gives; none starts where another runs, as around a tool that ADK calls."""
    if len(args) != 1:
        raise TouchedError
    run.may_raise(node)
    return awaited(run, args[0], node)


def _in_thread(place: int) -> Callable[..., Awaitable]:
    """Return what calls the function that is given at a place at once, as if no other thread did so, and keeps what that gives."""

    def begun(run: ProgramRun, args: Args, keywords: Keywords, node: ast.AST, scope: NameScope) -> Awaitable:
        work, *given = args[place:] or [Unknown()]
        starts = isinstance(work, External) and work.path == "asyncio.run" and len(given) == 1
        try:
            made = awaited(run, given[0], node) if starts else call(run, work, given, keywords, node, scope)
        except ProgramException as raised:
            return Awaitable(partial(_raise_again, raised))
        return Awaitable(lambda: made)

    return begun


def _raise_again(raised: ProgramException) -> None:
    raise raised


_CALLED: Mapping[type, Callable[..., Any]] = {
    Func: call_function, Class: _instance, Bound: _method, External: _external, Partial: lambda run, callee, args, keywords, *more: call(run, callee.callee, [*callee.args, *args], {**callee.keywords, **keywords}, *more), Cached: _remembered,
}  # fmt: skip

_SPECIAL: Mapping[str, Callable[..., Any]] = {
    "logging.getLogger": lambda *_: External("logging.logger"), **{f"re.{name}": partial(_of_re, name) for name in (*_ORDER_OF_RE, "escape")},
    **{f"hashlib.{name}": partial(_hashed, name) for name in ("md5", "sha1", "sha256", "sha512")},
    **{path: partial(_of_session, path) for path in (*native_functions.CLOCK, *native_functions.IDS)},
    "builtins.eval": _evaluated, "functools.reduce": _reduced, "builtins.format": _written(_TWO), "operator.mul": _operator(ast.Mult), "operator.add": _operator(ast.Add),
    "operator.sub": _operator(ast.Sub), "operator.truediv": _operator(ast.Div), "operator.floordiv": _operator(ast.FloorDiv),
    "operator.mod": _operator(ast.Mod), "operator.itemgetter": _getter("["), "operator.attrgetter": _getter("."),
    "builtins.sorted": _ordering("sorted", _sorted), "builtins.min": _ordering("min", _extreme(min)), "builtins.max": _ordering("max", _extreme(max)), "builtins.map": _mapped,
    "builtins.filter": _filtered, "builtins.bool": lambda run, args, *more: _quantified(stops_at=True)(run, [list(args)] if len(args) <= 1 else args, *more),
    "builtins.any": _quantified(stops_at=True), "builtins.all": _quantified(stops_at=False),
    "builtins.next": _next, "builtins.isinstance": _is_instance, "builtins.type": _type_of, "builtins.hasattr": _has_attribute,
    "builtins.getattr": _get_attribute, "collections.defaultdict": _default_dict, "json.dumps": _dumped, "dataclasses.asdict": _as_dict,
    "builtins.str": _written(1), "functools.wraps": lambda *_: Func(_IDENTITY, NameScope({}, ""), {}), "functools.lru_cache": _cache, "functools.cache": _cache,
    "functools.partial": lambda _, args, keywords, *__: Partial(args[0], tuple(args[1:]), keywords) if args else Unknown(), "asyncio.run": _loop_run, "asyncio.loop.run_until_complete": _loop_run, "asyncio.to_thread": _in_thread(0),
    "asyncio.loop.run_in_executor": _in_thread(1), f"{native_functions.POOL}.submit": _in_thread(0),
    **dict.fromkeys(("asyncio.get_event_loop", "asyncio.get_running_loop", "asyncio.new_event_loop"), lambda *_: External("asyncio.loop")),
    **dict.fromkeys(
        ("concurrent.futures.ThreadPoolExecutor", "concurrent.futures.thread.ThreadPoolExecutor"), lambda *_: External(native_functions.POOL)
    ),
}  # fmt: skip

EVALUATORS[ast.Call] = _call
CALLS.append(call)
