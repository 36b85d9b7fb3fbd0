"""Rules between fields, such as `n_total >= n_treated`: comparisons, arithmetic, names of fields. Nothing is ever executed."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST_RULE = 500
DEEPEST = 20
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.In: lambda one, other: one in other, ast.NotIn: lambda one, other: one not in other,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


class BadRule(ValueError):
    """A rule that cannot be read; the text says which part."""


@dataclass(frozen=True)
class Rule:
    """A rule: its text, and the names of the fields in it."""

    text: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Rule:
        """Read a rule. Raises BadRule."""
        tree = _tree(text)
        if not isinstance(tree, ast.Compare | ast.BoolOp) and not _is_negation(tree):
            raise BadRule(text)
        _check(tree, 0)
        # A dotted name is one nested field, so its outer names are not fields.
        return cls(text, tuple(dict.fromkeys(_names(tree))))

    def holds(self, values: Mapping[str, Any]) -> bool | None:
        """Whether the values satisfy the rule; None if a value is missing or the values cannot be compared."""
        if any(values.get(name) is None for name in self.names):
            return None
        try:
            return bool(_value(_tree(self.text), values))
        except (TypeError, ZeroDivisionError, OverflowError):
            return None


def _tree(text: str) -> ast.expr:
    if len(text) > LONGEST_RULE:
        raise BadRule(text[:60])
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadRule(text) from None


def _check(node: ast.expr, depth: int) -> None:
    """Raise BadRule for anything but comparisons, arithmetic, `and`, `or`, `not`, names, numbers and texts."""
    if depth > DEEPEST:
        raise BadRule(ast.unparse(node)[:60])
    if _field_name(node) is not None or _is_constant(node):
        return
    is_known = (
        (isinstance(node, ast.Compare) and all(type(one) in COMPARISONS for one in node.ops))
        or (isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC)
        or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not))
        or isinstance(node, ast.BoolOp | ast.Tuple | ast.List)
    )
    if not is_known:
        raise BadRule(ast.unparse(node)[:60])
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            _check(child, depth + 1)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | str | bool)


def _is_negation(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _field_name(node: ast.expr) -> str | None:
    """The name of a field, also of a nested one: `dose.amount`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (outer := _field_name(node.value)) is not None:
        return f"{outer}.{node.attr}"
    return None


def _names(node: ast.expr) -> list[str]:
    if (name := _field_name(node)) is not None:
        return [name]
    return [name for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr) for name in _names(child)]


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    if (name := _field_name(node)) is not None:
        return values[name]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple | ast.List):
        return [_value(one, values) for one in node.elts]
    if isinstance(node, ast.BoolOp):
        every = all if isinstance(node.op, ast.And) else any
        return every(_value(one, values) for one in node.values)
    if isinstance(node, ast.UnaryOp):
        one = _value(node.operand, values)
        return not one if isinstance(node.op, ast.Not) else -one
    if isinstance(node, ast.BinOp):
        one, other = _value(node.left, values), _value(node.right, values)
        if not (_is_number(one) and _is_number(other)):
            raise TypeError
        return ARITHMETIC[type(node.op)](one, other)
    assert isinstance(node, ast.Compare)
    sides = [_value(one, values) for one in (node.left, *node.comparators)]
    pairs = zip(node.ops, sides, sides[1:], strict=False)
    return all(COMPARISONS[type(how)](one, other) for how, one, other in pairs)


def _is_number(value: Any) -> bool:
    # No arithmetic on texts: "a" * 10**9 would exhaust memory.
    return isinstance(value, int | float) and not isinstance(value, bool)
