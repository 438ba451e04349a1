SELECT
    auction, bidder, price, channel, url, dateTime, extra,
    row_number() OVER (PARTITION BY auction ORDER BY price DESC, seq) AS rank_number
FROM bids
QUALIFY rank_number <= 10
