"""Expressions in the place of functions: the same records come out."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from penstock.common import Row, Types
from penstock.common.errors import JobExecutionException
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.expressions import coalesce, col, concat, row, this, when

PAYMENT = Types.ROW_NAMED(["id", "card", "cents", "note"], [Types.LONG(), Types.STRING(), Types.INT(), Types.STRING()])
CARDS = ("visa", "Amex", "straße", None)
COUNT = 400


def payment(n: int) -> Row:
    return Row(id=n, card=CARDS[n % 4], cents=None if n % 11 == 0 else n * 7 % 101 - 20, note="ok" if n % 3 else None)


class PowerCut:
    """A function between the expressions that fails once, after an epoch has been published where there are several."""

    def __init__(self, directory: Path, *, at_once: bool) -> None:
        self.directory = directory
        self.at_once = at_once

    def __call__(self, record: Row) -> Row:
        is_due = self.at_once or any((self.directory / "out").glob("*.json"))
        if is_due and not (self.directory / "power is back").exists():
            raise RuntimeError("power cut")
        return record


def sums_and_count(records: list[Row]) -> tuple[dict[str | None, int], int]:
    """The job below in plain Python: the last sum of each card, and the number of records that were added."""
    sums: Counter[str | None] = Counter()
    chosen = [r for r in records if r.cents is not None and (r.cents > 0 or r.note is None)]
    for record in chosen:
        sums[record.card and record.card.upper()] += abs(record.cents) // 7
    return dict(sums), len(chosen)


def test_a_pipeline_of_expressions_with_a_restart_in_the_middle(
    env: StreamExecutionEnvironment, mode: str, tmp_path: Path
) -> None:
    env.configuration.set_string("execution.epoch.max-records", "100")
    power_cut = PowerCut(tmp_path, at_once=mode == "BATCH")
    for attempt in range(2):
        payments = env.from_sequence(0, COUNT - 1).map(payment, PAYMENT)
        chosen = payments.filter(col("cents").is_not_null() & ((col("cents") > 0) | col("note").is_null()))
        units = chosen.select(col("card").upper().alias("card"), units=col("cents").abs() // 7).map(
            power_cut, Types.ROW_NAMED(["card", "units"], [Types.STRING(), Types.LONG()])
        )
        sums = units.key_by(col("card").lower()).sum("units").uid("sum")
        shown = when(col("units") < 50, "little").otherwise(concat(col("units").cast(str), " EUR"))
        sums.map(row(card=col("card"), shown=shown)).sink_to(FileSink(str(tmp_path / "out"), "json"))
        if attempt == 0:
            with pytest.raises(JobExecutionException, match="power cut"):
                env.execute()
            (tmp_path / "power is back").touch()
        else:
            env.execute()
    lines = [line for path in (tmp_path / "out").glob("*.json") for line in path.read_text().splitlines()]
    results = [json.loads(line) for line in lines]
    sums, count = sums_and_count([payment(n) for n in range(COUNT)])
    assert len(results) == (count if mode == "STREAMING" else len(sums))
    # Sums only grow: the greatest one is the last.
    greatest: dict[str | None, int] = {}
    for result in results:
        if result["shown"] != "little":
            shown_sum = int(result["shown"].removesuffix(" EUR"))
            greatest[result["card"]] = max(greatest.get(result["card"], 0), shown_sum)
    assert greatest == sums


def test_a_record_that_an_expression_fails_on_is_named(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([4, 2, 0, 1]).map(8 // this()).name("Shares").uid("shares")
    numbers.map((this(), coalesce(this(), 0) / 2)).print()
    with pytest.raises(JobExecutionException) as failure:
        env.execute()
    report = failure.value.report
    assert report is not None
    assert (report.error_type, report.uid, report.record) == ("ZeroDivisionError", "shares", "0")
    assert "division by zero in `8 // this()`" in str(failure.value)
    assert f"{__file__}:" in str(failure.value)
