"""Where columns could say something else than Python, the function is asked."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Row, Types
from penstock.datastream import AggregateFunction, MapFunction
from penstock.expressions.evaluator import RecordEvaluationError
from penstock.tracing import NotTraceable, TracedAccumulation, trace_filter, trace_key, trace_map
from unit.tracing.traced_twins import assert_same_map, kept, mapped

LONG, DOUBLE, STRING = Types.LONG(), Types.DOUBLE(), Types.STRING()
RECORD = Types.TUPLE([LONG, DOUBLE, STRING])
GREATEST = (1 << 63) - 1


@pytest.mark.parametrize(
    ("function", "declared", "record"),
    [
        (lambda r: r[0] + 1, LONG, (GREATEST, 0.0, "")),
        (lambda r: r[0] * 2, LONG, (GREATEST, 0.0, "")),
        (lambda r: -r[0], LONG, (-GREATEST - 1, 0.0, "")),
        (lambda r: abs(r[0]), LONG, (-GREATEST - 1, 0.0, "")),
        (lambda r: r[0] // -1, LONG, (-GREATEST - 1, 0.0, "")),
        (lambda r: r[0], Types.INT(), (1 << 40, 0.0, "")),
        (lambda r: r[0] // 0, LONG, (1, 0.0, "")),
        (lambda r: r[1] / r[1], DOUBLE, (1, 0.0, "")),
        (lambda r: r[1] % r[1], DOUBLE, (1, -0.0, "")),
        (lambda r: r[0] + 1, LONG, (None, 0.0, "")),
        (lambda r: r[2] + "!", STRING, (None, 0.0, None)),
        (lambda r: r[0] < 1, Types.BOOLEAN(), (None, 0.0, None)),
        (lambda r: int(r[1]), LONG, (1, math.nan, "")),
        (lambda r: int(r[1]), LONG, (1, 1e19, "")),
        (lambda r: round(r[1]), LONG, (1, math.inf, "")),
        (lambda r: int(r[2]), LONG, (1, 0.0, "one")),
        (lambda r: r[2][2], STRING, (1, 0.0, "ab")),
        (lambda r: math.sqrt(r[1]), DOUBLE, (1, -1.0, "")),
        (lambda r: r[1] ** 0.5, DOUBLE, (1, -1.0, "")),
        (lambda r: f"{r[0]}", STRING, (None, 1.0, "")),
        (lambda r: r[2].upper(), STRING, (1, 1.0, None)),
    ],
)
def test_what_only_python_knows(function: Callable[[Any], Any], declared: Any, record: Any) -> None:
    trace_map(function, RECORD, declared)
    with pytest.raises(Exception):  # noqa: B017, PT011  whatever it is: the function is asked
        mapped(function, RECORD, declared, [(1, 1.0, "abc"), record])


def test_none_is_compared_as_in_python() -> None:
    records = [(None, None, None), (1, 1.0, "a"), (2, math.nan, "")]
    boolean = Types.BOOLEAN()
    for function in (
        lambda r: r[0] == 1,
        lambda r: r[0] != 1,
        lambda r: r[0] == r[1],
        lambda r: r[2] == None,  # noqa: E711
        lambda r: r[2] != "a",
        lambda r: r[0] is None,
        lambda r: r[1] is not None and r[1] > 0,
        lambda r: r[0] in (1, None),
        lambda r: r[2] in ("a", "b"),
        lambda r: not r[2],
        lambda r: bool(r[1]),
        lambda r: r[0] is None or r[0] + 1 == 2,
    ):
        assert_same_map(function, RECORD, boolean, records)
        assert kept(function, RECORD, records) == [bool(function(record)) for record in records]


def test_a_branch_that_is_not_taken_raises_nothing() -> None:
    records = [(0, 1.0, "a"), (2, 1.0, ""), (4, 0.0, "b")]
    assert_same_map(lambda r: 10 // r[0] if r[0] else -1, RECORD, LONG, records)
    assert_same_map(lambda r: r[2][0] if r[2] else "nothing", RECORD, STRING, records)
    assert_same_map(lambda r: r[0] and 8 // r[0], RECORD, LONG, records)
    assert kept(lambda r: r[1] and 1 / r[1] > 0.5, RECORD, records) == [True, True, False]


def test_what_raises_is_left_to_python() -> None:
    # pytest makes something else of an assert in this file.
    scope: dict[str, Any] = {}
    exec("def checked(r):\n if r[0] < 0:\n  raise ValueError('negative')\n assert r[1] > 0, 'no'\n return r[0]", scope)
    checked = scope["checked"]
    assert mapped(checked, RECORD, LONG, [(1, 1.0, ""), (2, 2.0, "")]) == [1, 2]
    for bad in ((-1, 1.0, ""), (1, 0.0, "")):
        with pytest.raises(Exception):  # noqa: B017, PT011
            mapped(checked, RECORD, LONG, [(1, 1.0, ""), bad])


def test_integers_and_floats_are_compared_exactly() -> None:
    big = (1 << 53) + 1
    records = [(big, float(1 << 53), ""), (GREATEST, 2.0**63, ""), (1, math.nan, ""), (0, -0.0, "")]
    for function in (lambda r: r[0] == r[1], lambda r: r[0] < r[1], lambda r: r[1] >= r[0], lambda r: r[0] > 1e300):
        assert_same_map(function, RECORD, Types.BOOLEAN(), records)
    assert_same_map(lambda r: r[0] / 3, RECORD, DOUBLE, records)


FACTOR = 2


def test_captured_values_that_change_are_noticed() -> None:
    global FACTOR  # noqa: PLW0603
    offset = 1
    program = trace_map(lambda n: n * FACTOR + offset, LONG, LONG)
    assert program.columns([pa.array([1, 2])], 2)[0].to_pylist() == [3, 5]
    FACTOR = 3
    try:
        with pytest.raises(Exception):  # noqa: B017, PT011
            program.columns([pa.array([1, 2])], 2)
    finally:
        FACTOR = 2
    assert program.columns([pa.array([1, 2])], 2)[0].to_pylist() == [3, 5]
    offset = 5
    with pytest.raises(Exception):  # noqa: B017, PT011
        program.columns([pa.array([1, 2])], 2)


KEEP, FIRST, NOTHING, FIELD = True, 0, None, "a"
WIDE = Types.ROW_NAMED(["a", "b", "c"], [LONG, LONG, LONG])


def keeps() -> bool:
    return True


def of_record(record: Any) -> Any:
    return record.a


def of_number(number: Any) -> Any:
    return number + 1


class Chooser(MapFunction):
    def __init__(self) -> None:
        self.keep = True

    def map(self, value: Any) -> Any:
        return value.a if self.keep else value.b


def _made_and_not_raised(record: Any) -> Any:
    if record.a < 0:
        error = ValueError("below zero")
        return record.b if error.args else 0
    return record.c


@pytest.mark.parametrize(
    "function",
    [
        lambda r: r.a if KEEP else r.b,
        lambda r: r.a if not KEEP else r.b,
        lambda r: r.a if KEEP or r.c else r.b,
        lambda r: r.a if NOTHING is None else r.b,
        lambda r: r.a if FIRST == 0 else r.b,
        lambda r: r.a if (FIRST, 1)[0] else r.b,
        lambda r: r.a if keeps() else r.b,
        lambda r, keep=KEEP: r.a if keep else r.b,
        lambda r: r[FIELD],
        lambda r: r[FIRST],
        lambda r: (r, 1)[FIRST].a,
        lambda r: of_record(r),  # noqa: PLW0108
        Chooser(),
        _made_and_not_raised,
    ],
)
def test_fields_that_other_captured_values_would_read_are_not_left_out(function: Any) -> None:
    assert trace_map(function, WIDE, LONG).read_fields is None


@pytest.mark.parametrize(
    "function",
    [
        lambda r: r.a * FACTOR + of_number(r.b),
        lambda r: r.a if r.b > FACTOR else max(r.b, FIRST),
        lambda r: (r.a, r.b)[0],
        lambda r: Row(x=r.a, y=Row(z=r.b)).x,
    ],
)
def test_captured_values_that_are_computed_with_change_no_field(function: Any) -> None:
    assert trace_map(function, WIDE, LONG).read_fields == {"a", "b"}


def test_a_branch_that_raises_reads_what_the_error_tells() -> None:
    scope: dict[str, Any] = {}
    exec("def checked(r):\n if r.a < 0:\n  raise ValueError(r.b)\n return r.a", scope)
    assert trace_map(scope["checked"], WIDE, LONG).read_fields == {"a", "b"}


@pytest.mark.parametrize("line", ["if r.a < 0: raise ValueError('below', (1, r))", "assert r.a > 0, r"])
def test_a_branch_that_raises_with_the_record_reads_all_of_it(line: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def checked(r):\n {line}\n return r.a", scope)
    assert trace_map(scope["checked"], WIDE, LONG).read_fields is None


def test_the_key_of_a_captured_branch_is_no_field() -> None:
    assert trace_key(lambda r: r.a, WIDE, LONG).fields == [0]
    assert trace_key(lambda r: r.a if KEEP else r.b, WIDE, LONG).fields == []
    assert trace_key(lambda r: of_record(r), WIDE, LONG).fields == []  # noqa: PLW0108


PASSWORD = ("secret", 7)


def test_parts_of_captured_values_are_shown_by_name() -> None:
    def checked(r: Any) -> Any:
        word, number = PASSWORD
        return r[2] == word and r[0] in (number, 1)

    text = trace_filter(checked, RECORD).text
    assert text == "(r[2] == PASSWORD[0]) and (r[0] in (PASSWORD[1], 1))"


def test_a_builtin_that_is_shadowed_later_is_noticed() -> None:
    program = trace_filter(lambda s: len(s) > 1, STRING)
    globals()["len"] = lambda text: 0
    try:
        with pytest.raises(Exception):  # noqa: B017, PT011
            program.mask([pa.array(["ab"])], 1)
    finally:
        del globals()["len"]
    assert program.mask([pa.array(["ab"])], 1).to_pylist() == [True]


def test_a_shift_that_is_not_taken_makes_no_integer_of_a_billion_bits() -> None:
    tracemalloc.start()
    try:
        assert_same_map(lambda n: 1 << n if n < 64 else 0, LONG, LONG, [3, 10**9, 62])
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert_same_map(lambda n: n << 3, LONG, LONG, [0, 5, -5, -(1 << 60)])
    assert_same_map(lambda n: 0 << n, LONG, LONG, [0, 70])
    with pytest.raises(ValueError, match="negative shift count"):
        mapped(lambda n: 1 << n, LONG, LONG, [-1])
    with pytest.raises(Exception):  # noqa: B017, PT011  the function itself is asked
        mapped(lambda n: n << 1, LONG, LONG, [1 << 62])


def doubled(times: int, returned: str) -> Any:
    """A function whose value would be written in twice as many letters after each of its lines."""
    scope: dict[str, Any] = {}
    exec("\n".join(["def function(n):", *["    n = n ^ (n >> 1)"] * times, returned]), scope)
    return scope["function"]


def test_what_is_made_of_itself_again_and_again_has_a_text_that_ends() -> None:
    with pytest.raises(NotTraceable) as refusal:
        trace_map(doubled(16, "    return n.real"), LONG, LONG)
    assert "an attribute of int" in refusal.value.reason
    assert len(refusal.value.reason) < 2_000
    assert_same_map(doubled(64, "    return n"), LONG, LONG, [1, -5, 1 << 40])


class Added(AggregateFunction):
    def __init__(self, function: Callable[[Any], int]) -> None:
        self._function = function

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + self._function(value)

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def test_what_an_aggregate_adds_is_looked_through_once() -> None:
    mixed = doubled(64, "    return n")
    added = TracedAccumulation(Added(mixed), LONG).of_records([pa.array([3, 4])], 2)
    assert added[0].to_pylist() == [mixed(3), mixed(4)]


def test_what_an_aggregate_adds_has_64_bits() -> None:
    added = TracedAccumulation(Added(lambda n: n * 10**12), LONG)
    assert added.of_records([pa.array([3])], 1)[0].to_pylist() == [3 * 10**12]
    with pytest.raises(RecordEvaluationError) as failure:
        added.of_records([pa.array([3, 10**12])], 2)
    assert failure.value.index == 1
    assert str(failure.value.cause) == "a sum of integers does not fit into 64 bits"
