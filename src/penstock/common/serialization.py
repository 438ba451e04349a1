"""From records to bytes and back: what connectors of message queues and files are told."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, TypeMismatchError, UnsupportedError
from penstock.common.typeinfo import TypeInformation, Types

Timestamps = Sequence[int | None]


class DeserializationError(ValueError):
    """One message cannot be understood; `index` is its place among those given."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason


class SerializationSchema(ABC):
    """Makes messages of records. A class of your own has `serialize`."""

    @abstractmethod
    def serialize(self, element: Any) -> bytes:
        """The message for a record."""

    def serialize_batch(self, batch: Batch) -> Sequence[bytes | None] | pa.Array:
        """The messages for many records; a schema that can make them faster than one by one overrides it.

        They may be a column of Arrow's type `binary`.
        """
        return [self.serialize(value) for value in batch.values]


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


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Each message is a string; messages without a value are skipped.

    >>> SimpleStringSchema().serialize("Zürich")
    b'Z\\xc3\\xbcrich'
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = _charset("SimpleStringSchema", charset)

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return Types.STRING()

    def serialize(self, element: Any) -> bytes:
        """The string in the charset."""
        if not isinstance(element, str):
            raise TypeMismatchError(
                f"SimpleStringSchema writes strings, got {element!r} ({type(element).__name__}); "
                "convert it with `map(str)` first"
            )
        return element.encode(self._charset)

    def serialize_batch(self, batch: Batch) -> Sequence[bytes | None] | pa.Array:  # noqa: D102
        texts = _column_of(batch, self.produced_type) if self._charset == "utf-8" else None
        return super().serialize_batch(batch) if texts is None else texts.cast(pa.binary())

    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:  # noqa: D102
        present, times, places = with_values(messages, timestamps)
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


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Each message is its bytes; messages without a value are skipped."""

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return Types.PRIMITIVE_ARRAY(Types.BYTE())

    def serialize(self, element: Any) -> bytes:
        """The bytes as they are."""
        return _bytes("ByteArraySchema", "records", element)

    def serialize_batch(self, batch: Batch) -> Sequence[bytes | None] | pa.Array:  # noqa: D102
        column = _column_of(batch, self.produced_type)
        return super().serialize_batch(batch) if column is None else column

    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:  # noqa: D102
        present, times, _ = with_values(messages, timestamps)
        return Batch(codec_for(self.produced_type), columns=[pa.array(present, pa.binary())], timestamps=times)


class RowFieldExtractorSchema(SerializationSchema):
    """A message is one field of a row or tuple, which holds bytes: such as the key of a Kafka record.

    >>> RowFieldExtractorSchema(1).serialize(("key", b"value"))
    b'value'
    """

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise ConfigurationError(f"RowFieldExtractorSchema: a field index is 0 or more, got {field_index}")
        self._field_index = field_index

    def serialize(self, element: Any) -> bytes:
        """The field."""
        return _bytes("RowFieldExtractorSchema", f"field {self._field_index}", element[self._field_index])


class Encoder:
    """Writes records to a file, one by one. A class of your own has `encode`."""

    charset: str | None = None
    """The charset of `simple_string_encoder`; None for any other."""

    def __init__(self, encode: Callable[[Any], bytes]) -> None:
        self._encode = encode

    def encode(self, element: Any) -> bytes:
        """The bytes of a record, with whatever ends it."""
        return self._encode(element)

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Each record as a line of its `str()`.

        >>> Encoder.simple_string_encoder().encode(42)
        b'42\\n'
        """
        charset = _charset("simple_string_encoder", charset_name)
        encoder = Encoder(_LineOfText(charset))
        encoder.charset = charset
        return encoder


class BulkWriter(ABC):
    """Writes the records of one file."""

    @abstractmethod
    def write(self, batch: Batch) -> None:
        """Takes records."""

    def finish(self) -> None:
        """Writes what is left, such as a footer; the file stays open."""
        return


class BulkWriterFactory(ABC):
    """Makes the writers of a file format. Instances are pickled to the tasks; the same records give the same bytes."""

    suffix: str = ""
    """What the names of such files end with."""

    @abstractmethod
    def create(self, file: BinaryIO) -> BulkWriter:
        """A writer for a new file, which only grows."""

    def for_records(self, record_type: TypeInformation) -> BulkWriterFactory:
        """The factory for records of a type; called where the program is built. Raises where it cannot write them."""
        return self

    def merge(self, inputs: Iterable[BinaryIO], output: BinaryIO) -> None:
        """Writes the records of several files of the format into one."""
        raise UnsupportedError(f"{type(self).__name__} cannot read back what it wrote, so its files are not compacted")


class RowDataBulkWriterFactory(BulkWriterFactory):
    """A factory whose files have rows of one declared type."""

    @abstractmethod
    def get_row_type(self) -> TypeInformation:
        """The type of the rows."""


class _LineOfText:
    def __init__(self, charset: str) -> None:
        self._charset = charset

    def __call__(self, element: Any) -> bytes:
        return f"{element}\n".encode(self._charset)


def with_values(
    messages: Sequence[bytes | None], timestamps: Timestamps
) -> tuple[list[bytes], list[int | None], Sequence[int]]:
    """The messages that have a value, their timestamps and their places."""
    present = [message for message in messages if message is not None]
    if len(present) == len(messages):
        return present, list(timestamps), range(len(messages))
    places = [place for place, message in enumerate(messages) if message is not None]
    return present, [timestamps[place] for place in places], places


def _column_of(batch: Batch, type_info: TypeInformation) -> pa.Array | None:
    """The one column of records of a type, where it is at hand and has no None in it."""
    if not batch.is_columnar or batch.codec.schema != codec_for(type_info).schema:
        return None
    (column,) = batch.columns
    return None if column.null_count else column


def _charset(method: str, charset: str) -> str:
    try:
        return codecs.lookup(charset).name
    except LookupError:
        raise ConfigurationError(f"{method}: unknown charset {charset!r}") from None


def _bytes(schema: str, what: str, value: object) -> bytes:
    if not isinstance(value, bytes | bytearray):
        raise TypeMismatchError(f"{schema}: {what} must be bytes, got {value!r} ({type(value).__name__})")
    return bytes(value)
