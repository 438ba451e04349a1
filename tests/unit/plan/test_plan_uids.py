from __future__ import annotations

import dataclasses

import pytest

from penstock.common.errors import PlanError
from penstock.plan.builder import PlanBuilder
from penstock.plan.nodes import Exchange, Node, RecordFunctionKind
from plans.plan_parts import HASH, REBALANCE, LineSink, WordSource, connected, keyed, mapping, sink, source


class Program:
    """Builds plans from nodes without uids."""

    def __init__(self) -> None:
        self.builder = PlanBuilder()

    def add(self, node: Node, *inputs: int, exchange: Exchange | None = None, side: str | None = None) -> int:
        node_id = self.builder.add_node(dataclasses.replace(node, uid=""))
        for source_id in inputs:
            self.builder.add_edge(source_id, node_id, exchange, side_output=side)
        return node_id

    def uids(self) -> dict[int, str]:
        return {node.id: node.uid for node in self.builder.build("job").nodes}


def word_count() -> tuple[Program, list[int]]:
    program = Program()
    read = program.add(source(1))
    upper = program.add(mapping(2), read)
    count = program.add(keyed(3), upper, exchange=HASH)
    return program, [read, upper, count, program.add(sink(4), count)]


def test_the_same_program_has_the_same_uids_and_all_differ() -> None:
    (first, ids), (second, _) = word_count(), word_count()
    assert first.uids() == second.uids()
    assert len({first.uids()[node_id] for node_id in ids}) == len(ids)


def test_derived_uids_are_part_of_the_format_of_checkpoints() -> None:
    program, _ = word_count()
    assert list(program.uids().values()) == GOLDEN


def test_names_parallelism_functions_and_exchanges_do_not_matter() -> None:
    program, (read, upper, count, out) = word_count()
    before = program.uids()
    program.builder.replace(read, name="other", source=WordSource("x"), description="words of a file")
    program.builder.replace(upper, name="other", parallelism=4, function=str.upper)
    program.builder.replace(count, slot_sharing_group="own", max_parallelism=64)
    program.builder.replace(out, name="other", sink=LineSink("elsewhere"))
    assert program.uids() == before


def test_unrelated_parts_of_the_program_do_not_matter() -> None:
    program, ids = word_count()
    before = program.uids()
    more = Program()
    lonely = more.add(source(1, source=_OtherSource("x")))
    more.add(sink(2), lonely)
    moved = [more.add(source(3))]
    moved.append(more.add(mapping(4), moved[0]))
    moved.append(more.add(keyed(5), moved[1], exchange=HASH))
    moved.append(more.add(sink(6), moved[2]))
    after = more.uids()
    assert [after[node_id] for node_id in moved] == [before[node_id] for node_id in ids]


def test_siblings_are_told_apart_by_their_order_whoever_of_them_has_a_uid() -> None:
    program, (_, upper, _, _) = word_count()
    first, second = (program.add(mapping(5), upper) for _ in range(2))
    uids = program.uids()
    assert uids[first] != uids[second]
    program.builder.replace(first, uid="given")
    assert program.uids()[second] == uids[second]


def test_a_new_sibling_behind_the_others_changes_nothing() -> None:
    program, (_, upper, _, _) = word_count()
    before = program.uids()
    program.add(mapping(5), upper)
    assert {**program.uids(), **before} == program.uids()


def test_a_given_uid_upstream_shields_from_what_changes_before_it() -> None:
    program, (_, upper, count, _) = word_count()
    program.builder.replace(upper, uid="upper")
    shielded = program.uids()[count]
    longer = Program()
    read = longer.add(source(1))
    parsed = longer.add(mapping(2), read)
    upper = longer.add(mapping(3), parsed)
    longer.builder.replace(upper, uid="upper")
    count = longer.add(keyed(4), upper, exchange=HASH)
    assert longer.uids()[count] == shielded


def test_kind_side_output_and_input_index_matter() -> None:
    program = Program()
    read = program.add(source(1, side_outputs={"late": mapping(0).output_type}))
    other = program.add(source(1))
    made = [
        program.add(mapping(2), read),
        program.add(mapping(2, function_kind=RecordFunctionKind.FILTER), read),
        program.add(mapping(2), read, side="late"),
        program.add(mapping(2), other),
        program.add(mapping(2), read, other, exchange=REBALANCE),
    ]
    for first, second in ((read, other), (other, read)):
        joined = program.add(connected(3))
        program.builder.add_edge(first, joined)
        program.builder.add_edge(second, joined, input_index=1)
        made.append(joined)
    uids = program.uids()
    assert len({uids[node_id] for node_id in made}) == len(made)


def test_a_given_uid_equal_to_a_derived_one_is_an_error() -> None:
    program, (read, upper, _, _) = word_count()
    program.builder.replace(upper, uid=program.uids()[read])
    with pytest.raises(PlanError, match="two operators have the uid"):
        program.uids()


class _OtherSource(WordSource):
    """Sources of another class are no siblings."""


GOLDEN = [
    "baf4fdc86ca9be69869e0d6b08b3a3f6",
    "2e4baacfec0a48726b3d7035626413bc",
    "0f887a0679626add2994f906bf35c3db",
    "c443edb01bc40ce0e95792dbb2df1e45",
]
