"""What an expression is made of."""

from __future__ import annotations

from penstock.expressions.expression import Expression


def parts_of(expression: Expression) -> list[Expression]:
    """The expression and all that it is made of: each once, however often it is used, and its operands before it."""
    found: dict[int, Expression] = {}
    pending = [expression]
    while pending:
        missing = [operand for operand in pending[-1].operands if id(operand) not in found]
        if missing:
            pending += missing
        else:
            part = pending.pop()
            found[id(part)] = part
    return list(found.values())
