"""Every option that Penstock reads."""

from __future__ import annotations

from typing import Any

from penstock.common.checkpoint_options import (
    CHECKPOINT_INTERVAL,
    CHECKPOINT_MIN_PAUSE,
    CHECKPOINT_MODE,
    CHECKPOINT_RETENTION,
    CHECKPOINT_TIMEOUT,
    STANDBY,
    STANDBY_TIMEOUT,
    TOLERABLE_FAILURES,
)
from penstock.common.config_options import (
    ConfigOption,
    member_of,
    one_of,
    parse_boolean,
    parse_integer,
    parse_list,
    parse_map,
    parse_memory_size,
    parse_text,
    positive,
)
from penstock.common.execution_mode import RuntimeExecutionMode
from penstock.common.pipelined_options import BUFFER_TIMEOUT, BUFFER_TIMEOUT_ENABLED, LATENCY, PIPELINED_EPOCH
from penstock.common.restart_options import (
    EXPONENTIAL_ATTEMPTS,
    EXPONENTIAL_INITIAL,
    EXPONENTIAL_JITTER,
    EXPONENTIAL_MAX,
    EXPONENTIAL_MULTIPLIER,
    EXPONENTIAL_RESET,
    FAILURE_RATE_DELAY,
    FAILURE_RATE_INTERVAL,
    FAILURE_RATE_MAX,
    FIXED_DELAY_ATTEMPTS,
    FIXED_DELAY_DELAY,
    RESTART_STRATEGY,
)
from penstock.common.savepoint_options import IGNORE_UNCLAIMED_STATE, SAVEPOINT_DIRECTORY, SAVEPOINT_PATH
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
    "How many records one epoch reads at most, over all sources; a batch is one epoch that reads everything.",
)
EPOCH_MAX_BYTES = ConfigOption(
    "execution.epoch.max-bytes",
    positive(parse_memory_size),
    256 << 20,
    'How much one epoch reads at most, over all sources; bytes or text such as "256 mb". It is estimated from what was '
    "read before. A file that cannot be cut is read whole, and databases, sockets and functions go by records alone.",
)
EPOCH_INTERVAL = ConfigOption(
    "execution.epoch.interval",
    parse_duration,
    0,
    "The least time from the start of one epoch to the start of the next, in ms; 0: as fast as it goes. Pipelined: "
    "without effect.",
)
TARGET_LATENCY = ConfigOption[int | None](
    "execution.target-latency",
    positive(parse_duration),
    None,
    'How long a record may take from its source to its results, such as "2 s": epochs are as large as that allows, '
    "and grow beyond it, up to their limits, while the job is behind. Unset: as large as their limits "
    "allow. Pipelined: it has no effect.",
)
AUTO_WATERMARK_INTERVAL = ConfigOption(
    "pipeline.auto-watermark-interval",
    parse_duration,
    200,
    "How often generators of watermarks of your own are asked when no records come, in ms; 0: no periodic watermarks.",
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
    other_keys=("state.checkpoints.dir", "state.backend.fs.checkpointdir"),
)
STATE_BACKEND = ConfigOption[str | None](
    "state.backend",
    one_of("lmdb", "memory", same={"rocksdb": "lmdb", "forst": "lmdb", "hashmap": "memory"}),
    None,
    "Where workers keep state between epochs: lmdb, on disk (also by Flink's words rocksdb and forst), or memory "
    "(hashmap); unset: lmdb on Spark, memory on the local engine.",
    other_keys=("state.backend.type",),
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
    other_keys=("execution.checkpointing.num-retained", "state.checkpoints.num-retained"),
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
OPERATOR_CHAINING = ConfigOption(
    "pipeline.operator-chaining.enabled",
    parse_boolean,
    True,
    "Whether neighbouring operators share a task where they can.",
    other_keys=("pipeline.operator-chaining",),
)
DISABLED_RULES = ConfigOption[list[str]](
    "optimizer.disabled-rules",
    parse_list,
    [],
    "Rules of the optimizer that are left out, separated by commas; results are the same without them.",
)
AUTO_GENERATE_UIDS = ConfigOption(
    "pipeline.auto-generate-uids",
    parse_boolean,
    True,
    "Whether an operator may go without a uid of its own; if not, a program that leaves one out is refused.",
)
JOB_NAME = ConfigOption(
    "pipeline.name",
    parse_text,
    "Penstock Job",
    "What the job is called where `execute` is not told.",
)
GLOBAL_JOB_PARAMETERS = ConfigOption[dict[str, str]](
    "pipeline.global-job-parameters",
    parse_map,
    {},
    "What `get_job_parameter` of a runtime context finds: name:value, separated by commas.",
)
CACHED_FILES = ConfigOption(
    "pipeline.cached-files",
    parse_text,
    "",
    "Files that tasks open by name: name:<name>,path:'<path>'[,executable:true], separated by semicolons.",
)
CACHE_DIRECTORY = ConfigOption[str | None](
    "execution.cache.dir",
    parse_text,
    None,
    "Where cached streams live, for the driver and all executors; unset: a temporary directory of the driver.",
)
PYTHON_FILES = ConfigOption[str | None](
    "python.files",
    parse_text,
    None,
    "Python files, packages and directories that tasks can import from, separated by commas.",
)
PYTHON_ARCHIVES = ConfigOption[str | None](
    "python.archives",
    parse_text,
    None,
    "Archives that are unpacked for the tasks, separated by commas; path#name names the directory.",
)
PYTHON_REQUIREMENTS = ConfigOption[str | None](
    "python.requirements",
    parse_text,
    None,
    "A requirements.txt that is installed for the tasks; path#directory takes the packages from a directory.",
)
PYTHON_EXECUTABLE = ConfigOption[str | None](
    "python.executable",
    parse_text,
    None,
    "The Python that executors run; the same as spark.pyspark.python.",
)

CEP_MAX_PARTIAL_MATCHES = ConfigOption(
    "cep.max-partial-matches",
    positive(parse_integer),
    10_000,
    "How many partial matches of a pattern a key may have; the job fails when there are more.",
)

ALL_OPTIONS: tuple[ConfigOption[Any], ...] = (
    ENGINE,
    RUNTIME_MODE,
    LATENCY,
    BUFFER_TIMEOUT,
    BUFFER_TIMEOUT_ENABLED,
    PIPELINED_EPOCH,
    SPARK_MASTER,
    PARALLELISM,
    MAX_PARALLELISM,
    EPOCH_MAX_RECORDS,
    EPOCH_MAX_BYTES,
    EPOCH_INTERVAL,
    TARGET_LATENCY,
    AUTO_WATERMARK_INTERVAL,
    GATHER_MEMORY,
    CHECKPOINT_DIRECTORY,
    CHECKPOINT_INTERVAL,
    CHECKPOINT_MODE,
    CHECKPOINT_TIMEOUT,
    CHECKPOINT_MIN_PAUSE,
    TOLERABLE_FAILURES,
    CHECKPOINT_RETENTION,
    STANDBY,
    STANDBY_TIMEOUT,
    SAVEPOINT_PATH,
    IGNORE_UNCLAIMED_STATE,
    SAVEPOINT_DIRECTORY,
    STATE_BACKEND,
    STATE_LOCAL_DIRECTORY,
    RETAINED_CHECKPOINTS,
    LOG_LEVEL,
    LOG_FORMAT,
    OPERATOR_CHAINING,
    DISABLED_RULES,
    AUTO_GENERATE_UIDS,
    JOB_NAME,
    GLOBAL_JOB_PARAMETERS,
    CACHED_FILES,
    CACHE_DIRECTORY,
    PYTHON_FILES,
    PYTHON_ARCHIVES,
    PYTHON_REQUIREMENTS,
    PYTHON_EXECUTABLE,
    CEP_MAX_PARTIAL_MATCHES,
    RESTART_STRATEGY,
    FIXED_DELAY_ATTEMPTS,
    FIXED_DELAY_DELAY,
    FAILURE_RATE_MAX,
    FAILURE_RATE_INTERVAL,
    FAILURE_RATE_DELAY,
    EXPONENTIAL_INITIAL,
    EXPONENTIAL_MAX,
    EXPONENTIAL_MULTIPLIER,
    EXPONENTIAL_RESET,
    EXPONENTIAL_JITTER,
    EXPONENTIAL_ATTEMPTS,
)
