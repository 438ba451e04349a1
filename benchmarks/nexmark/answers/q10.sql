SELECT
    auction, bidder, price, dateTime, extra,
    strftime(epoch_ms(dateTime), '%Y-%m-%d') AS dt, strftime(epoch_ms(dateTime), '%H:%M') AS hm
FROM bids
