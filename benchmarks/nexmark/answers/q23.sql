SELECT
    b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime, b.extra,
    p.name, p.emailAddress, p.creditCard, p.city, p.state, p.dateTime AS person_dateTime,
    a.id, a.itemName, a.initialBid, a.reserve, a.dateTime AS auction_dateTime, a.expires, a.category
FROM bids b JOIN persons p ON p.id = b.bidder JOIN auctions a ON a.seller = b.bidder
