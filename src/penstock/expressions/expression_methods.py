"""What the groups of an expression's methods have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.column_computation import ColumnComputation
from penstock.expressions.operation import Operation

if TYPE_CHECKING:
    from penstock.expressions.expression import Expression


class ExpressionMethods(ColumnComputation):
    """Methods that make new expressions of this one; `Expression` has all of them."""

    def _made(self, operation: Operation, *others: Any) -> Expression:
        """An operation on this expression and others."""
        raise NotImplementedError
