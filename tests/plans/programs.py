"""Programs whose plans are stored as text."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from penstock.common.typeinfo import Types
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.expressions import explode, this
from penstock.expressions.evaluator import ExpressionKey
from penstock.functions.batches import BatchFormat
from penstock.plan.batch_nodes import KeyedBatchesNode, MapBatchesNode
from penstock.plan.builder import PlanBuilder
from penstock.plan.nodes import Chaining, Exchange, ExchangeKind, Node, RecordFunctionKind
from penstock.plan.plan import Plan
from plans.plan_parts import (
    BROADCAST,
    CUSTOM,
    HASH,
    broadcast,
    calling,
    computing,
    connected,
    keyed,
    mapping,
    sink,
    source,
    stamping,
)
from plans.rule_programs import RULE_PROGRAMS


class _Program:
    def __init__(self) -> None:
        self.builder = PlanBuilder()

    def add(self, node: Node, *inputs: int, exchange: Exchange | None = None, uid: str = "") -> int:
        node_id = self.builder.add_node(dataclasses.replace(node, uid=uid))
        for upstream in inputs:
            self.builder.add_edge(upstream, node_id, exchange)
        return node_id


def linear_keyed() -> Plan:
    """Source, map and filter in one chain; a keyed operator with its sink in the next stage."""
    program = _Program()
    words = program.add(source(1, parallelism=2), uid="words")
    upper = program.add(mapping(2, "upper", parallelism=2), words)
    known = program.add(
        mapping(3, "known", parallelism=2, function_kind=RecordFunctionKind.FILTER, description="drops the rest"),
        upper,
    )
    by_field = Exchange(ExchangeKind.HASH, key_fields=("word", 1), key_type=Types.STRING())
    count = program.add(keyed(4, parallelism=2), known, exchange=by_field, uid="count")
    program.add(sink(5, parallelism=2), count)
    return program.builder.build("word count")


def diamond() -> Plan:
    """One stream takes a short and a long way to the same operator: levels are longest paths."""
    program = _Program()
    words = program.add(source(1))
    count = program.add(keyed(2, "count"), words, exchange=HASH)
    total = program.add(keyed(3, "total", parallelism=3), count, exchange=HASH)
    join = program.add(connected(4, keyed=True))
    program.builder.add_edge(words, join, HASH)
    program.builder.add_edge(total, join, HASH, input_index=1)
    program.add(sink(5), join)
    return program.builder.build("diamond")


def side_outputs() -> Plan:
    """A side output into the same chain and one into an exchange."""
    program = _Program()
    words = program.add(source(1))
    tags = {"short": Types.STRING(), "long": Types.LONG()}
    split = program.add(mapping(2, "split", function_kind=RecordFunctionKind.PROCESS, side_outputs=tags), words)
    program.add(sink(3, "rest"), split)
    short = program.add(sink(4, "short"))
    program.builder.add_edge(split, short, side_output="short")
    count = program.add(keyed(5, "count long ones"))
    program.builder.add_edge(split, count, HASH, side_output="long")
    program.add(sink(6, "counts"), count)
    return program.builder.build("side outputs")


def union() -> Plan:
    """Two sources, one of them twice, into one map: the map heads a chain of its own."""
    program = _Program()
    first, second = program.add(source(1, "first")), program.add(source(2, "second", parallelism=2))
    upper = program.add(mapping(3), first, second, first)
    program.add(sink(4), upper)
    return program.builder.build("union")


def broadcast_rules() -> Plan:
    """Rules for all subtasks, records by key; results to a partition of the program's choice."""
    program = _Program()
    words, rules = program.add(source(1)), program.add(source(2, "rules"))
    matched = program.add(broadcast(3, "match", keyed=True, parallelism=2), uid="match")
    program.builder.add_edge(words, matched, HASH)
    program.builder.add_edge(rules, matched, BROADCAST, input_index=1)
    program.add(sink(4, parallelism=2), matched, exchange=CUSTOM)
    return program.builder.build("broadcast rules")


def every_exchange() -> Plan:
    """One stream by every kind of exchange, forward aside with as many subtasks as there are."""
    program = _Program()
    words = program.add(source(1, parallelism=2))
    exchanges = {kind: Exchange(kind) for kind in ExchangeKind} | {ExchangeKind.HASH: HASH, ExchangeKind.CUSTOM: CUSTOM}
    for line, (kind, exchange) in enumerate(exchanges.items(), start=2):
        parallelism = 2 if kind is ExchangeKind.FORWARD else 4
        program.add(sink(line, kind.value, parallelism=parallelism), words, exchange=exchange)
    return program.builder.build("every way")


