"""Validates values that come from outside, and puts what pydantic found wrong into words for people.

pydantic lists everything that is wrong, of a megabyte half a million things. So a long value is validated by a schema that ends
soon after the first flaw, and what is told of many flaws are the first ten.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError, PydanticOmit, SchemaValidator, core_schema

Kind = TypeVar("Kind")

MOST_FLAWS = 10
"""How many flaws of a value are told."""
MOST_TEXT = 4_000
"""How long the text of an error is at most, in characters."""

_SHOWN = 80
_LONGEST_LINE = MOST_TEXT // (MOST_FLAWS + 2)
FEW_VALUES = 5_000
"""Of so many values pydantic may list whatever is wrong."""
_STOPPED = "stopped"
_INSIDE = {
    "list": "items_schema", "tuple": "items_schema", "set": "items_schema", "frozenset": "items_schema", "dict": "values_schema",
}  # fmt: skip
"""Where a schema has that of its entries."""
_PASSED_OVER = frozenset({"metadata", "serialization", "default", "expected"})


class InputError(ValueError):
    """Something that comes from outside cannot be used; the text says what is wrong and where, and is never long."""

    def __init__(self, *words: object) -> None:
        super().__init__(*(shortened(each, MOST_TEXT) if isinstance(each, str) else each for each in words))


def check_kind(value: object, member: str, wanted: str) -> None:
    """Check by a member of it that an argument of a public function is of the kind that is wanted.

    Raises:
        TypeError: It is of another; the text says which is wanted.
    """
    if not hasattr(value, member):
        raise TypeError(f"expected {wanted}, not {type(value).__name__}")


def validated(kind: type[Kind], value: Any) -> Kind:
    """Validate a value.

    Args:
        kind: A model, or another type that pydantic knows.
        value: The value, as JSON gives it.

    Raises:
        pydantic.ValidationError: It is none. A long value is not validated to its end.
    """
    hashable: Any = kind
    if is_long(value):
        told = {"left": MOST_FLAWS}
        found = _stopping(hashable).validate_python(value, context=told)
        if told["left"] >= 0:
            return cast("Kind", found)
    return cast("Kind", _adapter(hashable).validate_python(value))


def is_long(value: Any, most: int | None = None) -> bool:
    """Return whether a value holds more values than `most` or else `FEW_VALUES`, in lists and objects of any depth."""
    most = FEW_VALUES if most is None else most
    level, count = [value], 0
    while level:
        inside: list[Any] = []
        for each in level:
            if isinstance(each, (dict, list, tuple)):
                count += len(each)
                if count > most:
                    return True
                inside.extend(each.values() if isinstance(each, dict) else each)
        level = inside
    return False


def flaws(error: ValidationError, words: Callable[[ErrorDetails], str] | None = None) -> Iterator[str]:
    """Yield what is wrong, one line for each of the first flaws, and how many more there are.

    Args:
        error: Everything that was found.
        words: Makes a line of a flaw; its place and pydantic's message where none is given.
    """
    found = error.errors(include_url=False, include_context=False)
    for detail in found[:MOST_FLAWS]:
        yield shortened(words(detail) if words else f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}")
    if any(detail["type"] == _STOPPED for detail in found):
        yield "and more: the check stopped there"
    elif len(found) > MOST_FLAWS:
        yield f"and {len(found) - MOST_FLAWS:,} more"


def shortened(words: str, most: int = _LONGEST_LINE) -> str:
    """Return words as one line of an error may have them; what is longer is cut."""
    return words if len(words) <= most else f"{words[:most]}..."


def doubled(names: Iterable[str]) -> str:
    """Name the first texts that stand more than once, in their order by the alphabet; empty where none does."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    more = f" and {len(twice) - MOST_FLAWS:,} more" if len(twice) > MOST_FLAWS else ""
    return ", ".join(shortened(repr(name), _SHOWN) for name in twice[:MOST_FLAWS]) + more


def first_of(error: ValidationError) -> ErrorDetails:
    """Return the first flaw."""
    return error.errors(include_url=False, include_context=False)[0]


def complaint(detail: ErrorDetails, known: Iterable[str]) -> str:
    """Return what is wrong with one field; `known` are the names that a misspelt one may have meant."""
    match detail["type"]:
        case "extra_forbidden":
            name = str(detail["loc"][-1])
            names = [*known]
            is_odd = len(name) <= _SHOWN and name not in names  # else it is a field elsewhere
            near = difflib.get_close_matches(name, names, n=1) if is_odd else []
            return "unknown field" + (f"; did you mean {near[0]!r}?" if near else "")
        case "missing":
            return "this field is required"
        case "value_error":
            return detail["msg"].removeprefix("Value error, ")
        case "model_type" | "model_attributes_type":
            return f"Input should be an object, {_got(detail)}"
        case "tuple_type":
            return f"Input should be a list, {_got(detail)}"
        case _:
            return f"{detail['msg']}, {_got(detail)}"


