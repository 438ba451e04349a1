SELECT p.name, p.city, p.state, a.id
FROM auctions a JOIN persons p ON p.id = a.seller
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
