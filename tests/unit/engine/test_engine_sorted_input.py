"""The input of keyed operators in batch execution: any arrival, any memory limit, one order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.codecs import codec_for
from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.typeinfo import TypeInformation, Types
from penstock.engine.stages import sorted_input
from penstock.engine.stages.compiled import CompiledEdge
from penstock.engine.stages.envelope import Envelope, Kind
from penstock.engine.stages.payload import encode
from penstock.engine.stages.sorted_input import SortedInput
from penstock.plan.nodes import Exchange, ExchangeKind
from penstock.state.key_encoding import decode_key, encode_key

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def edge(number: int, record_type: TypeInformation | None) -> CompiledEdge:
    return CompiledEdge(
        number=number,
        source=1,
        target=2,
        target_name="count",
        exchange=Exchange(ExchangeKind.HASH),
        input_index=number,
        side_output=None,
        record_type=record_type,
        source_level=0,
        target_level=1,
        source_parallelism=2,
        target_parallelism=1,
        target_max_parallelism=128,
    )


EDGES = (edge(0, PAIR), edge(1, None))


def buffer(number: int, sender: int, seq: int, records: list[tuple[Any, int | None]], *, stamped: bool) -> Envelope:
    """A data row; a record is (key, number), with a timestamp where `stamped`."""
    codec = codec_for(EDGES[number].record_type)
    values = [(str(key), (seq << 8) + place) for place, (key, _) in enumerate(records)]
    columns = None if codec.schema is None else codec.to_columns(values)
    distinct = list(dict.fromkeys(encode_key(key) for key, _ in records))
    codes = np.array([distinct.index(encode_key(key)) for key, _ in records], np.int32)
    timestamps = pa.array([timestamp for _, timestamp in records], pa.int64()) if stamped else None
    payload = encode(codec, len(records), columns, values, timestamps, DictionaryKeys(codes, distinct))
    return Envelope(0, number, sender, seq, int(Kind.DATA), payload)


def rows_of(arrivals: list[tuple[Any, ...]]) -> tuple[list[Envelope], list[tuple[Any, ...]]]:
    """The rows, and what must come of them: (key, edge, record, timestamp) in order."""
    envelopes: list[Envelope] = []
    expected: list[tuple[Any, ...]] = []
    for seq, (number, sender, stamped, records) in enumerate(arrivals):
        envelopes.append(buffer(number, sender, seq, records, stamped=stamped))
        for place, (key, timestamp) in enumerate(records):
            time = timestamp if stamped else None
            sort_key = (encode_key(key), -(1 << 63) if time is None else time, number, sender, seq, place)
            expected.append((sort_key, (key, number, (str(key), (seq << 8) + place), time)))
    return envelopes, [row for _, row in sorted(expected, key=lambda entry: entry[0])]


def taken(rows: SortedInput) -> Iterator[tuple[Any, ...]]:
    for key, of_edge, batch in rows.in_order():
        assert batch.keys == [key] * len(batch)
        for value, time in zip(batch.values, batch.timestamps or [None] * len(batch), strict=True):
            yield decode_key(key), of_edge.number, tuple(value), time


keys = st.one_of(st.integers(-3, 3), st.sampled_from(["", "a", "ab", "b"]))
records = st.lists(st.tuples(keys, st.one_of(st.none(), st.integers(-2, 4))), min_size=1, max_size=12)
arrivals = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.booleans(), records), max_size=12)


@given(arrivals, st.randoms(), st.sampled_from([1, 300, 2_000, 1 << 20]))
def test_any_cut_into_channels_and_buffers_gives_the_order_of_sorted(arrivals, rng, limit):
    envelopes, expected = rows_of(arrivals)
    rng.shuffle(envelopes)
    rows = SortedInput(EDGES, limit)
    for envelope in envelopes:
        rows.add(envelope)
    assert list(taken(rows)) == expected
    assert sum(rows.records.values()) == len(expected)
    rows.close()


def groups_of(rows: SortedInput) -> list[tuple[Any, ...]]:
    return [(key, edge.number, batch.values, batch.timestamps) for key, edge, batch in rows.in_order()]


def test_what_does_not_fit_in_memory_is_sorted_on_disk(monkeypatch: pytest.MonkeyPatch):
    """Many runs, which are merged into longer ones twice over, give the same as one sort in memory."""
    monkeypatch.setattr(sorted_input, "_MERGED_AT_ONCE", 3)
    monkeypatch.setattr(sorted_input, "_BLOCK_ROWS", 50)
    arrivals = [(n % 2, n % 5, n % 3 == 0, [((n * k) % 11, (n + k) % 7) for k in range(20)]) for n in range(60)]
    envelopes, expected = rows_of(arrivals)
    on_disk, in_memory = SortedInput(EDGES, 4_000), SortedInput(EDGES, 1 << 20)
    for envelope in envelopes:
        on_disk.add(envelope)
        in_memory.add(envelope)
    assert on_disk.spilled_bytes > 0
    assert in_memory.spilled_bytes == 0
    from_memory = groups_of(in_memory)
    assert groups_of(on_disk) == from_memory
    assert [tuple(value) for group in from_memory for value in group[2]] == [record for _, _, record, _ in expected]
    on_disk.close()


def test_batches_are_cut_alike_in_whatever_order_rows_arrive(monkeypatch: pytest.MonkeyPatch):
    """Every attempt at a task must send on the same bytes."""
    monkeypatch.setattr(sorted_input, "_BLOCK_ROWS", 50)
    arrivals = [(n % 2, n % 5, n % 3 == 0, [((n * k) % 3, (n + k) % 7) for k in range(20)]) for n in range(30)]
    envelopes, _ = rows_of(arrivals)
    attempts: list[list[tuple[Any, ...]]] = []
    for seed in range(5):
        random.Random(seed).shuffle(envelopes)
        rows = SortedInput(EDGES, 4_000)
        for envelope in envelopes:
            rows.add(envelope)
        assert rows.spilled_bytes > 0
        attempts.append(groups_of(rows))
    assert all(attempt == attempts[0] for attempt in attempts)


def test_a_key_with_more_records_than_a_block_comes_in_several_groups():
    record_columns = codec_for(PAIR).to_columns([("k", n) for n in range(20_000)])
    keys = DictionaryKeys(np.zeros(20_000, np.int32), [encode_key("k")])
    rows = SortedInput(EDGES, 1 << 30)
    payload = encode(codec_for(PAIR), 20_000, record_columns, None, pa.array(range(20_000)), keys)
    rows.add(Envelope(0, 0, 0, 0, int(Kind.DATA), payload))
    groups = list(rows.in_order())
    assert len(groups) > 1
    assert [value for group in groups for value in group.batch.values] == [("k", n) for n in range(20_000)]
