"""Patterns as dicts, JSON and YAML."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    WithinType,
    pattern_from_dict,
    pattern_from_json,
    pattern_from_yaml,
)
from penstock.common import Row, Types
from penstock.common.errors import MalformedPatternError
from penstock.expressions import col
from penstock.testing import harness

YAML = """
skip: {skip_to_last: b}
within: 1 min
steps:
  - begin: a
    where: {field: kind, op: "==", value: a}
    times: [1, 3]
    consecutive: true
  - followed_by:
      steps:
        - begin: b
          where: {any: [{field: kind, op: in, value: [b, bb]}, {not: {field: kind, op: is_not_null}}]}
        - next: c
          within_previous: 5 s
    one_or_more: true
    optional: true
    until: {field: kind, op: starts_with, value: x}
  - not_next: d
    where: {field: kind, op: "==", value: d}
  - followed_by_any: e
    where: {all: [{field: kind, op: "!=", value: e}, {field: price, op: "<=", other_field: limit}]}
"""


def written() -> Pattern:
    group = Pattern.begin("b").where(col("kind").isin(["b", "bb"])).next("c")
    group.within("5 s", WithinType.PREVIOUS_AND_CURRENT)
    pattern = Pattern.begin("a", AfterMatchSkipStrategy.skip_to_last("b")).where(col("kind") == "a").times(1, 3)
    return pattern.consecutive().followed_by(group).one_or_more().until(col("kind").startswith("x"))


def test_data_says_what_methods_say() -> None:
    with pytest.raises(MalformedPatternError, match="is optional"):
        pattern_from_yaml(YAML)
    pattern = pattern_from_yaml(YAML.replace("    optional: true\n", ""))
    same = written().not_next("d").followed_by_any("e").within("1 min")
    assert pattern.definition() == same.definition()
    texts = [step.condition.text for step in pattern.definition().walk()]
    assert texts == [
        'col("kind") == "a"',
        "true",
        "col(\"kind\").isin(['b', 'bb']) or not col(\"kind\").is_not_null()",
        "true",
        'col("kind") == "d"',
        'col("kind") != "e" and col("price") <= col("limit")',
    ]


def test_json_is_the_same() -> None:
    data = {"steps": [{"begin": "a", "times_or_more": 2, "greedy": True, "window_time": "1 s"}], "skip": "skip_to_next"}
    pattern = pattern_from_json(json.dumps(data))
    same = Pattern.begin("a", AfterMatchSkipStrategy.skip_to_next()).times_or_more(2, "1 s").greedy()
    assert pattern.definition() == same.definition() == pattern_from_dict(data).definition()


@pytest.mark.parametrize("which", ["last", "first"])
def test_an_event_can_be_compared_with_earlier_ones(which: str) -> None:
    rising = {"field": "price", "op": ">", which: {"pattern": "rise", "field": "price"}}
    data = {
        "steps": [
            {"begin": "rise", "where": {"any": [{"field": "price", "op": "==", "value": 5}, rising]}, "times": 3},
        ],
        "skip": "skip_past_last_event",
    }
    price = Types.ROW_NAMED(["price"], [Types.INT()])
    build = lambda stream: CEP.pattern(stream, pattern_from_dict(data)).select(  # noqa: E731
        lambda match: [event.price for event in match["rise"]]
    )
    test = harness(build, price)
    for time, value in enumerate([5, 9, 7, 12]):
        test.process_element(Row(price=value), time)
    test.close()
    assert [found for found, _ in test.output()] == [[5, 9, 12] if which == "last" else [5, 9, 7]]


def step(**said: Any) -> dict[str, Any]:
    return {"steps": [{"begin": "a", **said}]}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([], "expected a mapping with a list of `steps`"),
        ({"steps": []}, "expected a mapping with a list of `steps`"),
        ({"steps": [{"next": "a"}]}, r"steps\[0\].*expected a mapping with begin"),
        ({"steps": [{"begin": "a"}, {"begin": "b"}]}, r"steps\[1\].*expected a mapping with next or"),
        ({"steps": [{"begin": "a"}, {"next": "b", "followed_by": "c"}]}, r"steps\[1\]"),
        ({"steps": [{"begin": "a"}], "with": 1}, "pattern has 'with'; known are steps, within, skip"),
        ({"steps": [{"begin": "a"}], "skip": "all"}, "pattern.skip is 'all'"),
        (step(optional="yes"), r"steps\[0\].optional is 'yes'; expected true or false"),
        (step(where=3), r"steps\[0\].where: 3 is no condition"),
        (step(where={"field": "x"}), "is no condition"),
        (step(where={"field": "x", "op": "~", "value": 1}), "the operation '~' is not known; there are =="),
        (step(where={"field": "x", "op": "<"}), "'<' comes with nothing; expected one of value"),
        (step(where={"field": "x", "op": "<", "value": 1, "last": {}}), "expected one of value"),
        (step(where={"field": "x", "op": "<", "last": "a"}), "expected {pattern, field}"),
        (step(where={"field": "x", "op": "is_null", "value": 1}), "expected nothing"),
        (step(where={"all": []}), "expected a list of conditions"),
        (step(where={"any": [{"not": 5}]}), r"where.any\[0\].not: 5 is no condition"),
        ({"steps": [{"begin": "a"}, {"not_followed_by": "b"}]}, "has no time limit"),
    ],
)
def test_data_that_is_no_pattern_says_where_and_why(data: Any, expected: str) -> None:
    with pytest.raises(MalformedPatternError, match=expected):
        pattern_from_dict(data)


def test_text_that_cannot_be_read() -> None:
    with pytest.raises(MalformedPatternError, match="no JSON"):
        pattern_from_json("{")
    with pytest.raises(MalformedPatternError, match="no YAML"):
        pattern_from_yaml("a: [")
