"""The C client's producer: sends columns of messages, and knows which errors may pass."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import repeat
from operator import length_hint
from typing import Any

from penstock.common.errors import ConfigurationError
from penstock.common.fail_points import reach
from penstock.connectors.in_time import in_time
from penstock.connectors.kafka.client import ClientErrors, client_log, confluent_kafka, is_refusal, told
from penstock.connectors.kafka.messages import Messages
from penstock.connectors.kafka.producer_properties import KafkaProducerProperties

_ROOM_SECONDS = 0.1
_VALUE = 1
"""The place of the value among the arguments."""
_ANSWER_SECONDS = 10.0
_LOOK_SECONDS = 1.0
_PATIENCE_SECONDS = 5.0
"""How much later than it was told to the client may return."""


class MessageProducer:
    """Sends messages. Methods raise `KafkaException`, those for transactions `TimeoutError` too."""

    def __init__(self, properties: KafkaProducerProperties, transactional_id: str | None = None) -> None:
        self._kafka = confluent_kafka()
        self._answer_seconds = min(_ANSWER_SECONDS, properties.write_timeout_seconds)
        self._failure: Any = None
        """Why the first message that was not delivered was not."""
        self._errors = ClientErrors()
        configuration = properties.producer_configuration(transactional_id)
        try:
            self._producer = self._kafka.Producer(
                {**configuration, "on_delivery": self._note_failure, "error_cb": self._errors}, logger=client_log
            )
        except self._kafka.KafkaException as problem:
            raise ConfigurationError(f"Kafka's client refuses the properties of the sink: {told(problem)}") from None

    def send(self, messages: Messages) -> None:
        """Takes messages; returns when the client has them, which sends them when it sees fit."""
        self._poll(0)
        columns = messages.arguments()
        sent = 0
        while True:
            arguments = [column if isinstance(column, repeat) else iter(column[sent:]) for column in columns]
            # A list's iterator knows how many it has left.
            rest = arguments[_VALUE]
            try:
                # The loop is C's: nothing is interpreted per message.
                deque(map(self._producer.produce, *arguments), maxlen=0)
                return
            except BufferError:
                # Full until the brokers have taken some, or those that wait have timed out. The last one was not taken.
                sent = len(messages) - length_hint(rest) - 1
                self._poll(_ROOM_SECONDS)

    def flush(self) -> None:
        """Waits until the brokers have everything; messages that wait for too long time out."""
        with self._real_cause():
            while self._producer.flush(_LOOK_SECONDS):
                self._raise_refusal()
        self._raise_failure()

    def init_transactions(self) -> None:
        """Ends whatever another producer of the same transactional id has begun, and locks it out."""
        self._within_time(lambda: self._producer.init_transactions(self._answer_seconds))

    def has_lost_connection(self) -> bool:
        """Whether a broker has been away: transactions of this producer may hang."""
        self._poll(0)
        return self._errors.first is not None

    def begin_transaction(self) -> None:
        """Begins a transaction."""
        self._producer.begin_transaction()

    def commit_transaction(self, topic: str, offset: int, group_metadata: Any) -> None:
        """Commits what was sent, and in the same transaction an offset of a group for partition 0 of a topic.

        After an error it may be committed or not.
        """
        # Why a message was not delivered says more than that the transaction is lost.
        self.flush()
        if self._errors.first is not None:
            raise self._kafka.KafkaException(self._errors.refusal or self._errors.first)
        mark = self._kafka.TopicPartition(topic, 0, offset)
        self._within_time(
            lambda: self._producer.send_offsets_to_transaction([mark], group_metadata, self._answer_seconds)
        )
        reach("sink.kafka.marked")
        self._within_time(lambda: self._producer.commit_transaction(self._answer_seconds))

    def abandon(self) -> None:
        """Drops what is on its way; the next producer of the same transactional id aborts the transaction."""
        self._producer.purge()

    def _note_failure(self, error: Any, _: Any) -> None:
        if error is not None and self._failure is None:
            self._failure = error

    def _within_time(self, call: Callable[[], None]) -> None:
        """Transactions of a client that has lost a broker may hang for ever, whatever time-out they are given."""
        try:
            in_time(call, self._answer_seconds + _PATIENCE_SECONDS, "kafka transaction")
        except (self._kafka.KafkaException, TimeoutError):
            # The client says why only when it is asked.
            self._poll(0)
            raise

    def _poll(self, seconds: float) -> None:
        with self._real_cause():
            self._producer.poll(seconds)
        self._raise_refusal()
        self._raise_failure()

    @contextmanager
    def _real_cause(self) -> Generator[None]:
        """A fatal error, such as that of a producer that is locked out, collides with the client's next callback."""
        try:
            yield
        except SystemError as collision:
            cause = collision.__cause__
            if cause is not None and isinstance(cause, self._kafka.KafkaException):
                raise cause from None
            error = self._errors.first or self._kafka.KafkaError(self._kafka.KafkaError._FATAL)
            raise self._kafka.KafkaException(error) from collision

    def _raise_refusal(self) -> None:
        if self._errors.refusal is not None:
            raise self._kafka.KafkaException(self._errors.refusal)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._kafka.KafkaException(self._failure)


def is_transient(problem: BaseException) -> bool:
    """Whether it is worth trying again, with a new producer: brokers that restart cause errors of many kinds."""
    kafka = confluent_kafka()
    if isinstance(problem, TimeoutError):
        return True
    if not isinstance(problem, kafka.KafkaException):
        return False
    codes = kafka.KafkaError
    error = problem.args[0]
    return not is_refusal(error) and error.code() not in (
        codes._UNKNOWN_PARTITION,
        codes._UNKNOWN_TOPIC,
        codes.INVALID_REQUIRED_ACKS,
        codes.INVALID_TRANSACTION_TIMEOUT,
        codes.MSG_SIZE_TOO_LARGE,
        codes.TOPIC_EXCEPTION,
        codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        codes.UNKNOWN_TOPIC_OR_PART,
    )
