-- Processing time: the rows depend on the run. What can be compared is the number of bids in them.
SELECT NULL::BIGINT AS bidder, count(*) AS bid_count, NULL::BIGINT AS starttime, NULL::BIGINT AS endtime FROM bids
