"""From the bytes of messages to records."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.json.columns import JsonColumns, JsonError

Timestamps = Sequence[int | None]


class DeserializationError(ValueError):
    """One message cannot be understood; `index` is its place among those given."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason


class DeserializationSchema(ABC):
    """Makes records of messages, many at a time."""

    @property
    @abstractmethod
    def produced_type(self) -> TypeInformation:
        """The type of the records."""

    @abstractmethod
    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:
        """The records of some messages with their timestamps; raises `DeserializationError`.

        A message may have no value (None): it gives no record unless the schema knows better.
        """


class SimpleStringSchema(DeserializationSchema):
    """Each message is a string; messages without a value are skipped."""

    def __init__(self, charset: str = "UTF-8") -> None:
        try:
            self._charset = codecs.lookup(charset).name
        except LookupError:
            raise ConfigurationError(f"SimpleStringSchema: unknown charset {charset!r}") from None

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return Types.STRING()

    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:  # noqa: D102
        present, times, places = _with_values(messages, timestamps)
        codec = codec_for(self.produced_type)
        if self._charset == "utf-8":
            try:
                # Checks all texts at once, in C.
                return Batch(codec, columns=[pa.array(present, pa.binary()).cast(pa.string())], timestamps=times)
            except pa.ArrowInvalid:
                pass  # looked at one by one, to say which
        values: list[str] = []
        for place, message in zip(places, present, strict=True):
            try:
                values.append(message.decode(self._charset))
            except UnicodeDecodeError as problem:
                raise DeserializationError(
                    place, f"it is not in the charset {self._charset}: {problem.reason} at byte {problem.start}"
                ) from None
        return Batch(codec, values=values, timestamps=times)


class ByteArraySchema(DeserializationSchema):
    """Each message is its bytes; messages without a value are skipped."""

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return Types.PRIMITIVE_ARRAY(Types.BYTE())

    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:  # noqa: D102
        present, times, _ = _with_values(messages, timestamps)
        return Batch(codec_for(self.produced_type), columns=[pa.array(present, pa.binary())], timestamps=times)


class JsonDeserializationSchema(DeserializationSchema):
    """Each message is a JSON object, read into the columns of a type with named fields.

    A field that an object lacks is None, a field that the type lacks is ignored; messages without a value are
    skipped.
    """

    def __init__(self, type_info: TypeInformation) -> None:
        self._type_info = type_info
        self._columns = JsonColumns(type_info)

    def __reduce__(self) -> tuple[type[JsonDeserializationSchema], tuple[TypeInformation]]:
        return type(self), (self._type_info,)

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:  # noqa: D102
        present, times, places = _with_values(messages, timestamps)
        try:
            columns = self._columns.of_documents(present)
        except JsonError as problem:
            raise DeserializationError(places[problem.index], problem.reason) from None
        return Batch(codec_for(self._type_info), columns=columns, timestamps=times)


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


def _with_values(
    messages: Sequence[bytes | None], timestamps: Timestamps
) -> tuple[list[bytes], list[int | None], Sequence[int]]:
    """The messages that have a value, their timestamps and their places."""
    present = [message for message in messages if message is not None]
    if len(present) == len(messages):
        return present, list(timestamps), range(len(messages))
    places = [place for place, message in enumerate(messages) if message is not None]
    return present, [timestamps[place] for place in places], places
