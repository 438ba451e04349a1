"""Every function of expressions with nulls and edge values: both engines give what Python gives."""

from __future__ import annotations

import datetime as dt
from itertools import cycle, islice
from typing import Any

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.expressions import col, when
from properties.expressions.python_twins import GREATEST, LEAST
from properties.expressions.test_functions_against_python import EPOCH, FIELDS, FUNCTIONS, expected

COUNT = 30
VALUES: dict[str, tuple[Any, ...]] = {
    "n": (0, 1, -1, 7, -7, LEAST, GREATEST, (1 << 53) + 1, None),
    "k": (0, 1, 3, 63, 64, -1, None),
    "x": (0.0, -0.0, 0.5, -1.5, 1.0, float("nan"), float("inf"), float("-inf"), 1e308, 5e-324, None),
    "s": ("", "a", "aab", "a,b,ab", "Straße", "🙂b", " a ", "aaa1\n", "İ", None),
    "at": (EPOCH, dt.datetime(2024, 2, 29, 23, 59, 59, 999_999), dt.datetime(1969, 12, 31, 23), dt.datetime.max, None),
    "day": (dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(2021, 1, 3), dt.date.min, None),
    "time": (dt.time.min, dt.time.max, dt.time(12, 30, 1, 5), None),
    "l": ([], [1], [1, None, 2], [0, 1], None),
    "w": ([], ["a"], ["a", "", "b"], None),
    "m": ({}, {"a": 1}, {"a": None, "b": 2}, None),
}
"""Of lengths that have few factors in common, so that many pairs of values meet."""

RECORD = Types.ROW_NAMED(["id", *FIELDS], [Types.LONG(), *(each for each, _ in FIELDS.values())])


def records() -> list[Row]:
    columns = {name: list(islice(cycle(values), COUNT)) for name, values in VALUES.items()}
    return [Row(id=place, **{name: columns[name][place] for name in FIELDS}) for place in range(COUNT)]


def test_every_function_with_edge_values(env: StreamExecutionEnvironment) -> None:
    rows, selected, wanted = records(), {}, {row.id: [] for row in records()}
    for place, (expression, function, fields) in enumerate(FUNCTIONS):
        answers = {row.id: expected(function, fields.split(), [row]) for row in rows}
        # A record for which Python raises would end the job: it is not asked for.
        asked = [number for number, (_, failure) in answers.items() if failure is None]
        assert asked, expression
        selected[f"f{place}"] = when(col("id").isin(asked), expression)
        for number, (values, failure) in answers.items():
            wanted[number].append(repr(None if failure is not None else values[0]))
    results = env.from_collection(rows, RECORD).rebalance().select("id", **selected).execute_and_collect()
    found = {row.id: [repr(row[f"f{place}"]) for place in range(len(FUNCTIONS))] for row in results}
    assert found == wanted
