import random

from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.stages.envelope import Envelope
from penstock.engine.stages.gather import Gather

BROADCAST_EDGE = 3

rows = st.lists(
    st.builds(
        Envelope,
        target=st.just(0),
        edge=st.integers(0, 4),
        sender=st.integers(0, 3),
        seq=st.integers(0, 5),
        kind=st.just(0),
        payload=st.binary(max_size=20),
    ),
    unique_by=lambda row: (row.edge, row.sender, row.seq),
)


@given(rows, st.randoms(), st.sampled_from([0, 10, 1000]))
def test_rows_come_out_in_one_order_whatever_the_arrival_and_however_much_is_spilled(arrivals, rng, limit):
    shuffled = list(arrivals)
    rng.shuffle(shuffled)
    gather = Gather(lambda edge: edge == BROADCAST_EDGE, memory_limit=limit)
    for row in shuffled:
        gather.add(row)
    expected = sorted(arrivals, key=lambda row: (row.edge != BROADCAST_EDGE, row.edge, row.sender, row.seq))
    assert list(gather.in_order()) == expected
    gather.close()


def test_what_does_not_fit_in_memory_is_spilled():
    gather = Gather(lambda edge: False, memory_limit=1000)
    payloads = [random.Random(i).randbytes(300) for i in range(10)]
    for number, content in enumerate(payloads):
        gather.add(Envelope(0, 0, 0, number, 0, content))
    assert gather.spilled_bytes == 7 * 300
    assert [row.payload for row in gather.in_order()] == payloads
    gather.close()
