"""The benchmarks: who runs against whom, on what input, and which ratios are promised."""

from __future__ import annotations

from dataclasses import dataclass, field

PENSTOCK = "Penstock"


@dataclass(frozen=True)
class Contender:
    """One program of a benchmark."""

    name: str
    script: str
    environment: str = "penstock"
    """`penstock` (.venv) or `bytewax` (an environment of its own)."""
    share: float = 1.0
    """The share of the input that it reads: slow ones need not read all to show their rate."""
    needs_broker: bool = False


@dataclass(frozen=True)
class Goal:
    """Penstock's rate is to be at least `ratio` times that of another contender."""

    contender: str
    ratio: float


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
    title="Map and filter, a Python function per record: JSON files",
    answer="stateless",
    contenders=(
        Contender(PENSTOCK, "stateless/penstock_map.py"),
        Contender("hand-written mapInArrow loop", "stateless/handwritten.py"),
        Contender("bytewax, 2 processes", "stateless/bytewax_map.py", environment="bytewax", share=0.5),
    ),
    goals=(Goal("hand-written mapInArrow loop", 0.7), Goal("bytewax, 2 processes", 1.0)),
)

THROUGHPUT: tuple[Benchmark, ...] = (KEYED_SUM, KEYED_SUM_MANY_KEYS, KEYED_SUM_KAFKA, STATELESS)
