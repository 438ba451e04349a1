# ruff: noqa: E501
"""Cases from Flink's documentation, and such as show one thing each."""

DOCUMENTED = """
begin:a where:a next:b where:b | no | a1@1 c1@2 b1@3 b2@4 | 9
begin:a where:a followed_by:b where:b | no | a1@1 c1@2 b1@3 b2@4 | 9
begin:a where:a followed_by_any:b where:b | no | a1@1 c1@2 b1@3 b2@4 | 9
begin:a where:a not_next:c where:c | no | a1@1 c1@2 a2@3 b1@4 | 9
begin:a where:a not_followed_by:c where:c followed_by:b where:b | no | a1@1 c1@2 b1@3 a2@4 d1@5 b2@6 | 9
begin:start where:c followed_by:middle where:a one_or_more consecutive followed_by:end where:b | no | c0@1 d0@2 a1@3 a2@4 a3@5 d1@6 a4@7 b1@8 | 9
begin:start where:c followed_by:middle where:a one_or_more followed_by:end where:b | no | c0@1 d0@2 a1@3 a2@4 a3@5 d1@6 a4@7 b1@8 | 9
begin:start where:c followed_by:middle where:a one_or_more allow_combinations followed_by:end where:b | no | c0@1 d0@2 a1@3 a2@4 a3@5 d1@6 a4@7 b1@8 | 9
begin:b where:b one_or_more followed_by:c where:c | no | b1@1 b2@2 b3@3 c1@4 | 9
begin:b where:b one_or_more followed_by:c where:c | next | b1@1 b2@2 b3@3 c1@4 | 9
begin:b where:b one_or_more followed_by:c where:c | past | b1@1 b2@2 b3@3 c1@4 | 9
begin:b where:b one_or_more followed_by:c where:c | first:b | b1@1 b2@2 b3@3 c1@4 | 9
begin:b where:b one_or_more followed_by:c where:c | last:b | b1@1 b2@2 b3@3 c1@4 | 9
begin:ac where:ac followed_by:c where:c one_or_more followed_by:d where:d | no | a1@1 c1@2 c2@3 c3@4 d1@5 | 9
begin:ac where:ac followed_by:c where:c one_or_more followed_by:d where:d | first:c | a1@1 c1@2 c2@3 c3@4 d1@5 | 9
begin:ac where:ac followed_by:c where:c one_or_more greedy followed_by:d where:d | first:c | a1@1 c1@2 c2@3 c3@4 d1@5 | 9
begin:a where:a one_or_more until:c followed_by:b where:b | no | a1@1 a2@2 c1@3 a3@4 b1@5 | 9
begin:a where:ab one_or_more greedy followed_by:b where:b | no | a1@1 a2@2 b1@3 b2@4 | 9
begin:a where:a times:2 next:b where:b | no | a1@1 a2@2 a3@3 b1@4 | 9
begin:a where:a range:2:4 consecutive followed_by:b where:b | no | a1@1 a2@2 d1@3 a3@4 a4@5 b1@6 | 9
begin:a where:a range:0:2 followed_by:b where:b | no | a1@1 b1@2 | 9
begin:a where:a times_or_more:2 followed_by:b where:b | no | a1@1 a2@2 a3@3 b1@4 | 9
begin:a where:a next:b where:b optional next:c where:c | no | a1@1 b1@2 c1@3 a2@4 c2@5 | 9
begin:a where:a followed_by:b where:b within:4 | no | a1@1 a2@3 b1@5 | 9
begin:a where:a followed_by:b where:b within_previous:3 followed_by:c where:c | no | a1@1 b1@3 c1@9 a2@10 d1@12 b2@14 c2@15 | 30
begin:a where:a not_followed_by:b where:b within:4 | no | a1@1 a2@3 b1@6 d1@9 | 20
begin:a where:a not_followed_by:b where:b within_previous:4 | no | a1@1 a2@3 b1@6 d1@9 | 20
begin( begin:a where:a next:b where:b ) one_or_more followed_by:c where:c | no | a1@1 b1@2 a2@3 b2@4 c1@5 | 9
begin:c where:c followed_by( begin:a where:a followed_by:b where:b ) times:2 | past | c1@1 a1@2 b1@3 a2@4 b2@5 | 9
begin:x where:d next( begin:a where:a optional next:b where:b ) range:1:2 optional followed_by:c where:c | no | d1@1 b1@2 a1@3 b2@4 c1@5 | 9
begin:a where:a followed_by:b where:b above:a | no | a5@1 b3@2 b7@3 b9@4 | 9
begin:a where:a followed_by:b where:b one_or_more above:a allow_combinations | no | a5@1 b6@2 b3@3 b7@4 | 9
begin:a where:a or:d followed_by:b where:b | no | d1@1 b1@2 | 9
begin:a times:2 consecutive | past | a1@1 a2@1 a3@1 a4@2 | 9
begin:a where:a times:3 followed_by:b where:b within:5 | last:a | a1@1 a2@2 a3@3 a4@4 b1@5 b2@6 | 9
begin:a where:a times_in:2:3 followed_by:b where:b | no | a1@1 a2@6 b1@7 | 9
begin:c where:c followed_by:a where:a one_or_more_in:3 followed_by:b where:b | no | c1@1 a1@5 a2@6 b1@7 c2@8 a3@9 b2@20 | 30
""".strip().splitlines()
