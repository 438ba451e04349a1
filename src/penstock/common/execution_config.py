"""Settings of how a program runs, one method each. They are the options of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common import options
from penstock.common.config_options import ConfigOption, parse_boolean, parse_integer, parse_text
from penstock.common.configuration import Configuration
from penstock.common.time import parse_duration

PARALLELISM_DEFAULT = -1

_LATENCY_INTERVAL = ConfigOption("metrics.latency.interval", parse_integer, 0)
_CANCELLATION_INTERVAL = ConfigOption("task.cancellation.interval", parse_duration, 30_000)
_CANCELLATION_TIMEOUT = ConfigOption("task.cancellation.timeout", parse_duration, 180_000)
_CLOSURE_CLEANER = ConfigOption("pipeline.closure-cleaner-level", parse_text, "RECURSIVE")
_FORCE_KRYO = ConfigOption("pipeline.force-kryo", parse_boolean, False)
_FORCE_AVRO = ConfigOption("pipeline.force-avro", parse_boolean, False)
_GENERIC_TYPES = ConfigOption("pipeline.generic-types", parse_boolean, True)
_OBJECT_REUSE = ConfigOption("pipeline.object-reuse", parse_boolean, False)
_SNAPSHOT_COMPRESSION = ConfigOption("execution.checkpointing.snapshot-compression", parse_boolean, False)


class ExecutionConfig:
    """How a program runs: a view of an environment's options, under PyFlink's names.

    Settings of Flink's JVM (closure cleaner, Kryo, Avro, generic types, object reuse, latency tracking, task
    cancellation, snapshot compression) are kept and given back, so that programs which set them run; here they have
    nothing to act on.
    """

    PARALLELISM_DEFAULT = PARALLELISM_DEFAULT

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def get_parallelism(self) -> int:
        """The number of subtasks of an operator that sets none itself; -1 where it is left to the engine."""
        return self._configuration.get(options.PARALLELISM) or PARALLELISM_DEFAULT

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Sets the number of subtasks of every operator that sets none itself; -1 leaves it to the engine."""
        if parallelism == PARALLELISM_DEFAULT:
            self._configuration.remove_config(options.PARALLELISM.key)
            return self
        return self._set(options.PARALLELISM, parallelism)

    def get_max_parallelism(self) -> int:
        """The number of key groups; -1: it follows from the parallelism."""
        return self._configuration.get(options.MAX_PARALLELISM) or -1

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Sets the number of key groups of every operator that sets none itself."""
        return self._set(options.MAX_PARALLELISM, max_parallelism)

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Sets how often periodic watermarks are made, in ms."""
        return self._set(options.AUTO_WATERMARK_INTERVAL, interval)

    def get_auto_watermark_interval(self) -> int:
        """How often periodic watermarks are made, in ms."""
        return self._configuration.get(options.AUTO_WATERMARK_INTERVAL)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Lets operators go without a uid of their own."""
        return self._set(options.AUTO_GENERATE_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Refuses programs with an operator that has no uid."""
        return self._set(options.AUTO_GENERATE_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether operators may go without a uid of their own."""
        return self._configuration.get(options.AUTO_GENERATE_UIDS)

    def get_global_job_parameters(self) -> dict[str, str]:
        """What every function's `get_job_parameter` finds."""
        return dict(self._configuration.get(options.GLOBAL_JOB_PARAMETERS))

    def set_global_job_parameters(self, global_job_parameters_dict: Mapping[str, str]) -> ExecutionConfig:
        """Sets what every function's `get_job_parameter` finds."""
        return self._set(options.GLOBAL_JOB_PARAMETERS, dict(global_job_parameters_dict))

    # --- kept, and without effect

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_CLOSURE_CLEANER, "RECURSIVE")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_CLOSURE_CLEANER, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        """What was set."""
        return self._configuration.get(_CLOSURE_CLEANER) != "NONE"

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_LATENCY_INTERVAL, interval)

    def get_latency_tracking_interval(self) -> int:
        """What was set."""
        return self._configuration.get(_LATENCY_INTERVAL)

    def get_task_cancellation_interval(self) -> int:
        """What was set."""
        return self._configuration.get(_CANCELLATION_INTERVAL)

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_CANCELLATION_INTERVAL, interval)

    def get_task_cancellation_timeout(self) -> int:
        """What was set."""
        return self._configuration.get(_CANCELLATION_TIMEOUT)

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_CANCELLATION_TIMEOUT, timeout)

    def enable_force_kryo(self) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_FORCE_KRYO, True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_FORCE_KRYO, False)

    def is_force_kryo_enabled(self) -> bool:
        """What was set."""
        return self._configuration.get(_FORCE_KRYO)

    def enable_generic_types(self) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_GENERIC_TYPES, True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_GENERIC_TYPES, False)

    def has_generic_types_disabled(self) -> bool:
        """What was set."""
        return not self._configuration.get(_GENERIC_TYPES)

    def enable_force_avro(self) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_FORCE_AVRO, True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_FORCE_AVRO, False)

    def is_force_avro_enabled(self) -> bool:
        """What was set."""
        return self._configuration.get(_FORCE_AVRO)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        """What was set."""
        return self._configuration.get(_OBJECT_REUSE)

    def is_use_snapshot_compression(self) -> bool:
        """What was set."""
        return self._configuration.get(_SNAPSHOT_COMPRESSION)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Kept, and without effect."""
        return self._set(_SNAPSHOT_COMPRESSION, use_snapshot_compression)

    def _set(self, option: ConfigOption[Any], value: object) -> ExecutionConfig:
        self._configuration.set(option, value)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)
