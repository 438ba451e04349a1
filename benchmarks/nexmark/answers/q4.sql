WITH sold AS (
    SELECT a.id, a.category, max(b.price) AS price
    FROM auctions a JOIN bids b ON b.auction = a.id AND b.dateTime BETWEEN a.dateTime AND a.expires
    GROUP BY a.id, a.category
)
SELECT category, sum(price) // count(*) AS avg_price FROM sold GROUP BY category
