"""Lambdas that are computed over columns: the same records come out as from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.common import Row, Types, WatermarkStrategy
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import MapFunction

PAYMENT = Types.ROW_NAMED(["id", "card", "cents"], [Types.LONG(), Types.STRING(), Types.LONG()])
TEXT = Types.ROW_NAMED(["text"], [Types.STRING()])
COUNT = 300
FEE = 3


class Discount(MapFunction):
    """A function object: its field is a constant to the trace."""

    def __init__(self, percent: int) -> None:
        self.percent = percent

    def map(self, value: Any) -> Row:
        return Row(id=value.id, card=value.card, cents=value.cents - value.cents * self.percent // 100)


def payment(n: int) -> Row:
    card = f"card {n % 5}" if n % 7 else None
    return Row(id=n, card=card, cents=None if n % 11 == 0 else n * 7 % 101 - 20 + FEE)


def has_card(r: Row) -> bool:
    # Beyond 2**63 from id 185 on: those batches go through Python.
    return r.card is not None and r.id * 5 * 10**16 >= 0 and bool(r.cents)


def test_lambdas_over_columns(env: StreamExecutionEnvironment, mode: str, tmp_path: Path) -> None:
    env.configuration.set_string("execution.epoch.max-records", "60")
    stamped = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, before: r.id * 10)
    payments = env.from_sequence(0, COUNT - 1).map(payment, PAYMENT).filter(has_card)
    reduced = payments.assign_timestamps_and_watermarks(stamped).map(Discount(10), PAYMENT)
    results = reduced.key_by(lambda r: r.card.upper()).map(lambda r: f"{r.card}: {r.cents}", Types.STRING())
    results.map(lambda text: Row(text=text), TEXT).sink_to(FileSink(str(tmp_path / "out"), "json"))
    shown = env.explain()
    # In a batch a function behind a key is called with one record after the other, as they are sorted.
    assert shown.count("| traced: ") == (4 if mode == "BATCH" else 5)
    assert "timestamps traced: r.id * 10" in shown
    assert "hash(r.card.upper())" in shown
    expected = [Discount(10).map(record) for record in map(payment, range(COUNT)) if has_card(record)]
    env.execute()
    lines = [line for path in (tmp_path / "out").glob("*.json") for line in path.read_text().splitlines()]
    assert sorted(json.loads(line)["text"] for line in lines) == sorted(
        f"{record.card}: {record.cents}" for record in expected
    )
