"""The benchmarks: who runs against whom, on what input, and which ratios are promised."""

from __future__ import annotations

from dataclasses import dataclass, field

PENSTOCK = "Penstock"
FUNCTION_BY_FUNCTION = "Penstock, function by function"
PROCESS_FUNCTION = "Penstock, one process function"
SPARK_WINDOWS = "Spark groupBy(window), RocksDB"
SPARK_BATCH_WINDOWS = "Spark's read.json and groupBy(window), batch"
FLINK_SQL = "Flink SQL, parallelism 2"
SPARK_KAFKA = "Spark's Kafka source and sink, at least once"
SPARK_KAFKA_COLUMNS = "Spark's Kafka source, from_json and a filter of columns"
MATCH_RECOGNIZE = "Flink SQL, MATCH_RECOGNIZE, parallelism 2"
PYFLINK = "PyFlink DataStream, parallelism 2"


@dataclass(frozen=True)
class Contender:
    """One program of a benchmark."""

    name: str
    script: str
    environment: str = "penstock"
    """`penstock` (.venv), or `bytewax` or `pyflink` (environments of their own)."""
    share: float = 1.0
    """The share of the input that it reads: slow ones need not read all to show their rate."""
    needs_broker: bool = False
    answer: str | None = None
    """Its right answer, where that is not the benchmark's."""


@dataclass(frozen=True)
class Goal:
    """The rate of `ours` is to be at least `ratio` times that of another contender."""

    contender: str
    ratio: float
    ours: str = PENSTOCK


@dataclass(frozen=True)
class Benchmark:
    """Programs that give the same answer, measured one after the other."""

    name: str
    title: str
    answer: str
    """Which of the expected answers of the input is the right one."""
    contenders: tuple[Contender, ...]
    goals: tuple[Goal, ...] = ()
    records: int = 16_000_000
    keys: int = 10_000
    records_per_file: int = 250_000
    files_per_epoch: int = 4
    rounds: int = 1
    """How often each program runs, in turn with the others. Of several rates the median counts."""
    minimum_rate: int | None = None
    """Records a second that Penstock is to reach on the reference machine (two cores)."""
    maximum_worker_mb: int | None = None
    notes: tuple[str, ...] = field(default=())


KEYED_SUM = Benchmark(
    name="keyed_sum",
    title="Running sum per key: JSON files, 10,000 keys, one output per record",
    answer="keyed_sum",
    contenders=(
        Contender(PENSTOCK, "keyed_sum/penstock_sum.py"),
        Contender("hand-written mapInArrow loop", "keyed_sum/handwritten.py"),
        Contender("bytewax, 2 processes", "keyed_sum/bytewax_sum.py", environment="bytewax", share=0.25),
        Contender("PySpark transformWithState", "keyed_sum/transform_with_state.py", share=0.125),
    ),
    goals=(
        Goal("hand-written mapInArrow loop", 0.5),
        Goal("bytewax, 2 processes", 2.5),
        Goal("PySpark transformWithState", 10),
    ),
    rounds=3,
    minimum_rate=800_000,
    notes=(
        "The hand-written loop has no recovery, no checks and no output but a count: it is the floor, not a rival.",
        "bytewax runs without recovery; transformWithState uses rows and RocksDB.",
    ),
)

KEYED_SUM_MANY_KEYS = Benchmark(
    name="keyed_sum_1m_keys",
    title="Running sum per key: JSON files, 1,000,000 keys",
    answer="keyed_sum",
    contenders=(
        Contender(PENSTOCK, "keyed_sum/penstock_sum.py"),
        Contender("hand-written mapInArrow loop", "keyed_sum/handwritten.py"),
    ),
    keys=1_000_000,
    minimum_rate=300_000,
    maximum_worker_mb=600,
)

KEYED_SUM_KAFKA = Benchmark(
    name="keyed_sum_kafka",
    title="Running sum per key: Kafka, 10,000 keys",
    answer="keyed_sum",
    contenders=(Contender(PENSTOCK, "keyed_sum/penstock_sum_kafka.py", needs_broker=True),),
    records=6_000_000,
    files_per_epoch=2,
    minimum_rate=300_000,
)

