"""The Kafka client library, which is an optional dependency."""

from __future__ import annotations

import logging
from typing import Any

from penstock.common.errors import EnvironmentNotReadyError

client_log = logging.getLogger("penstock.kafka")
"""What the C client has to say. It speaks of every lost connection; what ends a job comes as an error anyway."""
client_log.addFilter(lambda _: client_log.isEnabledFor(logging.DEBUG))


def confluent_kafka() -> Any:
    """The module `confluent_kafka`."""
    try:
        import confluent_kafka as module
    except ImportError as problem:
        raise EnvironmentNotReadyError(
            "Kafka needs the package confluent-kafka, on the driver and on every worker: pip install 'penstock[kafka]'"
        ) from problem
    return module


def confluent_kafka_admin() -> Any:
    """The module `confluent_kafka.admin`."""
    confluent_kafka()
    import confluent_kafka.admin as module

    return module


def is_refusal(error: Any) -> bool:
    """Whether an error of the client is one that waiting does not help: no way in, or nothing that could be done."""
    codes = confluent_kafka().KafkaError
    return error.code() in (
        codes._AUTHENTICATION,
        codes._INVALID_ARG,
        codes._SSL,
        codes._UNSUPPORTED_FEATURE,
        codes.CLUSTER_AUTHORIZATION_FAILED,
        codes.GROUP_AUTHORIZATION_FAILED,
        codes.SASL_AUTHENTICATION_FAILED,
        codes.TOPIC_AUTHORIZATION_FAILED,
        codes.UNSUPPORTED_VERSION,
    )


def told(problem: BaseException) -> str:
    """An error of the client as a person reads it."""
    if isinstance(problem, confluent_kafka().KafkaException):
        error = problem.args[0]
        return f"{error.str()} ({error.name()})"
    return str(problem) or "no answer came in time"


class ClientErrors:
    """What a client says of itself, as its `error_cb`.

    A call that nobody answers ends in a time-out, and only here is told why: a wrong password, an unknown certificate.
    """

    def __init__(self) -> None:
        self.first: Any = None
        """The first of them, of which there are many kinds: most say that a broker is away."""
        self.refusal: Any = None
        """The first for which waiting does not help."""

    def __call__(self, error: Any) -> None:
        """Takes an error."""
        if self.first is None:
            self.first = error
        if self.refusal is None and is_refusal(error):
            self.refusal = error

    def explaining(self, problem: BaseException) -> BaseException:
        """The refusal behind a problem, if there is one; else the problem."""
        return problem if self.refusal is None else confluent_kafka().KafkaException(self.refusal)
