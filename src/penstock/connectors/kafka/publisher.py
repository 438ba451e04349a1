"""Publishes what a subtask has staged: one transaction per epoch, with the epoch's name in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import chain, repeat
from typing import Any

import pyarrow as pa

from penstock.common.errors import SinkError
from penstock.common.fail_points import reach
from penstock.common.logs import about_the_same
from penstock.connectors.kafka.client import confluent_kafka, told
from penstock.connectors.kafka.messages import Messages, unpack_messages
from penstock.connectors.kafka.producer import MessageProducer, is_transient
from penstock.connectors.kafka.producer_properties import KafkaProducerProperties
from penstock.connectors.kafka.published_epochs import TIMEOUT_SECONDS, PublishedEpochs, to_offset
from penstock.connectors.retries import retry_transient
from penstock.connectors.sink import Committer, CommitterContext, EpochId, PublisherContext, Token, TokenPublisher

_QUESTIONS_AT_A_TIME = 8
_FIRST_QUESTION_SECONDS = 2.0


def transactional_id(prefix: str, uid: str, subtask: int) -> str:
    """Under which id a subtask of a sink publishes, whoever does it."""
    return f"{prefix}-{uid}-{subtask}"


class KafkaPublisher(TokenPublisher):
    """One transactional producer, kept between epochs.

    Whoever begins to publish for a subtask first ends, by the subtask's transactional id, what others may have begun,
    and only then looks which epoch is there. So of two that publish the same epoch, one finds it done.
    """

    def __init__(self, properties: KafkaProducerProperties, prefix: str, context: PublisherContext) -> None:
        self._properties = properties
        self._prefix = prefix
        self._context = context
        self._transactional_id = transactional_id(prefix, context.uid, context.subtask)
        self._producer: MessageProducer | None = None
        self._group_metadata: Any = None
        self._published: EpochId | None = None
        """The newest epoch that is known to be there."""

    def publish(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        """Sends the staged messages, unless the brokers have them already."""
        try:
            retry_transient(
                lambda: self._try_to_publish(epoch, tokens),
                is_transient=is_transient,
                timeout_seconds=self._properties.write_timeout_seconds,
                before_retry=lambda _: self._let_go(),
            )
        except (confluent_kafka().KafkaException, TimeoutError) as problem:
            raise SinkError(
                f"Kafka at {self._properties.bootstrap_servers} did not take the transaction "
                f"{self._transactional_id!r}: {told(problem)}. Nothing of it is visible; the epoch is published when "
                "the job goes on"
            ) from problem

    def close(self) -> None:
        """Lets go of the producer."""
        self._let_go()

    def _try_to_publish(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        staged = self._staged(tokens)
        first = next(staged)
        topic: str = first.column("topic")[0].as_py()
        if self._producer is not None and self._producer.has_lost_connection():
            self._let_go()
        producer = self._producer or self._connect(topic)
        if self._published is not None and self._published >= epoch:
            return
        producer.begin_transaction()
        for messages in chain([first], staged):
            producer.send(Messages.of_staged(messages))
        reach("sink.kafka.sent")
        producer.commit_transaction(topic, to_offset(epoch), self._group_metadata)
        self._published = epoch
        reach("sink.kafka.committed")

    def _staged(self, tokens: Sequence[Token]) -> Iterator[pa.RecordBatch]:
        for token in tokens:
            yield from unpack_messages(self._context.storage.read_verified(token["path"]))

    def _connect(self, topic: str) -> MessageProducer:
        context = self._context
        producer = self._producer = MessageProducer(self._properties, self._transactional_id)
        producer.init_transactions()
        group = PublishedEpochs(self._properties, self._prefix, context.job_id, context.uid, context.subtask)
        with closing(group):
            self._group_metadata = group.group_metadata
            self._published = group.newest([topic])
        return producer

    def _let_go(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(confluent_kafka().KafkaException):
                producer.abandon()


class KafkaCommitter(Committer):
    """Publishing is done in tasks; what is left for the driver is to refuse a checkpoint that is an old copy."""

    def __init__(
        self, properties: KafkaProducerProperties, prefix: str, topic: str | None, context: CommitterContext
    ) -> None:
        self._properties = properties
        self._prefix = prefix
        self._topics = None if topic is None else [topic]
        self._context = context

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        """Nothing: the transactions are committed."""
        return

    def recover(self, newest: EpochId | None) -> None:
        """Refuses to go on when the topics show more than the checkpoint knows."""
        if newest is None:
            # The job is new: nothing can be there.
            return
        try:
            with ThreadPoolExecutor(_QUESTIONS_AT_A_TIME, thread_name_prefix="penstock-kafka") as threads:
                answers = threads.map(about_the_same(self._published), range(self._context.parallelism))
                published = [epoch for epoch in answers if epoch]
        except confluent_kafka().KafkaException as problem:
            raise SinkError(
                f"Kafka at {self._properties.bootstrap_servers} does not tell what the sink {self._context.uid!r} has "
                f"published: {told(problem)}"
            ) from problem
        ahead = max(published, default=newest)
        if ahead > newest:
            raise SinkError(
                f"Kafka at {self._properties.bootstrap_servers} has epoch {ahead} of the sink {self._context.uid!r}, "
                f"but the checkpoint knows epoch {newest} as its newest: it is an older copy, and going on from it "
                "would write records twice. Use the newest checkpoint of the job, or start a new job"
            )

    def _published(self, subtask: int) -> EpochId | None:
        context = self._context
        group = PublishedEpochs(self._properties, self._prefix, context.job_id, context.uid, subtask)
        # Where a transaction is open there is no answer: that is found out soon, and it is ended.
        seconds = chain([_FIRST_QUESTION_SECONDS], repeat(TIMEOUT_SECONDS))
        with closing(group):
            return retry_transient(
                lambda: group.newest(self._topics, next(seconds)),
                is_transient=is_transient,
                timeout_seconds=self._properties.write_timeout_seconds,
                before_retry=lambda _: self._end_transaction(subtask),
            )

    def _end_transaction(self, subtask: int) -> None:
        """Ends what a driver that was killed has begun: until then brokers do not tell which epoch is there."""
        producer = MessageProducer(self._properties, transactional_id(self._prefix, self._context.uid, subtask))
        # Where it fails the brokers are away, and are asked again.
        with suppress(confluent_kafka().KafkaException, TimeoutError):
            producer.init_transactions()
        with suppress(confluent_kafka().KafkaException):
            producer.abandon()