def two_sinks() -> Plan:
    """One read feeds two sinks, and a map that nobody reads is pruned."""
    program = _Program()
    words = program.add(source(1))
    upper = program.add(mapping(2), words)
    program.add(sink(3, "first"), upper)
    program.add(sink(4, "second"), upper)
    program.add(mapping(5, "unread"), words)
    return program.builder.build("two sinks")


def disabled_chaining() -> Plan:
    """Forward edges that stay exchanges: a new chain, no chaining at all, another slot sharing group."""
    program = _Program()
    words = program.add(source(1))
    head = program.add(mapping(2, "starts a chain", chaining=Chaining.HEAD), words)
    follows = program.add(mapping(3, "follows"), head)
    alone = program.add(mapping(4, "alone", chaining=Chaining.NEVER), follows)
    apart = program.add(mapping(5, "apart", slot_sharing_group="gpu"), alone)
    own_slot = program.add(mapping(6, "own slot", slot_sharing_group="cpu"), apart)
    program.add(sink(7, slot_sharing_group="cpu"), own_slot)
    return program.builder.build("disabled chaining")


def batch() -> Plan:
    """Batch execution: what keyed operators read is sorted by key, broadcast input and all else is not."""
    program = _Program()
    words = program.add(source(1))
    count = program.add(keyed(2, "count"), words, exchange=HASH)
    rules = program.add(broadcast(3, keyed=True))
    program.builder.add_edge(count, rules, HASH)
    program.builder.add_edge(words, rules, BROADCAST, input_index=1)
    program.add(sink(4), rules)
    program.add(sink(5, "by key"), count, exchange=HASH)
    return dataclasses.replace(program.builder.build("rules for words"), batch=True)


def async_calls() -> Plan:
    """Calls are not chained to a source, but to other operators."""
    program = _Program()
    words = program.add(source(1, parallelism=2))
    called = program.add(calling(2, parallelism=2), words)
    again = program.add(calling(3, "look up again", ordered=True, parallelism=2), called)
    program.add(sink(4, parallelism=2), again)
    return program.builder.build("async calls")


def event_time() -> Plan:
    """Watermarks of a source, and new ones behind it: those are made per subtask, so not in the source's chain."""
    program = _Program()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("5 s")
    words = program.add(source(1, watermark_strategy=strategy.with_idleness("1 min"), parallelism=2))
    upper = program.add(mapping(2, parallelism=2), words)
    stamps = program.add(stamping(3, watermark_strategy=strategy, parallelism=2), upper)
    lower = program.add(mapping(4, "lower", parallelism=2), stamps)
    count = program.add(keyed(5, parallelism=2), lower, exchange=HASH)
    program.add(sink(6, parallelism=2), count)
    return program.builder.build("event time")


def expressions() -> Plan:
    """Expressions are shown as they are written, also as keys."""
    program = _Program()
    words = program.add(source(1))
    long_ones = program.add(computing(2, "long ones", this().length() > 3, RecordFunctionKind.FILTER), words)
    by_length = Exchange(ExchangeKind.HASH, key_selector=ExpressionKey(this().length(), Types.STRING()))
    count = program.add(keyed(3), long_ones, exchange=by_length)
    shares = program.add(computing(4, "shares", this() * 0.5, output_type=Types.DOUBLE()), count)
    program.add(sink(5), shares)
    return program.builder.build("expressions")


def batches() -> Plan:
    """Functions of batches: without state they join the chain of the source, with state they stand behind keys."""
    program, text = _Program(), Types.STRING()
    lines = program.add(source(1))
    words = program.add(computing(2, "words", explode(this().split(" ")), RecordFunctionKind.FLAT_MAP), lines)
    scores = MapBatchesNode(
        name="scores", function=len, batch_format=BatchFormat.PANDAS, input_type=text, output_type=text
    )
    counts = KeyedBatchesNode(
        name="counts", function=len, batch_format=BatchFormat.ARROW, input_type=text, output_type=text, key_type=text
    )
    program.add(sink(5), program.add(counts, program.add(scores, words), exchange=HASH))
    return program.builder.build("batches")


PROGRAMS: dict[str, Callable[[], Plan]] = RULE_PROGRAMS | {
    program.__name__: program
    for program in (
        linear_keyed,
        event_time,
        diamond,
        side_outputs,
        union,
        broadcast_rules,
        every_exchange,
        two_sinks,
        disabled_chaining,
        batch,
        async_calls,
        expressions,
        batches,
    )
}
