"""Every option that Penstock reads."""

from __future__ import annotations

from penstock.common.config_options import (
    ConfigOption,
    member_of,
    one_of,
    parse_integer,
    parse_memory_size,
    parse_text,
    positive,
)
from penstock.common.execution_mode import RuntimeExecutionMode
from penstock.common.time import parse_duration

ENGINE = ConfigOption(
    "execution.engine",
    one_of("spark", "local"),
    "spark",
    "What runs the job: Spark, or this process alone without a JVM (deterministic; for tests and notebooks).",
    environment_variable="PENSTOCK_ENGINE",
)
RUNTIME_MODE = ConfigOption(
    "execution.runtime-mode",
    member_of(RuntimeExecutionMode),
    RuntimeExecutionMode.STREAMING,
    "STREAMING, BATCH, or AUTOMATIC: BATCH if all sources are bounded.",
)
SPARK_MASTER = ConfigOption(
    "spark.master",
    parse_text,
    "local[*]",
    "The Spark master of the session that the job creates.",
    environment_variable="SPARK_MASTER",
)
PARALLELISM = ConfigOption[int | None](
    "parallelism.default",
    positive(parse_integer),
    None,
    "How many subtasks an operator has that says nothing else; unset: as many as the engine has cores.",
)
MAX_PARALLELISM = ConfigOption[int | None](
    "pipeline.max-parallelism",
    positive(parse_integer),
    None,
    "The number of key groups: the most subtasks a keyed operator can ever have; unset: chosen by the plan.",
)
EPOCH_MAX_RECORDS = ConfigOption(
    "execution.epoch.max-records",
    positive(parse_integer),
    1_000_000,
    "How many records one epoch reads at most, over all sources.",
)
EPOCH_MAX_BYTES = ConfigOption(
    "execution.epoch.max-bytes",
    positive(parse_memory_size),
    256 << 20,
    'How much one epoch reads at most, over all sources; bytes or text such as "256 mb".',
)
EPOCH_INTERVAL = ConfigOption(
    "execution.epoch.interval",
    parse_duration,
    0,
    "The least time from the start of one epoch to the start of the next, in ms; 0: as fast as it goes.",
)
GATHER_MEMORY = ConfigOption(
    "execution.gather-memory",
    positive(parse_memory_size),
    128 << 20,
    "How much of an epoch's input a task holds in memory before it spills to disk.",
)
CHECKPOINT_DIRECTORY = ConfigOption[str | None](
    "execution.checkpointing.dir",
    parse_text,
    None,
    "Where manifests, state and staged output live; unset: a temporary directory that ends with the job.",
)
STATE_BACKEND = ConfigOption[str | None](
    "state.backend",
    one_of("lmdb", "memory"),
    None,
    "Where workers keep state between epochs; unset: lmdb on Spark, memory on the local engine.",
)
STATE_LOCAL_DIRECTORY = ConfigOption[str | None](
    "state.local-dir",
    parse_text,
    None,
    "The executors' directory for local copies of state; unset: the system's directory for temporary files.",
)
RETAINED_CHECKPOINTS = ConfigOption(
    "state.retained-checkpoints",
    positive(parse_integer),
    10,
    "From how many of the newest epochs the job can be started again.",
)
LOG_LEVEL = ConfigOption(
    "logging.level",
    one_of("debug", "info", "warning", "error"),
    "info",
    "The least severe messages that are logged.",
)
LOG_FORMAT = ConfigOption(
    "logging.format",
    one_of("text", "json"),
    "text",
    "The form of a log line: key=value pairs or one JSON object.",
)

ALL_OPTIONS = (
    ENGINE,
    RUNTIME_MODE,
    SPARK_MASTER,
    PARALLELISM,
    MAX_PARALLELISM,
    EPOCH_MAX_RECORDS,
    EPOCH_MAX_BYTES,
    EPOCH_INTERVAL,
    GATHER_MEMORY,
    CHECKPOINT_DIRECTORY,
    STATE_BACKEND,
    STATE_LOCAL_DIRECTORY,
    RETAINED_CHECKPOINTS,
    LOG_LEVEL,
    LOG_FORMAT,
)
