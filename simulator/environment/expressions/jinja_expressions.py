"""Reads expressions with jinja2's parser, and evaluates them in its sandbox."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jinja2 import TemplateError, TemplateSyntaxError, UndefinedError, nodes
from jinja2.parser import Parser
from jinja2.utils import consume
from jinja2.visitor import NodeTransformer

from simulator.base.validation_words import near
from simulator.base.work_limit import limited
from simulator.environment.expressions.compiled_expression import CompiledExpression, ExpressionError
from simulator.environment.expressions.expression_values import plain
from simulator.environment.expressions.sandbox import Sandbox

_DEEPEST = 60
_TOO_DEEP = "it is nested too deeply"
_LANGUAGE = Sandbox()
_UNKNOWN = re.compile(r"'(\w+)' is undefined")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")

# What evaluating one can raise: jinja2's own errors (its filters assert), and those of Python's operators.
_FAILURES = (
    TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError,
    AssertionError,
)  # fmt: skip


class JinjaExpression(CompiledExpression):
    """An expression that jinja2 has read."""

    __slots__ = ("_template",)

    def __init__(self, text: str, tree: nodes.Expr) -> None:
        super().__init__(
            text,
            names=frozenset(
                name.name for name in _all(tree, nodes.Name) if name.name not in _LANGUAGE.globals
            ),
            paths=tuple(dict.fromkeys(_paths(tree))),
            called=dict(_called(tree)),
        )
        body: list[nodes.Node] = [
            nodes.Assign(nodes.Name("result", "store"), _AsJson().visit(tree), lineno=1)
        ]
        template = nodes.Template(body, lineno=1)
        template.set_environment(_LANGUAGE)
        self._template = _LANGUAGE.from_string(template)

    def value(self, variables: Mapping[str, object]) -> Any:
        """Return the expression's value, as the base class says."""
        try:
            with limited():
                return plain(self._result({**_LANGUAGE.globals, **variables}))
        except UndefinedError as error:
            raise ExpressionError(self.text, _what_is_missing(error, variables)) from None
        except RecursionError:
            raise ExpressionError(self.text, _TOO_DEEP) from None
        except _FAILURES as error:
            raise ExpressionError(self.text, _reason(error)) from error

    def _result(self, variables: dict[str, Any]) -> Any:
        """Run it as jinja2's `TemplateExpression` does, in a context that need not be merged from others."""
        context = self._template.new_context(variables, shared=True)
        consume(self._template.root_render_func(context))
        return context.vars["result"]


class _AsJson(NodeTransformer):
    """Makes lists of tuples, which JSON has not, and has `~` write JSON, where jinja2 would write what Python shows."""

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802 - jinja2's name
        return self.generic_visit(nodes.List(node.items))

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - as above
        parts = self.generic_visit(nodes.List(node.nodes))
        return nodes.Filter(parts, "join", [], [], None, None)


def read(text: str) -> JinjaExpression:
    """Read an expression.

    Raises:
        ExpressionError: It is none; says what is wrong.
    """
    try:
        return JinjaExpression(text, _tree(text))
    except TemplateSyntaxError as error:
        raise ExpressionError(text, _syntax_reason(text, error.message or "it cannot be read")) from None
    except (RecursionError, MemoryError):  # Python's compiler gives up at some depth
        raise ExpressionError(text, _TOO_DEEP) from None
    except SyntaxError as error:  # the same, or what only Python's compiler refuses
        deep = "nested" in error.msg or "parenthes" in error.msg
        raise ExpressionError(text, _TOO_DEEP if deep else error.msg) from None
    except (ValueError, OverflowError) as error:  # a number of thousands of digits
        raise ExpressionError(text, str(error)) from None


def _tree(text: str) -> nodes.Expr:
    parser = Parser(_LANGUAGE, text.strip(), state="variable")
    tree = parser.parse_expression()
    if not parser.stream.eos:
        token = parser.stream.current
        raise TemplateSyntaxError(f"unexpected {str(token.value)!r}", token.lineno)
    _check(tree)
    return tree


