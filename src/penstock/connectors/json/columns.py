"""Many JSON objects as Arrow columns of a declared type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from penstock.common.calendar_columns import is_within_calendar
from penstock.common.errors import ConfigurationError
from penstock.common.json_depth import DEEPEST_JSON
from penstock.common.kernels import pc
from penstock.common.nested_columns import columns_inside
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    CompositeTypeInfo,
    DateTypeInfo,
    PrimitiveArrayTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from penstock.connectors.json.documents import BROKEN_DOCUMENT, JsonError, are_for_arrow, parsed_document, reason_of
from penstock.connectors.json.field_readers import FieldReader, field_reader

_NEWLINE = ord("\n")
_CARRIAGE_RETURN = ord("\r")
_OPENING_BRACE, _CLOSING_BRACE = b"{}"
_ARROW_READS = frozenset(
    {
        BasicType.STRING,
        BasicType.BOOLEAN,
        BasicType.BYTE,
        BasicType.SHORT,
        BasicType.INT,
        BasicType.LONG,
        BasicType.FLOAT,
        BasicType.DOUBLE,
    }
)
_FEW = 16
"""So many documents are sooner read one by one than by Arrow's parser, which takes long to begin."""
_READ_ALIKE = _ARROW_READS - {BasicType.FLOAT}
"""What Python makes of JSON is the same, bit for bit; a short float is rounded once by Arrow and twice by Python."""
_READ_FROM_TEXT = frozenset({BasicType.BIG_DEC, BasicType.BIG_INT, BasicType.CHAR, BasicType.INSTANT})


