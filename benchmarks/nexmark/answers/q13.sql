SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
FROM bids b JOIN side_input s ON s.key = b.auction % 10000
