"""The functions that expressions start from: `col`, `lit`, `this`, `when`, `row`, `concat`, ..."""

from __future__ import annotations

from typing import Any

from penstock.expressions.argument_checks import check_field, check_text, refused
from penstock.expressions.collection_functions import Explode, MakeArray
from penstock.expressions.conditional import CaseWhen, Coalesce, Extreme
from penstock.expressions.construction import MakeRow
from penstock.expressions.expression import Expression, as_expression
from penstock.expressions.operation import Operation
from penstock.expressions.references import FieldReference, RecordReference, literal
from penstock.expressions.text_functions import Concat, ConcatWithSeparator


def col(name: str | int) -> Expression:
    """A field of the record, by its name or its place; the fields of a tuple are called f0, f1, ...

    >>> col("price") * 0.9
    col("price") * 0.9
    """
    return Expression(FieldReference(check_field(name)))


def this() -> Expression:
    """The record itself: the way to a record that has no fields, such as a number.

    >>> this() % 2 == 0
    (this() % 2) == 0
    """
    return Expression(RecordReference())


def lit(value: Any) -> Expression:
    """A value that is the same for all records. Beside an expression it is not needed: `col("n") + 1`.

    >>> lit("EUR")
    "EUR"
    """
    return Expression(literal(value))


class When(Expression):
    """`when(condition, value)` and what follows it; without `otherwise` the rest is None."""

    def __init__(self, *branches: Expression) -> None:
        super().__init__(CaseWhen(), (*branches, lit(None)))
        self._branches = branches

    def when(self, condition: Expression | bool, value: Any) -> When:
        """The value where the condition is true and none before it was."""
        return When(*self._branches, _condition(condition), as_expression(value))

    def otherwise(self, value: Any) -> Expression:
        """The value where no condition is true."""
        return Expression(CaseWhen(), (*self._branches, as_expression(value)))


def when(condition: Expression | bool, value: Any) -> When:
    """The value of the first condition that is true; a value is computed only where it is needed.

    >>> when(col("n") != 0, col("total") / col("n")).otherwise(0.0)
    when(col("n") != 0, col("total") / col("n")).otherwise(0.0)
    """
    return When(_condition(condition), as_expression(value))


def _condition(condition: Any) -> Expression:
    if not isinstance(condition, Expression | bool):
        raise refused(f"when takes a condition such as `col('n') > 0`, got {condition!r}")
    return as_expression(condition)


def coalesce(*values: Any) -> Expression:
    """The first value that is not None.

    >>> coalesce(col("nickname"), col("name"), "?")
    coalesce(col("nickname"), col("name"), "?")
    """
    return _function(Coalesce(), values)


def least(*values: Any) -> Expression:
    """The least of several values, as Python's `min`; None where one of them is None."""
    return _function(Extreme("least"), values)


def greatest(*values: Any) -> Expression:
    """The greatest of several values, as Python's `max`; None where one of them is None."""
    return _function(Extreme("greatest"), values)


def concat(*texts: Any) -> Expression:
    """Texts one after the other; None where one of them is None.

    >>> concat(col("first"), " ", col("last"))
    concat(col("first"), " ", col("last"))
    """
    return _function(Concat(), texts)


def concat_ws(separator: str, *texts: Any) -> Expression:
    """Texts with a separator between them; those that are None are left out. The empty text where all are.

    >>> concat_ws(", ", col("city"), col("country"))
    concat_ws(", ", col("city"), col("country"))
    """
    return _function(ConcatWithSeparator(check_text("concat_ws", separator)), texts)


def array(*values: Any) -> Expression:
    """A list of values, which are brought into a common type.

    >>> array(col("low"), col("high"))
    array(col("low"), col("high"))
    """
    return _function(MakeArray(), values)


def explode(value: Expression) -> Expression:
    """The elements of a list, a record for each; for `flat_map`, alone or as one field of a `row(...)` or a tuple.

    None and an empty list make no record.

    >>> row(user=col("user"), item=explode(col("items")))
    row(user=col("user"), item=explode(col("items")))
    """
    if not isinstance(value, Expression):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refused(f"explode takes an expression that is a list, got {value!r}")
    return Expression(Explode(), (value,))


def _function(operation: Operation, values: tuple[Any, ...]) -> Expression:
    if not values:
        raise refused(f"{operation.render([])} needs at least one value")
    return Expression(operation, map(as_expression, values))


def _name_of(value: object) -> str | None:
    return value.name if isinstance(value, Expression) else None


def row(*values: Expression, **named: Any) -> Expression:
    """A `Row`. Values by position are called as their alias or field says, values by keyword as the keyword says.

    >>> row(col("name"), gross=col("net") * 1.19)
    row(name=col("name"), gross=col("net") * 1.19)
    """
    names: list[str] = []
    for place, value in enumerate(values):
        name = _name_of(value)
        if name is None:
            raise refused(
                f"value {place} of the row, `{value!r}`, has no name; write `.alias(...)` behind it, or `name=...`"
            )
        names.append(name)
    names += named
    if not names or len(set(names)) != len(names):
        raise refused(f"a row needs fields of different names, got {names}")
    return Expression(MakeRow(tuple(names)), (*values, *map(as_expression, named.values())))
