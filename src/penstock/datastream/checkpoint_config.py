"""Settings of checkpoints, one method each. They are the options of the environment."""

from __future__ import annotations

from typing import Any

from penstock.common import options
from penstock.common.checkpointing import CheckpointingMode, ExternalizedCheckpointRetention
from penstock.common.config_options import ConfigOption, parse_boolean, parse_integer, positive
from penstock.common.configuration import Configuration
from penstock.common.time import Duration, DurationLike, parse_duration
from penstock.datastream.arguments import check_instance, refuse, refuse_argument

_MAX_CONCURRENT = ConfigOption("execution.checkpointing.max-concurrent-checkpoints", positive(parse_integer), 1)
_UNALIGNED = ConfigOption("execution.checkpointing.unaligned.enabled", parse_boolean, False)
_FORCE_UNALIGNED = ConfigOption("execution.checkpointing.unaligned.forced", parse_boolean, False)
_ALIGNED_TIMEOUT = ConfigOption("execution.checkpointing.aligned-checkpoint-timeout", parse_duration, 0)
_ALL_FAILURES = 2147483647


class CheckpointConfig:
    """How checkpoints are made: a view of an environment's options, under PyFlink's names.

    A job here is checkpointed after every epoch, exactly once, whatever is set: the state of each epoch is durable
    before its output is seen. Interval and pause space epochs out, the timeout and the number of tolerable failures
    say when an epoch is run again and how often, and the retention what becomes of the checkpoint in
    `execution.checkpointing.dir` at the end. What Flink needs to know to weave checkpoints into a running stream
    (alignment, concurrent checkpoints) is kept and given back; it has nothing to act on.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def is_checkpointing_enabled(self) -> bool:
        """Whether an interval was set."""
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """What was set."""
        return self._configuration.get(options.CHECKPOINT_MODE)

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Kept: it is exactly once in any case, for at least once would be no cheaper."""
        check_instance(
            "set_checkpointing_mode",
            "checkpointing_mode",
            checkpointing_mode,
            (CheckpointingMode,),
            "a CheckpointingMode",
        )
        return self._set(options.CHECKPOINT_MODE, checkpointing_mode)

    def get_checkpoint_interval(self) -> int:
        """What was set, in ms; -1: nothing was."""
        return self._configuration.get(options.CHECKPOINT_INTERVAL)

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Sets the least time from the start of one epoch, which is a checkpoint, to the start of the next, in ms.

        An epoch that has read as much as it may is followed by the next at once.
        """
        if parse_duration(checkpoint_interval) < 1:
            raise refuse_argument(
                "set_checkpoint_interval", "checkpoint_interval", checkpoint_interval, "milliseconds, from 1"
            )
        return self._set(options.CHECKPOINT_INTERVAL, checkpoint_interval)

    def get_checkpoint_timeout(self) -> int:
        """What was set, in ms."""
        return self._configuration.get(options.CHECKPOINT_TIMEOUT)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Sets how long, in ms, the tasks of an epoch may take on Spark before they are ended and run again."""
        return self._set(options.CHECKPOINT_TIMEOUT, checkpoint_timeout)

    def get_min_pause_between_checkpoints(self) -> int:
        """What was set, in ms."""
        return self._configuration.get(options.CHECKPOINT_MIN_PAUSE)

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """Sets the least time from the end of one epoch to the start of the next, in ms."""
        return self._set(options.CHECKPOINT_MIN_PAUSE, min_pause_between_checkpoints)

    def get_max_concurrent_checkpoints(self) -> int:
        """What was set."""
        return self._configuration.get(_MAX_CONCURRENT)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Kept, and without effect."""
        return self._set(_MAX_CONCURRENT, max_concurrent_checkpoints)

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Whether no failure is tolerated."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        """Sets whether the restart strategy is asked as soon as Spark loses an epoch, or it is just run again."""
        return self._set(options.TOLERABLE_FAILURES, 0 if fail_on_checkpointing_errors else _ALL_FAILURES)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """What was set."""
        return self._configuration.get(options.TOLERABLE_FAILURES)

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> CheckpointConfig:
        """Sets how often in a row an epoch that Spark lost is run again before the restart strategy is asked."""
        if tolerable_checkpoint_failure_number < 0:
            raise refuse("set_tolerable_checkpoint_failure_number: the number cannot be negative")
        return self._set(options.TOLERABLE_FAILURES, tolerable_checkpoint_failure_number)

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Sets what becomes of the checkpoint in `execution.checkpointing.dir` when the job is over.

        Unless this is called, it stays. DELETE_ON_CANCELLATION keeps it after a failure only.
        """
        check_instance(
            "set_externalized_checkpoint_retention",
            "retention_mode",
            retention_mode,
            (ExternalizedCheckpointRetention,),
            "an ExternalizedCheckpointRetention",
        )
        return self._set(options.CHECKPOINT_RETENTION, retention_mode)

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether a retention was set."""
        return (
            self._configuration.get(options.CHECKPOINT_RETENTION)
            is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        )

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention | None:
        """What was set."""
        return self._configuration.get(options.CHECKPOINT_RETENTION)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """What was set."""
        return self._configuration.get(_UNALIGNED)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Kept, and without effect."""
        return self._set(_UNALIGNED, enabled)

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Kept, and without effect."""
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: DurationLike) -> CheckpointConfig:
        """Kept, and without effect."""
        return self._set(_ALIGNED_TIMEOUT, parse_duration(alignment_timeout))

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """What was set."""
        return Duration.of_millis(self._configuration.get(_ALIGNED_TIMEOUT))

    def set_alignment_timeout(self, alignment_timeout: DurationLike) -> CheckpointConfig:
        """The same as `set_aligned_checkpoint_timeout`."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """The same as `get_aligned_checkpoint_timeout`."""
        return self.get_aligned_checkpoint_timeout()

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        """Kept, and without effect."""
        return self._set(_FORCE_UNALIGNED, force_unaligned_checkpoints)

    def is_force_unaligned_checkpoints(self) -> bool:
        """What was set."""
        return self._configuration.get(_FORCE_UNALIGNED)

    def _set(self, option: ConfigOption[Any], value: object) -> CheckpointConfig:
        self._configuration.set(option, value)
        return self
