from __future__ import annotations

import pytest

from penstock.common.errors import PlanError
from penstock.common.typeinfo import Types
from penstock.plan.nodes import Edge, Exchange, ExchangeKind
from penstock.plan.plan import Plan
from plans.plan_parts import (
    BROADCAST,
    CUSTOM,
    HASH,
    REBALANCE,
    broadcast,
    connected,
    keyed,
    mapping,
    plan,
    sink,
    source,
)


def test_lookups_of_a_valid_plan() -> None:
    built = plan(sink(3), keyed(2), source(1), Edge(2, 3), Edge(1, 2, HASH))
    assert [node.id for node in built.topological_order] == [1, 2, 3]
    assert [node.id for node in built.sources] == [1]
    assert [node.id for node in built.sinks] == [3]
    assert built.node(2).name == "count"
    assert built.inputs(2) == (Edge(1, 2, HASH),)
    assert built.outputs(2) == (Edge(2, 3),)


def test_inputs_are_sorted_by_index_then_by_source() -> None:
    built = plan(
        *(source(1), source(2), source(3), connected(4), sink(5)),
        *(Edge(3, 4, input_index=0), Edge(1, 4, input_index=1), Edge(2, 4, input_index=0), Edge(4, 5)),
    )
    assert [(edge.input_index, edge.source) for edge in built.inputs(4)] == [(0, 2), (0, 3), (1, 1)]


def test_independent_nodes_are_ordered_by_id() -> None:
    built = plan(source(2), source(1), sink(3), sink(4), Edge(2, 3), Edge(1, 4))
    assert [node.id for node in built.topological_order] == [1, 2, 3, 4]


LATE = {"late": Types.STRING()}
MAP_AT_2 = r"Map 'upper' \(uid 'uid-2', defined at program.py:2: step_2\(\)\)"
SOURCE_AT_1 = r"Source 'words' \(uid 'uid-1', defined at program.py:1: step_1\(\)\)"

