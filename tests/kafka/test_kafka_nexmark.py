"""Nexmark from Kafka: the same answers as from files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from services.kafka import KafkaBroker

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_a_query_reads_its_events_from_topics(
    kafka_broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
    monkeypatch.setenv("PENSTOCK_ENGINE", "local")
    from nexmark.program import Arguments, run
    from nexmark.result_rows import fingerprint, read_rows
    from nexmark.small_dataset import EVENTS_PER_EPOCH, SMALL_DATASET
    from nexmark.topics import fill_topics

    events = tmp_path / "events"
    SMALL_DATASET.write(events)
    fill_topics(kafka_broker.bootstrap, events)
    answers = json.loads((BENCHMARKS / "nexmark" / "answers" / "small.json").read_text())
    for query in ("q6", "q18"):
        work = tmp_path / query
        work.mkdir()
        run(
            Arguments(
                query,
                events,
                work,
                work / "result.json",
                work / "rows",
                kafka=kafka_broker.bootstrap,
                records_per_epoch=EVENTS_PER_EPOCH,
            )
        )
        assert fingerprint(query, read_rows(query, work / "rows")) == answers[query]["fingerprint"]
