"""A `reduce` whose function is known field by field gives what the function gives, record after record."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import UserFunctionError
from penstock.common.type_inference import infer_type
from penstock.datastream import StreamExecutionEnvironment
from penstock.runtime.rolling_reduction import RollingReductionOperator, can_roll
from penstock.state.key_encoding import encode_key
from penstock.tracing import trace_reduction
from unit.runtime.operator_harness import Harness


class Prices(NamedTuple):
    """What is known of some bids."""

    auction: str
    total: int
    least: int
    greatest: int
    note: str | None


PRICES = infer_type(Prices)


def together(a: Prices, b: Prices) -> Prices:
    return Prices(a.auction, a.total + b.total, min(a.least, b.least), max(a.greatest, b.greatest), a.note)


def driven() -> Harness:
    reduction = trace_reduction(together, PRICES)
    assert can_roll(reduction, codec_for(PRICES))
    return Harness(lambda: RollingReductionOperator(together, reduction, codec_for(PRICES)))


def send(harness: Harness, records: list[Prices], *, as_columns: bool = True) -> None:
    codec = codec_for(PRICES)
    keys = [encode_key(record.auction) for record in records]
    form: dict[str, Any] = {"columns": codec.to_columns(records)} if as_columns else {"values": records}
    harness.operator.process(Batch(codec, **form, keys=keys, timestamps=list(range(len(records)))), 0)


def expected(state: dict[str, Prices], records: list[Prices]) -> list[Prices]:
    results: list[Prices] = []
    for record in records:
        before = state.get(record.auction)
        state[record.auction] = record if before is None else together(before, record)
        results.append(state[record.auction])
    return results


NUMBERS = st.integers(-5, 5) | st.integers(-(1 << 61), 1 << 61)
RECORDS = st.builds(Prices, st.sampled_from("abc"), NUMBERS, NUMBERS, NUMBERS, st.sampled_from([None, "x", "y"]))
MANY = [Prices("a", number, -number, number % 7, None) for number in range(100)]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(RECORDS, max_size=8) | st.sampled_from(["epoch", "restart"]), max_size=6))
@example([MANY, [Prices("b", 1, 1, 1, "x")], "restart", MANY[::-1]])
def test_as_one_record_after_the_other(steps: list[Any]) -> None:
    harness, state = driven(), dict[str, Prices]()
    for number, step in enumerate(steps):
        if isinstance(step, str):
            harness.end_epoch()
            if step == "restart":
                harness.restart()
            continue
        try:
            results = expected(dict(state), step)
            codec_for(PRICES).to_columns(results)
        except Exception:  # a sum of more than 64 bits
            return
        harness.output.sent.clear()
        send(harness, step, as_columns=number % 3 != 2)
        assert [value for _, value, _ in harness.output.sent] == expected(state, step)


def test_sums_beyond_64_bits_and_none_are_left_to_the_function() -> None:
    harness = driven()
    send(harness, [Prices("a", 1, 1, 1, None)])
    with pytest.raises(UserFunctionError, match="NoneType"):
        send(harness, [Prices("b", 1, 1, 1, None), Prices("a", None, 1, 1, None)])  # type: ignore[arg-type]
    harness = driven()
    send(harness, [Prices("a", 1 << 62, 1, 1, None)])
    harness.output.sent.clear()
    send(harness, [Prices("a", -(1 << 62), 1, 1, None), Prices("a", 1 << 62, 1, 1, None)])
    assert [value.total for _, value, _ in harness.output.sent] == [0, 1 << 62]
    harness.end_epoch()
    harness.restart()
    harness.output.sent.clear()
    send(harness, [Prices("a", 1, 1, 1, None)])
    assert [value.total for _, value, _ in harness.output.sent] == [(1 << 62) + 1]


def test_a_program_is_the_same_with_and_without_tracing() -> None:
    records = [Prices("abc"[n % 3], n, -n, n % 5, "x" if n % 2 else None) for n in range(40)]
    results: list[list[Prices]] = []
    for rules in ("", "trace-functions"):
        configuration = Configuration().set_string("execution.engine", "local")
        configuration.set_string("optimizer.disabled-rules", rules)
        configuration.set_string("execution.epoch.max-records", "7")
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
        reduced = env.from_collection(records, PRICES).key_by("auction").reduce(together)
        results.append(sorted(reduced.execute_and_collect(), key=repr))
    assert results[0] == results[1] == sorted(expected({}, records), key=repr)


@pytest.mark.parametrize(
    ("function", "fields"),
    [
        (lambda a, b: (a[0], a[1] + b[1]), [Types.STRING(), Types.DOUBLE()]),
        (lambda a, b: (a[0], b[1]), [Types.STRING(), Types.LONG()]),
        (lambda a, b: (a[0], min(a[1], b[1])), [Types.STRING(), Types.STRING()]),
    ],
)
def test_what_does_not_roll(function: Any, fields: list[Any]) -> None:
    record_type = Types.TUPLE(fields)
    assert not can_roll(trace_reduction(function, record_type), codec_for(record_type))
