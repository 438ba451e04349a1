"""The program in the page about Kafka runs, against a real broker."""

from __future__ import annotations

import json
import re
from pathlib import Path

from confluent_kafka import Producer

from kafka.reading import values
from services.kafka import KafkaBroker
from services.python_process import run_python

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "kafka.md"


def test_the_program_of_the_page(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    program = re.search(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert program is not None
    (tmp_path / "totals.py").write_text(program[1], encoding="utf-8")
    for topic in ("orders", "totals"):
        kafka_broker.create_topic(topic)
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap})
    for customer, amount in (("ann", 1), ("bob", 5), ("ann", 2)):
        producer.produce("orders", json.dumps({"customer": customer, "amount": amount}))
    assert producer.flush(60) == 0
    for _ in range(2):
        done = run_python(
            "totals.py",
            directory=tmp_path,
            more_environment={"PENSTOCK_ENGINE": "local", "KAFKA_BOOTSTRAP": kafka_broker.bootstrap},
        )
        assert done.returncode == 0, done.stderr
        assert [json.loads(value) for value in values(kafka_broker.bootstrap, "totals")] == [
            {"customer": "ann", "amount": 1},
            {"customer": "ann", "amount": 3},
            {"customer": "bob", "amount": 5},
        ]
