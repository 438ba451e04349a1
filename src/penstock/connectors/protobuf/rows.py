"""Rows as Protobuf messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, TypeMismatchError
from penstock.common.serialization import (
    DeserializationError,
    DeserializationSchema,
    SerializationSchema,
    Timestamps,
    with_values,
)
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.protobuf.column_reader import ProtobufColumnReader
from penstock.connectors.protobuf.message_type import (
    fields_of,
    fill_message,
    message_reader,
    protobuf,
    row_type_of_message,
)


class MessageClass:
    """A message class that travels as its description: workers need not have the module that it came from."""

    def __init__(self, message_class: Any) -> None:
        package = protobuf()
        if not (isinstance(message_class, type) and issubclass(message_class, package.message.Message)):
            raise ConfigurationError(f"expected a Protobuf message class, got {message_class!r}")
        self.cls: Any = message_class

    def __reduce__(self) -> tuple[Any, tuple[str, list[bytes]]]:
        descriptor = self.cls.DESCRIPTOR
        files: dict[str, bytes] = {}
        _add_files(descriptor.file, files)
        return _message_class, (descriptor.full_name, list(files.values()))


def _add_files(file: Any, files: dict[str, bytes]) -> None:
    for needed in file.dependencies:
        _add_files(needed, files)
    files.setdefault(file.name, file.serialized_pb)


def _message_class(full_name: str, files: list[bytes]) -> MessageClass:
    package = protobuf()
    pool = package.descriptor_pool.DescriptorPool()
    for content in files:
        pool.AddSerializedFile(content)
    return MessageClass(package.message_factory.GetMessageClass(pool.FindMessageTypeByName(full_name)))


class ProtobufDeserializationSchema(DeserializationSchema):
    """Each message is a Protobuf message of one class, read into a row of its fields.

    Fields that are not set are None where the class can tell, and their default where it cannot; fields that the class
    does not know are ignored. Messages without a value are skipped.
    """

    def __init__(self, message_class: Any) -> None:
        self._message = message_class if isinstance(message_class, MessageClass) else MessageClass(message_class)
        self._type_info = row_type_of_message(self._message.cls.DESCRIPTOR)
        self._read = message_reader(self._message.cls.DESCRIPTOR)
        self._columns = ProtobufColumnReader.of(self._message.cls.DESCRIPTOR, self._type_info)

    def __reduce__(self) -> tuple[type[ProtobufDeserializationSchema], tuple[MessageClass]]:
        return type(self), (self._message,)

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    def to_batch(self, messages: Sequence[bytes | None], timestamps: Timestamps) -> Batch:  # noqa: D102
        present, times, places = with_values(messages, timestamps)
        columns = self._columns.columns(present) if self._columns is not None and present else None
        if columns is not None:
            return Batch(codec_for(self._type_info), columns=columns, timestamps=times)
        parse = self._message.cls.FromString
        rows: list[tuple[Any, ...]] = []
        for place, message in zip(places, present, strict=True):
            try:
                rows.append(self._read(parse(message)))
            except (protobuf().message.DecodeError, ValueError, OverflowError) as problem:
                raise DeserializationError(place, f"no {self._message.cls.DESCRIPTOR.full_name}: {problem}") from None
        codec = codec_for(self._type_info)
        return Batch(codec, columns=codec.to_columns(rows), timestamps=times)


class ProtobufSerializationSchema(SerializationSchema):
    """Each record is a Protobuf message: a row or tuple by the place of its fields, a dict or object by their names."""

    def __init__(self, message_class: Any) -> None:
        self._message = message_class if isinstance(message_class, MessageClass) else MessageClass(message_class)
        self._names = [field.name for field in self._message.cls.DESCRIPTOR.fields]

    def serialize(self, element: Any) -> bytes:
        """The bytes of the message; the same for the same record."""
        message = self._message.cls()
        try:
            fill_message(message, fields_of(element, self._names))
            return message.SerializeToString(deterministic=True)
        except (TypeError, ValueError, AttributeError) as problem:
            raise TypeMismatchError(
                f"{element!r} is no {self._message.cls.DESCRIPTOR.full_name}: {problem}"
            ) from problem
