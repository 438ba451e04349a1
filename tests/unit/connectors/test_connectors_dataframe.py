from __future__ import annotations

import datetime
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from penstock.common.errors import ConfigurationError, SourceError, UnsupportedError
from penstock.common.row import Row
from penstock.common.typeinfo import Types
from penstock.connectors.dataframe import ArrowTableSource, dataframe_source


def test_the_rows_of_a_pandas_dataframe(run_source):
    frame = pd.DataFrame(
        {"n": [1, 2], "text": ["a", None], "when": pd.to_datetime(["2024-01-02 00:00", "2024-01-03 04:05"])}
    )
    frame.index = ["x", "y"]
    source = dataframe_source(frame)
    assert source.produced_type.get_field_names() == ["n", "text", "when"]
    assert run_source(source).epoch() == [
        Row(n=1, text="a", when=datetime.datetime(2024, 1, 2)),
        Row(n=2, text=None, when=datetime.datetime(2024, 1, 3, 4, 5)),
    ]


def test_epochs_and_restarts(run_source):
    run = run_source(dataframe_source(pa.table({"n": range(10)})))
    rows = run.epoch(records=4)
    run.restart()
    rows += [row for epoch in run.epochs(records=4) for row in epoch]
    assert [row.n for row in rows] == list(range(10))
    assert run.finished_splits == ["0"]


def test_arrow_types_become_the_types_that_hold_them(run_source):
    table = pa.table(
        {
            "u8": pa.array([255], pa.uint8()),
            "u64": pa.array([(1 << 64) - 1], pa.uint64()),
            "dec": pa.array([Decimal("1.50")]),
            "cat": pa.array(["x"]).dictionary_encode(),
            "zoned": pa.array([datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)], pa.timestamp("ms", "Europe/Paris")),
            "list": pa.array([[1]], pa.large_list(pa.int8())),
            "struct": pa.array([{"a": 1}]),
            "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        }
    )
    (row,) = run_source(dataframe_source(table)).epoch()
    assert row == Row(
        u8=255,
        u64=(1 << 64) - 1,
        dec=Decimal("1.50"),
        cat="x",
        zoned=datetime.datetime(2024, 1, 2),
        list=[1],
        struct=Row(a=1),
        map={"k": 1},
    )


def test_a_declared_type_chooses_columns(run_source):
    source = ArrowTableSource(pa.table({"a": [1], "b": ["x"]}), Types.ROW_NAMED(["b"], [Types.STRING()]))
    assert run_source(source).epoch() == [Row(b="x")]


def test_so_does_a_declared_type_of_rows_inside_choose_fields(run_source):
    inner = Types.ROW_NAMED(["z"], [Types.LONG()])
    source = ArrowTableSource(pa.table({"a": [{"x": 1, "z": 2}]}), Types.ROW_NAMED(["a"], [inner]))
    assert run_source(source).epoch() == [Row(a=Row(z=2))]


def test_what_does_not_fit_fails_where_the_source_is_made():
    with pytest.raises(SourceError, match="no column c"):
        ArrowTableSource(pa.table({"a": [1]}), Types.ROW_NAMED(["c"], [Types.INT()]))
    with pytest.raises(SourceError, match=r"column a is .* cannot be converted"):
        ArrowTableSource(pa.table({"a": ["x"]}), Types.ROW_NAMED(["a"], [Types.INT()]))
    rows = pa.table({"a": [[{"x": 1, "z": 2}]]})
    with pytest.raises(SourceError, match=r"column a has no field a\[\].y"):
        ArrowTableSource(rows, Types.ROW_NAMED(["a"], [Types.LIST(Types.ROW_NAMED(["x", "y"], [Types.LONG()] * 2))]))
    with pytest.raises(UnsupportedError, match=r"column a: .*duration"):
        dataframe_source(pa.table({"a": pa.array([1], pa.duration("s"))}))
    with pytest.raises(ConfigurationError, match="mixed types"):
        dataframe_source(pd.DataFrame({"a": [1, "x"]}))
    with pytest.raises(ConfigurationError, match="list"):
        dataframe_source([1])
