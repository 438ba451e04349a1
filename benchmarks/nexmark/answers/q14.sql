SELECT
    auction, bidder, CAST(price AS DECIMAL(19, 0)) * 0.908 AS price,
    CASE
        WHEN hour(epoch_ms(dateTime)) BETWEEN 8 AND 18 THEN 'dayTime'
        WHEN hour(epoch_ms(dateTime)) <= 6 OR hour(epoch_ms(dateTime)) >= 20 THEN 'nightTime'
        ELSE 'otherTime'
    END AS bidTimeType,
    dateTime, extra, length(extra) - length(replace(extra, 'c', '')) AS c_counts
FROM bids
WHERE CAST(price AS DECIMAL(19, 0)) * 0.908 > 1000000 AND CAST(price AS DECIMAL(19, 0)) * 0.908 < 50000000