def _got(detail: ErrorDetails) -> str:
    value = detail["input"]
    if isinstance(value, (str, bytes)):
        value = value[:_SHOWN]
    elif is_long(value, _SHOWN):
        return f"got a long {'object' if isinstance(value, dict) else 'list'}"
    return f"got {value!r:.{_SHOWN}}"


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    adapter = TypeAdapter(kind)
    adapter.rebuild()  # those of google-genai make their schema when they are used first
    return adapter


@lru_cache(maxsize=64)
def _stopping(kind: Any) -> SchemaValidator:
    """Make a validator of a type that gives the same values, and looks no further where enough is wrong."""
    schema = _ending(_adapter(kind).core_schema, is_sure=True)
    return SchemaValidator(schema, _use_prebuilt=False)  # one that is built already would list everything


def _ending(schema: Any, *, is_sure: bool) -> Any:
    """Copy a schema so that it ends early; `is_sure`: no other branch of a union can take what this one refuses."""
    if isinstance(schema, (list, tuple)):
        return type(schema)(_ending(each, is_sure=is_sure) for each in schema)
    if not isinstance(schema, dict):
        return schema
    kind = (
        schema["type"] if isinstance(schema.get("type"), str) else ""
    )  # a model may have a field of that name
    is_sure = is_sure and kind != "union"
    made = {
        name: held if name in _PASSED_OVER else _ending(held, is_sure=is_sure)
        for name, held in schema.items()
    }
    inside = _INSIDE.get(kind, "")
    if kind in _INSIDE and not is_sure:
        made["fail_fast"] = kind != "dict"
    elif isinstance(held := made.get(inside), dict) and held["type"] != "any":
        made[inside] = core_schema.with_info_wrap_validator_function(_first_ones, held)
    elif inside == "items_schema" and isinstance(held, list) and "variadic_item_index" in made:
        made[inside] = [core_schema.with_info_wrap_validator_function(_first_ones, each) for each in held]
    elif kind == "model" and made.get("config", {}).get("extra_fields_behavior") == "forbid":
        check = _few_unknown(_names(schema["schema"]))
        # Around the model, as one with an `__init__` of its own is validated by its class alone.
        ref = made.pop("ref", None)
        return core_schema.no_info_before_validator_function(check, made, ref=ref)
    return made


def _first_ones(
    value: Any, handler: core_schema.ValidatorFunctionWrapHandler, info: core_schema.ValidationInfo[Any]
) -> Any:
    """Validate an entry of a list or an object, unless enough others are wrong."""
    left = info.context
    if left["left"] < 0:
        raise PydanticOmit
    try:
        return handler(value)
    except ValidationError:
        left["left"] -= 1
        if left["left"] >= 0:
            raise
        raise PydanticCustomError(_STOPPED, "too much is wrong") from None


def _few_unknown(known: frozenset[str]) -> Callable[[Any], Any]:
    """Return a function that refuses an object most of whose members nobody knows."""

    def check(value: Any) -> Any:
        if isinstance(value, dict) and len(value) > len(known) + MOST_FLAWS:
            unknown = [name for name in value if name not in known]
            named = ", ".join(shortened(repr(name), 20) for name in unknown[:MOST_FLAWS])
            words = f"unknown fields: {named} and {len(unknown) - MOST_FLAWS:,} more"
            raise PydanticCustomError("unknown_fields", "{words}", {"words": words})
        return value

    return check


def _names(schema: Any) -> frozenset[str]:
    """Return the names that an object's members may have, aliases too."""
    while isinstance(schema, Mapping) and schema.get("type") != "model-fields":
        schema = schema.get("schema")
    fields: Mapping[str, Any] = (schema or {}).get("fields", {})
    aliases = [field.get("validation_alias", ()) for field in fields.values()]
    paths = [path for each in aliases for path in ([[each]] if isinstance(each, str) else each)]
    return frozenset(fields).union(path[0] if isinstance(path, list) else path for path in paths)


_NAMES_SHOWN = 8
_LONGEST_COMPARED, _CHARACTERS_COMPARED = 500, 60_000
LONGEST_NAME = 60
"""A longer name is shown up to here."""


def near(name: str, names: Iterable[str]) -> str:
    """Return which names there are: those that begin like it, else those alike, else the first ones."""
    known = [known for known in names if isinstance(known, str)]
    compared, size = [], 0
    for one in (one for one in known if len(one) <= _LONGEST_COMPARED):
        size += len(one)
        if size > _CHARACTERS_COMPARED:
            break
        compared.append(one)
    begun = [one for one in known if name and one.startswith(name)]
    alike = begun[:3] or difflib.get_close_matches(name[:_LONGEST_COMPARED], compared, n=3, cutoff=0.6)
    if alike:
        return "did you mean " + " or ".join(alike) + "?"
    shown = ", ".join(_short(one) for one in known[:_NAMES_SHOWN])
    return (
        f"available: {shown}{', ...' if len(known) > _NAMES_SHOWN else ''}"
        if known
        else "nothing is available"
    )


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}\u2026"