class JsonColumns:
    """Parses JSON objects into columns: fields that are missing are null, fields of other names are ignored.

    Arrow's parser takes a whole block at once. A block that it does not take (one broken object is enough), or a type
    that it does not know, is parsed object by object in Python, with the same meaning and with errors that name the
    object and the reason.
    """

    def __init__(self, type_info: TypeInformation) -> None:
        if not isinstance(type_info, CompositeTypeInfo):
            raise ConfigurationError(
                f"JSON objects are read as a type with named fields (Types.ROW_NAMED, a dataclass, a NamedTuple), "
                f"got {type_info!r}"
            )
        self._names = type_info.get_field_names()
        self._schema = pa.schema(type_info.arrow_fields())
        self._read_object = field_reader(type_info)
        types = type_info.get_field_types()
        self._few = _FEW if all(map(_is_read_alike, types)) else 0
        self._parse_options: pyarrow.json.ParseOptions | None = None
        self._readers = [field_reader(each) if _is_read_from_text(each) else None for each in types]
        """What makes the value of texts; None where Arrow does."""
        if all(_arrow_reads(each) or isinstance(each, DateTypeInfo) or _is_read_from_text(each) for each in types):
            # Arrow's parser takes dates for numbers: they come as text and are cast.
            self._parse_options = pyarrow.json.ParseOptions(
                explicit_schema=pa.schema(
                    [
                        pa.field(field.name, field.type if _arrow_reads(each) else pa.string())
                        for field, each in zip(self._schema, types, strict=True)
                    ]
                ),
                unexpected_field_behavior="ignore",
            )

    def of_lines(self, data: bytes) -> tuple[list[pa.Array], int]:
        """The objects of a block of whole lines, and how many there are; empty lines are skipped.

        The index in a `JsonError` counts all lines, the empty ones too.
        """
        lines = _object_lines(data)
        if lines is not None:
            count, long_ones = lines
            columns = self._parsed_by_arrow(data, count) if are_for_arrow(data, long_ones) else None
            if columns is not None:
                return columns, count
        numbered = [(index, line) for index, line in enumerate(data.split(b"\n")) if line.strip()]
        return self._parsed_by_python(numbered), len(numbered)

    def of_documents(self, documents: Sequence[bytes]) -> list[pa.Array]:
        """The objects of a list of JSON documents."""
        if len(documents) <= self._few:
            return self._parsed_by_python(list(enumerate(documents)))
        data = b"\n".join(documents)
        if _are_objects(documents, data) and are_for_arrow(data, documents):
            columns = self._parsed_by_arrow(data, len(documents))
            if columns is not None:
                return columns
        return self._parsed_by_python(list(enumerate(documents)))

    def _parsed_by_arrow(self, data: bytes, objects: int) -> list[pa.Array] | None:
        """None when Arrow cannot parse it, or sees another number of objects than there should be."""
        if self._parse_options is None or not objects:
            return None
        try:
            table = pyarrow.json.read_json(
                pa.BufferReader(data),
                # One block: an object may be as long as it is.
                read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
                parse_options=self._parse_options,
            )
            if table.num_rows != objects:
                return None
            # A text may have half of a character, which an escape names.
            table.validate(full=True)
            columns: list[pa.Array] = []
            for field, reader in zip(self._schema, self._readers, strict=True):
                column = table.column(field.name)
                column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
                if reader is not None:
                    column = _read_texts(column, reader, field.type)
                columns.append(column if column.type.equals(field.type) else column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            return None
        # Arrow knows a year 0, and times that are beyond the years 1 and 9999 in UTC.
        return columns if all(map(_has_plain_numbers, columns)) and all(map(is_within_calendar, columns)) else None

    def _parsed_by_python(self, documents: Sequence[tuple[int, bytes]]) -> list[pa.Array]:
        columns: list[list[Any]] = [[] for _ in self._names]
        fields = list(zip(self._names, columns, strict=True))
        for index, document in documents:
            try:
                stored = self._read_object(parsed_document(document))
            except BROKEN_DOCUMENT as problem:
                raise JsonError(index, document, reason_of(problem)) from None
            for name, column in fields:
                column.append(stored[name])
        return [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]


def _has_plain_numbers(column: pa.Array) -> bool:
    """Whether no float is one that Arrow's parser sees in other texts than Python's does.

    It knows more names for NaN and the infinite, rounds to these what is too large, and makes -0.0 of `-0`.
    """
    if pa.types.is_floating(column.type):
        upside_down = pc.divide(pa.scalar(1.0, column.type), column)
        is_plain = pc.and_(pc.is_finite(column), pc.not_equal(upside_down, pa.scalar(-math.inf, column.type)))
        return pc.all(is_plain).as_py() is not False
    return all(map(_has_plain_numbers, columns_inside(column)))


def _read_texts(column: pa.Array, reader: FieldReader, column_type: pa.DataType) -> pa.Array:
    """What the reader makes of each text, of equal ones once; raises `ValueError` where it does."""
    encoded = column.dictionary_encode()
    values = [reader(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(values, column_type).take(encoded.indices)


def _are_objects(documents: Sequence[bytes], data: bytes) -> bool:
    """Whether each document is one object, if it is JSON at all; `data` are all of them, with line ends between.

    What begins with one brace and ends with another one: neither can an object then go on in the next document.
    """
    ends = data.count(b"\n")
    if ends == len(documents) - 1 and data.count(b"}\n{") == ends:
        return data.startswith(b"{") and data.endswith(b"}")
    return all(map(_is_object, documents))


def _is_object(document: bytes) -> bool:
    return document.startswith(b"{") and document.rstrip().endswith(b"}")


def _object_lines(data: bytes) -> tuple[int, list[bytes]] | None:
    """How many lines are not empty, and those that are long; None when one of them is not one object.

    Arrow's parser must not see those: it takes `null` for an object, and crashes when that comes first.
    """
    content = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(content == _NEWLINE)
    if data and not data.endswith(b"\n"):
        ends = np.append(ends, len(content))
    starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    last = content[np.maximum(ends - 1, 0)]
    last = np.where(last == _CARRIAGE_RETURN, content[np.maximum(ends - 2, 0)], last)
    is_odd = (content[starts] != _OPENING_BRACE) | (last != _CLOSING_BRACE)
    count = len(starts)
    for start, end in zip(starts[is_odd].tolist(), ends[is_odd].tolist(), strict=True):
        line = data[start:end].strip()
        if line and not _is_object(line):
            return None
        count -= not line
    is_long = ends - starts > DEEPEST_JSON
    return count, [data[start:end] for start, end in zip(starts[is_long], ends[is_long], strict=True)]


def _is_read_from_text(type_info: TypeInformation) -> bool:
    """Whether a value may be given as text, which Arrow parses, and only the text has to be looked at here."""
    if isinstance(type_info, BasicTypeInfo):
        return type_info.basic_type in _READ_FROM_TEXT
    is_bytes = isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes
    return is_bytes or isinstance(type_info, TimeTypeInfo)


def _is_read_alike(type_info: TypeInformation) -> bool:
    return isinstance(type_info, BasicTypeInfo) and type_info.basic_type in _READ_ALIKE


def _arrow_reads(type_info: TypeInformation) -> bool:
    """Whether Arrow's JSON parser gives values of this type the meaning that we give them."""
    if isinstance(type_info, BasicTypeInfo):
        return type_info.basic_type in _ARROW_READS
    if isinstance(type_info, CollectionTypeInfo):
        is_bytes = isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes
        return not is_bytes and _arrow_reads(type_info.element_type)
    if isinstance(type_info, CompositeTypeInfo):
        return all(map(_arrow_reads, type_info.get_field_types()))
    return isinstance(type_info, TimestampTypeInfo)
