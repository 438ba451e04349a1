"""Constant folding: what has the same value for all records is computed once, when the plan is built."""

from __future__ import annotations

from penstock.common.codecs import codec_for
from penstock.common.errors import PenstockError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.expressions.arithmetic import Arithmetic
from penstock.expressions.bound import EVALUATION_ERRORS, Rows
from penstock.expressions.construction import Alias
from penstock.expressions.evaluator import bind
from penstock.expressions.expression import Expression
from penstock.expressions.expression_parts import parts_of
from penstock.expressions.references import Literal, literal

# No part that is folded looks at the record, so that its type does not matter.
_NO_RECORD: TypeInformation = Types.BOOLEAN()
_ONE_ROW = Rows([], 1)


def folded(expression: Expression) -> Expression:
    """The expression with literals in the place of parts that are made of literals alone.

    Values, types and errors stay: a part that cannot be computed, or whose type a literal would not have, is kept as it
    is. An expression without such parts is returned itself.

    >>> from penstock.expressions import col, lit
    >>> folded(lit(2) * 3 + col("x"))
    6 + col("x")
    >>> folded(col("x") + lit(1) // 0)
    col("x") + (1 // 0)
    """
    # What is used in several places is folded once, and stays one: it is computed once.
    known: dict[int, Expression] = {}
    for part in parts_of(expression):
        known[id(part)] = _with_operands(part, [known[id(operand)] for operand in part.operands])
    return known[id(expression)]


def _with_operands(expression: Expression, operands: list[Expression]) -> Expression:
    if _is_power(expression) and _is_negative(operands[1]):
        # An exponent that is negative and a literal makes a float of an integer.
        operands[1] = expression.operands[1]
    if any(new is not old for new, old in zip(operands, expression.operands, strict=True)):
        expression = Expression(expression.operation, operands)
    constant = _computed(expression)
    return expression if constant is None else constant


def _is_power(expression: Expression) -> bool:
    return isinstance(expression.operation, Arithmetic) and expression.operation.symbol == "**"


def _is_negative(operand: Expression) -> bool:
    value = operand.operation.value if isinstance(operand.operation, Literal) else 0
    return isinstance(value, int | float) and value < 0


def _computed(expression: Expression) -> Expression | None:
    """The literal that an expression of literals is; None where it is none."""
    operands = expression.operands
    if not operands or isinstance(expression.operation, Alias):
        return None
    if not all(isinstance(operand.operation, Literal) for operand in operands):
        return None
    try:
        bound = bind(expression, _NO_RECORD)
        if bound.type is None or bound.type.is_pickled:
            return None
        (value,) = codec_for(bound.type).to_values([bound.column(_ONE_ROW)])
        constant = Expression(literal(value))
        type_of_constant = bind(constant, _NO_RECORD).type
    except (*EVALUATION_ERRORS, PenstockError):
        return None
    if value is None or type_of_constant is None or type_of_constant.exact_key() != bound.type.exact_key():
        return None
    return constant
