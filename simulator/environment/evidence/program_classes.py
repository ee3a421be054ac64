"""Makes the classes of a program: which fields they have, what pydantic makes of values for them and which limits it checks, and enumerations as Python has them."""

from __future__ import annotations

import ast
import datetime as dt
import decimal
import enum
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from simulator.base.python_source import parsed
from simulator.environment.evidence.code_names import scan
from simulator.environment.evidence.expression_evaluation import evaluate, store
from simulator.environment.evidence.program_run import ProgramRun, look_up, named
from simulator.environment.evidence.unknown_values import (
    CONTAINERS,
    NO_DEFAULT,
    SCALARS,
    Class,
    ClassInstance,
    DefaultFactory,
    External,
    NameScope,
    TouchedError,
    Unknown,
    failing,
    touch,
)

CLASS: frozenset[str] = frozenset({" class"})
"""Marks the scope of a class, which its methods do not see."""

_KINDS: Mapping[str, str] = {
    "BaseModel": "model", "TypedDict": "typeddict", "NamedTuple": "namedtuple", "Enum": "enum", "StrEnum": "enum", "IntEnum": "enum",
}  # fmt: skip


def class_statement(run: ProgramRun, node: ast.ClassDef, scope: NameScope) -> None:
    """Let the name of a class stand for it."""
    inner = NameScope({}, scope.module, scope, CLASS)
    bases = [evaluate(run, one, scope) for one in node.bases]
    kind = _kind_of_class(node, bases)
    fields: dict[str, tuple[ast.expr, Any, str]] = {}
    by_name = any("kw_only=True" in named(one) for one in node.decorator_list)
    for base in bases:
        if isinstance(base, Class):
            fields.update(base.fields)
    run.execute(run, [one for one in node.body if not _is_document(one)], inner)
    limits: dict[str, dict[str, Any]] = {}
    for one in node.body:
        match one:
            case ast.AnnAssign(annotation=annotation) if named(annotation).endswith("KW_ONLY"):
                by_name = True
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value) if not (
                named(annotation).startswith("ClassVar") or name == "model_config"
            ):
                options = _options(value)
                given = _given(kind, options or {}, by_name)
                default = _default_of(run, value, options, inner.names.get(name), inner)
                default = Unknown(name=name) if given == "not" and default is NO_DEFAULT else default
                fields[name] = annotation, default, given
                limits[name] = {
                    key: evaluate(run, one, inner) for key, one in (options or {}).items() if key in LIMITS
                }
    if kind == "model":
        inner.names[" limits"] = limits
    if _is_special(node, inner, kind):
        inner.names[" validated"] = True
    made = Class(node.name, kind, fields, inner, [base for base in bases if not _is_plain_base(base)])
    if kind == "enum":
        made.real = _real_enumeration(node, bases, inner, lambda value: evaluate(run, value, inner))
        made.kind = "other" if made.real is None else kind
    store(scope, node.name, made)


