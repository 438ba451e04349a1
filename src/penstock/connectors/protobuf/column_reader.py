"""Reads many Protobuf messages of one class at once: no Python per record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.kernels import pc
from penstock.common.typeinfo import CompositeTypeInfo
from penstock.connectors.messages_in_step import IrregularError, MessagesInStep, Numbers, zigzag
from penstock.connectors.protobuf.message_type import protobuf

_VARINT, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5
_WIRE_BITS = 3
_MAX_SIZE = (1 << 31) - 1

Meaning = Callable[[Numbers], pa.Array]
"""What a column of raw 64-bit values means."""


class _Field:
    """A field, by the key that stands before its value."""

    def __init__(self, field: Any, wire: int, numbers: Meaning | None) -> None:
        self.key = field.number << _WIRE_BITS | wire
        self.has_presence: bool = field.has_presence
        self.numbers = numbers
        """None: bytes or text."""
        self.is_text: bool = field.type == protobuf().descriptor.FieldDescriptor.TYPE_STRING


class _Found:
    """What was found of one field: whether, and the value or where its bytes are. The last of a message counts."""

    def __init__(self, count: int) -> None:
        self.is_there = np.zeros(count, bool)
        self.raw = np.zeros(count, np.uint64)
        self.sizes = np.zeros(count, np.int64)


class ProtobufColumnReader:
    """Reads messages as the columns of their row type; `of` says whether it can."""

    def __init__(self, fields: Sequence[_Field], types: Sequence[pa.DataType]) -> None:
        self._fields = fields
        self._types = types
        self._places = {field.key: place for place, field in enumerate(fields)}

    @staticmethod
    def of(descriptor: Any, type_info: CompositeTypeInfo) -> ProtobufColumnReader | None:
        """None where a message has repeated fields, messages in it, or fields that exclude each other."""
        fields: list[_Field] = []
        for field in descriptor.fields:
            oneof = field.containing_oneof
            if field.is_repeated or field.is_required or (oneof is not None and len(oneof.fields) > 1):
                return None
            known = _wire_of(field)
            if known is None:
                return None
            fields.append(_Field(field, *known))
        return ProtobufColumnReader(fields, [each.column_type() for each in type_info.get_field_types()])

    def columns(self, messages: Sequence[bytes]) -> list[pa.Array] | None:
        """The columns; None when there is anything unusual in a message."""
        places = MessagesInStep.of(messages)
        found = [_Found(len(messages)) for _ in self._fields]
        try:
            active = np.flatnonzero(places.positions < places.ends)
            while len(active):
                part = places.at(active)
                self._read_one_field(part, active, found)
                places.positions[active] = part.positions
                active = active[part.positions < part.ends]
            return [
                self._column(places, field, each).cast(column_type)
                for field, each, column_type in zip(self._fields, found, self._types, strict=True)
            ]
        except (IrregularError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None

    def _read_one_field(self, part: MessagesInStep, numbers: Numbers, found: Sequence[_Found]) -> None:
        """The next field of each message, whichever it is."""
        keys = part.varint()
        for key in np.unique(keys).tolist():
            which = np.flatnonzero(keys == key)
            some = part.at(which)
            raw, sizes = _read_value(some, key)
            part.positions[which] = some.positions
            place = self._places.get(key)
            if place is not None:
                messages = numbers[which]
                found[place].is_there[messages] = True
                found[place].raw[messages] = raw
                found[place].sizes[messages] = sizes

    def _column(self, places: MessagesInStep, field: _Field, found: _Found) -> pa.Array:
        if field.numbers is not None:
            column = field.numbers(found.raw)
        else:
            column = places.texts_at(found.raw.astype(np.int64), found.sizes)
            column = column.cast(pa.string()) if field.is_text else column
        if not field.has_presence or found.is_there.all():
            return column
        return pc.if_else(pa.array(found.is_there), column, pa.scalar(None, column.type))


def _read_value(some: MessagesInStep, key: int) -> tuple[Numbers, Numbers | int]:
    """The values as 64 bits, or where they begin and how long they are."""
    if not key >> _WIRE_BITS:
        raise IrregularError
    match key & ((1 << _WIRE_BITS) - 1):
        case 0:
            return some.varint(), 0
        case 1:
            return some.fixed(8).view("<u8").ravel(), 0
        case 5:
            return some.fixed(4).view("<u4").ravel().astype(np.uint64), 0
        case 2:
            sizes = some.varint()
            if (sizes > _MAX_SIZE).any():
                raise IrregularError
            lengths = sizes.astype(np.int64)
            return some.skip(lengths).astype(np.uint64), lengths
        case _:
            raise IrregularError


def _wire_of(field: Any) -> tuple[int, Meaning | None] | None:
    """How values of a field are written, and what they mean."""
    kinds = protobuf().descriptor.FieldDescriptor
    known: dict[int, tuple[int, Meaning | None]] = {
        kinds.TYPE_INT32: (_VARINT, lambda raw: pa.array(raw.astype(np.uint32).view(np.int32))),
        kinds.TYPE_INT64: (_VARINT, lambda raw: pa.array(raw.view(np.int64))),
        kinds.TYPE_UINT32: (_VARINT, lambda raw: pa.array(raw.astype(np.uint32))),
        kinds.TYPE_UINT64: (_VARINT, pa.array),
        kinds.TYPE_SINT32: (_VARINT, lambda raw: pa.array(zigzag(raw & np.uint64(0xFFFFFFFF)).astype(np.int32))),
        kinds.TYPE_SINT64: (_VARINT, lambda raw: pa.array(zigzag(raw))),
        kinds.TYPE_BOOL: (_VARINT, lambda raw: pa.array(raw != 0)),
        kinds.TYPE_FIXED32: (_FOUR_BYTES, lambda raw: pa.array(raw.astype(np.uint32))),
        kinds.TYPE_SFIXED32: (_FOUR_BYTES, lambda raw: pa.array(raw.astype(np.uint32).view(np.int32))),
        kinds.TYPE_FIXED64: (_EIGHT_BYTES, pa.array),
        kinds.TYPE_SFIXED64: (_EIGHT_BYTES, lambda raw: pa.array(raw.view(np.int64))),
        kinds.TYPE_FLOAT: (_FOUR_BYTES, lambda raw: pa.array(raw.astype(np.uint32).view(np.float32))),
        kinds.TYPE_DOUBLE: (_EIGHT_BYTES, lambda raw: pa.array(raw.view(np.float64))),
        kinds.TYPE_STRING: (_SIZED, None),
        kinds.TYPE_BYTES: (_SIZED, None),
    }
    if field.type == kinds.TYPE_ENUM:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return _VARINT, lambda raw: _enum_names(raw, names)
    return known.get(field.type)


def _enum_names(raw: Numbers, names: dict[int, str]) -> pa.Array:
    numbers, places = np.unique(raw.astype(np.uint32).view(np.int32), return_inverse=True)
    if not all(number in names for number in numbers.tolist()):
        # What an unknown number means hangs on the edition of the class.
        raise IrregularError
    return pa.array([names[number] for number in numbers.tolist()], pa.string()).take(pa.array(places.ravel()))
