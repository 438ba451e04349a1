"""Spark DataFrames as sources: what they are read as, and that they are computed once."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.common.errors import CheckpointError, ConfigurationError, PlanError, SourceError, UnsupportedError
from penstock.common.row import Row
from penstock.common.typeinfo import Types
from penstock.connectors.dataframe import dataframe_source
from penstock.connectors.spark_dataframe import SparkDataFrameSource
from penstock.engine.spark.session import open_session

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return open_session("penstock", "local[2]", {}, None)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "of the source"


def rows(source: Any, directory: Path, run_source: Any) -> list[Row]:
    return [row for epoch in run_source(source.prepared(str(directory))).epochs() for row in epoch]


def random_rows(spark: SparkSession, count: int = 100) -> DataFrame:
    return spark.range(count).selectExpr("id", "uuid() as text")


def test_sparks_types_become_the_types_that_hold_them(spark: SparkSession, directory: Path, run_source: Any) -> None:
    frame = spark.sql(
        """
        select 1 as i, 2L as l, 1Y as tiny, true as b, 'x' as s, X'01' as bin, cast(null as double) as d,
            1.50BD as dec, date'2024-01-02' as day, timestamp_ntz'2024-01-02 03:04:05' as local,
            timestamp'2024-01-02 03:04:05+01:00' as instant, timestamp'9999-12-31 00:00:00Z' as far,
            array(1, null) as list, map('k', 1.5BD) as map, struct(1 as p, array(2.5BD) as q) as struct, null as none
        """
    )
    assert rows(dataframe_source(frame), directory, run_source) == [
        Row(
            i=1,
            l=2,
            tiny=1,
            b=True,
            s="x",
            bin=b"\x01",
            d=None,
            dec=Decimal("1.50"),
            day=datetime.date(2024, 1, 2),
            local=datetime.datetime(2024, 1, 2, 3, 4, 5),
            instant=datetime.datetime(2024, 1, 2, 2, 4, 5),
            far=datetime.datetime(9999, 12, 31),
            list=[1, None],
            map={"k": Decimal("1.5")},
            struct=Row(p=1, q=[Decimal("2.5")]),
            none=None,
        )
    ]


def test_the_type_is_known_before_anything_is_computed(spark: SparkSession) -> None:
    source = dataframe_source(spark.sql("select 1 as `a.b`, raise_error('computed') as `x y`"))
    assert source.produced_type == Types.ROW_NAMED(["a.b", "x y"], [Types.INT(), Types.STRING()])
    assert source.describe() == "Spark DataFrame of a.b, x y"


def test_a_restart_reads_the_rows_of_the_first_start(spark: SparkSession, directory: Path, run_source: Any) -> None:
    first = rows(dataframe_source(random_rows(spark)), directory, run_source)
    again = rows(dataframe_source(random_rows(spark)), directory, run_source)
    assert first == again
    assert sorted(row.id for row in first) == list(range(100))


def test_an_unfinished_write_is_removed(spark: SparkSession, directory: Path, run_source: Any) -> None:
    unfinished = directory / "unfinished-1"
    unfinished.mkdir(parents=True)
    (unfinished / "part-0.parquet").write_bytes(b"half")
    assert len(rows(dataframe_source(random_rows(spark, 3)), directory, run_source)) == 3
    assert [path.name for path in directory.iterdir()] == ["rows"]


def test_a_dataframe_without_rows(spark: SparkSession, directory: Path, run_source: Any) -> None:
    empty = spark.createDataFrame([], "id long, text string").repartition(2)
    assert rows(dataframe_source(empty), directory, run_source) == []


def test_what_spark_cannot_compute_fails_before_the_job_starts_and_leaves_nothing(
    spark: SparkSession, directory: Path
) -> None:
    source = dataframe_source(spark.sql("select raise_error('no rows today') as x from range(2)"))
    with pytest.raises(SourceError, match=r"Spark DataFrame of x cannot be written to .*rows: "):
        source.prepared(str(directory))
    assert list(directory.iterdir()) == []


def test_a_checkpoint_with_the_rows_of_other_columns_is_refused(spark: SparkSession, directory: Path) -> None:
    dataframe_source(random_rows(spark, 3)).prepared(str(directory))
    with pytest.raises(CheckpointError, match="DataFrame with other columns"):
        dataframe_source(spark.range(3)).prepared(str(directory))


def test_it_does_not_travel_unprepared(spark: SparkSession) -> None:
    source = dataframe_source(spark.range(3))
    assert not source.is_prepared
    for use in (pickle.dumps, SparkDataFrameSource.create_reader):
        with pytest.raises(PlanError, match="lives in the driver"):
            use(source)  # type: ignore[operator]


def test_columns_that_cannot_be_read_are_named(spark: SparkSession) -> None:
    for expression in ("interval '1' year", "interval '1' day", "parse_json('1')", "array(time'12:00:00')"):
        with pytest.raises(UnsupportedError, match="column odd: "):
            dataframe_source(spark.sql(f"select 1 as time, {expression} as odd"))
    with pytest.raises(ConfigurationError, match="no columns"):
        dataframe_source(spark.range(1).drop("id"))


def test_streaming_and_connect_dataframes_are_refused(spark: SparkSession) -> None:
    with pytest.raises(UnsupportedError, match="streaming DataFrame"):
        dataframe_source(spark.readStream.format("rate").load())
    # PySpark's own class cannot be imported without the packages of Spark Connect.
    connect = type("DataFrame", (DataFrame,), {"__module__": "pyspark.sql.connect.dataframe"})
    with pytest.raises(UnsupportedError, match="Spark Connect"):
        dataframe_source(object.__new__(connect))


def test_other_things_of_sparks_are_no_dataframes(spark: SparkSession) -> None:
    for thing in (spark, spark.range(1).id, spark.range(1).groupBy("id")):
        with pytest.raises(ConfigurationError, match="a Spark DataFrame, got"):
            dataframe_source(thing)
