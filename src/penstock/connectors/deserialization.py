"""From the bytes of messages to records: JSON, and functions of the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.serialization import (
    ByteArraySchema,
    DeserializationError,
    DeserializationSchema,
    SimpleStringSchema,
    Timestamps,
    with_values,
)
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.declared_rows import RowDescription, row_type_of
from penstock.connectors.json.columns import JsonColumns
from penstock.connectors.json.documents import JsonError

__all__ = [
    "ByteArraySchema",
    "DeserializationError",
    "DeserializationSchema",
    "FunctionDeserializationSchema",
    "JsonDeserializationSchema",
    "SimpleStringSchema",
]


class JsonDeserializationSchema(DeserializationSchema):
    """Each message is a JSON object, read into the columns of a type with named fields.

    A field that an object lacks is None, a field that the type lacks is ignored; messages without a value are
    skipped. `type_info` is a type with fields, a dataclass, a NamedTuple, or DDL text: `"id BIGINT, name STRING"`.
    """

    def __init__(self, type_info: RowDescription) -> None:
        self._type_info: TypeInformation = row_type_of("JsonDeserializationSchema", type_info)
        self._columns = JsonColumns(self._type_info)
        self._codec = codec_for(self._type_info)

    def __reduce__(self) -> tuple[type[JsonDeserializationSchema], tuple[TypeInformation]]:
        return type(self), (self._type_info,)

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:  # noqa: D102
        present, times, places = with_values(messages, timestamps)
        try:
            columns = self._columns.of_documents(present)
        except JsonError as problem:
            raise DeserializationError(places[problem.index], problem.reason) from None
        return Batch(self._codec, columns=columns, timestamps=times)


class FunctionDeserializationSchema(DeserializationSchema):
    """Calls a function with the bytes of each message (None where it has no value); None from it gives no record."""

    def __init__(self, function: Callable[[Any], Any], type_info: TypeInformation | None = None) -> None:
        self._function = function
        self._type_info = Types.PICKLED_BYTE_ARRAY() if type_info is None else type_info

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:  # noqa: D102
        values: list[Any] = []
        times: list[int | None] = []
        for index, (message, timestamp) in enumerate(zip(messages, timestamps, strict=True)):
            try:
                value = self._function(message)
            except Exception as problem:
                raise DeserializationError(
                    index, f"the function raised {type(problem).__name__}: {problem}"
                ) from problem
            if value is not None:
                values.append(value)
                times.append(timestamp)
        return Batch(codec_for(self._type_info), values=values, timestamps=times)
