"""Parts that are used often are computed once, and costly ones for no more records than need them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Types
from penstock.expressions import Expression, coalesce, col, concat, lit, row, this, when
from penstock.expressions import text_functions as functions
from penstock.expressions.expression_parts import parts_of
from penstock.expressions.folding import folded
from unit.expressions.evaluation import evaluated, of_values

STRING = Types.STRING()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """How many values each method of texts was asked for."""
    counts: dict[str, list[int]] = {}
    for name, (result_type, kernel) in list(functions._METHODS.items()):

        def counted(value: pa.Array, *given: Any, name: str = name, kernel: Any = kernel) -> pa.Array:
            counts.setdefault(name, []).append(len(value))
            return kernel(value, *given)

        monkeypatch.setitem(functions._METHODS, name, (result_type, counted))
    return counts


def test_a_part_that_is_used_twice_is_computed_once(asked: dict[str, list[int]]) -> None:
    lower = this().lower()
    found = of_values(row(a=lower, b=lower == "x", c=lower.length()), ["X", None, "ab"], STRING)
    assert [tuple(each) for each in found] == [("x", True, 1), (None, None, None), ("ab", False, 2)]
    assert asked["lower"] == [3]


def test_a_part_that_is_used_twice_is_one_when_its_literals_are_folded(asked: dict[str, list[int]]) -> None:
    lower = concat(this(), lit("A") + "B").lower()
    of_values(folded(row(a=lower, b=lower)), ["X", None, "ab"], STRING)
    assert asked["lower"] == [3]


def test_what_is_made_of_itself_again_and_again_is_looked_through_once() -> None:
    root = this() * (lit(0.5) * 2)
    for _ in range(64):
        root = (root + this() / root) / 2
    assert len(root.text) < 20_000
    assert len(parts_of(folded(root))) < 400
    assert of_values(folded(root), [4.0, 9.0], Types.DOUBLE()) == [2.0, 3.0]


def test_what_fails_is_found_though_it_is_used_twice() -> None:
    number = this().cast(int)
    with pytest.raises(Exception, match=r"'x' is not an integer") as failure:
        of_values(row(a=number, b=number + 1), ["1", "x", "y"], STRING)
    assert failure.value.index == 1  # type: ignore[attr-defined]


def test_a_costly_value_is_computed_where_it_is_needed(asked: dict[str, list[int]]) -> None:
    number = col("f1").regexp_extract("n=([0-9]+)", 1)
    known = when(col("f0") == "a", "0").when(col("f0") == "b", col("f1")).otherwise(number)
    records = [("a", "n=1"), ("b", "n=2"), ("c", "n=3"), (None, "n=4"), ("d", None), ("a", "x")]
    assert evaluated(known, records, Types.TUPLE([STRING, STRING])) == ["0", "n=2", "3", "4", None, "0"]
    assert asked["regexp_extract"] == [3]


def test_a_costly_value_is_computed_where_nothing_came_before(asked: dict[str, list[int]]) -> None:
    number = coalesce(col("f0"), col("f1").regexp_replace("[a-z]", ""))
    assert evaluated(number, [("a", "1x"), (None, "2x")], Types.TUPLE([STRING, STRING])) == ["a", "2"]
    assert asked["regexp_replace"] == [1]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (this().regexp_extract("(a)(b)?(c|d)", 0), ["abc", "ad", None]),
        (this().regexp_extract("(a)(b)?(c|d)", 1), ["a", "a", None]),
        (this().regexp_extract("(a)(b)?(c|d)", 2), ["b", "", None]),
        (this().regexp_extract("(a)(b)?(?P<last>c|d)", 3), ["c", "d", None]),
        (this().regexp_extract(r"(?:a)([(b]?)\(?(c|d)", 2), ["c", "d", None]),
    ],
    ids=repr,
)
def test_every_group_can_be_asked_for(expression: Expression, expected: list[Any]) -> None:
    assert of_values(expression, ["xabc", "ad", "z"], STRING) == expected
