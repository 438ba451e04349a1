WITH sold AS (
    SELECT a.id, a.seller, a.expires, max(b.price) AS price
    FROM auctions a JOIN bids b ON b.auction = a.id AND b.dateTime BETWEEN a.dateTime AND a.expires
    GROUP BY a.id, a.seller, a.expires
), last_sold AS (
    SELECT * FROM sold QUALIFY row_number() OVER (PARTITION BY seller ORDER BY expires DESC, id DESC) <= 10
)
SELECT seller, sum(price) // count(*) AS avg_price FROM last_sold GROUP BY seller
