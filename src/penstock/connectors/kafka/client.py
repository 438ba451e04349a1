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
            "Kafka needs the package confluent-kafka, on the driver and on every worker: pip install penstock[kafka]"
        ) from problem
    return module


def confluent_kafka_admin() -> Any:
    """The module `confluent_kafka.admin`."""
    confluent_kafka()
    import confluent_kafka.admin as module

    return module
