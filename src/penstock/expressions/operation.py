"""What an expression does with its operands: frozen descriptions that find their types and kernels when bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.common.errors import PlanError
from penstock.common.typeinfo import TypeInformation
from penstock.expressions.bound import BoundExpression
from penstock.expressions.type_rules import ExpressionType, shown


@dataclass(frozen=True)
class Operation:
    """One node of an expression, without its operands."""

    encloses_operands: ClassVar[bool] = True
    """Whether operands stand in parentheses where they are infix themselves."""

    @property
    def is_infix(self) -> bool:
        """Whether its text needs parentheses inside other text."""
        return False

    def render(self, operands: Sequence[str]) -> str:
        """The text of the expression; operands come in parentheses where they need them."""
        raise NotImplementedError

    def bind(self, text: str, operands: Sequence[BoundExpression], record_type: TypeInformation) -> BoundExpression:
        """The operation over records of a type; raises `PlanError` where the types do not suit."""
        raise NotImplementedError


@dataclass(frozen=True)
class InfixOperation(Operation):
    """An operation that is written between its two operands."""

    symbol: str

    @property
    def is_infix(self) -> bool:
        """True."""
        return True

    def render(self, operands: Sequence[str]) -> str:
        """`left symbol right`."""
        return f"{operands[0]} {self.symbol} {operands[1]}"


@dataclass(frozen=True)
class MethodOperation(Operation):
    """An operation that is written as a method of its first operand."""

    @property
    def method(self) -> str:
        """The name of the method."""
        raise NotImplementedError

    @property
    def arguments(self) -> Sequence[object]:
        """What the method is told beside its operands."""
        return ()

    def render(self, operands: Sequence[str]) -> str:
        """`operand.method(arguments)`."""
        subject, *others = operands
        return f"{subject}.{self.method}({', '.join([*others, *map(quoted, self.arguments)])})"


@dataclass(frozen=True)
class FunctionOperation(Operation):
    """An operation that is written as a function of its operands."""

    encloses_operands = False

    @property
    def function(self) -> str:
        """The name of the function."""
        raise NotImplementedError

    def render(self, operands: Sequence[str]) -> str:
        """`function(operands)`."""
        return f"{self.function}({', '.join(operands)})"


def quoted(value: object) -> str:
    """A value as programs write it: texts in double quotes."""
    text = repr(value)
    return f'"{text[1:-1]}"' if isinstance(value, str) and text[0] == "'" and '"' not in text else text


def require(
    text: str, operands: Sequence[BoundExpression], suits: Callable[[ExpressionType], bool], expected: str
) -> None:
    """Raises `PlanError` for the first operand whose type does not suit."""
    for operand in operands:
        if not suits(operand.type):
            raise unsuitable(text, operand, expected)


def unsuitable(text: str, operand: BoundExpression, expected: str) -> PlanError:
    """The error of an operand of the wrong type."""
    return PlanError(f"`{text}` needs {expected}, but `{operand.text}` is {shown(operand.type)}")
