WITH highest AS (
    SELECT dateTime // 10000 * 10000 AS start, max(price) AS price FROM bids GROUP BY ALL
)
SELECT b.auction, b.bidder, b.price, b.dateTime, b.extra
FROM bids b JOIN highest h ON b.price = h.price AND b.dateTime BETWEEN h.start AND h.start + 10000
WHERE h.start + 10000 <= getvariable('complete_until')
