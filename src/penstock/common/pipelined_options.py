"""The options of pipelined mode."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.common.checkpoint_options import CHECKPOINT_INTERVAL, CHECKPOINT_MIN_PAUSE
from penstock.common.config_options import ConfigOption, one_of, parse_boolean
from penstock.common.configuration import Configuration
from penstock.common.time import Duration, Time, parse_duration

EPOCHS = "epochs"
PIPELINED = "pipelined"

_WITHOUT_END = -1
_WAYS_TO_SAY_SO = ("-1", "-1ms", -1, timedelta(milliseconds=-1), Duration.of_millis(-1), Time.milliseconds(-1))


def parse_buffer_timeout(value: Any) -> int:
    """A duration in whole milliseconds, or -1 for one without an end, however that is written.

    >>> parse_buffer_timeout("20 ms"), parse_buffer_timeout(0), parse_buffer_timeout("-1 ms")
    (20, 0, -1)
    """
    if ("".join(value.split()) if isinstance(value, str) else value) in _WAYS_TO_SAY_SO:
        return _WITHOUT_END
    return parse_duration(value)


LATENCY = ConfigOption(
    "execution.latency",
    one_of(EPOCHS, PIPELINED),
    EPOCHS,
    "How records travel: in epochs, stage after stage; or pipelined, through all stages at once (experimental).",
)
BUFFER_TIMEOUT = ConfigOption(
    "execution.buffer-timeout.interval",
    parse_buffer_timeout,
    100,
    "Pipelined: how long records wait for others on their way to the next stage, at most; 0: they do not; unset: 5 ms.",
    other_keys=("execution.buffer-timeout",),
)
BUFFER_TIMEOUT_ENABLED = ConfigOption(
    "execution.buffer-timeout.enabled",
    parse_boolean,
    True,
    "Pipelined: false is the same as execution.buffer-timeout.interval -1.",
)
PIPELINED_EPOCH = ConfigOption(
    "execution.pipelined.epoch",
    parse_duration,
    10_000,
    "Pipelined: how long an epoch lasts where execution.checkpointing.interval is not set; state is saved at its end.",
)

PIPELINED_MIN_EPOCH_MS = 1_000
_LIVE_BUFFER_TIMEOUT_MS = 5
_UNLIMITED_BUFFER_TIMEOUT_MS = 100


def is_pipelined(configuration: Configuration) -> bool:
    """Whether records flow through all stages at once."""
    return configuration.get(LATENCY) == PIPELINED


def live_epoch_length(configuration: Configuration) -> int:
    """How long an epoch lasts, in ms: as long as there are to be between two checkpoints."""
    interval = configuration.get(CHECKPOINT_INTERVAL)
    length = interval if interval > 0 else configuration.get(PIPELINED_EPOCH)
    # From one checkpoint to the beginning of the next is an epoch.
    return max(length, configuration.get(CHECKPOINT_MIN_PAUSE))


def buffer_timeout(configuration: Configuration) -> int:
    """What is set, in ms; -1 where there is to be none."""
    return configuration.get(BUFFER_TIMEOUT) if configuration.get(BUFFER_TIMEOUT_ENABLED) else _WITHOUT_END


def live_buffer_timeout(configuration: Configuration) -> int:
    """How long records wait for others, in ms; -1, for ever in Flink, is a long time here."""
    timeout = buffer_timeout(configuration)
    if timeout == _WITHOUT_END:
        return _UNLIMITED_BUFFER_TIMEOUT_MS
    return timeout if configuration.contains(BUFFER_TIMEOUT) else _LIVE_BUFFER_TIMEOUT_MS
