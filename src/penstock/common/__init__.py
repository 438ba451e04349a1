"""What every layer shares: types, rows, time, configuration, errors, under PyFlink's names."""

from __future__ import annotations

from penstock.common.completable_future import CompletableFuture
from penstock.common.config_options import ConfigOption, ConfigOptions
from penstock.common.configuration import Configuration
from penstock.common.errors import JobExecutionException, PenstockError
from penstock.common.execution_config import ExecutionConfig
from penstock.common.execution_mode import RuntimeExecutionMode
from penstock.common.job import JobExecutionResult, JobID, JobStatus
from penstock.common.job_client import JobClient
from penstock.common.job_listener import JobListener
from penstock.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from penstock.common.row import Row, RowKind
from penstock.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from penstock.common.serializer import TypeSerializer
from penstock.common.time import Duration, Instant, Time
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkStrategy

__all__ = [
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeserializationSchema",
    "Duration",
    "Encoder",
    "ExecutionConfig",
    "Instant",
    "JobClient",
    "JobExecutionException",
    "JobExecutionResult",
    "JobID",
    "JobListener",
    "JobStatus",
    "PenstockError",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "RuntimeExecutionMode",
    "SerializationSchema",
    "SimpleStringSchema",
    "Time",
    "TimestampAssigner",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "WatermarkGenerator",
    "WatermarkStrategy",
]
