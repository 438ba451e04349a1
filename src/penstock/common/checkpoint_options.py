"""The options of checkpoints and of stand-by drivers; Flink's names where Flink has them."""

from __future__ import annotations

from penstock.common.checkpointing import CheckpointingMode, ExternalizedCheckpointRetention
from penstock.common.config_options import ConfigOption, member_of, parse_boolean, parse_integer, positive
from penstock.common.time import parse_duration

CHECKPOINT_INTERVAL = ConfigOption(
    "execution.checkpointing.interval",
    parse_duration,
    -1,
    "The least time from the start of one epoch, which is a checkpoint, to the start of the next, in ms; an epoch that "
    "has read as much as it may is followed by the next at once. Pipelined: how long an epoch lasts.",
)
CHECKPOINT_MODE = ConfigOption(
    "execution.checkpointing.mode",
    member_of(CheckpointingMode),
    CheckpointingMode.EXACTLY_ONCE,
    "EXACTLY_ONCE or AT_LEAST_ONCE: it is exactly once in any case, for at least once would be no cheaper.",
)
CHECKPOINT_TIMEOUT = ConfigOption(
    "execution.checkpointing.timeout",
    parse_duration,
    600_000,
    "Where it is set: how long, in ms, the tasks of an epoch may take on Spark; then they are ended, and the epoch is "
    "run again. Pipelined: how long beyond the time that it lasts, be it set or not.",
)
CHECKPOINT_MIN_PAUSE = ConfigOption(
    "execution.checkpointing.min-pause",
    parse_duration,
    0,
    "The least time from the end of one epoch to the start of the next, in ms, as with the interval. Pipelined: an "
    "epoch lasts at least so long.",
)
TOLERABLE_FAILURES = ConfigOption(
    "execution.checkpointing.tolerable-failed-checkpoints",
    parse_integer,
    0,
    "Where it is set: how often in a row an epoch that Spark lost is run again before the restart strategy is asked; "
    "else 3 times.",
)
CHECKPOINT_RETENTION = ConfigOption(
    "execution.checkpointing.externalized-checkpoint-retention",
    member_of(ExternalizedCheckpointRetention),
    ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS,
    "Where it is set, what becomes of the checkpoint when the job is over: RETAIN_ON_CANCELLATION, "
    "DELETE_ON_CANCELLATION (it stays after a failure only), NO_EXTERNALIZED_CHECKPOINTS (it goes in any case). Where "
    "it is not set, the checkpoint stays.",
)
STANDBY = ConfigOption(
    "execution.standby",
    parse_boolean,
    False,
    "Whether a job whose checkpoint is another driver's waits until that driver is gone, and goes on then.",
)
STANDBY_TIMEOUT = ConfigOption(
    "execution.standby.timeout",
    positive(parse_duration),
    10_000,
    "How long, in ms, a driver may give no sign of life before one that stands by takes over.",
)
