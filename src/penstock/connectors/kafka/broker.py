"""What the driver asks the brokers: partitions and offsets."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from penstock.common.errors import ConfigurationError, SourceError
from penstock.connectors.kafka.client import (
    ClientErrors,
    client_log,
    confluent_kafka,
    confluent_kafka_admin,
    is_refusal,
    told,
)
from penstock.connectors.kafka.offsets import KafkaTopicPartition, Offsets
from penstock.connectors.kafka.properties import KafkaProperties

_log = logging.getLogger(__name__)
_TIMEOUT_SECONDS = 10
_PAUSE_SECONDS = 0.2


class KafkaBroker:
    """A connection for questions; it reads no records.

    A broker that restarts is waited for, as long as readers wait for records.
    """

    def __init__(self, properties: KafkaProperties) -> None:
        self._properties = properties
        self._kafka = confluent_kafka()
        self._admin_module = confluent_kafka_admin()
        self._errors = ClientErrors()
        self._timeout = min(_TIMEOUT_SECONDS, properties.read_timeout_ms / 1000)
        self._admin = self._connect()
        levels = self._kafka.IsolationLevel
        committed = properties.isolation_level == "read_committed"
        self._isolation = levels.READ_COMMITTED if committed else levels.READ_UNCOMMITTED
        self._group_consumer: Any = None

    def partitions_of(self, topics: list[str]) -> list[KafkaTopicPartition]:
        """All partitions of some topics; raises when one does not exist."""
        found: list[KafkaTopicPartition] = []
        known = self._topics()
        missing = [topic for topic in topics if topic not in known]
        if missing:
            raise SourceError(
                f"Kafka at {self._properties.bootstrap_servers} has no topic {', '.join(missing)}: create it, or use "
                "set_topic_pattern to wait for topics to come"
            )
        for topic in topics:
            found += known[topic]
        return found

    def partitions_matching(self, pattern: str) -> list[KafkaTopicPartition]:
        """All partitions of the topics whose whole name matches a regular expression."""
        matches = re.compile(pattern).fullmatch
        return [each for topic, partitions in sorted(self._topics().items()) if matches(topic) for each in partitions]

    def earliest(self, partitions: list[KafkaTopicPartition]) -> Offsets:
        """The first offset that is still there."""
        return self._offsets(partitions, self._admin_module.OffsetSpec.earliest())

    def latest(self, partitions: list[KafkaTopicPartition]) -> Offsets:
        """The offset of the next record; with read_committed, of the first open transaction."""
        return self._offsets(partitions, self._admin_module.OffsetSpec.latest())

    def written(self, partitions: list[KafkaTopicPartition]) -> Offsets:
        """The offset of the next record, whatever transactions are open."""
        levels = self._kafka.IsolationLevel
        return self._offsets(partitions, self._admin_module.OffsetSpec.latest(), levels.READ_UNCOMMITTED)

    def at_timestamp(self, partitions: list[KafkaTopicPartition], timestamp: int) -> Offsets:
        """The offset of the first record with this timestamp or a later one; the latest where there is none."""
        offsets = self._offsets(partitions, self._admin_module.OffsetSpec.for_timestamp(timestamp))
        beyond = [each for each, offset in offsets.items() if offset < 0]
        return {**offsets, **self.latest(beyond)} if beyond else offsets

    def committed(self, partitions: list[KafkaTopicPartition]) -> Offsets:
        """What the consumer group has committed; partitions without are left out."""
        asked = [self._kafka.TopicPartition(*each) for each in partitions]
        answered = self._explained(lambda: self._group().committed(asked, timeout=self._timeout))
        return {KafkaTopicPartition(each.topic, each.partition): each.offset for each in answered if each.offset >= 0}

    def commit(self, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        """Commits offsets for the group, for other people to look at; does not wait."""
        marks = [self._kafka.TopicPartition(*each, offset) for each, offset in offsets.items()]
        self._explained(lambda: self._group().commit(offsets=marks, asynchronous=True))

    def close(self) -> None:
        """Lets go of the connections."""
        if self._group_consumer is not None:
            self._group_consumer.close()

    def _connect(self) -> Any:
        configuration = {**self._properties.admin_configuration(), "error_cb": self._errors}
        try:
            return self._admin_module.AdminClient(configuration, logger=client_log)
        except self._kafka.KafkaException as problem:
            raise ConfigurationError(f"the properties of the KafkaSource cannot be used: {told(problem)}") from None

    def _group(self) -> Any:
        if self._group_consumer is None:
            self._group_consumer = self._kafka.Consumer(self._properties.consumer_configuration(), logger=client_log)
        return self._group_consumer

    def _topics(self) -> dict[str, list[KafkaTopicPartition]]:
        metadata = self._explained(lambda: self._admin.list_topics(timeout=self._timeout))
        return {
            name: [KafkaTopicPartition(name, number) for number in sorted(topic.partitions)]
            for name, topic in metadata.topics.items()
            if topic.error is None
        }

    def _offsets(self, partitions: list[KafkaTopicPartition], wanted: Any, isolation: Any = None) -> Offsets:
        if not partitions:
            return {}
        asked = {self._kafka.TopicPartition(*each): wanted for each in partitions}
        gone: set[str] = set()

        def ask() -> Offsets:
            futures = self._admin.list_offsets(
                asked, isolation_level=isolation or self._isolation, request_timeout=self._timeout
            )
            offsets: Offsets = {}
            for each, future in futures.items():
                try:
                    offsets[KafkaTopicPartition(each.topic, each.partition)] = future.result(self._timeout + 1).offset
                except self._kafka.KafkaException as problem:
                    if problem.args[0].code() == self._kafka.KafkaError.UNKNOWN_TOPIC_OR_PART:
                        gone.add(each.topic)
                    raise
            return offsets

        return self._explained(ask, gone)

    def _explained(self, ask: Callable[[], Any], gone: Collection[str] = ()) -> Any:
        """`gone` has the topics that were found missing: later questions may just not be answered."""
        seconds = self._properties.read_timeout_ms / 1000
        deadline = time.monotonic() + seconds
        is_told = False
        while True:
            try:
                return ask()
            except (self._kafka.KafkaException, TimeoutError) as problem:
                # The client says why only when it is asked.
                self._admin.poll(0)
                cause = self._errors.explaining(problem)
                place = f"Kafka at {self._properties.bootstrap_servers} does not answer as it should: {told(cause)}"
                if self._is_for_good(cause):
                    raise SourceError(place) from problem
                if time.monotonic() > deadline:
                    advice = "is the broker running, and is this its address?"
                    if gone:
                        advice = f"was the topic {', '.join(gone)} deleted, or is the broker away?"
                    raise SourceError(f"{place}. It was asked for {seconds:.0f} s: {advice}") from problem
                if not is_told:
                    _log.warning("%s; it is asked again for %.0f s", place, seconds)
                    is_told = True
            time.sleep(_PAUSE_SECONDS)
            # A client that knew the leader of before asks it for ever: a restarted broker answers FENCED_LEADER_EPOCH.
            self._admin = self._connect()

    def _is_for_good(self, problem: BaseException) -> bool:
        """Whether waiting cannot help. All else may pass: a broker that restarts causes errors of many kinds."""
        return isinstance(problem, self._kafka.KafkaException) and is_refusal(problem.args[0])