WRONG = {
    "no nodes": ([], "the program has no source: start from one"),
    "duplicate id": (
        [source(1), source(1, "again", uid="other")],
        rf"two operators have the id 1:\n  {SOURCE_AT_1}\n  Source 'again' \(uid 'other'",
    ),
    "edge to an unknown node": (
        [source(1), sink(2), Edge(1, 2), Edge(1, 9)],
        rf"the edge 1 -> 9 at {SOURCE_AT_1} names operator 9, which is not in the plan",
    ),
    "edge from an unknown node": (
        [source(1), sink(2, "out"), Edge(1, 2), Edge(9, 2)],
        r"the edge 9 -> 2 at Sink 'out' \(uid 'uid-2'.* names operator 9",
    ),
    "edge between unknown nodes": ([source(1), Edge(8, 9)], r"the edge 8 -> 9 names operator 8"),
    "cycle": (
        [source(1), mapping(2), mapping(3, "back"), sink(4), Edge(1, 2), Edge(2, 3), Edge(3, 2), Edge(3, 4)],
        rf"form a cycle.*\n +{MAP_AT_2}\n  -> Map 'back' \(uid 'uid-3'.*\n  -> {MAP_AT_2}\n",
    ),
    "operator reading itself": (
        [source(1), mapping(2), sink(3), Edge(1, 2), Edge(2, 2), Edge(2, 3)],
        rf"form a cycle.*\n +{MAP_AT_2}\n  -> {MAP_AT_2}",
    ),
    "duplicate uid": (
        [source(1), mapping(2, uid="same"), mapping(3, "lower", uid="same"), Edge(1, 2), Edge(2, 3)],
        r"two operators have the uid 'same':\n  Map 'upper' .*program.py:2.*\n  Map 'lower' .*program.py:3",
    ),
    "no uid": ([source(1), mapping(2, uid=""), Edge(1, 2)], r"Map 'upper' \(no uid, defined at program.py:2"),
    "parallelism 0": (
        [source(1), mapping(2, parallelism=0), Edge(1, 2, REBALANCE)],
        rf"{MAP_AT_2} has parallelism 0; it must be at least 1",
    ),
    "parallelism above the maximum": (
        [source(1), mapping(2, parallelism=5, max_parallelism=4), Edge(1, 2, REBALANCE)],
        rf"{MAP_AT_2} has parallelism 5, above its max parallelism 4",
    ),
    "max parallelism above the limit": (
        [source(1), mapping(2, max_parallelism=32769), Edge(1, 2)],
        rf"{MAP_AT_2} has max parallelism 32769; it must be between 1 and 32768",
    ),
    "max parallelism 0": (
        [source(1), mapping(2, max_parallelism=0), Edge(1, 2)],
        rf"{MAP_AT_2} has max parallelism 0",
    ),
    "source with an input": (
        [source(1), source(2, "more"), Edge(1, 2), sink(3), Edge(2, 3)],
        rf"Source 'more' .*program.py:2.* is a source and cannot have inputs, but reads from {SOURCE_AT_1}",
    ),
    "sink with an output": (
        [source(1), mapping(2), sink(3), Edge(1, 3), Edge(3, 2)],
        rf"Sink 'out' .*program.py:3.* is a sink and cannot have outputs, but feeds {MAP_AT_2}",
    ),
    "missing input": (
        [source(1), mapping(2), sink(3), Edge(1, 3)],
        rf"{MAP_AT_2}: nothing feeds its input",
    ),
    "input 1 of a one-input operator": (
        [source(1), mapping(2), Edge(1, 2, input_index=1)],
        rf"{MAP_AT_2} has an edge into input 1; it has input 0 only",
    ),
    "missing second input": (
        [source(1), connected(2), Edge(1, 2)],
        r"CoProcess 'join' \(uid 'uid-2'.*: nothing feeds input 1",
    ),
    "missing first input": ([source(1), connected(2), Edge(1, 2, input_index=1)], r"nothing feeds input 0"),
    "third input": (
        [source(1), connected(2), Edge(1, 2), Edge(1, 2, input_index=1), Edge(1, 2, input_index=2)],
        r"CoProcess 'join' .* has an edge into input 2; it has inputs 0 and 1 only",
    ),
    "second input not broadcast": (
        [source(1), source(3, "more"), broadcast(2), Edge(1, 2), Edge(3, 2, REBALANCE, input_index=1)],
        r"input 1 of BroadcastProcess 'rules' .*program.py:2.* must be a broadcast stream, "
        r"but Source 'more' .* feeds it by rebalance",
    ),
    "keyed operator without keys": (
        [source(1), keyed(2), Edge(1, 2)],
        rf"KeyedProcess 'count' .*program.py:2.* works on keyed records, but {SOURCE_AT_1} feeds its input 0 "
        r"by forward: call `key_by",
    ),
    "keyed two-input operator with one keyed input": (
        [source(1), connected(2, keyed=True), Edge(1, 2, HASH), Edge(1, 2, REBALANCE, input_index=1)],
        r"feeds its input 1 by rebalance: call `key_by",
    ),
    "keyed broadcast operator without keys": (
        [source(1), broadcast(2, keyed=True), Edge(1, 2), Edge(1, 2, BROADCAST, input_index=1)],
        r"BroadcastProcess 'rules' .* works on keyed records",
    ),
    "forward with another parallelism": (
        [source(1), mapping(2, parallelism=2), Edge(1, 2)],
        rf"forward partitioning does not allow a change of parallelism: {SOURCE_AT_1} has parallelism 1, "
        rf"{MAP_AT_2} has parallelism 2; use another partitioning",
    ),
    "source that nothing consumes": (
        [source(1), source(2, "more"), sink(3), Edge(2, 3)],
        rf"nothing consumes {SOURCE_AT_1}: add a sink",
    ),
    "undeclared side output": (
        [
            source(1),
            mapping(2, side_outputs={"late": Types.STRING()}),
            sink(3),
            Edge(1, 2),
            Edge(2, 3, side_output="latte"),
        ],
        rf"Sink 'out' .*program.py:3.* reads the side output 'latte' of {MAP_AT_2}, "
        r"which does not declare it \(declared: 'late'\)",
    ),
    "hash without a key": (
        [source(1), mapping(2), Edge(1, 2, Exchange(ExchangeKind.HASH))],
        rf"the hash exchange into {MAP_AT_2} has no key fields and no key selector",
    ),
    "custom without a partitioner": (
        [source(1), mapping(2), Edge(1, 2, Exchange(ExchangeKind.CUSTOM, key_fields=("word",)))],
        rf"the custom exchange into {MAP_AT_2} has no partitioner",
    ),
    "one edge twice": (
        [source(1), mapping(2), Edge(1, 2), Edge(1, 2, REBALANCE)],
        rf"two edges from {SOURCE_AT_1} into input 0 of {MAP_AT_2} have the same order 0",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_plan_is_an_error_that_names_the_users_line(case: str) -> None:
    parts, message = WRONG[case]
    with pytest.raises(PlanError, match=f"(?s){message}"):
        plan(*parts)


RIGHT = {
    "a stream united with itself": [source(1), mapping(2), Edge(1, 2), Edge(1, 2, order=1)],
    "a stream connected with itself": [source(1), connected(2), Edge(1, 2), Edge(1, 2, input_index=1)],
    "several edges into one of two inputs": [
        source(1),
        source(3),
        connected(2),
        Edge(1, 2),
        Edge(3, 2),
        Edge(1, 2, HASH, input_index=1),
    ],
    "keyed broadcast operator": [
        source(1),
        broadcast(2, keyed=True),
        Edge(1, 2, HASH),
        Edge(1, 2, BROADCAST, input_index=1),
    ],
    "the largest max parallelism": [source(1), mapping(2, max_parallelism=32768), Edge(1, 2)],
    "a custom exchange": [source(1), mapping(2, parallelism=3), Edge(1, 2, CUSTOM)],
    "a declared side output": [
        source(1),
        mapping(2, side_outputs={"late": Types.STRING()}),
        sink(3),
        Edge(1, 2),
        Edge(2, 3, side_output="late"),
    ],
}


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_plan_is_accepted(case: str) -> None:
    assert isinstance(plan(*RIGHT[case]), Plan)
