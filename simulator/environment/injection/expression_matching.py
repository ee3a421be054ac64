"""Asks a rule's expression, such as `args.quantity > 3`, whether it is true for a call."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.environment.injection.conditions import Expression
from simulator.environment.injection.matchers import Matcher, Seen, Why
from simulator.environment.injection.value_tests import shown
from simulator.environment.language import paths
from simulator.environment.language.expressions import ExpressionError, compiled

_FALSE = 0.5
_MOST_SHOWN = 3
_SHORT = ("args", "state", "agent")
"""Variables whose values are short enough for a reason."""


class ExpressionMatcher(Matcher):
    """Asks for an expression to be true. One that has no value does not hold, negated or not."""

    def __init__(self, condition: Expression, *, negated: bool) -> None:
        self._expression = compiled(condition.text)
        self._negated = negated

    def holds(self, seen: Seen, number: int | None) -> bool:
        """Tell whether it is true, or false where that is asked for."""
        del number
        try:
            return self._is_true(seen) is not self._negated
        except ExpressionError:
            return False

    def _is_true(self, seen: Seen) -> bool:
        return bool(self._expression.value(self._variables(seen), seen.work))

    def _variables(self, seen: Seen) -> Mapping[str, object]:
        variables: dict[str, object] = {"args": seen.call.arguments, "agent": seen.call.agent}
        names = self._expression.names
        if "world" in names:
            variables["world"] = seen.world
        if "state" in names:
            variables["state"] = seen.state
        if "calls" in names:
            variables["calls"] = seen.calls
        return variables

    def why(self, seen: Seen, number: int | None) -> Why:
        """Say what it was, and the values that it read."""
        del number
        try:
            self._is_true(seen)
        except ExpressionError as error:
            return Why(str(error), 0.0)
        was, wanted = ("true", ", wanted it not to be") if self._negated else ("false", "")
        return Why(f"{self._expression.text} was {was}{wanted}{self._values(seen)}", _FALSE)

    def _values(self, seen: Seen) -> str:
        """Show the values that the expression has read, where that helps."""
        variables = self._variables(seen)
        read = [path for path in self._expression.paths if path.split(".")[0].split("[")[0] in _SHORT]
        told = [
            f"{path} was {shown(value)}"
            for path in read[:_MOST_SHOWN]
            for _, value in paths.parse(path).found(dict(variables))  # type: ignore[arg-type] # JSON values by name
        ]
        return f" ({', '.join(told)})" if told else ""
