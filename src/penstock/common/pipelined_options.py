"""The options of pipelined mode."""

from __future__ import annotations

from penstock.common.checkpoint_options import CHECKPOINT_INTERVAL
from penstock.common.config_options import ConfigOption, one_of, parse_integer
from penstock.common.configuration import Configuration
from penstock.common.time import parse_duration

EPOCHS = "epochs"
PIPELINED = "pipelined"

LATENCY = ConfigOption(
    "execution.latency",
    one_of(EPOCHS, PIPELINED),
    EPOCHS,
    "How records travel: in epochs, stage after stage; or pipelined, through all stages at once (experimental).",
)
BUFFER_TIMEOUT = ConfigOption(
    "execution.buffer-timeout.interval",
    parse_integer,
    100,
    "Pipelined: how many ms records wait for others on their way to the next stage, at most; 0: they do not; unset: 5.",
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
    return interval if interval > 0 else configuration.get(PIPELINED_EPOCH)


def live_buffer_timeout(configuration: Configuration) -> int:
    """How long records wait for others, in ms; -1, for ever in Flink, is a long time here."""
    if not configuration.contains_key(BUFFER_TIMEOUT.key):
        return _LIVE_BUFFER_TIMEOUT_MS
    timeout = configuration.get(BUFFER_TIMEOUT)
    return timeout if timeout >= 0 else _UNLIMITED_BUFFER_TIMEOUT_MS