STATELESS = Benchmark(
    name="stateless",
    title="Map and filter by two Python functions: JSON files",
    answer="stateless",
    contenders=(
        Contender(PENSTOCK, "stateless/penstock_map.py"),
        Contender(FUNCTION_BY_FUNCTION, "stateless/penstock_function_by_function.py"),
        Contender("hand-written mapInArrow loop", "stateless/handwritten.py"),
        Contender("bytewax, 2 processes", "stateless/bytewax_map.py", environment="bytewax", share=0.5),
    ),
    goals=(
        Goal("hand-written mapInArrow loop", 0.7, ours=FUNCTION_BY_FUNCTION),
        Goal("bytewax, 2 processes", 1.0),
    ),
    notes=(
        "Penstock translates both functions into Arrow kernels: no Python runs for a record.",
        "Function by function (without the rule `trace-functions`) both are called for every record, as in the other "
        "programs: with this one the hand-written loop is compared.",
    ),
)

ROLLING_SUM = Benchmark(
    name="rolling_sum",
    title="`sum` and `reduce` against the same as a process function: JSON files, 10,000 keys",
    answer="keyed_sum",
    contenders=(
        Contender(PENSTOCK, "rolling_sum/penstock_sum_of_field.py"),
        Contender("Penstock, reduce with a lambda", "rolling_sum/penstock_reduce.py"),
        Contender(PROCESS_FUNCTION, "keyed_sum/penstock_sum.py"),
    ),
    goals=(Goal(PROCESS_FUNCTION, 1.2),),
    records=8_000_000,
)

TWO_KEYED = Benchmark(
    name="two_keyed",
    title="Two keyed operators in a row: JSON files, 10,000 keys",
    answer="keyed_sum",
    contenders=(
        Contender(PENSTOCK, "two_keyed/penstock_two_keyed.py"),
        Contender(PROCESS_FUNCTION, "keyed_sum/penstock_sum.py"),
    ),
    goals=(Goal(PROCESS_FUNCTION, 0.45),),
    records=8_000_000,
)

UNION = Benchmark(
    name="union",
    title="Running sum per key over a union of three sources: JSON files, 10,000 keys",
    answer="keyed_sum",
    contenders=(
        Contender(PENSTOCK, "union/penstock_union.py"),
        Contender(PROCESS_FUNCTION, "keyed_sum/penstock_sum.py"),
    ),
    records=8_000_000,
)

BROADCAST = Benchmark(
    name="broadcast",
    title="Map and filter by rules in broadcast state: JSON files",
    answer="stateless",
    contenders=(
        Contender(PENSTOCK, "broadcast/penstock_broadcast.py"),
        Contender("Penstock, map and filter without rules", "stateless/penstock_map.py"),
    ),
    records=8_000_000,
)

ASYNC_CALLS = Benchmark(
    name="async_calls",
    title="A call of 10 ms for every record, 100 at a time in each of two subtasks",
    answer="stateless",
    contenders=(Contender(PENSTOCK, "async_calls/penstock_calls.py"),),
    records=200_000,
    records_per_file=25_000,
    minimum_rate=5_000,
)

WINDOWS = Benchmark(
    name="windows",
    title="Sum and count per key in windows of 10 s: JSON files, 10,000 keys, two results for three records",
    answer="windows",
    contenders=(
        Contender(PENSTOCK, "windows/penstock_named.py"),
        Contender(SPARK_WINDOWS, "windows/spark_native.py", answer="windows_but_last", share=0.25),
        Contender(FLINK_SQL, "windows/flink_sql.py", environment="pyflink", share=0.25),
    ),
    goals=(Goal(SPARK_WINDOWS, 2), Goal(FLINK_SQL, 1.5)),
    notes=(
        "Spark has no end of time: the last window of its answer is missing, and nothing else may be.",
        "Flink runs without checkpoints: with them its results are shown in bursts, and no rate could be told.",
    ),
)

