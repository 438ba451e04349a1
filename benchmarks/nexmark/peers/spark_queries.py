"""Nexmark in Spark Structured Streaming: DataFrames only, no Python function sees a row.

What has windows, sessions or a join with bounds in time gives its results when the watermark passes (append mode); what
changes gives the rows that an epoch has changed (update mode).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from nexmark.peers.arguments import WATERMARK_DELAY_MS
from nexmark.peers.spark_input import FILES_PER_EPOCH, SlicedInput
from nexmark.schema import LONG, TABLES

WINDOW = "10 seconds"
# Flink's sessions hold events that are exactly the gap apart; Spark's do not.
SESSION_GAP = "10 seconds 1 millisecond"
SIDE_INPUT_KEYS = 10_000


class Tables:
    """The input as streams."""

    def __init__(self, spark: SparkSession, sliced: SlicedInput, side_input: Path) -> None:
        self._spark = spark
        self._sliced = sliced
        self._side_input = side_input

    @property
    def longest_auction_ms(self) -> int:
        """No auction is open for longer: what lets a join forget bids."""
        return self._sliced.longest_auction_ms

    def stream(self, table: str) -> DataFrame:
        """The rows of a table."""
        schema = ", ".join(f"{name} {'long' if kind == LONG else 'string'}" for name, kind in TABLES[table])
        reader = self._spark.readStream.schema(schema).option("maxFilesPerTrigger", FILES_PER_EPOCH)
        return reader.parquet(str(self._sliced.directory / table))

    def timed(self, table: str, column: str = "dateTime") -> DataFrame:
        """The rows of a table with event time `ts` and watermarks."""
        rows = self.stream(table).withColumn("ts", f.timestamp_millis(column))
        return rows.withWatermark("ts", f"{WATERMARK_DELAY_MS} milliseconds")

    def side_input(self) -> DataFrame:
        """The rows of the side input, at rest."""
        return self._spark.read.schema("key long, value string").csv(str(self._side_input))


@dataclass(frozen=True)
class SparkQuery:
    """One query."""

    build: Callable[[Tables], DataFrame]
    mode: str = "append"
    waits_for_watermark: bool = False
    """Results come when the watermark passes: something must end time."""


def _product(price: Column) -> Column:
    return (price.cast("decimal(19,0)") * f.lit(Decimal("0.908"))).cast("decimal(23,3)")


def q0(tables: Tables) -> DataFrame:
    return tables.stream("bids").select("auction", "bidder", "price", "dateTime", "extra")


def q1(tables: Tables) -> DataFrame:
    return q0(tables).withColumn("price", _product(f.col("price")))


def q2(tables: Tables) -> DataFrame:
    return tables.stream("bids").where("auction % 123 = 0").select("auction", "price")


def q3(tables: Tables) -> DataFrame:
    auctions = tables.stream("auctions").where("category = 10").select("id", "seller")
    persons = tables.stream("persons").where("state IN ('OR', 'ID', 'CA')")
    persons = persons.select(f.col("id").alias("person"), "name", "city", "state")
    return auctions.join(persons, f.expr("seller = person")).select("name", "city", "state", "id")


def q5(tables: Tables) -> DataFrame:
    counts = tables.timed("bids").groupBy(f.window("ts", WINDOW, "2 seconds"), "auction").agg(f.count("*").alias("num"))
    busiest = counts.groupBy("window").agg(
        f.max("num").alias("most"), f.collect_list(f.struct("auction", "num")).alias("counts")
    )
    return busiest.select("most", f.explode("counts").alias("each")).where("each.num = most").select("each.*")


def q7(tables: Tables) -> DataFrame:
    highest = tables.timed("bids").groupBy(f.window("ts", WINDOW)).agg(f.max("price").alias("highest"))
    highest = highest.select("window", "highest", f.window_time("window").alias("closed"))
    within = (
        "price = highest AND ts >= closed - INTERVAL '9.999999' SECOND AND ts <= closed + INTERVAL '0.000001' SECOND"
    )
    bids = tables.timed("bids").select("auction", "bidder", "price", "dateTime", "extra", "ts")
    return bids.join(highest, f.expr(within)).select("auction", "bidder", "price", "dateTime", "extra")


def q8(tables: Tables) -> DataFrame:
    persons = tables.timed("persons").groupBy(f.window("ts", WINDOW), "id", "name").agg(f.count("*").alias("persons"))
    sellers = tables.timed("auctions").groupBy(f.window("ts", WINDOW), f.col("seller").alias("id"))
    both = persons.join(sellers.agg(f.count("*").alias("auctions")), ["window", "id"])
    return both.select("id", "name", f.unix_millis("window.start").alias("starttime"))


def q9(tables: Tables) -> DataFrame:
    auctions = tables.timed("auctions", "expires")
    own = [name for name, _ in TABLES["auctions"][1:]]
    bids = tables.stream("bids").select(
        "auction",
        "bidder",
        "price",
        f.col("dateTime").alias("bid_dateTime"),
        f.col("extra").alias("bid_extra"),
        f.col("seq").alias("bid_seq"),
        f.timestamp_millis("dateTime").alias("bid_ts"),
    )
    bids = bids.withWatermark("bid_ts", f"{WATERMARK_DELAY_MS} milliseconds")
    within = "id = auction AND bid_dateTime >= dateTime AND bid_ts <= ts"
    within += f" AND ts <= bid_ts + INTERVAL '{tables.longest_auction_ms / 1000}' SECOND"
    bid = ("auction", "bidder", "price", "bid_dateTime", "bid_extra")
    pairs = auctions.join(bids, f.expr(within)).select("ts", *own, *bid, "bid_seq")
    best = f.max_by(f.struct(*bid), f.struct("price", -f.col("bid_dateTime"), -f.col("bid_seq"))).alias("best")
    opened = f.first(f.struct(*own)).alias("opened")
    return pairs.groupBy("ts", "id").agg(opened, best).select("opened.*", "best.*")


def q11(tables: Tables) -> DataFrame:
    sessions = tables.timed("bids").groupBy("bidder", f.session_window("ts", SESSION_GAP))
    times = f.unix_millis("session_window.start").alias("starttime"), f.unix_millis("session_window.end") - 1
    counted = sessions.agg(f.count("*").alias("bid_count"))
    return counted.select("bidder", "bid_count", times[0], times[1].alias("endtime"))


def q12(tables: Tables) -> DataFrame:
    windows = tables.stream("bids").groupBy("bidder", f.window(f.current_timestamp(), WINDOW))
    times = f.unix_millis("window.start").alias("starttime"), f.unix_millis("window.end").alias("endtime")
    return windows.agg(f.count("*").alias("bid_count")).select("bidder", "bid_count", *times)


def q13(tables: Tables) -> DataFrame:
    bids = tables.stream("bids").withColumn("key", f.col("auction") % SIDE_INPUT_KEYS)
    joined = bids.join(f.broadcast(tables.side_input()), "key")
    return joined.select("auction", "bidder", "price", "dateTime", "value")


def q14(tables: Tables) -> DataFrame:
    bids = tables.stream("bids").withColumn("price", _product(f.col("price")))
    hour = f.hour(f.timestamp_millis("dateTime"))
    part = f.when((hour >= 8) & (hour <= 18), "dayTime").when((hour <= 6) | (hour >= 20), "nightTime")
    letters = f.length("extra") - f.length(f.replace("extra", f.lit("c"), f.lit("")))
    return bids.where("price > 1000000 AND price < 50000000").select(
        "auction",
        "bidder",
        "price",
        part.otherwise("otherTime").alias("bidTimeType"),
        "dateTime",
        "extra",
        letters.cast("long").alias("c_counts"),
    )


_CLASSES = {"rank1": "price < 10000", "rank2": "price >= 10000 AND price < 1000000", "rank3": "price >= 1000000"}


def _bid_counts() -> list[Column]:
    by_class = [f.count_if(f.expr(condition)).alias(f"{rank}_bids") for rank, condition in _CLASSES.items()]
    return [f.count("*").alias("total_bids"), *by_class]


def _distinct(column: str) -> list[Column]:
    """The distinct values of each class: streams have no count of distinct values, but sets."""
    return [
        f.collect_set(f.when(f.expr(condition), f.col(column))).alias(f"{rank}_{column}s")
        for rank, condition in _CLASSES.items()
    ]


def _sizes(column: str) -> list[Column]:
    sets = [f"{rank}_{column}s" for rank in _CLASSES]
    total = f.size(f.array_distinct(f.concat(*sets))).cast("long").alias(f"total_{column}s")
    return [total, *(f.size(name).cast("long").alias(name) for name in sets)]


def _day_and_minute(bids: DataFrame) -> DataFrame:
    time = f.timestamp_millis("dateTime")
    return bids.withColumns({"day": f.date_format(time, "yyyy-MM-dd"), "minute": f.date_format(time, "HH:mm")})


def _distinct_counts(tables: Tables, *keys: str) -> DataFrame:
    counted = _day_and_minute(tables.stream("bids")).groupBy(*keys)
    sets = counted.agg(f.max("minute").alias("minute"), *_bid_counts(), *_distinct("bidder"), *_distinct("auction"))
    bids = ["total_bids", *(f"{rank}_bids" for rank in _CLASSES)]
    return sets.select(*keys, "minute", *bids, *_sizes("bidder"), *_sizes("auction"))


def q15(tables: Tables) -> DataFrame:
    return _distinct_counts(tables, "day").drop("minute")


def q16(tables: Tables) -> DataFrame:
    return _distinct_counts(tables, "channel", "day")


def q17(tables: Tables) -> DataFrame:
    prices = f.min("price").alias("min_price"), f.max("price").alias("max_price"), f.sum("price").alias("sum_price")
    totals = _day_and_minute(tables.stream("bids")).groupBy("auction", "day").agg(*_bid_counts(), *prices)
    return totals.withColumn("avg_price", f.expr("sum_price DIV total_bids"))


def q18(tables: Tables) -> DataFrame:
    rest = f.struct("price", "channel", "url", "dateTime", "extra")
    last = f.max_by(rest, f.struct("dateTime", "seq")).alias("last")
    return tables.stream("bids").groupBy("auction", "bidder").agg(last).select("auction", "bidder", "last.*")


def q19(tables: Tables) -> DataFrame:
    rest = f.struct("bidder", "price", "channel", "url", "dateTime", "extra")
    best = f.max_by(rest, f.struct("price", -f.col("seq")), 10).alias("best")
    ranked = tables.stream("bids").groupBy("auction").agg(best).select("auction", f.posexplode("best"))
    return ranked.select("auction", "col.*", (f.col("pos") + 1).cast("long").alias("rank_number"))


def q20(tables: Tables) -> DataFrame:
    auctions = tables.stream("auctions").where("category = 10").drop("seq")
    auctions = auctions.withColumnsRenamed({"dateTime": "auction_dateTime", "extra": "auction_extra"})
    return tables.stream("bids").drop("seq").join(auctions, f.expr("auction = id")).drop("id")


def q21(tables: Tables) -> DataFrame:
    known = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    found = f.regexp_extract("url", "(&|^)channel_id=([^&]*)", 2)
    channel_id = f.lit(None)
    for name, number in known.items():
        channel_id = f.when(f.lower("channel") == name, number).otherwise(channel_id)
    bids = tables.stream("bids").withColumn("channel_id", f.coalesce(channel_id, f.nullif(found, f.lit(""))))
    return bids.where("channel_id IS NOT NULL").select("auction", "bidder", "price", "channel", "channel_id")


def q22(tables: Tables) -> DataFrame:
    parts = f.split("url", "/")
    folders = [parts[number + 2].alias(f"dir{number}") for number in (1, 2, 3)]
    return tables.stream("bids").select("auction", "bidder", "price", "channel", *folders)


def q23(tables: Tables) -> DataFrame:
    persons = tables.stream("persons").drop("seq", "extra")
    persons = persons.withColumnsRenamed({"id": "person", "dateTime": "person_dateTime"})
    auctions = tables.stream("auctions").drop("seq", "description", "extra")
    auctions = auctions.withColumnRenamed("dateTime", "auction_dateTime")
    bids = tables.stream("bids").join(persons, f.expr("bidder = person"))
    return bids.join(auctions, f.expr("bidder = seller"))


QUERIES: dict[str, SparkQuery] = {
    "q0": SparkQuery(q0),
    "q1": SparkQuery(q1),
    "q2": SparkQuery(q2),
    "q3": SparkQuery(q3),
    "q5": SparkQuery(q5, waits_for_watermark=True),
    "q7": SparkQuery(q7, waits_for_watermark=True),
    "q8": SparkQuery(q8, waits_for_watermark=True),
    "q9": SparkQuery(q9, waits_for_watermark=True),
    "q11": SparkQuery(q11, waits_for_watermark=True),
    "q12": SparkQuery(q12, mode="update"),
    "q13": SparkQuery(q13),
    "q14": SparkQuery(q14),
    "q15": SparkQuery(q15, mode="update"),
    "q16": SparkQuery(q16, mode="update"),
    "q17": SparkQuery(q17, mode="update"),
    "q18": SparkQuery(q18, mode="update"),
    "q19": SparkQuery(q19, mode="update"),
    "q20": SparkQuery(q20),
    "q21": SparkQuery(q21),
    "q22": SparkQuery(q22),
    "q23": SparkQuery(q23),
}
