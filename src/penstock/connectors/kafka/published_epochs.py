"""Which epoch a subtask of a sink has published: an offset that is committed inside the transaction itself.

Every subtask has a consumer group of its own, in which nobody consumes. The transaction that carries an epoch's
messages also commits an offset for that group, which says which epoch it is: either both are there, or neither. It is
the offset of partition 0 of the topic of the epoch's first message, since brokers take offsets only for what exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.connectors.kafka.client import ClientErrors, client_log, confluent_kafka
from penstock.connectors.kafka.producer_properties import KafkaProducerProperties
from penstock.connectors.sink import EpochId

_NUMBER_BITS = 40
TIMEOUT_SECONDS = 10.0
_INTERNAL = "__"


def to_offset(epoch: EpochId) -> int:
    """An epoch as an offset; offsets are in the order of the epochs."""
    return epoch.incarnation << _NUMBER_BITS | epoch.number


def to_epoch(offset: int) -> EpochId:
    """The epoch that an offset stands for."""
    return EpochId(offset >> _NUMBER_BITS, offset & ((1 << _NUMBER_BITS) - 1))


class PublishedEpochs:
    """The group of one subtask. Every method raises `KafkaException`."""

    def __init__(self, properties: KafkaProducerProperties, prefix: str, job_id: str, uid: str, subtask: int) -> None:
        self._kafka = confluent_kafka()
        self._errors = ClientErrors()
        # A job that starts from nothing has groups of its own.
        configuration = properties.group_configuration(f"{prefix}-{uid}-{subtask}-{job_id}")
        self._consumer: Any = self._kafka.Consumer({**configuration, "error_cb": self._errors}, logger=client_log)

    @property
    def group_metadata(self) -> Any:
        """What a transaction has to know of the group."""
        return self._consumer.consumer_group_metadata()

    def newest(self, topics: Iterable[str] | None, seconds: float = TIMEOUT_SECONDS) -> EpochId | None:
        """The newest epoch that names one of these topics; None: any topic.

        A transaction that is still open makes it fail after so many seconds: end it first.
        """
        try:
            answered = self._committed(topics, seconds)
        except self._kafka.KafkaException as problem:
            # The client says why only when it is asked.
            self._consumer.poll(0)
            cause = self._errors.explaining(problem)
            if cause is problem:
                raise
            raise cause from problem
        offset = max((each.offset for each in answered), default=-1)
        return to_epoch(offset) if offset >= 0 else None

    def _committed(self, topics: Iterable[str] | None, seconds: float) -> list[Any]:
        if topics is None:
            known = self._consumer.list_topics(timeout=seconds).topics
            topics = [topic for topic in known if not topic.startswith(_INTERNAL)]
        asked = [self._kafka.TopicPartition(topic, 0) for topic in topics]
        return self._consumer.committed(asked, timeout=seconds)

    def close(self) -> None:
        """Lets go of the connection."""
        self._consumer.close()