WINDOWS_IN_BATCH = Benchmark(
    name="windows_batch",
    title="The same windows in batch: the whole input as one job, against Catalyst's aggregation",
    answer="windows",
    contenders=(
        Contender(PENSTOCK, "windows/penstock_batch.py"),
        Contender(SPARK_BATCH_WINDOWS, "windows/spark_batch.py"),
    ),
    goals=(Goal(SPARK_BATCH_WINDOWS, 1.0),),
    records=8_000_000,
)

_PYFLINK_WINDOWS = (
    "PyFlink runs in process mode and on a small part of the input; its thread mode did not start here.",
    "Its workers ask the JVM for the state of every window that is new to them (not profiled).",
    "Take the ratio as an order of magnitude.",
)

WINDOW_FUNCTIONS = Benchmark(
    name="window_functions",
    title="The same sum by a Python function: `reduce`",
    answer="windows",
    contenders=(
        Contender(PENSTOCK, "windows/penstock_reduce.py"),
        Contender(PYFLINK, "windows/pyflink_reduce.py", environment="pyflink", share=0.01),
    ),
    goals=(Goal(PYFLINK, 10),),
    records=8_000_000,
    minimum_rate=150_000,
    notes=_PYFLINK_WINDOWS,
)

WINDOW_PROCESS = Benchmark(
    name="window_process",
    title="The same sum by a Python function of all records of a window",
    answer="windows",
    contenders=(
        Contender(PENSTOCK, "windows/penstock_process.py"),
        Contender(PYFLINK, "windows/pyflink_process.py", environment="pyflink", share=0.02),
    ),
    goals=(Goal(PYFLINK, 10),),
    records=4_000_000,
    minimum_rate=100_000,
    notes=_PYFLINK_WINDOWS,
)

SESSIONS = Benchmark(
    name="sessions",
    title="Sum per key in sessions with a gap of 5 s, by a Python function: JSON files, 10,000 keys",
    answer="sessions",
    contenders=(
        Contender(PENSTOCK, "windows/penstock_sessions.py"),
        Contender(PYFLINK, "windows/pyflink_sessions.py", environment="pyflink", share=0.02),
    ),
    goals=(Goal(PYFLINK, 10),),
    records=4_000_000,
    minimum_rate=100_000,
    notes=(
        *_PYFLINK_WINDOWS,
        "PyFlink keeps all records of a session: with `reduce` it loses records where two sessions merge.",
    ),
)

INTERVAL_JOIN = Benchmark(
    name="interval_join",
    title="Interval join of two streams within 2 s, by a Python function: JSON files, 10,000 keys",
    answer="interval_join",
    contenders=(
        Contender(PENSTOCK, "interval_join/penstock_join.py"),
        Contender("bytewax, 2 processes", "interval_join/bytewax_join.py", environment="bytewax"),
    ),
    records=4_000_000,
    minimum_rate=80_000,
    notes=(
        "PyFlink has no interval join. bytewax has none either: a stateful step keeps the records of a key, and its",
        "input comes in the order of time, which Penstock does not count on.",
    ),
)

FILE_SINK = Benchmark(
    name="file_sink",
    title="JSON files into Parquet files: exactly once, against Spark's `write`",
    answer="copy",
    contenders=(
        Contender(PENSTOCK, "file_sink/penstock_parquet.py"),
        Contender("Spark's read.json and write.parquet", "file_sink/spark_write.py"),
    ),
    goals=(Goal("Spark's read.json and write.parquet", 0.85),),
    notes=("Spark's `write` promises nothing after a failure: what a failed job has left must be removed by hand.",),
)

PATTERN = Benchmark(
    name="pattern",
    title="A pattern of three steps per key (`a`, no `c`, `b` within 10 s of event time): JSON files, 10,000 keys",
    answer="followed_by",
    contenders=(
        Contender(PENSTOCK, "cep/penstock_followed_by.py"),
        Contender(MATCH_RECOGNIZE, "cep/flink_followed_by.py", environment="pyflink"),
    ),
    records=2_000_000,
    minimum_rate=100_000,
    notes=("SQL has no relaxed contiguity: there, events that are passed over are part of the match.",),
)

