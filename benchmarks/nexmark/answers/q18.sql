SELECT auction, bidder, price, channel, url, dateTime, extra FROM bids
QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC, seq DESC) = 1
