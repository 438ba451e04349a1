"""Finds the functions that can be computed over columns."""

from __future__ import annotations

import dataclasses

from penstock.common.timestamp_assigner import FunctionTimestampAssigner
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.functions.columnar import ColumnarFunction
from penstock.functions.keyed_adapters import (
    KeyedFilterAdapter,
    KeyedFlatMapAdapter,
    KeyedFunctionAdapter,
    KeyedMapAdapter,
)
from penstock.plan.nodes import (
    Edge,
    ExchangeKind,
    KeyedProcessNode,
    Node,
    RecordFunctionKind,
    ReduceNode,
    SourceNode,
    StatelessNode,
    TimestampsAndWatermarksNode,
)
from penstock.plan.plan import Plan
from penstock.plan.traced_node import TracedNode
from penstock.tracing import (
    FilterProgram,
    MapProgram,
    NotTraceable,
    TracedKey,
    TracedTimestampAssigner,
    trace_filter,
    trace_map,
    trace_reduction,
)

_UNDECLARED = "the records have no declared type"
_CALLED = {
    RecordFunctionKind.FLAT_MAP: "a flat_map gives any number of records",
    RecordFunctionKind.PROCESS: "a process function has a context",
}
"""Functions that are called for every record, whatever they do."""
_KEYED = NotTraceable("it can use state of the key")
_SORTED = NotTraceable("a batch gives it the records of one key after those of another, each in the order of time")
_ADAPTED: dict[type[KeyedFunctionAdapter], RecordFunctionKind] = {
    KeyedMapAdapter: RecordFunctionKind.MAP,
    KeyedFlatMapAdapter: RecordFunctionKind.FLAT_MAP,
    KeyedFilterAdapter: RecordFunctionKind.FILTER,
}
_PARTITIONER = NotTraceable("a partitioner is asked about every record")


class TraceFunctions:
    """Traces the functions of maps, filters, keys, timestamps and keyed reductions; what is not traced says why."""

    name = "trace functions"

    def apply(self, plan: Plan) -> Plan:  # noqa: D102
        nodes: dict[int, Node] = {}
        for node in plan.topological_order:
            nodes[node.id] = _traced(plan, node, nodes)
        edges = tuple(_with_traced_key(edge, nodes[edge.source], nodes[edge.target]) for edge in plan.edges)
        if edges == plan.edges and all(nodes[node.id] is node for node in plan.nodes):
            return plan
        return dataclasses.replace(plan, nodes=tuple(nodes[node.id] for node in plan.nodes), edges=edges)


def _traced(plan: Plan, node: Node, before: dict[int, Node]) -> Node:
    if isinstance(node, SourceNode | TimestampsAndWatermarksNode) and node.watermark_strategy is not None:
        return _with_traced_timestamps(node, node.watermark_strategy)
    if isinstance(node, ReduceNode):
        return _with_traced_reduction(node)
    if isinstance(node, KeyedProcessNode):
        return _with_traced_keyed_function(plan, node, before)
    if type(node) is not StatelessNode:
        return node
    if isinstance(node.function, ColumnarFunction):
        return _over_columns(plan, node, node.function, before)
    return node if _is_ours(node.function) else _with_traced_function(plan, node, before)


def _with_traced_reduction(node: ReduceNode) -> ReduceNode:
    if _is_ours(node.function):
        return node
    try:
        return dataclasses.replace(node, reduction=trace_reduction(node.function, _declared(node.output_type)))
    except NotTraceable as refusal:
        return dataclasses.replace(node, not_traced=_told(refusal, node))


def _with_traced_keyed_function(plan: Plan, node: KeyedProcessNode, before: dict[int, Node]) -> Node:
    """A function of single records behind a key is traced where it cannot use state of the key."""
    adapter = node.function if isinstance(node.function, KeyedFunctionAdapter) else None
    if _is_ours(node.function if adapter is None else adapter.wrapped_function):
        return node
    if adapter is None or adapter.can_use_state:
        return dataclasses.replace(node, not_traced=_told(_KEYED, node))
    if plan.batch:
        # What is sorted by key comes key by key: columns of a few records each would be no gain.
        return dataclasses.replace(node, not_traced=_told(_SORTED, node))
    common = {field.name: getattr(node, field.name) for field in dataclasses.fields(Node)}
    stateless = StatelessNode(**common, function=adapter.wrapped_function, function_kind=_ADAPTED[type(adapter)])
    made = _with_traced_function(plan, stateless, before)
    if isinstance(made, TracedNode):
        return dataclasses.replace(made, kind_before=node.kind)
    return dataclasses.replace(node, not_traced=made.not_traced)


