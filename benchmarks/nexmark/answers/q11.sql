WITH marked AS (
    SELECT bidder, dateTime,
        dateTime - lag(dateTime) OVER (PARTITION BY bidder ORDER BY dateTime, seq) > 10000 AS is_first, seq
    FROM bids
), numbered AS (
    SELECT bidder, dateTime,
        count(*) FILTER (is_first) OVER (PARTITION BY bidder ORDER BY dateTime, seq ROWS UNBOUNDED PRECEDING) AS session
    FROM marked
)
SELECT bidder, count(*) AS bid_count, min(dateTime) AS starttime, max(dateTime) + 10000 AS endtime
FROM numbered GROUP BY bidder, session
HAVING max(dateTime) + 10000 <= getvariable('complete_until')
