"""Nexmark in Flink SQL: the queries of the specification over the tables `persons`, `auctions` and `bids`.

`dateTime` and `expires` are milliseconds; `ts` is event time, `now_ts` processing time.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FlinkQuery:
    """One query; `views` are made first, in order."""

    select: str
    views: tuple[tuple[str, str], ...] = ()
    partitioned_by: tuple[str, ...] = ()
    """Where the query is about files: they are written in any case, under these columns."""


def _millis(column: str) -> str:
    return f"EXTRACT(EPOCH FROM {column}) * 1000 + EXTRACT(MILLISECOND FROM {column})"


_BID_DAY = "DATE_FORMAT(ts, 'yyyy-MM-dd')"
_HOP = """
SELECT auction, COUNT(*) AS num, window_start, window_end
FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
GROUP BY auction, window_start, window_end
"""
_CLASSES = (("rank1", "price < 10000"), ("rank2", "price >= 10000 AND price < 1000000"), ("rank3", "price >= 1000000"))


def _counts(what: str, name: str) -> str:
    """A count in total and for each class of prices."""
    filtered = [f"COUNT({what}) FILTER (WHERE {condition}) AS {rank}_{name}" for rank, condition in _CLASSES]
    return ", ".join([f"COUNT({what}) AS total_{name}", *filtered])


_DISTINCT_COUNTS = ",\n".join(
    (_counts("*", "bids"), _counts("DISTINCT bidder", "bidders"), _counts("DISTINCT auction", "auctions"))
)
_AVERAGES = (
    "FIRST(A.`dateTime`) AS start_time, LAST(A.`dateTime`) AS end_time, CAST(AVG(A.price) AS BIGINT) AS avg_price"
)


def _matches(measures: str, skip: str, pattern: str, definitions: str) -> str:
    return f"""
    SELECT * FROM bids MATCH_RECOGNIZE (
        PARTITION BY auction, bidder ORDER BY ts, seq
        MEASURES {measures}
        ONE ROW PER MATCH
        AFTER MATCH {skip}
        PATTERN {pattern}
        DEFINE {definitions}
    )
    """


_WINNING = """
SELECT id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, category, extra,
    auction, bidder, price, bid_dateTime, bid_extra
