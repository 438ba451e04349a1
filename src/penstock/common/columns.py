"""How one column of values becomes an Arrow array and back: the types that have no parts."""
# ruff: noqa: D102 (methods that a base class or protocol documents)

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NoReturn, Protocol

import numpy as np
import pyarrow as pa

from penstock.common.by_value import pickled_by_value
from penstock.common.errors import TypeMismatchError
from penstock.common.time import Instant
from penstock.common.typeinfo_basic import INSTANT_ARROW_TYPE, TypeInformation

_NONE = type(None)
_CONVERSION_ERRORS = (pa.ArrowException, OverflowError, TypeError, ValueError)


class ColumnCodec(Protocol):
    """Values of one type as an Arrow array and back. None is a value of every type."""

    def encode(self, values: Sequence[Any]) -> pa.Array:
        """The values as an array; raises `TypeMismatchError` with the index of the first misfit."""
        ...

    def decode(self, array: pa.Array) -> list[Any]:
        """The values again."""
        ...


def mismatch(type_info: TypeInformation, value: object, index: int, reason: str = "") -> TypeMismatchError:
    """The error of a value that does not fit: what was given, what was declared, what to do."""
    if value is None and not reason:
        reason = "a record with fields cannot be None"
    given = f"{_shown(value)} of Python type {type(value).__qualname__}"
    message = f"{given} does not fit the declared type {type_info!r}"
    return TypeMismatchError(f"{message}: {reason}" if reason else message, index=index)


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception as error:  # the user's own __repr__, or an int of too many digits
        return f"<a value whose repr fails: {error}>"
    return text if len(text) <= 200 else f"{text[:200]}..."


def built_array(type_info: TypeInformation, values: Sequence[Any], arrow_type: pa.DataType) -> pa.Array:
    """`pa.array` that never splits its result."""
    array = pa.array(values, type=arrow_type)
    if isinstance(array, pa.ChunkedArray):
        raise TypeMismatchError(
            f"{len(values)} values of type {type_info!r} make up more than 2 GB in one batch; "
            "lower execution.epoch.max-bytes or emit smaller values"
        )
    return array


class ScalarColumn:
    """Values that `pa.array` understands, once their Python types are known to be the declared ones.

    pyarrow alone is too kind: it cuts 1.5 to 1, takes bytes for text and a datetime for a date.
    """

    def __init__(self, type_info: TypeInformation, accepted: Iterable[type], *, refused: Iterable[type] = ()) -> None:
        self._type_info = type_info
        self._arrow_type = type_info.arrow_type()
        self._accepted = tuple(accepted)
        self._refused = tuple(refused)
        # The classes seen so far that fit; subclasses of the accepted ones join as they are met.
        self._known: set[type] = {*self._accepted, _NONE}

    def encode(self, values: Sequence[Any]) -> pa.Array:
        types = set(map(type, values))
        if not types <= self._known:
            self._admit(types, values)
        try:
            return built_array(self._type_info, self.prepared(values, types), self._arrow_type)
        except _CONVERSION_ERRORS as error:
            self._raise_first_misfit(values, error)

    def decode(self, array: pa.Array) -> list[Any]:
        return array.to_pylist()

    def prepared(self, values: Sequence[Any], types: set[type]) -> Sequence[Any]:
        """The values as pyarrow is to see them."""
        return values

    def explain(self, value: Any) -> str:
        """Why a value of an accepted class does not fit."""
        return ""

    def _fits(self, cls: type) -> bool:
        return issubclass(cls, self._accepted) and not issubclass(cls, self._refused)

    def _admit(self, types: set[type], values: Sequence[Any]) -> None:
        unknown = {cls for cls in types - self._known if not self._fits(cls)}
        if unknown:
            index = next(i for i, value in enumerate(values) if type(value) in unknown)
            raise mismatch(self._type_info, values[index], index)
        self._known |= types

    def _raise_first_misfit(self, values: Sequence[Any], error: Exception) -> NoReturn:
        for index, value in enumerate(values):
            try:
                built_array(self._type_info, self.prepared([value], {type(value)}), self._arrow_type)
            except _CONVERSION_ERRORS as cause:
                raise mismatch(self._type_info, value, index, self.explain(value) or str(cause)) from None
        raise error


class BooleanColumn(ScalarColumn):
    """Truth values; integers become what they are to an `if`, as in PyFlink."""

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__(type_info, (bool, np.bool_, int, np.integer))

    def prepared(self, values: Sequence[Any], types: set[type]) -> Sequence[Any]:
        if types <= {bool, _NONE}:
            return values
        return [None if value is None else bool(value) for value in values]


class IntegerColumn(ScalarColumn):
    """Integers of a fixed number of bits; truth values become 0 and 1, as in PyFlink."""

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__(type_info, (int, np.integer, np.bool_))

    def decode(self, array: pa.Array) -> list[Any]:
        return array.to_pylist() if array.null_count else array.to_numpy().tolist()

    def prepared(self, values: Sequence[Any], types: set[type]) -> Sequence[Any]:
        if types <= {int, _NONE}:
            return values
        return [None if value is None else int(value) for value in values]

    def explain(self, value: Any) -> str:
        bits = self._arrow_type.bit_width
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        return f"it is not between {low} and {high}; Types.BIG_INT() has no limits"


class FloatColumn(ScalarColumn):
    """Floating-point numbers; integers and truth values become floats."""

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__(type_info, (float, int, np.floating, np.integer, np.bool_))

    def decode(self, array: pa.Array) -> list[Any]:
        return array.to_pylist() if array.null_count else array.to_numpy().tolist()

    def prepared(self, values: Sequence[Any], types: set[type]) -> Sequence[Any]:
        if types <= {float, _NONE}:
            return values
        return [None if value is None else float(value) for value in values]


