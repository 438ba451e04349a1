SELECT auction, bidder, CAST(price AS DECIMAL(19, 0)) * 0.908 AS price, dateTime, extra FROM bids