FROM (
    SELECT A.*, B.auction, B.bidder, B.price, B.`dateTime` AS bid_dateTime, B.extra AS bid_extra,
        ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.`dateTime` ASC, B.seq ASC) AS place
    FROM auctions A, bids B
    WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
)
WHERE place <= 1
"""

QUERIES: dict[str, FlinkQuery] = {
    "q0": FlinkQuery("SELECT auction, bidder, price, `dateTime`, extra FROM bids"),
    "q1": FlinkQuery(
        "SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(23, 3)) AS price, `dateTime`, extra FROM bids"
    ),
    "q2": FlinkQuery("SELECT auction, price FROM bids WHERE MOD(auction, 123) = 0"),
    "q3": FlinkQuery(
        """
        SELECT P.name, P.city, P.state, A.id
        FROM auctions AS A INNER JOIN persons AS P ON A.seller = P.id
        WHERE A.category = 10 AND P.state IN ('OR', 'ID', 'CA')
        """
    ),
    "q4": FlinkQuery(
        """
        SELECT category, AVG(final) AS avg_price
        FROM (
            SELECT MAX(B.price) AS final, A.category
            FROM auctions A, bids B
            WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
            GROUP BY A.id, A.category
        )
        GROUP BY category
        """,
    ),
    "q5": FlinkQuery(
        """
        SELECT counted.auction, counted.num
        FROM counted JOIN (
            SELECT MAX(num) AS most, window_start, window_end FROM counted GROUP BY window_start, window_end
        ) AS busiest
        ON counted.window_start = busiest.window_start AND counted.window_end = busiest.window_end
            AND counted.num >= busiest.most
        """,
        views=(("counted", _HOP),),
    ),
    "q7": FlinkQuery(
        """
        SELECT B.auction, B.bidder, B.price, B.`dateTime`, B.extra
        FROM bids B JOIN highest ON B.price = highest.price
        WHERE B.ts BETWEEN highest.window_end - INTERVAL '10' SECOND AND highest.window_end
        """,
        views=(
            (
                "highest",
                """
                SELECT MAX(price) AS price, window_end
                FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND))
                GROUP BY window_start, window_end
                """,
            ),
        ),
    ),
    "q8": FlinkQuery(
        f"""
        SELECT P.id, P.name, {_millis("P.window_start")} AS starttime
        FROM (
            SELECT id, name, window_start, window_end
            FROM TABLE(TUMBLE(TABLE persons, DESCRIPTOR(ts), INTERVAL '10' SECOND))
            GROUP BY id, name, window_start, window_end
        ) AS P
        JOIN (
            SELECT seller, window_start, window_end
            FROM TABLE(TUMBLE(TABLE auctions, DESCRIPTOR(ts), INTERVAL '10' SECOND))
            GROUP BY seller, window_start, window_end
        ) AS A
        ON P.id = A.seller AND P.window_start = A.window_start AND P.window_end = A.window_end
        """
    ),
    "q9": FlinkQuery(_WINNING),
    "q10": FlinkQuery(
        f"""
        SELECT auction, bidder, price, `dateTime`, extra, {_BID_DAY} AS dt, DATE_FORMAT(ts, 'HH:mm') AS hm FROM bids
        """,
        partitioned_by=("dt", "hm"),
    ),
    "q11": FlinkQuery(
        f"""
        SELECT bidder, COUNT(*) AS bid_count, {_millis("window_start")} AS starttime, {_millis("window_end")} AS endtime
        FROM TABLE(SESSION(TABLE bids PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '10' SECOND))
        GROUP BY bidder, window_start, window_end
        """
    ),
    "q12": FlinkQuery(
        f"""
        SELECT bidder, COUNT(*) AS bid_count, {_millis("window_start")} AS starttime, {_millis("window_end")} AS endtime
        FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(now_ts), INTERVAL '10' SECOND))
        GROUP BY bidder, window_start, window_end
        """
    ),
    "q13": FlinkQuery(
        """
        SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value`
        FROM bids B JOIN side_input FOR SYSTEM_TIME AS OF B.ts AS S ON MOD(B.auction, 10000) = S.`key`
        """
    ),
    "q14": FlinkQuery(
        """
        SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(23, 3)) AS price,
            CASE WHEN HOUR(ts) >= 8 AND HOUR(ts) <= 18 THEN 'dayTime'
                WHEN HOUR(ts) <= 6 OR HOUR(ts) >= 20 THEN 'nightTime'
                ELSE 'otherTime' END AS bidTimeType,
            `dateTime`, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS c_counts
        FROM bids WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000
        """
    ),
    "q15": FlinkQuery(
        f"SELECT {_BID_DAY} AS `day`, {_DISTINCT_COUNTS} FROM bids GROUP BY {_BID_DAY}",
    ),
    "q16": FlinkQuery(
        f"""
        SELECT channel, {_BID_DAY} AS `day`, MAX(DATE_FORMAT(ts, 'HH:mm')) AS `minute`, {_DISTINCT_COUNTS}
        FROM bids GROUP BY channel, {_BID_DAY}
        """,
    ),
    "q17": FlinkQuery(
        f"""
        SELECT auction, {_BID_DAY} AS `day`, {_counts("*", "bids")},
            MIN(price) AS min_price, MAX(price) AS max_price, AVG(price) AS avg_price, SUM(price) AS sum_price
        FROM bids GROUP BY auction, {_BID_DAY}
        """,
    ),
    "q18": FlinkQuery(
        """
        SELECT auction, bidder, price, channel, url, `dateTime`, extra
        FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY `dateTime` DESC, seq DESC) AS place
            FROM bids
        )
        WHERE place <= 1
        """,
    ),
    "q19": FlinkQuery(
        """
        SELECT auction, bidder, price, channel, url, `dateTime`, extra, rank_number
        FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, seq ASC) AS rank_number FROM bids
        )
        WHERE rank_number <= 10
        """,
    ),
    "q20": FlinkQuery(
        """
        SELECT B.auction, B.bidder, B.price, B.channel, B.url, B.`dateTime`, B.extra,
            A.itemName, A.description, A.initialBid, A.reserve, A.`dateTime` AS auction_dateTime, A.expires,
            A.seller, A.category, A.extra AS auction_extra
        FROM bids AS B INNER JOIN auctions AS A ON B.auction = A.id
        WHERE A.category = 10
        """
    ),
    "q21": FlinkQuery(
        """
        SELECT auction, bidder, price, channel,
            CASE WHEN LOWER(channel) = 'apple' THEN '0'
                WHEN LOWER(channel) = 'google' THEN '1'
                WHEN LOWER(channel) = 'facebook' THEN '2'
                WHEN LOWER(channel) = 'baidu' THEN '3'
                ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
        FROM bids
        WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL
            OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')
        """
    ),
    "q22": FlinkQuery(
        """
        SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) AS dir1, SPLIT_INDEX(url, '/', 4) AS dir2,
            SPLIT_INDEX(url, '/', 5) AS dir3
        FROM bids
        """
    ),
    "q23": FlinkQuery(
        """
        SELECT B.auction, B.bidder, B.price, B.channel, B.url, B.`dateTime`, B.extra,
            P.name, P.emailAddress, P.creditCard, P.city, P.state, P.`dateTime` AS person_dateTime,
            A.id, A.itemName, A.initialBid, A.reserve, A.`dateTime` AS auction_dateTime, A.expires, A.category
        FROM bids AS B INNER JOIN persons AS P ON B.bidder = P.id INNER JOIN auctions AS A ON A.seller = B.bidder
        """
    ),
    "c0": FlinkQuery(
        _matches(
            "A.`dateTime` AS start_time, LAST(B.`dateTime`) AS bottom_time, C.`dateTime` AS end_time",
            "SKIP TO LAST C",
            "(A B+ C)",
            """
            B AS (LAST(B.price, 1) IS NULL AND B.price < A.price) OR B.price < LAST(B.price, 1),
            C AS C.price > LAST(B.price)
            """,
        )
    ),
    "c1": FlinkQuery(_matches(_AVERAGES, "SKIP PAST LAST ROW", "(A+ B)", "A AS AVG(A.price) < 10000")),
    "c2": FlinkQuery(_matches(_AVERAGES, "SKIP TO NEXT ROW", "(A+ B)", "A AS AVG(A.price) < 10000")),
    "c3": FlinkQuery(
        _matches(
            "A.`dateTime` AS drop_time, A.price - C.price AS drop_diff",
            "SKIP PAST LAST ROW",
            "(A B* C) WITHIN INTERVAL '5' SECOND",
            "B AS B.price > A.price - 50, C AS C.price < A.price - 50",
        )
    ),
}
