"""Puts the tables of a directory into Kafka, one JSON message a row.

python benchmarks/nexmark/topics.py --input DIR --kafka localhost:9092
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

import pyarrow.parquet as pq
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nexmark.schema import TABLES, topic_of

PARTITIONS = 2
ROWS_AT_A_TIME = 10_000


def table_files(directory: Path, table: str) -> list[Path]:
    """The files of a table, in the order of arrival."""
    return sorted(path for path in directory.iterdir() if re.fullmatch(rf"{table}(-\d+)?\.parquet", path.name))


def fill_topics(servers: str, directory: Path) -> None:
    """Makes the topics and sends everything; returns when the broker has it all."""
    topics = [NewTopic(topic_of(table), PARTITIONS, 1) for table in TABLES]
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics(topics).values():
        made.result(30)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    for table in TABLES:
        for path in table_files(directory, table):
            for rows in pq.ParquetFile(path).iter_batches(ROWS_AT_A_TIME):
                for row in rows.to_pylist():
                    message = json.dumps(row, separators=(",", ":"))
                    producer.produce(topic_of(table), message, partition=row["seq"] % PARTITIONS)
                producer.poll(0)
            # Between files, so that the queue never overflows.
            if producer.flush(120):
                raise RuntimeError("the broker did not take the events")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--kafka", required=True, help="bootstrap servers")
    options = parser.parse_args()
    fill_topics(options.kafka, options.input)


if __name__ == "__main__":
    main()