def _is_document(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_plain_base(base: Any) -> bool:
    return isinstance(base, External) and base.path in {
        "builtins.object", "pydantic.BaseModel", "typing.TypedDict", "typing_extensions.TypedDict", "typing.NamedTuple", "enum.Enum",
        "abc.ABC", "enum.StrEnum", "enum.IntEnum", "builtins.int", "builtins.str",
    }  # fmt: skip


def _options(value: ast.AST | None) -> dict[str, ast.expr] | None:
    """Return what `Field(...)` and `field(...)` say of a field; None where neither is called."""
    called = named(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""
    if called not in {"Field", "field"} or not isinstance(value, ast.Call):
        return None
    placed = dict(zip(["default"], value.args if called == "Field" else (), strict=False))
    return placed | {one.arg or "": one.value for one in value.keywords}


def _default_of(
    run: ProgramRun,
    value: ast.expr | None,
    options: Mapping[str, ast.expr] | None,
    found: Any,
    scope: NameScope,
) -> Any:
    """Return the default of a field: what its options say, or the value itself."""
    if value is None:
        return NO_DEFAULT
    if options is None:
        return Unknown(like=found) if type(found) in CONTAINERS else found
    if "default_factory" in options:
        return DefaultFactory(evaluate(run, options["default_factory"], scope))
    default = options.get("default", ast.Constant(...))
    return NO_DEFAULT if getattr(default, "value", None) is ... else evaluate(run, default, scope)


def _given(kind: str, options: Mapping[str, ast.expr], by_name: bool) -> str:
    """Return how a field is given: `init` and `kw_only` are of data classes alone."""
    of_data = options if kind in {"dataclass", "frozen"} else {}
    said = {one: value.value for one, value in of_data.items() if isinstance(value, ast.Constant)}
    return "not" if said.get("init") is False else "name" if said.get("kw_only", by_name) else "place"


def _is_special(node: ast.ClassDef, inner: NameScope, kind: str) -> bool:
    """Return whether more happens to the fields of a class than being set: validation by functions, aliases, limits, a metaclass."""
    if kind not in {"model", "dataclass", "frozen", "namedtuple"}:
        return False
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    decorators = {named(one) for method in methods for one in method.decorator_list}
    settings = _settings(node)
    if "extra" in settings:
        inner.names[" extra"] = True
    options = {name for one in ast.walk(node) for name in _options(one) or ()}
    return bool(decorators - _PLAIN_DECORATORS or options & _TURNS or settings - _SET_ASIDE)


_PLAIN_DECORATORS = frozenset({"property", "staticmethod", "classmethod"})


def _settings(node: ast.ClassDef) -> set[str | None]:
    """Return the names of what a class sets for pydantic, and None for what is not read of it."""
    found = {one.arg for one in node.keywords}
    for one in node.body:
        match one:
            case ast.ClassDef(name="Config"):
                found |= scan(one.body).bound | set(map(named, one.bases))
            case (
                ast.Assign(targets=[ast.Name(id="model_config")], value=value)
                | ast.AnnAssign(target=ast.Name(id="model_config"), value=value)
            ):
                found |= _names_set(value)
    return found


def _names_set(value: ast.expr | None) -> set[str | None]:
    match value:
        case ast.Call(func=func, args=[], keywords=keywords) if named(func).endswith("ConfigDict"):
            return {one.arg for one in keywords}
        case ast.Dict(keys=keys):
            return {getattr(one, "value", None) for one in keys}
    return {None}


_SET_ASIDE = frozenset({
    "title", "json_schema_extra", "schema_extra", "from_attributes", "orm_mode", "arbitrary_types_allowed", "populate_by_name",
    "allow_population_by_field_name", "validate_by_name", "protected_namespaces", "frozen", "validate_assignment", "extra", "defer_build",
    "use_attribute_docstrings", "hide_input_in_errors", "model_title_generator", "field_title_generator", "json_schema_mode_override",
    "json_schema_serialization_defaults_required",
})  # fmt: skip
"""What pydantic may be set that changes no field of an object that is made of known fields alone."""


_TURNS = frozenset(
    {"alias", "validation_alias", "serialization_alias", "exclude", "strict", "coerce_numbers_to_str"}
)


def _kind_of_class(node: ast.ClassDef, bases: Sequence[Any]) -> str:
    paths = {base.path.rpartition(".")[2] for base in bases if isinstance(base, External)}
    kinds = {base.kind for base in bases if isinstance(base, Class)}
    others = [base for base in bases if not isinstance(base, Class)]
    if any(isinstance(base, type) for base in bases) or "exception" in kinds:
        return "exception"
    known = next((kind for name, kind in _KINDS.items() if name in paths or kind in kinds), None)
    if known is not None:
        return known
    decorators = {named(one).partition("(")[0].rpartition(".")[2] for one in node.decorator_list}
    if decorators:
        is_frozen = any("frozen" in named(one) for one in node.decorator_list)
        is_data = decorators == {"dataclass"} and not others
        return "other" if not is_data else "frozen" if is_frozen else "dataclass"
    if node.keywords or not all(map(_is_plain_base, others)) or paths & {"str", "int"}:
        return "other"
    return "dataclass" if "dataclass" in kinds else "plain" if kinds <= {"plain"} else "other"


# ---------------------------------------------------------------- enumerations


_BASES: Mapping[tuple[str, ...], tuple[type[enum.Enum], type | None]] = {
    ("enum.Enum",): (enum.Enum, None),
    ("enum.StrEnum",): (enum.StrEnum, None),
    ("enum.IntEnum",): (enum.IntEnum, None),
    ("builtins.str", "enum.Enum"): (enum.Enum, str),
    ("builtins.int", "enum.Enum"): (enum.Enum, int),
}
_WRITING = frozenset({"__str__", "__repr__", "__format__"})
"""Methods that write a member: Python's own must not do it in their place."""


def _real_enumeration(
    node: ast.ClassDef,
    bases: Sequence[Any],
    inner: NameScope,
    evaluated: Callable[[ast.expr], Any],
) -> type[enum.Enum] | None:
    """Return the enumeration that a class statement of a module makes; None where its members are not all known, or are made in a special way."""
    base, mixed = _base_of(bases)
    of_module = inner.parent is not None and inner.parent.parent is None
    plain = {named(one).rpartition(".")[2] for one in node.decorator_list} <= {"unique"}
    if base is None or node.keywords or not plain or not of_module:
        return None
    members, written = list[tuple[str, Any]](), set[str]()
    for statement in node.body:
        match statement:
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.FunctionDef(name=name) if not name.startswith("_") or name in _WRITING:
                written |= {name} & _WRITING
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not name.startswith("_"):
                members.append((name, _value(inner.names.get(name), value, evaluated)))
            case _:
                return None
    if not all(isinstance(value, enum.auto) or _is_fixed(value) for _, value in members):
        return None
    made = _made(base, mixed, node.name, members, inner.module)
    for name in written if made is not None else ():
        setattr(made, name, touch)
    return made


def _is_fixed(value: Any) -> bool:
    return type(value) in SCALARS or (type(value) is tuple and all(type(one) in SCALARS for one in value))


def _base_of(bases: Sequence[Any]) -> tuple[type[enum.Enum] | None, type | None]:
    """Return from what Python's own enumeration is derived, and what its members are, too."""
    match bases:
        case [Class(real=type() as base)] if not base.__members__:
            return base, None
    return _BASES.get(tuple(one.path if isinstance(one, External) else "" for one in bases), (None, None))


def _value(found: Any, written: ast.expr, evaluated: Callable[[ast.expr], Any]) -> Any:
    """Return a member's value; `auto()` as Python has it."""
    if isinstance(written, ast.Call) and not written.args and not written.keywords:
        called = evaluated(written.func)
        if isinstance(called, External) and called.path == "enum.auto":
            return enum.auto()
    return found


def _made(
    base: type[enum.Enum], mixed: type | None, name: str, members: list[tuple[str, Any]], module: str
) -> type[enum.Enum] | None:
    options: dict[str, Any] = {} if mixed is None else {"type": mixed}
    work: Any = base
    try:
        made: type[enum.Enum] = work(name, members, module=module, qualname=name, **options)
    except (TypeError, ValueError, AttributeError):
        return None
    return made


# ---------------------------------------------------------------- what pydantic makes of values


Maker = Callable[[Class, Mapping[str, Any]], Any]
_AS_TEXT = (dt.datetime, dt.date, dt.time, dt.timedelta, decimal.Decimal, uuid.UUID)
"""The types that pydantic makes of texts, and writes as texts."""

_ADAPTERS: Mapping[str, TypeAdapter[Any]] = {
    f"{kind.__module__}.{kind.__name__}": TypeAdapter(kind) for kind in (str, int, float, bool, *_AS_TEXT)
}  # fmt: skip

LIMITS = frozenset({
    "ge", "gt", "le", "lt", "min_length", "max_length", "pattern", "multiple_of", "max_digits", "decimal_places",
})  # fmt: skip
"""The options of a field that limit its value."""


def kinds_of(annotation: ast.expr | None) -> list[ast.expr]:
    """Return the kinds of an annotation: the members of a union, or itself; of a text, those of what it says.

    Raises:
        TouchedError: It is no annotation.
    """
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                return kinds_of(parsed(text, "eval").body)
            except (SyntaxError, ValueError) as error:
                raise TouchedError from error
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*kinds_of(left), *kinds_of(right)]
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return [*kinds_of(inner), ast.Constant(None)]
        case ast.Subscript(
            value=ast.Name(id="Union") | ast.Attribute(attr="Union"), slice=ast.Tuple(elts=found)
        ):
            return [one for each in found for one in kinds_of(each)]
    return [] if annotation is None else [annotation]


def is_none(annotation: ast.expr) -> bool:
    """Return whether an annotation stands for None."""
    return isinstance(annotation, ast.Constant) and annotation.value is None


def validated(run: ProgramRun, annotation: ast.expr, value: Any, scope: NameScope, make: Maker) -> Any:
    """Return what pydantic makes of a known value; `make` makes an object of a model.

    Raises:
        TouchedError: That is not certain.
        ProgramException: It takes no such value.
    """
    run.budget.spend()
    kinds = kinds_of(annotation)
    others = [one for one in kinds if not is_none(one)]
    if len(others) < len(kinds) and value is None:
        return None
    if len(others) != 1:  # what exactly one of them takes as it is
        names = [f"builtins.{one.id}" for one in others if isinstance(one, ast.Name)]
        return _sure([one for one in names if one in _ADAPTERS].count(_path_of(type(value))) == 1, value)
    match others[0]:
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            return _generic(run, name, inner, value, scope, make)
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            held = look_up(scope, module)
            path = f"{held.path}.{name}" if isinstance(held, External) else ""
            return _named(
                run, name, External(path) if path in _ADAPTERS else look_up(scope, name), value, make
            )
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _named(run, name, look_up(scope, name), value, make)
    raise TouchedError


def in_json(value: Any) -> Any:
    """Return how pydantic and ADK write a known date, time, decimal or UUID as JSON; itself if it is none of these."""
    return to_jsonable_python(value) if type(value) in _AS_TEXT else value


def _path_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"


def _sure(so: bool, value: Any) -> Any:
    if not so:
        raise TouchedError
    return value


def _generic(run: ProgramRun, name: str, inner: ast.expr, value: Any, scope: NameScope, make: Maker) -> Any:
    if name == "Literal":
        every = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        stated = [getattr(one, "value", ...) for one in every]
        if isinstance(value, str) and all(type(one) is str and one != value for one in stated):
            raise failing(ValidationError)
        is_stated = any(type(one) is type(value) and one == value for one in stated)
        return _sure(type(value) in SCALARS and is_stated, value)
    if name in {"list", "List"}:
        _sure(type(value) is list and run.holds(value), value)
        return [validated(run, inner, one, scope, make) for one in value]
    if name in {"dict", "Dict"} and isinstance(inner, ast.Tuple) and len(inner.elts) == len(("key", "value")):
        _sure(type(value) is dict and run.holds(value), value)
        keys, values = inner.elts
        return {
            validated(run, keys, key, scope, make): validated(run, values, one, scope, make) for key, one in value.items()
        }  # fmt: skip
    raise TouchedError


def _named(run: ProgramRun, name: str, found: Any, value: Any, make: Maker) -> Any:
    if isinstance(found, Class):
        return _of_class(run, found, value, make)
    path = found.path if isinstance(found, External) else f"builtins.{name}" if found is None else ""
    if path in _ADAPTERS:
        _sure(type(value) in SCALARS, value)
        try:
            return _ADAPTERS[path].validate_python(value)
        except ValidationError as error:
            raise failing(ValidationError) from error
    if found is not None and not name.istitle():
        raise TouchedError
    if name == "Any":
        return value
    kind: Any = {"list": list, "dict": dict}.get(name.lower())
    return _sure(kind is type(value) and run.holds(value), value).copy()


def _of_class(run: ProgramRun, cls: Class, value: Any, make: Maker) -> Any:
    if cls.real is not None:
        if type(value) is cls.real:
            return value
        equal = [one for one in cls.real if type(one.value) is type(value) and one.value == value]
        return _sure(len(equal) == 1, equal[0] if equal else None)
    if (
        cls.kind == "model"
        and type(value) is dict
        and run.holds(value)
        and all(type(key) is str for key in value)
    ):
        return make(cls, value)
    return _sure(cls.kind == "model" and isinstance(value, ClassInstance) and value.cls is cls, value)


def keeps_limits(value: Any, limits: Mapping[str, Any]) -> bool | None:
    """Return whether a value keeps the limits of its field; None where that is not known."""
    if not limits:
        return True
    if not all(type(limit) in SCALARS for limit in limits.values()):
        return None
    try:
        kind: Any = Annotated[type(value), Field(**limits)]
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    except Exception:  # noqa: BLE001 - the limits do not belong to such a value
        return None
    return True
