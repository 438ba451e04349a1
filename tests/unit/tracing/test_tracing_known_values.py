"""What is known while a function is traced is computed then: methods of texts, formats, defaults of fields."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from penstock.common import Types
from penstock.common.type_inference import infer_type
from penstock.tracing import NotTraceable, trace_map
from unit.tracing.traced_twins import assert_same_map

LONG, STRING = Types.LONG(), Types.STRING()
RECORD = Types.TUPLE([LONG, STRING])
RECORDS = [(1, "ab"), (2, ""), (-3, None), (4, "Straße")]


@dataclass
class Priced:
    cents: int
    currency: str = "EUR"
    tax: int | None = None


class Placed(NamedTuple):
    x: int
    y: int = 7


@dataclass
class Tagged:
    cents: int
    tags: list[str] = field(default_factory=list)


def test_a_text_in_the_place_of_none() -> None:
    assert_same_map(lambda r: (r[1] or "none").upper(), RECORD, STRING, RECORDS)
    assert_same_map(lambda r: (r[1] or "").find("b"), RECORD, LONG, RECORDS)
    assert_same_map(lambda r: r[0] if (r[1] or "a").startswith("a") else 0, RECORD, LONG, RECORDS)
    assert_same_map(lambda r: f"{r[1] or '-':>4}|{r[1] or '-'!r}", RECORD, STRING, RECORDS)


def test_fields_that_have_their_defaults() -> None:
    assert_same_map(lambda r: Priced(r[0]), RECORD, infer_type(Priced), RECORDS)
    assert_same_map(lambda r: Priced(r[0], tax=5), RECORD, infer_type(Priced), RECORDS)
    assert_same_map(lambda r: Placed(r[0]), RECORD, infer_type(Placed), RECORDS)
    assert_same_map(lambda r: Placed(r[0]).y + 1, RECORD, LONG, RECORDS)
    with pytest.raises(NotTraceable, match="the default of 'tags' is no constant"):
        trace_map(lambda r: Tagged(r[0]), RECORD, None)


class CountedError(Exception):
    made = 0

    def __init__(self, value: Any) -> None:
        CountedError.made += 1


def test_an_exception_that_is_made_and_not_raised_is_left_to_python() -> None:
    def noting(r: Any) -> int:
        if r[0] < 0:
            CountedError(r[0])
        return r[0]

    program = trace_map(noting, RECORD, LONG)
    texts = pa.array(["a", "b"])
    assert program.columns([pa.array([1, 2]), texts], 2)[0].to_pylist() == [1, 2]
    with pytest.raises(Exception):  # noqa: B017, PT011  whatever it is: the function is asked
        program.columns([pa.array([1, -2]), texts], 2)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda r: (r[1] or "a").ljust(10**9), "is too large"),
        (lambda r: f"{r[1] or 'a':>1000000000}", "is too large"),
        (lambda r: (r[1] or "a").index("z"), "raises ValueError"),
        (lambda r: (r[1] or "a").split(","), "a method that is not traced"),
    ],
)
def test_what_is_not_computed_beforehand(function: Any, reason: str) -> None:
    with pytest.raises(NotTraceable) as refusal:
        trace_map(function, RECORD, STRING)
    assert reason in refusal.value.reason


def test_a_loop_is_called_a_loop() -> None:
    def counting(r: Any) -> int:
        steps = 0
        while steps < r[0]:
            steps += 1
        return steps

    with pytest.raises(NotTraceable, match="it has a loop"):
        trace_map(counting, RECORD, LONG)


def test_two_nans_are_not_one() -> None:
    assert_same_map(lambda r: r[0] if (float("nan"),) == (math.nan,) else 0, RECORD, LONG, RECORDS)
    assert_same_map(lambda r: r[0] if (math.nan,) == (math.nan,) else 0, RECORD, LONG, RECORDS)