def _check(tree: nodes.Node) -> None:
    level, depth = [tree], 0
    while level:
        for node in level:
            if isinstance(node, nodes.Filter) and node.name not in _LANGUAGE.filters:
                raise TemplateSyntaxError(f"no filter {node.name!r}; {near(node.name, _LANGUAGE.filters)}", 1)
            if isinstance(node, nodes.Test) and node.name not in _LANGUAGE.tests:
                raise TemplateSyntaxError(f"no test {node.name!r}; {near(node.name, _LANGUAGE.tests)}", 1)
            if isinstance(node, nodes.Const):
                _check_literal(node.value)
            if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
                _check_sliced(node.node)
            if isinstance(node, (nodes.Getattr, nodes.Name)) and _attribute(node).startswith("_"):
                raise TemplateSyntaxError(f"{_attribute(node)!r} begins with '_', which is not allowed", 1)
        level = [child for node in level for child in node.iter_child_nodes()]
        depth += 1
        if depth > _DEEPEST:
            raise TemplateSyntaxError(_TOO_DEEP, 1)


def _check_literal(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise TemplateSyntaxError("a number is too large; the largest is about 1.8e308", 1)
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise TemplateSyntaxError("a text contains half of a surrogate pair, which is not a character", 1)


def _check_sliced(node: nodes.Node) -> None:
    """Refuse what Python's compiler would warn of, whoever reads the expression."""
    while isinstance(node, nodes.UnaryExpr):
        node = node.node
    if isinstance(node, nodes.Const) and not isinstance(node.value, str):
        raise TemplateSyntaxError("only a text or a list can be sliced", 1)


def _attribute(node: nodes.Getattr | nodes.Name) -> str:
    return node.attr if isinstance(node, nodes.Getattr) else node.name


# ---------------------------------------------------------------- what it reads


def _all(tree: nodes.Node, kind: type[nodes.Name]) -> list[nodes.Name]:
    return [*([tree] if isinstance(tree, kind) else []), *tree.find_all(kind)]


def _called(tree: nodes.Expr) -> Iterator[tuple[str, str]]:
    for call in [*([tree] if isinstance(tree, nodes.Call) else []), *tree.find_all(nodes.Call)]:
        if isinstance(call.node, nodes.Name) and call.node.name not in _LANGUAGE.globals:
            yield call.node.name, _path(call.args[0])[0] if call.args else ""


def _paths(node: nodes.Node) -> list[str]:
    path, rest = _path(node)
    found = [path] if path and path not in _LANGUAGE.globals else []
    return found + [inner for child in rest for inner in _paths(child)]


def _path(node: nodes.Node) -> tuple[str, list[nodes.Node]]:
    """Return the path that a node itself is ("" if none), and the nodes that are yet to be looked at."""
    if isinstance(node, nodes.Name):
        return node.name, []
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        arguments = [child for child in node.iter_child_nodes() if child is not node.node]
        return "", [node.node.node, *arguments]
    if not isinstance(node, (nodes.Getattr, nodes.Getitem)):
        return "", list(node.iter_child_nodes())
    step = _step(node)
    path, rest = _path(node.node)
    if not step or not path or (rest and isinstance(node.node, nodes.Getitem)):
        return path, [*rest, *([node.arg] if isinstance(node, nodes.Getitem) and not step else [])]
    return path + step, rest


def _step(node: nodes.Getattr | nodes.Getitem) -> str:
    if isinstance(node, nodes.Getattr):
        return f".{node.attr}"
    if not isinstance(node.arg, nodes.Const):
        return ""
    known = node.arg.value
    if isinstance(known, str):
        return f".{known}" if _IDENTIFIER.fullmatch(known) else f'["{known}"]'
    return f"[{known}]" if isinstance(known, int) else ""


# ---------------------------------------------------------------- what is wrong


def _what_is_missing(error: UndefinedError, variables: Mapping[str, object]) -> str:
    message = error.message or "something is missing"
    if unknown := _UNKNOWN.fullmatch(message):
        name = unknown.group(1)
        return f"{name!r} is not known; {near(name, variables)}"
    return message


def _reason(error: Exception) -> str:
    if isinstance(error, ZeroDivisionError):
        return "it divides by zero"
    return str(error) or type(error).__name__


def _syntax_reason(text: str, message: str) -> str:
    if re.search(r"(?<![=!<>])=(?!=)", text) and ("'='" in message or "assign" in message):
        return "a single '=' does not compare; write '=='"
    if "end of template" in message or "end of statement block" in message:
        wanted = re.search(r"expected '(\W)'", message)
        return f"it ends, but {wanted.group(1)!r} is missing" if wanted else "it ends too early"
    return message.replace("end of print statement", "its end")
