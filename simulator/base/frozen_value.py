"""The base of what never changes: facts, settings, results. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Self, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Strict

# What `BaseModel` keeps beside a value's fields; a frozen value cannot be given them by assignment.
_set_fields_set = vars(BaseModel)["__pydantic_fields_set__"].__set__
_set_extra = vars(BaseModel)["__pydantic_extra__"].__set__
_set_private = vars(BaseModel)["__pydantic_private__"].__set__


class Value(BaseModel):
    """A frozen value; a field that nobody knows is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    _template: ClassVar[dict[str, Any]] = {}
    _made_anew: ClassVar[dict[str, Callable[[], Any]]] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Keep the fields in their order, each with its default, and how those are made that no two values may share."""
        fields = cls.model_fields
        cls._template = {
            name: None if field.is_required() else field.default for name, field in fields.items()
        }
        cls._made_anew = {
            # Called as it is: `get_default` would look at its signature each time, which takes longer than all of `known`.
            name: cast("Callable[[], Any]", field.default_factory)
            for name, field in fields.items()
            if field.default_factory
        }

    @classmethod
    def known(cls, **fields: Any) -> Self:
        """Make a value from fields that are right for certain; all that are required are to be given.

        For what this package has just written itself, while an agent waits: validating it again takes several times
        as long, and so does pydantic's `model_construct`.
        """
        value = object.__new__(cls)
        held = value.__dict__
        held.update(cls._template)
        held.update(fields)
        if cls._made_anew:
            held.update((name, make()) for name, make in cls._made_anew.items() if name not in fields)
        _set_fields_set(value, set(fields))
        _set_extra(value, None)
        _set_private(value, None)
        return value


Number: TypeAlias = Annotated[float, Strict()]
"""A number: no truth value, and no text that looks like one."""

Whole: TypeAlias = Annotated[int, Strict()]
"""A whole number, as strictly."""


class FiniteValue(Value):
    """A value whose numbers are such as JSON has."""

    model_config = ConfigDict(allow_inf_nan=False)
