"""The node of expressions."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.common.typeinfo import TypeInformation
from penstock.expressions import Expression
from penstock.plan.nodes import Node, RecordFunctionKind


@dataclass(frozen=True, kw_only=True)
class ExpressionNode(Node):
    """Maps each record to the value of an expression, or to several, or keeps it where the value is true."""

    # Not compared: `==` between expressions makes an expression.
    expression: Expression = field(compare=False)
    input_type: TypeInformation
    function_kind: RecordFunctionKind
    """MAP, FILTER or FLAT_MAP."""

    @property
    def kind(self) -> str:
        """That of the node with a function in its place, which derived uids depend on."""
        return self.function_kind.value.title().replace("_", "")
