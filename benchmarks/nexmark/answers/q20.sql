SELECT
    b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime, b.extra,
    a.itemName, a.description, a.initialBid, a.reserve, a.dateTime AS auction_dateTime, a.expires, a.seller, a.category,
    a.extra AS auction_extra
FROM bids b JOIN auctions a ON a.id = b.auction
WHERE a.category = 10
