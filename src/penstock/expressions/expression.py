"""`Expression`: a value computed from a record, written like the Python that it stands for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from penstock.common.typeinfo import TypeInformation
from penstock.expressions.argument_checks import check_field, check_text, check_type, check_values, refused
from penstock.expressions.arithmetic import Arithmetic, Sign
from penstock.expressions.casting import Cast
from penstock.expressions.collection_methods import CollectionMethods
from penstock.expressions.comparison import Comparison, IsIn, IsNan, IsNull
from penstock.expressions.conditional import CaseWhen, Coalesce, Junction, Not
from penstock.expressions.construction import Alias, MakeTuple, Member
from penstock.expressions.number_methods import NumberMethods
from penstock.expressions.operation import Operation
from penstock.expressions.references import FieldReference, literal
from penstock.expressions.text_methods import TextMethods
from penstock.expressions.time_functions import Shift
from penstock.expressions.time_methods import TimeMethods, as_timedelta

_LONGEST_TEXT = 10_000


class Expression(NumberMethods, TextMethods, TimeMethods, CollectionMethods):
    """A value that is computed from a record: `col("price") * 0.9`, `col("name").upper()`.

    Operators and methods make new expressions; nothing is computed before the job runs, and then for many records at
    once. Numbers follow Python: `/` gives a float, `//` and `%` round down, and what Python raises fails the job and
    names the record. Integers have 64 bits; one that does not fit is an error, too.

    Missing values (None) follow SQL: what is computed from None is None, a comparison with None is None, and a filter
    keeps only the records for which its condition is True.

    >>> from penstock.expressions import col
    >>> (col("price") + 1) * 0.9
    (col("price") + 1) * 0.9
    >>> (col("price") > 10) & col("name").startswith("A")
    (col("price") > 10) & col("name").startswith("A")
    """

    # Tells numpy to leave `np.float64(0.9) * col("price")` to this class.
    __array_ufunc__ = None
    __iter__ = None
    __hash__ = object.__hash__

    def __init__(self, operation: Operation, operands: Iterable[Expression] = ()) -> None:
        self.operation = operation
        self.operands = tuple(operands)
        encloses = operation.encloses_operands
        text = operation.render([each.enclosed_text if encloses else each.text for each in self.operands])
        # What is used twice is written twice: a loop of `x = (x + col("n") / x) / 2` would have a text without end.
        self.text = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."

    @property
    def enclosed_text(self) -> str:
        """The text as a part of other text: in parentheses where it needs them."""
        return f"({self.text})" if self.operation.is_infix else self.text

    @property
    def name(self) -> str | None:
        """What a row calls the value: its alias, or the field that it is."""
        match self.operation:
            case Alias(name):
                return name
            case FieldReference(str(name)) | Member(str(name)):
                return name
            case _:
                return None

    def __repr__(self) -> str:
        return self.text

    # --- arithmetic

    def __add__(self, other: Any) -> Expression:
        duration = as_timedelta(other)
        return _binary(Arithmetic("+"), self, other) if duration is None else self._made(Shift("+", duration))

    def __radd__(self, other: Any) -> Expression:
        duration = as_timedelta(other)
        return _binary(Arithmetic("+"), other, self) if duration is None else self._made(Shift("+", duration))

    def __sub__(self, other: Any) -> Expression:
        duration = as_timedelta(other)
        return _binary(Arithmetic("-"), self, other) if duration is None else self._made(Shift("-", duration))

    def __rsub__(self, other: Any) -> Expression:
        return _binary(Arithmetic("-"), other, self)

    def __mul__(self, other: Any) -> Expression:
        return _binary(Arithmetic("*"), self, other)

    def __rmul__(self, other: Any) -> Expression:
        return _binary(Arithmetic("*"), other, self)

    def __truediv__(self, other: Any) -> Expression:
        return _binary(Arithmetic("/"), self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return _binary(Arithmetic("/"), other, self)

    def __floordiv__(self, other: Any) -> Expression:
        return _binary(Arithmetic("//"), self, other)

    def __rfloordiv__(self, other: Any) -> Expression:
        return _binary(Arithmetic("//"), other, self)

    def __mod__(self, other: Any) -> Expression:
        return _binary(Arithmetic("%"), self, other)

    def __rmod__(self, other: Any) -> Expression:
        return _binary(Arithmetic("%"), other, self)

    def __pow__(self, other: Any) -> Expression:
        return _binary(Arithmetic("**"), self, other)

    def __rpow__(self, other: Any) -> Expression:
        return _binary(Arithmetic("**"), other, self)

    def __neg__(self) -> Expression:
        return Expression(Sign("-"), (self,))

    def __pos__(self) -> Expression:
        return Expression(Sign("+"), (self,))

    def __abs__(self) -> Expression:
        return self.abs()

    def __round__(self, ndigits: int | None = None) -> Expression:
        return self.round(ndigits)

    # --- comparisons

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return _compared("==", self, other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return _compared("!=", self, other)

    def __lt__(self, other: Any) -> Expression:
        return _compared("<", self, other)

    def __le__(self, other: Any) -> Expression:
        return _compared("<=", self, other)

    def __gt__(self, other: Any) -> Expression:
        return _compared(">", self, other)

    def __ge__(self, other: Any) -> Expression:
        return _compared(">=", self, other)

    def between(self, low: Any, high: Any) -> Expression:
        """Whether the value lies between two others, which count as between.

        >>> from penstock.expressions import col
        >>> col("age").between(18, 65)
        (col("age") >= 18) & (col("age") <= 65)
        """
        return (self >= low) & (self <= high)

    def isin(self, values: Iterable[Any]) -> Expression:
        """Whether the value equals one of those given.

        >>> from penstock.expressions import col
        >>> col("country").isin(["DE", "FR"])
        col("country").isin(['DE', 'FR'])
        """
        return Expression(IsIn(tuple(literal(value).value for value in check_values("isin", values))), (self,))

    def is_null(self) -> Expression:
        """Whether there is no value (None)."""
        return Expression(IsNull(negated=False), (self,))

    def is_not_null(self) -> Expression:
        """Whether there is a value."""
        return Expression(IsNull(negated=True), (self,))

    def is_nan(self) -> Expression:
        """Whether a number is NaN."""
        return Expression(IsNan(), (self,))

    # --- logic

    def __and__(self, other: Any) -> Expression:
        return _binary(Junction("&"), self, other)

    def __rand__(self, other: Any) -> Expression:
        return _binary(Junction("&"), other, self)

    def __or__(self, other: Any) -> Expression:
        return _binary(Junction("|"), self, other)

    def __ror__(self, other: Any) -> Expression:
        return _binary(Junction("|"), other, self)

    def __invert__(self) -> Expression:
        return Expression(Not(), (self,))

    def __bool__(self) -> NoReturn:
        raise refused(
            f"`{self.text}` has no value before the job runs, so Python cannot test it: write `&`, `|` and `~` instead "
            "of `and`, `or` and `not`, `when(...)` instead of `if`, `(a < b) & (b < c)` instead of `a < b < c`"
        )

    def __contains__(self, item: object) -> NoReturn:
        raise refused(f"`in` cannot be asked of `{self.text}`: write `.contains(text)`, or `.isin([...])`")

    # --- types, names, parts

    def cast(self, target: TypeInformation | type[Any]) -> Expression:
        """The value as one of another type: `Types.INT()`, `int`, `float`, `str`, `bool`, `date`, ...

        A float becomes an integer as in `int(x)`, by dropping what is behind the point. A text becomes what it says,
        and what it cannot be fails the job.

        >>> from penstock.expressions import col
        >>> col("amount").cast(float)
        col("amount").cast(Double)
        """
        return Expression(Cast(check_type("cast", target)), (self,))

    def alias(self, name: str) -> Expression:
        """The value with a name, for the row that it becomes a field of.

        >>> from penstock.expressions import col
        >>> (col("net") * 1.19).alias("gross").name
        'gross'
        """
        return Expression(Alias(check_text("alias", name, may_be_empty=False)), (self,))

    def field(self, field: str | int) -> Expression:
        """A field of a value that has fields: a row, a tuple or a dataclass inside the record."""
        return Expression(Member(check_field(field)), (self,))

    def if_null(self, value: Any) -> Expression:
        """The value, or another one where it is None: `coalesce(x, value)`."""
        return self._made(Coalesce(), value)

    def null_if(self, value: Any) -> Expression:
        """The value, or None where it equals another one.

        >>> from penstock.expressions import col
        >>> col("note").null_if("")
        when(col("note") == "", None).otherwise(col("note"))
        """
        return Expression(CaseWhen(), (self == value, Expression(literal(None)), self))

    def _made(self, operation: Operation, *others: Any) -> Expression:
        return Expression(operation, (self, *map(as_expression, others)))


def as_expression(value: Any) -> Expression:
    """The expression itself, the expression of a tuple, or a literal."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, tuple) and value:
        return Expression(MakeTuple(), map(as_expression, value))
    return Expression(literal(value))


def _binary(operation: Operation, left: Any, right: Any) -> Expression:
    return Expression(operation, (as_expression(left), as_expression(right)))


def _compared(symbol: str, left: Expression, right: object) -> Expression:
    if right is None:
        raise refused(
            f"`{left.text} {symbol} None` is never true; write `.is_null()` or `.is_not_null()` on {left.enclosed_text}"
        )
    return _binary(Comparison(symbol), left, right)
