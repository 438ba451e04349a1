WITH in_windows AS (
    SELECT auction, dateTime // 2000 * 2000 - 2000 * unnest([0, 1, 2, 3, 4]) AS start FROM bids
), counts AS (
    SELECT auction, start, count(*) AS num FROM in_windows GROUP BY auction, start
)
SELECT auction, num FROM counts
WHERE start + 10000 <= getvariable('complete_until')
QUALIFY num = max(num) OVER (PARTITION BY start)
