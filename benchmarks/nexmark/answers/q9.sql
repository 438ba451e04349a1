SELECT
    a.id, a.itemName, a.description, a.initialBid, a.reserve, a.dateTime, a.expires, a.seller, a.category, a.extra,
    b.auction, b.bidder, b.price, b.dateTime AS bid_dateTime, b.extra AS bid_extra
FROM auctions a JOIN bids b ON b.auction = a.id AND b.dateTime BETWEEN a.dateTime AND a.expires
QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime, b.seq) = 1