class CharacterColumn(ScalarColumn):
    """Text of exactly one character."""

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__(type_info, (str,))

    def prepared(self, values: Sequence[Any], types: set[type]) -> Sequence[Any]:
        for value in values:
            if value is not None and len(value) != 1:
                raise ValueError(f"it has {len(value)} characters instead of one")
        return values


class DateColumn(ScalarColumn):
    """Dates."""

    def __init__(self, type_info: TypeInformation) -> None:
        # A datetime is a date to Python, but its time would be lost.
        super().__init__(type_info, (date,), refused=(datetime,))

    def decode(self, array: pa.Array) -> list[Any]:
        return array.to_numpy(zero_copy_only=False).tolist()


class ZonelessColumn(ScalarColumn):
    """Times and timestamps without a time zone."""

    def __init__(self, type_info: TypeInformation, cls: type[time] | type[datetime]) -> None:
        super().__init__(type_info, (cls,))
        # Only timestamps have a numpy form; pyarrow makes datetimes one by one, thirty times slower.
        self._by_numpy = cls is datetime

    def decode(self, array: pa.Array) -> list[Any]:
        return array.to_numpy(zero_copy_only=False).tolist() if self._by_numpy else array.to_pylist()

    def prepared(self, values: Sequence[Any], types: set[type]) -> Sequence[Any]:
        for value in values:
            if value is not None and value.tzinfo is not None:
                raise ValueError(
                    "it has a time zone, which would be lost; give a value without one (in UTC, say), "
                    "or declare Types.INSTANT() or Types.PICKLED_BYTE_ARRAY()"
                )
        return values


class TextFormColumn(ScalarColumn):
    """Values that travel as text: numbers of any size."""

    def __init__(
        self,
        type_info: TypeInformation,
        accepted: Iterable[type],
        to_text: Callable[[Any], str],
        of_text: Callable[[str], Any],
    ) -> None:
        super().__init__(type_info, accepted, refused=(bool,))
        self._to_text = to_text
        self._of_text = of_text

    def decode(self, array: pa.Array) -> list[Any]:
        of_text = self._of_text
        return [None if text is None else of_text(text) for text in array.to_pylist()]

    def prepared(self, values: Sequence[Any], types: set[type]) -> Sequence[Any]:
        to_text = self._to_text
        return [None if value is None else to_text(value) for value in values]


# Python refuses to turn longer text into an int and back; Decimal does not.
_LONGEST_INT_TEXT = 4000


def int_to_text(value: int) -> str:
    """The decimal digits of an integer of any size."""
    return str(int(value)) if int(value).bit_length() < 3 * _LONGEST_INT_TEXT else format(Decimal(int(value)), "f")


def text_to_int(text: str) -> int:
    """The integer of decimal digits."""
    return int(text) if len(text) < _LONGEST_INT_TEXT else int(Decimal(text))


def decimal_to_text(value: Decimal | int | float) -> str:
    """A finite number as text, with all its digits."""
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    if not number.is_finite():
        raise ValueError("it is not a finite number")
    return str(number)


class InstantColumn(ScalarColumn):
    """Instants, as seconds and nanoseconds."""

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__(type_info, (Instant,))

    def encode(self, values: Sequence[Any]) -> pa.Array:
        types = set(map(type, values))
        if not types <= self._known:
            self._admit(types, values)
        missing = [value is None for value in values]
        try:
            seconds = pa.array([None if v is None else v.seconds for v in values], pa.int64())
            nanos = pa.array([None if v is None else v.nanos for v in values], pa.int32())
        except _CONVERSION_ERRORS as error:
            self._raise_first_misfit(values, error)
        return pa.StructArray.from_arrays(
            [seconds, nanos], fields=list(INSTANT_ARROW_TYPE), mask=pa.array(missing, type=pa.bool_())
        )

    def decode(self, array: pa.Array) -> list[Any]:
        # Not `field()`: it leaves out the nulls of the struct itself.
        seconds, nanos = array.flatten()
        parts = zip(seconds.to_pylist(), nanos.to_pylist(), strict=True)
        return [None if seconds is None else Instant(seconds, nanos) for seconds, nanos in parts]

    def prepared(self, values: Sequence[Any], types: set[type]) -> Sequence[Any]:
        return [None if v is None else {"seconds": v.seconds, "nanos": v.nanos} for v in values]


# Built-in scalars are the same to pickle and cloudpickle, and pickle is ten times faster.
_PLAIN_CLASSES = frozenset({str, int, float, bool, bytes, _NONE})


class PickledColumn:
    """Any Python objects, as one pickle each."""

    def encode(self, values: Sequence[Any]) -> pa.Array:
        return pa.array([self._pickled(value, index) for index, value in enumerate(values)], type=pa.binary())

    def decode(self, array: pa.Array) -> list[Any]:
        loads = pickle.loads
        return [None if data is None else loads(data) for data in array.to_pylist()]

    def _pickled(self, value: Any, index: int) -> bytes | None:
        if value is None:
            return None
        if type(value) in _PLAIN_CLASSES:
            return pickle.dumps(value, 5)
        try:
            return pickled_by_value(value)
        except Exception as error:
            raise TypeMismatchError(
                f"{_shown(value)} of Python type {type(value).__qualname__} cannot be pickled: {error}",
                index=index,
            ) from error
