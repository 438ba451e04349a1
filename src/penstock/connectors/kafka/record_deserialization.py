"""From messages of Kafka to records of a stream, with all that a message has: key, headers, timestamp, place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.serialization import DeserializationError, DeserializationSchema
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.kafka.client import confluent_kafka


@dataclass(frozen=True, slots=True)
class KafkaConsumerRecord:
    """A message as it was read."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    """In ms; None where the message has none."""
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


class KafkaRecordDeserializationSchema(ABC):
    """Makes records of whole messages; a class of your own has `produced_type` and `deserialize`.

    >>> class KeyAndValue(KafkaRecordDeserializationSchema):
    ...     @property
    ...     def produced_type(self):
    ...         return Types.TUPLE([Types.STRING(), Types.STRING()])
    ...
    ...     def deserialize(self, record):
    ...         yield record.key.decode(), record.value.decode()
    """

    @property
    @abstractmethod
    def produced_type(self) -> TypeInformation:
        """The type of the records."""

    @abstractmethod
    def deserialize(self, record: KafkaConsumerRecord) -> Iterable[Any]:
        """The records of a message: none, one or several. They get the message's timestamp."""

    @staticmethod
    def value_only(deserialization_schema: DeserializationSchema) -> KafkaRecordDeserializationSchema:
        """Looks at the value alone, as `set_value_only_deserializer` does."""
        return _ValueOnly(deserialization_schema)

    def to_batch(self, messages: Sequence[Any], timestamps: Sequence[int | None]) -> Batch:
        """The records of some messages of the C client; raises `DeserializationError`."""
        values: list[Any] = []
        times: list[int | None] = []
        for index, (message, timestamp) in enumerate(zip(messages, timestamps, strict=True)):
            record = KafkaConsumerRecord(
                message.topic(),
                message.partition(),
                message.offset(),
                timestamp,
                message.key(),
                message.value(),
                message.headers() or (),
            )
            try:
                made = list(self.deserialize(record))
            except Exception as problem:
                raise DeserializationError(
                    index, f"deserialize raised {type(problem).__name__}: {problem}"
                ) from problem
            values += made
            times += [timestamp] * len(made)
        return Batch(codec_for(self.produced_type), values=values, timestamps=times)


class _ValueOnly(KafkaRecordDeserializationSchema):
    """All values at once: no Python per message where the schema needs none."""

    def __init__(self, schema: DeserializationSchema) -> None:
        self._schema = schema

    @property
    def produced_type(self) -> TypeInformation:
        return self._schema.produced_type

    def deserialize(self, record: KafkaConsumerRecord) -> Iterable[Any]:
        return self._schema.to_batch([record.value], [record.timestamp]).values

    def to_batch(self, messages: Sequence[Any], timestamps: Sequence[int | None]) -> Batch:
        # Called as a function of the class, by map: no Python per message.
        return self._schema.to_batch(list(map(confluent_kafka().Message.value, messages)), timestamps)


class FunctionRecordDeserializationSchema(KafkaRecordDeserializationSchema):
    """Calls a function with each message; None from it gives no record."""

    def __init__(self, function: Callable[[KafkaConsumerRecord], Any], type_info: TypeInformation | None) -> None:
        self._function = function
        self._type_info = Types.PICKLED_BYTE_ARRAY() if type_info is None else type_info

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    def deserialize(self, record: KafkaConsumerRecord) -> Iterable[Any]:  # noqa: D102
        value = self._function(record)
        return () if value is None else (value,)
