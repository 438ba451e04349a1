SELECT DISTINCT p.id, p.name, p.dateTime // 10000 * 10000 AS starttime
FROM persons p JOIN auctions a ON a.seller = p.id AND a.dateTime // 10000 = p.dateTime // 10000
WHERE p.dateTime // 10000 * 10000 + 10000 <= getvariable('complete_until')
