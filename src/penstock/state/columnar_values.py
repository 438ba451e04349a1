"""State of one value per key, for many keys at once: columns of keys, columns of values, no Python object for either.

What is stored is what `ValueState` stores, entry by entry: a program may change from one to the other.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.codecs import codec_for
from penstock.common.errors import StateError, TypeMismatchError, UnsupportedError
from penstock.common.foreign_columns import fitted_column
from penstock.common.kernels import pc
from penstock.common.typeinfo import BasicType, BasicTypeInfo, TupleTypeInfo, TypeInformation
from penstock.state.descriptors import ValueStateDescriptor
from penstock.state.plain_columns import PlainColumn, plain_column
from penstock.state.plain_values import plain_from_bytes
from penstock.state.state_keys import StateKeys
from penstock.state.store import StateStore
from penstock.state.value_serializers import serializer_for

KeyColumn = Any
"""Keys of a batch: an Arrow array, a NumPy array, a pandas Series or a list."""

EncodedKeys = tuple[list[bytes], np.ndarray[Any, np.dtype[np.int64]] | None]
"""Distinct encoded keys, and for each of the given ones where it is among them; None where they are the same."""


class ColumnarValueState:
    """One value per key. `None` is no value: what is missing is null, and to put null is to clear.

    Keys may come twice: `get_many` gives each of them its value, and of what `put_many` is given for a key the last
    counts. Keys of other subtasks are refused.
    """

    def __init__(
        self,
        descriptor: ValueStateDescriptor,
        keys_in_store: StateKeys,
        store: StateStore,
        encode_keys: Callable[[KeyColumn], EncodedKeys],
    ) -> None:
        self.name = descriptor.name
        if descriptor.time_to_live is not None:
            raise UnsupportedError(
                f"state '{self.name}' has a time to live, which state of batches cannot have yet; take it away, or "
                "keep the time of the last use as a value of its own"
            )
        if descriptor.type_info is None or descriptor.type_info.is_pickled:
            raise StateError(
                f"state '{self.name}' of a function of batches needs a declared type, such as "
                f"ValueStateDescriptor({self.name!r}, Types.LONG())"
            )
        self._form = _form_of(descriptor.type_info)
        self._keys_in_store = keys_in_store
        self._store = store
        self._encode_keys = encode_keys
        self._last: tuple[list[bytes], list[bytes]] = ([], [])
        """The encoded keys that were used last, and where they are in the store: most are read, then written."""

    def get_many(self, keys: KeyColumn) -> pa.Array:
        """The value of each key, null where there is none."""
        distinct, places = self._encode_keys(keys)
        values = self._form.decode(self._store.get_all(self._in_store(distinct)))
        return values if places is None else values.take(pa.array(places))

    def put_many(self, keys: KeyColumn, values: Any) -> None:
        """Sets the value of each key; null clears it."""
        distinct, places = self._encode_keys(keys)
        count = len(distinct) if places is None else len(places)
        try:
            column = fitted_column(values, self._form.type_info)
        except TypeMismatchError as error:
            raise TypeMismatchError(f"the column of values for state '{self.name}': {error}") from None
        if len(column) != count:
            raise StateError(f"state '{self.name}': put_many got {count} keys and {len(column)} values")
        if places is not None:
            # The last of those that are set stays.
            last = np.empty(len(distinct), np.int64)
            last[places] = np.arange(count)
            column = column.take(pa.array(last))
        self._store.put_all(zip(self._in_store(distinct), self._form.encode(column), strict=True))

    def clear_many(self, keys: KeyColumn) -> None:
        """Removes the values of keys."""
        distinct, _ = self._encode_keys(keys)
        self._store.put_all((key, None) for key in self._in_store(distinct))

    def _in_store(self, distinct: list[bytes]) -> list[bytes]:
        if self._last[0] is not distinct:
            self._last = (distinct, self._keys_in_store.of_all(distinct))
        return self._last[1]


class _Form:
    """Values of one type as an Arrow column and as stored bytes. Made of the serializer of `ValueState`."""

    def __init__(self, type_info: TypeInformation) -> None:
        self.type_info = type_info
        self.arrow_type = type_info.column_type()
        self._serializer = serializer_for(type_info)
        self._codec = codec_for(TupleTypeInfo([type_info]))

    def decode(self, stored: Sequence[bytes | None]) -> pa.Array:
        """The values of stored entries; None for those that are not there."""
        loads = self._serializer.loads
        values = [None if data is None else loads(data) for data in stored]
        return self._codec.to_columns([(value,) for value in values])[0]

    def encode(self, column: pa.Array) -> list[bytes | None]:
        """The entries to store; None for those to remove."""
        dumps = self._serializer.dumps
        return [None if value is None else dumps(value) for (value,) in self._codec.to_values([column])]


class _FixedWidth(_Form):
    """Numbers and booleans: a tag byte and the bytes of the number."""

    def __init__(self, type_info: TypeInformation, code: str) -> None:
        super().__init__(type_info)
        self._entry = np.dtype([("tag", "u1"), ("value", code)])

    def decode(self, stored: Sequence[bytes | None]) -> pa.Array:
        width = self._entry.itemsize
        missing = np.fromiter((data is None for data in stored), np.bool_, len(stored))
        filler = bytes(width)
        data = b"".join([filler if entry is None else entry for entry in stored])
        if len(data) != width * len(stored):
            # A stored None, which has no value behind its tag.
            return super().decode(stored)
        values = np.frombuffer(data, self._entry)["value"]
        return pa.array(np.ascontiguousarray(values), mask=missing if missing.any() else None).cast(self.arrow_type)

    def encode(self, column: pa.Array) -> list[bytes | None]:
        entries = np.empty(len(column), self._entry)
        entries["tag"] = 1
        entries["value"] = column.fill_null(False if pa.types.is_boolean(column.type) else 0).to_numpy(
            zero_copy_only=False
        )
        width, data = self._entry.itemsize, entries.tobytes()
        encoded: list[bytes | None] = [data[at : at + width] for at in range(0, len(data), width)]
        if column.null_count:
            for place in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
                encoded[place] = None
        return encoded


class _VariableWidth(_Form):
    """Texts and bytes: a tag byte and what they are."""

    def decode(self, stored: Sequence[bytes | None]) -> pa.Array:
        if any(entry is not None and entry[:1] != b"\x01" for entry in stored):
            return super().decode(stored)
        entries = pa.array([None if entry is None else entry[1:] for entry in stored], pa.binary())
        if isinstance(entries, pa.ChunkedArray):
            raise StateError("the values that were asked for make up more than 2 GB; ask for fewer keys at once")
        return pc.cast(entries, self.arrow_type)

    def encode(self, column: pa.Array) -> list[bytes | None]:
        return pc.binary_join_element_wise(b"\x01", column.cast(pa.binary()), b"").to_pylist()


class _PlainValues(_Form):
    """Values that have parts: a tag byte and the bytes of their plain value."""

    def __init__(self, type_info: TypeInformation, columns: PlainColumn) -> None:
        super().__init__(type_info)
        self._columns = columns

    def decode(self, stored: Sequence[bytes | None]) -> pa.Array:
        values = [None if not data or not data[0] else plain_from_bytes(memoryview(data)[1:]) for data in stored]
        try:
            return self._columns.from_plain(values)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # What does not fit is told by who makes values of it.
            return super().decode(stored)

    def encode(self, column: pa.Array) -> list[bytes | None]:
        # Values of columns are of Python's own classes: nothing has to be looked at before they are made bytes.
        dumps = pickle.dumps
        return [None if value is None else b"\x01" + dumps(value, 5) for value in self._columns.to_plain(column)]


_WIDTHS = {
    BasicType.BYTE: "i1",
    BasicType.SHORT: "<i2",
    BasicType.INT: "<i4",
    BasicType.LONG: "<i8",
    BasicType.DOUBLE: "<f8",
    # Kept in the 64 bits that Python computes with.
    BasicType.FLOAT: "<f8",
    BasicType.BOOLEAN: "?",
}


def _form_of(type_info: TypeInformation) -> _Form:
    if isinstance(type_info, BasicTypeInfo):
        if type_info.basic_type in _WIDTHS:
            return _FixedWidth(type_info, _WIDTHS[type_info.basic_type])
        if type_info.basic_type is BasicType.STRING:
            return _VariableWidth(type_info)
    if pa.types.is_binary(type_info.column_type()):
        return _VariableWidth(type_info)
    columns = plain_column(type_info)
    return _Form(type_info) if columns is None else _PlainValues(type_info, columns)