STRICT_PATTERN = Benchmark(
    name="strict_pattern",
    title="A pattern of two events right behind each other per key: JSON files, 10,000 keys",
    answer="strictly_next",
    contenders=(
        Contender(PENSTOCK, "cep/penstock_strictly_next.py"),
        Contender(MATCH_RECOGNIZE, "cep/flink_strictly_next.py", environment="pyflink"),
    ),
    records=2_000_000,
    minimum_rate=200_000,
)

KAFKA_TO_KAFKA = Benchmark(
    name="kafka_to_kafka",
    title="A topic copied to another: at least once",
    answer="copy",
    contenders=(
        Contender(PENSTOCK, "kafka_to_kafka/penstock_at_least_once.py", needs_broker=True),
        Contender(SPARK_KAFKA, "kafka_to_kafka/spark_copy.py", needs_broker=True),
    ),
    goals=(Goal(SPARK_KAFKA, 0.8),),
    records=4_000_000,
    files_per_epoch=2,
    notes=("The broker runs beside the job, on the same two cores: its work is part of every rate.",),
)

KAFKA_TO_KAFKA_EXACTLY_ONCE = Benchmark(
    name="kafka_to_kafka_exactly_once",
    title="A topic copied to another: exactly once, against Spark's sink, which is at least once",
    answer="copy",
    contenders=(
        Contender(PENSTOCK, "kafka_to_kafka/penstock_exactly_once.py", needs_broker=True),
        Contender(SPARK_KAFKA, "kafka_to_kafka/spark_copy.py", needs_broker=True),
    ),
    goals=(Goal(SPARK_KAFKA, 0.5),),
    records=4_000_000,
    files_per_epoch=2,
    notes=("The broker runs beside the job, on the same two cores: its work is part of every rate.",),
)

KAFKA_FILTER = Benchmark(
    name="kafka_filter",
    title="A topic of JSON into a declarative map and filter, against the same by hand in Spark",
    answer="stateless",
    contenders=(
        Contender(PENSTOCK, "kafka_filter/penstock_filter.py", needs_broker=True),
        Contender(SPARK_KAFKA_COLUMNS, "kafka_filter/spark_filter.py", needs_broker=True),
    ),
    goals=(Goal(SPARK_KAFKA_COLUMNS, 0.9),),
    records=4_000_000,
    files_per_epoch=2,
    notes=("The broker runs beside the job, on the same two cores: its work is part of every rate.",),
)

POSTGRES_SINK = Benchmark(
    name="postgres_sink",
    title="Running sums into a table of PostgreSQL: an upsert for every record, exactly once, 1,000,000 keys",
    answer="keyed_sum",
    contenders=(Contender(PENSTOCK, "postgres_sink/penstock_upsert.py"),),
    records=2_000_000,
    keys=1_000_000,
    files_per_epoch=1,
    minimum_rate=20_000,
    notes=("The server runs beside the job, on the same two cores: its work is part of the rate.",),
)

THROUGHPUT: tuple[Benchmark, ...] = (
    KEYED_SUM,
    KEYED_SUM_MANY_KEYS,
    KEYED_SUM_KAFKA,
    STATELESS,
    ROLLING_SUM,
    TWO_KEYED,
    UNION,
    BROADCAST,
    ASYNC_CALLS,
    WINDOWS,
    WINDOWS_IN_BATCH,
    WINDOW_FUNCTIONS,
    WINDOW_PROCESS,
    SESSIONS,
    INTERVAL_JOIN,
    FILE_SINK,
    PATTERN,
    STRICT_PATTERN,
    KAFKA_TO_KAFKA,
    KAFKA_TO_KAFKA_EXACTLY_ONCE,
    KAFKA_FILTER,
    POSTGRES_SINK,
)
