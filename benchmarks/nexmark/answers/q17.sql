SELECT
    auction, strftime(epoch_ms(dateTime), '%Y-%m-%d') AS day,
    count(*) AS total_bids,
    count(*) FILTER (price < 10000) AS rank1_bids,
    count(*) FILTER (price >= 10000 AND price < 1000000) AS rank2_bids,
    count(*) FILTER (price >= 1000000) AS rank3_bids,
    min(price) AS min_price, max(price) AS max_price, sum(price) // count(*) AS avg_price, sum(price) AS sum_price
FROM bids GROUP BY auction, day
