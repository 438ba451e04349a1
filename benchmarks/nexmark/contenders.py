"""Who answers the queries, and what Penstock is to reach against whom."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from nexmark.schema import QUERIES

HERE = Path(__file__).parent
SHORT_LIST = ("q1", "q3", "q4", "q5", "q8", "q11", "q17", "q18")
"""Queries of every kind, for a short run."""


@dataclass(frozen=True)
class Contender:
    """A program for all queries that it can express."""

    name: str
    title: str
    script: str
    arguments: tuple[str, ...] = ()
    """What the script is told beside what all are told."""
    environment: str = "penstock"
    """`penstock` (.venv), or `bytewax` or `pyflink` (environments of their own)."""
    share: float = 1.0
    """The share of the events that it reads: slow ones need not read all to show their rate."""
    most_events: int | None = None
    """It reads no more than so many, however many there are."""

    def events_of(self, events: int) -> int:
        """How many of all events it reads."""
        own = int(events * self.share)
        return own if self.most_events is None else min(own, self.most_events)

    @property
    def queries(self) -> tuple[str, ...]:
        """What it can answer."""
        if self.name == PENSTOCK:
            return tuple(QUERIES)
        if self.name == PENSTOCK_RECORDS:
            return RECORD_BY_RECORD
        return tuple(json.loads((HERE / "peers" / "queries.json").read_text()).get(self.name, ()))


PENSTOCK = "penstock"
PENSTOCK_RECORDS = "penstock_records"
OURS = (PENSTOCK, PENSTOCK_RECORDS)
RECORD_BY_RECORD = ("q15", "q16", "q17", "q18", "q19")
"""What Penstock answers by functions of batches, and once more by the functions of single records that PyFlink has."""
WITHOUT_PYTHON = ("q0", "q2", "q8", "q10", "q11", "q12", "q21", "q22")
"""What Penstock answers by expressions alone: no function of the user is in the program."""
FLINK_SQL = "flink_sql"
PYFLINK = "pyflink"
SPARK = "spark"
CONTENDERS = {
    each.name: each
    for each in (
        Contender(PENSTOCK, "Penstock", "program.py"),
        Contender(
            PENSTOCK_RECORDS,
            "Penstock, record by record",
            "program.py",
            arguments=("--record-by-record",),
            share=0.25,
            most_events=1_000_000,
        ),
        Contender(FLINK_SQL, "Flink SQL (JVM)", "peers/flink_sql.py", environment="pyflink"),
        Contender(
            PYFLINK,
            "PyFlink DataStream",
            "peers/pyflink_datastream.py",
            environment="pyflink",
            share=0.1,
            most_events=200_000,
        ),
        Contender(SPARK, "Spark Structured Streaming", "peers/spark_streaming.py"),
        Contender(
            "bytewax",
            "bytewax",
            "peers/bytewax_flow.py",
            environment="bytewax",
            share=0.25,
            most_events=1_000_000,
        ),
    )
}


@dataclass(frozen=True)
class Goal:
    """The rate of `ours` is to be at least `ratio` times that of another contender, in each of some queries."""

    title: str
    queries: tuple[str, ...]
    contender: str
    ratio: float
    ours: str = PENSTOCK


GOALS = (
    Goal("stateless", ("q0", "q1", "q2", "q14", "q21", "q22"), FLINK_SQL, 1.5),
    Goal("windows", ("q5", "q7", "q8", "q11"), FLINK_SQL, 1.5),
    Goal(
        "joins, top-N, updating",
        ("q3", "q4", "q9", "q15", "q16", "q17", "q18", "q19", "q20"),
        FLINK_SQL,
        0.7,
    ),
    Goal(
        "a Python function in it",
        tuple(query for query in QUERIES if query not in WITHOUT_PYTHON + RECORD_BY_RECORD),
        PYFLINK,
        5,
    ),
    Goal("the same Python functions, record by record", RECORD_BY_RECORD, PYFLINK, 5, ours=PENSTOCK_RECORDS),
    Goal("what Spark can express", tuple(QUERIES), SPARK, 1.0),
)


def goals_of(query: str) -> dict[str, Goal]:
    """What is to be reached in a query, by contender."""
    return {goal.contender: goal for goal in GOALS if query in goal.queries}