def _with_traced_function(plan: Plan, node: StatelessNode, before: dict[int, Node]) -> StatelessNode:
    try:
        if node.function_kind in _CALLED:
            raise NotTraceable(_CALLED[node.function_kind])
        input_type = _input_type(plan, node, before)
        program = _program(node, input_type)
    except NotTraceable as refusal:
        return _refused(node, refusal)
    common = {field.name: getattr(node, field.name) for field in dataclasses.fields(StatelessNode)}
    form = program.type if isinstance(program, MapProgram) else input_type
    return TracedNode(
        **common,
        input_type=input_type,
        program_text=program.text,
        read_fields=program.read_fields,
        form=form if node.output_type is None or node.output_type.is_pickled else None,
    )


def _over_columns(plan: Plan, node: StatelessNode, function: ColumnarFunction, before: dict[int, Node]) -> Node:
    try:
        made = function.over_columns(_input_type(plan, node, before), node.output_type)
    except NotTraceable as refusal:
        return _refused(node, refusal)
    return dataclasses.replace(node, function=made)


def _refused(node: StatelessNode, refusal: NotTraceable) -> StatelessNode:
    return dataclasses.replace(node, not_traced=_told(refusal, node))


def _told(refusal: NotTraceable, node: Node) -> str:
    return refusal.told(f"{node.call_site.file}:{node.call_site.line}")


def _declared(record_type: TypeInformation | None) -> TypeInformation:
    if record_type is None or record_type.is_pickled:
        raise NotTraceable(_UNDECLARED)
    return record_type


def _input_type(plan: Plan, node: Node, before: dict[int, Node]) -> TypeInformation:
    """The type of the columns that the function gets."""
    types: list[TypeInformation] = []
    for edge in plan.inputs(node.id):
        sender = before[edge.source]
        # Behind a forward edge that is no chain in the end, records come without columns: the function is called.
        is_forward = edge.exchange.kind is ExchangeKind.FORWARD
        if edge.side_output is not None:
            sent = sender.side_outputs.get(edge.side_output)
        elif is_forward and isinstance(sender, TracedNode) and sender.form is not None:
            sent = sender.form
        else:
            sent = sender.output_type
        types.append(_declared(sent))
    if any(each.exact_key() != types[0].exact_key() for each in types[1:]):
        raise NotTraceable("the records have several types")
    return types[0]


def _program(node: StatelessNode, input_type: TypeInformation) -> MapProgram | FilterProgram:
    if node.function_kind is RecordFunctionKind.FILTER:
        return trace_filter(node.function, input_type)
    return trace_map(node.function, input_type, node.output_type)


def _with_traced_key(edge: Edge, sender: Node, target: Node) -> Edge:
    exchange = edge.exchange
    selector = exchange.key_selector
    if exchange.kind is ExchangeKind.CUSTOM and not _is_ours(exchange.partitioner):
        made = dataclasses.replace(exchange, not_traced=_told(_PARTITIONER, target))
        return dataclasses.replace(edge, exchange=made)
    record_type = sender.output_type if edge.side_output is None else sender.side_outputs.get(edge.side_output)
    if edge.side_output is None and isinstance(sender, TracedNode) and sender.form is not None:
        record_type = sender.form
    if selector is None or exchange.kind is not ExchangeKind.HASH or exchange.key_fields or _is_ours(selector):
        return edge
    traced = TracedKey(selector, record_type or Types.PICKLED_BYTE_ARRAY(), exchange.key_type)
    if traced.refusal is not None:
        made = dataclasses.replace(exchange, not_traced=_told(traced.refusal, target))
    else:
        made = dataclasses.replace(exchange, key_selector=traced)
    return dataclasses.replace(edge, exchange=made)


def _with_traced_timestamps(
    node: SourceNode | TimestampsAndWatermarksNode, strategy: WatermarkStrategy
) -> SourceNode | TimestampsAndWatermarksNode:
    assigner, record_type = strategy.timestamp_assigner, node.output_type
    if _is_ours(assigner) and not isinstance(assigner, FunctionTimestampAssigner):
        return node
    traced = TracedTimestampAssigner(assigner, record_type or Types.PICKLED_BYTE_ARRAY())
    if traced.refusal is not None:
        return dataclasses.replace(node, timestamps_not_traced=_told(traced.refusal, node))
    return dataclasses.replace(node, watermark_strategy=dataclasses.replace(strategy, timestamp_assigner=traced))


def _is_ours(function: object) -> bool:
    """Whether an object comes from Penstock itself: it is known by its class, and there is nothing to say of it."""
    return type(getattr(function, "__self__", function)).__module__.startswith("penstock.")
